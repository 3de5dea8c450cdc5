/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_fork.c - the process becomes two.
 *
 * Guarantees
 *   A. The child of fork() shares the parent's ring and registers its one thread before fork() returns.
 *   B. The child of _Fork() or of clone() with a copied address space is not traced until it executes a program: no
 *      handler runs there, and what it may call is nearly nothing. It never writes into its parent's slot.
 *   C. The parent that ends inside daemon(), by glibc's own _exit(), leaves the ring in order all the same.
 *   D. A signal handler that runs in the middle of fork() and ends the process, or renames the thread, does not hang:
 *      the ring is left alone.
 *   E. A child that shares our memory (vfork(), posix_spawn(), clone() with CLONE_VM) changes nothing.
 */
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/single_threaded.h>

#include "preload.h"

static __thread bool in_daemon __attribute__((tls_model("initial-exec")));

/* Runs before the library's handler, and the other two after it. */
static void before_fork(void)
{
    preload_thread.forking = true;
    rip_signal_fence();
}

static void after_fork_in_parent(void)
{
    rip_signal_fence();
    preload_thread.forking = false;
    if (in_daemon)
        preload_leave(); /* the next thing glibc does here is _exit() */
}

static void after_fork_in_child(void)
{
    in_daemon = false;
    preload_thread.forking = false;
    if (!rip_load_relaxed(&preload_state.active))
        return;
    preload_state.pid = getpid();
    preload_state.loader_may_hang |= !__libc_single_threaded;
    preload_thread_after_fork();
    preload_thread_enter();
}

void preload_fork_setup(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

PRELOAD_WRAPPER(int, daemon, (int keep_directory, int keep_streams))
{
    int result;

    in_daemon = preload_is_ours();
    result = PRELOAD_REAL(int, daemon, (int, int))(keep_directory, keep_streams);
    if (in_daemon) { /* there was no child */
        in_daemon = false;
        preload_return();
    }
    return result;
}

/* What a child with a copied address space must not inherit. */
struct thread_trace {
    struct rip_slot *slot;
    bool tried;
};

static struct thread_trace hide_trace(void)
{
    struct thread_trace trace = {rip__thread.slot, preload_thread.tried};

    preload_thread.tried = true;
    rip__thread.slot = NULL;
    rip_signal_fence();
    return trace;
}

static void show_trace(struct thread_trace trace)
{
    rip_signal_fence();
    rip__thread.slot = trace.slot;
    preload_thread.tried = trace.tried;
}

PRELOAD_WRAPPER(pid_t, _Fork, (void))
{
    struct thread_trace trace = hide_trace();
    pid_t pid = PRELOAD_REAL(pid_t, _Fork, (void))();

    if (pid != 0)
        show_trace(trace);
    return pid;
}

PRELOAD_WRAPPER(int, clone, (int (*function)(void *), void *stack, int flags, void *argument, ...))
{
    bool copies_memory = (flags & CLONE_VM) == 0;
    struct thread_trace trace = {0};
    void *rest[3]; /* parent's word for the tid, thread-local storage, child's word: given or not */
    va_list arguments;
    int result;

    va_start(arguments, argument);
    for (unsigned int i = 0; i < 3; i++)
        rest[i] = va_arg(arguments, void *);
    va_end(arguments);
    if (copies_memory)
        trace = hide_trace();
    result = PRELOAD_REAL(int, clone, (int (*)(void *), void *, int, void *, ...))(function, stack, flags, argument,
                                                                                   rest[0], rest[1], rest[2]);
    if (copies_memory)
        show_trace(trace); /* clone() returns in the parent only */
    return result;
}
