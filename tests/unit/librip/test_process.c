/* SPDX-License-Identifier: Apache-2.0 */
/* test_process.c - process records, their locks, and which processes count as alive: librip/process.c. */
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
        alarm(CHILD_SECONDS);
        make_ring_with_id(100);
        signal_pipe(ready);
        then();
        _exit(0);
    }
    await_pipe(ready);
    return pid;
}

static void pause_forever(void)
{
    pause();
}

static void check_locked(const struct mapped_ring *mapped_ring, pid_t pid)
{
    CHECK(lock_holder(mapped_ring->descriptor, mapped_ring->view.lock_holder_offset) == pid);
    CHECK(lock_holder(mapped_ring->descriptor, mapped_ring->view.lock_life_offset) ==
          -1); /* an open file description, not a process */
}

static void check_unlocked(const struct mapped_ring *mapped_ring)
{
    CHECK(lock_holder(mapped_ring->descriptor, mapped_ring->view.lock_holder_offset) == 0);
    CHECK(lock_holder(mapped_ring->descriptor, mapped_ring->view.lock_life_offset) == 0);
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

FORKED_TEST(record_describes_the_process)
{
    struct rip_process_info info;
    struct rip_process_facts facts;
    struct stat namespace;

    prctl(PR_SET_NAME, "a) b (c) 1 2");
    CHECK(rip__process_facts("/proc/self/stat", &facts) == 0);
    CHECK(strcmp(facts.comm, "a) b (c) 1 2") == 0 && facts.state == 'R' && facts.start_time_ticks != 0);
    make_ring(100);
    info = own_process_info(0);
    CHECK(info.state == RIP_PROCESS_LIVE && info.pid == (uint32_t)getpid() && info.uid == geteuid());
    CHECK(info.start_time_ticks == facts.start_time_ticks && info.parent_pid == (uint32_t)getppid());
    CHECK(stat("/proc/self/ns/pid", &namespace) == 0 && info.pid_namespace == namespace.st_ino);
    CHECK(memcmp(info.comm, facts.comm, sizeof(info.comm)) == 0);
    CHECK(info.flags == BOTH_LOCKS);
    CHECK(info.generation == 1 && info.module_count != 0 && knows_boot_id());
}

FORKED_TEST(preloaded_record_is_completed_later)
{
    struct rip_process_info info;
    struct rip_process_facts facts;
    struct stat namespace;

    prctl(PR_SET_NAME, "later");
    CHECK(rip__process_facts("/proc/self/stat", &facts) == 0);
    rip__set_preloaded(0);
    make_ring(100);
    info = own_process_info(0);
    CHECK(info.flags == (RIP_PROCESS_HAS_HOLDER_LOCK | RIP_PROCESS_HAS_LIFE_LOCK | RIP_PROCESS_PRELOADED));
    CHECK(info.pid == (uint32_t)getpid() && strcmp((const char *)info.comm, "later") == 0);
    CHECK(info.start_time_ticks == 0 && info.pid_namespace == 0 && info.entered_boot_ns != 0);
    CHECK(!knows_boot_id());
    CHECK(rip__modules_learn((uintptr_t)process_info)); /* as the first announced call does */
    info = own_process_info(0);
    CHECK(info.start_time_ticks == facts.start_time_ticks && knows_boot_id());
    CHECK(stat("/proc/self/ns/pid", &namespace) == 0 && info.pid_namespace == namespace.st_ino);
}

/* The LIFE lock does not depend on /proc. Without the lock no work is left for later. */
FORKED_TEST(preloaded_record_without_proc)
{
    if (chroot(test_directory) != 0)
        skip_test("chroot() needs root");
    rip__set_preloaded(0);
    CHECK(rip_create_ring("/ring", 100));
    CHECK((own_process_info(0).flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0);
}

/* Locks ------------------------------------------------------------------------------------------------------------ */

FORKED_TEST(locks_name_the_holder)
{
    struct mapped_ring mapped_ring;
    pid_t pid = start_with_ring(pause_forever);

    mapped_ring = map_ring(test_path("ring"));
    check_locked(&mapped_ring, pid);
    kill_child(pid);
    check_unlocked(&mapped_ring);
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

/* Closing all descriptors releases the POSIX lock. The LIFE lock stays, and shows that the process is alive. */
FORKED_TEST(life_survives_closing_everything)
{
    struct mapped_ring mapped_ring;
    pid_t pid;

    CHECK(pipe(reached) == 0);
    pid = start_with_ring(close_all_and_wait);
    await_pipe(reached);
    mapped_ring = map_ring(test_path("ring"));
    CHECK(lock_holder(mapped_ring.descriptor, mapped_ring.view.lock_holder_offset) == 0);
    CHECK(lock_holder(mapped_ring.descriptor, mapped_ring.view.lock_life_offset) == -1);
    CHECK(!rip_create_ring(test_path("ring"), 100) && errno == EBUSY);
    kill_child(pid);
    check_unlocked(&mapped_ring);
}

static void exec_sleep(void)
{
    execl("/bin/sleep", "sleep", "60", NULL);
}

static void wait_for_unlock(const struct mapped_ring *mapped_ring)
{
    for (unsigned i = 0; i < 500 && lock_holder(mapped_ring->descriptor, mapped_ring->view.lock_life_offset) != 0; i++)
        sleep_ms(10);
    check_unlocked(mapped_ring);
}

/*
 * After exec the pid lives on without the ring's address space: the ring is dead, and the program may create it again.
 */
FORKED_TEST(exec_drops_both_locks)
{
    struct mapped_ring mapped_ring;
    pid_t pid = start_with_ring(exec_sleep);

    mapped_ring = map_ring(test_path("ring"));
    wait_for_unlock(&mapped_ring);
    CHECK(kill(pid, 0) == 0);
    make_ring(100);
    CHECK(count_files() == 2);
    kill(pid, SIGKILL);
}

/*
 * Until the exec and after it, readers see what the process was doing. If the exec fails, they see a process that left
 * in order.
 */
FORKED_TEST(leaving_to_exec)
{
    const struct rip_evidence no_locks = {.descriptor = -1, .pid_namespace = rip__pid_namespace()};
    struct rip_process_info info;
    struct mapped_ring mapped_ring;

    make_ring_with_id(100);
    rip_snap();
    mapped_ring = map_ring(test_path("ring"));
    rip__leave(RIP_LEAVE_TO_EXEC);
    CHECK(count_files() == 0 && rip_tid == 0 && rip__thread.slot == NULL);
    info = process_info(&mapped_ring.view, 0);
    CHECK(info.state == RIP_PROCESS_EXECING && live_count(&mapped_ring.view) == 1);
    CHECK(rip__process_alive(&no_locks, 0, &info));
    CHECK(lock_holder(mapped_ring.descriptor, mapped_ring.view.lock_life_offset) == -1);
    execl("/nowhere/at/all", "all", NULL);
    rip__forget_ring();
    info = process_info(&mapped_ring.view, 0);
    CHECK(info.state == RIP_PROCESS_EXITED && !rip__process_alive(&no_locks, 0, &info));
    check_unlocked(&mapped_ring);
    make_ring(100);
}

static pid_t child_that_execs(int go[2])
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    register_id(2, "child");
    await_pipe(go);
    rip__leave(RIP_LEAVE_TO_EXEC);
    _exit(0);
}

/* The exec of a forked child ends no id. The last process of a ring removes the file, in any state of its record. */
FORKED_TEST(leaving_to_exec_with_other_processes)
{
    struct mapped_ring mapped_ring;
    int go[2], last[2];
    pid_t pid;

    CHECK(pipe(go) == 0 && pipe(last) == 0);
    make_ring_with_id(100);
    mapped_ring = map_ring(test_path("ring"));
    pid = child_that_execs(go);
    signal_pipe(go);
    CHECK(exit_status_of(pid) == 0 && count_files() == 1);
    CHECK(live_count(&mapped_ring.view) == 1);
    for (uint32_t i = 1; i < rip_load_relaxed(&rip__header()->process_high_water); i++)
        CHECK(process_info(&mapped_ring.view, i).state != RIP_PROCESS_EXECING);
    pid = child_that_execs(last);
    rip__leave(RIP_LEAVE_LAST);
    signal_pipe(last);
    CHECK(exit_status_of(pid) == 0 && count_files() == 0);
    CHECK(live_count(&mapped_ring.view) == 1);
}

/* Children --------------------------------------------------------------------------------------------------------- */

static void check_child(bool with_descriptors)
{
    struct mapped_ring mapped_ring;

    if (!with_descriptors)
        close_all();
    register_traced(1, "child");
    CHECK(rip__writer.entered);
    CHECK(rip__file_is_ring(rip__ring_fd()));
    if (in_child()) {
        mapped_ring = map_ring(test_path("ring"));
        CHECK(lock_holder(mapped_ring.descriptor, mapped_ring.view.lock_holder_offset + 1) == getppid());
        CHECK(lock_holder(mapped_ring.descriptor, mapped_ring.view.lock_life_offset + 1) == -1);
        CHECK(process_info(&mapped_ring.view, 1).flags == BOTH_LOCKS);
        CHECK(process_info(&mapped_ring.view, 1).state == RIP_PROCESS_LIVE);
        _exit(0);
    }
    _exit(0);
}

static void fork_child(bool with_descriptors)
{
    make_ring(100);
    register_id(1, "parent");
    if (fork() == 0)
        check_child(with_descriptors);
    CHECK(exit_status_of(-1) == 0);
    CHECK(own_live_count() == 2);
}

FORKED_TEST(child_holds_locks_of_its_own)
{
    fork_child(true);
}

FORKED_TEST(child_that_closed_everything_opens_the_file)
{
    fork_child(false);
}

/*
 * The descriptor's number refers to another file, and the name to another ring: the child goes on without locks, and
 * its flags say so.
 */
FORKED_TEST(child_that_cannot_find_the_file)
{
    make_ring(100);
    CHECK(rename(test_path("ring"), test_path("elsewhere")) == 0);
    CHECK(link("/dev/null", test_path("ring")) == 0 || symlink("/dev/null", test_path("ring")) == 0);
    close_all();
    if (in_child()) {
        register_traced(1, "child");
        CHECK(own_process_info(1).flags == 0);
        _exit(0);
    }
}

static void *pause_forever_in_thread(void *unused)
{
    pause();
    return unused;
}

static void end_main_thread(void)
{
    start_thread(pause_forever_in_thread, NULL);
    pthread_exit(NULL);
}

/* Without locks the pid decides. State "Z" in its stat may be that of the main thread alone. */
FORKED_TEST(process_without_its_main_thread_is_alive)
{
    struct rip_evidence evidence = {.descriptor = -1, .pid_namespace = rip__pid_namespace()};
    struct rip_process_info info = {.state = RIP_PROCESS_LIVE, .pid_namespace = evidence.pid_namespace};
    struct rip_process_facts facts;
    pid_t pid = start_child(end_main_thread);
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
    CHECK(!rip__process_alive(&evidence, 0, &info)); /* a zombie that was not waited for */
    CHECK(exit_status_of(pid) == 1000 + SIGKILL);
}

/* Leaving ---------------------------------------------------------------------------------------------------------- */

FORKED_TEST(leaving_removes_the_file)
{
    make_ring_with_id(100);
    register_id(2, "two");
    rip__leave(RIP_LEAVE_LAST);
    CHECK(count_files() == 0 && own_live_count() == 0);
    CHECK(rip_tid == 0 && rip__thread.slot == NULL);
    CHECK(own_process_info(0).state == RIP_PROCESS_EXITED);
    register_id(3, "three");
    CHECK(rip__thread.slot == NULL && own_live_count() == 0);
    rip__leave(RIP_LEAVE_LAST);
}

/* Another process may take over the name between the check and the removal. */
FORKED_TEST(leaving_keeps_a_file_that_is_being_taken_over)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_TAKEOVER_OFFSET, .l_len = 1};
    int descriptor;

    make_ring(100);
    descriptor = open(test_path("ring"), O_RDWR);
    CHECK(descriptor >= 0 && fcntl(descriptor, F_OFD_SETLK, &lock) == 0);
    rip__leave(RIP_LEAVE_LAST);
    CHECK(count_files() == 1);
}

