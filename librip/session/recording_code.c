/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_code.c - see recording_code.h. A function code_*() encodes its argument if coder->writes, and decodes into
 * it otherwise. After an error, decoding yields zeros and encoding appends nothing, so that callers check coder->error
 * only at the end.
 */
#include "session/recording_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { VARINT_BYTES_MAX = 10, KIND_LAST = RIP_EVENT_SCRIPT };

struct record_times record_times_of(const struct rip_event *event)
{
    return (struct record_times){event->earliest_wall_ns, event->latest_wall_ns, event->earliest_mono_ns,
                                 event->latest_mono_ns};
}

struct rip_event record_event(uint32_t kind, uint32_t ring, const struct record_times *times)
{
    return (struct rip_event){.kind = kind,
                              .ring = ring,
                              .earliest_wall_ns = times->earliest_wall_ns,
                              .latest_wall_ns = times->latest_wall_ns,
                              .earliest_mono_ns = times->earliest_mono_ns,
                              .latest_mono_ns = times->latest_mono_ns};
}

/* Bytes ------------------------------------------------------------------------------------------------------------ */

static void fail(struct record_coder *coder, int error)
{
    if (coder->error == 0)
        coder->error = error;
}

static bool has_room(struct record_coder *coder, size_t count)
{
    size_t capacity = coder->capacity != 0 ? coder->capacity : 4096;
    unsigned char *bytes;

    if (coder->error != 0)
        return false;
    if (coder->capacity - coder->count >= count)
        return true;
    while (capacity - coder->count < count)
        capacity *= 2;
    bytes = realloc(coder->bytes, capacity);
    if (bytes == NULL) {
        fail(coder, -ENOMEM);
        return false;
    }
    coder->bytes = bytes;
    coder->capacity = capacity;
    return true;
}

/*
 * Stores a varint; target must have room for VARINT_BYTES_MAX. There is no branch per byte, because the length of an
 * address difference cannot be predicted. Groups of 7 bits are moved apart: first halves, then quarters, then each.
 */
static inline unsigned char *store_number(unsigned char *target, uint64_t value)
{
    const unsigned last = (63 - (unsigned)__builtin_clzll(value | 1)) / 7; /* byte */
    uint64_t bytes = value;

    if (value >> 56 != 0) {
        for (; value >= 0x80; value >>= 7)
            *target++ = (unsigned char)(value | 0x80);
        *target++ = (unsigned char)value;
        return target;
    }
    bytes = (bytes & 0x000000000fffffff) | (bytes & 0x00fffffff0000000) << 4;
    bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x0fffc0000fffc000) << 2;
    bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x3f803f803f803f80) << 1;
    bytes |= 0x8080808080808080 & ((UINT64_C(1) << 8 * last) - 1);
    memcpy(target, &bytes, sizeof(bytes));
    return target + last + 1;
}

static void put_number(struct record_coder *coder, uint64_t value)
{
    if (has_room(coder, VARINT_BYTES_MAX))
        coder->count = (size_t)(store_number(coder->bytes + coder->count, value) - coder->bytes);
}

static uint64_t get_number(struct record_coder *coder)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && coder->error == 0; shift += 7) {
        unsigned char byte;

        if (coder->position == coder->count)
            break;
        byte = coder->bytes[coder->position++];
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    fail(coder, -EBADMSG);
    return 0;
}

static void code_number(struct record_coder *coder, uint64_t *value)
{
    if (coder->writes)
        put_number(coder, *value);
    else
        *value = get_number(coder);
}

/* Maps small differences of either sign to small numbers (zigzag). */
static inline uint64_t fold(uint64_t difference)
{
    return difference << 1 ^ (difference >> 63 != 0 ? UINT64_MAX : 0);
}

static void code_difference(struct record_coder *coder, uint64_t *value, uint64_t base)
{
    uint64_t number = fold(*value - base);

    code_number(coder, &number);
    *value = base + (number >> 1 ^ (number & 1 ? UINT64_MAX : 0));
}

