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

static void format_build_id(const struct rip_module_info *module, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < module->build_id_bytes; i++) {
        *ret_text++ = digits[module->build_id[i] >> 4];
        *ret_text++ = digits[module->build_id[i] & 15];
    }
    *ret_text = '\0';
}

static int fill_module(struct module_facts *facts, const struct rip_module_info *module)
{
    const char *slash;

    *facts = (struct module_facts){.start = module->start, .end = module->end, .bias = module->bias};
    facts->path = copy_path(module);
    if (facts->path == NULL)
        return -ENOMEM;
    slash = strrchr(facts->path, '/');
    facts->name = slash != NULL ? slash + 1 : facts->path;
    format_build_id(module, facts->build_id);
    return 0;
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
    return facts;
}

/* Reads the process's modules: into facts->modules if that has been allocated; the program's path in any case. */
static int read_modules(struct ring *ring, const struct ring_process *process, struct process_facts *facts)
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
        if (facts->modules == NULL)
            continue;
        result = fill_module(&facts->modules[facts->module_count], &module);
        if (result != 0)
            return result;
        facts->module_count++;
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
        facts->modules = calloc(process->claim.module_count, sizeof(*facts->modules));
        if (facts->modules == NULL)
            result = -ENOMEM;
    }
    if (result == 0)
        result = read_modules(ring, process, facts);
    if (result == -EIO)
        registry_damage(registry, ring, "was cut while it was read");
    if (result == 0)
        return facts;
    process_facts_unref(facts);
    return NULL;
}

static struct process_facts *brief_facts(struct registry *registry, struct ring *ring, struct ring_process *process)
{
    if (process->facts != NULL)
        return process_facts_ref(process->facts);
    if (process->brief == NULL)
        process->brief = make_facts(registry, ring, process, false);
    return process->brief != NULL ? process_facts_ref(process->brief) : NULL;
}

struct process_facts *registry_process_facts(struct registry *registry, struct ring *ring, uint32_t process)
{
    struct ring_process *owner;

    if (process >= ring->process_count)
        return NULL;
    owner = &ring->processes[process];
    if (!owner->present && owner->verdict != PROCESS_DEAD)
        return NULL;
    if (owner->facts == NULL)
        owner->facts = make_facts(registry, ring, owner, true);
    return owner->facts != NULL ? process_facts_ref(owner->facts) : NULL;
}

/* Rings ------------------------------------------------------------------------------------------------------------ */

static int fill_processes(struct registry *registry, struct ring *ring, struct ring_facts *facts)
{
    facts->processes = calloc(ring->process_count != 0 ? ring->process_count : 1, sizeof(struct process_facts *));
    if (facts->processes == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < ring->process_count; i++) {
        struct process_facts *process;

        if (!ring->processes[i].present)
            continue;
        process = brief_facts(registry, ring, &ring->processes[i]);
        if (process != NULL)
            facts->processes[facts->process_count++] = process;
        if (ring->mapping.damaged)
            return -EIO;
    }
    return 0;
}

static int fill_ring(struct registry *registry, struct ring *ring, struct ring_facts *facts)
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
    return fill_processes(registry, ring, facts);
}

static int fill_unreadable(const struct registry *registry, const struct unreadable_file *file,
                           struct ring_facts *facts)
{
    *facts = (struct ring_facts){
        .name = strdup(file->name),
        .directory = strdup(registry->directories[file->directory].path),
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

int registry_facts(struct registry *registry, struct ring_facts **ret_facts, size_t *ret_count)
{
    /* a ring that turns out damaged on the way moves from the one list to the other */
    size_t room = registry->ring_count + REGISTRY_UNREADABLE_MAX, count = 0;
    struct ring_facts *facts = calloc(room, sizeof(*facts));
    int result = facts != NULL ? 0 : -ENOMEM;

    for (size_t i = 0; result == 0 && i < registry->ring_count;) {
        result = fill_ring(registry, registry->rings[i], &facts[count]);
        if (result != -EIO) {
            count++;
            i++;
            continue;
        }
        ring_facts_done(&facts[count]);
        result = 0;
    }
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
