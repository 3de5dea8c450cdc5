/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_calls.c - the wrappers of the calls that can block, made from the list in preload_calls.h, and the lookup of
 * the functions behind all wrappers.
 *
 * Guarantees
 *   A. A call is a snap at its caller, the kind of the call in the slot, and the call; of one that is idle also the
 *      declaration of idleness and a second snap, so that whatever runs afterwards is no longer idle.
 *   B. A wrapper changes errno only through the function it wraps.
 *   C. A function is looked up when it is first wanted, without a lock: that may be in a signal handler. dlsym(), which
 *      takes one, is left with names that another preloaded library has in an unusual form.
 *   D. A signal handler that makes wrapped calls during a wait leaves that announced as it was, whether the kernel or
 *      glibc restarts the wait or not. (Not if it runs on an alternate stack that lies above the thread's own.)
 */
#include <dlfcn.h>
#include <errno.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>

#include "preload.h"
#include "writer.h"

RIP_EARLY void *preload_functions[CALL_COUNT];

static const char *const function_names[CALL_COUNT] = {
#define ANNOUNCED(type, name, parameters, arguments, call, done) [CALL_##name] = #name,
#define OWN(name) [CALL_##name] = #name,
#define CALLED(name) [CALL_##name] = #name,
#include "preload_calls.h"
};

/*
 * On amd64 the condition variables of before glibc 2.3.2 still exist under the same names, with another layout. All
 * other functions of the list have one implementation, whatever their versions.
 */
#if defined(__x86_64__) && !defined(__ILP32__)
#define CONDITION_VERSION "GLIBC_2.3.2"
#endif

static void *ask_linker(enum preload_call call)
{
    void *function = NULL;

#ifdef CONDITION_VERSION
    if ((call == CALL_pthread_cond_wait || call == CALL_pthread_cond_timedwait) && dlvsym != NULL)
        function = dlvsym(RTLD_NEXT, function_names[call], CONDITION_VERSION);
#endif
    return function != NULL ? function : dlsym(RTLD_NEXT, function_names[call]);
}

/* Stands in for a function that this C library lacks. All that are younger than the oldest supported return int. */
static long missing_function(void)
{
    errno = ENOSYS;
    return -1;
}

void *preload_resolve(enum preload_call call)
{
    int saved_errno = errno;
    void *function = preload_symbol_find(function_names[call]);

    if (function == NULL)
        function = ask_linker(call);
    if (function == NULL)
        function = (void *)missing_function;
    rip_store_relaxed(&preload_functions[call], function); /* all who race here store the same */
    errno = saved_errno;
    return function;
}

void preload_resolve_setup(void)
{
    if (preload_symbol_find(function_names[CALL_read]) != NULL)
        return;
    /* First, because what dlsym() may allocate can lead a memory allocator there. */
    preload_resolve(CALL_pthread_mutex_lock);
    for (unsigned int call = 0; call < CALL_COUNT; call++)
        preload_resolve((enum preload_call)call);
}

void preload_untraced(const void *return_address)
{
    if (preload_thread.tried || !preload_is_ours())
        return;
    preload_thread_enter();
    if (rip__thread.slot != NULL)
        preload_record(rip__thread.slot, preload_place(return_address));
    preload_visit((uintptr_t)return_address - 1);
}

/* The process has left the ring, and perhaps made another one. */
static void replace_slot(const void *return_address)
{
    rip__thread.slot = NULL;
    preload_thread.tried = false;
    preload_untraced(return_address);
}

struct rip_slot *preload_pass_at(const void *return_address, uintptr_t address)
{
    struct rip_slot *slot = rip__thread.slot;

    preload_record(slot, address);
    preload_visit(address);
    if (rip_load_relaxed(&slot->generation) == 0) /* see detach_mapping() */
        replace_slot(return_address);
    return rip__thread.slot;
}

bool preload_is_vfork_child(void)
{
    if (preload_filtered())
        return false; /* nothing may be asked any more */
    if (getpid() != preload_state.pid)
        return true;
    preload_thread.special &= (uint8_t)~PRELOAD_VFORKED;
    return false;
}

/* clang-format off */
#define ANNOUNCED(type, name, parameters, arguments, kind, done)                                                       \
    PRELOAD_WRAPPER(type, name, parameters)                                                                            \
    {                                                                                                                  \
        const uint8_t call = kind;                                                                                     \
        preload_outer outer =                                                                                   \
            preload_begin(__builtin_return_address(0), __builtin_frame_address(0), call);                              \
        type outcome = PRELOAD_REAL(type, name, parameters) arguments;                                                 \
                                                                                                                       \
        done;                                                                                                          \
        preload_end(__builtin_return_address(0), __builtin_frame_address(0), call, outer);                             \
        return outcome;                                                                                                \
    }

#define OWN(name)
#define CALLED(name)
/* clang-format on */

#include "preload_calls.h"
