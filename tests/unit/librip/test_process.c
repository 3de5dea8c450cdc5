/* SPDX-License-Identifier: Apache-2.0 */
/* test_process.c - records, their locks, and who counts as alive: librip/process.c. */
#include "unit/writer_test.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static pid_t start_with_ring(void (*then)(void))
{
    int ready[2];
    pid_t pid;

    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        alarm(SCENE_SECONDS);
        make_ring(100);
        begin_id(1, "one");
        signal_pipe(ready);
        then();
        _exit(0);
    }
    await(ready);
    return pid;
}

static void wait_here(void)
{
    pause();
}

static void check_locked(const struct looker *looker, pid_t pid)
{
    CHECK(holder_of(looker->descriptor, looker->view.lock_holder_offset) == pid);
    CHECK(holder_of(looker->descriptor, looker->view.lock_life_offset) == -1); /* a description, not a process */
}

static void check_unlocked(const struct looker *looker)
{
    CHECK(holder_of(looker->descriptor, looker->view.lock_holder_offset) == 0);
    CHECK(holder_of(looker->descriptor, looker->view.lock_life_offset) == 0);
}

static void close_all(void)
{
    close_range(3, UINT32_MAX, 0);
}

/* Facts ------------------------------------------------------------------------------------------------------------ */

static bool knows_boot_id(void)
{
    static const uint8_t unknown[16];
    struct rip_ring_info info;

    rip_view_info(own_view(), &info);
    return memcmp(info.boot_id, unknown, sizeof(unknown)) != 0;
}

SCENE(record_says_who)
{
    struct rip_process_info info;
    struct rip_process_facts facts;
    struct stat namespace;

    prctl(PR_SET_NAME, "a) b (c) 1 2");
    CHECK(rip__process_facts("/proc/self/stat", &facts) == 0);
    CHECK(strcmp(facts.comm, "a) b (c) 1 2") == 0 && facts.state == 'R' && facts.start_time_ticks != 0);
    make_ring(100);
    info = info_of(own_view(), 0);
    CHECK(info.state == RIP_PROCESS_LIVE && info.pid == (uint32_t)getpid() && info.uid == geteuid());
    CHECK(info.start_time_ticks == facts.start_time_ticks && info.parent_pid == (uint32_t)getppid());
    CHECK(stat("/proc/self/ns/pid", &namespace) == 0 && info.pid_namespace == namespace.st_ino);
    CHECK(memcmp(info.comm, facts.comm, sizeof(info.comm)) == 0);
    CHECK(info.flags == (RIP_PROCESS_HAS_HOLDER_LOCK | RIP_PROCESS_HAS_LIFE_LOCK));
    CHECK(info.generation == 1 && info.module_count != 0 && knows_boot_id());
}

SCENE(preloaded_record_says_the_rest_later)
{
    struct rip_process_info info;
    struct rip_process_facts facts;
    struct stat namespace;

    prctl(PR_SET_NAME, "later");
    CHECK(rip__process_facts("/proc/self/stat", &facts) == 0);
    rip__set_preloaded(0);
    make_ring(100);
    info = info_of(own_view(), 0);
    CHECK(info.flags == (RIP_PROCESS_HAS_HOLDER_LOCK | RIP_PROCESS_HAS_LIFE_LOCK | RIP_PROCESS_PRELOADED));
    CHECK(info.pid == (uint32_t)getpid() && strcmp((const char *)info.comm, "later") == 0);
    CHECK(info.start_time_ticks == 0 && info.pid_namespace == 0 && info.entered_boot_ns != 0);
    CHECK(!knows_boot_id());
    CHECK(rip__modules_learn((uintptr_t)info_of)); /* what the first announced call does */
    info = info_of(own_view(), 0);
    CHECK(info.start_time_ticks == facts.start_time_ticks && knows_boot_id());
    CHECK(stat("/proc/self/ns/pid", &namespace) == 0 && info.pid_namespace == namespace.st_ino);
}

