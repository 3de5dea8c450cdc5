/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - `rip run`: starts a program with the preload library.
 *
 * It sets RIP_DIR, RIP_NAME, RIP_MAX, RIP_RUN_PID and LD_PRELOAD in the environment (librip/auto/preload.c) and
 * executes the program. It checks for conditions under which tracing would fail; the preload library reports the rest.
 *
 * Guarantees
 *   A. The program has the pid of `rip run`, and its exit status is the exit status of `rip run`.
 *   B. Everything after the first argument that is not a flag, or after `--`, belongs to the program.
 *   C. An LD_PRELOAD that is already set stays in force, after ours.
 *   D. A program that cannot be traced gets a warning of one line, and runs.
 *   E. With RIP_DISABLE=1 the program is executed unchanged, and nothing is checked.
 *   F. The checks change nothing. A refusal is one line that names the flag or variable, the value, and what was
 *      expected.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/cli.h"
#include "rip/ring.h"
#include "util/array.h"

#define LIBRARY_NAME "librip-preload.so"
#define NAME_BYTES_MAX 200 /* a file name also has room for ".PID" and ".prev" */
#define PROGRAM_HEADERS_READ_MAX 64
#define DIR_DEFAULT "/run/librip"

/* The same statuses as of env(1) and nohup(1). */
enum run_status {
    RUN_FAILED = 125,
    RUN_NOT_EXECUTABLE = 126,
    RUN_NOT_FOUND = 127,
};

/* All zero: not given. */
struct settings {
    const char *dir;
    const char *name;
    uint64_t max;
};

static struct settings settings;

static const struct cli_flag flags[] = {
    CLI_FLAG("--dir", "DIR", CLI_TEXT, dir,
             "directory of the ring, on tmpfs (default: $RIP_DIR, else /run/librip, else /dev/shm)"),
    CLI_FLAG("--name", "NAME", CLI_TEXT, name,
             "file name of the ring; other processes of the same tree get NAME.PID (default: COMM.PID)"),
    CLI_BETWEEN("--max", "N", CLI_NUMBER, max, 1, RIP_CAPACITY_MAX,
                "maximum number of ids alive at once (default: 65536)"),
};

const struct cli_syntax cli_run_syntax = {
    .name = "run",
    .stops = true,
    .missing = "no command; expected rip run [--dir DIR] [--name NAME] [--max N] [--] COMMAND [ARGUMENT...]",
    .usage = "usage: rip run [--dir DIR] [--name NAME] [--max N] [--] COMMAND [ARGUMENT...]\n"
             "\n"
             "Runs COMMAND with every thread traced, with the same pid and exit status.\n"
             "\n",
    .notes = "\n"
             "exit status: that of COMMAND; 2 wrong flag, 125 rip itself failed, 126 COMMAND cannot be executed,\n"
             "127 COMMAND was not found\n",
    CLI_FLAGS(flags),
};

static const char *why_not_a_ring_dir(const char *dir)
{
    struct stat status;
    struct statfs file_system;

    if (stat(dir, &status) != 0 || statfs(dir, &file_system) != 0)
        return strerror(errno);
    if (!S_ISDIR(status.st_mode))
        return "not a directory";
    if (file_system.f_type != TMPFS_MAGIC && file_system.f_type != RAMFS_MAGIC)
        return "not on tmpfs or ramfs";
    return access(dir, W_OK | X_OK) == 0 ? NULL : "not writable";
}

/*
 * Writes the directory for rings, absolute and without links, into ret_dir (PATH_MAX bytes): --dir, else $RIP_DIR, else
 * /run/librip if it is writable, else /dev/shm. Returns false after an error message.
 */
