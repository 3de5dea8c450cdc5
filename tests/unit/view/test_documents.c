/* SPDX-License-Identifier: Apache-2.0 */
/* test_documents.c - the documents against the interface's description, read back by another JSON library. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "unit/samples.h"
#include "unit/whole_document.h"
#include "view/documents.h"

#define NOW_WALL_NS (SAMPLE_SCANNED_WALL_NS + UINT64_C(180000000))
#define SCANNED_MONO_NS UINT64_C(7000000000)
#define NOW_MONO_NS (SCANNED_MONO_NS + UINT64_C(180000000))

static json_t *parse(char *text, size_t length)
{
    json_error_t error;
    json_t *root;

    assert_int_equal(strlen(text), length);
    assert_int_equal(text[length - 1], '\n');
    root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (root == NULL)
        fail_msg("%s at %d: %.200s", error.text, error.position, text);
    free(text);
    return root;
}

/* The document of the stalls that a query finds. The snapshot is given up. */
static json_t *stalls_of(struct snapshot *snapshot, const struct query *query)
{
    struct page *page = query_stalls(query, snapshot);
    size_t length;
    char *text;

    text = whole_page(DOCUMENT_STALLS, page, NOW_WALL_NS, NOW_MONO_NS, &length);
    page_unref(page);
    snapshot_unref(snapshot);
    return parse(text, length);
}

static json_t *stalls(struct snapshot *snapshot)
{
    struct query query;

    query_init(&query);
    return stalls_of(snapshot, &query);
}

static void assert_order(json_t *object, const char *const *keys)
{
    const char *key;
    json_t *value;
    size_t i = 0;

    json_object_foreach(object, key, value)
    {
        assert_non_null(keys[i]);
        assert_string_equal(key, keys[i]);
        i++;
    }
    assert_null(keys[i]);
}

/* The example of the interface's description, but for what is filled in later (null here), word for word. */
TEST(example)
{
    static const char expected[] =
        "{\"schema\":\"ripd/stalls/1\",\"generated_at\":\"2026-11-20T09:41:07.120Z\","
        "\"scan\":{\"sequence\":421,\"age_ms\":180,\"interval_ms\":1000},"
        "\"counts\":{\"running\":9120,\"idle\":871,\"stalled\":1,\"stopped\":0,\"exited\":0,\"dead\":0},"
        "\"unreadable_rings\":0,\"total\":1,\"returned\":1,"
        "\"stalls\":[\n{\"ring\":\"checkout\",\"source\":\"library\",\"id\":17,\"tid\":4711,\"name\":\"worker-17\","
        "\"note\":null,"
        "\"process\":{\"pid\":4690,\"comm\":\"checkout\",\"exe\":\"/usr/bin/checkout\",\"cmdline\":\"checkout --port "
        "80\","
        "\"uid\":998,\"unit\":\"checkout.service\",\"container\":null,"
        "\"started_at\":\"2026-11-20T08:00:00.000Z\",\"attested\":true},"
        "\"summary\":\"worker-17 of checkout (pid 4690) has been blocked for 13.8 s at checkout+0x1234\","
        "\"state\":\"stalled\",\"cause\":\"blocked\",\"since\":\"2026-11-20T09:40:53.140Z\","
        "\"frozen_for_ms\":13800,\"frozen_for_max_ms\":14900,\"threshold_ms\":5000,"
        "\"since_earliest\":\"2026-11-20T09:40:52.040Z\",\"last\":null,\"reason\":null,\"snaps\":918273,"
        "\"location\":{\"module\":\"checkout\",\"build_id\":\"" SAMPLE_BUILD_ID "\",\"offset\":\"0x1234\","
        "\"function\":null,\"file\":null,\"line\":null},"
        "\"kernel\":null,\"waits_for\":null,\"waits_for_left_out\":null,"
        "\"trail\":[{\"count\":918272,\"module\":\"checkout\",\"offset\":\"0x1234\","
        "\"function\":null,\"file\":null,\"line\":null}]}]}\n";
    struct snapshot *snapshot = sample_snapshot(421, SCANNED_MONO_NS, 1);
    struct query query;
    struct page *page;
    size_t length;
    char *text;

    query_init(&query);
    page = query_stalls(&query, snapshot);
    text = whole_page(DOCUMENT_STALLS, page, NOW_WALL_NS, NOW_MONO_NS, &length);
    assert_string_equal(text, expected);
    json_decref(parse(text, length));
    page_unref(page);
    snapshot_unref(snapshot);
}

