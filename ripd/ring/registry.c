/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - the set of rings: finds and opens files, names and drops rings, and runs a refresh. Touches ring files
 * and their names. See registry.h for the guarantees. directories.c, known_files.c, processes.c, threads.c and
 * modules.c are parts of the registry. host.c is what they share.
 *
 * Guarantees
 *   1. A file is opened again only if its change time or size has changed, or if the last look came so soon after a
 *      change that another change would not show.
 *   2. A file that is, or may be, meant as a ring and cannot be read is listed with the reason, and reported once per
 *      inode. Other files are ignored silently.
 *   3. Files that are no rings are remembered as far as their owner's account allows (WORK_FILES). Removed files are
 *      forgotten at the next full listing. Files beyond the limit are examined at each listing. If a directory has more
 *      than REGISTRY_FILES_MAX files, a listing takes several refreshes. So a ring cannot be hidden by creating other
 *      files.
 *   4. A ring follows its file if the file is renamed. If a file has several links, the first one found counts, as long
 *      as it exists.
 *   5. A name is given once and kept until the file is renamed, whatever rings come and go meanwhile. Only a ring that
 *      has lost its file gives up its name, to the ring that has taken its place.
 */
#include "ring/registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "os/clock.h"
#include "ring/directories.h"
#include "ring/ends.h"
#include "ring/known_files.h"
#include "ring/leftovers.h"
#include "ring/modules.h"
#include "ring/processes.h"
#include "ring/stops.h"
#include "util/array.h"
#include "util/search.h"

#define OPEN_NS UINT64_C(50000) /* time requested to open a file */
enum { SUFFIX_BYTES = sizeof("~4294967295") };

struct registry {
    struct ring_host host;
    struct directories *directories;
    struct known_files known;
    uint32_t pass;            /* number of full listings */
    uint64_t descriptors_max; /* rings may use descriptors below this number */
    bool removes;             /* remove leftovers */
    uint64_t leftovers_due_mono_ns;

    struct ring **rings; /* in ascending order of serial */
    size_t ring_count;
    size_t ring_capacity;
    struct ring *retired; /* list: dropped since the last refresh, not in rings, freed by the next refresh */
    uint32_t last_serial;
};

struct ring_host *registry_host(struct registry *registry)
{
    return &registry->host;
}

int registry_proc(const struct registry *registry)
{
    return registry->host.proc;
}

int registry_place(const struct registry *registry, const struct ring *ring)
{
    return directories_at(registry->directories, ring->directory);
}

/* The set ---------------------------------------------------------------------------------------------------------- */

static void leave_account(struct registry *registry, struct ring *ring)
{
    if (!ring->accounted)
        return;
    work_give(registry->host.work, ring->user, WORK_RINGS, 1);
    work_give(registry->host.work, ring->user, WORK_MAPPED_BYTES, ring->held_bytes);
    ring->accounted = false;
}

/* No other thread gets the ring's file after this. */
static void close_ring(struct registry *registry, struct ring *ring)
{
    leave_account(registry, ring);
    lease_end(ring->lease);
    lease_unref(ring->lease);
    ring->lease = NULL;
    mapping_close(&ring->mapping);
}

static void free_ring(struct registry *registry, struct ring *ring)
{
    close_ring(registry, ring);
    processes_done(ring);
    modules_free(ring->modules);
    module_facts_unref(ring->scripts);
    free(ring->name);
    free(ring->file_name);
    free(ring);
}

static int compare_serial(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, (*(struct ring *const *)item)->serial);
}

/* Returns the index of the first ring whose serial is not below. */
static size_t find_index(const struct registry *registry, uint32_t serial)
{
    return search_first(&serial, registry->rings, registry->ring_count, sizeof(*registry->rings), compare_serial);
}

/* Serials wrap: skip 0 and those still in use. */
static uint32_t new_serial(struct registry *registry)
{
    do
        registry->last_serial++;
    while (registry->last_serial == 0 || registry_find(registry, registry->last_serial) != NULL);
    return registry->last_serial;
}

