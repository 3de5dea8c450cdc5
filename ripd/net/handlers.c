/* SPDX-License-Identifier: Apache-2.0 */
/* handlers.c - from a request to its answer: finds the route, parses the parameters, calls the route's handler. */
#include "net/handlers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/connection.h"
#include "net/pending.h"
#include "net/streams.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/proc.h"
#include "util/array.h"
#include "util/text.h"
#include "view/metrics.h"
#include "view/query_parse.h"
#include "web/assets.h"

#define READY_INTERVALS 3u /* a scan older than this many intervals is late */
#define JSON_TYPE "application/json"
#define EVENTS_FIELDS "Vary: Accept\r\n" /* /events is a list or a stream */
#define ARGUMENTS_MAX 2u
#define ID_BYTES 32u /* of its decimal text, with leading zeros */

static const char NO_MEMORY[] = "Out of memory.";
static const char RETRY_SOON[] = "Retry-After: 1\r\n";

static void answer_text(struct connection *connection, int status, const char *content_type, char *text, size_t length)
{
    const struct answer answer = {.status = 200, .content_type = content_type, .text = text, .text_bytes = length};

    if (status < 0)
        connection_problem(connection, 500, NO_MEMORY, NULL, NULL);
    else
        connection_answer(connection, &answer);
}

static void answer_not_modified(struct connection *connection, enum document_kind kind, const char *tag)
{
    const struct answer answer = {
        .status = 304, .extra_fields = kind == DOCUMENT_EVENTS ? EVENTS_FIELDS : NULL, .tag = tag};

    connection->server->health.not_modified_count++;
    connection_answer(connection, &answer);
}

void answer_list(struct connection *connection, struct list *list)
{
    struct span tags = connection->request.fields[FIELD_IF_NONE_MATCH].value;
    struct answer answer = {
        .status = 200,
        .content_type = JSON_TYPE,
        .extra_fields = list->document.kind == DOCUMENT_EVENTS ? EVENTS_FIELDS : NULL,
        .list = list,
        .tag = list->tag,
    };

    if (list->document.kind == DOCUMENT_THREAD && list->document.returned == 0)
        connection_problem(connection, 404, "No ring of this name has a live id of this number.", NULL, NULL);
    else if (span_equals(tags, "*") || preference_names_tag(tags, list->tag))
        answer_not_modified(connection, list->document.kind, list->tag);
    else if (document_head(&list->document, clock_wall_ns(), clock_mono_ns(), &answer.text, &answer.text_bytes) < 0)
        connection_problem(connection, 500, NO_MEMORY, NULL, NULL);
    else
        connection_answer(connection, &answer);
}

/* Returns false before the first scan, after answering. */
static bool scanned(struct connection *connection)
{
    if (connection->server->snapshot != NULL)
        return true;
    connection_problem(connection, 503, "The first scan is not complete yet.", NULL, RETRY_SOON);
    return false;
}

static uint64_t scan_of(const struct connection *connection)
{
    const struct snapshot *snapshot = connection->server->snapshot;

    return snapshot == NULL ? 0 : snapshot->sequence;
}

/*
 * Returns true, after answering, if nothing has to be built: there is no scan yet, or the client or the server has the
 * list.
 */
static bool answer_kept(struct connection *connection, enum document_kind kind, uint64_t version)
{
    const struct server *server = connection->server;
    struct span tags = connection->request.fields[FIELD_IF_NONE_MATCH].value;
    char tag[ETAG_TEXT_BYTES];
    struct list *list;

    if (!scanned(connection))
        return true;
    list = lists_find(server->lists, connection_key(connection), server->snapshot->sequence, version);
    if (list != NULL) {
        answer_list(connection, list);
        return true;
    }
    if (tags.length == 0)
        return false;
    list_tag(server->lists, connection_key(connection), version, tag);
    if (!preference_names_tag(tags, tag))
        return false;
    answer_not_modified(connection, kind, tag);
    return true;
}

/* Stores a new list and answers with it. Takes ownership of its body if status is 0. */
static void answer_made(struct connection *connection, uint64_t version, int status, const struct document *document)
{
    struct list *list =
        status < 0 ? NULL : lists_add(connection->server->lists, connection_key(connection), version, document);

    if (list == NULL) {
        connection_problem(connection, 500, NO_MEMORY, NULL, NULL);
        return;
    }
    connections_drop_stalled(connection->server);
    answer_list(connection, list);
    list_unref(list);
}

