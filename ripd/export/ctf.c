/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf.c - Common Trace Format 1.8 (the CTF specification, diamon.org): a stream of packets, and the metadata that
 * describes them. Pure.
 *
 * The time stamp of an event is the end of the interval in which it happened, when it was found. The field earliest_ns
 * is the begin of that interval. Entries that were overwritten before they were read count as events discarded by the
 * tracer, and an event "lost" names the id.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/known.h"
#include "util/array.h"
#include "util/text.h"

#define CTF_MAGIC UINT32_C(0xc1fc1fc1)
#define PACKET_BYTES (256u << 10) /* a packet is written when it has at least this size */

/* Events: name, and fields in addition to the common ones. The number of an event is its index, from 0. */
#define CTF_EVENT_TABLE(X)                                                                                             \
    X(RING, "ring", "string directory; uint32_t uid; uint8_t preload;")                                                \
    X(RING_END, "ring_end", "string reason;")                                                                          \
    X(PROCESS, "process", "uint32_t process_uid; uint64_t start_time_ticks;")                                          \
    X(MODULE, "module", "string path; string build_id; hex_t start; hex_t end;")                                       \
    X(DEATH, "death", "uint8_t has_status; int32_t status; uint8_t in_order; uint8_t core_dumped; uint8_t replaced;")  \
    X(REGISTER, "register", "uint8_t found; uint8_t kind; uint64_t snap_count;")                                       \
    X(STATE, "state", "uint8_t idle; uint8_t call; uint32_t deadline_ms;")                                             \
    X(SNAP, "snap",                                                                                                    \
      "uint64_t snap; string module; string build_id; hex_t offset; string function; string file; uint32_t line;")     \
    X(LOST, "lost", "uint64_t overwritten_count; uint32_t torn_count;")                                                \
    X(UNSEEN, "unseen", "uint64_t unseen_count;")                                                                      \
    X(NOTE, "note", "string note;")                                                                                    \
    X(EXIT, "exit", "uint8_t has_snap_count; uint64_t snap_count;")                                                    \
    X(FLUSH, "flush", "uint64_t flush_count;")                                                                         \
    X(TOTALS, "totals",                                                                                                \
      "uint8_t exact; uint64_t made_count; uint64_t recorded_count; uint64_t overwritten_count; "                      \
      "uint64_t unseen_count; uint64_t registered_count; uint64_t ended_count;")                                       \
    X(STALL_BEGIN, "stall_begin", "string cause; string summary; uint64_t episode; string json;")                      \
    X(STALL_END, "stall_end", "string cause; string summary; uint64_t episode; string json;")                          \
    X(DRAIN, "drain", "uint64_t sequence; uint64_t duration_ns;")

enum ctf_event {
#define X(name, text, fields) CTF_##name,
    CTF_EVENT_TABLE(X)
#undef X
};

