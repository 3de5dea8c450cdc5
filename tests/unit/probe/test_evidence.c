/* SPDX-License-Identifier: Apache-2.0 */
/* test_evidence.c - suspects that sleep, are stopped, traced, frozen or gone: ripd/probe/evidence.c. */
#include "support/descriptors.h"
#include "unit/probe_play.h"

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { THREADS = 16, SLOTS = PLAY_SUSPECTS_MAX };

static void be_child(void *context)
{
    (void)context;
    play_start_threads(THREADS - 1, play_wait);
}

static int set_up(void **state)
{
    (void)state;
    play_new();

    play_add_process(0, THREADS, 0, be_child, NULL);
    scene_refresh(play.scene);
    assert_int_equal(serial_of(play.scene, "ring"), 1);
    return 0;
}

static struct verdict judge(size_t suspect)
{
    return cause_judge(&play_case(suspect)->evidence);
}

static void assert_all(enum id_state state, enum id_cause cause)
{
    for (size_t i = 0; i < play.count; i++) {
        assert_true(play_case(i)->evidence.examined);
        assert_int_equal(judge(i).state, state);
        assert_int_equal(judge(i).cause, cause);
    }
}

/* States ----------------------------------------------------------------------------------------------------------- */

TEST(sleeping, set_up, play_free)
{
    assert_int_equal(play_collect(), 0);
    for (size_t i = 0; i < play.count; i++) {
        assert_true(play_case(i)->evidence.examined);
        assert_int_equal(play_case(i)->evidence.thread_state, 'S');
        assert_int_equal(play_case(i)->evidence.process_state, 'S');
        assert_false(play_case(i)->evidence.thread_gone);
        assert_false(play_case(i)->evidence.thread_replaced);
        assert_false(play_case(i)->evidence.frozen);
        assert_int_equal(judge(i).state, ID_STALLED);
    }
}

TEST(stopped, set_up, play_free)
{
    kill(play.pids[0], SIGSTOP);
    play_await(play.pids[0], 'T');
    play_add_suspect(0, 0);
    assert_int_equal(play_collect(), 0);
    assert_int_equal(play_case(3)->evidence.thread_state, 'T');
    assert_all(ID_STOPPED, CAUSE_SIGNAL);
    kill(play.pids[0], SIGCONT);
    play_await(play.pids[0], 'S');
    play_collect();
    assert_int_equal(judge(3).state, ID_STALLED);
}

TEST(traced, set_up, play_free)
{
    int status;

    if (ptrace(PTRACE_SEIZE, play_tids[3], NULL, NULL) != 0 ||
        ptrace(PTRACE_INTERRUPT, play_tids[3], NULL, NULL) != 0) {
        print_message("skipped: ptrace is not allowed here\n");
        skip();
    }
    assert_int_equal(waitpid((pid_t)play_tids[3], &status, __WALL), play_tids[3]);
    assert_int_equal(play_collect(), 0);
    assert_int_equal(judge(3).cause, CAUSE_TRACER);
    assert_int_equal(judge(4).state, ID_STALLED); /* only that one */
    ptrace(PTRACE_DETACH, play_tids[3], NULL, NULL);
}

static bool write_to(const char *path, const char *text)
{
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    bool written = descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text);

    if (descriptor >= 0)
        close(descriptor);
    return written;
}

/* Freezes the child in a group of its own. False if that cannot be done here. */
static bool freeze(const char *group)
{
    char path[160], text[32];

    snprintf(path, sizeof(path), "%s/cgroup.procs", group);
    snprintf(text, sizeof(text), "%d", play.pids[0]);
    if (mkdir(group, 0755) != 0 || !write_to(path, text))
        return false;
    snprintf(path, sizeof(path), "%s/freezer.state", group);
    if (!write_to(path, "FROZEN"))
        return false;
    for (int i = 0; i < 1000; i++) {
        FILE *file = fopen(path, "re");
        char now[16] = "";

        if (file == NULL || fgets(now, sizeof(now), file) == NULL)
            return false;
        fclose(file);
        if (strcmp(now, "FROZEN\n") == 0)
            return true;
        usleep(1000);
    }
    return false;
}

