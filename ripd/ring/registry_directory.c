/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_directory.c - the directories: watched, listed, lost and found again. Touches inotify and the directories'
 * descriptors.
 *
 * Guarantees
 *   1. A directory is known by its inode: one that is moved away, replaced, or mounted over is noticed at the next
 *      refresh, by one stat() each.
 *   2. A watch only makes things faster. Everything is listed again when it overflows, when a directory appears, and
 *      every REGISTRY_RESCAN_NS; a directory that has no watch is listed when it has changed.
 *   3. A missing directory is noticed once, and then costs one stat() per refresh.
 *   4. Where the list of directories changes, rings in one that is in both lists, by whatever path, stay the same
 * rings.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/registry_state.h"

#define WATCH_EVENTS                                                                                                   \
    (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK)

enum { EVENT_BUFFER_BYTES = 65536 };

/* Lost and found --------------------------------------------------------------------------------------------------- */

/* Two paths to one directory have one watch. */
static size_t count_watch(const struct registry *registry, int watch)
{
    size_t count = 0;

    for (size_t i = 0; i < registry->directory_count; i++)
        count += registry->directories[i].watch == watch;
    return count;
}

static void close_directory(struct registry *registry, struct registry_directory *directory)
{
    if (directory->watch >= 0 && count_watch(registry, directory->watch) == 1)
        inotify_rm_watch(registry->inotify, directory->watch);
    if (directory->descriptor >= 0)
        close(directory->descriptor);
    directory->watch = -1;
    directory->descriptor = -1;
}

static void notice_missing(struct registry *registry, struct registry_directory *directory, int error)
{
    if (!directory->reported_missing)
        registry_notice(registry, NOTICE_DIRECTORY_MISSING, directory->path, strerror(-error));
    directory->reported_missing = true;
}

/* The watch is set on what the descriptor refers to, in case the name has moved on. */
static void watch_directory(struct registry *registry, struct registry_directory *directory)
{
    char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];

    if (registry->inotify < 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", directory->descriptor);
    directory->watch = inotify_add_watch(registry->inotify, path, WATCH_EVENTS);
    if (directory->watch < 0 && errno != ENOSPC)
        directory->watch = inotify_add_watch(registry->inotify, directory->path, WATCH_EVENTS);
    if (directory->watch < 0)
        registry_notice_limit(registry, LIMIT_WATCHES, "no watch for a directory: new rings are found later");
}

static void open_directory(struct registry *registry, struct registry_directory *directory)
{
    struct file_identity identity;
    int descriptor = file_open_directory(directory->path);
    int result = descriptor >= 0 ? file_identify(descriptor, &identity) : descriptor;

    if (result != 0) {
        if (descriptor >= 0)
            close(descriptor);
        notice_missing(registry, directory, result);
        return;
    }
    directory->descriptor = descriptor;
    directory->device = identity.device;
    directory->inode = identity.inode;
    directory->changed_ns = 0;
    watch_directory(registry, directory);
    if (directory->reported_missing)
        registry_notice(registry, NOTICE_DIRECTORY_FOUND, directory->path, NULL);
    directory->reported_missing = false;
    registry->rescan_due = true;
}

/* Whether the path still leads to the directory that is open. The path may be a link: it is the user's own. */
static bool is_still_there(const struct registry_directory *directory)
{
    struct stat status;

    return stat(directory->path, &status) == 0 && status.st_dev == directory->device &&
           status.st_ino == directory->inode;
}

static void check_directory(struct registry *registry, struct registry_directory *directory)
{
    if (directory->descriptor >= 0 && !is_still_there(directory)) {
        close_directory(registry, directory);
        registry->rescan_due = true; /* its rings may have lost their names */
    }
    if (directory->descriptor < 0)
        open_directory(registry, directory);
}

/* Two paths to the same directory are one: the later one is not listed. */
static bool is_duplicate(const struct registry *registry, size_t index)
{
    const struct registry_directory *directory = &registry->directories[index];

    for (size_t i = 0; i < index; i++)
        if (registry->directories[i].descriptor >= 0 && registry->directories[i].device == directory->device &&
            registry->directories[i].inode == directory->inode)
            return true;
    return false;
}

/* Listing ---------------------------------------------------------------------------------------------------------- */

struct listing {
    struct registry *registry;
    uint32_t directory;
};

static int look_at_name(void *context, const char *name)
{
    const struct listing *listing = context;

    registry_look_at(listing->registry, listing->directory, name);
    return 0;
}

