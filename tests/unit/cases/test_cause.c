/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cause.c - a verdict for every evidence, and which evidence outranks which.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cases/cause.h"

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
    {"on a thread, leader stopped",
     {.examined = true, .thread_state = 'S', .process_state = 'T'},
     ID_STALLED,
     CAUSE_UNKNOWN},
};

static void every_evidence_has_its_verdict(void **context)
{
    (void)context;
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        const struct expectation *expected = &expectations[i];
        const struct verdict verdict = cause_judge(&expected->evidence);

        if (verdict.state != expected->state || verdict.cause != expected->cause)
            fail_msg("%s: %s, %s", expected->what, id_state_name(verdict.state), id_cause_name(verdict.cause));
    }
}

/* All combinations: a state that the header allows, and a cause that belongs to that state. */
static void no_evidence_is_without_a_verdict(void **context)
{
    static const char letters[] = {0, 'R', 'S', 'D', 'T', 't', 'Z', 'X', 'x', 'I', 'P', '?'};
    bool judged[CAUSE_COUNT] = {false};

    (void)context;
    for (unsigned bits = 0; bits < 256 * WAIT_COUNT * CPU_COUNT; bits++) {
        for (size_t t = 0; t < sizeof letters; t++) {
            for (size_t p = 0; p < sizeof letters; p++) {
                struct evidence evidence = {
                    .examined = bits & 1,
                    .on_no_thread = bits & 2,
                    .thread_gone = bits & 4,
                    .thread_replaced = bits & 8,
                    .core_dumping = bits & 16,
                    .frozen = bits & 32,
                    .deadlocked = bits & 64,
                    .lock = {.known = bits & 128},
                    .wait = (enum evidence_wait)(bits / 256 % WAIT_COUNT),
                    .cpu = (enum evidence_cpu)(bits / 256 / WAIT_COUNT),
                    .thread_state = letters[t],
                    .process_state = letters[p],
                };
                struct verdict verdict = cause_judge(&evidence);

                judged[verdict.cause] = true;
                assert_true(verdict.state == ID_STALLED || verdict.state == ID_STOPPED || verdict.state == ID_EXITED);
                assert_int_equal(verdict.state == ID_STOPPED, verdict.cause >= CAUSE_SIGNAL);
                assert_int_equal(evidence.examined, verdict.state != ID_STALLED || verdict.cause != CAUSE_NONE);
            }
        }
    }
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        assert_int_equal(cause_can_be_judged((enum id_cause)cause), judged[cause]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_evidence_has_its_verdict),
        cmocka_unit_test(no_evidence_is_without_a_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
