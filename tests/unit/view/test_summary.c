/* SPDX-License-Identifier: Apache-2.0 */
/* test_summary.c - the sentence about an id: one for each cause, and for missing facts: ripd/view/summary.c. */
#include <stdio.h>

#include "cases/waits.h"
#include "support/test.h"
#include "unit/samples.h"
#include "view/summary.h"

#define WHO "worker-17 of checkout (pid 4690) "
#define BLOCKED WHO "has been blocked for 13.8 s"
#define SECOND UINT64_C(1000000000)

static struct item *item;
static struct kernel_facts *kernel;

static int set_up(void **state)
{
    (void)state;
    item = sample_item(sample_process("/usr/bin/checkout", 4690), "checkout", 1, 17, "worker-17", 9, 1);
    kernel = kernel_facts_new("tcp 127.0.0.1:51334 -> 127.0.0.1:5432");
    kernel->syscall = "recvfrom";
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    item_unref(item);
    kernel_facts_unref(kernel);
    return 0;
}

static struct sighting stalled(enum id_cause cause)
{
    struct sighting sighting = sample_stall(item, 1000);

    sighting.cause = cause;
    return sighting;
}

static void name_place(const struct symbol_frame *frames, size_t count)
{
    assert_int_equal(symbol_table_add(&item->process->modules[0]->symbols, 0x1234, symbol_new(frames, count)), 0);
}

static void assert_summary(const struct sighting *sighting, const char *expected)
{
    char text[SUMMARY_BYTES];

    summary_of_id(sighting, text);
    assert_string_equal(text, expected);
}

/* The sentence about the stalled id begins with its subject and its state, and goes on like this. */
static void assert_blocked(const char *expected)
{
    struct sighting sighting = stalled(CAUSE_BLOCKED);
    char text[SUMMARY_BYTES];

    summary_of_id(&sighting, text);
    assert_memory_equal(text, BLOCKED, sizeof(BLOCKED) - 1);
    assert_string_equal(text + sizeof(BLOCKED) - 1, expected);
}

/* The example of the interface's description, word for word. */
TEST(example, set_up, tear_down)
{
    static const struct symbol_frame frame = {"db_wait", "src/db.c", 120};
    struct sighting sighting = stalled(CAUSE_BLOCKED);

    name_place(&frame, 1);
    sighting.kernel = kernel;
    assert_summary(&sighting, BLOCKED " in db_wait (src/db.c:120): recvfrom on tcp 127.0.0.1:51334 -> 127.0.0.1:5432");
}

static const struct {
    enum id_state state;
    enum id_cause cause;
    const char *expected;
} verdicts[] = {
    {ID_STALLED, CAUSE_NONE, "has not moved for 13.8 s in f (a.c:7): recvfrom on x"},
    {ID_STALLED, CAUSE_SPINNING, "has been spinning for 13.8 s in f (a.c:7): 98 % of a processor, in the program"},
    {ID_STALLED, CAUSE_BLOCKED, "has been blocked for 13.8 s in f (a.c:7): recvfrom on x"},
    {ID_STALLED, CAUSE_SLEEPING, "has been sleeping for 13.8 s in f (a.c:7): recvfrom on x"},
    {ID_STALLED, CAUSE_UNINTERRUPTIBLE, "has been in uninterruptible sleep for 13.8 s in f (a.c:7): recvfrom on x"},
    {ID_STALLED, CAUSE_STARVED,
     "has been waiting for a processor for 13.8 s in f (a.c:7): 50 % of the time ready to run"},
    {ID_STALLED, CAUSE_DEADLOCK, "has been deadlocked for 13.8 s in f (a.c:7): recvfrom on x"},
    {ID_STALLED, CAUSE_PARKED, "has been parked, on no thread, for 13.8 s in f (a.c:7): recvfrom on x"},
    {ID_STALLED, CAUSE_UNKNOWN, "has not moved for 13.8 s in f (a.c:7): recvfrom on x"},
    {ID_STOPPED, CAUSE_NONE, "has been stopped for 13.8 s in f (a.c:7)"},
    {ID_STOPPED, CAUSE_SIGNAL, "has been stopped by a signal for 13.8 s in f (a.c:7)"},
    {ID_STOPPED, CAUSE_TRACER, "has been held by a tracer for 13.8 s in f (a.c:7)"},
    {ID_STOPPED, CAUSE_FREEZER, "has been frozen with its control group for 13.8 s in f (a.c:7)"},
    {ID_STOPPED, CAUSE_CORE_DUMP, "has been waiting for a core dump for 13.8 s in f (a.c:7)"},
    {ID_IDLE, CAUSE_NONE, "has been idle for 13.8 s, last at f (a.c:7)"},
    {ID_EXITED, CAUSE_NONE, "has exited, last at f (a.c:7)"},
    {ID_DEAD, CAUSE_NONE, "is dead, last at f (a.c:7)"},
};

