/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_facts.c - what snapshots say of processes and rings, as values. Touches the mappings.
 *
 * Guarantees
 *   1. Everything about a process but its pid is what the ring itself says. The pid is one that the kernel has named,
 * or that was found to have the claimed start time; else it is not known. Nothing is read from /proc for it, so a ring
 * that names somebody else's process discloses nothing of that.
 *   2. Facts are made once and shared, until something in them changes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "ring/registry_state.h"

#define SECOND_NS UINT64_C(1000000000)

void registry_drop_facts(struct ring_process *process)
{
    process_facts_unref(process->facts);
    process_facts_unref(process->brief);
    process->facts = NULL;
    process->brief = NULL;
}

/* Processes -------------------------------------------------------------------------------------------------------- */

/* Terminated copy of bytes up to a NUL. NULL: no memory. */
static char *copy_path(const struct rip_module_info *module)
{
    return strndup((const char *)module->path, module->path_bytes);
}

/* The wall time of a moment on the boot clock: by today's clocks, or by those that an earlier boot left in the ring. */
static uint64_t wall_of_boot(const struct ring *ring, uint64_t boot_ns)
{
    uint64_t wall_ns = ring->same_boot ? clock_wall_ns() : ring->info.created_wall_ns;
    uint64_t base_ns = ring->same_boot ? clock_boot_ns() : ring->info.created_boot_ns;
    uint64_t started_ns = wall_ns - base_ns + boot_ns; /* wraps back where the start lies before the base */

    return started_ns - started_ns % (SECOND_NS / 100); /* no finer than the claim is */
}

static uint64_t started_wall_ns(const struct ring *ring, const struct rip_process_info *claim)
{
    uint64_t ticks = claim->start_time_ticks, per_second = clock_ticks_per_second();
    uint64_t seconds = ticks / per_second;

    if (ticks == 0 || seconds > UINT32_MAX)
        return 0;
    return wall_of_boot(ring, seconds * SECOND_NS + ticks % per_second * SECOND_NS / per_second);
}

static struct process_facts *new_facts(const struct ring *ring, const struct ring_process *process)
{
    const struct rip_process_info *claim = &process->claim;
    struct process_facts *facts = calloc(1, sizeof(*facts));

    if (facts == NULL)
        return NULL;
    atomic_init(&facts->references, 1);
    facts->index = claim->index;
    facts->generation = claim->generation;
    facts->pid = process->pid;
    facts->claimed_pid = claim->pid;
    facts->attested = process->verdict == PROCESS_ATTESTED;
    facts->dead = process->verdict == PROCESS_DEAD;
    memcpy(facts->comm, claim->comm, RIP_COMM_BYTES);
    facts->started_wall_ns = started_wall_ns(ring, claim);
    facts->start_time_ticks = process->pid_start_time_ticks;
    return facts;
}

/* Reads the process's modules into facts->modules, if that has been allocated, or up to the program itself. */
static int read_modules(struct registry *registry, struct ring *ring, const struct ring_process *process,
                        struct process_facts *facts)
{
    for (uint32_t i = 0; i < process->claim.module_count; i++) {
        struct rip_module_info module;
        int result = mapping_module(&ring->mapping, process->claim.index, i, &module);

        if (result < 0)
            return result;
        if (result == 1)
            continue;
        if ((module.flags & RIP_MODULE_MAIN) != 0 && facts->exe == NULL)
            facts->exe = copy_path(&module);
        if (facts->modules == NULL && facts->exe != NULL)
            return 0;
        if (facts->modules == NULL)
            continue;
        facts->modules[facts->module_count] = registry_module(registry, ring, &module);
        facts->module_count += facts->modules[facts->module_count] != NULL;
    }
    return 0;
}

/* Facts with or without modules, or NULL. */
static struct process_facts *make_facts(struct registry *registry, struct ring *ring,
                                        const struct ring_process *process, bool with_modules)
{
    struct process_facts *facts = new_facts(ring, process);
    int result = facts != NULL ? 0 : -ENOMEM;

    if (result == 0 && with_modules && process->claim.module_count != 0) {
        facts->modules = calloc(process->claim.module_count, sizeof(struct module_facts *));
        if (facts->modules == NULL)
            result = -ENOMEM;
    }
    if (result == 0) {
        facts->without_modules = !with_modules;
        result = read_modules(registry, ring, process, facts);
    }
    if (result == -EIO)
        registry_damage(registry, ring);
    if (result == 0)
        return facts;
    process_facts_unref(facts);
    return NULL;
}

