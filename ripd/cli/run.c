/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - `rip run`: starts a program with the preload library.
 *
 * Sets RIP_DIR, RIP_NAME, RIP_MAX and LD_PRELOAD in the environment and replaces itself with the program.
 *
 * Guarantees
 *   A. The program has the pid of `rip run`, and its exit status is the exit status of `rip run`.
 *   B. Whatever follows the first argument that is no flag, or `--`, is the program's.
 *   C. An LD_PRELOAD that is already there stays in force, behind ours.
 *   D. A program that cannot be traced is warned about in one line, and run.
 */
#include "cli/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* As env(1) and nohup(1) have them. */
enum run_status {
    RUN_FAILED = 125,
    RUN_NOT_EXECUTABLE = 126,
    RUN_NOT_FOUND = 127,
};

struct run_flag {
    const char *name;
    const char *value;
    size_t field_offset; /* of a const char * in struct run_settings */
    const char *help;
};

static const struct run_flag run_flags[] = {
    {"--dir", "DIR", offsetof(struct run_settings, dir),
     "directory of the ring, on tmpfs; else $RIP_DIR, else /run/librip, else /dev/shm"},
    {"--name", "NAME", offsetof(struct run_settings, name),
     "file name of the ring; a further process of the same tree gets NAME.PID (default: COMM.PID)"},
    {"--max", "N", offsetof(struct run_settings, max), "ids alive at once (default: 65536)"},
};

#define RUN_FLAG_COUNT (sizeof(run_flags) / sizeof(run_flags[0]))

static void run_print_help(FILE *stream)
{
    fputs("usage: rip run [--dir DIR] [--name NAME] [--max N] [--] COMMAND [ARGUMENT...]\n"
          "\n"
          "Runs COMMAND with every thread traced: same pid, same exit status.\n"
          "\n",
          stream);
    for (size_t i = 0; i < RUN_FLAG_COUNT; i++)
        fprintf(stream, "  %-6s %-5s %s\n", run_flags[i].name, run_flags[i].value, run_flags[i].help);
    fputs("\n"
          "exit status: COMMAND's own; 2 a bad flag, 125 rip itself failed, 126 COMMAND cannot be executed,\n"
          "127 COMMAND was not found\n",
          stream);
}

/* How many of argv are consumed by the flag at argv[0]: 1 or 2; 0 after an error message. */
static int run_parse_flag(int argc, char **argv, struct run_settings *settings)
{
    for (size_t i = 0; i < RUN_FLAG_COUNT; i++) {
        const struct run_flag *flag = &run_flags[i];
        size_t bytes = strlen(flag->name);
        const char **field = (const char **)(void *)((char *)settings + flag->field_offset);

        if (strncmp(argv[0], flag->name, bytes) != 0)
            continue;
        if (argv[0][bytes] == '=') {
            *field = argv[0] + bytes + 1;
            return 1;
        }
        if (argv[0][bytes] != '\0')
            continue;
        if (argc < 2) {
            cli_error("run: %s: expected a value: %s %s", flag->name, flag->name, flag->value);
            return 0;
        }
        *field = argv[1];
        return 2;
    }
    cli_error("run: %s: unknown flag; expected --dir, --name, --max, --help, or `--` before the command", argv[0]);
    return 0;
}

static bool run_is_listed(const char *list, const char *library)
{
    size_t bytes = strlen(library);

    while (*list != '\0') {
        size_t entry_bytes = strcspn(list, ": ");

        if (entry_bytes == bytes && memcmp(list, library, bytes) == 0)
            return true;
        list += entry_bytes + (list[entry_bytes] != '\0');
    }
    return false;
}

/* Prepends library to LD_PRELOAD unless it is in there already, as in a `rip run` below a `rip run`. */
static int run_set_preload(const char *library)
{
    const char *present = getenv("LD_PRELOAD");
    char *both;
    int result;

    if (present == NULL || present[0] == '\0')
        return setenv("LD_PRELOAD", library, 1);
    if (run_is_listed(present, library))
        return 0;
    if (asprintf(&both, "%s:%s", library, present) < 0)
        return -1;
    result = setenv("LD_PRELOAD", both, 1);
    free(both);
    return result;
}

static int run_set_or_unset(const char *variable, const char *value)
{
    return value != NULL ? setenv(variable, value, 1) : unsetenv(variable);
}

static int run_exec(const struct run_settings *settings, const char *dir, char **command)
{
    char library[PATH_MAX];
    int error;

    if (!run_find_library(library))
        return RUN_FAILED;
    if (run_set_preload(library) != 0 || setenv("RIP_DIR", dir, 1) != 0 ||
        run_set_or_unset("RIP_NAME", settings->name) != 0 || run_set_or_unset("RIP_MAX", settings->max) != 0) {
        cli_error("run: cannot set the environment: %s", strerror(errno));
        return RUN_FAILED;
    }
    run_warn_untraceable(command[0]);
    execvp(command[0], command);
    error = errno;
    cli_error("run: %s: %s", command[0], strerror(error));
    return error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

int cli_run(int argc, char **argv)
{
    struct run_settings settings = {0};
    char dir[PATH_MAX];
    int next = 1;

    while (next < argc && argv[next][0] == '-') {
        int consumed;

        if (strcmp(argv[next], "--") == 0) {
            next++;
            break;
        }
        if (strcmp(argv[next], "--help") == 0 || strcmp(argv[next], "-h") == 0) {
            run_print_help(stdout);
            return CLI_OK;
        }
        consumed = run_parse_flag(argc - next, argv + next, &settings);
        if (consumed == 0)
            return CLI_USAGE;
        next += consumed;
    }
    if (next >= argc) {
        cli_error("run: no command; expected rip run [--dir DIR] [--name NAME] [--max N] [--] COMMAND [ARGUMENT...]");
        return CLI_USAGE;
    }
    if (!run_check_name(settings.name) || !run_check_max(settings.max) || !run_check_dir(settings.dir, dir))
        return CLI_USAGE;
    return run_exec(&settings, dir, argv + next);
}
