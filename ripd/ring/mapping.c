/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping.c - one ring file: judged by its first page, mapped, and read under a guard. Touches the file's descriptor
 * and the address space.
 *
 * Guarantees
 *   1. What is mapped is what the header says, never more than the file has and never more than MAPPING_BYTES_MAX. The
 *      header is looked at through read(), so a foreign file is never mapped and none of its pages is allocated.
 *   2. Between guard and unguard stands one call of the reader and nothing else: no lock is taken, nothing is
 *      allocated, no local changes that is used after a fault.
 *   3. A mapping that faulted is never read again: every later call is -EIO.
 */
#include "ring/mapping.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/sigbus.h"

/* The first page, aligned as the reader wants it. */
union first_page {
    struct rip_ring ring;
    unsigned char bytes[RIP_PAGE_BYTES];
};

static ssize_t read_first_page(int descriptor, union first_page *page)
{
    size_t length = 0;

    while (length < sizeof(*page)) {
        ssize_t bytes = pread(descriptor, page->bytes + length, sizeof(*page) - length, (off_t)length);

        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0)
            return -errno;
        if (bytes == 0)
            break;
        length += (size_t)bytes;
    }
    return (ssize_t)length;
}

/*
 * Whether the first page is that of a ring we read, and how much of the file to map. A page by itself is never a whole
 * ring: for the reader it is a truncated one, unless something worse is wrong with it.
 */
static enum rip_status judge_first_page(const union first_page *page, size_t length, uint64_t file_size_bytes,
                                        size_t *ret_map_bytes)
{
    struct rip_view view;
    enum rip_status status = rip_view_open(&view, page, length);
    uint64_t map_bytes = page->ring.file_bytes;

    if (status != RIP_TRUNCATED || length < sizeof(*page))
        return status == RIP_OK ? RIP_DAMAGED : status;
    if (map_bytes > MAPPING_BYTES_MAX)
        return RIP_DAMAGED;
    if (map_bytes > file_size_bytes)
        return RIP_TRUNCATED;
    *ret_map_bytes = (size_t)map_bytes;
    return RIP_OK;
}

static int mark_damaged(struct mapping *mapping)
{
    mapping->damaged = true;
    return -EIO;
}

/* 0, 1 with *ret_status, or -EIO. */
static int open_view(struct mapping *mapping, enum rip_status *ret_status)
{
    enum rip_status status;

    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        status = rip_view_open(&mapping->view, mapping->base, mapping->size_bytes);
        sigbus_unguard();
        if (status == RIP_OK)
            return 0;
        *ret_status = status;
        return 1;
    }
    return mark_damaged(mapping);
}

static int map_file(struct mapping *mapping, size_t map_bytes)
{
    void *base = mmap(NULL, map_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, mapping->descriptor, 0);

    if (base == MAP_FAILED)
        return -errno;
    madvise(base, map_bytes, MADV_DONTDUMP); /* it is not ours to put into a core file */
    mapping->base = base;
    mapping->size_bytes = map_bytes;
    return 0;
}

/* Everything but the clean-up of a failure. */
static int fill_mapping(struct mapping *mapping, enum rip_status *ret_status)
{
    union first_page page = {0};
    enum rip_status status;
    size_t map_bytes = 0;
    ssize_t length;
    int result = file_identify(mapping->descriptor, &mapping->file);

    if (result != 0)
        return result;
    length = read_first_page(mapping->descriptor, &page);
    if (length < 0)
        return (int)length;
    status = judge_first_page(&page, (size_t)length, mapping->file.size_bytes, &map_bytes);
    if (status != RIP_OK) {
        *ret_status = status;
        return 1;
    }
    result = map_file(mapping, map_bytes);
    if (result == 0)
        result = open_view(mapping, ret_status);
    if (result == -EIO) { /* cut between the look at its size and this */
        *ret_status = RIP_TRUNCATED;
        result = 1;
    }
    return result;
}