TEST(next)
{
    static const char *const with_next[] = {"schema", "generated_at", "scan", "counts", "unreadable_rings",
                                            "total",  "returned",     "next", "stalls", NULL};
    struct query query;
    json_t *root;

    query_init(&query);
    query.limit = 2;
    root = stalls_of(sample_snapshot(1, SCANNED_MONO_NS, 3), &query);
    assert_order(root, with_next);
    assert_int_equal(json_integer_value(json_object_get(root, "total")), 3);
    assert_int_equal(json_integer_value(json_object_get(root, "returned")), 2);
    assert_true(json_is_string(json_object_get(root, "next")));
    json_decref(root);
    query.limit = 3;
    root = stalls_of(sample_snapshot(1, SCANNED_MONO_NS, 3), &query);
    assert_null(json_object_get(root, "next"));
    json_decref(root);
    root = stalls(sample_snapshot(1, SCANNED_MONO_NS, 0));
    assert_int_equal(json_array_size(json_object_get(root, "stalls")), 0);
    json_decref(root);
}

/* clang-format off */
static const char *const item_keys[] = {
    "ring", "source", "id", "tid", "name", "note", "process", "summary",
    "state", "cause", "since", "frozen_for_ms", "frozen_for_max_ms", "threshold_ms", "since_earliest",
    "last", "reason", "snaps", "location", "kernel", "waits_for", "waits_for_left_out", "trail", NULL,
};
/* clang-format on */

/* What is not known is null, and there: the keys are those of the example. */
TEST(unknown)
{
    static const char *const nulls[] = {"tid",           "note",
                                        "cause",         "since",
                                        "frozen_for_ms", "frozen_for_max_ms",
                                        "location",      "kernel",
                                        "waits_for",     "waits_for_left_out",
                                        "threshold_ms",  "since_earliest",
                                        "last"};
    struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 1);
    struct sighting *sighting = &snapshot->stalls[0];
    json_t *root;
    json_t *item;

    sighting->state = ID_RUNNING;
    sighting->cause = CAUSE_NONE;
    sighting->since_wall_ns = 0;
    sighting->since_earliest_wall_ns = 0;
    sighting->frozen_for_ns = 0;
    sighting->threshold_ns = UINT64_MAX;
    sighting->item->tid = 0;
    sighting->item->entry_count = 0;
    sighting->item->name_bytes = 0;
    root = stalls(snapshot);
    item = json_array_get(json_object_get(root, "stalls"), 0);
    assert_order(item, item_keys);
    for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
        assert_true(json_is_null(json_object_get(item, nulls[i])));
    assert_int_equal(json_array_size(json_object_get(item, "trail")), 0);
    assert_string_equal(json_string_value(json_object_get(item, "name")), "");
    json_decref(root);

    snapshot = sample_snapshot(1, SCANNED_MONO_NS, 1);
    snapshot->stalls[0].frozen_for_max_ns = UINT64_MAX;
    snapshot->stalls[0].item->process->pid = 0;
    snapshot->stalls[0].item->process->started_wall_ns = 0;
    snapshot->stalls[0].item->process->comm[0] = '\0';
    free(snapshot->stalls[0].item->process->exe);
    snapshot->stalls[0].item->process->exe = NULL;
    root = stalls(snapshot);
    item = json_array_get(json_object_get(root, "stalls"), 0);
    assert_int_equal(json_integer_value(json_object_get(item, "frozen_for_ms")), 13800);
    assert_true(json_is_null(json_object_get(item, "frozen_for_max_ms")));
    item = json_object_get(item, "process");
    assert_true(json_is_null(json_object_get(item, "pid")) && json_is_null(json_object_get(item, "comm")) &&
                json_is_null(json_object_get(item, "exe")) && json_is_null(json_object_get(item, "started_at")));
    json_decref(root);
}

