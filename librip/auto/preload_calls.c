/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_calls.c - the wrappers of the calls that can block, generated from the list in preload_calls.h, and the
 * lookup of all wrapped functions.
 *
 * Guarantees
 *   A. A wrapper snaps at its caller, stores the kind of the call in the slot, and makes the call. For an idle call it
 *      also declares the thread idle, and snaps again after the call, so that the code that follows is not idle.
 *   B. A wrapper changes errno only through the function it wraps.
 *   C. A function is looked up at its first use, without a lock, because that may be in a signal handler. dlsym(),
 *      which takes a lock, is used only for names that another preloaded library exports in an unusual form.
 *   D. If a signal handler makes wrapped calls during a wait, the wait is announced again when the handler returns,
 *      whether or not the kernel or glibc restarts the wait. Exception: the handler runs on an alternate stack at
 *      higher addresses than the thread's own stack.
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
 * On amd64 glibc still exports the condition variables of before 2.3.2 under the same names, with another layout. All
 * other functions of the list have the same implementation in all symbol versions.
 */
#if defined(__x86_64__) && !defined(__ILP32__)
#define CONDITION_VERSION "GLIBC_2.3.2"
#endif

static void *find_with_dlsym(enum preload_call call)
{
    void *function = NULL;

#ifdef CONDITION_VERSION
    if ((call == CALL_pthread_cond_wait || call == CALL_pthread_cond_timedwait) && dlvsym != NULL)
        function = dlvsym(RTLD_NEXT, function_names[call], CONDITION_VERSION);
#endif
    return function != NULL ? function : dlsym(RTLD_NEXT, function_names[call]);
}

/* Replaces a function that this C library lacks. All functions newer than the oldest supported glibc return int. */
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
        function = find_with_dlsym(call);
    if (function == NULL)
        function = (void *)missing_function;
    rip_store_relaxed(&preload_functions[call], function); /* racing threads store the same value */
    errno = saved_errno;
    return function;
}

void preload_resolve_setup(void)
{
    if (preload_symbol_find(function_names[CALL_read]) != NULL)
        return;
    /* First: dlsym() may allocate, and the program's allocator may lock a mutex. */
    preload_resolve(CALL_pthread_mutex_lock);
    for (unsigned int call = 0; call < CALL_COUNT; call++)
        preload_resolve((enum preload_call)call);
}

void preload_register_thread(const void *return_address)
{
    if (preload_thread.tried || !preload_is_ours())
        return;
    preload_thread_enter();
    if (rip__thread.slot != NULL)
        preload_record(rip__thread.slot, preload_place(return_address));
    preload_visit((uintptr_t)return_address - 1);
}

/* Called when the process has left the ring. It may have made another one. */
static void replace_slot(const void *return_address)
{
    rip__thread.slot = NULL;
    preload_thread.tried = false;
    preload_register_thread(return_address);
}

struct rip_slot *preload_record_at(const void *return_address, uintptr_t address)
{
    struct rip_slot *slot = rip__thread.slot;

    preload_record(slot, address);
    preload_visit(address);
    if (rip_load_relaxed(&slot->generation) == 0) /* see rip__detach_mapping() */
        replace_slot(return_address);
    return rip__thread.slot;
}

bool preload_is_vfork_child(void)
{
    if (preload_filtered())
        return false; /* getpid() is not allowed any more */
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
