/* SPDX-License-Identifier: Apache-2.0 */
/* test_activation.c - descriptors that a service manager passes: ripd/os/activation.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/activation.h"
#include "support/test.h"

static void pass(const char *count, const char *pid, const char *names)
{
    char own[16];

    snprintf(own, sizeof(own), "%d", (int)getpid());
    setenv("LISTEN_FDS", count, 1);
    setenv("LISTEN_PID", pid != NULL ? pid : own, 1);
    if (names != NULL)
        setenv("LISTEN_FDNAMES", names, 1);
}

static void assert_environment_clean(void)
{
    assert_null(getenv("LISTEN_FDS"));
    assert_null(getenv("LISTEN_PID"));
    assert_null(getenv("LISTEN_FDNAMES"));
}

static void assert_no_descriptors(void)
{
    struct activation activation = {.count = 99};

    assert_int_equal(activation_take(&activation), 0);
    assert_int_equal(activation.count, 0);
    assert_environment_clean();
}

TEST(descriptors)
{
    struct activation activation;

    assert_int_equal(dup2(STDERR_FILENO, 3), 3);
    assert_int_equal(dup2(STDERR_FILENO, 4), 4);
    close(5);
    pass("3", NULL, "http:a\nb\x1b[0m");
    assert_int_equal(activation_take(&activation), 0);
    assert_environment_clean();
    assert_int_equal(activation.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(activation.entries[i].number, 3 + i);
        assert_int_equal(activation.entries[i].open, i < 2);
    }
    assert_true(fcntl(3, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(4, F_GETFD) & FD_CLOEXEC);
    assert_string_equal(activation.entries[0].name, "http");
    assert_string_equal(activation.entries[1].name, "a?b?[0m");
    assert_string_equal(activation.entries[2].name, "unknown");
    close(3);
    close(4);
}

TEST(names)
{
    char *names = malloc(10000);
    struct activation activation;

    pass("3", NULL, ":second");
    assert_int_equal(activation_take(&activation), 0);
    assert_string_equal(activation.entries[0].name, "unknown");
    assert_string_equal(activation.entries[1].name, "second");
    assert_string_equal(activation.entries[2].name, "unknown");
    memset(names, 'x', 10000);
    names[300] = ':';
    names[301] = '\0';
    pass("2", NULL, names);
    assert_int_equal(activation_take(&activation), 0);
    assert_int_equal(strlen(activation.entries[0].name), ACTIVATION_NAME_BYTES - 1);
    names[301] = 'x';
    names[9999] = '\0';
    pass("2", NULL, names); /* longer than any manager writes */
    assert_int_equal(activation_take(&activation), 0);
    assert_string_equal(activation.entries[0].name, "unknown");
    free(names);
}

TEST(no_descriptors)
{
    assert_no_descriptors();
    pass("1", "1", "for-another");
    assert_no_descriptors();
    pass("rubbish", "1", NULL);
    assert_no_descriptors();
    pass("0", NULL, "");
    assert_no_descriptors();
    setenv("LISTEN_FDS", "1", 1); /* without LISTEN_PID */
    assert_no_descriptors();
}

TEST(bad_counts)
{
    struct activation activation = {.count = 99};

    pass("-1", NULL, NULL);
    assert_int_equal(activation_take(&activation), -EINVAL);
    pass("17", NULL, NULL);
    assert_int_equal(activation_take(&activation), -E2BIG);
    assert_int_equal(activation.count, 99);
    assert_environment_clean();
    pass("16", NULL, NULL);
    assert_int_equal(activation_take(&activation), 0);
    assert_int_equal(activation.count, 16);
}
