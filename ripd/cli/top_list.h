/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_list.h - what `rip top` shows of a list of any length: one page of it, where one stands in it, and what to ask
 * for next. Pure.
 *
 * Guarantees
 *   A. It holds one page, however long the list is. Moving past its end asks for the next, past its beginning for the
 *      one before.
 *   B. When a page is asked for again, the id that was selected stays selected if it is still there. While the first
 *      row is selected, whatever is first then stays selected.
 */
#ifndef RIP_CLI_TOP_LIST_H
#define RIP_CLI_TOP_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TOP_FILTER_BYTES 32u
#define TOP_CURSOR_BYTES 64u
#define TOP_TARGET_BYTES 512u
#define TOP_KEY_BYTES 64u

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

/* In which order; TOP_AS_IT_IS: that of ripd, stalls longest first. Others sort what is held of a larger page. */
enum top_sort { TOP_AS_IT_IS, TOP_BY_AGE, TOP_BY_CAUSE, TOP_BY_THREAD, TOP_BY_PROCESS, TOP_BY_WHERE, TOP_SORT_COUNT };

struct top_row {
    const json_t *item;
    long long age_ms;
    char key[TOP_KEY_BYTES]; /* what it is sorted by, if that is a text */
};

struct top_list {
    enum top_which which;
    enum top_sort sort;
    char filter[TOP_FILTER_BYTES]; /* part of the name; "": none */
    json_t *document;              /* the page, with its frame; NULL: none has come */
    struct top_row *rows;
    size_t count;
    size_t selected;                   /* row */
    size_t first;                      /* row that is shown first */
    char (*cursors)[TOP_CURSOR_BYTES]; /* where each page known begins; the first is "" */
    size_t cursor_count;
    size_t cursor_capacity;
    size_t page;
    bool enter_at_end; /* the page to come was reached from below */
};

int top_list_init(struct top_list *list);
void top_list_done(struct top_list *list);

const char *top_which_name(enum top_which which);
const char *top_sort_name(enum top_sort sort);
/* The schema and the member of the documents that it takes. */
const char *top_list_schema(const struct top_list *list);
const char *top_list_member(const struct top_list *list);

/* What to ask for now. */
void top_list_target(const struct top_list *list, char target[TOP_TARGET_BYTES]);
/* The answer to that, which is taken over; `visible` rows fit the screen. 0 or -ENOMEM. */
int top_list_take(struct top_list *list, json_t *document, size_t visible);

/* Each begins at the first page again; what is held goes when the answer comes. */
void top_list_set_which(struct top_list *list, enum top_which which);
void top_list_set_sort(struct top_list *list, enum top_sort sort);
void top_list_set_filter(struct top_list *list, const char *filter);

/*
 * Down (positive) or up by so many rows, `visible` of which fit the screen. True: another page has to be asked for
 * now.
 */
bool top_list_move(struct top_list *list, long rows, size_t visible);
/* To the first row of all, or the last of this page. True: as above. */
bool top_list_home(struct top_list *list);
bool top_list_end(struct top_list *list, size_t visible);

/* The item that is selected; NULL: there is none. */
const json_t *top_list_selected(const struct top_list *list);

#endif
