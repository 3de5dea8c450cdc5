/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cause.c - the verdict for each kind of evidence, and which evidence takes precedence.
 */
#include <string.h>

#include "cases/cause.h"
#include "rip/ring.h"
#include "support/test.h"

static const struct verdict runs = {ID_RUNNING, CAUSE_UNSEEN}, not_examined = {ID_STALLED, CAUSE_NONE},
                            unseen = {ID_IDLE, CAUSE_UNSEEN}, input = {ID_IDLE, CAUSE_INPUT},
                            blocked = {ID_STALLED, CAUSE_BLOCKED}, spinning = {ID_STALLED, CAUSE_SPINNING},
                            starved = {ID_STALLED, CAUSE_STARVED}, in_d = {ID_STALLED, CAUSE_UNINTERRUPTIBLE},
                            sleeping = {ID_STALLED, CAUSE_SLEEPING}, parked = {ID_STALLED, CAUSE_PARKED},
                            deadlock = {ID_STALLED, CAUSE_DEADLOCK}, unknown = {ID_STALLED, CAUSE_UNKNOWN},
                            stopped = {ID_STOPPED, CAUSE_SIGNAL}, traced = {ID_STOPPED, CAUSE_TRACER},
                            frozen = {ID_STOPPED, CAUSE_FREEZER}, dumps_core = {ID_STOPPED, CAUSE_CORE_DUMP},
                            exited = {ID_EXITED, CAUSE_NONE};

static void check(const char *what, const struct evidence *evidence, struct verdict expected)
{
    const struct verdict verdict = cause_judge(evidence);

    if (verdict.state != expected.state || verdict.cause != expected.cause)
        fail_msg("%s: %s, %s", what, id_state_name(verdict.state), id_cause_name(verdict.cause));
}

/* Evidence of an examined thread; more: other fields. */
#define SEEN(letter, ...)                                                                                              \
    {                                                                                                                  \
        .examined = true, .thread_state = letter, __VA_ARGS__                                                          \
    }
/* Evidence of an examined coroutine that is on no thread, by the state of the thread group leader. */
#define PARKED(letter, ...)                                                                                            \
    {                                                                                                                  \
        .examined = true, .on_no_thread = true, .process_state = letter, __VA_ARGS__                                   \
    }

