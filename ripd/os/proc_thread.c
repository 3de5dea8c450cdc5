/* SPDX-License-Identifier: Apache-2.0 */
/* proc_thread.c - files of one thread, and links of descriptors. Touches only files below the proc directory. */
#include "os/proc_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/proc.h"
#include "os/proc_parse.h"
#include "os/proc_reader.h"
#include "util/text.h"

enum {
    NAME_BYTES = 64,
    LINE_BYTES = 256,
    CHILDREN_BYTES = 4096, /* per child at most ten digits and a blank */
    STATUS_BYTES = 8192,
};

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

static int read_held(int proc, uint32_t pid, uint64_t thread_and_file, void *ret_text)
{
    static const struct {
        const char *name;
        bool is_link;
    } files[] = {
        [PROC_HELD_STAT] = {"stat", false},       [PROC_HELD_WCHAN] = {"wchan", false},
        [PROC_HELD_SYSCALL] = {"syscall", false}, [PROC_HELD_PROGRAM] = {"exe", true},
        [PROC_HELD_NETWORK] = {"ns/net", true},
    };
    const uint32_t tid = (uint32_t)(thread_and_file >> 32), file = (uint32_t)thread_and_file;
    char name[NAME_BYTES];
    bool cut;
    int result;

    snprintf(name, sizeof(name), "%u/task/%u/%s", pid, tid, files[file].name);
    if (!files[file].is_link)
        return proc_read(proc, ret_text, PROC_HELD_BYTES, "%s", name);
    result = read_link(proc, name, ret_text, &cut);
    return result == 0 && cut ? -ENAMETOOLONG : result;
}

/* Whether the process is visibly in an exec: its address space is new and empty. */
static bool is_executing(int proc, uint32_t pid)
{
    enum { SIZE, RESIDENT, SHARED, TEXT, COUNT };
    char text[LINE_BYTES];
    uint64_t pages[COUNT];

    return proc_read(proc, text, sizeof(text), "%u/statm", pid) != 0 ||
           text_decimals(text, UINT64_MAX, pages, COUNT) == NULL || (pages[SIZE] != 0 && pages[TEXT] == 0);
}

int proc_read_held(int proc, uint32_t pid, uint32_t tid, enum proc_held_file file, char ret_text[PROC_HELD_BYTES])
{
    const uint64_t thread_and_file = (uint64_t)tid << 32 | file;

    if (proc_reader_is_busy(pid) && !is_executing(proc, pid))
        return read_held(proc, pid, thread_and_file, ret_text);
    return proc_reader_ask(proc, read_held, pid, thread_and_file, ret_text, PROC_HELD_BYTES);
}

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
    char text[PROC_HELD_BYTES];
    int result = proc_read_held(proc, pid, tid, PROC_HELD_WCHAN, text);

    return result != 0 ? result : proc_parse_wchan(text, ret_wchan);
}

int proc_thread_syscall(int proc, uint32_t pid, uint32_t tid, struct proc_syscall *ret_syscall)
{
    char text[PROC_HELD_BYTES];
    int result = proc_read_held(proc, pid, tid, PROC_HELD_SYSCALL, text);

    return result != 0 ? result : proc_parse_syscall(text, ret_syscall);
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

int proc_thread_base(int proc, uint32_t pid, uint32_t tid, enum proc_base base, struct proc_name *ret_name)
{
    static const char *const links[] = {[PROC_BASE_CURRENT] = "cwd", [PROC_BASE_ROOT] = "root"};
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "%u/task/%u/%s", pid, tid, links[base]);
    return read_link(proc, name, ret_name->text, &ret_name->cut);
}

int proc_program(int proc, uint32_t pid, char ret_path[PROC_LINK_BYTES])
{
    char text[PROC_HELD_BYTES];
    int result = proc_read_held(proc, pid, pid, PROC_HELD_PROGRAM, text);

    if (result == 0)
        memcpy(ret_path, text, PROC_LINK_BYTES);
    return result;
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
        found.readable = (status.st_mode & S_IRUSR) != 0; /* the link has the access mode of the descriptor */
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
