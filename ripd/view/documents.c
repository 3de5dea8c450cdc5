/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents.c - the head of list documents, the lists, and the documents that are not lists. Pure.
 *
 * Guarantees, in addition to those of documents.h
 *   D. The keys of the head have one order: schema, generated_at, scan, counts, unreadable_rings, total, returned,
 *      next. The list follows.
 *   E. "next" is present only if more items follow; it names the last item returned.
 *   F. A problem may quote what a client sent: its detail and parameter are escaped like any bytes of unknown origin.
 */
#include "view/documents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/item.h"
#include "view/query_parse.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

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
    [DOCUMENT_STALLS_BY_INCIDENT] = {"ripd/stalls-by-incident/1", "stalls"},
    [DOCUMENT_EVENTS] = {"ripd/events/1", "events"},
    [DOCUMENT_STATES] = {"ripd/states/1", "states"},
};

/* counts is NULL if not known. */
static void write_counts(struct json_writer *writer, const uint64_t *counts)
{
    if (!json_open_known(writer, "counts", '{', counts != NULL))
        return;
    for (int state = 0; state < ID_STATE_COUNT; state++)
        json_uint(writer, id_state_name((enum id_state)state), counts[state]);
    json_close(writer);
}

int document_head(const struct document *document, uint64_t now_wall_ns, uint64_t now_mono_ns, char **ret_text,
                  size_t *ret_length)
{
    uint64_t scanned_ns = document->scanned_mono_ns;
    char cursor[CURSOR_TEXT_BYTES];
    struct json_writer writer;

    json_begin(&writer, kinds[document->kind].schema);
    json_time(&writer, "generated_at", now_wall_ns);
    json_open(&writer, "scan", '{');
    json_uint(&writer, "sequence", document->sequence);
    json_ms(&writer, "age_ms", now_mono_ns > scanned_ns ? now_mono_ns - scanned_ns : 0);
    json_ms(&writer, "interval_ms", document->interval_ns);
    json_close(&writer);
    write_counts(&writer, document->counts);
    json_uint(&writer, "unreadable_rings", document->unreadable_ring_count);
    json_uint(&writer, "total", document->total);
    json_uint(&writer, "returned", document->returned);
    if (document->more) {
        cursor_format(&document->next, cursor);
        json_text(&writer, "next", cursor);
    }
    return json_finish(&writer, ret_text, ret_length); /* the body ends the object */
}

static struct document document_of(enum document_kind kind, const struct snapshot *snapshot,
                                   const uint64_t counts[ID_STATE_COUNT])
{
    struct document document = {
        .kind = kind,
        .sequence = snapshot->sequence,
        .scanned_mono_ns = snapshot->scanned_mono_ns,
        .interval_ns = snapshot->interval_ns,
        .unreadable_ring_count = snapshot_unreadable_count(snapshot),
    };

    memcpy(document.counts, counts, sizeof(document.counts));
    return document;
}

/* A body continues after the head: inside its object, after a value. */
static void begin_body(struct json_writer *writer)
{
    json_init(writer);
    writer->comma = true;
}

/* Ends a document that began with an object. */
static int finish(struct json_writer *writer, char **ret_text, size_t *ret_length)
{
    json_close(writer);
    writer->comma = false;
    json_line(writer);
    return json_finish(writer, ret_text, ret_length);
}

static int finish_body(struct json_writer *writer, struct document *document)
{
    return finish(writer, &document->body, &document->body_bytes);
}

/* Lists of ids and of groups of ids. */

struct document_build {
    struct document document;
    struct page *page; /* owns a reference */
    uint32_t trail_count;
    size_t next; /* index of the next item */
    bool in_list;
    struct json_writer writer;
};

struct document_build *document_build_new(enum document_kind kind, struct page *page, uint32_t trail_count)
{
    struct document_build *build = calloc(1, sizeof(*build));

