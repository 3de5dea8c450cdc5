/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app.c - the daemon's life: set up, one scan after another, tear down.
 *
 * app_scan() is the architecture: read it first.
 */
#include "app/app.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "app/capture.h"
#include "app/events.h"
#include "app/hook.h"
#include "app/listing.h"
#include "app/naming.h"
#include "app/opened.h"
#include "app/privileges.h"
#include "app/recorder.h"
#include "app/report.h"
#include "app/service.h"
#include "cases/case.h"
#include "cases/endings.h"
#include "cases/waits.h"
#include "detect/detector.h"
#include "detect/schedule.h"
#include "net/http.h"
#include "os/clock.h"
#include "os/journal.h"
#include "os/random.h"
#include "os/sigbus.h"
#include "os/subuid.h"
#include "probe/evidence.h"
#include "ring/describe.h"
#include "ring/registry.h"
#include "ring/scan.h"
#include "ring/waits_collect.h"
#include "rip/ring.h"
#include "util/array.h"
#include "work/jobs.h"

/* Shares of the scan interval that one scan may spend. */
#define EVIDENCE_DIVISOR 10u
#define JUDGING_DIVISOR 20u      /* process records; at most REGISTRY_JUDGING_NS */
#define UNCLASSIFIED_DIVISOR 20u /* names of new ids, if there are rules */

#define HEAP_TRIM_STALLS 4096u /* described stalls that must have ended before malloc_trim() */
#define REQUESTS_PER_TURN 4u   /* then signals are checked */

/* A query on its way to the scanner. Writing it to the pipe is atomic. */
struct request {
    uint64_t ticket;
    struct query query;
};
_Static_assert(sizeof(struct request) <= PIPE_BUF, "writes of requests must be atomic");

struct app {
    struct hash_key hash_key; /* for all tables whose keys rings choose */
    struct config *config;
    struct registry *registry;
    struct detector *detector;
    struct rule_finder rule_finder;
    struct uid_range *subordinate_uids; /* ranges whose uids are charged to their user */
    size_t subordinate_uid_count;
    struct work *work; /* the scanner's accounts and job queue */
    struct cases *cases;
    struct endings *endings;
    struct privileges privileges;
    struct probe *probe;
    struct events *events;
    struct hook *hook;
    struct report_notices notices;
    struct report_budget left_out_budget; /* for lines about stalls without events */
    uint64_t suppressed_count;            /* of cases_counters, as last logged */
    struct naming naming;
    struct snapshot *snapshot; /* of the last scan */
    int requests[2];           /* pipe of struct request from the HTTP thread */
    struct opened opened;
    struct capturing *capturing; /* NULL without a state directory: nothing is captured */
    struct recorder *recorder;   /* NULL: nothing is recorded */
    struct http *http;
    struct schedule schedule;
    struct health health; /* copied into the snapshot of each scan */
    struct service service;
    uint64_t sequence;
    size_t stall_count_peak; /* most stalls in one snapshot since the last malloc_trim() */
    int signal_descriptor;
    bool failed; /* stopped by an error, not by a signal */
};

/* The only function that publishes the begin or end of a stall. */
static void app_announce(void *context, struct event *event)
{
    struct app *app = context;

    app->health.event_counts[event->kind]++;
    if (event->reported) {
        report_event(event);
        hook_push(app->hook, event);
    }
    http_publish_event(app->http, event);
}

/* Returns the user whose quota the ring is charged to. */
static uint32_t app_user_of(void *context, uint32_t serial)
{
    struct app *app = context;
    const struct ring *ring = registry_find(app->registry, serial);

    return ring != NULL ? ring->user : MAPPING_NOBODY;
}

/*
 * Collects evidence, finds locks and gives verdicts for the suspects, as far as the quotas of their users allow.
 * Apparent deadlocks, and lock holders that have ended, are examined a second time. Returns the waits between ids, or
 * NULL if out of memory.
 */
static struct waits *app_advance_cases(struct app *app, struct detector_suspect *suspects, size_t count)
{
    struct waits_source source = {app->registry, app->detector, app->cases,
                                  app->work,     app->sequence, app->snapshot != NULL ? app->snapshot->waits : NULL};
    struct waits *first, *waits;

