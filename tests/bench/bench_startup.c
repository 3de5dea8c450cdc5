/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_startup.c - how much longer a program takes from start to end under the preload library: `true`, plain and
 * traced in turns, so that a change of the machine's load reaches both. Its time on a processor is the steadier figure
 * where others use the machine, too.
 *
 *   bench_startup PRELOAD-LIBRARY [RUNS]
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS_DEFAULT 200
#define RUNS_MAX 10000
#define BAR 1.35
#define PROGRAM "/bin/true"

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double us_of(struct timeval time)
{
    return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

/* What one run takes: from start to end, and of a processor. */
struct cost {
    double wall_us;
    double cpu_us;
};

static struct cost run(char *const environment[])
{
    char *const arguments[] = {(char *)(size_t)PROGRAM, NULL};
    const double began_us = now_us();
    struct rusage usage;
    int status;
    pid_t pid;

    if (posix_spawn(&pid, PROGRAM, NULL, NULL, arguments, environment) != 0 || wait4(pid, &status, 0, &usage) != pid ||
        status != 0) {
        fprintf(stderr, "bench_startup: " PROGRAM " failed\n");
        exit(1);
    }
    return (struct cost){now_us() - began_us, us_of(usage.ru_utime) + us_of(usage.ru_stime)};
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
    static double plain_us[RUNS_MAX], traced_us[RUNS_MAX], ratio[RUNS_MAX], cpu_ratio[RUNS_MAX];
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
        const struct cost plain_cost = run(plain), traced_cost = run(traced);

        plain_us[i] = plain_cost.wall_us;
        traced_us[i] = traced_cost.wall_us;
        ratio[i] = traced_us[i] / plain_us[i];
        cpu_ratio[i] = traced_cost.cpu_us / plain_cost.cpu_us;
    }
    rmdir(directory);
    printf("start to end of true: plain %.0f us, traced %.0f us; ratio %.2f, of time on a processor %.2f (the bar: at "
           "most %.2f; medians of %d)\n",
           median(plain_us, runs), median(traced_us, runs), median(ratio, runs), median(cpu_ratio, runs), BAR, runs);
    return 0;
}
