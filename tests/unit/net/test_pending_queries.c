/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pending_queries.c - queries to the scanner: sent once, answered to all, given up in time. Other requests are
 * answered while a long list is built: ripd/net/pending.c.
 */
#include <stdbool.h>

#include <errno.h>
#include <poll.h>

#include "support/test.h"
#include "unit/http_world.h"
#include "unit/json_at.h"

static int set_up(void **state)
{
    world_set_up(state);
    publish_and_wait(1, 0);
    return 0;
}

TEST(one_query_per_scan, set_up, world_tear_down)
{
    struct client first = connect_and_send(GET("/threads?state=stalled") GET("/healthz")), second;

    wait_for_ticket(0);
    second = connect_and_send(GET("/threads?state=stalled"));
    usleep(50000);
    answer_query(0, 1, 5);
    client_expect(&first, 200);
    assert_body_has("\"schema\":\"ripd/threads/1\"");
    assert_body_has("\"returned\":5");
    client_expect(&first, 200); /* the request pipelined behind it */
    client_expect(&second, 200);
    assert_int_equal(get("/threads?state=stalled"), 200);
    assert_int_equal(ticket_count(), 1);
    publish_and_wait(2, 0);
    client_send(&first, GET("/threads?state=stalled"));
    answer_query(1, 2, 5);
    client_expect(&first, 200);
    client_close(&first);
    client_close(&second);
}

/* Different queries at once, answered in reverse order. */
TEST(several, set_up, world_tear_down)
{
    static const char *const requests[] = {GET("/threads?pid=1"), GET("/threads?pid=2"), GET("/threads?pid=3")};
    struct client clients[COUNT_OF(requests)];

    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        clients[i] = connect_and_send(requests[i]);
        wait_for_ticket(i);
    }
    for (size_t i = COUNT_OF(requests); i-- > 0;) {
        char expected[48];

        answer_query(i, 1, i + 1);
        client_expect(&clients[i], 200);
        snprintf(expected, sizeof(expected), "\"returned\":%zu,", i + 1);
        assert_body_has(expected);
        client_close(&clients[i]);
    }
}

/* The snapshot has the stalls; only the scanner can count the ids of other states that match. */
TEST(stalls_selected_by_id, set_up, world_tear_down)
{
    static const char *const targets[] = {"/stalls?pid=4690", "/stalls?name=work*", "/stalls?group=root&pid=4690"};
    struct client client;

    assert_int_equal(get("/stalls?ring=check*&cause=blocked"), 200);
    assert_int_equal(ticket_count(), 0);
    client = client_open(world.address);
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        struct snapshot *snapshot = sample_snapshot(1, clock_mono_ns(), 2);
        struct query query;
        struct page *page;
        char expected[32];

        query_init(&query);
        query.group = i == 2 ? QUERY_GROUP_ROOT : QUERY_GROUP_NONE;
        page = query_stalls(&query, snapshot);
        page->counts[ID_IDLE] = 77 + i;
        client_send_get(&client, targets[i]);
        http_complete(world.http, wait_for_ticket(i), page);
        client_expect(&client, 200);
        snprintf(expected, sizeof(expected), "\"idle\":%zu,", 77 + i);
        assert_body_has(expected);
        snapshot_unref(snapshot);
    }
    client_close(&client);
}

/* Built in slices. */
TEST(states, set_up, world_tear_down)
{
    enum { COUNT = 300000 };
    struct snapshot *snapshot = sample_snapshot(1, clock_mono_ns(), 0);
    struct page *page = page_new(snapshot);
    struct client client;
    json_t *root, *piece;
    size_t i, count = 0;

    page->states = state_map_new();
    for (uint32_t id = 0; id < COUNT; id++)
        assert_int_equal(state_map_add(page->states, 1, "checkout", 3 * id, ID_IDLE), 0);
    page->count = page->states->piece_count;
    client = connect_and_send(GET("/states?limit=300000"));
    http_complete(world.http, wait_for_ticket(0), page);
    client_expect(&client, 200);
    root = reply_json();
    assert_int_equal(json_number_at(root, "returned"), COUNT);
    json_array_foreach(json_at(root, "states"), i, piece) count += json_string_length(json_at(piece, "letters"));
    assert_int_equal(count, COUNT);
    json_decref(root);
    client_close(&client);
    snapshot_unref(snapshot);
}

