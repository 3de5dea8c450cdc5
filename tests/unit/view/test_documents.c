/* SPDX-License-Identifier: Apache-2.0 */
/* test_documents.c - the list documents, read back by another JSON library: ripd/view/documents.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "unit/json_at.h"
#include "unit/samples.h"
#include "unit/whole_document.h"
#include "view/documents.h"

#define NOW_WALL_NS (SAMPLE_SCANNED_WALL_NS + UINT64_C(180000000))
#define SCANNED_MONO_NS UINT64_C(7000000000)
#define NOW_MONO_NS (SCANNED_MONO_NS + UINT64_C(180000000))

/* Frees the text. The caller releases the document. */
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

static json_t *page_json(enum document_kind kind, struct page *page)
{
    size_t length;
    char *text = whole_page(kind, page, NOW_WALL_NS, NOW_MONO_NS, &length);

    return parse(text, length);
}

/* The page of at most this many stalls. Takes ownership of the snapshot. */
static struct page *stalls_page(struct snapshot *snapshot, uint32_t limit)
{
    struct query query;
    struct page *page;

    query_init(&query);
    query.limit = limit;
    page = query_stalls(&query, snapshot);
    snapshot_unref(snapshot);
    return page;
}

static json_t *stalls_up_to(uint32_t limit, struct snapshot *snapshot)
{
    struct page *page = stalls_page(snapshot, limit);
    json_t *root = page_json(DOCUMENT_STALLS, page);

    page_unref(page);
    return root;
}

static json_t *stalls(struct snapshot *snapshot)
{
    return stalls_up_to(QUERY_LIMIT_MAX, snapshot);
}

static struct snapshot *sample(size_t stall_count)
{
    return sample_snapshot(1, SCANNED_MONO_NS, stall_count);
}

static void assert_order(json_t *object, const char *const *keys)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        assert_non_null(*keys);
        assert_string_equal(key, *keys++);
    }
    assert_null(*keys);
}

/* The example of the interface's description. Values that are filled in later are null here. */
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
    struct page *page = stalls_page(sample_snapshot(421, SCANNED_MONO_NS, 1), 100);
    size_t length;
    char *text = whole_page(DOCUMENT_STALLS, page, NOW_WALL_NS, NOW_MONO_NS, &length);

    assert_string_equal(text, expected);
    json_decref(parse(text, length));
    page_unref(page);
}

TEST(next_is_given_if_more_follow)
{
    static const char *const with_next[] = {"schema", "generated_at", "scan", "counts", "unreadable_rings",
                                            "total",  "returned",     "next", "stalls", NULL};
    json_t *root = stalls_up_to(2, sample(3));

    assert_order(root, with_next);
    assert_json(root, "total", "3");
    assert_json(root, "returned", "2");
    assert_true(json_is_string(json_at(root, "next")));
    json_decref(root);
    root = stalls_up_to(3, sample(3));
    assert_json(root, "next", NULL);
    json_decref(root);
    root = stalls(sample(0));
    assert_json(root, "stalls", "[]");
    json_decref(root);
}

/* Unknown values are null. The keys are those of the example. */
TEST(unknown_is_null)
{
    /* clang-format off */
    static const char *const keys[] = {
        "ring", "source", "id", "tid", "name", "note", "process", "summary",
        "state", "cause", "since", "frozen_for_ms", "frozen_for_max_ms", "threshold_ms", "since_earliest",
        "last", "reason", "snaps", "location", "kernel", "waits_for", "waits_for_left_out", "trail", NULL,
    };
    static const char *const nulls[] = {
        "tid", "note", "cause", "since", "frozen_for_ms", "frozen_for_max_ms", "location", "kernel",
        "waits_for", "waits_for_left_out", "threshold_ms", "since_earliest", "last",
    };
    /* clang-format on */
    struct snapshot *snapshot = sample(1);
    struct item *item = snapshot->stalls[0].item;
    json_t *root, *stall;

    snapshot->stalls[0] = (struct sighting){.item = item, .state = ID_RUNNING, .threshold_ns = UINT64_MAX};
    item->tid = 0;
    item->entry_count = 0;
    item->name_bytes = 0;
    root = stalls(snapshot);
    stall = json_at(root, "stalls/0");
    assert_order(stall, keys);
    for (size_t i = 0; i < COUNT_OF(nulls); i++)
        assert_json(stall, nulls[i], "null");
    assert_json(stall, "trail", "[]");
    assert_json(stall, "name", "\"\"");
    json_decref(root);
}

