/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c - the clocks of ripd/os/clock.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/clock.h"

static void test_units_are_nanoseconds(void **state)
{
    uint64_t wall_ns = clock_wall_ns();
    uint64_t seconds = (uint64_t)time(NULL);

    (void)state;
    assert_in_range(wall_ns / 1000000000u, seconds - 1, seconds + 1);
    assert_true(clock_boot_ns() + 1000000 >= clock_mono_ns()); /* it counts suspensions too */
}

static void test_mono_never_goes_back(void **state)
{
    uint64_t last_ns = clock_mono_ns(), boot_ns = clock_boot_ns();

    (void)state;
    for (int i = 0; i < 10000; i++) {
        uint64_t now_ns = clock_mono_ns();

        assert_true(now_ns >= last_ns);
        last_ns = now_ns;
    }
    usleep(2000);
    assert_true(clock_mono_ns() - last_ns >= 2000000);
    assert_true(clock_boot_ns() - boot_ns >= 2000000);
}

static void test_cpu_time_is_of_all_threads_and_not_of_sleep(void **state)
{
    uint64_t before_ns = clock_cpu_ns(), slept_ns, mono_ns = clock_mono_ns();

    (void)state;
    usleep(100000);
    slept_ns = clock_cpu_ns() - before_ns;
    assert_true(slept_ns < clock_mono_ns() - mono_ns);
    before_ns = clock_cpu_ns();
    while (clock_cpu_ns() - before_ns < 2000000)
        ; /* a clock that stood still would time out here */
}

static void test_ticks(void **state)
{
    (void)state;
    assert_int_equal(clock_ticks_per_second(), (uint64_t)sysconf(_SC_CLK_TCK));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_are_nanoseconds),
        cmocka_unit_test(test_mono_never_goes_back),
        cmocka_unit_test(test_cpu_time_is_of_all_threads_and_not_of_sleep),
        cmocka_unit_test(test_ticks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
