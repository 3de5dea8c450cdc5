/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_line.c - the command line. A flag that takes a value accepts "--flag value" and "--flag=value"; of two that
 * are no list, the last one counts.
 */
#include <errno.h>
#include <string.h>

#include "app/config_option.h"

static int value_take(const struct option *option, struct config *config, struct options_given *given,
                      const char *value, char *ret_error)
{
    const char *expected = NULL;

    if (value == NULL)
        return config_error(ret_error, "--%s: needs a value (%s)", option->name, option->value_name);
    switch (option_take(option, config, given, value, &expected)) {
    case 0:
        return 0;
    case -ENOMEM:
        return config_error(ret_error, "--%s: out of memory", option->name);
    default:
        return config_error(ret_error, "--%s: '%.64s' is not accepted; expected %s", option->name, value, expected);
    }
}

/* One flag at argv[*index]; *index is left at its last word. */
static int flag_take(int argc, char *const *argv, int *index, struct config *config, struct options_given *given,
                     enum config_action *ret_action, char *ret_error)
{
    const char *word = argv[*index];
    const char *name = word + 2;
    const char *equals, *value;
    const struct option *option;
    size_t length;

    if (strncmp(word, "--", 2) != 0)
        return config_error(ret_error, "unexpected argument '%.64s'; see ripd --help", word);
    equals = strchr(name, '=');
    length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    option = option_find(name, length);
    if (option == NULL)
        return config_error(ret_error, "unknown flag '--%.*s'; see ripd --help", length > 64 ? 64 : (int)length, name);
    if (option->kind == OPTION_ACTION) {
        if (equals != NULL)
            return config_error(ret_error, "--%s: takes no value", option->name);
        *ret_action = option->action;
        return 0;
    }
    value = equals != NULL ? equals + 1 : NULL;
    if (value == NULL && *index + 1 < argc)
        value = argv[++*index];
    return value_take(option, config, given, value, ret_error);
}

int config_line_take(int argc, char *const *argv, struct config *config, enum config_action *ret_action,
                     char *ret_error)
{
    struct options_given given = {{false}};
    enum config_action action = CONFIG_RUN;

    for (int i = 1; i < argc; i++) {
        enum config_action asked = CONFIG_RUN;
        int status = flag_take(argc, argv, &i, config, &given, &asked, ret_error);

        if (status < 0)
            return status;
        if (asked == CONFIG_CHECK)
            action = asked; /* of all that stands on the line, before and after */
        else if (asked != CONFIG_RUN) {
            *ret_action = asked;
            return 0;
        }
    }
    *ret_action = action;
    return 0;
}
