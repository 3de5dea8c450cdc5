/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - what the subcommands of `rip` share.
 *
 * Guarantees
 *   A. A mistake on the command line is one line on stderr that names the flag, its value and what was expected, and
 *      exit status 2.
 *   B. Nothing is printed on stdout but what was asked for; if that cannot be written, the exit status says so.
 */
#ifndef RIP_CLI_H
#define RIP_CLI_H

/* Exit statuses common to all subcommands; a subcommand's own are in its help text. */
enum cli_status {
    CLI_OK = 0,
    CLI_UNREACHABLE = 1, /* ripd does not answer */
    CLI_USAGE = 2,
    CLI_ANSWER = 3, /* what answers was not understood */
    CLI_OUTPUT = 4, /* what was asked for could not be written */
};

/* A subcommand: argv[0] is its own name; returns the exit status. */
typedef int cli_function(int argc, char **argv);

cli_function cli_events;
cli_function cli_run;

/* One line on stderr, "rip: " in front and a newline behind. */
__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);

#endif
