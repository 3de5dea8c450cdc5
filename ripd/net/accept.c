/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept.c - new clients, and who has to go for them.
 *
 * Guarantees
 *   A. There are never more than http_limits.connections_max connections. At the cap, and when the system has no
 *      descriptor left, the one that has been incomplete for longest is dropped for the new one: who holds connections
 *      open without asking holds them only until somebody else comes. Event streams are counted apart, and go only for
 *      want of descriptors, when there is nobody else.
 *   B. Lists that are kept or being sent take at most http_limits.body_bytes_max, and the one made last: who asks for
 *      many and does not listen is dropped.
 *   C. When a connection cannot be taken and none can be dropped, accepting pauses; the loop never spins on it.
 */
#include <errno.h>
#include <sys/socket.h>

#include "net/connection.h"
#include "os/clock.h"

#define PAUSE_NS UINT64_C(100000000)

/* In order of what is lost. */
static int rank(const struct connection *connection)
{
    switch (connection->state) {
    case CONNECTION_LINGERING:
    case CONNECTION_READING:
    case CONNECTION_CLOSED:
        return 0;
    case CONNECTION_WAITING:
    case CONNECTION_WRITING:
        return 1;
    case CONNECTION_STREAMING:
        return 2;
    }
    return 0;
}

/* Whether to drop `left` rather than `right`. Of one rank the older goes. */
static bool goes_before(const struct connection *left, const struct connection *right)
{
    int left_rank = rank(left);
    int right_rank = rank(right);

    if (left_rank != right_rank)
        return left_rank < right_rank;
    return left->since_ns < right->since_ns;
}

static bool drop_one(struct http *http)
{
    struct connection *chosen = http->connections;

    if (chosen == NULL)
        return false;
    for (struct connection *other = chosen->next; other != NULL; other = other->next)
        if (goes_before(other, chosen))
            chosen = other;
    http->counters.dropped_for_new_count++;
    connection_close(chosen);
    return true;
}

void drop_stalled(struct http *http)
{
    while (http->pages.alive_bytes > http->limits.body_bytes_max) {
        struct connection *chosen = NULL;

        for (struct connection *other = http->connections; other != NULL; other = other->next)
            if (other->state == CONNECTION_WRITING && (chosen == NULL || other->progress_ns < chosen->progress_ns))
                chosen = other;
        if (chosen == NULL)
            return;
        http->counters.dropped_for_memory_count++;
        connection_close(chosen);
    }
}

static void pause_accepting(struct http *http)
{
    struct timeval pause = http_timeval(PAUSE_NS);

    http->counters.accept_paused_count++;
    accept_stop(http);
    event_add(http->resume_event, &pause);
}

static void admit(struct http *http, const struct door *door, int descriptor)
{
    struct timeval sweep = http_timeval(http->limits.sweep_ns);

    if (http->connection_count - http->stream_count >= http->limits.connections_max)
        drop_one(http);
    if (connection_open(http, door, descriptor) < 0)
        return;
    http->counters.accepted_count++;
    if (!event_pending(http->sweep_event, EV_TIMEOUT, NULL))
        event_add(http->sweep_event, &sweep);
}

/* 0: go on accepting; -EAGAIN: stop for this turn. */
static int accept_failed(struct http *http, int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        if (drop_one(http))
            return 0;
        pause_accepting(http);
        return -EAGAIN;
    case EAGAIN:
        return -EAGAIN;
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
        pause_accepting(http);
        return -EAGAIN;
    default: /* of that connection alone: it is gone already, or was refused */
        return 0;
    }
}

static void on_connection(evutil_socket_t listening, short what, void *argument)
{
    struct door *door = argument;
    struct http *http = door->http;

    (void)what;
    for (unsigned i = 0; i < HTTP_ACCEPTS_PER_TURN; i++) {
        int descriptor = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (descriptor >= 0)
            admit(http, door, descriptor);
        else if (accept_failed(http, errno) < 0)
            return;
    }
}

static void on_resume(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    accept_start(argument);
}

static void on_sweep(evutil_socket_t descriptor, short what, void *argument)
{
    struct http *http = argument;
    uint64_t now_ns = clock_mono_ns();
    struct connection *next;

    (void)descriptor;
    (void)what;
    askings_expire(http, now_ns);
    for (struct connection *connection = http->connections; connection != NULL; connection = next) {
        next = connection->next;
        connection_expire(connection, now_ns);
    }
    askings_free_bodies(http);
    if (http->connection_count == 0 && http->askings == NULL && http->pages.discarded == NULL)
        event_del(http->sweep_event);
}

int accept_prepare(struct http *http)
{
    http->resume_event = evtimer_new(http->base, on_resume, http);
    http->sweep_event = event_new(http->base, -1, EV_PERSIST, on_sweep, http);
    if (http->resume_event == NULL || http->sweep_event == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < http->door_count; i++) {
        struct door *door = &http->doors[i];

        door->event = event_new(http->base, door->listener.descriptor, EV_READ | EV_PERSIST, on_connection, door);
        if (door->event == NULL)
            return -ENOMEM;
    }
    accept_start(http);
    return 0;
}

void accept_start(struct http *http)
{
    for (size_t i = 0; i < http->door_count && !http->stopping; i++)
        event_add(http->doors[i].event, NULL);
}

void accept_stop(struct http *http)
{
    for (size_t i = 0; i < http->door_count; i++)
        event_del(http->doors[i].event);
}
