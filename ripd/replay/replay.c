/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - what app_scan() does around the detector and the cases, with a recording as input. Pure. See replay.h. */
#include "replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases/incidents.h"
#include "cases/scan_record.h"
#include "record/event_line.h"
#include "replay/ids.h"
#include "rip/ring.h"
#include "util/array.h"
#include "util/search.h"
#include "view/event_make.h"
#include "work/jobs.h"

#define SCANS_BETWEEN_MAX 100000u /* made up where drains without changes are left out */
#define INTERVAL_MIN_NS UINT64_C(10000000)
#define HALVINGS 64u /* of the time spent on users: then none is left */

/* What ripd published and decided, by stall ------------------------------------------------------------------------ */

/* An id, and the counter value at which it is frozen. */
struct stall_key {
    uint32_t run; /* number of the ripd run in this recording */
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint64_t progress;
};

struct recorded_entry {
    struct stall_key at;
    uint64_t order;      /* ascending; the scan for a verdict */
    struct event *event; /* owned reference; NULL: the entry is a verdict */
    struct verdict verdict;
    bool used; /* for the caller */
};

/* All zero = empty. */
struct recorded {
    struct recorded_entry *entries;
    size_t count;
    size_t capacity;
    size_t bytes; /* of all entries */
};

static void recorded_done(struct recorded *recorded)
{
    for (size_t i = 0; i < recorded->count; i++)
        event_unref(recorded->entries[i].event);
    free(recorded->entries);
    *recorded = (struct recorded){.bytes = 0};
}

/* Takes ownership of the event's reference, even on failure. Returns 0 or -ENOMEM. */
static int recorded_add(struct recorded *recorded, struct recorded_entry entry)
{
    if (!ARRAY_GROW(recorded->entries, recorded->count, recorded->capacity)) {
        event_unref(entry.event);
        return -ENOMEM;
    }
    recorded->bytes += sizeof(entry) + (entry.event != NULL ? entry.event->text_bytes : 0);
    recorded->entries[recorded->count++] = entry;
    return 0;
}

/* For each id, first the events in the order they were added, then the verdicts by progress. */
static int compare_kinds(const void *left, const void *right)
{
    const struct recorded_entry *a = left, *b = right;
    const bool is_verdict = a->event == NULL;

    return search_order_then(
        search_order_then(search_order_pair(a->at.run, a->at.ring, b->at.run, b->at.ring),
                          search_order_pair(a->at.slot, a->at.generation, b->at.slot, b->at.generation)),
        search_order_pair(is_verdict, is_verdict ? a->at.progress : 0, b->event == NULL,
                          is_verdict ? b->at.progress : 0));
}

static int compare_entries(const void *left, const void *right)
{
    const struct recorded_entry *a = left, *b = right;

    return search_order_then(compare_kinds(left, right), search_order(a->order, b->order));
}

/* Returns the first entry that equals the key except for its order. *ret_end points after the last one. */
static struct recorded_entry *find_recorded(const struct recorded *recorded, const struct recorded_entry *key,
                                            struct recorded_entry **ret_end)
{
    const size_t bytes = sizeof(*recorded->entries);
    size_t first;

    *ret_end = NULL;
    if (recorded->count == 0) /* no pointer arithmetic on NULL */
        return NULL;
    first = search_first(key, recorded->entries, recorded->count, bytes, compare_kinds);
    *ret_end = recorded->entries + search_after(key, recorded->entries, recorded->count, bytes, compare_kinds);
    return recorded->entries + first;
}

/*
 * Returns the event of that kind and episode of an id, or NULL if there is none. With episode 0, the event must have
 * the same progress.
 */
static struct recorded_entry *recorded_event(const struct recorded *recorded, struct stall_key at, enum event_kind kind,
                                             uint64_t episode)
{
    static struct event any;
    struct recorded_entry *end,
        *entry = find_recorded(recorded, &(struct recorded_entry){.at = at, .event = &any}, &end);

    for (; entry < end; entry++)
        if (entry->event->kind == kind &&
            (episode != 0 ? entry->event->episode == episode : entry->at.progress == at.progress))
            return entry;
    return NULL;
}

