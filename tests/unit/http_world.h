/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_world.h - a real server on loopback whose scanner is the test: it publishes snapshots and answers questions.
 */
#ifndef TESTS_UNIT_HTTP_WORLD_H
#define TESTS_UNIT_HTTP_WORLD_H

#include <jansson.h>
#include <pthread.h>

#include "net/http.h"
#include "net/limits.h"
#include "os/clock.h"
#include "unit/http_client.h"
#include "unit/samples.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define HOST "Host: localhost\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" HOST "\r\n"
#define TICKETS_MAX 64

/* A server, and the questions it has asked. */
struct world {
    struct http *http;
    const char *address;
    pthread_mutex_t mutex;
    uint64_t tickets[TICKETS_MAX];
    size_t ticket_count;
    int refusal; /* what the next questions get */
};

static inline int take_question(void *context, uint64_t ticket, const struct query *query)
{
    struct world *world = context;
    int refusal;

    (void)query;
    pthread_mutex_lock(&world->mutex);
    refusal = world->refusal;
    if (refusal == 0 && world->ticket_count < TICKETS_MAX)
        world->tickets[world->ticket_count++] = ticket;
    pthread_mutex_unlock(&world->mutex);
    return refusal;
}

static inline void world_make(struct world *world, const char *listen)
{
    const char *addresses[] = {listen};
    const struct http_options options = {.listen = addresses, .listen_count = 1};
    const struct http_source source = {take_question, world};
    char *error = NULL;

    memset(world, 0, sizeof(*world));
    pthread_mutex_init(&world->mutex, NULL);
    if (http_new(&world->http, &options, &source, &error) < 0)
        fail_msg("%s", error);
    world->address = http_address(world->http, 0);
}

static inline void world_open(struct world *world)
{
    world_make(world, "127.0.0.1:0");
    assert_int_equal(http_start(world->http), 0);
}

static inline void world_close(struct world *world)
{
    http_stop(world->http);
    http_free(world->http);
    pthread_mutex_destroy(&world->mutex);
}

/* The server is stopped. */
static inline uint64_t hits_of(const struct world *world, enum health_limit limit)
{
    struct health_http health;

    http_health(world->http, &health);
    return health.limit_counts[limit];
}

static inline void publish(struct world *world, uint64_t sequence, size_t stall_count)
{
    struct snapshot *snapshot = sample_snapshot(sequence, clock_mono_ns(), stall_count);

    http_publish(world->http, snapshot);
    snapshot_unref(snapshot);
}

/* Asks on a connection of its own; the body is freed. */
static inline int ask(struct world *world, const char *request)
{
    struct reply reply;

    client_ask(world->address, request, &reply);
    free(reply.body);
    return reply.status;
}

/* Until the server has taken a snapshot in. */
static inline void publish_and_wait(struct world *world, uint64_t sequence, size_t stall_count)
{
    char expected[64];

    publish(world, sequence, stall_count);
    snprintf(expected, sizeof(expected), "\"sequence\":%llu,", (unsigned long long)sequence);
    for (int i = 0; i < 10000; i++) {
        struct reply reply;
        bool there;

        client_ask(world->address, GET("/stalls?limit=1"), &reply);
        there = strstr(reply.body, expected) != NULL;
        free(reply.body);
        if (there)
            return;
        usleep(1000);
    }
    fail_msg("the snapshot is not served");
}

static inline size_t tickets_of(struct world *world)
{
    size_t count;

    pthread_mutex_lock(&world->mutex);
    count = world->ticket_count;
    pthread_mutex_unlock(&world->mutex);
    return count;
}

static inline uint64_t wait_for_ticket(struct world *world, size_t nth)
{
    for (int i = 0; i < 60000 && tickets_of(world) <= nth; i++)
        usleep(1000);
    assert_true(tickets_of(world) > nth);
    return world->tickets[nth];
}

/* Answers a question with the stalls of a new snapshot. */
static inline void complete(struct world *world, uint64_t ticket, uint64_t sequence, size_t count)
{
    struct snapshot *snapshot = sample_snapshot(sequence, clock_mono_ns(), count);
    struct query query;

    query_init(&query);
    http_complete(world->http, ticket, query_stalls(&query, snapshot));
    snapshot_unref(snapshot);
}

static inline void assert_problem(const struct reply *reply, int status)
{
    json_t *root;

    if (reply->status != status)
        fail_msg("%d, not %d: %s", reply->status, status, reply->body);
    assert_true(reply_has(reply, "Content-Type", "application/problem+json"));
    root = json_loads(reply->body, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "status")), status);
    json_decref(root);
}

/* The next answer has that status. */
static inline void client_expect(struct client *client, int status)
{
    struct reply reply;

    client_receive(client, &reply);
    assert_int_equal(reply.status, status);
    free(reply.body);
}

static inline void client_expect_problem(struct client *client, int status)
{
    struct reply reply;

    client_receive(client, &reply);
    assert_problem(&reply, status);
    free(reply.body);
}

#endif
