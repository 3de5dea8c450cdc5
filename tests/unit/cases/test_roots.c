/* SPDX-License-Identifier: Apache-2.0 */
/* test_roots.c - stalls counted by root and by incident: as values, as pages and as JSON. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cases/query.h"
#include "cases/roots.h"
#include "unit/whole_document.h"

#include "support/test.h"
#include "unit/samples.h"

#define SECOND UINT64_C(1000000000)

enum { STALLS = 10 };

/* The stall of slot i has tid 100 + i and id 17 + i. */
static void add(struct waits *waits, uint32_t slot, uint32_t holder)
{
    const struct rip_wait_info wait = {
        .slot = slot,
        .generation = 2,
        .id = 17 + slot,
        .tid = 100 + slot,
        .owner = holder,
        .progress = 1,
        .address = UINT64_C(0x7f12345678),
        .seen_mono_ns = 20 * SECOND,
        .begun_mono_ns = 10 * SECOND,
        .flags = RIP_WAIT_SHARABLE,
    };

    assert_int_equal(waits_add(waits, 1, &wait), 0);
}

static struct snapshot *snapshot;

/*
 * Stalls 1 to 4 wait for 0, which waits for nobody. 5 and 6 wait for each other, and 7 for 5. 8 waits for readers, and
 * 9 for nobody.
 */
