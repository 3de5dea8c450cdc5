/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - the set of rings, and one refresh of it from beginning to end. Touches directories, ring files and /proc
 * through the other registry_*.c files; logs nothing: what is worth a line becomes a notice.
 *
 * Guarantees
 *   1. A refresh never fails for a reason that lies in a file, a directory or a process.
 *   2. A damaged ring leaves the set at once, but its struct stays valid until the next refresh.
 *   3. A ring is dropped only when its file has no name here and nothing shows that somebody lives in it.
 *   4. Notices are bounded per refresh, and a limit is noticed once.
 */
#include "ring/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/proc.h"
#include "ring/registry_state.h"
#include "util/array.h"
#include "util/search.h"

/* Notices ---------------------------------------------------------------------------------------------------------- */

void registry_notice(struct registry *registry, enum registry_notice_kind kind, const char *name, const char *reason)
{
    struct notice notice = {.kind = kind};
    struct notice *notices;

    if (registry->notice_count >= REGISTRY_NOTICES_MAX) {
        registry->counters.notices_over_limit++;
        return;
    }
    notices =
        array_reserve(registry->notices, &registry->notice_capacity, registry->notice_count + 1, sizeof(*notices));
    if (notices == NULL)
        return;
    registry->notices = notices;
    notice.name = strdup(name);
    notice.reason = reason != NULL ? strdup(reason) : NULL;
    notices[registry->notice_count++] = notice;
}

void registry_notice_limit(struct registry *registry, enum registry_limit limit, const char *reason)
{
    if (!registry->limit_noticed[limit])
        registry_notice(registry, NOTICE_LIMIT, "registry", reason);
    registry->limit_noticed[limit] = true;
}

/* Forgets the first count notices. */
static void drop_notices(struct registry *registry, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(registry->notices[i].name);
        free(registry->notices[i].reason);
    }
    registry->notice_count -= count;
    if (registry->notice_count != 0)
        memmove(registry->notices, registry->notices + count, registry->notice_count * sizeof(*registry->notices));
}

static int give_notices(struct registry *registry, const struct registry_notice **ret_notices, size_t *ret_count)
{
    struct registry_notice *out = array_reserve(registry->notices_out, &registry->notice_out_capacity,
                                                registry->notice_count, sizeof(*registry->notices_out));

    if (out == NULL)
        return -ENOMEM;
    registry->notices_out = out;
    for (size_t i = 0; i < registry->notice_count; i++) {
        const struct notice *notice = &registry->notices[i];

        out[i] = (struct registry_notice){notice->kind, notice->name != NULL ? notice->name : "", notice->reason};
    }
    registry->notices_returned = registry->notice_count;
    *ret_notices = out;
    *ret_count = registry->notice_count;
    return 0;
}

/* The set ---------------------------------------------------------------------------------------------------------- */

/* Nobody gets its file from here on. */
static void close_ring(struct ring *ring)
{
    lease_end(ring->lease);
    lease_unref(ring->lease);
    ring->lease = NULL;
    mapping_close(&ring->mapping);
}

static void free_ring(struct ring *ring)
{
    close_ring(ring);
    registry_processes_done(ring);
    registry_modules_done(ring);
    free(ring->name);
    free(ring->file_name);
    free(ring);
}

static int compare_serial(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, (*(struct ring *const *)item)->serial);
}

/* First index whose serial is not below. */
static size_t find_index(const struct registry *registry, uint32_t serial)
{
    return search_first(&serial, registry->rings, registry->ring_count, sizeof(*registry->rings), compare_serial);
}

/* Whoever makes and removes files all day uses them up one day: then they begin anew, at those that are free. */
uint32_t registry_new_serial(struct registry *registry)
{
    do
        registry->last_serial++;
    while (registry->last_serial == 0 || registry_find(registry, registry->last_serial) != NULL);
    return registry->last_serial;
}

int registry_add_ring(struct registry *registry, struct ring *ring)
{
    struct ring **rings =
        array_reserve(registry->rings, &registry->ring_capacity, registry->ring_count + 1, sizeof(*rings));
    size_t index;

    if (rings == NULL) {
        free_ring(ring);
        return -ENOMEM;
    }
    registry->rings = rings;
    ring->serial = registry_new_serial(registry);
    index = find_index(registry, ring->serial);
    memmove(&rings[index + 1], &rings[index], (registry->ring_count - index) * sizeof(*rings));
    rings[index] = ring;
    registry->ring_count++;
    return 0;
}

