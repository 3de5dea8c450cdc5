/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - runs contenders in turns and reports the median of each.
 *
 * All contenders of a table run in one process, one after the other in every round, so that other load of the machine
 * affects all of them. Only ratios count; absolute times differ between machines.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_ROUNDS 15
#define BENCH_CONTENDERS_MAX 16

struct contender {
    const char *name;
    void (*run)(uint64_t count); /* runs the operation count times */
    double ns;                   /* median time of one operation, set by bench_table() */
    void (*prepare)(void);       /* runs before each run, not measured; NULL = nothing */
};

/* Runs the contenders and prints a table with the ratio of each to contenders[reference]. */
void bench_table(const char *title, struct contender *contenders, size_t contender_count, size_t reference,
                 uint64_t count);

/* Prints CPU, compiler and date of the run. */
void bench_print_machine(void);

/* Prints "name: value (the bar: at most bar): met | NOT met". */
void bench_print_bar(const char *name, double value, double bar);

/* Returns the CPU time of this thread, on which other load of the machine has little influence. */
uint64_t bench_now_ns(void);

#endif
