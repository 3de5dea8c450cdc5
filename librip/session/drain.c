/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c - finds what has changed in a ring since it was last read; see drain.h.
 *
 * Known ids are in an array sorted by slot. Samples arrive in the same order, so that finding an id is a merge of the
 * two. Ids that are new in this drain are in a second array until its end.
 *
 * Accounts. The progress of the last sample of an id says how many snaps it made. When an id ends, the ring adds its
 * snaps to a sum. If no end is in progress, the number of snaps that were never seen is
 *
 *     that sum (since the first drain) - the accounted snaps of ids that have ended
 *
 * An id that ends after it was sampled does not count as ended in this drain: it is left out of both terms.
 */
#include "session/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct known {
    struct rip_sample sample;
    uint64_t snap_count; /* snaps accounted for */
    uint64_t registered_boot_ns;
    uint64_t note_sequence;
    uint32_t id;
    bool is_missing; /* from the samples of this drain */
    bool has_ended;
    bool may_have_note; /* it changed in the last drain, and may have set a note after that drain read notes */
};

_Static_assert(2 * sizeof(struct known) <= DRAIN_ID_BYTES, "DRAIN_ID_BYTES is too small");

struct known_process {
    uint32_t generation;
    uint32_t module_count;
    bool is_known;
    bool is_dead;
};

enum item_kind { ITEM_ID, ITEM_PROCESS, ITEM_MODULE, ITEM_SCRIPT, ITEM_DEATH };

struct item {
    enum item_kind kind;
    /* For an id. Its rip_id_info and rip_note_info are in the batch, at the index of the item. */
    bool replaces; /* another id has taken the slot of the known one */
    bool is_new;
    bool is_found; /* it existed before the first drain: its earlier snaps do not count as made in this drain */
    bool has_ended;
    bool is_lost;   /* it has ended, and its last state could not be read */
    bool has_state; /* its state has changed */
    bool has_id;
    bool has_note;
    struct known *known; /* NULL: none */
    struct rip_sample sample;
    uint64_t snap_count;  /* of the newest snap that is accounted for */
    uint32_t first_entry; /* in entries[] */
    uint32_t entry_count;
    /* For a process, a module or a death. */
    uint32_t process;
    uint32_t generation;
    uint32_t nth;
    bool in_order;
};

struct drain_batch {
    size_t count;
    size_t entry_count;
    struct item items[DRAIN_BATCH];
    union {
        struct rip_id_info ids[DRAIN_BATCH];
        struct rip_process_info processes[DRAIN_BATCH];
    } infos;
    struct rip_note_info notes[DRAIN_BATCH];
    union {
        struct rip_entry entries[DRAIN_BATCH * RIP_ENTRY_COUNT];
        struct rip_module_info modules[DRAIN_BATCH];
        struct rip_script_info scripts[DRAIN_BATCH];
    } large;
};

struct id_array {
    struct known *ids;
    size_t count;
    size_t capacity;
};

struct drain {
    uint32_t ring;
    uint32_t number; /* of this drain, from 1 */
    struct drain_moment before;
    struct drain_moment now;
    bool is_new_ring; /* the ring was created before the first drain, within the session: see drain_made_after() */
    bool finds_ended;
    struct id_array known;
    struct id_array fresh;
    size_t position;      /* in known: where the next sample is searched */
    size_t missing;       /* in known: where the next missing id is searched */
    size_t missing_count; /* missing ids that are still to be read */
    size_t ended_count;   /* of known, in this drain */
    struct known_process processes[RIP_PROCESS_MAX];
    uint32_t process;      /* index of the next process to be read */
    uint32_t module;       /* 0 = the process itself is next */
    uint32_t script_count; /* script functions that were read or given up, in all drains */
    uint32_t script_drain; /* number of the drain that first found the next script function incomplete; 0 = none */
    bool is_open;
    bool is_scanned;               /* drain_step() has read all samples */
    struct rip_scan_position scan; /* where drain_step() continues */
    bool has_notes;
    uint32_t entry_count; /* of a slot */

    struct rip_ring_info first; /* at the start of the first drain */
    struct rip_ring_info before_scan;
    struct rip_ring_info after_scan;
    bool has_after_scan;
    bool is_uncertain;         /* the totals of this drain are not exact */
    bool is_damaged;           /* no totals are exact: a count decreased, or memory ran out */
    uint64_t next_ended;       /* number of the next ended id to be read */
    uint64_t next_certain;     /* from this number on every ended id must be in the log */
    uint64_t ended_snap_count; /* accounted snaps of ids that have ended */
    uint64_t late_snap_count;  /* snaps of ids that ended after they were sampled */
    uint32_t flush_count;
    struct rip_event_totals totals;
    int error;
};

