/* SPDX-License-Identifier: Apache-2.0 */
/*
 * animal.h - one kind of stall each: a function that snaps and then does not come back.
 *
 * animal KIND RING starts one: it prepares what the kind needs, says "ready" and what a test has to know besides
 * ("peer PID"), and hangs in its stall_*() function. The line that hangs has a comment STALL(kind).
 */
#ifndef TESTS_E2E_ZOO_ANIMAL_H
#define TESTS_E2E_ZOO_ANIMAL_H

/* name of the kind as the table in test_zoo.py has it, function */
struct animal {
    const char *name;
    void (*stall)(void);
    unsigned thread_count; /* how many threads do it; 1 = the main thread */
};

extern const struct animal cpu_animals[];
extern const struct animal lock_animals[];
extern const struct animal wait_animals[];
extern const struct animal file_animals[];
extern const struct animal unix_animals[];

/* Ends the program with a line that says what could not be had. */
void animal_fail(const char *what) __attribute__((noreturn));

/* What a traced function does first: a breadcrumb that survives. Not inlined, so that functions keep their names. */
#define ANIMAL_STALL static void __attribute__((noinline))

/* Which of the kind's threads this is, from 0. */
extern _Thread_local unsigned animal_number;

/* Waits until all of the kind's threads are here. */
void animal_meet(void);

/* A child that sleeps until its parent is gone. Returns its pid. */
int animal_companion(void (*prepare)(void *context), void *context);

#endif
