/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - the record of this process in the ring, the two locks that prove it alive, and leaving in order.
 *
 * Guarantees
 *   1. A record is LIVE only after its fields are stored and its locks are taken, as far as that is possible. Its flags
 *      say which locks it has.
 *   2. The LIFE lock is held only by a mapping that forked children do not get. It is released when this address space
 *      ends, and not before, whatever the application does with its descriptors.
 *   3. The descriptor that takes the LIFE lock is closed before the HOLDER lock is taken. After that the library opens
 *      and closes no descriptor of the ring in this process.
 *   4. A record is given to another process only if it is FREE or EXITED, or if its process is gone and the slots that
 *      it left have been freed.
 *   5. A process that holds a lock of its record is alive.
 *   6. If a record had its LIFE lock and has it no longer, its address space is gone.
 *   7. What cannot be known (a pid of another namespace, a hidden /proc) counts as alive: missing evidence never takes
 *      a ring from a living process.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "writer.h"

/* Locks ------------------------------------------------------------------------------------------------------------ */

/* Opens a second open file description of the ring. Never called in a process that holds its HOLDER lock. */
static int open_again(void)
{
    struct rip_writer *writer = &rip__writer;
    uint8_t ring_id[sizeof(writer->ring_id)];
    char link[RIP_LINK_BYTES];
    int descriptor = writer->life_descriptor;
    bool is_of_new_ring = descriptor >= 0; /* this process is making the ring: it cannot be another one */

    writer->life_descriptor = -1;
    if (descriptor < 0 && rip__file_is_ring(writer->descriptor)) {
        rip__describe_descriptor(writer->descriptor, link);
        descriptor = open(link, O_RDWR | O_CLOEXEC);
    }
    if (descriptor < 0 && writer->path[0] != '\0')
        descriptor = open(writer->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return -errno;
    if (!rip__file_is_ring(descriptor) ||
        (!is_of_new_ring &&
         (pread(descriptor, ring_id, sizeof(ring_id), offsetof(struct rip_ring, ring_id)) != (ssize_t)sizeof(ring_id) ||
          memcmp(ring_id, writer->ring_id, sizeof(ring_id)) != 0))) {
        close(descriptor);
        return -ENOENT;
    }
    return descriptor;
}

bool rip__process_take_life(uint32_t index)
{
    int descriptor;
    void *mapping;
    bool held = false;

    if (rip__writer.life_mapping != NULL)
        return true;
    descriptor = open_again();
    if (descriptor < 0)
        return false;
    mapping = mmap(NULL, 1, PROT_NONE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (mapping != MAP_FAILED) {
        held = madvise(mapping, 1, MADV_DONTFORK) == 0 &&
               rip__set_lock(descriptor, F_OFD_SETLK, F_WRLCK, RIP_LOCK_LIFE_OFFSET + index, 1);
        if (held)
            rip__writer.life_mapping = mapping;
        else
            munmap(mapping, 1);
    }
    close(descriptor);
    return held;
}

void rip__process_drop_life(void)
{
    if (rip__writer.life_mapping != NULL)
        munmap(rip__writer.life_mapping, 1);
    rip__writer.life_mapping = NULL;
}

static bool take_holder(uint32_t index)
{
    struct rip_writer *writer = &rip__writer;

    if (!rip__file_is_ring(writer->descriptor)) {
        int descriptor = open_again();

        if (descriptor < 0)
            return false;
        writer->descriptor = rip__raise_descriptor(descriptor);
    }
    return rip__set_lock(writer->descriptor, F_SETLK, F_WRLCK, RIP_LOCK_HOLDER_OFFSET + index, 1);
}

/* May the process of a record still use the ring? ------------------------------------------------------------------ */

enum { STAT_THREADS = 20, STAT_START_TIME = 22 }; /* fields of /proc/PID/stat */

/* Facts ------------------------------------------------------------------------------------------------------------ */

/*
 * Returns the number at the start of text. Does not use strtoull(): it costs two more pages at the start of a small
 * program.
 */
static uint64_t leading_number(const char *text)
{
    uint64_t value = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

/* Format: "pid (comm) state ppid ...". comm may contain anything, so the fields count from the last parenthesis. */
static bool parse_stat(const char *text, struct rip_process_facts *ret_facts)
{
    const char *open_mark = strchr(text, '('), *close_mark = strrchr(text, ')');
    struct rip_process_facts facts = {0};
    const char *next;
    size_t bytes;

    if (open_mark == NULL || close_mark == NULL || close_mark < open_mark || close_mark[1] != ' ')
        return false;
    bytes = (size_t)(close_mark - open_mark - 1);
    memcpy(facts.comm, open_mark + 1, bytes < sizeof(facts.comm) ? bytes : sizeof(facts.comm));
    next = close_mark + 2;
    facts.state = *next;
    for (unsigned field = 3; field < STAT_START_TIME; field++) {
        next = strchr(next, ' ');
        if (next == NULL)
            return false;
        next++;
        if (field + 1 == STAT_THREADS)
            facts.thread_count = (uint32_t)leading_number(next);
    }
    facts.start_time_ticks = leading_number(next);
    *ret_facts = facts;
    return facts.start_time_ticks != 0;
}

int rip__process_facts(const char *path, struct rip_process_facts *ret_facts)
{
    char text[1024];
    ssize_t bytes = rip__read_text(path, text, sizeof(text));

    if (bytes < 0)
        return (int)bytes;
    return parse_stat(text, ret_facts) ? 0 : -EPROTO;
}

/*
 * The pid namespace of a process never changes, but a child may be in another one. Reads the text of the link,
 * "pid:[INODE]": stat() would make the kernel create the inode for nothing.
 */
uint64_t rip__pid_namespace(void)
{
    static const char prefix[] = "pid:[";
    struct rip_writer *writer = &rip__writer;
    char text[32] = "";

    if (writer->pid_namespace == 0 || writer->pid != getpid()) {
        ssize_t bytes = readlink(RIP_PROC_OWN("ns/pid"), text, sizeof(text) - 1);
        bool known = bytes > 0 && strncmp(text, prefix, sizeof(prefix) - 1) == 0;

        writer->pid_namespace = known ? leading_number(text + sizeof(prefix) - 1) : 0;
    }
    return writer->pid_namespace;
}

bool rip__set_lock(int descriptor, int command, short type, uint64_t offset, uint64_t bytes)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)bytes};

    return fcntl(descriptor, command, &lock) == 0;
}

