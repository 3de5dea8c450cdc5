/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_file.c - a name in a directory: looked at, and opened if it is a regular file that has changed since the
 * last look. Touches the file and the set of remembered ones.
 *
 * Guarantees
 *   1. A file is opened again only after its change time or size has changed, or when it was so young at the last look
 *      that a change could not show.
 *   2. What cannot be read and seems meant to be a ring, or may be one, is listed with the reason and noticed once per
 *      inode. What is not a ring is passed over in silence.
 *   3. At most REGISTRY_FILES_MAX files are remembered, beside the rings; what is no longer there is forgotten at the
 *      next full listing. Beyond that a file is looked at again each time it is listed: nobody can hide a ring by
 *      making other files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "ring/registry_state.h"
#include "util/array.h"

enum {
    KNOWN_CAPACITY_MIN = 64,
    SETTLED_NS = 100000000, /* many ticks of any file's clock */
};

/* Remembered files ------------------------------------------------------------------------------------------------- */

static size_t known_place(const struct known_files *known, uint64_t device, uint64_t inode)
{
    const uint64_t parts[] = {device, inode};
    size_t place = (size_t)hash_bytes(&known->hash_key, parts, sizeof(parts)) & (known->capacity - 1);

    while (known->entries[place].used &&
           (known->entries[place].inode != inode || known->entries[place].device != device))
        place = (place + 1) & (known->capacity - 1);
    return place;
}

static struct known_file *find_known(const struct known_files *known, uint64_t device, uint64_t inode)
{
    size_t place;

    if (known->capacity == 0)
        return NULL;
    place = known_place(known, device, inode);
    return known->entries[place].used ? &known->entries[place] : NULL;
}

/* Moves the entries for which keep is true to a table with room for as many again. False: no memory, all is as it was.
 */
static bool rebuild_known(struct known_files *known, bool (*keep)(const struct known_file *entry, uint32_t pass),
                          uint32_t pass)
{
    struct known_files rebuilt = {.hash_key = known->hash_key, .capacity = KNOWN_CAPACITY_MIN};

    for (size_t i = 0; i < known->capacity; i++)
        rebuilt.count += known->entries[i].used && keep(&known->entries[i], pass);
    while (rebuilt.capacity < 3 * rebuilt.count)
        rebuilt.capacity *= 2;
    rebuilt.entries = calloc(rebuilt.capacity, sizeof(*rebuilt.entries));
    if (rebuilt.entries == NULL)
        return false;
    for (size_t i = 0; i < known->capacity; i++) {
        const struct known_file *entry = &known->entries[i];

        if (entry->used && keep(entry, pass))
            rebuilt.entries[known_place(&rebuilt, entry->device, entry->inode)] = *entry;
    }
    free(known->entries);
    *known = rebuilt;
    return true;
}

static bool keep_all(const struct known_file *entry, uint32_t pass)
{
    (void)entry;
    (void)pass;
    return true;
}

static bool keep_seen(const struct known_file *entry, uint32_t pass)
{
    return entry->ring != NULL || entry->pass == pass;
}

/* Within one tick of the file's clock a second change does not show. A time in the future says nothing either way. */
static uint64_t settled_time(const struct file_identity *file)
{
    uint64_t now_ns = clock_wall_ns();

    return file->changed_ns <= now_ns && now_ns - file->changed_ns < SETTLED_NS ? 0 : file->changed_ns;
}

/* Remembers a file as it is now. NULL: no memory, or the limit is reached and it is no ring. */
static struct known_file *remember(struct registry *registry, const struct file_identity *file, struct ring *ring)
{
    struct known_files *known = &registry->known;
    struct known_file *entry = find_known(known, file->device, file->inode);

    if (entry == NULL) {
        if (ring == NULL && known->count >= REGISTRY_FILES_MAX) {
            registry->counters.files_over_limit++;
            registry_notice_limit(registry, LIMIT_FILES, "more files than can be remembered");
            return NULL;
        }
        if (2 * (known->count + 1) > known->capacity && !rebuild_known(known, keep_all, 0))
            return NULL;
        entry = &known->entries[known_place(known, file->device, file->inode)];
        known->count++;
    }
    *entry = (struct known_file){
        .device = file->device,
        .inode = file->inode,
        .changed_ns = settled_time(file),
        .size_bytes = file->size_bytes,
        .ring = ring,
        .pass = registry->pass,
        .used = true,
    };
    return entry;
}

void registry_forget_ring_file(struct registry *registry, struct ring *ring)
{
    const struct file_identity *file = &ring->mapping.file;
    struct known_file *entry = find_known(&registry->known, file->device, file->inode);

    if (entry == NULL || entry->ring != ring)
        return;
    entry->ring = NULL;
    entry->changed_ns = 0; /* not settled: should it be listed again, it is looked at again */
}

/* Unreadable files ------------------------------------------------------------------------------------------------- */

