/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opener.c - by way of map_files where the kernel lets us, else of exe, else of the path below the process's own root.
 *
 * map_files opens what is mapped even when it was deleted, but takes a capability; exe does so for the executable; a
 * path is opened and then compared.
 */
#include "sym/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PATH_BYTES 600u
#define LINES_MAX 200000u /* of maps: the kernel's own limit is 65530 mappings by default */

int opener_parse_line(const char *line, struct opener_mapping *ret_mapping)
{
    struct opener_mapping mapping;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4c %*x %" SCNx32 ":%" SCNx32 " %" SCNu64, &mapping.start, &mapping.end,
               &mapping.device_major, &mapping.device_minor, &mapping.inode) != 5 ||
        mapping.start >= mapping.end || mapping.inode == 0)
        return -EINVAL;
    *ret_mapping = mapping;
    return 0;
}

/* The mapping that holds an address. */
static int find_mapping(int proc, uint32_t pid, uint64_t address, struct opener_mapping *ret_mapping)
{
    int result = -ENOENT, descriptor;
    char path[64], *line = NULL;
    size_t capacity = 0, count = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%" PRIu32 "/maps", pid);
    descriptor = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return -errno;
    file = fdopen(descriptor, "r");
    if (file == NULL) {
        close(descriptor);
        return -ENOMEM;
    }
    while (result == -ENOENT && count++ < LINES_MAX && getline(&line, &capacity, file) > 0) {
        struct opener_mapping mapping;

        if (opener_parse_line(line, &mapping) == 0 && address >= mapping.start && address < mapping.end) {
            *ret_mapping = mapping;
            result = 0;
        }
    }
    free(line);
    fclose(file);
    return result;
}

static bool is_mapped(const struct stat *about, const struct opener_mapping *mapping)
{
    return about->st_ino == mapping->inode && major(about->st_dev) == mapping->device_major &&
           minor(about->st_dev) == mapping->device_minor;
}

/* path, if it is that file; mapping NULL: if anybody may read it. Nothing but a regular file is opened. */
static int open_same(int directory, const char *path, const struct opener_mapping *mapping)
{
    int found = openat(directory, path, O_PATH | O_CLOEXEC), descriptor;
    struct stat about;
    char again[32];

    if (found < 0)
        return -errno;
    descriptor = -ENOENT;
    if (fstat(found, &about) == 0 && S_ISREG(about.st_mode) &&
        (mapping != NULL ? is_mapped(&about, mapping) : (about.st_mode & S_IROTH) != 0)) {
        snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
        descriptor = open(again, O_RDONLY | O_CLOEXEC);
        if (descriptor < 0)
            descriptor = -errno;
    }
    close(found);
    return descriptor;
}

static bool is_owners(int proc, uint32_t pid, uint32_t uid)
{
    struct stat about;
    char path[16];

    snprintf(path, sizeof(path), "%" PRIu32, pid);
    return fstatat(proc, path, &about, 0) == 0 && (about.st_uid == uid || uid == 0);
}

int opener_open(int proc, const struct process_facts *process, const struct module_facts *module)
{
    struct opener_mapping mapping;
    char path[PATH_BYTES];
    int descriptor;

    if (process == NULL || process->pid == 0 || process->dead || !process->attested ||
        !is_owners(proc, process->pid, module->uid))
        return -EACCES;
    descriptor = find_mapping(proc, process->pid, module->start, &mapping);
    if (descriptor < 0)
        return descriptor;
    snprintf(path, sizeof(path), "%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, process->pid, mapping.start,
             mapping.end);
    descriptor = open_same(proc, path, &mapping);
    if (descriptor < 0) {
        snprintf(path, sizeof(path), "%" PRIu32 "/exe", process->pid);
        descriptor = open_same(proc, path, &mapping);
    }
    if (descriptor < 0 &&
        (size_t)snprintf(path, sizeof(path), "%" PRIu32 "/root%s", process->pid, module->path) < sizeof(path)) {
        descriptor = open_same(proc, path, &mapping);
        if (descriptor < 0 && module->build_id[0] != '\0') /* an overlay shows other numbers in maps: the id tells */
            descriptor = open_same(proc, path, NULL);
    }
    return descriptor;
}
