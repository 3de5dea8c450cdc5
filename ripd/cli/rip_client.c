/* SPDX-License-Identifier: Apache-2.0 */
/* rip_client.c - main() of rip-client, which `rip` executes for all subcommands except `run`. */
#include "cli/cli.h"
#include "util/array.h"

int main(int argc, char **argv)
{
    static const struct cli_command commands[] = {
#define X(name, summary) {#name, summary, cli_##name, &cli_##name##_syntax},
        CLIENT_COMMAND_TABLE(X)
#undef X
    };

    return cli_dispatch(commands, ARRAY_COUNT(commands), argc, argv);
}