/* A list of ids, or of groups of ids. */
static void answer_ids(struct connection *connection, const struct query *query, enum document_kind kind)
{
    if (!answer_kept(connection, kind, scan_of(connection)))
        pending_join(connection, kind, query);
}

static void handle_stalls(struct connection *connection, struct query *query)
{
    static const enum document_kind kinds[] = {
        [QUERY_GROUP_NONE] = DOCUMENT_STALLS,
        [QUERY_GROUP_LOCATION] = DOCUMENT_STALLS_BY_LOCATION,
        [QUERY_GROUP_ROOT] = DOCUMENT_STALLS_BY_ROOT,
        [QUERY_GROUP_INCIDENT] = DOCUMENT_STALLS_BY_INCIDENT,
    };

    query->list = QUERY_LIST_STALLS;
    answer_ids(connection, query, kinds[query->group]);
}

static void handle_threads(struct connection *connection, struct query *query)
{
    answer_ids(connection, query,
               query->group == QUERY_GROUP_LOCATION ? DOCUMENT_THREADS_BY_LOCATION : DOCUMENT_THREADS);
}

static void handle_thread(struct connection *connection, struct query *query)
{
    answer_ids(connection, query, DOCUMENT_THREAD);
}

static void handle_states(struct connection *connection, struct query *query)
{
    query->list = QUERY_LIST_STATES;
    if (!query->has_limit)
        query->limit = QUERY_STATES_DEFAULT;
    answer_ids(connection, query, DOCUMENT_STATES);
}

static void handle_locations(struct connection *connection, struct query *query)
{
    query->group = QUERY_GROUP_LOCATION;
    answer_ids(connection, query, DOCUMENT_LOCATIONS);
}

static void handle_rings(struct connection *connection, struct query *query)
{
    struct document document;
    int status;

    if (answer_kept(connection, DOCUMENT_RINGS, scan_of(connection)))
        return;
    status = document_rings_body(connection->server->snapshot, query, &document);
    answer_made(connection, document.sequence, status, &document);
}

/* Selects the events held that match the query, newest first. The caller frees the array. Returns 0 or -ENOMEM. */
static int select_events(const struct server *server, const struct query *query, struct event_page *ret_page)
{
    const struct event_store *store = &server->events;
    size_t room = store->count < query->limit ? store->count : query->limit;
    struct event_page page = {
        .events = calloc(room + 1, sizeof(struct event *)),
        .epoch = server->epoch,
        .oldest_sequence = event_store_oldest(store),
        .newest_sequence = store->newest_sequence,
        .forgotten_count = store->newest_sequence - store->count,
        .suppressed_count = server->snapshot->health.limit_counts[HEALTH_LIMIT_EPISODES],
    };
    const struct query asked = query_at(query, server->snapshot->scanned_wall_ns);
    struct query_filter filter;

    if (page.events == NULL)
        return -ENOMEM;
    query_filter_make(&filter, &asked);
    for (size_t i = store->count; i-- != 0;) {
        struct event *event = event_store_at(store, i);

        if (!query_matches_event(&filter, event))
            continue;
        page.total++;
        if (query->after.present && event->sequence >= query->after.sequence)
            continue;
        if (page.count < room)
            page.events[page.count++] = event;
        else
            page.more = true;
    }
    *ret_page = page;
    return 0;
}

static void handle_events(struct connection *connection, struct query *query)
{
    const struct server *server = connection->server;
    /* with a relative `since`, events leave the list without a new event */
    uint64_t version = server->events.newest_sequence + (query->since_ago_ns != 0 ? scan_of(connection) : 0);
    struct document document;
    struct event_page page;
    int status;

    if (preference_is_stream(connection->request.fields[FIELD_ACCEPT].value)) {
        stream_open(connection, query);
        return;
    }
    if (answer_kept(connection, DOCUMENT_EVENTS, version))
        return;
    status = select_events(server, query, &page);
    if (status == 0) {
        status = document_events_body(server->snapshot, query, &page, &document);
        free(page.events);
    }
    answer_made(connection, version, status, &document);
}

static int process_usage(struct health_process *ret_process)
{
    int proc = file_open_directory("/proc");
    struct health_process process = {.cpu_ns = clock_cpu_ns(), .descriptors_max = file_descriptors_max()};
    struct proc_memory memory;
    int result;

    if (proc < 0)
        return proc;
    result = proc_own_descriptors(proc, &process.descriptor_count);
    if (result == 0)
        result = proc_own_memory(proc, &memory);
    close(proc);
    if (result != 0)
        return result;
    process.virtual_bytes = memory.virtual_bytes;
    process.resident_bytes = memory.resident_bytes;
    process.anonymous_bytes = memory.anonymous_bytes;
    *ret_process = process;
    return 0;
}

