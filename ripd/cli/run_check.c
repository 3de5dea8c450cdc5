/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_check.c - what `rip run` checks before it starts anything.
 *
 * The preload library is silent, so whatever would make it fail is found here, where there is somebody to tell.
 *
 * Guarantees
 *   A. Every refusal is one line that names the flag or variable, the value, and what was expected.
 *   B. The checks change nothing.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"
#include "rip/ring.h"

#define RUN_PROGRAM_HEADER_MAX 64 /* program headers looked at */

static const char *why_not_a_ring_dir(const char *dir)
{
    struct stat status;
    struct statfs file_system;

    if (stat(dir, &status) != 0)
        return strerror(errno);
    if (!S_ISDIR(status.st_mode))
        return "not a directory";
    if (statfs(dir, &file_system) != 0)
        return strerror(errno);
    if (file_system.f_type != TMPFS_MAGIC && file_system.f_type != RAMFS_MAGIC)
        return "not on tmpfs or ramfs";
    if (access(dir, W_OK | X_OK) != 0)
        return "not writable";
    return NULL;
}

bool run_check_dir(const char *given, char *ret_dir)
{
    const char *source = "--dir";
    const char *dir = given;
    const char *reason;

    if (dir == NULL) {
        source = "RIP_DIR";
        dir = getenv("RIP_DIR");
    }
    if (dir == NULL || (given == NULL && dir[0] == '\0')) {
        source = "--dir not given";
        dir = why_not_a_ring_dir("/run/librip") == NULL ? "/run/librip" : "/dev/shm";
    }
    reason = why_not_a_ring_dir(dir);
    if (reason == NULL && realpath(dir, ret_dir) == NULL)
        reason = strerror(errno);
    if (reason == NULL)
        return true;
    cli_error("run: %s: '%s': %s; expected a writable directory on tmpfs", source, dir,
              reason == NULL ? "unusable" : reason);
    return false;
}

bool run_check_name(const char *name)
{
    if (name == NULL)
        return true;
    if (name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
        strlen(name) <= RUN_NAME_BYTES_MAX)
        return true;
    cli_error("run: --name: '%.*s' is no name for a ring; expected 1 to %d bytes without '/'", RUN_NAME_BYTES_MAX, name,
              RUN_NAME_BYTES_MAX);
    return false;
}

bool run_check_max(const char *max)
{
    unsigned long value = 0;
    char *end = NULL;

    if (max == NULL)
        return true;
    errno = 0;
    if (max[0] >= '0' && max[0] <= '9')
        value = strtoul(max, &end, 10);
    if (end != NULL && *end == '\0' && errno == 0 && value >= 1 && value <= RIP_CAPACITY_MAX)
        return true;
    cli_error("run: --max: '%s' is no number of ids; expected 1 to %u", max, RIP_CAPACITY_MAX);
    return false;
}

/* The executable that execvp() would find, into ret_path. */
static bool find_executable(const char *command, char *ret_path)
{
    const char *path = getenv("PATH");

    if (strchr(command, '/') != NULL)
        return snprintf(ret_path, PATH_MAX, "%s", command) < PATH_MAX && access(ret_path, X_OK) == 0;
    if (path == NULL)
        path = "/bin:/usr/bin";
    while (true) {
        size_t bytes = strcspn(path, ":");

        if (snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)bytes, path, bytes > 0 ? "/" : "", command) < PATH_MAX &&
            access(ret_path, X_OK) == 0)
            return true;
        if (path[bytes] == '\0')
            return false;
        path += bytes + 1;
    }
}

static bool has_interpreter(int fd, const Elf64_Ehdr *header)
{
    for (unsigned int i = 0; i < header->e_phnum && i < RUN_PROGRAM_HEADER_MAX; i++) {
        Elf64_Phdr program_header;
        off_t offset = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);

        if (pread(fd, &program_header, sizeof(program_header), offset) != (ssize_t)sizeof(program_header))
            return true; /* not for us to judge */
        if (program_header.p_type == PT_INTERP)
            return true;
    }
    return false;
}

/* Why the dynamic linker will not preload into the ELF file on fd; NULL if it will, or the file is something else. */
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
    if (own_known &&
        (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || memcmp(&header.e_machine, &own.e_machine, 2) != 0))
        return "is for another machine than the preload library";
    if (header.e_ident[EI_CLASS] == ELFCLASS64 && !has_interpreter(fd, &header))
        return "is statically linked";
    return NULL;
}

/* The interpreter of a script, into ret_path; false for anything else. */
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

void run_warn_untraceable(const char *command)
{
    char path[PATH_MAX], interpreter[PATH_MAX];
    const char *program = path;
    const char *reason;
    int fd;

    if (!find_executable(command, path))
        return;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && script_interpreter(fd, interpreter)) {
        close(fd);
        program = interpreter;
        fd = open(interpreter, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (fd < 0)
        return; /* exec will tell */
    reason = why_not_preloadable(fd);
    close(fd);
    if (reason != NULL)
        cli_error("run: warning: %s %s: it runs without tracing", program, reason);
}
