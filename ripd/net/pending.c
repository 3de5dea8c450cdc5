/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending.c - queries in order of age, each in one of three states.
 *
 *      QUEUED --> ASKED (at the scanner) --> READY (its page is here)
 *      QUEUED ---------------------------> READY: a list of the snapshot's stalls
 *
 * A query stays ASKED until the scanner has answered, even if no connection waits any more, because the scanner works
 * on it.
 */
#include "net/pending.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "net/handlers.h"
#include "os/clock.h"

#define RETRY_SOON "Retry-After: 1\r\n"
#define NO_MEMORY "Out of memory."

enum pending_state { PENDING_QUEUED, PENDING_ASKED, PENDING_READY };

struct pending_query {
    TAILQ_ENTRY(pending_query) entry;
    enum pending_state state;
    uint64_t ticket;
    uint64_t since_ns;
    enum document_kind kind;
    struct query query;
    struct page *page;            /* when READY */
    struct document_build *build; /* its list; NULL = not begun */
    LIST_HEAD(, connection) waiting;
    bool closed; /* being answered or given up: no connection can join */
    size_t key_length;
    char key[];
};

struct pending_queries {
    struct server *server;
    TAILQ_HEAD(, pending_query) all; /* oldest first */
    uint64_t last_ticket;
    struct event *build_event;
};

bool pending_is_empty(const struct pending_queries *queries)
{
    return TAILQ_EMPTY(&queries->all);
}

static void build_soon(struct pending_queries *queries)
{
    const struct timeval at_once = {0};

    event_add(queries->build_event, &at_once); /* runs in the loop's next turn, unlike event_active() */
}

static void remove_query(struct pending_queries *queries, struct pending_query *query)
{
    TAILQ_REMOVE(&queries->all, query, entry);
    document_build_free(query->build);
    page_unref(query->page);
    free(query);
}

/*
 * Answers all waiting connections: with the list, or with a problem if there is none. They may send new queries during
 * the call.
 */
static void answer_all(struct pending_query *query, struct list *list, const char *detail)
{
    struct connection *connection;

    query->closed = true;
    while ((connection = LIST_FIRST(&query->waiting)) != NULL) {
        pending_leave(connection);
        connection_enter(connection);
        if (list != NULL)
            answer_list(connection, list);
        else
            connection_problem(connection, 503, detail, NULL, RETRY_SOON);
        connection_leave(connection);
    }
}

static void give_up(struct pending_queries *queries, struct pending_query *query, const char *detail)
{
    answer_all(query, NULL, detail);
    remove_query(queries, query);
}

static bool is_local(const struct pending_query *query)
{
    return query_is_local(&query->query);
}

/* Drops queries that have no connection and are not at work. Then starts queued ones, up to the limit. */
static void ask_next(struct pending_queries *queries)
{
    struct server *server = queries->server;
    struct pending_query *query, *next;
    size_t at_work[2] = {0}; /* at the scanner, and local ones */

    for (query = TAILQ_FIRST(&queries->all); query != NULL; query = next) {
        next = TAILQ_NEXT(query, entry);
        if (LIST_EMPTY(&query->waiting) && query->state != PENDING_ASKED && !query->closed)
            remove_query(queries, query);
        else
            at_work[is_local(query)] += query->state != PENDING_QUEUED;
    }
    TAILQ_FOREACH(query, &queries->all, entry)
    {
        if (query->state != PENDING_QUEUED || at_work[is_local(query)] >= HTTP_QUERIES_AT_WORK_MAX)
            continue;
        if (is_local(query)) {
            query->page = query_stalls(&query->query, server->snapshot);
            if (query->page != NULL) {
                query->state = PENDING_READY;
                build_soon(queries);
            }
        } else if (server->source.threads(server->source.context, query->ticket, &query->query) == 0) {
            query->state = PENDING_ASKED;
        }
        at_work[is_local(query)] += query->state != PENDING_QUEUED;
    }
}

static void finish(struct pending_queries *queries, struct pending_query *query, const struct document *document)
{
    struct list *list =
        lists_add(queries->server->lists, (struct span){query->key, query->key_length}, document->sequence, document);

    connections_drop_stalled(queries->server);
    answer_all(query, list, NO_MEMORY);
    list_unref(list);
    remove_query(queries, query);
}

static bool is_long(const struct page *page)
{
    return page->count > HTTP_BUILD_ITEMS_AT_ONCE ||
           (page->states != NULL && page->states->count > HTTP_BUILD_STATES_AT_ONCE);
}

/* Returns the list to build now: a short one, else the one that was begun, else the oldest. NULL if none is READY. */
static struct pending_query *next_to_build(const struct pending_queries *queries)
{
    struct pending_query *chosen = NULL, *query;

    TAILQ_FOREACH(query, &queries->all, entry)
    {
        if (query->state != PENDING_READY)
            continue;
        if (!is_long(query->page))
            return query;
        if (chosen == NULL || query->build != NULL)
            chosen = query;
    }
    return chosen;
}

