/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_option.h - the table of flags and keys, and what its readers share. For the parts of the configuration, and
 * for what documents it.
 */
#ifndef RIPD_APP_CONFIG_OPTION_H
#define RIPD_APP_CONFIG_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/config.h"

enum option_kind {
    OPTION_ACTION,   /* takes no value, and is not a key */
    OPTION_FILE,     /* the file itself, which is not a key */
    OPTION_TEXT,     /* char * */
    OPTION_LIST,     /* struct config_list; may be given again */
    OPTION_DURATION, /* uint64_t, nanoseconds */
    OPTION_LEVEL,    /* enum log_level */
    OPTION_RULES,    /* struct rules; may be given again */
};

#define OPTION_DEFAULTS_MAX 2u

struct option {
    const char *name;
    const char *value_name; /* NULL: takes none */
    enum option_kind kind;
    size_t offset; /* in struct config, of what takes the value */
    size_t size;
    size_t max; /* of a list */
    /* As they would be written; none: an empty value is accepted too, and gives none. */
    const char *defaults[OPTION_DEFAULTS_MAX + 1];
    bool (*valid)(const char *value); /* of a text or a list; NULL: anything */
    const char *expected;             /* what valid() accepts, in words */
    enum config_action action;        /* of OPTION_ACTION */
    bool applied_by_reload;           /* while running; else it takes a restart */
    const char *help;
};

extern const struct option options[];
extern const size_t options_count;

/* Name need not be terminated. NULL: there is none. */
const struct option *option_find(const char *name, size_t length);

/* True if a line of the file may set it. */
bool option_is_key(const struct option *option);
/* True if it adds to what the same source gave before. */
bool option_repeats(const struct option *option);

/* The numbers of options that one source (the command line, the file) has given so far. */
#define OPTIONS_MAX 32u
struct options_given {
    bool given[OPTIONS_MAX];
};

/*
 * Takes one value into *config; the first of a list replaces what a lower source left there. 0; -EINVAL with what was
 * expected, a static string; -ENOMEM.
 */
int option_take(const struct option *option, struct config *config, struct options_given *given, const char *value,
                const char **ret_expected);
int option_set_default(const struct option *option, struct config *config);
bool option_same(const struct option *option, const struct config *left, const struct config *right);
/* Each gets what the other had. */
void option_swap(const struct option *option, struct config *left, struct config *right);
void option_done(const struct option *option, struct config *config);

/* "[127.0.0.1:7470]": how the default is shown; "" if there is none. */
#define OPTION_DEFAULT_BYTES 80u
void option_default_text(const struct option *option, char ret_text[OPTION_DEFAULT_BYTES]);

#define CONFIG_FILE_BYTES_MAX 65536u
#define CONFIG_LINE_BYTES_MAX 4093u /* without its end, and without blanks around it */

/* The bytes of a file of that name into *config. 0, or -EINVAL with ret_error filled. */
int config_file_parse(const char *name, const char *bytes, size_t length, struct config *config, char *ret_error);

#endif
