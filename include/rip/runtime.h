/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - what the binding of a language needs of the tracing library, whichever one the process has: librip.so, or
 * the preload library under `rip run`.
 *
 * A binding is linked with librip.so and calls rip_runtime_get(). Under `rip run` that symbol is the preload library's,
 * which stands first: its ring is the process's ring, and its own copy of librip does the work. A binding calls
 * everything through this table, and none of the functions of rip.h directly.
 *
 * Functions that rip.h declares too are those, with the same contract. The others say so.
 */
#ifndef RIP_RUNTIME_H
#define RIP_RUNTIME_H

#include "rip/rip.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RIP_RUNTIME_PRELOAD 1u /* the preload library: calls that block are wrapped, threads registered */

/* What a descriptor is, as far as the preload library saw it made. */
enum rip_descriptor {
    RIP_DESCRIPTOR_UNKNOWN = 0,
    RIP_DESCRIPTOR_INPUT = 1, /* waiting to receive from it is waiting for work: a terminal, a pipe, a server's side */
    RIP_DESCRIPTOR_REPLY = 2, /* a stream connection that this process opened itself */
};

struct rip_runtime {
    size_t size_bytes; /* of what the library has: a binding uses no field beyond */
    uint32_t flags;    /* RIP_RUNTIME_* */
    uint32_t reserved_12;

    bool (*create_ring)(const char *file, uint32_t max_procs); /* true without effect where there is one: preload */
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

    /* Names the id on this thread anew; progress, trail and note stay. Nothing without one. */
    void (*rename)(const char *name, size_t namelen);
    /* True if the thread has an id. Async-signal-safe. */
    bool (*is_traced)(void);

    /*
     * A wait that the runtime itself makes: a breadcrumb at address, call as what it is, until call_end(). Wrapped
     * calls that the thread makes in between are part of it: no breadcrumb, and no mark of their own. Without the
     * preload library call decides only whether idle is declared. Calls nest: only the outermost counts.
     */
    void (*call_begin)(const void *address, enum rip_call call);
    void (*call_end)(void);

    /* The rest does nothing without the preload library. */

    /*
     * place() says where in a script the calling thread is, as rip_snap_at() takes it, 0 if in none or if that cannot
     * be said now. It is called before each wrapped call that can block, and after one that waited for work, on any
     * thread, in signal handlers too; the breadcrumb is there then, and at the call's own address otherwise. Threads
     * that made such calls before the first set_place(), other than the caller, keep those addresses. It must be
     * async-signal-safe, keep errno, and make no wrapped call. Set once, for good; NULL is refused.
     */
    void (*set_place)(uint64_t (*place)(void));
    /*
     * The mutex with which threads wait for the interpreter's lock lies in [start, start + bytes). Waits for it, and
     * for conditions with it, leave no breadcrumb and are RIP_CALL_INTERPRETER, also within a call_begin(). Outside of
     * one the latest breadcrumb moves to place(): that is where a loop without calls is seen. holder() says which
     * thread has kept the interpreter's lock for long (a tid of this process, 0 = none). It is called before each such
     * wait, for a condition with its mutex held, and must be as place(); it may be NULL.
     */
    void (*set_interpreter_lock)(const void *start, size_t bytes, uint32_t (*holder)(void));
    /* The mutex that this thread locks next and last until watch_end(), for bindings that cannot know its address. */
    void (*watch_begin)(void);
    void (*watch_end)(const void **ret_first_mutex, const void **ret_last_mutex);
    enum rip_descriptor (*descriptor)(int fd);
    /*
     * is_own() says whether a descriptor is the runtime's own, by which threads wake each other up: who polls one
     * descriptor, alone or beside it, waits for that one as if it read or wrote there, who polls it alone waits as for
     * a condition, and who reads it makes no progress. Async-signal-safe; set once, for good.
     */
    void (*set_own_descriptors)(bool (*is_own)(int fd));

    /* The id on this thread, for wait_begin_of() in this process; NULL without one. */
    struct rip_slot *(*current)(void);
    /*
     * wait_begin() for an id on another thread, which is in a wait that began with this or wait_begin(). The runtime's
     * own lock keeps that thread from leaving the wait, and others from marking it, meanwhile. Nothing with NULL.
     */
    void (*wait_begin_of)(struct rip_slot *who, const void *lock, const uint32_t *owner, uint32_t flags);

    void *reserved[5];
};

/* Never NULL. The table is constant and lasts as long as the process. Thread-safe. */
RIP_API const struct rip_runtime *rip_runtime_get(void);

#ifdef __cplusplus
}
#endif

#endif
