/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_startup.c - how much longer a program takes from start to end under the preload library: `true`, plain and
 * traced in turns. Every second turn has the reverse order, so that changes of the machine's load affect both.
 *
 * On a machine with other load, the lower quartile of the CPU time is the most stable number, because other load of
 * caches
 * only adds to it. Page faults are counted as well, and are the same in each run.
 *
 * A copy of the library is measured, because it is written from the first byte to the last, like an installed library.
 * The
 * output of a linker is in smaller pieces in the page cache, which makes each start slower.
 *
 *   bench_startup PRELOAD-LIBRARY [RUNS]
 */
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS_DEFAULT 400
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

/* The cost of one run: wall time, CPU time and page faults. */
struct cost {
    double wall_us;
    double cpu_us;
    double faults;
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
    return (struct cost){now_us() - began_us, us_of(usage.ru_utime) + us_of(usage.ru_stime), (double)usage.ru_minflt};
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

/* part: 0.5 = the median. */
static double quantile(double *values, int count, double part)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    return values[(int)(part * count)];
}

/* Returns false on failure. */
static bool copy_file(const char *from, const char *to)
{
    static char bytes[4 << 20];
    FILE *source = fopen(from, "rb"), *copy = fopen(to, "wb");
    size_t count = source != NULL ? fread(bytes, 1, sizeof(bytes), source) : 0;
    bool copied = count > 0 && count < sizeof(bytes) && copy != NULL && fwrite(bytes, 1, count, copy) == count;

    if (source != NULL)
        fclose(source);
    return (copy == NULL || fclose(copy) == 0) && copied;
}

struct series {
    double wall_us[RUNS_MAX];
    double cpu_us[RUNS_MAX];
    double faults[RUNS_MAX];
};

static void add(struct series *series, int run, struct cost cost)
{
    series->wall_us[run] = cost.wall_us;
    series->cpu_us[run] = cost.cpu_us;
    series->faults[run] = cost.faults;
}

static void report(struct series *plain, struct series *traced, int runs)
{
    static double ratio[RUNS_MAX], cpu_ratio[RUNS_MAX];
    double quarter_us;

    for (int i = 0; i < runs; i++) {
        ratio[i] = traced->wall_us[i] / plain->wall_us[i];
        cpu_ratio[i] = traced->cpu_us[i] / plain->cpu_us[i];
    }
    quarter_us = quantile(plain->cpu_us, runs, 0.25);
    printf("start to end of true: plain %.0f us, traced %.0f us; ratio %.2f, of time on a processor %.2f, of its lower "
           "quartiles %.3f (the bar: at most %.2f; medians of %d); page faults %.0f and %.0f\n",
           quantile(plain->wall_us, runs, 0.5), quantile(traced->wall_us, runs, 0.5), quantile(ratio, runs, 0.5),
           quantile(cpu_ratio, runs, 0.5), quantile(traced->cpu_us, runs, 0.25) / quarter_us, BAR, runs,
           quantile(plain->faults, runs, 0.5), quantile(traced->faults, runs, 0.5));
}

int main(int argc, char **argv)
{
    static struct series plain, traced;
    const int runs = argc > 2 ? atoi(argv[2]) : RUNS_DEFAULT;
    char directory[] = "/dev/shm/rip-bench-XXXXXX", preload[4096], dir[64];
    char *const plain_environment[] = {NULL};
    char *const traced_environment[] = {preload, dir, NULL};

    if (argc < 2 || runs < 1 || runs > RUNS_MAX || mkdtemp(directory) == NULL) {
        fprintf(stderr, "usage: bench_startup PRELOAD-LIBRARY [RUNS]\n");
        return 2;
    }
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s.copy", argv[1]);
    snprintf(dir, sizeof(dir), "RIP_DIR=%s", directory);
    if (!copy_file(argv[1], strchr(preload, '=') + 1)) {
        fprintf(stderr, "bench_startup: %s cannot be copied\n", argv[1]);
        return 2;
    }
    for (int i = 0; i < runs; i++) {
        if (i % 2 == 0)
            add(&plain, i, run(plain_environment));
        add(&traced, i, run(traced_environment));
        if (i % 2 != 0)
            add(&plain, i, run(plain_environment));
    }
    rmdir(directory);
    remove(strchr(preload, '=') + 1);
    report(&plain, &traced, runs);
    return 0;
}
