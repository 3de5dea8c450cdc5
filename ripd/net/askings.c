/* SPDX-License-Identifier: Apache-2.0 */
/*
 * askings.c - questions to the scanner, and who waits for the answer.
 *
 * A question has a ticket. The same question asked by several clients before the answer is there is asked once; its
 * answer is kept like any list (pages.h). An answer that comes after its question was given up is thrown away.
 *
 * At most HTTP_ASKED_MAX questions are with the scanner at a time, the others wait here, the oldest first: it may be
 * much faster than this thread.
 *
 * A long list takes tens of milliseconds to build. It is built in slices, one in a turn of the loop, and one list at a
 * time; answers with short lists go ahead of it. A long list of the snapshot's stalls waits here too, as a question
 * that is not for the scanner.
 *
 * Guarantees
 *   A. No slice is much longer than HTTP_BUILD_BYTES_PER_TURN.
 *   B. Of lists that are not complete there is one; it is given up when nobody waits for it any more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/answer_list.h"
#include "net/connection.h"
#include "os/clock.h"

#define PIECE_ROOM_BYTES (HTTP_BUILD_BYTES_PER_TURN + 65536u) /* for one more slice: its last item may be long */

struct asking {
    struct asking *next;
    uint64_t ticket;
    uint64_t since_ns;
    enum document_kind kind;
    struct connection *waiting; /* linked by next_waiting */
    bool asked;
    bool is_local; /* for this thread to answer */
    struct query query;
    char key[PAGE_KEY_BYTES];
};

static struct asking *find_key(struct http *http, const char *key)
{
    for (struct asking *asking = http->askings; asking != NULL; asking = asking->next)
        if (strcmp(asking->key, key) == 0)
            return asking;
    return NULL;
}

/* Takes an asking out of the list. */
static void detach(struct http *http, struct asking *asking)
{
    struct asking **link = &http->askings;

    while (*link != asking)
        link = &(*link)->next;
    *link = asking->next;
}

/* Takes out what nobody waits for any more and has not been asked. Returns how many are left. */
static size_t prune(struct http *http)
{
    struct asking *asking = http->askings;
    size_t count = 0;

    while (asking != NULL) {
        struct asking *next = asking->next;

        if (!asking->asked && asking->waiting == NULL && asking != http->building) {
            detach(http, asking);
            free(asking);
        } else {
            count++;
        }
        asking = next;
    }
    return count;
}

/* The oldest that has not been asked; the list begins with the youngest. */
static struct asking *next_to_ask(struct http *http, bool is_local)
{
    struct asking *oldest = NULL;

    for (struct asking *asking = http->askings; asking != NULL; asking = asking->next)
        if (!asking->asked && asking->is_local == is_local && asking != http->building)
            oldest = asking;
    return oldest;
}

/* Hands on as many as may be with the scanner. False: it took one no more. */
static bool ask_next(struct http *http)
{
    struct asking *asking;

    while (http->asked_count < HTTP_ASKED_MAX && (asking = next_to_ask(http, false)) != NULL) {
        if (http->source.threads(http->source.context, asking->ticket, &asking->query) < 0)
            return false;
        asking->asked = true;
        http->asked_tickets[http->asked_count++] = asking->ticket;
    }
    return true;
}

/* The scanner has done with a ticket. */
static void forget_ticket(struct http *http, uint64_t ticket)
{
    for (size_t i = 0; i < http->asked_count; i++)
        if (http->asked_tickets[i] == ticket)
            http->asked_tickets[i--] = http->asked_tickets[--http->asked_count];
}

static void go_on_building(struct http *http)
{
    const struct timeval at_once = {0};

    event_add(http->build_event, &at_once); /* in the loop's next turn, unlike event_active() */
}

/* NULL: not now. */
static struct asking *new_asking(struct http *http, enum document_kind kind, const struct query *query, const char *key)
{
    struct asking *asking;