int mapping_open(struct mapping *ret_mapping, int descriptor, enum rip_status *ret_status)
{
    struct mapping mapping = {.descriptor = descriptor};
    int result = fill_mapping(&mapping, ret_status);

    if (result == 0)
        *ret_mapping = mapping;
    else
        mapping_close(&mapping);
    return result;
}

void mapping_close(struct mapping *mapping)
{
    if (mapping->base != NULL)
        munmap((void *)(uintptr_t)mapping->base, mapping->size_bytes);
    if (mapping->descriptor >= 0)
        close(mapping->descriptor);
    mapping->base = NULL;
    mapping->size_bytes = 0;
    mapping->descriptor = -1;
    mapping->damaged = true;
}

uint32_t mapping_owner(const struct mapping *mapping)
{
    return mapping->file.uid == 0 && mapping->file.others_write ? MAPPING_NOBODY : mapping->file.uid;
}

int mapping_check(struct mapping *mapping)
{
    struct file_identity now;
    int result;

    if (mapping->damaged)
        return -EIO;
    result = file_identify(mapping->descriptor, &now);
    if (result != 0)
        return result;
    mapping->file = now;
    return now.size_bytes < mapping->size_bytes ? mark_damaged(mapping) : 0;
}

int mapping_info(struct mapping *mapping, struct rip_ring_info *ret_info)
{
    if (mapping->damaged)
        return -EIO;
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        rip_view_info(&mapping->view, ret_info);
        sigbus_unguard();
        return 0;
    }
    return mark_damaged(mapping);
}

int mapping_scan(struct mapping *mapping, struct rip_scan_position *position, struct rip_sample *ret_samples,
                 size_t capacity, size_t *ret_count)
{
    if (mapping->damaged)
        return -EIO;
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        *ret_count = rip_view_scan(&mapping->view, position, ret_samples, capacity);
        sigbus_unguard();
        return 0;
    }
    return mark_damaged(mapping);
}

int mapping_id(struct mapping *mapping, uint32_t slot, struct rip_id_info *ret_info)
{
    enum rip_status status;

    if (mapping->damaged)
        return -EIO;
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        status = rip_view_id(&mapping->view, slot, ret_info);
        sigbus_unguard();
        return status != RIP_OK;
    }
    return mark_damaged(mapping);
}

int mapping_wait(struct mapping *mapping, uint32_t slot, struct rip_wait_info *ret_info)
{
    enum rip_status status;

    if (mapping->damaged)
        return -EIO;
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        status = rip_view_wait(&mapping->view, slot, ret_info);
        sigbus_unguard();
        return status != RIP_OK;
    }
    return mark_damaged(mapping);
}

int mapping_last(struct mapping *mapping, uint32_t slot, struct rip_last_info *ret_info)
{
    enum rip_status status;

    if (mapping->damaged)
        return -EIO;
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        status = rip_view_last(&mapping->view, slot, ret_info);
        sigbus_unguard();
        return status != RIP_OK;
    }
    return mark_damaged(mapping);
}

int mapping_trail(struct mapping *mapping, uint32_t slot, struct rip_crumb ret_crumbs[RIP_ENTRY_COUNT],
                  size_t *ret_count)
{
    enum rip_status status;

    if (mapping->damaged)
        return -EIO;
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        status = rip_view_trail(&mapping->view, slot, ret_crumbs, ret_count);
        sigbus_unguard();
        return status != RIP_OK;
    }
    return mark_damaged(mapping);
}

int mapping_process(struct mapping *mapping, uint32_t index, struct rip_process_info *ret_info)
{
    enum rip_status status;

    if (mapping->damaged)
        return -EIO;
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        status = rip_view_process(&mapping->view, index, ret_info);
        sigbus_unguard();
        return status != RIP_OK;
    }
    return mark_damaged(mapping);
}

int mapping_module(struct mapping *mapping, uint32_t process, uint32_t nth, struct rip_module_info *ret_info)
{
    enum rip_status status;

    if (mapping->damaged)
        return -EIO;
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        status = rip_view_module(&mapping->view, process, nth, ret_info);
        sigbus_unguard();
        return status != RIP_OK;
    }
    return mark_damaged(mapping);
}