/* As code_number(), for an integer of any width. Fails if the number does not fit. */
#define CODE(coder, value)                                                                                             \
    do {                                                                                                               \
        uint64_t number_ = (uint64_t)(value);                                                                          \
        code_number((coder), &number_);                                                                                \
        (value) = (__typeof__(value))number_;                                                                          \
        if ((uint64_t)(value) != number_)                                                                              \
            fail((coder), -EBADMSG);                                                                                   \
    } while (0)

#define CODE_DIFFERENCE(coder, value, base)                                                                            \
    do {                                                                                                               \
        uint64_t number_ = (value);                                                                                    \
        code_difference((coder), &number_, (base));                                                                    \
        (value) = (__typeof__(value))number_;                                                                          \
        if ((value) != number_)                                                                                        \
            fail((coder), -EBADMSG);                                                                                   \
    } while (0)

static void code_bool(struct record_coder *coder, bool *value)
{
    uint64_t number = *value;

    code_number(coder, &number);
    if (number > 1)
        fail(coder, -EBADMSG);
    *value = number == 1;
}

static void code_bytes(struct record_coder *coder, void *bytes, size_t count)
{
    if (count == 0)
        return;
    if (coder->writes) {
        if (!has_room(coder, count))
            return;
        memcpy(coder->bytes + coder->count, bytes, count);
        coder->count += count;
    } else if (coder->error != 0 || coder->count - coder->position < count) {
        fail(coder, -EBADMSG);
    } else {
        memcpy(bytes, coder->bytes + coder->position, count);
        coder->position += count;
    }
}

/* A decoded text points into coder->bytes. */
static void code_text(struct record_coder *coder, struct rip_text *text)
{
    CODE(coder, text->count);
    if (coder->writes) {
        if (text->count > RECORDING_TEXT_BYTES_MAX)
            fail(coder, -EFBIG);
        code_bytes(coder, (void *)(uintptr_t)text->bytes, text->count);
    } else if (coder->error != 0 || coder->count - coder->position < text->count) {
        fail(coder, -EBADMSG);
        *text = (struct rip_text){0};
    } else {
        text->bytes = (const char *)coder->bytes + coder->position;
        coder->position += text->count;
    }
}

/* A text in an array of limited size. */
static void code_field(struct record_coder *coder, void *field, uint64_t *count, size_t limit)
{
    code_number(coder, count);
    if (*count > limit) {
        fail(coder, -EBADMSG);
        *count = 0;
    }
    code_bytes(coder, field, (size_t)*count);
}

/* As code_field(), for a count of any width. */
#define CODE_FIELD(coder, field, count)                                                                                \
    do {                                                                                                               \
        uint64_t count_ = (count);                                                                                     \
        code_field((coder), (field), &count_, sizeof(field));                                                          \
        (count) = (__typeof__(count))count_;                                                                           \
    } while (0)

/* Fields of each kind ---------------------------------------------------------------------------------------------- */

static void code_ring(struct record_coder *coder, struct rip_event_ring *ring)
{
    code_text(coder, &ring->name);
    code_text(coder, &ring->directory);
    code_bytes(coder, ring->ring_id, sizeof(ring->ring_id));
    code_bytes(coder, ring->boot_id, sizeof(ring->boot_id));
    code_number(coder, &ring->created_wall_ns);
    CODE(coder, ring->slot_capacity);
    CODE(coder, ring->uid);
    code_bool(coder, &ring->preload);
}

static void code_process(struct record_coder *coder, struct rip_event *event)
{
    struct rip_process_info *info = &coder->process;

    *info = coder->writes ? *event->as.process_begin : (struct rip_process_info){.index = event->process};
    CODE(coder, info->state);
    CODE(coder, info->generation);
    CODE(coder, info->flags);
    CODE(coder, info->pid);
    CODE(coder, info->parent_pid);
    code_number(coder, &info->start_time_ticks);
    code_number(coder, &info->pid_namespace);
    code_number(coder, &info->entered_boot_ns);
    CODE(coder, info->uid);
    CODE(coder, info->module_count);
    code_bytes(coder, info->comm, sizeof(info->comm));
    if (!coder->writes)
        event->as.process_begin = info;
}

