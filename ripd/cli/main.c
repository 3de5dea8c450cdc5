/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the `rip` command: one table of subcommands, and nothing else.
 *
 * Guarantees
 *   A. A subcommand is in the table when it works; the help text is made from the table.
 *   B. Success means that all of the output has been taken by whatever stands behind it.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct subcommand {
    const char *name;
    const char *summary;
    cli_function *function;
};

static const struct subcommand subcommands[] = {
    {"run", "run a program with tracing", cli_run},
    {"events", "begins and ends of stalls, as a list or as they happen", cli_events},
};

#define SUBCOMMAND_COUNT (sizeof(subcommands) / sizeof(subcommands[0]))

void cli_error(const char *format, ...)
{
    va_list arguments;

    fputs("rip: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static void print_help(FILE *stream)
{
    fputs("usage: rip COMMAND [ARGUMENT...]\n"
          "       rip --help | --version\n"
          "\n"
          "Which of my threads is stuck, and where.\n"
          "\n"
          "commands:\n",
          stream);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        fprintf(stream, "  %-8s %s\n", subcommands[i].name, subcommands[i].summary);
    fputs("\n`rip COMMAND --help` tells more.\n", stream);
}

/* A pipe whose reader has gone is no news to anybody. */
static int check_output(int status)
{
    errno = 0;
    if ((fflush(stdout) == 0 && ferror(stdout) == 0) || status != CLI_OK)
        return status;
    if (errno != EPIPE)
        cli_error("standard output: %s", errno != 0 ? strerror(errno) : "not everything could be written");
    return CLI_OUTPUT;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return CLI_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("rip " RIP_VERSION);
        return CLI_OK;
    }
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return subcommands[i].function(argc - 1, argv + 1);
    }
    cli_error("%s: unknown command; `rip --help` lists them", argv[1]);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    return check_output(run(argc, argv));
}
