/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_runtime.c - the function table for language bindings under `rip run`: see rip/runtime.h.
 *
 * Three kinds of calls are special: calls of an interpreter's thread, whose place is a line of a script that the
 * binding knows; a call that interrupts another call; and a call from a place that is new to the ring. Special calls
 * are announced here, with a frame whose lowest bit is set, which no real frame has. So they end here, too, and the end
 * of all other calls stays short.
 *
 * Guarantees
 *   A. A program without a binding pays nothing: the special flags of a thread are in a byte above the frame of its
 *      call, which the wrappers compare anyway.
 *   B. A wait for the interpreter's lock leaves no breadcrumb and declares no idleness. It also ends an announced idle
 *      call or sleep that it is part of, because that call is over and the thread wants to run; a sleep ends with a
 *      breadcrumb. For a thread that computes, the latest breadcrumb is moved to the place where it waits for the lock,
 *      so that a loop without calls is seen there.
 *   C. Within a call that the binding announced, wrapped calls only make the wrapped call.
 *   D. Threads that registered before the binding was loaded have addresses of code in their breadcrumbs, not script
 *      lines.
 */
#include <errno.h>

#include "preload.h"
#include "rip/runtime.h"
#include "writer.h"

#define SPECIAL_FRAME ((uintptr_t)1)

static RIP_EARLY uint64_t (*place_now)(void);

static struct {
    const unsigned char *start; /* NULL = not known */
    size_t bytes;
    uint32_t (*holder)(void);
} interpreter_lock;

/* The call that the binding has announced on this thread, and the first and last mutex that it locked while watched. */
static __thread struct {
    uintptr_t address;
    unsigned int depth;
    uint8_t call;
    const void *first_mutex;
    const void *last_mutex;
} announced __attribute__((tls_model("initial-exec")));

uintptr_t preload_place(const void *return_address)
{
    uint64_t (*place)(void) = rip_load_acquire(&place_now); /* pairs with set_place() */
    const uintptr_t address = (uintptr_t)(place != NULL ? place() : 0);

    return address != 0 ? address & RIP_ENTRY_ADDRESS_MASK : (uintptr_t)return_address - 1;
}

void preload_runtime_enter(void)
{
    if (rip_load_relaxed(&place_now) != NULL)
        preload_thread.special |= PRELOAD_SCRIPT;
}

bool preload_is_interpreter_lock(const void *mutex)
{
    const unsigned char *start = rip_load_acquire(&interpreter_lock.start); /* pairs with set_interpreter_lock() */

    return start != NULL && (uintptr_t)mutex - (uintptr_t)start < interpreter_lock.bytes;
}

void preload_watch(const void *mutex)
{
    if ((preload_thread.special & PRELOAD_WATCHED) == 0)
        return;
    if (announced.first_mutex == NULL)
        announced.first_mutex = mutex;
    announced.last_mutex = mutex;
}

/* --- calls of special threads ------------------------------------------------------------------------------------- */

/* An outer call has its kind in the byte above the frame, where preload_thread has the special flags. */
static preload_outer outer_of(uintptr_t frame, uint8_t call)
{
    return ((preload_outer)call << PRELOAD_SPECIAL_SHIFT) | frame;
}

static uintptr_t frame_of(uint64_t word)
{
    return (uintptr_t)(word & ((UINT64_C(1) << PRELOAD_SPECIAL_SHIFT) - 1));
}

static uint8_t call_of(preload_outer outer)
{
    return outer != 0 ? (uint8_t)(outer >> PRELOAD_SPECIAL_SHIFT) : (uint8_t)RIP_CALL_OUTSIDE;
}

/*
 * A signal handler may announce a call while it interrupts another call. The kernel may restart that call without the
 * wrapper, so the interrupted call is returned as outer and announced again at the end of this call. A frame that is
 * not above ours belongs to a call that was left by longjmp().
 */
static preload_outer announce(struct rip_slot *slot, const void *frame, uint8_t call)
{
    const uintptr_t before = frame_of(preload_thread.frame);
    const preload_outer outer = before > (uintptr_t)frame ? outer_of(before, slot->call) : 0;

    preload_set_frame((uintptr_t)frame | SPECIAL_FRAME);
    rip_signal_fence(); /* a signal handler must see that it interrupts this call */
    rip_store_relaxed(&slot->call, call);
    if (preload_declares(call))
        rip_idle();
    return outer;
}