static void code_module(struct record_coder *coder, struct rip_event *event)
{
    struct rip_module_info *info = &coder->module;

    *info = coder->writes ? *event->as.module.info : (struct rip_module_info){0};
    event->as.module.process = event->process;
    CODE(coder, event->as.module.nth);
    code_number(coder, &info->start);
    code_difference(coder, &info->end, info->start);
    code_difference(coder, &info->bias, info->start);
    CODE(coder, info->flags);
    CODE_FIELD(coder, info->build_id, info->build_id_bytes);
    CODE_FIELD(coder, info->path, info->path_bytes);
    if (!coder->writes)
        event->as.module.info = info;
}

static void code_script(struct record_coder *coder, struct rip_script_info *info)
{
    CODE(coder, info->index);
    CODE(coder, info->first_line);
    CODE(coder, info->flags);
    CODE_FIELD(coder, info->file, info->file_bytes);
    CODE_FIELD(coder, info->function, info->function_bytes);
}

/* Kinds that do not fit into the tag. Their fields have a length, so that a reader can skip an unknown kind. */
static void code_extended_kind(struct record_coder *coder, struct rip_event *event)
{
    struct record_coder fields = {.writes = coder->writes};
    struct rip_text text = {0};

    CODE(coder, event->kind);
    if (event->kind <= RECORD_KIND)
        fail(coder, -EBADMSG);
    if (coder->writes) {
        coder->script = *event->as.script;
        code_script(&fields, &coder->script);
        text = (struct rip_text){(const char *)fields.bytes, fields.count};
    }
    code_text(coder, &text);
    if (!coder->writes && event->kind == RIP_EVENT_SCRIPT && coder->error == 0) {
        coder->script = (struct rip_script_info){0};
        event->as.script = &coder->script;
        fields.bytes = coder->bytes + coder->position - text.count;
        fields.count = text.count;
        code_script(&fields, &coder->script);
    }
    if (fields.error != 0)
        fail(coder, fields.error);
    if (coder->writes)
        free(fields.bytes);
}

static void code_death(struct record_coder *coder, struct rip_event *event)
{
    struct rip_event_death *death = &event->as.death;
    uint64_t status = (uint64_t)(int64_t)death->status;

    death->process = event->process;
    CODE(coder, death->generation);
    code_bool(coder, &death->has_status);
    code_difference(coder, &status, 0);
    death->status = (int32_t)status;
    code_bool(coder, &death->in_order);
    code_bool(coder, &death->core_dumped);
    code_bool(coder, &death->replaced);
}

/* Numbers of an id that are coded only if they have changed, and their bits in `which`. */
#define ID_NUMBERS(X)                                                                                                  \
    X(1, tid)                                                                                                          \
    X(2, kind)                                                                                                         \
    X(4, idle)                                                                                                         \
    X(8, call)                                                                                                         \
    X(16, deadline_ms)
enum { ID_BORN = 32, ID_COUNT = 64, ID_NAME = 128 };

static uint64_t differences(const struct rip_id_info *info, const struct rip_id_info *base)
{
    bool same_name = info->name_bytes == base->name_bytes && memcmp(info->name, base->name, info->name_bytes) == 0;
    uint64_t which = same_name ? 0 : ID_NAME;

#define X(bit, field) which |= info->field != base->field ? (bit) : 0;
    ID_NUMBERS(X)
#undef X
    which |= info->registered_boot_ns != base->registered_boot_ns ? ID_BORN : 0;
    which |= info->progress != base->progress || info->snap_count != base->snap_count ? ID_COUNT : 0;
    return which;
}