static void handle_metrics(struct connection *connection, struct query *query)
{
    const struct server *server = connection->server;
    struct health_process process;
    struct health_http http;
    const struct metrics_input input = {
        .snapshot = server->snapshot,
        .http = &http,
        .process = process_usage(&process) == 0 ? &process : NULL,
        .now_mono_ns = clock_mono_ns(),
    };
    size_t length = 0;
    char *text = NULL;
    int status;

    (void)query;
    server_health(server, &http);
    status = metrics_render(&input, &text, &length);
    answer_text(connection, status, METRICS_CONTENT_TYPE, text, length);
}

static void answer_health(struct connection *connection, const char *word)
{
    size_t length = 0;
    char *text = NULL;
    int status = document_health(word, &text, &length);

    answer_text(connection, status, JSON_TYPE, text, length);
}

static void handle_healthz(struct connection *connection, struct query *query)
{
    (void)query;
    answer_health(connection, "ok");
}

static void handle_readyz(struct connection *connection, struct query *query)
{
    const struct snapshot *snapshot = connection->server->snapshot;

    (void)query;
    if (!scanned(connection))
        return;
    if (clock_mono_ns() > snapshot->scanned_mono_ns + READY_INTERVALS * snapshot->interval_ns)
        connection_problem(connection, 503, "The last scan is older than three intervals.", NULL, RETRY_SOON);
    else
        answer_health(connection, "ready");
}

static void handle_version(struct connection *connection, struct query *query)
{
    size_t length = 0;
    char *text = NULL;
    int status = document_version(&text, &length);

    (void)query;
    answer_text(connection, status, JSON_TYPE, text, length);
}

/* Everything that the page loads comes from here, and nothing is inline: no displayed name can become code. */
static const char PAGE_POLICY[] = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                                  "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void answer_asset(struct connection *connection, const struct web_asset *asset)
{
    struct span tags = connection->request.fields[FIELD_IF_NONE_MATCH].value;
    struct answer answer = {.status = 200, .tag = asset->tag, .policy = PAGE_POLICY};

    if (span_equals(tags, "*") || preference_names_tag(tags, asset->tag)) {
        answer.status = 304;
        connection->server->health.not_modified_count++;
    } else {
        answer.content_type = asset->content_type;
        answer.constant = asset->bytes;
        answer.constant_bytes = asset->length;
    }
    connection_answer(connection, &answer);
}

static void handle_page(struct connection *connection, struct query *query)
{
    (void)query;
    answer_asset(connection, web_asset_find(WEB_PAGE_NAME, strlen(WEB_PAGE_NAME)));
}

static void handle_page_file(struct connection *connection, struct query *query)
{
    const size_t folder = sizeof("/page/") - 1; /* of the route's pattern */
    struct span path = connection->request.path;
    const struct web_asset *asset = web_asset_find(path.bytes + folder, path.length - folder);

    (void)query;
    if (asset == NULL)
        connection_problem(connection, 404, "The page has no file of this name.", NULL, NULL);
    else
        answer_asset(connection, asset);
}

#define WHOSE (PARAMETER_RING | PARAMETER_PID | PARAMETER_NAME | PARAMETER_UNIT | PARAMETER_CONTAINER)
#define IDS (WHOSE | PARAMETER_CAUSE | PARAMETER_MIN_MS | PARAMETER_LIMIT | PARAMETER_AFTER)
#define EVENTS                                                                                                         \
    (WHOSE | PARAMETER_CAUSE | PARAMETER_MIN_MS | PARAMETER_KIND | PARAMETER_SINCE | PARAMETER_LIMIT |                 \
     PARAMETER_AFTER_EVENT)