    if (build == NULL)
        return NULL;
    build->document = document_of(kind, page->snapshot, page->counts);
    build->document.total = page->total;
    build->document.returned = page->states != NULL ? page->states->count : page->count;
    build->document.more = page->more;
    build->document.next = page->next;
    build->trail_count = trail_count;
    build->page = page_ref(page);
    begin_body(&build->writer);
    return build;
}

void document_build_free(struct document_build *build)
{
    if (build == NULL)
        return;
    json_done(&build->writer);
    page_unref(build->page);
    free(build);
}

/* Writes the fields before the list. */
static void build_first(struct document_build *build)
{
    struct json_writer *writer = &build->writer;
    const struct page *page = build->page;

    if (page->locations != NULL)
        json_uint(writer, "left_out", page->locations->left_out_count);
    if (page->roots != NULL)
        json_uint(writer, "alone", page->roots->alone_count);
    if (build->document.kind == DOCUMENT_STALLS_BY_INCIDENT) {
        json_uint(writer, "incidents", page->roots->incident_count);
        json_uint(writer, "asleep", page->roots->asleep_count);
    }
    if (build->document.kind == DOCUMENT_THREAD && page->count == 0)
        json_none(writer, "thread");
    else if (build->document.kind == DOCUMENT_THREAD)
        item_write(writer, "thread", &page->sightings[build->next++], build->trail_count);
    build->in_list = build->document.kind != DOCUMENT_THREAD || page->count > 1;
    if (build->in_list)
        json_open(writer, kinds[build->document.kind].list, '[');
}

/* Writes consecutive numbers as one pair: the first, and how many. */
static void write_runs(struct json_writer *writer, const uint32_t *ids, size_t count)
{
    size_t first = 0;

    json_open(writer, "ids", '[');
    for (size_t i = 1; i <= count; i++) {
        if (i < count && ids[i] == (uint64_t)ids[i - 1] + 1)
            continue;
        json_open(writer, NULL, '[');
        json_uint(writer, NULL, ids[first]);
        json_uint(writer, NULL, i - first);
        json_close(writer);
        first = i;
    }
    json_close(writer);
}

static void write_states(struct json_writer *writer, const struct state_map *map, const struct state_piece *piece)
{
    json_open(writer, NULL, '{');
    json_name(writer, "ring", piece->ring_name);
    json_bytes(writer, "letters", map->letters + piece->first, piece->count);
    write_runs(writer, map->ids + piece->first, piece->count);
    json_close(writer);
}

static void build_item(struct document_build *build, size_t i)
{
    struct json_writer *writer = &build->writer;
    const struct page *page = build->page;

    json_line(writer);
    if (page->locations != NULL)
        item_write_location_group(writer, &page->locations->groups[page->first + i]);
    else if (page->states != NULL)
        write_states(writer, page->states, &page->states->pieces[i]);
    else if (page->roots != NULL)
        item_write_root_group(writer, page->snapshot->waits, &page->roots->groups[page->first + i],
                              build->document.kind == DOCUMENT_STALLS_BY_INCIDENT);
    else
        item_write(writer, NULL, &page->sightings[i], build->trail_count);
}

int document_build_step(struct document_build *build, size_t bytes, struct document *ret_document)
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
        json_close(writer);
    *ret_document = build->document;
    return finish_body(writer, ret_document);
}

int document_page_body(enum document_kind kind, struct page *page, uint32_t trail_count, struct document *ret_document)
{
    struct document_build *build = document_build_new(kind, page, trail_count);
    int status = build == NULL ? -ENOMEM : document_build_step(build, SIZE_MAX, ret_document);

    document_build_free(build);
    return status;
}

/* Rings are listed in the snapshot's order, by name. Fields of a ring that cannot be read are null. */

static void write_refused(struct json_writer *writer, const struct rip_ring_info *info)
{
    if (!json_open_known(writer, "refused", '{', info != NULL))
        return;
#define X(field, text) json_uint(writer, text, info->field);
    RING_REFUSAL_TABLE(X)
#undef X
    json_close(writer);
}