int drain_new(struct drain **ret_drain, uint32_t ring)
{
    struct drain *drain = calloc(1, sizeof(*drain));

    if (drain == NULL)
        return -ENOMEM;
    drain->ring = ring;
    *ret_drain = drain;
    return 0;
}

void drain_free(struct drain *drain)
{
    if (drain == NULL)
        return;
    free(drain->known.ids);
    free(drain->fresh.ids);
    free(drain);
}

void drain_made_after(struct drain *drain, struct drain_moment moment)
{
    drain->now = moment;
    drain->is_new_ring = true;
}

void drain_find_ended(struct drain *drain)
{
    drain->finds_ended = true;
}

/* Returns whether ids that are new to this drain existed before it. */
static bool is_finding(const struct drain *drain)
{
    return drain->number == 1 && !drain->is_new_ring;
}

struct drain_batch *drain_batch_new(void)
{
    return calloc(1, sizeof(struct drain_batch));
}

void drain_batch_free(struct drain_batch *batch)
{
    free(batch);
}

void drain_begin(struct drain *drain, struct drain_moment moment)
{
    drain->number++;
    drain->before = drain->now;
    drain->now = moment;
    drain->position = 0;
    drain->missing = 0;
    drain->missing_count = 0;
    drain->ended_count = 0;
    drain->process = 0;
    drain->module = 0;
    drain->is_open = false;
    drain->is_scanned = false;
    drain->scan = (struct rip_scan_position){0};
    drain->has_after_scan = false;
    drain->is_uncertain = false;
    drain->late_snap_count = 0;
    drain->error = 0;
}

/* Reading: processes and modules ----------------------------------------------------------------------------------- */

static struct item *add_item(struct drain_batch *batch, enum item_kind kind)
{
    struct item *item = &batch->items[batch->count++];

    *item = (struct item){.kind = kind};
    return item;
}

static void add_death(struct known_process *known, uint32_t process, bool in_order, struct drain_batch *batch)
{
    struct item *item = add_item(batch, ITEM_DEATH);

    item->process = process;
    item->generation = known->generation;
    item->in_order = in_order;
    known->is_dead = true;
}

/* The batch must have room for two items. */
static void read_process(struct drain *drain, const struct rip_view *view, uint32_t index, struct drain_batch *batch)
{
    struct known_process *known = &drain->processes[index];
    enum rip_status status = rip_view_process(view, index, &batch->infos.processes[batch->count]);
    struct rip_process_info info = batch->infos.processes[batch->count];

    if (status == RIP_CHANGED || (status == RIP_OK && info.state == RIP_PROCESS_EMBRYO))
        return;
    if (known->is_known && !known->is_dead && (status != RIP_OK || info.generation != known->generation))
        add_death(known, index, false, batch);
    if (status != RIP_OK)
        return;
    if (!known->is_known || info.generation != known->generation) {
        batch->infos.processes[batch->count] = info;
        add_item(batch, ITEM_PROCESS)->process = index;
        *known = (struct known_process){.generation = info.generation, .is_known = true};
    }
}

static void read_process_exit(struct drain *drain, const struct rip_view *view, uint32_t index,
                              struct drain_batch *batch)
{
    struct known_process *known = &drain->processes[index];
    struct rip_process_info info;

    if (known->is_known && !known->is_dead && rip_view_process(view, index, &info) == RIP_OK &&
        info.state == RIP_PROCESS_EXITED && info.generation == known->generation)
        add_death(known, index, true, batch);
}

/* Returns false if the process has no more modules. */
static bool read_module(struct drain *drain, const struct rip_view *view, uint32_t index, struct drain_batch *batch)
{
    struct known_process *known = &drain->processes[index];
    struct item *item;

    if (!known->is_known || known->is_dead || known->module_count >= RIP_PROCESS_MODULES ||
        rip_view_module(view, index, known->module_count, &batch->large.modules[batch->count]) != RIP_OK)
        return false;
    item = add_item(batch, ITEM_MODULE);
    item->process = index;
    item->nth = known->module_count++;
    return true;
}

/*
 * Returns false if there are no more in this drain. A script function that was incomplete in an earlier drain and still
 * is was left behind by a killed writer: it is skipped.
 */
