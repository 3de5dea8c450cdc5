/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.c - see leftovers.h. Touches names of ring files. */
#include "ring/leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/directories.h"
#include "ring/host.h"
#include "ring/processes.h"

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

/* O_NONBLOCK and O_NOFOLLOW: the file may have been replaced by something else since it was last examined. */
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

/* Returns true if every process left the ring in order, or to execute another program. */
static bool has_ended(const struct ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++) {
        const uint32_t state = ring->processes[i].claim.state;

        if (state != RIP_PROCESS_EXITED && state != RIP_PROCESS_EXECING)
            return false;
    }
    return true;
}

/* Returns true if all processes are preloaded or librip-compiled: the program did not ask for a ring. */
static bool is_unasked(const struct ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++)
        if ((ring->processes[i].claim.flags & (RIP_PROCESS_PRELOADED | RIP_PROCESS_COMPILED)) == 0)
            return false;
    return true;
}

/* Returns true if a second check, one period after the first, finds the ring still dead. */
static bool is_certain(struct ring *ring)
{
    bool was_dead = ring->found_dead;

    ring->found_dead = leftover_is_dead(ring) && !ring->unlinked;
    return was_dead && ring->found_dead;
}

void leftovers_remove(struct registry *registry)
{
    size_t count, removed = 0;
    struct ring **rings = registry_rings(registry, &count);

    for (size_t i = 0; i < count; i++)
        if (is_certain(rings[i]) && is_unasked(rings[i]) && has_ended(rings[i]) && removed < LEFTOVERS_REMOVED_MAX)
            removed += leftover_remove(registry_place(registry, rings[i]), rings[i]) == 0;
}
