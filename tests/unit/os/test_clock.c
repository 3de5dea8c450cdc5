/* SPDX-License-Identifier: Apache-2.0 */
/* test_clock.c - the clocks of ripd/os/clock.c. */
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "support/test.h"

TEST(units)
{
    uint64_t wall_ns = clock_wall_ns();
    uint64_t seconds = (uint64_t)time(NULL);

    assert_in_range(wall_ns / 1000000000u, seconds - 1, seconds + 1);
    assert_int_equal(clock_ticks_per_second(), (uint64_t)sysconf(_SC_CLK_TCK));
    assert_true(clock_boot_ns() + 1000000 >= clock_mono_ns()); /* the boot clock also counts suspended time */
}

TEST(mono_does_not_go_back)
{
    uint64_t last_ns = clock_mono_ns(), boot_ns = clock_boot_ns();

    for (int i = 0; i < 10000; i++) {
        uint64_t now_ns = clock_mono_ns();

        assert_true(now_ns >= last_ns);
        last_ns = now_ns;
    }
    usleep(2000);
    assert_true(clock_mono_ns() - last_ns >= 2000000);
    assert_true(clock_boot_ns() - boot_ns >= 2000000);
}

TEST(cpu_time_does_not_count_sleep)
{
    uint64_t before_ns = clock_cpu_ns(), slept_ns, mono_ns = clock_mono_ns();

    usleep(100000);
    slept_ns = clock_cpu_ns() - before_ns;
    assert_true(slept_ns < clock_mono_ns() - mono_ns);
    before_ns = clock_cpu_ns();
    while (clock_cpu_ns() - before_ns < 2000000)
        ; /* the test times out if the clock stands still */
}
