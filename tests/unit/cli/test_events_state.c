/* SPDX-License-Identifier: Apache-2.0 */
/* test_events_state.c - ids, the file that keeps one, and targets: ripd/cli/events_state.c, ripd/cli/client.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/events.h"

static void test_ids(void **state)
{
    static const char *const bad[] = {"",
                                      "-",
                                      "1-2",
                                      "0123456789abcdef",
                                      "0123456789abcdef-",
                                      "0123456789abcdef-1x",
                                      "0123456789abcdeg-1",
                                      "0123456789abcdef-12345678901234567890",
                                      "0123456789abcdef--1",
                                      "0123456789abcdef-1\n",
                                      "0123456789abcdef0-1"};
    uint64_t sequence = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(events_id_valid(bad[i], &sequence));
    assert_int_equal(sequence, 7);
    assert_true(events_id_valid("0123456789abcdef-9999999999999999999", &sequence));
    assert_true(sequence == UINT64_C(9999999999999999999));
    assert_true(events_id_valid("ffffffffffffffff-0", &sequence));
    assert_int_equal(sequence, 0);
}

static void test_file(void **state)
{
    char directory[] = "/dev/shm/rip-test-state-XXXXXX", path[64], id[EVENTS_ID_BYTES] = "before";
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/last", directory);
    assert_int_equal(events_state_read(path, id), -ENOENT);
    assert_int_equal(events_state_write(path, "0123456789abcdef-1"), 0);
    assert_int_equal(events_state_write(path, "0123456789abcdef-22"), 0);
    assert_int_equal(events_state_read(path, id), 0);
    assert_string_equal(id, "0123456789abcdef-22");
    for (int i = 0; i < 3; i++) {
        static const char *const contents[] = {"", "hello\n", "0123456789abcdef"};

        file = fopen(path, "we");
        assert_non_null(file);
        fputs(contents[i], file);
        fclose(file);
        assert_int_equal(events_state_read(path, id), -EINVAL);
    }
    assert_string_equal(id, "0123456789abcdef-22"); /* untouched on failure */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0); /* nothing else was left in it */
    assert_int_equal(events_state_write(path, "0123456789abcdef-1"), -ENOENT);
}

static void test_target(void **state)
{
    char target[32] = "/events";

    (void)state;
    assert_int_equal(client_target_add(target, sizeof(target), "name", "a *&=\xff"), 0);
    assert_string_equal(target, "/events?name=a%20%2A%26%3D%FF");
    assert_int_equal(client_target_add(target, sizeof(target), "ring", "x"), -ENAMETOOLONG);
    snprintf(target, sizeof(target), "/events");
    assert_int_equal(client_target_add(target, sizeof(target), "pid", "17"), 0);
    assert_int_equal(client_target_add(target, sizeof(target), "kind", "end"), 0);
    assert_string_equal(target, "/events?pid=17&kind=end");
}

static void test_urls(void **state)
{
    static const char *const bad[] = {"ftp://x",    "127.0.0.1:7470", "http://",       "http:///x",  "http://a b",
                                      "http://a?b", "http://a#b",     "unix:relative", "http://:80", "http://a\n"};
    struct client *client = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(client_new(&client, bad[i]), CLIENT_REFUSED);
        assert_non_null(strstr(client_error(), "expected"));
        assert_null(strchr(client_error(), '\n'));
    }
    assert_null(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_target),
        cmocka_unit_test(test_urls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