static size_t find_unreadable(const struct registry *registry, uint64_t device, uint64_t inode)
{
    size_t i = 0;

    while (i < registry->unreadable_count &&
           (registry->unreadable[i].inode != inode || registry->unreadable[i].device != device))
        i++;
    return i;
}

static void remove_unreadable(struct registry *registry, size_t index)
{
    free(registry->unreadable[index].name);
    registry->unreadable[index] = registry->unreadable[--registry->unreadable_count];
}

/* A new line of the list, or NULL. */
static struct unreadable_file *add_unreadable(struct registry *registry)
{
    struct unreadable_file *list;

    if (registry->unreadable_count >= REGISTRY_UNREADABLE_MAX) {
        registry->counters.unreadable_over_limit++;
        registry_notice_limit(registry, LIMIT_UNREADABLE, "more unreadable rings than are listed");
        return NULL;
    }
    list = array_reserve(registry->unreadable, &registry->unreadable_capacity, registry->unreadable_count + 1,
                         sizeof(*list));
    if (list == NULL)
        return NULL;
    registry->unreadable = list;
    return &list[registry->unreadable_count];
}

/* Lists a file with the reason. 0: it is new in the list; 1: it was there; or -errno. */
int registry_list_unreadable(struct registry *registry, const struct file_identity *file, uint32_t directory,
                             const char *name, enum ring_health health, const char *reason)
{
    size_t index = find_unreadable(registry, file->device, file->inode);
    bool is_new = index == registry->unreadable_count;
    struct unreadable_file *entry;
    char *copy;

    if (remember(registry, file, NULL) == NULL)
        return -ENOSPC;
    entry = is_new ? add_unreadable(registry) : &registry->unreadable[index];
    copy = entry != NULL ? strdup(name) : NULL;
    if (copy == NULL)
        return -ENOSPC;
    if (is_new)
        registry->unreadable_count++;
    else
        free(entry->name);
    *entry = (struct unreadable_file){
        .device = file->device,
        .inode = file->inode,
        .size_bytes = file->size_bytes,
        .uid = file->uid,
        .serial = is_new ? registry_new_serial(registry) : entry->serial,
        .directory = directory,
        .health = is_new || health > entry->health ? health : entry->health, /* once damaged, not just unreadable */
        .reason = reason,
        .name = copy,
    };
    return !is_new;
}

static void report_unreadable(struct registry *registry, const struct file_identity *file, uint32_t directory,
                              const char *name, const char *reason)
{
    if (registry_list_unreadable(registry, file, directory, name, RING_UNREADABLE, reason) == 0)
        registry_notice(registry, NOTICE_RING_UNREADABLE, name, reason);
}

void registry_sweep_files(struct registry *registry)
{
    if (!rebuild_known(&registry->known, keep_seen, registry->pass))
        return;
    for (size_t i = 0; i < registry->unreadable_count;) {
        if (find_known(&registry->known, registry->unreadable[i].device, registry->unreadable[i].inode) == NULL)
            remove_unreadable(registry, i);
        else
            i++;
    }
}

void registry_move_unreadable(struct registry *registry, const uint32_t *places)
{
    for (size_t i = 0; i < registry->unreadable_count;) {
        struct unreadable_file *file = &registry->unreadable[i];

        if (places[file->directory] == REGISTRY_NOWHERE) {
            struct known_file *known = find_known(&registry->known, file->device, file->inode);

            if (known != NULL)
                known->changed_ns = 0; /* should it be listed again, it is looked at again */
            remove_unreadable(registry, i);
        } else {
            file->directory = places[file->directory];
            i++;
        }
    }
}

