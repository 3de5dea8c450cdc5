/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - reads the configuration and runs the daemon.
 *
 * Exit status: 0 stopped by a signal, or printed what was requested; 1 failed (the log has the reason); 2 wrong flags
 * or configuration file.
 */
#include <stdio.h>

#include "app/app.h"
#include "app/config.h"
#include "rip/ring.h"

/* Returns the exit status after printing to standard output: 1 if the output could not be written. */
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
