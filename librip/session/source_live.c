/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_live.c - drains one ring, or the rings of a directory, at intervals. Touches the directory, clocks, inotify
 * and futexes.
 *
 * A ring is kept open from the moment it is seen, so that it can still be read after its file was removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "session/clock_ns.h"
#include "session/live_ring.h"
#include "session/sources.h"

#define SECOND_NS UINT64_C(1000000000)
#define SLICE_NS UINT64_C(5000000) /* while waiting for futexes, inotify is polled this often */
#define FUTEXES_MAX 128u           /* limit of futex_waitv() */
#define NAMES_MAX 65536u           /* names of a directory that are read */
#define IGNORED_MAX 4096u          /* known files that are not rings; beyond that they are opened on each drain */

/* A file that could not be opened as a ring. It is opened again when its ctime has changed. */
struct ignored_file {
    ino_t inode;
    struct timespec changed;
};

struct live {
    struct source source;
    char *path; /* of the directory */
    int directory;
    int inotify; /* -1 = none */
    dev_t device;
    int32_t *pids;
    size_t pid_count;
    char **names;
    size_t name_count;
    uint64_t interval_ns;
    bool once;
    struct live_ring **rings;
    size_t ring_count;
    struct ignored_file ignored[IGNORED_MAX];
    size_t ignored_count; /* ever added; the newest overwrite the oldest */
    uint32_t ring_number; /* of the newest ring */
    struct drain_batch *batch;
    bool draining;
    bool ended;
    size_t ring_at; /* index of the ring that is drained */
    struct rip_event drain;
    struct drain_moment drained; /* start of the last drain, or of the session */
    uint64_t due_mono_ns;
};

/* Rings ------------------------------------------------------------------------------------------------------------ */

/* Takes ownership of the descriptor, also on failure. */
static int add_ring(struct live *live, struct live_place *place, const char **ret_reason)
{
    struct live_ring **grown = realloc(live->rings, (live->ring_count + 1) * sizeof(struct live_ring *));
    int result;

    if (grown == NULL) {
        close(place->descriptor);
        *ret_reason = "needs more memory than is available";
        return -ENOMEM;
    }
    live->rings = grown;
    place->since = live->drained;
    place->was_drained = live->drain.as.drain.sequence != 0;
    place->finds_ended = live->once;
    result = live_ring_open(&live->rings[live->ring_count], place, live->ring_number + 1, ret_reason);
    if (result != 0)
        return result;
    live->ring_number++;
    live->ring_count++;
    return 0;
}

static void drop_rings(struct live *live)
{
    size_t kept = 0;

    for (size_t i = 0; i < live->ring_count; i++) {
        if (live_ring_is_gone(live->rings[i]))
            live_ring_free(live->rings[i]);
        else
            live->rings[kept++] = live->rings[i];
    }
    live->ring_count = kept;
}

/* The directory ---------------------------------------------------------------------------------------------------- */

static bool is_known(const struct live *live, const struct stat *status)
{
    for (size_t i = 0; i < live->ring_count; i++)
        if (live_ring_is(live->rings[i], status->st_dev, status->st_ino))
            return true;
    for (size_t i = 0; i < live->ignored_count && i < IGNORED_MAX; i++)
        if (live->ignored[i].inode == status->st_ino && live->ignored[i].changed.tv_sec == status->st_ctim.tv_sec &&
            live->ignored[i].changed.tv_nsec == status->st_ctim.tv_nsec)
            return true;
    return false;
}

static void ignore_file(struct live *live, const struct stat *status)
{
    size_t place = 0;

    while (place < live->ignored_count && place < IGNORED_MAX && live->ignored[place].inode != status->st_ino)
        place++;
    if (place == live->ignored_count || place == IGNORED_MAX)
        place = live->ignored_count++ % IGNORED_MAX;
    live->ignored[place] = (struct ignored_file){status->st_ino, status->st_ctim};
}

static bool is_wanted(const struct live *live, const char *name, int descriptor)
{
    if (live->name_count == 0 && live->pid_count == 0)
        return true;
    for (size_t i = 0; i < live->name_count; i++)
        if (fnmatch(live->names[i], name, 0) == 0)
            return true;
    return live->pid_count != 0 && live_ring_has_process(descriptor, live->pids, live->pid_count);
}