TEST(each_kind_of_evidence)
{
    const struct {
        const char *what;
        struct verdict verdict;
        struct evidence evidence;
    } rows[] = {
        {"not examined", not_examined, {0}},
        {"not examined, whatever other fields say", not_examined, {.frozen = true, .thread_state = 'T'}},
        {"asleep", unknown, SEEN('S')},
        {"running", unknown, SEEN('R')},
        {"state not known", unknown, SEEN(0)},
        {"in D", in_d, SEEN('D')},
        {"asleep, waits for a lock", blocked, SEEN('S', .lock = {.known = true})},
        {"running, although its ring says that it waits for a lock", unknown, SEEN('R', .lock = {.known = true})},
        {"deadlocked in a frozen process", frozen, SEEN('S', .deadlocked = true, .frozen = true)},
        {"deadlocked, not examined", not_examined, {.deadlocked = true}},
        {"stopped by a signal", stopped, SEEN('T')},
        {"stopped by a tracer", traced, SEEN('t')},
        {"frozen", frozen, SEEN('S', .frozen = true)},
        {"frozen in D", frozen, SEEN('D', .frozen = true)},
        {"frozen and stopped", stopped, SEEN('T', .frozen = true)},
        {"dumping core", dumps_core, SEEN('D', .core_dumping = true)},
        {"dumping core, thread gone", dumps_core, SEEN(0, .core_dumping = true, .thread_gone = true)},
        {"thread gone", exited, SEEN(0, .thread_gone = true)},
        {"tid of another thread", exited, SEEN('S', .thread_replaced = true)},
        {"tid of another thread that is stopped", exited, SEEN('T', .thread_replaced = true)},
        {"zombie", exited, SEEN('Z')},
        {"dead", exited, SEEN('X')},
        {"parked", parked, PARKED('S')},
        {"parked, leader not known", parked, PARKED(0)},
        {"parked, leader exited", parked, PARKED('Z')},
        {"parked in a stopped process", stopped, PARKED('T')},
        {"parked in a traced process", traced, PARKED('t')},
        {"parked in a frozen process", frozen, PARKED('S', .frozen = true)},
        {"asleep, waits for others", blocked, SEEN('S', .wait = WAIT_OTHERS)},
        {"asleep for a time of its choice", sleeping, SEEN('S', .wait = WAIT_SLEEP)},
        {"asleep after some work", blocked, SEEN('S', .wait = WAIT_OTHERS, .cpu = CPU_SOME)},
        {"asleep at the moment", spinning, SEEN('S', .wait = WAIT_SLEEP, .cpu = CPU_MOST)},
        {"runs most of the time", spinning, SEEN('R', .cpu = CPU_MOST)},
        {"runs at times", spinning, SEEN('R', .cpu = CPU_SOME)},
        {"ready to run, gets no CPU", starved, SEEN('R', .cpu = CPU_HARDLY)},
        {"asleep, used no CPU", unknown, SEEN('S', .cpu = CPU_HARDLY)},
        {"running, although its wait was read", unknown, SEEN('R', .wait = WAIT_OTHERS)},
        {"in D for a time of its choice", in_d, SEEN('D', .wait = WAIT_SLEEP)},
        {"in D at the moment, between much work", spinning, SEEN('D', .cpu = CPU_MOST)},
        {"stopped after much work", stopped, SEEN('T', .cpu = CPU_MOST)},
        {"deadlocked", deadlock, SEEN('S', .wait = WAIT_OTHERS, .deadlocked = true)},
        {"deadlocked, on no thread", deadlock, PARKED('S', .deadlocked = true)},
        {"deadlocked and traced", traced, SEEN('t', .deadlocked = true)},
        {"announces a sleep, not examined", runs, {.call = RIP_CALL_SLEEP}},
        {"announces a lock, not examined", runs, {.call = RIP_CALL_LOCK}},
        {"waits for a descriptor, about to be idle", runs, SEEN('S', .call = RIP_CALL_READY)},
        {"on a thread, leader stopped", unknown, SEEN('S', .process_state = 'T')},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check(rows[i].what, &rows[i].evidence, rows[i].verdict);
}

/* What a thread announces in its ring, alone and together with evidence. */
struct announcement {
    const char *what;
    struct verdict verdict;
    enum rip_call call;
    char letter; /* 0 = not examined */
    enum evidence_wait wait;
    enum evidence_cpu cpu;
    enum evidence_cpu steady_cpu; /* known: it did not go to sleep for a long time */
};

/* More: other fields of struct announcement. */
#define ANNOUNCES(text, expected, announced, state, ...)                                                               \
    {                                                                                                                  \
        .what = text, .verdict = expected, .call = announced, .letter = state, __VA_ARGS__                             \
    }

static void check_announcements(const struct announcement *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct announcement *row = &rows[i];
        const struct evidence evidence = {
            .examined = row->letter != 0,
            .thread_state = row->letter,
            .call = (uint8_t)row->call,
            .wait = row->wait,
            .cpu = row->cpu,
            .steady = row->steady_cpu != CPU_UNKNOWN,
            .steady_cpu = row->steady_cpu,
        };

        check(row->what, &evidence, row->verdict);
    }
}

