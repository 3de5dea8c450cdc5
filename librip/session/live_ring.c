/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_ring.c - see live_ring.h.
 *
 * A process that is found dead or to have left may have snapped after its slots were copied. Then the ring is copied
 * once more, so that the drain contains all that the process did.
 */
#include "session/live_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/clock_ns.h"
#include "session/ring_copy.h"

#define CREATION_NS_MAX UINT64_C(10000000000) /* from the creation time in a ring until its file is named */
#define EMBRYO_GRACE_NS UINT64_C(1000000000)  /* an EMBRYO record counts as alive for this long */
#define STAT_BYTES 1024u
#define START_TIME_FIELD 22

enum phase { PHASE_BEGIN, PHASE_DRAIN, PHASE_OVER };

/* What is known of the process in a record. */
struct process_state {
    uint32_t generation; /* 0 = no process yet */
    bool dead;           /* it holds no lock, or the drain has found its end */
    bool in_order;       /* it called exit() or returned from main(), by its record */
    bool yielded;        /* its DEATH was yielded */
    bool left;           /* its record was seen as EXITED */
};

struct live_ring {
    struct drain *drain;
    struct ring_copy copy;
    char *directory;
    char *name;
    dev_t device;
    ino_t inode;
    uint32_t number;
    uint32_t uid;
    const void *header; /* mapping of the first page, for a futex; never read; NULL: none */
    enum phase phase;
    struct drain_moment since, moment, copied; /* of the previous drain, of this one, of the end of the copy */
    struct process_state *processes;           /* by index of the record */
    uint32_t process_count;
    bool was_drained; /* the session had made a drain before the ring was seen */
    bool announced;   /* RING was yielded */
    bool ended;       /* no process is alive */
    bool unlinked;    /* the file was removed */
    bool broken;      /* the ring cannot be read any more */
    bool over;        /* RING_END was yielded, or would have been if RING was */
};

struct drain_moment live_moment(void)
{
    return (struct drain_moment){clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_MONOTONIC)};
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

static bool keep_place(struct live_ring *ring, const struct live_place *place)
{
    ring->directory = strdup(place->directory);
    ring->name = strdup(place->name);
    ring->header = mmap(NULL, sizeof(struct rip_ring), PROT_READ, MAP_SHARED, place->descriptor, 0);
    if (ring->header == MAP_FAILED)
        ring->header = NULL;
    return ring->directory != NULL && ring->name != NULL;
}

int live_ring_open(struct live_ring **ret_ring, const struct live_place *place, uint32_t number,
                   const char **ret_reason)
{
    struct live_ring *ring = calloc(1, sizeof(*ring));
    struct stat status;
    int result = ring != NULL ? 0 : -ENOMEM;

    *ret_reason = "needs more memory than is available";
    if (result == 0)
        result = fstat(place->descriptor, &status) == 0 ? ring_copy_open(&ring->copy, place->descriptor) : -errno;
    if (result == 0) {
        ring->device = status.st_dev;
        ring->inode = status.st_ino;
        ring->uid = status.st_uid;
        ring->number = number;
        ring->moment = place->since;
        ring->was_drained = place->was_drained;
        ring->phase = PHASE_OVER;
        result = keep_place(ring, place) ? drain_new(&ring->drain, number) : -ENOMEM;
    } else if (ring != NULL && ring->copy.reason != NULL) {
        *ret_reason = ring->copy.reason;
    }
    if (result == 0) {
        if (place->finds_ended)
            drain_find_ended(ring->drain);
        *ret_ring = ring;
        return 0;
    }
    if (ring != NULL)
        ring->copy.descriptor = -1;
    close(place->descriptor);
    live_ring_free(ring);
    return result;
}

void live_ring_free(struct live_ring *ring)
{
    if (ring == NULL)
        return;
    if (ring->header != NULL)
        munmap((void *)(uintptr_t)ring->header, sizeof(struct rip_ring));
    if (ring->copy.descriptor >= 0)
        close(ring->copy.descriptor);
    ring_copy_close(&ring->copy);
    drain_free(ring->drain);
    free(ring->processes);
    free(ring->directory);
    free(ring->name);
    free(ring);
}

bool live_ring_is(const struct live_ring *ring, dev_t device, ino_t inode)
{
    return ring->device == device && ring->inode == inode;
}

/* Which processes are alive ---------------------------------------------------------------------------------------- */

/*
 * Finds the first lock in a range; it may extend beyond the range. Returns false if there is none. *ret_offset is
 * within the range. *ret_pid is 0 if the holder is in a pid namespace that is not visible here.
 */
