/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - the host, notices, and turns by user. Touches /proc. See host.h for the guarantees. */
#include "ring/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/proc.h"
#include "os/proc_reader.h"
#include "work/jobs.h"

#define READ_FACTOR 10u /* times the time for judging */
#define GRANT_LEAST_NS UINT64_C(20000)

/* Life ------------------------------------------------------------------------------------------------------------- */

void host_set_time(struct ring_host *host, uint64_t judging_ns)
{
    if (judging_ns == 0)
        judging_ns = REGISTRY_JUDGING_NS;
    work_set_total(host->work, WORK_PROCESS_TIME, 2 * judging_ns); /* a user may have half of the total */
    work_set_total(host->work, WORK_READ_TIME, READ_FACTOR * judging_ns);
}

static uint32_t user_of(void *context, uint32_t pid)
{
    const struct ring_host *host = context;
    struct proc_status status;

    return proc_status(host->proc, pid, &status) == 0 ? work_user(host->work, status.uid_real) : UINT32_MAX;
}

int host_init(struct ring_host *host, const struct registry_options *options)
{
    host->hash_key = options->hash_key;
    host->cgroup_path = options->cgroup_path;
    host->noticed = options->noticed;
    host->notice_context = options->notice_context;
    host->ends_epoll = -1;
    host->proc = open(options->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    host->is_first = true;
    host->owns_work = options->work == NULL;
    host->work = host->owns_work ? work_new() : options->work;
    host->health = options->health != NULL ? options->health : &host->own_health;
    host->script_charges = (struct symbol_charges){.work = host->work, .limit = WORK_SCRIPT_BYTES};
    if (host->work == NULL)
        return -ENOMEM;
    if (host->proc < 0)
        return -ENOENT;
    host->reader = proc_reader_new(host->proc, user_of, host);
    if (host->reader == NULL)
        return -ENOMEM;
    host_set_time(host, options->judging_ns);
    proc_own_pid_namespace(host->proc, &host->pid_namespace); /* stays 0 (not known) on failure */
    proc_boot_id(host->proc, host->boot_id);
    host->processes_hidden = strcmp(options->proc_path, "/proc") == 0 && !proc_exists(host->proc, 1);
    return 0;
}

void host_done(struct ring_host *host)
{
    if (host->ends_epoll >= 0)
        close(host->ends_epoll);
    symbol_charges_done(&host->script_charges);
    if (host->owns_work)
        work_free(host->work);
    if (host->reader != NULL)
        proc_reader_free(host->reader); /* also closes the descriptor */
    else if (host->proc >= 0)
        close(host->proc);
}

/* Notices ---------------------------------------------------------------------------------------------------------- */

void host_notice(const struct ring_host *host, uint32_t user, enum registry_notice_kind kind, const char *name,
                 const char *reason)
{
    if (host->noticed != NULL)
        host->noticed(host->notice_context, user, kind, name, reason);
}

void host_notice_limit(struct ring_host *host, const char *reason)
{
    for (size_t i = 0; i < host->reason_count; i++)
        if (strcmp(host->reasons_noticed[i], reason) == 0)
            return;
    if (host->reason_count < HOST_REASONS_MAX)
        host->reasons_noticed[host->reason_count++] = reason;
    host_notice(host, MAPPING_NOBODY, NOTICE_LIMIT, "registry", reason);
}

void host_limit(struct ring_host *host, enum health_limit limit, const char *reason)
{
    host->health->limit_counts[limit]++;
    host_notice_limit(host, reason);
}

/* Turns ------------------------------------------------------------------------------------------------------------ */

void host_begin(struct ring_host *host)
{
    symbol_charges_settle(&host->script_charges);
    work_reset(host->work, WORK_READ_TIME);
    work_reset(host->work, WORK_PROCESS_TIME);
}

/* The next scan begins with the ring that has this serial. */
static void stop(struct ring_host *host, const struct ring *ring, enum work_limit limit, uint32_t serial)
{
    work_stop(host->work, ring->user, limit, serial);
    host_notice_limit(host, limit == WORK_READ_TIME ? "not enough time to read all rings of a user in one scan"
                                                    : "not enough time to check all process records in one scan");
}

bool host_has_turn(struct ring_host *host, const struct ring *ring, enum work_limit limit)
{
    const bool has_turn = work_has_turn(host->work, ring->user, limit, ring->serial);

    if (limit == WORK_READ_TIME && host->is_first)
        return true;
    if (!has_turn)
        return false;
    if (work_has_room(host->work, ring->user, limit, 1))
        return true;
    stop(host, ring, limit, ring->serial);
    return false;
}

bool host_spend(struct ring_host *host, const struct ring *ring, enum work_limit limit, uint64_t spent_ns)
{
    if (!work_has_turn(host->work, ring->user, limit, ring->serial))
        return false;
    if (work_has_room(host->work, ring->user, limit, spent_ns)) {
        work_take(host->work, ring->user, limit, spent_ns);
        if (work_has_room(host->work, ring->user, limit, 1))
            return true;
    }
    stop(host, ring, limit, ring->serial + 1);
    return false;
}

uint64_t host_grant(struct ring_host *host, uint32_t user, enum work_limit limit, uint64_t wanted_ns)
{
    while (wanted_ns > GRANT_LEAST_NS && !work_has_room(host->work, user, limit, wanted_ns))
        wanted_ns /= 2;
    if (wanted_ns > GRANT_LEAST_NS || work_has_room(host->work, user, limit, wanted_ns))
        return wanted_ns;
    work_refuse(host->work, user, limit, 1);
    return 0;
}

void host_use(struct ring_host *host, uint32_t user, enum work_limit limit, uint64_t spent_ns)
{
    while (spent_ns != 0 && !work_has_room(host->work, user, limit, spent_ns))
        spent_ns /= 2; /* more than granted: take nearly all the room there is */
    if (spent_ns != 0)
        work_take(host->work, user, limit, spent_ns);
}
