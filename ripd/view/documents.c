/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents.c - the frame that every list document has, and the lists of ids. Pure.
 *
 * Guarantees
 *   A. The keys of the frame come in one order: schema, generated_at, scan, counts, total, returned, next, the list.
 *   B. "next" is there only when more follow; it names the last item returned.
 */
#include "view/documents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/document_parts.h"
#include "view/fragments.h"
#include "view/query_parse.h"

#define NS_PER_MS 1000000u
#define FRAGMENTS_WORTH 4u /* so many ids may have something in common */

static const struct {
    const char *schema;
    const char *list;
} kinds[DOCUMENT_KIND_COUNT] = {
    [DOCUMENT_STALLS] = {"ripd/stalls/1", "stalls"},
    [DOCUMENT_THREADS] = {"ripd/threads/1", "threads"},
    [DOCUMENT_THREAD] = {"ripd/thread/1", "others"},
    [DOCUMENT_RINGS] = {"ripd/rings/1", "rings"},
    [DOCUMENT_LOCATIONS] = {"ripd/locations/1", "locations"},
    [DOCUMENT_STALLS_BY_LOCATION] = {"ripd/stalls-by-location/1", "stalls"},
    [DOCUMENT_THREADS_BY_LOCATION] = {"ripd/threads-by-location/1", "threads"},
    [DOCUMENT_STALLS_BY_ROOT] = {"ripd/stalls-by-root/1", "stalls"},
    [DOCUMENT_EVENTS] = {"ripd/events/1", "events"},
};

static void write_scan(struct json_writer *writer, const struct document_frame *frame, uint64_t now_mono_ns)
{
    uint64_t scanned_ns = frame->scanned_mono_ns;

    json_key(writer, "scan");
    json_object_begin(writer);
    json_key(writer, "sequence");
    json_uint(writer, frame->sequence);
    json_key(writer, "age_ms");
    json_uint(writer, now_mono_ns > scanned_ns ? (now_mono_ns - scanned_ns) / NS_PER_MS : 0);
    json_key(writer, "interval_ms");
    json_uint(writer, frame->interval_ns / NS_PER_MS);
    json_object_end(writer);
}

static void write_counts(struct json_writer *writer, const struct document_frame *frame)
{
    json_key(writer, "counts");
    json_object_begin(writer);
    for (int state = 0; state < ID_STATE_COUNT; state++) {
        json_key(writer, id_state_name((enum id_state)state));
        json_uint(writer, frame->counts[state]);
    }
    json_object_end(writer);
}

int document_head(const struct document_frame *frame, uint64_t now_wall_ns, uint64_t now_mono_ns, char **ret_text,
                  size_t *ret_length)
{
    char cursor[CURSOR_TEXT_BYTES];
    struct json_writer writer;

    json_init(&writer);
    json_object_begin(&writer);
    json_key(&writer, "schema");
    json_text(&writer, kinds[frame->kind].schema);
    json_key(&writer, "generated_at");
    json_time(&writer, now_wall_ns);
    write_scan(&writer, frame, now_mono_ns);
    write_counts(&writer, frame);
    json_key(&writer, "total");
    json_uint(&writer, frame->total);
    json_key(&writer, "returned");
    json_uint(&writer, frame->returned);
    if (frame->more) {
        cursor_format(&frame->next, cursor);
        json_key(&writer, "next");
        json_text(&writer, cursor);
    }
    return json_finish(&writer, ret_text, ret_length); /* the object is ended by the body */
}

struct document_frame part_frame(enum document_kind kind, const struct snapshot *snapshot)
{
    struct document_frame frame = {
        .kind = kind,
        .sequence = snapshot->sequence,
        .scanned_mono_ns = snapshot->scanned_mono_ns,
        .interval_ns = snapshot->interval_ns,
    };

    memcpy(frame.counts, snapshot->counts, sizeof(frame.counts));
    return frame;
}