static void remove_ring(struct registry *registry, size_t index)
{
    registry_forget_ring_file(registry, registry->rings[index]);
    registry->ring_count--;
    memmove(&registry->rings[index], &registry->rings[index + 1],
            (registry->ring_count - index) * sizeof(*registry->rings));
}

struct ring **registry_rings(struct registry *registry, size_t *ret_count)
{
    *ret_count = registry->ring_count;
    return registry->rings;
}

struct ring *registry_find(struct registry *registry, uint32_t serial)
{
    size_t index = find_index(registry, serial);

    return index < registry->ring_count && registry->rings[index]->serial == serial ? registry->rings[index] : NULL;
}

struct lease *registry_lease(struct registry *registry, uint32_t serial)
{
    struct ring *ring = registry_find(registry, serial);

    if (ring == NULL)
        return NULL;
    if (ring->lease == NULL)
        ring->lease = lease_new(ring->mapping.descriptor);
    return ring->lease;
}

const struct registry_counters *registry_counters(const struct registry *registry)
{
    return &registry->counters;
}

/* Without memory to keep it until later, the struct is left behind: a leak is better than a pointer to nothing. */
static void retire_ring(struct registry *registry, struct ring *ring)
{
    struct ring **retired =
        array_reserve(registry->retired, &registry->retired_capacity, registry->retired_count + 1, sizeof(*retired));

    if (retired == NULL)
        return;
    registry->retired = retired;
    retired[registry->retired_count++] = ring;
}

void registry_damage(struct registry *registry, struct ring *ring)
{
    const char *reason = ring->mapping.reason != NULL ? ring->mapping.reason : "could not be read";
    size_t index = find_index(registry, ring->serial);
    struct file_identity file = ring->mapping.file;

    if (index >= registry->ring_count || registry->rings[index] != ring)
        return;
    if (ring->mapping.descriptor >= 0)
        file_identify(ring->mapping.descriptor, &file);
    remove_ring(registry, index);
    close_ring(ring);
    retire_ring(registry, ring);
    registry->counters.rings_damaged++;
    registry_notice(registry, NOTICE_RING_DAMAGED, ring->name != NULL ? ring->name : ring->file_name, reason);
    if (file.links != 0)
        registry_list_unreadable(registry, &file, ring->directory, ring->name != NULL ? ring->name : ring->file_name,
                                 RING_DAMAGED, reason);
}

bool registry_give_way(struct registry *registry, uint32_t uid)
{
    uint32_t largest;

    if (!registry_largest_owner(registry, uid, &largest))
        return false;
    for (size_t i = registry->ring_count; i-- > 0;) {
        struct ring *ring = registry->rings[i];

        if (ring->mapping.file.uid != largest)
            continue;
        remove_ring(registry, i);
        close_ring(ring);
        retire_ring(registry, ring);
        registry->counters.rings_over_limit++;
        registry_notice_limit(registry, LIMIT_WAY,
                              "the user with the most rings has to give one up for another user's");
        return true;
    }
    return false;
}

void registry_move_rings(struct registry *registry, const uint32_t *places)
{
    for (size_t i = 0; i < registry->ring_count;) {
        struct ring *ring = registry->rings[i];

        if (places[ring->directory] != REGISTRY_NOWHERE) {
            ring->directory = places[ring->directory];
            i++;
            continue;
        }
        registry_notice(registry, NOTICE_RING_GONE, ring->name != NULL ? ring->name : ring->file_name,
                        "its directory is not watched any more");
        remove_ring(registry, i);
        close_ring(ring);
        retire_ring(registry, ring);
    }
}

static void free_retired(struct registry *registry)
{
    for (size_t i = 0; i < registry->retired_count; i++)
        free_ring(registry->retired[i]);
    registry->retired_count = 0;
}

/* A refresh -------------------------------------------------------------------------------------------------------- */

static bool is_same_boot(const struct registry *registry, const struct rip_ring_info *info)
{
    static const uint8_t unknown[16];

    return memcmp(info->boot_id, unknown, sizeof(unknown)) == 0 ||
           memcmp(registry->boot_id, unknown, sizeof(unknown)) == 0 ||
           memcmp(info->boot_id, registry->boot_id, sizeof(unknown)) == 0;
}