/* Finds the verdict on a stall as of a scan, or the first one if it came later. Returns false if there is none. */
static bool recorded_verdict(const struct recorded *recorded, struct stall_key at, uint64_t scan,
                             struct verdict *ret_verdict)
{
    struct recorded_entry *end, *entry = find_recorded(recorded, &(struct recorded_entry){.at = at}, &end);

    if (entry == end)
        return false;
    while (entry + 1 < end && entry[1].order <= scan)
        entry++;
    *ret_verdict = entry->verdict;
    return true;
}

/* The replay ------------------------------------------------------------------------------------------------------- */

/* A report of this scan, or an end that ripd published for a ring that it did not read any more. */
struct pending {
    uint64_t sequence; /* as recorded; UINT64_MAX: not recorded */
    size_t nth;
    const struct case_report *report; /* NULL: there is only the event */
    struct recorded_entry *recorded;  /* what ripd published for this begin or end; NULL = nothing */
    struct event *event;              /* owned reference; NULL: the event is made from the report */
};

struct replay {
    struct replay_request request;
    struct rules_table rules;
    struct recorded recorded;
    size_t of_drain; /* index of its first event since the last drain */
    uint32_t run;    /* number of the ripd run */
    bool replaying;  /* this is the second pass */

    struct replay_ids ids;
    struct scan_record scan;
    struct scan_settings settings; /* as recorded */
    bool has_scan;                 /* in this drain */
    bool has_settings;
    struct detector_config config;
    struct detector *detector;
    struct work *work;
    struct cases *cases;
    uint64_t sequence; /* of the last event */

    struct pending *pending;
    size_t pending_count;
    size_t pending_capacity;

    struct rip_event_drain first; /* of the first pass; sequence 0 = none */
    struct rip_event_drain last;
    struct rip_event_drain now;
    struct replay_counts counts;
};

int replay_new(struct replay **ret_replay, const struct replay_request *request)
{
    struct replay *replay = calloc(1, sizeof(*replay));

    if (replay == NULL)
        return -ENOMEM;
    replay->request = *request;
    *ret_replay = replay;
    return 0;
}

static void close_ripd(struct replay *replay)
{
    detector_free(replay->detector);
    cases_free(replay->cases);
    work_free(replay->work);
    replay->detector = NULL;
    replay->cases = NULL;
    replay->work = NULL;
}

void replay_free(struct replay *replay)
{
    if (replay == NULL)
        return;
    close_ripd(replay);
    for (size_t i = 0; i < replay->pending_count; i++)
        event_unref(replay->pending[i].event);
    free(replay->pending);
    replay_ids_done(&replay->ids);
    recorded_done(&replay->recorded);
    scan_record_done(&replay->scan);
    free(replay);
}

/* Data of a drain in addition to the rings ------------------------------------------------------------------------- */

static void find_serials(struct replay *replay)
{
    for (size_t i = 0; i < replay->scan.tables[SCAN_RINGS].count; i++) {
        const uint64_t *row = scan_record_row(&replay->scan, SCAN_RINGS, i);

        for (size_t j = 0; j < replay->ids.count; j++) {
            struct replay_ring *ring = replay->ids.rings[j];

            if (!scan_record_is_ring(row, ring->ring_id))
                continue;
            ring->serial = (uint32_t)row[0];
            ring->user = (uint32_t)row[3];
        }
    }
}

static int compare_serial(const void *key, const void *item)
{
    const struct replay_ring *ring = *(struct replay_ring *const *)item;

    return search_order(*(const uint64_t *)key, ring->serial);
}

/* Replaces serials in the rows by the numbers that the rings have in this pass. Both ascend together. */
static void use_numbers(struct replay *replay)
{
    for (size_t i = SCAN_CONDITIONS; i < SCAN_TABLE_COUNT; i++)
        for (size_t j = 0; i != SCAN_TURNS && j < replay->scan.tables[i].count; j++) {
            uint64_t *row = scan_record_row(&replay->scan, (enum scan_table)i, j);
            const size_t at =
                search_equal(row, replay->ids.rings, replay->ids.count, sizeof(struct replay_ring *), compare_serial);

            if (at < replay->ids.count)
                row[0] = replay->ids.rings[at]->number;
        }
}

