/* SPDX-License-Identifier: Apache-2.0 */
/*
 * animal.h - a function for each kind of stall, which snaps and then does not return.
 *
 * animal KIND RING starts one kind: it prepares what the kind needs, prints "ready" and what the test needs to know
 * ("peer PID"), and hangs in the function of the kind. The line that hangs has a comment STALL(kind).
 */
#ifndef TESTS_E2E_ZOO_ANIMAL_H
#define TESTS_E2E_ZOO_ANIMAL_H

/* The name of the kind as in test_zoo.py, and its function. */
struct animal {
    const char *name;
    void (*stall)(void);
    unsigned thread_count; /* number of threads that run it; 1 = the main thread */
};

extern const struct animal cpu_animals[];
extern const struct animal lock_animals[];
extern const struct animal wait_animals[];
extern const struct animal file_animals[];
extern const struct animal unix_animals[];

/* Ends the program with a line that names what is not available. */
void animal_fail(const char *what) __attribute__((noreturn));

/* A function of a kind. Not inlined, so that it keeps its name. */
#define ANIMAL_STALL static void __attribute__((noinline))

/* The number of the current thread within the kind, from 0. */
extern _Thread_local unsigned animal_number;

/* Waits until all threads of the kind have called this. */
void animal_meet(void);

/* Starts a child that sleeps until its parent ends. Returns its pid. */
int animal_companion(void (*prepare)(void *context), void *context);

#endif
