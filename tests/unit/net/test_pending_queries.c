/* SPDX-License-Identifier: Apache-2.0 */
/* test_pending_queries.c - queries: asked once, answered to all, given up in time; long lists are built while others
 * are answered. */
#include <stdbool.h>

#include <errno.h>
#include <poll.h>

#include "support/test.h"
#include "unit/http_world.h"

TEST(threads)
{
    struct world world;
    struct client first;
    struct client second;
    struct reply reply;

    world_open(&world);
    publish_and_wait(&world, 1, 0);
    client_open(&first, world.address);
    client_open(&second, world.address);
    client_send(&first, GET("/threads?state=stalled") GET("/healthz"));
    wait_for_ticket(&world, 0);
    client_send(&second, GET("/threads?state=stalled"));
    usleep(50000);
    complete(&world, wait_for_ticket(&world, 0), 1, 5);
    client_receive(&first, &reply);
    assert_non_null(strstr(reply.body, "\"schema\":\"ripd/threads/1\""));
    assert_non_null(strstr(reply.body, "\"returned\":5"));
    free(reply.body);
    client_expect(&first, 200); /* what was pipelined behind it */
    client_expect(&second, 200);
    assert_int_equal(ask(&world, GET("/threads?state=stalled")), 200);
    assert_int_equal(tickets_of(&world), 1); /* once per scan and query */
    publish_and_wait(&world, 2, 0);
    client_send(&first, GET("/threads?state=stalled"));
    complete(&world, wait_for_ticket(&world, 1), 2, 5);
    client_expect(&first, 200);
    client_close(&first);
    client_close(&second);
    world_close(&world);
}

/* Different questions at once, answered the other way round. */
TEST(several)
{
    static const char *const requests[] = {GET("/threads?pid=1"), GET("/threads?pid=2"), GET("/threads?pid=3")};
    struct client clients[COUNT_OF(requests)];
    struct world world;

    world_open(&world);
    publish_and_wait(&world, 1, 0);
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        client_open(&clients[i], world.address);
        client_send(&clients[i], requests[i]);
        wait_for_ticket(&world, i);
    }
    for (size_t i = COUNT_OF(requests); i-- > 0;) {
        char expected[48];
        struct reply reply;

        complete(&world, world.tickets[i], 1, i + 1);
        client_receive(&clients[i], &reply);
        snprintf(expected, sizeof(expected), "\"returned\":%zu,", i + 1);
        assert_non_null(strstr(reply.body, expected));
        free(reply.body);
        client_close(&clients[i]);
    }
    world_close(&world);
}

/* The snapshot has the stalls, and the scanner alone knows how many ids of other states there are besides. */
TEST(stalls_selected_by_id)
{
    static const char *const requests[] = {GET("/stalls?pid=4690"), GET("/stalls?name=work*"),
                                           GET("/stalls?group=root&pid=4690")};
    struct world world;
    struct client client;
    struct reply reply;

    world_open(&world);
    publish_and_wait(&world, 1, 2);
    assert_int_equal(ask(&world, GET("/stalls?ring=check*&cause=blocked")), 200);
    assert_int_equal(tickets_of(&world), 0);
    client_open(&client, world.address);
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        struct snapshot *snapshot = sample_snapshot(1, clock_mono_ns(), 2);
        struct query query;
        struct page *page;

        query_init(&query);
        query.group = i == 2 ? QUERY_GROUP_ROOT : QUERY_GROUP_NONE;
        page = query_stalls(&query, snapshot);
        page->counts[ID_IDLE] = 77 + i;
        client_send(&client, requests[i]);
        http_complete(world.http, wait_for_ticket(&world, i), page);
        client_receive(&client, &reply);
        assert_int_equal(reply.status, 200);
        assert_non_null(strstr(reply.body, i == 0 ? "\"idle\":77," : i == 1 ? "\"idle\":78," : "\"idle\":79,"));
        free(reply.body);
        snapshot_unref(snapshot);
    }
    client_close(&client);
    world_close(&world);
}

/* In slices: others are answered between them. */
TEST(states)
{
    struct snapshot *snapshot = sample_snapshot(1, clock_mono_ns(), 0);
    struct page *page = page_new(snapshot);
    struct world world;
    struct client client;
    struct reply reply;
    json_t *root, *pieces;
    size_t count = 0;

    world_open(&world);
    publish_and_wait(&world, 1, 0);
    page->states = state_map_new();
    for (uint32_t i = 0; i < 300000; i++)
        assert_int_equal(state_map_add(page->states, 1, "checkout", 3 * i, ID_IDLE), 0);
    page->count = page->states->piece_count;
    client_open(&client, world.address);
    client_send(&client, GET("/states?limit=300000"));
    http_complete(world.http, wait_for_ticket(&world, 0), page);
    client_receive(&client, &reply);
    assert_int_equal(reply.status, 200);
    root = json_loads(reply.body, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(root, "returned")), 300000);
    pieces = json_object_get(root, "states");
    for (size_t i = 0; i < json_array_size(pieces); i++)
        count += json_string_length(json_object_get(json_array_get(pieces, i), "letters"));
    assert_int_equal(count, 300000);
    json_decref(root);
    free(reply.body);
    client_close(&client);
    snapshot_unref(snapshot);
    world_close(&world);
}