static void code_id(struct record_coder *coder, struct rip_event *event, struct state_id *id)
{
    const struct rip_id_info base = id->info;
    struct rip_id_info *info = &coder->id;
    uint64_t which;

    *info = coder->writes ? *event->as.id_begin.info : base;
    which = differences(info, &base);
    code_number(coder, &which);
#define X(bit, field)                                                                                                  \
    if (which & (bit))                                                                                                 \
        CODE(coder, info->field);
    ID_NUMBERS(X)
#undef X
    if (which & ID_BORN)
        code_difference(coder, &info->registered_boot_ns, base.registered_boot_ns);
    if (which & ID_COUNT) {
        code_difference(coder, &info->progress, base.progress);
        code_difference(coder, &info->snap_count, base.snap_count);
    }
    if (which & ID_NAME) {
        CODE_FIELD(coder, info->name, info->name_bytes);
        memset(info->name + info->name_bytes, 0, sizeof(info->name) - info->name_bytes);
    }
    info->slot = event->slot;
    info->generation = event->generation;
    info->id = event->id;
    info->process = (uint16_t)event->process;
    id->info = *info;
    if (!coder->writes)
        event->as.id_begin.info = info;
}

/* Flags in the head of a SNAP, below its entry_count. */
enum { SNAP_ROW = 1, SNAP_PLAIN = 2, SNAP_SHIFT = 2 };

static inline bool has_snap_number(uint64_t head, uint32_t i)
{
    return (head & SNAP_PLAIN) == 0 && ((head & SNAP_ROW) == 0 || i == 0);
}

/* ROW: the entries are of consecutive snaps. PLAIN: also, nothing is missing and all counts are as expected. */
static uint64_t snap_head(const struct rip_event_snap *snap, uint64_t newest, uint64_t progress)
{
    uint64_t head = (uint64_t)snap->entry_count << SNAP_SHIFT | SNAP_ROW;

    for (uint32_t i = 1; i < snap->entry_count; i++) {
        if (snap->entries[i].snap != snap->entries[0].snap + i)
            head &= ~(uint64_t)SNAP_ROW;
    }
    if ((head & SNAP_ROW) != 0 && snap->made_count == snap->entry_count && snap->overwritten_count == 0 &&
        snap->torn_count == 0 && snap->progress == progress &&
        (snap->entry_count == 0 || snap->entries[snap->entry_count - 1].snap == newest))
        head |= SNAP_PLAIN;
    return head;
}

/* Most of a recording is written here: checks for room once, not for each number. */
static void put_entries(struct record_coder *coder, uint64_t head, const struct rip_event_snap *snap, uint64_t newest,
                        struct state_id *id)
{
    uint64_t expected = newest - snap->entry_count + 1, address = id->address;
    unsigned char *target;

    if (!has_room(coder, (size_t)snap->entry_count * 2 * VARINT_BYTES_MAX))
        return;
    target = coder->bytes + coder->count;
    for (uint32_t i = 0; i < snap->entry_count; i++) {
        const struct rip_entry *entry = &snap->entries[i];

        if (has_snap_number(head, i))
            target = store_number(target, fold(entry->snap - expected));
        expected = entry->snap + 1;
        target = store_number(target, fold(entry->address - address));
        address = entry->address;
    }
    coder->count = (size_t)(target - coder->bytes);
    id->address = address;
}

static void get_entries(struct record_coder *coder, uint64_t head, struct rip_event_snap *snap, uint64_t newest,
                        struct state_id *id)
{
    uint64_t expected = newest - snap->entry_count + 1;

    for (uint32_t i = 0; i < snap->entry_count; i++) {
        struct rip_entry *entry = &coder->entries[i];

        *entry = (struct rip_entry){.snap = expected};
        if (has_snap_number(head, i))
            code_difference(coder, &entry->snap, expected);
        expected = entry->snap + 1;
        code_difference(coder, &entry->address, id->address);
        id->address = entry->address;
    }
    snap->entries = coder->entries;
}

