/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_credentials.c - uids, gids and groups in PID/status: ripd/os/proc_credentials.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/proc_credentials.h"
#include "support/guarded_copy.h"

static const char sample[] =
    "Name:\ta\nUmask:\t0022\nUid:\t1\t2\t3\t4\nGid:\t5\t5\t5\t5\nFDSize:\t64\nGroups:\t7 8 9 \n"
    "NStgid:\t12\n";

static void test_text(void **state)
{
    struct proc_credentials credentials;

    (void)state;
    assert_int_equal(proc_parse_credentials(sample, &credentials), 0);
    assert_int_equal(credentials.uid, 4);
    assert_int_equal(credentials.gid, 5);
    assert_true(credentials.own_gid);
    assert_int_equal(credentials.group_count, 3);
    assert_int_equal(credentials.groups[0], 7);
    assert_int_equal(credentials.groups[2], 9);
    assert_int_equal(proc_parse_credentials("Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t1\nGroups:\t \n", &credentials), 0);
    assert_int_equal(credentials.gid, 1);
    assert_false(credentials.own_gid);
    assert_int_equal(credentials.group_count, 0);
}

/* The end of the text may be where it was cut: in the middle of a number. */
static void test_cut(void **state)
{
    struct proc_credentials credentials;

    (void)state;
    assert_int_equal(proc_parse_credentials("Uid:\t1 1 1 1\nGid:\t1 1 1 1\nGroups:\t10 20 12", &credentials), 0);
    assert_int_equal(credentials.group_count, 2);
    assert_int_equal(proc_parse_credentials("Uid:\t1 1 1 1\nGid:\t1 1 1 1\nGroups:\t10 20 12 ", &credentials), 0);
    assert_int_equal(credentials.group_count, 3);
}

static void test_many_groups(void **state)
{
    struct proc_credentials credentials;
    char text[4096];
    int length = snprintf(text, sizeof(text), "Uid:\t1 1 1 1\nGid:\t1 1 1 1\nGroups:\t");

    (void)state;
    for (int i = 0; i < 300; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "%d ", 1000 + i);
    assert_int_equal(proc_parse_credentials(text, &credentials), 0);
    assert_int_equal(credentials.group_count, PROC_GROUPS_MAX);
    assert_int_equal(credentials.groups[PROC_GROUPS_MAX - 1], 1000 + PROC_GROUPS_MAX - 1);
}

static void test_bad_text(void **state)
{
    static const char *const bad[] = {
        "",
        "Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\n",
        "Uid:\t1\t1\t1\t1\nGroups:\t1 \n",
        "Gid:\t1\t1\t1\t1\nGroups:\t1 \n",
        "Uid:\t1\t1\t1\nGid:\t1\t1\t1\t1\nGroups:\t1 \n",
        "Uid:\t1\t1\t1\t4294967296\nGid:\t1\t1\t1\t1\nGroups:\t1 \n",
        "Uid:\t-1\t1\t1\t1\nGid:\t1\t1\t1\t1\nGroups:\t1 \n",
        "Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\tx\nGroups:\t1 \n",
    };
    struct proc_credentials credentials = {.uid = 42};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(proc_parse_credentials(bad[i], &credentials), -EINVAL);
    assert_int_equal(credentials.uid, 42);
}

static void test_at_the_end_of_memory(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof(sample); length++) {
        struct proc_credentials credentials;
        struct guarded_copy copy;
        char text[sizeof(sample)];

        memcpy(text, sample, length);
        text[length] = '\0';
        guarded_copy_new(&copy, text, length + 1);
        (void)proc_parse_credentials((const char *)copy.bytes, &credentials);
        guarded_copy_free(&copy);
    }
}

static void test_own(void **state)
{
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), count = getgroups(0, NULL);
    struct proc_credentials credentials;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(proc_credentials(proc, (uint32_t)getpid(), &credentials), 0);
    assert_int_equal(credentials.uid, geteuid());
    assert_int_equal(credentials.gid, getegid());
    assert_true(count > (int)PROC_GROUPS_MAX || credentials.group_count == (uint32_t)count);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(proc_credentials(proc, (uint32_t)pid, &credentials), -ESRCH);
    close(proc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_many_groups),
        cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_at_the_end_of_memory),
        cmocka_unit_test(test_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