/* 0; -EIO: the ring is damaged. */
int registry_make_brief(struct registry *registry, struct ring *ring, struct ring_process *process)
{
    if (process->facts == NULL && process->brief == NULL)
        process->brief = make_facts(registry, ring, process, false);
    return ring->mapping.damaged ? -EIO : 0;
}

struct process_facts *registry_process_facts(struct registry *registry, struct ring *ring, uint32_t process)
{
    struct ring_process *owner;

    if (process >= ring->process_count)
        return NULL;
    owner = &ring->processes[process];
    if (!owner->present && owner->verdict != PROCESS_DEAD)
        return NULL;
    if (owner->facts == NULL && registry_has_time(registry, ring)) {
        uint64_t began_mono_ns = clock_mono_ns();

        owner->facts = make_facts(registry, ring, owner, true);
        registry_charge(registry, ring, clock_mono_ns() - began_mono_ns);
    }
    return process_facts_ref(owner->facts != NULL ? owner->facts : owner->brief);
}

/* Rings ------------------------------------------------------------------------------------------------------------ */

/* The facts that the last refresh has made. */
static int fill_processes(const struct ring *ring, struct ring_facts *facts)
{
    facts->processes = calloc(ring->process_count != 0 ? ring->process_count : 1, sizeof(struct process_facts *));
    if (facts->processes == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < ring->process_count; i++) {
        const struct ring_process *process = &ring->processes[i];
        struct process_facts *known = process->facts != NULL ? process->facts : process->brief;

        if (process->present && known != NULL)
            facts->processes[facts->process_count++] = process_facts_ref(known);
    }
    return 0;
}

static int fill_ring(const struct registry *registry, const struct ring *ring, struct ring_facts *facts)
{
    *facts = (struct ring_facts){
        .name = strdup(ring->name != NULL ? ring->name : ring->file_name),
        .directory = strdup(registry->directories[ring->directory].path),
        .serial = ring->serial,
        .health = RING_READABLE,
        .dead = !registry_ring_lives(ring),
        .unlinked = ring->unlinked,
        .uid = ring->mapping.file.uid,
        .slot_capacity = ring->info.slot_capacity,
        .live_count = ring->live_count,
        .file_bytes = ring->mapping.file.size_bytes,
        .info = ring->info,
    };
    if (facts->name == NULL || facts->directory == NULL)
        return -ENOMEM;
    return fill_processes(ring, facts);
}

static int fill_unreadable(const struct registry *registry, const struct unreadable_file *file,
                           struct ring_facts *facts)
{
    *facts = (struct ring_facts){
        .name = strdup(file->name),
        .directory = strdup(registry->directories[file->directory].path),
        .serial = file->serial,
        .health = file->health,
        .reason = strdup(file->reason),
        .uid = file->uid,
        .file_bytes = file->size_bytes,
    };
    return facts->name != NULL && facts->directory != NULL && facts->reason != NULL ? 0 : -ENOMEM;
}

static int compare_facts(const void *left, const void *right)
{
    const struct ring_facts *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    if (order == 0)
        order = strcmp(a->directory, b->directory);
    if (order != 0)
        return order;
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

int registry_facts(const struct registry *registry, struct ring_facts **ret_facts, size_t *ret_count)
{
    size_t room = registry->ring_count + registry->unreadable_count, count = 0;
    struct ring_facts *facts = calloc(room != 0 ? room : 1, sizeof(*facts));
    int result = facts != NULL ? 0 : -ENOMEM;

    for (size_t i = 0; result == 0 && i < registry->ring_count; i++)
        result = fill_ring(registry, registry->rings[i], &facts[count++]);
    for (size_t i = 0; result == 0 && i < registry->unreadable_count; i++)
        result = fill_unreadable(registry, &registry->unreadable[i], &facts[count++]);
    if (result == 0) {
        qsort(facts, count, sizeof(*facts), compare_facts);
        *ret_facts = facts;
        *ret_count = count;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        ring_facts_done(&facts[i]);
    free(facts);
    return result;
}
