/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - rounds of contenders in turn, and the median of each.
 *
 * All contenders of a table run in one process, one after the other in every round, so that what the machine does
 * besides hits all of them. Ratios are what counts; absolute times drift from machine to machine.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_ROUNDS 15
#define BENCH_CONTENDERS_MAX 16

struct contender {
    const char *name;
    void (*run)(uint64_t count); /* does the thing count times */
    double ns;                   /* median per thing, filled by bench_table() */
    void (*prepare)(void);       /* before each run, untimed; NULL = nothing */
};

/* Runs them and prints a table with the ratio of each to contenders[reference]. */
void bench_table(const char *title, struct contender *contenders, size_t contender_count, size_t reference,
                 uint64_t count);

/* Prints processor, compiler and date of the run. */
void bench_print_machine(void);

/* Prints "name: value (the bar: at most bar): met | NOT met". */
void bench_print_bar(const char *name, double value, double bar);

/* The time that this thread has had of a processor: what others do with the machine counts little. */
uint64_t bench_now_ns(void);

#endif
