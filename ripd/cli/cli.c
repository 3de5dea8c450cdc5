/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.c - errors, flags, help and dispatch for both programs. Touches stdout, stderr, directories of rings and
 * /proc/self/exe.
 */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "util/duration.h"
#include "util/text.h"

#define ERROR_BYTES 8192u
#define FLAGS_MAX 32u  /* of a command */
#define FIRST_FLAG 256 /* value that getopt_long_only() returns for the first flag */

/* The subcommand that runs; NULL: none. */
static const char *running;

int cli_fail(int status, const char *format, ...)
{
    char line[ERROR_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    text_make_printable(line);
    fprintf(stderr, "rip: %s%s%s\n", running != NULL ? running : "", running != NULL ? ": " : "", line);
    return status;
}

_Noreturn void cli_end_without_memory(void)
{
    exit(cli_fail(CLI_UNREACHABLE, "out of memory"));
}

void *cli_allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL && count != 0)
        cli_end_without_memory();
    return memory;
}

static void print_help(const struct cli_syntax *syntax)
{
    size_t width = 0, value_width = 0;

    for (size_t i = 0; i < syntax->flags_count; i++) {
        const struct cli_flag *flag = &syntax->flags[i];
        size_t value_length = flag->value != NULL ? strlen(flag->value) : 0;

        width = strlen(flag->name) > width ? strlen(flag->name) : width;
        value_width = value_length > value_width ? value_length : value_width;
    }
    fputs(syntax->usage, stdout);
    for (size_t i = 0; i < syntax->flags_count; i++)
        printf("  %-*s %-*s  %s\n", (int)width, syntax->flags[i].name, (int)value_width,
               syntax->flags[i].value != NULL ? syntax->flags[i].value : "", syntax->flags[i].help);
    if (syntax->values != NULL)
        fputs(syntax->values, stdout);
    fputs(syntax->notes, stdout);
}

/* Returns false after an error message. */
static bool add_to_list(const struct cli_flag *flag, struct cli_list *list, const char *value)
{
    if (list->count == CLI_LIST_MAX)
        return cli_error("%s: given too often; expected at most %u", flag->name, CLI_LIST_MAX);
    list->values[list->count++] = value;
    return true;
}

/* Uses the first unit in which the number is whole; 0 has the last unit. */
static void format_number(char text[32], enum cli_kind kind, uint64_t number)
{
    static const struct {
        enum cli_kind kind;
        const char *name;
        uint64_t size;
    } units[] = {
        {CLI_DURATION, "h", UINT64_C(3600000000000)}, {CLI_DURATION, "s", UINT64_C(1000000000)},
        {CLI_DURATION, "ms", UINT64_C(1000000)},      {CLI_SIZE, "G", UINT64_C(1) << 30},
        {CLI_SIZE, "K", UINT64_C(1) << 10},           {CLI_NUMBER, "", 1},
    };
    size_t unit = 0;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (units[i].kind == kind && number % units[i].size == 0) {
            unit = i;
            if (number != 0)
                break;
        }
    snprintf(text, 32, "%" PRIu64 "%s", number / units[unit].size, units[unit].name);
}

/* Parses a number of bytes, with an optional K, M or G. */
static bool parse_size(const char *text, uint64_t *ret_bytes)
{
    static const char units[] = "KMG";
    const char *end = text_decimal(text, UINT64_MAX >> 30, ret_bytes);
    const char *unit = end != NULL && *end != '\0' ? strchr(units, *end) : NULL;

    if (unit != NULL) {
        *ret_bytes <<= 10 * (unit - units + 1);
        end++;
    }
    return end != NULL && *end == '\0';
}

/* Returns false after an error message. */
static bool take_number(const struct cli_flag *flag, const char *text, uint64_t *number)
{
    static const char *const expected[] = {
        [CLI_NUMBER] = "whole number", [CLI_DURATION] = "duration", [CLI_SIZE] = "size"};
    char least[32], most[32];
    bool parsed = flag->kind == CLI_NUMBER     ? text_number(text, 0, UINT64_MAX, number)
                  : flag->kind == CLI_DURATION ? duration_parse(text, number) == 0
                                               : parse_size(text, number);

    if (parsed && *number >= flag->least && *number <= flag->most)
        return true;
    format_number(least, flag->kind, flag->least);
    format_number(most, flag->kind, flag->most);
    return cli_error("%s: '%.100s': expected a %s from %s to %s", flag->name, text, expected[flag->kind], least, most);
}

/* Returns false after an error message. */
static bool take_value(const struct cli_flag *flag, const char *value, void *field)
{
    switch (flag->kind) {
    case CLI_SWITCH:
        *(bool *)field = true;
        return true;
    case CLI_TEXT:
        *(const char **)field = value;
        return true;
    case CLI_LIST:
        return add_to_list(flag, field, value);
    default:
        return take_number(flag, value, field);
    }
}

/*
 * Parses flags into the settings; words are from optind on. Returns false after an error message, or with *ret_helped
 * set.
 */
