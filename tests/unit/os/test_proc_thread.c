/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_thread.c - one thread as /proc has it, in text and for real: ripd/os/proc_thread.c, proc_thread_parse.c. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/proc_text.h"
#include "os/proc_thread.h"
#include "support/guarded_copy.h"

/* Parsers ---------------------------------------------------------------------------------------------------------- */

static const char status_text[] = "Name:\tapp\nState:\tS (sleeping)\nvoluntary_ctxt_switches:\t17\n"
                                  "nonvoluntary_ctxt_switches:\t4\n";
static const char syscall_text[] = "230 0x0 0x1 0x7ffcc5ad5170 0x7ffcc5ad51b0 0x0 0xffffffffffffffff 0x7ffcc5ad5158 "
                                   "0x7ff0dfb19503\n";

static void test_schedstat(void **state)
{
    struct proc_schedstat schedstat;

    (void)state;
    assert_int_equal(proc_parse_schedstat("1241344 11359471 2\n", &schedstat), 0);
    assert_int_equal(schedstat.cpu_ns, 1241344);
    assert_int_equal(schedstat.wait_ns, 11359471);
    assert_int_equal(schedstat.slice_count, 2);
    assert_int_equal(proc_parse_schedstat("18446744073709551615 0 0", &schedstat), 0);
    assert_int_equal(proc_parse_schedstat("18446744073709551616 0 0", &schedstat), -EINVAL);
    assert_int_equal(proc_parse_schedstat("1 2", &schedstat), -EINVAL);
    assert_int_equal(proc_parse_schedstat("1 -2 3", &schedstat), -EINVAL);
    assert_int_equal(schedstat.cpu_ns, UINT64_MAX);
}

static void test_switches(void **state)
{
    struct proc_switches switches;

    (void)state;
    assert_int_equal(proc_parse_switches(status_text, &switches), 0);
    assert_int_equal(switches.voluntary_count, 17);
    assert_int_equal(switches.involuntary_count, 4);
    assert_int_equal(proc_parse_switches("voluntary_ctxt_switches:\t17\n", &switches), -EINVAL);
    assert_int_equal(proc_parse_switches("Name:\tvoluntary_ctxt_switches:\t17\n", &switches), -EINVAL);
}

static void test_wchan(void **state)
{
    char wchan[PROC_WCHAN_BYTES] = "untouched", longest[PROC_WCHAN_BYTES + 1];

    (void)state;
    assert_int_equal(proc_parse_wchan("0", wchan), -ENODATA);
    assert_int_equal(proc_parse_wchan("", wchan), -EINVAL);
    assert_int_equal(proc_parse_wchan("a b", wchan), -EINVAL);
    assert_int_equal(proc_parse_wchan("0xffffffff81000000?", wchan), -EINVAL);
    assert_string_equal(wchan, "untouched");
    assert_int_equal(proc_parse_wchan("poll_schedule_timeout.constprop.0\n", wchan), 0);
    assert_string_equal(wchan, "poll_schedule_timeout.constprop.0");
    memset(longest, 'a', sizeof(longest));
    longest[PROC_WCHAN_BYTES] = '\0';
    assert_int_equal(proc_parse_wchan(longest, wchan), -EINVAL);
    longest[PROC_WCHAN_BYTES - 1] = '\0';
    assert_int_equal(proc_parse_wchan(longest, wchan), 0);
}

static void test_syscalls(void **state)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "230",
                                      "230 0x0",
                                      "230 0 0 0 0 0 0 0 0",
                                      "-1",
                                      "-1 7",
                                      "-2 0x1 0x2",
                                      "230 0x0 0x1 0x2 0x3 0x4 0x5",
                                      "4294967296 0x0 0x1 0x2 0x3 0x4 0x5 0x6 0x7",
                                      "230 0x10000000000000000 0x1 0x2 0x3 0x4 0x5 0x6 0x7"};
    struct proc_syscall call;

    (void)state;
    assert_int_equal(proc_parse_syscall(syscall_text, &call), 0);
    assert_int_equal(call.kind, PROC_SYSCALL_INSIDE);
    assert_int_equal(call.number, 230);
    assert_int_equal(call.arguments[1], 1);
    assert_int_equal(call.arguments[5], UINT64_MAX);
    assert_int_equal(call.stack_pointer, 0x7ffcc5ad5158);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (proc_parse_syscall(bad[i], &call) != -EINVAL)
            fail_msg("%s", bad[i]);
    assert_int_equal(call.number, 230);
    assert_int_equal(proc_parse_syscall("-1 0x7ffcc5ad5158 0x7ff0dfb19503\n", &call), 0);
    assert_int_equal(call.kind, PROC_SYSCALL_OUTSIDE);
    assert_int_equal(proc_parse_syscall("running\n", &call), 0);
    assert_int_equal(call.kind, PROC_SYSCALL_RUNNING);
}

static void test_links(void **state)
{
    uint64_t inode = 7, mount = 7;

    (void)state;
    assert_true(proc_link_inode("socket:[5842546]", "socket", &inode));
    assert_int_equal(inode, 5842546);
    assert_false(proc_link_inode("socket:[5842546]", "pipe", &inode));
    assert_false(proc_link_inode("socket:[5842546", "socket", &inode));
    assert_false(proc_link_inode("socket:[1] (deleted)", "socket", &inode));
    assert_false(proc_link_inode("socket:[]", "socket", &inode));
    assert_false(proc_link_inode("/tmp/socket:[1]", "socket", &inode));
    assert_int_equal(inode, 5842546);
    assert_int_equal(proc_parse_descriptor("pos:\t0\nflags:\t02\nmnt_id:\t26\nino:\t77\n", &inode, &mount), 0);
    assert_int_equal(inode, 77);
    assert_int_equal(mount, 26);
    assert_int_equal(proc_parse_descriptor("pos:\t0\nmnt_id:\t27\n", &inode, &mount), -EINVAL);
    assert_int_equal(proc_parse_descriptor("pos:\t0\nino:\t78\n", &inode, &mount), -EINVAL);
    assert_int_equal(inode, 77);
    assert_int_equal(mount, 26);
}

