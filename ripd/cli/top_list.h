/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_list.h - what `rip top` shows: the ids of all hosts, however many, in order, and which row is selected.
 * Pure.
 *
 * A list comes in pages. Those of the first time are shown as they come; when it is read again, they take the place of
 * those before together, at its end.
 *
 * Guarantees
 *   A. Every id that has come can be reached, and is in the order that was chosen.
 *   B. When the list is read again, the id that was selected stays selected if it is still there. While the first row
 *      is selected, whatever is first then stays selected.
 *   C. What a host said last stays when it does not answer.
 */
#ifndef RIP_CLI_TOP_LIST_H
#define RIP_CLI_TOP_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TOP_FILTER_BYTES 32u
#define TOP_TARGET_BYTES 1024u
#define TOP_IDS_MAX 1000000u /* that are read; some two hundred bytes each */

/* Which ids. */
#define TOP_WHICH_TABLE(X)                                                                                             \
    X(STALLED, "stalled", "/stalls", "")                                                                               \
    X(ALL, "all", "/threads", "")                                                                                      \
    X(RUNNING, "running", "/threads", "running")                                                                       \
    X(IDLE, "idle", "/threads", "idle")                                                                                \
    X(STOPPED, "stopped", "/threads", "stopped")                                                                       \
    X(EXITED, "exited", "/threads", "exited")                                                                          \
    X(DEAD, "dead", "/threads", "dead")

enum top_which {
#define X(name, text, path, state) TOP_##name,
    TOP_WHICH_TABLE(X)
#undef X
        TOP_WHICH_COUNT
};

/*
 * In which order; TOP_AS_IT_IS: stalls longest first, and those that wait for others behind them; other ids as ripd has
 * them, host by host.
 */
#define TOP_SORT_TABLE(X)                                                                                              \
    X(AS_IT_IS, "as it is")                                                                                            \
    X(BY_AGE, "age")                                                                                                   \
    X(BY_CAUSE, "cause")                                                                                               \
    X(BY_THREAD, "thread")                                                                                             \
    X(BY_PROCESS, "process")                                                                                           \
    X(BY_WHERE, "where")

enum top_sort {
#define X(name, text) TOP_##name,
    TOP_SORT_TABLE(X)
#undef X
        TOP_SORT_COUNT
};

/* TOP_TARGET: the path of the id; "-": it has none, and cannot be opened. */
enum top_text { TOP_TARGET, TOP_CAUSE, TOP_THREAD, TOP_PROCESS, TOP_WHERE, TOP_ON, TOP_TEXT_COUNT };

struct top_row {
    const char *texts[TOP_TEXT_COUNT]; /* of the page; not made harmless yet */
    long long id;                      /* ITEM_UNKNOWN: it has none */
    long long age_ms;
    size_t host;
    bool urgent; /* its cause is one that has to be looked at */
    bool waits;  /* for another id, without being in a deadlock */
};

/* What its rows show of a page, some two hundred bytes an id, in place of a document. */
struct top_page {
    struct top_page *next;
    size_t host;
    bool failed; /* the host did not answer: it has no rows, and those before stay */
    char *text;  /* of its rows */
    size_t count;
    struct top_row rows[];
};

/* Of the items of a host's answer. NULL: out of memory. */
struct top_page *top_page_new(size_t host, const json_t *items);

/* One that says that the host did not answer. */
struct top_page *top_page_new_failed(size_t host);

/* This and all that follow it. */
void top_page_free(struct top_page *page);

/* The rows are of another question, or of this one and not complete yet, or complete. */
enum top_phase { TOP_OTHER, TOP_GROWING, TOP_WHOLE };

/* All zero: no page has come. */
struct top_list {
    enum top_which which;
    enum top_sort sort;
    char filter[TOP_FILTER_BYTES]; /* part of the name; "": none */
    struct top_page *shown;        /* by host, and of a host in the order in which they came */
    struct top_page *coming;
    enum top_phase phase;
    const struct top_row **rows; /* of the pages that are shown, in order */
    size_t count;
    size_t capacity;
    size_t selected; /* row */
    size_t first;    /* row that is shown first */
};

void top_list_done(struct top_list *list);

const char *top_which_name(enum top_which which);
const char *top_sort_name(enum top_sort sort);
/* The schema and the member of the documents that it is made of. */
const char *top_list_schema(const struct top_list *list);
const char *top_list_member(const struct top_list *list);

/* The first page to ask a host for. */
void top_list_target(const struct top_list *list, char target[TOP_TARGET_BYTES]);

/* Some pages, which are taken over. last: the list is whole. `visible` rows fit the screen. 0 or -ENOMEM. */
int top_list_take(struct top_list *list, struct top_page *pages, bool last, size_t visible);

/* Each means another question; what is held goes when the answer comes. */
void top_list_set_which(struct top_list *list, enum top_which which);
void top_list_set_filter(struct top_list *list, const char *filter);
/* The rest of what is coming will not come: it will be read again from its start. */
void top_list_give_up(struct top_list *list);

/* Sorts what is held. */
void top_list_set_sort(struct top_list *list, enum top_sort sort, size_t visible);

/* Down (positive) or up by so many rows, to the first or the last at most. */
void top_list_move(struct top_list *list, long rows, size_t visible);

/* The row that is selected; NULL: there is none. */
const struct top_row *top_list_selected(const struct top_list *list);

#endif
