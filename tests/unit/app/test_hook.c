/* SPDX-License-Identifier: Apache-2.0 */
/* test_hook.c - commands for events, with real processes: ripd/app/hook.c. */
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

#define MS UINT64_C(1000000)

/* A directory that commands write into, and a hook. */
struct stage {
    char directory[64];
    struct hook *hook;
    struct work *work;
    struct health health;
};

static int set_up_with(void **state, uint64_t time_limit_ns)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    struct hook_options options = {.time_limit_ns = time_limit_ns, .grace_ns = 300 * MS, .work = work_new()};

    assert_non_null(stage);
    options.health = &stage->health;
    stage->work = options.work;
    snprintf(stage->directory, sizeof(stage->directory), "/dev/shm/rip-test-hook-XXXXXX");
    assert_non_null(mkdtemp(stage->directory));
    assert_int_equal(hook_new(&stage->hook, &options), 0);
    *state = stage;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, HOOK_TIME_LIMIT_NS);
}

static int set_up_hasty(void **state)
{
    return set_up_with(state, 300 * MS);
}

static int tear_down(void **state)
{
    struct stage *stage = *state;
    char command[128];

    hook_stop(stage->hook);
    hook_free(stage->hook);
    work_free(stage->work);
    snprintf(command, sizeof(command), "rm -rf %s", stage->directory);
    assert_int_equal(system(command), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    free(stage);
    return 0;
}

/* A command in which @ stands for the directory. */
static void set_command(struct stage *stage, const char *command)
{
    char text[2048];
    size_t length = 0;

    for (const char *at = command; *at != '\0'; at++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%.*s", *at == '@' ? 63 : 1,
                                   *at == '@' ? stage->directory : at);
    assert_int_equal(hook_set_command(stage->hook, text), 0);
}

static void push_of(struct stage *stage, uint32_t uid, enum event_kind kind, uint64_t episode)
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
    hook_push(stage->hook, event);
    event_unref(event);
}

static void push(struct stage *stage, enum event_kind kind, uint64_t episode)
{
    push_of(stage, 1000, kind, episode);
}

static struct health health_of(const struct stage *stage)
{
    return stage->health;
}

/* Steps as the daemon does, until nothing runs or waits. */
static void settle(struct stage *stage)
{
    uint64_t end_mono_ns = clock_mono_ns() + 120000 * MS;

    for (;;) {
        struct pollfd ended = {.fd = hook_descriptor(stage->hook), .events = POLLIN};
        uint64_t now_mono_ns = clock_mono_ns(), wait_ns;

        assert_true(now_mono_ns < end_mono_ns);
        hook_step(stage->hook, now_mono_ns);
        wait_ns = hook_wait_ns(stage->hook, now_mono_ns);
        if (wait_ns == UINT64_MAX)
            return;
        poll(&ended, 1, (int)(wait_ns / MS) + 1);
    }
}

static const char *content(const struct stage *stage, const char *name)
{
    static char text[65536];
    char path[128];
    FILE *file;
    size_t length;

    snprintf(path, sizeof(path), "%s/%s", stage->directory, name);
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
    struct stage *stage = *state;

    set_command(stage, "cat >>@/out; echo \"$RIPD_EVENT $RIPD_EPISODE\" >>@/out");
    push(stage, EVENT_BEGIN, 7);
    push(stage, EVENT_END, 7);
    settle(stage);
    assert_string_equal(content(stage, "out"), "{\"event\": \"begin\", \"episode\": 7}\nbegin 7\n"
                                               "{\"event\": \"end\", \"episode\": 7}\nend 7\n");
    assert_int_equal(health_of(stage).hook_run_count, 2);
    assert_int_equal(health_of(stage).hook_failure_count, 0);
}

