/* SPDX-License-Identifier: Apache-2.0 */
/* hook.c - commands for events: a queue, a few commands that run at a time, and their results. */
#include "app/hook.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "app/log.h"
#include "app/report.h"
#include "cases/event_queue.h"
#include "os/clock.h"
#include "os/spawn.h"
#include "util/time_limit.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define UNSEEN_NS UINT64_C(100000000) /* polling interval for a command without a pidfd */
#define DETAIL_BYTES 128u

/* Log lines about commands. Each has a count and the details of the last occurrence. */
enum notice_kind {
    NOTICE_NOT_STARTED,
    NOTICE_FAILED,
    NOTICE_TIMED_OUT,
    NOTICE_CUT_OFF,
    NOTICE_NOT_GIVEN,
    NOTICE_COUNT,
};

static const char *const notice_texts[NOTICE_COUNT] = {
    [NOTICE_NOT_STARTED] = "on-stall command could not be started",
    [NOTICE_FAILED] = "on-stall command failed",
    [NOTICE_TIMED_OUT] = "on-stall command timed out and was terminated",
    [NOTICE_CUT_OFF] = "on-stall command was killed because ripd stops",
    [NOTICE_NOT_GIVEN] = "events not given to the on-stall command",
};

struct notice {
    struct report_pace pace;
    char detail[DETAIL_BYTES];
};

struct run {
    struct spawned spawned;
    struct event_queue_entry entry;
    struct time_limit limit;
};

struct hook {
    struct hook_options options;
    char *command; /* NULL: none */
    struct event_queue queue;
    struct run runs[HOOK_RUNNING_MAX];
    size_t run_count;
    bool stopping;
    uint64_t retry_mono_ns; /* the system was out of resources: start nothing before */
    int epoll;              /* has the descriptors of all runs */
    struct notice notices[NOTICE_COUNT];
};

int hook_new(struct hook **ret_hook, const struct hook_options *options)
{
    struct hook *hook = calloc(1, sizeof(*hook));
    int error;

    if (hook == NULL)
        return -ENOMEM;
    hook->options = *options;
    hook->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (hook->epoll < 0) {
        error = -errno;
        free(hook);
        return error;
    }
    signal(SIGCHLD, SIG_DFL); /* the parent may have ignored it: exit statuses would be lost */
    *ret_hook = hook;
    return 0;
}

void hook_free(struct hook *hook)
{
    if (hook == NULL)
        return;
    event_queue_clear(&hook->queue);
    for (size_t i = 0; i < hook->run_count; i++) /* processes that SIGKILL did not end yet: blocked in the kernel */
        event_unref(hook->runs[i].entry.event);
    close(hook->epoll);
    free(hook->command);
    free(hook);
}

int hook_set_command(struct hook *hook, const char *command)
{
    char *copy = NULL;

    if (command != NULL && command[0] != '\0') {
        copy = strdup(command);
        if (copy == NULL)
            return -ENOMEM;
    } else {
        event_queue_clear(&hook->queue);
    }
    free(hook->command);
    hook->command = copy;
    return 0;
}

static void note_not_given(struct hook *hook, uint64_t count)
{
    hook->options.health->limit_counts[HEALTH_LIMIT_HOOKS] += count;
    hook->notices[NOTICE_NOT_GIVEN].pace.count += count;
}

/* Notes the result of the command for an event. */
__attribute__((format(printf, 4, 5))) static void note_event(struct hook *hook, enum notice_kind kind,
                                                             const struct event *event, const char *format, ...)
{
    char *detail = hook->notices[kind].detail;
    va_list arguments;
    int length =
        snprintf(detail, DETAIL_BYTES, " event=%s episode=%" PRIu64 " ", event_kind_name(event->kind), event->episode);

    va_start(arguments, format);
    vsnprintf(detail + length, DETAIL_BYTES - (size_t)length, format, arguments);
    va_end(arguments);
    hook->notices[kind].pace.count++;
}

