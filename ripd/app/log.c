/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - the only place that writes to standard error.
 *
 * A reader who does not read must not stop the daemon: the scanner would wait in write(2), and nobody would be watched,
 * nor SIGTERM be heard. A line that cannot be taken at once is dropped and counted; the next one tells.
 */
#include "app/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 2048u
#define LOST_BYTES 96u

static const char *const level_names[LOG_LEVEL_COUNT] = {"error", "warning", "info", "debug"};
static atomic_uint_fast64_t lost_count;   /* nobody took them, and it has not been told */
static atomic_uint_fast64_t missed_count; /* for whatever reason, since the start */
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

/* A pipe that is ready takes PIPE_BUF bytes, and a line is shorter: the write does not wait. */
_Static_assert(LINE_BYTES + LOST_BYTES <= PIPE_BUF, "a write of a line could wait");

static void write_line(const char *line, size_t length)
{
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    char text[LINE_BYTES + LOST_BYTES];
    uint64_t lost = 0;
    size_t at = 0;

    if (poll(&output, 1, 0) == 0) {
        atomic_fetch_add_explicit(&lost_count, 1, memory_order_relaxed);
        log_leave_out(1);
        return;
    }
    lost = atomic_exchange_explicit(&lost_count, 0, memory_order_relaxed);
    if (lost != 0)
        at = (size_t)snprintf(text, LOST_BYTES, "ripd: warning: log lines lost, nobody took them: count=%" PRIu64 "\n",
                              lost);
    memcpy(text + at, line, length);
    if (write(STDERR_FILENO, text, at + length) < 0)
        return; /* nobody is left to tell */
}

void log_line(enum log_level level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    size_t length;
    int n;

    if ((int)level > atomic_load_explicit(&level_shown, memory_order_relaxed))
        return;
    length = (size_t)snprintf(line, sizeof(line), "ripd: %s: ", level_names[level]);
    va_start(arguments, format);
    n = vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);
    va_end(arguments);
    if (n < 0)
        return;
    length += (size_t)n;
    if (length > sizeof(line) - 2)
        length = sizeof(line) - 2;
    line[length++] = '\n';
    write_line(line, length);
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
