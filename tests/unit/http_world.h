/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_world.h - a real server on loopback, one per test. The test is its scanner: it publishes snapshots and events,
 * and answers queries.
 */
#ifndef TESTS_UNIT_HTTP_WORLD_H
#define TESTS_UNIT_HTTP_WORLD_H

#include <jansson.h>
#include <pthread.h>

#include "net/http.h"
#include "net/limits.h"
#include "os/clock.h"
#include "unit/http_client.h"
#include "unit/sample_event.h"
#include "unit/samples.h"

#define HOST "Host: localhost\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" HOST "\r\n"
#define EPOCH UINT64_C(0xabc)
#define EPOCH_TEXT "0000000000000abc"
#define MS_NS UINT64_C(1000000)
#define TICKETS_MAX 64

/* The server of this test, and the tickets of its queries. */
static struct {
    struct http *http;
    const char *address;
    pthread_mutex_t mutex;
    uint64_t tickets[TICKETS_MAX];
    size_t ticket_count;
    int refusal; /* what the next queries get */
} world;

/* Set-up and tear-down --------------------------------------------------------------------------------------------- */

static inline int take_query(void *context, uint64_t ticket, const struct query *query)
{
    int refusal;

    (void)context;
    (void)query;
    pthread_mutex_lock(&world.mutex);
    refusal = world.refusal;
    if (refusal == 0 && world.ticket_count < TICKETS_MAX)
        world.tickets[world.ticket_count++] = ticket;
    pthread_mutex_unlock(&world.mutex);
    return refusal;
}

static inline void world_new(const struct http_options *options)
{
    const struct http_source source = {.threads = take_query};
    char *error = NULL;

    memset(&world, 0, sizeof(world));
    pthread_mutex_init(&world.mutex, NULL);
    if (http_new(&world.http, options, &source, &error) < 0)
        fail_msg("%s", error);
    http_set_epoch(world.http, EPOCH);
    world.address = http_address(world.http, 0);
}

static inline void world_new_at(const char *listen)
{
    world_new(&(struct http_options){.listen = &listen, .listen_count = 1});
}

/* limits can be NULL. */
static inline void world_start(const struct http_limits *limits)
{
    if (limits != NULL)
        http_set_limits(world.http, limits);
    assert_int_equal(http_start(world.http), 0);
}

static inline void world_close(void)
{
    http_stop(world.http);
    http_free(world.http);
    pthread_mutex_destroy(&world.mutex);
}

/* Fixture: a server that the test starts. */
static inline int world_prepare(void **state)
{
    (void)state;
    world_new_at("127.0.0.1:0");
    return 0;
}

/* Fixture: a server that runs. */
static inline int world_set_up(void **state)
{
    world_prepare(state);
    world_start(NULL);
    return 0;
}

static inline int world_tear_down(void **state)
{
    (void)state;
    world_close();
    return 0;
}

/* Returns how often a limit was hit. Stops the server. */
static inline uint64_t world_stop_and_count(enum health_limit limit)
{
    struct health_http health;

    http_stop(world.http);
    http_health(world.http, &health);
    return health.limit_counts[limit];
}

/* Requests --------------------------------------------------------------------------------------------------------- */

/* Sends a request on a connection of its own and returns the status of the reply. */
static inline int fetch(const char *request)
{
    struct client client = client_open(world.address);

    client_send(&client, request);
    assert_true(client_receive_any(&client, false));
    client_close(&client);
    return reply.status;
}

static inline void client_send_get(struct client *client, const char *target)
{
    char request[512];

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST "\r\n", target);
    client_send(client, request);
}

static inline int get(const char *target)
{
    char request[512];

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST "\r\n", target);
    return fetch(request);
}

/* Opens a connection and sends a request. */
static inline struct client connect_and_send(const char *request)
{
    struct client client = client_open(world.address);

    client_send(&client, request);
    return client;
}

/* The last reply as JSON; the caller releases it. */
static inline json_t *reply_json(void)
{
    json_t *root = json_loads(reply.body, 0, NULL);

    if (root == NULL)
        fail_msg("not JSON: %.1000s", reply.body);
    return root;
}

/* The last reply is a problem document of this status. */
static inline void assert_problem(int status)
{
    json_t *root = reply_json();

    if (reply.status != status)
        fail_msg("status %d, expected %d: %s", reply.status, status, reply.body);
    assert_field("Content-Type", "application/problem+json");
    assert_int_equal(json_integer_value(json_object_get(root, "status")), status);
    json_decref(root);
}

static inline void client_expect_problem(struct client *client, int status)
{
    client_expect(client, status);
    assert_problem(status);
}

/* The scanner ------------------------------------------------------------------------------------------------------ */

static inline void publish(uint64_t sequence, size_t stall_count)
{
    struct snapshot *snapshot = sample_snapshot(sequence, clock_mono_ns(), stall_count);

    http_publish(world.http, snapshot);
    snapshot_unref(snapshot);
}

/* Publishes a snapshot, and waits until it is served. Takes ownership of the reference. */
static inline void publish_snapshot_and_wait(struct snapshot *snapshot)
{
    char expected[64];

    http_publish(world.http, snapshot);
    snprintf(expected, sizeof(expected), "\"sequence\":%llu,", (unsigned long long)snapshot->sequence);
    snapshot_unref(snapshot);
    for (int i = 0; i < 10000; i++) {
        get("/stalls?limit=1");
        if (strstr(reply.body, expected) != NULL)
            return;
        usleep(1000);
    }
    fail_msg("the snapshot is not served");
}

static inline void publish_and_wait(uint64_t sequence, size_t stall_count)
{
    publish_snapshot_and_wait(sample_snapshot(sequence, clock_mono_ns(), stall_count));
}

static inline void publish_events(uint64_t first, uint64_t last, size_t text_bytes)
{
    for (uint64_t i = first; i <= last; i++) {
        struct event *event = sample_event(i, text_bytes);

        http_publish_event(world.http, event);
        event_unref(event);
    }
}

static inline size_t ticket_count(void)
{
    size_t count;

    pthread_mutex_lock(&world.mutex);
    count = world.ticket_count;
    pthread_mutex_unlock(&world.mutex);
    return count;
}

static inline uint64_t wait_for_ticket(size_t nth)
{
    for (int i = 0; i < 60000 && ticket_count() <= nth; i++)
        usleep(1000);
    assert_true(ticket_count() > nth);
    return world.tickets[nth];
}

/* Answers with the stalls of a new snapshot. */
static inline void complete(uint64_t ticket, uint64_t sequence, size_t count)
{
    struct snapshot *snapshot = sample_snapshot(sequence, clock_mono_ns(), count);
    struct query query;

    query_init(&query);
    http_complete(world.http, ticket, query_stalls(&query, snapshot));
    snapshot_unref(snapshot);
}

/* Waits for the nth query of the test, and answers it. */
static inline void answer_query(size_t nth, uint64_t sequence, size_t count)
{
    complete(wait_for_ticket(nth), sequence, count);
}

#endif
