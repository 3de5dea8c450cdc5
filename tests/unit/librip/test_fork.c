/* SPDX-License-Identifier: Apache-2.0 */
/* test_fork.c - the ring after fork, vfork, posix_spawn and exec: librip/fork.c. */
#include "unit/writer_test.h"

#include <link.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>

static struct rip_slot *parent_slot, parent_copy;

/* The slot and its contents at the fork. */
static void keep_parent_slot(struct rip_slot *slot)
{
    parent_slot = slot;
    memcpy(&parent_copy, slot, sizeof(parent_copy));
}

static bool parent_slot_is_unchanged(void)
{
    return memcmp(&parent_copy, parent_slot, sizeof(parent_copy)) == 0;
}

static void enter_ring(void)
{
    make_ring(100);
    register_id(1, "parent");
    snap_times(10);
    keep_parent_slot(rip__thread.slot);
}

/* Like in_child(), but no fork handlers run. */
static bool in_cloned_child(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

    if (pid != 0)
        CHECK(exit_status_of(pid) == 0);
    return pid == 0;
}

static void snap_a_lot(void)
{
    for (unsigned i = 0; i < 100; i++) {
        rip_snap();
        rip_snap_at(&test_directory);
        rip_idle();
    }
}

/* The slot --------------------------------------------------------------------------------------------------------- */

FORKED_TEST(child_never_touches_the_parents_slot)
{
    struct rip_context context;

    enter_ring();
    if (in_child()) {
        CHECK(rip_tid == 0 && rip_idx == 0 && rip_ctr == 0 && rip__thread.slot == NULL);
        snap_a_lot();
        rip_switch(&context, NULL);
        snap_a_lot();
        rip_exit();
        CHECK(parent_slot_is_unchanged());
        register_id(1, "child"); /* the same id, in another process */
        CHECK(rip__thread.slot != NULL && rip__thread.slot != parent_slot && rip__thread.slot->process == 1);
        snap_a_lot();
        CHECK(parent_slot_is_unchanged());
        rip_exit();
        CHECK(parent_slot_is_unchanged());
        _exit(0);
    }
    CHECK(parent_slot_is_unchanged());
    CHECK(rip__thread.slot == parent_slot && rip_tid == 1 && rip_ctr == 10);
    rip_snap();
    CHECK(parent_slot->count == 11);
}

FORKED_TEST(contexts_of_the_parent_are_inert)
{
    struct rip_context context;

    enter_ring();
    CHECK(rip_context_init(&context, 2, "two", 3));
    keep_parent_slot(context.slot);
    if (in_child()) {
        rip_switch(NULL, &context);
        snap_a_lot();
        rip_context_exit(&context);
        CHECK(rip_tid == 0 && parent_slot_is_unchanged());
        CHECK(rip_context_init(&context, 2, "two", 3) && context.slot != parent_slot);
        _exit(0);
    }
    CHECK(parent_slot_is_unchanged());
}

static volatile sig_atomic_t ticks;

static void snap_in_handler(int signal)
{
    (void)signal;
    ticks++;
    rip_snap();
}

/*
 * A signal handler that snaps at any time during fork(), in either process, never writes the parent's slot from the
 * child.
 */
FORKED_TEST(handler_that_snaps_during_fork)
{
    struct rip_slot *slot;

    enter_ring();
    slot = rip__thread.slot;
    CHECK(signal(SIGUSR1, snap_in_handler) != SIG_ERR);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t count = slot->count;

        raise(SIGUSR1);
        CHECK(slot->count == count + 1);
        if (in_child()) {
            for (unsigned n = 0; n < 20; n++)
                raise(SIGUSR1);
            _exit(0);
        }
        CHECK(slot->count == count + 1);
    }
}

static void (*during_fork)(void);

static void act_during_fork(void)
{
    if (during_fork != NULL)
        during_fork();
}

/*
 * Registered before the library's handlers: runs after the library's prepare handler, and before its parent and child
 * handlers.
 */
__attribute__((constructor(101))) static void register_early(void)
{
    pthread_atfork(act_during_fork, act_during_fork, act_during_fork);
}

