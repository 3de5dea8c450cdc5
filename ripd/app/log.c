/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - the only file that writes to standard error and to the journal.
 *
 * A reader that does not read must not block the daemon: the scanner would hang in write(2), no ring would be watched,
 * and SIGTERM would not be handled. A line that cannot be written at once is dropped and counted. The next line reports
 * the count.
 */
#include "app/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/journal.h"

#define LINE_BYTES 2048u
#define HEAD_BYTES 32u

static const char *const level_names[LOG_LEVEL_COUNT] = {"error", "warning", "info", "debug"};
static const char priorities[LOG_LEVEL_COUNT] = {'3', '4', '6', '7'}; /* of syslog(3) */
static struct journal journal = {.descriptor = -1};                   /* changes only while there is one thread */
static atomic_uint_fast64_t lost_count;                               /* lines not written and not reported yet */
static atomic_uint_fast64_t missed_count; /* lines not logged for any reason, since the start */
static atomic_int level_shown = LOG_LEVEL_INFO;

int log_level_from_name(const char *name)
{
    for (int i = 0; i < LOG_LEVEL_COUNT; i++)
        if (strcmp(name, level_names[i]) == 0)
            return i;
    return -1;
}

void log_open(void)
{
    int descriptor;

    do
        descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0)
        close(descriptor);
}

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&level_shown, (int)level, memory_order_relaxed);
}

void log_leave_out(uint64_t count)
{
    atomic_fetch_add_explicit(&missed_count, count, memory_order_relaxed);
}

uint64_t log_missed_count(void)
{
    return atomic_load_explicit(&missed_count, memory_order_relaxed);
}

void log_open_journal(const char *path)
{
    if (journal_is_stream(STDERR_FILENO))
        (void)journal_open(&journal, path); /* otherwise standard error is used */
}

void log_close_journal(void)
{
    journal_close(&journal);
}

/* A pipe that is ready accepts PIPE_BUF bytes, and a line is shorter: the write does not block. */
_Static_assert(LINE_BYTES <= PIPE_BUF, "a write of a line could block");

/* Returns false if standard error is not ready. */
static bool write_line(enum log_level level, const char *text)
{
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    char line[LINE_BYTES];
    int length;

    if (poll(&output, 1, 0) == 0)
        return false;
    if (journal.descriptor >= 0)
        length = snprintf(line, sizeof(line), "<%c>%s\n", priorities[level], text);
    else
        length = snprintf(line, sizeof(line), "ripd: %s: %s\n", level_names[level], text);
    (void)!write(STDERR_FILENO, line, (size_t)length); /* if it fails nobody can read it */
    return true;
}

/* Returns false if the journal did not accept the entry. */
static bool send_entry(enum log_level level, const struct log_field *fields, size_t count, const char *text)
{
    struct journal_entry entry;

    entry.length = 0;
    journal_entry_add(&entry, "MESSAGE", text, strlen(text));
    journal_entry_add(&entry, "PRIORITY", &priorities[level], 1);
    journal_entry_add(&entry, "SYSLOG_FACILITY", "3", 1); /* daemon, as the journal assumes for standard error */
    journal_entry_add(&entry, "SYSLOG_IDENTIFIER", "ripd", 4);
    for (size_t i = 0; i < count; i++)
        journal_entry_add(&entry, fields[i].name, fields[i].value, fields[i].length);
    return journal_send(&journal, &entry) == 0;
}

static bool put(enum log_level level, const struct log_field *fields, size_t count, const char *text)
{
    return (journal.descriptor >= 0 && send_entry(level, fields, count, text)) || write_line(level, text);
}

__attribute__((format(printf, 4, 0))) static void emit(enum log_level level, const struct log_field *fields,
                                                       size_t count, const char *format, va_list arguments)
{
    char text[LINE_BYTES - HEAD_BYTES];
    uint64_t lost;

    if ((int)level > atomic_load_explicit(&level_shown, memory_order_relaxed))
        return;
    lost = atomic_exchange_explicit(&lost_count, 0, memory_order_relaxed);
    if (lost != 0) {
        snprintf(text, sizeof(text), "log lines lost, standard error was not read: count=%" PRIu64, lost);
        if (!put(LOG_LEVEL_WARNING, NULL, 0, text))
            atomic_fetch_add_explicit(&lost_count, lost, memory_order_relaxed);
    }
    vsnprintf(text, sizeof(text), format, arguments);
    if (put(level, fields, count, text))
        return;
    atomic_fetch_add_explicit(&lost_count, 1, memory_order_relaxed);
    log_leave_out(1);
}

void log_line(enum log_level level, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    emit(level, NULL, 0, format, arguments);
    va_end(arguments);
}

void log_event(enum log_level level, const struct log_field *fields, size_t count, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    emit(level, fields, count, format, arguments);
    va_end(arguments);
}

const char *log_quote(const void *bytes, size_t length, char ret_text[LOG_QUOTED_BYTES])
{
    const unsigned char *from = bytes;
    size_t used = 0;

    ret_text[used++] = '"';
    for (size_t i = 0; i < length; i++) {
        if (used + sizeof("\\xff...\"") > LOG_QUOTED_BYTES) {
            memcpy(ret_text + used, "...", 3);
            used += 3;
            break;
        }
        if (from[i] == '"' || from[i] == '\\') {
            ret_text[used++] = '\\';
            ret_text[used++] = (char)from[i];
        } else if (from[i] >= 0x20 && from[i] < 0x7f) {
            ret_text[used++] = (char)from[i];
        } else {
            used += (size_t)snprintf(ret_text + used, LOG_QUOTED_BYTES - used, "\\x%02x", from[i]);
        }
    }
    ret_text[used++] = '"';
    ret_text[used] = '\0';
    return ret_text;
}

const char *log_quote_text(const char *text, char ret_text[LOG_QUOTED_BYTES])
{
    return log_quote(text, strlen(text), ret_text);
}