bool rip__locked(int descriptor, uint64_t offset, uint64_t bytes)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)bytes};

    return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Judging ---------------------------------------------------------------------------------------------------------- */

void rip__evidence_of_ring(struct rip_evidence *ret_evidence)
{
    *ret_evidence = (struct rip_evidence){
        .descriptor = rip__file_is_ring(rip__writer.descriptor) ? rip__writer.descriptor : -1,
        .holder_offset = RIP_LOCK_HOLDER_OFFSET,
        .life_offset = RIP_LOCK_LIFE_OFFSET,
        .pid_namespace = rip__pid_namespace(),
        .now_boot_ns = rip__clock_ns(CLOCK_BOOTTIME),
    };
}

/* Returns true if pid runs and was started in [first, last]. 0 = the start time is not known: any time matches. */
static bool pid_started_within(uint32_t pid, uint64_t first_ticks, uint64_t last_ticks)
{
    struct rip_process_facts facts;
    char path[32];
    int result;

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    result = rip__process_facts(path, &facts);
    if (result < 0) /* no such pid, or /proc hides it */
        return kill((pid_t)pid, 0) == 0 || errno == EPERM;
    if ((facts.state == 'Z' || facts.state == 'X') && facts.thread_count <= 1) /* more: only the main thread ended */
        return false;
    return first_ticks == 0 || (facts.start_time_ticks >= first_ticks && facts.start_time_ticks <= last_ticks);
}