static void write_processes(struct json_writer *writer, const struct ring_facts *ring)
{
    json_open(writer, "processes", '[');
    for (size_t i = 0; i < ring->process_count; i++) {
        json_open(writer, NULL, '{');
        json_uint(writer, "index", ring->processes[i]->index);
        item_write_process(writer, ring->processes[i]);
        json_bool(writer, "dead", ring->processes[i]->dead);
        json_close(writer);
    }
    json_close(writer);
}

/* All processes of a ring run one program, so the first determines the source. */
static const char *source_of(const struct ring_facts *ring)
{
    return ring->process_count != 0 ? process_source(ring->processes[0]) : NULL;
}

/* Writes whether every wait of the ring's threads can be judged. */
static void write_coverage(struct json_writer *writer, const struct ring_facts *ring)
{
    bool readable = ring->health == RING_READABLE;

    json_text(writer, "source", readable ? source_of(ring) : NULL);
    json_text(writer, "coverage", !readable ? NULL : ring->unseen ? "partial" : "full");
    json_open(writer, "coverage_reasons", '[');
    if (readable && ring->unseen)
        json_text(writer, NULL, "unseen_calls");
    json_close(writer);
}

static void write_ring(struct json_writer *writer, const struct ring_facts *ring)
{
    bool readable = ring->health == RING_READABLE;

    json_line(writer);
    json_open(writer, NULL, '{');
    json_name(writer, "ring", ring->name);
    json_name(writer, "directory", ring->directory);
    json_text(writer, "health", ring_health_name(ring->health));
    json_name(writer, "reason", ring->reason);
    if (readable)
        json_bool(writer, "dead", ring->dead);
    else
        json_none(writer, "dead");
    json_bool(writer, "unlinked", ring->unlinked);
    write_coverage(writer, ring);
    json_uint(writer, "uid", ring->uid);
    json_uint(writer, "file_bytes", ring->file_bytes);
    json_uint(writer, "capacity", readable ? ring->slot_capacity : JSON_UNKNOWN);
    json_uint(writer, "live", readable ? ring->live_count : JSON_UNKNOWN);
    write_counts(writer, readable ? ring->counts : NULL);
    json_uint(writer, "modules_dropped", readable ? ring->info.modules_dropped_count : JSON_UNKNOWN);
    json_uint(writer, "registered", readable ? ring->info.registered_count : JSON_UNKNOWN);
    write_refused(writer, readable ? &ring->info : NULL);
    json_time(writer, "created_at", readable ? ring->info.created_wall_ns : 0);
    write_processes(writer, ring);
    json_close(writer);
}

/* Writes the users that hit a limit: why some of their items are missing here or are late. */
static void write_limited(struct json_writer *writer, const struct snapshot *snapshot)
{
    json_open(writer, "limited", '[');
    for (size_t i = 0; i < snapshot->limited_count; i++) {
        json_open(writer, NULL, '{');
        json_uint(writer, "uid", snapshot->limited[i].uid);
        json_text(writer, "limit", snapshot->limited[i].limit);
        json_uint(writer, "refused", snapshot->limited[i].refused_count);
        json_close(writer);
    }
    json_close(writer);
}

static bool has_process(const struct ring_facts *ring, uint32_t pid)
{
    for (size_t i = 0; i < ring->process_count; i++)
        if (ring->processes[i]->pid == pid)
            return true;
    return false;
}

static bool ring_matches(const struct ring_facts *ring, const struct query_filter *filter)
{
    return query_selects_ring(filter, ring->name) && (filter->query->pid == 0 || has_process(ring, filter->query->pid));
}

/* A cursor names the last ring returned by its serial and, in case that ring is gone, by its index. */
static size_t first_index(const struct snapshot *snapshot, const struct query_cursor *after)
{
    if (!after->present)
        return 0;
    for (size_t i = 0; i < snapshot->ring_count; i++)
        if (snapshot->rings[i].serial == after->ring)
            return i + 1;
    return after->slot;
}

