/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - the sources put together, the lowest first: defaults, the file, the command line. Each value that a higher
 * source gives takes the place of what was there.
 *
 * The command line is read twice: to know which file, and, over the file, for what it says.
 */
#include "app/config.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "app/config_option.h"

int config_error(char ret_error[CONFIG_ERROR_BYTES], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(ret_error, CONFIG_ERROR_BYTES, format, arguments);
    va_end(arguments);
    for (char *at = ret_error; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
            *at = '?';
    return -EINVAL;
}

static int set_defaults(struct config *config, char *ret_error)
{
    for (size_t i = 0; i < options_count; i++)
        if (option_set_default(&options[i], config) < 0)
            return config_error(ret_error, "out of memory");
    return 0;
}

/* As config_load(); *config is made, whatever is returned. */
static int load(int argc, char *const *argv, struct config *config, enum config_action *ret_action, char *ret_error)
{
    int status = set_defaults(config, ret_error);

    if (status == 0)
        status = config_line_take(argc, argv, config, ret_action, ret_error);
    if (status < 0 || *ret_action == CONFIG_SHOW_HELP || *ret_action == CONFIG_SHOW_VERSION || config->file == NULL)
        return status;
    for (size_t i = 0; i < options_count; i++)
        if (option_is_key(&options[i]))
            option_done(&options[i], config);
    status = set_defaults(config, ret_error);
    if (status == 0)
        status = config_file_take(config, ret_error);
    if (status == 0)
        status = config_line_take(argc, argv, config, ret_action, ret_error);
    return status;
}

enum config_action config_load(int argc, char *const *argv, struct config *ret_config,
                               char ret_error[CONFIG_ERROR_BYTES])
{
    struct config config = {.argc = argc, .argv = argv};
    enum config_action action = CONFIG_RUN;

    if (load(argc, argv, &config, &action, ret_error) < 0)
        action = CONFIG_BAD;
    if (action == CONFIG_RUN || action == CONFIG_CHECK)
        *ret_config = config;
    else
        config_done(&config);
    return action;
}

int config_reload(const struct config *config, struct config *ret_config, char ret_error[CONFIG_ERROR_BYTES])
{
    return config_load(config->argc, config->argv, ret_config, ret_error) == CONFIG_BAD ? -EINVAL : 0;
}

void config_done(struct config *config)
{
    for (size_t i = 0; i < options_count; i++)
        option_done(&options[i], config);
}

void config_print_help(FILE *stream)
{
    fprintf(stream, "Usage: ripd [FLAG...]\n"
                    "Watches the rings of this host and serves what is stuck as JSON over HTTP.\n\n");
    for (size_t i = 0; i < options_count; i++) {
        char left[40], defaults[OPTION_DEFAULT_BYTES];

        option_default_text(&options[i], defaults);
        snprintf(left, sizeof(left), "--%s%s%s", options[i].name, options[i].value_name != NULL ? " " : "",
                 options[i].value_name != NULL ? options[i].value_name : "");
        fprintf(stream, "  %-21s %s%s%s\n", left, options[i].help, defaults[0] != '\0' ? " " : "", defaults);
    }
    fprintf(stream, "\nDurations are 250ms, 5s, 2m, 1h. Ask with: curl localhost:7470/stalls\n");
}
