/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents_rings.c - the rings as JSON: where they lie, whose they are, what went wrong with them. Pure.
 *
 * Guarantees
 *   A. Facts that stand in a ring which cannot be read are null.
 *   B. The order is the snapshot's, by name; a cursor names the last ring returned by its serial and, should that ring
 *      be gone, by its place.
 */
#include "view/documents.h"

#include <string.h>

#include "view/document_parts.h"

static void write_refused(struct json_writer *writer, const struct rip_ring_info *info)
{
    const struct {
        const char *key;
        uint64_t count;
    } reasons[] = {
#define X(field, text) {text, info->field},
        RING_REFUSAL_TABLE(X)
#undef X
    };

    json_object_begin(writer);
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        json_key(writer, reasons[i].key);
        json_uint(writer, reasons[i].count);
    }
    json_object_end(writer);
}

/* What the ring tells of itself. */
static void write_contents(struct json_writer *writer, const struct ring_facts *ring, bool readable)
{
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"capacity", ring->slot_capacity},
        {"live", ring->live_count},
        {"modules_dropped", ring->info.modules_dropped_count},
        {"registered", ring->info.registered_count},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        json_key(writer, numbers[i].key);
        if (readable)
            json_uint(writer, numbers[i].value);
        else
            json_none(writer);
    }
    json_key(writer, "refused");
    if (readable)
        write_refused(writer, &ring->info);
    else
        json_none(writer);
    part_time(writer, "created_at", readable ? ring->info.created_wall_ns : 0);
}

static void write_processes(struct json_writer *writer, const struct ring_facts *ring)
{
    json_key(writer, "processes");
    json_array_begin(writer);
    for (size_t i = 0; i < ring->process_count; i++) {
        json_object_begin(writer);
        json_key(writer, "index");
        json_uint(writer, ring->processes[i]->index);
        part_process(writer, ring->processes[i]);
        json_key(writer, "dead");
        json_bool(writer, ring->processes[i]->dead);
        json_object_end(writer);
    }
    json_array_end(writer);
}

static void write_ring(struct json_writer *writer, const struct ring_facts *ring)
{
    bool readable = ring->health == RING_READABLE;

    json_object_begin(writer);
    part_text(writer, "ring", "ring_hex", ring->name);
    part_text(writer, "directory", "directory_hex", ring->directory);
    json_key(writer, "health");
    json_text(writer, ring_health_name(ring->health));
    part_text(writer, "reason", "reason_hex", ring->reason);
    json_key(writer, "dead");
    if (readable)
        json_bool(writer, ring->dead);
    else
        json_none(writer);
    json_key(writer, "unlinked");
    json_bool(writer, ring->unlinked);
    json_key(writer, "uid");
    json_uint(writer, ring->uid);
    json_key(writer, "file_bytes");
    json_uint(writer, ring->file_bytes);
    write_contents(writer, ring, readable);
    write_processes(writer, ring);
    json_object_end(writer);
}

/* Users that hit a limit: why something of theirs is missing here or is reported late. */
static void write_limited(struct json_writer *writer, const struct snapshot *snapshot)
{
    json_key(writer, "limited");
    json_array_begin(writer);
    for (size_t i = 0; i < snapshot->limited_count; i++) {
        const struct limited_user *user = &snapshot->limited[i];

        json_object_begin(writer);
        part_uint(writer, "uid", user->uid);
        json_key(writer, "limit");
        json_text(writer, user->limit);
        part_uint(writer, "refused", user->refused_count);
        json_object_end(writer);
    }
    json_array_end(writer);
}

static bool has_process(const struct ring_facts *ring, uint32_t pid)
{
    for (size_t i = 0; i < ring->process_count; i++)
        if (ring->processes[i]->pid == pid)
            return true;
    return false;
}

static bool ring_matches(const struct ring_facts *ring, const struct query *query)
{
    return (query->ring[0] == '\0' || (ring->name != NULL && strcmp(ring->name, query->ring) == 0)) &&
           (query->pid == 0 || has_process(ring, query->pid));
}

static size_t first_index(const struct snapshot *snapshot, const struct query_cursor *after)
{
    if (!after->present)
        return 0;
    for (size_t i = 0; i < snapshot->ring_count; i++)
        if (snapshot->rings[i].serial == after->ring)
            return i + 1;
    return after->slot;
}

int document_rings_body(const struct snapshot *snapshot, const struct query *query, struct document_frame *ret_frame,
                        char **ret_text, size_t *ret_length)
{
    struct document_frame frame = part_frame(DOCUMENT_RINGS, snapshot);
    size_t first = first_index(snapshot, &query->after);
    struct json_writer writer;
    int status;

    part_body_begin(&writer);
    write_limited(&writer, snapshot);
    json_key(&writer, "rings");
    json_array_begin(&writer);
    for (size_t i = 0; i < snapshot->ring_count; i++) {
        const struct ring_facts *ring = &snapshot->rings[i];

        if (!ring_matches(ring, query))
            continue;
        frame.total++;
        if (i < first)
            continue;
        if (frame.returned == query->limit) {
            frame.more = true;
            continue;
        }
        json_line(&writer);
        write_ring(&writer, ring);
        frame.returned++;
        frame.next = (struct query_cursor){.present = true, .ring = ring->serial, .slot = (uint32_t)i};
    }
    json_array_end(&writer);
    status = part_finish(&writer, ret_text, ret_length);
    if (status == 0)
        *ret_frame = frame;
    return status;
}