/* An address in no module is shown as nothing at all: not as a number. */
TEST(no_absolute_address)
{
    struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 1);
    struct query query;
    struct page *page;
    size_t length;
    char *text;
    json_t *root;
    json_t *location;

    snapshot->stalls[0].item->entries[0].address = UINT64_C(0x7fffdeadbeef);
    query_init(&query);
    page = query_stalls(&query, snapshot);
    text = whole_page(DOCUMENT_STALLS, page, NOW_WALL_NS, NOW_MONO_NS, &length);
    assert_null(strstr(text, "deadbeef"));
    assert_null(strstr(text, "140736930758383"));
    root = parse(text, length);
    location = json_object_get(json_array_get(json_object_get(root, "stalls"), 0), "location");
    assert_true(json_is_null(json_object_get(location, "module")) &&
                json_is_null(json_object_get(location, "offset")) &&
                json_is_null(json_object_get(location, "build_id")));
    json_decref(root);
    page_unref(page);
    snapshot_unref(snapshot);
}

/* A process without /proc may not know what it runs. */
TEST(empty_paths_are_not_known)
{
    struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 1);
    struct process_facts *process = snapshot->stalls[0].item->process;
    json_t *root, *item, *location;

    process->exe[0] = '\0';
    process->modules[0]->name = "";
    root = stalls(snapshot);
    item = json_array_get(json_object_get(root, "stalls"), 0);
    location = json_object_get(item, "location");
    assert_true(json_is_null(json_object_get(json_object_get(item, "process"), "exe")));
    assert_true(json_is_null(json_object_get(location, "module")));
    assert_true(json_is_string(json_object_get(location, "offset")));
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(item, "trail"), 0), "module")));
    json_decref(root);
}

static void name_stall(struct snapshot *snapshot, const void *name, size_t length)
{
    struct item *item = snapshot->stalls[0].item;

    memcpy(item->name, name, length);
    item->name_bytes = (uint8_t)length;
}

TEST(hostile_names)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 1);
        char name[RIP_NAME_BYTES];
        char hex[2 * RIP_NAME_BYTES + 1];
        bool plain = byte >= 0x20 && byte < 0x7f;
        json_t *root;
        json_t *item;

        memset(name, (int)byte, sizeof(name));
        for (size_t i = 0; i < sizeof(name); i++)
            snprintf(hex + 2 * i, 3, "%02x", byte);
        name_stall(snapshot, name, sizeof(name));
        free(snapshot->stalls[0].item->ring_name);
        snapshot->stalls[0].item->ring_name = strndup(name, sizeof(name));
        memset(snapshot->stalls[0].item->process->comm, (int)byte, RIP_COMM_BYTES);
        root = stalls(snapshot);
        item = json_array_get(json_object_get(root, "stalls"), 0);
        if (plain) {
            assert_memory_equal(json_string_value(json_object_get(item, "name")), name, sizeof(name));
            assert_null(json_object_get(item, "name_hex"));
        } else {
            assert_string_equal(json_string_value(json_object_get(item, "name_hex")), hex);
        }
        json_decref(root);
    }
}

TEST(name_with_escapes)
{
    struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 1);
    json_t *root;
    json_t *item;

    name_stall(snapshot, "\x1b[31mred\xff", 9);
    root = stalls(snapshot);
    item = json_array_get(json_object_get(root, "stalls"), 0);
    assert_string_equal(json_string_value(json_object_get(item, "name")), "\x1b[31mred\xef\xbf\xbd");
    assert_string_equal(json_string_value(json_object_get(item, "name_hex")), "1b5b33316d726564ff");
    json_decref(root);
}

