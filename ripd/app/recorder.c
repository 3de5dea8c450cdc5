/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.c - a drain for each ring, and the rows of a scan. See recorder.h. */
#include "app/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/log.h"
#include "app/report.h"
#include "cases/incidents.h"
#include "os/clock.h"
#include "record/recording_file.h"
#include "session/drain.h"
#include "session/recording.h"
#include "session/ring_copy.h"
#include "util/array.h"
#include "util/search.h"

/* Memory that the drain and the writer use for an id and for a ring. */
#define RECORDED_ID_BYTES (3u * DRAIN_ID_BYTES)
#define RECORDED_RING_BYTES 16384u
#define BLOCK_BYTES 512u                       /* unit of st_blocks */
#define RECORDER_LOSS_NS UINT64_C(60000000000) /* between two lines about lost scans */
/* Rings and settings are repeated after this many scans, for readers that start there. */
#define REPEAT_SCANS 64u

struct recorded_ring {
    uint32_t serial;
    struct drain *drain;   /* NULL: no room in its user's quota */
    struct ring_copy copy; /* if the ring is not mapped */
    bool has_copy;
    uint64_t held_bytes; /* charged to its user's account on this scan */
    uint8_t *conditions;
    size_t condition_count;
};

struct recorder {
    struct registry *registry;
    struct work *work;
    struct recording_file *file;
    struct recording_writer *writer;
    struct drain_batch *batch;
    struct recorded_ring *rings; /* ascending by serial */
    size_t count;
    size_t capacity;
    struct recorded_ring *ring; /* being read; NULL = none, or it cannot be read */
    struct scan_record scan;
    struct scan_settings settings;
    bool has_settings; /* for this scan */
    uint64_t sequence;
    uint64_t now_mono_ns;
    uint64_t now_wall_ns;
    uint64_t before_mono_ns; /* of the previous scan */
    uint64_t before_wall_ns;
    uint64_t written_bytes; /* as of the previous scan; lost_count too */
    uint64_t lost_count;
    struct report_pace losses;
    bool loses; /* the log does not say yet that recording works again */
    struct scan_tap tap;
};

static int take(void *context, const struct rip_event *event)
{
    struct recorder *recorder = context;

    (void)recording_writer_take(recorder->writer, event); /* the file counts what is lost */
    return 0;
}

/* Returns an event of this scan. */
static struct rip_event event_now(const struct recorder *recorder, uint32_t kind, uint32_t ring)
{
    return (struct rip_event){
        .kind = kind,
        .ring = ring,
        .earliest_wall_ns = recorder->before_wall_ns,
        .latest_wall_ns = recorder->now_wall_ns,
        .earliest_mono_ns = recorder->before_mono_ns,
        .latest_mono_ns = recorder->now_mono_ns,
    };
}

/* Rings ------------------------------------------------------------------------------------------------------------ */

static void begin_ring(struct recorder *recorder, const struct ring *ring)
{
    struct rip_event event = event_now(recorder, RIP_EVENT_RING, ring->serial);
    struct rip_event_ring *begin = &event.as.ring_begin;

    begin->name = (struct rip_text){ring->name, strlen(ring->name)};
    begin->directory = (struct rip_text){"", 0};
    memcpy(begin->ring_id, ring->info.ring_id, sizeof(begin->ring_id));
    memcpy(begin->boot_id, ring->info.boot_id, sizeof(begin->boot_id));
    begin->created_wall_ns = ring->info.created_wall_ns;
    begin->slot_capacity = ring->info.slot_capacity;
    begin->uid = mapping_owner(&ring->mapping);
    begin->preload = registry_is_preloaded(recorder->registry, ring->serial, 0);
    take(recorder, &event);
}

static void ring_done(struct recorded_ring *ring)
{
    drain_free(ring->drain);
    if (ring->has_copy)
        ring_copy_close(&ring->copy);
    free(ring->conditions);
}

static void end_ring(struct recorder *recorder, struct recorded_ring *ring)
{
    const struct rip_event event = event_now(recorder, RIP_EVENT_RING_END, ring->serial);

    if (ring->drain != NULL)
        take(recorder, &event);
    ring_done(ring);
    *ring = (struct recorded_ring){.serial = ring->serial};
}

/*
 * Charges bytes to the ring's user. Returns false if the quota does not allow them. Then the ring is not recorded any
 * more, and what was kept of it is freed.
 */