void part_body_begin(struct json_writer *writer)
{
    json_init(writer);
    writer->depth = 1;
    writer->comma = true;
}

void part_end(struct json_writer *writer)
{
    json_object_end(writer);
    writer->comma = false;
    json_raw(writer, "\n", 1);
}

int part_finish(struct json_writer *writer, char **ret_text, size_t *ret_length)
{
    part_end(writer);
    return json_finish(writer, ret_text, ret_length);
}

struct document_build {
    enum document_kind kind;
    struct page *page; /* a reference */
    uint32_t trail_count;
    size_t next; /* item */
    bool in_list;
    struct fragments *fragments; /* of the page's places */
    struct json_writer writer;
};

struct document_build *document_build_new(enum document_kind kind, struct page *page, uint32_t trail_count,
                                          struct document_frame *ret_frame)
{
    struct document_frame frame = part_frame(kind, page->snapshot);
    struct document_build *build = calloc(1, sizeof(*build));

    if (build == NULL)
        return NULL;
    frame.total = page->total;
    frame.returned = page->count;
    frame.more = page->more;
    frame.next = page->next;
    *ret_frame = frame;
    build->kind = kind;
    build->trail_count = trail_count;
    build->page = page_ref(page);
    if (page->count >= FRAGMENTS_WORTH)
        build->fragments = fragments_new();
    part_body_begin(&build->writer);
    return build;
}

void document_build_free(struct document_build *build)
{
    if (build == NULL)
        return;
    json_done(&build->writer);
    fragments_free(build->fragments);
    page_unref(build->page);
    free(build);
}

/* What stands before the list. */
static void build_first(struct document_build *build)
{
    struct json_writer *writer = &build->writer;
    const struct page *page = build->page;

    if (page->locations != NULL) {
        json_key(writer, "left_out");
        json_uint(writer, page->locations->left_out_count);
    }
    if (page->roots != NULL)
        part_uint(writer, "alone", page->roots->alone_count);
    if (build->kind == DOCUMENT_THREAD) {
        json_key(writer, "thread");
        if (page->count == 0)
            json_none(writer);
        else
            part_item(writer, &page->sightings[build->next++], build->trail_count, build->fragments);
    }
    build->in_list = build->kind != DOCUMENT_THREAD || page->count > 1;
    if (build->in_list) {
        json_key(writer, kinds[build->kind].list);
        json_array_begin(writer);
    }
}

static void build_item(struct document_build *build, size_t i)
{
    struct json_writer *writer = &build->writer;
    const struct page *page = build->page;

    json_line(writer);
    if (page->locations != NULL)
        part_group(writer, &page->locations->groups[page->first + i]);
    else if (page->roots != NULL)
        part_root(writer, page->snapshot->waits, &page->roots->groups[page->first + i]);
    else
        part_item(writer, &page->sightings[i], build->trail_count, build->fragments);
}

int document_build_step(struct document_build *build, size_t bytes, char **ret_text, size_t *ret_length)
{
    struct json_writer *writer = &build->writer;
    const struct page *page = build->page;
    size_t until = bytes < SIZE_MAX - writer->length ? writer->length + bytes : SIZE_MAX;

    if (build->next == 0)
        build_first(build);
    while (build->next < page->count && writer->length < until && !writer->failed)
        build_item(build, build->next++);
    if (build->next < page->count && !writer->failed)
        return 1;
    if (build->in_list)
        json_array_end(writer);
    return part_finish(writer, ret_text, ret_length);
}

int document_page_body(enum document_kind kind, struct page *page, uint32_t trail_count,
                       struct document_frame *ret_frame, char **ret_text, size_t *ret_length)
{
    struct document_build *build = document_build_new(kind, page, trail_count, ret_frame);
    int status = build == NULL ? -ENOMEM : document_build_step(build, SIZE_MAX, ret_text, ret_length);

    document_build_free(build);
    return status;
}
