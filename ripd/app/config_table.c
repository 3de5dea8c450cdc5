/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_table.c - the table of flags, and the operations on a value of each kind: store, compare, free.
 *
 * A flag is one row: its name on the command line and in the file, its default, the values it accepts, its field in
 * struct config, and whether a reload can change it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/config_option.h"
#include "net/access.h"
#include "net/listener.h"
#include "util/array.h"
#include "util/duration.h"
#include "util/text.h"

static bool is_something(const char *value)
{
    return *value != '\0';
}

static bool is_absolute(const char *value)
{
    return *value == '/';
}

#define IN(field) .offset = offsetof(struct config, field), .size = sizeof(((struct config *)NULL)->field)

const struct option options[] = {
    {.name = "listen",
     .value_name = "ADDR:PORT",
     .kind = OPTION_LIST,
     IN(listen),
     .max = CONFIG_LISTEN_MAX,
     .defaults = {"127.0.0.1:7470"},
     .valid = listener_address_valid,
     .expected = "ADDR:PORT, [ADDR6]:PORT or unix:PATH, with a numeric address",
     .help = "serve HTTP at this address, or at unix:PATH; repeatable; port 0 picks a free port"},
    {.name = "dir",
     .value_name = "DIR",
     .kind = OPTION_LIST,
     IN(directories),
     .max = CONFIG_DIRECTORIES_MAX,
     .defaults = {"/run/librip", "/dev/shm"},
     .valid = is_something,
     .expected = "a directory",
     .applied_by_reload = true,
     .help = "watch this directory for rings; repeatable; replaces the defaults"},
    {.name = "interval",
     .value_name = "DUR",
     .kind = OPTION_DURATION,
     IN(interval_ns),
     .defaults = {"1s"},
     .applied_by_reload = true,
     .help = "time between scans"},
    {.name = "stall-after",
     .value_name = "DUR",
     .kind = OPTION_DURATION,
     IN(stall_after_ns),
     .defaults = {"5s"},
     .applied_by_reload = true,
     .help = "an id whose counter has not moved for this long is stalled"},
    {.name = "rule",
     .value_name = "GLOB=DUR",
     .kind = OPTION_RULES,
     IN(rules),
     .applied_by_reload = true,
     .help = "threshold for ids whose name matches: batch-*=10m; repeatable; the first match counts"},
    {.name = "allow-host",
     .value_name = "NAME",
     .kind = OPTION_LIST,
     IN(allow_hosts),
     .max = CONFIG_HOSTS_MAX,
     .valid = access_host_valid,
     .expected = "a host name without a port",
     .applied_by_reload = true,
     .help = "additional name accepted in the Host header; repeatable"},
    {.name = "state-dir",
     .value_name = "DIR",
     .kind = OPTION_TEXT,
     IN(state_directory),
     .valid = is_absolute,
     .expected = "an absolute path",
     .help = "keep the history of stalls in this directory (absolute path) across restarts; created if missing"},
    {.name = "record",
     .value_name = "DIR",
     .kind = OPTION_TEXT,
     IN(record_directory),
     .valid = is_absolute,
     .expected = "an absolute path",
     .help = "record all rings and all decisions in this directory (absolute path), for rip replay"},
    {.name = "on-stall",
     .value_name = "CMD",
     .kind = OPTION_TEXT,
     IN(on_stall),
     .applied_by_reload = true,
     .help = "/bin/sh runs it when a stall begins or ends, with the event as JSON on standard input"},
    {.name = "log-level",
     .value_name = "LEVEL",
     .kind = OPTION_LEVEL,
     IN(log_level),
     .defaults = {"info"},
     .applied_by_reload = true,
     .help = "least severe messages to log: error, warning, info or debug"},
    {.name = "config",
     .value_name = "FILE",
     .kind = OPTION_FILE,
     IN(file), /* the command line is the same after a reload */
     .valid = is_something,
     .expected = "a file",
     .help = "read these flags from a file of KEY = VALUE lines; the command line takes precedence"},
    {.name = "check-config", .action = CONFIG_CHECK, .help = "check flags and file, and exit"},
    {.name = "version", .action = CONFIG_SHOW_VERSION, .help = "print the version and exit"},
    {.name = "help", .action = CONFIG_SHOW_HELP, .help = "print this help and exit"},
};
const size_t options_count = ARRAY_COUNT(options);
_Static_assert(ARRAY_COUNT(options) <= OPTIONS_MAX, "struct options_given is too small");

const struct option *option_find(const char *name, size_t length)
{
    for (size_t i = 0; i < options_count; i++)
        if (strlen(options[i].name) == length && memcmp(options[i].name, name, length) == 0)
            return &options[i];
    return NULL;
}

bool option_is_key(const struct option *option)
{
    return option->kind != OPTION_ACTION && option->kind != OPTION_FILE;
}

bool option_repeats(const struct option *option)
{
    return option->kind == OPTION_LIST || option->kind == OPTION_RULES;
}

static void *field_of(const struct option *option, struct config *config)
{
    return (char *)config + option->offset;
}

