/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_world.c - who lives in the world and what happens to them. Knows the truth, which sim_ripd.c does not look at
 * except to judge accusations.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/sim_inside.h"

uint64_t sim_random(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 16) % bound;
}

struct sim_id *sim_find(struct sim_world *world, uint32_t ring, uint32_t slot)
{
    for (size_t i = 0; i < world->id_count; i++)
        if (world->ids[i].ring == ring && world->ids[i].slot == slot)
            return &world->ids[i];
    return NULL;
}

struct sim_process *sim_process_of(struct sim_world *world, uint32_t ring)
{
    for (size_t i = 0; i < world->process_count; i++)
        if (world->processes[i].ring == ring)
            return &world->processes[i];
    fail_msg("there is no ring %u", ring);
    return NULL;
}

static void parse(const char *who, uint32_t *ret_ring, uint32_t *ret_slot)
{
    char *end;

    *ret_ring = (uint32_t)strtoul(who, &end, 10);
    *ret_slot = (uint32_t)strtoul(end + 1, NULL, 10);
}

static struct sim_id *named(struct sim_world *world, const char *who)
{
    struct sim_id *id;
    uint32_t ring, slot;

    parse(who, &ring, &slot);
    id = sim_find(world, ring, slot);
    if (!id)
        fail_msg("there is no id %s", who);
    return id;
}

static void make_process(struct sim_world *world, uint32_t ring)
{
    size_t at = 0;

    while (at < world->process_count && world->processes[at].ring < ring)
        at++;
    if (at < world->process_count && world->processes[at].ring == ring)
        return;
    assert_true(world->process_count < SIM_RINGS_MAX);
    memmove(&world->processes[at + 1], &world->processes[at],
            (world->process_count++ - at) * sizeof world->processes[0]);
    world->processes[at] = (struct sim_process){
        .present = true,
        .ring = ring,
        .facts =
            {
                .claimed_pid = 1000 + ring,
                .claimed_start_time_ticks = 77,
                .claims_holder_lock = true,
                .claims_life_lock = true,
                .same_boot = true,
                .same_pid_namespace = true,
                .locks_known = true,
                .holder_pid = 1000 + ring,
                .life_locked = true,
                .pid = 1000 + ring,
                .pid_exists = true,
                .pid_readable = true,
                .pid_start_time_ticks = 77,
                .pid_in_namespace = 1000 + ring,
            },
    };
}

void sim_add(struct sim_world *world, const char *who, uint64_t period_ms)
{
    uint32_t ring, slot;
    size_t at = 0;

    parse(who, &ring, &slot);
    make_process(world, ring);
    assert_true(world->id_count < SIM_IDS_MAX && !sim_find(world, ring, slot));
    while (at < world->id_count &&
           (world->ids[at].ring < ring || (world->ids[at].ring == ring && world->ids[at].slot < slot)))
        at++;
    memmove(&world->ids[at + 1], &world->ids[at], (world->id_count++ - at) * sizeof world->ids[0]);
    world->ids[at] = (struct sim_id){.ring = ring, .slot = slot};
    sim_reuse(world, who, period_ms);
}

void sim_reuse(struct sim_world *world, const char *who, uint64_t period_ms)
{
    struct sim_id *id = named(world, who);

    *id = (struct sim_id){
        .present = true,
        .ring = id->ring,
        .slot = id->slot,
        .generation = id->generation + 2,
        .letter = 'S',
        .period_ns = period_ms * SIM_MS,
        .progress = id->progress,
        .moved_at_ns = world->now_ns,
        .name = "worker",
    };
    id->ran_ns = sim_random(&world->random, id->period_ns);
}

void sim_name(struct sim_world *world, const char *who, const char *name)
{
    struct sim_id *id = named(world, who);

    assert_true(strlen(name) < sizeof id->name);
    memcpy(id->name, name, strlen(name) + 1);
}

static void set_activity(struct sim_world *world, const char *who, enum sim_activity activity, char letter)
{
    struct sim_id *id = named(world, who);

    if (id->activity == SIM_IDLE)
        id->moved_at_ns = world->now_ns; /* as good as: it was excused until now */
    if (activity != SIM_FROZEN) {
        id->moved_at_ns = world->now_ns;
        id->progress++; /* it moves in order to say so */
    }
    id->activity = activity;
    id->letter = letter;
    id->on_no_thread = false;
    id->ran_ns = 0;
}

void sim_alias(struct sim_world *world, const char *who, uint64_t step)
{
    named(world, who)->scan_step = step;
}

void sim_freeze(struct sim_world *world, const char *who)
{
    set_activity(world, who, SIM_FROZEN, 'S');
}

void sim_block(struct sim_world *world, const char *who, char letter)
{
    set_activity(world, who, SIM_FROZEN, letter);
}

void sim_park(struct sim_world *world, const char *who)
{
    set_activity(world, who, SIM_FROZEN, 0);
    named(world, who)->on_no_thread = true;
}

void sim_thaw(struct sim_world *world, const char *who)
{
    set_activity(world, who, SIM_MOVING, 'S');
}

void sim_idle(struct sim_world *world, const char *who)
{
    set_activity(world, who, SIM_IDLE, 'S');
}

void sim_end_thread(struct sim_world *world, const char *who)
{
    sim_freeze(world, who);
    named(world, who)->thread_gone = true;
}

void sim_exit(struct sim_world *world, const char *who)
{
    named(world, who)->present = false;
}

static void hold(struct sim_world *world, uint32_t ring, bool frozen, bool core_dumping, char letter)
{
    struct sim_process *process = sim_process_of(world, ring);

    process->held = true;
    process->frozen = frozen;
    process->core_dumping = core_dumping;
    process->letter = letter;
}

void sim_stop(struct sim_world *world, uint32_t ring, char letter)
{
    hold(world, ring, false, false, letter);
}

void sim_freezer(struct sim_world *world, uint32_t ring)
{
    hold(world, ring, true, false, 'S');
}

void sim_core_dump(struct sim_world *world, uint32_t ring)
{
    hold(world, ring, false, true, 'D');
}

void sim_continue(struct sim_world *world, uint32_t ring)
{
    hold(world, ring, false, false, 0);
    sim_process_of(world, ring)->held = false;
    sim_process_of(world, ring)->continued_ns = world->now_ns;
}

void sim_kill(struct sim_world *world, uint32_t ring)
{
    struct sim_process *process = sim_process_of(world, ring);

    sim_exec(world, ring);
    process->facts.pid_exists = process->facts.pid_readable = false;
}

void sim_exec(struct sim_world *world, uint32_t ring)
{
    struct sim_process *process = sim_process_of(world, ring);

    process->facts.life_locked = false;
    process->facts.holder_pid = 0;
    process->held = true;
}

void sim_unlink(struct sim_world *world, uint32_t ring)
{
    sim_process_of(world, ring)->present = false;
}

static void id_advance(struct sim_id *id, uint64_t now_ns, uint64_t ns)
{
    if (id->activity != SIM_MOVING || id->scan_step)
        return;
    id->ran_ns += ns;
    if (id->ran_ns >= id->period_ns)
        id->moved_at_ns = now_ns - id->ran_ns % id->period_ns;
    id->progress += id->ran_ns / id->period_ns;
    id->ran_ns %= id->period_ns;
}

void sim_advance(struct sim_world *world, uint64_t ns, bool nobody_runs)
{
    world->now_ns += ns;
    for (size_t i = 0; i < world->id_count; i++) {
        struct sim_id *id = &world->ids[i];

        if (id->present && !nobody_runs && !sim_process_of(world, id->ring)->held)
            id_advance(id, world->now_ns, ns);
    }
}
