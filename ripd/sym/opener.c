/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opener.c - by way of map_files where the kernel lets us, else of exe, else of the path below the process's own root.
 *
 * map_files opens what is mapped even when it was deleted, but takes a capability; exe does so for the executable; a
 * path is opened and then compared. All goes through one descriptor of /proc/PID: once that process has ended it leads
 * nowhere, whoever has its pid then.
 */
#include "sym/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/proc.h"
#include "os/proc_maps.h"

#define NOBODY 65534u
#define NAME_BYTES 64u

/* A file found (O_PATH, taken over), for reading, if it is regular; mapping: and if it is that one, unless NULL. */
static int reopen(int found, const struct proc_mapping *mapping)
{
    int descriptor = -ENOENT;
    struct stat about;
    char again[NAME_BYTES];

    if (found < 0)
        return found;
    if (fstat(found, &about) == 0 && S_ISREG(about.st_mode) && (mapping == NULL || proc_maps_is(mapping, &about))) {
        snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
        descriptor = open(again, O_RDONLY | O_CLOEXEC);
        if (descriptor < 0)
            descriptor = -errno;
    }
    close(found);
    return descriptor;
}

/* One of the kernel's links to what is mapped, in a directory of /proc/PID. */
static int open_link(int process, const char *name, const struct proc_mapping *mapping)
{
    int found = openat(process, name, O_PATH | O_CLOEXEC);

    return reopen(found < 0 ? -errno : found, mapping);
}

/* A path as the process sees it. */
static int open_below_root(int process, const char *path, const struct proc_mapping *mapping)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int root = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC), descriptor;
    long found;

    if (root < 0)
        return -errno;
    found = syscall(SYS_openat2, root, path, &how, sizeof(how));
    descriptor = reopen(found < 0 ? -errno : (int)found, mapping);
    close(root);
    return descriptor;
}

/* Root's own, which sudo leaves it: this thread's alone (of glibc's setgroups() all have it), and for good. */
static bool give_up_groups(void)
{
    return getgroups(0, NULL) == 0 || syscall(SYS_setgroups, 0, NULL) == 0;
}

/*
 * The same with the rights of nobody where ours are root's: anybody can write any path into a ring. This thread's
 * alone, and only for files: the right to look at the process stays.
 */
static int open_as_nobody(int process, const char *path, const struct proc_mapping *mapping)
{
    int group, descriptor = -EACCES;

    if (geteuid() != 0)
        return open_below_root(process, path, mapping);
    if (!give_up_groups())
        return -EACCES;
    group = setfsgid(NOBODY);
    (void)setfsuid(NOBODY);
    if (setfsuid((uid_t)-1) == (int)NOBODY && setfsgid((gid_t)-1) == (int)NOBODY)
        descriptor = open_below_root(process, path, mapping);
    (void)setfsuid(0);
    (void)setfsgid((gid_t)group);
    return descriptor;
}

/* /proc/PID of a process that may be asked, or -errno. */
static int open_process(int proc, const struct process_facts *facts, uint32_t uid)
{
    struct proc_stat stat;
    struct stat about;
    char name[NAME_BYTES];
    int process;

    if (facts == NULL || facts->pid == 0 || facts->dead || !facts->attested)
        return -EACCES;
    snprintf(name, sizeof(name), "%" PRIu32, facts->pid);
    process = openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (process < 0)
        return -errno;
    /* it is alive after it was asked, so it was that process that proc_stat() read of */
    if (proc_stat(proc, facts->pid, &stat) == 0 && stat.start_time_ticks == facts->start_time_ticks &&
        fstat(process, &about) == 0 && (about.st_uid == uid || uid == 0) && faccessat(process, "stat", F_OK, 0) == 0)
        return process;
    close(process);
    return -EACCES;
}

int opener_open(int proc, const struct process_facts *process, const struct module_facts *module)
{
    const bool has_build_id = module->build_id[0] != '\0';
    struct proc_mapping mapping;
    char name[NAME_BYTES];
    int directory = open_process(proc, process, module->uid), descriptor;

    if (directory < 0)
        return directory;
    /* without a build id it has to be of the module's path too */
    descriptor = proc_maps_find(directory, module->start, has_build_id ? NULL : module->path, &mapping);
    if (descriptor != 0)
        goto done;
    snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, mapping.start, mapping.end);
    descriptor = open_link(directory, name, has_build_id ? NULL : &mapping); /* it is what is mapped, by definition */
    if (descriptor < 0)
        descriptor = open_link(directory, "exe", &mapping);
    if (descriptor < 0)
        descriptor = open_as_nobody(directory, module->path, &mapping);
    if (descriptor < 0 && has_build_id)
        descriptor = open_as_nobody(directory, module->path, NULL);
done:
    close(directory);
    return descriptor;
}