static void log_notices(struct hook *hook, uint64_t now_mono_ns, uint64_t between_ns)
{
    for (int kind = 0; kind < NOTICE_COUNT; kind++) {
        struct notice *notice = &hook->notices[kind];
        const uint64_t due = report_due(&notice->pace, now_mono_ns, 0, between_ns);

        if (due != 0)
            log_line(LOG_LEVEL_WARNING, "%s count=%" PRIu64 "%s", notice_texts[kind], due, notice->detail);
    }
}

void hook_push(struct hook *hook, struct event *event)
{
    uint32_t user = work_user(hook->options.work, event->uid);

    if (hook->command == NULL || event_queue_push(&hook->queue, event, user, &user))
        return;
    work_refuse(hook->options.work, user, WORK_HOOK_RUNS, 1);
    note_not_given(hook, 1);
}

/* What the exit status means in a shell, in addition to "failed". */
static const char *status_meaning(int status)
{
    return status == 127 ? " (not found)" : status == 126 ? " (not executable)" : status > 128 ? " (signal)" : "";
}

static void run_finish(struct hook *hook, struct run *run, int status)
{
    struct event *event = run->entry.event;

    if (hook->stopping && status != 0) {
        hook->options.health->hook_failure_count++;
        note_event(hook, NOTICE_CUT_OFF, event, "limit_ms=%" PRIu64, HOOK_STOP_NS / 1000000);
    } else if (run->limit.passed) {
        hook->options.health->hook_timeout_count++;
        note_event(hook, NOTICE_TIMED_OUT, event, "limit_ms=%" PRIu64, hook->options.time_limit_ns / 1000000);
    } else if (status != 0) {
        hook->options.health->hook_failure_count++;
        note_event(hook, NOTICE_FAILED, event, "exit_status=%d%s", status, status_meaning(status));
    }
    event_unref(event);
    *run = hook->runs[--hook->run_count];
}

static void reap(struct hook *hook, uint64_t now_mono_ns)
{
    for (size_t i = hook->run_count; i-- > 0;) {
        struct run *run = &hook->runs[i];
        enum time_limit_action action;
        int status = 0;

        if (spawn_ended(&run->spawned, &status)) {
            run_finish(hook, run, status);
            continue;
        }
        action = time_limit_step(&run->limit, now_mono_ns);
        if (action != TIME_LIMIT_NOTHING)
            spawn_signal(&run->spawned, action == TIME_LIMIT_ASK ? SIGTERM : SIGKILL);
    }
}

static int spawn_for(const struct hook *hook, const struct event *event, struct spawned *ret_spawned)
{
    const char *path = getenv("PATH");
    char kind[32], episode[48], incident[48], path_entry[4096];
    const char *environment[] = {path_entry, kind, episode, incident, NULL};
    struct spawn_options options = {.command = hook->command,
                                    .environment = environment,
                                    .output = -1,
                                    .error = STDERR_FILENO,
                                    .directory = "/",
                                    .descriptors_max = hook->options.descriptors_max};
    int error, length = snprintf(path_entry, sizeof(path_entry), "PATH=%s", path != NULL ? path : DEFAULT_PATH);

    if (length < 0 || (size_t)length >= sizeof(path_entry))
        snprintf(path_entry, sizeof(path_entry), "PATH=%s", DEFAULT_PATH);
    snprintf(kind, sizeof(kind), "RIPD_EVENT=%s", event_kind_name(event->kind));
    snprintf(episode, sizeof(episode), "RIPD_EPISODE=%" PRIu64, event->episode);
    snprintf(incident, sizeof(incident), "RIPD_INCIDENT=%" PRIu64, event->incident);
    options.input = spawn_input_line(event->text, event->text_bytes);
    if (options.input < 0)
        return options.input;
    error = spawn_start(&options, ret_spawned);
    close(options.input);
    return error;
}

/* Returns true if a retry may succeed, because the system lacks a resource temporarily. */
static bool is_passing(int error)
{
    return error == -EAGAIN || error == -ENOMEM || error == -EMFILE || error == -ENFILE || error == -ENOSPC;
}

