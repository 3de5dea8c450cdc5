/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - the only place that writes to standard error.
 */
#include "app/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 2048u

static const char *const level_names[LOG_LEVEL_COUNT] = {"error", "warning", "info", "debug"};
static enum log_level level_shown = LOG_LEVEL_INFO; /* set once, before there are threads */

int log_level_from_name(const char *name)
{
    for (int i = 0; i < LOG_LEVEL_COUNT; i++)
        if (strcmp(name, level_names[i]) == 0)
            return i;
    return -1;
}

void log_set_level(enum log_level level)
{
    level_shown = level;
}

void log_line(enum log_level level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    size_t length;
    int n;

    if (level > level_shown)
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
    if (write(STDERR_FILENO, line, length) < 0)
        return; /* nobody is left to tell */
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