preload_outer preload_announce(const void *frame, uint8_t call)
{
    struct rip_slot *slot = rip__thread.slot;

    return slot != NULL ? announce(slot, frame, call) : 0;
}

/* Returns true in an announced call that waits for others. Its mark says more than a wait for the interpreter. */
static bool is_for_others(void)
{
    return (preload_thread.special & PRELOAD_INSIDE) != 0 && !preload_declares(announced.call) &&
           announced.call != RIP_CALL_SLEEP;
}

/*
 * Moves the latest breadcrumb to the thread's present place, without counting a snap. An id without a breadcrumb gets
 * its first one, so that a thread that never makes a call has a place.
 */
static void move_breadcrumb(struct rip_slot *slot)
{
    uint64_t (*place)(void) = rip_load_acquire(&place_now); /* pairs with set_place() */
    const uint64_t address = place != NULL ? place() : 0;
    const uint64_t count = rip_load_relaxed(&slot->count);

    if (address == 0)
        return;
    if (count == rip_load_relaxed(&slot->counter_bias))
        preload_record(slot, (uintptr_t)(address & RIP_ENTRY_ADDRESS_MASK));
    else
        rip_store_relaxed(&slot->entry[count % RIP_ENTRY_COUNT],
                          (count << RIP_ENTRY_TAG_SHIFT) | (address & RIP_ENTRY_ADDRESS_MASK));
}

/* The wait has RIP_WAIT_ENDS: the holder may release the lock at any time, so the wait is never part of a deadlock. */
static preload_outer begin_interpreter(struct rip_slot *slot, const void *frame)
{
    const bool is_inside = (preload_thread.special & PRELOAD_INSIDE) != 0;
    const uint32_t holder = interpreter_lock.holder != NULL ? interpreter_lock.holder() : 0;
    preload_outer outer;

    if (is_inside && announced.call == RIP_CALL_SLEEP)
        preload_record(slot, announced.address); /* the time of the sleep must not count as time of the wait */
    else if (is_inside)
        rip_store_relaxed(&slot->idle_mark, 0);
    else
        move_breadcrumb(slot);
    outer = announce(slot, frame, RIP_CALL_INTERPRETER);
    if (frame_of(outer) == 0)
        outer = outer_of(0, is_inside ? announced.call : RIP_CALL_COMPUTES);
    if (holder != 0)
        rip_wait_begin(interpreter_lock.start, &holder, RIP_WAIT_ENDS);
    return outer;
}

/* Threads that are not special leave addresses of code: see guarantee D. */
static uintptr_t place_of_call(const void *return_address)
{
    return preload_thread.special != 0 ? preload_place(return_address) : (uintptr_t)return_address - 1;
}

preload_outer preload_begin_special(const void *return_address, const void *frame, uint8_t call)
{
    struct rip_slot *slot = rip__thread.slot;

    if (preload_in_vfork_child())
        return 0;
    if (call == RIP_CALL_INTERPRETER) {
        if (slot != NULL && !is_for_others())
            return begin_interpreter(slot, frame);
        slot = NULL;
    } else if ((preload_thread.special & PRELOAD_INSIDE) != 0) {
        slot = NULL;
    } else if (slot == NULL) {
        preload_register_thread(return_address);
        slot = rip__thread.slot;
    } else
        slot = preload_record_at(return_address, place_of_call(return_address));
    if (slot == NULL)
        return 0;
    return announce(slot, frame, call);
}

void preload_end_special(const void *return_address, const void *frame, uint8_t call, preload_outer outer)
{
    struct rip_slot *slot = rip__thread.slot;

    if (slot == NULL || (frame_of(preload_thread.frame) | SPECIAL_FRAME) != ((uintptr_t)frame | SPECIAL_FRAME))
        return; /* the call was not announced */
    preload_set_frame(frame_of(outer));
    rip_store_relaxed(&slot->call, call_of(outer));
    rip_signal_fence(); /* as in preload_end() */
    if (call == RIP_CALL_INTERPRETER)
        rip_wait_end();
    else if (preload_declares(call))
        preload_record(slot, place_of_call(return_address));
    if (preload_declares(call_of(outer)))
        rip_idle();
}