static void list_directory(struct registry *registry, uint32_t index)
{
    struct registry_directory *directory = &registry->directories[index];
    struct listing listing = {.registry = registry, .directory = index};
    struct file_identity identity;

    if (directory->descriptor < 0 || is_duplicate(registry, index))
        return;
    if (file_identify(directory->descriptor, &identity) == 0)
        directory->changed_ns = identity.changed_ns;
    directory->over_limit = file_list(directory->descriptor, REGISTRY_FILES_MAX, look_at_name, &listing) == -EOVERFLOW;
    if (directory->over_limit) {
        registry->counters.files_over_limit++;
        registry_notice_limit(registry, LIMIT_FILES, "a directory holds more files than are looked at");
    }
}

/* Lists everything; afterwards a ring that was not seen has lost its name, unless the name is still its own. */
static void rescan(struct registry *registry)
{
    registry->pass++;
    for (size_t i = 0; i < registry->directory_count; i++)
        list_directory(registry, (uint32_t)i);
    registry_sweep_files(registry);
    for (size_t i = 0; i < registry->ring_count; i++) {
        struct ring *ring = registry->rings[i];

        if (ring->pass != registry->pass)
            ring->unlinked = !registry_name_holds(registry, ring);
    }
}

/* A directory without a watch tells by its change time that a name came or went. */
static void list_unwatched(struct registry *registry)
{
    for (size_t i = 0; i < registry->directory_count; i++) {
        struct registry_directory *directory = &registry->directories[i];
        struct file_identity identity;

        if (directory->descriptor < 0 || directory->watch >= 0)
            continue;
        if (file_identify(directory->descriptor, &identity) == 0 && identity.changed_ns != directory->changed_ns) {
            list_directory(registry, (uint32_t)i);
            registry->names_in_doubt = true;
        }
    }
}

/* Events ----------------------------------------------------------------------------------------------------------- */

static void take_event(struct registry *registry, const struct inotify_event *event)
{
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        registry->counters.watch_overflows++;
        registry->rescan_due = true;
        return;
    }
    if ((event->mask & (IN_MOVED_FROM | IN_DELETE)) != 0)
        registry->names_in_doubt = true;
    else if (event->len != 0 && (event->mask & IN_ISDIR) == 0)
        for (size_t i = 0; i < registry->directory_count; i++)
            if (registry->directories[i].watch == event->wd && !is_duplicate(registry, i))
                registry_look_at(registry, (uint32_t)i, event->name);
}

/* Events in a buffer that the kernel filled. Returns how many. */
static size_t take_events(struct registry *registry, const char *buffer, size_t length)
{
    size_t count = 0;

    for (size_t at = 0; at + sizeof(struct inotify_event) <= length; count++) {
        const struct inotify_event *event = (const void *)(buffer + at);

        take_event(registry, event);
        at += sizeof(*event) + event->len;
    }
    return count;
}

static void read_events(struct registry *registry)
{
    _Alignas(struct inotify_event) char buffer[EVENT_BUFFER_BYTES];
    size_t count = 0;

    while (registry->inotify >= 0) {
        ssize_t length = read(registry->inotify, buffer, sizeof(buffer));

        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return;
        count += take_events(registry, buffer, (size_t)length);
        if (count < REGISTRY_EVENTS_MAX)
            continue;
        registry->counters.watch_overflows++; /* a flood: the rest is left to the listing, and to the next refresh */
        registry_notice_limit(registry, LIMIT_EVENTS, "more events in a directory than are taken in at once");
        registry->rescan_due = true;
        return;
    }
}

/* Rings whose own name was taken away; where they went, if anywhere, only a listing can tell. */
static void check_names(struct registry *registry)
{
    for (size_t i = 0; i < registry->ring_count; i++) {
        struct ring *ring = registry->rings[i];

        if (!ring->unlinked && !registry_name_holds(registry, ring))
            registry->rescan_due = true;
    }
    registry->names_in_doubt = false;
}

void registry_directories_refresh(struct registry *registry, uint64_t now_mono_ns)
{
    for (size_t i = 0; i < registry->directory_count; i++)
        check_directory(registry, &registry->directories[i]);
    read_events(registry);
    if (!registry->rescan_due)
        list_unwatched(registry);
    if (registry->names_in_doubt)
        check_names(registry);
    if (!registry->rescan_due && now_mono_ns - registry->rescanned_mono_ns < REGISTRY_RESCAN_NS)
        return;
    rescan(registry);
    registry->rescan_due = false;
    registry->rescanned_mono_ns = now_mono_ns;
}

