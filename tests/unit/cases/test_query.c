/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_query.c - which stalls a query matches, and pages that together have every stall once.
 */
#include <stdlib.h>
#include <string.h>

#include "cases/query.h"
#include "support/test.h"

static struct process_facts *process;

static int make_process(void **context)
{
    (void)context;
    process = calloc(1, sizeof *process);
    atomic_init(&process->references, 1);
    process->pid = 4690;
    return 0;
}

static int drop_process(void **context)
{
    (void)context;
    assert_int_equal(atomic_load(&process->references), 1);
    process_facts_unref(process);
    return 0;
}

static struct sighting sighting_of(const char *ring_name, uint32_t ring, uint32_t slot, const char *name)
{
    struct item *item = calloc(1, sizeof *item);

    atomic_init(&item->references, 1);
    item->ring_name = strdup(ring_name);
    item->ring = ring;
    item->slot = slot;
    item->id = 100 + slot;
    item->name_bytes = (uint8_t)strlen(name);
    memcpy(item->name, name, item->name_bytes);
    item->process = process_facts_ref(process);
    return (struct sighting){.item = item, .state = ID_STALLED, .cause = CAUSE_BLOCKED, .frozen_for_ns = 7000};
}

static struct snapshot *snapshot;
static struct query query;
static struct page *page; /* the last answer */

static int setup(void **context)
{
    (void)context;
    query_init(&query);
    return 0;
}

static int teardown(void **context)
{
    (void)context;
    page_unref(page);
    snapshot_unref(snapshot);
    page = NULL;
    snapshot = NULL;
    return 0;
}

static void ask(void)
{
    page_unref(page);
    page = query_stalls(&query, snapshot);
}

static bool matches(const struct sighting *sighting)
{
    struct query_filter filter;

    query_filter_make(&filter, &query);
    return query_matches(&filter, sighting);
}

/* Whether a query with these conditions shows the stall; each statement sets one. */
#define MATCHES(expected, ...)                                                                                         \
    do {                                                                                                               \
        query_init(&query);                                                                                            \
        __VA_ARGS__;                                                                                                   \
        assert_int_equal(matches(&sighting), expected);                                                                \
    } while (0)

TEST(each_condition_excludes)
{
    struct sighting sighting = sighting_of("checkout", 1, 7, "worker-17");
    char container[65] = {0};

    MATCHES(true, assert_int_equal(query.limit, QUERY_LIMIT_DEFAULT));
    MATCHES(true, strcpy(query.ring, "checkout"));
    MATCHES(false, strcpy(query.ring, "check")); /* the whole name, not a prefix */
    MATCHES(true, strcpy(query.ring, "check*"));
    MATCHES(false, strcpy(query.ring, "check*"); query.one = true; query.id = 107); /* in a path: no pattern */
    MATCHES(true, query.one = true; query.id = 107);
    MATCHES(false, query.one = true; query.id = 7);

    MATCHES(false, strcpy(query.unit, "*")); /* an unknown unit matches nothing */
    process->origin = calloc(1, sizeof *process->origin);
    atomic_init(&process->origin->references, 1);
    MATCHES(false, strcpy(query.unit, "*"));
    process->origin->unit = strdup("checkout.service");
    MATCHES(true, strcpy(query.unit, "*"));
    MATCHES(false, strcpy(query.unit, "checkout"));

    memset(container, 'c', 64); /* longer than a pattern can be */
    MATCHES(false, strcpy(query.container, container));
    process->origin->container = strdup(container);
    MATCHES(true, strcpy(query.container, container));
    MATCHES(false, strcpy(query.container, container); query.container[0] = 'd');
    MATCHES(true, strcpy(query.container, "c*"));

    MATCHES(true, strcpy(query.name, "worker-*"));
    MATCHES(false, strcpy(query.name, "worker"));
    MATCHES(true, query.pid = 4690);
    MATCHES(false, query.pid = 17);
    MATCHES(true, query.min_ns = 7000);
    MATCHES(false, query.min_ns = 7001);
    MATCHES(true, query.states = 1u << ID_STALLED);
    MATCHES(false, query.states = 1u << ID_RUNNING);
    MATCHES(false, query.causes = 1u << CAUSE_PARKED);
    MATCHES(true, query.causes = ~(1u << CAUSE_PARKED));
    MATCHES(true, query.causes = 1u << CAUSE_BLOCKED);
    MATCHES(false, query.causes = ~(1u << CAUSE_BLOCKED));
    sighting.cause = CAUSE_UNSEEN; /* of an idle id: shown as null */
    MATCHES(true, query.causes = 1u << CAUSE_NONE);
    MATCHES(false, query.causes = ~(1u << CAUSE_NONE));

    process_facts_unref(sighting.item->process);
    sighting.item->process = NULL;
    MATCHES(false, query.pid = 4690);
    sighting_done(&sighting);
}

#define LONG_NAME "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg"

/* A pattern also matches as a plain name. A name that is too long for a pattern matches only as a name. */
TEST(names_of_rings, setup)
{
    static const struct {
        const char *pattern;
        const char *name;
        bool selects;
    } rows[] = {
        {"", "checkout", true},
        {"", NULL, true},
        {"*", NULL, false},
        {"nginx.*", "nginx.4711", true},
        {"nginx.*", "nginx", false},
        {"[ab]", "a", true},
        {"[ab]", "[ab]", true},
        {LONG_NAME, LONG_NAME, true},
        {LONG_NAME "x", LONG_NAME, false},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct query_filter filter;

        strcpy(query.ring, rows[i].pattern);
        query_filter_make(&filter, &query);
        if (query_selects_ring(&filter, rows[i].name) != rows[i].selects)
            fail_msg("\"%s\"", rows[i].pattern);
    }
}