FORKED_TEST(nothing_is_traced_during_fork)
{
    struct rip_slot *slot;
    pid_t pid;

    enter_ring();
    slot = rip__thread.slot;
    during_fork = snap_a_lot;
    pid = fork();
    if (pid == 0)
        _exit(slot->count == 10 ? 0 : 1);
    CHECK(exit_status_of(pid) == 0);
    CHECK(slot->count == 10 && rip__thread.slot == slot && rip_ctr == 10);
}

static void fork_in_handler(int signal)
{
    (void)signal;
    if (in_child()) {
        CHECK(rip__thread.slot == NULL);
        snap_a_lot();
        _exit(0);
    }
}

/* The same if the handler interrupts a call of the library. */
FORKED_TEST(handler_that_forks_in_a_cold_call)
{
    struct rip_slot *slot;
    struct rip_guard guard;

    enter_ring();
    slot = rip__thread.slot;
    CHECK(signal(SIGUSR1, fork_in_handler) != SIG_ERR);
    CHECK(rip__lock(&guard));
    raise(SIGUSR1);
    rip__unlock(&guard);
    CHECK(slot->count == 10 && rip__thread.slot == slot && own_live_count() == 1);
}

/* The record ------------------------------------------------------------------------------------------------------- */

FORKED_TEST(embryo_becomes_live)
{
    int go[2], done[2];
    pid_t pid;

    CHECK(pipe(go) == 0 && pipe(done) == 0);
    enter_ring();
    pid = fork();
    if (pid == 0) {
        signal_pipe(done);
        await_pipe(go);
        register_id(1, "child");
        signal_pipe(done);
        await_pipe(go);
        _exit(0);
    }
    await_pipe(done);
    CHECK(own_process_info(1).state == RIP_PROCESS_EMBRYO && own_process_info(1).pid == (uint32_t)pid);
    CHECK(own_process_info(1).parent_pid == (uint32_t)getpid() &&
          own_process_info(1).flags == RIP_PROCESS_HAS_LIFE_LOCK);
    signal_pipe(go);
    await_pipe(done);
    CHECK(own_process_info(1).state == RIP_PROCESS_LIVE && own_process_info(1).pid == (uint32_t)pid);
    CHECK(own_process_info(1).start_time_ticks >= own_process_info(0).start_time_ticks);
    CHECK(own_process_info(1).module_count == own_process_info(0).module_count && own_process_info(0).module_count > 0);
    signal_pipe(go);
    CHECK(exit_status_of(pid) == 0);
    CHECK(rip_ring->process_high_water == 2);
}

/* A child does not keep its parent's LIFE lock. */
FORKED_TEST(life_lock_of_the_parent_ends_with_it)
{
    int go[2], done[2];
    struct mapped_ring mapped_ring;

    CHECK(pipe(go) == 0 && pipe(done) == 0);
    if (fork() == 0) {
        enter_ring();
        if (fork() == 0) {
            signal_pipe(done);
            await_pipe(go);
            _exit(0);
        }
        await_pipe(done);
        die();
    }
    CHECK(exit_status_of(-1) == 1000 + SIGKILL);
    mapped_ring = map_ring(test_path("ring"));
    CHECK(lock_holder(mapped_ring.descriptor, mapped_ring.view.lock_holder_offset) == 0);
    CHECK(lock_holder(mapped_ring.descriptor, mapped_ring.view.lock_life_offset) == 0);
    CHECK(lock_holder(mapped_ring.descriptor, mapped_ring.view.lock_life_offset + 1) == -1);
    signal_pipe(go);
}

/* A daemon forks twice; each parent exits at once. Only the grandchild registers, late. */
FORKED_TEST(double_fork_daemon)
{
    int done[2], go[2];

    CHECK(pipe(done) == 0 && pipe(go) == 0);
    if (in_child()) {
        enter_ring();
        if (fork() != 0)
            _exit(0);
        setsid();
        if (fork() != 0)
            _exit(0);
        signal_pipe(done);
        await_pipe(go);
        register_traced(1, "daemon");
        signal_pipe(done);
        await_pipe(go);
        _exit(0);
    }
    await_pipe(done);
    sleep_ms(1200); /* longer than an embryo without a child counts as alive */
    CHECK(!rip_create_ring(test_path("ring"), 100) && errno == EBUSY);
    signal_pipe(go);
    await_pipe(done);
    CHECK(!rip_create_ring(test_path("ring"), 100) && errno == EBUSY);
    signal_pipe(go);
    sleep_ms(200);
    make_ring(100);
}

