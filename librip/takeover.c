/* SPDX-License-Identifier: Apache-2.0 */
/*
 * takeover.c - what stands at the name a ring wants, and at NAME.prev: an empty file, a dead ring, or hands off.
 *
 * Only file.c calls it, for a process that has no name for its ring yet.
 *
 * Guarantees
 *   1. Nothing but an empty file or a ring whose processes are all gone is renamed, replaced or removed.
 *   2. Nothing but a regular file is ever opened for reading or writing: a FIFO, a device or a link is left alone.
 *   3. Of several processes that find the same dead ring one renames it: the TAKEOVER byte of the old file is locked,
 *      and under the lock the name is looked at again.
 *   4. The old file is never mapped: it is copied by pread into private memory and judged there by the validating
 *      reader, so that whoever cuts it cannot kill this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "writer.h"

enum verdict { VERDICT_FOREIGN, VERDICT_EMPTY, VERDICT_DEAD, VERDICT_LIVE };

/* Judging ---------------------------------------------------------------------------------------------------------- */

/* Copies [offset, offset + bytes) of the file to the same place of the private copy. */
static bool copy_range(int descriptor, unsigned char *base, uint64_t size_bytes, uint64_t offset, uint64_t bytes)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = offset & ~(page_bytes - 1);
    uint64_t last = (offset + bytes + page_bytes - 1) & ~(page_bytes - 1);

    if (offset > size_bytes || bytes > size_bytes - offset ||
        mprotect(base + first, last - first, PROT_READ | PROT_WRITE) < 0)
        return false;
    while (bytes > 0) {
        ssize_t done = pread(descriptor, base + offset, bytes, (off_t)offset);

        if (done <= 0)
            return false;
        offset += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return true;
}

static bool any_process_alive(int descriptor, const struct rip_view *view)
{
    struct rip_evidence evidence = {.descriptor = descriptor,
                                    .holder_offset = view->lock_holder_offset,
                                    .life_offset = view->lock_life_offset,
                                    .pid_namespace = rip__pid_namespace(),
                                    .now_boot_ns = rip__boot_ns()};
    struct rip_ring_info ring;

    if (rip__locked(descriptor, view->lock_holder_offset, view->process_capacity) ||
        rip__locked(descriptor, view->lock_life_offset, view->process_capacity))
        return true;
    rip_view_info(view, &ring);
    for (uint32_t i = 0; i < ring.process_high_water; i++) {
        struct rip_process_info info;

        if (rip_view_process(view, i, &info) == RIP_OK && rip__process_alive(&evidence, i, &info))
            return true;
    }
    return false;
}

/*
 * Copies the records that count, and of each only what the reader looks at: a header may lay a thousand records
 * gigabytes apart, which costs whoever wrote it nothing (the file is sparse) and whoever copies all of it his memory.
 */
static bool copy_records(int descriptor, unsigned char *base, uint64_t size_bytes, const struct rip_view *view)
{
    struct rip_ring_info ring;

    rip_view_info(view, &ring);
    for (uint32_t i = 0; i < ring.process_high_water; i++) {
        uint64_t offset = view->process_offset + (uint64_t)i * view->process_stride_bytes;

        if (!copy_range(descriptor, base, size_bytes, offset, sizeof(struct rip_process)))
            return false;
    }
    return true;
}

static enum verdict judge_copy(int descriptor, unsigned char *base, uint64_t size_bytes)
{
    static const uint8_t unknown[16];
    struct rip_view view;
    struct rip_ring_info ring;
    uint8_t boot_id[16];

    if (!copy_range(descriptor, base, size_bytes, 0, sizeof(struct rip_ring)) ||
        rip_view_open(&view, base, size_bytes) != RIP_OK || !copy_records(descriptor, base, size_bytes, &view))
        return VERDICT_FOREIGN;
    rip_view_info(&view, &ring);
    rip__boot_id(boot_id);
    if (memcmp(boot_id, unknown, sizeof(boot_id)) != 0 && memcmp(ring.boot_id, unknown, sizeof(boot_id)) != 0 &&
        memcmp(boot_id, ring.boot_id, sizeof(boot_id)) != 0)
        return VERDICT_DEAD;
    return any_process_alive(descriptor, &view) ? VERDICT_LIVE : VERDICT_DEAD;
}

static enum verdict judge(int descriptor)
{
    enum verdict verdict;
    struct stat status;
    void *base;
    uint64_t size_bytes;