TEST(frozen, set_up, play_free)
{
    char group[64], path[128];
    bool frozen;

    snprintf(group, sizeof(group), "/sys/fs/cgroup/freezer/ripd-test-%d", getpid());
    frozen = freeze(group);
    if (frozen) {
        play_add_suspect(0, 0);
        assert_int_equal(play_collect(), 0);
    }
    snprintf(path, sizeof(path), "%s/freezer.state", group);
    write_to(path, "THAWED");
    kill(play.pids[0], SIGKILL);
    for (int i = 0; i < 1000 && rmdir(group) != 0 && errno == EBUSY; i++) {
        waitpid(play.pids[0], NULL, WNOHANG | WNOWAIT);
        usleep(1000);
    }
    if (!frozen) {
        print_message("skipped: no freezer that can be written at %s\n", group);
        skip();
    }
    assert_all(ID_STOPPED, CAUSE_FREEZER);
}

TEST(on_no_thread, set_up, play_free)
{
    play_add_suspect(0, 0);
    assert_int_equal(play_collect(), 0);
    assert_true(play_case(THREADS)->evidence.on_no_thread);
    assert_int_equal(play_case(THREADS)->evidence.process_state, 'S');
    assert_int_equal(judge(THREADS).cause, CAUSE_PARKED);
}

/* Gone ------------------------------------------------------------------------------------------------------------- */

TEST(threads_that_are_gone_or_not_the_same, set_up, play_free)
{
    play_add_suspect(0, 4194304);                             /* no such thread */
    play_add_suspect(0, (uint32_t)getpid());                  /* a thread, but not one of that process */
    ring_builder_slot(&play.ring, 2)->registered_boot_ns = 1; /* long before its thread was started */
    ring_builder_slot(&play.ring, 3)->registered_boot_ns = 1;
    ring_builder_slot(&play.ring, 3)->kind = RIP_KIND_COROUTINE; /* may be on a younger thread */
    assert_int_equal(play_collect(), 0);
    assert_true(play_case(THREADS)->evidence.thread_gone);
    assert_true(play_case(THREADS + 1)->evidence.thread_gone);
    assert_true(play_case(2)->evidence.thread_replaced);
    assert_int_equal(judge(2).state, ID_EXITED);
    assert_false(play_case(3)->evidence.thread_replaced);
}

/* What an exec ends was not over before: it keeps its verdict until the process is another. */
TEST(threads_that_an_exec_ends, set_up, play_free)
{
    play_add_suspect(0, 4194304); /* no such thread */
    ring_builder_process(&play.ring, 0)->state = RIP_PROCESS_EXECING;
    assert_int_equal(play_collect(), 1);
    assert_false(play_case(THREADS)->evidence.examined);
    assert_true(play_case(0)->evidence.examined);
}

TEST(a_process_that_is_missing, set_up, play_free)
{
    siginfo_t info;

    kill(play.pids[0], SIGKILL);
    /* a leader is a zombie before its last thread is gone */
    assert_int_equal(waitid(P_PID, (id_t)play.pids[0], &info, WEXITED | WNOWAIT), 0);
    scene_refresh(play.scene);
    assert_int_equal(ring_named(play.scene, "ring")->processes[0].verdict, PROCESS_MISSING);
    assert_int_equal(play_collect(), 0);
    assert_all(ID_EXITED, CAUSE_NONE);
}

/* The process ends after its verdict: its ids get no evidence on this scan; the next one finds it dead. */
TEST(a_process_that_ends_meanwhile, set_up, play_free)
{
    ring_stage_end(play.pids[0]);
    assert_int_equal(play_collect(), play.count);
    play.pids[0] = ring_stage_start(be_child, NULL, NULL);
}

TEST(a_process_without_a_verdict, set_up, play_free)
{
    ring_builder_process(&play.ring, 0)->pid_namespace = 1; /* its pid means nothing here, and it holds no lock */
    scene_refresh(play.scene);
    assert_int_equal(ring_named(play.scene, "ring")->processes[0].verdict, PROCESS_UNKNOWN);
    play_add_suspect(0, 0);
    assert_int_equal(play_collect(), 0);
    for (size_t i = 0; i < play.count; i++) {
        assert_int_equal(play_case(i)->evidence.thread_state, 0);
        assert_int_equal(play_case(i)->evidence.process_state, 0);
        assert_int_equal(judge(i).cause, i == THREADS ? CAUSE_PARKED : CAUSE_UNKNOWN);
    }
    play.suspects[0].process = 7;     /* of no process at all */
    play.suspects[THREADS].ring = 77; /* of a ring that is gone */
    assert_int_equal(play_collect(), 1);
}