/* The parent exits before the child has run at all. */
FORKED_TEST(parent_exits_before_the_child_runs)
{
    for (unsigned i = 0; i < 50; i++) {
        int done[2];

        CHECK(pipe(done) == 0);
        if (in_child()) {
            enter_ring();
            if (fork() == 0) {
                sleep_ms(5);
                register_traced(1, "child");
                await_pipe(done);
                _exit(0);
            }
            _exit(0);
        }
        if (in_child()) {
            CHECK(!rip_create_ring(test_path("ring"), 100) && errno == EBUSY);
            _exit(0);
        }
        signal_pipe(done);
        close(done[0]);
        close(done[1]);
        CHECK(unlink(test_path("ring")) == 0);
    }
}

/* A child that called exec and outlives its parent does not keep the parent's ring in use. */
FORKED_TEST(exec_child_does_not_keep_the_ring)
{
    pid_t helper = 0;
    int tube[2];

    CHECK(pipe(tube) == 0);
    if (fork() == 0) {
        enter_ring();
        helper = fork();
        if (helper == 0) {
            execl("/bin/sleep", "sleep", "60", NULL);
            _exit(1);
        }
        CHECK(write(tube[1], &helper, sizeof(helper)) == sizeof(helper));
        sleep_ms(300);
        _exit(0);
    }
    CHECK(read(tube[0], &helper, sizeof(helper)) == sizeof(helper));
    CHECK(exit_status_of(-1) == 0 && kill(helper, 0) == 0);
    make_ring(100);
    kill(helper, SIGKILL);
}

/* Another process has taken the child's embryo record: the child takes another record. */
FORKED_TEST(embryo_taken_by_another_process)
{
    enter_ring();
    if (in_child()) {
        rip__process_at(1)->generation++;
        rip__process_at(1)->state = RIP_PROCESS_LIVE;
        register_traced(1, "child");
        CHECK(rip__thread.slot->process == 2);
        CHECK(own_process_info(2).flags == BOTH_LOCKS);
        _exit(0);
    }
}

static pid_t parent;

static void take_embryo(void)
{
    if (getpid() != parent)
        rip__process_at(1)->state = RIP_PROCESS_LIVE;
}

/* The same before the library's child handler has run. */
FORKED_TEST(embryo_taken_during_fork)
{
    enter_ring();
    parent = getpid();
    during_fork = take_embryo;
    if (in_child()) {
        register_traced(1, "child");
        CHECK(rip__thread.slot->process == 2 && rip__process_at(1)->pid == 0);
        _exit(0);
    }
}

/* The descriptor --------------------------------------------------------------------------------------------------- */

static int count_descriptors_of_ring(void)
{
    int count = 0;

    for (int i = 0; i < 1024; i++)
        count += rip__file_is_ring(i);
    return count;
}

