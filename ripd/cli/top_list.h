/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_list.h - what `rip top` shows: the ids of all hosts, however many, in order, and which row is selected.
 * Pure.
 *
 * A list comes in pages. Those of the first time are shown as they come; when it is read again, all come together.
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

/* Which ids: those of /stalls, or of /threads, all of them or of one state. */
enum top_which { TOP_STALLED, TOP_ALL, TOP_RUNNING, TOP_IDLE, TOP_STOPPED, TOP_EXITED, TOP_DEAD, TOP_WHICH_COUNT };
extern const char *const top_which_names[TOP_WHICH_COUNT];

/*
 * In which order; TOP_AS_IT_IS: stalls longest first, and those that wait for others behind them; other ids as ripd has
 * them, host by host.
 */
enum top_sort { TOP_AS_IT_IS, TOP_BY_AGE, TOP_BY_CAUSE, TOP_BY_THREAD, TOP_BY_PROCESS, TOP_BY_WHERE, TOP_SORT_COUNT };
extern const char *const top_sort_names[TOP_SORT_COUNT];

/* TOP_TARGET: the path of the id; "": it has none, and cannot be opened. */
enum top_text { TOP_TARGET, TOP_CAUSE, TOP_THREAD, TOP_PROCESS, TOP_WHERE, TOP_ON, TOP_TEXT_COUNT };

struct top_row {
    const char *texts[TOP_TEXT_COUNT]; /* of the page; not made harmless yet */
    long long id;                      /* ITEM_UNKNOWN: it has none */
    long long age_ms;
    size_t host;
    size_t nth;  /* of all, as they came */
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

/* All zero: no page has come. */
struct top_list {
    enum top_which which;
    enum top_sort sort;
    char filter[TOP_FILTER_BYTES]; /* part of the name; "": none */
    struct top_page *shown;        /* as they came */
    bool whole;                    /* all of this question */
    const struct top_row **rows;   /* of the pages that are shown, in order */
    size_t count;
    size_t capacity;
    size_t selected; /* row */
    size_t first;    /* row that is shown first */
};

void top_list_done(struct top_list *list);

/* The first page to ask a host for; the schema and the member with the items of the answers. */
void top_list_target(const struct top_list *list, char target[TOP_TARGET_BYTES], const char **ret_schema,
                     const char **ret_member);

/*
 * Some pages, which are taken over. first: they take the place of those before; last: the list is whole. `visible` rows
 * fit the screen. 0 or -ENOMEM.
 */
int top_list_take(struct top_list *list, struct top_page *pages, bool first, bool last, size_t visible);

/* Each means another question; what is held goes when the answer comes. */
void top_list_set_which(struct top_list *list, enum top_which which);
void top_list_set_filter(struct top_list *list, const char *filter);

/* Sorts what is held. */
void top_list_set_sort(struct top_list *list, enum top_sort sort, size_t visible);

/* Down (positive) or up by so many rows, to the first or the last at most. */
void top_list_move(struct top_list *list, long rows, size_t visible);

/* The row that is selected; NULL: there is none. */
const struct top_row *top_list_selected(const struct top_list *list);

#endif
