/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - lines on standard error: a level, a sentence or an event, then key=value pairs. If standard error is the
 * journal of systemd, lines are sent as entries, with a priority, and with the fields of an event in addition to the
 * text.
 *
 * Guarantees
 *   A. One call, one line, one write(2): lines of different threads do not mix.
 *   B. Values of unknown origin (names, paths) are quoted, and every byte that is not printable ASCII is escaped: no
 *      control sequence reaches a terminal or a journal.
 *   C. No call waits for a reader. Lines that could not be written are counted, and the next line reports the count.
 */
#ifndef RIPD_APP_LOG_H
#define RIPD_APP_LOG_H

#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG, LOG_LEVEL_COUNT };

/* Before any descriptor is opened: if standard streams are closed, the next opened file would get the log lines. */
void log_open(void);

/*
 * Sends lines to the journal that listens at path, if standard error is connected to it. An entry that the journal does
 * not accept at once is written to standard error, with the priority in front, as the journal expects it there:
 * "<4>text". Call it before there are threads.
 */
void log_open_journal(const char *path);
void log_close_journal(void);

/* Returns -1 if no level has that name. */
int log_level_from_name(const char *name);
void log_set_level(enum log_level level); /* from any thread, at any time */

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line, with fields of any bytes in the journal. For the form of a name see journal_entry_add(). */
struct log_field {
    const char *name;
    const void *value;
    size_t length;
};
void log_event(enum log_level level, const struct log_field *fields, size_t count, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Counts lines that were left out because a budget of lines was spent. */
void log_leave_out(uint64_t count);
/* Returns the number of lines since the start that were left out or could not be written. Thread-safe. */
uint64_t log_missed_count(void);

/* Escapes the bytes and puts them in double quotes; ends in "..." if they do not fit. Returns ret_text. */
#define LOG_QUOTED_BYTES 320u
const char *log_quote(const void *bytes, size_t length, char ret_text[LOG_QUOTED_BYTES]);
const char *log_quote_text(const char *text, char ret_text[LOG_QUOTED_BYTES]);

#endif