static bool read_script(struct drain *drain, const struct rip_view *view, struct drain_batch *batch)
{
    const uint64_t address = RIP_PLACE_SCRIPT | (uint64_t)drain->script_count << RIP_PLACE_INDEX_SHIFT;

    if (view->script_offset == 0 || drain->script_count >= view->script_capacity ||
        drain->script_count >= drain->before_scan.script_high_water)
        return false;
    if (rip_view_script(view, address, &batch->large.scripts[batch->count]) == RIP_OK)
        add_item(batch, ITEM_SCRIPT);
    else if (drain->script_drain == 0 || drain->script_drain == drain->number) {
        drain->script_drain = drain->number;
        return false;
    }
    drain->script_count++;
    drain->script_drain = 0;
    return true;
}

bool drain_open(struct drain *drain, const struct rip_view *view, struct drain_batch *ret_batch)
{
    ret_batch->count = 0;
    if (!drain->is_open) {
        rip_view_info(view, &drain->before_scan);
        drain->next_certain = drain->before_scan.ended_count;
        drain->entry_count = view->entry_count;
        drain->has_notes = view->note_offset != 0;
        drain->is_open = true;
        if (drain->number == 1 && drain->is_new_ring)
            drain->first.ended_settled = 1; /* first is all zero: the ring was empty */
        if (is_finding(drain)) {
            drain->first = drain->before_scan;
            drain->next_ended = drain->finds_ended ? 0 : drain->first.ended_count;
            drain->flush_count = drain->first.flush_count;
        }
    }
    while (drain->process < drain->before_scan.process_high_water && ret_batch->count + 3 <= DRAIN_BATCH) {
        if (drain->module == 0) {
            read_process(drain, view, drain->process, ret_batch);
            drain->module = 1;
        }
        while (ret_batch->count + 1 < DRAIN_BATCH && read_module(drain, view, drain->process, ret_batch))
            ;
        if (ret_batch->count + 1 == DRAIN_BATCH)
            break; /* its other modules follow in the next batch */
        read_process_exit(drain, view, drain->process, ret_batch);
        drain->process++;
        drain->module = 0;
    }
    if (drain->process >= drain->before_scan.process_high_water)
        while (ret_batch->count < DRAIN_BATCH && read_script(drain, view, ret_batch))
            continue;
    return ret_batch->count != 0;
}

/* Reading: ids ----------------------------------------------------------------------------------------------------- */

static uint64_t snap_count_of(const struct rip_sample *sample)
{
    return sample->progress > sample->counter_bias ? sample->progress - sample->counter_bias : 0;
}

static bool is_same_id(const struct known *known, const struct rip_id_info *info)
{
    return info->id == known->id && info->registered_boot_ns == known->registered_boot_ns &&
           info->snap_count >= known->snap_count;
}

/* Compares all except the progress. */
static bool has_same_state(const struct rip_sample *one, const struct rip_sample *other)
{
    return one->generation == other->generation && one->tid == other->tid && one->process == other->process &&
           one->idle == other->idle && one->deadline_ms == other->deadline_ms && one->call == other->call &&
           one->counter_bias == other->counter_bias && one->name_version == other->name_version;
}

/* Sets info back to the moment of the sample: it was read later. */
static void put_sample(struct rip_id_info *info, const struct rip_sample *sample)
{
    info->slot = sample->slot;
    info->generation = sample->generation;
    info->tid = sample->tid;
    info->process = sample->process;
    info->idle = sample->idle;
    info->deadline_ms = sample->deadline_ms;
    info->call = sample->call;
    info->name_version = sample->name_version;
    info->progress = sample->progress;
    info->snap_count = snap_count_of(sample);
}

static struct rip_sample sample_of(const struct rip_id_info *info)
{
    return (struct rip_sample){.progress = info->progress,
                               .slot = info->slot,
                               .generation = info->generation,
                               .tid = info->tid,
                               .process = info->process,
                               .idle = info->idle,
                               .counter_bias = (uint8_t)(info->progress - info->snap_count),
                               .deadline_ms = info->deadline_ms,
                               .call = info->call,
                               .name_version = info->name_version};
}

/* Reads the entries of the snaps after `after`. Sets item->snap_count to the newest snap that is then accounted for. */
static void read_entries(const struct rip_view *view, struct item *item, uint64_t after, bool is_same,
                         struct drain_batch *batch)
{
    struct rip_sample sample = item->sample;
    uint64_t until = snap_count_of(&sample);
    struct rip_id_info info;
    size_t count = 0;