static bool has_room(struct recorder *recorder, const struct ring *ring, uint64_t bytes)
{
    if (work_take(recorder->work, ring->user, WORK_RECORDED_BYTES, bytes)) {
        recorder->ring->held_bytes += bytes;
        return true;
    }
    work_give(recorder->work, ring->user, WORK_RECORDED_BYTES, recorder->ring->held_bytes);
    end_ring(recorder, recorder->ring);
    recorder->ring = NULL;
    return false;
}

/* Appends new rings, and ends the rings that have gone. */
static void find_rings(struct recorder *recorder)
{
    size_t count, kept = 0, at = 0;
    struct ring **rings = registry_rings(recorder->registry, &count);
    struct recorded_ring *all;

    if (!ARRAY_RESERVE(recorder->rings, recorder->capacity, count + recorder->count + 1))
        return;
    all = recorder->rings;
    for (size_t i = 0; i < recorder->count; i++) {
        while (at < count && rings[at]->serial < all[i].serial)
            at++;
        if (at < count && rings[at]->serial == all[i].serial)
            all[kept++] = all[i];
        else
            end_ring(recorder, &all[i]);
    }
    recorder->count = kept;
    for (size_t i = 0; i < count; i++) {
        struct recorded_ring *last = kept != 0 ? &all[recorder->count - 1] : NULL;
        struct recorded_ring ring = {.serial = rings[i]->serial};

        if ((last != NULL && last->serial >= ring.serial) || drain_new(&ring.drain, ring.serial) != 0)
            continue;
        begin_ring(recorder, rings[i]);
        scan_record_add_ring(&recorder->scan, ring.serial, rings[i]->info.ring_id, rings[i]->user);
        all[recorder->count++] = ring;
        kept++;
    }
}

static int compare_serial(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, ((const struct recorded_ring *)item)->serial);
}

static struct recorded_ring *find_ring(struct recorder *recorder, uint32_t serial)
{
    size_t at = search_equal(&serial, recorder->rings, recorder->count, sizeof(*recorder->rings), compare_serial);