TEST(unknown_process_facts_are_null)
{
    struct snapshot *snapshot = sample(1);
    struct process_facts *process = snapshot->stalls[0].item->process;
    json_t *root;

    snapshot->stalls[0].frozen_for_max_ns = UINT64_MAX;
    process->pid = 0;
    process->started_wall_ns = 0;
    process->comm[0] = '\0';
    free(process->exe);
    process->exe = NULL;
    root = stalls(snapshot);
    assert_json(root, "stalls/0/frozen_for_ms", "13800");
    assert_json(root, "stalls/0/frozen_for_max_ms", "null");
    assert_json(root, "stalls/0/process/pid", "null");
    assert_json(root, "stalls/0/process/comm", "null");
    assert_json(root, "stalls/0/process/exe", "null");
    assert_json(root, "stalls/0/process/started_at", "null");
    json_decref(root);
}

/* An address in no module is not disclosed. */
TEST(no_absolute_address)
{
    struct snapshot *snapshot = sample(1);
    struct page *page;
    size_t length;
    char *text;
    json_t *root;

    snapshot->stalls[0].item->entries[0].address = UINT64_C(0x7fffdeadbeef);
    page = stalls_page(snapshot, 1);
    text = whole_page(DOCUMENT_STALLS, page, NOW_WALL_NS, NOW_MONO_NS, &length);
    assert_null(strstr(text, "deadbeef"));
    assert_null(strstr(text, "140736930758383"));
    root = parse(text, length);
    assert_json(root, "stalls/0/location/module", "null");
    assert_json(root, "stalls/0/location/offset", "null");
    assert_json(root, "stalls/0/location/build_id", "null");
    json_decref(root);
    page_unref(page);
}

/* A process without /proc may not know its program. */
TEST(empty_paths_are_null)
{
    struct snapshot *snapshot = sample(1);
    struct process_facts *process = snapshot->stalls[0].item->process;
    json_t *root;

    process->exe[0] = '\0';
    process->modules[0]->name = "";
    root = stalls(snapshot);
    assert_json(root, "stalls/0/process/exe", "null");
    assert_json(root, "stalls/0/location/module", "null");
    assert_json(root, "stalls/0/location/offset", "\"0x1234\"");
    assert_json(root, "stalls/0/trail/0/module", "null");
    json_decref(root);
}

/* Names of each byte give valid JSON; what had to be changed is in name_hex. */
TEST(hostile_names)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        struct snapshot *snapshot = sample(1);
        struct item *item = snapshot->stalls[0].item;
        char name[RIP_NAME_BYTES + 1] = "", hex[2 * RIP_NAME_BYTES + 1];
        bool plain = byte >= 0x20 && byte < 0x7f;
        json_t *root;

        memset(name, (int)byte, RIP_NAME_BYTES);
        for (size_t i = 0; i < RIP_NAME_BYTES; i++)
            snprintf(hex + 2 * i, 3, "%02x", byte);
        memcpy(item->name, name, RIP_NAME_BYTES);
        item->name_bytes = RIP_NAME_BYTES;
        free(item->ring_name);
        item->ring_name = strdup(name);
        memset(item->process->comm, (int)byte, RIP_COMM_BYTES);
        root = stalls(snapshot);
        assert_json_text(root, plain ? "stalls/0/name" : "stalls/0/name_hex", plain ? name : hex);
        assert_int_equal(json_at(root, "stalls/0/name_hex") == NULL, plain);
        json_decref(root);
    }
}