#define METADATA_HEAD                                                                                                  \
    "/* CTF 1.8 */\n"                                                                                                  \
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"                                         \
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"                                       \
    "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"                                         \
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"                                       \
    "typealias integer { size = 64; align = 8; signed = false; base = 16; } := hex_t;\n"                               \
    "trace {\n"                                                                                                        \
    "    major = 1; minor = 8; byte_order = le;\n"                                                                     \
    "    packet.header := struct { uint32_t magic; uint32_t stream_id; };\n"                                           \
    "};\n"                                                                                                             \
    "env { tracer_name = \"librip\"; };\n"                                                                             \
    "clock {\n"                                                                                                        \
    "    name = \"wall\"; freq = 1000000000; offset = 0; absolute = true;\n"                                           \
    "    description = \"CLOCK_REALTIME: the end of the interval in which it happened\";\n"                            \
    "};\n"                                                                                                             \
    "typealias integer { size = 64; align = 8; signed = false; map = clock.wall.value; } := wall_t;\n"                 \
    "stream {\n"                                                                                                       \
    "    id = 0;\n"                                                                                                    \
    "    packet.context := struct {\n"                                                                                 \
    "        wall_t timestamp_begin; wall_t timestamp_end; uint64_t content_size; uint64_t packet_size;\n"             \
    "        uint64_t packet_seq_num; uint64_t events_discarded;\n"                                                    \
    "    };\n"                                                                                                         \
    "    event.header := struct { uint8_t id; wall_t timestamp; };\n"                                                  \
    "    event.context := struct {\n"                                                                                  \
    "        uint64_t earliest_ns; string ring; uint32_t pid; string comm; uint32_t id; uint32_t tid; string name;\n"  \
    "    };\n"                                                                                                         \
    "};\n"

struct bytes {
    unsigned char *data;
    size_t count;
    size_t capacity;
    bool failed; /* out of memory: sticky */
};

struct ctf {
    struct exporter base;
    struct bytes packet;    /* events of the packet that is being built */
    uint64_t first_wall_ns; /* of the packet */
    uint64_t last_wall_ns;  /* of all events */
    uint64_t packet_count;
    uint64_t discarded_count;
};

static void ctf_done(struct exporter *exporter)
{
    free(((struct ctf *)exporter)->packet.data);
}

/* Bytes ------------------------------------------------------------------------------------------------------------ */

static void put(struct bytes *bytes, const void *data, size_t count)
{
    if (!ARRAY_RESERVE(bytes->data, bytes->capacity, bytes->count + count)) {
        bytes->failed = true;
        return;
    }
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
}

static void put_number(struct bytes *bytes, uint64_t value, size_t byte_count)
{
    unsigned char little[sizeof(value)];

    for (size_t i = 0; i < byte_count; i++)
        little[i] = (unsigned char)(value >> (8 * i));
    put(bytes, little, byte_count);
}

static void put_u8(struct bytes *bytes, uint8_t value)
{
    put(bytes, &value, 1);
}

static void put_u32(struct bytes *bytes, uint32_t value)
{
    put_number(bytes, value, sizeof(value));
}

static void put_u64(struct bytes *bytes, uint64_t value)
{
    put_number(bytes, value, sizeof(value));
}

/* A string, cleaned. */
static void put_bytes(struct bytes *bytes, const void *text, size_t count)
{
    char clean[KNOWN_TEXT_BYTES];

    known_clean(text, count, clean);
    put(bytes, clean, strlen(clean) + 1);
}

/* NULL is "". */
static void put_string(struct bytes *bytes, const char *text)
{
    put_bytes(bytes, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
}

/* Packets ---------------------------------------------------------------------------------------------------------- */

static void write_packet(struct ctf *ctf)
{
    const size_t head_bytes = 2 * sizeof(uint32_t) + 6 * sizeof(uint64_t);
    uint64_t bits = (head_bytes + ctf->packet.count) * 8;
    struct bytes head = {.count = 0};

    if (ctf->packet.count == 0)
        return;
    put_u32(&head, CTF_MAGIC);
    put_u32(&head, 0);
    put_u64(&head, ctf->first_wall_ns);
    put_u64(&head, ctf->last_wall_ns);
    put_u64(&head, bits);
    put_u64(&head, bits);
    put_u64(&head, ctf->packet_count++);
    put_u64(&head, ctf->discarded_count);
    if (head.failed || ctf->packet.failed)
        export_fail(&ctf->base);
    export_write(&ctf->base, head.data, head.count);
    export_write(&ctf->base, ctf->packet.data, ctf->packet.count);
    ctf->packet.count = 0;
    free(head.data);
}

/* Writes what all events have. */
static struct bytes *begin_event(struct ctf *ctf, enum ctf_event number, const struct rip_event *event)
{
    const struct known_id known = known_find(&ctf->base, event);
    struct bytes *bytes = &ctf->packet;

    if (event->latest_wall_ns > ctf->last_wall_ns)
        ctf->last_wall_ns = event->latest_wall_ns; /* time stamps never go back, even if the clock was set back */
    if (bytes->count == 0)
        ctf->first_wall_ns = ctf->last_wall_ns;
    put_u8(bytes, (uint8_t)number);
    put_u64(bytes, ctf->last_wall_ns);
    put_u64(bytes, event->earliest_wall_ns);
    put_string(bytes, known.ring != NULL ? known.ring->name : NULL);
    put_u32(bytes, known.process != NULL ? known.process->pid : 0);
    put_string(bytes, known.process != NULL ? known.process->comm : NULL);
    put_u32(bytes, known.id != NULL ? known.id->info.id : event->id);
    put_u32(bytes, known.id != NULL ? known.sample->tid : 0);
    put_bytes(bytes, known.id != NULL ? (const char *)known.id->info.name : "",
              known.id != NULL ? known.id->info.name_bytes : 0);
    return bytes;
}

/* Events ----------------------------------------------------------------------------------------------------------- */

static void put_module(struct bytes *bytes, const struct rip_module_info *info)
{
    char build_id[2 * RIP_BUILD_ID_BYTES + 1];

    text_put_hex(build_id, info->build_id, info->build_id_bytes);
    put_bytes(bytes, info->path, info->path_bytes);
    put_string(bytes, build_id);
    put_u64(bytes, info->start);
    put_u64(bytes, info->end);
}

static void put_death(struct bytes *bytes, const struct rip_event_death *death)
{
    put_u8(bytes, death->has_status);
    put_u32(bytes, death->has_status ? (uint32_t)death->status : 0);
    put_u8(bytes, death->in_order);
    put_u8(bytes, death->core_dumped);
    put_u8(bytes, death->replaced);
}

static void put_entry(struct ctf *ctf, const struct rip_event *event, const struct rip_entry *entry)
{
    const struct known_place place = known_place(&ctf->base, known_find(&ctf->base, event).process, entry->address);
    const struct module_facts *module = place.module;
    struct bytes *bytes = begin_event(ctf, CTF_SNAP, event);

    put_u64(bytes, entry->snap);
    put_string(bytes, module != NULL ? module->name : NULL);
    put_string(bytes, module != NULL ? module->build_id : NULL);
    put_u64(bytes, module != NULL && !module->is_scripts ? place.offset : 0);
    put_string(bytes, place.frame.function);
    put_string(bytes, place.frame.file);
    put_u32(bytes, place.frame.line);
}

static void put_snap(struct ctf *ctf, const struct rip_event *event)
{
    const struct rip_event_snap *snap = &event->as.snap;

    if (snap->overwritten_count != 0) {
        struct bytes *bytes = begin_event(ctf, CTF_LOST, event);

        put_u64(bytes, snap->overwritten_count);
        put_u32(bytes, snap->torn_count);
        ctf->discarded_count += snap->overwritten_count;
    }
    for (uint32_t i = 0; i < snap->entry_count; i++)
        put_entry(ctf, event, &snap->entries[i]);
}

static void put_totals(struct ctf *ctf, const struct rip_event *event)
{
    const struct rip_event_totals *totals = &event->as.totals;
    const struct replay_ring *ring = known_find(&ctf->base, event).ring;
    const uint64_t before = ring != NULL ? ring->unseen_count : 0;
    const uint64_t more = totals->unseen_count > before ? totals->unseen_count - before : 0;
    struct bytes *bytes;

    if (more != 0) {
        put_u64(begin_event(ctf, CTF_UNSEEN, event), more);
        ctf->discarded_count += more;
    }
    bytes = begin_event(ctf, CTF_TOTALS, event);
    put_u8(bytes, totals->exact);
    put_u64(bytes, totals->made_count);
    put_u64(bytes, totals->recorded_count);
    put_u64(bytes, totals->overwritten_count);
    put_u64(bytes, totals->unseen_count);
    put_u64(bytes, totals->registered_count);
    put_u64(bytes, totals->ended_count);
}

static void put_stall(struct ctf *ctf, enum ctf_event number, const struct rip_event *event)
{
    const struct rip_text *json = &event->as.stall.json;
    json_t *document = json_loadb(json->bytes, json->count, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const char *cause = json_string_value(json_object_get(document, "cause"));
    const char *summary = json_string_value(json_object_get(document, "summary"));
    char *text = json_dumps(document, JSON_COMPACT); /* NULL: invalid JSON */
    struct bytes *bytes = begin_event(ctf, number, event);

    put_string(bytes, cause);
    put_string(bytes, summary);
    put_u64(bytes, (uint64_t)json_integer_value(json_object_get(document, "episode")));
    put_string(bytes, text);
    free(text);
    json_decref(document);
}

static void put_registered(struct bytes *bytes, const struct rip_event_id *id)
{
    put_u8(bytes, id->found);
    put_u8(bytes, id->info->kind);
    put_u64(bytes, id->info->snap_count);
}

static void put_state(struct bytes *bytes, const struct rip_id_info *info)
{
    put_u8(bytes, info->idle);
    put_u8(bytes, info->call);
    put_u32(bytes, info->deadline_ms);
}

static void put_ring(struct bytes *bytes, const struct rip_event_ring *ring)
{
    put_bytes(bytes, ring->directory.bytes, ring->directory.count);
    put_u32(bytes, ring->uid);
    put_u8(bytes, ring->preload);
}

static void put_event(struct ctf *ctf, const struct rip_event *event)
{
    struct bytes *bytes;

    switch (event->kind) {
    case RIP_EVENT_REGISTER:
        put_registered(begin_event(ctf, CTF_REGISTER, event), &event->as.id_begin);
        break;
    case RIP_EVENT_STATE:
        put_state(begin_event(ctf, CTF_STATE, event), event->as.state.info);
        break;
    case RIP_EVENT_SNAP:
        put_snap(ctf, event);
        break;
    case RIP_EVENT_NOTE:
        put_bytes(begin_event(ctf, CTF_NOTE, event), event->as.note->text, event->as.note->text_bytes);
        break;
    case RIP_EVENT_EXIT:
        bytes = begin_event(ctf, CTF_EXIT, event);
        put_u8(bytes, event->as.exit.has_snap_count);
        put_u64(bytes, event->as.exit.snap_count);
        break;
    case RIP_EVENT_TOTALS:
        put_totals(ctf, event);
        break;
    case RIP_EVENT_STALL_BEGIN:
        put_stall(ctf, CTF_STALL_BEGIN, event);
        break;
    case RIP_EVENT_STALL_END:
        put_stall(ctf, CTF_STALL_END, event);
        break;
    case RIP_EVENT_RING:
        put_ring(begin_event(ctf, CTF_RING, event), &event->as.ring_begin);
        break;
    case RIP_EVENT_RING_END:
        put_bytes(begin_event(ctf, CTF_RING_END, event), event->as.ring_end.reason.bytes,
                  event->as.ring_end.reason.count);
        break;
    case RIP_EVENT_PROCESS:
        bytes = begin_event(ctf, CTF_PROCESS, event);
        put_u32(bytes, event->as.process_begin->uid);
        put_u64(bytes, event->as.process_begin->start_time_ticks);
        break;
    case RIP_EVENT_MODULE:
        put_module(begin_event(ctf, CTF_MODULE, event), event->as.module.info);
        break;
    case RIP_EVENT_DEATH:
        put_death(begin_event(ctf, CTF_DEATH, event), &event->as.death);
        break;
    case RIP_EVENT_FLUSH:
        put_u64(begin_event(ctf, CTF_FLUSH, event), event->as.flush_count);
        break;
    case RIP_EVENT_DRAIN:
        bytes = begin_event(ctf, CTF_DRAIN, event);
        put_u64(bytes, event->as.drain.sequence);
        put_u64(bytes, event->as.drain.duration_ns);
        break;
    default:
        break;
    }
}

/* After an event that ends something, its subject is not known any more. */
static bool is_end(const struct rip_event *event)
{
    return event->kind == RIP_EVENT_EXIT || event->kind == RIP_EVENT_RING_END || event->kind == RIP_EVENT_TOTALS;
}

static void ctf_before(struct exporter *exporter, const struct rip_event *event)
{
    if (is_end(event))
        put_event((struct ctf *)exporter, event);
}

static void ctf_after(struct exporter *exporter, const struct rip_event *event)
{
    struct ctf *ctf = (struct ctf *)exporter;

    if (!is_end(event))
        put_event(ctf, event);
    if (ctf->packet.count >= PACKET_BYTES || ctf->packet.failed)
        write_packet(ctf);
}

static void ctf_finish(struct exporter *exporter)
{
    write_packet((struct ctf *)exporter);
}

char *export_ctf_metadata(void)
{
    static const char *const events[][2] = {
#define X(number, name, fields) {name, fields},
        CTF_EVENT_TABLE(X)
#undef X
    };
    char *text = NULL, *longer;

    if (asprintf(&text, "%s", METADATA_HEAD) < 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_COUNT(events); i++) {
        if (asprintf(&longer, "%sevent { name = \"%s\"; id = %zu; stream_id = 0; fields := struct { %s }; };\n", text,
                     events[i][0], i, events[i][1]) < 0)
            longer = NULL;
        free(text);
        text = longer;
        if (text == NULL)
            break;
    }
    return text;
}

const struct export_format export_ctf = {sizeof(struct ctf), ctf_before, ctf_after, ctf_finish, ctf_done};