    return at < recorder->count ? &recorder->rings[at] : NULL;
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

/* The context of one read of the ring. */
struct reading {
    struct recorder *recorder;
    bool (*step)(struct drain *drain, const struct rip_view *view, struct drain_batch *batch); /* NULL: samples */
    const struct rip_sample *samples;
    size_t count;
    bool more;
};

static void read_ring(void *context, const struct rip_view *view)
{
    struct reading *reading = context;
    struct drain *drain = reading->recorder->ring->drain;
    struct drain_batch *batch = reading->recorder->batch;

    if (reading->step != NULL)
        reading->more = reading->step(drain, view, batch);
    else
        drain_read(drain, view, reading->samples, reading->count, batch);
}

/* Returns false if the ring cannot be read any more. */
static bool read_once(struct recorder *recorder, struct ring *ring, struct reading *reading)
{
    struct recorded_ring *recorded = recorder->ring;

    reading->recorder = recorder;
    if (recorded->has_copy)
        read_ring(reading, &recorded->copy.view);
    else if (mapping_read(&ring->mapping, read_ring, reading) != 0)
        return false;
    return true;
}

/* Reads everything of one kind. */
static void read_all(struct recorder *recorder, struct ring *ring, struct reading *reading)
{
    const struct rip_sink sink = {recorder, take};

    for (;;) {
        if (!read_once(recorder, ring, reading)) {
            recorder->ring = NULL;
            return;
        }
        if (reading->step != NULL && !reading->more)
            return;
        (void)drain_take(recorder->ring->drain, recorder->batch, &sink);
        if (reading->step == NULL)
            return;
    }
}

/*
 * Copies a ring that is not mapped: all memory that its file has. Returns false if it cannot be read, or if its user's
 * quota does not allow the copy.
 */
static bool copy_ring(struct recorder *recorder, const struct ring *ring)
{
    struct recorded_ring *recorded = recorder->ring;
    struct stat status;

    if (fstat(ring->mapping.descriptor, &status) != 0 ||
        !has_room(recorder, ring, (uint64_t)status.st_blocks * BLOCK_BYTES))
        return false;
    if (!recorded->has_copy && ring_copy_open(&recorded->copy, ring->mapping.descriptor) != 0)
        return false;
    recorded->has_copy = true;
    return ring_copy_take(&recorded->copy) == 0;
}

static void add_death(struct recorder *recorder, const struct ring *ring, size_t process)
{
    struct rip_event event = event_now(recorder, RIP_EVENT_DEATH, ring->serial);

    event.process = (uint32_t)process;
    event.as.death.process = event.process;
    event.as.death.generation = ring->processes[process].claim.generation;
    take(recorder, &event);
}

/* The conditions that have changed, as the detector gets them. */
static void add_conditions(struct recorder *recorder, const struct ring *ring)
{
    struct recorded_ring *recorded = recorder->ring;
    uint8_t *conditions = recorded->conditions;

    if (recorded->condition_count < ring->process_count) {
        conditions = realloc(conditions, ring->process_count);
        if (conditions == NULL)
            return;
        memset(conditions + recorded->condition_count, 0, ring->process_count - recorded->condition_count);
        recorded->conditions = conditions;
        recorded->condition_count = ring->process_count;
    }
    for (size_t i = 0; i < ring->process_count; i++) {
        if (conditions[i] == ring->conditions[i])
            continue;
        conditions[i] = ring->conditions[i];
        SCAN_RECORD_ADD(&recorder->scan, SCAN_CONDITIONS, ring->serial, i, conditions[i]);
        if (conditions[i] == DETECTOR_DEAD)
            add_death(recorder, ring, i);
    }
}

static void tap_ring(void *context, struct ring *ring)
{
    struct recorder *recorder = context;
    struct reading reading = {.step = drain_open};

    recorder->ring = find_ring(recorder, ring->serial);
    if (recorder->ring != NULL && recorder->ring->drain == NULL)
        recorder->ring = NULL;
    if (recorder->ring == NULL || !has_room(recorder, ring, RECORDED_RING_BYTES))
        return;
    add_conditions(recorder, ring);
    if (ring->mapping.copied && !copy_ring(recorder, ring)) {
        recorder->ring = NULL;
        return;
    }
    drain_begin(recorder->ring->drain, (struct drain_moment){recorder->now_wall_ns, recorder->now_mono_ns});
    read_all(recorder, ring, &reading);
}

static void tap_samples(void *context, struct ring *ring, const struct rip_sample *samples, size_t count)
{
    struct recorder *recorder = context;
    struct reading reading = {.samples = samples, .count = count};

    if (recorder->ring != NULL && count != 0 && has_room(recorder, ring, count * RECORDED_ID_BYTES))
        read_all(recorder, ring, &reading);
}

static void tap_ring_end(void *context, struct ring *ring)
{
    struct recorder *recorder = context;
    const struct rip_sink sink = {recorder, take};
    struct reading reading = {.step = drain_finish};

    if (recorder->ring != NULL)
        read_all(recorder, ring, &reading);
    if (recorder->ring != NULL)
        (void)drain_end(recorder->ring->drain, &sink);
    recorder->ring = NULL;
}

static void tap_skipped(void *context, const struct ring *ring)
{
    struct recorder *recorder = context;

    SCAN_RECORD_ADD(&recorder->scan, SCAN_SKIPPED, ring->serial);
    recorder->ring = find_ring(recorder, ring->serial);
    if (recorder->ring != NULL && recorder->ring->drain != NULL)
        (void)has_room(recorder, ring, RECORDED_RING_BYTES + ring->live_count * RECORDED_ID_BYTES);
    recorder->ring = NULL;
}

/* Decisions -------------------------------------------------------------------------------------------------------- */

void recorder_rules(struct recorder *recorder, const struct detector_unclassified *ids, size_t count)
{
    for (size_t i = 0; recorder != NULL && i < count; i++)
        if (ids[i].rule != DETECTOR_RULE_UNKNOWN)
            SCAN_RECORD_ADD(&recorder->scan, SCAN_RULES, ids[i].ring, ids[i].slot, ids[i].generation,
                            (uint64_t)(ids[i].rule + 1));
}

void recorder_verdicts(struct recorder *recorder, const struct detector_suspect *suspects, size_t count)
{
    for (size_t i = 0; recorder != NULL && i < count; i++) {
        const struct detector_suspect *suspect = &suspects[i];
        const struct verdict by_default = cause_unexamined(suspect);

        if (!suspect->unread &&
            (suspect->verdict.state != by_default.state || suspect->verdict.cause != by_default.cause))
            SCAN_RECORD_ADD(&recorder->scan, SCAN_VERDICTS, suspect->ring, suspect->slot, suspect->generation,
                            suspect->verdict.state, suspect->verdict.cause);
    }
}

void recorder_reports(struct recorder *recorder, const struct case_report *reports, size_t count,
                      struct stall_case *const *cases, size_t case_count)
{
    bool several = false;