    if (prune(http) >= HTTP_ASKINGS_MAX)
        return NULL;
    asking = calloc(1, sizeof(*asking));
    if (asking == NULL)
        return NULL;
    asking->ticket = ++http->last_ticket;
    asking->since_ns = clock_mono_ns();
    asking->kind = kind;
    asking->query = *query;
    snprintf(asking->key, sizeof(asking->key), "%s", key);
    asking->next = http->askings;
    http->askings = asking;
    return asking;
}

/* Asks, soon. NULL: not now. */
static struct asking *ask(struct http *http, enum document_kind kind, const struct query *query, const char *key)
{
    struct asking *asking = new_asking(http, kind, query, key);

    if (asking != NULL && !ask_next(http) && !asking->asked) {
        detach(http, asking);
        free(asking);
        return NULL;
    }
    return asking;
}

static struct asking *ask_here(struct http *http, enum document_kind kind, const struct query *query, const char *key)
{
    struct asking *asking = new_asking(http, kind, query, key);

    if (asking == NULL)
        return NULL;
    asking->is_local = true;
    if (http->building == NULL)
        go_on_building(http);
    return asking;
}

static void join(struct http *http, struct connection *connection, enum document_kind kind, const struct query *query,
                 struct asking *(*make)(struct http *, enum document_kind, const struct query *, const char *))
{
    char key[PAGE_KEY_BYTES];
    struct asking *asking;

    page_key(kind, query, key);
    asking = find_key(http, key);
    if (asking == NULL)
        asking = make(http, kind, query, key);
    if (asking == NULL) {
        http->counters.wait_refused_count++;
        connection_problem(connection, 503, "Too many questions are waiting for their answers.", NULL,
                           "Retry-After: 1\r\n");
        return;
    }
    connection_wait(connection);
    connection->asking = asking;
    connection->next_waiting = asking->waiting;
    asking->waiting = connection;
}

void asking_join(struct http *http, struct connection *connection, enum document_kind kind, const struct query *query)
{
    join(http, connection, kind, query, ask);
}

void asking_join_build(struct http *http, struct connection *connection, enum document_kind kind,
                       const struct query *query)
{
    join(http, connection, kind, query, ask_here);
}

void asking_leave(struct http *http, struct connection *connection)
{
    struct connection **link;

    (void)http;
    if (connection->asking == NULL)
        return;
    link = &connection->asking->waiting;
    while (*link != connection)
        link = &(*link)->next_waiting;
    *link = connection->next_waiting;
    connection->asking = NULL;
}

/* Answers all who wait: with the body, or if there is none with a problem. Frees the asking. */
static void answer_all(struct http *http, struct asking *asking, struct body *body, const char *detail)
{
    struct connection *connection;

    detach(http, asking);
    while ((connection = asking->waiting) != NULL) {
        asking_leave(http, connection);
        connection_enter(connection);
        if (body != NULL)
            answer_list(http, connection, body);
        else
            connection_problem(connection, 503, detail, NULL, "Retry-After: 1\r\n");
        connection_leave(connection);
    }
    free(asking);
}

/* The list that was being built is complete, or there is no memory for it: body is NULL. Takes the reference over. */
static void finish(struct http *http, struct asking *asking, struct body *body)
{
    if (body != NULL) {
        pages_keep(&http->pages, asking->key, body);
        drop_stalled(http);
    }
    answer_all(http, asking, body, "There is no memory for the answer.");
    body_unref(body);
}

/* Lets go of the list that is being built; what there is of it is returned. */
static struct body *stop_building(struct http *http)
{
    struct body *body = http->build_body;

    document_build_free(http->build);
    pages_give_up(&http->pages, &http->build_piece);
    http->build_piece = (struct document_piece){0};
    http->building = NULL;
    http->build = NULL;
    http->build_body = NULL;
    event_del(http->build_event);
    if (next_to_ask(http, true) != NULL || pages_have_waste(&http->pages))
        go_on_building(http);
    mailbox_wake(&http->mailbox); /* answers may lie there that had to wait */
    return body;
}

