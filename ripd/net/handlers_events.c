/* SPDX-License-Identifier: Apache-2.0 */
/* handlers_events.c - /events as a list: those of the events held that a query shows, the newest first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/answer_list.h"
#include "net/routes.h"

/* Fills the page; its array is the caller's to free. -1: no memory. */
static int select_events(const struct http *http, const struct query *query, struct event_page *ret_page)
{
    const struct event_store *store = &http->events;
    size_t room = store->count < query->limit ? store->count : query->limit;
    struct event **chosen = calloc(room + 1, sizeof(struct event *));
    struct event_page page = {
        .events = chosen,
        .epoch = http->epoch,
        .oldest_sequence = event_store_oldest(store),
        .newest_sequence = store->newest_sequence,
        .suppressed_count = http->snapshot->health.limit_counts[HEALTH_LIMIT_EPISODES],
    };
    struct glob name;

    if (chosen == NULL)
        return -1;
    glob_make(&name, query->name);
    for (size_t i = store->count; i-- != 0;) {
        struct event *event = event_store_at(store, i);

        if (!query_matches_event(query, &name, event))
            continue;
        page.total++;
        if (query->after.present && event->sequence >= query->after.sequence)
            continue;
        if (page.count < room)
            chosen[page.count++] = event;
        else
            page.more = true;
    }
    *ret_page = page;
    return 0;
}

static struct body *build_events(struct http *http, const struct query *query)
{
    struct document_frame frame;
    struct event_page page;
    struct body *body = NULL;
    size_t length;
    char *text;

    if (select_events(http, query, &page) < 0)
        return NULL;
    if (document_events_body(http->snapshot, &page, &frame, &text, &length) == 0)
        body = body_new(&http->pages, &frame, text, length);
    free(page.events);
    return body;
}

void handle_events(struct http *http, struct connection *connection, const struct query *query)
{
    char key[PAGE_KEY_BYTES];
    size_t length;

    if (connection->wishes.stream) {
        stream_open(http, connection, query);
        return;
    }
    page_key(DOCUMENT_EVENTS, query, key); /* and of these events: they come between scans, too */
    length = strlen(key);
    snprintf(key + length, sizeof(key) - length, " %" PRIu64, http->events.newest_sequence);
    answer_built(http, connection, DOCUMENT_EVENTS, query, key, build_events);
}