static int take_data(struct replay *replay, const struct replay_data *data)
{
    int result = 0;

    replay->has_scan = data->scan != NULL;
    replay->has_settings = data->settings != NULL;
    scan_record_clear(&replay->scan);
    if (replay->has_scan)
        result = scan_record_unpack(&replay->scan, data->scan, data->scan_bytes);
    if (result == 0 && data->settings != NULL)
        result = scan_settings_unpack(&replay->settings, data->settings, data->settings_bytes);
    if (result != 0)
        return result;
    if (replay->has_settings && replay->settings.reason == SCAN_SETTINGS_STARTED) {
        replay->run++;
        replay_ids_restart(&replay->ids);
        for (size_t i = replay->of_drain; i < replay->recorded.count && !replay->replaying; i++)
            replay->recorded.entries[i].at.run = replay->run; /* events before this drain belong to the new run */
    }
    find_serials(replay);
    use_numbers(replay);
    return 0;
}

static struct stall_key stall_key_of(const struct replay *replay, uint32_t ring, uint32_t slot, uint32_t generation)
{
    const struct replay_ring *found = replay_ids_ring(&replay->ids, ring);
    const size_t at = found != NULL ? replay_ring_find(found, slot, generation) : 0;
    const bool known = found != NULL && at < found->count;

    return (struct stall_key){replay->run, ring, slot, generation, known ? found->samples[at].progress : 0};
}

static struct verdict verdict_of(const uint64_t *row)
{
    if (row[3] >= ID_STATE_COUNT || row[3] == ID_DEAD || row[4] >= CAUSE_AND_REASON_COUNT)
        return (struct verdict){ID_STALLED, CAUSE_UNKNOWN};
    return (struct verdict){(enum id_state)row[3], (enum id_cause)row[4]};
}

/* First pass ------------------------------------------------------------------------------------------------------- */

static int learn_event(struct replay *replay, const struct rip_event *event)
{
    const struct rip_text *json = &event->as.stall.json;
    struct event *published;
    int result = event_line_parse_event(json->bytes, json->count, &published);

    if (result != 0)
        return result;
    if (replay->recorded.bytes + published->text_bytes > REPLAY_RECORDED_BYTES_MAX) {
        event_unref(published);
        return -EFBIG;
    }
    replay->counts.recorded_count++;
    replay->counts.recorded_begin_count += published->kind == EVENT_BEGIN;
    return recorded_add(&replay->recorded, (struct recorded_entry){
                                               .at = stall_key_of(replay, event->ring, event->slot, event->generation),
                                               .order = replay->recorded.count,
                                               .event = published,
                                           });
}

static int learn_verdicts(struct replay *replay)
{
    int result = 0;

    for (size_t i = 0; i < replay->scan.tables[SCAN_VERDICTS].count && result == 0; i++) {
        const uint64_t *row = scan_record_row(&replay->scan, SCAN_VERDICTS, i);
        const struct verdict verdict = verdict_of(row);

        if (replay->recorded.bytes > REPLAY_RECORDED_BYTES_MAX)
            return -EFBIG;
        if (verdict.state != ID_RUNNING)
            result = recorded_add(&replay->recorded,
                                  (struct recorded_entry){
                                      .at = stall_key_of(replay, (uint32_t)row[0], (uint32_t)row[1], (uint32_t)row[2]),
                                      .order = replay->now.sequence,
                                      .verdict = verdict,
                                  });
    }
    return result;
}

int replay_learn(struct replay *replay, const struct rip_event *event, const struct replay_data *data)
{
    int result = event->kind == RIP_EVENT_DRAIN ? take_data(replay, data) : 0;

    if (result == 0)
        result = replay_ids_take(&replay->ids, event);
    if (result != 0)
        return result;
    if (event->kind == RIP_EVENT_STALL_BEGIN || event->kind == RIP_EVENT_STALL_END)
        return learn_event(replay, event);
    if (event->kind != RIP_EVENT_DRAIN)
        return 0;
    replay->counts.by_ripd |= replay->has_scan;
    replay->now = replay->last = event->as.drain;
    if (replay->first.sequence == 0)
        replay->first = event->as.drain;
    result = learn_verdicts(replay);
    replay->of_drain = replay->recorded.count;
    return result;
}