TEST(an_end_waits_for_its_begin, set_up, tear_down)
{
    struct stage *stage = *state;

    set_command(stage, "[ $RIPD_EVENT$RIPD_EPISODE = begin7 ] && until grep -q begin8 @/out; do sleep 0.01; done;"
                       "echo $RIPD_EVENT$RIPD_EPISODE >>@/out");
    push(stage, EVENT_BEGIN, 7);
    push(stage, EVENT_END, 7);
    push(stage, EVENT_BEGIN, 8);
    settle(stage);
    assert_string_equal(content(stage, "out"), "begin8\nbegin7\nend7\n");
}

TEST(without_a_command, set_up, tear_down)
{
    struct stage *stage = *state;

    push(stage, EVENT_BEGIN, 1);
    settle(stage);
    set_command(stage, "echo one >>@/out");
    push(stage, EVENT_BEGIN, 2);
    assert_int_equal(hook_set_command(stage->hook, NULL), 0); /* what waits is forgotten */
    settle(stage);
    set_command(stage, "echo two >>@/out");
    push(stage, EVENT_BEGIN, 3);
    set_command(stage, "echo three >>@/out"); /* what waits gets the new one */
    settle(stage);
    assert_string_equal(content(stage, "out"), "three\n");
    assert_int_equal(health_of(stage).limit_counts[HEALTH_LIMIT_HOOKS], 0);
}

TEST(flood, set_up, tear_down)
{
    struct stage *stage = *state;
    unsigned seen = 0;
    char path[128];

    /* each leaves how many it saw at work, itself among them */
    set_command(stage, ": >@/running.$$; cat >>@/out; set -- @/running.*; : >@/saw.$#; sleep 0.02; rm @/running.$$");
    for (uint64_t i = 0; i < 300; i++)
        push(stage, EVENT_BEGIN, i);
    for (uint64_t i = 0; i < 300; i++)
        push(stage, EVENT_END, i);
    settle(stage);
    for (unsigned saw = 0; saw <= EVENT_QUEUE_MAX; saw++) {
        snprintf(path, sizeof(path), "%s/saw.%u", stage->directory, saw);
        seen += access(path, F_OK) == 0;
        assert_true(access(path, F_OK) != 0 || (saw >= 1 && saw <= HOOK_USER_RUNNING_MAX));
    }
    assert_in_range(seen, 1, HOOK_USER_RUNNING_MAX);
    assert_int_equal(health_of(stage).hook_run_count, EVENT_QUEUE_MAX);
    assert_int_equal(health_of(stage).limit_counts[HEALTH_LIMIT_HOOKS], 600 - EVENT_QUEUE_MAX);
}

/* One user has events without number and commands that hang; those of another are given at once, each. */
TEST(flood_of_another_user, set_up, tear_down)
{
    const uint32_t flooder = 1001, honest = 1002;
    struct work_account account;
    struct stage *stage = *state;

    set_command(stage, "echo $RIPD_EPISODE >>@/out; [ $RIPD_EPISODE -ge 1000 ] || sleep 1000");
    for (uint64_t i = 0; i < 600; i++)
        push_of(stage, flooder, EVENT_BEGIN, i);
    hook_step(stage->hook, clock_mono_ns());
    for (uint64_t i = 1000; i < 1003; i++) {
        char line[16];

        push_of(stage, honest, EVENT_BEGIN, i);
        hook_step(stage->hook, clock_mono_ns());
        snprintf(line, sizeof(line), "%" PRIu64 "\n", i);
        for (int wait = 0; wait < 3000 && strstr(content(stage, "out"), line) == NULL; wait++)
            usleep(10000);
        assert_non_null(strstr(content(stage, "out"), line));
        assert_int_equal(poll(&(struct pollfd){.fd = hook_descriptor(stage->hook), .events = POLLIN}, 1, 30000), 1);
    }
    assert_true(work_account(stage->work, 0, &account) && !work_account(stage->work, 1, &account));
    assert_int_equal(account.user, flooder);
    assert_int_equal(account.refused[WORK_HOOK_RUNS], health_of(stage).limit_counts[HEALTH_LIMIT_HOOKS]);
    assert_int_equal(account.refused[WORK_HOOK_RUNS], 600 - (EVENT_QUEUE_MAX - EVENT_QUEUE_ENDS));
}