const struct route routes[] = {
    {"/stalls", IDS | PARAMETER_TRAIL | PARAMETER_GROUP_STALLS | PARAMETER_INCIDENT, 4, handle_stalls,
     "stalled ids, longest first"},
    {"/threads", IDS | PARAMETER_TRAIL | PARAMETER_STATE | PARAMETER_GROUP, 0, handle_threads,
     "every live id with its state and last location"},
    {"/threads/RING/ID", PARAMETER_TRAIL, QUERY_TRAIL_MAX, handle_thread, "one id with its whole trail"},
    {"/locations", IDS | PARAMETER_STATE, 0, handle_locations,
     "live ids grouped by last location, largest group first"},
    {"/states", WHOSE | PARAMETER_LIMIT_STATES | PARAMETER_AFTER, 0, handle_states,
     "the state of every live id in a few bytes per id, for an overview picture"},
    {"/rings", PARAMETER_RING | PARAMETER_PID | PARAMETER_LIMIT | PARAMETER_AFTER, 0, handle_rings,
     "each ring: processes, capacity, refused registrations; unreadable and damaged ones with the reason"},
    {"/events", EVENTS, 0, handle_events, "begins and ends of stalls, newest first"},
    {"/metrics", 0, 0, handle_metrics, "counters of all this and of ripd itself, for Prometheus"},
    {"/healthz", 0, 0, handle_healthz, "200 while the HTTP server runs"},
    {"/readyz", 0, 0, handle_readyz, "503 until the first scan, or when the last one is older than three intervals"},
    {"/version", 0, 0, handle_version, "version and ring format"},
    {"/", 0, 0, handle_page, "the web page"},
    {"/page/FILE", 0, 0, handle_page_file, "files of the web page"},
};
const size_t routes_count = ARRAY_COUNT(routes);

/* Returns true if the path matches the pattern. The arguments are the segments for capitals, still percent-encoded. */
static bool matches(const char *pattern, struct span path, struct span arguments[ARGUMENTS_MAX], size_t *ret_count)
{
    struct span rest = {pattern, strlen(pattern)}, expected, segment;
    size_t count = 0;
    bool more_expected, more;

    do {
        more_expected = span_cut(&rest, '/', &expected);
        more = span_cut(&path, '/', &segment);
        if (expected.length != 0 && expected.bytes[0] >= 'A' && expected.bytes[0] <= 'Z' && segment.length != 0)
            arguments[count++] = segment;
        else if (segment.length != expected.length || memcmp(segment.bytes, expected.bytes, segment.length) != 0)
            return false;
    } while (more_expected && more);
    *ret_count = count;
    return more_expected == more;
}

/* Stores RING and ID of the only path with two arguments. Returns 0, or -EINVAL if they cannot name an id. */
static int take_arguments(const struct span *arguments, struct query *query)
{
    char text[ID_BYTES];
    uint64_t id;

    if (percent_decode(arguments[0].bytes, arguments[0].length, false, query->ring, sizeof(query->ring)) < 0 ||
        percent_decode(arguments[1].bytes, arguments[1].length, false, text, sizeof(text)) < 0 ||
        !text_number(text, 0, UINT32_MAX, &id))
        return -EINVAL;
    query->one = true;
    query->id = (uint32_t)id;
    query->limit = QUERY_LIMIT_MAX;
    return 0;
}

static void answer_no_route(struct connection *connection)
{
    char detail[256] = "There is nothing at this path. Valid paths:";

    for (size_t i = 0; i < routes_count; i++)
        text_append(detail, sizeof(detail), "%s %s", i == 0 ? "" : ",", routes[i].pattern);
    connection_problem(connection, 404, detail, NULL, NULL);
}

static void follow_route(struct connection *connection, const struct route *route, const struct span *arguments,
                         size_t argument_count)
{
    struct span parameters = connection->request.query;
    char text[REQUEST_HEAD_BYTES_MAX];
    struct query_error error;
    struct query query;

    memcpy(text, parameters.bytes, parameters.length);
    text[parameters.length] = '\0';
    if (query_parse(text, route->parameters, &query, &error) < 0) {
        char detail[sizeof(error.parameter) + sizeof(error.detail)];

        snprintf(detail, sizeof(detail), "%s %s", error.parameter, error.detail);
        connection_problem(connection, 400, detail, error.parameter, NULL);
    } else if (argument_count == ARGUMENTS_MAX && take_arguments(arguments, &query) < 0) {
        connection_problem(connection, 404, "The path must name a ring and a number from 0 to 4294967295.", NULL, NULL);
    } else {
        if (!query.has_trail)
            query.trail_count = route->trail_count;
        route->handle(connection, &query);
    }
}

void handle_request(struct connection *connection)
{
    struct span arguments[ARGUMENTS_MAX];
    size_t argument_count;

    for (size_t i = 0; i < routes_count; i++) {
        if (matches(routes[i].pattern, connection->request.path, arguments, &argument_count)) {
            follow_route(connection, &routes[i], arguments, argument_count);
            return;
        }
    }
    answer_no_route(connection);
}