TEST(announcements)
{
    const struct announcement rows[] = {
        ANNOUNCES("outside, not examined", runs, RIP_CALL_OUTSIDE, 0),
        ANNOUNCES("outside, asleep", unseen, RIP_CALL_OUTSIDE, 'S'),
        ANNOUNCES("outside, asleep, its wait was read", unseen, RIP_CALL_OUTSIDE, 'S', .wait = WAIT_OTHERS),
        ANNOUNCES("outside, asleep for a time", unseen, RIP_CALL_OUTSIDE, 'S', .wait = WAIT_SLEEP,
                  .steady_cpu = CPU_HARDLY),
        ANNOUNCES("outside, awake at the moment", runs, RIP_CALL_OUTSIDE, 'R', .cpu = CPU_MOST),
        ANNOUNCES("outside, awake all the time", spinning, RIP_CALL_OUTSIDE, 'R', .steady_cpu = CPU_MOST),
        ANNOUNCES("outside, awake with a small part of a CPU", spinning, RIP_CALL_OUTSIDE, 'R', .steady_cpu = CPU_SOME),
        ANNOUNCES("outside, awake without a CPU", starved, RIP_CALL_OUTSIDE, 'R', .steady_cpu = CPU_HARDLY),
        ANNOUNCES("outside, ready at the moment", runs, RIP_CALL_OUTSIDE, 'R', .cpu = CPU_HARDLY),
        ANNOUNCES("outside, in D at the moment", runs, RIP_CALL_OUTSIDE, 'D'),
        ANNOUNCES("outside, in D all the time", in_d, RIP_CALL_OUTSIDE, 'D', .steady_cpu = CPU_HARDLY),
        ANNOUNCES("outside, stopped", stopped, RIP_CALL_OUTSIDE, 'T'),
        ANNOUNCES("waits for work", runs, RIP_CALL_WORK, 'S'),
        ANNOUNCES("waits for work, not examined", runs, RIP_CALL_WORK, 0),
        ANNOUNCES("waits for work, stopped", stopped, RIP_CALL_WORK, 'T'),
        ANNOUNCES("waits for its own process", blocked, RIP_CALL_PRIVATE, 'S'),
        ANNOUNCES("waits for its own process, wait was read", blocked, RIP_CALL_PRIVATE, 'S', .wait = WAIT_OTHERS),
        ANNOUNCES("waits for its own process, not examined", runs, RIP_CALL_PRIVATE, 0),
        ANNOUNCES("waits for its own process, just woken", runs, RIP_CALL_PRIVATE, 'R', .cpu = CPU_HARDLY),
        ANNOUNCES("waits for its own process, stopped", stopped, RIP_CALL_PRIVATE, 'T'),
        ANNOUNCES("input", input, RIP_CALL_INPUT, 'S', .wait = WAIT_OTHERS),
        ANNOUNCES("pipe, not examined", runs, RIP_CALL_PIPE, 0),
        ANNOUNCES("pipe", input, RIP_CALL_PIPE, 'S'),
        ANNOUNCES("pipe from its own child", blocked, RIP_CALL_PIPE, 'S', .wait = WAIT_CHILD),
        ANNOUNCES("pipe, just woken", runs, RIP_CALL_PIPE, 'R', .cpu = CPU_HARDLY),
        ANNOUNCES("unsure", unknown, RIP_CALL_UNSURE, 'S'),
        ANNOUNCES("unsure, waits for others", blocked, RIP_CALL_UNSURE, 'S', .wait = WAIT_OTHERS),
        ANNOUNCES("opens a FIFO for reading", input, RIP_CALL_UNSURE, 'S', .wait = WAIT_WRITER),
        ANNOUNCES("the same, announces nothing", blocked, RIP_CALL_NONE, 'S', .wait = WAIT_WRITER),
        ANNOUNCES("reply, not examined", not_examined, RIP_CALL_REPLY, 0),
        ANNOUNCES("reply", blocked, RIP_CALL_REPLY, 'S'),
        ANNOUNCES("blocks, not examined", not_examined, RIP_CALL_BLOCK, 0),
        ANNOUNCES("blocks", blocked, RIP_CALL_BLOCK, 'S'),
        ANNOUNCES("blocks in the kernel", in_d, RIP_CALL_BLOCK, 'D'),
        ANNOUNCES("blocks, stopped", stopped, RIP_CALL_BLOCK, 'T'),
        ANNOUNCES("blocks, just woken", unknown, RIP_CALL_BLOCK, 'R', .cpu = CPU_HARDLY),
        ANNOUNCES("blocks, ready all the time", starved, RIP_CALL_BLOCK, 'R', .cpu = CPU_HARDLY,
                  .steady_cpu = CPU_HARDLY),
        ANNOUNCES("lock", blocked, RIP_CALL_LOCK, 'S'),
        ANNOUNCES("shared lock", blocked, RIP_CALL_SHARED, 'S'),
        ANNOUNCES("shared lock, not examined", runs, RIP_CALL_SHARED, 0),
        ANNOUNCES("lock, just woken", runs, RIP_CALL_LOCK, 'R', .cpu = CPU_HARDLY),
        ANNOUNCES("lock, spins", spinning, RIP_CALL_LOCK, 'R', .cpu = CPU_MOST),
        ANNOUNCES("sleep", sleeping, RIP_CALL_SLEEP, 'S'),
        ANNOUNCES("sleep, just woken", runs, RIP_CALL_SLEEP, 'R', .cpu = CPU_HARDLY),
        ANNOUNCES("vfork", blocked, RIP_CALL_VFORK, 'D'),
        ANNOUNCES("vfork has returned", unseen, RIP_CALL_VFORK, 'S'),
        ANNOUNCES("a call of a later version", unknown, (enum rip_call)200, 'S'),
    };

    check_announcements(rows, COUNT_OF(rows));
}

