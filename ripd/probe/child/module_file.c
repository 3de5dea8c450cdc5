/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_file.c - finds the file by a record of the ring, links of /proc/PID, or a walk. See module_file.h.
 *
 * /proc/PID/map_files leads to mapped files even if they were deleted or replaced. Following its links needs
 * CAP_CHECKPOINT_RESTORE (proc_map_files_get_link() in the kernel's fs/proc/base.c), which allows far more. The service
 * does not have it; a ripd that root starts by hand does. Without it, a deleted shared object cannot be opened. A
 * deleted executable can, by /proc/PID/exe, which only needs the right to read the process.
 */
#include "probe/child/module_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/proc.h"
#include "os/proc_maps.h"
#include "probe/child/walk.h"

#define NAME_BYTES 64u

/* The module to be opened, and the user of its process. */
struct wanted {
    struct proc_mapping mapping;
    struct permission_user user;
    char path[RIP_MODULE_PATH_BYTES + 1];
    bool is_main;
    bool exact;
};

/* Finds the newest module that the record has at start. */
static int find_module(struct attested *attested, uint64_t start, struct wanted *wanted)
{
    struct rip_module_info info;
    bool found = false;
    int result = 0;

    for (uint32_t nth = 0; nth < RIP_PROCESS_MODULES && result == 0; nth++) {
        result = mapping_module(&attested->mapping, attested->process, nth, &info);
        if (result != 0 || info.start != start)
            continue;
        memcpy(wanted->path, info.path, info.path_bytes);
        wanted->path[info.path_bytes] = '\0'; /* the path may end before, at a NUL of its own */
        wanted->is_main = (info.flags & RIP_MODULE_MAIN) != 0;
        found = true;
    }
    if (result < 0)
        return -EINVAL;
    return found ? 0 : -ENOENT;
}

/* Finds the user with whose rights the process opens files. A group from a set-group-id program does not count. */
static int find_user(int proc, const struct attested *attested, struct proc_credentials *ret_credentials,
                     struct permission_user *ret_user)
{
    int result = proc_credentials(proc, attested->pid, ret_credentials);

    if (result != 0)
        return result;
    if (ret_credentials->own_gid && ret_credentials->group_count < PROC_GROUPS_MAX)
        ret_credentials->groups[ret_credentials->group_count++] = ret_credentials->gid;
    *ret_user = (struct permission_user){
        .uid = ret_credentials->uid,
        .groups = ret_credentials->groups,
        .group_count = ret_credentials->group_count,
    };
    return 0;
}

/* Finds the file by one of the kernel's links to it. */
static int find_link(int process, const char *name, const struct wanted *wanted)
{
    int found = openat(process, name, O_PATH | O_CLOEXEC), result;

    if (found < 0)
        return -errno;
    result = walk_check(found, &wanted->user);
    if (result == 0)
        return found;
    close(found);
    return result;
}

static int find_path(int process, const struct wanted *wanted)
{
    int root = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC), found;

    if (root < 0)
        return -errno;
    found = walk_open(root, wanted->path, &wanted->user);
    close(root);
    return found;
}

/* Whether a file, if one was found, is certainly the mapped one. */
static bool is_mapped(int found, const struct wanted *wanted)
{
    struct stat about;

    return found >= 0 && fstat(found, &about) == 0 && proc_maps_is(&wanted->mapping, &about);
}

/* Whether a file may be the mapped one and certainty is not required. */
static bool may_be_mapped(int found, const struct wanted *wanted)
{
    struct stat about;

    return !wanted->exact && fstat(found, &about) == 0 && proc_maps_may_be(&wanted->mapping, &about);
}

/* Finds the file that is certainly mapped, or else one that may be. */
static int find_file(int process, const struct wanted *wanted)
{
    char name[NAME_BYTES];
    int executable, found, result;

    snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, wanted->mapping.start, wanted->mapping.end);
    found = find_link(process, name, wanted);
    if (found >= 0)
        return found;
    executable = find_link(process, "exe", wanted);
    if (is_mapped(executable, wanted))
        return executable;
    result = found = find_path(process, wanted);
    if (!is_mapped(found, wanted)) {
        if (found >= 0 && !may_be_mapped(found, wanted))
            result = -ESTALE;
        if (executable >= 0 && wanted->is_main && may_be_mapped(executable, wanted))
            result = executable;
    }
    if (found >= 0 && result != found)
        close(found);
    if (executable >= 0 && result != executable)
        close(executable);
    return result;
}

static bool is_program(int descriptor)
{
    unsigned char magic[SELFMAG];
    struct stat about;

    return fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
           (uint64_t)about.st_size <= MODULE_FILE_BYTES_MAX &&
           pread(descriptor, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static int open_file(int process, const struct wanted *wanted)
{
    int found = find_file(process, wanted), descriptor;

    if (found < 0)
        return found;
    descriptor = walk_reopen(found);
    close(found);
    if (descriptor < 0 || is_program(descriptor))
        return descriptor;
    close(descriptor);
    return -ENOTSUP;
}

int module_file_open(int proc, struct attested *attested, uint64_t start, bool exact)
{
    struct proc_credentials credentials;
    struct wanted wanted = {.exact = exact};
    int result = find_module(attested, start, &wanted), process;

    if (result == 0)
        result = find_user(proc, attested, &credentials, &wanted.user);
    if (result != 0)
        return result;
    process = proc_open(proc, O_PATH | O_DIRECTORY, "%u", attested->pid);
    if (process < 0)
        return process;
    result = proc_maps_find(process, start, exact ? wanted.path : NULL, &wanted.mapping);
    if (result == 0)
        result = open_file(process, &wanted);
    close(process);
    return result;
}
