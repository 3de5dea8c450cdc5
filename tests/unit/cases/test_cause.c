/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cause.c - a verdict for every evidence, and which evidence outranks which.
 */
#include <string.h>

#include "cases/cause.h"
#include "rip/ring.h"
#include "support/test.h"

struct expectation {
    const char *what;
    struct evidence evidence;
    enum id_state state;
    enum id_cause cause;
};

static const struct expectation expectations[] = {
    {"not examined", {0}, ID_STALLED, CAUSE_NONE},
    {"not examined, whatever else was left in it", {.thread_state = 'T', .frozen = true}, ID_STALLED, CAUSE_NONE},
    {"asleep", {.examined = true, .thread_state = 'S'}, ID_STALLED, CAUSE_UNKNOWN},
    {"on the processor", {.examined = true, .thread_state = 'R'}, ID_STALLED, CAUSE_UNKNOWN},
    {"letter not known", {.examined = true}, ID_STALLED, CAUSE_UNKNOWN},
    {"in D", {.examined = true, .thread_state = 'D'}, ID_STALLED, CAUSE_UNINTERRUPTIBLE},
    {"asleep in a wait for a lock",
     {.examined = true, .thread_state = 'S', .lock = {.known = true}},
     ID_STALLED,
     CAUSE_BLOCKED},
    {"not asleep, whatever its ring says of a wait",
     {.examined = true, .thread_state = 'R', .lock = {.known = true}},
     ID_STALLED,
     CAUSE_UNKNOWN},
    {"deadlocked in a frozen process",
     {.examined = true, .thread_state = 'S', .deadlocked = true, .frozen = true},
     ID_STOPPED,
     CAUSE_FREEZER},
    {"deadlocked, not examined", {.deadlocked = true}, ID_STALLED, CAUSE_NONE},
    {"stopped by signal", {.examined = true, .thread_state = 'T'}, ID_STOPPED, CAUSE_SIGNAL},
    {"stopped by tracer", {.examined = true, .thread_state = 't'}, ID_STOPPED, CAUSE_TRACER},
    {"frozen", {.examined = true, .thread_state = 'S', .frozen = true}, ID_STOPPED, CAUSE_FREEZER},
    {"frozen in D", {.examined = true, .thread_state = 'D', .frozen = true}, ID_STOPPED, CAUSE_FREEZER},
    {"frozen and stopped", {.examined = true, .thread_state = 'T', .frozen = true}, ID_STOPPED, CAUSE_SIGNAL},
    {"dumping core", {.examined = true, .thread_state = 'D', .core_dumping = true}, ID_STOPPED, CAUSE_CORE_DUMP},
    {"dumping core while a thread is gone",
     {.examined = true, .core_dumping = true, .thread_gone = true},
     ID_STOPPED,
     CAUSE_CORE_DUMP},
    {"thread gone", {.examined = true, .thread_gone = true}, ID_EXITED, CAUSE_NONE},
    {"tid of another thread", {.examined = true, .thread_replaced = true, .thread_state = 'S'}, ID_EXITED, CAUSE_NONE},
    {"tid of another thread that is stopped",
     {.examined = true, .thread_replaced = true, .thread_state = 'T'},
     ID_EXITED,
     CAUSE_NONE},
    {"zombie", {.examined = true, .thread_state = 'Z'}, ID_EXITED, CAUSE_NONE},
    {"dead", {.examined = true, .thread_state = 'X'}, ID_EXITED, CAUSE_NONE},
    {"parked", {.examined = true, .on_no_thread = true, .process_state = 'S'}, ID_STALLED, CAUSE_PARKED},
    {"parked, leader not known", {.examined = true, .on_no_thread = true}, ID_STALLED, CAUSE_PARKED},
    {"parked, leader exited", {.examined = true, .on_no_thread = true, .process_state = 'Z'}, ID_STALLED, CAUSE_PARKED},
    {"parked in a stopped process",
     {.examined = true, .on_no_thread = true, .process_state = 'T'},
     ID_STOPPED,
     CAUSE_SIGNAL},
    {"parked in a traced process",
     {.examined = true, .on_no_thread = true, .process_state = 't'},
     ID_STOPPED,
     CAUSE_TRACER},
    {"parked in a frozen process",
     {.examined = true, .on_no_thread = true, .process_state = 'S', .frozen = true},
     ID_STOPPED,
     CAUSE_FREEZER},
    {"asleep, for others", {.examined = true, .thread_state = 'S', .wait = WAIT_OTHERS}, ID_STALLED, CAUSE_BLOCKED},
    {"asleep, for a time it asked for",
     {.examined = true, .thread_state = 'S', .wait = WAIT_SLEEP},
     ID_STALLED,
     CAUSE_SLEEPING},
    {"asleep after some work",
     {.examined = true, .thread_state = 'S', .wait = WAIT_OTHERS, .cpu = CPU_SOME},
     ID_STALLED,
     CAUSE_BLOCKED},
    {"asleep just now",
     {.examined = true, .thread_state = 'S', .wait = WAIT_SLEEP, .cpu = CPU_MOST},
     ID_STALLED,
     CAUSE_SPINNING},
    {"on the processor most of the time",
     {.examined = true, .thread_state = 'R', .cpu = CPU_MOST},
     ID_STALLED,
     CAUSE_SPINNING},
    {"on the processor at times", {.examined = true, .thread_state = 'R', .cpu = CPU_SOME}, ID_STALLED, CAUSE_SPINNING},
    {"ready to run, and never on one",
     {.examined = true, .thread_state = 'R', .cpu = CPU_HARDLY},
     ID_STALLED,
     CAUSE_STARVED},
    {"asleep, and never on one", {.examined = true, .thread_state = 'S', .cpu = CPU_HARDLY}, ID_STALLED, CAUSE_UNKNOWN},
    {"what it waited for is not believed of one that runs",
     {.examined = true, .thread_state = 'R', .wait = WAIT_OTHERS},
     ID_STALLED,
     CAUSE_UNKNOWN},
    {"in D for a time it asked for",
     {.examined = true, .thread_state = 'D', .wait = WAIT_SLEEP},
     ID_STALLED,
     CAUSE_UNINTERRUPTIBLE},
    {"in D for a moment, between much work",
     {.examined = true, .thread_state = 'D', .cpu = CPU_MOST},
     ID_STALLED,
     CAUSE_SPINNING},
    {"stopped after much work", {.examined = true, .thread_state = 'T', .cpu = CPU_MOST}, ID_STOPPED, CAUSE_SIGNAL},
    {"deadlocked",
     {.examined = true, .thread_state = 'S', .wait = WAIT_OTHERS, .deadlocked = true},
     ID_STALLED,
     CAUSE_DEADLOCK},
    {"deadlocked, on no thread",
     {.examined = true, .on_no_thread = true, .process_state = 'S', .deadlocked = true},
     ID_STALLED,
     CAUSE_DEADLOCK},
    {"deadlocked, and stopped", {.examined = true, .thread_state = 't', .deadlocked = true}, ID_STOPPED, CAUSE_TRACER},
    {"announces a sleep, not looked at yet", {.call = RIP_CALL_SLEEP}, ID_RUNNING, CAUSE_UNSEEN},
    {"announces a lock, not looked at yet", {.call = RIP_CALL_LOCK}, ID_RUNNING, CAUSE_UNSEEN},
    {"waits for a descriptor, on its way to be idle",
     {.examined = true, .thread_state = 'S', .call = RIP_CALL_READY},
     ID_RUNNING,
     CAUSE_UNSEEN},
    {"on a thread, leader stopped",
     {.examined = true, .thread_state = 'S', .process_state = 'T'},
     ID_STALLED,
     CAUSE_UNKNOWN},
};

