/* SPDX-License-Identifier: Apache-2.0 */
/* test_hosts.c - lists of host names are copied whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "net/hosts.h"
#include "net/http.h"

static void test_copy(void **state)
{
    char name[] = "db1";
    const char *const names[] = {name, "[::2]", "monitor.example"};
    struct hosts hosts;
    const char *wrong = NULL;

    (void)state;
    assert_int_equal(hosts_copy(&hosts, names, 3, &wrong), 0);
    memset(name, 'x', 3);
    assert_int_equal(hosts.count, 3);
    assert_string_equal(hosts.names[0], "db1");
    assert_string_equal(hosts.names[2], "monitor.example");
    hosts_done(&hosts);
    assert_int_equal(hosts.count, 0);
    hosts_done(&hosts);
    assert_int_equal(hosts_copy(&hosts, NULL, 0, &wrong), 0);
    assert_non_null(hosts.names); /* an empty list is a list */
    hosts_done(&hosts);
    assert_null(wrong);
}

static void test_refused(void **state)
{
    const char *many[HTTP_HOSTS_MAX + 1];
    const char *const names[] = {"db1", "db1:80", "b c"};
    struct hosts hosts = {NULL, 77};
    const char *wrong = NULL;

    (void)state;
    assert_int_equal(hosts_copy(&hosts, names, 3, &wrong), -EINVAL);
    assert_string_equal(wrong, "db1:80");
    for (size_t i = 0; i <= HTTP_HOSTS_MAX; i++)
        many[i] = "db1";
    assert_int_equal(hosts_copy(&hosts, many, HTTP_HOSTS_MAX + 1, &wrong), -E2BIG);
    assert_int_equal(hosts.count, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copy), cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