int document_rings_body(const struct snapshot *snapshot, const struct query *query, struct document *ret_document)
{
    static const uint64_t none[ID_STATE_COUNT];
    struct document document = document_of(DOCUMENT_RINGS, snapshot, none);
    size_t first = first_index(snapshot, &query->after);
    struct query_filter filter;
    struct json_writer writer;

    query_filter_make(&filter, query);
    begin_body(&writer);
    write_limited(&writer, snapshot);
    json_open(&writer, "rings", '[');
    for (size_t i = 0; i < snapshot->ring_count; i++) {
        const struct ring_facts *ring = &snapshot->rings[i];

        if (!ring_matches(ring, &filter))
            continue;
        for (int state = 0; state < ID_STATE_COUNT; state++)
            document.counts[state] += ring->counts[state];
        document.total++;
        if (i < first)
            continue;
        if (document.returned == query->limit) {
            document.more = true;
            continue;
        }
        write_ring(&writer, ring);
        document.returned++;
        document.next = (struct query_cursor){.present = true, .ring = ring->serial, .slot = (uint32_t)i};
    }
    json_close(&writer);
    *ret_document = document;
    return finish_body(&writer, ret_document);
}

/*
 * Events: their texts were made when they happened. Before the list are the facts about what is not in it: events are
 * held from `oldest` to `newest`; `forgotten` counts the earlier ones; `suppressed` counts stalls that became no event.
 */
int document_events_body(const struct snapshot *snapshot, const struct query *query, const struct event_page *page,
                         struct document *ret_document)
{
    bool none_held = page->oldest_sequence > page->newest_sequence;
    uint64_t counts[ID_STATE_COUNT];
    char epoch[EVENT_EPOCH_BYTES];
    struct document document;
    struct query_filter filter;
    struct json_writer writer;

    query_filter_make(&filter, query);
    query_count(&filter, snapshot, counts);
    document = document_of(DOCUMENT_EVENTS, snapshot, counts);

    document.total = page->total;
    document.returned = page->count;
    document.more = page->more;
    if (page->count != 0)
        document.next = (struct query_cursor){.present = true, .sequence = page->events[page->count - 1]->sequence};
    event_epoch_format(page->epoch, epoch);
    begin_body(&writer);
    json_text(&writer, "epoch", epoch);
    json_uint(&writer, "oldest", none_held ? JSON_UNKNOWN : page->oldest_sequence);
    json_uint(&writer, "newest", json_nonzero(page->newest_sequence));
    json_uint(&writer, "forgotten", page->forgotten_count);
    json_uint(&writer, "suppressed", page->suppressed_count);
    json_open(&writer, "events", '[');
    for (size_t i = 0; i < page->count; i++) {
        json_line(&writer);
        json_raw(&writer, NULL, page->events[i]->text, page->events[i]->text_bytes);
    }
    json_close(&writer);
    *ret_document = document;
    return finish_body(&writer, ret_document);
}

/* Documents that are not lists. */

int document_version(char **ret_text, size_t *ret_length)
{
    struct json_writer writer;

    json_begin(&writer, "ripd/version/1");
    json_text(&writer, "version", RIP_VERSION);
    json_text(&writer, "compiler", COMPILER);
    json_uint(&writer, "ring_format", RIP_FORMAT_VERSION);
    return finish(&writer, ret_text, ret_length);
}

int document_health(const char *status, char **ret_text, size_t *ret_length)
{
    struct json_writer writer;

    json_begin(&writer, "ripd/health/1");
    json_text(&writer, "status", status);
    return finish(&writer, ret_text, ret_length);
}

int document_problem(int status, const char *title, const char *detail, const char *parameter, char **ret_text,
                     size_t *ret_length)
{
    struct json_writer writer;

    json_begin(&writer, NULL);
    json_text(&writer, "type", "about:blank");
    json_text(&writer, "title", title);
    json_uint(&writer, "status", (uint64_t)status);
    if (detail != NULL)
        json_text(&writer, "detail", detail);
    if (parameter != NULL)
        json_text(&writer, "parameter", parameter);
    return finish(&writer, ret_text, ret_length);
}