TEST(one_thread)
{
    struct world world;
    struct client client;
    struct reply reply;

    world_open(&world);
    publish_and_wait(&world, 1, 0);
    client_open(&client, world.address);
    client_send(&client, GET("/threads/check%6fut/17"));
    complete(&world, wait_for_ticket(&world, 0), 1, 1);
    client_receive(&client, &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "\"thread\":{\"ring\":\"checkout\",\"source\":\"library\",\"id\":17"));
    free(reply.body);
    client_send(&client, GET("/threads/checkout/18"));
    complete(&world, wait_for_ticket(&world, 1), 1, 0);
    client_expect_problem(&client, 404);
    client_close(&client);
    world_close(&world);
}

TEST(threads_gone_wrong)
{
    struct world world;
    struct client client;
    struct http_limits limits;

    world_make(&world, "127.0.0.1:0");
    limits = http_default_limits;
    limits.wait_ns = UINT64_C(200000000);
    limits.sweep_ns = UINT64_C(50000000);
    http_set_limits(world.http, &limits);
    assert_int_equal(http_start(world.http), 0);
    publish_and_wait(&world, 1, 0);

    client_open(&client, world.address); /* goes before the answer is there */
    client_send(&client, GET("/threads?name=a"));
    wait_for_ticket(&world, 0);
    client_close(&client);
    complete(&world, world.tickets[0], 1, 1000);

    client_open(&client, world.address); /* could not be had */
    client_send(&client, GET("/threads?name=b"));
    http_complete(world.http, wait_for_ticket(&world, 1), NULL);
    client_expect_problem(&client, 503);

    client_send(&client, GET("/threads?name=c") GET("/threads?name=c2")); /* no answer in time; then one too late */
    client_expect_problem(&client, 503);
    client_expect_problem(&client, 503);
    complete(&world, world.tickets[2], 1, 1);
    complete(&world, 12345678, 1, 1); /* of no query */

    world.refusal = -EAGAIN;
    client_send(&client, GET("/threads?name=d"));
    client_expect_problem(&client, 503);
    client_close(&client);
    assert_int_equal(ask(&world, GET("/healthz")), 200);
    world_close(&world);
}

/* More questions than the scanner is given at once, and than may wait at all. */
TEST(a_window_of_questions)
{
    enum { CLIENTS = HTTP_QUERIES_MAX + 1 };
    struct client clients[CLIENTS];
    struct world world;
    struct reply reply;

    world_open(&world);
    publish_and_wait(&world, 1, 0);
    for (size_t i = 0; i < CLIENTS; i++) {
        char text[128];

        snprintf(text, sizeof(text), "GET /threads?pid=%zu HTTP/1.1\r\n" HOST "\r\n", i + 1);
        client_open(&clients[i], world.address);
        client_send(&clients[i], text);
        if (i < HTTP_QUERIES_AT_WORK_MAX)
            wait_for_ticket(&world, i);
        else
            assert_int_equal(ask(&world, GET("/healthz")), 200); /* comes after it */
    }
    assert_int_equal(tickets_of(&world), HTTP_QUERIES_AT_WORK_MAX);
    client_receive(&clients[CLIENTS - 1], &reply); /* one too many */
    assert_problem(&reply, 503);
    free(reply.body);
    for (size_t i = 0; i < HTTP_QUERIES_MAX; i++) { /* in the order in which they were asked */
        complete(&world, wait_for_ticket(&world, i), 1, i + 1);
        client_expect(&clients[i], 200);
        assert_true(tickets_of(&world) <= i + 1 + HTTP_QUERIES_AT_WORK_MAX);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        client_close(&clients[i]);
    world_close(&world);
}

#define LONG_LIST "/stalls?limit=10000&trail=32"
#define LONG_COUNT 10000u
#define ENTRIES 16u

/* Stalls enough for a list of tens of megabytes. */
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

static void publish_long(struct world *world, uint64_t sequence, size_t count)
{
    struct snapshot *snapshot = long_snapshot(sequence, count);
    char expected[64];
    struct reply reply;
    bool there = false;

    http_publish(world->http, snapshot);
    snapshot_unref(snapshot);
    snprintf(expected, sizeof(expected), "\"sequence\":%llu,", (unsigned long long)sequence);
    for (int i = 0; i < 5000 && !there; i++) {
        client_ask(world->address, GET("/stalls?limit=1"), &reply);
        there = strstr(reply.body, expected) != NULL;
        free(reply.body);
    }
    assert_true(there);
}

static void assert_whole(const struct reply *reply, size_t count)
{
    json_t *root = json_loads(reply->body, 0, NULL);
    json_t *list = json_object_get(root, "stalls");

    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "returned")), count);
    assert_int_equal(json_array_size(list), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(list, i), "id")), i);
    json_decref(root);
}

