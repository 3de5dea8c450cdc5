/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.c - runs registry, detector and documents of ripd in this process. Touches the directories of rings, /proc and
 * the clock.
 */
#include "cli/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/item.h"
#include "cli/names.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/sigbus.h"
#include "ring/describe.h"
#include "ring/scan.h"
#include "util/array.h"
#include "view/documents.h"
#include "view/query_parse.h"

#define SCANS 2u
#define NS_PER_MS UINT64_C(1000000)
#define JUDGING_NS UINT64_C(1000000000)     /* for all process records of a user */
#define INTERVAL_NS UINT64_C(3600000000000) /* so long that no scan is late */
#define DENIED "permission denied"          /* the reason that the registry gives */
#define RING_PARAMETERS (PARAMETER_RING | PARAMETER_PID | PARAMETER_LIMIT)
#define STALL_PARAMETERS (RING_PARAMETERS | PARAMETER_NAME | PARAMETER_TRAIL)
#define ONE "/threads/"

struct local {
    struct registry *registry;
    struct detector *detector;
    struct snapshot *snapshot; /* of the second scan */
    struct names *names;
};

static const struct endpoint {
    const char *path;
    unsigned parameters;
    enum document_kind kind;
} endpoints[] = {
    {"/stalls", STALL_PARAMETERS, DOCUMENT_STALLS},
    {"/threads", STALL_PARAMETERS | PARAMETER_STATE, DOCUMENT_THREADS},
    {"/rings", RING_PARAMETERS, DOCUMENT_RINGS},
};

/* ---- scanning ---- */

/* The registry declares a process dead only after two scans, and reads /proc again only after a while. */
static int scan_rings(struct local *local, unsigned nth)
{
    const struct timespec pause = {.tv_sec = LOCAL_PAUSE_MS / 1000, .tv_nsec = LOCAL_PAUSE_MS % 1000 * (long)NS_PER_MS};
    struct detector_update update;
    size_t count;
    int result;

    if (nth != 0)
        nanosleep(&pause, NULL);
    registry_refresh(local->registry, clock_mono_ns() + nth * REGISTRY_RESCAN_NS);
    local->snapshot->scanned_mono_ns = clock_mono_ns();
    local->snapshot->scanned_wall_ns = clock_wall_ns();
    detector_begin(local->detector, local->snapshot->scanned_mono_ns);
    result = scan_run(local->registry, local->detector, NULL);
    (void)detector_suspects(local->detector, &count);
    detector_end(local->detector, &update);
    return result;
}

/* Files that this user may not open need not be rings: they are counted, not listed. */
static int list_rings(const struct local *local, size_t *ret_denied)
{
    struct snapshot *snapshot = local->snapshot;
    size_t count, kept = 0;
    int result = registry_facts(local->registry, &snapshot->rings, &count);

    for (size_t i = 0; result == 0 && i < count; i++) {
        struct ring_facts *ring = &snapshot->rings[i];

        if (ring->reason != NULL && strcmp(ring->reason, DENIED) == 0) {
            ring_facts_done(ring);
            continue;
        }
        detector_ring_counts(local->detector, ring->serial, ring->counts);
        snapshot->rings[kept++] = *ring;
    }
    *ret_denied = result == 0 ? count - kept : 0;
    snapshot->ring_count = kept;
    return result;
}

int local_new(struct local **ret_local, const char *const *directories, size_t count, size_t *ret_denied)
{
    const struct detector_config config = {.interval_ns = INTERVAL_NS,
                                           .stall_after_ns = LOCAL_PAUSE_MS * NS_PER_MS / 2};
    struct registry_options options = {
        .directories = directories, .directory_count = count, .proc_path = "/proc", .judging_ns = JUDGING_NS};
    struct local *local = cli_allocate(1, sizeof(*local));
    int result = sigbus_install();

    options.hash_key = (struct hash_key){{random_u64(), random_u64()}};
    if (result == 0 && (local->snapshot = snapshot_new()) == NULL)
        result = -ENOMEM;
    if (result == 0)
        result = registry_new(&local->registry, &options);
    if (result == 0)
        result = detector_new(&local->detector, &config);
    for (unsigned i = 0; result == 0 && i < SCANS; i++)
        result = scan_rings(local, i);
    if (result == 0)
        result = list_rings(local, ret_denied);
    local->names = names_new(NULL);
    *ret_local = local;
    return result;
}