/* A look into /proc is no condition of the LIFE lock. Without that lock nothing is left for later. */
SCENE(preloaded_record_without_proc)
{
    if (chroot(stage) != 0)
        cannot("chroot() takes root");
    rip__set_preloaded(0);
    CHECK(rip_create_ring("/ring", 100));
    CHECK((info_of(own_view(), 0).flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0);
}

/* Locks ------------------------------------------------------------------------------------------------------------ */

SCENE(locks_name_the_holder)
{
    struct looker looker;
    pid_t pid = start_with_ring(wait_here);

    looker = look(on_stage("ring"));
    check_locked(&looker, pid);
    CHECK(kill(pid, SIGKILL) == 0 && end_of(pid) == 1000 + SIGKILL);
    check_unlocked(&looker);
}

static int reached[2];

static void close_all_and_wait(void)
{
    int descriptor = reached[1];

    CHECK(dup2(descriptor, 2) == 2);
    close_all();
    CHECK(write(2, "x", 1) == 1);
    pause();
}

/* Closing everything drops the POSIX lock; life goes on, and says so. */
SCENE(life_survives_closing_everything)
{
    struct looker looker;
    pid_t pid;

    CHECK(pipe(reached) == 0);
    pid = start_with_ring(close_all_and_wait);
    await(reached);
    looker = look(on_stage("ring"));
    CHECK(holder_of(looker.descriptor, looker.view.lock_holder_offset) == 0);
    CHECK(holder_of(looker.descriptor, looker.view.lock_life_offset) == -1);
    CHECK(!rip_create_ring(on_stage("ring"), 100) && errno == EBUSY);
    CHECK(kill(pid, SIGKILL) == 0 && end_of(pid) == 1000 + SIGKILL);
    check_unlocked(&looker);
}

static void exec_sleep(void)
{
    execl("/bin/sleep", "sleep", "60", NULL);
}

static void wait_for_unlock(const struct looker *looker)
{
    for (unsigned i = 0; i < 500 && holder_of(looker->descriptor, looker->view.lock_life_offset) != 0; i++)
        sleep_ms(10);
    check_unlocked(looker);
}

/* The pid runs on, the address space is gone: the ring is dead, and the same program may make it again. */
SCENE(exec_drops_both_locks)
{
    struct looker looker;
    pid_t pid = start_with_ring(exec_sleep);

    looker = look(on_stage("ring"));
    wait_for_unlock(&looker);
    CHECK(kill(pid, 0) == 0);
    make_ring(100);
    CHECK(count_on_stage() == 2);
    kill(pid, SIGKILL);
}

/* Readers see what it was doing, until the exec, and after it; if that fails, they see the end of an orderly process.
 */
SCENE(leaving_to_exec)
{
    struct looker looker;

    make_ring(100);
    begin_id(1, "one");
    rip_snap();
    looker = look(on_stage("ring"));
    rip__leave(RIP_LEAVE_TO_EXEC);
    CHECK(count_on_stage() == 0 && rip_tid == 0 && rip__thread.slot == NULL);
    CHECK(info_of(&looker.view, 0).state == RIP_PROCESS_EXECING && live_count(&looker.view) == 1);
    CHECK(holder_of(looker.descriptor, looker.view.lock_life_offset) == -1);
    execl("/nowhere/at/all", "all", NULL);
    rip__forget_ring();
    CHECK(info_of(&looker.view, 0).state == RIP_PROCESS_EXITED);
    check_unlocked(&looker);
    make_ring(100);
}

static pid_t child_that_execs(int go[2])
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    begin_id(2, "child");
    await(go);
    rip__leave(RIP_LEAVE_TO_EXEC);
    _exit(0);
}

/* A forked child becomes its program: nothing has ended. The last process of a ring ends it, whatever its record is. */
SCENE(leaving_to_exec_beside_others)
{
    struct looker looker;
    int go[2], last[2];
    pid_t pid;

    CHECK(pipe(go) == 0 && pipe(last) == 0);
    make_ring(100);
    begin_id(1, "one");
    looker = look(on_stage("ring"));
    pid = child_that_execs(go);
    signal_pipe(go);
    CHECK(end_of(pid) == 0 && count_on_stage() == 1);
    CHECK(live_count(&looker.view) == 1);
    for (uint32_t i = 1; i < rip_load_relaxed(&rip__header()->process_high_water); i++)
        CHECK(info_of(&looker.view, i).state != RIP_PROCESS_EXECING);
    pid = child_that_execs(last);
    rip__leave(RIP_LEAVE_LAST);
    signal_pipe(last);
    CHECK(end_of(pid) == 0 && count_on_stage() == 0);
    CHECK(live_count(&looker.view) == 1);
}

/* Children --------------------------------------------------------------------------------------------------------- */

