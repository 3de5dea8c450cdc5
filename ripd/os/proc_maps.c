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
    char rights[4];
    int at = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4c %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 "%n", &mapping.start,
               &mapping.end, rights, &mapping.offset, &mapping.device_major, &mapping.device_minor, &mapping.inode,
               &at) != 7 ||
        mapping.start >= mapping.end || mapping.inode == 0)
        return -EINVAL;
    mapping.executable = rights[2] == 'x';
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

static bool is_same_file(const struct proc_mapping *a, const struct proc_mapping *b)
{
    return a->inode == b->inode && a->device_major == b->device_major && a->device_minor == b->device_minor;
}

static FILE *open_maps(int process, int *ret_error)
{
    int descriptor = openat(process, "maps", O_RDONLY | O_CLOEXEC);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;

    *ret_error = descriptor < 0 ? -errno : -ENOMEM;
    if (file == NULL && descriptor >= 0)
        close(descriptor);
    return file;
}

int proc_maps_find(int process, uint64_t address, const char *path, struct proc_mapping *ret_mapping)
{
    size_t capacity = 0, count = 0;
    char *line = NULL;
    int result;
    FILE *file = open_maps(process, &result);

    if (file == NULL)
        return result;
    result = -ENOENT;
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

/* A walk over the lines, in order of address. */
struct search {
    uint64_t address;
    struct proc_mapping first; /* of the file that is being passed: its beginning; inode 0 = it has none */
    struct proc_object object;
    bool found;
};

static char *copy_path(const char *mapped)
{
    static const char deleted[] = " (deleted)";
    size_t length = strcspn(mapped, "\n"), tail = sizeof(deleted) - 1;

    if (length > tail && memcmp(mapped + length - tail, deleted, tail) == 0)
        length -= tail;
    return strndup(mapped, length);
}

/* False: the walk is over. Lines without a file, such as those of zeroed data, are not shown to it. */
static bool pass(struct search *search, const struct proc_mapping *mapping)
{
    const bool same = search->first.inode != 0 && mapping->offset != 0 && is_same_file(mapping, &search->first);

    if (search->found && !same)
        return false;
    if (!same) {
        search->first = mapping->offset == 0 ? *mapping : (struct proc_mapping){0};
        search->object.start = mapping->start;
    }
    search->object.end = mapping->end;
    if (search->address < mapping->start || search->address >= mapping->end)
        return mapping->start <= search->address || search->found;
    search->found = mapping->executable && search->first.inode != 0;
    if (search->found)
        search->object.path = copy_path(mapping->path);
    return search->found;
}

int proc_maps_object(int process, uint64_t address, struct proc_object *ret_object)
{
    struct search search = {.address = address};
    size_t capacity = 0, count = 0;
    bool goes_on = true;
    char *line = NULL;
    int result;
    FILE *file = open_maps(process, &result);

    if (file == NULL)
        return result;
    while (goes_on && count++ < LINES_MAX && getline(&line, &capacity, file) > 0) {
        struct proc_mapping mapping;

        if (proc_maps_parse_line(line, &mapping) == 0)
            goes_on = pass(&search, &mapping);
    }
    free(line);
    fclose(file);
    if (!search.found)
        return -ENOENT;
    if (search.object.path == NULL)
        return -ENOMEM;
    *ret_object = search.object;
    return 0;
}
