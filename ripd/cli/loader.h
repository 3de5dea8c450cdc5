/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.h - a thread that asks, so that who looks at a screen never waits for an answer.
 *
 * Guarantees
 *   A. One question at a time. One that is asked while another is on its way waits, and takes the place of one that
 *      waits already.
 *   B. The host is asked by this thread alone, from loader_new() to loader_free().
 */
#ifndef RIP_CLI_LOADER_H
#define RIP_CLI_LOADER_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/hosts.h"

#define LOADER_TARGET_BYTES 1024u

/* A list, or the report of one id as text. */
struct loader_question {
    char target[LOADER_TARGET_BYTES];
    const char *schema;
    const char *list; /* a member that has to be an array; NULL: what is wanted is a report of its "thread" */
    bool utf8;        /* of the report */
    unsigned serial;  /* comes back with the answer */
};

/* document and text are the caller's; NULL where error has a text. */
struct loader_answer {
    unsigned serial;
    json_t *document;
    char *text;
    char error[CLIENT_ERROR_BYTES];
};

struct loader;

/* Asks the first of the hosts. NULL: no thread could be had. */
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
