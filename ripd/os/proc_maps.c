/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_maps.c - lines of PID/maps. Touches that file alone.
 *
 * Guarantees
 *   1. Work is bounded: LINES_MAX lines are read.
 */
#include "os/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LINES_MAX 200000u /* the kernel's own limit is 65530 mappings by default */

int proc_maps_parse_line(const char *line, struct proc_mapping *ret_mapping)
{
    struct proc_mapping mapping;
    int at = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4c %*x %" SCNx32 ":%" SCNx32 " %" SCNu64 "%n", &mapping.start,
               &mapping.end, &mapping.device_major, &mapping.device_minor, &mapping.inode, &at) != 5 ||
        mapping.start >= mapping.end || mapping.inode == 0)
        return -EINVAL;
    mapping.path = line + at + strspn(line + at, " ");
    *ret_mapping = mapping;
    return 0;
}

bool proc_maps_path_fits(const char *mapped, const char *path)
{
    static const char deleted[] = " (deleted)";
    size_t length = strcspn(mapped, "\n"), wanted = strlen(path);

    if (length >= sizeof(deleted) && memcmp(mapped + length - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) == 0)
        length -= sizeof(deleted) - 1;
    return path[0] == '/' && length >= wanted && memcmp(mapped + length - wanted, path, wanted) == 0;
}

bool proc_maps_is(const struct proc_mapping *mapping, const struct stat *about)
{
    return about->st_ino == mapping->inode && major(about->st_dev) == mapping->device_major &&
           minor(about->st_dev) == mapping->device_minor;
}

bool proc_maps_may_be(const struct proc_mapping *mapping, const struct stat *about)
{
    return major(about->st_dev) == 0 && (mapping->device_major != 0 || minor(about->st_dev) != mapping->device_minor);
}

int proc_maps_find(int process, uint64_t address, const char *path, struct proc_mapping *ret_mapping)
{
    int result = -ENOENT, descriptor = openat(process, "maps", O_RDONLY | O_CLOEXEC);
    size_t capacity = 0, count = 0;
    char *line = NULL;
    FILE *file;

    if (descriptor < 0)
        return -errno;
    file = fdopen(descriptor, "r");
    if (file == NULL) {
        close(descriptor);
        return -ENOMEM;
    }
    while (result == -ENOENT && count++ < LINES_MAX && getline(&line, &capacity, file) > 0) {
        struct proc_mapping mapping;

        if (proc_maps_parse_line(line, &mapping) != 0 || address < mapping.start || address >= mapping.end)
            continue;
        result = path == NULL || proc_maps_path_fits(mapping.path, path) ? 0 : -ESTALE;
        mapping.path = NULL;
        if (result == 0)
            *ret_mapping = mapping;
    }
    free(line);
    fclose(file);
    return result;
}
