/* SPDX-License-Identifier: Apache-2.0 */
/* open_files.c - a few files, searched one by one. Touches /proc/self. */
#include "sym/child/open_files.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "sym/child/lookup.h"

#define STATM_BYTES 128u

static struct open_file *find_file(struct open_files *files, uint64_t key)
{
    for (size_t i = 0; i < OPEN_FILES_MAX; i++)
        if (files->files[i].lookup != NULL && files->files[i].key == key)
            return &files->files[i];
    return NULL;
}

static void close_file(struct open_file *file)
{
    lookup_close(file->lookup);
    file->lookup = NULL;
}

/* Returns the anonymous memory of this process. */
static uint64_t bytes_in_use(void)
{
    unsigned long long resident_pages = 0, shared_pages = 0;
    char text[STATM_BYTES] = "";
    int descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (descriptor < 0)
        return 0;
    if (read(descriptor, text, sizeof(text) - 1) > 0 &&
        sscanf(text, "%*u %llu %llu", &resident_pages, &shared_pages) != 2)
        resident_pages = shared_pages = 0;
    close(descriptor);
    return (resident_pages - shared_pages) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Returns the file used least recently, and the number of files. */
static struct open_file *oldest_file(struct open_files *files, size_t *ret_count)
{
    struct open_file *oldest = NULL;
    size_t count = 0;

    for (size_t i = 0; i < OPEN_FILES_MAX; i++) {
        struct open_file *file = &files->files[i];

        count += file->lookup != NULL;
        if (file->lookup != NULL && (oldest == NULL || file->last_used < oldest->last_used))
            oldest = file;
    }
    *ret_count = count;
    return oldest;
}

/* Returns a free entry. Closes files if memory is short. */
static struct open_file *make_room(struct open_files *files)
{
    struct open_file *oldest;
    size_t count;

    while ((oldest = oldest_file(files, &count)) != NULL &&
           (count == OPEN_FILES_MAX || (count > 1 && bytes_in_use() > OPEN_FILES_CROWDED_BYTES))) {
        close_file(oldest);
        malloc_trim(0);
    }
    for (size_t i = 0; i < OPEN_FILES_MAX; i++)
        if (files->files[i].lookup == NULL)
            return &files->files[i];
    return NULL;
}

void open_files_close(struct open_files *files)
{
    for (size_t i = 0; i < OPEN_FILES_MAX; i++)
        close_file(&files->files[i]);
    malloc_trim(0);
    files->seen_bytes = bytes_in_use();
    files->grown_bytes = 0;
}

/* Measures how much the last look-up has added. */
static void measure_growth(struct open_files *files)
{
    uint64_t bytes = bytes_in_use();

    if (bytes > files->seen_bytes)
        files->grown_bytes += bytes - files->seen_bytes;
    files->seen_bytes = bytes;
    if (files->grown_bytes > OPEN_FILES_GROWTH_BYTES)
        open_files_close(files);
}

int open_files_add(struct open_files *files, uint64_t key, int descriptor, const char *path, const uint8_t *build_id,
                   size_t build_id_bytes)
{
    struct open_file *file = find_file(files, key);
    struct lookup *lookup;
    int result;

    measure_growth(files);
    if (file != NULL)
        close_file(file);
    file = make_room(files);
    result = lookup_open(&lookup, descriptor, path, build_id, build_id_bytes);
    if (result == 0)
        *file = (struct open_file){.lookup = lookup, .key = key, .last_used = ++files->uses};
    files->seen_bytes = bytes_in_use();
    return result;
}

struct lookup *open_files_find(struct open_files *files, uint64_t key)
{
    struct open_file *file;

    measure_growth(files);
    file = find_file(files, key);
    if (file == NULL)
        return NULL;
    file->last_used = ++files->uses;
    return file->lookup;
}