TEST(a_thread_of_an_interpreter_is_never_idle)
{
    const struct announcement rows[] = {
        ANNOUNCES("wants its interpreter, not examined", runs, RIP_CALL_INTERPRETER, 0),
        ANNOUNCES("wants its interpreter", blocked, RIP_CALL_INTERPRETER, 'S', .steady_cpu = CPU_HARDLY),
        ANNOUNCES("wants its interpreter, wait was read", blocked, RIP_CALL_INTERPRETER, 'S', .wait = WAIT_OTHERS),
        ANNOUNCES("wants its interpreter, with a timeout", blocked, RIP_CALL_INTERPRETER, 'S', .wait = WAIT_SLEEP),
        ANNOUNCES("has its interpreter at times", spinning, RIP_CALL_INTERPRETER, 'S', .wait = WAIT_OTHERS,
                  .cpu = CPU_SOME),
        ANNOUNCES("has its interpreter mostly", spinning, RIP_CALL_INTERPRETER, 'S', .cpu = CPU_MOST),
        ANNOUNCES("has its interpreter now", spinning, RIP_CALL_COMPUTES, 'R', .cpu = CPU_SOME),
        ANNOUNCES("has just lost its interpreter", spinning, RIP_CALL_COMPUTES, 'S', .wait = WAIT_OTHERS,
                  .cpu = CPU_SOME),
        ANNOUNCES("had its interpreter, and sleeps", unseen, RIP_CALL_COMPUTES, 'S', .wait = WAIT_OTHERS),
        ANNOUNCES("had its interpreter, not examined", runs, RIP_CALL_COMPUTES, 0),
        ANNOUNCES("wants its interpreter, just woken", runs, RIP_CALL_INTERPRETER, 'R', .cpu = CPU_HARDLY),
        ANNOUNCES("wants its interpreter, gets no CPU", starved, RIP_CALL_INTERPRETER, 'R', .steady_cpu = CPU_HARDLY),
        ANNOUNCES("wants its interpreter, stopped", stopped, RIP_CALL_INTERPRETER, 'T'),
    };

    check_announcements(rows, COUNT_OF(rows));
}