    if (fstat(descriptor, &status) < 0)
        return VERDICT_FOREIGN;
    if (status.st_size == 0)
        return VERDICT_EMPTY;
    size_bytes = (uint64_t)status.st_size;
    if (size_bytes < sizeof(struct rip_ring) || rip__map_bare(-1, size_bytes, &base) < 0)
        return VERDICT_FOREIGN;
    verdict = judge_copy(descriptor, base, size_bytes);
    munmap(base, size_bytes);
    return verdict;
}

/* Getting hold ----------------------------------------------------------------------------------------------------- */

static bool name_is(int directory, const char *name, const struct stat *status)
{
    struct stat now;

    return fstatat(directory, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == status->st_dev &&
           now.st_ino == status->st_ino;
}

/* What an open() that failed says of the name: without descriptors or memory, nothing. */
static int refusal_of_open(int error)
{
    return error == ENOENT || error == EMFILE || error == ENFILE || error == ENOMEM ? -error : -EEXIST;
}

/*
 * Opens name if it is a regular file. It is looked at through a descriptor that opens nothing, and that same file is
 * then opened, so that a FIFO or a device put there meanwhile is not.
 */
static int open_regular(int directory, const char *name, struct stat *ret_status)
{
    int place = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int descriptor, result = -EEXIST;
    char link[64];

    if (place < 0)
        return refusal_of_open(errno);
    if (fstat(place, ret_status) == 0 && S_ISREG(ret_status->st_mode)) {
        snprintf(link, sizeof(link), RIP_DESCRIPTOR_LINKS "%d", place);
        descriptor = open(link, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0 && errno == ENOENT) /* no /proc */
            descriptor = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        result = descriptor >= 0 ? descriptor : refusal_of_open(errno);
    }
    close(place);
    return result;
}

/*
 * Opens the regular file name with its TAKEOVER byte locked. -ENOENT: no such name; -EAGAIN: it changed or somebody
 * else has the lock; -EEXIST: not ours to touch.
 */
static int open_locked(int directory, const char *name, int *ret_descriptor, struct stat *ret_status)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_TAKEOVER_OFFSET, .l_len = 1};
    struct stat status;
    int descriptor = open_regular(directory, name, &status);

    if (descriptor < 0)
        return descriptor;
    if (fcntl(descriptor, F_OFD_SETLK, &lock) < 0 || !name_is(directory, name, &status)) {
        close(descriptor);
        return -EAGAIN;
    }
    *ret_descriptor = descriptor;
    *ret_status = status;
    return 0;
}

static int refusal(enum verdict verdict)
{
    return verdict == VERDICT_LIVE ? -EBUSY : verdict == VERDICT_FOREIGN ? -EEXIST : 0;
}

/* Moving away ------------------------------------------------------------------------------------------------------ */

/* Renames the dead ring at name to previous, in place of an older dead ring. */
static int keep_as_previous(int directory, const char *name, const char *previous, const struct stat *status)
{
    struct stat older_status;
    int older, result;

    if (renameat2(directory, name, directory, previous, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EEXIST)
        return errno == ENOENT ? -EAGAIN : -errno;
    if (name_is(directory, previous, status)) /* two names of one file: rename() would do nothing */
        return unlinkat(directory, name, 0) == 0 ? 0 : -errno;
    result = open_locked(directory, previous, &older, &older_status);
    if (result < 0)
        return result == -ENOENT ? -EAGAIN : result;
    result = refusal(judge(older));
    if (result == 0 && renameat(directory, name, directory, previous) < 0)
        result = -errno;
    close(older);
    return result;
}

int rip__takeover(int directory, const char *name)
{
    char previous[NAME_MAX + 1];
    enum verdict verdict;
    struct stat status;
    int descriptor, result;

    result = open_locked(directory, name, &descriptor, &status);
    if (result < 0)
        return result == -ENOENT ? 0 : result;
    verdict = judge(descriptor);
    result = refusal(verdict);
    if (verdict == VERDICT_EMPTY)
        result = unlinkat(directory, name, 0) == 0 ? 0 : -errno;
    else if (verdict == VERDICT_DEAD && strlen(name) + sizeof(".prev") > sizeof(previous))
        result = -ENAMETOOLONG;
    else if (verdict == VERDICT_DEAD) {
        snprintf(previous, sizeof(previous), "%.*s.prev", NAME_MAX - 5, name);
        result = keep_as_previous(directory, name, previous, &status);
    }
    close(descriptor);
    return result;
}