/* Every text cut at every place, at the end of what may be read. */
static void test_no_parser_reads_beyond_the_end(void **state)
{
    static const char *const texts[] = {status_text,         syscall_text,         "1241344 11359471 2\n",
                                        "running\n",         "-1 0x7ffc 0x7ff0\n", "mnt_id:\t6\nino:\t77\n",
                                        "hrtimer_nanosleep", "pipe:[17]"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (size_t length = 0; length <= strlen(texts[i]); length++) {
            char text[512] = "", wchan[PROC_WCHAN_BYTES];
            struct proc_schedstat schedstat;
            struct proc_switches switches;
            struct proc_syscall call;
            struct guarded_copy copy;
            const char *guarded;
            uint64_t inode;

            memcpy(text, texts[i], length);
            guarded_copy_new(&copy, text, length + 1);
            guarded = (const char *)copy.bytes;
            proc_parse_schedstat(guarded, &schedstat);
            proc_parse_switches(guarded, &switches);
            proc_parse_wchan(guarded, wchan);
            proc_parse_syscall(guarded, &call);
            proc_parse_descriptor(guarded, &inode, &inode);
            proc_link_inode(guarded, "pipe", &inode);
            guarded_copy_free(&copy);
        }
    }
}

static void test_numbers(void **state)
{
    uint64_t value = 5;

    (void)state;
    assert_null(text_hex("g", UINT64_MAX, &value));
    assert_null(text_hex("100", 0xff, &value));
    assert_non_null(text_hex("fF", 0xff, &value));
    assert_int_equal(value, 255);
    assert_null(text_decimal("256", 255, &value));
    assert_null(text_decimal("a", 255, &value));
    assert_null(text_next_line("a\n"));
    assert_string_equal(text_next_line("a\nb"), "b");
}

/* The real thing --------------------------------------------------------------------------------------------------- */

struct reader {
    int ends[2];
    uint32_t tid;
};

static void *read_for_ever(void *context)
{
    struct reader *reader = context;
    char byte;

    __atomic_store_n(&reader->tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    return read(reader->ends[0], &byte, 1) == 1 ? reader : NULL;
}

static void test_a_thread_of_ours(void **state)
{
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct proc_syscall call = {.kind = PROC_SYSCALL_RUNNING};
    uint32_t pid = (uint32_t)getpid();
    struct proc_descriptor descriptor;
    struct proc_schedstat schedstat;
    struct proc_switches switches;
    struct reader reader = {.tid = 0};
    char wchan[PROC_WCHAN_BYTES];
    pthread_t thread;
    uint64_t inode;
    int result;

    (void)state;
    assert_int_equal(pipe(reader.ends), 0);
    pthread_create(&thread, NULL, read_for_ever, &reader);
    while (__atomic_load_n(&reader.tid, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    for (int i = 0; i < 10000 && call.kind != PROC_SYSCALL_INSIDE; i++) {
        result = proc_thread_syscall(proc, pid, reader.tid, &call);
        if (result != 0)
            break;
        usleep(1000);
    }
    assert_int_equal(proc_thread_schedstat(proc, pid, reader.tid, &schedstat), 0);
    assert_int_equal(proc_thread_switches(proc, pid, reader.tid, &switches), 0);
    assert_true(switches.voluntary_count != 0);
    if (result == 0) { /* else it is not allowed here, not even of ourselves */
        assert_int_equal(call.number, SYS_read);
        assert_int_equal(call.arguments[0], reader.ends[0]);
        assert_int_equal(proc_thread_wchan(proc, pid, reader.tid, wchan), 0);
    }
    assert_int_equal(proc_descriptor(proc, pid, (uint32_t)reader.ends[0], &descriptor), 0);
    assert_true(proc_link_inode(descriptor.link, "pipe", &inode));
    assert_int_equal(descriptor.inode, inode);
    assert_true(descriptor.readable && !descriptor.writable && !descriptor.link_cut);
    assert_int_equal(write(reader.ends[1], "", 1), 1);
    pthread_join(thread, NULL);
    assert_int_equal(proc_thread_schedstat(proc, pid, reader.tid, &schedstat), -ESRCH);
    assert_int_equal(proc_thread_wchan(proc, pid, reader.tid, wchan), -ESRCH);
    assert_int_equal(proc_descriptor(proc, pid, 100000, &descriptor), -ESRCH);
    close(reader.ends[0]);
    close(reader.ends[1]);
    close(proc);
}

static void test_a_long_link_is_cut(void **state)
{
    char name[200], path[1024] = "/dev/shm/rip-test-link-XXXXXX";
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), file;
    struct proc_descriptor descriptor;
    size_t made = strlen(path);

    (void)state;
    assert_non_null(mkdtemp(path));
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(path + made, sizeof(path) - made, "/%s", name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%s", name);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(proc_descriptor(proc, (uint32_t)getpid(), (uint32_t)file, &descriptor), 0);
    assert_true(descriptor.link_cut);
    assert_int_equal(strlen(descriptor.link), sizeof(descriptor.link) - 1);
    close(file);
    close(proc);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedstat),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_wchan),
        cmocka_unit_test(test_syscalls),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_no_parser_reads_beyond_the_end),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_a_thread_of_ours),
        cmocka_unit_test(test_a_long_link_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