static uint64_t ticks_of_ns(uint64_t boot_ns)
{
    return boot_ns / (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* No pid yet: judged by age and parent. A pid without a lock: it must have started when the embryo was made. */
static bool embryo_alive(const struct rip_evidence *evidence, const struct rip_process_info *info)
{
    uint64_t age_ns = evidence->now_boot_ns - info->entered_boot_ns;
    uint64_t kept_ticks = ticks_of_ns(info->entered_boot_ns);

    if (info->pid != 0)
        return pid_started_within(info->pid, kept_ticks > 1 ? kept_ticks - 1 : 1,
                                  kept_ticks + ticks_of_ns(RIP_EMBRYO_LIMIT_NS));
    if (age_ns < RIP_EMBRYO_GRACE_NS)
        return true;
    return age_ns < RIP_EMBRYO_LIMIT_NS && pid_started_within(info->parent_pid, 0, 0);
}

/*
 * A lock proves life. If a record had its LIFE lock and has it no longer, its address space is gone, even if the same
 * pid runs on after exec. Without a LIFE lock the pid must decide; a pid of another pid namespace proves nothing.
 */
bool rip__process_alive(const struct rip_evidence *evidence, uint32_t index, const struct rip_process_info *info)
{
    if (info->state == RIP_PROCESS_EXITED)
        return false;
    if (evidence->descriptor >= 0) {
        if (rip__locked(evidence->descriptor, evidence->life_offset + index, 1) ||
            rip__locked(evidence->descriptor, evidence->holder_offset + index, 1))
            return true;
        if ((info->flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0)
            return false;
    }
    if (evidence->pid_namespace != info->pid_namespace &&
        (info->pid_namespace != 0 || (info->flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0))
        return true;
    if (info->state == RIP_PROCESS_EMBRYO)
        return embryo_alive(evidence, info);
    return pid_started_within(info->pid, info->start_time_ticks, info->start_time_ticks);
}

/* Claiming --------------------------------------------------------------------------------------------------------- */

static bool claim_from(struct rip_process *process, uint32_t state)
{
    if (!rip_compare_exchange(&process->state, &state, RIP_PROCESS_CLAIMED))
        return false;
    rip_fence_release(); /* pairs with the acquire fence after the copy of a record in reader.c */
    rip_add_relaxed(&process->generation, 1);
    return true;
}

/*
 * Returns true for an embryo of this process that no child will use: the child has ended or called exec, or the fork
 * failed. If it has no LIFE lock yet, its child may not have run at all: allow it the grace time.
 */
static bool is_unused_embryo(const struct rip_evidence *evidence, uint32_t index)
{
    struct rip_process_info info;

    if (rip_view_process(&rip__writer.view, index, &info) != RIP_OK || info.state != RIP_PROCESS_EMBRYO)
        return false;
    if ((info.flags & RIP_PROCESS_HAS_LIFE_LOCK) == 0 &&
        evidence->now_boot_ns - info.entered_boot_ns <= RIP_EMBRYO_GRACE_NS)
        return false;
    return !rip__process_alive(evidence, index, &info);
}

static bool claim_idle(uint32_t high_water, uint32_t *ret_index)
{
    struct rip_evidence evidence;
    bool has_evidence = false;

    for (uint32_t i = 0; i < high_water; i++) {
        struct rip_process *process = rip__process_at(i);
        uint32_t state = rip_load_acquire(&process->state); /* pairs with the release of EXITED in leave() */
        bool is_claimable = state == RIP_PROCESS_FREE || state == RIP_PROCESS_EXITED;

        if (state == RIP_PROCESS_EMBRYO && rip_load_relaxed(&process->parent_pid) == (uint32_t)getpid()) {
            if (!has_evidence)
                rip__evidence_of_ring(&evidence);
            has_evidence = true;
            is_claimable = is_unused_embryo(&evidence, i);
        }
        if (is_claimable && claim_from(process, state)) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

/* Backs the next record before readers may read it. */
static int claim_new(uint32_t *ret_index)
{
    struct rip_ring *ring = rip__header();

    for (;;) {
        uint32_t index = rip_load_relaxed(&ring->process_high_water);
        int result;

        if (index >= rip__writer.geometry.process_capacity)
            return -ENOSPC;
        result =
            rip__populate(rip__writer.geometry.process_offset + (uint64_t)index * RIP_PROCESS_BYTES, RIP_PROCESS_BYTES);
        if (result < 0)
            return result;
        /* pairs with the acquire of process_high_water in reader.c */
        if (rip_compare_exchange(&ring->process_high_water, &index, index + 1) &&
            claim_from(rip__process_at(index), RIP_PROCESS_FREE)) {
            *ret_index = index;
            return 0;
        }
    }
}

static bool claim_dead(uint32_t high_water, uint32_t *ret_index)
{
    struct rip_evidence evidence;

    rip__evidence_of_ring(&evidence);
    for (uint32_t i = 0; i < high_water; i++) {
        struct rip_process_info info;

        if (i == rip__writer.process || rip_view_process(&rip__writer.view, i, &info) != RIP_OK ||
            rip__process_alive(&evidence, i, &info))
            continue;
        if (info.state != RIP_PROCESS_EMBRYO)
            rip__slot_sweep(i);
        if (rip_load_relaxed(&rip__process_at(i)->generation) == info.generation &&
            claim_from(rip__process_at(i), info.state)) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

int rip__process_claim(uint32_t *ret_index)
{
    uint32_t high_water = rip_load_relaxed(&rip__header()->process_high_water);
    int result;

    if (high_water > rip__writer.geometry.process_capacity)
        high_water = rip__writer.geometry.process_capacity;
    if (claim_idle(high_water, ret_index))
        return 0;
    result = claim_new(ret_index);
    if (result < 0 && claim_dead(high_water, ret_index))
        return 0;
    return result;
}

/* Entering --------------------------------------------------------------------------------------------------------- */

static void store_comm(struct rip_process *process, const char comm[RIP_COMM_BYTES])
{
    for (size_t i = 0; i < RIP_COMM_BYTES; i++)
        rip_store_relaxed(&process->comm[i], (uint8_t)comm[i]);
}

static void fill_record(struct rip_process *process)
{
    char comm[RIP_COMM_BYTES] = {0};

    prctl(PR_GET_NAME, comm); /* of this thread; the same as of the process if this is the main thread */
    store_comm(process, comm);
    rip_store_relaxed(&process->start_time_ticks, 0);
    rip_store_relaxed(&process->pid_namespace, 0);
    rip_store_relaxed(&process->entered_boot_ns, rip__clock_ns(CLOCK_BOOTTIME));
    rip_store_relaxed(&process->parent_pid, (uint32_t)getppid());
    rip_store_relaxed(&process->uid, geteuid());
    rip_store_relaxed(&process->module_count, 0);
    rip_store_relaxed(&process->pid, (uint32_t)getpid());
}

/* Stores what is read from /proc. */
static void describe(struct rip_process *process, bool with_comm)
{
    struct rip_process_facts facts;

    rip__writer.described = true;
    rip__fork_watch();
    rip__file_note_boot_id();
    rip_store_relaxed(&process->pid_namespace, rip__pid_namespace());
    if (rip__process_facts("/proc/self/stat", &facts) < 0)
        return;
    rip_store_relaxed(&process->start_time_ticks, facts.start_time_ticks);
    if (with_comm)
        store_comm(process, facts.comm);
}

void rip__process_describe(void)
{
    if (rip__writer.entered && !rip__writer.described)
        describe(rip__process_at(rip__writer.process), false);
}

/*
 * Creating the inodes for a look into /proc slows down the start of a small program. So the preload library postpones
 * it until the first announced call. Until then the LIFE lock alone decides about the record.
 */
static bool may_describe_later(uint32_t flags)
{
    return (flags & RIP_PROCESS_PRELOADED) != 0 && (flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0 && gettid() == getpid();
}

/* Finds the record reserved by the parent, or claims another one. *ret_state is its current state. */
static int find_record(uint32_t *ret_index, uint32_t *ret_state)
{
    uint32_t index, generation;

    *ret_state = RIP_PROCESS_EMBRYO;
    if (rip__fork_embryo(&index, &generation)) {
        struct rip_process *process = rip__process_at(index);

        if (rip_load_acquire(&process->state) == RIP_PROCESS_EMBRYO &&
            rip_load_relaxed(&process->generation) == generation) {
            *ret_index = index;
            return 0;
        }
        rip__process_drop_life(); /* another process took the record: drop the lock of it */
    }
    *ret_state = RIP_PROCESS_CLAIMED;
    return rip__process_claim(ret_index);
}

static int enter_once(void)
{
    struct rip_writer *writer = &rip__writer;
    struct rip_process *process;
    uint32_t index, state, flags;
    int result = find_record(&index, &state);

    if (result < 0)
        return result;
    process = rip__process_at(index);
    rip_store_relaxed(&process->flags, 0); /* still has the flags of its last owner */
    flags = writer->preloaded ? RIP_PROCESS_PRELOADED : writer->compiled ? RIP_PROCESS_COMPILED : 0;
    if (rip__process_take_life(index))
        flags |= RIP_PROCESS_HAS_LIFE_LOCK;
    fill_record(process);
    writer->described = false;
    if (!may_describe_later(flags))
        describe(process, true);
    if (take_holder(index))
        flags |= RIP_PROCESS_HAS_HOLDER_LOCK;
    rip_store_relaxed(&process->flags, flags);
    writer->generation = rip_load_relaxed(&process->generation);
    /* pairs with the acquire of the state in reader.c */
    if (!rip_compare_exchange(&process->state, &state, RIP_PROCESS_LIVE)) {
        rip__process_drop_life();
        return -EAGAIN;
    }
    writer->process = index;
    writer->entered = true;
    rip__modules_write();
    return 0;
}

int rip__process_enter(void)
{
    int result;

    if (rip__writer.entered)
        return 0;
    if (rip__is_filtered())
        return -EPERM;
    result = enter_once();
    if (result == -EAGAIN) /* another process took the embryo at the last moment */
        result = enter_once();
    return result;
}

/* Leaving ---------------------------------------------------------------------------------------------------------- */

/* Returns true if the byte of another record in that range is locked. */
static bool others_lock(int descriptor, uint64_t offset)
{
    const uint32_t own = rip__writer.process, capacity = rip__writer.geometry.process_capacity;

    if (own >= capacity)
        return rip__locked(descriptor, offset, capacity);
    return (own != 0 && rip__locked(descriptor, offset, own)) ||
           (own + 1 < capacity && rip__locked(descriptor, offset + own + 1, capacity - own - 1));
}

static bool others_alive(void)
{
    struct rip_evidence evidence;
    struct rip_process_info info;

    rip__evidence_of_ring(&evidence);
    if (evidence.descriptor >= 0 && (others_lock(evidence.descriptor, RIP_LOCK_LIFE_OFFSET) ||
                                     others_lock(evidence.descriptor, RIP_LOCK_HOLDER_OFFSET)))
        return true;
    for (uint32_t i = 0; i < rip__writer.geometry.process_capacity; i++) {
        enum rip_status status = rip_view_process(&rip__writer.view, i, &info);

        if (i != rip__writer.process &&
            (status == RIP_CHANGED || (status == RIP_OK && rip__process_alive(&evidence, i, &info))))
            return true;
    }
    return false;
}

/* Returns true if no other process has been in the ring, and none can come. */
static bool is_alone(void)
{
    return rip__writer.process == 0 && rip_load_relaxed(&rip__header()->process_high_water) == 1;
}

/* Releases both locks, so that the next process with this record can take them while this process still exits. */
static void drop_locks(void)
{
    rip__process_drop_life();
    if (rip__file_is_ring(rip__writer.descriptor))
        rip__set_lock(rip__writer.descriptor, F_SETLK, F_UNLCK, RIP_LOCK_HOLDER_OFFSET, RIP_PROCESS_MAX);
}

static bool has_record(void)
{
    return rip__writer.process != RIP_NO_PROCESS &&
           rip_load_relaxed(&rip__process_at(rip__writer.process)->generation) == rip__writer.generation;
}

static void leave(bool remove_file_if_last)
{
    uint32_t position = 0, slot, index, generation;
    bool removes = remove_file_if_last && !rip__is_filtered();
    bool alone = is_alone();

    rip__thread_clear();
    if (removes && alone)
        rip__file_unlink();
    while ((slot = rip__table_next(&position)) != RIP_NO_SLOT)
        rip__slot_free(slot);
    rip__table_drop();
    if (!rip__writer.entered && rip__fork_embryo(&index, &generation)) {
        rip__writer.process = index;
        rip__writer.generation = generation;
    }
    if (!rip__is_filtered() && !(removes && alone))
        drop_locks();
    if (has_record())
        /* pairs with the acquire in claim_idle(): the slots are free */
        rip_store_release(&rip__process_at(rip__writer.process)->state, RIP_PROCESS_EXITED);
    if (removes && !alone && !others_alive())
        rip__file_unlink();
}

/*
 * Returns true if an exec ends the ring. Its slots then stay for readers that have it mapped, because no process needs
 * them. If other processes use the ring, most execs come from a forked child that starts a program. Without a LIFE lock
 * the record would look like that of a living process.
 */
static bool exec_ends_ring(void)
{
    return !rip__is_filtered() && rip__writer.entered && has_record() &&
           (rip_load_relaxed(&rip__process_at(rip__writer.process)->flags) & RIP_PROCESS_HAS_LIFE_LOCK) != 0 &&
           (is_alone() || !others_alive());
}

static void leave_to_exec(void)
{
    rip__thread_clear();
    rip__file_unlink();
    rip__table_drop();
    rip__writer.execing = true;
    rip_store_relaxed(&rip__process_at(rip__writer.process)->state, RIP_PROCESS_EXECING);
}

/*
 * Called in the middle of a cold call of this thread: a signal handler has left it by siglongjmp(), or ends the
 * process. The work of that call is half done, so slots and record stay as they are. A file that no other process uses
 * is removed.
 */
static void leave_cold_call(enum rip_leave how)
{
    if (how == RIP_LEAVE_FILE || rip__is_filtered() || rip__fork_unnoticed() || rip__writer.base == NULL ||
        rip__writer.left || !is_alone())
        return;
    rip__writer.left = true;
    rip__thread_clear();
    rip__file_unlink();
}

void rip__leave(enum rip_leave how)
{
    struct rip_guard guard;

    if (!rip__lock(&guard)) {
        leave_cold_call(how);
        return;
    }
    if (rip__writer.base != NULL && !rip__writer.left) {
        rip__writer.left = true;
        if (how == RIP_LEAVE_TO_EXEC && exec_ends_ring())
            leave_to_exec();
        else
            leave(how != RIP_LEAVE_FILE);
    }
    rip__unlock(&guard);
}

/* At exit() and at the return from main(): shows that the end of the process was intended. Only stores a flag. */
__attribute__((destructor)) static void mark_exiting(void)
{
    const struct rip_writer *writer = &rip__writer;
    struct rip_process *process;

    if (writer->base == NULL || !writer->entered || writer->process == RIP_NO_PROCESS)
        return;
    process = rip__process_at(writer->process);
    if (rip_load_relaxed(&process->generation) == writer->generation)
        rip_store_relaxed(&process->flags, rip_load_relaxed(&process->flags) | RIP_PROCESS_EXITING);
}

/* The exec failed. The ring may not be mapped any more. */
static void end_record(void)
{
    const uint32_t exited = RIP_PROCESS_EXITED;
    const struct rip_writer *writer = &rip__writer;
    const uint64_t offset = writer->geometry.process_offset + (uint64_t)writer->process * RIP_PROCESS_BYTES;

    if (rip__file_is_ring(writer->descriptor))
        (void)!pwrite(writer->descriptor, &exited, sizeof(exited),
                      (off_t)(offset + offsetof(struct rip_process, state)));
}

void rip__forget_ring(void)
{
    struct rip_writer *writer = &rip__writer;
    struct rip_guard guard;

    if (!rip__lock(&guard))
        return;
    if (writer->base != NULL && writer->left) {
        if (writer->execing)
            end_record();
        writer->execing = false;
        rip__file_drop_descriptor();
        rip__process_drop_life();
        writer->path[0] = '\0';
        writer->base = NULL;
        writer->process = RIP_NO_PROCESS;
        writer->entered = false;
        writer->left = false;
        writer->swept_boot_ns = 0;
        writer->ended_first = 0;
        writer->only_ended_free = false;
        writer->module_adds = 0;
        writer->module_subs = 0;
        writer->module_count = 0;
        writer->module_written = 0;
        rip__scripts_forget();
        rip_store_release(&rip_ring, NULL);             /* pairs with the acquire loads of rip_ring */
        rip_store_relaxed(&rip__epoch, rip__epoch + 1); /* contexts in the old ring are inert */
    }
    rip__unlock(&guard);
}

void rip__move_ring_fd(void)
{
    struct rip_writer *writer = &rip__writer;
    struct rip_guard guard;

    if (!rip__lock(&guard))
        return;
    if (rip__file_is_ring(writer->descriptor)) {
        int moved = fcntl(writer->descriptor, F_DUPFD_CLOEXEC, writer->descriptor + 1);

        if (moved < 0)
            moved = fcntl(writer->descriptor, F_DUPFD_CLOEXEC, 3);
        close(writer->descriptor);
        writer->descriptor = moved;
        if (writer->entered && !writer->left)
            take_holder(writer->process);
    }
    rip__unlock(&guard);
}

void rip__set_preloaded(int descriptor_wanted)
{
    rip__writer.preloaded = true;
    rip__writer.descriptor_wanted = descriptor_wanted;
}