TEST(verdicts, set_up, tear_down)
{
    static const struct symbol_frame frame = {"f", "a.c", 7};
    struct kernel_facts *facts = kernel_facts_new("x");
    bool seen[CAUSE_COUNT] = {false};

    name_place(&frame, 1);
    facts->syscall = "recvfrom";
    facts->window_ns = 2 * SECOND;
    facts->cpu_ns = 2 * SECOND - 30000000;
    facts->wait_ns = SECOND;
    facts->mode = KERNEL_MODE_USER;
    for (size_t i = 0; i < COUNT_OF(verdicts); i++) {
        struct sighting sighting = stalled(verdicts[i].cause);
        char expected[256];

        seen[verdicts[i].cause] = true;
        sighting.state = verdicts[i].state;
        sighting.kernel = facts;
        snprintf(expected, sizeof(expected), WHO "%s", verdicts[i].expected);
        assert_summary(&sighting, expected);
    }
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        assert_true(seen[cause]);
    kernel_facts_unref(facts);
}

/* A deadlock of the whole process matters more than the system call. */
TEST(a_process_that_waits_for_itself, set_up, tear_down)
{
    struct sighting sighting = stalled(CAUSE_BLOCKED);

    sighting.kernel = kernel;
    item->call = RIP_CALL_PRIVATE;
    assert_summary(&sighting,
                   WHO "has been blocked for 13.8 s at checkout+0x1234: all threads of its process wait for each "
                       "other without a time limit, nothing but a signal can wake any of them");
    sighting.state = ID_IDLE;
    sighting.cause = CAUSE_NONE;
    assert_summary(&sighting, WHO "has been idle for 13.8 s, last at checkout+0x1234");
}

TEST(missing_facts, set_up, tear_down)
{
    struct sighting sighting = stalled(CAUSE_BLOCKED);

    assert_summary(&sighting, WHO "has been blocked for 13.8 s at checkout+0x1234");
    item->entry_count = 0;
    assert_summary(&sighting, WHO "has been blocked for 13.8 s");
    sighting.since_wall_ns = 0;
    assert_summary(&sighting, WHO "has been blocked");
    item->process->pid = 0;
    assert_summary(&sighting, "worker-17 of checkout has been blocked");
    item->process->comm[0] = '\0';
    assert_summary(&sighting, "worker-17 of ring checkout has been blocked");
    item->process->pid = 4690;
    assert_summary(&sighting, "worker-17 (pid 4690) has been blocked");
    item->name_bytes = 0;
    assert_summary(&sighting, "id 17 (pid 4690) has been blocked");
    sighting.state = ID_RUNNING;
    assert_summary(&sighting, "id 17 (pid 4690) is running");
    sighting.state = ID_IDLE;
    assert_summary(&sighting, "id 17 (pid 4690) is idle");
    sighting.item = NULL;
    assert_summary(&sighting, "an id that could not be read is idle");
}

/* A main thread has the name of its process, which is not repeated. */
TEST(main_thread, set_up, tear_down)
{
    struct sighting sighting = stalled(CAUSE_BLOCKED);

    item->name_bytes = 8;
    memcpy(item->name, "checkout", 8);
    item->entry_count = 0;
    assert_summary(&sighting, "checkout (pid 4690) has been blocked for 13.8 s");
}

TEST(system_calls_and_holders, set_up, tear_down)
{
    struct sighting sighting = stalled(CAUSE_BLOCKED);

    item->entry_count = 0;
    sighting.kernel = kernel;
    kernel->target[0] = '\0';
    kernel->syscall = "flock";
    kernel->holder_pid = 77;
    assert_summary(&sighting, WHO "has been blocked for 13.8 s: flock, held by pid 77");
    memcpy(kernel->holder_comm, "cron", 5);
    assert_summary(&sighting, WHO "has been blocked for 13.8 s: flock, held by cron (pid 77)");
    kernel->syscall = "vfork";
    assert_summary(&sighting,
                   WHO "has been blocked for 13.8 s: vfork, until its child ends or executes a program: cron "
                       "(pid 77)");
    kernel->syscall = "read";
    kernel->asked_ns = 90 * SECOND;
    assert_summary(&sighting, WHO "has been blocked for 13.8 s: read, at the other end cron (pid 77), for 1 min 30 s "
                                  "at most");
    kernel->holder_pid = 0;
    kernel->syscall = "clock_nanosleep";
    sighting.cause = CAUSE_SLEEPING;
    assert_summary(&sighting, WHO "has been sleeping for 13.8 s: clock_nanosleep, for 1 min 30 s");
    kernel->syscall = NULL;
    assert_summary(&sighting, WHO "has been sleeping for 13.8 s");
    kernel->denied = KERNEL_DENIED(SYSCALL);
    assert_summary(&sighting, WHO "has been sleeping for 13.8 s: no permission to read what it waits for");
}

