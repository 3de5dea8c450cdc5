/* SPDX-License-Identifier: Apache-2.0 */
/* test_ends.c - how processes end, with real processes and locks: registry_next_end(), ripd/ring/ends.c. */
#include "unit/registry_test.h"

#include <librip.h>
#include <signal.h>
#include <sys/wait.h>

#include "os/pidfd.h"
#include "writer.h"

#define KILLED_FLAGS 0x400u /* PF_SIGNALED of Linux */

static char ring_path[128];
static pid_t pid; /* of the process whose end is watched */

static void watch_ends(const char *proc_path)
{
    scene_options(&(struct registry_options){.proc_path = proc_path, .notices_ends = true});
}

static int set_up(void **state)
{
    scene_open(state);
    watch_ends("/proc");
    strcpy(ring_path, path_of("ring"));
    return 0;
}

#define PLAY(title) TEST(title, set_up, scene_close)

static void open_ring(void *context)
{
    (void)context;
    if (!rip_create_ring(ring_path, 100))
        abort();
    rip_init(1, "one", 3, 0, 0);
    rip_snap();
}

static void assert_no_more(void)
{
    struct process_end end;

    for (int i = 0; i < 3; i++) {
        scene_refresh();
        assert_false(registry_next_end(scene.registry, &end));
    }
}

/* Starts a process with a ring. It runs then() when ring_stage_go() is called. */
static void start(void (*then)(void *context))
{
    pid = ring_stage_start(open_ring, then, NULL);
    assert_no_more();
    assert_int_equal(ring_named("ring")->processes[0].verdict, PROCESS_ATTESTED);
}

/* Lets the process run then(), and waits until it has ended or stopped. Returns its wait status. */
static int run_then(void (*then)(void *context))
{
    int status;

    start(then);
    ring_stage_go(pid);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    return status;
}

/* Returns the end that is noticed within a minute. */
static struct process_end next_end(void)
{
    struct process_end end;

    for (int i = 0; i < 60000; i++) {
        if (registry_next_end(scene.registry, &end)) {
            assert_int_equal(end.pid, pid);
            return end;
        }
        usleep(1000);
    }
    fail_msg("no end was noticed");
    return end;
}

static void assert_killed(void)
{
    struct process_end end;
    int status = 0, result;

    ring_stage_end(pid);
    end = next_end();
    assert_false(end.open);
    assert_false(end.replaced);
    assert_false(end.exiting);
    assert_true(end.descriptor >= 0);
    result = pidfd_status(end.descriptor, &status);
    assert_true(result == -ENOTSUP || (result == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    close(end.descriptor);
    assert_no_more();
}

PLAY(killed)
{
    start(NULL);
    assert_killed();
}

PLAY(killed_and_dead_before_the_query)
{
    start(NULL);
    kill(pid, SIGKILL);
    for (int i = 0; i < 3; i++)
        scene_refresh();
    assert_false(next_end().replaced);
    ring_stage_end(pid);
}

static void put_stat(unsigned flags, uint64_t start_time_ticks)
{
    char text[200];

    snprintf(text, sizeof(text), "%d (x) D 1 1 1 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0", pid, flags,
             (unsigned long long)start_time_ticks);
    ring_stage_put_stat(&scene.stage, (uint32_t)pid, text);
}

/* Starts a process, and continues with a fake /proc in which it is the same. */
static void start_with_fake_proc(void)
{
    char text[200], name[64];

    start(NULL);
    put_stat(0, ring_stage_start_time(pid));
    snprintf(text, sizeof(text), "Uid:\t%u\t%u\t%u\t%u\nNSpid:\t%d\n", getuid(), getuid(), getuid(), getuid(), pid);
    snprintf(name, sizeof(name), "proc/%d/status", pid);
    ring_stage_put(&scene.stage, name, text);
    watch_ends(path_of("proc"));
    assert_no_more();
}

/* A process that writes a core file: its stalls are kept before all its threads count as stopped. */
PLAY(about_to_be_killed)
{
    struct process_end end;

    start_with_fake_proc();
    put_stat(KILLED_FLAGS, ring_stage_start_time(pid));
    scene_refresh();
    end = next_end();
    assert_true(end.open);
    assert_false(end.replaced);
    assert_no_more();
    assert_int_equal(registry_certainty(scene.registry, &end), CERTAINTY_LACKS);
    assert_killed();
}

/* A process that is missing on one scan and attested again on the next: its end is still watched. */
PLAY(missing_on_one_scan)
{
    struct process_end end;

    start_with_fake_proc();
    put_stat(0, ring_stage_start_time(pid) + 1);
    scene.now_mono_ns += REGISTRY_RECHECK_NS;
    scene_refresh();
    end = next_end();
    assert_true(end.replaced);
    put_stat(0, ring_stage_start_time(pid));
    scene_refresh();
    assert_int_equal(registry_certainty(scene.registry, &end), CERTAINTY_NO);
    assert_killed();
}

static void leave_in_order(void *context)
{
    (void)context;
    rip__leave(RIP_LEAVE_FILE);
    _exit(0);
}

PLAY(an_orderly_exit_is_no_end)
{
    run_then(leave_in_order);
    assert_no_more();
}

static void call_exit(void *context)
{
    (void)context;
    exit(0);
}

PLAY(exit_is_an_end)
{
    struct process_end end;

    run_then(call_exit);
    end = next_end();
    assert_true(end.exiting);
    close(end.descriptor);
}

/* The new program stops itself: by then the old address space and its locks are gone. Its comm changes too early. */
static void execute(void *context)
{
    (void)context;
    execl("/bin/sh", "sh", "-c", "kill -STOP $$; exec sleep 60", (char *)NULL);
    abort();
}

static void execute_preloaded(void *context)
{
    rip__leave(RIP_LEAVE_TO_EXEC);
    execute(context);
}

/* The first scan notices it, the second is certain. The end of the new program is not reported. */
static void check_replaced(void (*then)(void *context), bool keeps_file)
{
    struct process_end end;

    assert_true(WIFSTOPPED(run_then(then)));
    kill(pid, SIGCONT);
    scene_refresh();
    end = next_end();
    assert_true(end.open);
    assert_true(end.replaced);
    assert_int_equal(registry_certainty(scene.registry, &end), CERTAINTY_LACKS);
    scene_refresh();
    assert_non_null(registry_find(scene.registry, end.ring));
    assert_int_equal(registry_certainty(scene.registry, &end), CERTAINTY_YES);
    scene_refresh();
    assert_int_equal(registry_find(scene.registry, end.ring) != NULL, keeps_file);
    ring_stage_end(pid);
    assert_no_more();
}

PLAY(another_program)
{
    check_replaced(execute, true);
}

PLAY(another_program_under_the_preload_library)
{
    check_replaced(execute_preloaded, false);
}

static void fail_to_execute(void *context)
{
    (void)context;
    rip__leave(RIP_LEAVE_TO_EXEC);
    rip__forget_ring();
    raise(SIGSTOP);
}

PLAY(an_exec_that_fails_is_no_end)
{
    run_then(fail_to_execute);
    assert_no_more();
    ring_stage_end(pid);
    assert_no_more();
}
