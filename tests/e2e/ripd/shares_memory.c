/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shares_memory.c - executes a program while another process holds the lock of its memory. The other process maps FILE,
 * whose file system must write something first and never answers.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FILE_BYTES 4096
#define SECOND_US 1000000

static _Alignas(16) char stack[65536];

static int map_it(void *path)
{
    int through_cache = open(path, O_RDWR), direct = open(path, O_RDONLY | O_DIRECT);
    char *page = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, through_cache, 0);

    if (page == MAP_FAILED)
        return 1;
    page[0] = 1;
    mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, direct, 0);
    return 0;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 2 || clone(map_it, stack + sizeof(stack), CLONE_VM | SIGCHLD, argv[1]) < 0)
        return 1;
    usleep(SECOND_US);
    execlp("sleep", "sleep", "1000", NULL);
    perror("sleep");
    return 1;
}