TEST(one_thread, set_up, world_tear_down)
{
    struct client client = connect_and_send(GET("/threads/check%6fut/17"));

    answer_query(0, 1, 1);
    client_expect(&client, 200);
    assert_body_has("\"thread\":{\"ring\":\"checkout\",\"source\":\"library\",\"id\":17");
    client_send(&client, GET("/threads/checkout/18"));
    answer_query(1, 1, 0);
    client_expect_problem(&client, 404);
    client_close(&client);
}

TEST(queries_without_an_answer, world_prepare, world_tear_down)
{
    struct http_limits limits = http_default_limits;
    struct client client;

    limits.wait_ns = 200 * MS_NS;
    limits.sweep_ns = 50 * MS_NS;
    world_start(&limits);
    publish_and_wait(1, 0);

    client = connect_and_send(GET("/threads?name=a")); /* the client closes first */
    wait_for_ticket(0);
    client_close(&client);
    answer_query(0, 1, 1000);

    client = connect_and_send(GET("/threads?name=b")); /* the scanner has no page */
    http_complete(world.http, wait_for_ticket(1), NULL);
    client_expect_problem(&client, 503);

    client_send(&client, GET("/threads?name=c") GET("/threads?name=c2")); /* no answer in time */
    client_expect_problem(&client, 503);
    client_expect_problem(&client, 503);
    answer_query(2, 1, 1);    /* too late */
    complete(12345678, 1, 1); /* of no query */

    world.refusal = -EAGAIN;
    client_send(&client, GET("/threads?name=d"));
    client_expect_problem(&client, 503);
    client_close(&client);
    assert_int_equal(get("/healthz"), 200);
}

/* More queries than the scanner gets at once, and one more than can be pending. */
TEST(limit_of_queries, set_up, world_tear_down)
{
    enum { CLIENTS = HTTP_QUERIES_MAX + 1 };
    struct client clients[CLIENTS];

    for (size_t i = 0; i < CLIENTS; i++) {
        char target[64];

        snprintf(target, sizeof(target), "/threads?pid=%zu", i + 1);
        clients[i] = client_open(world.address);
        client_send_get(&clients[i], target);
        if (i < HTTP_QUERIES_AT_WORK_MAX)
            wait_for_ticket(i);
        else
            assert_int_equal(get("/healthz"), 200); /* so that the server has read the query */
    }
    assert_int_equal(ticket_count(), HTTP_QUERIES_AT_WORK_MAX);
    client_expect_problem(&clients[CLIENTS - 1], 503);
    for (size_t i = 0; i < HTTP_QUERIES_MAX; i++) { /* in their order */
        answer_query(i, 1, i + 1);
        client_expect(&clients[i], 200);
        assert_true(ticket_count() <= i + 1 + HTTP_QUERIES_AT_WORK_MAX);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        client_close(&clients[i]);
}

/* Long lists ------------------------------------------------------------------------------------------------------- */

#define LONG_LIST GET("/stalls?limit=10000&trail=32")
#define LONG_COUNT 10000u
#define ENTRIES 16u

/* Stalls for a list of tens of megabytes. */
static struct snapshot *long_snapshot(uint64_t sequence, size_t count)
{
    struct snapshot *snapshot = sample_snapshot(sequence, clock_mono_ns(), 0);
    struct process_facts *process = snapshot->rings[0].processes[0];

    free(snapshot->stalls);
    snapshot->stalls = calloc(count, sizeof(*snapshot->stalls));
    snapshot->stall_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = sample_item(process_facts_ref(process), "checkout", 1, i, "worker", 6, ENTRIES);

        snapshot->stalls[i] = sample_stall(item, 1000 + i);
    }
    return snapshot;
}

