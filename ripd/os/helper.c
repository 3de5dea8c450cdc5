/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper.c - posix_spawn for programs of ripd's own. Touches processes that it started itself.
 *
 * Guarantees
 *   1. Descriptors of the caller do not pass, close-on-exec or not.
 */
#include "os/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int fill_actions(posix_spawn_file_actions_t *actions, int socket)
{
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    if (error == 0)
        error = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(actions, socket, HELPER_DESCRIPTOR);
    if (error == 0)
        error = posix_spawn_file_actions_addclosefrom_np(actions, HELPER_DESCRIPTOR + 1);
    return error;
}

static int fill_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    int error;

    sigemptyset(&none);
    sigfillset(&all);
    error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    if (error == 0)
        error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0)
        error = posix_spawnattr_setsigdefault(attributes, &all);
    return error;
}

int helper_start(const char *program, int socket, pid_t *ret_pid)
{
    const char *slash = strrchr(program, '/');
    const char *const arguments[] = {slash != NULL ? slash + 1 : program, NULL};
    char *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0)
        return -error;
    error = posix_spawnattr_init(&attributes);
    if (error != 0)
        goto out_actions;
    error = fill_actions(&actions, socket);
    if (error == 0)
        error = fill_attributes(&attributes);
    if (error == 0)
        error = posix_spawn(ret_pid, program, &actions, &attributes, (char *const *)(uintptr_t)arguments, environment);
    posix_spawnattr_destroy(&attributes);
out_actions:
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

void helper_stop(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

int helper_find(const char *name, const char *libexec, char *ret_path, size_t capacity)
{
    const char *const places[] = {".", libexec};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (length <= 0)
        return -ENOENT;
    self[length] = '\0';
    slash = strrchr(self, '/');
    if (slash == NULL)
        return -ENOENT;
    *slash = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int count = snprintf(ret_path, capacity, "%s/%s/%s", self, places[i], name);

        if (count < 0 || (size_t)count >= capacity)
            return -ENAMETOOLONG;
        if (access(ret_path, X_OK) == 0)
            return 0;
    }
    return -ENOENT;
}