/* Builds the next slice of a list. */
static void on_build(evutil_socket_t descriptor, short what, void *argument)
{
    struct pending_queries *queries = argument;
    struct pending_query *query;
    struct document document;
    int status = -1;

    (void)descriptor;
    (void)what;
    ask_next(queries);
    query = next_to_build(queries);
    if (query == NULL)
        return;
    if (query->build == NULL)
        query->build = document_build_new(query->kind, query->page, query->query.trail_count);
    if (query->build != NULL)
        status = document_build_step(query->build, HTTP_BUILD_BYTES_PER_TURN, &document);
    build_soon(queries);
    if (status == 0)
        finish(queries, query, &document);
    else if (status < 0)
        give_up(queries, query, NO_MEMORY);
}

struct pending_queries *pending_new(struct server *server)
{
    struct pending_queries *queries = calloc(1, sizeof(*queries));

    if (queries == NULL)
        return NULL;
    queries->server = server;
    TAILQ_INIT(&queries->all);
    queries->build_event = evtimer_new(server->base, on_build, queries);
    if (queries->build_event != NULL)
        return queries;
    free(queries);
    return NULL;
}

void pending_abandon(struct pending_queries *queries)
{
    while (!TAILQ_EMPTY(&queries->all))
        give_up(queries, TAILQ_FIRST(&queries->all), "The daemon is stopping.");
    event_del(queries->build_event);
}

void pending_free(struct pending_queries *queries)
{
    if (queries == NULL)
        return;
    pending_abandon(queries);
    event_free(queries->build_event);
    free(queries);
}

/* Returns the pending query of the same key, or a new one. Returns NULL if there are too many, or if out of memory. */
static struct pending_query *find_or_add(struct pending_queries *queries, struct span key, enum document_kind kind,
                                         const struct query *asked)
{
    struct pending_query *query;
    size_t count = 0; /* of queries for the scanner */

    TAILQ_FOREACH(query, &queries->all, entry)
    {
        if (!query->closed && query->key_length == key.length && memcmp(query->key, key.bytes, key.length) == 0)
            return query;
        count += !is_local(query);
    }
    if ((count >= HTTP_QUERIES_MAX && !query_is_local(asked)) ||
        (query = calloc(1, sizeof(*query) + key.length)) == NULL)
        return NULL;
    query->ticket = ++queries->last_ticket;
    query->since_ns = clock_mono_ns();
    query->kind = kind;
    query->query = *asked;
    query->key_length = key.length;
    memcpy(query->key, key.bytes, key.length);
    TAILQ_INSERT_TAIL(&queries->all, query, entry);
    return query;
}

void pending_join(struct connection *connection, enum document_kind kind, const struct query *asked)
{
    struct pending_queries *queries = connection->server->queries;
    struct pending_query *query;

    ask_next(queries); /* drops those without a connection */
    query = find_or_add(queries, connection_key(connection), kind, asked);
    if (query == NULL) {
        connection->server->health.limit_counts[HEALTH_LIMIT_QUESTIONS]++;
        connection_problem(connection, 503, "Too many queries are pending.", NULL, RETRY_SOON);
        return;
    }
    connection_wait(connection);
    connection->query = query;
    LIST_INSERT_HEAD(&query->waiting, connection, waiting);
    ask_next(queries);
}

void pending_leave(struct connection *connection)
{
    if (connection->query != NULL)
        LIST_REMOVE(connection, waiting);
    connection->query = NULL;
}

void pending_complete(struct pending_queries *queries, uint64_t ticket, struct page *page)
{
    struct pending_query *query;

    TAILQ_FOREACH(query, &queries->all, entry)
    if (query->ticket == ticket && query->state == PENDING_ASKED)
        break;
    if (query == NULL)
        return;
    query->state = PENDING_READY;
    query->page = page == NULL ? NULL : page_ref(page);
    if (page == NULL)
        give_up(queries, query, "The scanner could not answer.");
    else if (LIST_EMPTY(&query->waiting))
        remove_query(queries, query);
    else
        build_soon(queries);
    ask_next(queries);
}

static struct pending_query *first_expired(const struct pending_queries *queries, uint64_t now_mono_ns)
{
    struct pending_query *query;

    TAILQ_FOREACH(query, &queries->all, entry)
    if (query->build == NULL && !LIST_EMPTY(&query->waiting) &&
        now_mono_ns >= query->since_ns + queries->server->limits.wait_ns)
        break;
    return query;
}

void pending_expire(struct pending_queries *queries, uint64_t now_mono_ns)
{
    static const char detail[] = "The answer was not ready in time.";
    struct pending_query *query;

    while ((query = first_expired(queries, now_mono_ns)) != NULL) {
        queries->server->health.limit_counts[HEALTH_LIMIT_QUESTIONS]++;
        if (query->state == PENDING_ASKED)
            answer_all(query, NULL, detail);
        else
            give_up(queries, query, detail);
    }
    ask_next(queries);
}