/* Makes a snapshot of that many stalls. Four at a time have the same time, so that the rest of the key matters. */
static struct snapshot *snapshot_of(uint32_t count)
{
    struct snapshot *made = snapshot_new();

    made->stalls = calloc(count + 1, sizeof *made->stalls);
    for (uint32_t i = 0; i < count; i++) {
        struct sighting *stall = &made->stalls[made->stall_count++];

        *stall = sighting_of("r", 1 + i % 3, i, i % 5 ? "worker" : "other");
        stall->frozen_since_ns = i / 4 * 10;
    }
    snapshot_sort(made);
    return made;
}

TEST(pages_have_every_stall_once, setup, teardown)
{
    snapshot = snapshot_of(103);
    for (query.limit = 1; query.limit < 110; query.limit += 6) {
        size_t seen = 0;

        query.after = (struct query_cursor){0};
        do {
            ask();
            assert_int_equal(page->total, 103);
            assert_true(page->count <= query.limit);
            for (size_t i = 0; i < page->count; i++)
                assert_ptr_equal(page->sightings[i].item, snapshot->stalls[seen++].item);
            assert_int_equal(page->more, seen < 103);
            query.after = page->next;
        } while (page->more);
        assert_int_equal(seen, 103);
    }
}

/* The total is that of the query, independent of the cursor. */
TEST(total_counts_all_matches, setup, teardown)
{
    snapshot = snapshot_of(50);
    strcpy(query.name, "w*");
    for (query.limit = 7; query.limit <= 33; query.limit += 26) {
        ask();
        assert_int_equal(page->total, 40);
        assert_int_equal(page->count, query.limit);
        assert_int_equal(page->more, query.limit == 7);
        query.after = page->next;
    }
}

/* The item of the cursor is not in the next snapshot: no other item is lost or repeated. */
TEST(a_cursor_outlives_its_item, setup, teardown)
{
    struct snapshot *before = snapshot_of(8);

    snapshot = snapshot_of(8);
    query.limit = 3;
    ask();
    query.after = page->next;
    page_unref(page);
    page = NULL;
    sighting_done(&snapshot->stalls[2]);
    memmove(&snapshot->stalls[2], &snapshot->stalls[3], 5 * sizeof *snapshot->stalls);
    snapshot->stall_count--;
    query.limit = 100;
    ask();
    assert_int_equal(page->total, 7);
    assert_int_equal(page->count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(page->sightings[i].item->slot, before->stalls[3 + i].item->slot);
    snapshot_unref(before);
}

/* A page counts all ids, or all ids of the selected rings. Conditions on ids do not change that. */
TEST(counts_are_of_the_selected_rings, setup, teardown)
{
    snapshot = snapshot_of(8);
    snapshot->rings = calloc(3, sizeof *snapshot->rings);
    snapshot->ring_count = 3;
    for (uint32_t i = 0; i < 3; i++) {
        snapshot->rings[i] = (struct ring_facts){.name = strdup(i == 0 ? "a" : i == 1 ? "ab" : "c"), .serial = i};
        snapshot->rings[i].counts[ID_IDLE] = 10 + i;
        snapshot->counts[ID_IDLE] += 10 + i;
    }
    snapshot->counts[ID_STALLED] = 8;
    query.list = QUERY_LIST_STALLS;
    query.causes = 1u << CAUSE_SPINNING;
    ask();
    assert_int_equal(page->total, 0);
    assert_int_equal(page->counts[ID_IDLE], 33);
    assert_int_equal(page->counts[ID_STALLED], 8);
    strcpy(query.ring, "a*");
    for (int group = QUERY_GROUP_NONE; group <= QUERY_GROUP_INCIDENT; group++) {
        query.group = (enum query_group)group;
        ask();
        assert_int_equal(page->counts[ID_IDLE], 21);
        assert_int_equal(page->counts[ID_STALLED], 0);
    }
    assert_true(query_is_local(&query));
    query.pid = 1;
    assert_false(query_is_local(&query));
}

TEST(limit, setup, teardown)
{
    snapshot = snapshot_of(5);
    query.limit = UINT32_MAX;
    ask();
    assert_int_equal(page->count, 5);
    assert_false(page->more);
    query.limit = 0;
    ask();
    assert_int_equal(page->count, 0);
    assert_true(page->more);
    assert_false(page->next.present);
}

/* A page holds a reference to its snapshot. */
TEST(a_page_keeps_its_snapshot, setup, teardown)
{
    snapshot = snapshot_of(5);
    ask();
    snapshot_unref(snapshot);
    assert_ptr_equal(page_ref(page), page);
    page_unref(page);
    assert_int_equal(page->snapshot->stall_count, 5);
    assert_int_equal(page->sightings[4].item->slot, 4);
    snapshot = snapshot_new();
    ask();
    assert_int_equal(page->count, 0);
    assert_false(page->more);
}

int main(void)
{
    return tests_run(make_process, drop_process);
}
