/* SPDX-License-Identifier: Apache-2.0 */
/* test_ends.c - ends of processes, with real ones and real locks: registry_next_end(), ripd/ring/ends.c. */
#include "unit/registry_test.h"

#include <librip.h>
#include <signal.h>
#include <sys/wait.h>

#include "os/pidfd.h"
#include "writer.h"

#define KILLED_FLAGS 0x400u /* PF_SIGNALED of Linux */

static char ring_path[128];
static pid_t first_pid;

static void watch_ends(struct scene *scene, const char *proc_path)
{
    const char *directories[1] = {scene->stage.directory};
    const struct registry_options options = {
        .directories = directories, .directory_count = 1, .proc_path = proc_path, .notices_ends = true};

    scene_options(scene, &options);
}

static int set_up(void **state)
{
    scene_open(state);
    watch_ends(*state, "/proc");
    strcpy(ring_path, ring_stage_path(&((struct scene *)*state)->stage, "ring"));
    return 0;
}

static void open_ring(void *context)
{
    (void)context;
    if (!rip_create_ring(ring_path, 100))
        abort();
    rip_init(1, "one", 3, 0, 0);
    rip_snap();
}

/* A process in a ring, whose end is watched. */
static pid_t start(struct scene *scene, void (*then)(void *context))
{
    struct process_end end;

    first_pid = ring_stage_start(open_ring, then, NULL);
    scene_refresh(scene);
    assert_int_equal(ring_named(scene, "ring")->processes[0].verdict, PROCESS_ATTESTED);
    assert_false(registry_next_end(scene->registry, &end));
    return first_pid;
}

/* The end that was noticed, within a minute. */
static struct process_end next_end(struct scene *scene)
{
    struct process_end end;

    for (int i = 0; i < 60000; i++) {
        if (registry_next_end(scene->registry, &end)) {
            assert_int_equal(end.pid, first_pid);
            return end;
        }
        usleep(1000);
    }
    fail_msg("no end was noticed");
    return end;
}

static void assert_no_more(struct scene *scene)
{
    struct process_end end;

    for (int i = 0; i < 3; i++) {
        scene_refresh(scene);
        assert_false(registry_next_end(scene->registry, &end));
    }
}

static void assert_killed(struct scene *scene, pid_t pid)
{
    struct process_end end;
    int status = 0, result;

    ring_stage_end(pid);
    end = next_end(scene);
    assert_false(end.open);
    assert_false(end.replaced);
    assert_false(end.exiting);
    assert_true(end.descriptor >= 0);
    result = pidfd_status(end.descriptor, &status);
    assert_true(result == -ENOTSUP || (result == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    close(end.descriptor);
    assert_no_more(scene);
}

TEST(killed, set_up, scene_close)
{
    assert_killed(*state, start(*state, NULL));
}

TEST(killed_and_judged_before_it_was_asked, set_up, scene_close)
{
    struct scene *scene = *state;
    pid_t pid = start(scene, NULL);

    kill(pid, SIGKILL);
    for (int i = 0; i < 3; i++)
        scene_refresh(scene);
    assert_false(next_end(scene).replaced);
    ring_stage_end(pid);
}

static void put_stat(struct scene *scene, pid_t pid, unsigned flags)
{
    char text[200];

    snprintf(text, sizeof(text), "%d (x) D 1 1 1 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0", pid, flags,
             (unsigned long long)ring_stage_start_time(pid));
    ring_stage_put_stat(&scene->stage, (uint32_t)pid, text);
}

/* It writes a core file, say: what is stalled is to be kept before all of it counts as stopped. */
TEST(about_to_be_killed, set_up, scene_close)
{
    struct scene *scene = *state;
    struct process_end end;
    char text[200], name[64];
    pid_t pid = start(scene, NULL);

    put_stat(scene, pid, 0);
    snprintf(text, sizeof(text), "Uid:\t%u\t%u\t%u\t%u\nNSpid:\t%d\n", getuid(), getuid(), getuid(), getuid(), pid);
    snprintf(name, sizeof(name), "proc/%d/status", pid);
    ring_stage_write(&scene->stage, name, text, strlen(text));
    watch_ends(scene, ring_stage_path(&scene->stage, "proc"));
    assert_no_more(scene);
    put_stat(scene, pid, KILLED_FLAGS);
    scene_refresh(scene);
    end = next_end(scene);
    assert_true(end.open);
    assert_false(end.replaced);
    assert_no_more(scene);
    assert_int_equal(registry_certainty(scene->registry, &end), CERTAINTY_LACKS);
    assert_killed(scene, pid);
}

static void leave_in_order(void *context)
{
    (void)context;
    rip__leave(RIP_LEAVE_FILE);
    _exit(0);
}

static void call_exit(void *context)
{
    (void)context;
    exit(0);
}

TEST(in_order, set_up, scene_close)
{
    struct scene *scene = *state;
    pid_t pid = start(scene, leave_in_order);

    ring_stage_go(pid);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_no_more(scene);
}

TEST(exit, set_up, scene_close)
{
    struct scene *scene = *state;
    pid_t pid = start(scene, call_exit);
    struct process_end end;

    ring_stage_go(pid);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    end = next_end(scene);
    assert_true(end.exiting);
    close(end.descriptor);
}

/* The new program stops itself: by then the old address space and its locks are gone, which its name says too early. */
static void execute(void)
{
    execl("/bin/sh", "sh", "-c", "kill -STOP $$; exec sleep 60", (char *)NULL);
    abort();
}

static void execute_linked(void *context)
{
    (void)context;
    execute();
}

static void execute_preloaded(void *context)
{
    (void)context;
    rip__leave(RIP_LEAVE_TO_EXEC);
    execute();
}

/* Noticed by the scan that misses it, certain by the next, and the end of the new program is none. */
static void check_replaced(struct scene *scene, void (*then)(void *context), bool keeps_file)
{
    pid_t pid = start(scene, then);
    struct process_end end;
    int status;

    ring_stage_go(pid);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    kill(pid, SIGCONT);
    scene_refresh(scene);
    end = next_end(scene);
    assert_true(end.open);
    assert_true(end.replaced);
    assert_int_equal(registry_certainty(scene->registry, &end), CERTAINTY_LACKS);
    scene_refresh(scene);
    assert_non_null(registry_find(scene->registry, end.ring));
    assert_int_equal(registry_certainty(scene->registry, &end), CERTAINTY_YES);
    scene_refresh(scene);
    assert_int_equal(registry_find(scene->registry, end.ring) != NULL, keeps_file);
    ring_stage_end(pid);
    assert_no_more(scene);
}

TEST(another_program, set_up, scene_close)
{
    check_replaced(*state, execute_linked, true);
}

TEST(another_program_under_the_preload_library, set_up, scene_close)
{
    check_replaced(*state, execute_preloaded, false);
}

static void fail_to_execute(void *context)
{
    (void)context;
    rip__leave(RIP_LEAVE_TO_EXEC);
    rip__forget_ring();
    raise(SIGSTOP);
}

TEST(an_exec_that_fails, set_up, scene_close)
{
    struct scene *scene = *state;
    pid_t pid = start(scene, fail_to_execute);
    int status;

    ring_stage_go(pid);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_no_more(scene);
    ring_stage_end(pid);
    assert_no_more(scene);
}