    item->first_entry = (uint32_t)batch->entry_count;
    item->snap_count = after;
    for (unsigned attempt = 0; attempt < 3; attempt++) {
        if (rip_view_entries(view, &sample, after, batch->large.entries + batch->entry_count, &count) == RIP_OK) {
            item->snap_count = until;
            item->entry_count = (uint32_t)count;
            batch->entry_count += count;
            return;
        }
        /* The id may have been renamed or resumed since it was sampled. Its snaps keep their numbers. */
        if (!is_same || rip_view_id(view, sample.slot, &info) != RIP_OK || info.id != item->known->id ||
            info.registered_boot_ns != item->known->registered_boot_ns)
            return;
        sample = sample_of(&info);
        sample.progress = until + sample.counter_bias;
    }
}

static void store_changed_note(struct item *item, enum rip_status status, const struct rip_note_info *note,
                               struct drain_batch *batch)
{
    uint64_t before = item->known != NULL && !item->replaces ? item->known->note_sequence : 0;
    struct rip_note_info *target = &batch->notes[item - batch->items];

    if (status == RIP_OK && note->sequence != before) {
        *target = *note;
        item->has_note = true;
    } else if (status == RIP_NOT_LIVE && before != 0) {
        *target = (struct rip_note_info){0};
        item->has_note = true;
    }
}

static void read_note(const struct rip_view *view, struct item *item, struct drain_batch *batch)
{
    struct rip_note_info note;
    enum rip_status status;

    if (view->note_offset == 0)
        return;
    status = item->has_ended ? rip_view_ended_note(view, item->sample.slot, item->sample.generation, &note)
                             : rip_view_note(view, item->sample.slot, &note);
    store_changed_note(item, status, &note, batch);
}

/* Returns the known id of a slot, or NULL. Slots must ascend from call to call. Ids that are passed are missing. */
static struct known *find_in_order(struct drain *drain, uint32_t slot)
{
    struct known *ids = drain->known.ids;

    for (; drain->position < drain->known.count && ids[drain->position].sample.slot < slot; drain->position++) {
        ids[drain->position].is_missing = true;
        drain->missing_count++;
    }
    if (drain->position == drain->known.count || ids[drain->position].sample.slot != slot)
        return NULL;
    return &ids[drain->position++];
}

/* Returns false if the slot is to be ignored in this drain. */
static bool read_identity(const struct rip_view *view, struct item *item, struct drain_batch *batch)
{
    struct rip_id_info *info = &batch->infos.ids[item - batch->items];
    struct known *known = item->known;

    if (rip_view_id(view, item->sample.slot, info) != RIP_OK &&
        rip_view_ended_id(view, item->sample.slot, item->sample.generation, info) != RIP_OK)
        return false;
    if (known == NULL && info->generation != item->sample.generation)
        item->sample = sample_of(info); /* sample and info must be of the same id */
    item->replaces = known != NULL && !is_same_id(known, info);
    if (item->replaces && item->sample.generation == known->sample.generation)
        return false; /* the slot was reused after the sample was taken */
    item->is_new = known == NULL || item->replaces;
    item->has_id = true;
    put_sample(info, &item->sample);
    return true;
}

static void read_sample(struct drain *drain, const struct rip_view *view, const struct rip_sample *sample,
                        struct known *known, struct drain_batch *batch)
{
    struct item *item = add_item(batch, ITEM_ID);
    uint64_t snap_count, after;

    item->known = known;
    item->sample = *sample;
    item->has_state = known != NULL && !has_same_state(sample, &known->sample);
    if ((known == NULL || item->has_state) && !read_identity(view, item, batch)) {
        batch->count--;
        return;
    }
    if (item->is_new)
        item->has_state = false;
    after = item->is_new ? 0 : known->snap_count;
    snap_count = snap_count_of(&item->sample);
    if (snap_count < after)
        drain->is_damaged = true;
    item->snap_count = after;
    if (snap_count > after)
        read_entries(view, item, after, !item->is_new, batch);
    item->is_found = item->is_new && is_finding(drain);
    if (item->is_found)
        item->snap_count = snap_count;
    if (item->is_new || item->has_state || known->may_have_note || snap_count > after)
        read_note(view, item, batch);
}

/* Returns whether the id is unchanged. Most ids are: they cost no more than this comparison. */
static inline bool is_unchanged(const struct known *known, const struct rip_sample *sample)
{
    return known->sample.progress == sample->progress && has_same_state(&known->sample, sample) &&
           !known->may_have_note && known->snap_count >= snap_count_of(sample);
}

void drain_read(struct drain *drain, const struct rip_view *view, const struct rip_sample *samples, size_t count,
                struct drain_batch *ret_batch)
{
    ret_batch->count = 0;
    ret_batch->entry_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct known *known = find_in_order(drain, samples[i].slot);

