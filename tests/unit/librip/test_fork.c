/* SPDX-License-Identifier: Apache-2.0 */
/* test_fork.c - what a fork, a vfork, a spawn and an exec do to a ring: librip/fork.c. */
#include "unit/writer_test.h"

#include <link.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>

static void enter_ring(void)
{
    make_ring(100);
    begin_id(1, "parent");
    snap_times(10);
}

static void snap_a_lot(void)
{
    for (unsigned i = 0; i < 100; i++) {
        rip_snap();
        rip_snap_at(&stage);
        rip_idle();
    }
}

/* The slot --------------------------------------------------------------------------------------------------------- */

SCENE(child_never_touches_the_parents_slot)
{
    struct rip_slot before, *slot;
    struct rip_context context;

    enter_ring();
    slot = rip__thread.slot;
    memcpy(&before, slot, sizeof(before));
    if (in_child(fork())) {
        CHECK(rip_tid == 0 && rip_idx == 0 && rip_ctr == 0 && rip__thread.slot == NULL);
        snap_a_lot();
        rip_switch(&context, NULL);
        snap_a_lot();
        rip_exit();
        CHECK(memcmp(&before, slot, sizeof(before)) == 0);
        begin_id(1, "child"); /* the same id, of another process */
        CHECK(rip__thread.slot != NULL && rip__thread.slot != slot && rip__thread.slot->process == 1);
        snap_a_lot();
        CHECK(memcmp(&before, slot, sizeof(before)) == 0);
        rip_exit();
        CHECK(memcmp(&before, slot, sizeof(before)) == 0);
        _exit(0);
    }
    CHECK(memcmp(&before, slot, sizeof(before)) == 0);
    CHECK(rip__thread.slot == slot && rip_tid == 1 && rip_ctr == 10);
    rip_snap();
    CHECK(slot->count == 11);
}

SCENE(contexts_of_the_parent_are_inert)
{
    struct rip_context context;
    struct rip_slot before;

    enter_ring();
    CHECK(rip_context_init(&context, 2, "two", 3));
    memcpy(&before, context.slot, sizeof(before));
    if (in_child(fork())) {
        struct rip_slot *slot = context.slot;

        rip_switch(NULL, &context);
        snap_a_lot();
        rip_context_exit(&context);
        CHECK(rip_tid == 0 && memcmp(&before, slot, sizeof(before)) == 0);
        CHECK(rip_context_init(&context, 2, "two", 3) && context.slot != slot);
        _exit(0);
    }
    CHECK(memcmp(&before, context.slot, sizeof(before)) == 0);
}

static volatile sig_atomic_t ticks;

static void snap_in_handler(int signal)
{
    (void)signal;
    ticks++;
    rip_snap();
}