/* What a thread announces, alone and with evidence: {announced, letter, wait, CPU, steady, CPU of that time}. */
struct announcement {
    const char *what;
    enum rip_call call;
    char letter; /* 0 = not examined */
    enum evidence_wait wait;
    enum evidence_cpu cpu;
    bool steady;
    enum evidence_cpu steady_cpu;
    struct verdict verdict;
};

static const struct verdict runs = {ID_RUNNING, CAUSE_UNSEEN}, not_examined = {ID_STALLED, CAUSE_NONE};
static const struct verdict unseen = {ID_IDLE, CAUSE_UNSEEN}, input = {ID_IDLE, CAUSE_INPUT};
static const struct verdict blocked = {ID_STALLED, CAUSE_BLOCKED};
static const struct verdict spinning = {ID_STALLED, CAUSE_SPINNING}, starved = {ID_STALLED, CAUSE_STARVED};
static const struct verdict in_d = {ID_STALLED, CAUSE_UNINTERRUPTIBLE}, sleeping = {ID_STALLED, CAUSE_SLEEPING};
static const struct verdict unknown = {ID_STALLED, CAUSE_UNKNOWN}, stopped = {ID_STOPPED, CAUSE_SIGNAL};

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
            .steady = row->steady,
            .steady_cpu = row->steady_cpu,
        };
        const struct verdict verdict = cause_judge(&evidence);

        if (verdict.state != row->verdict.state || verdict.cause != row->verdict.cause)
            fail_msg("%s: %s, %s", row->what, id_state_name(verdict.state), id_cause_name(verdict.cause));
    }
}

