/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.h - shared declarations of lifecycle.c and lifecycle_signals.c.
 */
#ifndef TESTS_E2E_PRELOAD_LIFECYCLE_H
#define TESTS_E2E_PRELOAD_LIFECYCLE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __func__, __LINE__, #condition, errno);                          \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Prints "ready" and waits until the test has read the ring. */
void ready(void);
/* The body of a thread that is idle until it is cancelled. */
void *wait_for_ever(void *unused);

/* lifecycle_signals.c */
void case_handler_in_wait(void);
void case_vfork_in_wait(void);
void case_exit_while_forking(void);
void case_locked_memory(void);
void case_jump_out_of_wait(void);
void case_jump_out_of_cold_call(void);
void case_signal_storm(void);

#endif
