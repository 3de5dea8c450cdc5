/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.h - a thread that sends requests, so that the screen never waits for an answer.
 *
 * Guarantees
 *   A. One question at a time. A new one replaces one that waits, and ends the one in progress as soon as its
 *      present page has come.
 *   B. A list is read to its end, page by page, from all hosts side by side. A page is asked for when the one before
 *      has been taken.
 *   C. The hosts are asked by this thread alone, from loader_new() to loader_free().
 */
#ifndef RIP_CLI_LOADER_H
#define RIP_CLI_LOADER_H

#include <stdbool.h>

#include "cli/hosts.h"
#include "cli/top_page.h"
#include "detect/state.h"

#define LOADER_TARGET_BYTES 1024u

/* A list of all hosts, or the report of one id of one host as text. */
struct loader_question {
    char target[LOADER_TARGET_BYTES];
    const char *schema;
    const char *list; /* the member with the items; NULL: a report of the member "thread" */
    size_t ids_max;   /* of a list: no more are read */
    size_t host;      /* of a report */
    bool utf8;
    unsigned serial; /* comes back with the answer */
};

/* What the frames of all hosts say. */
struct loader_frame {
    long long counts[ID_STATE_COUNT];
    long long ids;
    long long total; /* that are of the list */
    long long unreadable;
    long long late_ms; /* of the oldest scan that is late; 0: none is */
    size_t answered;   /* hosts */
};

/* pages and text are the caller's; error: what is missing, "" if nothing is. */
struct loader_answer {
    unsigned serial;
    bool last; /* no more comes */
    struct top_page *pages;
    struct loader_frame frame; /* of the first pages; the same in each answer to a question */
    char *text;
    char error[CLIENT_ERROR_BYTES];
};

struct loader;

/* NULL: no thread could be had. */
struct loader *loader_new(struct hosts *hosts);

/* Does not wait for an answer that is on its way: then false, and hosts and loader are in use until the program ends.
 */
bool loader_free(struct loader *loader);

/* Readable when there is an answer. */
int loader_descriptor(const struct loader *loader);

void loader_ask(struct loader *loader, const struct loader_question *question);

/* False: there is none. */
bool loader_take(struct loader *loader, struct loader_answer *ret_answer);

#endif
