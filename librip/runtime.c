/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c - the table of librip for bindings: see rip/runtime.h. What only the preload library can do has no effect.
 */
#include "rip/runtime.h"
#include "writer.h"

static __thread unsigned int call_depth __attribute__((tls_model("initial-exec")));

/* The kinds that are waits for work, according to ring.h. */
static bool is_idle(enum rip_call call)
{
    return call == RIP_CALL_WORK || call == RIP_CALL_INPUT || call == RIP_CALL_PRIVATE || call == RIP_CALL_READY;
}

static void call_begin(const void *address, enum rip_call call)
{
    if (call_depth++ != 0)
        return;
    rip_snap_at(address);
    if (is_idle(call))
        rip_idle();
}

static void call_end(void)
{
    if (--call_depth != 0)
        return;
    if (rip__thread.slot != NULL && rip_load_relaxed(&rip__thread.slot->idle_mark) != 0)
        rip_store_relaxed(&rip__thread.slot->idle_mark, 0);
}

static void set_place(uint64_t (*place)(void))
{
    (void)place;
}

static void set_interpreter_lock(const void *start, size_t bytes, uint32_t (*holder)(void))
{
    (void)start;
    (void)bytes;
    (void)holder;
}

static void watch_begin(void)
{
}

static void watch_end(const void **ret_first_mutex, const void **ret_last_mutex)
{
    *ret_first_mutex = NULL;
    *ret_last_mutex = NULL;
}

static void set_own_descriptors(bool (*is_own)(int fd))
{
    (void)is_own;
}

static enum rip_descriptor descriptor_of(int fd)
{
    (void)fd;
    return RIP_DESCRIPTOR_UNKNOWN;
}

const struct rip_runtime *rip_runtime_get(void)
{
    static const struct rip_runtime runtime = {
        RIP__RUNTIME_OF_BOTH,           .size_bytes = sizeof(runtime),
        .create_ring = rip_create_ring, .init = rip_init,
        .call_begin = call_begin,       .call_end = call_end,
        .set_place = set_place,         .set_interpreter_lock = set_interpreter_lock,
        .watch_begin = watch_begin,     .watch_end = watch_end,
        .descriptor = descriptor_of,    .set_own_descriptors = set_own_descriptors,
    };

    return &runtime;
}