FORKED_TEST(leaving_keeps_other_files)
{
    make_ring(100);
    CHECK(rename(test_path("ring"), test_path("mine")) == 0);
    CHECK(symlink("mine", test_path("ring")) == 0);
    rip__leave(RIP_LEAVE_LAST);
    CHECK(count_files() == 2);
}

/* The last process removes the file: not the parent while a child may still register. */
FORKED_TEST(leaving_with_a_child_alive)
{
    int go[2];
    pid_t pid;

    CHECK(pipe(go) == 0);
    make_ring(100);
    pid = fork();
    if (pid == 0) {
        await_pipe(go);
        CHECK(access(test_path("ring"), F_OK) == 0);
        register_traced(1, "child");
        rip__leave(RIP_LEAVE_LAST);
        CHECK(access(test_path("ring"), F_OK) < 0);
        _exit(0);
    }
    rip__leave(RIP_LEAVE_LAST);
    CHECK(count_files() == 1);
    signal_pipe(go);
    CHECK(exit_status_of(pid) == 0);
    CHECK(count_files() == 0);
}

FORKED_TEST(another_ring_after_leaving)
{
    struct rip_context context;

    make_ring(100);
    CHECK(rip_context_init(&context, 5, "five", 4));
    register_id(1, "one");
    rip__leave(RIP_LEAVE_LAST);
    rip__forget_ring();
    CHECK(rip_ring == NULL && rip__ring_fd() == -1);
    CHECK(rip_create_ring(test_path("second"), 100));
    register_traced(1, "one");
    CHECK(own_live_count() == 1);
    CHECK(own_process_info(0).module_count != 0);
    rip_switch(NULL, &context); /* a context of the old ring has no effect */
    CHECK(rip__thread.slot == NULL);
}

