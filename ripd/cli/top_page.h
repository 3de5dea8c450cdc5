/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_page.h - a page of a list as `rip top` keeps it: what its rows show, some two hundred bytes an id, in place of a
 * document. Pure.
 */
#ifndef RIP_CLI_TOP_PAGE_H
#define RIP_CLI_TOP_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

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

#endif