/* Looks at the files of all rings: damaged, or without a name? */
static void check_rings(struct registry *registry)
{
    for (size_t i = 0; i < registry->ring_count;) {
        struct ring *ring = registry->rings[i];

        if (mapping_check(&ring->mapping) != 0 || mapping_info(&ring->mapping, &ring->info) != 0) {
            registry_damage(registry, ring);
            continue;
        }
        if (ring->mapping.file.links == 0)
            ring->unlinked = true;
        ring->same_boot = is_same_boot(registry, &ring->info);
        i++;
    }
}

/* Drops the rings that nobody can find or needs any more. */
static void drop_rings(struct registry *registry)
{
    for (size_t i = 0; i < registry->ring_count;) {
        struct ring *ring = registry->rings[i];

        if (!ring->unlinked || registry_ring_is_held(ring)) {
            i++;
            continue;
        }
        registry_notice(registry, NOTICE_RING_GONE, ring->name != NULL ? ring->name : ring->file_name, NULL);
        remove_ring(registry, i);
        free_ring(ring);
    }
}

int registry_refresh(struct registry *registry, uint64_t now_mono_ns, const struct registry_notice **ret_notices,
                     size_t *ret_count)
{
    drop_notices(registry, registry->notices_returned);
    registry->notices_returned = 0;
    registry->listing_ns = 0;
    free_retired(registry);
    registry_directories_refresh(registry, now_mono_ns);
    check_rings(registry);
    registry_name_rings(registry);
    registry_owners_refresh(registry);
    registry_judge_all(registry, now_mono_ns);
    drop_rings(registry);
    return give_notices(registry, ret_notices, ret_count);
}

/* Life ------------------------------------------------------------------------------------------------------------- */

/* What is compared with claims; what cannot be had stays 0, which is "not known" throughout. */
static void learn_machine(struct registry *registry, const struct registry_options *options)
{
    registry->proc = open(options->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    registry->proc_is_real = strcmp(options->proc_path, "/proc") == 0;
    if (registry->proc < 0)
        return;
    proc_own_pid_namespace(registry->proc, &registry->pid_namespace);
    proc_boot_id(registry->proc, registry->boot_id);
    registry->processes_hidden = registry->proc_is_real && !proc_exists(registry->proc, 1);
}

void registry_set_judging(struct registry *registry, uint64_t judging_ns)
{
    registry->judging_ns = judging_ns != 0 ? judging_ns : REGISTRY_JUDGING_NS;
}

/* For all but rings: half of what is not open from the start, REGISTRY_DESCRIPTORS_KEPT at most. */
static uint64_t kept_descriptors(uint64_t max)
{
    const uint64_t half = max > REGISTRY_DESCRIPTORS_BASE ? (max - REGISTRY_DESCRIPTORS_BASE) / 2 : 0;

    return half < REGISTRY_DESCRIPTORS_KEPT ? half : REGISTRY_DESCRIPTORS_KEPT;
}

int registry_new(struct registry **ret_registry, const struct registry_options *options)
{
    struct registry *registry = calloc(1, sizeof(*registry));
    int result;

    if (registry == NULL)
        return -ENOMEM;
    registry->inotify = -1;
    registry->hash_key = registry->known.hash_key = options->hash_key;
    registry_set_judging(registry, options->judging_ns);
    registry->descriptors_max = file_descriptors_max();
    registry->descriptors_max -= kept_descriptors(registry->descriptors_max);
    learn_machine(registry, options);
    result = registry->proc >= 0 ? registry_directories_init(registry, options) : -ENOENT;
    if (result != 0) {
        registry_free(registry);
        return result;
    }
    *ret_registry = registry;
    return 0;
}

void registry_free(struct registry *registry)
{
    if (registry == NULL)
        return;
    free_retired(registry);
    for (size_t i = 0; i < registry->ring_count; i++)
        free_ring(registry->rings[i]);
    drop_notices(registry, registry->notice_count);
    registry_files_done(registry);
    registry_directories_done(registry);
    if (registry->proc >= 0)
        close(registry->proc);
    free(registry->rings);
    free(registry->retired);
    free(registry->queue);
    free(registry->notices);
    free(registry->notices_out);
    free(registry);
}