    if (cases_begin(app->cases, suspects, count, app_user_of, app) != 0)
        log_line(LOG_LEVEL_ERROR, "out of memory: %zu suspects are not examined", count);
    opened_renew(&app->opened, app->registry, app->detector, app->cases, clock_mono_ns());
    probe_examine(app->probe, app->registry, app->cases, app->work);
    waits = waits_collect(&source);
    if (probe_confirm(app->probe)) {
        first = waits;
        source.before = first != NULL ? first : source.before;
        waits = waits_collect(&source);
        waits_free(first);
    }
    probe_end(app->probe);
    cases_judge(app->cases, suspects, count);
    recorder_verdicts(app->recorder, suspects, count);
    return waits;
}

/* Takes ownership of waits. Returns NULL if out of memory. */
static struct snapshot *app_build_snapshot(struct app *app, const struct detector_update *update, struct waits *waits,
                                           uint64_t now_mono_ns, uint64_t now_wall_ns)
{
    const struct listing listing = {app->registry, app->detector,       app->cases,
                                    app->work,     app->naming.symbols, app->config->interval_ns / EVIDENCE_DIVISOR};
    struct snapshot *snapshot = snapshot_new();

    if (snapshot == NULL) {
        waits_free(waits);
        return NULL;
    }
    snapshot->hash_key = app->hash_key;
    snapshot->waits = waits;
    snapshot->sequence = app->sequence;
    snapshot->scanned_mono_ns = now_mono_ns;
    snapshot->scanned_wall_ns = now_wall_ns;
    snapshot->scanned_boot_ns = clock_boot_ns();
    snapshot->interval_ns = app->config->interval_ns;
    memcpy(snapshot->counts, update->counts, sizeof(snapshot->counts));
    listing_describe(&listing);
    if (listing_fill(&listing, update, snapshot) != 0)
        log_line(LOG_LEVEL_ERROR, "out of memory: the lists of this scan are incomplete");
    snapshot->scan_duration_ns = clock_mono_ns() - now_mono_ns;
    naming_cases(&app->naming, app->cases, snapshot);
    privileges_log_denied(&app->privileges, snapshot, now_mono_ns);
    return snapshot;
}

/* Adds the counters of this scan to its snapshot, immediately before publication. */
static void app_add_counters(struct app *app, const struct detector_update *update, struct snapshot *snapshot)
{
    struct health *health = &app->health;
    struct probe_counters probe;
    struct cases_counters cases;

    health_add_scan(health, app->snapshot, snapshot, update);
    probe_count(app->probe, &probe);
    cases_count(app->cases, &cases);
    health->limit_counts[HEALTH_LIMIT_EVIDENCE] = probe.left_count;
    health->limit_counts[HEALTH_LIMIT_SOCKETS] = probe.sockets_cut_count;
    health->limit_counts[HEALTH_LIMIT_ENDS] = probe.ends_cut_count;
    health->limit_counts[HEALTH_LIMIT_EPISODES] = cases.suppressed_count;
    health->limit_counts[HEALTH_LIMIT_BELATED] = cases.belated_count;
    health->limit_counts[HEALTH_LIMIT_LOG_LINES] = log_missed_count();
    capturing_count(app->capturing, health);
    recorder_count(app->recorder, health);
    privileges_report(&app->privileges, health);
    naming_health(&app->naming, health);
    snapshot->health = *health;
    report_left_out(&app->left_out_budget, snapshot->scanned_mono_ns, "stalls",
                    cases.suppressed_count - app->suppressed_count);
    app->suppressed_count = cases.suppressed_count;
}

/*
 * After a burst of stalls the heap is fragmented: return free pages to the kernel. Snapshots older than the previous
 * one have no references any more.
 */
static void app_trim_heap(struct app *app)
{
    size_t count = app->snapshot != NULL ? app->snapshot->stall_count : 0;

    if (count > app->stall_count_peak)
        app->stall_count_peak = count;
    if (app->stall_count_peak < HEAP_TRIM_STALLS || count > app->stall_count_peak / 2)
        return;
    (void)malloc_trim(0);
    app->stall_count_peak = count;
}

static void app_refresh(struct app *app, uint64_t now_mono_ns)
{
    work_leak(app->work, WORK_CAPTURE_BYTES, WORK_CAPTURE_BYTES_PER_SCAN);
    work_leak(app->work, WORK_NOTICES, WORK_NOTICES_PER_SCAN);
    capturing_take(app->capturing, app->snapshot); /* ended processes, while the registry still has their records */
    registry_refresh(app->registry, now_mono_ns);
    capturing_take(app->capturing, app->snapshot); /* processes that executed another program: their ids are gone */
}

