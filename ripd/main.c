/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - argv -> config -> app.
 *
 * Exit status: 0 stopped as asked, 1 could not run (the log says why), 2 wrong usage.
 */
#include <stdio.h>

#include "app/app.h"
#include "app/config.h"
#include "rip/ring.h"

int main(int argc, char **argv)
{
    struct config config;
    char error[CONFIG_ERROR_BYTES];

    switch (config_parse(argc, argv, &config, error)) {
    case CONFIG_SHOW_HELP:
        config_print_help(stdout);
        return 0;
    case CONFIG_SHOW_VERSION:
        printf("ripd %s, ring format %u\n", RIP_VERSION, RIP_FORMAT_VERSION);
        return 0;
    case CONFIG_BAD:
        fprintf(stderr, "ripd: %s\n", error);
        return 2;
    case CONFIG_RUN:
        break;
    }
    return app_run(&config);
}
