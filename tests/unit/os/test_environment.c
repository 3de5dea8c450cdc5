/* SPDX-License-Identifier: Apache-2.0 */
/* test_environment.c - takes variables out of the environment: ripd/os/environment.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/environment.h"
#include "support/test.h"

TEST(take)
{
    char text[4] = "old";

    unsetenv("RIP_TEST");
    assert_int_equal(environment_take("RIP_TEST", text, sizeof(text)), -ENOENT);
    setenv("RIP_TEST", "four", 1);
    assert_int_equal(environment_take("RIP_TEST", text, sizeof(text)), -ENAMETOOLONG);
    assert_null(getenv("RIP_TEST"));
    assert_string_equal(text, "old");
    setenv("RIP_TEST", "abc", 1);
    assert_int_equal(environment_take("RIP_TEST", text, sizeof(text)), 3);
    assert_string_equal(text, "abc");
    assert_null(getenv("RIP_TEST"));
}

TEST(numbers)
{
    static const char *const bad[] = {
        "", " 1", "1 ", "-1", "+1", "0x1", "18446744073709551616", "1000000000000000000000000"};
    uint64_t value = 7;

    assert_int_equal(environment_take_number("RIP_TEST", &value), -ENOENT);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        setenv("RIP_TEST", bad[i], 1);
        assert_int_equal(environment_take_number("RIP_TEST", &value), -EINVAL);
        assert_null(getenv("RIP_TEST"));
    }
    assert_int_equal(value, 7);
    setenv("RIP_TEST", "18446744073709551615", 1);
    assert_int_equal(environment_take_number("RIP_TEST", &value), 0);
    assert_true(value == UINT64_MAX);
}

TEST(pids)
{
    char own[16];

    snprintf(own, sizeof(own), "%d", (int)getpid());
    assert_int_equal(environment_take_pid("RIP_TEST"), -ENOENT);
    setenv("RIP_TEST", own, 1);
    assert_int_equal(environment_take_pid("RIP_TEST"), 0);
    for (int i = 0; i < 2; i++) {
        setenv("RIP_TEST", i == 0 ? "1" : "me", 1);
        assert_int_equal(environment_take_pid("RIP_TEST"), -ESRCH);
    }
    assert_null(getenv("RIP_TEST"));
}