/* Returns the ids whose counters have not moved for at least their threshold. */
static struct detector_suspect *app_sample(struct app *app, uint64_t now_mono_ns, uint64_t now_wall_ns,
                                           size_t *ret_count)
{
    struct detector_unclassified *unclassified;
    uint64_t uncounted_ns;
    size_t count;

    recorder_begin(app->recorder, now_mono_ns, now_wall_ns, events_numbers(app->events));
    /* first scan: open stalls of the previous run */
    events_adopt(app->events, app->registry, app->detector, now_mono_ns);
    uncounted_ns = detector_begin(app->detector, now_mono_ns);
    if (uncounted_ns != 0)
        log_line(LOG_LEVEL_WARNING, "scan late, no new stall is reported: uncounted_ms=%" PRIu64,
                 uncounted_ns / 1000000);
    if (scan_run(app->registry, app->detector, recorder_tap(app->recorder)) != 0)
        log_line(LOG_LEVEL_ERROR, "out of memory: new ids are not watched");
    unclassified = detector_unclassified(app->detector, &count); /* none without rules */
    rule_finder_run(&app->rule_finder, app->registry, unclassified, count,
                    app->config->interval_ns / UNCLASSIFIED_DIVISOR);
    recorder_rules(app->recorder, unclassified, count);
    return detector_suspects(app->detector, ret_count);
}

/* Counts the suspects by state. Marks a ring as unseen if its program does not announce all waits of its threads. */
static void app_count_suspects(struct app *app, const struct detector_update *update)
{
    health_clear_suspects(&app->health);
    for (size_t i = 0; i < update->suspect_count; i++) {
        const struct detector_suspect *suspect = &update->suspects[i];
        struct ring *ring = registry_find(app->registry, suspect->ring);

        if (ring != NULL && suspect->state == ID_IDLE && suspect->cause == CAUSE_UNSEEN)
            ring->unseen = true;
        health_add_suspect(&app->health, suspect,
                           registry_is_preloaded(app->registry, suspect->ring, suspect->process));
    }
}

static void app_end_cases(struct app *app, const struct detector_update *update, struct waits *waits,
                          uint64_t now_mono_ns, uint64_t now_wall_ns)
{
    const struct waits_source source = {app->registry, app->detector, app->cases, app->work, app->sequence, NULL};

    app_count_suspects(app, update);
    events_resume(app->events, app->detector); /* first scan: episodes that are still open */
    cases_end(app->cases, update, now_mono_ns);
    cases_note_exits(app->cases, now_wall_ns);
    endings_note(app->endings, update, app->snapshot != NULL ? app->snapshot->waits : NULL);
    waits_describe(waits, &source);
}

/* Takes ownership of the snapshot. */
static void app_publish(struct app *app, const struct detector_update *update, struct snapshot *snapshot)
{
    events_step(app->events, &(struct events_scan){app->registry, update, snapshot, naming_is_pending, &app->naming});
    recorder_end(app->recorder, snapshot);
    app_add_counters(app, update, snapshot);
    http_publish(app->http, snapshot);
    app_trim_heap(app);
    snapshot_unref(app->snapshot);
    app->snapshot = snapshot;
}

static void app_scan(struct app *app)
{
    const uint64_t now_mono_ns = clock_mono_ns(), now_wall_ns = clock_wall_ns();
    struct detector_suspect *suspects;
    struct detector_update update;
    struct snapshot *snapshot;
    struct waits *waits;
    size_t count;

    app->sequence++;
    events_catch_up(app->events);
    work_begin(app->work);                                        /* every user's share starts again */
    app_refresh(app, now_mono_ns);                                /* which rings there are, who lives in them */
    suspects = app_sample(app, now_mono_ns, now_wall_ns, &count); /* counters, straight into the detector */
    waits = app_advance_cases(app, suspects, count);              /* evidence, locks, verdicts */
    detector_end(app->detector, &update);                         /* states; suspects that came, stay, left */
    app_end_cases(app, &update, waits, now_mono_ns, now_wall_ns); /* episodes that begin, go on, end */
    snapshot = app_build_snapshot(app, &update, waits, now_mono_ns, now_wall_ns); /* immutable, generation n */
    if (snapshot == NULL) {
        log_line(LOG_LEVEL_ERROR, "out of memory: this scan is not published");
        return;
    }
    app_publish(app, &update, snapshot);           /* HTTP; events to history, log, hook */
    service_scanned(&app->service, app->snapshot); /* readiness; watchdog ping for the completed scan */
}