/* Second pass ------------------------------------------------------------------------------------------------------ */

/* Returns the average interval of the drains, if no ripd recorded its own. */
static uint64_t interval_of(const struct replay *replay)
{
    uint64_t interval_ns;

    if (replay->last.sequence <= replay->first.sequence || replay->last.mono_ns <= replay->first.mono_ns)
        return UINT64_C(1000000000);
    interval_ns = (replay->last.mono_ns - replay->first.mono_ns) / (replay->last.sequence - replay->first.sequence);
    return interval_ns > INTERVAL_MIN_NS ? interval_ns : INTERVAL_MIN_NS;
}

static void begin_second_pass(struct replay *replay)
{
    const struct replay_request *request = &replay->request;

    replay->replaying = true;
    replay->counts.exact = replay->counts.by_ripd && request->stall_after_ns == 0 && request->rules == NULL;
    replay->counts.first_wall_ns = replay->first.wall_ns;
    replay->counts.last_wall_ns = replay->last.wall_ns;
    if (replay->recorded.count != 0)
        qsort(replay->recorded.entries, replay->recorded.count, sizeof(*replay->recorded.entries), compare_entries);
    replay_ids_done(&replay->ids);
    replay->run = 0;
    replay->now = (struct rip_event_drain){.sequence = 0};
    replay->settings = (struct scan_settings){.interval_ns = interval_of(replay),
                                              .stall_after_ns = REPLAY_STALL_AFTER_NS,
                                              .hysteresis_ns = REPLAY_STALL_AFTER_NS + interval_of(replay)};
}

/* Applies the recorded settings, overridden by those of the request. */
static void set_config(struct replay *replay)
{
    const struct replay_request *request = &replay->request;
    struct scan_settings settings = replay->settings;

    if (request->stall_after_ns != 0) {
        settings.stall_after_ns = request->stall_after_ns;
        settings.hysteresis_ns = request->stall_after_ns + settings.interval_ns;
    }
    if (request->rules != NULL)
        settings.rules = *request->rules;
    replay->config = scan_settings_detector(&settings);
    replay->counts.stall_after_ns = settings.stall_after_ns;
    rules_table_make(&replay->rules, &settings.rules);
    if (replay->cases != NULL) /* with other thresholds, ids that were not examined then never will be */
        cases_configure(replay->cases, settings.hysteresis_ns, replay->counts.exact ? EPISODE_UNEXAMINED_SCANS : 0);
}

static int open_ripd(struct replay *replay)
{
    int result;

    close_ripd(replay);
    replay->work = work_new();
    if (replay->work != NULL)
        replay->cases = cases_new(replay->work, 0);
    if (replay->cases == NULL)
        return -ENOMEM;
    set_config(replay);
    result = detector_new(&replay->detector, &replay->config);
    if (result != 0)
        return result;
    replay->sequence = replay->settings.sequence;
    cases_set_last_episode(replay->cases, replay->settings.episode);
    return 0;
}

static uint32_t user_of(void *context, uint32_t ring)
{
    const struct replay *replay = context;
    const struct replay_ring *found = replay_ids_ring(&replay->ids, ring);

    return found != NULL ? found->user : 0;
}

/* On the first scan of a run: resumes episodes of the previous run. */
static int adopt(struct replay *replay)
{
    const size_t count = replay->scan.tables[SCAN_ADOPTED].count;
    struct detector_adoption *adoptions = calloc(count + 1, sizeof(*adoptions));
    int result = adoptions != NULL ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && result == 0; i++) {
        struct detector_adoption *adoption = &adoptions[i];
        struct recorded_entry *begin;
        struct episode episode;

        scan_record_adopted(&replay->scan, i, adoption, &episode);
        begin = recorded_event(
            &replay->recorded,
            (struct stall_key){
                .run = replay->run, .ring = adoption->ring, .slot = adoption->slot, .generation = adoption->generation},
            EVENT_BEGIN, episode.number);
        if (begin != NULL && !begin->used) {
            episode.begin = begin->event;
            begin->used = true;
            replay->counts.recorded_count--; /* it was published by the previous run */
            replay->counts.recorded_begin_count--;
        }
        result = cases_adopt(replay->cases, adoption->ring, adoption->slot, adoption->generation,
                             user_of(replay, adoption->ring), &episode);
    }
    if (result == 0)
        result = detector_adopt(replay->detector, replay->now.mono_ns, adoptions, count);
    free(adoptions);
    return result == -EEXIST || result == -EINVAL ? -EBADMSG : result;
}

