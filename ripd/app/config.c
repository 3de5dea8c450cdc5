/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - the table of flags, and the command line through it.
 *
 * A flag that takes a value accepts "--flag value" and "--flag=value". A list flag replaces its default at its first
 * use and adds from then on.
 */
#include "app/config.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "core/duration.h"
#include "net/access.h"
#include "net/listener.h"

struct flag {
    const char *name;
    const char *value_name; /* NULL: takes none */
    const char *help;
    enum config_action action; /* of a flag without a value */
    /* Takes value, or fills error with what was expected: 0 or -1. */
    int (*take)(struct config *config, const char *value, const char **ret_expected);
};

static int list_add(const char **list, size_t *count, size_t max, const char *value, const char **ret_expected)
{
    if (*value == '\0') {
        *ret_expected = "something";
        return -1;
    }
    if (*count == max) {
        *ret_expected = "fewer of them";
        return -1;
    }
    list[(*count)++] = value;
    return 0;
}

static int take_listen(struct config *config, const char *value, const char **ret_expected)
{
    if (!listener_address_valid(value)) {
        *ret_expected = "ADDR:PORT, [ADDR6]:PORT or unix:PATH, with a numeric address";
        return -1;
    }
    return list_add(config->listen, &config->listen_count, CONFIG_LISTEN_MAX, value, ret_expected);
}

static int take_directory(struct config *config, const char *value, const char **ret_expected)
{
    return list_add(config->directories, &config->directory_count, CONFIG_DIRECTORIES_MAX, value, ret_expected);
}

static int take_allow_host(struct config *config, const char *value, const char **ret_expected)
{
    if (!access_host_valid(value)) {
        *ret_expected = "a host name without a port";
        return -1;
    }
    return list_add(config->allow_hosts, &config->allow_host_count, CONFIG_HOSTS_MAX, value, ret_expected);
}

static int take_duration(const char *value, uint64_t min_ns, uint64_t *ret_ns, const char **ret_expected)
{
    uint64_t ns;

    if (duration_parse(value, &ns) != 0) {
        *ret_expected = "a duration such as 250ms, 5s, 2m, 1h";
        return -1;
    }
    if (ns < min_ns || ns > DURATION_SETTING_MAX_NS) {
        *ret_expected = "a duration from 10ms to a year";
        return -1;
    }
    *ret_ns = ns;
    return 0;
}

static int take_interval(struct config *config, const char *value, const char **ret_expected)
{
    return take_duration(value, DURATION_SETTING_MIN_NS, &config->interval_ns, ret_expected);
}

static int take_stall_after(struct config *config, const char *value, const char **ret_expected)
{
    return take_duration(value, DURATION_SETTING_MIN_NS, &config->stall_after_ns, ret_expected);
}

static int take_log_level(struct config *config, const char *value, const char **ret_expected)
{
    int level = log_level_from_name(value);

    if (level < 0) {
        *ret_expected = "error, warning, info or debug";
        return -1;
    }
    config->log_level = (enum log_level)level;
    return 0;
}

static const struct flag flags[] = {
    {"listen", "ADDR:PORT", "serve HTTP here, or at unix:PATH; repeatable; port 0 picks a free one [127.0.0.1:7470]",
     CONFIG_RUN, take_listen},
    {"dir", "DIR", "watch this directory for rings; repeatable; replaces the defaults [/run/librip, /dev/shm]",
     CONFIG_RUN, take_directory},
    {"interval", "DUR", "time between scans [1s]", CONFIG_RUN, take_interval},
    {"stall-after", "DUR", "an id whose counter has not moved for this long is stalled [5s]", CONFIG_RUN,
     take_stall_after},
    {"allow-host", "NAME", "a further name accepted in the Host header; repeatable", CONFIG_RUN, take_allow_host},
    {"log-level", "LEVEL", "error, warning, info or debug [info]", CONFIG_RUN, take_log_level},
    {"version", NULL, "print the version and exit", CONFIG_SHOW_VERSION, NULL},
    {"help", NULL, "print this and exit", CONFIG_SHOW_HELP, NULL},
};
#define FLAG_COUNT (sizeof(flags) / sizeof(flags[0]))

static const struct flag *flag_find(const char *name, size_t length)
{
    for (size_t i = 0; i < FLAG_COUNT; i++)
        if (strlen(flags[i].name) == length && memcmp(flags[i].name, name, length) == 0)
            return &flags[i];
    return NULL;
}

__attribute__((format(printf, 2, 3))) static enum config_action bad(char *ret_error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(ret_error, CONFIG_ERROR_BYTES, format, arguments);
    va_end(arguments);
    for (char *at = ret_error; *at != '\0'; at++) /* one line, whatever was given */
        if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
            *at = '?';
    return CONFIG_BAD;
}

/* One flag at argv[*index]; *index is left at its last word. */
static enum config_action flag_take(int argc, char *const *argv, int *index, struct config *config, char *ret_error)
{
    const char *word = argv[*index];
    const char *name = word + 2;
    const char *equals, *value, *expected = NULL;
    const struct flag *flag;
    size_t length;

    if (strncmp(word, "--", 2) != 0)
        return bad(ret_error, "unexpected argument '%.64s'; see ripd --help", word);
    equals = strchr(name, '=');
    length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    flag = flag_find(name, length);
    if (flag == NULL)
        return bad(ret_error, "unknown flag '--%.*s'; see ripd --help", length > 64 ? 64 : (int)length, name);
    if (flag->value_name == NULL)
        return equals == NULL ? flag->action : bad(ret_error, "--%s: takes no value", flag->name);
    value = equals != NULL ? equals + 1 : NULL;
    if (value == NULL && *index + 1 < argc)
        value = argv[++*index];
    if (value == NULL)
        return bad(ret_error, "--%s: needs a value (%s)", flag->name, flag->value_name);
    if (flag->take(config, value, &expected) != 0)
        return bad(ret_error, "--%s: '%.64s' is not accepted; expected %s", flag->name, value, expected);
    return CONFIG_RUN;
}

static void set_list_defaults(struct config *config)
{
    if (config->listen_count == 0)
        config->listen[config->listen_count++] = "127.0.0.1:7470";
    if (config->directory_count == 0) {
        config->directories[config->directory_count++] = "/run/librip";
        config->directories[config->directory_count++] = "/dev/shm";
    }
}

enum config_action config_parse(int argc, char *const *argv, struct config *ret_config,
                                char ret_error[CONFIG_ERROR_BYTES])
{
    struct config config = {
        .interval_ns = UINT64_C(1000000000),
        .stall_after_ns = UINT64_C(5000000000),
        .log_level = LOG_LEVEL_INFO,
    };

    for (int i = 1; i < argc; i++) {
        enum config_action action = flag_take(argc, argv, &i, &config, ret_error);

        if (action != CONFIG_RUN)
            return action;
    }
    set_list_defaults(&config);
    *ret_config = config;
    return CONFIG_RUN;
}

void config_print_help(FILE *stream)
{
    fprintf(stream, "Usage: ripd [FLAG...]\n"
                    "Watches the rings of this host and serves what is stuck as JSON over HTTP.\n\n");
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        char left[40];

        snprintf(left, sizeof(left), "--%s%s%s", flags[i].name, flags[i].value_name != NULL ? " " : "",
                 flags[i].value_name != NULL ? flags[i].value_name : "");
        fprintf(stream, "  %-21s %s\n", left, flags[i].help);
    }
    fprintf(stream, "\nDurations are 250ms, 5s, 2m, 1h. Ask with: curl localhost:7470/stalls\n");
}