TEST(note)
{
    static const struct {
        const char *bytes, *note, *hex; /* as JSON; NULL: not there */
    } cases[] = {
        {"GET /checkout?id=7", "\"GET /checkout?id=7\"", NULL},
        {"\xc3\xbc \"quoted\"", "\"\xc3\xbc \\\"quoted\\\"\"", NULL},
        {"\x1b[31m\xff", "\"\\u001B[31m\xef\xbf\xbd\"", "\"1b5b33316dff\""},
        {"", "null", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct snapshot *snapshot = sample(1);
        struct item *item = snapshot->stalls[0].item;
        json_t *root;

        item->note_bytes = (uint8_t)strlen(cases[i].bytes);
        memcpy(item->note, cases[i].bytes, item->note_bytes);
        root = stalls(snapshot);
        assert_json(root, "stalls/0/note", cases[i].note);
        assert_json(root, "stalls/0/note_hex", cases[i].hex);
        json_decref(root);
    }
}

TEST(threads)
{
    struct page *page = stalls_page(sample(3), 100);
    json_t *root = page_json(DOCUMENT_THREADS, page);

    assert_json_text(root, "schema", "ripd/threads/1");
    assert_json_count(root, "threads", 3);
    json_decref(root);
    root = page_json(DOCUMENT_THREAD, page);
    assert_json_text(root, "schema", "ripd/thread/1");
    assert_json(root, "thread/id", "17");
    assert_json_count(root, "others", 2);
    json_decref(root);
    page_unref(page);

    page = stalls_page(sample(3), 1);
    root = page_json(DOCUMENT_THREAD, page);
    assert_json(root, "others", NULL);
    json_decref(root);
    page_unref(page);
}

TEST(states)
{
    static const uint32_t ids[] = {17, 18, 19, 30, 31, 5, UINT32_MAX, 0};
    struct snapshot *snapshot = sample(0);
    struct page *page = page_new(snapshot);
    json_t *root;

    page->states = state_map_new();
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        assert_int_equal(
            state_map_add(page->states, i < 5 ? 1 : 2, i < 5 ? "one" : "two", ids[i], i == 0 ? ID_STALLED : ID_IDLE),
            0);
    page->count = page->states->piece_count;
    page->total = 9;
    root = page_json(DOCUMENT_STATES, page);
    assert_json_text(root, "schema", "ripd/states/1");
    assert_json(root, "total", "9");
    assert_json(root, "returned", "8");
    assert_json(root, "states",
                "[{\"ring\":\"one\",\"letters\":\"siiii\",\"ids\":[[17,3],[30,2]]},"
                "{\"ring\":\"two\",\"letters\":\"iii\",\"ids\":[[5,1],[4294967295,1],[0,1]]}]");
    json_decref(root);
    page_unref(page);
    snapshot_unref(snapshot);
}

/* Rings ------------------------------------------------------------------------------------------------------------ */

/* The caller frees the body. */
static struct document rings_document(const struct snapshot *snapshot, const struct query *query)
{
    struct document document;

    assert_int_equal(document_rings_body(snapshot, query, &document), 0);
    return document;
}

static json_t *rings(const struct snapshot *snapshot)
{
    struct document document;
    struct query query;
    size_t length;
    char *text;

    query_init(&query);
    document = rings_document(snapshot, &query);
    text = whole_document(&document, NOW_WALL_NS, NOW_MONO_NS, &length);
    return parse(text, length);
}

TEST(rings)
{
    static const char *const unknown[] = {"capacity", "live", "refused", "dead", "counts"};
    struct snapshot *snapshot = sample(0);
    json_t *root = rings(snapshot);

    assert_json_text(root, "schema", "ripd/rings/1");
    assert_json_text(root, "rings/0/ring", "checkout");
    assert_json_text(root, "rings/0/health", "readable");
    assert_json(root, "rings/0/reason", "null");
    assert_json(root, "rings/0/capacity", "65536");
    assert_json(root, "rings/0/refused/full", "3");
    assert_json_text(root, "rings/0/created_at", "2026-11-20T08:00:00.000Z");
    assert_json(root, "rings/0/processes/0/pid", "4690");
    assert_json(root, "rings/0/processes/0/dead", "false");
    json_decref(root);

    snapshot->rings[0].health = RING_DAMAGED;
    snapshot->rings[0].reason = strdup("is shorter than its header says");
    root = rings(snapshot);
    assert_json_text(root, "rings/0/health", "damaged");
    assert_json_text(root, "rings/0/reason", "is shorter than its header says");
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        assert_json(json_at(root, "rings/0"), unknown[i], "null");
    assert_json(root, "unreadable_rings", "1");
    json_decref(root);
    snapshot_unref(snapshot);
}

/* Pages of one ring each, also when the ring that the cursor names is gone. */
TEST(ring_pages)
{
    static const char *const names[] = {"a", "b", "c"};
    struct snapshot *snapshot = snapshot_new();
    struct document document;
    struct query query;

    snapshot->rings = calloc(3, sizeof(*snapshot->rings));
    snapshot->ring_count = 3;
    for (uint32_t i = 0; i < 3; i++)
        snapshot->rings[i] = (struct ring_facts){.name = strdup(names[i]), .serial = 9 - i};
    query_init(&query);
    query.limit = 1;
    for (uint32_t i = 0; i < 3; i++) {
        char expected[48];

        document = rings_document(snapshot, &query);
        snprintf(expected, sizeof(expected), ",\"limited\":[],\"rings\":[\n{\"ring\":\"%s\"", names[i]);
        assert_memory_equal(document.body, expected, strlen(expected));
        assert_int_equal(document.total, 3);
        assert_int_equal(document.returned, 1);
        assert_int_equal(document.more, i < 2);
        query.after = document.next;
        free(document.body);
    }
    query.after = (struct query_cursor){.present = true, .ring = 1234, .slot = 2};
    document = rings_document(snapshot, &query);
    assert_int_equal(document.returned, 1);
    free(document.body);
    snapshot_unref(snapshot);
}

/* The counts are those of all rings that match, though a page holds one. */
TEST(counts_of_the_rings_that_match)
{
    static const struct {
        const char *pattern;
        size_t total;
        uint64_t idle_count;
    } cases[] = {{"b", 1, 7}, {"[ab]", 2, 12}};
    static char names[][2] = {"a", "b", "c"};
    struct ring_facts facts[3] = {{.name = names[0]}, {.name = names[1]}, {.name = names[2]}};
    struct snapshot snapshot = {.rings = facts, .ring_count = 3};

    facts[0].counts[ID_IDLE] = 5;
    facts[1].counts[ID_IDLE] = 7;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct document document;
        struct query query;

        query_init(&query);
        query.limit = 1;
        snprintf(query.ring, sizeof(query.ring), "%s", cases[i].pattern);
        document = rings_document(&snapshot, &query);
        assert_int_equal(document.total, cases[i].total);
        assert_int_equal(document.counts[ID_IDLE], cases[i].idle_count);
        free(document.body);
    }
}