        if (known == NULL || !is_unchanged(known, &samples[i]))
            read_sample(drain, view, &samples[i], known, ret_batch);
    }
}

/* Reading: ids that have ended ------------------------------------------------------------------------------------- */

/* Reads the entries of the snaps after `after`, oldest first. */
static void read_ended_entries(const struct rip_view *view, struct item *item, uint64_t after,
                               struct drain_batch *batch)
{
    struct rip_entry *target = batch->large.entries + batch->entry_count;
    struct rip_entry trail[RIP_ENTRY_COUNT];
    size_t count;

    item->first_entry = (uint32_t)batch->entry_count;
    if (item->snap_count <= after ||
        rip_view_ended_trail(view, item->sample.slot, item->sample.generation, trail, &count) != RIP_OK)
        return;
    while (count > 0) {
        count--;
        if (trail[count].snap > after && trail[count].snap <= item->snap_count)
            target[item->entry_count++] = trail[count];
    }
    batch->entry_count += item->entry_count;
}

static struct item *read_ended(const struct rip_view *view, struct known *known, const struct rip_id_info *info,
                               struct drain_batch *batch)
{
    struct item *item = add_item(batch, ITEM_ID);
    uint64_t after = known != NULL ? known->snap_count : 0;

    item->known = known;
    item->is_new = known == NULL;
    item->has_ended = true;
    item->has_id = true;
    batch->infos.ids[item - batch->items] = *info;
    item->sample = sample_of(info);
    item->has_state = known != NULL && !has_same_state(&item->sample, &known->sample);
    item->snap_count = info->snap_count > after ? info->snap_count : after;
    read_ended_entries(view, item, after, batch);
    read_note(view, item, batch);
    return item;
}

/* Finds the last state of a known id that has ended. Returns false if another id has taken its slot. */
static bool find_last_state(const struct rip_view *view, const struct known *known, struct rip_id_info *ret_info)
{
    struct rip_ended ended[DRAIN_BATCH];
    uint64_t next = 0;
    size_t count;

    if (rip_view_ended_id(view, known->sample.slot, known->sample.generation, ret_info) == RIP_OK)
        return true;
    do { /* it may have been resumed or renamed before it ended, and then have another generation */
        count = rip_view_ended(view, next, ended, DRAIN_BATCH, &next);
        for (size_t i = 0; i < count; i++) {
            if (ended[i].slot == known->sample.slot &&
                rip_view_ended_id(view, ended[i].slot, ended[i].generation, ret_info) == RIP_OK)
                return is_same_id(known, ret_info);
        }
    } while (count == DRAIN_BATCH);
    return false;
}

static void read_missing(struct drain *drain, const struct rip_view *view, struct known *known,
                         struct drain_batch *batch)
{
    struct rip_id_info info;
    enum rip_status status = rip_view_id(view, known->sample.slot, &info);
    struct item *item;

    if (status == RIP_OK && is_same_id(known, &info))
        return; /* it was being changed while samples were taken */
    if (status == RIP_CHANGED) {
        drain->is_uncertain = true;
        return;
    }
    if (status == RIP_NOT_LIVE && find_last_state(view, known, &info)) {
        read_ended(view, known, &info, batch);
        return;
    }
    item = add_item(batch, ITEM_ID);
    item->known = known;
    item->sample = known->sample;
    item->snap_count = known->snap_count;
    item->has_ended = true;
    item->is_lost = true;
}

static struct known *find_known(const struct id_array *array, uint32_t slot)
{
    size_t low = 0, high = array->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (array->ids[middle].sample.slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low < array->count && array->ids[low].sample.slot == slot ? &array->ids[low] : NULL;
}

/* Reads an id from the ring's log of ended ids. */
static void read_logged(struct drain *drain, const struct rip_view *view, const struct rip_ended *ended,
                        struct drain_batch *batch)
{
    struct known *known = find_known(&drain->known, ended->slot);
    bool is_readable;
    struct rip_id_info info;

