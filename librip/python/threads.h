/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h - records the threads that run Python, and their names. */
#ifndef RIP_PYTHON_THREADS_H
#define RIP_PYTHON_THREADS_H

#include "binding.h"

/* A thread that runs Python, from its first call into the binding until its thread state is freed. */
struct binding_thread {
    PyThreadState *tstate; /* NULL = freed: the interpreter ends, and this is a daemon thread */
    uint32_t tid;          /* the kernel's */
    uint32_t forks;        /* number of forks when the record was made, or when this thread was last forked */
    uint64_t gil_switch;   /* the GIL's switch count when this thread began to wait for the present holder */
    uint64_t gil_ns;       /* CLOCK_MONOTONIC_COARSE of that moment; 0 = never */
    bool placing;          /* the thread is reading its frames, perhaps without the GIL */
    bool name_due;         /* the id does not have this name yet */
    uint8_t name_length;
    char name[RIP_NAME_BYTES];
};

extern __thread struct binding_thread *binding_thread BINDING_TLS;

/* Makes the calling thread's record. Returns NULL if out of memory, or if the thread state is being freed. */
struct binding_thread *binding_thread_enter(void);

/* Returns the calling thread's record, and makes it if necessary. Returns NULL as binding_thread_enter() does. */
static inline struct binding_thread *binding_thread_get(void)
{
    struct binding_thread *thread = binding_thread;

    return __builtin_expect(thread != NULL, 1) ? thread : binding_thread_enter();
}

/* Converts an ident of threading.get_ident() to the kernel's tid. Returns 0 if the thread is not known. */
uint32_t binding_thread_tid_of(unsigned long ident);
/* Gives the calling thread's id the name that is due. Async-signal-safe. The GIL is not needed. */
void binding_thread_show_name(struct binding_thread *thread);
/* Gives the calling thread the name that it has in threading, if any. */
void binding_thread_find_name(struct binding_thread *thread);
/* Names the calling thread. */
void binding_thread_rename(const char *name, size_t length);
/* From now on threads have their Python names. Returns 0, or -1 with an exception. */
int binding_threads_start(void);

#endif