static bool parse(const struct cli_syntax *syntax, int argc, char **argv, bool *ret_helped)
{
    struct option options[FLAGS_MAX + 3] = {{"help", no_argument, NULL, 'h'}, {"h", no_argument, NULL, 'h'}};
    bool taken = true;
    int letter;

    for (size_t i = 0; i < syntax->flags_count; i++)
        options[2 + i] = (struct option){.name = syntax->flags[i].name + strspn(syntax->flags[i].name, "-"),
                                         .has_arg = syntax->flags[i].value != NULL,
                                         .val = FIRST_FLAG + (int)i};
    for (int i = 0; syntax->ends && i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            argc = i;
    optind = 0; /* glibc: restart from the beginning */
    while (taken && (letter = getopt_long_only(argc, argv, syntax->stops ? "+:" : ":", options, NULL)) != -1) {
        const int number = letter >= FIRST_FLAG ? letter : optopt; /* of the flag with the mistake */
        const struct cli_flag *flag = number >= FIRST_FLAG ? &syntax->flags[number - FIRST_FLAG] : NULL;

        if (letter == 'h') {
            print_help(syntax);
            *ret_helped = true;
            return false;
        }
        if (flag == NULL)
            taken = cli_error("%.100s: unknown flag; `rip %s --help` lists them", argv[optind - 1], syntax->name);
        else if (letter == ':')
            taken = cli_error("%s: expected a value: %s %s", flag->name, flag->name, flag->value);
        else if (letter == '?')
            taken = cli_error("%s: takes no value", flag->name);
        else
            taken = take_value(flag, optarg, (char *)syntax->settings + flag->offset);
    }
    if (taken && !syntax->stops && (size_t)(argc - optind) > syntax->words_max)
        taken = cli_error("%.100s: unexpected argument; `rip %s --help` shows the usage",
                          argv[(size_t)optind + syntax->words_max], syntax->name);
    else if (taken && syntax->missing != NULL && argv[optind] == NULL)
        taken = cli_error("%s", syntax->missing);
    return taken;
}

void cli_add_directories(struct cli_list *directories)
{
    const char *dir = getenv("RIP_DIR");

    if (directories->count != 0)
        return;
    directories->values[directories->count++] = dir != NULL && dir[0] != '\0' ? dir : "/run/librip";
    if (dir == NULL || dir[0] == '\0')
        directories->values[directories->count++] = "/dev/shm";
}

int cli_find_unreadable(const char *directory, char *ret_path)
{
    DIR *entries = opendir(directory);
    const struct dirent *entry;
    int error = 0;

    while (error == 0 && entries != NULL && (entry = readdir(entries)) != NULL) {
        int file;

        if (entry->d_name[0] == '.' || entry->d_type != DT_REG)
            continue;
        file = openat(dirfd(entries), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (file >= 0)
            close(file);
        else if (errno == EACCES || errno == EPERM)
            error = errno;
        if (error != 0)
            snprintf(ret_path, PATH_MAX, "%s/%s", directory, entry->d_name);
    }
    if (entries != NULL)
        closedir(entries);
    return error;
}

static void print_commands(const struct cli_command *commands, size_t count, FILE *stream)
{
    fputs("usage: rip COMMAND [ARGUMENT...]\n"
          "       rip help [COMMAND] | --help | --version\n"
          "\n"
          "Finds threads that are stuck, and where.\n"
          "\n"
          "commands:\n",
          stream);
    for (size_t i = 0; i < count; i++)
        fprintf(stream, "  %-9s%s\n", commands[i].name, commands[i].summary);
    fputs("\n`rip COMMAND --help` lists the flags of a command.\n", stream);
}

static int run_command(const struct cli_command *command, int argc, char **argv)
{
    const struct cli_syntax *syntax = command->syntax;
    bool helped = false;

    running = command->name;
    if (syntax == NULL)
        return command->function(argv);
    if (parse(syntax, argc, argv, &helped))
        return command->function(argv + optind);
    return helped ? CLI_OK : syntax->mistake != NULL ? syntax->mistake() : CLI_USAGE;
}

static int run(const struct cli_command *commands, size_t count, int argc, char **argv)
{
    static char help[] = "--help";

    if (argc < 2) {
        print_commands(commands, count, stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2) {
        argv[1] = argv[2];
        argv[2] = help;
        argc = 3;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_commands(commands, count, stdout);
        return CLI_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("rip " RIP_VERSION);
        return CLI_OK;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run_command(&commands[i], argc - 1, argv + 1);
    return cli_fail(CLI_USAGE, "%.100s: unknown command; `rip --help` lists them", argv[1]);
}

/* The error of the first failed output; 0: not known. */
static int output_errno;

bool cli_flush(void)
{
    bool failed = ferror(stdout) != 0;

    errno = 0;
    if (fflush(stdout) != 0 && output_errno == 0)
        output_errno = errno;
    return !failed && ferror(stdout) == 0;
}

int cli_dispatch(const struct cli_command *commands, size_t count, int argc, char **argv)
{
    int status = run(commands, count, argc, argv);

    running = NULL;
    if (cli_flush() || (status != CLI_OK && status != CLI_OUTPUT))
        return status;
    if (output_errno != EPIPE) /* EPIPE is not reported: the reader has gone */
        cli_error("standard output: %s",
                  output_errno != 0 ? strerror(output_errno) : "not everything could be written");
    return CLI_OUTPUT;
}

/* Gets the directory of this program, with a '/'. Without /proc, it is the directory from which it was started. */
static bool find_directory(char self[PATH_MAX])
{
    const char *started =
        (const char *)(uintptr_t)getauxval(AT_EXECFN); /* the kernel passes the pointer as an integer */
    ssize_t length = readlink("/proc/self/exe", self, PATH_MAX - 1);

    if (length > 0)
        self[length] = '\0';
    else if (started == NULL || realpath(started, self) == NULL)
        return false;
    length = (ssize_t)strlen(self);
    while (length > 0 && self[length - 1] != '/')
        length--;
    self[length] = '\0';
    return true;
}

int cli_find(const char *const *places, size_t count, const char *name, char *ret_path)
{
    char self[PATH_MAX], path[PATH_MAX];

    if (!find_directory(self))
        return -ENOENT;
    for (size_t i = 0; i < count; i++)
        if (snprintf(path, sizeof(path), "%s%s/%s", self, places[i], name) < PATH_MAX &&
            realpath(path, ret_path) != NULL && access(ret_path, R_OK) == 0)
            return 0;
    return -ENOENT;
}
