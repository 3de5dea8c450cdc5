/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the `rip` command: runs `run`, and executes rip-client for every other subcommand. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "util/array.h"

#define CLIENT_NAME "rip-client"

/* Replaces this program. argv[-1] is the name of this program, so that rip-client gets the same arguments. */
static int exec_client(char **argv)
{
    static const char *const places[] = {".", RIP_CLIENT_FROM_BIN}; /* in a build tree, and installed */
    char path[PATH_MAX];

    if (cli_find(places, ARRAY_COUNT(places), CLIENT_NAME, path) != 0)
        return cli_fail(CLI_UNREACHABLE, CLIENT_NAME " is not installed; expected it in " RIP_CLIENT_FROM_BIN
                                                     ", seen from the directory of rip");
    execv(path, argv - 1);
    return cli_fail(CLI_UNREACHABLE, "%s: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
    static const struct cli_command commands[] = {{"run", CLI_RUN_SUMMARY, cli_run, &cli_run_syntax},
#define X(name, summary) {#name, summary, exec_client, NULL},
                                                  CLIENT_COMMAND_TABLE(X)
#undef X
    };

    return cli_dispatch(commands, ARRAY_COUNT(commands), argc, argv);
}