    if (recorder == NULL)
        return;
    for (size_t i = 0; i < case_count; i++) {
        const struct stall_case *stall = cases[i];
        const struct stall_root *root = &stall->root;

        if (stall->waits)
            SCAN_RECORD_ADD(&recorder->scan, SCAN_ROOTS, stall->ring, stall->slot, stall->generation, stall->waits,
                            root->kind, root->ring, root->place, root->number);
    }
    for (size_t i = 1; i < count; i++)
        several |= reports[i].stall->user != reports[0].stall->user;
    for (size_t i = 0; several && i < count; i++)
        if (i == 0 || reports[i].stall->user != reports[i - 1].stall->user)
            SCAN_RECORD_ADD(&recorder->scan, SCAN_TURNS, reports[i].stall->user);
}

static void add_event(struct recorder *recorder, uint32_t ring, uint32_t slot, uint32_t generation,
                      const struct event *published)
{
    struct rip_event event =
        event_now(recorder, published->kind == EVENT_BEGIN ? RIP_EVENT_STALL_BEGIN : RIP_EVENT_STALL_END, ring);

    event.slot = slot;
    event.generation = generation;
    event.id = published->id;
    event.as.stall.json = (struct rip_text){published->text, published->text_bytes};
    take(recorder, &event);
}

void recorder_event(struct recorder *recorder, const struct stall_case *stall, const struct event *event)
{
    if (recorder != NULL && stall != NULL)
        add_event(recorder, stall->ring, stall->slot, stall->generation, event);
    else if (recorder != NULL)
        add_event(recorder, 0, 0, 0, event);
}

void recorder_adopted(struct recorder *recorder, const struct detector_adoption *adoption,
                      const struct episode *episode)
{
    if (recorder == NULL)
        return;
    scan_record_add_adopted(&recorder->scan, adoption, episode);
    if (episode->begin != NULL)
        add_event(recorder, adoption->ring, adoption->slot, adoption->generation, episode->begin);
}

/* Scans ------------------------------------------------------------------------------------------------------------ */

void recorder_configure(struct recorder *recorder, const struct scan_settings *settings)
{
    if (recorder == NULL)
        return;
    recorder->settings = *settings;
    recorder->settings.reason = recorder->sequence == 0 ? SCAN_SETTINGS_STARTED : SCAN_SETTINGS_RELOADED;
    recorder->has_settings = true;
}

/* Repeats rings and settings, for readers that start here. */
static void repeat(struct recorder *recorder)
{
    size_t count;
    struct ring **rings = registry_rings(recorder->registry, &count);

    for (size_t i = 0; i < count; i++)
        scan_record_add_ring(&recorder->scan, rings[i]->serial, rings[i]->info.ring_id, rings[i]->user);
    if (!recorder->has_settings)
        recorder->settings.reason = SCAN_SETTINGS_REPEATED;
    recorder->has_settings = true;
}

void recorder_begin(struct recorder *recorder, uint64_t now_mono_ns, uint64_t now_wall_ns, struct recorder_numbers last)
{
    bool turns;

    if (recorder == NULL)
        return;
    recorder->before_mono_ns = recorder->now_mono_ns;
    recorder->before_wall_ns = recorder->now_wall_ns;
    recorder->now_mono_ns = now_mono_ns;
    recorder->now_wall_ns = now_wall_ns;
    recorder->sequence++;
    turns = recording_file_wants_full(recorder->file);
    if (turns)
        recording_writer_restart(recorder->writer);
    work_reset(recorder->work, WORK_RECORDED_BYTES);
    for (size_t i = 0; i < recorder->count; i++)
        recorder->rings[i].held_bytes = 0;
    recorder->settings.sequence = last.sequence;
    recorder->settings.episode = last.episode;
    find_rings(recorder);
    if (turns || recorder->sequence % REPEAT_SCANS == 0)
        repeat(recorder);
}

static void attach(struct recorder *recorder, const char *name_space, void *bytes, size_t count)
{
    (void)recording_writer_attach(recorder->writer, name_space, bytes, count);
    free(bytes);
}

static void add_drain(struct recorder *recorder, uint64_t boot_ns)
{
    struct rip_event event = event_now(recorder, RIP_EVENT_DRAIN, 0);

    event.as.drain = (struct rip_event_drain){
        .sequence = recorder->sequence,
        .wall_ns = recorder->now_wall_ns,
        .mono_ns = recorder->now_mono_ns,
        .boot_ns = boot_ns,
        .duration_ns = clock_mono_ns() - recorder->now_mono_ns,
    };
    take(recorder, &event);
}

void recorder_end(struct recorder *recorder, const struct snapshot *moment)
{
    void *bytes;
    size_t count;

    if (recorder == NULL)
        return;
    add_drain(recorder, moment->scanned_boot_ns);
    if (scan_record_pack(&recorder->scan, &bytes, &count) == 0)
        attach(recorder, SCAN_RECORD_NAMESPACE, bytes, count);
    if (recorder->has_settings && scan_settings_pack(&recorder->settings, &bytes, &count) == 0)
        attach(recorder, SCAN_SETTINGS_NAMESPACE, bytes, count);
    scan_record_clear(&recorder->scan);
    recorder->has_settings = false;
    (void)recording_writer_flush(recorder->writer);
}

void recorder_count(struct recorder *recorder, struct health *health)
{
    struct recording_file_state state;
    uint64_t due, more;

    if (recorder == NULL)
        return;
    recording_file_state(recorder->file, &state);
    health->recording_bytes = state.written_bytes;
    health->recording_lost_count = state.lost_count;
    more = state.lost_count - recorder->lost_count;
    due = report_due(&recorder->losses, recorder->now_mono_ns, more, RECORDER_LOSS_NS);
    if (due != 0) {
        recorder->loses = true;
        log_line(LOG_LEVEL_WARNING, "scans that could not be recorded: count=%" PRIu64 ": %s", due,
                 state.error != 0 ? strerror(-state.error) : "too much data is queued for the disk");
    } else if (recorder->loses && more == 0 && state.written_bytes != recorder->written_bytes) {
        recorder->loses = false;
        log_line(LOG_LEVEL_INFO, "scans are recorded again: count=%" PRIu64 " were not recorded", state.lost_count);
    }
    recorder->lost_count = state.lost_count;
    recorder->written_bytes = state.written_bytes;
}

/* Open and close --------------------------------------------------------------------------------------------------- */

const struct scan_tap *recorder_tap(const struct recorder *recorder)
{
    return recorder != NULL ? &recorder->tap : NULL;
}

static void recorder_free(struct recorder *recorder)
{
    for (size_t i = 0; i < recorder->count; i++)
        ring_done(&recorder->rings[i]);
    recording_writer_free(recorder->writer);
    drain_batch_free(recorder->batch);
    recording_file_close(recorder->file);
    scan_record_done(&recorder->scan);
    free(recorder->rings);
    free(recorder);
}

int recorder_open(struct recorder **ret_recorder, const char *directory, struct registry *registry, struct work *work)
{
    struct recorder *recorder = calloc(1, sizeof(*recorder));
    int error = recorder != NULL ? recording_file_open(&recorder->file, directory) : -ENOMEM;

    if (error == 0) {
        const struct recording_output output = {recorder->file, recording_file_write};

        recorder->registry = registry;
        recorder->work = work;
        recorder->tap = (struct scan_tap){recorder, tap_ring, tap_samples, tap_ring_end, tap_skipped};
        recorder->batch = drain_batch_new();
        error = recorder->batch != NULL ? recording_writer_new(&recorder->writer, &output, clock_wall_ns()) : -ENOMEM;
    }
    if (error == 0) {
        *ret_recorder = recorder;
        return 0;
    }
    log_line(LOG_LEVEL_ERROR, "cannot start: record '%s': %s", directory,
             error == -EBUSY ? "another ripd records there" : strerror(-error));
    if (recorder != NULL)
        recorder_free(recorder);
    return error;
}

/* Events published since the last scan are written to a last frame, which has no scan. */
void recorder_close(struct recorder *recorder)
{
    if (recorder == NULL)
        return;
    recorder->sequence++;
    recorder->now_mono_ns = clock_mono_ns();
    recorder->now_wall_ns = clock_wall_ns();
    add_drain(recorder, clock_boot_ns());
    (void)recording_writer_flush(recorder->writer);
    recorder_free(recorder);
}
