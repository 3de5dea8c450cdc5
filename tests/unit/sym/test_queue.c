/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue.c - questions of several users take turns: ripd/sym/queue.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>

#include "sym/queue.h"
#include "unit/chosen_keys.h"
#include "unit/sym_samples.h"

#define SECOND_NS UINT64_C(1000000000)

static struct sym_queue queue;

static uint32_t pop_uid(uint64_t now_ns)
{
    uint64_t until_ns;
    struct sym_question *question = queue_pop(&queue, now_ns, &until_ns);
    uint32_t uid = question == NULL ? 0 : question->module->uid;

    if (question != NULL)
        queue_drop(&queue, question);
    return uid;
}

/* Whichever of the two asks a lot. */
static void take_turns(struct module_facts *loud, struct module_facts *quiet)
{
    unsigned of_quiet = 0;

    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(queue_push(&queue, 1, NULL, NULL, loud, i), 0);
    for (uint64_t i = 0; i < 2; i++)
        assert_int_equal(queue_push(&queue, 1, NULL, NULL, quiet, i), 0);
    for (size_t i = 0; i < 4; i++)
        of_quiet += pop_uid(1) == quiet->uid;
    assert_int_equal(of_quiet, 2);
    queue_done(&queue);
}

static void test_turns(void **state)
{
    struct module_facts *loud = sample_module("/a", "", 1), *quiet = sample_module("/b", "", 2);

    (void)state;
    take_turns(loud, quiet);
    take_turns(quiet, loud);
    assert_int_equal(queue.count, 0);
    assert_int_equal(atomic_load(&loud->references), 1);
    module_facts_unref(loud);
    module_facts_unref(quiet);
}

/* First in, first out; what has been popped is still known until it is dropped. */
static void test_order(void **state)
{
    struct module_facts *module = sample_module("/a", "", 1);
    uint64_t until_ns = 0;

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(queue_push(&queue, 1, NULL, NULL, module, i), 0);
    for (uint64_t i = 0; i < 3; i++) {
        struct sym_question *question = queue_pop(&queue, 1, &until_ns);

        assert_int_equal(question->offset, i);
        assert_true(queue_has(&queue, module, i));
        queue_drop(&queue, question);
        assert_false(queue_has(&queue, module, i));
    }
    assert_null(queue_pop(&queue, 1, &until_ns));
    assert_int_equal(until_ns, UINT64_MAX);
    module_facts_unref(module);
}

static void test_pauses(void **state)
{
    struct module_facts *bad = sample_module("/a", "", 1), *good = sample_module("/b", "", 2);
    uint64_t now_ns = 5 * SECOND_NS, until_ns = 0;

    (void)state;
    assert_int_equal(queue_strikes(&queue, 1, now_ns), 0);
    assert_int_equal(queue_push(&queue, now_ns, NULL, NULL, bad, 1), 0);
    queue_strike(&queue, 1, now_ns, SECOND_NS);
    assert_int_equal(queue_push(&queue, now_ns, NULL, NULL, bad, 2), -EAGAIN);
    assert_null(queue_pop(&queue, now_ns, &until_ns));
    assert_int_equal(until_ns, now_ns + SECOND_NS);
    assert_int_equal(queue_push(&queue, now_ns, NULL, NULL, good, 1), 0);
    assert_int_equal(pop_uid(now_ns), 2);
    assert_int_equal(pop_uid(now_ns + SECOND_NS), 1);
    queue_strike(&queue, 1, now_ns, SECOND_NS); /* the second: twice as long */
    assert_int_equal(queue_push(&queue, now_ns + 2 * SECOND_NS - 1, NULL, NULL, bad, 2), -EAGAIN);
    assert_int_equal(queue_push(&queue, now_ns + 2 * SECOND_NS, NULL, NULL, bad, 2), 0);
    for (int i = 0; i < 100; i++)
        queue_strike(&queue, 1, now_ns, SECOND_NS);
    assert_int_equal(queue_push(&queue, now_ns + (SECOND_NS << QUEUE_PAUSE_DOUBLES), NULL, NULL, bad, 3), 0);
    assert_int_equal(queue_strikes(&queue, 1, now_ns), 102);
    assert_int_equal(queue_strikes(&queue, 1, now_ns + QUEUE_FORGIVE_NS), 0);
    queue_done(&queue);
    module_facts_unref(bad);
    module_facts_unref(good);
}

static void test_limits(void **state)
{
    struct module_facts *modules[3];
    struct process_facts *process = sample_process(7, 1);

    (void)state;
    memset(&queue, 0, sizeof(queue));
    for (uint32_t i = 0; i < 3; i++)
        modules[i] = sample_module("/a", "", i + 1);
    for (uint64_t i = 0; i < QUEUE_LANE_MAX; i++)
        assert_int_equal(queue_push(&queue, 1, NULL, process, modules[0], i), 0);
    assert_int_equal(queue_push(&queue, 1, NULL, process, modules[0], QUEUE_LANE_MAX), -ENOSPC);
    for (uint64_t i = 0; i < QUEUE_MAX - QUEUE_LANE_MAX; i++)
        assert_int_equal(queue_push(&queue, 1, NULL, process, modules[1], i), 0);
    assert_int_equal(queue_push(&queue, 1, NULL, process, modules[2], 0), -ENOSPC);
    queue_done(&queue);
    assert_int_equal(atomic_load(&process->references), 1);
    process_facts_unref(process);
    for (uint32_t i = 0; i < 3; i++)
        module_facts_unref(modules[i]);
}

/* Whoever chooses offsets cannot choose where they meet. */
static void test_offsets_that_would_collide(void **state)
{
    struct module_facts *module = sample_module("/a", "", 1);
    size_t longest = 0;

    (void)state;
    for (uint64_t i = 0; i < QUEUE_LANE_MAX; i++) {
        uint64_t mixed = undo_product(i, SPLITMIX_FACTOR) ^ (uintptr_t)module;

        assert_int_equal(queue_push(&queue, 1, NULL, NULL, module, undo_product(mixed, GOLDEN_FACTOR)), 0);
    }
    for (size_t i = 0; i < QUEUE_BUCKETS; i++) {
        size_t length = 0;

        for (const struct sym_question *question = queue.buckets[i]; question != NULL; question = question->chain)
            length++;
        longest = length > longest ? length : longest;
    }
    assert_in_range(longest, 1, 30); /* two each, on average */
    queue_done(&queue);
    module_facts_unref(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),  cmocka_unit_test(test_order),  cmocka_unit_test(test_offsets_that_would_collide),
        cmocka_unit_test(test_pauses), cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
