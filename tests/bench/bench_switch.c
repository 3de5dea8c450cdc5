/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_switch.c - the cost of a switch from one coroutine to another. Hot: a few coroutines take turns. Cold: so many
 * coroutines in random order that neither slots nor contexts are cached. The reference of cold is a load from the same
 * amount of memory in the same order: the new slot is prefetched, so the switch waits only for its context.
 */
#include <errno.h>
#include <librip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define SWITCHES UINT64_C(10000000)
#define COLD_BYTES (UINT64_C(400) << 20)
enum { HOT = 8, COLD = COLD_BYTES / RIP_SLOT_BYTES, FIRST_ID = 5000000, OTHER_ID = 4900000 };
enum { ROW_INIT, ROW_SWITCH, ROW_SWITCH_SNAP, ROW_EMPTY, ROW_COUNT };

static struct rip_context *contexts; /* COLD contexts; hot uses the first HOT of them */
static uint32_t *order;              /* a permutation of all numbers */
static unsigned char *plain;         /* as many bytes as all slots */
static uint32_t made;
static uint8_t idx[HOT], ctr[HOT]; /* what a program without contexts keeps for each coroutine */

static void turn_by_init(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        rip_init(OTHER_ID + i % HOT, NULL, 0, idx[i % HOT], ctr[i % HOT]);
        rip_snap();
        idx[i % HOT] = rip_idx;
        ctr[i % HOT] = rip_ctr;
    }
}

static void turn(uint64_t count)
{
    struct rip_context *current = NULL;

    for (uint64_t i = 0; i < count; i++) {
        rip_switch(current, &contexts[i % HOT]);
        current = &contexts[i % HOT];
    }
    rip_switch(current, NULL);
}

static void turn_and_snap(uint64_t count)
{
    struct rip_context *current = NULL;

    for (uint64_t i = 0; i < count; i++) {
        rip_switch(current, &contexts[i % HOT]);
        rip_snap();
        current = &contexts[i % HOT];
    }
    rip_switch(current, NULL);
}

static void empty(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        __asm__ volatile("" ::: "memory");
}

static void cold(uint64_t count)
{
    struct rip_context *current = NULL;

    for (uint64_t i = 0; i < count; i++) {
        rip_switch(current, &contexts[order[i % made]]);
        current = &contexts[order[i % made]];
    }
    rip_switch(current, NULL);
}

static void cold_and_snap(uint64_t count)
{
    struct rip_context *current = NULL;

    for (uint64_t i = 0; i < count; i++) {
        rip_switch(current, &contexts[order[i % made]]);
        rip_snap();
        current = &contexts[order[i % made]];
    }
    rip_switch(current, NULL);
}

/* Each address depends on the value loaded before, which is always 0. */
static void cold_load(uint64_t count)
{
    uint64_t last = 0;

    for (uint64_t i = 0; i < count; i++)
        last = rip_load_relaxed((uint64_t *)(void *)(plain + (order[i % made] + last) * (uint64_t)RIP_SLOT_BYTES));
}

static void shuffle(void)
{
    uint64_t random = 88172645463325252u; /* xorshift; the same order in each run */

    for (uint32_t i = 0; i < made; i++)
        order[i] = i;
    for (uint32_t i = made - 1; i > 0; i--) {
        uint32_t other, kept = order[i];

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        other = (uint32_t)(random % (i + 1));
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Creates as many as there is room for, because tmpfs may be small in a container. */
static bool make_coroutines(void)
{
    contexts = calloc(COLD, sizeof(*contexts));
    order = calloc(COLD, sizeof(*order));
    if (contexts == NULL || order == NULL)
        return false;
    while (made < COLD && rip_context_init(&contexts[made], FIRST_ID + made, "bench", 5))
        made++;
    plain = calloc(made + 1u, RIP_SLOT_BYTES);
    if (plain == NULL || made < HOT)
        return false;
    memset(plain, 0, (size_t)made * RIP_SLOT_BYTES); /* allocates the pages */
    shuffle();
    return true;
}

int main(void)
{
    struct contender hot[ROW_COUNT] = {
        {"rip_init() of a live id, and a snap", turn_by_init, 0, NULL},
        {"rip_switch()", turn, 0, NULL},
        {"rip_switch(), and a snap", turn_and_snap, 0, NULL},
        {"empty loop", empty, 0, NULL},
    };
    struct contender far[] = {
        {"a load that depends on the one before", cold_load, 0, NULL},
        {"rip_switch()", cold, 0, NULL},
        {"rip_switch(), and a snap", cold_and_snap, 0, NULL},
    };
    char path[64], title[128];

    snprintf(path, sizeof(path), "/dev/shm/rip-bench.%d", getpid());
    if (!rip_create_ring(path, COLD + HOT)) {
        fprintf(stderr, "bench_switch: %s: %s\n", path, strerror(errno));
        return 1;
    }
    unlink(path);
    if (!make_coroutines()) {
        fprintf(stderr, "bench_switch: no room for coroutines\n");
        return 1;
    }
    bench_print_machine();
    bench_table("hot: of eight in turn", hot, ROW_COUNT, ROW_SWITCH, SWITCHES);
    bench_print_bar("a hot switch, ns", hot[ROW_SWITCH].ns, 8);
    snprintf(title, sizeof(title), "cold: of %u in random order, %u MB of slots", made,
             (unsigned)((uint64_t)made * RIP_SLOT_BYTES >> 20));
    bench_table(title, far, sizeof(far) / sizeof(far[0]), 0, made);
    return 0;
}
