/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h - threads that run Python, and their names. */
#ifndef RIP_PYTHON_THREADS_H
#define RIP_PYTHON_THREADS_H

#include "binding.h"

/* A thread that runs Python, from the first time that we see it until its thread state goes. */
struct binding_thread {
    PyThreadState *tstate; /* NULL = it has gone: the interpreter ends, and this thread is a daemon */
    uint32_t tid;          /* as the kernel has it */
    uint32_t forks;        /* forks of the process when this was last this thread's */
    uint64_t gil_switch;   /* how often the GIL had changed hands when this thread found that it has to wait for it */
    uint64_t gil_ns;       /* and when that was; 0 = never */
    bool placing;          /* it reads its frames now, perhaps without the GIL */
    bool name_due;         /* its id does not have this name yet */
    uint8_t name_length;
    char name[RIP_NAME_BYTES];
};

extern __thread struct binding_thread *binding_thread BINDING_TLS;

/* The record of a thread that is new. NULL if there is no memory. */
struct binding_thread *binding_thread_enter(void);

/* The calling thread's record. NULL if there is no memory. */
static inline struct binding_thread *binding_thread_get(void)
{
    struct binding_thread *thread = binding_thread;

    return __builtin_expect(thread != NULL, 1) ? thread : binding_thread_enter();
}

/* The kernel's number of the thread that threading.get_ident() calls so; 0 if it is not known. */
uint32_t binding_thread_tid_of(unsigned long ident);
/* Gives the calling thread's id the name that is due. Async-signal-safe, without the GIL. */
void binding_thread_show_name(struct binding_thread *thread);
/* Gives the thread the name that threading has for the calling one, if any. */
void binding_thread_find_name(struct binding_thread *thread);
/* Names the calling thread. */
void binding_thread_rename(const char *name, size_t length);
/* From here on threads have their Python names. 0, or -1 with an exception. */
int binding_threads_start(void);

#endif
