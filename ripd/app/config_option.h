/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_option.h - the table of flags and keys, for the files that implement the configuration and for those that
 * document it.
 */
#ifndef RIPD_APP_CONFIG_OPTION_H
#define RIPD_APP_CONFIG_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/config.h"

enum option_kind {
    OPTION_ACTION,   /* takes no value, and is not a key */
    OPTION_FILE,     /* the configuration file itself; not a key */
    OPTION_TEXT,     /* char * */
    OPTION_LIST,     /* struct config_list; repeatable */
    OPTION_DURATION, /* uint64_t, nanoseconds */
    OPTION_LEVEL,    /* enum log_level */
    OPTION_RULES,    /* struct rules; repeatable */
};

#define OPTION_DEFAULTS_MAX 2u

struct option {
    const char *name;
    const char *value_name; /* NULL: takes no value */
    enum option_kind kind;
    size_t offset; /* of the value in struct config */
    size_t size;
    size_t max; /* items of a list */
    /* Written as a user would write them. If there is none, an empty value is accepted too and means none. */
    const char *defaults[OPTION_DEFAULTS_MAX + 1];
    bool (*valid)(const char *value); /* for a text or a list; NULL: any value */
    const char *expected;             /* what valid() accepts, for messages */
    enum config_action action;        /* of OPTION_ACTION */
    bool applied_by_reload;           /* otherwise a change needs a restart */
    const char *help;
};

extern const struct option options[];
extern const size_t options_count;

/* name need not be terminated. Returns NULL if there is no such option. */
const struct option *option_find(const char *name, size_t length);

/* Returns true if a line of the file may set it. */
bool option_is_key(const struct option *option);
/* Returns true if a further value of the same source is added instead of replacing the first. */
bool option_repeats(const struct option *option);

/* The options, by number, that one source (command line or file) has given so far. */
#define OPTIONS_MAX 32u
struct options_given {
    bool given[OPTIONS_MAX];
};

/*
 * Stores one value in *config. The first value of a list replaces the list of a lower source. Returns 0, -ENOMEM, or
 * -EINVAL with *ret_expected set to a static string.
 */
int option_take(const struct option *option, struct config *config, struct options_given *given, const char *value,
                const char **ret_expected);
int option_set_default(const struct option *option, struct config *config);
bool option_same(const struct option *option, const struct config *left, const struct config *right);
/* Exchanges the values of the option. */
void option_swap(const struct option *option, struct config *left, struct config *right);
void option_done(const struct option *option, struct config *config);

/* The default as --help shows it, such as "[127.0.0.1:7470]"; "" if there is none. */
#define OPTION_DEFAULT_BYTES 80u
void option_default_text(const struct option *option, char ret_text[OPTION_DEFAULT_BYTES]);

#define CONFIG_FILE_BYTES_MAX 65536u
#define CONFIG_LINE_BYTES_MAX 4093u /* without line end and surrounding blanks */

/* Parses the bytes of the file called name into *config. Returns 0, or -EINVAL with ret_error filled. */
int config_file_parse(const char *name, const char *bytes, size_t length, struct config *config, char *ret_error);

#endif
