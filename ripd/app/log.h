/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - lines on standard error: a level, a sentence or an event, then key=value pairs. Where standard error is the
 * journal of systemd they go there as entries, with the priority and the fields of an event beside the text.
 *
 * Guarantees
 *   A. One call, one line, one write(2): lines of threads do not mix.
 *   B. Values of unknown origin (names, paths) are quoted and every byte that is not printable ASCII is escaped: no
 *      control sequence reaches a terminal or a journal.
 *   C. No call waits for a reader. Lines that could not be written are counted, and the next one says how many.
 */
#ifndef RIPD_APP_LOG_H
#define RIPD_APP_LOG_H

#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG, LOG_LEVEL_COUNT };

/* Before any descriptor is opened: where standard streams are closed, what is opened next would get the log lines. */
void log_open(void);

/*
 * Lines go to the journal that listens at path, if standard error is connected with it. What it does not take at once
 * is written to standard error, with the priority in front, as the journal reads it there: "<4>text". Before there are
 * threads.
 */
void log_open_journal(const char *path);
void log_close_journal(void);

/* -1 if no level has that name. */
int log_level_from_name(const char *name);
void log_set_level(enum log_level level); /* from any thread, at any time */

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line and, in the journal, fields of any bytes; a name is as journal_entry_add() has it. */
struct log_field {
    const char *name;
    const void *value;
    size_t length;
};
void log_event(enum log_level level, const struct log_field *fields, size_t count, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* count lines were left out because a budget of lines was spent. */
void log_leave_out(uint64_t count);
/* Lines since the start that were left out or that nobody took. From any thread, as log_line(). */
uint64_t log_missed_count(void);

/* "bytes" in double quotes, escaped; cut with "..." where it does not fit. Returns ret_text. */
#define LOG_QUOTED_BYTES 320u
const char *log_quote(const void *bytes, size_t length, char ret_text[LOG_QUOTED_BYTES]);
const char *log_quote_text(const char *text, char ret_text[LOG_QUOTED_BYTES]);

#endif