/* Called on the HTTP thread. */
static int app_send_query(void *context, uint64_t ticket, const struct query *query)
{
    const struct app *app = context;
    const struct request request = {ticket, *query};

    return write(app->requests[1], &request, sizeof(request)) < 0 ? -errno : 0;
}

/*
 * Returns the kernel facts of the thread of an id that does not move, or NULL if none are known. Borrowed: no reference
 * is taken.
 */
static struct kernel_facts *app_kernel_facts(const struct app *app, const struct sighting *sighting)
{
    const struct item *item = sighting->item;
    const struct stall_case *stall;

    if (sighting->state != ID_STALLED && sighting->state != ID_STOPPED && sighting->state != ID_IDLE)
        return NULL;
    stall = cases_find(app->cases, item->ring, item->slot, item->generation);
    if (stall != NULL && stall->kernel != NULL && (stall->is_suspect || stall->is_opened))
        return stall->kernel;
    return sighting->cause == CAUSE_SIGNAL && item->tid != 0 ? probe_stopped_facts(app->probe) : NULL;
}

/* Sets the time at which an exited id ended. The time is unknown if the id has no case. */
static void app_date_exit(const struct app *app, struct sighting *sighting)
{
    const struct item *item = sighting->item;
    const struct stall_case *stall = cases_find(app->cases, item->ring, item->slot, item->generation);

    sighting_set_exit(sighting, stall != NULL ? stall->exited_wall_ns : 0, stall != NULL ? stall->lived_wall_ns : 0);
}

/* Adds what the cases know about an id that has ended: its exit time and its last wait chain. */
static void app_describe_end(const struct app *app, struct sighting *sighting)
{
    const struct item *item = sighting->item;

    if (sighting->state == ID_EXITED)
        app_date_exit(app, sighting);
    if (sighting->last.state == ID_STALLED)
        sighting->last.chain = wait_chain_ref(endings_find(app->endings, item->ring, item->slot, item->generation));
}

static struct page *app_describe(struct app *app, const struct query *query)
{
    struct page *page = describe_page(app->registry, app->detector, query, app->snapshot);

    for (size_t i = 0; query->list == QUERY_LIST_IDS && page != NULL && page->sightings != NULL && i < page->count;
         i++) {
        struct sighting *sighting = &page->sightings[i];

        sighting->kernel = kernel_facts_ref(app_kernel_facts(app, sighting));
        if (sighting->last.known)
            app_describe_end(app, sighting);
    }
    return page;
}

static void app_complete(struct app *app, uint64_t ticket, struct page *page)
{
    if (!naming_hold(&app->naming, ticket, page))
        http_complete(app->http, ticket, page);
}

/* Answers the queries that were held for the scan just completed. */
static void app_answer_held(struct app *app)
{
    struct opened_query held;

    while (opened_release(&app->opened, &held))
        app_complete(app, held.ticket, app_describe(app, &held.query));
}

static void app_answer(struct app *app)
{
    struct request request;

    for (unsigned i = 0; i < REQUESTS_PER_TURN && read(app->requests[0], &request, sizeof(request)) > 0; i++) {
        const uint64_t now_mono_ns = clock_mono_ns();
        struct page *page = NULL;

        if (app->snapshot != NULL)
            page = app_describe(app, &request.query);
        if (opened_hold(&app->opened, request.ticket, &request.query, page, now_mono_ns,
                        schedule_wait_ns(&app->schedule, now_mono_ns)))
            page_unref(page);
        else
            app_complete(app, request.ticket, page);
        if (schedule_wait_ns(&app->schedule, clock_mono_ns()) == 0)
            break; /* at most one query delays a due scan */
    }
}

/* Completes pages whose locations are named or whose naming timeout has expired. */
static void app_complete_named(struct app *app)
{
    struct page *page;
    uint64_t ticket;

    while (naming_release(&app->naming, &ticket, &page))
        http_complete(app->http, ticket, page);
}

/*
 * Applies the configuration at start and after a reload. Every setting that a reload can change is applied, changed or
 * not.
 */