/* A made-up /proc -------------------------------------------------------------------------------------------------- */

static void put_status(const struct ring_stage *stage, pid_t pid, const char *more)
{
    char name[32], text[128];

    snprintf(name, sizeof(name), "proc/%d/status", pid);
    snprintf(text, sizeof(text), "Uid:\t%u\t%u\t%u\t%u\n%s", geteuid(), geteuid(), geteuid(), geteuid(), more);
    ring_stage_write(stage, name, text, strlen(text));
}

TEST(core_dump, set_up, play_free)
{
    struct ring_stage *stage = &play.scene->stage;
    const char *stat = "1 (x) D 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0";

    ring_stage_put_stat(stage, 500, stat);
    put_status(stage, 500, "NSpid:\t500\nCoreDumping:\t1\n");
    ring_builder_add_process(&play.ring, 0, 500, 777, "dumping");
    ring_builder_process(&play.ring, 0)->flags = 0;
    ring_builder_process(&play.ring, 0)->pid_namespace = 0;
    scene_watch(play.scene, "", NULL, ring_stage_path(stage, "proc"));
    play_open_own_probe(ring_stage_path(stage, "proc"), PLAY_AMPLE_NS);
    scene_refresh(play.scene);
    assert_int_equal(ring_named(play.scene, "ring")->processes[0].verdict, PROCESS_ALIVE);
    assert_int_equal(play_collect(), 0);
    assert_all(ID_STOPPED, CAUSE_CORE_DUMP);
}

/* Holds both locks of record 0 of the ring, as a process that is in it does. */
static void lock_record(void *context)
{
    struct flock holder = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_HOLDER_OFFSET, .l_len = 1};
    struct flock life = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_LIFE_OFFSET, .l_len = 1};
    int descriptor = open(context, O_RDWR | O_CLOEXEC);

    if (descriptor < 0 || fcntl(descriptor, F_SETLK, &holder) != 0 || fcntl(descriptor, F_OFD_SETLK, &life) != 0)
        abort();
}

/* /proc shows the same process all the time, but the kernel says that its lock is gone: nothing that was read counts.
 */
TEST(the_lock_is_asked_about_again, set_up, play_free)
{
    struct ring_stage *stage = &play.scene->stage;
    char path[128], text[128];
    pid_t pid;

    snprintf(path, sizeof(path), "%s", ring_stage_path(stage, "ring"));
    pid = ring_stage_start(lock_record, NULL, path);
    snprintf(text, sizeof(text), "%d (x) T 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0", pid);
    ring_stage_put_stat(stage, (uint32_t)pid, text);
    put_status(stage, pid, "");
    ring_builder_add_process(&play.ring, 0, (uint32_t)pid, 777, "locker");
    ring_builder_process(&play.ring, 0)->flags = RIP_PROCESS_HAS_HOLDER_LOCK;
    ring_builder_process(&play.ring, 0)->pid_namespace = 0;
    scene_watch(play.scene, "", NULL, ring_stage_path(stage, "proc"));
    play_open_own_probe(ring_stage_path(stage, "proc"), PLAY_AMPLE_NS);
    scene_refresh(play.scene);
    assert_int_equal(ring_named(play.scene, "ring")->processes[0].verdict, PROCESS_ATTESTED);
    assert_int_equal(play_collect(), 0);
    assert_all(ID_STOPPED, CAUSE_SIGNAL);
    ring_stage_end(pid);
    assert_int_equal(play_collect(), play.count);
    assert_int_equal(play_case(0)->evidence.thread_state, 0);
}

/* Budget ----------------------------------------------------------------------------------------------------------- */

static void fill_up(void)
{
    for (int i = 0; play.count < SLOTS; i++)
        play_add_suspect(0, play_tids[i % THREADS]);
}

TEST(no_time_at_all, set_up, play_free)
{
    play_open_own_probe("/proc", 0);
    assert_int_equal(play_collect(), play.count);
    assert_int_equal(play_examine(0), 0);
    probe_end(play.probe);
}

static uint64_t left_count(void)
{
    struct probe_counters counters;

    probe_count(play.probe, &counters);
    return counters.left_count;
}

static void find_all_idle(void)
{
    for (size_t i = 0; i < play.count; i++) {
        play.suspects[i].state = ID_IDLE;
        play.suspects[i].cause = CAUSE_INPUT;
    }
}