/* A scan ----------------------------------------------------------------------------------------------------------- */

static void take_rows(struct replay *replay)
{
    for (size_t i = 0; i < replay->scan.tables[SCAN_CONDITIONS].count; i++) {
        const uint64_t *row = scan_record_row(&replay->scan, SCAN_CONDITIONS, i);
        struct replay_ring *ring = replay_ids_ring(&replay->ids, (uint32_t)row[0]);

        if (ring == NULL || row[1] >= RIP_PROCESS_MAX || row[2] >= CAUSE_COUNT)
            continue;
        while (ring->condition_count <= row[1])
            ring->conditions[ring->condition_count++] = DETECTOR_LIVES;
        ring->conditions[row[1]] = (uint8_t)row[2];
    }
}

static int feed(struct replay *replay)
{
    const struct scan_rows *skipped = &replay->scan.tables[SCAN_SKIPPED];
    uint64_t id_count = 0;
    size_t skip = 0;
    int result = 0;

    for (size_t i = 0; i < replay->ids.count && result == 0; i++) {
        struct replay_ring *ring = replay->ids.rings[i];

        replay_ring_settle(ring);
        while (skip < skipped->count && skipped->numbers[skip] < ring->number)
            skip++;
        if (skip < skipped->count && skipped->numbers[skip] == ring->number) {
            result = detector_skip(replay->detector, ring->number);
            continue;
        }
        if (!replay->counts.by_ripd) { /* no ripd checked the processes */
            result = replay_ring_feed(ring, replay->detector);
        } else {
            result = detector_ring(replay->detector, ring->number, ring->conditions, ring->condition_count);
            if (result == 0)
                result = detector_feed(replay->detector, ring->samples, ring->count);
        }
        id_count += ring->count;
    }
    if (id_count > replay->counts.id_count_max)
        replay->counts.id_count_max = id_count;
    return result;
}

/*
 * Returns the row of an id, or NULL if there is none. The table must be sorted in the order in which ids are looked up.
 */
static const uint64_t *next_row(struct replay *replay, enum scan_table table, size_t *at, uint32_t ring, uint32_t slot,
                                uint32_t generation)
{
    for (; *at < replay->scan.tables[table].count; (*at)++) {
        const uint64_t *row = scan_record_row(&replay->scan, table, *at);

        if (search_order_pair(row[0], row[1], ring, slot) >= 0)
            return row[0] == ring && row[1] == slot && row[2] == generation ? row : NULL;
    }
    return NULL;
}

/* Sets the rule that ripd found for an id, or the one that its name matches. */
static void find_rules(struct replay *replay)
{
    size_t count, at = 0;
    struct detector_unclassified *ids = detector_unclassified(replay->detector, &count);

    for (size_t i = 0; i < count; i++) {
        const struct replay_ring *ring = replay_ids_ring(&replay->ids, ids[i].ring);
        const size_t index = ring != NULL ? replay_ring_find(ring, ids[i].slot, ids[i].generation) : 0;
        const uint64_t *row;

        if (!replay->counts.exact) {
            if (ring != NULL && index < ring->count)
                ids[i].rule =
                    rules_find(&replay->rules, ring->ids[index]->info.name, ring->ids[index]->info.name_bytes);
            continue;
        }
        row = next_row(replay, SCAN_RULES, &at, ids[i].ring, ids[i].slot, ids[i].generation);
        if (row != NULL)
            ids[i].rule = row[3] <= RULES_MAX ? (int)row[3] - 1 : RULES_NONE;
    }
}

