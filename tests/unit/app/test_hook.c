/* SPDX-License-Identifier: Apache-2.0 */
/* test_hook.c - the on-stall command, with real processes: ripd/app/hook.c. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/hook.h"
#include "app/log.h"
#include "cases/event_queue.h"
#include "os/clock.h"
#include "support/test.h"
#include "unit/log_capture.h"

#define MS UINT64_C(1000000)

/* The hook, and a directory into which commands write. */
static struct {
    char directory[64];
    struct hook *hook;
    struct work *work;
    struct health health;
} stage;

static int set_up_with(uint64_t time_limit_ns)
{
    struct hook_options options = {.time_limit_ns = time_limit_ns, .grace_ns = 300 * MS, .health = &stage.health};

    memset(&stage, 0, sizeof(stage));
    stage.work = options.work = work_new();
    strcpy(stage.directory, "/dev/shm/rip-test-hook-XXXXXX");
    assert_non_null(mkdtemp(stage.directory));
    return hook_new(&stage.hook, &options);
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(HOOK_TIME_LIMIT_NS);
}

static int set_up_hasty(void **state)
{
    (void)state;
    return set_up_with(300 * MS);
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    hook_stop(stage.hook);
    hook_free(stage.hook);
    work_free(stage.work);
    snprintf(command, sizeof(command), "rm -rf %s", stage.directory);
    assert_int_equal(system(command), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    return 0;
}

/* Each @ of the command stands for the directory. */
static void set_command(const char *command)
{
    char text[2048];
    size_t length = 0;

    for (const char *at = command; *at != '\0'; at++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%.*s", *at == '@' ? 63 : 1,
                                   *at == '@' ? stage.directory : at);
    assert_int_equal(hook_set_command(stage.hook, text), 0);
}

static void push_of(uint32_t uid, enum event_kind kind, uint64_t episode)
{
    struct event *event = calloc(1, sizeof(*event));
    char text[128];

    assert_non_null(event);
    atomic_init(&event->references, 1);
    event->kind = kind;
    event->uid = uid;
    event->episode = event->incident = episode;
    snprintf(text, sizeof(text), "{\"event\": \"%s\", \"episode\": %" PRIu64 "}", event_kind_name(kind), episode);
    event->text = strdup(text);
    event->text_bytes = strlen(text);
    hook_push(stage.hook, event);
    event_unref(event);
}

static void push(enum event_kind kind, uint64_t episode)
{
    push_of(1000, kind, episode);
}

/* Events begin, of the episodes first to last. */
static void push_begins(uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++)
        push(EVENT_BEGIN, i);
}

/* Steps as the daemon does, until nothing runs or is queued. */
static void settle(void)
{
    uint64_t end_mono_ns = clock_mono_ns() + 120000 * MS;

    for (;;) {
        struct pollfd ended = {.fd = hook_descriptor(stage.hook), .events = POLLIN};
        uint64_t now_mono_ns = clock_mono_ns(), wait_ns;

        assert_true(now_mono_ns < end_mono_ns);
        hook_step(stage.hook, now_mono_ns);
        wait_ns = hook_wait_ns(stage.hook, now_mono_ns);
        if (wait_ns == UINT64_MAX)
            return;
        poll(&ended, 1, (int)(wait_ns / MS) + 1);
    }
}