static void app_configure(struct app *app)
{
    const struct config *config = app->config;
    const uint64_t judging_ns = config->interval_ns / JUDGING_DIVISOR;
    const struct scan_settings settings = config_settings(config);
    const struct detector_config detector = scan_settings_detector(&settings);
    int error;

    log_set_level(config->log_level);
    detector_configure(app->detector, &detector);
    rule_finder_set_rules(&app->rule_finder, &config->rules);
    cases_configure(app->cases, settings.hysteresis_ns, EPISODE_UNEXAMINED_SCANS);
    error = registry_set_directories(app->registry, (const char *const *)config->directories.items,
                                     config->directories.count);
    if (error != 0)
        log_line(LOG_LEVEL_ERROR, "dir: %s", strerror(-error));
    registry_set_judging(app->registry, judging_ns < REGISTRY_JUDGING_NS ? judging_ns : REGISTRY_JUDGING_NS);
    probe_set_budget(app->probe, config->interval_ns / EVIDENCE_DIVISOR);
    schedule_set_interval(&app->schedule, config->interval_ns, clock_mono_ns());
    recorder_configure(app->recorder, &settings);
    error = http_allow_hosts(app->http, (const char *const *)config->allow_hosts.items, config->allow_hosts.count);
    if (error != 0)
        log_line(LOG_LEVEL_ERROR, "allow-host: %s", strerror(-error));
    error = hook_set_command(app->hook, config->on_stall);
    if (error != 0)
        log_line(LOG_LEVEL_ERROR, "on-stall: %s", strerror(-error));
}

static void app_reload(struct app *app)
{
    char file[LOG_QUOTED_BYTES];
    struct config_changes changes;
    int status;

    service_reloading(&app->service);
    status = config_reload(app->config, &changes);
    app->health.reload_count += status != -ENOENT;
    app->health.reload_failure_count += status == -EINVAL;
    if (status == 0) {
        app_configure(app);
        if (changes.refused[0] != '\0')
            log_line(LOG_LEVEL_WARNING, "changed, but needs a restart: keys=\"%s\"", changes.refused);
        log_line(LOG_LEVEL_INFO, "reloaded: file=%s changed=\"%s\"", log_quote_text(app->config->file, file),
                 changes.applied);
    } else if (status == -ENOENT) {
        log_line(LOG_LEVEL_INFO, "nothing to reload: ripd was started without --config");
    } else {
        log_line(LOG_LEVEL_ERROR, "not reloaded, the previous configuration stays in force: %s", changes.error);
    }
    service_reloaded(&app->service, app->config->interval_ns);
}

/* Returns false if the daemon was asked to stop. */
static bool app_take_signal(struct app *app)
{
    struct signalfd_siginfo signal;

    if (read(app->signal_descriptor, &signal, sizeof(signal)) != (ssize_t)sizeof(signal))
        return true;
    if (signal.ssi_signo != SIGHUP)
        return false;
    app_reload(app);
    return true;
}

/* Returns the time until the next timer is due. */
static struct timespec app_next_timeout(struct app *app)
{
    const uint64_t now_mono_ns = clock_mono_ns();
    const uint64_t waits_ns[] = {hook_wait_ns(app->hook, now_mono_ns), naming_wait_ns(&app->naming, now_mono_ns),
                                 events_wait_ns(app->events, now_mono_ns), capturing_wait_ns(app->capturing)};
    uint64_t wait_ns = schedule_wait_ns(&app->schedule, now_mono_ns);

    for (size_t i = 0; i < ARRAY_COUNT(waits_ns); i++)
        wait_ns = waits_ns[i] < wait_ns ? waits_ns[i] : wait_ns;
    return clock_timespec(wait_ns);
}

/* Waits for the next scan; meanwhile answers queries and runs commands. Returns false if the daemon must stop. */
static bool app_wait(struct app *app)
{
    struct pollfd descriptors[] = {
        {.fd = app->signal_descriptor, .events = POLLIN},
        {.fd = app->requests[0], .events = POLLIN},
        {.fd = hook_descriptor(app->hook), .events = POLLIN},
        {.fd = app->naming.descriptor, .events = POLLIN},
        {.fd = events_descriptor(app->events), .events = POLLIN}, /* -1 if there is none: poll ignores it */
        {.fd = registry_ends_descriptor(app->registry), .events = POLLIN},
    };

    for (;;) {
        struct timespec timeout;

        events_flush(app->events, clock_mono_ns());
        hook_step(app->hook, clock_mono_ns());
        capturing_step(app->capturing, clock_mono_ns());
        timeout = app_next_timeout(app);
        if (ppoll(descriptors, ARRAY_COUNT(descriptors), &timeout, NULL) < 0 && errno != EINTR) {
            log_line(LOG_LEVEL_ERROR, "poll: %s", strerror(errno));
            app->failed = true;
            return false;
        }
        if (descriptors[0].revents != 0 && !app_take_signal(app))
            return false;
        if (descriptors[1].revents != 0)
            app_answer(app);
        if (descriptors[5].revents != 0)
            capturing_take(app->capturing, app->snapshot);
        app_complete_named(app);
        if (schedule_wait_ns(&app->schedule, clock_mono_ns()) == 0)
            return true;
    }
}

