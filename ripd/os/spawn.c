/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c - posix_spawn, process groups, sealed memory files. Touches only processes that it has started.
 *
 * Guarantees
 *   1. Descriptors of the caller are not inherited, whether close-on-exec or not.
 *   2. The group is killed before the shell is reaped. Until then no other group can get its number.
 */
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "util/array.h"

/* MFD_NOEXEC_SEAL, which some headers lack. Required where the system forbids executable memory files. */
#define NOT_EXECUTABLE 0x0008u

/* Attributes and actions for posix_spawn(). */
struct plan {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

static int plan_init(struct plan *plan)
{
    short flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    sigset_t all, none;
    int error = posix_spawnattr_init(&plan->attributes);

    if (error != 0)
        return error;
    error = posix_spawn_file_actions_init(&plan->actions);
    if (error != 0) {
        posix_spawnattr_destroy(&plan->attributes);
        return error;
    }
    sigfillset(&all);
    sigemptyset(&none);
    (void)posix_spawnattr_setflags(&plan->attributes, flags); /* these three fail only for invalid values */
    (void)posix_spawnattr_setsigdefault(&plan->attributes, &all);
    (void)posix_spawnattr_setsigmask(&plan->attributes, &none);
    return 0;
}

static void plan_done(struct plan *plan)
{
    posix_spawn_file_actions_destroy(&plan->actions);
    posix_spawnattr_destroy(&plan->attributes);
}

/* The descriptors become the first count ones of the process, which gets no others. -1: /dev/null. */
static int plan_descriptors(struct plan *plan, const int *descriptors, int count)
{
    int error = 0;

    for (int i = 0; i < count && error == 0; i++)
        error = descriptors[i] < 0 ? posix_spawn_file_actions_addopen(&plan->actions, i, "/dev/null", O_RDWR, 0)
                                   : posix_spawn_file_actions_adddup2(&plan->actions, descriptors[i], i);
    return error != 0 ? error : posix_spawn_file_actions_addclosefrom_np(&plan->actions, count);
}

static int plan_run(struct plan *plan, const char *program, const char *const *arguments,
                    const char *const *environment, pid_t *ret_pid)
{
    return posix_spawn(ret_pid, program, &plan->actions, &plan->attributes, (char *const *)(uintptr_t)arguments,
                       (char *const *)(uintptr_t)environment);
}

int spawn_program(const char *program, int socket, pid_t *ret_pid)
{
    const char *slash = strrchr(program, '/');
    const char *const arguments[] = {slash != NULL ? slash + 1 : program, NULL}, *const environment[] = {NULL};
    const int descriptors[SPAWN_SOCKET + 1] = {-1, -1, STDERR_FILENO, socket};
    struct plan plan;
    int error = plan_init(&plan);

    if (error != 0)
        return -error;
    error = plan_descriptors(&plan, descriptors, SPAWN_SOCKET + 1);
    if (error == 0)
        error = plan_run(&plan, program, arguments, environment, ret_pid);
    plan_done(&plan);
    return -error;
}

int spawn_find(const char *name, const char *libexec, char *ret_path, size_t capacity)
{
    const char *const places[] = {".", libexec};
    char self[PATH_MAX], *slash;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length <= 0)
        return -ENOENT;
    self[length] = '\0';
    slash = strrchr(self, '/');
    if (slash == NULL)
        return -ENOENT;
    *slash = '\0';
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        int count = snprintf(ret_path, capacity, "%s/%s/%s", self, places[i], name);

        if (count < 0 || (size_t)count >= capacity)
            return -ENAMETOOLONG;
        if (access(ret_path, X_OK) == 0)
            return 0;
    }
    return -ENOENT;
}

int spawn_start(const struct spawn_options *options, struct spawned *ret_spawned)
{
    char limit[24];
    const char *const plain[] = {"/bin/sh", "-c", options->command, NULL};
    /* posix_spawn cannot set limits, so a shell sets the limit and executes the shell that runs the command */
    const char *const limited[] = {"/bin/sh", "-c",  "ulimit -S -n \"$1\" 2>/dev/null; exec /bin/sh -c \"$2\"",
                                   "sh",      limit, options->command,
                                   NULL};
    const int descriptors[] = {options->input, options->output, options->error};
    struct plan plan;
    pid_t pid;
    int error = plan_init(&plan);

    if (error != 0)
        return -error;
    snprintf(limit, sizeof(limit), "%" PRIu64, options->descriptors_max);
    error = plan_descriptors(&plan, descriptors, 3);
    if (error == 0 && options->directory != NULL)
        error = posix_spawn_file_actions_addchdir_np(&plan.actions, options->directory);
    if (error == 0)
        error = plan_run(&plan, "/bin/sh", options->descriptors_max != 0 ? limited : plain, options->environment, &pid);
    plan_done(&plan);
    if (error == 0) {
        ret_spawned->pid = pid;
        ret_spawned->descriptor = pidfd_open(pid, 0); /* always close-on-exec */
    }
    return -error;
}

void spawn_signal(const struct spawned *spawned, int number)
{
    if (spawned->pid > 0)
        kill(-spawned->pid, number); /* fails if all processes of the group have changed their user */
}

bool spawn_ended(struct spawned *spawned, int *ret_status)
{
    siginfo_t info = {.si_pid = 0};
    int status;

    if (waitid(P_PID, (id_t)spawned->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return true; /* cannot happen: it is an unreaped child of this process */
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

int spawn_input_line(const char *text, size_t text_bytes)
{
    int descriptor = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING | NOT_EXECUTABLE);
    size_t written;
    int result;

    if (descriptor < 0 && errno == EINVAL)
        descriptor = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0)
        return -errno;
    result = file_write(descriptor, text, text_bytes, &written);
    if (result == 0)
        result = file_write(descriptor, "\n", 1, &written);
    if (result == 0 && lseek(descriptor, 0, SEEK_SET) != 0)
        result = -errno;
    if (result == 0 && fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
        result = -errno;
    if (result == 0)
        return descriptor;
    close(descriptor);
    return result;
}
