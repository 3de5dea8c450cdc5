/* SPDX-License-Identifier: Apache-2.0 */
/* capture_shelf.c - see capture_shelf.h. */
#include "record/capture_shelf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "record/captures.h"
#include "util/array.h"

#define FILES_MAX 65536u /* looked at in a folder */
#define SECOND_NS UINT64_C(1000000000)

struct shelf_file {
    char *name;
    uint64_t bytes;
    uint64_t written_wall_ns;
};

struct shelf {
    int folder; /* while it is read */
    char *name; /* NULL = not needed */
    struct shelf_file *files;
    size_t count;
    size_t capacity;
    uint64_t bytes;
};

static bool ends_in(const char *name, const char *suffix)
{
    const size_t length = strlen(name), suffix_length = strlen(suffix);

    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static int add_file(void *context, const char *name)
{
    struct shelf *shelf = context;
    struct shelf_file *file;
    struct stat status;

    if (!ends_in(name, CAPTURES_SUFFIX) || fstatat(shelf->folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode) || !ARRAY_GROW(shelf->files, shelf->count, shelf->capacity))
        return 0;
    file = &shelf->files[shelf->count];
    *file = (struct shelf_file){
        .name = strdup(name),
        .bytes = (uint64_t)status.st_size,
        .written_wall_ns = (uint64_t)status.st_mtim.tv_sec * SECOND_NS + (uint64_t)status.st_mtim.tv_nsec,
    };
    if (file->name == NULL)
        return 0;
    shelf->bytes += file->bytes;
    shelf->count++;
    return 0;
}

/* The newest first. */
static int compare(const void *left, const void *right)
{
    const struct shelf_file *a = left, *b = right;

    if (a->written_wall_ns != b->written_wall_ns)
        return a->written_wall_ns > b->written_wall_ns ? -1 : 1;
    return strcmp(b->name, a->name);
}

static void shelf_read(struct shelf *shelf, int folder)
{
    *shelf = (struct shelf){.folder = folder};
    (void)file_list(folder, FILES_MAX, add_file, shelf);
    if (shelf->count != 0)
        qsort(shelf->files, shelf->count, sizeof(*shelf->files), compare);
}

static void shelf_done(struct shelf *shelf)
{
    for (size_t i = 0; i < shelf->count; i++)
        free(shelf->files[i].name);
    free(shelf->files);
    free(shelf->name);
}

void capture_shelf_trim(int folder, uint64_t now_wall_ns)
{
    size_t kept = 0, replaced = 0;
    uint64_t bytes = 0;
    struct shelf shelf;

    shelf_read(&shelf, folder);
    for (size_t i = 0; i < shelf.count; i++) {
        const struct shelf_file *file = &shelf.files[i];
        const bool is_replaced = ends_in(file->name, CAPTURES_REPLACED_SUFFIX);
        const bool is_old =
            file->written_wall_ns < now_wall_ns && now_wall_ns - file->written_wall_ns > CAPTURES_AGE_NS;

        if (is_old || kept == CAPTURES_OF_USER || bytes + file->bytes > CAPTURES_OF_USER_BYTES ||
            (is_replaced && replaced == CAPTURES_REPLACED)) {
            unlinkat(folder, file->name, 0);
            continue;
        }
        kept++;
        replaced += is_replaced;
        bytes += file->bytes;
    }
    shelf_done(&shelf);
}

/* All users -------------------------------------------------------------------------------------------------------- */

struct shelves {
    int directory;
    struct shelf *shelves;
    size_t count;
    size_t capacity;
    size_t file_count;
    uint64_t bytes;
};

/* -1: it is no user's. */
static int open_shelf(int directory, const char *name)
{
    if (name[strspn(name, "0123456789")] != '\0')
        return -1;
    return openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int add_shelf(void *context, const char *name)
{
    struct shelves *all = context;
    const int folder = open_shelf(all->directory, name);
    struct shelf *shelf;

    if (folder >= 0 && ARRAY_GROW(all->shelves, all->count, all->capacity)) {
        shelf = &all->shelves[all->count++];
        shelf_read(shelf, folder);
        shelf->name = strdup(name);
        all->file_count += shelf->count;
        all->bytes += shelf->bytes;
    }
    if (folder >= 0)
        close(folder);
    return 0;
}

static struct shelf *find_largest(const struct shelves *all)
{
    struct shelf *largest = NULL;

    for (size_t i = 0; i < all->count; i++)
        if (all->shelves[i].count != 0 && all->shelves[i].name != NULL &&
            (largest == NULL || all->shelves[i].bytes > largest->bytes))
            largest = &all->shelves[i];
    return largest;
}

static void remove_oldest(struct shelves *all, struct shelf *shelf)
{
    const int folder = open_shelf(all->directory, shelf->name);
    struct shelf_file *oldest = &shelf->files[--shelf->count];

    if (folder >= 0) {
        unlinkat(folder, oldest->name, 0);
        close(folder);
    }
    shelf->bytes -= oldest->bytes;
    all->bytes -= oldest->bytes;
    all->file_count--;
    free(oldest->name);
}

static void shelves_read(struct shelves *all, int directory)
{
    *all = (struct shelves){.directory = directory};
    (void)file_list(directory, FILES_MAX, add_shelf, all);
}

static void shelves_done(struct shelves *all)
{
    for (size_t i = 0; i < all->count; i++)
        shelf_done(&all->shelves[i]);
    free(all->shelves);
}

/* An empty folder goes as well. */
void capture_shelf_trim_all(int directory)
{
    struct shelves all;
    struct shelf *largest;

    shelves_read(&all, directory);
    while ((all.file_count > CAPTURES_OF_ALL || all.bytes > CAPTURES_OF_ALL_BYTES) &&
           (largest = find_largest(&all)) != NULL)
        remove_oldest(&all, largest);
    for (size_t i = 0; i < all.count; i++)
        if (all.shelves[i].count == 0 && all.shelves[i].name != NULL)
            (void)unlinkat(directory, all.shelves[i].name, AT_REMOVEDIR);
    shelves_done(&all);
}

bool capture_shelf_give_way(int directory)
{
    struct shelves all;
    struct shelf *largest;

    shelves_read(&all, directory);
    largest = find_largest(&all);
    if (largest != NULL)
        remove_oldest(&all, largest);
    shelves_done(&all);
    return largest != NULL;
}