/* Returns the verdict based only on the announced call, if no evidence was recorded. */
static struct verdict judge_by_call(const struct detector_suspect *suspect, bool preload, bool *ret_certain)
{
    switch (suspect->call) {
    case RIP_CALL_NONE:
        *ret_certain = !preload;
        return (struct verdict){ID_STALLED, CAUSE_NONE};
    case RIP_CALL_REPLY:
    case RIP_CALL_BLOCK:
        *ret_certain = true;
        return (struct verdict){ID_STALLED, CAUSE_BLOCKED};
    case RIP_CALL_SLEEP:
        return (struct verdict){ID_STALLED, CAUSE_SLEEPING};
    case RIP_CALL_WORK:
    case RIP_CALL_INPUT:
    case RIP_CALL_PRIVATE:
    case RIP_CALL_READY:
        return (struct verdict){ID_RUNNING, CAUSE_UNSEEN};
    default:
        return (struct verdict){ID_STALLED, CAUSE_UNKNOWN};
    }
}

static struct verdict judge(const struct replay *replay, const struct detector_suspect *suspect, bool *ret_certain)
{
    const struct stall_key at = {replay->run, suspect->ring, suspect->slot, suspect->generation, suspect->progress};
    const struct replay_ring *ring = replay_ids_ring(&replay->ids, suspect->ring);
    struct verdict verdict;

    *ret_certain = false;
    if (!recorded_verdict(&replay->recorded, at, replay->now.sequence, &verdict))
        return judge_by_call(suspect, ring != NULL && ring->preload, ret_certain);
    *ret_certain = true;
    return verdict;
}

/* A case counts as examined if its verdict is certain. */
static void find_verdicts(struct replay *replay, struct detector_suspect *suspects, size_t count)
{
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        struct detector_suspect *suspect = &suspects[i];
        struct stall_case *stall = cases_find(replay->cases, suspect->ring, suspect->slot, suspect->generation);
        const uint64_t *row = next_row(replay, SCAN_VERDICTS, &at, suspect->ring, suspect->slot, suspect->generation);
        bool certain = true;

        if (!replay->counts.exact)
            suspect->verdict = judge(replay, suspect, &certain);
        else
            suspect->verdict = row != NULL ? verdict_of(row) : cause_unexamined(suspect);
        if (stall != NULL)
            stall->evidence.examined = certain;
    }
}

static void find_roots(struct replay *replay, struct stall_case *const *cases, size_t count)
{
    const struct scan_rows *rows = &replay->scan.tables[SCAN_ROOTS];

    incidents_find_roots(cases, count, NULL);
    for (size_t i = 0; i < rows->count; i++) {
        const uint64_t *row = scan_record_row(&replay->scan, SCAN_ROOTS, i);
        struct stall_case *stall = cases_find(replay->cases, (uint32_t)row[0], (uint32_t)row[1], (uint32_t)row[2]);

        if (stall == NULL)
            continue;
        stall->waits = row[3] != 0;
        stall->root = (struct stall_root){(uint32_t)row[4], (uint32_t)row[5], (uint32_t)row[6], (uint32_t)row[7]};
    }
}

/* Events ----------------------------------------------------------------------------------------------------------- */

static int add_pending(struct replay *replay, struct pending pending)
{
    if (!ARRAY_GROW(replay->pending, replay->pending_count, replay->pending_capacity)) {
        event_unref(pending.event);
        return -ENOMEM;
    }
    pending.nth = replay->pending_count;
    replay->pending[replay->pending_count++] = pending;
    return 0;
}

/* Returns what ripd published for this begin or end, or NULL if nothing. */
static struct recorded_entry *recorded_of(const struct replay *replay, const struct case_report *report)
{
    const struct stall_case *stall = report->stall;
    const struct stall_key at = {replay->run, stall->ring, stall->slot, stall->generation, stall->episode.progress};

    if (replay->counts.exact)
        return recorded_event(&replay->recorded, at, report->kind, stall->episode.number);
    return report->kind == EVENT_BEGIN ? recorded_event(&replay->recorded, at, EVENT_BEGIN, 0) : NULL;
}

static int compare_pending(const void *left, const void *right)
{
    const struct pending *a = left, *b = right;

    return search_order_pair(a->sequence, a->nth, b->sequence, b->nth);
}