FORKED_TEST(descriptor_moves_with_its_lock)
{
    int before;

    make_ring(100);
    before = rip__ring_fd();
    rip__move_ring_fd();
    CHECK(rip__ring_fd() != before && fcntl(before, F_GETFD) < 0);
    CHECK(dup2(0, before) == before && close(before) == 0);
    if (in_child()) {
        struct mapped_ring mapped_ring = map_ring(test_path("ring"));

        check_locked(&mapped_ring, getppid());
        _exit(0);
    }
}

/* The table of processes ------------------------------------------------------------------------------------------- */

static void fork_and(void (*then)(void))
{
    if (fork() == 0) {
        register_traced(1, "child");
        then();
        _exit(0);
    }
    CHECK(exit_status_of(-1) >= 0);
}

static void leave_in_order(void)
{
    rip__leave(RIP_LEAVE_FILE);
}

FORKED_TEST(records_of_the_exited_are_reused)
{
    make_ring(100);
    for (unsigned i = 0; i < 200; i++)
        fork_and(leave_in_order);
    CHECK(rip_ring->process_high_water == 2 && own_live_count() == 0);
    CHECK(rip_ring->refused_process_count == 0);
}

/* Only when the table is full: until then the record of a dead process stays readable. */
FORKED_TEST(records_of_the_dead_are_reused_when_full)
{
    make_ring(300);
    for (unsigned i = 0; i < 2 * RIP_PROCESS_MIN; i++)
        fork_and(die);
    CHECK(rip_ring->process_capacity == 75 && rip_ring->process_high_water == 75);
    CHECK(rip_ring->refused_process_count == 0);
    CHECK(own_live_count() == 74); /* each reuse of a record freed the slot of its dead process */
}

