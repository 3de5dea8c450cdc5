/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.c - see leftovers.h. Touches names of ring files. */
#include "ring/leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/directories.h"
#include "ring/host.h"
#include "ring/processes.h"
#include "util/search.h"

bool leftover_is_unfinished(const char *name)
{
    return strncmp(name, RIP_UNFINISHED_PREFIX, sizeof(RIP_UNFINISHED_PREFIX) - 1) == 0;
}

bool leftover_has_had_its_time(int directory, const char *name, uint64_t now_wall_ns, uint32_t *ret_uid)
{
    struct stat status;

    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) || status.st_mtime < 0)
        return false;
    *ret_uid = status.st_uid;
    return now_wall_ns / 1000000000u > (uint64_t)status.st_mtime + LEFTOVERS_UNFINISHED_S;
}

bool leftover_is_dead(const struct ring *ring)
{
    return ring->process_count != 0 && !processes_live(ring);
}

/* Removing --------------------------------------------------------------------------------------------------------- */

static bool is_locked(int descriptor, uint64_t offset, uint64_t bytes)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)offset, .l_len = (off_t)bytes};

    return fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static int remove_open(int directory, const struct ring *ring, int descriptor)
{
    struct flock takeover = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_TAKEOVER_OFFSET, .l_len = 1};
    struct file_identity file;
    int result = file_identify(descriptor, &file);

    if (result != 0)
        return result;
    if (!file.regular || !file_is_same(&file, &ring->mapping.file))
        return -ESTALE;
    if (fcntl(descriptor, F_OFD_SETLK, &takeover) != 0 ||
        is_locked(descriptor, RIP_LOCK_LIFE_OFFSET, RIP_PROCESS_MAX) ||
        is_locked(descriptor, RIP_LOCK_HOLDER_OFFSET, RIP_PROCESS_MAX))
        return -EBUSY;
    result = file_identify_at(directory, ring->file_name, &file);
    if (result != 0)
        return result;
    if (!file_is_same(&file, &ring->mapping.file))
        return -ESTALE;
    return unlinkat(directory, ring->file_name, 0) == 0 ? 0 : -errno;
}

/* What is opened was a ring's file a moment ago: O_NONBLOCK and O_NOFOLLOW are for what may stand there now. */
int leftover_remove(int directory, const struct ring *ring)
{
    int descriptor = openat(directory, ring->file_name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    int result;

    if (descriptor < 0)
        return -errno;
    result = remove_open(directory, ring, descriptor);
    close(descriptor);
    return result;
}

/* What nobody needs ------------------------------------------------------------------------------------------------ */

/* Every process has left it in order, or to execute another program. */
static bool has_ended(const struct ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++) {
        const uint32_t state = ring->processes[i].claim.state;

        if (state != RIP_PROCESS_EXITED && state != RIP_PROCESS_EXECING)
            return false;
    }
    return true;
}

/* The preload library made it, or librip-compiled: no process asked for it. */
static bool is_unasked(const struct ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++)
        if ((ring->processes[i].claim.flags & (RIP_PROCESS_PRELOADED | RIP_PROCESS_COMPILED)) == 0)
            return false;
    return true;
}

/* The length of STEM in STEM.PID or STEM.PID~NUMBER, PID being a process of the ring; 0: it is named otherwise. */
static size_t stem_bytes(const struct ring *ring)
{
    const char *point = strrchr(ring->file_name, '.');
    char *end;
    unsigned long pid;

    if (point == NULL || point[1] < '1' || point[1] > '9')
        return 0;
    pid = strtoul(point + 1, &end, 10);
    if (*end != '\0' && *end != '~')
        return 0;
    for (size_t i = 0; i < ring->process_count; i++)
        if (ring->processes[i].claim.pid == pid)
            return (size_t)(point - ring->file_name);
    return 0;
}

/* A dead ring of a family. */
struct leftover {
    struct ring *ring;
    size_t stem_bytes;
};

static int compare_families(const struct leftover *a, const struct leftover *b)
{
    const size_t shorter = a->stem_bytes < b->stem_bytes ? a->stem_bytes : b->stem_bytes;
    const int order =
        search_order_pair(a->ring->directory, a->ring->mapping.file.uid, b->ring->directory, b->ring->mapping.file.uid);

    return search_order_then(search_order_then(order, memcmp(a->ring->file_name, b->ring->file_name, shorter)),
                             search_order(a->stem_bytes, b->stem_bytes));
}

/* Family by family, the latest first. */
static int compare(const void *left, const void *right)
{
    const struct leftover *a = left, *b = right;

    return search_order_then(compare_families(a, b),
                             search_order(b->ring->info.created_wall_ns, a->ring->info.created_wall_ns));
}

/* A second look, a period after the first, finds the ring dead still. */
static bool is_certain(struct ring *ring)
{
    bool was_dead = ring->found_dead;

    ring->found_dead = leftover_is_dead(ring) && !ring->unlinked;
    return was_dead && ring->found_dead;
}

static void remove_one(struct registry *registry, const struct ring *ring, size_t *removed)
{
    if (*removed < LEFTOVERS_REMOVED_MAX && leftover_remove(registry_place(registry, ring), ring) == 0)
        (*removed)++;
}

/* Of those that crashed. */
static void remove_older(struct registry *registry, struct leftover *leftovers, size_t count, size_t *removed)
{
    size_t place = 0;

    qsort(leftovers, count, sizeof(*leftovers), compare);
    for (size_t i = 0; i < count; i++) {
        place = i != 0 && compare_families(&leftovers[i - 1], &leftovers[i]) == 0 ? place + 1 : 0;
        if (place >= LEFTOVERS_KEPT)
            remove_one(registry, leftovers[i].ring, removed);
    }
}

void leftovers_remove(struct registry *registry)
{
    size_t ring_count, count = 0, removed = 0;
    struct ring **rings = registry_rings(registry, &ring_count);
    struct leftover *crashed = calloc(ring_count != 0 ? ring_count : 1, sizeof(*crashed));

    for (size_t i = 0; crashed != NULL && i < ring_count; i++) {
        struct leftover leftover = {rings[i], stem_bytes(rings[i])};

        if (!is_certain(rings[i]) || !is_unasked(rings[i]))
            continue;
        if (has_ended(rings[i]))
            remove_one(registry, rings[i], &removed);
        else if (leftover.stem_bytes != 0)
            crashed[count++] = leftover;
    }
    if (crashed != NULL)
        remove_older(registry, crashed, count, &removed);
    free(crashed);
}