    if (known == NULL)
        known = find_known(&drain->fresh, ended->slot);
    is_readable = rip_view_ended_id(view, ended->slot, ended->generation, &info) == RIP_OK;
    if (known == NULL || known->has_ended) {
        if (is_readable && (known == NULL || !is_same_id(known, &info)))
            /* Registered and ended between two drains, or before the first one. */
            read_ended(view, NULL, &info, batch)->is_found =
                is_finding(drain) && ended->number < drain->first.ended_count;
    } else if (is_readable && is_same_id(known, &info)) {
        drain->late_snap_count += info.snap_count;
    } else if (ended->generation - known->sample.generation <= UINT32_MAX / 2) {
        drain->is_uncertain = true; /* the known id or a later one of its slot has ended with an unknown count */
    }
}

/*
 * Checks that the log names each id that ended since sampling began. Otherwise an id may count twice: by its sample,
 * and in the ring's sum.
 */
static void check_log(struct drain *drain, const struct rip_ended *ended, size_t count, uint64_t end)
{
    uint64_t expected = drain->next_certain;

    for (size_t i = 0; i < count; i++) {
        if (ended[i].number < expected)
            continue;
        drain->is_uncertain |= ended[i].number != expected;
        expected = ended[i].number + 1;
    }
    drain->is_uncertain |= end > expected;
    if (end > drain->next_certain)
        drain->next_certain = end;
}

/* Returns false at the end of the log. */
static bool read_log(struct drain *drain, const struct rip_view *view, struct drain_batch *batch)
{
    const uint64_t end = drain->after_scan.counts_ended ? drain->after_scan.ended_count : 0;
    struct rip_ended ended[DRAIN_BATCH];
    size_t count;

    if (drain->next_ended >= end)
        return false;
    count = end - drain->next_ended < DRAIN_BATCH ? (size_t)(end - drain->next_ended) : DRAIN_BATCH;
    count = rip_view_ended(view, drain->next_ended, ended, count, &drain->next_ended);
    while (count > 0 && ended[count - 1].number >= end)
        count--;
    if (drain->next_ended > end)
        drain->next_ended = end;
    for (size_t i = 0; i < count; i++)
        read_logged(drain, view, &ended[i], batch);
    check_log(drain, ended, count, drain->next_ended);
    return true;
}

bool drain_finish(struct drain *drain, const struct rip_view *view, struct drain_batch *ret_batch)
{
    ret_batch->count = 0;
    ret_batch->entry_count = 0;
    find_in_order(drain, UINT32_MAX); /* marks the rest as missing */
    for (; drain->missing_count != 0 && ret_batch->count < DRAIN_BATCH; drain->missing++) {
        struct known *known = &drain->known.ids[drain->missing];

        if (!known->is_missing)
            continue;
        known->is_missing = false;
        drain->missing_count--;
        read_missing(drain, view, known, ret_batch);
    }
    if (ret_batch->count != 0)
        return true;
    if (!drain->has_after_scan) { /* by now the ring has counted the ends of all missing ids */
        rip_view_info(view, &drain->after_scan);
        drain->has_after_scan = true;
    }
    return read_log(drain, view, ret_batch);
}

/* Taking ----------------------------------------------------------------------------------------------------------- */

static void emit(struct drain *drain, const struct rip_sink *sink, struct rip_event *event)
{
    int result;

    event->ring = drain->ring;
    event->earliest_wall_ns = drain->before.wall_ns;
    event->latest_wall_ns = drain->now.wall_ns;
    event->earliest_mono_ns = drain->before.mono_ns;
    event->latest_mono_ns = drain->now.mono_ns;
    result = sink->take(sink->context, event);
    if (drain->error == 0)
        drain->error = result;
}

static void emit_process(struct drain *drain, const struct drain_batch *batch, const struct item *item,
                         const struct rip_sink *sink)
{
    struct rip_event event = {.process = item->process};
    size_t place = (size_t)(item - batch->items);

    if (item->kind == ITEM_PROCESS) {
        event.kind = RIP_EVENT_PROCESS;
        event.as.process_begin = &batch->infos.processes[place];
    } else if (item->kind == ITEM_MODULE) {
        event.kind = RIP_EVENT_MODULE;
        event.as.module = (struct rip_event_module){item->process, item->nth, &batch->large.modules[place]};
    } else if (item->kind == ITEM_SCRIPT) {
        event.kind = RIP_EVENT_SCRIPT;
        event.as.script = &batch->large.scripts[place];
    } else {
        event.kind = RIP_EVENT_DEATH;
        event.as.death = (struct rip_event_death){
            .process = item->process, .generation = item->generation, .in_order = item->in_order};
    }
    emit(drain, sink, &event);
}

static struct rip_event id_event(uint32_t kind, const struct known *known)
{
    return (struct rip_event){.kind = kind,
                              .slot = known->sample.slot,
                              .generation = known->sample.generation,
                              .id = known->id,
                              .process = known->sample.process};
}

/* For an id that is found only the entries that are still in the ring count as made: nothing else is known. */
static void emit_snap(struct drain *drain, const struct drain_batch *batch, const struct item *item,
                      struct known *known, const struct rip_sink *sink)
{
    struct rip_event event = id_event(RIP_EVENT_SNAP, known);
    struct rip_event_snap *snap = &event.as.snap;
    uint64_t made = item->is_found ? item->entry_count : item->snap_count - known->snap_count;
    bool has_moved = made != 0 || (!item->is_new && !item->has_state && !item->is_lost &&
                                   item->sample.progress != known->sample.progress);