FORKED_TEST(too_many_processes)
{
    int go[2], done[2];
    unsigned traced = 0;

    CHECK(pipe(go) == 0 && pipe(done) == 0);
    make_ring(256); /* 64 records */
    for (unsigned i = 0; i < 70; i++) {
        if (fork() == 0) {
            register_id(1, "child");
            rip_snap();
            signal_pipe(done);
            await_pipe(go);
            _exit(rip__thread.slot != NULL);
        }
        await_pipe(done);
    }
    for (unsigned i = 0; i < 70; i++)
        signal_pipe(go);
    for (unsigned i = 0; i < 70; i++)
        traced += (unsigned)exit_status_of(-1);
    CHECK(traced == 63 && rip_ring->refused_process_count == 7);
}

/* A shell forks and execs: the embryo ends with the exec, and its record is reused. */
FORKED_TEST(embryos_that_exec_do_not_fill_the_table)
{
    make_ring(100);
    for (unsigned i = 0; i < 150; i++) {
        pid_t pid = fork();

        if (pid == 0)
            execl("/bin/true", "true", NULL);
        CHECK(exit_status_of(pid) == 0);
    }
    CHECK(rip_ring->process_high_water == 2);
    fork_and(leave_in_order);
    CHECK(rip_ring->refused_process_count == 0);
}
