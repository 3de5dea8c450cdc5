/* SPDX-License-Identifier: Apache-2.0 */
/*
 * askings.c - questions to the scanner, and who waits for the answer.
 *
 * A question has a ticket. The same question asked by several clients before the answer is there is asked once; its
 * answer is kept like any list (pages.h). An answer that comes after its question was given up is thrown away.
 *
 * At most HTTP_ASKED_MAX questions are with the scanner at a time, the others wait here, the oldest first: it may be
 * much faster than this thread, and what it answers is ten times as large as what becomes of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/answer_list.h"
#include "net/connection.h"
#include "os/clock.h"

struct asking {
    struct asking *next;
    uint64_t ticket;
    uint64_t since_ns;
    enum document_kind kind;
    struct connection *waiting; /* linked by next_waiting */
    bool asked;
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

        if (!asking->asked && asking->waiting == NULL) {
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
static struct asking *next_to_ask(struct http *http)
{
    struct asking *oldest = NULL;

    for (struct asking *asking = http->askings; asking != NULL; asking = asking->next)
        if (!asking->asked)
            oldest = asking;
    return oldest;
}

/* Hands on as many as may be with the scanner. False: it took one no more. */
static bool ask_next(struct http *http)
{
    struct asking *asking;

    while (http->asked_count < HTTP_ASKED_MAX && (asking = next_to_ask(http)) != NULL) {
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

/* Asks, soon. NULL: not now. */
static struct asking *ask(struct http *http, enum document_kind kind, const struct query *query, const char *key)
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
    if (!ask_next(http) && !asking->asked) {
        detach(http, asking);
        free(asking);
        return NULL;
    }
    return asking;
}

void asking_join(struct http *http, struct connection *connection, enum document_kind kind, const struct query *query)
{
    char key[PAGE_KEY_BYTES];
    struct asking *asking;

    page_key(kind, query, key);
    asking = find_key(http, key);
    if (asking == NULL)
        asking = ask(http, kind, query, key);
    if (asking == NULL) {
        http->counters.wait_refused_count++;
        connection_problem(connection, 503, "Too many questions are waiting for the scanner.", NULL,
                           "Retry-After: 1\r\n");
        return;
    }
    connection_wait(connection);
    connection->asking = asking;
    connection->next_waiting = asking->waiting;
    asking->waiting = connection;
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

void asking_complete(struct http *http, uint64_t ticket, struct page *page)
{
    struct asking *asking;
    struct body *body = NULL;

    forget_ticket(http, ticket);
    prune(http);
    ask_next(http);
    asking = http->askings;
    while (asking != NULL && asking->ticket != ticket)
        asking = asking->next;
    if (asking == NULL)
        return;
    if (page != NULL)
        body = answer_page_body(http, asking->kind, page);
    if (body != NULL) {
        pages_keep(&http->pages, asking->key, body);
        drop_stalled(http);
    }
    answer_all(http, asking, body, "The scanner could not answer.");
    body_unref(body);
}

void askings_expire(struct http *http, uint64_t now_mono_ns)
{
    struct asking *asking = http->askings;

    while (asking != NULL) {
        struct asking *next = asking->next;

        if (now_mono_ns > asking->since_ns && now_mono_ns - asking->since_ns > http->limits.wait_ns) {
            http->counters.wait_timeout_count++;
            answer_all(http, asking, NULL, "The scanner did not answer in time.");
            next = http->askings; /* who was answered may have asked again: begin anew, without the one freed */
        }
        asking = next;
    }
}

void askings_abandon(struct http *http)
{
    while (http->askings != NULL)
        answer_all(http, http->askings, NULL, "The daemon is stopping.");
}