/* The users that hit a limit are listed before the rings. */
TEST(limited)
{
    struct limited_user users[] = {{.uid = 1000, .limit = "mapped_bytes", .refused_count = 7},
                                   {.uid = UINT32_MAX, .limit = "events", .refused_count = 1}};
    const struct snapshot snapshot = {.limited = users, .limited_count = 2};
    json_t *root = rings(&snapshot);

    assert_json(root, "limited",
                "[{\"uid\":1000,\"limit\":\"mapped_bytes\",\"refused\":7},"
                "{\"uid\":4294967295,\"limit\":\"events\",\"refused\":1}]");
    assert_json(root, "rings", "[]");
    json_decref(root);
}

/* The trail has as many breadcrumbs as requested, of those that there are. */
TEST(trails)
{
    static const struct {
        uint32_t requested, found;
    } cases[] = {{0, 0}, {1, 1}, {4, 4}, {6, 6}, {32, 6}};
    struct snapshot *snapshot = sample(1);
    struct item **item = &snapshot->stalls[0].item;
    struct process_facts *process = process_facts_ref((*item)->process);
    struct page *page;

    item_unref(*item);
    *item = sample_item(process, "checkout", 1, 17, "worker", 6, 6);
    page = stalls_page(snapshot, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct document document;
        size_t length;
        char *text;
        json_t *root, *trail;

        assert_int_equal(document_page_body(DOCUMENT_STALLS, page, cases[i].requested, &document), 0);
        text = whole_document(&document, NOW_WALL_NS, NOW_MONO_NS, &length);
        root = parse(text, length);
        trail = json_at(root, "stalls/0/trail");
        assert_int_equal(json_array_size(trail), cases[i].found);
        for (size_t j = 0; j < cases[i].found; j++)
            assert_int_equal(json_number_at(json_array_get(trail, j), "count"), 918272 - j);
        json_decref(root);
    }
    page_unref(page);
}

TEST(version_health_and_problem)
{
    size_t length;
    char *text;
    json_t *root;

    assert_int_equal(document_version(&text, &length), 0);
    root = parse(text, length);
    assert_int_equal(json_number_at(root, "ring_format"), RIP_FORMAT_VERSION);
    json_decref(root);
    assert_int_equal(document_health("ok", &text, &length), 0);
    assert_string_equal(text, "{\"schema\":\"ripd/health/1\",\"status\":\"ok\"}\n");
    free(text);
    assert_int_equal(document_problem(400, "Bad Request", "is \"\x1b\xff\"", "li\nmit", &text, &length), 0);
    assert_string_equal(text, "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,"
                              "\"detail\":\"is \\\"\\u001b\xef\xbf\xbd\\\"\",\"parameter\":\"li\\u000amit\"}\n");
    free(text);
}
