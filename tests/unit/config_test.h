/* SPDX-License-Identifier: Apache-2.0 */
/* config_test.h - command lines and files for the tests of the configuration. */
#ifndef TESTS_UNIT_CONFIG_TEST_H
#define TESTS_UNIT_CONFIG_TEST_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/config.h"

#define WORDS_MAX 200

/* The configuration that was loaded last. The next load releases it. */
static struct config config;
static char config_error[CONFIG_ERROR_BYTES];
/* The file of write_config(). */
static char config_path[] = "/tmp/ripd-config-XXXXXX";

/* The words of the command line end with NULL. Returns the action of config_load(). */
static inline enum config_action load_list(struct config *ret_config, const char *first, va_list arguments)
{
    static char *words[WORDS_MAX]; /* a reload reads them again */
    int argc = 1;

    words[0] = (char *)(uintptr_t) "ripd";
    for (const char *word = first; word != NULL; word = va_arg(arguments, const char *))
        words[argc++] = (char *)(uintptr_t)word;
    words[argc] = NULL;
    config_error[0] = '\0';
    return config_load(argc, words, ret_config, config_error);
}

static inline enum config_action try_load(const char *first, ...)
{
    enum config_action action;
    va_list arguments;

    va_start(arguments, first);
    config_done(&config);
    action = load_list(&config, first, arguments);
    va_end(arguments);
    return action;
}

static inline void load(const char *first, ...)
{
    enum config_action action;
    va_list arguments;

    va_start(arguments, first);
    config_done(&config);
    action = load_list(&config, first, arguments);
    va_end(arguments);
    if (action != CONFIG_RUN)
        fail_msg("not accepted: %s", config_error);
}

/* The command line is refused with one line of printable text that contains part. The configuration is untouched. */
static inline void refuse(const char *part, const char *first, ...)
{
    struct config untouched = {.interval_ns = 77};
    enum config_action action;
    va_list arguments;

    va_start(arguments, first);
    action = load_list(&untouched, first, arguments);
    va_end(arguments);
    assert_int_equal(action, CONFIG_BAD);
    if (strstr(config_error, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, config_error);
    for (const char *at = config_error; *at != '\0'; at++)
        assert_in_range(*at, 0x20, 0x7e);
    assert_int_equal(untouched.interval_ns, 77);
}

/* The list has these values, separated by '|'. */
static inline void assert_list(const struct config_list *list, const char *expected)
{
    char text[256] = "";

    for (size_t i = 0; i < list->count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i == 0 ? "" : "|", list->items[i]);
    assert_string_equal(text, expected);
}

static inline void write_bytes(const void *bytes, size_t length)
{
    static bool made;
    int descriptor = made ? -1 : mkstemp(config_path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : fopen(config_path, "w");

    made = true;
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void write_config(const char *text)
{
    write_bytes(text, strlen(text));
}

/* Tear-down of tests that write a file. */
static inline int remove_config(void **state)
{
    (void)state;
    unlink(config_path);
    return 0;
}

#endif
