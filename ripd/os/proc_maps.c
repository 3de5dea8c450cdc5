/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_maps.c - lines of PID/maps. Touches only that file.
 *
 * Guarantees
 *   1. Work is bounded: at most LINES_MAX lines are read.
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

#include "os/proc.h"

#define LINES_MAX 200000u /* the kernel's default limit is 65530 mappings */

int proc_maps_parse_line(const char *line, struct proc_mapping *ret_mapping)
{
    struct proc_mapping mapping;
    int at = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4c %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 "%n", &mapping.start,
               &mapping.end, mapping.rights, &mapping.offset, &mapping.device_major, &mapping.device_minor,
               &mapping.inode, &at) != 7 ||
        mapping.start >= mapping.end || mapping.inode == 0)
        return -EINVAL;
    mapping.path = line + at + strspn(line + at, " ");
    *ret_mapping = mapping;
    return 0;
}

/* Returns the length of the path at the end of a line, without the suffix " (deleted)". */
static size_t path_bytes(const char *mapped)
{
    static const char deleted[] = " (deleted)";
    size_t length = strcspn(mapped, "\n"), tail = sizeof(deleted) - 1;

    return length > tail && memcmp(mapped + length - tail, deleted, tail) == 0 ? length - tail : length;
}

bool proc_maps_path_fits(const char *mapped, const char *path)
{
    size_t length = path_bytes(mapped), wanted = strlen(path);

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

int proc_maps_visit(int process, bool (*visit)(void *context, const struct proc_mapping *mapping), void *context)
{
    int descriptor = openat(process, "maps", O_RDONLY | O_CLOEXEC);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    size_t capacity = 0, count = 0;
    struct proc_mapping mapping;
    bool goes_on = true;
    char *line = NULL;

    if (descriptor < 0)
        return -errno;
    if (file == NULL) {
        close(descriptor);
        return -ENOMEM;
    }
    while (goes_on && count++ < LINES_MAX && getline(&line, &capacity, file) > 0)
        goes_on = proc_maps_parse_line(line, &mapping) != 0 || visit(context, &mapping);
    free(line);
    fclose(file);
    return 0;
}

struct find {
    uint64_t address;
    const char *path;
    struct proc_mapping *ret_mapping;
    int result;
};

static bool visit_to_find(void *context, const struct proc_mapping *mapping)
{
    struct find *find = context;

    if (find->address < mapping->start || find->address >= mapping->end)
        return true;
    find->result = find->path == NULL || proc_maps_path_fits(mapping->path, find->path) ? 0 : -ESTALE;
    if (find->result == 0) {
        *find->ret_mapping = *mapping;
        find->ret_mapping->path = NULL;
    }
    return false;
}

int proc_maps_find(int process, uint64_t address, const char *path, struct proc_mapping *ret_mapping)
{
    struct find find = {address, path, ret_mapping, -ENOENT};
    int result = proc_maps_visit(process, visit_to_find, &find);

    return result != 0 ? result : find.result;
}

/* A pass over the lines, in order of address. */
struct search {
    uint64_t address;
    struct proc_mapping first; /* mapping of the beginning of the current file; inode 0 = that is not mapped */
    struct proc_object object;
    bool found;
};

/* Returns false to end the pass. Is not called for lines without a file, such as those of zeroed data. */
static bool visit_to_search(void *context, const struct proc_mapping *mapping)
{
    struct search *search = context;
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
    search->found = mapping->rights[2] == 'x' && search->first.inode != 0;
    if (search->found)
        search->object.path = strndup(mapping->path, path_bytes(mapping->path));
    return search->found;
}

int proc_maps_object(int proc, uint32_t pid, uint64_t address, struct proc_object *ret_object)
{
    struct search search = {.address = address};
    int process = proc_open(proc, O_PATH | O_DIRECTORY, "%u", pid), result;

    if (process < 0)
        return process;
    result = proc_maps_visit(process, visit_to_search, &search);
    close(process);
    if (result != 0)
        return result;
    if (!search.found)
        return -ENOENT;
    if (search.object.path == NULL)
        return -ENOMEM;
    *ret_object = search.object;
    return 0;
}