static bool check_dir(const char *given, char *ret_dir)
{
    const char *source = "--dir", *dir = given, *reason;

    if (dir == NULL) {
        source = "RIP_DIR";
        dir = getenv("RIP_DIR");
    }
    if (dir == NULL || (given == NULL && dir[0] == '\0')) {
        source = "--dir not given";
        dir = why_not_a_ring_dir(DIR_DEFAULT) == NULL ? DIR_DEFAULT : "/dev/shm";
    }
    reason = why_not_a_ring_dir(dir);
    if (reason == NULL && realpath(dir, ret_dir) == NULL)
        reason = strerror(errno);
    if (reason != NULL)
        cli_error("%s: '%s': %s; expected a writable directory on tmpfs", source, dir, reason);
    return reason == NULL;
}

/* Returns false after an error message. */
static bool check_name(const char *name)
{
    if (name == NULL || (name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
                         strcmp(name, "..") != 0 && strlen(name) <= NAME_BYTES_MAX))
        return true;
    return cli_error("--name: '%.*s' cannot name a ring; expected 1 to %d bytes without '/'", NAME_BYTES_MAX, name,
                     NAME_BYTES_MAX);
}

/*
 * Writes $RIP_PRELOAD_LIBRARY, else the installed library, into ret_path (PATH_MAX bytes). Returns false after an error
 * message.
 */
static bool find_library(char *ret_path)
{
    static const char *const places[] = {RIP_LIBRARY_FROM_BIN, "../lib", "../lib64"};
    const char *given = getenv("RIP_PRELOAD_LIBRARY");

    if (given != NULL && given[0] != '\0') {
        if (realpath(given, ret_path) == NULL || access(ret_path, R_OK) != 0)
            return cli_error("RIP_PRELOAD_LIBRARY: '%s': %s; expected the preload library", given, strerror(errno));
    } else if (cli_find(places, ARRAY_COUNT(places), LIBRARY_NAME, ret_path) != 0) {
        return cli_error(LIBRARY_NAME " is not in " RIP_LIBRARY_FROM_BIN ", seen from the directory of rip; set "
                                      "RIP_PRELOAD_LIBRARY to its path");
    }
    if (strpbrk(ret_path, ": \t") != NULL)
        return cli_error("'%s': LD_PRELOAD cannot name a path with a space or a colon; move the library", ret_path);
    return true;
}

static bool is_listed(const char *list, const char *library)
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

/* Prepends library to LD_PRELOAD, unless it is already listed, as in a `rip run` below a `rip run`. */
static int set_preload(const char *library)
{
    const char *present = getenv("LD_PRELOAD");
    char *both;
    int result;

    if (present == NULL || present[0] == '\0')
        return setenv("LD_PRELOAD", library, 1);
    if (is_listed(present, library))
        return 0;
    if (asprintf(&both, "%s:%s", library, present) < 0)
        return -1;
    result = setenv("LD_PRELOAD", both, 1);
    free(both);
    return result;
}

static int set_or_unset(const char *variable, const char *value)
{
    return value != NULL ? setenv(variable, value, 1) : unsetenv(variable);
}

/* Writes the executable that execvp() would find into ret_path (PATH_MAX bytes). */
static bool find_executable(const char *command, char *ret_path)
{
    const char *path = getenv("PATH");

    if (strchr(command, '/') != NULL)
        return snprintf(ret_path, PATH_MAX, "%s", command) < PATH_MAX && access(ret_path, X_OK) == 0;
    for (path = path != NULL ? path : "/bin:/usr/bin";; path++) {
        size_t bytes = strcspn(path, ":");

        if (snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)bytes, path, bytes > 0 ? "/" : "", command) < PATH_MAX &&
            access(ret_path, X_OK) == 0)
            return true;
        path += bytes;
        if (*path == '\0')
            return false;
    }
}

/* Returns whether the file names a dynamic linker; true if its headers cannot be read. */
static bool has_interpreter(int fd, const Elf64_Ehdr *header)
{
    for (unsigned int i = 0; i < header->e_phnum && i < PROGRAM_HEADERS_READ_MAX; i++) {
        Elf64_Phdr program_header;
        off_t offset = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);

        if (pread(fd, &program_header, sizeof(program_header), offset) != (ssize_t)sizeof(program_header) ||
            program_header.p_type == PT_INTERP)
            return true;
    }
    return false;
}

