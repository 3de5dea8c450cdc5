/* SPDX-License-Identifier: Apache-2.0 */
/* proc_thread.c - files of one thread and links of descriptors. Touches nothing but files below the proc directory. */
#include "os/proc_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/proc.h"
#include "os/proc_parse.h"
#include "util/text.h"

enum {
    NAME_BYTES = 64,
    LINE_BYTES = 256,
    CHILDREN_BYTES = 4096, /* a number has ten digits at most, and a blank */
    STATUS_BYTES = 8192,
};

int proc_thread_schedstat(int proc, uint32_t pid, uint32_t tid, struct proc_schedstat *ret_schedstat)
{
    return PROC_READ_AS(proc_parse_schedstat, ret_schedstat, LINE_BYTES, proc, "%u/task/%u/schedstat", pid, tid);
}

int proc_thread_switches(int proc, uint32_t pid, uint32_t tid, struct proc_switches *ret_switches)
{
    return PROC_READ_AS(proc_parse_switches, ret_switches, STATUS_BYTES, proc, "%u/task/%u/status", pid, tid);
}

int proc_thread_wchan(int proc, uint32_t pid, uint32_t tid, char ret_wchan[PROC_WCHAN_BYTES])
{
    return PROC_READ_AS(proc_parse_wchan, ret_wchan, LINE_BYTES, proc, "%u/task/%u/wchan", pid, tid);
}

int proc_thread_syscall(int proc, uint32_t pid, uint32_t tid, struct proc_syscall *ret_syscall)
{
    return PROC_READ_AS(proc_parse_syscall, ret_syscall, LINE_BYTES, proc, "%u/task/%u/syscall", pid, tid);
}

bool proc_is_executing(int proc, uint32_t pid)
{
    enum { SIZE, RESIDENT, SHARED, TEXT, COUNT };
    char text[LINE_BYTES];
    uint64_t pages[COUNT];

    return proc_read(proc, text, sizeof(text), "%u/statm", pid) == 0 &&
           text_decimals(text, UINT64_MAX, pages, COUNT) != NULL && pages[SIZE] != 0 && pages[TEXT] == 0;
}

int proc_thread_children(int proc, uint32_t pid, uint32_t tid, uint32_t ret_children[PROC_CHILDREN_MAX],
                         size_t *ret_count)
{
    char text[CHILDREN_BYTES];
    const char *next = text;
    uint64_t child;
    int result = proc_read(proc, text, sizeof(text), "%u/task/%u/children", pid, tid);

    *ret_count = 0;
    if (result != 0)
        return result;
    while (*ret_count < PROC_CHILDREN_MAX && (next = text_decimal(next, UINT32_MAX, &child)) != NULL)
        ret_children[(*ret_count)++] = (uint32_t)child;
    if (*ret_count == 0)
        return -ESRCH;
    return *ret_count < PROC_CHILDREN_MAX ? 0 : -EOVERFLOW;
}

/* Links ------------------------------------------------------------------------------------------------------------ */

static int read_link(int proc, const char *name, char ret_link[PROC_LINK_BYTES], bool *ret_cut)
{
    char link[PROC_LINK_BYTES] = "";
    ssize_t length = readlinkat(proc, name, link, sizeof(link));

    if (length < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    *ret_cut = (size_t)length == sizeof(link);
    link[*ret_cut ? sizeof(link) - 1 : (size_t)length] = '\0';
    memcpy(ret_link, link, sizeof(link));
    return 0;
}

int proc_thread_base(int proc, uint32_t pid, uint32_t tid, enum proc_base base, struct proc_name *ret_name)
{
    static const char *const links[] = {[PROC_BASE_CURRENT] = "cwd", [PROC_BASE_ROOT] = "root"};
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "%u/task/%u/%s", pid, tid, links[base]);
    return read_link(proc, name, ret_name->text, &ret_name->cut);
}

int proc_program(int proc, uint32_t pid, struct proc_name *ret_name)
{
    char name[NAME_BYTES];

    if (proc_is_executing(proc, pid))
        return -ESRCH;
    snprintf(name, sizeof(name), "%u/exe", pid);
    return read_link(proc, name, ret_name->text, &ret_name->cut);
}

int proc_descriptor(int proc, uint32_t pid, uint32_t descriptor, struct proc_descriptor *ret_descriptor)
{
    struct proc_descriptor found = {.link_cut = false};
    char name[NAME_BYTES], text[LINE_BYTES];
    struct stat status;
    int result;

    snprintf(name, sizeof(name), "%u/fd/%u", pid, descriptor);
    result = read_link(proc, name, found.link, &found.link_cut);
    if (result != 0)
        return result;
    if (fstatat(proc, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        found.readable = (status.st_mode & S_IRUSR) != 0; /* of the link, which has the mode of the descriptor */
        found.writable = (status.st_mode & S_IWUSR) != 0;
    }
    if (proc_read(proc, text, sizeof(text), "%u/fdinfo/%u", pid, descriptor) == 0)
        (void)proc_parse_descriptor(text, &found.inode, &found.mount);
    *ret_descriptor = found;
    return 0;
}

bool proc_link_inode(const char *link, const char *kind, uint64_t *ret_inode)
{
    size_t length = strlen(kind);
    uint64_t inode;
    const char *end;

    if (strncmp(link, kind, length) != 0 || strncmp(link + length, ":[", 2) != 0)
        return false;
    end = text_decimal(link + length + 2, UINT64_MAX, &inode);
    if (end == NULL || strcmp(end, "]") != 0)
        return false;
    *ret_inode = inode;
    return true;
}