/* One slice, behind the last one while there is room in its piece. */
static int write_slice(struct http *http)
{
    struct document_piece *piece = &http->build_piece;
    int status;

    if (piece->text == NULL && http->build_long)
        *piece = pages_take_piece(&http->pages);
    status = document_build_step(http->build, HTTP_BUILD_BYTES_PER_TURN, piece);
    if (status > 0 && piece->capacity > piece->length + PIECE_ROOM_BYTES)
        return status;
    if (status >= 0 && body_append(http->build_body, piece) < 0)
        status = -ENOMEM;
    *piece = (struct document_piece){0};
    return status;
}

static void build_slice(struct http *http)
{
    struct asking *asking = http->building;
    int status = write_slice(http);

    if (status > 0) {
        go_on_building(http);
        return;
    }
    if (status == 0) {
        finish(http, asking, stop_building(http));
        return;
    }
    body_unref(stop_building(http));
    finish(http, asking, NULL);
}

static void begin_building(struct http *http, struct asking *asking, struct page *page)
{
    struct document_frame frame;
    struct document_build *build = document_build_new(asking->kind, page, asking->query.trail_count, &frame);

    http->build_body = build == NULL ? NULL : body_new(&http->pages, &frame, NULL, 0);
    if (http->build_body == NULL) {
        document_build_free(build);
        finish(http, asking, NULL);
        return;
    }
    http->build = build;
    http->build_long = page->count > HTTP_BUILD_ITEMS_AT_ONCE;
    http->building = asking;
    asking->asked = false; /* the scanner has done its part */
    build_slice(http);
}

/* Goes on with the list that is being built, or begins with the next. */
static void on_build(evutil_socket_t descriptor, short what, void *argument)
{
    struct http *http = argument;
    struct asking *asking;
    struct page *page;

    (void)descriptor;
    (void)what;
    if (pages_free_some(&http->pages))
        go_on_building(http);
    if (http->building != NULL && http->building->waiting == NULL) {
        body_unref(stop_building(http));
        prune(http);
    } else if (http->building != NULL) {
        build_slice(http);
    } else if (prune(http) != 0 && (asking = next_to_ask(http, true)) != NULL) {
        page = query_stalls(&asking->query, http->snapshot);
        if (page == NULL)
            finish(http, asking, NULL);
        else
            begin_building(http, asking, page);
        page_unref(page);
    }
}

int askings_prepare(struct http *http)
{
    http->build_event = evtimer_new(http->base, on_build, http);
    return http->build_event == NULL ? -ENOMEM : 0;
}

void askings_free_bodies(struct http *http)
{
    if (pages_have_waste(&http->pages))
        go_on_building(http);
}

size_t asking_items_max(const struct http *http)
{
    return http->building == NULL ? SIZE_MAX : HTTP_BUILD_ITEMS_AT_ONCE;
}

void asking_complete(struct http *http, uint64_t ticket, struct page *page)
{
    struct asking *asking;

    forget_ticket(http, ticket);
    prune(http);
    ask_next(http);
    asking = http->askings;
    while (asking != NULL && asking->ticket != ticket)
        asking = asking->next;
    if (asking == NULL)
        return;
    if (page == NULL)
        answer_all(http, asking, NULL, "The scanner could not answer.");
    else if (http->building == NULL)
        begin_building(http, asking, page);
    else
        finish(http, asking, body_of_page(&http->pages, asking->kind, asking->query.trail_count, page));
}

void askings_expire(struct http *http, uint64_t now_mono_ns)
{
    struct asking *asking = http->askings;

    while (asking != NULL) {
        struct asking *next = asking->next;

        if (asking != http->building && now_mono_ns > asking->since_ns &&
            now_mono_ns - asking->since_ns > http->limits.wait_ns) {
            http->counters.wait_timeout_count++;
            answer_all(http, asking, NULL, "The answer did not come in time.");
            next = http->askings; /* who was answered may have asked again: begin anew, without the one freed */
        }
        asking = next;
    }
}

void askings_abandon(struct http *http)
{
    if (http->building != NULL)
        body_unref(stop_building(http));
    event_del(http->build_event);
    while (http->askings != NULL)
        answer_all(http, http->askings, NULL, "The daemon is stopping.");
}
