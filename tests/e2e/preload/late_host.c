/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_host.c - late_host [forked] LIBRARY: loads a library some time after the start, and waits in it.
 *
 * With "forked" it does this in a forked child, whose parent has another thread, and prints the pid of the child.
 * Otherwise it prints "ready".
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *wait_for_ever(void *unused)
{
    (void)unused;
    pause(); /* no signal handler is installed, so this never returns */
    return NULL;
}

static int wait_in(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    int (*read_byte)(int) = library != NULL ? (int (*)(int))dlsym(library, "read_byte") : NULL;

    if (read_byte == NULL)
        return 1;
    read_byte(STDIN_FILENO);
    return 0;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    int status;
    pid_t child;

    if (count == 2) {
        puts("ready");
        fflush(stdout);
        return wait_in(arguments[1]);
    }
    if (count != 3 || strcmp(arguments[1], "forked") != 0 || pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
        return 2;
    child = fork();
    if (child == 0)
        _exit(wait_in(arguments[2]));
    printf("%d\n", (int)child);
    fflush(stdout);
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
