/* SPDX-License-Identifier: Apache-2.0 */
/* directories.c - opens, checks and lists the directories. Touches their descriptors, and the clock. */
#include "ring/directories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "ring/known_files.h"

#define LISTING_FACTOR 20u /* at most 1/20 of the time is spent on listings because of changes */

struct directory {
    char *path;
    int descriptor; /* -1 = missing */
    DIR *names;     /* of a listing that is not complete; NULL = none */
    struct file_identity file;
    uint64_t changed_ns; /* at the last listing; 0 = another change may not show */
    bool reported_missing;
};

struct directories {
    struct ring_host *host;
    directories_found *found;
    void *context;
    struct directory list[REGISTRY_DIRECTORIES_MAX];
    size_t count;
    bool listing_due;
    uint64_t listed_mono_ns; /* when the last listing began */
    uint64_t listing_ns;     /* time spent on it so far */
};

/* Lost and found --------------------------------------------------------------------------------------------------- */

static void end_listing(struct directory *directory)
{
    if (directory->names != NULL)
        closedir(directory->names);
    directory->names = NULL;
}

static void close_directory(struct directory *directory)
{
    if (directory->descriptor >= 0)
        close(directory->descriptor);
    directory->descriptor = -1;
    end_listing(directory);
}

static void notice_missing(struct directories *directories, struct directory *directory, int error)
{
    if (!directory->reported_missing)
        host_notice(directories->host, MAPPING_NOBODY, NOTICE_DIRECTORY_MISSING, directory->path, strerror(-error));
    directory->reported_missing = true;
}

static void open_directory(struct directories *directories, struct directory *directory)
{
    int descriptor = file_open_directory(directory->path);
    int result = descriptor >= 0 ? file_identify(descriptor, &directory->file) : descriptor;

    if (result != 0) {
        if (descriptor >= 0)
            close(descriptor);
        notice_missing(directories, directory, result);
        return;
    }
    directory->descriptor = descriptor;
    if (directory->reported_missing)
        host_notice(directories->host, MAPPING_NOBODY, NOTICE_DIRECTORY_FOUND, directory->path, NULL);
    directory->reported_missing = false;
    directories->listing_due = true;
}

/* Returns true if the path still leads to the open directory. It may be a link, as it comes from the configuration. */
static bool is_still_there(const struct directory *directory)
{
    struct stat status;

    return stat(directory->path, &status) == 0 && status.st_dev == directory->file.device &&
           status.st_ino == directory->file.inode;
}

static void check_directory(struct directories *directories, struct directory *directory)
{
    if (directory->descriptor >= 0 && !is_still_there(directory)) {
        close_directory(directory);
        directories->listing_due = true; /* its rings may have lost their names */
    }
    if (directory->descriptor < 0)
        open_directory(directories, directory);
    else if (file_identify(directory->descriptor, &directory->file) == 0) /* each new name changes it */
        directories->listing_due |= directory->file.changed_ns != directory->changed_ns;
}

static uint32_t find_directory(const struct directories *directories, const struct file_identity *file)
{
    for (size_t i = 0; i < directories->count; i++)
        if (directories->list[i].descriptor >= 0 && file_is_same(&directories->list[i].file, file))
            return (uint32_t)i;
    return DIRECTORIES_NOWHERE;
}

/* If two paths lead to the same directory, the later one is not listed. */
static bool is_duplicate(const struct directories *directories, size_t index)
{
    return find_directory(directories, &directories->list[index].file) != index;
}

/* Listing ---------------------------------------------------------------------------------------------------------- */

struct listing {
    const struct directories *directories;
    uint32_t number;
};

static int visit_name(void *context, const char *name)
{
    const struct listing *listing = context;

    listing->directories->found(listing->directories->context, listing->number, name);
    return 0;
}

static void begin_listing(struct directories *directories, size_t number)
{
    struct directory *directory = &directories->list[number];

    if (directory->descriptor < 0 || is_duplicate(directories, number))
        return;
    if (file_identify(directory->descriptor, &directory->file) == 0)
        directory->changed_ns = known_files_settled(&directory->file);
    if (file_list_begin(directory->descriptor, &directory->names) != 0)
        host_limit(directories->host, HEALTH_LIMIT_FILES, "a directory could not be listed");
}

static void continue_listing(struct directories *directories, uint32_t number, size_t limit)
{
    struct directory *directory = &directories->list[number];
    struct listing listing = {directories, number};

    if (directory->names == NULL)
        return;
    if (file_list_on(directory->names, limit, visit_name, &listing) == -EOVERFLOW)
        host_limit(directories->host, HEALTH_LIMIT_FILES, "a directory has more files than one scan examines");
    else
        end_listing(directory);
}