TEST(note)
{
    static const struct {
        const char *bytes;
        uint8_t length;
        const char *shown;
        const char *hex; /* NULL = it is shown as it is */
    } cases[] = {
        {"GET /checkout?id=7", 18, "GET /checkout?id=7", NULL},
        {"\xc3\xbc \"quoted\"", 11, "\xc3\xbc \"quoted\"", NULL},
        {"\x1b[31m\xff", 6, "\x1b[31m\xef\xbf\xbd", "1b5b33316dff"},
        {"", 0, NULL, NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 1);
        json_t *root, *item, *note, *hex;

        snapshot->stalls[0].item->note_bytes = cases[i].length;
        memcpy(snapshot->stalls[0].item->note, cases[i].bytes, cases[i].length);
        root = stalls(snapshot);
        item = json_array_get(json_object_get(root, "stalls"), 0);
        note = json_object_get(item, "note");
        hex = json_object_get(item, "note_hex");
        assert_true(cases[i].shown != NULL ? json_is_string(note) : json_is_null(note));
        if (cases[i].shown != NULL)
            assert_string_equal(json_string_value(note), cases[i].shown);
        assert_int_equal(hex != NULL, cases[i].hex != NULL);
        if (cases[i].hex != NULL)
            assert_string_equal(json_string_value(hex), cases[i].hex);
        json_decref(root);
    }
}

TEST(ten_thousand)
{
    struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 10000);
    struct query query;
    json_t *root;
    json_t *list;

    query_init(&query);
    query.limit = QUERY_LIMIT_MAX;
    root = stalls_of(snapshot, &query);
    list = json_object_get(root, "stalls");
    assert_int_equal(json_array_size(list), 10000);
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(list, i), "id")), 17 + i);
    json_decref(root);
}

TEST(threads)
{
    struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 3);
    struct query query;
    struct page *page;
    size_t length;
    char *text;
    json_t *root;

    query_init(&query);
    page = query_stalls(&query, snapshot);
    text = whole_page(DOCUMENT_THREADS, page, NOW_WALL_NS, NOW_MONO_NS, &length);
    root = parse(text, length);
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "ripd/threads/1");
    assert_int_equal(json_array_size(json_object_get(root, "threads")), 3);
    json_decref(root);

    text = whole_page(DOCUMENT_THREAD, page, NOW_WALL_NS, NOW_MONO_NS, &length);
    root = parse(text, length);
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "ripd/thread/1");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "thread"), "id")), 17);
    assert_int_equal(json_array_size(json_object_get(root, "others")), 2);
    json_decref(root);
    page_unref(page);

    query.limit = 1;
    page = query_stalls(&query, snapshot);
    text = whole_page(DOCUMENT_THREAD, page, NOW_WALL_NS, NOW_MONO_NS, &length);
    root = parse(text, length);
    assert_null(json_object_get(root, "others"));
    json_decref(root);
    page_unref(page);
    snapshot_unref(snapshot);
}

TEST(states)
{
    static const uint32_t ids[] = {17, 18, 19, 30, 31, 5, UINT32_MAX, 0};
    struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 0);
    struct page *page = page_new(snapshot);
    size_t length;
    char *text;

    page->states = state_map_new();
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        assert_int_equal(
            state_map_add(page->states, i < 5 ? 1 : 2, i < 5 ? "one" : "two", ids[i], i == 0 ? ID_STALLED : ID_IDLE),
            0);
    page->count = page->states->piece_count;
    page->total = 9;
    text = whole_page(DOCUMENT_STATES, page, NOW_WALL_NS, NOW_MONO_NS, &length);
    assert_non_null(strstr(text, "{\"schema\":\"ripd/states/1\","));
    assert_non_null(strstr(text, ",\"total\":9,\"returned\":8,\"states\":[\n"
                                 "{\"ring\":\"one\",\"letters\":\"siiii\",\"ids\":[[17,3],[30,2]]},\n"
                                 "{\"ring\":\"two\",\"letters\":\"iii\",\"ids\":[[5,1],[4294967295,1],[0,1]]}]}\n"));
    json_decref(parse(text, length));
    page_unref(page);
    snapshot_unref(snapshot);
}

