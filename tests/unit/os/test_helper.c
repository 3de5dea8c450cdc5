/* SPDX-License-Identifier: Apache-2.0 */
/* test_helper.c - programs of ripd's own begin with nothing but their socket, and are found beside it. */
#include "os/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "os/packet.h"

/* A shell script that tells over its socket which descriptors it has. */
static void write_script(const char *path)
{
    static const char text[] = "#!/bin/sh\nfor i in /proc/$$/fd/*; do printf '%s ' \"${i##*/}\"; done >&3\n"
                               "env | grep -c RIP_HELPER_TEST >&3\nread -r line <&3\n";
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, sizeof(text) - 1), sizeof(text) - 1);
    close(descriptor);
}

static void test_begins_with_its_socket_alone(void **state)
{
    char path[PATH_MAX], text[256] = "";
    int ends[2], leak = fcntl(STDIN_FILENO, F_DUPFD, 7); /* not close-on-exec */
    ssize_t bytes, all = 0;
    pid_t pid;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/rip-helper-%d", (int)getpid());
    write_script(path);
    assert_int_equal(setenv("RIP_HELPER_TEST", "1", 1), 0);
    assert_int_equal(packet_pair(ends), 0);
    assert_int_equal(helper_start(path, ends[1], &pid), 0);
    close(ends[1]);
    while (strchr(text, '\n') == NULL &&
           (bytes = packet_receive(ends[0], text + all, sizeof(text) - 1 - (size_t)all, true, NULL)) > 0)
        all += bytes;
    assert_non_null(strstr(text, " 2 3 "));
    assert_non_null(strstr(text, "0\n")); /* no variable passed */
    for (int i = 5; i < 10; i++) {        /* a shell reads its script from 10 or above */
        char number[8];

        snprintf(number, sizeof(number), " %d ", i);
        assert_null(strstr(text, number));
    }
    helper_stop(pid);
    close(ends[0]);
    close(leak);
    unlink(path);
}

static void test_missing_program_is_told(void **state)
{
    int ends[2];
    char path[PATH_MAX], small[4];
    pid_t pid;

    (void)state;
    assert_int_equal(packet_pair(ends), 0);
    assert_int_equal(helper_start("/nowhere/at-all", ends[1], &pid), -ENOENT);
    assert_int_equal(helper_find("no-such-program", "../libexec", path, sizeof(path)), -ENOENT);
    assert_int_equal(helper_find("ripd", "../libexec", small, sizeof(small)), -ENAMETOOLONG);
    assert_int_equal(helper_find("test_helper", "../libexec", path, sizeof(path)), 0);
    assert_int_equal(access(path, X_OK), 0);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins_with_its_socket_alone),
        cmocka_unit_test(test_missing_program_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
