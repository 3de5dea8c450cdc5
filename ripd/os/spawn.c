/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c - posix_spawn, process groups, sealed memory files. Touches processes that it started itself.
 *
 * Guarantees
 *   1. Descriptors of the caller do not pass, close-on-exec or not.
 *   2. The group is killed while its number is still taken by the shell, which has not been reaped: never somebody
 *      else's group.
 */
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Newer than the headers of some systems; where files in memory that can be executed are forbidden, it is needed. */
#define NOT_EXECUTABLE 0x0008u

static int fill_attributes(posix_spawnattr_t *attributes)
{
    short flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    sigset_t all, none;
    int error;

    sigfillset(&all);
    sigemptyset(&none);
    error = posix_spawnattr_setflags(attributes, flags);
    if (error == 0)
        error = posix_spawnattr_setsigdefault(attributes, &all);
    if (error == 0)
        error = posix_spawnattr_setsigmask(attributes, &none);
    return error;
}

static int add_stream(posix_spawn_file_actions_t *actions, int descriptor, int stream)
{
    if (descriptor < 0)
        return posix_spawn_file_actions_addopen(actions, stream, "/dev/null", O_RDWR, 0);
    return posix_spawn_file_actions_adddup2(actions, descriptor, stream);
}

static int fill_actions(posix_spawn_file_actions_t *actions, const struct spawn_options *options)
{
    int error = add_stream(actions, options->input, STDIN_FILENO);

    if (error == 0)
        error = add_stream(actions, options->output, STDOUT_FILENO);
    if (error == 0)
        error = add_stream(actions, options->error, STDERR_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    if (error == 0 && options->directory != NULL)
        error = posix_spawn_file_actions_addchdir_np(actions, options->directory);
    return error;
}

static int start(const struct spawn_options *options, const posix_spawnattr_t *attributes,
                 const posix_spawn_file_actions_t *actions, pid_t *ret_pid)
{
    char limit[24];
    const char *plain[] = {"/bin/sh", "-c", options->command, NULL};
    /* posix_spawn has no attribute for limits: a shell sets it, and becomes the one that runs the command */
    const char *limited[] = {"/bin/sh", "-c",  "ulimit -S -n \"$1\" 2>/dev/null; exec /bin/sh -c \"$2\"",
                             "sh",      limit, options->command,
                             NULL};
    const char *const *arguments = options->descriptors_max != 0 ? limited : plain;

    snprintf(limit, sizeof(limit), "%" PRIu64, options->descriptors_max);
    return posix_spawn(ret_pid, "/bin/sh", actions, attributes, (char *const *)(uintptr_t)arguments,
                       (char *const *)(uintptr_t)options->environment);
}

int spawn_start(const struct spawn_options *options, struct spawned *ret_spawned)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid;
    int error = posix_spawnattr_init(&attributes);

    if (error != 0)
        return -error;
    error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        goto out_attributes;
    error = fill_attributes(&attributes);
    if (error == 0)
        error = fill_actions(&actions, options);
    if (error == 0)
        error = start(options, &attributes, &actions, &pid);
    if (error == 0) {
        ret_spawned->pid = pid;
        ret_spawned->descriptor = (int)syscall(SYS_pidfd_open, pid, 0u); /* close-on-exec by itself */
    }
    posix_spawn_file_actions_destroy(&actions);
out_attributes:
    posix_spawnattr_destroy(&attributes);
    return -error;
}

void spawn_signal(const struct spawned *spawned, int number)
{
    if (spawned->pid > 0)
        kill(-spawned->pid, number); /* refused if all of them became other users: those are not ours to end */
}

bool spawn_ended(struct spawned *spawned, int *ret_status)
{
    siginfo_t info = {.si_pid = 0};
    int status;

    if (waitid(P_PID, (id_t)spawned->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return true; /* never: it is our child, and unreaped */
    if (info.si_pid == 0)
        return false;
    spawn_signal(spawned, SIGKILL);
    if (waitpid(spawned->pid, &status, 0) == spawned->pid)
        *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (spawned->descriptor >= 0)
        close(spawned->descriptor);
    *spawned = (struct spawned){.descriptor = -1};
    return true;
}

/* At an offset, so that the descriptor's own stays at the beginning. */
static int write_at(int descriptor, const char *text, size_t bytes, size_t offset)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t written = pwrite(descriptor, text + at, bytes - at, (off_t)(offset + at));

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        at += (size_t)written;
    }
    return 0;
}

int spawn_input_line(const char *text, size_t text_bytes)
{
    int descriptor = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING | NOT_EXECUTABLE);
    int result;

    if (descriptor < 0 && errno == EINVAL)
        descriptor = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0)
        return -errno;
    result = write_at(descriptor, text, text_bytes, 0);
    if (result == 0)
        result = write_at(descriptor, "\n", 1, text_bytes);
    if (result == 0 && fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
        result = -errno;
    if (result == 0)
        return descriptor;
    close(descriptor);
    return result;
}
