/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - what ripd was told. The flags are one table in config.c, from which --help is made too.
 */
#ifndef RIPD_APP_CONFIG_H
#define RIPD_APP_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "app/log.h"

#define CONFIG_LISTEN_MAX 16u
#define CONFIG_DIRECTORIES_MAX 64u
#define CONFIG_HOSTS_MAX 64u

struct config {
    const char *listen[CONFIG_LISTEN_MAX];
    size_t listen_count;
    const char *directories[CONFIG_DIRECTORIES_MAX];
    size_t directory_count;
    const char *allow_hosts[CONFIG_HOSTS_MAX];
    size_t allow_host_count;
    uint64_t interval_ns;
    uint64_t stall_after_ns;
    enum log_level log_level;
};

enum config_action { CONFIG_RUN, CONFIG_SHOW_HELP, CONFIG_SHOW_VERSION, CONFIG_BAD };

#define CONFIG_ERROR_BYTES 256u

/*
 * Fills *ret_config from the command line, with defaults for what is not given; its strings are argv's or static.
 * CONFIG_BAD: ret_error is one line that names the flag, what was found and what was expected.
 */
enum config_action config_parse(int argc, char *const *argv, struct config *ret_config,
                                char ret_error[CONFIG_ERROR_BYTES]);

void config_print_help(FILE *stream);

#endif