static void assert_complete_list(size_t count)
{
    json_t *root = reply_json(), *list = json_at(root, "stalls");

    assert_int_equal(json_number_at(root, "returned"), count);
    assert_int_equal(json_array_size(list), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(json_number_at(json_array_get(list, i), "id"), i);
    json_decref(root);
}

TEST(a_long_list_is_complete_and_built_once, world_prepare, world_tear_down)
{
    struct health_http health;
    struct http_limits limits = http_default_limits;
    struct client clients[3];
    size_t body_bytes = 0;

    limits.stall_ns *= 10; /* a busy machine needs long to check the first reply */
    world_start(&limits);
    publish_snapshot_and_wait(long_snapshot(1, LONG_COUNT));
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        clients[i] = connect_and_send(LONG_LIST GET("/healthz"));
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        client_expect(&clients[i], 200);
        assert_true(body_bytes == 0 || body_bytes == reply.body_bytes);
        body_bytes = reply.body_bytes;
        if (i == 0)
            assert_complete_list(LONG_COUNT);
        client_expect(&clients[i], 200); /* the next request of the connection */
        client_close(&clients[i]);
    }
    http_stop(world.http);
    assert_true(body_bytes > 10 * HTTP_BUILD_BYTES_PER_TURN);
    http_health(world.http, &health);
    assert_in_range(health.list_bytes, body_bytes / 8 * 7, body_bytes + body_bytes / 8); /* one list, not three */
}

/* Returns 1 if the other reply came first, 0 if the list did, or -1 if both were there at the time of the check. */
static int race_against_the_list(void)
{
    struct client slow = client_open(world.address), quick = connect_and_send(GET("/healthz"));
    struct pollfd polled[2];

    client_expect(&quick, 200); /* both connections are accepted */
    client_send(&slow, LONG_LIST);
    usleep(2000); /* until the server builds the list */
    client_send(&quick, GET("/healthz"));
    polled[0] = (struct pollfd){.fd = slow.descriptor, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = quick.descriptor, .events = POLLIN};
    assert_true(poll(polled, 2, CLIENT_WAIT_SECONDS * 1000) > 0);
    client_close(&slow); /* the server gives up the list */
    client_close(&quick);
    return polled[0].revents != 0 && polled[1].revents != 0 ? -1 : polled[1].revents != 0;
}

TEST(others_are_answered_while_a_list_is_built, world_set_up, world_tear_down)
{
    int first = 0;

    for (uint64_t round = 1; round <= 100 && first < 3; round++) {
        publish_snapshot_and_wait(long_snapshot(round, LONG_COUNT));
        first += race_against_the_list() == 1;
    }
    assert_int_equal(first, 3);
}

TEST(a_list_without_clients_is_given_up, world_set_up, world_tear_down)
{
    publish_snapshot_and_wait(long_snapshot(1, LONG_COUNT));
    for (int i = 0; i < 5; i++) {
        struct client client = connect_and_send(LONG_LIST);

        usleep(1000);
        client_close(&client);
    }
    assert_int_equal(get("/stalls?limit=60"), 200);
}

/* Long and short answers of the scanner at the same time. */
TEST(pages_of_the_scanner_while_lists_are_built, world_set_up, world_tear_down)
{
    static const uint32_t limits[] = {5000, 4999, 3};
    struct snapshot *snapshot = long_snapshot(1, 5000);
    struct client clients[COUNT_OF(limits)];

    http_publish(world.http, snapshot);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        char target[64];

        snprintf(target, sizeof(target), "/threads?limit=%u", limits[i]);
        clients[i] = client_open(world.address);
        client_send_get(&clients[i], target);
        wait_for_ticket(i);
    }
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct query query;

        query_init(&query);
        query.limit = limits[i];
        http_complete(world.http, world.tickets[i], query_stalls(&query, snapshot));
    }
    for (size_t i = COUNT_OF(limits); i-- > 0;) {
        char expected[32];

        client_expect(&clients[i], 200);
        snprintf(expected, sizeof(expected), "\"returned\":%u,", limits[i]);
        assert_body_has(expected);
        client_close(&clients[i]);
    }
    snapshot_unref(snapshot);
}

TEST(stop_while_a_list_is_built, world_set_up, world_tear_down)
{
    struct client client;

    publish_snapshot_and_wait(long_snapshot(1, LONG_COUNT));
    client = connect_and_send(LONG_LIST);
    usleep(3000);
    http_stop(world.http);
    client_close(&client);
}