/* A process with the descriptor could truncate the parent's file, and would look like a process of the file's owner. */
FORKED_TEST(child_has_no_descriptor_of_the_ring)
{
    enter_ring();
    CHECK(count_descriptors_of_ring() == 1);
    if (in_child()) {
        CHECK(count_descriptors_of_ring() == 0 && rip__ring_fd() == -1);
        CHECK((own_process_info(1).flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0);
        if (in_child()) {
            CHECK(count_descriptors_of_ring() == 0);
            register_id(3, "grandchild");
            CHECK(count_descriptors_of_ring() == 1);
            _exit(0);
        }
        register_id(2, "child");
        CHECK(count_descriptors_of_ring() == 1);
        CHECK(own_process_info(1).flags == BOTH_LOCKS);
        _exit(0);
    }
    if (in_cloned_child()) {
        rip_exit(); /* the first cold call detects the fork */
        CHECK(count_descriptors_of_ring() == 0);
        _exit(0);
    }
    CHECK(count_descriptors_of_ring() == 1);
    CHECK(rip__locked(rip__writer.descriptor, RIP_LOCK_LIFE_OFFSET, 1));
}

/* The child may not open the file: it is traced, and no HOLDER lock shows that it is alive. */
FORKED_TEST(child_that_drops_its_uid)
{
    struct mapped_ring mapped_ring;

    if (geteuid() != 0)
        skip_test("changing the uid needs root");
    enter_ring();
    if (in_child()) {
        CHECK(setresgid(61001, 61001, 61001) == 0 && setresuid(61001, 61001, 61001) == 0);
        CHECK(truncate(test_path("ring"), 0) < 0 && errno == EACCES);
        register_traced(2, "child");
        CHECK(count_descriptors_of_ring() == 0);
        snap_a_lot();
        CHECK(own_process_info(1).flags == RIP_PROCESS_HAS_LIFE_LOCK && own_process_info(1).uid == 61001);
        _exit(0);
    }
    mapped_ring = map_ring(test_path("ring"));
    CHECK(lock_holder(mapped_ring.descriptor, mapped_ring.view.lock_holder_offset + 1) == 0);
}

/* Other ways to create a process ----------------------------------------------------------------------------------- */

FORKED_TEST(vfork_changes_nothing)
{
    uint32_t epoch, high_water;
    struct rip_slot *slot;
    pid_t pid;

#if defined(RIP_PORTABLE_SNAP) && defined(__x86_64__)
    skip_test("the thread sanitizer replaces vfork() by fork()");
#endif
    enter_ring();
    epoch = rip__epoch;
    high_water = rip_ring->process_high_water;
    slot = rip__thread.slot;
    pid = vfork();
    if (pid == 0) {
        rip_snap(); /* counts for the parent, which waits */
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    CHECK(exit_status_of(pid) == 0);
    CHECK(rip__epoch == epoch && rip__thread.slot == slot && rip_ring->process_high_water == high_water);
    rip_snap();
    CHECK(slot->count == 12);
    register_traced(2, "two");
}

FORKED_TEST(spawn_changes_nothing)
{
    char *const arguments[] = {(char[]){"true"}, NULL};
    pid_t pid;

    enter_ring();
    CHECK(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) == 0);
    CHECK(exit_status_of(pid) == 0);
    CHECK(rip_ring->process_high_water == 1 && rip__thread.slot->count == 10);
}

/*
 * A fork without handlers, while another thread of the parent holds the mutex. That thread does not exist in the child.
 */
FORKED_TEST(fork_by_bare_system_call)
{
    enter_ring();
    pthread_mutex_lock(&rip__writer.mutex);
    if (in_cloned_child()) {
        alarm(60);
        rip_exit(); /* the first cold call detects the fork */
        CHECK(parent_slot_is_unchanged());
        register_traced(1, "child");
        CHECK(rip__thread.slot != parent_slot && rip__thread.slot->process == 1);
        snap_a_lot();
        CHECK(parent_slot_is_unchanged());
        _exit(0);
    }
    pthread_mutex_unlock(&rip__writer.mutex);
}

static int listed[2], go_on[2];

static int hold_loader_lock(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info;
    (void)size;
    (void)unused;
    signal_pipe(listed);
    await_pipe(go_on);
    return 1;
}

static void *hold_module_list(void *unused)
{
    dl_iterate_phdr(hold_loader_lock, NULL);
    return unused;
}

static void *refresh(void *unused)
{
    rip_refresh_modules();
    return unused;
}

/* The same while another thread lists the modules: a fork() in the child does not wait for that thread. */
FORKED_TEST(fork_after_bare_system_call)
{
    pthread_t holder, lister;

#if defined(RIP_PORTABLE_SNAP) && defined(__x86_64__)
    skip_test("the thread sanitizer's fork() waits for threads that a bare clone() did not copy");
#endif
    enter_ring();
    CHECK(pipe(listed) == 0 && pipe(go_on) == 0);
    holder = start_thread(hold_module_list, NULL);
    await_pipe(listed);
    lister = start_thread(refresh, NULL);
    sleep_ms(200); /* by now it waits for the loader's lock */
    if (in_cloned_child()) {
        alarm(10);
        if (in_child()) {
            register_traced(1, "grandchild");
            _exit(0);
        }
        _exit(0);
    }
    signal_pipe(go_on);
    join_thread(holder);
    join_thread(lister);
}

static pthread_barrier_t all_at_once;

static void *register_at_once(void *unused)
{
    pthread_barrier_wait(&all_at_once);
    register_traced(0, "thread");
    CHECK(rip__thread.slot->process == rip__writer.process);
    pthread_barrier_wait(&all_at_once);
    return unused;
}

/* Several threads of such a child detect the fork at once: one resets the state, the others wait for it. */
FORKED_TEST(threads_after_bare_system_call)
{
    enter_ring();
    for (unsigned round = 0; round < 50; round++) {
        pthread_t threads[8];

        if (in_cloned_child()) {
            alarm(60);
            CHECK(pthread_barrier_init(&all_at_once, NULL, 8) == 0);
            for (unsigned i = 0; i < 8; i++)
                threads[i] = start_thread(register_at_once, NULL);
            for (unsigned i = 0; i < 8; i++)
                join_thread(threads[i]);
            CHECK(own_live_count() == 1); /* only the parent's id */
            rip__leave(RIP_LEAVE_FILE);
            _exit(0);
        }
    }
    CHECK(rip_ring->process_high_water == 2);
}

/* Threads ---------------------------------------------------------------------------------------------------------- */

static void *register_in_a_loop(void *unused)
{
    for (;;) {
        register_id(0, "busy");
        rip_snap();
        rip_exit();
    }
    return unused;
}

/* Other threads are inside the library during fork(): the child does not wait for them. */
FORKED_TEST(fork_while_others_register)
{
    enter_ring();
    for (unsigned i = 0; i < 3; i++)
        start_thread(register_in_a_loop, NULL);
    for (unsigned i = 0; i < 200; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            alarm(60);
            register_traced(0, "child");
            rip_refresh_modules(); /* the loader's lock is not released by any fork handler */
            rip_exit();
            rip__leave(RIP_LEAVE_FILE);
            _exit(0);
        }
        CHECK(exit_status_of(pid) == 0);
    }
}