TEST(failures_are_counted, set_up, tear_down)
{
    struct stage *stage = *state;

    set_command(stage, "exit $RIPD_EPISODE");
    for (uint64_t i = 0; i < 3; i++)
        push(stage, EVENT_BEGIN, i);
    settle(stage);
    set_command(stage, "kill -9 $$");
    push(stage, EVENT_BEGIN, 9);
    settle(stage);
    set_command(stage, "/nonexistent/command");
    push(stage, EVENT_BEGIN, 10);
    settle(stage);
    assert_int_equal(health_of(stage).hook_run_count, 5);
    assert_int_equal(health_of(stage).hook_failure_count, 4);
    assert_int_equal(health_of(stage).hook_timeout_count, 0);
}

/* Whether a process lives whose pid stands in a file. */
static bool lives(const struct stage *stage, const char *name)
{
    char path[64];
    long pid = strtol(content(stage, name), NULL, 10);
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

TEST(one_that_hangs, set_up_hasty, tear_down)
{
    struct stage *stage = *state;
    uint64_t began_mono_ns = clock_mono_ns();

    set_command(stage, "trap '' TERM; sleep 1000 & echo $! >@/child; echo $$ >@/shell; wait; sleep 1000");
    push(stage, EVENT_BEGIN, 1);
    settle(stage);
    assert_true(clock_mono_ns() - began_mono_ns >= 600 * MS); /* the limit and the grace */
    assert_int_equal(health_of(stage).hook_timeout_count, 1);
    assert_int_equal(health_of(stage).hook_failure_count, 0);
    for (int i = 0; i < 3000 && (lives(stage, "child") || lives(stage, "shell")); i++)
        usleep(10000);
    assert_false(lives(stage, "child") || lives(stage, "shell"));
}

TEST(stop, set_up, tear_down)
{
    struct stage *stage = *state;

    set_command(stage, "[ $RIPD_EPISODE = 1 ] && { sleep 0.1; echo done >@/out; exit; };"
                       "echo $$ >@/shell.$RIPD_EPISODE; trap '' TERM; while :; do sleep 1000; done");
    for (uint64_t i = 1; i <= 9; i++)
        push_of(stage, (uint32_t)i, EVENT_BEGIN, i);
    hook_step(stage->hook, clock_mono_ns());
    hook_stop(stage->hook);
    assert_int_equal(hook_wait_ns(stage->hook, clock_mono_ns()), UINT64_MAX);
    assert_string_equal(content(stage, "out"), "done\n");
    assert_false(lives(stage, "shell.2") || lives(stage, "shell.3") || lives(stage, "shell.4") ||
                 lives(stage, "shell.5"));
    assert_int_equal(health_of(stage).hook_run_count, HOOK_RUNNING_MAX);
    assert_int_equal(health_of(stage).limit_counts[HEALTH_LIMIT_HOOKS], 9 - HOOK_RUNNING_MAX);
}

/* A burst of failures is a line or two, and each says how many. */
TEST(log, set_up, tear_down)
{
    struct stage *stage = *state;
    char path[128];
    int saved = dup(STDERR_FILENO), file;
    size_t lines = 0;
    const char *text;

    snprintf(path, sizeof(path), "%s/log", stage->directory);
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(file >= 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
    set_command(stage, "exit 1");
    for (uint64_t i = 0; i < 250; i++)
        push(stage, EVENT_BEGIN, i);
    settle(stage);
    hook_stop(stage->hook);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(file);
    text = content(stage, "log");
    assert_non_null(strstr(text, "on-stall command failed count="));
    assert_non_null(strstr(text, " exit_status=1\n"));
    assert_non_null(strstr(text, "events not given to the on-stall command count=58\n"));
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_in_range(lines, 2, 5);
}