/* Adds a file of the directory if it is a ring. A file that cannot be opened is ignored: another user may own it. */
static int add_file(struct live *live, const char *name)
{
    struct live_place place = {.directory = live->path, .name = name, .descriptor = -1};
    const char *reason;
    struct stat status;
    int result;

    if (fstatat(live->directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
        is_known(live, &status))
        return 0;
    place.descriptor = openat(live->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (place.descriptor < 0 || fstat(place.descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
        !is_wanted(live, name, place.descriptor)) {
        if (place.descriptor >= 0)
            close(place.descriptor);
        return 0;
    }
    result = add_ring(live, &place, &reason);
    if (result != 0 && result != -ENOMEM)
        ignore_file(live, &status);
    return result == -ENOMEM ? result : 0;
}

static int list_directory(struct live *live)
{
    DIR *entries;
    int descriptor = openat(live->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = 0;
    const struct dirent *entry;

    if (descriptor < 0)
        return -errno;
    entries = fdopendir(descriptor);
    if (entries == NULL) {
        close(descriptor);
        return -ENOMEM;
    }
    for (size_t i = 0; result == 0 && i < NAMES_MAX && (entry = readdir(entries)) != NULL; i++)
        if (entry->d_name[0] != '.' && (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN))
            result = add_file(live, entry->d_name);
    closedir(entries);
    return result;
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

static int begin_drain(struct live *live, struct source_error *error)
{
    struct rip_event *drain = &live->drain;
    const struct drain_moment moment = live_moment();
    int result = live->directory >= 0 ? list_directory(live) : 0;

    if (result != 0)
        return source_fail(error, result, "%s: %s", live->path, strerror(-result));
    drain->kind = RIP_EVENT_DRAIN;
    drain->earliest_wall_ns = drain->latest_wall_ns;
    drain->earliest_mono_ns = drain->latest_mono_ns;
    drain->as.drain.sequence++;
    drain->as.drain.wall_ns = moment.wall_ns;
    drain->as.drain.mono_ns = moment.mono_ns;
    drain->as.drain.boot_ns = clock_ns(CLOCK_BOOTTIME);
    live->drained = moment;
    for (size_t i = 0; i < live->ring_count; i++)
        live_ring_begin(live->rings[i], moment);
    live->due_mono_ns = moment.mono_ns + live->interval_ns;
    live->draining = true;
    live->ring_at = 0;
    return 0;
}

static int end_drain(struct live *live, struct event_queue *queue, struct source_error *error)
{
    struct rip_event *drain = &live->drain;
    const char *reason;

    live->draining = false;
    drain->latest_wall_ns = clock_ns(CLOCK_REALTIME);
    drain->latest_mono_ns = clock_ns(CLOCK_MONOTONIC);
    drain->as.drain.duration_ns = drain->latest_mono_ns - drain->as.drain.mono_ns;
    if (live->directory < 0) {
        reason = live_ring_reason(live->rings[0]);
        live->ended = live_ring_has_ended(live->rings[0]);
        if (reason != NULL)
            source_fail(error, 0, "%s %s", live->path, reason);
    } else {
        drop_rings(live);
    }
    live->ended |= live->once;
    return event_queue_add(queue, drain);
}

static int read_live(struct source *source, struct event_queue *queue, struct source_error *error)
{
    struct live *live = (struct live *)source;
    const struct rip_sink sink = event_queue_sink(queue);
    int result = 0;

    if (!live->draining) {
        if (live->ended)
            return 0;
        if (clock_ns(CLOCK_MONOTONIC) < live->due_mono_ns)
            return -EAGAIN;
        result = begin_drain(live, error);
        if (result != 0)
            return result;
    }
    while (result == 0 && live->ring_at < live->ring_count) {
        result = live_ring_step(live->rings[live->ring_at], live->batch, &sink);
        live->ring_at += result == 0;
    }
    if (result == 0)
        result = end_drain(live, queue, error);
    return result < 0 ? source_fail(error, result, "%s: %s", live->path, strerror(-result)) : 1;
}

static int repeat_live(struct source *source, const struct rip_sink *sink)
{
    const struct live *live = (const struct live *)source;
    int result = 0;

    for (size_t i = 0; result == 0 && i < live->ring_count; i++)
        result = live_ring_repeat(live->rings[i], live->batch, sink);
    return result;
}

/* Waiting ---------------------------------------------------------------------------------------------------------- */

static uint64_t due_live(const struct source *source)
{
    const struct live *live = (const struct live *)source;
    const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

    return live->draining || live->ended || live->due_mono_ns <= now_ns ? 0 : live->due_mono_ns - now_ns;
}

static void drain_live_now(struct source *source)
{
    ((struct live *)source)->due_mono_ns = 0;
}

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
}

static size_t flush_words(const struct live *live, struct futex_waitv *ret_words)
{
    size_t count = 0;

    for (size_t i = 0; i < live->ring_count && count < FUTEXES_MAX; i++) {
        uint32_t seen;
        const uint32_t *word = live_ring_flush_word(live->rings[i], &seen);

        if (word != NULL)
            ret_words[count++] = (struct futex_waitv){.val = seen, .uaddr = (uintptr_t)word, .flags = FUTEX_32};
    }
    return count;
}

/* Waits until one of these words changes. Returns 0, -ETIMEDOUT or -EINTR. */
static int wait_for_flush(struct futex_waitv *words, size_t count, uint64_t until_mono_ns)
{
    const struct timespec until = time_of(until_mono_ns);

    if (syscall(SYS_futex_waitv, words, count, 0, &until, CLOCK_MONOTONIC) >= 0 || errno == EAGAIN)
        return 0;
    if (errno == EINTR || errno == ETIMEDOUT)
        return -errno;
    /* Before Linux 5.16, or if a ring was truncated meanwhile: wait for the end of the interval. */
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR ? -EINTR : -ETIMEDOUT;
}

/* Looks at new files by name. Listing the directory for each event would be expensive if files come and go often. */
static int add_named_files(struct live *live, const char *events, size_t bytes)
{
    int result = 0;

    for (size_t at = 0; result == 0 && at + sizeof(struct inotify_event) <= bytes;) {
        const struct inotify_event *event = (const void *)(events + at);

        if ((event->mask & IN_Q_OVERFLOW) != 0)
            result = list_directory(live);
        else if (event->len != 0 && event->name[0] != '.')
            result = add_file(live, event->name);
        at += sizeof(*event) + event->len;
    }
    return result;
}

/* Waits for new files and opens the rings among them. Returns 0, -ETIMEDOUT, -EINTR or -errno. */
static int wait_for_file(struct live *live, uint64_t until_mono_ns)
{
    _Alignas(struct inotify_event) char events[4096];
    const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    const struct timespec left = time_of(until_mono_ns > now_ns ? until_mono_ns - now_ns : 0);
    struct pollfd poll_one = {.fd = live->inotify, .events = POLLIN};
    const int count = ppoll(&poll_one, 1, &left, NULL);
    ssize_t bytes;

    if (count < 0)
        return -errno;
    if (count == 0)
        return -ETIMEDOUT;
    bytes = read(live->inotify, events, sizeof(events));
    return bytes > 0 ? add_named_files(live, events, (size_t)bytes) : 0;
}

static int wait_live(struct source *source, uint64_t timeout_ns)
{
    struct live *live = (struct live *)source;
    const uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
    const uint64_t limit_ns = timeout_ns < UINT64_MAX - begun_ns ? begun_ns + timeout_ns : UINT64_MAX;

    while (due_live(source) != 0) {
        struct futex_waitv words[FUTEXES_MAX];
        const size_t count = flush_words(live, words);
        const uint64_t until_ns = limit_ns < live->due_mono_ns ? limit_ns : live->due_mono_ns;
        const uint64_t slice_ns = clock_ns(CLOCK_MONOTONIC) + SLICE_NS;
        int result = -ETIMEDOUT;

        if (live->inotify >= 0)
            result = wait_for_file(live, count != 0 ? 0 : until_ns);
        if (result == -ETIMEDOUT && (count != 0 || live->inotify < 0)) {
            result = wait_for_flush(words, count, live->inotify >= 0 && slice_ns < until_ns ? slice_ns : until_ns);
            if (result == 0)
                live->due_mono_ns = 0;
        }
        if (result != 0 && result != -ETIMEDOUT)
            return result;
        if (due_live(source) != 0 && clock_ns(CLOCK_MONOTONIC) >= limit_ns)
            return -ETIMEDOUT;
    }
    return 0;
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

static void close_live(struct source *source)
{
    struct live *live = (struct live *)source;

    for (size_t i = 0; i < live->ring_count; i++)
        live_ring_free(live->rings[i]);
    for (size_t i = 0; i < live->name_count; i++)
        free(live->names[i]);
    if (live->directory >= 0)
        close(live->directory);
    if (live->inotify >= 0)
        close(live->inotify);
    drain_batch_free(live->batch);
    free(live->rings);
    free(live->names);
    free(live->pids);
    free(live->path);
    free(live);
}

static const struct source_kind live_kind = {
    .read = read_live,
    .close = close_live,
    .repeat = repeat_live,
    .due_ns = due_live,
    .wait = wait_live,
    .drain_now = drain_live_now,
};

/* Copies the pids and name patterns that select rings. Returns false if out of memory. */
static bool keep_choice(struct live *live, const struct rip_session_options *options)
{
    live->pids = calloc(options->pid_count + 1, sizeof(*live->pids));
    live->names = calloc(options->name_count + 1, sizeof(*live->names));
    if (live->pids == NULL || live->names == NULL)
        return false;
    if (options->pid_count != 0)
        memcpy(live->pids, options->pids, options->pid_count * sizeof(*live->pids));
    live->pid_count = options->pid_count;
    for (; live->name_count < options->name_count; live->name_count++) {
        live->names[live->name_count] = strdup(options->names[live->name_count]);
        if (live->names[live->name_count] == NULL)
            return false;
    }
    return true;
}

/* Returns NULL if out of memory. */
static struct live *new_live(enum rip_session_source name, const char *path, const struct rip_session_options *options)
{
    struct live *live = calloc(1, sizeof(*live));

    if (live == NULL)
        return NULL;
    live->source = (struct source){&live_kind, name};
    live->directory = -1;
    live->inotify = -1;
    live->interval_ns = options->interval_ns != 0 ? options->interval_ns : SECOND_NS;
    if (live->interval_ns > INT64_MAX) /* otherwise the time of the next drain could overflow */
        live->interval_ns = INT64_MAX;
    live->once = options->once;
    live->drained = live_moment();
    live->path = strdup(path);
    live->batch = drain_batch_new();
    if (live->path != NULL && live->batch != NULL && keep_choice(live, options))
        return live;
    close_live(&live->source);
    return NULL;
}

int source_open_directory(struct source **ret_source, const char *path, int descriptor,
                          const struct rip_session_options *options, struct source_error *error)
{
    struct live *live = new_live(RIP_SESSION_DIRECTORY, path, options);
    const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    if (live == NULL) {
        close(descriptor);
        if (watch >= 0)
            close(watch);
        return source_fail(error, -ENOMEM, "%s: out of memory", path);
    }
    live->directory = descriptor;
    live->inotify = watch;
    if (watch >= 0 && inotify_add_watch(watch, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
        close(watch); /* new rings are then found by the next drain */
        live->inotify = -1;
    }
    *ret_source = &live->source;
    return 0;
}

int source_open_ring(struct source **ret_source, const char *path, int descriptor,
                     const struct rip_session_options *options, struct source_error *error)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path, *reason;
    char *directory = slash != NULL ? strndup(path, (size_t)(slash - path) + (slash == path)) : strdup("");
    struct live *live = new_live(RIP_SESSION_RING, path, options);
    struct live_place place = {.directory = directory, .name = name, .descriptor = descriptor};
    int result;

    if (live == NULL || directory == NULL) {
        close(descriptor);
        result = source_fail(error, -ENOMEM, "%s: out of memory", path);
    } else {
        result = add_ring(live, &place, &reason);
        if (result != 0)
            source_fail(error, result, "%s %s", path, reason);
    }
    free(directory);
    if (result == 0)
        *ret_source = &live->source;
    else if (live != NULL)
        close_live(&live->source);
    return result;
}