/* Each generation of children has its own record and slots. */
FORKED_TEST(chain_of_children)
{
    enter_ring();
    for (unsigned depth = 1; depth <= 10; depth++) {
        pid_t pid = fork();

        if (pid != 0) {
            CHECK(exit_status_of(pid) == 0);
            CHECK(rip__thread.slot != NULL && rip__thread.slot->count == 10);
            if (depth > 1)
                _exit(0);
            return;
        }
        if (depth % 2 == 0)
            rip_refresh_modules();
        register_id(1, "child");
        snap_times(10);
        CHECK(rip__thread.slot->process == depth && own_live_count() == depth + 1);
    }
    _exit(0);
}

static void check_life_lock_is_real(void)
{
    uint32_t own = rip__writer.process;

    CHECK((own_process_info(own).flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0);
    CHECK(rip__locked(rip__writer.descriptor, RIP_LOCK_LIFE_OFFSET + own, 1));
    rip__process_drop_life();
    CHECK(!rip__locked(rip__writer.descriptor, RIP_LOCK_LIFE_OFFSET + own, 1));
}

/*
 * A supervisor forks its workers before it registers. It still gets the record that its parent reserved, and holds the
 * lock that its flags claim: with the flag and without the lock it would count as dead as soon as the HOLDER lock is
 * lost.
 */
FORKED_TEST(child_that_forks_before_it_registers)
{
    int done[2], go[2];

    CHECK(pipe(done) == 0 && pipe(go) == 0);
    enter_ring();
    if (fork() == 0) {
        if (in_child()) {
            register_id(3, "worker");
            CHECK(rip__writer.process == 2);
            check_life_lock_is_real();
            _exit(0);
        }
        register_id(2, "supervisor");
        CHECK(rip__writer.process == 1 && rip__thread.slot != NULL);
        signal_pipe(done);
        await_pipe(go);
        check_life_lock_is_real();
        _exit(0);
    }
    await_pipe(done);
    CHECK(own_process_info(1).state == RIP_PROCESS_LIVE);
    CHECK(rip__locked(rip__writer.descriptor, RIP_LOCK_LIFE_OFFSET + 1, 1));
    signal_pipe(go);
    CHECK(exit_status_of(-1) == 0);
}

/* A child that is forked without handlers does not get the record reserved for its parent. */
FORKED_TEST(embryo_is_not_inherited)
{
    enter_ring();
    if (in_child()) {
        if (in_cloned_child()) {
            register_id(3, "grandchild");
            CHECK(rip__writer.process == 2);
            _exit(0);
        }
        register_id(2, "child");
        CHECK(rip__writer.process == 1);
        _exit(0);
    }
}