TEST(what_a_thread_announces_is_judged)
{
    const struct announcement announcements[] = {
        {"outside, not examined", RIP_CALL_OUTSIDE, 0, 0, 0, false, 0, runs},
        {"outside, asleep", RIP_CALL_OUTSIDE, 'S', 0, 0, false, 0, unseen},
        {"outside, asleep in what the kernel shows", RIP_CALL_OUTSIDE, 'S', WAIT_OTHERS, 0, false, 0, unseen},
        {"outside, asleep for a time", RIP_CALL_OUTSIDE, 'S', WAIT_SLEEP, 0, true, CPU_HARDLY, unseen},
        {"outside, awake just now", RIP_CALL_OUTSIDE, 'R', 0, CPU_MOST, false, 0, runs},
        {"outside, awake all the time", RIP_CALL_OUTSIDE, 'R', 0, 0, true, CPU_MOST, spinning},
        {"outside, awake with little of a busy CPU", RIP_CALL_OUTSIDE, 'R', 0, 0, true, CPU_SOME, spinning},
        {"outside, awake without a CPU", RIP_CALL_OUTSIDE, 'R', 0, 0, true, CPU_HARDLY, starved},
        {"outside, ready just now", RIP_CALL_OUTSIDE, 'R', 0, CPU_HARDLY, false, 0, runs},
        {"outside, at a disk just now", RIP_CALL_OUTSIDE, 'D', 0, 0, false, 0, runs},
        {"outside, at a disk all the time", RIP_CALL_OUTSIDE, 'D', 0, 0, true, CPU_HARDLY, in_d},
        {"outside, stopped", RIP_CALL_OUTSIDE, 'T', 0, 0, false, 0, stopped},
        {"waits for work", RIP_CALL_WORK, 'S', 0, 0, false, 0, runs},
        {"waits for work, not examined", RIP_CALL_WORK, 0, 0, 0, false, 0, runs},
        {"waits for work, stopped", RIP_CALL_WORK, 'T', 0, 0, false, 0, stopped},
        {"waits for its own process", RIP_CALL_PRIVATE, 'S', 0, 0, false, 0, blocked},
        {"waits for its own process, as the kernel says", RIP_CALL_PRIVATE, 'S', WAIT_OTHERS, 0, false, 0, blocked},
        {"waits for its own process, not examined", RIP_CALL_PRIVATE, 0, 0, 0, false, 0, runs},
        {"waits for its own process, just woken", RIP_CALL_PRIVATE, 'R', 0, CPU_HARDLY, false, 0, runs},
        {"waits for its own process, stopped", RIP_CALL_PRIVATE, 'T', 0, 0, false, 0, stopped},
        {"input", RIP_CALL_INPUT, 'S', WAIT_OTHERS, 0, false, 0, input},
        {"pipe, not examined", RIP_CALL_PIPE, 0, 0, 0, false, 0, runs},
        {"pipe", RIP_CALL_PIPE, 'S', 0, 0, false, 0, input},
        {"pipe of its own child", RIP_CALL_PIPE, 'S', WAIT_CHILD, 0, false, 0, blocked},
        {"pipe, just woken", RIP_CALL_PIPE, 'R', 0, CPU_HARDLY, false, 0, runs},
        {"unsure", RIP_CALL_UNSURE, 'S', 0, 0, false, 0, unknown},
        {"unsure, no input by evidence", RIP_CALL_UNSURE, 'S', WAIT_OTHERS, 0, false, 0, blocked},
        {"opens a FIFO to read", RIP_CALL_UNSURE, 'S', WAIT_WRITER, 0, false, 0, input},
        {"opens a FIFO in a program of the library", RIP_CALL_NONE, 'S', WAIT_WRITER, 0, false, 0, blocked},
        {"reply, not examined", RIP_CALL_REPLY, 0, 0, 0, false, 0, not_examined},
        {"reply", RIP_CALL_REPLY, 'S', 0, 0, false, 0, blocked},
        {"blocks, not examined", RIP_CALL_BLOCK, 0, 0, 0, false, 0, not_examined},
        {"blocks", RIP_CALL_BLOCK, 'S', 0, 0, false, 0, blocked},
        {"blocks in the kernel", RIP_CALL_BLOCK, 'D', 0, 0, false, 0, in_d},
        {"blocks, stopped", RIP_CALL_BLOCK, 'T', 0, 0, false, 0, stopped},
        {"blocks, just woken", RIP_CALL_BLOCK, 'R', 0, CPU_HARDLY, false, 0, unknown},
        {"blocks, ready all the time", RIP_CALL_BLOCK, 'R', 0, CPU_HARDLY, true, CPU_HARDLY, starved},
        {"lock", RIP_CALL_LOCK, 'S', 0, 0, false, 0, blocked},
        {"shared lock", RIP_CALL_SHARED, 'S', 0, 0, false, 0, blocked},
        {"shared lock, not examined", RIP_CALL_SHARED, 0, 0, 0, false, 0, runs},
        {"lock, just woken", RIP_CALL_LOCK, 'R', 0, CPU_HARDLY, false, 0, runs},
        {"lock that spins", RIP_CALL_LOCK, 'R', 0, CPU_MOST, false, 0, spinning},
        {"sleep", RIP_CALL_SLEEP, 'S', 0, 0, false, 0, sleeping},
        {"sleep, just woken", RIP_CALL_SLEEP, 'R', 0, CPU_HARDLY, false, 0, runs},
        {"vfork", RIP_CALL_VFORK, 'D', 0, 0, false, 0, blocked},
        {"vfork is over", RIP_CALL_VFORK, 'S', 0, 0, false, 0, unseen},
        {"a call of a later release", (enum rip_call)200, 'S', 0, 0, false, 0, unknown},
    };

    check_announcements(announcements, sizeof announcements / sizeof announcements[0]);
}

