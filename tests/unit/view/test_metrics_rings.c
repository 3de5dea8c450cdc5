/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_rings.c - sums over rings, whatever these claim; nothing of those that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/samples.h"
#include "view/metrics.h"

static struct snapshot *with_rings(const struct ring_facts *rings, size_t count)
{
    struct snapshot *snapshot = snapshot_new();

    snapshot->rings = calloc(count, sizeof(*rings));
    snapshot->ring_count = count;
    memcpy(snapshot->rings, rings, count * sizeof(*rings));
    return snapshot;
}

static void assert_shown(const struct ring_facts *rings, size_t count, const char *const *lines)
{
    struct snapshot *snapshot = with_rings(rings, count);
    struct metrics_input input = {.snapshot = snapshot};
    size_t length;
    char *text;

    assert_int_equal(metrics_render(&input, &text, &length), 0);
    for (; *lines != NULL; lines++)
        if (strstr(text, *lines) == NULL)
            fail_msg("no \"%s\" in\n%s", *lines, text);
    free(text);
    snapshot_unref(snapshot);
}

static void test_healths(void **state)
{
    static const struct ring_facts rings[] = {{.health = RING_READABLE},
                                              {.health = RING_UNREADABLE, .dead = true},
                                              {.health = RING_UNREADABLE},
                                              {.health = RING_DAMAGED, .dead = true},
                                              {.health = RING_READABLE, .dead = true}};
    static const char *const lines[] = {"\nripd_rings{health=\"readable\"} 2\n",
                                        "\nripd_rings{health=\"unreadable\"} 2\n",
                                        "\nripd_rings{health=\"damaged\"} 1\n", "\nripd_rings_dead 1\n", NULL};
    static const char *const none[] = {"\nripd_rings{health=\"readable\"} 0\n",
                                       "\nripd_rings_dead 0\n",
                                       "\nripd_ring_fill_ratio 0\n",
                                       "\nripd_ring_processes 0\n",
                                       "\nripd_refused_registrations{reason=\"full\"} 0\n",
                                       NULL};

    (void)state;
    assert_shown(rings, 5, lines);
    assert_shown(rings, 0, none);
}

static void test_fullest(void **state)
{
    static const struct ring_facts rings[] = {
        {.slot_capacity = 3, .live_count = 1},
        {.slot_capacity = 0, .live_count = 7}, /* it says so */
        {.slot_capacity = 4, .live_count = 4, .dead = true},
        {.slot_capacity = 4, .live_count = 4, .health = RING_DAMAGED},
        {.slot_capacity = UINT32_MAX, .live_count = UINT64_MAX},
    };
    static const char *const third[] = {"\nripd_ring_fill_ratio 0.333333\n", NULL};
    static const char *const full[] = {"\nripd_ring_fill_ratio 1\n", NULL};

    (void)state;
    assert_shown(rings, 4, third);
    assert_shown(rings, 5, full);
}

static void test_refusals_stop_at_the_greatest_number(void **state)
{
    static const struct ring_facts rings[] = {
        {.info = {.refused_full_count = 3, .refused_memory_count = UINT64_MAX, .refused_process_count = 1}},
        {.info = {.refused_full_count = 4, .refused_memory_count = UINT64_MAX, .refused_process_count = 0}},
        {.info = {.refused_full_count = 1000}, .health = RING_DAMAGED},
    };
    static const char *const lines[] = {"\nripd_refused_registrations{reason=\"full\"} 7\n",
                                        "\nripd_refused_registrations{reason=\"memory\"} 18446744073709551615\n",
                                        "\nripd_refused_registrations{reason=\"processes\"} 1\n", NULL};

    (void)state;
    assert_shown(rings, 3, lines);
}

static void test_processes(void **state)
{
    struct snapshot *snapshot = sample_snapshot(1, 0, 0);
    struct metrics_input input = {.snapshot = snapshot};
    size_t length;
    char *text;

    (void)state;
    for (int dead = 0; dead < 2; dead++) {
        snapshot->rings[0].processes[0]->dead = dead == 1;
        assert_int_equal(metrics_render(&input, &text, &length), 0);
        assert_non_null(strstr(text, dead ? "\nripd_ring_processes 0\n" : "\nripd_ring_processes 1\n"));
        free(text);
    }
    snapshot_unref(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healths),
        cmocka_unit_test(test_fullest),
        cmocka_unit_test(test_refusals_stop_at_the_greatest_number),
        cmocka_unit_test(test_processes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