/* The file is examined again if it is listed again. */
static void remove_ring(struct registry *registry, size_t index)
{
    struct ring *ring = registry->rings[index];
    struct known_file *known = known_files_find(&registry->known, &ring->mapping.file);

    if (known != NULL && known->ring == ring) {
        known->ring = NULL;
        known->changed_ns = 0;
    }
    ARRAY_CLOSE(registry->rings, registry->ring_count, index);
}

static void retire_ring(struct registry *registry, size_t index)
{
    struct ring *ring = registry->rings[index];

    remove_ring(registry, index);
    close_ring(registry, ring);
    ring->next_retired = registry->retired;
    registry->retired = ring;
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

const struct health *registry_health(const struct registry *registry)
{
    return registry->host.health;
}

/* Whose account ---------------------------------------------------------------------------------------------------- */

static void drop_largest(struct registry *registry, uint32_t user)
{
    size_t largest = registry->ring_count;

    for (size_t i = 0; i < registry->ring_count; i++)
        if (registry->rings[i]->user == user &&
            (largest == registry->ring_count ||
             registry->rings[i]->mapping.size_bytes >= registry->rings[largest]->mapping.size_bytes))
            largest = i;
    if (largest == registry->ring_count)
        return;
    retire_ring(registry, largest);
    host_limit(&registry->host, HEALTH_LIMIT_RINGS,
               "dropped a ring of the user who holds most, to make room for another user");
}

/*
 * Drops a ring of the user who holds the most, if that is more than user would hold with amount added. Returns false if
 * none was dropped.
 */
static bool drop_for_user(struct registry *registry, uint32_t user, enum work_limit limit, uint64_t amount)
{
    const struct work *work = registry->host.work;
    uint32_t largest;

    if (!work_largest(work, limit, &largest) || largest == user ||
        work_held(work, largest, limit) <= work_held(work, user, limit) + amount)
        return false;
    work_refuse(registry->host.work, largest, limit, 1);
    drop_largest(registry, largest);
    return true;
}

/* Returns false if the amount exceeds the user's limit, which is counted. */
static bool take_room(struct registry *registry, uint32_t user, enum work_limit limit, uint64_t amount)
{
    while (!work_has_room(registry->host.work, user, limit, amount) && drop_for_user(registry, user, limit, amount))
        continue;
    if (work_take(registry->host.work, user, limit, amount))
        return true;
    host_limit(&registry->host, HEALTH_LIMIT_RINGS, "a user has more rings than can be mapped at once");
    return false;
}

/* Charges a ring to the account of its file's owner. Returns false if the limit does not allow it. */
static bool take_account(struct registry *registry, struct ring *ring)
{
    ring->user = work_user(registry->host.work, ring->mapping.file.uid);
    ring->held_bytes = ring->mapping.copied ? 0 : ring->mapping.size_bytes;
    if (!take_room(registry, ring->user, WORK_RINGS, 1))
        return false;
    ring->accounted = take_room(registry, ring->user, WORK_MAPPED_BYTES, ring->held_bytes);
    if (!ring->accounted)
        work_give(registry->host.work, ring->user, WORK_RINGS, 1);
    return ring->accounted;
}

/* Unreadable files ------------------------------------------------------------------------------------------------- */

/* Remembers a file as it is now. Returns NULL if out of memory, or if it is no ring and its owner has no quota. */
static struct known_file *remember(struct registry *registry, const struct file_identity *file, struct ring *ring)
{
    struct known_file *known = known_files_set(&registry->known, file, ring, registry->pass);

    if (known == NULL && ring == NULL)
        host_limit(&registry->host, HEALTH_LIMIT_FILES, "a user has more files than can be remembered");
    return known;
}

/*
 * Adds a file to the list of unreadable rings, with the reason. A file that is already listed keeps its serial, and
 * stays RING_DAMAGED if it was. Returns true if the file was not listed before.
 */
static bool list_unreadable(struct registry *registry, const struct file_identity *file, uint32_t directory,
                            const char *name, enum ring_health health, const char *reason)
{
    struct known_file *known = remember(registry, file, NULL);
    struct unreadable *before = known != NULL ? known->unreadable : NULL, *line;
    const size_t name_bytes = strlen(name) + 1;

    if (known == NULL)
        return false;
    if (before == NULL && !work_take(registry->host.work, known->user, WORK_UNREADABLE, 1)) {
        host_limit(&registry->host, HEALTH_LIMIT_UNREADABLE, "a user has more unreadable rings than are listed");
        return false;
    }
    line = malloc(sizeof(*line) + name_bytes);
    if (line == NULL) {
        work_give(registry->host.work, known->user, WORK_UNREADABLE, before == NULL ? 1 : 0);
        return false;
    }
    *line = (struct unreadable){before != NULL ? before->serial : new_serial(registry), directory, file->uid,
                                before != NULL && before->health > health ? before->health : health, reason};
    memcpy(line->name, name, name_bytes);
    known->unreadable = line;
    registry->known.unreadable_count += before == NULL;
    free(before);
    return before == NULL;
}

static void report_unreadable(struct registry *registry, const struct file_identity *file, uint32_t directory,
                              const char *name, const char *reason)
{
    if (list_unreadable(registry, file, directory, name, RING_UNREADABLE, reason))
        host_notice(&registry->host, work_user(registry->host.work, file->uid), NOTICE_RING_UNREADABLE, name, reason);
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
    retire_ring(registry, index);
    registry->host.health->damaged_ring_count++;
    host_notice(&registry->host, ring->user, NOTICE_RING_DAMAGED, ring_name(ring), reason);
    if (file.links != 0)
        list_unreadable(registry, &file, ring->directory, ring_name(ring), RING_DAMAGED, reason);
}

/* Names ------------------------------------------------------------------------------------------------------------ */

/* Returns true if the ring's last known name still belongs to its file. */
static bool has_valid_name(const struct registry *registry, const struct ring *ring)
{
    const int directory = directories_at(registry->directories, ring->directory);
    struct file_identity now;

    return directory >= 0 && file_identify_at(directory, ring->file_name, &now) == 0 &&
           file_is_same(&now, &ring->mapping.file);
}

static void note_name(struct registry *registry, struct ring *ring, uint32_t directory, const char *name)
{
    bool same_name = strcmp(ring->file_name, name) == 0;

    ring->pass = registry->pass;
    if ((!same_name || ring->directory != directory) && !has_valid_name(registry, ring)) {
        char *file_name = strdup(name);

        if (file_name == NULL)
            return;
        free(ring->file_name);
        ring->file_name = file_name;
        ring->directory = directory;
        if (!same_name) { /* it gets a new name at the end of the refresh */
            free(ring->name);
            ring->name = NULL;
        }
    }
    ring->unlinked = false;
}

static struct ring *find_name(const struct registry *registry, const char *name)
{
    for (size_t i = 0; i < registry->ring_count; i++)
        if (registry->rings[i]->name != NULL && strcmp(registry->rings[i]->name, name) == 0)
            return registry->rings[i];
    return NULL;
}

/* Returns file_name with the first unused suffix, or NULL if out of memory. */
static char *suffixed_name(const struct registry *registry, const char *file_name)
{
    size_t size = strlen(file_name) + SUFFIX_BYTES;
    char *name = malloc(size);

    for (unsigned number = 2; name != NULL; number++) { /* ends: there are fewer rings than numbers */
        snprintf(name, size, "%s~%u", file_name, number);
        if (find_name(registry, name) == NULL)
            break;
    }
    return name;
}

static void name_ring(struct registry *registry, struct ring *ring)
{
    struct ring *other = find_name(registry, ring->file_name);

    if (other != NULL && other->unlinked && !ring->unlinked) {
        char *suffixed = suffixed_name(registry, ring->file_name);

        if (suffixed != NULL) {
            ring->name = other->name;
            other->name = suffixed;
            return;
        }
    }
    ring->name = other != NULL ? suffixed_name(registry, ring->file_name) : strdup(ring->file_name);
}

static void name_rings(struct registry *registry)
{
    for (size_t i = 0; i < registry->ring_count; i++) {
        struct ring *ring = registry->rings[i];

        if (ring->name != NULL)
            continue;
        name_ring(registry, ring);
        if (ring->name == NULL)
            continue;
        if (!ring->announced)
            host_notice(&registry->host, ring->user, NOTICE_RING_FOUND, ring->name, NULL);
        ring->announced = true;
    }
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

/* What an error from opening or mapping a file means. */
static const struct open_error {
    int error;
    const char *unreadable; /* the file is at fault: it is listed with this reason */
    const char *limit;      /* our limit: the file is examined again at the next listing */
} open_errors[] = {
    {-EACCES, "permission denied", NULL},
    {-EPERM, "operation not permitted", NULL},
    {-EIO, "could not be read: input/output error", NULL},
    {-EMFILE, NULL, "no descriptor left for a ring"},
    {-ENFILE, NULL, "no descriptor left for a ring"},
    {-ENOMEM, NULL, "no memory or address space left for a ring"},
    {-EAGAIN, NULL, NULL}, /* a lease or a lock is held: it may work later */
};

/* The result of examining a file. */
enum look {
    LOOK_RING,
    LOOK_UNREADABLE, /* listed, with the reason */
    LOOK_OTHER,      /* not a ring */
    LOOK_LATER,      /* not known: it vanished, was replaced, or a limit is reached */
};

static enum look handle_open_error(struct registry *registry, const struct file_identity *file, uint32_t directory,
                                   const char *name, int error)
{
    for (size_t i = 0; i < ARRAY_COUNT(open_errors); i++) {
        if (open_errors[i].error != error)
            continue;
        if (open_errors[i].unreadable != NULL) {
            report_unreadable(registry, file, directory, name, open_errors[i].unreadable);
            return LOOK_UNREADABLE;
        }
        if (open_errors[i].limit != NULL)
            host_limit(&registry->host, HEALTH_LIMIT_RINGS, open_errors[i].limit);
    }
    return LOOK_LATER;
}

/* Adds a ring to the set. Takes ownership of the mapping, also on failure. */
static enum look add_ring(struct registry *registry, const struct mapping *mapping, uint32_t directory,
                          const char *name)
{
    const bool has_room = ARRAY_GROW(registry->rings, registry->ring_count, registry->ring_capacity);
    struct ring *ring = calloc(1, sizeof(*ring));
    struct mapping closing = *mapping;
    size_t index;

    if (ring != NULL) {
        ring->mapping = *mapping;
        ring->directory = directory;
        ring->pass = registry->pass;
        ring->file_name = strdup(name);
    }
    if (!has_room || ring == NULL || ring->file_name == NULL || !take_account(registry, ring)) {
        mapping_close(&closing);
        if (ring != NULL)
            free(ring->file_name);
        free(ring);
        return LOOK_LATER;
    }
    if (!remember(registry, &mapping->file, ring)) {
        free_ring(registry, ring);
        return LOOK_LATER;
    }
    ring->serial = new_serial(registry);
    index = find_index(registry, ring->serial);
    ARRAY_OPEN(registry->rings, registry->ring_count, index);
    registry->rings[index] = ring;
    return LOOK_RING;
}

/* Like mapping_open(). If descriptors or address space are used up, another user's ring may be dropped to make room. */
static int open_ring(struct registry *registry, uint32_t user, uint32_t directory, const char *name,
                     struct mapping *ret_mapping, enum rip_status *ret_status)
{
    for (;;) {
        int descriptor = file_open_regular_at(directories_at(registry->directories, directory), name);
        int result = descriptor;

        if (descriptor >= 0 && (uint64_t)descriptor >= registry->descriptors_max) {
            close(descriptor);
            result = -EMFILE;
        } else if (descriptor >= 0) {
            result = mapping_open(ret_mapping, descriptor, MAPPING_MAPPED, ret_status);
        }
        if ((result == -EMFILE && drop_for_user(registry, user, WORK_RINGS, 1)) ||
            (result == -ENOMEM && drop_for_user(registry, user, WORK_MAPPED_BYTES, 1)))
            continue;
        return result;
    }
}

/* Opens a file that is new or has changed. */
static enum look open_file(struct registry *registry, const struct file_identity *file, uint32_t directory,
                           const char *name)
{
    const uint32_t user = work_user(registry->host.work, file->uid);
    enum rip_status status = RIP_OK;
    struct mapping mapping;
    int result = open_ring(registry, user, directory, name, &mapping, &status);

    if (result < 0)
        return handle_open_error(registry, file, directory, name, result);
    if (result == 0 && !file_is_same(&mapping.file, file)) {
        mapping_close(&mapping); /* replaced meanwhile: its directory has changed again */
        return LOOK_LATER;
    }
    if (result == 0)
        return add_ring(registry, &mapping, directory, name);
    if (status == RIP_NOT_A_RING)
        return LOOK_OTHER;
    report_unreadable(registry, file, directory, name, rip_status_text(status));
    return LOOK_UNREADABLE;
}

/* Examines a file that is new or has changed. Its owner is charged for the time. */
static void examine_file(struct registry *registry, const struct file_identity *file, uint32_t directory,
                         const char *name)
{
    struct ring_host *host = &registry->host;
    const uint32_t user = work_user(host->work, file->uid);
    const uint64_t began_mono_ns = clock_mono_ns();
    enum look look = LOOK_OTHER;

    if (!host->is_first && host_grant(host, user, WORK_READ_TIME, OPEN_NS) == 0) {
        directories_want_listing(registry->directories);
        return;
    }
    if (file->size_bytes != 0)
        look = open_file(registry, file, directory, name);
    host_use(host, user, WORK_READ_TIME, clock_mono_ns() - began_mono_ns);
    if (look == LOOK_OTHER)
        remember(registry, file, NULL);
    if (look == LOOK_OTHER || look == LOOK_RING)
        known_files_unlist(&registry->known, known_files_find(&registry->known, file));
}

/* An unfinished ring needs no timer: it is listed again every REGISTRY_RESCAN_NS. */
static void visit_unfinished(const struct registry *registry, int directory, const char *name)
{
    uint32_t uid;

    if (registry->removes && leftover_has_had_its_time(directory, name, clock_wall_ns(), &uid))
        (void)unlinkat(directory, name, 0);
}

static void visit_file(void *context, uint32_t directory, const char *name)
{
    struct registry *registry = context;
    const int place = directories_at(registry->directories, directory);
    struct file_identity file;
    struct known_file *known;

    if (place >= 0 && leftover_is_unfinished(name)) {
        visit_unfinished(registry, place, name);
        return;
    }
    if (place < 0 || file_identify_at(place, name, &file) != 0 || !file.regular)
        return;
    known = known_files_find(&registry->known, &file);
    if (known != NULL)
        known->pass = registry->pass;
    if (known != NULL && known->ring != NULL)
        note_name(registry, known->ring, directory, name);
    else if (known == NULL || known->changed_ns != file.changed_ns || known->size_bytes != file.size_bytes)
        examine_file(registry, &file, directory, name);
}

/* A refresh -------------------------------------------------------------------------------------------------------- */

/*
 * Lists everything. The first refresh does so at once, the others may need several refreshes. After a complete listing,
 * a ring that was not seen is unlinked, unless its name is still valid.
 */
static void list_all(struct registry *registry, uint64_t now_mono_ns)
{
    registry->pass += !directories_are_listing(registry->directories);
    directories_list(registry->directories, now_mono_ns, registry->host.is_first ? SIZE_MAX : REGISTRY_FILES_MAX);
    if (directories_are_listing(registry->directories))
        return;
    known_files_sweep(&registry->known, registry->pass);
    for (size_t i = 0; i < registry->ring_count; i++) {
        struct ring *ring = registry->rings[i];

        if (ring->pass != registry->pass)
            ring->unlinked = !has_valid_name(registry, ring);
    }
}

static void find_files(struct registry *registry, uint64_t now_mono_ns)
{
    directories_check(registry->directories);
    if (directories_listing_is_due(registry->directories, now_mono_ns))
        list_all(registry, now_mono_ns);
}

static bool is_same_boot(const struct registry *registry, const struct rip_ring_info *info)
{
    static const uint8_t unknown[16];

    return memcmp(info->boot_id, unknown, sizeof(unknown)) == 0 ||
           memcmp(registry->host.boot_id, unknown, sizeof(unknown)) == 0 ||
           memcmp(info->boot_id, registry->host.boot_id, sizeof(unknown)) == 0;
}

/* Moves a ring to another user's account if necessary: its file has a new owner, or subordinate ranges have changed. */
static bool account_holds(struct registry *registry, struct ring *ring)
{
    if (work_user(registry->host.work, ring->mapping.file.uid) == ring->user)
        return true;
    leave_account(registry, ring);
    return take_account(registry, ring);
}

/* Checks the files of all rings: whether they are damaged, have a new owner, or have lost their names. */
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
    for (size_t i = 0; i < registry->ring_count;) {
        struct ring *ring = registry->rings[i];
        const uint32_t serial = ring->serial;

        if (!account_holds(registry, ring)) /* taking an account may have dropped other rings */
            retire_ring(registry, find_index(registry, serial));
        while (i < registry->ring_count && registry->rings[i]->serial <= serial)
            i++;
    }
}

static void judge_processes(struct registry *registry, uint64_t now_mono_ns)
{
    for (size_t i = 0; i < registry->ring_count;) {
        struct ring *ring = registry->rings[i];

        processes_judge(registry, ring, now_mono_ns);
        i += !ring->mapping.damaged; /* a damaged ring has left the array */
    }
}

/* Drops rings that have no name and no process. */
static void drop_rings(struct registry *registry)
{
    for (size_t i = 0; i < registry->ring_count;) {
        struct ring *ring = registry->rings[i];

        if (!ring->unlinked || processes_are_held(ring)) {
            i++;
            continue;
        }
        host_notice(&registry->host, ring->user, NOTICE_RING_GONE, ring_name(ring), NULL);
        remove_ring(registry, i);
        free_ring(registry, ring);
    }
}

static void free_retired(struct registry *registry)
{
    while (registry->retired != NULL) {
        struct ring *ring = registry->retired;

        registry->retired = ring->next_retired;
        free_ring(registry, ring);
    }
}

void registry_refresh(struct registry *registry, uint64_t now_mono_ns)
{
    host_begin(&registry->host);
    free_retired(registry);
    find_files(registry, now_mono_ns);
    check_rings(registry);
    name_rings(registry);
    judge_processes(registry, now_mono_ns);
    if (registry->removes && now_mono_ns >= registry->leftovers_due_mono_ns) {
        leftovers_remove(registry);
        registry->leftovers_due_mono_ns = now_mono_ns + LEFTOVERS_PERIOD_NS;
    }
    drop_rings(registry);
    stops_look(&registry->host, registry->rings, registry->ring_count);
}

/* Facts for snapshots ---------------------------------------------------------------------------------------------- */

/* Uses the facts made by the last refresh. */
static int fill_processes(const struct ring *ring, struct ring_facts *facts)
{
    facts->processes = calloc(ring->process_count != 0 ? ring->process_count : 1, sizeof(struct process_facts *));
    if (facts->processes == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < ring->process_count; i++) {
        const struct ring_process *process = &ring->processes[i];

        if (process->present && process->facts != NULL)
            facts->processes[facts->process_count++] = process_facts_ref(process->facts);
    }
    return 0;
}

static int fill_ring(const struct registry *registry, const struct ring *ring, struct ring_facts *facts)
{
    *facts = (struct ring_facts){
        .name = strdup(ring_name(ring)),
        .directory = strdup(directories_path(registry->directories, ring->directory)),
        .serial = ring->serial,
        .health = RING_READABLE,
        .dead = !processes_live(ring),
        .unlinked = ring->unlinked,
        .unseen = ring->unseen,
        .uid = ring->mapping.file.uid,
        .slot_capacity = ring->info.slot_capacity,
        .live_count = ring->live_count,
        .file_bytes = ring->mapping.file.size_bytes,
        .info = ring->info,
    };
    if (facts->name == NULL || facts->directory == NULL)
        return -ENOMEM;
    return fill_processes(ring, facts);
}

static int fill_unreadable(const struct registry *registry, const struct known_file *file, struct ring_facts *facts)
{
    const struct unreadable *line = file->unreadable;

    *facts = (struct ring_facts){
        .name = strdup(line->name),
        .directory = strdup(directories_path(registry->directories, line->directory)),
        .serial = line->serial,
        .health = line->health,
        .reason = strdup(line->reason),
        .uid = line->uid,
        .file_bytes = file->size_bytes,
    };
    return facts->name != NULL && facts->directory != NULL && facts->reason != NULL ? 0 : -ENOMEM;
}

static int compare_facts(const void *left, const void *right)
{
    const struct ring_facts *a = left, *b = right;

    return search_order_then(search_order_then(strcmp(a->name, b->name), strcmp(a->directory, b->directory)),
                             search_order(a->serial, b->serial));
}

int registry_facts(const struct registry *registry, struct ring_facts **ret_facts, size_t *ret_count)
{
    size_t room = registry->ring_count + registry->known.unreadable_count, count = 0;
    struct ring_facts *facts = calloc(room != 0 ? room : 1, sizeof(*facts));
    int result = facts != NULL ? 0 : -ENOMEM;

    for (size_t i = 0; result == 0 && i < registry->ring_count; i++)
        result = fill_ring(registry, registry->rings[i], &facts[count++]);
    for (size_t i = 0; result == 0 && count < room; i++)
        if (registry->known.entries[i].unreadable != NULL)
            result = fill_unreadable(registry, &registry->known.entries[i], &facts[count++]);
    if (result == 0) {
        qsort(facts, count, sizeof(*facts), compare_facts);
        *ret_facts = facts;
        *ret_count = count;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        ring_facts_done(&facts[i]);
    free(facts);
    return result;
}

/* Life ------------------------------------------------------------------------------------------------------------- */

/* Drops rings whose directories are not watched any more. Updates the directory index of the others. */
static void move_rings(struct registry *registry, const uint32_t *places)
{
    for (size_t i = 0; i < registry->ring_count;) {
        struct ring *ring = registry->rings[i];

        if (places[ring->directory] != DIRECTORIES_NOWHERE) {
            ring->directory = places[ring->directory];
            i++;
            continue;
        }
        host_notice(&registry->host, ring->user, NOTICE_RING_GONE, ring_name(ring),
                    "its directory is not watched any more");
        retire_ring(registry, i);
    }
    for (size_t i = 0; i < registry->known.count; i++) {
        struct known_file *known = &registry->known.entries[i];

        if (known->unreadable == NULL)
            continue;
        known->unreadable->directory = places[known->unreadable->directory];
        if (known->unreadable->directory != DIRECTORIES_NOWHERE)
            continue;
        known->changed_ns = 0; /* examine it again if it is listed again */
        known_files_unlist(&registry->known, known);
    }
}

int registry_set_directories(struct registry *registry, const char *const *paths, size_t count)
{
    uint32_t places[REGISTRY_DIRECTORIES_MAX];
    int result = directories_set(registry->directories, paths, count, places);

    if (result == 0)
        move_rings(registry, places);
    return result;
}

bool registry_directory(const struct registry *registry, size_t number, uint64_t *ret_device, uint64_t *ret_inode)
{
    return directories_identify(registry->directories, number, ret_device, ret_inode);
}

void registry_set_judging(struct registry *registry, uint64_t judging_ns)
{
    host_set_time(&registry->host, judging_ns);
}

/*
 * Returns how many descriptors are kept for other uses than rings: half of those that are not open from the start, at
 * most REGISTRY_DESCRIPTORS_KEPT.
 */
static uint64_t kept_descriptors(uint64_t max)
{
    const uint64_t half = max > REGISTRY_DESCRIPTORS_BASE ? (max - REGISTRY_DESCRIPTORS_BASE) / 2 : 0;

    return half < REGISTRY_DESCRIPTORS_KEPT ? half : REGISTRY_DESCRIPTORS_KEPT;
}

/* If descriptors are scarce, all of them are for rings. */
static void open_ends(struct registry *registry)
{
    const uint64_t most = registry->descriptors_max / 4;

    if (most < REGISTRY_ENDINGS_MIN)
        return;
    if (most < REGISTRY_ENDINGS_MAX)
        work_set_total(registry->host.work, WORK_ENDINGS, most);
    registry->host.ends_epoll = epoll_create1(EPOLL_CLOEXEC);
}

int registry_ends_descriptor(const struct registry *registry)
{
    return registry->host.ends_epoll;
}

/* Returns true if the record still belongs to the process, and says that it did not leave in order. */
static bool is_unexpected(struct registry *registry, struct process_end *end)
{
    struct ring *ring = registry_find(registry, end->ring);
    struct rip_process_info claim;

    if (ring == NULL || mapping_process(&ring->mapping, end->process, &claim) != 0)
        return false;
    end->exiting = (claim.flags & RIP_PROCESS_EXITING) != 0;
    return claim.generation == end->generation && claim.state != RIP_PROCESS_EXITED;
}

bool registry_next_end(struct registry *registry, struct process_end *ret_end)
{
    struct process_end end;

    while (ends_next(&registry->host, &end)) {
        if (is_unexpected(registry, &end)) {
            *ret_end = end;
            return true;
        }
        if (end.descriptor >= 0)
            close(end.descriptor);
    }
    return false;
}

enum registry_certainty registry_certainty(struct registry *registry, const struct process_end *end)
{
    const struct ring *ring = registry_find(registry, end->ring);
    const struct ring_process *process;

    if (ring == NULL || end->process >= ring->process_count)
        return CERTAINTY_YES;
    process = &ring->processes[end->process];
    if (process->claim.generation != end->generation)
        return CERTAINTY_YES;
    if (process->claim.state == RIP_PROCESS_EXITED) /* the exec failed, and the process left in order */
        return CERTAINTY_NO;
    if (process->verdict == PROCESS_MISSING || ends_is_dying(process->watch))
        return CERTAINTY_LACKS;
    if (process->verdict != PROCESS_DEAD)
        return CERTAINTY_NO;
    return end->replaced ? CERTAINTY_YES : CERTAINTY_LACKS; /* the kernel will report how it ends */
}

int registry_new(struct registry **ret_registry, const struct registry_options *options)
{
    struct registry *registry = calloc(1, sizeof(*registry));
    const uint64_t descriptors_max = file_descriptors_max();
    int result;

    if (registry == NULL)
        return -ENOMEM;
    registry->known.hash_key = options->hash_key;
    registry->last_serial = options->last_serial;
    registry->removes = options->removes;
    registry->descriptors_max = descriptors_max - kept_descriptors(descriptors_max);
    result = host_init(&registry->host, options);
    registry->known.work = registry->host.work;
    if (result == 0)
        result = directories_new(&registry->directories, &registry->host, options->directories,
                                 options->directory_count, visit_file, registry);
    if (result == 0)
        work_set_total(registry->host.work, WORK_MAPPED_BYTES, REGISTRY_MAPPED_BYTES);
    if (result == 0 && options->notices_ends)
        open_ends(registry);
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
        free_ring(registry, registry->rings[i]);
    known_files_done(&registry->known);
    directories_free(registry->directories);
    free(registry->rings);
    host_done(&registry->host);
    free(registry);
}