static bool find_lock(int descriptor, uint64_t offset, uint64_t count, uint64_t *ret_offset, pid_t *ret_pid)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)count};

    if (fcntl(descriptor, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
        return false;
    *ret_offset = (uint64_t)lock.l_start > offset ? (uint64_t)lock.l_start : offset;
    *ret_pid = lock.l_pid > 0 ? lock.l_pid : 0;
    return true;
}

bool live_ring_has_process(int descriptor, const int32_t *pids, size_t count)
{
    uint64_t offset = RIP_LOCK_HOLDER_OFFSET;
    const uint64_t end = offset + RIP_PROCESS_MAX;
    pid_t pid;

    while (offset < end && find_lock(descriptor, offset, end - offset, &offset, &pid)) {
        for (size_t i = 0; i < count; i++)
            if (pid != 0 && pids[i] == pid)
                return true;
        offset++;
    }
    return false;
}

/*
 * Returns the start time, in ticks, of the process that has this pid now; 0 if there is none or it has ended. A process
 * that is exiting counts as ended: it has no memory any more.
 */
static uint64_t start_time_of(uint32_t pid)
{
    char path[32], text[STAT_BYTES + 1], *at;
    uint64_t start_time;
    FILE *file;
    size_t length;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    length = fread(text, 1, STAT_BYTES, file);
    fclose(file);
    text[length] = '\0';
    at = strrchr(text, ')'); /* the last one ends the name, which may itself contain ')' */
    if (at == NULL || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
        return 0;
    for (int field = 2; at != NULL && field < START_TIME_FIELD; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return 0;
    start_time = strtoull(at + 1, &at, 10);
    return strtoull(at, NULL, 10) != 0 ? start_time : 0; /* the next field is vsize */
}

static bool is_running(const struct rip_process_info *process)
{
    return process->pid != 0 && process->start_time_ticks != 0 &&
           start_time_of(process->pid) == process->start_time_ticks;
}

static bool is_alive(const struct live_ring *ring, const struct rip_process_info *process)
{
    const struct rip_view *view = &ring->copy.view;
    uint64_t at;
    pid_t pid;

    if ((process->flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0)
        return find_lock(ring->copy.descriptor, view->lock_life_offset + process->index, 1, &at, &pid);
    if ((process->flags & RIP_PROCESS_HAS_HOLDER_LOCK) != 0 &&
        find_lock(ring->copy.descriptor, view->lock_holder_offset + process->index, 1, &at, &pid))
        return true;
    return is_running(process);
}

/* Makes room for count records. Returns 0 or -ENOMEM. */
static int grow_processes(struct live_ring *ring, uint32_t count)
{
    struct process_state *grown;

    if (count <= ring->process_count)
        return 0;
    grown = realloc(ring->processes, count * sizeof(*grown));
    if (grown == NULL)
        return -ENOMEM;
    memset(grown + ring->process_count, 0, (count - ring->process_count) * sizeof(*grown));
    ring->processes = grown;
    ring->process_count = count;
    return 0;
}

/*
 * Checks one record of the copy. Returns true if its process is newly found dead or to have left: the process may have
 * snapped after its slots were copied.
 */
static bool check_process(struct live_ring *ring, const struct rip_process_info *process, bool *ret_alive)
{
    struct process_state *state = &ring->processes[process->index];
    bool had_left;

    if (process->state == RIP_PROCESS_EMBRYO) {
        *ret_alive |= clock_ns(CLOCK_BOOTTIME) - process->entered_boot_ns < EMBRYO_GRACE_NS;
        return false;
    }
    if (state->generation != process->generation)
        *state = (struct process_state){.generation = process->generation};
    if (process->state == RIP_PROCESS_EXITED) {
        had_left = state->left;
        state->left = true;
        return !had_left;
    }
    if (state->dead)
        return false;
    state->dead = !is_alive(ring, process);
    *ret_alive |= !state->dead;
    return state->dead;
}

/* Checks all records. Returns 1 if the ring must be copied again, 0, or -ENOMEM. */
static int check_processes(struct live_ring *ring)
{
    struct rip_process_info process;
    struct rip_ring_info info;
    bool alive = false;
    int result, found = 0;

    rip_view_info(&ring->copy.view, &info);
    result = grow_processes(ring, info.process_high_water);
    if (result != 0)
        return result;
    for (uint32_t i = 0; i < info.process_high_water; i++)
        if (rip_view_process(&ring->copy.view, i, &process) == RIP_OK && check_process(ring, &process, &alive))
            found = 1;
    ring->ended = !alive && found == 0;
    return found;
}

/* Events about the ring and its processes -------------------------------------------------------------------------- */

static int yield(const struct live_ring *ring, struct rip_event *event, const struct rip_sink *sink)
{
    event->ring = ring->number;
    event->earliest_wall_ns = ring->since.wall_ns;
    event->earliest_mono_ns = ring->since.mono_ns;
    event->latest_wall_ns = ring->copied.wall_ns;
    event->latest_mono_ns = ring->copied.mono_ns;
    return sink->take(sink->context, event);
}

static struct rip_event_ring describe_ring(const struct live_ring *ring)
{
    struct rip_event_ring description = {
        .name = {ring->name, strlen(ring->name)},
        .directory = {ring->directory, strlen(ring->directory)},
        .slot_capacity = ring->copy.view.slot_capacity,
        .uid = ring->uid,
    };
    struct rip_process_info process;
    struct rip_ring_info info;

    rip_view_info(&ring->copy.view, &info);
    memcpy(description.ring_id, info.ring_id, sizeof(info.ring_id));
    memcpy(description.boot_id, info.boot_id, sizeof(info.boot_id));
    description.created_wall_ns = info.created_wall_ns;
    for (uint32_t i = 0; i < info.process_high_water && !description.preload; i++)
        description.preload =
            rip_view_process(&ring->copy.view, i, &process) == RIP_OK && (process.flags & RIP_PROCESS_PRELOADED) != 0;
    return description;
}

static int yield_ring(struct live_ring *ring, const struct rip_sink *sink)
{
    struct rip_event event = {.kind = RIP_EVENT_RING, .as.ring_begin = describe_ring(ring)};

    ring->announced = true;
    return yield(ring, &event, sink);
}

static int yield_end(struct live_ring *ring, const struct rip_sink *sink)
{
    const char *reason = ring->broken ? ring->copy.reason : "";
    struct rip_event event = {.kind = RIP_EVENT_RING_END, .as.ring_end.reason = {reason, strlen(reason)}};

    ring->over = true;
    return ring->announced ? yield(ring, &event, sink) : 0;
}

static bool find_process(const struct live_ring *ring, uint32_t index, uint32_t generation,
                         struct rip_process_info *ret_process)
{
    return rip_view_process(&ring->copy.view, index, ret_process) == RIP_OK && ret_process->generation == generation;
}

/* Called when all that the ids did was yielded: DEATH comes last. */
static int yield_deaths(struct live_ring *ring, const struct rip_sink *sink)
{
    struct rip_process_info process;
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < ring->process_count; i++) {
        struct process_state *state = &ring->processes[i];
        struct rip_event event = {.kind = RIP_EVENT_DEATH, .process = i};

        if (!state->dead || state->yielded || !find_process(ring, i, state->generation, &process))
            continue;
        state->yielded = true;
        event.as.death = (struct rip_event_death){
            .process = i,
            .generation = process.generation,
            .in_order = state->in_order || (process.flags & RIP_PROCESS_EXITING) != 0,
        };
        event.as.death.replaced =
            !event.as.death.in_order && (process.state == RIP_PROCESS_EXECING || is_running(&process));
        result = yield(ring, &event, sink);
    }
    return result;
}

/* Draining --------------------------------------------------------------------------------------------------------- */

void live_ring_begin(struct live_ring *ring, struct drain_moment moment)
{
    ring->since = ring->moment;
    ring->moment = moment;
    ring->phase = PHASE_BEGIN;
}

/* Context of the sink that corrects the events of the drain. */
struct correction {
    struct live_ring *ring;
    const struct rip_sink *sink;
};

/* Takes a DEATH that the drain has found. Returns false if yield_deaths() will yield it later. */
static bool take_death(struct live_ring *ring, const struct rip_event *event)
{
    const struct rip_event_death *death = &event->as.death;
    struct process_state *state = event->process < ring->process_count ? &ring->processes[event->process] : NULL;
    struct rip_process_info process;

    if (state == NULL)
        return true;
    if (state->generation != death->generation) {
        if (!find_process(ring, event->process, death->generation, &process))
            return true; /* another process has its record by now: yield_deaths() could not find it */
        *state = (struct process_state){.generation = death->generation};
    }
    state->dead = true;
    state->in_order = death->in_order;
    return false;
}

/* Replaces the time at which the drain began by the time at which the copy was complete, and delays DEATH. */
static int correct_event(void *context, const struct rip_event *event)
{
    const struct correction *correction = context;
    struct live_ring *ring = correction->ring;
    struct rip_event corrected = *event;

    if (event->kind == RIP_EVENT_DEATH && !take_death(ring, event))
        return 0;
    if (event->latest_mono_ns == ring->moment.mono_ns) {
        corrected.latest_mono_ns = ring->copied.mono_ns;
        corrected.latest_wall_ns = ring->copied.wall_ns;
    }
    return correction->sink->take(correction->sink->context, &corrected);
}

/*
 * If the ring was created during the session, nothing in it is older than the session: its ids are new, not found. If
 * the directory was listed before, the ring was named after that listing. Its creation may have started up to
 * CREATION_NS_MAX earlier, but no process uses a ring before it has its name.
 */
static void check_creation_time(struct live_ring *ring)
{
    const uint64_t creation_ns = ring->was_drained ? CREATION_NS_MAX : 0;
    struct rip_ring_info info;

    rip_view_info(&ring->copy.view, &info);
    if (info.created_wall_ns <= UINT64_MAX - creation_ns && info.created_wall_ns + creation_ns >= ring->since.wall_ns)
        drain_made_after(ring->drain, ring->since);
    else if (!ring->was_drained)
        ring->since = (struct drain_moment){0};
}

static int begin_drain(struct live_ring *ring, const struct rip_sink *sink)
{
    struct stat status;
    int result = 1;

    ring->unlinked = fstat(ring->copy.descriptor, &status) == 0 && status.st_nlink == 0;
    for (int copies = 0; copies < 2 && result == 1; copies++) { /* a third copy is left to the next drain */
        result = ring_copy_take(&ring->copy);
        if (result == 0)
            result = check_processes(ring);
    }
    ring->copied = live_moment();
    ring->broken = result < 0;
    if (ring->broken) {
        ring->phase = PHASE_OVER;
        return yield_end(ring, sink);
    }
    ring->phase = PHASE_DRAIN;
    if (!ring->announced)
        check_creation_time(ring);
    drain_begin(ring->drain, ring->moment);
    return ring->announced ? 0 : yield_ring(ring, sink);
}

static int end_drain(struct live_ring *ring, const struct rip_sink *drained, const struct rip_sink *sink)
{
    int result = yield_deaths(ring, sink);

    ring->phase = PHASE_OVER;
    if (result == 0)
        result = drain_end(ring->drain, drained);
    if (result == 0 && ring->unlinked && ring->ended)
        result = yield_end(ring, sink);
    return result;
}

int live_ring_step(struct live_ring *ring, struct drain_batch *batch, const struct rip_sink *sink)
{
    struct correction correction = {ring, sink};
    const struct rip_sink drained = {&correction, correct_event};
    int result;

    if (ring->phase == PHASE_OVER)
        return 0;
    if (ring->phase == PHASE_BEGIN) {
        result = begin_drain(ring, sink);
    } else {
        result = drain_step(ring->drain, &ring->copy.view, batch, &drained);
        if (result == 0)
            result = end_drain(ring, &drained, sink);
    }
    return result != 0 ? result : ring->phase != PHASE_OVER;
}

/* As of the last drain --------------------------------------------------------------------------------------------- */

bool live_ring_has_ended(const struct live_ring *ring)
{
    return ring->ended || ring->broken;
}

bool live_ring_is_gone(const struct live_ring *ring)
{
    return ring->over;
}

const char *live_ring_reason(const struct live_ring *ring)
{
    return ring->broken ? ring->copy.reason : NULL;
}

/* Passes on only the events that say what exists, not what happened. */
static int take_state_event(void *context, const struct rip_event *event)
{
    const struct rip_sink *sink = context;

    switch (event->kind) {
    case RIP_EVENT_PROCESS:
    case RIP_EVENT_MODULE:
    case RIP_EVENT_SCRIPT:
    case RIP_EVENT_REGISTER:
    case RIP_EVENT_NOTE:
        return sink->take(sink->context, event);
    default:
        return 0;
    }
}

/* Makes a first drain of the copy. */
int live_ring_repeat(const struct live_ring *ring, struct drain_batch *batch, const struct rip_sink *sink)
{
    struct rip_event event = {.kind = RIP_EVENT_RING, .as.ring_begin = describe_ring(ring)};
    const struct rip_sink there = {(void *)(uintptr_t)sink, take_state_event};
    struct drain *drain;
    int result;

    if (!ring->announced || ring->over)
        return 0;
    result = drain_new(&drain, ring->number);
    if (result != 0)
        return result;
    result = yield(ring, &event, sink);
    drain_begin(drain, ring->moment);
    while (result >= 0) {
        result = drain_step(drain, &ring->copy.view, batch, &there);
        if (result == 0)
            break;
    }
    drain_free(drain);
    return result;
}

const uint32_t *live_ring_flush_word(const struct live_ring *ring, uint32_t *ret_seen)
{
    const struct rip_ring *header = ring->header;
    struct rip_ring_info info;

    if (header == NULL || ring->broken)
        return NULL;
    rip_view_info(&ring->copy.view, &info);
    *ret_seen = info.flush_count;
    return &header->flush_count;
}
