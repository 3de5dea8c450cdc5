/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - what the subcommands of `rip` share: their table, exit statuses, flags, errors.
 *
 * There are two programs. `rip` starts other programs, so it must start fast: it contains only `run`, and executes
 * `rip-client`, with the same arguments, for every other subcommand. rip-client links libcurl, which loads thirty
 * libraries. A subcommand of rip-client is a row of CLIENT_COMMAND_TABLE and a file that defines cli_NAME().
 *
 * Guarantees
 *   A. A mistake on the command line is one line on stderr that names the flag, its value and what was expected, and
 *      exit status 2.
 *   B. stdout has only the requested output. If it cannot be written, the exit status is CLI_OUTPUT.
 */
#ifndef RIP_CLI_CLI_H
#define RIP_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses of all subcommands; help texts have those of a single subcommand. */
enum cli_status {
    CLI_OK = 0,
    CLI_UNREACHABLE = 1, /* ripd does not answer, or rip itself failed */
    CLI_USAGE = 2,
    CLI_ANSWER = 3, /* the answer is not from ripd, or is damaged */
    CLI_OUTPUT = 4, /* output could not be written */
};

/*
 * A subcommand. words is the array of its words, terminated by NULL; its flags are in its settings. Returns the exit
 * status.
 */
typedef int cli_function(char **words);

#define CLIENT_COMMAND_TABLE(X)                                                                                        \
    X(stalls, "what is stuck now, one line per incident")                                                              \
    X(top, "stalled ids, or all ids, on the whole screen")                                                             \
    X(ls, "rings and their processes, with the number of ids in each state")                                           \
    X(show, "everything about one id, or about a process, a unit or a ring")                                           \
    X(check, "whether anything is stuck, for Nagios and compatible programs")                                          \
    X(events, "begins and ends of stalls, as a list or as they happen")                                                \
    X(clean, "remove rings of dead processes")                                                                         \
    X(captures, "list captures of processes that were killed or crashed")                                              \
    X(dump, "show a ring file, a capture or a recording")                                                              \
    X(record, "record rings, or what a program does")                                                                  \
    X(export, "convert rings, captures and recordings for babeltrace2, speedscope and flamegraph.pl")                  \
    X(replay, "alerts of a recording, with its thresholds or others")

#define CLI_RUN_SUMMARY "run a program with tracing"
cli_function cli_run;
extern const struct cli_syntax cli_run_syntax;
#define X(name, summary) cli_function cli_##name;
CLIENT_COMMAND_TABLE(X)
#undef X

/* Flags and texts, for `rip NAME --help` and the manual page. */
#define X(name, summary) extern const struct cli_syntax cli_##name##_syntax;
CLIENT_COMMAND_TABLE(X)
#undef X

/*
 * Writes one line to stderr: "rip: ", the running subcommand, the text with everything except printable ASCII replaced.
 * Returns status, so that callers can return the result; cli_error() returns false.
 */
__attribute__((format(printf, 2, 3))) int cli_fail(int status, const char *format, ...);
#define cli_error(...) cli_fail(false, __VA_ARGS__)

/* Ends the program after an out-of-memory message. */
_Noreturn void cli_end_without_memory(void);
/* Returns zeroed memory; ends the program if out of memory. */
void *cli_allocate(size_t count, size_t size);

/* The type of a flag's value in the settings. All are zero if the flag is not given. */
enum cli_kind {
    CLI_SWITCH,   /* no value: a bool */
    CLI_TEXT,     /* a const char * */
    CLI_LIST,     /* repeatable, each value a text: a struct cli_list */
    CLI_NUMBER,   /* a uint64_t, as are the next two */
    CLI_DURATION, /* in nanoseconds */
    CLI_SIZE,     /* in bytes */
};

struct cli_flag {
    const char *name;
    const char *value; /* its name in the help; NULL: a switch */
    enum cli_kind kind;
    size_t offset; /* in the settings */
    const char *help;
    uint64_t least; /* bounds of a number, a duration or a size */
    uint64_t most;
};

/* Rows of a table of flags, whose values are in a `struct settings`. */
#define CLI_FLAG(name, value, kind, field, help)                                                                       \
    {                                                                                                                  \
        name, value, kind, offsetof(struct settings, field), help, 0, 0                                                \
    }
#define CLI_BETWEEN(name, value, kind, field, least, most, help)                                                       \
    {                                                                                                                  \
        name, value, kind, offsetof(struct settings, field), help, least, most                                         \
    }

#define CLI_LIST_MAX 1000u

struct cli_list {
    const char *values[CLI_LIST_MAX];
    size_t count;
};

/* Flags and help text of a subcommand. */
struct cli_syntax {
    const char *name;
    const char *usage;  /* text above the list of flags */
    const char *values; /* text below it: lines "VALUE is one of: WORD...", which completion also reads */
    const char *notes;  /* text at the end */
    const struct cli_flag *flags;
    size_t flags_count;
    void *settings;
    size_t words_max;
    const char *missing;  /* the error if there are no words; NULL: words are optional */
    bool stops;           /* flags end at the first word: the rest belongs to another program */
    bool ends;            /* flags end at "--"; it and the command after it stay among the words */
    int (*mistake)(void); /* also reports a mistake; returns the exit status; NULL: it is CLI_USAGE */
};
#define CLI_FLAGS(table) .flags = (table), .flags_count = sizeof(table) / sizeof((table)[0]), .settings = &settings

/* Adds the default directories of rings: $RIP_DIR, else /run/librip and /dev/shm. */
void cli_add_directories(struct cli_list *directories);

/*
 * Finds a file of the directory that this user has no permission to open: it may be a ring. Writes its path into
 * ret_path (PATH_MAX bytes). Returns the errno, or 0 if there is no such file.
 */
int cli_find_unreadable(const char *directory, char *ret_path);

/* Flushes stdout, so that a message comes after it. Returns false if the output could not be written. */
bool cli_flush(void);

/* Runs argv[1] if it is in the table. main() of both programs uses it. Returns the exit status, with output flushed. */
struct cli_command {
    const char *name;
    const char *summary;
    cli_function *function;
    const struct cli_syntax *syntax; /* NULL: it parses its flags itself */
};
int cli_dispatch(const struct cli_command *commands, size_t count, int argc, char **argv);

/*
 * Searches `places`, relative to the directory of this executable, for the installed file `name`. Writes its absolute
 * path without links into ret_path (PATH_MAX bytes). So an installation can be moved, and a build tree works without
 * installation. Returns 0 or -ENOENT.
 */
int cli_find(const char *const *places, size_t count, const char *name, char *ret_path);

#endif
