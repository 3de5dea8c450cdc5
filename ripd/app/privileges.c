/* SPDX-License-Identifier: Apache-2.0 */
/* privileges.c - starts ripd-probe, then drops the capabilities. See privileges.h. */
#include "app/privileges.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "app/log.h"
#include "os/capability.h"
#include "os/clock.h"
#include "os/spawn.h"
#include "os/unix_diag.h"
#include "util/text.h"

#define EVIDENCE (CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH))

static void start_probe(struct privileges *privileges)
{
    char program[PATH_MAX];
    int error = spawn_find("ripd-probe", RIPD_LIBEXEC_FROM_SBIN, program, sizeof(program));

    if (error == 0)
        error = remote_new(&privileges->remote, program, privileges->diag);
    if (error != 0)
        log_line(LOG_LEVEL_WARNING, "cannot start ripd-probe, which reads what threads wait for: %s", strerror(-error));
}

/* Files of processes: the fetcher may block on an open that never returns; ripd must not. */
static void start_fetching(struct privileges *privileges)
{
    int keeper = privileges->remote != NULL ? remote_keeper(privileges->remote) : -ENOTCONN, error;

    if (keeper < 0)
        return;
    error = fetch_new(&privileges->fetch, keeper);
    if (error != 0)
        log_line(LOG_LEVEL_WARNING, "cannot start the fetcher, programs without a build id stay without names: %s",
                 strerror(-error));
}

int privileges_open(struct privileges *ret_privileges, int diag)
{
    uint64_t permitted = 0;
    int error;

    if (diag < 0)
        diag = unix_diag_open();
    *ret_privileges = (struct privileges){.diag = diag < 0 ? -1 : diag, .diag_error = diag < 0 ? -diag : 0};
    report_budget_init(&ret_privileges->budget, clock_mono_ns());
    start_probe(ret_privileges);
    error = capability_permitted(&permitted);
    if (error == 0 && permitted != 0 && geteuid() != 0)
        error = capability_keep(0);
    if (error != 0) {
        log_line(LOG_LEVEL_ERROR, "cannot start: capabilities: %s", strerror(-error));
        return error;
    }
    ret_privileges->of_all_users = (permitted & EVIDENCE) == EVIDENCE;
    start_fetching(ret_privileges);
    return 0;
}

void privileges_log(const struct privileges *privileges)
{
    if (privileges->remote == NULL && privileges->of_all_users)
        log_line(LOG_LEVEL_INFO, "evidence is limited to what any user may read");
    else
        log_line(LOG_LEVEL_INFO, "evidence is read from the processes of %s",
                 privileges->of_all_users ? "all users" : "this user alone");
    if (privileges->diag < 0)
        log_line(LOG_LEVEL_INFO, "peers of unix sockets are not known, no netlink socket: %s",
                 strerror(privileges->diag_error));
}

void privileges_close(struct privileges *privileges)
{
    fetch_free(privileges->fetch);
    privileges->fetch = NULL;
    remote_free(privileges->remote);
    privileges->remote = NULL;
    if (privileges->diag >= 0)
        close(privileges->diag);
    privileges->diag = -1;
}

static void log_denied(const struct item *item, const struct kernel_facts *kernel)
{
    char ring[LOG_QUOTED_BYTES], comm[LOG_QUOTED_BYTES], fields[64] = "";

    for (int bit = 0; bit < KERNEL_DENIED_COUNT; bit++)
        if ((kernel->denied >> bit & 1) != 0)
            text_append(fields, sizeof(fields), "%s%s", fields[0] != '\0' ? "," : "",
                        kernel_denied_name((enum kernel_denied)bit));
    log_line(LOG_LEVEL_INFO,
             "not permitted to read what threads of a process wait for: ring=%s pid=%" PRIu32 " comm=%s null=%s",
             log_quote_text(item->ring_name, ring), item->process->pid, log_quote_text(item->process->comm, comm),
             fields);
}

void privileges_log_denied(struct privileges *privileges, const struct snapshot *snapshot, uint64_t now_mono_ns)
{
    for (size_t i = 0; i < snapshot->stall_count; i++) {
        const struct sighting *stall = &snapshot->stalls[i];

        if (stall->kernel == NULL || stall->kernel->denied == 0 || stall->item->process == NULL ||
            stall->item->process->denial_logged)
            continue;
        stall->item->process->denial_logged = true;
        if (report_budget_take(&privileges->budget, now_mono_ns, "processes"))
            log_denied(stall->item, stall->kernel);
    }
}

static void report_fetching(struct privileges *privileges, struct health *health)
{
    struct fetch_counters *reported = &privileges->fetch_reported, counters;

    if (privileges->fetch == NULL)
        return;
    fetch_count(privileges->fetch, &counters);
    if (counters.died_count != reported->died_count)
        log_line(LOG_LEVEL_WARNING, "ripd-probe's fetcher of programs ended: reason=died");
    if (counters.hung_count != reported->hung_count)
        log_line(LOG_LEVEL_WARNING, "ripd-probe's fetcher of programs was given up: reason=hung");
    *reported = counters;
    health->probe_start_count += counters.start_count;
    health->probe_died_count += counters.died_count;
    health->probe_hung_count += counters.hung_count;
    health->program_opened_count = counters.opened_count;
    health->program_refused_count = counters.refused_count;
    health->program_missed_count = counters.missed_count;
}

void privileges_report(struct privileges *privileges, struct health *health)
{
    struct remote_counters *reported = &privileges->reported, counters;

    if (privileges->remote == NULL)
        return;
    remote_count(privileges->remote, &counters);
    for (int i = 0; i < CHILD_END_COUNT; i++)
        if (counters.workers.end_counts[i] != reported->workers.end_counts[i])
            log_line(LOG_LEVEL_WARNING, "ripd-probe's worker ended, another is started: reason=%s",
                     child_end_name((enum child_end)i));
    if (counters.gone && !reported->gone)
        log_line(LOG_LEVEL_ERROR, "ripd-probe has ended: what threads wait for stays unknown until ripd is restarted");
    *reported = counters;
    health->probe_start_count = counters.workers.start_count;
    health->probe_hung_count = counters.workers.end_counts[CHILD_HUNG];
    health->probe_died_count = child_died_count(&counters.workers);
    health->probe_ended = counters.gone;
    report_fetching(privileges, health);
}