static void check_child(bool with_descriptors)
{
    struct looker looker;

    if (!with_descriptors)
        close_all();
    begin_id(1, "child");
    CHECK(rip__thread.slot != NULL && rip__writer.entered);
    CHECK(rip__file_is_ring(rip__ring_fd()));
    if (in_child(fork())) {
        looker = look(on_stage("ring"));
        CHECK(holder_of(looker.descriptor, looker.view.lock_holder_offset + 1) == getppid());
        CHECK(holder_of(looker.descriptor, looker.view.lock_life_offset + 1) == -1);
        CHECK(info_of(&looker.view, 1).flags == (RIP_PROCESS_HAS_HOLDER_LOCK | RIP_PROCESS_HAS_LIFE_LOCK));
        CHECK(info_of(&looker.view, 1).state == RIP_PROCESS_LIVE);
        _exit(0);
    }
    _exit(0);
}

static void play_child(bool with_descriptors)
{
    make_ring(100);
    begin_id(1, "parent");
    if (fork() == 0)
        check_child(with_descriptors);
    CHECK(end_of(-1) == 0);
    CHECK(own_live_count() == 2);
}

SCENE(child_holds_locks_of_its_own)
{
    play_child(true);
}

SCENE(child_that_closed_everything_finds_the_file)
{
    play_child(false);
}

/* Its number is another file now, and the name another ring: the child goes on without proof, and says so. */
SCENE(child_that_cannot_find_the_file)
{
    make_ring(100);
    CHECK(rename(on_stage("ring"), on_stage("elsewhere")) == 0);
    CHECK(link("/dev/null", on_stage("ring")) == 0 || symlink("/dev/null", on_stage("ring")) == 0);
    close_all();
    if (in_child(fork())) {
        begin_traced(1, "child");
        CHECK(info_of(own_view(), 1).flags == 0);
        _exit(0);
    }
}

static void *pause_for_good(void *unused)
{
    pause();
    return unused;
}

static void end_main_thread(void)
{
    begin_thread(pause_for_good, NULL);
    pthread_exit(NULL);
}

/* Without locks the pid must do; "Z" in its stat may be of the main thread alone. */
SCENE(process_without_its_main_thread_is_alive)
{
    struct rip_evidence evidence = {.descriptor = -1, .pid_namespace = rip__pid_namespace()};
    struct rip_process_info info = {.state = RIP_PROCESS_LIVE, .pid_namespace = evidence.pid_namespace};
    struct rip_process_facts facts;
    pid_t pid = start(end_main_thread);
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    do {
        sleep_ms(10);
        CHECK(rip__process_facts(path, &facts) == 0);
    } while (facts.state != 'Z');
    info.pid = (uint32_t)pid;
    info.start_time_ticks = facts.start_time_ticks;
    CHECK(rip__process_alive(&evidence, 0, &info));
    CHECK(kill(pid, SIGKILL) == 0);
    for (unsigned i = 0; i < 500 && rip__process_alive(&evidence, 0, &info); i++)
        sleep_ms(10);
    CHECK(!rip__process_alive(&evidence, 0, &info)); /* a zombie, not waited for */
    CHECK(end_of(pid) == 1000 + SIGKILL);
}

/* Leaving ---------------------------------------------------------------------------------------------------------- */

SCENE(leaving_removes_the_file)
{
    make_ring(100);
    begin_id(1, "one");
    begin_id(2, "two");
    rip__leave(RIP_LEAVE_LAST);
    CHECK(count_on_stage() == 0 && own_live_count() == 0);
    CHECK(rip_tid == 0 && rip__thread.slot == NULL);
    CHECK(info_of(own_view(), 0).state == RIP_PROCESS_EXITED);
    begin_id(3, "three");
    CHECK(rip__thread.slot == NULL && own_live_count() == 0);
    rip__leave(RIP_LEAVE_LAST);
}

/* Another process may take the name over between a look and a removal. */
SCENE(leaving_spares_what_is_being_taken_over)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_TAKEOVER_OFFSET, .l_len = 1};
    int descriptor;

    make_ring(100);
    descriptor = open(on_stage("ring"), O_RDWR);
    CHECK(descriptor >= 0 && fcntl(descriptor, F_OFD_SETLK, &lock) == 0);
    rip__leave(RIP_LEAVE_LAST);
    CHECK(count_on_stage() == 1);
}

SCENE(leaving_spares_what_is_not_the_ring)
{
    make_ring(100);
    CHECK(rename(on_stage("ring"), on_stage("mine")) == 0);
    CHECK(symlink("mine", on_stage("ring")) == 0);
    rip__leave(RIP_LEAVE_LAST);
    CHECK(count_on_stage() == 2);
}

