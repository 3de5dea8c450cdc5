/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - what happens to a ring around fork().
 *
 * The child inherits the mapping and a copy of this thread's slot pointer. The handlers clear that pointer before the
 * fork and reserve a process record, an embryo. So the ring has a process in it at every instant, even if the parent
 * exits before the child has registered anything.
 *
 * Guarantees
 *   1. Snaps of a forked child never reach a slot of its parent. The slot pointer of its thread is NULL at every
 *      instruction of the child, even if a signal handler forks inside a cold call of the library.
 *   2. The library's mutex is free in the child, whatever other threads of the parent were doing.
 *   3. The child handler calls only async-signal-safe functions.
 *   4. A child of vfork() or posix_spawn() runs on the parent's memory: no handler runs, and nothing changes.
 *   5. A fork that no handler saw (a bare system call) is noticed at the child's next cold call, by a page that the
 *      kernel wipes in the child. Until then the child's snaps do reach the parent's slot.
 *   6. The child has no descriptor of the ring. A child that drops its uid must not be able to truncate the file, which
 *      would kill its parent, or to pass as a process of the file's owner. It opens the file by its path when it
 *      enters.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "writer.h"

/* Values of the page that the kernel wipes in a child. */
enum { MARK_WIPED = 0, MARK_OWN = 1, MARK_IN_PROGRESS = 2 };

struct embryo {
    uint32_t index; /* RIP_NO_PROCESS = none */
    uint32_t generation;
};

/* Protected by the mutex, also from the prepare handler to the parent or child handler. */
static struct {
    struct embryo reserved;   /* for the child of the fork in progress */
    struct embryo own;        /* reserved for this process by its parent; this process may fork before it registers */
    uint32_t *wiped_in_child; /* MARK_*; NULL = not supported by the kernel, or not yet: compare pids */
} fork_state = {.reserved = {.index = RIP_NO_PROCESS}, .own = {.index = RIP_NO_PROCESS}};

/* Of the forking thread, from prepare to parent or child. Nested = the thread is inside a cold call of the library. */
static __thread struct rip_slot *fork_slot __attribute__((tls_model("initial-exec")));
static __thread struct rip_guard fork_guard __attribute__((tls_model("initial-exec")));
static __thread bool fork_is_nested __attribute__((tls_model("initial-exec")));

/* Noticing --------------------------------------------------------------------------------------------------------- */

void rip__fork_mark(void)
{
    if (!rip__is_filtered())
        rip_store_relaxed(&rip__writer.pid, getpid());
    if (fork_state.wiped_in_child != NULL)
        /* pairs with the acquire in rip__fork_unnoticed() */
        rip_store_release(fork_state.wiped_in_child, MARK_OWN);
}

void rip__fork_watch(void)
{
    void *page;

    if (fork_state.wiped_in_child != NULL || rip__is_filtered())
        return;
    page = mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (madvise(page, sizeof(uint32_t), MADV_WIPEONFORK) < 0) {
        munmap(page, sizeof(uint32_t));
        return;
    }
    *(uint32_t *)page = MARK_OWN;
    /* pairs with the acquire in rip__fork_unnoticed() */
    rip_store_release(&fork_state.wiped_in_child, page);
}

static bool is_forked(const uint32_t *wiped_in_child)
{
    pid_t pid = rip_load_relaxed(&rip__writer.pid);

    if (pid == 0)
        return false;
    if (wiped_in_child == NULL)
        return !rip__is_filtered() && pid != getpid();
    /* pairs with the release in rip__fork_mark(): the reset by another thread is visible */
    return rip_load_acquire(wiped_in_child) != MARK_OWN;
}

bool rip__fork_unnoticed(void)
{
    /* pairs with the release in rip__fork_watch() */
    return is_forked(rip_load_acquire(&fork_state.wiped_in_child));
}

bool rip__fork_notice(void)
{
    uint32_t *wiped_in_child = rip_load_acquire(&fork_state.wiped_in_child); /* pairs as above */
    uint32_t mark = MARK_WIPED;

    if (!is_forked(wiped_in_child))
        return false;
    if (wiped_in_child == NULL || rip_compare_exchange(wiped_in_child, &mark, MARK_IN_PROGRESS))
        return true;
    while (rip__fork_unnoticed())
        sched_yield();
    return false;
}

/* The embryo ------------------------------------------------------------------------------------------------------- */