static void app_loop(struct app *app)
{
    do {
        uint64_t began_mono_ns = clock_mono_ns();

        app_scan(app);
        schedule_next(&app->schedule, began_mono_ns, detector_next_due(app->detector));
        app_answer_held(app);
    } while (app_wait(app));
}

/* The daemon reads its signals from a descriptor. Threads created later inherit the signal mask. */
static int app_open_signals(struct app *app)
{
    sigset_t set;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) == 0)
        app->signal_descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (app->signal_descriptor >= 0)
        return 0;
    log_line(LOG_LEVEL_ERROR, "cannot start: signals: %s", strerror(errno));
    return -1;
}

/* Uids in a user's subordinate ranges are charged to that user. */
static void app_read_subordinate_uids(struct app *app)
{
    int error = subuid_read("/etc/subuid", "/etc/passwd", &app->subordinate_uids, &app->subordinate_uid_count);

    if (error == 0)
        error = work_set_ranges(app->work, app->subordinate_uids, app->subordinate_uid_count);
    if (error != 0 && error != -ENOENT)
        log_line(LOG_LEVEL_WARNING, "/etc/subuid: %s: each subordinate uid counts as a user", strerror(-error));
}

static int app_open_events(struct app *app)
{
    int error = -ENOMEM;

    app->work = app->notices.work = work_new();
    if (app->work != NULL)
        app->cases = cases_new(app->work, 0);
    if (app->cases != NULL) {
        const struct events_options options = {app->cases,   app->work, &app->health, app->config->state_directory,
                                               app_announce, app};

        app_read_subordinate_uids(app);
        error = events_new(&app->events, &options, clock_mono_ns());
    }
    if (error == -ENOMEM) /* any other error has been logged */
        log_line(LOG_LEVEL_ERROR, "cannot start: %s", strerror(-error));
    return error;
}

static int app_open_parts(struct app *app)
{
    const struct config *config = app->config;
    struct registry_options registry = {.proc_path = "/proc",
                                        .cgroup_path = "/sys/fs/cgroup",
                                        .removes = true,
                                        .notices_ends = config->state_directory != NULL,
                                        .hash_key = app->hash_key,
                                        .work = app->work,
                                        .health = &app->health,
                                        .noticed = report_notice,
                                        .notice_context = &app->notices};
    struct probe_options probe = {.proc_path = "/proc",
                                  .cgroup_path = "/sys/fs/cgroup",
                                  .remote = app->privileges.remote,
                                  .diag = app->privileges.diag,
                                  .anyones = app->privileges.remote == NULL && app->privileges.of_all_users,
                                  .hash_key = app->hash_key};
    struct hook_options hook = {.time_limit_ns = HOOK_TIME_LIMIT_NS,
                                .grace_ns = HOOK_GRACE_NS,
                                .descriptors_max = app->service.descriptors_before,
                                .work = app->work,
                                .health = &app->health};
    int error = sigbus_install();

    if (error == 0)
        error = detector_new(&app->detector, &(struct detector_config){.interval_ns = config->interval_ns});
    if (error == 0) {
        app->endings = endings_new(app->work);
        error = app->endings != NULL ? 0 : -ENOMEM;
    }
    if (error == 0)
        error = hook_new(&app->hook, &hook);
    if (error == 0)
        error = registry_new(&app->registry, &registry);
    if (error == 0)
        error = probe_new(&app->probe, &probe);
    if (error == 0)
        error = pipe2(app->requests, O_CLOEXEC | O_NONBLOCK) != 0 ? -errno : 0;
    if (error == 0 && config->state_directory != NULL)
        error = capturing_open(&app->capturing, config->state_directory, app->registry, app->work);
    if (error != 0)
        log_line(LOG_LEVEL_ERROR, "cannot start: %s", strerror(-error));
    else if (config->record_directory != NULL)
        error = recorder_open(&app->recorder, config->record_directory, app->registry, app->work);
    events_set_recorder(app->events, app->recorder);
    return error;
}