void registry_files_done(struct registry *registry)
{
    while (registry->unreadable_count > 0)
        remove_unreadable(registry, registry->unreadable_count - 1);
    free(registry->unreadable);
    free(registry->known.entries);
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

/* What an error on the way to a mapping means. */
static const struct open_error {
    int error;
    const char *unreadable; /* the file's own fault: listed with this reason */
    const char *limit;      /* ours: looked at again at the next listing */
} open_errors[] = {
    {-EACCES, "permission denied", NULL},
    {-EPERM, "operation not permitted", NULL},
    {-EIO, "could not be read: input/output error", NULL},
    {-EMFILE, NULL, "no descriptor left for a ring"},
    {-ENFILE, NULL, "no descriptor left for a ring"},
    {-ENOMEM, NULL, "no memory or address space left for a ring"},
    {-EAGAIN, NULL, NULL}, /* somebody holds a lease on it, or its lock: later, perhaps */
};

/* What a look at a file came to. */
enum look {
    LOOK_RING,
    LOOK_UNREADABLE, /* listed, with the reason */
    LOOK_OTHER,      /* not a ring */
    LOOK_LATER,      /* nothing is known: it went away, was replaced, or a limit is reached */
};

static enum look handle_open_error(struct registry *registry, const struct file_identity *file, uint32_t directory,
                                   const char *name, int error)
{
    for (size_t i = 0; i < sizeof(open_errors) / sizeof(open_errors[0]); i++) {
        if (open_errors[i].error != error)
            continue;
        if (open_errors[i].unreadable != NULL) {
            report_unreadable(registry, file, directory, name, open_errors[i].unreadable);
            return LOOK_UNREADABLE;
        }
        if (open_errors[i].limit != NULL) {
            registry->counters.rings_over_limit++;
            registry_notice_limit(registry, LIMIT_RESOURCES, open_errors[i].limit);
        }
    }
    return LOOK_LATER;
}

/* A ring in the making, of an open mapping, which it takes over also on failure. */
static int add_mapping(struct registry *registry, const struct mapping *mapping, uint32_t directory, const char *name)
{
    struct ring *ring = calloc(1, sizeof(*ring));
    int result = -ENOMEM;

    if (ring != NULL) {
        ring->mapping = *mapping;
        ring->directory = directory;
        ring->pass = registry->pass;
        ring->file_name = strdup(name);
    }
    if (ring == NULL || ring->file_name == NULL || remember(registry, &mapping->file, ring) == NULL) {
        struct mapping closing = *mapping;

        mapping_close(&closing);
        if (ring != NULL)
            free(ring->file_name);
        free(ring);
        return result;
    }
    result = registry_add_ring(registry, ring);
    if (result != 0)
        find_known(&registry->known, mapping->file.device, mapping->file.inode)->ring = NULL;
    return result;
}

/* Takes a file that is a ring into the set. */
static enum look take_mapping(struct registry *registry, struct mapping *mapping, const struct file_identity *file,
                              uint32_t directory, const char *name)
{
    if (mapping->file.device != file->device || mapping->file.inode != file->inode) {
        mapping_close(mapping); /* replaced since it was looked at; there is an event for that */
        return LOOK_LATER;
    }
    if ((uint64_t)mapping->descriptor >= registry->descriptors_max && !registry_give_way(registry, file->uid)) {
        mapping_close(mapping);
        return handle_open_error(registry, file, directory, name, -EMFILE);
    }
    if (registry->ring_count >= REGISTRY_RINGS_MAX && !registry_give_way(registry, file->uid)) {
        mapping_close(mapping);
        registry->counters.rings_over_limit++;
        registry_notice_limit(registry, LIMIT_RINGS, "more rings than can be mapped at once");
        return LOOK_LATER;
    }
    return add_mapping(registry, mapping, directory, name) == 0 ? LOOK_RING : LOOK_LATER;
}

/* As mapping_open(). */
static int open_ring(const struct registry *registry, uint32_t directory, const char *name, struct mapping *ret_mapping,
                     enum rip_status *ret_status)
{
    int descriptor = file_open_regular_at(registry->directories[directory].descriptor, name);

    return descriptor >= 0 ? mapping_open(ret_mapping, descriptor, MAPPING_MAPPED, ret_status) : descriptor;
}

/* Opens a file that is new or has changed. */
static enum look examine(struct registry *registry, const struct file_identity *file, uint32_t directory,
                         const char *name)
{
    enum rip_status status = RIP_OK;
    struct mapping mapping;
    int result;

    if (file->size_bytes == 0)
        return LOOK_OTHER;
    result = open_ring(registry, directory, name, &mapping, &status);
    if ((result == -ENOMEM || result == -EMFILE) && registry_give_way(registry, file->uid))
        result = open_ring(registry, directory, name, &mapping, &status);
    if (result < 0)
        return handle_open_error(registry, file, directory, name, result);
    if (result == 0)
        return take_mapping(registry, &mapping, file, directory, name);
    if (status == RIP_NOT_A_RING)
        return LOOK_OTHER;
    report_unreadable(registry, file, directory, name, rip_status_text(status));
    return LOOK_UNREADABLE;
}

/* Looks at a file that is not known as it is now. */
static void look_anew(struct registry *registry, const struct file_identity *file, uint32_t directory, const char *name)
{
    enum look look = examine(registry, file, directory, name);
    size_t listed;

    if (look == LOOK_OTHER)
        remember(registry, file, NULL);
    if (look != LOOK_OTHER && look != LOOK_RING)
        return;
    listed = find_unreadable(registry, file->device, file->inode);
    if (listed < registry->unreadable_count)
        remove_unreadable(registry, listed);
}

void registry_look_at(struct registry *registry, uint32_t directory, const char *name)
{
    const struct registry_directory *place = &registry->directories[directory];
    struct file_identity file;
    struct known_file *known;

    if (place->descriptor < 0 || file_identify_at(place->descriptor, name, &file) != 0 || !file.regular)
        return;
    known = find_known(&registry->known, file.device, file.inode);
    if (known != NULL)
        known->pass = registry->pass;
    if (known != NULL && known->ring != NULL)
        registry_seen_as(registry, known->ring, directory, name);
    else if (known == NULL || known->changed_ns != file.changed_ns || known->size_bytes != file.size_bytes)
        look_anew(registry, &file, directory, name);
}