static json_t *rings(const struct snapshot *snapshot, const struct query *query)
{
    struct document document;
    size_t length;
    char *body;

    assert_int_equal(document_rings_body(snapshot, query, &document), 0);
    body = whole_document(&document, NOW_WALL_NS, NOW_MONO_NS, &length);
    return parse(body, length);
}

TEST(rings)
{
    struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 0);
    struct query query;
    json_t *root;
    json_t *ring;
    json_t *process;

    query_init(&query);
    root = rings(snapshot, &query);
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "ripd/rings/1");
    ring = json_array_get(json_object_get(root, "rings"), 0);
    assert_string_equal(json_string_value(json_object_get(ring, "ring")), "checkout");
    assert_string_equal(json_string_value(json_object_get(ring, "health")), "readable");
    assert_true(json_is_null(json_object_get(ring, "reason")));
    assert_int_equal(json_integer_value(json_object_get(ring, "capacity")), 65536);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(ring, "refused"), "full")), 3);
    assert_string_equal(json_string_value(json_object_get(ring, "created_at")), "2026-11-20T08:00:00.000Z");
    process = json_array_get(json_object_get(ring, "processes"), 0);
    assert_int_equal(json_integer_value(json_object_get(process, "pid")), 4690);
    assert_true(json_is_false(json_object_get(process, "dead")));
    json_decref(root);

    snapshot->rings[0].health = RING_DAMAGED;
    snapshot->rings[0].reason = strdup("is shorter than its header says");
    root = rings(snapshot, &query);
    ring = json_array_get(json_object_get(root, "rings"), 0);
    assert_string_equal(json_string_value(json_object_get(ring, "health")), "damaged");
    assert_string_equal(json_string_value(json_object_get(ring, "reason")), "is shorter than its header says");
    assert_true(json_is_null(json_object_get(ring, "capacity")) && json_is_null(json_object_get(ring, "live")) &&
                json_is_null(json_object_get(ring, "refused")) && json_is_null(json_object_get(ring, "dead")) &&
                json_is_null(json_object_get(ring, "counts")));
    assert_int_equal(json_integer_value(json_object_get(root, "unreadable_rings")), 1);
    json_decref(root);
    snapshot_unref(snapshot);
}

/* Pages of one ring each, also when the ring that the cursor names is gone. */
TEST(ring_pages)
{
    struct snapshot *snapshot = snapshot_new();
    struct document document;
    struct query query;

    snapshot->rings = calloc(3, sizeof(*snapshot->rings));
    snapshot->ring_count = 3;
    for (uint32_t i = 0; i < 3; i++)
        snapshot->rings[i] = (struct ring_facts){.name = strdup(i == 0 ? "a" : i == 1 ? "b" : "c"), .serial = 9 - i};
    query_init(&query);
    query.limit = 1;
    for (uint32_t i = 0; i < 3; i++) {
        char expected[48];

        assert_int_equal(document_rings_body(snapshot, &query, &document), 0);
        snprintf(expected, sizeof(expected), ",\"limited\":[],\"rings\":[\n{\"ring\":\"%c\"", "abc"[i]);
        assert_memory_equal(document.body, expected, strlen(expected));
        assert_int_equal(document.total, 3);
        assert_int_equal(document.returned, 1);
        assert_int_equal(document.more, i < 2);
        query.after = document.next;
        free(document.body);
    }
    query.after = (struct query_cursor){.present = true, .ring = 1234, .slot = 2};
    assert_int_equal(document_rings_body(snapshot, &query, &document), 0);
    assert_int_equal(document.returned, 1);
    free(document.body);
    snprintf(query.ring, sizeof(query.ring), "b");
    query.after.present = false;
    snapshot->rings[0].counts[ID_IDLE] = 5;
    snapshot->rings[1].counts[ID_IDLE] = 7;
    assert_int_equal(document_rings_body(snapshot, &query, &document), 0);
    assert_int_equal(document.total, 1);
    assert_int_equal(document.counts[ID_IDLE], 7);
    free(document.body);
    snprintf(query.ring, sizeof(query.ring), "[ab]");
    assert_int_equal(document_rings_body(snapshot, &query, &document), 0);
    assert_int_equal(document.total, 2);
    assert_int_equal(document.counts[ID_IDLE], 12); /* of both, though a page holds one */
    free(document.body);
    snapshot_unref(snapshot);
}