/* Takes ownership of the event. */
static int announce(struct replay *replay, struct event *event, const struct event *recorded)
{
    const struct replay_alert alert = {event, event != NULL && event->reported, recorded};
    int result;

    if (event == NULL)
        return -ENOMEM;
    replay->sequence = event->sequence;
    replay->counts.event_count++;
    replay->counts.certain_count += alert.certain;
    replay->counts.same_count += recorded != NULL && recorded->text_bytes == event->text_bytes &&
                                 memcmp(recorded->text, event->text, event->text_bytes) == 0;
    result = replay->request.alert(replay->request.context, &alert);
    event_unref(event);
    return result;
}

static int make_item(const struct replay *replay, struct stall_case *stall)
{
    const struct replay_ring *ring = replay_ids_ring(&replay->ids, stall->ring);
    const size_t at = ring != NULL ? replay_ring_find(ring, stall->slot, stall->generation) : 0;

    if (stall->item != NULL || ring == NULL || at >= ring->count)
        return 0;
    stall->item = replay_ring_item(ring, at);
    return stall->item != NULL ? 0 : -ENOMEM;
}

static void name_place(const struct replay *replay, const struct item *item)
{
    uint64_t offset;
    struct module_facts *module = item != NULL ? item_module(item, &offset) : NULL;

    if (replay->request.name_place != NULL && module != NULL)
        replay->request.name_place(replay->request.context, module, offset);
}

static int announce_report(struct replay *replay, const struct case_report *report, struct recorded_entry *recorded,
                           const struct snapshot *moment)
{
    struct stall_case *stall = report->stall;
    const struct event *seen = recorded != NULL ? recorded->event : NULL;
    struct event_label label = {replay->sequence + 1, false};

    if (recorded != NULL)
        recorded->used = true;
    if (report->kind == EVENT_END) {
        if (stall->episode.begin == NULL)
            return 0; /* of a previous run, and not in the recording */
        label.reported = replay->counts.exact || stall->episode.begin->reported;
        return announce(replay, event_make_end(&stall->episode, moment, label), seen);
    }
    if ((seen == NULL || seen->ring[0] != '\0') && make_item(replay, stall) != 0)
        return -ENOMEM;
    if (seen == NULL)
        name_place(replay, stall->item);
    label.reported = replay->counts.exact || stall->evidence.examined;
    stall->episode.begin = event_make_begin(stall, moment, label, seen);
    if (stall->episode.begin == NULL)
        return -ENOMEM;
    return announce(replay, event_ref(stall->episode.begin), seen);
}

/* Announces in the order in which ripd published: it depends on which names were ready first, which is not recorded. */
static int announce_all(struct replay *replay, const struct case_report *reports, size_t count,
                        const struct snapshot *moment)
{
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        struct recorded_entry *recorded = recorded_of(replay, &reports[i]);
        const bool in_order = replay->counts.exact && recorded != NULL;

        result = add_pending(replay, (struct pending){.sequence = in_order ? recorded->event->sequence : UINT64_MAX,
                                                      .report = &reports[i],
                                                      .recorded = recorded});
    }
    if (replay->pending_count != 0)
        qsort(replay->pending, replay->pending_count, sizeof(*replay->pending), compare_pending);
    for (size_t i = 0; i < replay->pending_count; i++) {
        struct pending *pending = &replay->pending[i];

        if (result == 0 && pending->report != NULL)
            result = announce_report(replay, pending->report, pending->recorded, moment);
        else if (result == 0)
            result = announce(replay, event_ref(pending->event), pending->event);
        event_unref(pending->event);
    }
    replay->pending_count = 0;
    return result;
}

/* Restores the order of users in this scan. */
static void take_turns(struct replay *replay)
{
    const struct scan_rows *turns = &replay->scan.tables[SCAN_TURNS];

    work_begin(replay->work);
    for (unsigned i = 0; turns->count != 0 && i < HALVINGS; i++)
        work_begin(replay->work);
    for (size_t i = 0; i < turns->count; i++)
        work_spend(replay->work, (uint32_t)turns->numbers[i], i + 1);
}