static const void *field_in(const struct option *option, const struct config *config)
{
    return (const char *)config + option->offset;
}

static int take_text(char **text, const char *value)
{
    char *copy = *value == '\0' ? NULL : strdup(value);

    if (copy == NULL && *value != '\0')
        return -ENOMEM;
    free(*text);
    *text = copy;
    return 0;
}

static int refuse(const char **ret_expected, const char *expected)
{
    *ret_expected = expected;
    return -EINVAL;
}

static int take_item(struct config_list *list, size_t max, const char *value, const char **ret_expected)
{
    char *copy;

    list->by_default = false;
    if (*value == '\0')
        return 0;
    if (list->count == max)
        return refuse(ret_expected, "fewer values");
    copy = strdup(value);
    if (copy == NULL)
        return -ENOMEM;
    list->items[list->count++] = copy;
    return 0;
}

static int take_duration(uint64_t *duration_ns, const char *value, const char **ret_expected)
{
    uint64_t ns;

    if (duration_parse(value, &ns) != 0)
        return refuse(ret_expected, "a duration such as 250ms, 5s, 2m, 1h");
    if (ns < DURATION_SETTING_MIN_NS || ns > DURATION_SETTING_MAX_NS)
        return refuse(ret_expected, "a duration from 10ms to a year");
    *duration_ns = ns;
    return 0;
}

static int take_level(enum log_level *log_level, const char *value, const char **ret_expected)
{
    int level = log_level_from_name(value);

    if (level < 0)
        return refuse(ret_expected, "error, warning, info or debug");
    *log_level = (enum log_level)level;
    return 0;
}

int option_take(const struct option *option, struct config *config, struct options_given *given, const char *value,
                const char **ret_expected)
{
    bool *is_given = &given->given[option - options], first = !*is_given;
    bool none = *value == '\0' && option->defaults[0] == NULL && option_is_key(option);
    void *field = field_of(option, config);

    *is_given = true;
    if (!none && option->valid != NULL && !option->valid(value))
        return refuse(ret_expected, option->expected);
    if (option_repeats(option) && (first || *value == '\0'))
        option_done(option, config);
    switch (option->kind) {
    case OPTION_TEXT:
    case OPTION_FILE:
        return take_text(field, value);
    case OPTION_LIST:
        return take_item(field, option->max, value, ret_expected);
    case OPTION_DURATION:
        return take_duration(field, value, ret_expected);
    case OPTION_LEVEL:
        return take_level(field, value, ret_expected);
    case OPTION_RULES:
        return *value == '\0' ? 0 : rules_add(field, value, ret_expected);
    case OPTION_ACTION:
        break;
    }
    return refuse(ret_expected, "no value");
}

int option_set_default(const struct option *option, struct config *config)
{
    struct options_given given = {{false}};
    const char *expected;
    int status = 0;

    for (size_t i = 0; option->defaults[i] != NULL && status == 0; i++)
        status = option_take(option, config, &given, option->defaults[i], &expected);
    if (option->kind == OPTION_LIST)
        ((struct config_list *)field_of(option, config))->by_default = true;
    return status;
}

static bool same_text(const char *left, const char *right)
{
    return left == NULL || right == NULL ? left == right : strcmp(left, right) == 0;
}

static bool same_list(const struct config_list *left, const struct config_list *right)
{
    if (left->count != right->count)
        return false;
    for (size_t i = 0; i < left->count; i++)
        if (strcmp(left->items[i], right->items[i]) != 0)
            return false;
    return true;
}

bool option_same(const struct option *option, const struct config *left, const struct config *right)
{
    const void *one = field_in(option, left), *other = field_in(option, right);

    if (option->kind == OPTION_TEXT || option->kind == OPTION_FILE)
        return same_text(*(char *const *)one, *(char *const *)other);
    if (option->kind == OPTION_LIST)
        return same_list(one, other);
    return memcmp(one, other, option->size) == 0; /* unused bytes of struct rules are zero */
}

void option_swap(const struct option *option, struct config *left, struct config *right)
{
    struct config kept = *left;

    memcpy(field_of(option, left), field_of(option, right), option->size);
    memcpy(field_of(option, right), field_of(option, &kept), option->size);
}

void option_done(const struct option *option, struct config *config)
{
    if (option->kind == OPTION_TEXT || option->kind == OPTION_FILE) {
        char **text = field_of(option, config);

        free(*text);
        *text = NULL;
    } else if (option->kind == OPTION_LIST) {
        struct config_list *list = field_of(option, config);

        while (list->count > 0)
            free(list->items[--list->count]);
    } else if (option->kind == OPTION_RULES) {
        memset(field_of(option, config), 0, option->size);
    }
}

void option_default_text(const struct option *option, char ret_text[OPTION_DEFAULT_BYTES])
{
    ret_text[0] = '\0';
    for (size_t i = 0; option->defaults[i] != NULL; i++)
        text_append(ret_text, OPTION_DEFAULT_BYTES, "%s%s%s", i == 0 ? "[" : ", ", option->defaults[i],
                    option->defaults[i + 1] == NULL ? "]" : "");
}