static void code_snap(struct record_coder *coder, struct rip_event_snap *snap, struct state_id *id)
{
    uint64_t made = snap->made_count, head = 0, newest, progress;

    if (coder->writes && snap->entry_count > RIP_ENTRY_COUNT) {
        fail(coder, -EINVAL);
        return;
    }
    newest = id->info.snap_count + (id->is_counted ? 0 : made);
    progress = newest + (id->info.progress - id->info.snap_count);
    if (coder->writes)
        head = snap_head(snap, newest, progress);
    code_number(coder, &head);
    if (head >> SNAP_SHIFT > RIP_ENTRY_COUNT) {
        fail(coder, -EBADMSG);
        return;
    }
    snap->entry_count = (uint32_t)(head >> SNAP_SHIFT);
    if ((head & SNAP_PLAIN) == 0)
        code_difference(coder, &made, snap->entry_count);
    else
        made = snap->entry_count;
    newest = id->info.snap_count + (id->is_counted ? 0 : made);
    progress = newest + (id->info.progress - id->info.snap_count);
    snap->made_count = made;
    if ((head & SNAP_PLAIN) == 0) {
        code_difference(coder, &snap->overwritten_count, made - snap->entry_count);
        CODE(coder, snap->torn_count);
        code_difference(coder, &snap->progress, progress);
    } else {
        snap->progress = progress;
    }
    if (coder->writes)
        put_entries(coder, head, snap, newest, id);
    else
        get_entries(coder, head, snap, newest, id);
    id->is_counted = false;
    id->info.snap_count = snap->entry_count != 0 ? snap->entries[snap->entry_count - 1].snap : newest;
    id->info.progress = snap->progress;
}

static void code_note(struct record_coder *coder, struct rip_event *event)
{
    struct rip_note_info *note = &coder->note;

    *note =
        coder->writes ? *event->as.note : (struct rip_note_info){.slot = event->slot, .generation = event->generation};
    code_number(coder, &note->sequence);
    CODE_FIELD(coder, note->text, note->text_bytes);
    if (!coder->writes)
        event->as.note = note;
}

static void code_totals(struct record_coder *coder, struct rip_event_totals *totals)
{
    code_number(coder, &totals->made_count);
    code_number(coder, &totals->recorded_count);
    code_number(coder, &totals->overwritten_count);
    code_number(coder, &totals->unseen_count);
    code_number(coder, &totals->registered_count);
    code_number(coder, &totals->ended_count);
    code_number(coder, &totals->torn_count);
    code_bool(coder, &totals->exact);
}

static void code_drain(struct record_coder *coder, struct rip_event *event)
{
    struct rip_event_drain *drain = &event->as.drain;

    code_number(coder, &drain->sequence);
    code_difference(coder, &drain->wall_ns, event->latest_wall_ns);
    code_difference(coder, &drain->mono_ns, event->latest_mono_ns);
    code_difference(coder, &drain->boot_ns, drain->mono_ns);
    code_number(coder, &drain->duration_ns);
}

/* Records ---------------------------------------------------------------------------------------------------------- */

static bool is_kept(uint32_t kind)
{
    return kind == RIP_EVENT_RING || kind == RIP_EVENT_PROCESS || kind == RIP_EVENT_MODULE || kind == RIP_EVENT_DEATH ||
           kind == RIP_EVENT_NOTE || kind == RIP_EVENT_SCRIPT;
}

