/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_load.h - what the files of a history come to, line by line.
 *
 * Guarantees
 *   A. Any lines give a state in which sequences ascend and no episode is open twice; what does not fit is counted.
 *   B. Memory is bounded by EVENT_HISTORY_KEPT_MAX events of EVENT_HISTORY_KEPT_BYTES_MAX, and the open episodes.
 */
#ifndef RIPD_RECORD_EVENT_LOAD_H
#define RIPD_RECORD_EVENT_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/event_file.h"
#include "record/event_open.h"

/* All zero = nothing read yet. */
struct event_load {
    uint64_t epoch; /* 0 = none found */
    uint64_t sequence;
    uint64_t episode;
    struct event **events; /* references, in order of sequence; the first dropped_count are gone */
    size_t dropped_count;
    size_t event_count; /* with those */
    size_t capacity;
    size_t bytes;
    struct event_open_set open;
    uint64_t line_count;
    uint64_t damaged_count;
};

void event_load_done(struct event_load *load);
void event_load_forget_events(struct event_load *load);

/* Takes a line in, without its end. 0 or -ENOMEM. */
int event_load_line(struct event_load *load, const char *text, size_t length);

/*
 * Reads both files. A last line without an end is cut off (*ret_torn). A file without any line of ours is moved out of
 * the way, whose new name is in ret_aside then ("" if there was none). 0 or -errno.
 */
int event_load_files(struct event_load *load, struct event_file *file, bool *ret_torn,
                     char ret_aside[EVENT_FILE_ASIDE_BYTES]);

#endif