/* --- calls that the binding announces ----------------------------------------------------------------------------- */

static void call_begin(const void *address, enum rip_call call)
{
    struct rip_slot *slot = rip__thread.slot;

    if (announced.depth++ != 0)
        return;
    announced.address = (uintptr_t)address & RIP_ENTRY_ADDRESS_MASK;
    announced.call = (uint8_t)call;
    preload_thread.special |= PRELOAD_INSIDE;
    preload_set_frame(0); /* the frame may belong to a call that was left by longjmp() */
    if (slot == NULL)
        return;
    preload_record(slot, announced.address);
    rip_store_relaxed(&slot->call, (uint8_t)call);
    if (preload_declares((uint8_t)call))
        rip_idle();
}

static void call_end(void)
{
    struct rip_slot *slot = rip__thread.slot;

    if (--announced.depth != 0)
        return;
    preload_thread.special &= (uint8_t)~PRELOAD_INSIDE;
    if (slot == NULL)
        return;
    rip_store_relaxed(&slot->call, RIP_CALL_OUTSIDE);
    rip_signal_fence(); /* as in preload_end() */
    if (preload_declares(announced.call))
        preload_record(slot, announced.address);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static bool create_ring(const char *file, uint32_t max_procs)
{
    (void)file;
    (void)max_procs;
    return preload_state.active;
}

/* The ids of coroutines also announce their calls, so they start as RIP_CALL_OUTSIDE. */
static void init(uint32_t id, const char *name, size_t namelen, uint8_t idx, uint8_t ctr)
{
    rip_init(id, name, namelen, idx, ctr);
    if (rip__thread.slot != NULL)
        rip_store_relaxed(&rip__thread.slot->call, RIP_CALL_OUTSIDE);
}

static void set_place(uint64_t (*place)(void))
{
    if (place == NULL)
        return;
    rip_store_release(&place_now, place); /* pairs with the acquire in preload_place() */
    preload_runtime_enter();
}

static void set_interpreter_lock(const void *start, size_t bytes, uint32_t (*holder)(void))
{
    interpreter_lock.bytes = bytes;
    interpreter_lock.holder = holder;
    rip_store_release(&interpreter_lock.start, start); /* pairs with the acquire in preload_is_interpreter_lock() */
}

static void watch_begin(void)
{
    announced.first_mutex = NULL;
    announced.last_mutex = NULL;
    preload_thread.special |= PRELOAD_WATCHED;
}

static void watch_end(const void **ret_first_mutex, const void **ret_last_mutex)
{
    preload_thread.special &= (uint8_t)~PRELOAD_WATCHED;
    *ret_first_mutex = announced.first_mutex;
    *ret_last_mutex = announced.last_mutex;
}

static enum rip_descriptor descriptor_of(int fd)
{
    const int saved_errno = errno;
    const uint8_t kind = preload_call_receive(fd);

    errno = saved_errno;
    if (kind == RIP_CALL_REPLY)
        return RIP_DESCRIPTOR_REPLY;
    return kind == RIP_CALL_INPUT || kind == RIP_CALL_PIPE ? RIP_DESCRIPTOR_INPUT : RIP_DESCRIPTOR_UNKNOWN;
}

PRELOAD_EXPORT const struct rip_runtime *rip_runtime_get(void)
{
    static const struct rip_runtime runtime = {
        RIP__RUNTIME_OF_BOTH,
        .size_bytes = sizeof(runtime),
        .flags = RIP_RUNTIME_PRELOAD,
        .create_ring = create_ring,
        .init = init,
        .call_begin = call_begin,
        .call_end = call_end,
        .set_place = set_place,
        .set_interpreter_lock = set_interpreter_lock,
        .watch_begin = watch_begin,
        .watch_end = watch_end,
        .descriptor = descriptor_of,
        .set_own_descriptors = preload_set_own_descriptors,
    };

    return &runtime;
}