/* Who hit which limit, above the rings. */
TEST(limited)
{
    struct snapshot *snapshot = snapshot_new();
    struct document document;
    struct query query;

    snapshot->limited = calloc(2, sizeof(*snapshot->limited));
    snapshot->limited[0] = (struct limited_user){.uid = 1000, .limit = "mapped_bytes", .refused_count = 7};
    snapshot->limited[1] = (struct limited_user){.uid = UINT32_MAX, .limit = "events", .refused_count = 1};
    snapshot->limited_count = 2;
    query_init(&query);
    assert_int_equal(document_rings_body(snapshot, &query, &document), 0);
    assert_string_equal(document.body, ",\"limited\":[{\"uid\":1000,\"limit\":\"mapped_bytes\",\"refused\":7},"
                                       "{\"uid\":4294967295,\"limit\":\"events\",\"refused\":1}],\"rings\":[]}\n");
    free(document.body);
    snapshot_unref(snapshot);
}

/* As many breadcrumbs as asked for, of those that there are. */
TEST(trails)
{
    static const struct {
        uint32_t asked, found;
    } rows[] = {{0, 0}, {1, 1}, {4, 4}, {6, 6}, {32, 6}};
    struct snapshot *snapshot = sample_snapshot(1, SCANNED_MONO_NS, 0);
    struct query query;
    struct page *page;

    snapshot->stalls[0] = sample_stall(
        sample_item(process_facts_ref(snapshot->rings[0].processes[0]), "checkout", 1, 17, "worker", 6, 6), 1000);
    snapshot->stall_count = 1;
    query_init(&query);
    page = query_stalls(&query, snapshot);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct document document;
        size_t length;
        char *text;
        json_t *root, *trail;

        assert_int_equal(document_page_body(DOCUMENT_STALLS, page, rows[i].asked, &document), 0);
        text = whole_document(&document, NOW_WALL_NS, NOW_MONO_NS, &length);
        root = parse(text, length);
        trail = json_object_get(json_array_get(json_object_get(root, "stalls"), 0), "trail");
        assert_int_equal(json_array_size(trail), rows[i].found);
        for (size_t j = 0; j < rows[i].found; j++)
            assert_int_equal(json_integer_value(json_object_get(json_array_get(trail, j), "count")), 918272 - j);
        json_decref(root);
    }
    page_unref(page);
    snapshot_unref(snapshot);
}

TEST(small)
{
    size_t length;
    char *text;
    json_t *root;

    assert_int_equal(document_version(&text, &length), 0);
    root = parse(text, length);
    assert_int_equal(json_integer_value(json_object_get(root, "ring_format")), RIP_FORMAT_VERSION);
    json_decref(root);
    assert_int_equal(document_health("ok", &text, &length), 0);
    assert_string_equal(text, "{\"schema\":\"ripd/health/1\",\"status\":\"ok\"}\n");
    free(text);
    assert_int_equal(document_problem(400, "Bad Request", "is \"\x1b\xff\"", "li\nmit", &text, &length), 0);
    assert_string_equal(text, "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,"
                              "\"detail\":\"is \\\"\\u001b\xef\xbf\xbd\\\"\",\"parameter\":\"li\\u000amit\"}\n");
    free(text);
}
