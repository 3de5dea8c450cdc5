/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_list.h - the contents of `rip top`: the ids of all hosts in order, and the selected row. Pure.
 *
 * A list is received in pages. The first time, they are shown as they are received; when the list is read again, all
 * are shown together.
 *
 * Guarantees
 *   A. Every id that was received can be reached, and is in the chosen order.
 *   B. When the list is read again, the selected id stays selected if it still exists. While the first row is selected,
 *      the first row stays selected.
 *   C. The last answer of a host stays if it does not answer.
 */
#ifndef RIP_CLI_TOP_LIST_H
#define RIP_CLI_TOP_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TOP_FILTER_BYTES 32u
#define TOP_TARGET_BYTES 1024u
#define TOP_IDS_MAX 1000000u /* maximum to read; about two hundred bytes each */

/* Which ids: those of /stalls, or of /threads, all or of one state. */
enum top_which { TOP_STALLED, TOP_ALL, TOP_RUNNING, TOP_IDLE, TOP_STOPPED, TOP_EXITED, TOP_DEAD, TOP_WHICH_COUNT };
extern const char *const top_which_names[TOP_WHICH_COUNT];

/*
 * The order. TOP_AS_IT_IS: stalls longest first, and those that wait for others after them; other ids in ripd's order,
 * host by host.
 */
enum top_sort { TOP_AS_IT_IS, TOP_BY_AGE, TOP_BY_CAUSE, TOP_BY_THREAD, TOP_BY_PROCESS, TOP_BY_WHERE, TOP_SORT_COUNT };
extern const char *const top_sort_names[TOP_SORT_COUNT];

/* TOP_TARGET: the path of the id; "": it has none, and cannot be opened. */
enum top_text { TOP_TARGET, TOP_CAUSE, TOP_THREAD, TOP_PROCESS, TOP_WHERE, TOP_ON, TOP_TEXT_COUNT };

struct top_row {
    const char *texts[TOP_TEXT_COUNT]; /* in the text of the page; not escaped yet */
    long long id;                      /* ITEM_UNKNOWN: none */
    long long age_ms;
    size_t host;
    size_t nth;  /* position in the order of arrival */
    bool urgent; /* its cause needs attention */
    bool waits;  /* for another id, and not in a deadlock */
};

/* The rows of a page, about two hundred bytes per id, instead of a document. */
struct top_page {
    struct top_page *next;
    size_t host;
    bool failed; /* the host did not answer: there are no rows, and its earlier rows stay */
    char *text;  /* texts of its rows */
    size_t count;
    struct top_row rows[];
};

/* Makes a page from the items of a host's answer. Returns NULL if out of memory. */
struct top_page *top_page_new(size_t host, const json_t *items);

/* Makes a page that marks a host that did not answer. */
struct top_page *top_page_new_failed(size_t host);

/* Frees this page and all that follow. */
void top_page_free(struct top_page *page);

/* All zero: no page was received. */
struct top_list {
    enum top_which which;
    enum top_sort sort;
    char filter[TOP_FILTER_BYTES]; /* part of the name; "": none */
    struct top_page *shown;        /* in the order of arrival */
    bool whole;                    /* the list of this query is complete */
    const struct top_row **rows;   /* of the pages that are shown, in order */
    size_t count;
    size_t capacity;
    size_t selected; /* index of the row */
    size_t first;    /* index of the first row on the screen */
};

void top_list_done(struct top_list *list);

/* Gets the first page to request from a host; the schema of the answers, and their member with the items. */
void top_list_target(const struct top_list *list, char target[TOP_TARGET_BYTES], const char **ret_schema,
                     const char **ret_member);

/*
 * Takes ownership of some pages. first: they replace the earlier ones; last: the list is complete. `visible` is the
 * number of rows on the screen. Returns 0 or -ENOMEM.
 */
int top_list_take(struct top_list *list, struct top_page *pages, bool first, bool last, size_t visible);

/* Each requires another query; the present rows stay until the answer is received. */
void top_list_set_which(struct top_list *list, enum top_which which);
void top_list_set_filter(struct top_list *list, const char *filter);

/* Sorts the present rows. */
void top_list_set_sort(struct top_list *list, enum top_sort sort, size_t visible);

/* Moves down (positive) or up by a number of rows, at most to the first or the last row. */
void top_list_move(struct top_list *list, long rows, size_t visible);

/* Returns the selected row; NULL: none. */
const struct top_row *top_list_selected(const struct top_list *list);

#endif
