/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_startup.c - how much longer a program takes from start to end under the preload library: `true`, plain and
 * traced in turns, so that a change of the machine's load reaches both.
 *
 *   bench_startup PRELOAD-LIBRARY [RUNS]
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS_DEFAULT 200
#define RUNS_MAX 10000
#define PROGRAM "/bin/true"

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double run(char *const environment[])
{
    char *const arguments[] = {(char *)(size_t)PROGRAM, NULL};
    const double began_us = now_us();
    int status;
    pid_t pid;

    if (posix_spawn(&pid, PROGRAM, NULL, NULL, arguments, environment) != 0 || waitpid(pid, &status, 0) != pid ||
        status != 0) {
        fprintf(stderr, "bench_startup: " PROGRAM " failed\n");
        exit(1);
    }
    return now_us() - began_us;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    return values[count / 2];
}

int main(int argc, char **argv)
{
    static double plain_us[RUNS_MAX], traced_us[RUNS_MAX], ratio[RUNS_MAX];
    const int runs = argc > 2 ? atoi(argv[2]) : RUNS_DEFAULT;
    char directory[] = "/dev/shm/rip-bench-XXXXXX", preload[4096], dir[64];
    char *const plain[] = {NULL};
    char *const traced[] = {preload, dir, NULL};

    if (argc < 2 || runs < 1 || runs > RUNS_MAX || mkdtemp(directory) == NULL) {
        fprintf(stderr, "usage: bench_startup PRELOAD-LIBRARY [RUNS]\n");
        return 2;
    }
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", argv[1]);
    snprintf(dir, sizeof(dir), "RIP_DIR=%s", directory);
    for (int i = 0; i < runs; i++) {
        plain_us[i] = run(plain);
        traced_us[i] = run(traced);
        ratio[i] = traced_us[i] / plain_us[i];
    }
    rmdir(directory);
    printf("start to end of true: plain %.0f us, traced %.0f us; ratio %.2f (medians of %d)\n", median(plain_us, runs),
           median(traced_us, runs), median(ratio, runs), runs);
    return 0;
}