static int app_open_http(struct app *app)
{
    const struct config *config = app->config;
    const struct service *service = &app->service;
    struct http_options options = {
        .passed = service->passed,
        .passed_count = service->passed_count,
        .listen = (const char *const *)config->listen.items,
        .listen_count = config->listen.count,
        .allow_hosts = (const char *const *)config->allow_hosts.items,
        .allow_host_count = config->allow_hosts.count,
    };
    struct http_source source = {app_send_query, app};
    struct event_history_found found;
    char *text = NULL;
    int error;

    if (config->listen.by_default && options.passed_count != 0)
        options.listen_count = 0;
    error = http_new(&app->http, &options, &source, &text);
    if (error == 0) {
        events_found(app->events, &found);
        http_set_epoch(app->http, found.epoch);
        for (size_t i = 0; i < found.event_count; i++) /* the previous run has logged them and run the command */
            http_publish_event(app->http, found.events[i]);
        error = events_start(app->events);
    }
    if (error == 0)
        error = http_start(app->http);
    if (error != 0) {
        log_line(LOG_LEVEL_ERROR, "%s", text != NULL ? text : strerror(-error));
        free(text);
        return error;
    }
    service_report_sockets(service, app->http);
    for (size_t i = 0; http_address(app->http, i) != NULL; i++)
        log_line(LOG_LEVEL_INFO, "listening on %s", http_address(app->http, i));
    return 0;
}

static void app_close(struct app *app)
{
    http_free(app->http);
    naming_close(&app->naming);
    for (size_t i = 0; i < ARRAY_COUNT(app->requests); i++)
        if (app->requests[i] >= 0)
            close(app->requests[i]);
    capturing_close(app->capturing);
    recorder_close(app->recorder);
    snapshot_unref(app->snapshot);
    events_free(app->events);
    endings_free(app->endings);
    cases_free(app->cases);
    hook_free(app->hook);
    detector_free(app->detector);
    probe_free(app->probe);
    privileges_close(&app->privileges);
    registry_free(app->registry);
    work_free(app->work);
    free(app->subordinate_uids);
    service_close(&app->service);
    if (app->signal_descriptor >= 0)
        close(app->signal_descriptor);
}

int app_run(struct config *config)
{
    static struct app app = {.signal_descriptor = -1,
                             .requests = {-1, -1},
                             .naming.descriptor = -1,
                             .privileges.diag = -1}; /* it is large */
    int error;

    app.config = config;
    app.hash_key = (struct hash_key){{random_u64(), random_u64()}};
    log_open();
    log_open_journal(JOURNAL_SOCKET);
    log_set_level(config->log_level);
    schedule_init(&app.schedule, config->interval_ns, clock_wall_ns());
    app.health.started_wall_ns = clock_wall_ns();
    report_budget_init(&app.notices.budget, clock_mono_ns());
    report_budget_init(&app.left_out_budget, clock_mono_ns());
    /* before other descriptors are opened: a number that was not passed must not be reused */
    error = service_open(&app.service);
    if (error == 0) /* before there are threads, and before anything is read */
        error = privileges_open(&app.privileges, app.service.diag != NULL ? app.service.diag->number : -1);
    if (error == 0) /* before slow steps: a SIGHUP during them must reload, not kill */
        error = app_open_signals(&app);
    if (error == 0)
        error = app_open_events(&app);
    if (error == 0)
        error = app_open_parts(&app);
    if (error == 0) {
        naming_open(&app.naming, app.registry, app.privileges.fetch, &app.hash_key, app.subordinate_uids,
                    app.subordinate_uid_count);
        error = app_open_http(&app);
    }
    if (error == 0) {
        privileges_log(&app.privileges);
        app_configure(&app);
        app_loop(&app);
        log_line(LOG_LEVEL_INFO, "stopping");
        service_stopping(&app.service);
        events_stop(app.events);
        http_stop(app.http);
        hook_stop(app.hook);
    }
    app_close(&app);
    log_close_journal();
    return error == 0 && !app.failed ? 0 : 1;
}