static int scan(struct replay *replay, const struct rip_event_drain *drain)
{
    const struct snapshot moment = {.sequence = drain->sequence,
                                    .scanned_wall_ns = drain->wall_ns,
                                    .scanned_mono_ns = drain->mono_ns,
                                    .scanned_boot_ns = drain->boot_ns,
                                    .interval_ns = replay->config.interval_ns};
    const struct case_report *reports;
    struct detector_suspect *suspects;
    struct detector_update update;
    struct stall_case *const *cases;
    size_t count, case_count;
    int result;

    take_turns(replay);
    detector_begin(replay->detector, drain->mono_ns);
    result = feed(replay);
    if (result != 0)
        return result;
    find_rules(replay);
    suspects = detector_suspects(replay->detector, &count);
    result = cases_begin(replay->cases, suspects, count, user_of, replay);
    if (result != 0)
        return result;
    find_verdicts(replay, suspects, count);
    detector_end(replay->detector, &update);
    cases_end(replay->cases, &update, drain->mono_ns);
    count = cases_publish(replay->cases, &reports);
    cases = cases_all(replay->cases, &case_count);
    if (count != 0) {
        find_roots(replay, cases, case_count);
        (void)incidents_assign(cases, case_count);
    }
    replay->counts.scan_count++;
    return announce_all(replay, reports, count, &moment);
}

/*
 * A recording of `rip record` omits drains without changes. Makes up a scan for each interval in which nothing was
 * recorded.
 */
static int scan_between(struct replay *replay, uint64_t until_mono_ns)
{
    const uint64_t interval_ns = replay->config.interval_ns;
    struct rip_event_drain drain = replay->now;
    int result = 0;

    if (replay->counts.by_ripd || replay->detector == NULL)
        return 0;
    for (unsigned i = 0; i < SCANS_BETWEEN_MAX && result == 0; i++) {
        drain.mono_ns += interval_ns;
        drain.wall_ns += interval_ns;
        drain.boot_ns += interval_ns;
        if (drain.mono_ns + interval_ns / 2 >= until_mono_ns)
            break;
        scan_record_clear(&replay->scan);
        result = scan(replay, &drain);
        replay->now = drain;
    }
    return result;
}

static int take_drain(struct replay *replay, const struct rip_event_drain *drain)
{
    int result = 0;

    replay->now = *drain;
    if (replay->detector == NULL && replay->counts.by_ripd && !replay->has_settings)
        return announce_all(replay, NULL, 0, NULL); /* the recording begins in the middle of a run */
    if (replay->detector == NULL || (replay->has_settings && replay->settings.reason == SCAN_SETTINGS_STARTED)) {
        result = open_ripd(replay);
        if (result == 0)
            result = adopt(replay);
    } else if (replay->has_settings && replay->settings.reason == SCAN_SETTINGS_RELOADED) {
        set_config(replay);
        detector_configure(replay->detector, &replay->config);
    }
    if (result != 0)
        return result;
    take_rows(replay);
    if (replay->counts.by_ripd && !replay->has_scan) /* the last frame: only events that were still to be published */
        return announce_all(replay, NULL, 0, NULL);
    return scan(replay, drain);
}

int replay_take(struct replay *replay, const struct rip_event *event, const struct replay_data *data)
{
    int result;

    if (!replay->replaying)
        begin_second_pass(replay);
    result = event->kind == RIP_EVENT_DRAIN ? scan_between(replay, event->as.drain.mono_ns)
                                            : scan_between(replay, event->latest_mono_ns);
    if (result == 0 && event->kind == RIP_EVENT_DRAIN)
        result = take_data(replay, data);
    if (result == 0)
        result = replay_ids_take(&replay->ids, event);
    if (result != 0)
        return result;
    if (event->kind == RIP_EVENT_DRAIN)
        return take_drain(replay, &event->as.drain);
    if (event->kind == RIP_EVENT_STALL_END && event->ring == 0 && replay->counts.exact) {
        struct event *published;

        result = event_line_parse_event(event->as.stall.json.bytes, event->as.stall.json.count, &published);
        if (result == 0)
            result = add_pending(replay, (struct pending){.sequence = published->sequence, .event = published});
    }
    return result;
}

int replay_end(struct replay *replay)
{
    return replay->replaying ? announce_all(replay, NULL, 0, NULL) : 0;
}

void replay_counts(const struct replay *replay, struct replay_counts *ret_counts)
{
    *ret_counts = replay->counts;
}