    known->snap_count = item->snap_count;
    if (!has_moved)
        return;
    snap->progress = item->sample.progress;
    snap->made_count = made;
    snap->entry_count = item->entry_count;
    snap->overwritten_count = made - item->entry_count;
    snap->torn_count = (uint32_t)((made < drain->entry_count ? made : drain->entry_count) - item->entry_count);
    snap->entries = &batch->large.entries[item->first_entry];
    drain->totals.recorded_count += snap->entry_count;
    drain->totals.overwritten_count += snap->overwritten_count;
    drain->totals.torn_count += snap->torn_count;
    emit(drain, sink, &event);
}

static void emit_exit(struct drain *drain, struct known *known, bool has_snap_count, const struct rip_sink *sink)
{
    struct rip_event event = id_event(RIP_EVENT_EXIT, known);

    event.as.exit = (struct rip_event_exit){has_snap_count ? known->snap_count : 0, has_snap_count};
    drain->ended_snap_count += known->snap_count;
    known->has_ended = true;
    drain->ended_count++;
    emit(drain, sink, &event);
}

/*
 * Returns where a new id is stored: over the known id whose slot it has taken, or in *temporary if it has already
 * ended. Returns NULL if out of memory.
 */
static struct known *place_new(struct drain *drain, const struct item *item, struct known *temporary)
{
    struct id_array *fresh = &drain->fresh;
    struct known *ids;

    if (item->replaces)
        return item->known;
    if (item->has_ended)
        return temporary;
    if (fresh->count == fresh->capacity) {
        size_t capacity = fresh->capacity != 0 ? 2 * fresh->capacity : 64;

        ids = realloc(fresh->ids, capacity * sizeof(*ids));
        if (ids == NULL) {
            drain->error = -ENOMEM;
            drain->is_damaged = true;
            return NULL;
        }
        fresh->ids = ids;
        fresh->capacity = capacity;
    }
    return &fresh->ids[fresh->count++];
}

static struct known *take_new(struct drain *drain, const struct drain_batch *batch, const struct item *item,
                              struct known *temporary, const struct rip_sink *sink)
{
    const struct rip_id_info *info = &batch->infos.ids[item - batch->items];
    struct known *known = place_new(drain, item, temporary);
    struct rip_event event;

    if (known == NULL)
        return NULL;
    if (item->replaces) {
        emit_exit(drain, known, false, sink);
        drain->ended_count--; /* the new id overwrites it: there is nothing to remove */
    }
    *known = (struct known){.sample = item->sample, .registered_boot_ns = info->registered_boot_ns, .id = info->id};
    event = id_event(RIP_EVENT_REGISTER, known);
    event.as.id_begin = (struct rip_event_id){.info = info, .found = item->is_found};
    emit(drain, sink, &event);
    return known;
}

static void take_id(struct drain *drain, const struct drain_batch *batch, const struct item *item,
                    const struct rip_sink *sink)
{
    size_t place = (size_t)(item - batch->items);
    bool has_moved = item->is_new || item->snap_count != item->known->snap_count || item->has_state;
    struct known temporary, *known = item->known;
    struct rip_event event;

    if (item->is_new)
        known = take_new(drain, batch, item, &temporary, sink);
    if (known == NULL)
        return;
    emit_snap(drain, batch, item, known, sink);
    known->sample = item->sample;
    if (item->has_state) {
        event = id_event(RIP_EVENT_STATE, known);
        event.as.state = (struct rip_event_id){.info = &batch->infos.ids[place]};
        emit(drain, sink, &event);
    }
    if (item->has_note) {
        event = id_event(RIP_EVENT_NOTE, known);
        event.as.note = &batch->notes[place];
        known->note_sequence = batch->notes[place].sequence;
        emit(drain, sink, &event);
    }
    known->may_have_note = has_moved && drain->has_notes;
    if (!item->has_ended)
        return;
    emit_exit(drain, known, !item->is_lost, sink);
    if (item->is_found)
        drain->ended_snap_count -= known->snap_count; /* the ring's sum contained it before the first drain */
}

int drain_take(struct drain *drain, const struct drain_batch *batch, const struct rip_sink *sink)
{
    drain->error = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct item *item = &batch->items[i];

        if (item->kind == ITEM_ID)
            take_id(drain, batch, item, sink);
        else
            emit_process(drain, batch, item, sink);
    }
    return drain->error;
}