void directories_check(struct directories *directories)
{
    for (size_t i = 0; i < directories->count; i++)
        check_directory(directories, &directories->list[i]);
}

void directories_want_listing(struct directories *directories)
{
    directories->listing_due = true;
}

bool directories_listing_is_due(const struct directories *directories, uint64_t now_mono_ns)
{
    const uint64_t passed_ns = now_mono_ns - directories->listed_mono_ns;

    return (directories->listing_due && passed_ns >= LISTING_FACTOR * directories->listing_ns) ||
           directories_are_listing(directories) || passed_ns >= REGISTRY_RESCAN_NS;
}

bool directories_are_listing(const struct directories *directories)
{
    for (size_t i = 0; i < directories->count; i++)
        if (directories->list[i].names != NULL)
            return true;
    return false;
}

void directories_list(struct directories *directories, uint64_t now_mono_ns, size_t limit)
{
    const uint64_t began_mono_ns = clock_mono_ns();

    if (!directories_are_listing(directories)) {
        directories->listing_ns = 0;
        directories->listing_due = false; /* changes from here on require another listing */
        directories->listed_mono_ns = now_mono_ns;
        for (size_t i = 0; i < directories->count; i++)
            begin_listing(directories, i);
    }
    for (size_t i = 0; i < directories->count; i++)
        continue_listing(directories, (uint32_t)i, limit);
    directories->listing_ns += clock_mono_ns() - began_mono_ns;
}

int directories_at(const struct directories *directories, uint32_t number)
{
    return directories->list[number].descriptor;
}

const char *directories_path(const struct directories *directories, uint32_t number)
{
    return directories->list[number].path;
}

bool directories_identify(const struct directories *directories, size_t number, uint64_t *ret_device,
                          uint64_t *ret_inode)
{
    if (number >= directories->count || directories->list[number].descriptor < 0)
        return false;
    *ret_device = directories->list[number].file.device;
    *ret_inode = directories->list[number].file.inode;
    return true;
}

/* Life ------------------------------------------------------------------------------------------------------------- */

/* Makes a list of directories, all missing at first. Returns 0, -E2BIG or -ENOMEM. */
static int make_list(struct directory list[REGISTRY_DIRECTORIES_MAX], const char *const *paths, size_t count)
{
    if (count > REGISTRY_DIRECTORIES_MAX)
        return -E2BIG;
    for (size_t i = 0; i < count; i++) {
        list[i] = (struct directory){.path = strdup(paths[i]), .descriptor = -1};
        if (list[i].path != NULL)
            continue;
        while (i-- > 0)
            free(list[i].path);
        return -ENOMEM;
    }
    return 0;
}

int directories_new(struct directories **ret_directories, struct ring_host *host, const char *const *paths,
                    size_t count, directories_found *found, void *context)
{
    struct directories *directories = calloc(1, sizeof(*directories));
    int result = directories != NULL ? make_list(directories->list, paths, count) : -ENOMEM;

    if (result != 0) {
        free(directories);
        return result;
    }
    directories->host = host;
    directories->found = found;
    directories->context = context;
    directories->count = count;
    directories->listing_due = true;
    *ret_directories = directories;
    return 0;
}

void directories_free(struct directories *directories)
{
    if (directories == NULL)
        return;
    for (size_t i = 0; i < directories->count; i++) {
        close_directory(&directories->list[i]);
        free(directories->list[i].path);
    }
    free(directories);
}

/*
 * Returns the index of an old directory in the new list: of the same directory under any path, or, if that is missing,
 * of the same path.
 */
static uint32_t place_of(const struct directories *directories, const struct directory *old)
{
    uint32_t place = old->descriptor >= 0 ? find_directory(directories, &old->file) : DIRECTORIES_NOWHERE;

    for (uint32_t i = 0; place == DIRECTORIES_NOWHERE && i < directories->count; i++)
        if (strcmp(directories->list[i].path, old->path) == 0)
            place = i;
    return place;
}

int directories_set(struct directories *directories, const char *const *paths, size_t count,
                    uint32_t ret_places[REGISTRY_DIRECTORIES_MAX])
{
    struct directory fresh[REGISTRY_DIRECTORIES_MAX], old[REGISTRY_DIRECTORIES_MAX];
    const size_t old_count = directories->count;
    int result = make_list(fresh, paths, count);

    if (result != 0)
        return result;
    memcpy(old, directories->list, sizeof(old));
    memcpy(directories->list, fresh, count * sizeof(*fresh));
    directories->count = count;
    for (size_t i = 0; i < count; i++)
        open_directory(directories, &directories->list[i]);
    for (size_t i = 0; i < old_count; i++) {
        ret_places[i] = place_of(directories, &old[i]);
        close_directory(&old[i]);
        free(old[i].path);
    }
    directories->listing_due = true;
    return 0;
}
