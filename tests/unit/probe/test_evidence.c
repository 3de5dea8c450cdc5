/* SPDX-License-Identifier: Apache-2.0 */
/* test_evidence.c - suspects that sleep, are stopped, traced, frozen or gone: ripd/probe/evidence.c. */
#include "support/descriptors.h"
#include "unit/probe_play.h"

#include "os/file.h"

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
    scene_refresh();
    assert_int_equal(serial_of("ring"), 1);
    return 0;
}

static const struct evidence *evidence_of(size_t suspect)
{
    return &play_case(suspect)->evidence;
}

static struct verdict judge(size_t suspect)
{
    return cause_judge(evidence_of(suspect));
}

static void assert_all(enum id_state state, enum id_cause cause)
{
    for (size_t i = 0; i < play.count; i++) {
        assert_true(evidence_of(i)->examined);
        assert_int_equal(judge(i).state, state);
        assert_int_equal(judge(i).cause, cause);
    }
}

static void assert_verdict(enum process_verdict verdict)
{
    assert_int_equal(ring_named("ring")->processes[0].verdict, verdict);
}

/* States ----------------------------------------------------------------------------------------------------------- */

TEST(sleeping, set_up, play_free)
{
    assert_int_equal(play_collect(), 0);
    for (size_t i = 0; i < play.count; i++) {
        const struct evidence *evidence = evidence_of(i);

        assert_true(evidence->examined && evidence->thread_state == 'S' && evidence->process_state == 'S');
        assert_false(evidence->thread_gone || evidence->thread_replaced || evidence->frozen);
        assert_int_equal(judge(i).state, ID_STALLED);
    }
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
    assert_int_equal(judge(4).state, ID_STALLED); /* only the traced thread is stopped */
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

/* Freezes the child in a cgroup of its own. Returns false if this machine does not allow it. */
static bool freeze(const char *group, const char *state_path)
{
    char path[160], text[32];

    snprintf(path, sizeof(path), "%s/cgroup.procs", group);
    snprintf(text, sizeof(text), "%d", play.pids[0]);
    if (mkdir(group, 0755) != 0 || !write_to(path, text) || !write_to(state_path, "FROZEN"))
        return false;
    for (int i = 0; i < 1000; i++) {
        char now[16] = "";

        if (file_read_at(AT_FDCWD, now, sizeof(now), "%s", state_path) <= 0)
            return false;
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
    snprintf(path, sizeof(path), "%s/freezer.state", group);
    frozen = freeze(group, path);
    if (frozen) {
        play_add_suspect(0, 0);
        assert_int_equal(play_collect(), 0);
    }
    write_to(path, "THAWED");
    kill(play.pids[0], SIGKILL);
    for (int i = 0; i < 1000 && rmdir(group) != 0 && errno == EBUSY; i++) {
        waitpid(play.pids[0], NULL, WNOHANG | WNOWAIT);
        usleep(1000);
    }
    if (!frozen) {
        print_message("skipped: no writable freezer at %s\n", group);
        skip();
    }
    assert_all(ID_STOPPED, CAUSE_FREEZER);
}

TEST(on_no_thread, set_up, play_free)
{
    play_add_suspect(0, 0);
    assert_int_equal(play_collect(), 0);
    assert_true(evidence_of(THREADS)->on_no_thread);
    assert_int_equal(evidence_of(THREADS)->process_state, 'S');
    assert_int_equal(judge(THREADS).cause, CAUSE_PARKED);
}

/* Gone ------------------------------------------------------------------------------------------------------------- */

TEST(threads_that_are_gone_or_replaced, set_up, play_free)
{
    play_add_suspect(0, 4194304);                             /* no such thread */
    play_add_suspect(0, (uint32_t)getpid());                  /* a thread of another process */
    ring_builder_slot(&play.ring, 2)->registered_boot_ns = 1; /* long before its thread started */
    ring_builder_slot(&play.ring, 3)->registered_boot_ns = 1;
    ring_builder_slot(&play.ring, 3)->kind = RIP_KIND_COROUTINE; /* a coroutine may be on a younger thread */
    assert_int_equal(play_collect(), 0);
    assert_true(evidence_of(THREADS)->thread_gone);
    assert_true(evidence_of(THREADS + 1)->thread_gone);
    assert_true(evidence_of(2)->thread_replaced);
    assert_int_equal(judge(2).state, ID_EXITED);
    assert_false(evidence_of(3)->thread_replaced);
}

/* Threads that end by exec keep their verdict until the record is of the new program. */
TEST(threads_that_an_exec_ends, set_up, play_free)
{
    play_add_suspect(0, 4194304); /* no such thread */
    ring_builder_process(&play.ring, 0)->state = RIP_PROCESS_EXECING;
    assert_int_equal(play_collect(), 1);
    assert_false(evidence_of(THREADS)->examined);
    assert_true(evidence_of(0)->examined);
}

TEST(a_process_that_is_missing, set_up, play_free)
{
    siginfo_t info;

    kill(play.pids[0], SIGKILL);
    /* the first thread is a zombie before the last thread is gone */
    assert_int_equal(waitid(P_PID, (id_t)play.pids[0], &info, WEXITED | WNOWAIT), 0);
    scene_refresh();
    assert_verdict(PROCESS_MISSING);
    assert_int_equal(play_collect(), 0);
    assert_all(ID_EXITED, CAUSE_NONE);
}

/* The process ends after its verdict: its ids get no evidence in this scan. The next scan finds it dead. */
TEST(a_process_that_ends_meanwhile, set_up, play_free)
{
    ring_stage_end(play.pids[0]);
    assert_int_equal(play_collect(), play.count);
    play.pids[0] = ring_stage_start(be_child, NULL, NULL);
}

TEST(a_process_without_a_verdict, set_up, play_free)
{
    ring_builder_process(&play.ring, 0)->pid_namespace = 1; /* its pid cannot be resolved, and it holds no lock */
    scene_refresh();
    assert_verdict(PROCESS_UNKNOWN);
    play_add_suspect(0, 0);
    assert_int_equal(play_collect(), 0);
    for (size_t i = 0; i < play.count; i++) {
        assert_true(evidence_of(i)->thread_state == 0 && evidence_of(i)->process_state == 0);
        assert_int_equal(judge(i).cause, i == THREADS ? CAUSE_PARKED : CAUSE_UNKNOWN);
    }
    play.suspects[0].process = 7;     /* no such record */
    play.suspects[THREADS].ring = 77; /* no such ring */
    assert_int_equal(play_collect(), 1);
}

/* A made-up /proc -------------------------------------------------------------------------------------------------- */

/* Makes a /proc with one process, which is in record 0, and a probe that reads it. */
static void make_up_proc(pid_t pid, char state, const char *status_lines, uint32_t flags)
{
    struct ring_stage *stage = &scene.stage;
    char name[32], text[128];

    snprintf(text, sizeof(text), "%d (x) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0", pid, state);
    ring_stage_put_stat(stage, (uint32_t)pid, text);
    snprintf(name, sizeof(name), "proc/%d/status", pid);
    snprintf(text, sizeof(text), "Uid:\t%u\t%u\t%u\t%u\n%s", geteuid(), geteuid(), geteuid(), geteuid(), status_lines);
    ring_stage_put(stage, name, text);
    ring_builder_add_process(&play.ring, 0, (uint32_t)pid, 777, "process");
    ring_builder_process(&play.ring, 0)->flags = flags;
    ring_builder_process(&play.ring, 0)->pid_namespace = 0;
    scene_watch("", NULL, ring_stage_path(stage, "proc"));
    play_open_own_probe(ring_stage_path(stage, "proc"), PLAY_AMPLE_NS);
    scene_refresh();
}

TEST(core_dump, set_up, play_free)
{
    make_up_proc(500, 'D', "NSpid:\t500\nCoreDumping:\t1\n", 0);
    assert_verdict(PROCESS_ALIVE);
    assert_int_equal(play_collect(), 0);
    assert_all(ID_STOPPED, CAUSE_CORE_DUMP);
}

/* Holds both locks of record 0 of the ring, as a process of the ring does. */
static void lock_record(void *context)
{
    struct flock holder = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_HOLDER_OFFSET, .l_len = 1};
    struct flock life = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_LIFE_OFFSET, .l_len = 1};
    int descriptor = open(context, O_RDWR | O_CLOEXEC);

    if (descriptor < 0 || fcntl(descriptor, F_SETLK, &holder) != 0 || fcntl(descriptor, F_OFD_SETLK, &life) != 0)
        abort();
}

