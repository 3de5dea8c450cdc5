/* SPDX-License-Identifier: Apache-2.0 */
/* attest.c - reads a record, locks, a pidfd and /proc; ring/identity.c gives the verdict. See attest.h. */
#include "probe/child/attest.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "os/file.h"
#include "os/pidfd.h"
#include "os/proc.h"
#include "os/proc_maps.h"
#include "ring/claim.h"
#include "ring/identity.h"
#include "util/array.h"

enum { NAME_BYTES = 64, REMEMBERED = 64 };

/* Where a ring is mapped in a process. Cached, because the list of mappings may be long. */
struct place {
    uint32_t pid;
    uint64_t start_time_ticks;
    struct file_identity ring;
    uint64_t start, end;
};

static struct place places[REMEMBERED];

/* Whether the kernel lets the process's own user read it. Otherwise its /proc files belong to root. */
static bool is_readable_by(int proc, uint32_t pid, uint32_t user)
{
    struct file_identity identity;
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "%u/stat", pid);
    return file_identify_at(proc, name, &identity) == 0 && identity.uid == user;
}

/*
 * Finds the page of the ring that librip maps without access to hold the LIFE lock. Nothing else maps files like that.
 */
static bool visit_to_find_life_page(void *context, const struct proc_mapping *mapping)
{
    struct place *place = context;

    if (memcmp(mapping->rights, "---s", sizeof(mapping->rights)) != 0 || mapping->offset != 0 ||
        mapping->inode != place->ring.inode ||
        makedev(mapping->device_major, mapping->device_minor) != place->ring.device)
        return true;
    place->start = mapping->start;
    place->end = mapping->end;
    return false;
}

static bool find_life_page(int proc, struct place *place)
{
    int process = proc_open(proc, O_PATH | O_DIRECTORY, "%u", place->pid);

    if (process < 0)
        return false;
    (void)proc_maps_visit(process, visit_to_find_life_page, place);
    close(process);
    return place->end != 0;
}

/* Whether a file that was opened for reading and writing is mapped there, as rings are and programs are not. */
static bool is_still_there(int proc, const struct place *place)
{
    struct stat status;
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "%u/map_files/%" PRIx64 "-%" PRIx64, place->pid, place->start, place->end);
    return fstatat(proc, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && (status.st_mode & 0600) == 0600;
}

/* Whether the ring is mapped in the process as librip maps it. Its own code has done that since the last exec. */
static bool maps_ring(int proc, const struct attested *attested)
{
    struct place *place = &places[attested->pid % REMEMBERED];
    struct place found = {.pid = attested->pid, .ring = attested->mapping.file};
    struct proc_stat stat;

    if (proc_stat(proc, attested->pid, &stat) != 0)
        return false;
    found.start_time_ticks = stat.start_time_ticks;
    if (place->pid == found.pid && place->start_time_ticks == found.start_time_ticks &&
        file_is_same(&place->ring, &found.ring) && is_still_there(proc, place))
        return true;
    if (!find_life_page(proc, &found))
        return false;
    *place = found;
    return true;
}

/* Whether root executed the program that the process runs. Then the process has dropped its privileges since. */
static bool was_executed_by_root(int proc, uint32_t pid)
{
    Elf64_auxv_t vector[64] = {0};
    unsigned int seen = 0;
    const ssize_t bytes = file_read_at(proc, (char *)vector, sizeof(vector), "%u/auxv", pid);

    for (size_t i = 0; i < ARRAY_COUNT(vector) && bytes > 0 && vector[i].a_type != AT_NULL; i++) {
        const uint64_t type = vector[i].a_type;

        if (type != AT_UID && type != AT_EUID && type != AT_SECURE)
            continue;
        if (vector[i].a_un.a_val != 0)
            return false;
        seen++;
    }
    return seen == 3;
}

/* Guarantee C. */
static int check_consent(int proc, const struct attested *attested)
{
    const uint32_t owner = mapping_owner(&attested->mapping);

    if (owner != 0) {
        if (is_readable_by(proc, attested->pid, owner))
            return 0;
        if (!was_executed_by_root(proc, attested->pid))
            return -EACCES;
    }
    return maps_ring(proc, attested) ? 0 : -EACCES;
}

static int query_holder(const struct attested *attested, uint32_t *ret_pid)
{
    uint64_t offset = attested->mapping.view.lock_holder_offset + attested->process;
    uint32_t pid;
    int result = file_lock_holder(attested->mapping.descriptor, offset, &pid);

    if (result != 0)
        return -EINVAL;
    if (pid == 0 || pid == UINT32_MAX)
        return -ESRCH;
    *ret_pid = pid;
    return 0;
}

/* Checks whether pid is the process of the record now. Returns 0, -EINVAL, -ESRCH or -EACCES. */
static int check_process(struct attested *attested, int proc, uint32_t pid)
{
    struct identity_memory memory = {0};
    struct rip_process_info claim;
    struct identity_facts facts;
    uint64_t own_namespace = 0;
    const int result = mapping_process(&attested->mapping, attested->process, &claim);

    if (result != 0)
        return result < 0 ? -EINVAL : -ESRCH;
    if (claim.state != RIP_PROCESS_LIVE)
        return -ESRCH;
    (void)proc_own_pid_namespace(proc, &own_namespace);
    facts = claim_facts(&attested->mapping, &claim, own_namespace);
    claim_ask_locks(&attested->mapping, attested->process, &facts);
    facts.pid = pid;
    (void)claim_look_up(proc, &facts);
    if (identity_judge(&facts, &memory) != PROCESS_ATTESTED)
        return -ESRCH;
    return check_consent(proc, attested);
}

int attest_open(struct attested *ret_attested, int proc, int descriptor, uint32_t process)
{
    struct attested attested = {.process = process, .pidfd = -1, .mapping = {.descriptor = -1}};
    enum rip_status status;
    int result;

    if (!file_is_in_memory(descriptor)) {
        close(descriptor);
        return -EINVAL;
    }
    result = mapping_open(&attested.mapping, descriptor, MAPPING_COPIED, &status);
    if (result != 0)
        return -EINVAL;
    result = query_holder(&attested, &attested.pid);
    if (result == 0) {
        attested.pidfd = pidfd_of(attested.pid);
        result = attested.pidfd < 0 ? attested.pidfd : check_process(&attested, proc, attested.pid);
    }
    if (result == 0)
        *ret_attested = attested;
    else
        attest_close(&attested);
    return result;
}

bool attest_holds(struct attested *attested, int proc)
{
    uint32_t pid;

    return check_process(attested, proc, attested->pid) == 0 && query_holder(attested, &pid) == 0 &&
           pid == attested->pid && !pidfd_ended(attested->pidfd);
}

bool attest_thread(const struct attested *attested, int proc, const struct kernel_reading *reading)
{
    const uint32_t owner = mapping_owner(&attested->mapping);
    struct kernel_times after;
    struct proc_status status;

    if (owner != 0 && (proc_thread_status(proc, reading->pid, reading->tid, &status) != 0 || status.uid_real != owner ||
                       status.uid_effective != owner || status.uid_saved != owner))
        return false;
    return check_consent(proc, attested) == 0 && kernel_read_again(proc, reading, &after) == 0 &&
           kernel_has_not_run(&reading->times, &after);
}

void attest_close(struct attested *attested)
{
    if (attested->pidfd >= 0)
        close(attested->pidfd);
    mapping_close(&attested->mapping);
}
