/* SPDX-License-Identifier: Apache-2.0 */
/* log_capture.h - captures what a test writes to standard error. Usable as a fixture. */
#ifndef TESTS_UNIT_LOG_CAPTURE_H
#define TESTS_UNIT_LOG_CAPTURE_H

#include <fcntl.h>
#include <unistd.h>

/* Standard error is a pipe. */
static struct {
    int saved;
    int reading;
    char text[1 << 20];
} log_capture;

static inline int log_capture_begin(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    log_capture.saved = dup(STDERR_FILENO);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    log_capture.reading = ends[0];
    return 0;
}

static inline int log_capture_end(void **state)
{
    (void)state;
    dup2(log_capture.saved, STDERR_FILENO);
    close(log_capture.saved);
    close(log_capture.reading);
    return 0;
}

/* Returns what was written since the last call. */
static inline const char *logged(void)
{
    size_t length = 0;
    ssize_t count;

    while (length < sizeof(log_capture.text) - 1 &&
           (count = read(log_capture.reading, log_capture.text + length, sizeof(log_capture.text) - 1 - length)) > 0)
        length += (size_t)count;
    log_capture.text[length] = '\0';
    return log_capture.text;
}

/* Ends the capture, so that failures are visible again, and returns what was written since the last call. */
static inline const char *log_capture_take(void)
{
    const char *text = logged();

    log_capture_end(NULL);
    return text;
}

static inline size_t count_lines(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

/* One line was written, and it contains part. */
static inline void assert_logged(const char *part)
{
    const char *text = logged();

    if (strstr(text, part) == NULL || count_lines(text) != 1)
        fail_msg("not one line with %s: %s", part, text);
}

#endif
