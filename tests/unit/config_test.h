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
#define CONFIG_TEST_PATH "/tmp/ripd-config-XXXXXX"

/* The last argument of everything variadic here is NULL. */

static char *words[WORDS_MAX]; /* config_load() reads them again */
static char last_error[CONFIG_ERROR_BYTES];

static enum config_action ask_list(struct config *config, const char *first, va_list arguments)
{
    int argc = 1;

    words[0] = (char *)(uintptr_t) "ripd";
    for (const char *word = first; word != NULL; word = va_arg(arguments, const char *))
        words[argc++] = (char *)(uintptr_t)word;
    words[argc] = NULL;
    last_error[0] = '\0';
    return config_load(argc, words, config, last_error);
}

static inline enum config_action ask(struct config *config, const char *first, ...)
{
    enum config_action action;
    va_list arguments;

    va_start(arguments, first);
    action = ask_list(config, first, arguments);
    va_end(arguments);
    return action;
}

static inline void load(struct config *config, const char *first, ...)
{
    enum config_action action;
    va_list arguments;

    va_start(arguments, first);
    action = ask_list(config, first, arguments);
    va_end(arguments);
    if (action != CONFIG_RUN)
        fail_msg("not accepted: %s", last_error);
}

/* The command line is refused with one line of printable text that has part in it; the configuration is untouched. */
static inline void refuse(const char *part, const char *first, ...)
{
    struct config config = {.interval_ns = 77};
    enum config_action action;
    va_list arguments;

    va_start(arguments, first);
    action = ask_list(&config, first, arguments);
    va_end(arguments);
    assert_int_equal(action, CONFIG_BAD);
    if (strstr(last_error, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, last_error);
    for (const char *at = last_error; *at != '\0'; at++)
        assert_in_range(*at, 0x20, 0x7e);
    assert_int_equal(config.interval_ns, 77);
}

static inline void assert_list(const struct config_list *list, ...)
{
    va_list arguments;
    const char *item;
    size_t count = 0;

    va_start(arguments, list);
    while ((item = va_arg(arguments, const char *)) != NULL) {
        assert_true(count < list->count);
        assert_string_equal(list->items[count++], item);
    }
    va_end(arguments);
    assert_int_equal(list->count, count);
}

/* Makes a file of that template, or writes anew the one it has become. */
static inline void write_bytes(char *path, const void *bytes, size_t length)
{
    size_t path_length = strlen(path);
    int descriptor = strcmp(path + path_length - 6, "XXXXXX") == 0 ? mkstemp(path) : -1;
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void write_config(char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

#endif
