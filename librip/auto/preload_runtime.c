/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_runtime.c - the table that bindings of other languages get under `rip run`: see rip/runtime.h.
 *
 * Threads of an interpreter are special: where they are is a line of a script, which the binding knows. A call that
 * they announce has a frame with a low bit that no frame has by itself: so the end of a call of any other thread needs
 * no further load.
 *
 * Guarantees
 *   A. A program without a binding pays nothing: what is special about a thread is one byte, which the wrappers look at
 *      already for vfork().
 *   B. A wait for the interpreter's lock is neither a breadcrumb nor a declaration of idleness, also within a call that
 *      declared it: the call is over, and the thread wants to run. The latest breadcrumb of a thread that computes gets
 *      the place where it waits: that is where a loop without calls can be seen.
 *   C. Within a call that the binding announced wrapped calls only make the wrapped call.
 *   D. Threads that began before the binding was loaded keep addresses of code.
 */
#include <errno.h>

#include "preload.h"
#include "rip/runtime.h"
#include "writer.h"

#define SPECIAL_FRAME ((uintptr_t)1)

static uint64_t (*place_now)(void);

static struct {
    const unsigned char *start; /* NULL = not known */
    size_t bytes;
    uint32_t (*holder)(void);
} interpreter_lock;

/* The call that the binding has announced on this thread, and the mutexes that it watches. */
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

    return address != 0 ? address : (uintptr_t)return_address - 1;
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

/* In an announced call that waits for others, whose mark says more than a wait for the interpreter. */
static bool is_for_others(void)
{
    return (preload_thread.special & PRELOAD_INSIDE) != 0 && !preload_declares(announced.call);
}

/*
 * The latest breadcrumb is where the thread is now; the counter says nothing of it. An id that has none gets its first
 * one, so that a thread that never calls anything has a place.
 */
static void move_breadcrumb(struct rip_slot *slot)
{
    uint64_t (*place)(void) = rip_load_acquire(&place_now); /* pairs with set_place() */
    const uint64_t address = place != NULL ? place() : 0;
    const uint64_t count = rip_load_relaxed(&slot->count);

    if (address == 0)
        return;
    if (count == rip_load_relaxed(&slot->counter_bias))
        preload_record(slot, (uintptr_t)address);
    else
        rip_store_relaxed(&slot->entry[count % RIP_ENTRY_COUNT],
                          (count << RIP_ENTRY_TAG_SHIFT) | (address & RIP_ENTRY_ADDRESS_MASK));
}

/* Who holds the lock may let go of it at any time, so that the wait is part of no deadlock. */
static struct preload_outer begin_interpreter(struct rip_slot *slot, uintptr_t frame)
{
    const bool is_inside = (preload_thread.special & PRELOAD_INSIDE) != 0;
    const uint32_t holder = interpreter_lock.holder != NULL ? interpreter_lock.holder() : 0;
    struct preload_outer outer;

    if (is_inside)
        rip_store_relaxed(&slot->idle_mark, 0);
    else
        move_breadcrumb(slot);
    outer = preload_announce(slot, frame, RIP_CALL_INTERPRETER);
    if (outer.frame == 0)
        outer.call = is_inside ? announced.call : RIP_CALL_COMPUTES;
    if (holder != 0)
        rip_wait_begin(interpreter_lock.start, &holder, RIP_WAIT_ENDS);
    return outer;
}

struct preload_outer preload_begin_special(const void *return_address, const void *frame, uint8_t call)
{
    const uintptr_t marked = (uintptr_t)frame | SPECIAL_FRAME;
    struct rip_slot *slot = rip__thread.slot;

    if (preload_in_vfork_child())
        return (struct preload_outer){0, RIP_CALL_OUTSIDE};
    if (call == RIP_CALL_INTERPRETER) {
        if (slot != NULL && !is_for_others())
            return begin_interpreter(slot, marked);
        slot = NULL;
    } else if ((preload_thread.special & PRELOAD_INSIDE) != 0) {
        slot = NULL;
    } else if (slot == NULL) {
        preload_untraced(return_address);
        slot = rip__thread.slot;
    } else
        slot = preload_pass_at(return_address, preload_place(return_address));
    if (slot == NULL)
        return (struct preload_outer){0, RIP_CALL_OUTSIDE};
    return preload_announce(slot, marked, call);
}

void preload_end_special(const void *return_address, const void *frame, uint8_t call, struct preload_outer outer)
{
    struct rip_slot *slot = rip__thread.slot;

    if (slot == NULL || preload_thread.frame != ((uintptr_t)frame | SPECIAL_FRAME))
        return; /* it was not announced */
    preload_resume(slot, outer);
    if (call == RIP_CALL_INTERPRETER) {
        rip_wait_end();
        return;
    }
    if (preload_declares(call))
        preload_record(slot, preload_place(return_address));
    if (preload_declares(outer.call))
        rip_idle();
}

/* --- calls that the binding announces ----------------------------------------------------------------------------- */

static void call_begin(const void *address, enum rip_call call)
{
    struct rip_slot *slot = rip__thread.slot;

    if (announced.depth++ != 0)
        return;
    announced.address = (uintptr_t)address;
    announced.call = (uint8_t)call;
    preload_thread.special |= PRELOAD_INSIDE;
    preload_thread.frame = 0; /* of a call that was left by longjmp() */
    if (slot == NULL)
        return;
    preload_record(slot, (uintptr_t)address);
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
    rip_signal_fence(); /* as in preload_resume() */
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

/* An id of a coroutine, too, makes calls that are announced: outside of them it is no library's. */
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