/* Removes the event from the queue, unless the system lacks a resource. */
static void start(struct hook *hook, const struct event_queue_entry *next, uint64_t now_mono_ns)
{
    struct run *run = &hook->runs[hook->run_count];
    struct epoll_event interest = {.events = EPOLLIN};
    int error = spawn_for(hook, next->event, &run->spawned);

    if (error != 0)
        note_event(hook, NOTICE_NOT_STARTED, next->event, "reason=\"%s\"", strerror(-error));
    if (is_passing(error)) {
        hook->retry_mono_ns = now_mono_ns + HOOK_RETRY_NS;
        return;
    }
    hook->options.health->hook_run_count++;
    run->entry = event_queue_take(&hook->queue, next);
    if (error != 0) {
        hook->options.health->hook_failure_count++;
        event_unref(run->entry.event);
        return;
    }
    if (run->spawned.descriptor >= 0 &&
        epoll_ctl(hook->epoll, EPOLL_CTL_ADD, run->spawned.descriptor, &interest) != 0) {
        close(run->spawned.descriptor);
        run->spawned.descriptor = -1;
    }
    time_limit_init(&run->limit, now_mono_ns, hook->options.time_limit_ns, hook->options.grace_ns);
    hook->run_count++;
}

static const struct event_queue_entry *next_entry(const struct hook *hook)
{
    struct event_queue_entry busy[HOOK_RUNNING_MAX];

    for (size_t i = 0; i < hook->run_count; i++)
        busy[i] = hook->runs[i].entry;
    return event_queue_next(&hook->queue, busy, hook->run_count, HOOK_USER_RUNNING_MAX);
}

void hook_step(struct hook *hook, uint64_t now_mono_ns)
{
    reap(hook, now_mono_ns);
    /*
     * Starts at most as many commands as there are free places. Commands that end at once must not delay the next scan.
     */
    for (size_t i = hook->run_count; i < HOOK_RUNNING_MAX && now_mono_ns >= hook->retry_mono_ns; i++) {
        const struct event_queue_entry *next = next_entry(hook);

        if (next == NULL)
            break;
        start(hook, next, now_mono_ns);
    }
    log_notices(hook, now_mono_ns, HOOK_LOG_NS);
}

int hook_descriptor(const struct hook *hook)
{
    return hook->epoll;
}

static uint64_t smaller(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

uint64_t hook_wait_ns(const struct hook *hook, uint64_t now_mono_ns)
{
    uint64_t wait_ns = UINT64_MAX;

    if (hook->run_count < HOOK_RUNNING_MAX && next_entry(hook) != NULL)
        wait_ns = time_left_ns(hook->retry_mono_ns, now_mono_ns);
    for (size_t i = 0; i < hook->run_count; i++) {
        wait_ns = smaller(wait_ns, time_left_ns(hook->runs[i].limit.next_mono_ns, now_mono_ns));
        if (hook->runs[i].spawned.descriptor < 0)
            wait_ns = smaller(wait_ns, UNSEEN_NS);
    }
    return wait_ns;
}

/* Reaps until no command runs, or until the deadline. */
static void wait_for_all(struct hook *hook, uint64_t until_mono_ns)
{
    for (;;) {
        struct pollfd ended = {.fd = hook->epoll, .events = POLLIN};
        uint64_t now_mono_ns = clock_mono_ns(), wait_ns = time_left_ns(until_mono_ns, now_mono_ns);

        reap(hook, now_mono_ns);
        if (hook->run_count == 0 || wait_ns == 0)
            return;
        wait_ns = smaller(wait_ns, UNSEEN_NS);
        poll(&ended, 1, (int)(wait_ns / 1000000) + 1);
    }
}

void hook_stop(struct hook *hook)
{
    note_not_given(hook, event_queue_clear(&hook->queue));
    wait_for_all(hook, clock_mono_ns() + HOOK_STOP_NS);
    hook->stopping = true;
    for (size_t i = 0; i < hook->run_count; i++)
        spawn_signal(&hook->runs[i].spawned, SIGKILL);
    wait_for_all(hook, clock_mono_ns() + HOOK_KILL_NS);
    log_notices(hook, clock_mono_ns(), 0);
}
