/* SPDX-License-Identifier: Apache-2.0 */
/* probe_child.h - a child that waits in a system call, and what kernel_read() reads of its first thread. */
#ifndef TESTS_UNIT_PROBE_CHILD_H
#define TESTS_UNIT_PROBE_CHILD_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/file.h"
#include "probe/kernel.h"
#include "support/ring_stage.h"
#include "support/test.h"

static int proc = -1; /* /proc */
static pid_t child;   /* 0 = none */
static struct kernel_reading reading;

static inline int open_proc(void **state)
{
    (void)state;
    proc = file_open_directory("/proc");
    return proc >= 0 ? 0 : -1;
}

/* Starts a child that runs body. */
static inline void child_start(void (*body)(void *context), void *context)
{
    child = ring_stage_start(NULL, body, context);
    ring_stage_go(child);
}

static inline int child_end(void **state)
{
    (void)state;
    if (child != 0)
        ring_stage_end(child);
    child = 0;
    return 0;
}

static inline void child_read(enum kernel_depth depth)
{
    assert_int_equal(kernel_read(proc, (uint32_t)child, (uint32_t)child, depth, &reading), 0);
}

/* Starts a child, and reads it until it waits in that system call. Returns false if the kernel denies reading it. */
static inline bool child_start_in_call(void (*body)(void *context), void *context, long number)
{
    child_start(body, context);
    for (int i = 0; i < 10000; i++) {
        child_read(KERNEL_WHOLE);
        if ((reading.denied & KERNEL_DENIED(SYSCALL)) != 0)
            return false;
        if ((reading.has & KERNEL_HAS_SYSCALL) != 0 && (reading.has & KERNEL_HAS_WCHAN) != 0 &&
            reading.call.kind == PROC_SYSCALL_INSIDE && reading.call.number == (uint64_t)number)
            return true;
        usleep(1000);
    }
    fail();
    return false;
}

#endif