static void reserve_embryo(void)
{
    struct rip_process *process;

    fork_state.reserved.index = RIP_NO_PROCESS;
    if (rip__writer.base == NULL || rip__writer.left || rip_ring == NULL || rip__is_filtered())
        return;
    if (rip__process_claim(&fork_state.reserved.index) < 0) {
        fork_state.reserved.index = RIP_NO_PROCESS;
        return;
    }
    process = rip__process_at(fork_state.reserved.index);
    fork_state.reserved.generation = rip_load_relaxed(&process->generation);
    rip_store_relaxed(&process->flags, 0);
    rip_store_relaxed(&process->pid, 0);
    rip_store_relaxed(&process->start_time_ticks, 0);
    rip_store_relaxed(&process->pid_namespace, rip__pid_namespace());
    rip_store_relaxed(&process->entered_boot_ns, rip__clock_ns(CLOCK_BOOTTIME));
    rip_store_relaxed(&process->parent_pid, (uint32_t)rip__writer.pid);
    rip_store_relaxed(&process->uid, geteuid());
    rip_store_relaxed(&process->module_count, 0);
    rip_store_release(&process->state, RIP_PROCESS_EMBRYO); /* pairs with the acquire of the state in reader.c */
}

/* In the child: the embryo becomes the record of this process, and lives as long as this address space. */
static void adopt_embryo(void)
{
    struct rip_process *process;
    uint32_t no_pid = 0;

    if (fork_state.reserved.index == RIP_NO_PROCESS)
        return;
    process = rip__process_at(fork_state.reserved.index);
    if (rip_load_acquire(&process->state) != RIP_PROCESS_EMBRYO ||
        rip_load_relaxed(&process->generation) != fork_state.reserved.generation ||
        !rip_compare_exchange(&process->pid, &no_pid, (uint32_t)getpid()))
        return;
    fork_state.own = fork_state.reserved;
    if (rip__process_take_life(fork_state.own.index))
        rip_store_release(&process->flags, RIP_PROCESS_HAS_LIFE_LOCK); /* pairs with the fence in reader.c */
}

bool rip__fork_embryo(uint32_t *ret_index, uint32_t *ret_generation)
{
    if (fork_state.own.index == RIP_NO_PROCESS)
        return false;
    *ret_index = fork_state.own.index;
    *ret_generation = fork_state.own.generation;
    fork_state.own.index = RIP_NO_PROCESS;
    return true;
}

/* The handlers ----------------------------------------------------------------------------------------------------- */

void rip__fork_reset(void)
{
    struct rip_writer *writer = &rip__writer;

    rip_store_relaxed(&rip__epoch, rip__epoch + 1);
    rip__thread_clear();
    rip__table_drop();
    fork_state.own.index = RIP_NO_PROCESS; /* the parent's, if the parent has not registered */
    writer->life_mapping = NULL;           /* not inherited */
    writer->pid_namespace = 0;
    writer->process = RIP_NO_PROCESS;
    writer->entered = false;
    writer->module_written = 0;
    if (rip__is_filtered()) /* its record and its locks would need system calls */
        writer->left = true;
    rip__fork_mark();
}

static void before_fork(void)
{
    fork_is_nested = rip__is_inside() || rip__modules_is_listing();
    if (!fork_is_nested) {
        if (rip__fork_unnoticed() && rip__lock(&fork_guard)) /* resets mutexes that parent threads hold */
            rip__unlock(&fork_guard);
        rip__modules_before_fork();
        rip__lock(&fork_guard);
    }
    fork_slot = rip__thread.slot;
    rip__thread.slot = NULL; /* from here on snaps of a signal handler are dropped, in both processes */
    rip_signal_fence();
    if (fork_is_nested)
        return;
    reserve_embryo();
    errno = fork_guard.saved_errno;
}

static void after_fork_in_parent(void)
{
    rip_signal_fence();
    rip__thread.slot = fork_slot;
    if (fork_is_nested)
        return;
    fork_guard.saved_errno = errno;
    rip__unlock(&fork_guard);
    rip__modules_after_fork(true);
}

static void after_fork_in_child(void)
{
    if (fork_is_nested)
        return;
    fork_guard.saved_errno = errno;
    if (rip__writer.pid != 0) { /* there is or was a ring */
        rip__fork_reset();
        adopt_embryo();
        rip__file_drop_descriptor();
    }
    rip__unlock(&fork_guard);
    rip__modules_after_fork(true);
}

/* As early as possible: handlers registered later run before before_fork(), and after after_fork_in_child(). */
__attribute__((constructor)) static void register_handlers(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
