/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - the parts of `rip events`: settings from the command line, the list, the table, the follower, the command.
 */
#ifndef RIP_CLI_EVENTS_H
#define RIP_CLI_EVENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/client.h"
#include "cli/text.h"

#define EVENTS_TARGET_BYTES 4096u
#define EVENTS_COMMAND_LIMIT_NS UINT64_C(30000000000) /* then SIGTERM to its process group */
#define EVENTS_COMMAND_GRACE_NS UINT64_C(5000000000)  /* then SIGKILL */
#define EVENTS_SILENCE_NS UINT64_C(60000000000)       /* ripd gives a sign of life every 15 s */
#define EVENTS_BACKOFF_NS UINT64_C(250000000)         /* before the first try to come back; doubles */
#define EVENTS_BACKOFF_MAX_NS UINT64_C(10000000000)

/* NULL: not given. */
struct events_settings {
    const char *url;
    const char *since_id;
    const char *limit;
    const char *command;
    const char *state;
    const char *filters[6]; /* values, by events_filter_names */
    bool json;
    bool follow;
};

extern const char *const events_filter_names[6]; /* parameters of /events */

/* Whether text is EPOCH-SEQUENCE; then *ret_sequence. */
bool events_id_valid(const char *text, uint64_t *ret_sequence);

/* Exit status for what a client came to, after a line on stderr. */
int events_status(enum client_result result);

/* Each returns the exit status. */
int events_list(struct client *client, const struct events_settings *settings);
int events_follow(struct client *client, const struct events_settings *settings);

/* /events with the filters into target (EVENTS_TARGET_BYTES). False, after a line on stderr: they are too long. */
bool events_target(const struct events_settings *settings, char *target);

/* One event as a line of JSON. */
void events_print_json(const struct text_style *style, const json_t *event);

/* The table. Widths: of all columns but the last. */
#define EVENTS_COLUMNS 8
struct events_table {
    struct text_style style;
    unsigned widths[EVENTS_COLUMNS];
};
/* Wide enough for these events, an array or NULL for what may come, and no wider than the terminal. */
void events_table_init(struct events_table *table, const json_t *events);
void events_table_head(const struct events_table *table);
void events_table_row(const struct events_table *table, const json_t *event);

/* The id that a file keeps from one run to the next. */
#define EVENTS_ID_BYTES 64u
/* 0; -ENOENT: no such file yet; -EINVAL: something else is in it. */
int events_state_read(const char *path, char ret_id[EVENTS_ID_BYTES]);
int events_state_write(const char *path, const char *id); /* at once or not at all */

/* What became of the command for one event. */
enum events_command_outcome {
    EVENTS_COMMAND_DONE,   /* it ended, or was ended because it took too long; stderr tells of failures */
    EVENTS_COMMAND_FAILED, /* it could not be started just now */
    EVENTS_COMMAND_CUT,    /* stop_descriptor: it was ended, and is to be run again some day */
};
enum events_command_outcome events_command_run(const char *command, const char *kind, uint64_t episode,
                                               const char *text, size_t text_bytes, int stop_descriptor);

#endif