/* A few scans later is in time, and those that have a verdict are looked at when there is time. */
TEST(only_what_is_late_counts_as_left, set_up, play_free)
{
    play_open_own_probe("/proc", 0);
    for (unsigned i = 1; i < HEALTH_PATIENCE_SCANS; i++) {
        play_collect();
        assert_int_equal(left_count(), 0);
    }
    play_collect();
    assert_int_equal(left_count(), play.count);
    find_all_idle();
    for (unsigned i = 0; i < HEALTH_PATIENCE_SCANS; i++)
        play_collect();
    assert_int_equal(left_count(), play.count);
}

/* There is time for one process. */
TEST(who_has_no_verdict_comes_before_other_processes, set_up, play_free)
{
    const struct ring *ring;

    find_all_idle();
    play_add_process(1, THREADS, 0, be_child, NULL);
    scene_refresh(play.scene);
    play_open_own_probe("/proc", 0);
    play_collect();
    ring = registry_find(play.scene->registry, 1);
    assert_int_equal(ring->processes[0].examined_mono_ns, 0);
    assert_int_not_equal(ring->processes[1].examined_mono_ns, 0);
}

TEST(everyone_gets_a_turn, set_up, play_free)
{
    bool seen[SLOTS] = {false};
    size_t seen_count = 0, rounds = 0;
    uint64_t longest_ns = 0;

    fill_up();
    for (size_t i = 0; i < play.count; i++) { /* all have been examined before: they take turns */
        play.suspects[i].state = ID_STALLED;
        play.suspects[i].cause = CAUSE_UNKNOWN;
    }
    play_open_own_probe("/proc", 1000000);
    for (; seen_count < play.count; rounds++) {
        uint64_t started_ns = clock_mono_ns();

        assert_true(rounds < 10000);
        play_collect();
        if (clock_mono_ns() - started_ns > longest_ns)
            longest_ns = clock_mono_ns() - started_ns;
        for (size_t i = 0; i < play.count; i++) {
            seen_count += play_case(i)->evidence.examined && !seen[i];
            seen[i] = seen[i] || play_case(i)->evidence.examined;
        }
    }
    assert_true(rounds > 1);
    print_message("%zu suspects in %zu rounds, the longest %.1f ms\n", play.count, rounds, (double)longest_ns / 1e6);
}

TEST(the_longest_frozen_of_the_new_come_first, set_up, play_free)
{
    uint64_t youngest_examined = 0, oldest_left = UINT64_MAX;
    size_t left = 0;

    fill_up();
    for (size_t i = 0; i < play.count; i++) {
        play.suspects[i].frozen_since_ns = 1 + (i * 7919) % 1000003;
        if (i % 2 != 0) { /* had their turn already */
            play.suspects[i].state = ID_STALLED;
            play.suspects[i].cause = CAUSE_UNKNOWN;
        }
    }
    for (uint64_t budget_ns = 8000000; left <= SLOTS / 2; budget_ns /= 2) { /* until it does not suffice for the new */
        play_open_own_probe("/proc", budget_ns);
        left = play_collect();
    }
    for (size_t i = 0; i < play.count; i++) {
        uint64_t since_ns = play.suspects[i].frozen_since_ns;

        assert_false(i % 2 != 0 && play_case(i)->evidence.examined);
        if (i % 2 != 0)
            continue;
        if (play_case(i)->evidence.examined && since_ns > youngest_examined)
            youngest_examined = since_ns;
        if (!play_case(i)->evidence.examined && since_ns < oldest_left)
            oldest_left = since_ns;
    }
    assert_true(youngest_examined < oldest_left);
}

/* A stopped process must not leave most of its threads accused just because there are many of them. */
TEST(a_stop_is_reported_of_all_at_once, set_up, play_free)
{
    int attempts = 0;

    fill_up();
    kill(play.pids[0], SIGSTOP);
    play_await(play.pids[0], 'T');
    play_open_own_probe("/proc", 1000000);
    while (play_collect() != 0) /* 1 ms: too little to read a thousand threads, unless this test was put aside */
        assert_true(attempts++ < 100);
    assert_all(ID_STOPPED, CAUSE_SIGNAL);
}

TEST(nothing_is_kept, set_up, play_free)
{
    size_t before = count_descriptors();

    for (int i = 0; i < 10; i++)
        play_collect();
    assert_int_equal(count_descriptors(), before);
}