/*
 * Returns why the dynamic linker will not preload into the ELF file on fd, or NULL if it will, or if the file is not
 * ELF.
 */
static const char *why_not_preloadable(int fd)
{
    Elf64_Ehdr own, header;
    struct stat status;
    int own_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool own_known = own_fd >= 0 && pread(own_fd, &own, sizeof(own), 0) == (ssize_t)sizeof(own);

    if (own_fd >= 0)
        close(own_fd);
    if (fstat(fd, &status) != 0 || pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
        ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid()))
        return "is set-user-id or set-group-id";
    if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return "has file capabilities";
    if (own_known && (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || header.e_machine != own.e_machine))
        return "is for a different architecture than the preload library";
    if (header.e_ident[EI_CLASS] == ELFCLASS64 && !has_interpreter(fd, &header))
        return "is statically linked";
    return NULL;
}

/* Writes the interpreter of a script into ret_path (PATH_MAX bytes). Returns false for any other file. */
static bool script_interpreter(int fd, char *ret_path)
{
    char line[PATH_MAX];
    ssize_t bytes = pread(fd, line, sizeof(line) - 1, 0);
    char *start;

    if (bytes < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[bytes] = '\0';
    start = line + 2 + strspn(line + 2, " \t");
    start[strcspn(start, " \t\r\n")] = '\0';
    return snprintf(ret_path, PATH_MAX, "%s", start) < PATH_MAX;
}

/* Ignores these signals: a closed pipe or a file size limit on stderr must not prevent the program from running. */
static void warn(const char *program, const char *reason)
{
    void (*on_pipe)(int) = signal(SIGPIPE, SIG_IGN), (*on_size)(int) = signal(SIGXFSZ, SIG_IGN);

    cli_error("warning: %s %s: it runs without tracing", program, reason);
    signal(SIGPIPE, on_pipe);
    signal(SIGXFSZ, on_size);
}

/* Prints one line to stderr if the dynamic linker will not load the preload library into command. */
static void warn_untraceable(const char *command)
{
    char path[PATH_MAX], interpreter[PATH_MAX];
    const char *program = path, *reason;
    int fd = find_executable(command, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

    if (fd >= 0 && script_interpreter(fd, interpreter)) {
        close(fd);
        program = interpreter;
        fd = open(interpreter, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (fd < 0)
        return; /* execvp() reports it */
    reason = why_not_preloadable(fd);
    close(fd);
    if (reason != NULL)
        warn(program, reason);
}

static bool is_disabled(void)
{
    const char *value = getenv("RIP_DISABLE");

    return value != NULL && strcmp(value, "1") == 0;
}

static int execute(char **command)
{
    int error;

    execvp(command[0], command);
    error = errno;
    cli_error("%s: %s", command[0], strerror(error));
    return error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

static int execute_traced(const char *dir, char **command)
{
    char library[PATH_MAX], pid[16], max[32];

    if (!find_library(library))
        return RUN_FAILED;
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    snprintf(max, sizeof(max), "%" PRIu64, settings.max);
    if (set_preload(library) != 0 || setenv("RIP_DIR", dir, 1) != 0 || setenv("RIP_RUN_PID", pid, 1) != 0 ||
        set_or_unset("RIP_NAME", settings.name) != 0 || set_or_unset("RIP_MAX", settings.max != 0 ? max : NULL) != 0)
        return cli_fail(RUN_FAILED, "cannot set the environment: %s", strerror(errno));
    warn_untraceable(command[0]);
    return execute(command);
}

int cli_run(char **words)
{
    char dir[PATH_MAX];

    if (is_disabled())
        return execute(words);
    if (!check_name(settings.name) || !check_dir(settings.dir, dir))
        return CLI_USAGE;
    return execute_traced(dir, words);
}