static int setup(void **state)
{
    struct waits_node *found[2];

    (void)state;
    snapshot = sample_snapshot(1, 20 * SECOND, STALLS);
    snapshot->waits = waits_new();
    for (uint32_t i = 1; i < 5; i++)
        add(snapshot->waits, i, 100);
    add(snapshot->waits, 5, 106);
    add(snapshot->waits, 6, 105);
    add(snapshot->waits, 7, 105);
    add(snapshot->waits, 8, 0);
    assert_int_equal(waits_link(snapshot->waits), 0);
    assert_int_equal(waits_missing(snapshot->waits, 1, 0, 100, 17, found), 1);
    found[0]->kind = WAITS_ID;
    found[0]->slot = 0;
    found[0]->generation = 2;
    found[0]->id = 17;
    found[0]->ring_name = waits_ring_name(snapshot->waits, "checkout");
    found[0]->has_state = true;
    found[0]->state = ID_STALLED;
    found[0]->cause = CAUSE_BLOCKED;
    for (size_t i = 0; i < snapshot->waits->waiting_count; i++)
        waits_again(&snapshot->waits->nodes[i], &snapshot->waits->nodes[i].wait);
    waits_settle(snapshot->waits);
    for (uint32_t i = 0; i < STALLS; i++) {
        snapshot->stalls[i].item->slot = i;
        snapshot->stalls[i].item->generation = 2;
        snapshot->stalls[i].frozen_for_ns = (i + 1) * SECOND;
        sighting_set_wait(&snapshot->stalls[i], snapshot->waits, 1, i, 2);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    snapshot_unref(snapshot);
    return 0;
}

static bool all(const void *context, const struct sighting *stall)
{
    (void)context;
    return stall != NULL;
}

TEST(groups, setup, teardown)
{
    struct roots *roots = roots_of(snapshot, false, all, NULL);

    assert_non_null(roots);
    assert_int_equal(roots->count, 3);
    assert_int_equal(roots->alone_count, 2); /* 0 and 9 */
    assert_int_equal(roots->groups[0].count, 4);
    assert_int_equal(roots->groups[0].longest_ns, 5 * SECOND);
    assert_ptr_equal(roots->groups[0].stalled, &snapshot->stalls[0]);
    assert_int_equal(roots->groups[1].count, 3);
    assert_true(snapshot->waits->nodes[roots->groups[1].root].deadlocked);
    assert_int_equal(roots->groups[2].count, 1);
    assert_int_equal(snapshot->waits->nodes[roots->groups[2].root].kind, WAITS_READERS);
    assert_null(roots->groups[2].stalled);
    roots_free(roots);
    roots_free(NULL);
}

static struct query grouped_by(enum query_group group)
{
    struct query query;

    query_init(&query);
    query.group = group;
    return query;
}

static json_t *document_of(enum query_group group, enum document_kind kind)
{
    const struct query query = grouped_by(group);
    struct page *page = query_stalls(&query, snapshot);
    size_t length;
    json_t *root;
    char *text;

    assert_non_null(page);
    text = whole_page(kind, page, 0, 0, &length);
    assert_null(strstr(text, "12345678")); /* the address of the lock */
    root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(text);
    page_unref(page);
    return root;
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const json_t *group(const json_t *document, size_t i)
{
    return json_array_get(json_object_get(document, "stalls"), i);
}

TEST(document, setup, teardown)
{
    json_t *document = document_of(QUERY_GROUP_ROOT, DOCUMENT_STALLS_BY_ROOT);

    assert_string_equal(json_string_value(json_object_get(document, "schema")), "ripd/stalls-by-root/1");
    assert_int_equal(number(document, "total"), 3);
    assert_int_equal(number(document, "alone"), 2);
    assert_int_equal(number(group(document, 0), "count"), 4);
    assert_int_equal(number(json_object_get(group(document, 0), "root"), "id"), 17);
    assert_true(json_is_null(json_object_get(group(document, 0), "deadlock")));
    assert_int_equal(json_array_size(json_object_get(group(document, 1), "deadlock")), 2);
    assert_int_equal(number(group(document, 1), "deadlock_left_out"), 0);
    assert_string_equal(json_string_value(json_object_get(json_object_get(group(document, 2), "root"), "holder")),
                        "readers");
    json_decref(document);
}

TEST(pages, setup, teardown)
{
    struct query query = grouped_by(QUERY_GROUP_ROOT);
    struct page *page;

    query.limit = 1;
    for (size_t seen = 1; seen <= 3; seen++) {
        page = query_stalls(&query, snapshot);
        assert_int_equal(page->total, 3);
        assert_int_equal(page->count, 1);
        assert_int_equal(page->more, seen < 3);
        query.after = page->next;
        page_unref(page);
    }
    query = grouped_by(QUERY_GROUP_ROOT);
    query.min_ns = 8 * SECOND; /* 7, 8 and 9 */
    page = query_stalls(&query, snapshot);
    assert_int_equal(page->total, 2);
    assert_int_equal(page->roots->groups[0].count, 1);
    assert_int_equal(page->roots->alone_count, 1);
    page_unref(page);
}

/* 7 and 9 have the same process, cause and location: one group. 8 sleeps, and is an incident of its own. */
TEST(incidents, setup, teardown)
{
    struct roots *roots;

    snapshot->stalls[7].waits = snapshot->stalls[8].waits = NULL; /* 7 and 8 wait for nobody */
    snapshot->stalls[7].cause = snapshot->stalls[9].cause = CAUSE_BLOCKED;
    snapshot->stalls[8].cause = CAUSE_SLEEPING;
    roots = roots_of(snapshot, true, all, NULL);
    assert_non_null(roots);
    assert_int_equal(roots->incident_count, 5);
    assert_int_equal(roots->asleep_count, 1);
    assert_int_equal(roots->count, 4);
    assert_int_equal(roots->groups[0].root, WAITS_NONE);
    assert_int_equal(roots->groups[0].count, 2);
    assert_ptr_equal(roots->groups[0].longest, &snapshot->stalls[9]);
    assert_ptr_equal(roots->groups[1].longest, &snapshot->stalls[8]);
    assert_true(snapshot->waits->nodes[roots->groups[2].root].deadlocked);
    assert_int_equal(roots->groups[2].count, 2);
    assert_int_equal(roots->groups[3].count, 5); /* including the root, which is a stall */
    assert_ptr_equal(roots->groups[3].longest, &snapshot->stalls[0]);
    roots_free(roots);
}

TEST(incident_document, setup, teardown)
{
    json_t *document = document_of(QUERY_GROUP_INCIDENT, DOCUMENT_STALLS_BY_INCIDENT);

    assert_string_equal(json_string_value(json_object_get(document, "schema")), "ripd/stalls-by-incident/1");
    assert_int_equal(number(document, "total"), 4);
    assert_int_equal(number(document, "incidents"), 4);
    assert_true(json_is_null(json_object_get(group(document, 0), "root")));
    assert_true(json_is_string(json_object_get(json_object_get(group(document, 0), "example"), "summary")));
    assert_int_equal(number(json_object_get(group(document, 3), "root"), "id"), 17);
    json_decref(document);
}

/* A query for the incident of any of its ids returns all its ids. */
TEST(of_incident, setup, teardown)
{
    static const struct {
        uint32_t id;
        uint64_t total;
    } cases[] = {{17, 5}, {20, 5}, {22, 3}, {24, 3}, {25, 1}, {26, 1}, {99, 0}};
    struct query query;

    for (size_t i = 0; i < STALLS; i++)
        snapshot->stalls[i].item->id = 17 + (uint32_t)i;
    for (size_t i = 0; i < snapshot->waits->count; i++)
        snapshot->waits->nodes[i].ring_name = snapshot->stalls[0].item->ring_name;
    query_init(&query);
    query.has_incident = true;
    strcpy(query.incident_ring, snapshot->stalls[0].item->ring_name);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct page *page;

        query.incident_id = cases[i].id;
        page = query_stalls(&query, snapshot);
        if (page->total != cases[i].total)
            fail_msg("id %u: %d stalls", cases[i].id, (int)page->total);
        page_unref(page);
    }
}

TEST(without_waits, NULL, teardown)
{
    json_t *document;

    snapshot = sample_snapshot(1, 20 * SECOND, 3);
    document = document_of(QUERY_GROUP_ROOT, DOCUMENT_STALLS_BY_ROOT);
    assert_int_equal(number(document, "total"), 0);
    assert_int_equal(number(document, "alone"), 3);
    json_decref(document);
}