/* Life ------------------------------------------------------------------------------------------------------------- */

int registry_directories_init(struct registry *registry, const struct registry_options *options)
{
    if (options->directory_count > REGISTRY_DIRECTORIES_MAX)
        return -E2BIG;
    for (size_t i = 0; i < options->directory_count; i++) {
        char *path = strdup(options->directories[i]);

        if (path == NULL)
            return -ENOMEM;
        registry->directories[registry->directory_count++] =
            (struct registry_directory){.path = path, .descriptor = -1, .watch = -1};
    }
    registry->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (registry->inotify < 0)
        registry_notice_limit(registry, LIMIT_WATCHES, "no watches at all: new rings are found later");
    registry->rescan_due = true;
    return 0;
}

/* A path that stays keeps its directory as it is, open and watched. Returns its place in the new list. */
static uint32_t take_along(struct registry_directory *old, struct registry_directory *fresh, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fresh[i].descriptor < 0 && !fresh[i].reported_missing && strcmp(fresh[i].path, old->path) == 0) {
            free(fresh[i].path);
            fresh[i] = *old;
            old->path = NULL; /* its watch still counts as one in use */
            return (uint32_t)i;
        }
    return REGISTRY_NOWHERE;
}

static uint32_t find_directory(const struct registry *registry, uint64_t device, uint64_t inode)
{
    for (size_t i = 0; i < registry->directory_count; i++)
        if (registry->directories[i].descriptor >= 0 && registry->directories[i].device == device &&
            registry->directories[i].inode == inode)
            return (uint32_t)i;
    return REGISTRY_NOWHERE;
}

/* The new list takes the place of the old one. Fills for each old directory its place in the new list. */
static void replace_directories(struct registry *registry, struct registry_directory *fresh, size_t count,
                                uint32_t places[REGISTRY_DIRECTORIES_MAX])
{
    struct registry_directory old[REGISTRY_DIRECTORIES_MAX];
    size_t old_count = registry->directory_count;

    for (size_t i = 0; i < old_count; i++)
        places[i] = take_along(&registry->directories[i], fresh, count);
    for (size_t i = 0; i < old_count; i++)
        if (places[i] == REGISTRY_NOWHERE)
            close_directory(registry, &registry->directories[i]);
    memcpy(old, registry->directories, sizeof(old));
    memcpy(registry->directories, fresh, count * sizeof(*fresh));
    registry->directory_count = count;
    for (size_t i = 0; i < count; i++)
        check_directory(registry, &registry->directories[i]);
    for (size_t i = 0; i < old_count; i++)
        if (places[i] == REGISTRY_NOWHERE) { /* by another path, perhaps */
            places[i] = find_directory(registry, old[i].device, old[i].inode);
            free(old[i].path);
        }
}

int registry_set_directories(struct registry *registry, const char *const *paths, size_t count)
{
    struct registry_directory fresh[REGISTRY_DIRECTORIES_MAX];
    uint32_t places[REGISTRY_DIRECTORIES_MAX];

    if (count > REGISTRY_DIRECTORIES_MAX)
        return -E2BIG;
    for (size_t i = 0; i < count; i++) {
        fresh[i] = (struct registry_directory){.path = strdup(paths[i]), .descriptor = -1, .watch = -1};
        if (fresh[i].path == NULL) {
            while (i-- > 0)
                free(fresh[i].path);
            return -ENOMEM;
        }
    }
    replace_directories(registry, fresh, count, places);
    registry_move_rings(registry, places);
    registry_move_unreadable(registry, places);
    registry->rescan_due = true;
    return 0;
}

void registry_directories_done(struct registry *registry)
{
    for (size_t i = 0; i < registry->directory_count; i++) {
        close_directory(registry, &registry->directories[i]);
        free(registry->directories[i].path);
    }
    if (registry->inotify >= 0)
        close(registry->inotify);
}

bool registry_directory(const struct registry *registry, size_t number, uint64_t *ret_device, uint64_t *ret_inode)
{
    const struct registry_directory *directory;

    if (number >= registry->directory_count || registry->directories[number].descriptor < 0)
        return false;
    directory = &registry->directories[number];
    *ret_device = directory->device;
    *ret_inode = directory->inode;
    return true;
}
