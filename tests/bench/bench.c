/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.c - shared code of the benchmarks.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void bench_print_machine(void)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "model name", 10) == 0) {
            printf("processor: %s", strchr(line, ':') + 2);
            break;
        }
    if (file != NULL)
        fclose(file);
    printf("compiler:  %s\n", __VERSION__);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double run_once(const struct contender *contender, uint64_t count)
{
    uint64_t began;

    if (contender->prepare)
        contender->prepare();
    began = bench_now_ns();
    contender->run(count);
    return (double)(bench_now_ns() - began) / (double)count;
}

void bench_table(const char *title, struct contender *contenders, size_t contender_count, size_t reference,
                 uint64_t count)
{
    static double ns[BENCH_CONTENDERS_MAX][BENCH_ROUNDS];

    for (size_t i = 0; i < contender_count; i++)
        run_once(&contenders[i], contenders[i].prepare ? count : count / 10 + 1); /* warm-up */
    for (size_t round = 0; round < BENCH_ROUNDS; round++)
        for (size_t i = 0; i < contender_count; i++)
            ns[i][round] = run_once(&contenders[i], count);
    for (size_t i = 0; i < contender_count; i++) {
        qsort(ns[i], BENCH_ROUNDS, sizeof(double), compare_doubles);
        contenders[i].ns = ns[i][BENCH_ROUNDS / 2];
    }
    printf("\n%-58s %9s %9s\n", title, "ns", "ratio");
    for (size_t i = 0; i < contender_count; i++)
        printf("  %-56s %9.3f %9.2f\n", contenders[i].name, contenders[i].ns,
               contenders[i].ns / contenders[reference].ns);
}

void bench_print_bar(const char *name, double value, double bar)
{
    printf("%s: %.2f (the bar: at most %.2f): %s\n", name, value, bar, value <= bar ? "met" : "NOT met");
}