static const char *content(const char *name)
{
    static char text[65536];
    char path[128];
    FILE *file;
    size_t length;

    snprintf(path, sizeof(path), "%s/%s", stage.directory, name);
    file = fopen(path, "re");
    if (file == NULL)
        return "";
    length = fread(text, 1, sizeof(text) - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

TEST(begin_and_end, set_up, tear_down)
{
    set_command("cat >>@/out; echo \"$RIPD_EVENT $RIPD_EPISODE\" >>@/out");
    push(EVENT_BEGIN, 7);
    push(EVENT_END, 7);
    settle();
    assert_string_equal(content("out"), "{\"event\": \"begin\", \"episode\": 7}\nbegin 7\n"
                                        "{\"event\": \"end\", \"episode\": 7}\nend 7\n");
    assert_int_equal(stage.health.hook_run_count, 2);
    assert_int_equal(stage.health.hook_failure_count, 0);
}

TEST(an_end_waits_for_its_begin, set_up, tear_down)
{
    set_command("[ $RIPD_EVENT$RIPD_EPISODE = begin7 ] && until grep -q begin8 @/out; do sleep 0.01; done;"
                "echo $RIPD_EVENT$RIPD_EPISODE >>@/out");
    push(EVENT_BEGIN, 7);
    push(EVENT_END, 7);
    push(EVENT_BEGIN, 8);
    settle();
    assert_string_equal(content("out"), "begin8\nbegin7\nend7\n");
}

TEST(without_a_command, set_up, tear_down)
{
    push(EVENT_BEGIN, 1);
    settle();
    set_command("echo one >>@/out");
    push(EVENT_BEGIN, 2);
    assert_int_equal(hook_set_command(stage.hook, NULL), 0); /* drops queued events */
    settle();
    set_command("echo two >>@/out");
    push(EVENT_BEGIN, 3);
    set_command("echo three >>@/out"); /* queued events get the new command */
    settle();
    assert_string_equal(content("out"), "three\n");
    assert_int_equal(stage.health.limit_counts[HEALTH_LIMIT_HOOKS], 0);
}

TEST(one_user_runs_a_limited_number_of_commands, set_up, tear_down)
{
    unsigned seen = 0;
    char path[128];

    /* each command leaves a file with the number of commands that run, itself included */
    set_command(": >@/running.$$; cat >>@/out; set -- @/running.*; : >@/saw.$#; sleep 0.02; rm @/running.$$");
    push_begins(0, 299);
    for (uint64_t i = 0; i < 300; i++)
        push(EVENT_END, i);
    settle();
    for (unsigned saw = 0; saw <= EVENT_QUEUE_MAX; saw++) {
        snprintf(path, sizeof(path), "%s/saw.%u", stage.directory, saw);
        seen += access(path, F_OK) == 0;
        assert_true(access(path, F_OK) != 0 || (saw >= 1 && saw <= HOOK_USER_RUNNING_MAX));
    }
    assert_in_range(seen, 1, HOOK_USER_RUNNING_MAX);
    assert_int_equal(stage.health.hook_run_count, EVENT_QUEUE_MAX);
    assert_int_equal(stage.health.limit_counts[HEALTH_LIMIT_HOOKS], 600 - EVENT_QUEUE_MAX);
}

/* One user has very many events, and its commands hang; the commands of another user run at once. */
TEST(a_flood_does_not_delay_another_user, set_up, tear_down)
{
    const uint32_t flooder = 1001, honest = 1002;
    struct work_account account;

    set_command("echo $RIPD_EPISODE >>@/out; [ $RIPD_EPISODE -ge 1000 ] || sleep 1000");
    for (uint64_t i = 0; i < 600; i++)
        push_of(flooder, EVENT_BEGIN, i);
    hook_step(stage.hook, clock_mono_ns());
    for (uint64_t i = 1000; i < 1003; i++) {
        char line[16];

        push_of(honest, EVENT_BEGIN, i);
        hook_step(stage.hook, clock_mono_ns());
        snprintf(line, sizeof(line), "%" PRIu64 "\n", i);
        for (int wait = 0; wait < 3000 && strstr(content("out"), line) == NULL; wait++)
            usleep(10000);
        assert_non_null(strstr(content("out"), line));
        assert_int_equal(poll(&(struct pollfd){.fd = hook_descriptor(stage.hook), .events = POLLIN}, 1, 30000), 1);
    }
    assert_true(work_account(stage.work, 0, &account) && !work_account(stage.work, 1, &account));
    assert_int_equal(account.user, flooder);
    assert_int_equal(account.refused[WORK_HOOK_RUNS], stage.health.limit_counts[HEALTH_LIMIT_HOOKS]);
    assert_int_equal(account.refused[WORK_HOOK_RUNS], 600 - (EVENT_QUEUE_MAX - EVENT_QUEUE_ENDS));
}

TEST(failures_are_counted, set_up, tear_down)
{
    set_command("exit $RIPD_EPISODE");
    push_begins(0, 2);
    settle();
    set_command("kill -9 $$");
    push(EVENT_BEGIN, 9);
    settle();
    set_command("/nonexistent/command");
    push(EVENT_BEGIN, 10);
    settle();
    assert_int_equal(stage.health.hook_run_count, 5);
    assert_int_equal(stage.health.hook_failure_count, 4);
    assert_int_equal(stage.health.hook_timeout_count, 0);
}

/* Returns whether the process lives whose pid is in this file. */
static bool lives(const char *name)
{
    char path[64];
    long pid = strtol(content(name), NULL, 10);
    FILE *file;
    char line[256] = "";

    assert_true(pid > 1);
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    if (fgets(line, sizeof(line), file) == NULL)
        line[0] = '\0';
    fclose(file);
    return line[0] != '\0' && strstr(line, ") Z ") == NULL && strstr(line, ") X ") == NULL;
}

TEST(a_command_that_hangs, set_up_hasty, tear_down)
{
    uint64_t began_mono_ns = clock_mono_ns();

    set_command("trap '' TERM; sleep 1000 & echo $! >@/child; echo $$ >@/shell; wait; sleep 1000");
    push(EVENT_BEGIN, 1);
    settle();
    assert_true(clock_mono_ns() - began_mono_ns >= 600 * MS); /* the time limit and the grace */
    assert_int_equal(stage.health.hook_timeout_count, 1);
    assert_int_equal(stage.health.hook_failure_count, 0);
    for (int i = 0; i < 3000 && (lives("child") || lives("shell")); i++)
        usleep(10000);
    assert_false(lives("child") || lives("shell"));
}

TEST(stop, set_up, tear_down)
{
    set_command("[ $RIPD_EPISODE = 1 ] && { sleep 0.1; echo done >@/out; exit; };"
                "echo $$ >@/shell.$RIPD_EPISODE; trap '' TERM; while :; do sleep 1000; done");
    for (uint64_t i = 1; i <= 9; i++)
        push_of((uint32_t)i, EVENT_BEGIN, i);
    hook_step(stage.hook, clock_mono_ns());
    hook_stop(stage.hook);
    assert_int_equal(hook_wait_ns(stage.hook, clock_mono_ns()), UINT64_MAX);
    assert_string_equal(content("out"), "done\n");
    assert_false(lives("shell.2") || lives("shell.3") || lives("shell.4") || lives("shell.5"));
    assert_int_equal(stage.health.hook_run_count, HOOK_RUNNING_MAX);
    assert_int_equal(stage.health.limit_counts[HEALTH_LIMIT_HOOKS], 9 - HOOK_RUNNING_MAX);
}

/* A burst of failures gives a few log lines, each with a count. */
TEST(failures_are_logged, set_up, tear_down)
{
    const char *text;

    log_capture_begin(NULL);
    set_command("exit 1");
    push_begins(0, 249);
    settle();
    hook_stop(stage.hook);
    text = log_capture_take();
    assert_non_null(strstr(text, "on-stall command failed count="));
    assert_non_null(strstr(text, " exit_status=1\n"));
    assert_non_null(strstr(text, "events not given to the on-stall command count=58\n"));
    assert_in_range(count_lines(text), 2, 5);
}
