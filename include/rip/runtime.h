/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - what the binding of a language needs from the tracing library of the process: librip.so, or the preload
 * library under `rip run`.
 *
 * A binding is linked with librip.so and calls rip_runtime_get(). Under `rip run` the preload library comes first in
 * the symbol search, so its rip_runtime_get() is called. Then the ring of the preload library is the ring of the
 * process, and the preload library's own copy of librip does the work. A binding calls everything through this table,
 * and no function of rip.h directly.
 *
 * Functions that rip.h also declares have the same contract. The other functions are documented here.
 */
#ifndef RIP_RUNTIME_H
#define RIP_RUNTIME_H

#include "rip/rip.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RIP_RUNTIME_PRELOAD 1u /* the preload library: wraps calls that block, and registers threads */

/* The kind of a file descriptor, as far as the preload library saw how it was made. */
enum rip_descriptor {
    RIP_DESCRIPTOR_UNKNOWN = 0,
    RIP_DESCRIPTOR_INPUT = 1, /* a receive from it is a wait for work: a terminal, a pipe, the server's end */
    RIP_DESCRIPTOR_REPLY = 2, /* a stream connection that this process opened */
};

struct rip_runtime {
    size_t size_bytes; /* size of the library's table: a binding uses no field beyond it */
    uint32_t flags;    /* RIP_RUNTIME_* */
    uint32_t reserved_12;

    bool (*create_ring)(const char *file, uint32_t max_procs); /* preload: no effect; true if it has a ring */
    void (*init)(uint32_t id, const char *name, size_t namelen, uint8_t idx, uint8_t ctr);
    void (*exit)(void);
    void (*snap_at)(const void *address);
    void (*idle)(void);
    void (*deadline_ms)(uint32_t ms);
    void (*note)(const char *text, size_t length);
    void (*wait_begin)(const void *lock, const uint32_t *owner, uint32_t flags);
    void (*wait_look)(const uint32_t *owner);
    void (*wait_end)(void);
    void (*flush)(void);
    bool (*context_init)(struct rip_context *ret_context, uint32_t id, const char *name, size_t namelen);
    void (*context_exit)(struct rip_context *context);
    void (*context_switch)(struct rip_context *from, const struct rip_context *to); /* rip_switch() */
    uint64_t (*script)(const char *file, size_t file_length, const char *function, size_t function_length,
                       uint32_t first_line);
    uint32_t (*script_epoch)(void);

    /* Changes the name of the id on this thread. Progress, trail and note stay. Does nothing without an id. */
    void (*rename)(const char *name, size_t namelen);
    /* Returns true if the thread has an id. Async-signal-safe. */
    bool (*is_traced)(void);

    /*
     * Announces a wait in the runtime itself: leaves a breadcrumb at address, and the thread is in a call of kind
     * `call` until call_end(). Wrapped calls of this thread in between are part of the wait: they leave no breadcrumb
     * and set no kind. Without the preload library, `call` only decides whether idle is declared. Calls nest: only the
     * outermost pair counts.
     */
    void (*call_begin)(const void *address, enum rip_call call);
    void (*call_end)(void);

    /* Everything below does nothing without the preload library. */

    /*
     * Sets the callback place(). It returns the place in a script where the calling thread is, in the form that
     * rip_snap_at() takes, or 0 if the thread is in no script or the place is not known now. The preload library calls
     * it before each wrapped call that can block, and after a call that waited for work, and puts the breadcrumb there.
     * With 0 the breadcrumb is at the address of the call. place() may be called on any thread and in signal handlers.
     * It must be async-signal-safe, keep errno and make no wrapped call. Threads other than the caller that made
     * wrapped calls before the first set_place() keep the addresses of their calls. Set it once; it cannot be removed.
     * NULL is ignored.
     */
    void (*set_place)(uint64_t (*place)(void));
    /*
     * Names the interpreter's lock: the mutex with which threads wait for it lies in [start, start + bytes). Waits for
     * this mutex, and for condition variables with it, leave no breadcrumb and are RIP_CALL_INTERPRETER, also within a
     * call_begin(). Outside of a call_begin() the latest breadcrumb moves to place(): this shows loops that make no
     * calls.
     *
     * holder() returns the tid of a thread of this process that has kept the interpreter's lock for long, 0 = none. It
     * is called before each such wait; if the wait is for a condition variable, its mutex is locked. The rules for
     * place() apply to it. It may be NULL.
     */
    void (*set_interpreter_lock)(const void *start, size_t bytes, uint32_t (*holder)(void));
    /*
     * Between watch_begin() and watch_end() records the first and the last mutex that this thread locks. For bindings
     * that cannot know the address of a lock. NULL = it locked none.
     */
    void (*watch_begin)(void);
    void (*watch_end)(const void **ret_first_mutex, const void **ret_last_mutex);
    enum rip_descriptor (*descriptor)(int fd);
    /*
     * Sets the callback is_own(), which returns true for a descriptor of the runtime by which its threads wake each
     * other. A poll of one other descriptor, with or without an own one, is treated as a read or write of that other
     * descriptor. A poll of an own descriptor alone is treated as a wait for a condition variable. A read of an own
     * descriptor is no progress. is_own() must be async-signal-safe. Set it once; it cannot be removed.
     */
    void (*set_own_descriptors)(bool (*is_own)(int fd));

    /* Returns the slot of the id on this thread, for wait_begin_of() in this process. NULL = no id. */
    struct rip_slot *(*current)(void);
    /*
     * As wait_begin(), for an id on another thread. That thread must be in a wait that began with wait_begin() or
     * wait_begin_of(). The caller holds a lock of the runtime that keeps that thread in the wait and other threads from
     * marking it. Does nothing if who is NULL.
     */
    void (*wait_begin_of)(struct rip_slot *who, const void *lock, const uint32_t *owner, uint32_t flags);

    void *reserved[5];
};

/* Never returns NULL. The table is constant and exists as long as the process. Thread-safe. */
RIP_API const struct rip_runtime *rip_runtime_get(void);

#ifdef __cplusplus
}
#endif

#endif