/* ---- answers ---- */

/* Two scans show only that an id has not moved: not since when, and not whether that is a stall. */
static void clear_verdict(json_t *item)
{
    static const char *const unknown[] = {"since", "since_earliest", "frozen_for_ms", "frozen_for_max_ms"};
    const bool is_still = item_text(item, "since") != NULL && !item_is(item, "state", "dead");

    if (item_is(item, "state", "stalled"))
        json_object_set_new(item, "state", json_string(LOCAL_STATE));
    for (size_t i = 0; i < ARRAY_COUNT(unknown); i++)
        json_object_set_new(item, unknown[i], json_null());
    if (is_still)
        json_object_set_new(item, "frozen_for_ms", json_integer(LOCAL_PAUSE_MS));
}

/* Returns NULL if out of memory. */
static json_t *read_document(const struct document *made)
{
    char *head = NULL, *text = NULL;
    json_t *document = NULL;
    size_t head_bytes;

    if (document_head(made, made->scanned_mono_ns, made->scanned_mono_ns, &head, &head_bytes) == 0 &&
        asprintf(&text, "%s%s", head, made->body) >= 0)
        document = json_loads(text, JSON_ALLOW_NUL, NULL);
    free(head);
    free(text);
    return document;
}

static json_t *make_document(const struct local *local, const struct query *query, enum document_kind kind)
{
    const bool is_list = kind == DOCUMENT_STALLS || kind == DOCUMENT_THREADS;
    struct page *page = NULL;
    struct document made = {.body = NULL};
    json_t *document = NULL, *item;
    size_t i;
    int result = -ENOMEM;

    if (kind == DOCUMENT_RINGS) {
        result = document_rings_body(local->snapshot, query, &made);
    } else if ((page = describe_page(local->registry, local->detector, query, local->snapshot)) != NULL) {
        for (i = 0; i < page->count; i++)
            names_add_item(local->names, page->sightings[i].item, is_list ? 1 : QUERY_TRAIL_MAX);
        result = document_page_body(kind, page, QUERY_TRAIL_MAX, &made);
    }
    if (result == 0)
        document = read_document(&made);
    if (is_list)
        json_array_foreach(json_object_get(document, kind == DOCUMENT_STALLS ? "stalls" : "threads"), i, item)
            clear_verdict(item);
    else
        clear_verdict(json_object_get(document, "thread"));
    free(made.body);
    page_unref(page);
    return document;
}

/* Parses RING/ID of a path. */
static bool parse_id(struct query *query, const char *path, size_t length)
{
    const char *slash = memrchr(path, '/', length);

    query_init(query);
    if (slash == NULL || percent_decode(path, (size_t)(slash - path), false, query->ring, sizeof(query->ring)) != 0)
        return false;
    query->one = true;
    query->id = (uint32_t)strtoul(slash + 1, NULL, 10);
    return true;
}

json_t *local_answer(const struct local *local, const char *target, char error[LOCAL_ERROR_BYTES])
{
    const size_t length = strcspn(target, "?");
    const struct endpoint *endpoint = endpoints;
    struct query_error fault;
    struct query query;
    json_t *document = NULL;

    if (strncmp(target, ONE, strlen(ONE)) == 0) {
        if (parse_id(&query, target + strlen(ONE), length - strlen(ONE)))
            document = make_document(local, &query, DOCUMENT_THREAD);
        if (!json_is_object(json_object_get(document, "thread")))
            snprintf(error, LOCAL_ERROR_BYTES, "no such id");
        return document;
    }
    while (strlen(endpoint->path) != length || strncmp(endpoint->path, target, length) != 0)
        endpoint++;
    if (query_parse(target[length] == '?' ? target + length + 1 : NULL, endpoint->parameters, &query, &fault) != 0) {
        snprintf(error, LOCAL_ERROR_BYTES, "this flag needs a ripd: --%.64s",
                 strcmp(fault.parameter, "min_ms") == 0 ? "min" : fault.parameter); /* the name of the flag */
        return NULL;
    }
    if (endpoint->kind == DOCUMENT_STALLS)
        query.states = 1u << ID_STALLED;
    document = make_document(local, &query, endpoint->kind);
    if (document == NULL)
        snprintf(error, LOCAL_ERROR_BYTES, "out of memory");
    return document;
}