TEST(durations, set_up, tear_down)
{
    static const struct {
        uint64_t ns;
        const char *shown;
    } cases[] = {
        {0, "0 ms"},
        {999999999, "999 ms"},
        {SECOND, "1.0 s"},
        {59999999999, "59.9 s"},
        {60 * SECOND, "1 min 0 s"},
        {3599 * SECOND, "59 min 59 s"},
        {3600 * SECOND, "1 h 0 min"},
        {86399 * SECOND, "23 h 59 min"},
        {90061 * SECOND, "1 d 1 h"},
    };

    item->entry_count = 0;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct sighting sighting = stalled(CAUSE_BLOCKED);
        char expected[128];

        sighting.frozen_for_ns = cases[i].ns;
        snprintf(expected, sizeof(expected), WHO "has been blocked for %s", cases[i].shown);
        assert_summary(&sighting, expected);
    }
}

/* The place is the innermost frame that is not inlined from a header of the system, if there is one. */
TEST(frames)
{
    static const struct {
        struct symbol_frame frames[4];
        size_t count;
        const char *expected;
    } cases[] = {
        {{{"__gthread_mutex_lock", "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h", 749},
          {"std::mutex::lock", "/usr/lib/llvm-14/include/c++/v1/mutex", 100},
          {"take_order", "src/orders.cc", 41},
          {"main", "src/main.cc", 9}},
         4,
         " in take_order (src/orders.cc:41)"},
        {{{"lock", "/usr/include/c++/12/mutex", 7}}, 1, " in lock (/usr/include/c++/12/mutex:7)"},
        {{{"lock", "/usr/local/include/a.h", 7}, {"take", NULL, 0}}, 2, " in take (checkout)"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        set_up(NULL);
        name_place(cases[i].frames, cases[i].count);
        assert_blocked(cases[i].expected);
        tear_down(NULL);
    }
}

/* Chains ----------------------------------------------------------------------------------------------------------- */

/*
 * Nodes a, b, c, ..., each of which waits for the next one. The last waits for the first in a cycle, else for nothing.
 */
static struct waits *chain_of(uint32_t count, bool cycle)
{
    struct waits *waits = waits_new();

    waits->nodes = calloc(count, sizeof(*waits->nodes));
    waits->count = waits->waiting_count = count;
    for (uint32_t i = 0; i < count; i++) {
        bool is_last = i + 1 == count;

        waits->nodes[i] = (struct waits_node){
            .kind = WAITS_ID,
            .id = 100 + i,
            .name_bytes = 1,
            .name = {(uint8_t)('a' + i % 26)},
            .next = !is_last ? i + 1
                    : cycle  ? 0
                             : WAITS_NONE,
            .last = cycle ? i : count - 1,
            .length = cycle ? count : count - 1 - i,
            .deadlocked = cycle,
            .has_state = true,
            .state = ID_STALLED,
            .cause = cycle     ? CAUSE_DEADLOCK
                     : is_last ? CAUSE_SPINNING
                               : CAUSE_BLOCKED,
        };
    }
    return waits;
}

/* The lock says more than the system call does. Frees the graph. */
static void assert_chain(struct waits *waits, const char *expected)
{
    struct sighting sighting = stalled(CAUSE_BLOCKED);
    char text[SUMMARY_BYTES];

    item->entry_count = 0;
    sighting.waits = waits;
    sighting.kernel = kernel;
    summary_of_id(&sighting, text);
    assert_string_equal(text + sizeof(BLOCKED) - 1, expected);
    waits_free(waits);
}

TEST(chains, set_up, tear_down)
{
    static const struct {
        uint32_t count;
        bool cycle;
        const char *expected;
    } cases[] = {
        {1, false, ": recvfrom on tcp 127.0.0.1:51334 -> 127.0.0.1:5432"},
        {2, false, ": it waits for a lock held by b (spinning)"},
        {3, false, ": it waits for a lock held by b, which waits for c (spinning)"},
        {5, false,
         ": it waits for a lock held by b, which waits for c, which waits for d, which waits for e (spinning)"},
        {6, false,
         ": it waits for a lock held by b, which waits for c, which waits for d, and 1 more that waits for f "
         "(spinning)"},
        {100, false,
         ": it waits for a lock held by b, which waits for c, which waits for d, and 95 more that wait for v "
         "(spinning)"},
        {2, true, ": it waits for a lock held by b, which waits for a"},
        {3, true, ": it waits for a lock held by b, which waits for c, which waits for a"},
    };
    struct waits *waits;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_chain(chain_of(cases[i].count, cases[i].cycle), cases[i].expected);
    waits = chain_of(2, true);
    waits->nodes[1].name[0] = 'a';
    assert_chain(waits, ": it waits for a lock held by a (id 101), which waits for a (id 100)");
}

TEST(holders, set_up, tear_down)
{
    static const struct {
        struct waits_node holder;
        const char *expected;
    } cases[] = {
        {{.kind = WAITS_READERS}, ": it waits for a lock held by readers"},
        {{.kind = WAITS_GONE, .holder = 4712}, ": it waits for a lock held by thread 4712, which is gone"},
        {{.kind = WAITS_THREAD, .holder = 12, .tid = 4712}, ": it waits for a lock held by thread 4712"},
        {{.kind = WAITS_THREAD, .holder = 12, .holder_is_id = true}, ": it waits for a lock held by id 12"},
        {{.kind = WAITS_ID, .id = 101, .has_state = true, .state = ID_RUNNING},
         ": it waits for a lock held by id 101 (running)"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct waits *waits = chain_of(2, false);

        waits->nodes[1] = cases[i].holder;
        waits->nodes[1].next = WAITS_NONE;
        assert_chain(waits, cases[i].expected);
    }
}

/* Limits ----------------------------------------------------------------------------------------------------------- */

TEST(long_parts_are_cut, set_up, tear_down)
{
    char function[SYMBOL_TEXT_BYTES_MAX], text[SUMMARY_BYTES];
    struct sighting sighting = stalled(CAUSE_BLOCKED);
    const struct symbol_frame frame = {function, function, UINT32_MAX};

    for (size_t i = 0; i + 3 < sizeof(function); i += 3)
        memcpy(function + i, "\xe2\x82\xac", 4);
    name_place(&frame, 1);
    summary_of_id(&sighting, text);
    assert_true(strlen(text) < 500);
    assert_non_null(strstr(text, "\xe2\x82\xac... (\xe2\x82\xac"));
    assert_non_null(strstr(text, "\xe2\x82\xac...:4294967295)"));
}

/* Ends ------------------------------------------------------------------------------------------------------------- */

TEST(ends)
{
    static const struct {
        enum event_reason reason;
        const char *expected;
    } cases[] = {
        {EVENT_REASON_MOVED, "moved again, after 20.0 s in db_wait (src/db.c:120): blocked"},
        {EVENT_REASON_STOPPED, "was stopped, after 20.0 s in db_wait (src/db.c:120): blocked"},
        {EVENT_REASON_GONE, "is gone, after 20.0 s in db_wait (src/db.c:120): blocked"},
        {EVENT_REASON_EXCUSED, "has a longer threshold now, after 20.0 s in db_wait (src/db.c:120): blocked"},
        {EVENT_REASON_UNWATCHED, "is no longer watched, after 20.0 s in db_wait (src/db.c:120): blocked"},
    };
    static char function[] = "db_wait", file[] = "src/db.c", module[] = "checkout";
    struct event event = {.kind = EVENT_END,
                          .duration_ns = 20 * SECOND,
                          .cause = CAUSE_BLOCKED,
                          .pid = 4690,
                          .ring = "checkout",
                          .comm = "checkout",
                          .name = "worker-17",
                          .name_bytes = 9,
                          .function = function,
                          .file = file,
                          .line = 120,
                          .module = module,
                          .offset = 0x1234};
    char text[SUMMARY_BYTES];

    assert_int_equal(COUNT_OF(cases), EVENT_REASON_COUNT);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        event.reason = cases[i].reason;
        summary_of_end(&event, text);
        assert_memory_equal(text, WHO, sizeof(WHO) - 1);
        assert_string_equal(text + sizeof(WHO) - 1, cases[i].expected);
    }
    event.function = NULL;
    event.cause = CAUSE_NONE;
    event.duration_ns = EVENT_UNKNOWN_NS;
    event.reason = EVENT_REASON_GONE;
    summary_of_end(&event, text);
    assert_string_equal(text, WHO "is gone at checkout+0x1234");
    event.ring[0] = '\0';
    event.module = NULL;
    summary_of_end(&event, text);
    assert_string_equal(text, "an id that could not be read is gone");
}