TEST(a_thread_of_an_interpreter_is_never_idle)
{
    const struct announcement announcements[] = {
        {"wants its interpreter, not examined", RIP_CALL_INTERPRETER, 0, 0, 0, false, 0, runs},
        {"wants its interpreter", RIP_CALL_INTERPRETER, 'S', 0, 0, true, CPU_HARDLY, blocked},
        {"wants its interpreter, as the kernel says", RIP_CALL_INTERPRETER, 'S', WAIT_OTHERS, 0, false, 0, blocked},
        {"wants its interpreter for a time", RIP_CALL_INTERPRETER, 'S', WAIT_SLEEP, 0, false, 0, blocked},
        {"has its interpreter at times", RIP_CALL_INTERPRETER, 'S', WAIT_OTHERS, CPU_SOME, false, 0, spinning},
        {"has its interpreter mostly", RIP_CALL_INTERPRETER, 'S', 0, CPU_MOST, false, 0, spinning},
        {"has its interpreter now", RIP_CALL_COMPUTES, 'R', 0, CPU_SOME, false, 0, spinning},
        {"has just lost its interpreter", RIP_CALL_COMPUTES, 'S', WAIT_OTHERS, CPU_SOME, false, 0, spinning},
        {"had its interpreter, and sleeps", RIP_CALL_COMPUTES, 'S', WAIT_OTHERS, 0, false, 0, unseen},
        {"had its interpreter, not examined", RIP_CALL_COMPUTES, 0, 0, 0, false, 0, runs},
        {"wants its interpreter, just woken", RIP_CALL_INTERPRETER, 'R', 0, CPU_HARDLY, false, 0, runs},
        {"wants its interpreter and a CPU", RIP_CALL_INTERPRETER, 'R', 0, 0, true, CPU_HARDLY, starved},
        {"wants its interpreter, stopped", RIP_CALL_INTERPRETER, 'T', 0, 0, false, 0, stopped},
    };

    check_announcements(announcements, sizeof announcements / sizeof announcements[0]);
}

TEST(every_evidence_has_its_verdict)
{
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        const struct expectation *expected = &expectations[i];
        const struct verdict verdict = cause_judge(&expected->evidence);

        if (verdict.state != expected->state || verdict.cause != expected->cause)
            fail_msg("%s: %s, %s", expected->what, id_state_name(verdict.state), id_cause_name(verdict.cause));
    }
}

/* All that the bits, letters and announcements can be. */
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

TEST(who_waits_for_an_idle_worker_is_idle)
{
    struct evidence evidence = {
        .examined = true, .call = RIP_CALL_SHARED, .thread_state = 'S', .lock = {.known = true, .holder = HOLDER_IDLE}};

    assert_int_equal(cause_judge(&evidence).state, ID_IDLE);
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_DECLARED);
    for (int holder = 0; holder < HOLDER_COUNT; holder++) {
        evidence.lock.holder = (enum evidence_holder)holder;
        assert_int_equal(cause_judge(&evidence).state, holder == HOLDER_IDLE     ? ID_IDLE
                                                       : holder == HOLDER_SOUGHT ? ID_RUNNING
                                                                                 : ID_STALLED);
    }
    evidence.lock.holder = HOLDER_IDLE;
    evidence.thread_state = 'R'; /* its library looks who has the lock, on a busy machine */
    evidence.steady = true;
    evidence.steady_cpu = CPU_HARDLY;
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_DECLARED);
    evidence.thread_state = 'S';
    evidence.call = RIP_CALL_NONE; /* such a program says itself that it waits for work */
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_BLOCKED);
    evidence.call = RIP_CALL_BLOCK;
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_BLOCKED);
    evidence.call = RIP_CALL_LOCK;
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_DECLARED);
    evidence.call = RIP_CALL_SHARED;
    evidence.deadlocked = true;
    assert_int_equal(cause_judge(&evidence).cause, CAUSE_DEADLOCK);
}

TEST(no_evidence_is_without_a_verdict)
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