static size_t read_samples(struct drain *drain, const struct rip_view *view, struct drain_batch *batch)
{
    struct rip_sample samples[DRAIN_BATCH];
    const size_t count = rip_view_scan(view, &drain->scan, samples, DRAIN_BATCH);

    drain->is_scanned = count < DRAIN_BATCH;
    drain_read(drain, view, samples, count, batch);
    return count;
}

int drain_step(struct drain *drain, const struct rip_view *view, struct drain_batch *batch, const struct rip_sink *sink)
{
    int result;

    if (!drain_open(drain, view, batch) && (drain->is_scanned || read_samples(drain, view, batch) == 0) &&
        !drain_finish(drain, view, batch))
        return 0;
    result = drain_take(drain, batch, sink);
    return result != 0 ? result : 1;
}

/* The end of a drain ----------------------------------------------------------------------------------------------- */

static int merge_ids(struct drain *drain)
{
    struct id_array merged = drain->known;
    const struct id_array *fresh = &drain->fresh;
    size_t kept = 0, target;

    if (drain->ended_count != 0) {
        for (size_t i = 0; i < merged.count; i++) {
            if (!merged.ids[i].has_ended)
                merged.ids[kept++] = merged.ids[i];
        }
        merged.count = kept;
        drain->known.count = kept;
    }
    if (fresh->count == 0)
        return 0;
    if (merged.capacity - merged.count < fresh->count) {
        merged.capacity = merged.count + fresh->count + merged.count / 2;
        merged.ids = realloc(merged.ids, merged.capacity * sizeof(*merged.ids));
        if (merged.ids == NULL) {
            drain->is_damaged = true; /* the next drain registers these ids again */
            return -ENOMEM;
        }
    }
    target = merged.count + fresh->count;
    drain->known = merged;
    drain->known.count = target;
    for (size_t old = merged.count, new = fresh->count; new > 0;) {
        if (old > 0 && merged.ids[old - 1].sample.slot > fresh->ids[new - 1].sample.slot)
            merged.ids[--target] = merged.ids[--old];
        else
            merged.ids[--target] = fresh->ids[--new];
    }
    return 0;
}

static void count_totals(struct drain *drain)
{
    const struct rip_ring_info *now = &drain->after_scan;
    struct rip_event_totals *totals = &drain->totals;
    uint64_t ended = now->ended_snap_count - drain->first.ended_snap_count;
    uint64_t accounted = drain->ended_snap_count + drain->late_snap_count;

    totals->exact = now->counts_ended && now->ended_settled && !drain->is_uncertain && !drain->is_damaged;
    if (totals->exact && !drain->first.ended_settled) { /* the sum was not settled before: unseen counts from here on */
        drain->first.ended_snap_count = now->ended_snap_count - accounted;
        drain->first.ended_settled = 1;
        ended = accounted;
    }
    /* ended may also be less than accounted, if threads continued after their process had left the ring. */
    if (totals->exact && ended > accounted && ended - accounted > totals->unseen_count)
        totals->unseen_count = ended - accounted;
    totals->registered_count = now->registered_count - drain->first.registered_count;
    totals->ended_count = now->ended_count - drain->first.ended_count;
    totals->made_count = totals->recorded_count + totals->overwritten_count + totals->unseen_count;
}

int drain_end(struct drain *drain, const struct rip_sink *sink)
{
    const struct rip_event_totals before = drain->totals;
    struct rip_event event = {.kind = RIP_EVENT_FLUSH};
    int result;

    drain->error = 0;
    result = merge_ids(drain);
    drain->fresh.count = 0;
    event.as.flush_count = drain->after_scan.flush_count - drain->flush_count;
    drain->flush_count = drain->after_scan.flush_count;
    if (event.as.flush_count != 0)
        emit(drain, sink, &event);
    count_totals(drain);
    event = (struct rip_event){.kind = RIP_EVENT_TOTALS, .as.totals = drain->totals};
    if (memcmp(&before, &drain->totals, offsetof(struct rip_event_totals, exact)) != 0 ||
        before.exact != drain->totals.exact)
        emit(drain, sink, &event);
    return result != 0 ? result : drain->error;
}
