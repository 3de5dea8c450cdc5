/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.c - judges the process records of a ring: reads what they claim and what the kernel says, gets the verdict
 * from ring/identity.c, and makes the facts for snapshots. Touches the ring's descriptor (locks), its mapping, and
 * /proc.
 *
 * Guarantees
 *   1. Locks are queried on every scan, while the user's time lasts. While the locks of a process are unchanged, /proc
 *      is read only every REGISTRY_RECHECK_NS, because a lock ends with its process. Without a lock /proc is read every
 *      time.
 *   2. The pid of a lock holder is looked up. If it cannot be the process of the record, the record is judged as if the
 *      lock had no holder: a stranger's lock changes no verdict.
 *   3. A zombie does not exist, unless only its first thread has ended. A process that /proc hides may exist.
 *   4. An embryo is not a process, but its ring is not dead while the child may still start to use it.
 *   5. Process facts come from the ring, with two exceptions. The pid comes from the kernel (a lock holder, or a pid
 *      whose start time matches the claim). The origin (user, command line, unit, container, and the program of an
 *      attested process) is read once from /proc. Except for the program, it comes from files that every user may read.
 *      It is kept only if the process matched its record before and after the read, and all its uids equal the ring's
 *      owner (a ring of root's: one another). So a ring that claims another user's pid discloses nothing about that
 *      process.
 *   6. Facts are made once and shared, until something in them changes.
 *   7. What the kernel says about a process's modules is used only if the process still matches its record afterwards.
 */
#include "ring/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "detect/detector.h"
#include "os/clock.h"
#include "os/pidfd.h"
#include "os/proc.h"
#include "os/proc_reader.h"
#include "os/proc_thread.h"
#include "ring/claim.h"
#include "ring/ends.h"
#include "ring/host.h"
#include "ring/modules.h"

#define EMBRYO_GRACE_NS UINT64_C(1000000000)  /* an embryo is believed this long, even without a parent */
#define EMBRYO_LIMIT_NS UINT64_C(60000000000) /* and this long while its parent lives */

#define COMMAND_LINE_BYTES 513u /* longer command lines are cut off */

#define FACTS_NS UINT64_C(1000000) /* time granted for the modules of a process */

/* Facts for snapshots ---------------------------------------------------------------------------------------------- */

#define SECOND_NS UINT64_C(1000000000)

static void drop_facts(struct ring_process *process)
{
    process_facts_unref(process->facts);
    process->facts = NULL;
}

/*
 * Converts a boot-clock time to wall time. A ring from an earlier boot is converted with the clock pair that the ring
 * itself recorded.
 */
static uint64_t wall_of_boot(const struct ring *ring, uint64_t boot_ns)
{
    uint64_t wall_ns = ring->same_boot ? clock_wall_ns() : ring->info.created_wall_ns;
    uint64_t base_ns = ring->same_boot ? clock_boot_ns() : ring->info.created_boot_ns;
    uint64_t started_ns = wall_ns - base_ns + boot_ns; /* wraps around correctly if the start is before the base */

    return started_ns - started_ns % (SECOND_NS / 100); /* round down to the precision of the claim */
}

static uint64_t started_wall_ns(const struct ring *ring, const struct ring_process *process)
{
    uint64_t claimed = process->claim.start_time_ticks;
    uint64_t ticks = claimed != 0 ? claimed : process->pid_start_time_ticks, per_second = clock_ticks_per_second();
    uint64_t seconds = ticks / per_second;

    if (ticks == 0 || seconds > UINT32_MAX)
        return 0;
    return wall_of_boot(ring, seconds * SECOND_NS + ticks % per_second * SECOND_NS / per_second);
}

static struct process_facts *new_facts(const struct ring *ring, const struct ring_process *process)
{
    struct process_facts *facts = process_facts_make(&process->claim);

    if (facts == NULL)
        return NULL;
    facts->pid = process->pid;
    facts->attested = process->verdict == PROCESS_ATTESTED;
    facts->dead = process->verdict == PROCESS_DEAD;
    facts->started_wall_ns = started_wall_ns(ring, process);
    if (facts->dead) {
        facts->lived_wall_ns = process->lived_wall_ns;
        facts->died_wall_ns = process->died_wall_ns;
    }
    facts->start_time_ticks = process->pid_start_time_ticks;
    facts->origin = process_origin_ref(process->origin);
    return facts;
}

/*
 * Reads the process's modules into facts->modules if it is allocated; otherwise only looks for the main program.
 * Modules named by the record come last, where addresses are looked up first: they have build ids, and the same module
 * may have been learnt from the kernel before.
 */
static int read_modules(struct registry *registry, struct ring *ring, const struct ring_process *process,
                        struct process_facts *facts)
{
    for (size_t i = 0; facts->modules != NULL && i < learnt_count(process->learnt); i++) {
        facts->modules[facts->module_count] = modules_add(&ring->modules, registry_host(registry),
                                                          mapping_owner(&ring->mapping), learnt_at(process->learnt, i));
        facts->module_count += facts->modules[facts->module_count] != NULL;
    }
    for (uint32_t i = 0; i < process->claim.module_count; i++) {
        struct rip_module_info module;
        int result = mapping_module(&ring->mapping, process->claim.index, i, &module);

        if (result < 0)
            return result;
        if (result == 1)
            continue;
        if ((module.flags & RIP_MODULE_MAIN) != 0 && facts->exe == NULL)
            facts->exe = strndup((const char *)module.path, module.path_bytes);
        if (facts->modules == NULL && facts->exe != NULL)
            return 0;
        if (facts->modules == NULL)
            continue;
        facts->modules[facts->module_count] =
            modules_add(&ring->modules, registry_host(registry), mapping_owner(&ring->mapping), &module);
        facts->module_count += facts->modules[facts->module_count] != NULL;
    }
    return 0;
}

/* Returns facts with or without modules, or NULL. */
static struct process_facts *make_facts(struct registry *registry, struct ring *ring,
                                        const struct ring_process *process, bool with_modules)
{
    const size_t module_count = process->claim.module_count + learnt_count(process->learnt);
    struct process_facts *facts = new_facts(ring, process);
    int result = facts != NULL ? 0 : -ENOMEM;

    if (result == 0 && with_modules && module_count != 0) {
        facts->modules = calloc(module_count, sizeof(struct module_facts *));
        if (facts->modules == NULL)
            result = -ENOMEM;
    }
    if (result == 0) {
        facts->without_modules = !with_modules;
        facts->scripts = scripts_module(ring, registry_host(registry));
        result = read_modules(registry, ring, process, facts);
    }
    if (result == -EIO)
        registry_damage(registry, ring);
    if (result == 0)
        return facts;
    process_facts_unref(facts);
    return NULL;
}

struct process_facts *registry_process_facts(struct registry *registry, struct ring *ring, uint32_t index)
{
    struct ring_host *host = registry_host(registry);
    struct ring_process *process;

    if (index >= ring->process_count)
        return NULL;
    process = &ring->processes[index];
    if (!process->present && process->verdict != PROCESS_DEAD)
        return NULL;
    if ((process->facts == NULL || process->wants_modules) &&
        host_grant(host, ring->user, WORK_PROCESS_TIME, FACTS_NS) != 0) {
        uint64_t began_mono_ns = clock_mono_ns();
        struct process_facts *facts = make_facts(registry, ring, process, true);

        if (facts != NULL) {
            drop_facts(process);
            process->facts = facts;
            process->wants_modules = false;
        }
        host_use(host, ring->user, WORK_PROCESS_TIME, clock_mono_ns() - began_mono_ns);
    }
    return process_facts_ref(process->facts);
}

static struct ring_process *attested_of(struct ring *ring, uint32_t process)
{
    struct ring_process *owner = process < ring->process_count ? &ring->processes[process] : NULL;

    return owner != NULL && owner->verdict == PROCESS_ATTESTED ? owner : NULL;
}

bool registry_lacks_module(struct registry *registry, struct ring *ring, uint32_t process, uint64_t address)
{
    const struct ring_process *owner = attested_of(ring, process);
    struct process_facts *facts = owner != NULL ? registry_process_facts(registry, ring, process) : NULL;
    const bool is_known = facts == NULL || process_facts_module(facts, address) != NULL;

    process_facts_unref(facts);
    return !is_known && !learnt_has_asked(owner->learnt, address);
}

bool registry_take_module(struct registry *registry, struct ring *ring, uint32_t process, uint64_t address,
                          const struct proc_object *object)
{
    struct ring_process *owner = attested_of(ring, process);

    if (owner == NULL || !learnt_is_new(&owner->learnt, address) || object == NULL ||
        !registry_process_holds(registry, ring, process) || !learnt_add(owner->learnt, object))
        return false;
    owner->wants_modules = true;
    return true;
}

/* A mapped object, in the form in which a reader thread returns it. */
struct read_object {
    uint64_t start;
    uint64_t end;
    char path[PATH_MAX];
};
_Static_assert(sizeof(struct read_object) <= PROC_READER_BYTES && COMMAND_LINE_BYTES <= PROC_READER_BYTES,
               "the result of a read does not fit into the reader's buffer");

static int read_object(int proc, uint32_t pid, uint64_t address, void *ret_object)
{
    struct read_object *read = ret_object;
    struct proc_object object;
    int result = proc_maps_object(proc, pid, address, &object);

    if (result != 0)
        return result;
    read->start = object.start;
    read->end = object.end;
    snprintf(read->path, sizeof(read->path), "%s", object.path);
    free(object.path);
    return 0;
}

bool registry_learn_module(struct registry *registry, struct ring *ring, uint32_t process, uint64_t address)
{
    struct ring_host *host = registry_host(registry);
    const struct ring_process *owner = attested_of(ring, process);
    struct read_object read;
    uint64_t began_mono_ns;
    bool found = false;
    int result;

    if (owner == NULL || mapping_owner(&ring->mapping) != geteuid() || learnt_has_asked(owner->learnt, address) ||
        host_grant(host, ring->user, WORK_PROCESS_TIME, FACTS_NS) == 0)
        return false;
    began_mono_ns = clock_mono_ns();
    result = proc_reader_ask(host->proc, read_object, owner->pid, address, &read, sizeof(read));
    if (result != -EAGAIN) {
        const struct proc_object object = {read.start, read.end, read.path};

        found = registry_take_module(registry, ring, process, address, result == 0 ? &object : NULL);
    }
    host_use(host, ring->user, WORK_PROCESS_TIME, clock_mono_ns() - began_mono_ns);
    return found;
}

/* Facts for judging ------------------------------------------------------------------------------------------------ */

/* Returns true if pid exists although /proc does not show it. */
static bool is_hidden(const struct ring_host *host, uint32_t pid)
{
    int descriptor;

    if (!host->processes_hidden)
        return false;
    descriptor = pidfd_of(pid);
    if (descriptor >= 0)
        close(descriptor);
    return descriptor != -ESRCH;
}

static bool pid_exists(const struct ring_host *host, uint32_t pid)
{
    struct proc_stat stat;
    int result = proc_stat(host->proc, pid, &stat);

    if (result == -ESRCH)
        return is_hidden(host, pid);
    return result != 0 || !proc_stat_ended(&stat);
}

static void look_up_pid(const struct ring_host *host, struct identity_facts *facts)
{
    facts->pid_exists = facts->pid_readable = false;
    if (facts->pid != 0 && claim_look_up(host->proc, facts) == -ESRCH)
        facts->pid_exists = is_hidden(host, facts->pid);
}

/* Returns the pid to look up if no lock names one. */
static uint32_t candidate_without_lock(const struct identity_facts *facts, const struct ring_process *process)
{
    return facts->same_pid_namespace ? facts->claimed_pid : process->pid;
}

static struct identity_facts claimed_facts(const struct ring_host *host, const struct ring *ring,
                                           const struct ring_process *process)
{
    struct identity_facts facts = claim_facts(&ring->mapping, &process->claim, host->pid_namespace);

    facts.same_boot = ring->same_boot;
    return facts;
}

/* Where it comes from ---------------------------------------------------------------------------------------------- */

/* Copies a text; "" means not known and becomes NULL. Returns false if out of memory. */
static bool copy_known(const char *text, char **ret_copy)
{
    *ret_copy = text[0] != '\0' ? strdup(text) : NULL;
    return text[0] == '\0' || *ret_copy != NULL;
}

/* Returns NULL if out of memory. */
static struct process_origin *new_origin(uint32_t uid, const char *command_line, const char *program,
                                         const struct proc_group *group)
{
    struct process_origin *origin = calloc(1, sizeof(*origin));

    if (origin == NULL)
        return NULL;
    atomic_init(&origin->references, 1);
    origin->uid = uid;
    if (copy_known(command_line, &origin->command_line) && copy_known(program, &origin->program) &&
        copy_known(group->unit, &origin->unit) && copy_known(group->container, &origin->container))
        return origin;
    process_origin_unref(origin);
    return NULL;
}

/* Returns true if pid is the process of the record, and none of its uids is of another user than the ring's owner. */
static bool belongs_to_owner(const struct ring_host *host, const struct ring *ring, const struct ring_process *process,
                             uint32_t *ret_uid)
{
    const uint32_t owner = mapping_owner(&ring->mapping);
    struct proc_status status;
    struct proc_stat stat;

    if (!process_stat(host->proc, process, &stat) || proc_status(host->proc, process->pid, &status) != 0)
        return false;
    *ret_uid = status.uid_real;
    return status.uid_real == status.uid_effective && status.uid_real == status.uid_saved &&
           (owner == 0 || owner == status.uid_real);
}

static int read_command_line(int proc, uint32_t pid, uint64_t address, void *ret_text)
{
    (void)address;
    return proc_command_line(proc, pid, ret_text, COMMAND_LINE_BYTES);
}

/* Reads the origin, if it is not known yet. Call when the process has just been looked up. */
static void read_origin(const struct ring_host *host, const struct ring *ring, struct ring_process *process)
{
    char command_line[COMMAND_LINE_BYTES] = "";
    struct proc_group group = {.unit = ""};
    char program[PROC_LINK_BYTES];
    uint32_t uid;
    int result;

    /*
     * Only for an attested process: other users cannot see its program, and only its lock proves that it uses the ring.
     */
    if (process->verdict != PROCESS_ATTESTED || proc_program(host->proc, process->pid, program) != 0)
        program[0] = '\0';
    result = proc_reader_ask(host->proc, read_command_line, process->pid, 0, command_line, sizeof(command_line));
    if (result != 0)
        command_line[0] = '\0';
    if (result == -EAGAIN && process->origin != NULL)
        return;
    (void)proc_group(host->proc, process->pid, &group);
    if (!belongs_to_owner(host, ring, process, &uid))
        return;
    process_origin_unref(process->origin);
    process->origin = new_origin(uid, command_line, program, &group);
    process->lacks_command_line = result == -EAGAIN;
    drop_facts(process); /* existing facts lack the origin */
}

/* Judging ---------------------------------------------------------------------------------------------------------- */

/* Judges the record when the locks are known. A foreign holder counts as none. */
static void judge(const struct ring_host *host, struct ring_process *process, struct identity_facts *facts)
{
    facts->pid = facts->holder_pid != 0 ? facts->holder_pid : candidate_without_lock(facts, process);
    look_up_pid(host, facts);
    if (facts->holder_pid != 0 && identity_holder_is_foreign(facts)) {
        facts->holder_pid = 0;
        facts->pid = candidate_without_lock(facts, process);
        look_up_pid(host, facts);
    }
    process->verdict = identity_judge(facts, &process->memory);
    if (process_lives(process)) {
        process->pid = facts->pid;
        process->pid_start_time_ticks = facts->pid_start_time_ticks;
    }
}

/* Returns true if the locks show that nothing has changed since /proc was last read. */
static bool are_locks_unchanged(const struct ring_process *process, const struct identity_facts *facts, uint32_t holder,
                                uint64_t now_mono_ns)
{
    bool held = (process->verdict == PROCESS_ATTESTED && holder != 0) ||
                (process->verdict == PROCESS_ALIVE && facts->life_locked);

    return held && facts->locks_known && holder == process->holder_pid && facts->life_locked == process->life_locked &&
           !facts->exited && !facts->execing && process->checked_mono_ns != 0 &&
           now_mono_ns - process->checked_mono_ns < REGISTRY_RECHECK_NS;
}

static void notice_changes(struct ring_host *host, struct ring *ring, const struct ring_process *process,
                           enum process_verdict before)
{
    const char *name = ring_name(ring);
    char reason[64];

    snprintf(reason, sizeof(reason), "pid %u", process->pid != 0 ? process->pid : process->claim.pid);
    if (process->verdict == PROCESS_DEAD && before != PROCESS_DEAD && process->pid != 0)
        host_notice(host, ring->user, NOTICE_PROCESS_DEAD, name, reason);
    if (process->verdict == PROCESS_ALIVE && (process->claim.flags & RIP_PROCESS_HAS_HOLDER_LOCK) != 0 &&
        !ring->warned_unattested) {
        host_notice(host, ring->user, NOTICE_UNATTESTED, name, reason);
        ring->warned_unattested = true;
    }
}

static void judge_process(struct ring_host *host, struct ring *ring, uint32_t index, uint64_t now_mono_ns)
{
    struct ring_process *process = &ring->processes[index];
    struct identity_facts facts = claimed_facts(host, ring, process);
    enum process_verdict before = process->verdict;
    const uint32_t holder = claim_ask_locks(&ring->mapping, index, &facts), pid_before = process->pid;

    if (!are_locks_unchanged(process, &facts, holder, now_mono_ns)) {
        judge(host, process, &facts);
        process->checked_mono_ns = now_mono_ns;
    }
    if (process_lives(process))
        process->lived_wall_ns = clock_wall_ns();
    if (process->verdict != PROCESS_DEAD)
        process->died_wall_ns = 0;
    else if (process->died_wall_ns == 0)
        process->died_wall_ns = clock_wall_ns();
    process->holder_pid = holder;
    process->life_locked = facts.life_locked;
    process->own_pid_namespace = facts.same_pid_namespace;
    process->present = !facts.exited;
    process->alive = !facts.exited && process->verdict != PROCESS_DEAD;
    if (process->verdict != before || process->pid != pid_before)
        drop_facts(process);
    if ((process->origin == NULL || process->lacks_command_line) && process->alive &&
        process->checked_mono_ns == now_mono_ns && process_lives(process))
        read_origin(host, ring, process);
    process->has_just_ended = process->verdict == PROCESS_DEAD && before != PROCESS_DEAD;
    if (process->verdict == PROCESS_ATTESTED)
        ends_watch(host, ring, process);
    ends_judge(process->watch, process->verdict);
    notice_changes(host, ring, process, before);
}

/* Returns true if the child that a record is reserved for may still start to use it. */
static bool embryo_may_live(const struct ring_host *host, const struct ring *ring, uint32_t index)
{
    const struct ring_process *process = &ring->processes[index];
    const struct rip_process_info *claim = &process->claim;
    struct identity_facts facts = claimed_facts(host, ring, process);
    uint64_t age_ns = clock_boot_ns() - claim->entered_boot_ns;

    claim_ask_locks(&ring->mapping, index, &facts);
    if (!ring->same_boot)
        return false;
    if (facts.life_locked || !facts.same_pid_namespace)
        return facts.life_locked || age_ns < EMBRYO_LIMIT_NS;
    if (facts.claims_life_lock && facts.locks_known)
        return false;
    if (claim->pid != 0)
        return age_ns < EMBRYO_LIMIT_NS && pid_exists(host, claim->pid);
    return age_ns < EMBRYO_GRACE_NS || (age_ns < EMBRYO_LIMIT_NS && pid_exists(host, claim->parent_pid));
}

bool registry_process_holds(const struct registry *registry, const struct ring *ring, uint32_t process)
{
    const struct ring_process *owner = &ring->processes[process];
    struct proc_stat stat;
    uint32_t holder;

    if (owner->verdict == PROCESS_ATTESTED &&
        (file_lock_holder(ring->mapping.descriptor, ring->mapping.view.lock_holder_offset + process, &holder) != 0 ||
         holder != owner->pid))
        return false;
    return owner->pid != 0 && process_stat(registry_proc(registry), owner, &stat);
}

/* Records ---------------------------------------------------------------------------------------------------------- */

static void clear_process(struct ring_process *process)
{
    drop_facts(process);
    process_origin_unref(process->origin);
    learnt_free(process->learnt);
    ends_unwatch(process->watch);
    threads_free(process->threads);
    *process = (struct ring_process){0};
}

/* 0 means not known, or not yet. */
static bool is_changed(uint64_t old, uint64_t claimed)
{
    return old != 0 && old != claimed;
}

/* Stores what a record says now. */
static void take_claim(struct ring_process *process, const struct rip_process_info *claim)
{
    const struct rip_process_info *old = &process->claim;

    if (old->generation != claim->generation || old->pid != claim->pid ||
        is_changed(old->start_time_ticks, claim->start_time_ticks) ||
        is_changed(old->pid_namespace, claim->pid_namespace))
        clear_process(process); /* the record is of another process now: forget the old one */
    else if (old->module_count != claim->module_count || memcmp(old->comm, claim->comm, sizeof(old->comm)) != 0)
        drop_facts(process);
    process->claim = *claim;
}

static int grow_processes(struct ring *ring, size_t count)
{
    struct ring_process *processes;
    uint8_t *conditions;

    if (count <= ring->process_count)
        return 0;
    processes = realloc(ring->processes, count * sizeof(*processes));
    if (processes == NULL)
        return -ENOMEM;
    ring->processes = processes;
    conditions = realloc(ring->conditions, count);
    if (conditions == NULL)
        return -ENOMEM;
    ring->conditions = conditions;
    memset(&processes[ring->process_count], 0, (count - ring->process_count) * sizeof(*processes));
    memset(&conditions[ring->process_count], DETECTOR_LIVES, count - ring->process_count);
    ring->process_count = count;
    return 0;
}

/* Returns 0, or -EIO if the ring is damaged. */
static int refresh_record(struct registry *registry, struct ring *ring, uint32_t index, uint64_t now_mono_ns)
{
    struct ring_process *process = &ring->processes[index];
    struct ring_host *host = registry_host(registry);
    struct rip_process_info claim;
    int result = mapping_process(&ring->mapping, index, &claim);

    if (result < 0)
        return result;
    if (result == 1) {
        clear_process(process); /* free, or being claimed */
    } else {
        take_claim(process, &claim);
        if (claim.state == RIP_PROCESS_EMBRYO)
            process->alive = embryo_may_live(host, ring, index);
        else
            judge_process(host, ring, index, now_mono_ns);
    }
    process->looked_at = true;
    if (process->present && process->facts == NULL) {
        process->facts = make_facts(registry, ring, process, false);
        process->wants_modules = true;
    }
    return ring->mapping.damaged ? -EIO : 0;
}

void processes_judge(struct registry *registry, struct ring *ring, uint64_t now_mono_ns)
{
    struct ring_host *host = registry_host(registry);
    size_t count = ring->info.process_high_water;
    bool has_time = host_has_turn(host, ring, WORK_PROCESS_TIME);
    uint64_t began_mono_ns = clock_mono_ns();

    if (grow_processes(ring, count) != 0)
        count = ring->process_count < count ? ring->process_count : count; /* the others are unknown, not dead */
    for (size_t i = 0; i < count && has_time; i++) {
        uint64_t ended_mono_ns;

        if (ring->next_record >= count)
            ring->next_record = 0;
        if (refresh_record(registry, ring, ring->next_record, now_mono_ns) != 0) {
            registry_damage(registry, ring);
            return;
        }
        ring->next_record++;
        ended_mono_ns = clock_mono_ns();
        has_time = host_spend(host, ring, WORK_PROCESS_TIME, ended_mono_ns - began_mono_ns) || i + 1 == count;
        began_mono_ns = ended_mono_ns;
    }
    ring->put_off_count = count != 0 && !has_time ? ring->put_off_count + 1 : 0;
    if (ring->put_off_count != 0 && ring->put_off_count % HEALTH_PATIENCE_SCANS == 0)
        host->health->limit_counts[HEALTH_LIMIT_JUDGEMENTS]++;
}

bool registry_is_preloaded(struct registry *registry, uint32_t serial, uint32_t process)
{
    const struct ring *ring = registry_find(registry, serial);

    if (ring == NULL || ring->process_count == 0)
        return false;
    return (ring->processes[process < ring->process_count ? process : 0].claim.flags &
            (RIP_PROCESS_PRELOADED | RIP_PROCESS_COMPILED)) != 0;
}

bool processes_live(const struct ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++)
        if (ring->processes[i].alive || !ring->processes[i].looked_at)
            return true;
    return false;
}

/* Returns true if there is a sign of life other than the record's own claim. An embryo is kept for its grace period. */
static bool is_held(const struct ring_process *process)
{
    return process->verdict != PROCESS_UNKNOWN || process->life_locked || process->holder_pid != 0 ||
           process->claim.state == RIP_PROCESS_EMBRYO;
}

bool processes_are_held(const struct ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++) {
        const struct ring_process *process = &ring->processes[i];

        if (!process->looked_at || (process->alive && is_held(process)) || process->has_just_ended)
            return true;
    }
    return false;
}

void processes_done(struct ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++)
        clear_process(&ring->processes[i]);
    free(ring->processes);
    free(ring->conditions);
}
