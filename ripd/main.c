/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - argv -> config -> app.
 *
 * Exit status: 0 stopped as asked or answered, 1 could not run (the log says why), 2 wrong flags or file.
 */
#include <stdio.h>

#include "app/app.h"
#include "app/config.h"
#include "rip/ring.h"

/* The exit status of what only prints: what was asked for and could not be written is no success. */
static int printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fputs("ripd: standard output could not be written\n", stderr);
    return 1;
}

int main(int argc, char **argv)
{
    struct config config;
    char error[CONFIG_ERROR_BYTES];
    int status;

    switch (config_load(argc, argv, &config, error)) {
    case CONFIG_SHOW_HELP:
        config_print_help(stdout);
        return printed();
    case CONFIG_SHOW_VERSION:
        printf("ripd %s, ring format %u\n", RIP_VERSION, RIP_FORMAT_VERSION);
        return printed();
    case CONFIG_BAD:
        fprintf(stderr, "ripd: %s\n", error);
        return 2;
    case CONFIG_CHECK:
        printf("ripd: %s: ok\n", config.file != NULL ? config.file : "flags");
        config_done(&config);
        return printed();
    case CONFIG_RUN:
        break;
    }
    status = app_run(&config);
    config_done(&config);
    return status;
}