/* A signal at any instant of the fork, in either process, does not reach the parent's slot from the child. */
SCENE(handler_that_snaps_during_fork)
{
    struct rip_slot *slot;

    enter_ring();
    slot = rip__thread.slot;
    CHECK(signal(SIGUSR1, snap_in_handler) != SIG_ERR);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t count = slot->count;

        raise(SIGUSR1);
        CHECK(slot->count == count + 1);
        if (in_child(fork())) {
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

/* Registered before the library's own handlers: runs after its prepare, and before its parent and child. */
__attribute__((constructor(101))) static void register_early(void)
{
    pthread_atfork(act_during_fork, act_during_fork, act_during_fork);
}

SCENE(nothing_is_traced_during_fork)
{
    struct rip_slot *slot;
    pid_t pid;

    enter_ring();
    slot = rip__thread.slot;
    during_fork = snap_a_lot;
    pid = fork();
    if (pid == 0)
        _exit(slot->count == 10 ? 0 : 1);
    CHECK(end_of(pid) == 0);
    CHECK(slot->count == 10 && rip__thread.slot == slot && rip_ctr == 10);
}

static void fork_in_handler(int signal)
{
    (void)signal;
    if (in_child(fork())) {
        CHECK(rip__thread.slot == NULL);
        snap_a_lot();
        _exit(0);
    }
}

/* Nor when the signal comes in the middle of a call of the library. */
SCENE(handler_that_forks_in_a_cold_call)
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

SCENE(embryo_is_kept_and_born)
{
    int go[2], done[2];
    pid_t pid;

    CHECK(pipe(go) == 0 && pipe(done) == 0);
    enter_ring();
    pid = fork();
    if (pid == 0) {
        signal_pipe(done);
        await(go);
        begin_id(1, "child");
        signal_pipe(done);
        await(go);
        _exit(0);
    }
    await(done);
    CHECK(info_of(own_view(), 1).state == RIP_PROCESS_EMBRYO && info_of(own_view(), 1).pid == (uint32_t)pid);
    CHECK(info_of(own_view(), 1).parent_pid == (uint32_t)getpid() &&
          info_of(own_view(), 1).flags == RIP_PROCESS_HAS_LIFE_LOCK);
    signal_pipe(go);
    await(done);
    CHECK(info_of(own_view(), 1).state == RIP_PROCESS_LIVE && info_of(own_view(), 1).pid == (uint32_t)pid);
    CHECK(info_of(own_view(), 1).start_time_ticks >= info_of(own_view(), 0).start_time_ticks);
    CHECK(info_of(own_view(), 1).module_count == info_of(own_view(), 0).module_count &&
          info_of(own_view(), 0).module_count > 0);
    signal_pipe(go);
    CHECK(end_of(pid) == 0);
    CHECK(rip_ring->process_high_water == 2);
}

/* The parent's LIFE lock is not the child's to keep. */
SCENE(life_of_the_parent_ends_with_it)
{
    int go[2], done[2];
    struct looker looker;

    CHECK(pipe(go) == 0 && pipe(done) == 0);
    if (fork() == 0) {
        enter_ring();
        if (fork() == 0) {
            signal_pipe(done);
            await(go);
            _exit(0);
        }
        await(done);
        kill(getpid(), SIGKILL);
    }
    CHECK(end_of(-1) == 1000 + SIGKILL);
    looker = look(on_stage("ring"));
    CHECK(holder_of(looker.descriptor, looker.view.lock_holder_offset) == 0);
    CHECK(holder_of(looker.descriptor, looker.view.lock_life_offset) == 0);
    CHECK(holder_of(looker.descriptor, looker.view.lock_life_offset + 1) == -1);
    signal_pipe(go);
}

/* fork, the parent exits, setsid, fork again, the parent exits, and only the grandchild registers - late. */
SCENE(double_fork_daemon)
{
    int done[2], go[2];

    CHECK(pipe(done) == 0 && pipe(go) == 0);
    if (in_child(fork())) {
        enter_ring();
        if (fork() != 0)
            _exit(0);
        setsid();
        if (fork() != 0)
            _exit(0);
        signal_pipe(done);
        await(go);
        begin_traced(1, "daemon");
        signal_pipe(done);
        await(go);
        _exit(0);
    }
    await(done);
    sleep_ms(1200); /* longer than an unborn embryo is believed */
    CHECK(!rip_create_ring(on_stage("ring"), 100) && errno == EBUSY);
    signal_pipe(go);
    await(done);
    CHECK(!rip_create_ring(on_stage("ring"), 100) && errno == EBUSY);
    signal_pipe(go);
    sleep_ms(200);
    make_ring(100);
}

/* The same at the worst moment: the parent is gone before the child has run at all. */
SCENE(parent_gone_before_the_child_runs)
{
    for (unsigned i = 0; i < 50; i++) {
        int done[2];

        CHECK(pipe(done) == 0);
        if (in_child(fork())) {
            enter_ring();
            if (fork() == 0) {
                sleep_ms(5);
                begin_traced(1, "child");
                await(done);
                _exit(0);
            }
            _exit(0);
        }
        if (in_child(fork())) {
            CHECK(!rip_create_ring(on_stage("ring"), 100) && errno == EBUSY);
            _exit(0);
        }
        signal_pipe(done);
        close(done[0]);
        close(done[1]);
        CHECK(unlink(on_stage("ring")) == 0);
    }
}

/* A helper that was forked and exec'ed, and lives long, does not keep its dead parent's ring. */
SCENE(exec_child_does_not_keep_the_ring)
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
    CHECK(end_of(-1) == 0 && kill(helper, 0) == 0);
    make_ring(100);
    kill(helper, SIGKILL);
}

/* An embryo that somebody took away: the child finds another record. */
SCENE(stolen_embryo)
{
    enter_ring();
    if (in_child(fork())) {
        rip__process_at(1)->generation++;
        rip__process_at(1)->state = RIP_PROCESS_LIVE;
        begin_id(1, "child");
        CHECK(rip__thread.slot != NULL && rip__thread.slot->process == 2);
        CHECK(info_of(own_view(), 2).flags == (RIP_PROCESS_HAS_HOLDER_LOCK | RIP_PROCESS_HAS_LIFE_LOCK));
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

/* A process with one can cut the file under its parent, and pass as a process of the file's owner. */
SCENE(child_has_no_descriptor_of_the_ring)
{
    enter_ring();
    CHECK(count_descriptors_of_ring() == 1);
    if (in_child(fork())) {
        CHECK(count_descriptors_of_ring() == 0 && rip__ring_fd() == -1);
        CHECK((info_of(own_view(), 1).flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0);
        if (in_child(fork())) {
            CHECK(count_descriptors_of_ring() == 0);
            begin_id(3, "grandchild");
            CHECK(count_descriptors_of_ring() == 1);
            _exit(0);
        }
        begin_id(2, "child");
        CHECK(count_descriptors_of_ring() == 1);
        CHECK(info_of(own_view(), 1).flags == (RIP_PROCESS_HAS_HOLDER_LOCK | RIP_PROCESS_HAS_LIFE_LOCK));
        _exit(0);
    }
    if (in_child((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL))) {
        rip_exit(); /* the first cold call finds out */
        CHECK(count_descriptors_of_ring() == 0);
        _exit(0);
    }
    CHECK(count_descriptors_of_ring() == 1);
    CHECK(rip__locked(rip__writer.descriptor, RIP_LOCK_LIFE_OFFSET, 1));
}

/* It may not open the file: traced and alive, but nothing vouches for it. */
SCENE(child_that_drops_its_uid)
{
    struct looker looker;

    if (geteuid() != 0)
        cannot("changing the uid takes root");
    enter_ring();
    if (in_child(fork())) {
        CHECK(setresgid(61001, 61001, 61001) == 0 && setresuid(61001, 61001, 61001) == 0);
        CHECK(truncate(on_stage("ring"), 0) < 0 && errno == EACCES);
        begin_id(2, "child");
        CHECK(rip__thread.slot != NULL && count_descriptors_of_ring() == 0);
        snap_a_lot();
        CHECK(info_of(own_view(), 1).flags == RIP_PROCESS_HAS_LIFE_LOCK && info_of(own_view(), 1).uid == 61001);
        _exit(0);
    }
    looker = look(on_stage("ring"));
    CHECK(holder_of(looker.descriptor, looker.view.lock_holder_offset + 1) == 0);
}

/* Other ways to a process ------------------------------------------------------------------------------------------ */

SCENE(vfork_changes_nothing)
{
    uint32_t epoch, high_water;
    struct rip_slot *slot;
    pid_t pid;

#if defined(RIP_PORTABLE_SNAP) && defined(__x86_64__)
    cannot("the thread sanitizer makes a fork() of vfork()");
#endif
    enter_ring();
    epoch = rip__epoch;
    high_water = rip_ring->process_high_water;
    slot = rip__thread.slot;
    pid = vfork();
    if (pid == 0) {
        rip_snap(); /* for the parent, which is waiting */
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    CHECK(end_of(pid) == 0);
    CHECK(rip__epoch == epoch && rip__thread.slot == slot && rip_ring->process_high_water == high_water);
    rip_snap();
    CHECK(slot->count == 12);
    begin_traced(2, "two");
}

SCENE(spawn_changes_nothing)
{
    char *const arguments[] = {(char[]){"true"}, NULL};
    pid_t pid;

    enter_ring();
    CHECK(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) == 0);
    CHECK(end_of(pid) == 0);
    CHECK(rip_ring->process_high_water == 1 && rip__thread.slot->count == 10);
}

/* A fork that no handler saw, with the mutex held by a thread that the child does not have. */
SCENE(bare_system_call)
{
    struct rip_slot before, *slot;

    enter_ring();
    slot = rip__thread.slot;
    memcpy(&before, slot, sizeof(before));
    pthread_mutex_lock(&rip__writer.mutex);
    if (in_child((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL))) {
        alarm(60);
        rip_exit(); /* the first cold call finds out */
        CHECK(memcmp(&before, slot, sizeof(before)) == 0);
        begin_id(1, "child");
        CHECK(rip__thread.slot != NULL && rip__thread.slot != slot && rip__thread.slot->process == 1);
        snap_a_lot();
        CHECK(memcmp(&before, slot, sizeof(before)) == 0);
        _exit(0);
    }
    pthread_mutex_unlock(&rip__writer.mutex);
}

static int listed[2], go_on[2];

static int hold_the_loader(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info;
    (void)size;
    (void)unused;
    signal_pipe(listed);
    await(go_on);
    return 1;
}

static void *list_slowly(void *unused)
{
    dl_iterate_phdr(hold_the_loader, NULL);
    return unused;
}

static void *refresh(void *unused)
{
    rip_refresh_modules();
    return unused;
}

/* The same with a thread that lists the modules: the child's own fork does not wait for it. */
SCENE(bare_system_call_then_fork)
{
    pthread_t holder, lister;

#if defined(RIP_PORTABLE_SNAP) && defined(__x86_64__)
    cannot("the thread sanitizer's fork() waits for threads that a bare clone has left behind");
#endif
    enter_ring();
    CHECK(pipe(listed) == 0 && pipe(go_on) == 0);
    holder = begin_thread(list_slowly, NULL);
    await(listed);
    lister = begin_thread(refresh, NULL);
    sleep_ms(200); /* it waits for the loader by then */
    if (in_child((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL))) {
        alarm(10);
        if (in_child(fork())) {
            begin_traced(1, "grandchild");
            _exit(0);
        }
        _exit(0);
    }
    signal_pipe(go_on);
    end_thread(holder);
    end_thread(lister);
}

static pthread_barrier_t all_at_once;

static void *register_at_once(void *unused)
{
    pthread_barrier_wait(&all_at_once);
    begin_id(0, "thread");
    CHECK(rip__thread.slot != NULL && rip__thread.slot->process == rip__writer.process);
    pthread_barrier_wait(&all_at_once);
    return unused;
}

/* Several threads of such a child find out at the same time: one resets, the others wait for it. */
SCENE(bare_system_call_then_threads)
{
    enter_ring();
    for (unsigned round = 0; round < 50; round++) {
        pthread_t threads[8];

        if (in_child((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL))) {
            alarm(60);
            CHECK(pthread_barrier_init(&all_at_once, NULL, 8) == 0);
            for (unsigned i = 0; i < 8; i++)
                threads[i] = begin_thread(register_at_once, NULL);
            for (unsigned i = 0; i < 8; i++)
                end_thread(threads[i]);
            CHECK(own_live_count() == 1); /* the parent's */
            rip__leave(RIP_LEAVE_FILE);
            _exit(0);
        }
    }
    CHECK(rip_ring->process_high_water == 2);
}

/* Threads ---------------------------------------------------------------------------------------------------------- */

static void *register_without_end(void *unused)
{
    for (;;) {
        begin_id(0, "busy");
        rip_snap();
        rip_exit();
    }
    return unused;
}

/* Another thread is inside the library at the fork: the child must not wait for it. */
SCENE(fork_while_others_register)
{
    enter_ring();
    for (unsigned i = 0; i < 3; i++)
        begin_thread(register_without_end, NULL);
    for (unsigned i = 0; i < 200; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            alarm(60);
            begin_traced(0, "child");
            rip_refresh_modules(); /* the loader has a lock of its own, which no fork handler frees */
            rip_exit();
            rip__leave(RIP_LEAVE_FILE);
            _exit(0);
        }
        CHECK(end_of(pid) == 0);
    }
}

/* Grandchildren: every generation has records and slots of its own. */
SCENE(chain_of_children)
{
    enter_ring();
    for (unsigned depth = 1; depth <= 10; depth++) {
        pid_t pid = fork();

        if (pid != 0) {
            CHECK(end_of(pid) == 0);
            CHECK(rip__thread.slot != NULL && rip__thread.slot->count == 10);
            if (depth > 1)
                _exit(0);
            return;
        }
        if (depth % 2 == 0)
            rip_refresh_modules();
        begin_id(1, "child");
        for (unsigned i = 0; i < 10; i++)
            rip_snap();
        CHECK(rip__thread.slot->process == depth && own_live_count() == depth + 1);
    }
    _exit(0);
}

static void check_life_lock_is_real(void)
{
    uint32_t own = rip__writer.process;

    CHECK((info_of(own_view(), own).flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0);
    CHECK(rip__locked(rip__writer.descriptor, RIP_LOCK_LIFE_OFFSET + own, 1));
    rip__process_drop_life();
    CHECK(!rip__locked(rip__writer.descriptor, RIP_LOCK_LIFE_OFFSET + own, 1));
}

/*
 * A supervisor: it forks its workers and registers only then. The record that its parent kept is still its own, and the
 * lock it says it has is the one it has: a flag without the lock would make it dead as soon as the other is lost.
 */
SCENE(child_that_forks_before_it_registers)
{
    int done[2], go[2];

    CHECK(pipe(done) == 0 && pipe(go) == 0);
    enter_ring();
    if (fork() == 0) {
        if (in_child(fork())) {
            begin_id(3, "worker");
            CHECK(rip__writer.process == 2);
            check_life_lock_is_real();
            _exit(0);
        }
        begin_id(2, "supervisor");
        CHECK(rip__writer.process == 1 && rip__thread.slot != NULL);
        signal_pipe(done);
        await(go);
        check_life_lock_is_real();
        _exit(0);
    }
    await(done);
    CHECK(info_of(own_view(), 1).state == RIP_PROCESS_LIVE);
    CHECK(rip__locked(rip__writer.descriptor, RIP_LOCK_LIFE_OFFSET + 1, 1));
    signal_pipe(go);
    CHECK(end_of(-1) == 0);
}

/* Forked unnoticed by a child that has not registered: the record kept for that one is not ours. */
SCENE(embryo_is_not_inherited)
{
    enter_ring();
    if (in_child(fork())) {
        if (in_child((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL))) {
            begin_id(3, "grandchild");
            CHECK(rip__writer.process == 2);
            _exit(0);
        }
        begin_id(2, "child");
        CHECK(rip__writer.process == 1);
        _exit(0);
    }
}
