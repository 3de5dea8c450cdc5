/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - what the subcommands of `rip` share.
 *
 * Guarantees
 *   A. A mistake on the command line is one line on stderr that names the flag, its value and what was expected, and
 *      exit status 2.
 *   B. Nothing is printed on stdout but what was asked for.
 */
#ifndef RIP_CLI_H
#define RIP_CLI_H

/* Exit statuses common to all subcommands; a subcommand's own are in its help text. */
enum cli_status {
    CLI_OK = 0,
    CLI_USAGE = 2,
};

/* A subcommand: argv[0] is its own name; returns the exit status. */
typedef int cli_function(int argc, char **argv);

cli_function cli_run;

/* One line on stderr, "rip: " in front and a newline behind. */
__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);

#endif