TEST(whole_and_once)
{
    struct health_http health;
    struct http_limits limits;
    struct client clients[3];
    struct reply reply;
    struct world world;
    size_t body_bytes = 0;

    world_make(&world, "127.0.0.1:0");
    limits = http_default_limits;
    limits.stall_ns *= 10; /* a busy machine is long about what the first one got */
    http_set_limits(world.http, &limits);
    assert_int_equal(http_start(world.http), 0);
    publish_long(&world, 1, LONG_COUNT);
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        client_open(&clients[i], world.address);
        client_send(&clients[i], GET(LONG_LIST) GET("/healthz"));
    }
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        client_receive(&clients[i], &reply);
        assert_int_equal(reply.status, 200);
        assert_true(body_bytes == 0 || body_bytes == reply.body_bytes);
        body_bytes = reply.body_bytes;
        if (i == 0)
            assert_whole(&reply, LONG_COUNT);
        free(reply.body);
        client_expect(&clients[i], 200); /* the connection goes on */
        client_close(&clients[i]);
    }
    http_stop(world.http);
    assert_true(body_bytes > 10 * HTTP_BUILD_BYTES_PER_TURN);
    http_health(world.http, &health);
    assert_in_range(health.list_bytes, body_bytes / 8 * 7, body_bytes + body_bytes / 8); /* one, not three */
    world_close(&world);
}

/* True if the other answer came first, false if the long one did; -1: both were there when this looked. */
static int race_against_the_list(struct world *world)
{
    struct client slow;
    struct client quick;
    struct pollfd polled[2];
    struct reply reply;

    client_open(&slow, world->address);
    client_open(&quick, world->address);
    client_send(&quick, GET("/healthz")); /* so that its connection is accepted */
    client_receive(&quick, &reply);
    free(reply.body);
    client_send(&slow, GET(LONG_LIST));
    usleep(2000); /* it is at it */
    client_send(&quick, GET("/healthz"));
    polled[0] = (struct pollfd){.fd = slow.descriptor, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = quick.descriptor, .events = POLLIN};
    assert_true(poll(polled, 2, CLIENT_WAIT_SECONDS * 1000) > 0);
    client_close(&slow); /* it waits no longer: the list is given up */
    client_close(&quick);
    return polled[0].revents != 0 && polled[1].revents != 0 ? -1 : polled[1].revents != 0;
}

TEST(others_are_answered_meanwhile)
{
    struct world world;
    int first = 0;

    world_open(&world);
    for (uint64_t round = 1; round <= 100 && first < 3; round++) {
        publish_long(&world, round, LONG_COUNT);
        first += race_against_the_list(&world) == 1;
    }
    assert_int_equal(first, 3);
    world_close(&world);
}

TEST(given_up_when_nobody_waits)
{
    struct client client;
    struct world world;

    world_open(&world);
    publish_long(&world, 1, LONG_COUNT);
    for (int i = 0; i < 5; i++) {
        client_open(&client, world.address);
        client_send(&client, GET(LONG_LIST));
        usleep(1000);
        client_close(&client);
    }
    assert_int_equal(ask(&world, GET("/stalls?limit=60")), 200);
    world_close(&world);
}

/* Answers of the scanner, long and short, while a list is being built. */
TEST(answers_of_the_scanner_meanwhile)
{
    struct snapshot *snapshot = long_snapshot(1, 5000);
    struct client clients[3];
    struct query query;
    struct reply reply;
    struct world world;

    world_open(&world);
    http_publish(world.http, snapshot);
    client_open(&clients[0], world.address);
    client_send(&clients[0], GET("/threads?limit=5000"));
    wait_for_ticket(&world, 0);
    client_open(&clients[1], world.address);
    client_send(&clients[1], GET("/threads?limit=4999"));
    wait_for_ticket(&world, 1);
    client_open(&clients[2], world.address);
    client_send(&clients[2], GET("/threads?limit=3"));
    wait_for_ticket(&world, 2);
    for (size_t i = 0; i < 3; i++) {
        query_init(&query);
        query.limit = i == 0 ? 5000 : i == 1 ? 4999 : 3;
        http_complete(world.http, world.tickets[i], query_stalls(&query, snapshot));
    }
    for (size_t i = 0; i < 3; i++) {
        client_receive(&clients[2 - i], &reply);
        assert_int_equal(reply.status, 200);
        assert_non_null(strstr(reply.body, i == 0   ? "\"returned\":3,"
                                           : i == 1 ? "\"returned\":4999,"
                                                    : "\"returned\":5000,"));
        free(reply.body);
        client_close(&clients[2 - i]);
    }
    snapshot_unref(snapshot);
    world_close(&world);
}

TEST(stopping_in_between)
{
    struct client client;
    struct world world;

    world_open(&world);
    publish_long(&world, 1, LONG_COUNT);
    client_open(&client, world.address);
    client_send(&client, GET(LONG_LIST));
    usleep(3000);
    world_close(&world);
    client_close(&client);
}