/* The made-up /proc still shows the process, but the kernel reports that its lock is gone: no reading counts. */
TEST(the_lock_is_queried_again, set_up, play_free)
{
    char path[128];
    pid_t pid;

    snprintf(path, sizeof(path), "%s", ring_stage_path(&scene.stage, "ring"));
    pid = ring_stage_start(lock_record, NULL, path);
    make_up_proc(pid, 'T', "", RIP_PROCESS_HAS_HOLDER_LOCK);
    assert_verdict(PROCESS_ATTESTED);
    assert_int_equal(play_collect(), 0);
    assert_all(ID_STOPPED, CAUSE_SIGNAL);
    ring_stage_end(pid);
    assert_int_equal(play_collect(), play.count);
    assert_int_equal(evidence_of(0)->thread_state, 0);
}

/* Budget ----------------------------------------------------------------------------------------------------------- */

/* Adds suspects until the ring is full. */
static void fill_ring(void)
{
    for (int i = 0; play.count < SLOTS; i++)
        play_add_suspect(0, play_tids[i % THREADS]);
}

static void set_verdict(size_t suspect, enum id_state state, enum id_cause cause)
{
    play.suspects[suspect].state = state;
    play.suspects[suspect].cause = cause;
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

static void set_all_idle(void)
{
    for (size_t i = 0; i < play.count; i++)
        set_verdict(i, ID_IDLE, CAUSE_INPUT);
}

/* A suspect counts as left only after a few scans, and not if it has a verdict already. */
TEST(only_late_suspects_count_as_left, set_up, play_free)
{
    play_open_own_probe("/proc", 0);
    for (unsigned i = 1; i < HEALTH_PATIENCE_SCANS; i++) {
        play_collect();
        assert_int_equal(left_count(), 0);
    }
    play_collect();
    assert_int_equal(left_count(), play.count);
    set_all_idle();
    for (unsigned i = 0; i < HEALTH_PATIENCE_SCANS; i++)
        play_collect();
    assert_int_equal(left_count(), play.count);
}

/* The budget is enough for one process: the one whose suspects have no verdict. */
TEST(suspects_without_a_verdict_come_first, set_up, play_free)
{
    const struct ring *ring;

    set_all_idle();
    play_add_process(1, THREADS, 0, be_child, NULL);
    scene_refresh();
    play_open_own_probe("/proc", 0);
    play_collect();
    ring = registry_find(scene.registry, 1);
    assert_int_equal(ring->processes[0].examined_mono_ns, 0);
    assert_int_not_equal(ring->processes[1].examined_mono_ns, 0);
}

TEST(all_suspects_get_a_turn, set_up, play_free)
{
    bool seen[SLOTS] = {false};
    size_t seen_count = 0, rounds = 0;
    uint64_t longest_ns = 0;

    fill_ring();
    for (size_t i = 0; i < play.count; i++)
        set_verdict(i, ID_STALLED, CAUSE_UNKNOWN); /* with a verdict, they take turns */
    play_open_own_probe("/proc", 1000000);
    for (; seen_count < play.count; rounds++) {
        uint64_t started_ns = clock_mono_ns();

        assert_true(rounds < 10000);
        play_collect();
        if (clock_mono_ns() - started_ns > longest_ns)
            longest_ns = clock_mono_ns() - started_ns;
        for (size_t i = 0; i < play.count; i++) {
            seen_count += evidence_of(i)->examined && !seen[i];
            seen[i] = seen[i] || evidence_of(i)->examined;
        }
    }
    assert_true(rounds > 1);
    print_message("%zu suspects in %zu rounds, the longest %.1f ms\n", play.count, rounds, (double)longest_ns / 1e6);
}

/* Of the suspects without a verdict, those that stand still the longest come first. */
TEST(the_longest_stalled_come_first, set_up, play_free)
{
    uint64_t youngest_examined = 0, oldest_left = UINT64_MAX;
    size_t left = 0;

    fill_ring();
    for (size_t i = 0; i < play.count; i++) {
        play.suspects[i].frozen_since_ns = 1 + (i * 7919) % 1000003;
        if (i % 2 != 0)
            set_verdict(i, ID_STALLED, CAUSE_UNKNOWN);
    }
    for (uint64_t budget_ns = 8000000; left <= SLOTS / 2; budget_ns /= 2) { /* until it is too small for these */
        play_open_own_probe("/proc", budget_ns);
        left = play_collect();
    }
    for (size_t i = 0; i < play.count; i++) {
        uint64_t since_ns = play.suspects[i].frozen_since_ns;

        assert_false(i % 2 != 0 && evidence_of(i)->examined);
        if (i % 2 != 0)
            continue;
        if (evidence_of(i)->examined && since_ns > youngest_examined)
            youngest_examined = since_ns;
        if (!evidence_of(i)->examined && since_ns < oldest_left)
            oldest_left = since_ns;
    }
    assert_true(youngest_examined < oldest_left);
}

/* If a process is stopped, all its threads are reported as stopped at once, however many there are. */
TEST(a_stop_is_reported_for_all_threads, set_up, play_free)
{
    int attempts = 0;

    play_add_suspect(0, 0);
    fill_ring();
    kill(play.pids[0], SIGSTOP);
    play_await(play.pids[0], 'T');
    play_open_own_probe("/proc", 1000000);
    while (play_collect() != 0) /* 1 ms is too little to read a thousand threads */
        assert_true(attempts++ < 100);
    assert_int_equal(evidence_of(3)->thread_state, 'T');
    assert_all(ID_STOPPED, CAUSE_SIGNAL);
    kill(play.pids[0], SIGCONT);
    play_await(play.pids[0], 'S');
    play_open_own_probe("/proc", PLAY_AMPLE_NS);
    play_collect();
    assert_int_equal(judge(3).state, ID_STALLED);
}

TEST(no_descriptor_stays_open, set_up, play_free)
{
    size_t before = count_descriptors();

    for (int i = 0; i < 10; i++)
        play_collect();
    assert_int_equal(count_descriptors(), before);
}