/* If the holder of the lock is idle, so is the thread that waits for it. */
TEST(a_waiter_for_an_idle_holder_is_idle)
{
    struct evidence evidence = SEEN('S', .call = RIP_CALL_SHARED, .lock = {.known = true});

    for (int holder = 0; holder < HOLDER_COUNT; holder++) {
        evidence.lock.holder = (enum evidence_holder)holder;
        assert_int_equal(cause_judge(&evidence).state, holder == HOLDER_IDLE     ? ID_IDLE
                                                       : holder == HOLDER_SOUGHT ? ID_RUNNING
                                                                                 : ID_STALLED);
    }
    evidence.lock.holder = HOLDER_IDLE;
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_DECLARED);
    evidence.thread_state = 'R'; /* its library reads who holds the lock, on a busy machine */
    evidence.steady = true;
    evidence.steady_cpu = CPU_HARDLY;
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_DECLARED);
    evidence.thread_state = 'S';
    evidence.call = RIP_CALL_NONE; /* a program that uses the library declares itself when it waits for work */
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_BLOCKED);
    evidence.call = RIP_CALL_BLOCK;
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_BLOCKED);
    evidence.call = RIP_CALL_LOCK;
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_DECLARED);
    evidence.call = RIP_CALL_SHARED;
    evidence.deadlocked = true;
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_DEADLOCK);
}

/* What holds for every verdict. */
static void check_one(struct evidence *evidence, bool judged[CAUSE_AND_REASON_COUNT])
{
    const struct verdict verdict = cause_judge(evidence);

    judged[verdict.cause] = true;
    assert_true(verdict.state != ID_DEAD);
    assert_int_equal(verdict.state == ID_STOPPED, id_cause_stops(verdict.cause));
    assert_int_equal(verdict.state == ID_IDLE || verdict.state == ID_RUNNING, id_cause_idles(verdict.cause));
    if (verdict.state == ID_RUNNING)
        assert_int_equal(verdict.cause, CAUSE_UNSEEN);
    if (!evidence->examined)
        assert_true(verdict.state == ID_RUNNING || (verdict.state == ID_STALLED && verdict.cause == CAUSE_NONE));
    else
        assert_true(verdict.cause != CAUSE_NONE || verdict.state == ID_EXITED);
    if (evidence->call == RIP_CALL_NONE)
        assert_false(id_cause_idles(verdict.cause));
}

/* All combinations of flags, states and announcements. */
TEST(all_evidence_has_a_verdict)
{
    static const char letters[] = {0, 'R', 'S', 'D', 'T', 't', 'Z', 'X', 'x', 'I', 'P', '?'};
    bool judged[CAUSE_AND_REASON_COUNT] = {false};

    for (unsigned bits = 0; bits < 1024 * WAIT_COUNT * CPU_COUNT; bits++) {
        for (size_t t = 0; t < sizeof letters; t++) {
            for (unsigned call = 0; call <= RIP_CALL_COMPUTES + 1; call++) {
                struct evidence evidence = {
                    .examined = bits & 1,
                    .on_no_thread = bits & 2,
                    .thread_gone = bits & 4,
                    .thread_replaced = bits & 8,
                    .core_dumping = bits & 16,
                    .frozen = bits & 32,
                    .deadlocked = bits & 64,
                    .lock = {.known = bits & 128, .holder = bits & 512 ? HOLDER_IDLE : HOLDER_UNKNOWN},
                    .steady = bits & 256,
                    .steady_cpu = (enum evidence_cpu)(bits / 1024 / WAIT_COUNT),
                    .wait = (enum evidence_wait)(bits / 1024 % WAIT_COUNT),
                    .cpu = (enum evidence_cpu)(bits / 1024 / WAIT_COUNT),
                    .call = (uint8_t)call,
                    .thread_state = letters[t],
                    .process_state = letters[(t + bits) % sizeof letters],
                };

                check_one(&evidence, judged);
            }
        }
    }
    for (int cause = 0; cause < CAUSE_AND_REASON_COUNT; cause++)
        assert_int_equal(cause_can_be_judged((enum id_cause)cause), judged[cause]);
}