/* id is NULL for an event that is not about an id. */
static void code_fields(struct record_coder *coder, struct rip_event *event, struct state_id *id)
{
    switch (event->kind) {
    case RIP_EVENT_RING:
        code_ring(coder, &event->as.ring_begin);
        break;
    case RIP_EVENT_RING_END:
        code_text(coder, &event->as.ring_end.reason);
        break;
    case RIP_EVENT_PROCESS:
        code_process(coder, event);
        break;
    case RIP_EVENT_MODULE:
        code_module(coder, event);
        break;
    case RIP_EVENT_DEATH:
        code_death(coder, event);
        break;
    case RIP_EVENT_REGISTER:
        code_bool(coder, &event->as.id_begin.found);
        code_id(coder, event, id);
        id->is_counted = !coder->is_state;
        break;
    case RIP_EVENT_STATE:
        code_bool(coder, &event->as.state.found);
        code_id(coder, event, id);
        break;
    case RIP_EVENT_SNAP:
        code_snap(coder, &event->as.snap, id);
        break;
    case RIP_EVENT_NOTE:
        code_note(coder, event);
        break;
    case RIP_EVENT_EXIT:
        code_bool(coder, &event->as.exit.has_snap_count);
        code_difference(coder, &event->as.exit.snap_count, id->info.snap_count);
        break;
    case RIP_EVENT_FLUSH:
        code_number(coder, &event->as.flush_count);
        break;
    case RIP_EVENT_TOTALS:
        code_totals(coder, &event->as.totals);
        break;
    case RIP_EVENT_STALL_BEGIN:
    case RIP_EVENT_STALL_END:
        code_text(coder, &event->as.stall.json);
        CODE(coder, event->slot);
        CODE(coder, event->generation);
        CODE(coder, event->id);
        break;
    case RIP_EVENT_DRAIN:
        code_drain(coder, event);
        break;
    default:
        code_extended_kind(coder, event);
    }
}

static void code_times(struct record_coder *coder, struct rip_event *event)
{
    struct record_times *times = &coder->times;

    code_difference(coder, &event->latest_wall_ns, times->latest_wall_ns);
    code_difference(coder, &event->earliest_wall_ns, times->earliest_wall_ns);
    code_difference(coder, &event->latest_mono_ns, times->latest_mono_ns);
    code_difference(coder, &event->earliest_mono_ns, times->earliest_mono_ns);
    *times = record_times_of(event);
}

/* Differences to the last identity in this slot. In a state frame they are to 0. */
static void code_identity(struct record_coder *coder, struct rip_event *event, const struct rip_id_info *base)
{
    CODE_DIFFERENCE(coder, event->generation, coder->is_state ? 0 : base->generation);
    CODE_DIFFERENCE(coder, event->id, coder->is_state ? 0 : base->id);
    CODE(coder, event->process);
    if (event->process > UINT16_MAX)
        fail(coder, -EBADMSG);
}

/* Returns the state of the id, or NULL and sets coder->error. */
static struct state_id *find_id(struct record_coder *coder, const struct rip_event *event)
{
    struct state_id *id = NULL;
    int result = recording_table_id(coder->state, event->ring, event->slot, &id);

    if (result != 0) {
        fail(coder, result);
        return NULL;
    }
    if (event->kind == RIP_EVENT_REGISTER)
        recording_table_reset_id(coder->state, id);
    return id;
}

static void after_record(struct record_coder *coder, struct rip_event *event, size_t fields)
{
    size_t end = coder->writes ? coder->count : coder->position;
    int result = 0;

    if (coder->is_state && coder->writes)
        return;
    if (is_kept(event->kind))
        result = recording_table_keep(coder->state, event, coder->bytes + fields, end - fields);
    else if (event->kind == RIP_EVENT_RING_END)
        recording_table_drop_ring(coder->state, event->ring);
    else if (event->kind == RIP_EVENT_EXIT)
        recording_table_drop_id(coder->state, event->ring, event->slot);
    if (result != 0)
        fail(coder, result);
}

void coder_begin(struct record_coder *coder, bool is_state, unsigned char *bytes, size_t count)
{
    coder->is_state = is_state;
    coder->writes = bytes == NULL;
    coder->count = count;
    coder->position = 0;
    coder->ring = 0;
    coder->slot = 0;
    coder->times = (struct record_times){0};
    if (bytes != NULL)
        coder->bytes = bytes;
}