/* The last one out removes it: not the parent while a child may still come. */
SCENE(leaving_with_a_child_alive)
{
    int go[2];
    pid_t pid;

    CHECK(pipe(go) == 0);
    make_ring(100);
    pid = fork();
    if (pid == 0) {
        await(go);
        CHECK(access(on_stage("ring"), F_OK) == 0);
        begin_traced(1, "child");
        rip__leave(RIP_LEAVE_LAST);
        CHECK(access(on_stage("ring"), F_OK) < 0);
        _exit(0);
    }
    rip__leave(RIP_LEAVE_LAST);
    CHECK(count_on_stage() == 1);
    signal_pipe(go);
    CHECK(end_of(pid) == 0);
    CHECK(count_on_stage() == 0);
}

SCENE(another_ring_after_leaving)
{
    struct rip_context context;

    make_ring(100);
    CHECK(rip_context_init(&context, 5, "five", 4));
    begin_id(1, "one");
    rip__leave(RIP_LEAVE_LAST);
    rip__forget_ring();
    CHECK(rip_ring == NULL && rip__ring_fd() == -1);
    CHECK(rip_create_ring(on_stage("second"), 100));
    begin_id(1, "one");
    CHECK(rip__thread.slot != NULL && own_live_count() == 1);
    CHECK(info_of(own_view(), 0).module_count != 0);
    rip_switch(NULL, &context); /* of the old ring: inert */
    CHECK(rip__thread.slot == NULL);
}

SCENE(descriptor_moves_with_its_lock)
{
    int before;

    make_ring(100);
    before = rip__ring_fd();
    rip__move_ring_fd();
    CHECK(rip__ring_fd() != before && fcntl(before, F_GETFD) < 0);
    CHECK(dup2(0, before) == before && close(before) == 0);
    if (in_child(fork())) {
        struct looker looker = look(on_stage("ring"));

        check_locked(&looker, getppid());
        _exit(0);
    }
}

/* The table of processes ------------------------------------------------------------------------------------------- */

static void enter_and(void (*then)(void))
{
    if (fork() == 0) {
        begin_traced(1, "child");
        then();
        _exit(0);
    }
    CHECK(end_of(-1) >= 0);
}

static void leave_in_order(void)
{
    rip__leave(RIP_LEAVE_FILE);
}

static void be_killed(void)
{
    kill(getpid(), SIGKILL);
}

SCENE(records_of_the_exited_are_reused)
{
    make_ring(100);
    for (unsigned i = 0; i < 200; i++)
        enter_and(leave_in_order);
    CHECK(rip_ring->process_high_water == 2 && own_live_count() == 0);
    CHECK(rip_ring->refused_process_count == 0);
}

/* Not before the table is full: until then a dead process stays to be looked at. */
SCENE(records_of_the_dead_are_reused_at_last)
{
    make_ring(300);
    for (unsigned i = 0; i < 2 * RIP_PROCESS_MIN; i++)
        enter_and(be_killed);
    CHECK(rip_ring->process_capacity == 75 && rip_ring->process_high_water == 75);
    CHECK(rip_ring->refused_process_count == 0);
    CHECK(own_live_count() == 74); /* each reuse freed the slot that the dead one had */
}

SCENE(too_many_processes)
{
    int go[2], done[2];
    unsigned traced = 0;

    CHECK(pipe(go) == 0 && pipe(done) == 0);
    make_ring(256); /* 64 records */
    for (unsigned i = 0; i < 70; i++) {
        if (fork() == 0) {
            begin_id(1, "child");
            rip_snap();
            signal_pipe(done);
            await(go);
            _exit(rip__thread.slot != NULL);
        }
        await(done);
    }
    for (unsigned i = 0; i < 70; i++)
        signal_pipe(go);
    for (unsigned i = 0; i < 70; i++)
        traced += (unsigned)end_of(-1);
    CHECK(traced == 63 && rip_ring->refused_process_count == 7);
}

/* Fork and exec, as a shell does: the child's embryo ends with the exec, and its record is used again. */
SCENE(embryos_that_exec_do_not_fill_the_table)
{
    make_ring(100);
    for (unsigned i = 0; i < 150; i++) {
        pid_t pid = fork();

        if (pid == 0)
            execl("/bin/true", "true", NULL);
        CHECK(end_of(pid) == 0);
    }
    CHECK(rip_ring->process_high_water == 2);
    enter_and(leave_in_order);
    CHECK(rip_ring->refused_process_count == 0);
}