static void code_rest(struct record_coder *coder, struct rip_event *event, unsigned tag, struct state_id *id)
{
    bool has_process =
        event->kind == RIP_EVENT_PROCESS || event->kind == RIP_EVENT_MODULE || event->kind == RIP_EVENT_DEATH;
    size_t fields;

    if ((tag & RECORD_HAS_IDENTITY) != 0 && id == NULL)
        fail(coder, -EBADMSG);
    else if ((tag & RECORD_HAS_IDENTITY) != 0)
        code_identity(coder, event, &id->info);
    if (has_process)
        CODE(coder, event->process);
    fields = coder->writes ? coder->count : coder->position;
    if (coder->error == 0)
        code_fields(coder, event, id);
    if (coder->error == 0)
        after_record(coder, event, fields);
}

/* A state frame is written from coder->state, so that it must not change it: it uses an empty id of its own. */
static struct state_id *id_for_writing(struct record_coder *coder, const struct rip_event *event,
                                       struct state_id *scratch)
{
    if (!coder->is_state)
        return find_id(coder, event);
    *scratch = (struct state_id){.info.slot = event->slot};
    return scratch;
}

int coder_write(struct record_coder *coder, const struct rip_event *taken)
{
    struct rip_event event = *taken;
    size_t begin = coder->count;
    struct state_id scratch, *id = NULL;
    const struct record_times times = record_times_of(taken);
    unsigned tag = event.kind <= RECORD_KIND ? event.kind : 0;

    if (event.kind == 0 || event.kind > KIND_LAST)
        return -EINVAL;
    coder->error = 0;
    if (event_is_of_id(event.kind)) {
        id = id_for_writing(coder, &event, &scratch);
        if (id == NULL)
            return coder->error;
        if (id->info.generation != event.generation || id->info.id != event.id || id->info.process != event.process)
            tag |= RECORD_HAS_IDENTITY;
    }
    if (event.ring != coder->ring)
        tag |= RECORD_HAS_RING;
    if (memcmp(&coder->times, &times, sizeof(times)) != 0)
        tag |= RECORD_HAS_TIMES;
    if (has_room(coder, 1))
        coder->bytes[coder->count++] = (unsigned char)tag;
    if ((tag & RECORD_HAS_RING) != 0) {
        CODE(coder, event.ring);
        coder->slot = 0;
    }
    if ((tag & RECORD_HAS_TIMES) != 0)
        code_times(coder, &event);
    if (id != NULL)
        CODE_DIFFERENCE(coder, event.slot, coder->slot);
    code_rest(coder, &event, tag, id);
    if (coder->error != 0) {
        coder->count = begin;
        return coder->error;
    }
    coder->ring = event.ring;
    coder->slot = event.slot;
    return 0;
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

static int read_error(const struct record_coder *coder)
{
    return coder->error == -EFBIG ? -EBADMSG : coder->error;
}

int coder_read(struct record_coder *coder, struct rip_event *ret_event, bool *ret_has_data)
{
    struct rip_event event = record_event(0, coder->ring, &coder->times);
    struct state_id *id = NULL;
    unsigned tag;

    coder->error = 0;
    if (coder->position == coder->count)
        return 0;
    tag = coder->bytes[coder->position++];
    event.kind = tag & RECORD_KIND;
    if ((tag & RECORD_HAS_RING) != 0) {
        CODE(coder, event.ring);
        if (event.ring != 0)
            event.ring += coder->ring_base;
        coder->slot = 0;
    }
    if ((tag & RECORD_HAS_TIMES) != 0)
        code_times(coder, &event);
    if (event_is_of_id(event.kind)) {
        CODE_DIFFERENCE(coder, event.slot, coder->slot);
        if (coder->error == 0)
            id = find_id(coder, &event);
        if (id == NULL)
            return read_error(coder);
        event.generation = id->info.generation;
        event.id = id->info.id;
        event.process = id->info.process;
    }
    code_rest(coder, &event, tag, id);
    if (coder->error != 0)
        return read_error(coder);
    coder->ring = event.ring;
    coder->slot = event.slot;
    *ret_event = event;
    *ret_has_data = (tag & RECORD_HAS_DATA) != 0;
    return 1;
}

/* Data ------------------------------------------------------------------------------------------------------------- */

int coder_write_data(struct record_coder *coder, size_t offset, const struct record_data *data, size_t count)
{
    size_t begin = coder->count;

    coder->error = 0;
    put_number(coder, count);
    for (size_t i = 0; i < count; i++) {
        struct record_data copy = data[i];

        code_text(coder, &copy.name_space);
        code_text(coder, &copy.data);
    }
    if (coder->error != 0) {
        coder->count = begin;
        return coder->error;
    }
    coder->bytes[offset] |= RECORD_HAS_DATA;
    return 0;
}

int coder_read_data(struct record_coder *coder, struct record_data *data, size_t max, size_t *ret_count)
{
    const uint64_t count = get_number(coder);

    if (count > max)
        fail(coder, -EBADMSG);
    for (uint64_t i = 0; coder->error == 0 && i < count; i++) {
        code_text(coder, &data[i].name_space);
        code_text(coder, &data[i].data);
    }
    *ret_count = (size_t)count;
    return coder->error;
}

/* Repeating -------------------------------------------------------------------------------------------------------- */

static int repeat_bytes(const struct state_bytes *bytes, struct rip_event event, const struct rip_sink *sink)
{
    struct record_coder coder = {.bytes = bytes->bytes, .count = bytes->count};

    if (bytes->bytes == NULL)
        return 0;
    code_fields(&coder, &event, NULL);
    return coder.error == 0 ? sink->take(sink->context, &event) : coder.error;
}

static int repeat_process(const struct state_process *process, struct rip_event event, const struct rip_sink *sink)
{
    int result;

    event.kind = RIP_EVENT_PROCESS;
    result = repeat_bytes(&process->process, event, sink);
    event.kind = RIP_EVENT_MODULE;
    for (uint32_t i = 0; i < process->module_count && result == 0; i++)
        result = repeat_bytes(&process->modules[i], event, sink);
    event.kind = RIP_EVENT_DEATH;
    return result == 0 ? repeat_bytes(&process->death, event, sink) : result;
}

static int repeat_id(const struct state_id *id, struct rip_event event, const struct rip_sink *sink)
{
    int result;

    event.kind = RIP_EVENT_REGISTER;
    event.slot = id->info.slot;
    event.generation = id->info.generation;
    event.id = id->info.id;
    event.process = id->info.process;
    event.as.id_begin = (struct rip_event_id){.info = &id->info, .found = true};
    result = sink->take(sink->context, &event);
    event.kind = RIP_EVENT_NOTE;
    return result == 0 ? repeat_bytes(&id->note, event, sink) : result;
}

int coder_repeat(const struct recording_table *state, const struct record_times *times, const struct rip_sink *sink)
{
    int result = 0;

    for (size_t i = 0; i < state->ring_count && result == 0; i++) {
        const struct state_ring *ring = &state->rings[i];
        struct rip_event event = record_event(RIP_EVENT_RING, ring->number, times);

        result = repeat_bytes(&ring->ring, event, sink);
        event.kind = RIP_EVENT_SCRIPT;
        for (uint32_t j = 0; j < ring->script_count && result == 0; j++)
            result = repeat_bytes(&ring->scripts[j], event, sink);
        for (; event.process < ring->process_count && result == 0; event.process++)
            result = repeat_process(&ring->processes[event.process], event, sink);
        for (uint32_t j = 0; j < ring->id_count && result == 0; j++)
            result = repeat_id(&ring->ids[j], event, sink);
    }
    return result;
}
