/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_proc_parse.c - parsers of texts of /proc: ripd/os/proc_parse.c. Each text is parsed whole, and cut at each
 * place, with no readable memory behind its terminator. If it is rejected, the output is unchanged.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/proc_parse.h"
#include "support/guarded_copy.h"
#include "support/test.h"

#define SHOWN_BYTES 512u
#define UNTOUCHED 0xa5

union parsed {
    struct proc_stat stat;
    struct proc_status status;
    struct proc_memory memory;
    struct proc_credentials credentials;
    struct proc_schedstat schedstat;
    struct proc_switches switches;
    struct proc_syscall call;
    char wchan[PROC_WCHAN_BYTES];
    uint64_t numbers[2];
};

/* Each parses text into *parsed, and writes the result as text. */
static int show_stat(const char *text, union parsed *parsed, char *shown)
{
    const struct proc_stat *stat = &parsed->stat;
    int result = proc_parse_stat(text, &parsed->stat);

    if (result == 0)
        snprintf(shown, SHOWN_BYTES, "%s|%c %u %u %u %" PRIu64 "+%" PRIu64 " %" PRIu64, stat->comm, stat->state,
                 stat->parent_pid, stat->flags, stat->thread_count, stat->user_ticks, stat->system_ticks,
                 stat->start_time_ticks);
    return result;
}

static int show_status(const char *text, union parsed *parsed, char *shown)
{
    const struct proc_status *status = &parsed->status;
    int result = proc_parse_status(text, &parsed->status);

    if (result == 0)
        snprintf(shown, SHOWN_BYTES, "%u %u %u, pid %u of %u%s", status->uid_real, status->uid_effective,
                 status->uid_saved, status->pid_in_namespace, status->namespace_count,
                 status->core_dumping ? ", dumps" : "");
    return result;
}

static int show_statm(const char *text, union parsed *parsed, char *shown)
{
    const struct proc_memory *memory = &parsed->memory;
    int result = proc_parse_statm(text, 4096, &parsed->memory);

    snprintf(shown, SHOWN_BYTES, "%" PRIu64 " %" PRIu64 " %" PRIu64, memory->virtual_bytes / 4096,
             memory->resident_bytes / 4096, memory->anonymous_bytes / 4096);
    return result;
}

static int show_credentials(const char *text, union parsed *parsed, char *shown)
{
    const struct proc_credentials *credentials = &parsed->credentials;
    int result = proc_parse_credentials(text, &parsed->credentials), length;

    if (result != 0)
        return result;
    length = snprintf(shown, SHOWN_BYTES, "%u:%u%s", credentials->uid, credentials->gid,
                      credentials->own_gid ? "" : " lent");
    for (uint32_t i = 0; i < credentials->group_count; i++)
        length += snprintf(shown + length, SHOWN_BYTES - (size_t)length, " %u", credentials->groups[i]);
    return 0;
}

static int show_schedstat(const char *text, union parsed *parsed, char *shown)
{
    const struct proc_schedstat *schedstat = &parsed->schedstat;
    int result = proc_parse_schedstat(text, &parsed->schedstat);

    snprintf(shown, SHOWN_BYTES, "%" PRIu64 " %" PRIu64 " %" PRIu64, schedstat->cpu_ns, schedstat->wait_ns,
             schedstat->slice_count);
    return result;
}

static int show_switches(const char *text, union parsed *parsed, char *shown)
{
    const struct proc_switches *switches = &parsed->switches;
    int result = proc_parse_switches(text, &parsed->switches);

    snprintf(shown, SHOWN_BYTES, "%" PRIu64 " %" PRIu64, switches->voluntary_count, switches->involuntary_count);
    return result;
}

static int show_wchan(const char *text, union parsed *parsed, char *shown)
{
    int result = proc_parse_wchan(text, parsed->wchan);

    if (result == 0)
        snprintf(shown, SHOWN_BYTES, "%s", parsed->wchan);
    return result;
}

static int show_syscall(const char *text, union parsed *parsed, char *shown)
{
    const struct proc_syscall *call = &parsed->call;
    int result = proc_parse_syscall(text, &parsed->call);

    if (result != 0)
        return result;
    if (call->kind == PROC_SYSCALL_RUNNING)
        snprintf(shown, SHOWN_BYTES, "running");
    else if (call->kind == PROC_SYSCALL_OUTSIDE)
        snprintf(shown, SHOWN_BYTES, "outside, %" PRIx64, call->stack_pointer);
    else
        snprintf(shown, SHOWN_BYTES,
                 "%" PRIu64 "(%" PRIx64 ",%" PRIx64 ",%" PRIx64 ",%" PRIx64 ",%" PRIx64 ",%" PRIx64 "), %" PRIx64,
                 call->number, call->arguments[0], call->arguments[1], call->arguments[2], call->arguments[3],
                 call->arguments[4], call->arguments[5], call->stack_pointer);
    return 0;
}

static int show_descriptor(const char *text, union parsed *parsed, char *shown)
{
    int result = proc_parse_descriptor(text, &parsed->numbers[0], &parsed->numbers[1]);

    snprintf(shown, SHOWN_BYTES, "%" PRIu64 " on %" PRIu64, parsed->numbers[0], parsed->numbers[1]);
    return result;
}

static int show_inode(const char *text, union parsed *parsed, char *shown)
{
    int result = proc_link_inode(text, "socket", &parsed->numbers[0]) ? 0 : -EINVAL;

    snprintf(shown, SHOWN_BYTES, "%" PRIu64, parsed->numbers[0]);
    return result;
}

#define IDS "Uid:\t1 1 1 1\nGid:\t1 1 1 1\nGroups:\t"
#define LONGEST_WCHAN "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* shown: the result; NULL = -EINVAL. */
static const struct {
    int (*show)(const char *text, union parsed *parsed, char *shown);
    const char *text;
    const char *shown;
} cases[] = {
    {show_stat, "1 (a) S 77 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 42 99 1\n", "a|S 77 4194560 9 5+6 42"},
    {show_stat, "1 (a) S 0 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 18446744073709551615",
     "a|S 0 0 1 5+6 18446744073709551615"},
    {show_stat, "1 () R 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 42", "|R 0 4 1 5+6 42"},
    {show_stat, "1 (x) (y) Z 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 42", "x) (y|Z 0 4 1 5+6 42"},
    {show_stat, "1 (a) R 1 1) t 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 42", "a) R 1 1|t 0 4 1 5+6 42"},
    {show_stat, "1 (a\nb) D 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 42", "a\nb|D 0 4 1 5+6 42"},
    {show_stat, "1 (twenty characters ab) D 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 42",
     "twenty character|D 0 4 1 5+6 42"},
    {show_stat, "", NULL},
    {show_stat, "1", NULL},
    {show_stat, "1 (", NULL},
    {show_stat, ")(", NULL},
    {show_stat, "1 (a", NULL},
    {show_stat, "1 a) S", NULL},
    {show_stat, "1 (a)", NULL},
    {show_stat, "1 (a) ", NULL},
    {show_stat, "1 (a) 7 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 42", NULL},
    {show_stat, "1 (a) S 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0", NULL},
    {show_stat, "1 (a) S 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 -42", NULL},
    {show_stat, "1 (a) S 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 18446744073709551616", NULL},
    {show_stat, "1 (a) S 0 1 1 0 -1 4294967296 1 2 3 4 5 6 7 8 20 0 1 0 42", NULL},
    {show_stat, "1 (a) S 0 1 1 0 -1 x 1 2 3 4 5 6 7 8 20 0 1 0 42", NULL},

    {show_status, "Name:\ta\nUid:\t1\t2\t3\t4\nNSpid:\t77\t5\nCoreDumping:\t1\n", "1 2 3, pid 5 of 2, dumps"},
    {show_status, "Uid:\t0\t4294967295\t0\t0",
     "0 4294967295 0, pid 0 of 0"}, /* an old kernel without the other lines */
    /* a name cannot fake a line: the kernel escapes its newlines */
    {show_status, "Name:\tUid:\\nUid:\t5\t5\t5\nUid:\t1\t1\t1\t1\n", "1 1 1, pid 0 of 0"},
    {show_status, "\n", NULL},
    {show_status, "Uid:", NULL},
    {show_status, "Uid:\t1\t2", NULL},
    {show_status, "Uid:\t1\t2\tx", NULL},
    {show_status, "Uid:\t1\t2\t4294967296", NULL},
    {show_status, "XUid:\t1\t1\t1", NULL},
    {show_status, "Uid:\t1\t1\t1\nNSpid:\t\n", NULL},
    {show_status, "Uid:\t1\t1\t1\nCoreDumping:\t5\n", NULL},

    {show_statm, "82150 3127 1901 44 0 999 0\n", "82150 3127 1226"},
    {show_statm, "1 1 2", "1 1 0"},
    {show_statm, "\n", NULL},
    {show_statm, "1 2", NULL},
    {show_statm, "1 2 x", NULL},
    {show_statm, "1 2 -3", NULL},
    {show_statm, "4503599627370496 1 1", NULL},

    {show_credentials, "Name:\ta\nUid:\t1\t2\t3\t4\nGid:\t5\t5\t5\t5\nFDSize:\t64\nGroups:\t7 8 9 \nNStgid:\t12\n",
     "4:5 7 8 9"},
    {show_credentials, "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t1\nGroups:\t \n", "0:1 lent"},
    {show_credentials, IDS "10 20 12", "1:1 10 20"}, /* the last number may be cut */
    {show_credentials, IDS "10 20 12 ", "1:1 10 20 12"},
    {show_credentials, "Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\n", NULL},
    {show_credentials, "Uid:\t1\t1\t1\t1\nGroups:\t1 \n", NULL},
    {show_credentials, "Gid:\t1\t1\t1\t1\nGroups:\t1 \n", NULL},
    {show_credentials, "Uid:\t1\t1\t1\nGid:\t1\t1\t1\t1\nGroups:\t1 \n", NULL},
    {show_credentials, "Uid:\t1\t1\t1\t4294967296\nGid:\t1\t1\t1\t1\nGroups:\t1 \n", NULL},
    {show_credentials, "Uid:\t-1\t1\t1\t1\nGid:\t1\t1\t1\t1\nGroups:\t1 \n", NULL},
    {show_credentials, "Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\tx\nGroups:\t1 \n", NULL},

    {show_schedstat, "1241344 11359471 2\n", "1241344 11359471 2"},
    {show_schedstat, "18446744073709551615 0 1", "18446744073709551615 0 1"},
    {show_schedstat, "18446744073709551616 0 0", NULL},
    {show_schedstat, "1 2", NULL},
    {show_schedstat, "1 -2 3", NULL},

    {show_switches, "Name:\tapp\nState:\tS\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t4\n", "17 4"},
    {show_switches, "voluntary_ctxt_switches:\t17\n", NULL},
    {show_switches, "Name:\tvoluntary_ctxt_switches:\t17\n", NULL},

    {show_wchan, "poll_schedule_timeout.constprop.0\n", "poll_schedule_timeout.constprop.0"},
    {show_wchan, LONGEST_WCHAN, LONGEST_WCHAN},
    {show_wchan, LONGEST_WCHAN "a", NULL},
    {show_wchan, "", NULL},
    {show_wchan, "a b", NULL},
    {show_wchan, "0xffffffff81000000?", NULL},

    {show_syscall, "230 0x0 0x1 0x7ffcc5ad5170 0x7ffcc5ad51b0 0x0 0xffffffffffffffff 0x7ffcc5ad5158 0x7ff0dfb19503\n",
     "230(0,1,7ffcc5ad5170,7ffcc5ad51b0,0,ffffffffffffffff), 7ffcc5ad5158"},
    {show_syscall, "-1 0x7ffcc5ad5158 0x7ff0dfb19503\n", "outside, 7ffcc5ad5158"},
    {show_syscall, "running\n", "running"},
    {show_syscall, "x", NULL},
    {show_syscall, "230", NULL},
    {show_syscall, "230 0x0", NULL},
    {show_syscall, "230 0 0 0 0 0 0 0 0", NULL},
    {show_syscall, "-1", NULL},
    {show_syscall, "-1 7", NULL},
    {show_syscall, "-2 0x1 0x2", NULL},
    {show_syscall, "230 0x0 0x1 0x2 0x3 0x4 0x5", NULL},
    {show_syscall, "4294967296 0x0 0x1 0x2 0x3 0x4 0x5 0x6 0x7", NULL},
    {show_syscall, "230 0x10000000000000000 0x1 0x2 0x3 0x4 0x5 0x6 0x7", NULL},

    {show_descriptor, "pos:\t0\nflags:\t02\nmnt_id:\t26\nino:\t77\n", "77 on 26"},
    {show_descriptor, "pos:\t0\nmnt_id:\t27\n", NULL},
    {show_descriptor, "pos:\t0\nino:\t78\n", NULL},

    {show_inode, "socket:[5842546]", "5842546"},
    {show_inode, "pipe:[5842546]", NULL},
    {show_inode, "socket:[5842546", NULL},
    {show_inode, "socket:[1] (deleted)", NULL},
    {show_inode, "socket:[]", NULL},
    {show_inode, "/tmp/socket:[1]", NULL},
};

/* Parses a text, whole or cut. A rejected text leaves the output unchanged. */
static size_t current;
static int parse_result;
static char parse_shown[SHOWN_BYTES];

static void parse(char *text)
{
    union parsed parsed, untouched;

    memset(&parsed, UNTOUCHED, sizeof(parsed));
    memset(&untouched, UNTOUCHED, sizeof(untouched));
    parse_result = cases[current].show(text, &parsed, parse_shown);
    if (parse_result != 0)
        assert_memory_equal(&parsed, &untouched, sizeof(parsed));
}

TEST(texts)
{
    for (current = 0; current < COUNT_OF(cases); current++) {
        const char *expected = cases[current].shown;

        guarded_cuts(cases[current].text, parse);
        if (expected == NULL ? parse_result != -EINVAL : parse_result != 0 || strcmp(parse_shown, expected) != 0)
            fail_msg("case %zu, '%s': %d '%s'", current, cases[current].text, parse_result, parse_shown);
    }
}

TEST(other_errors)
{
    struct proc_schedstat schedstat = {.cpu_ns = 7};
    char wchan[PROC_WCHAN_BYTES] = "old";

    assert_int_equal(proc_parse_schedstat("1 2 0", &schedstat), -EAGAIN); /* the thread has not run yet */
    assert_int_equal(proc_parse_wchan("0", wchan), -ENODATA);
    assert_int_equal(schedstat.cpu_ns, 7);
    assert_string_equal(wchan, "old");
}

static const char locks_text[] = "1: POSIX  ADVISORY  WRITE 100 00:1b:7 0 EOF\n"
                                 "2: OFDLCK ADVISORY  WRITE -1 00:1b:8 0 EOF\n"
                                 "2: -> OFDLCK ADVISORY  WRITE -1 00:1b:8 0 EOF\n"
                                 "2: -> POSIX ADVISORY  WRITE 300 00:1b:8 0 EOF\n"
                                 "5: FLOCK  ADVISORY  WRITE 101 fe:00:9 0 EOF\n"
                                 "5: -> FLOCK  ADVISORY  WRITE 200 fe:00:9 0 EOF\n"
                                 "5:  -> FLOCK  ADVISORY  WRITE 201 fe:00:9 0 EOF\n"
                                 "6: POSIX  ADVISORY  READ 102 fe:00:10 0 EOF\n"
                                 "6: -> POSIX  ADVISORY  WRITE 200 fe:00:10 0 EOF\n";

static void parse_locks(char *text)
{
    (void)proc_parse_lock_holder(text, 200, 10, &(uint32_t){0});
}

TEST(lock_holders)
{
    static const struct {
        uint32_t pid;
        uint64_t inode;
        uint32_t holder; /* 0 = -ESRCH */
    } rows[] = {
        {200, 9, 101},  {201, 0, 101}, /* behind another waiter */
        {200, 10, 102}, {300, 8, 0},   /* the holder has no pid */
        {100, 7, 0},                   /* it holds the lock itself */
        {200, 11, 0},   {0, 0, 0},
    };
    static const char only_a_waiter[] = "5: -> FLOCK  ADVISORY  WRITE 200 fe:00:9 0 EOF\n";
    uint32_t holder = 0;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        holder = 77;
        assert_int_equal(proc_parse_lock_holder(locks_text, rows[i].pid, rows[i].inode, &holder),
                         rows[i].holder != 0 ? 0 : -ESRCH);
        assert_int_equal(holder, rows[i].holder != 0 ? rows[i].holder : 77);
    }
    assert_int_equal(proc_parse_lock_holder(only_a_waiter, 200, 9, &holder), -ESRCH);
    guarded_cuts(locks_text, parse_locks);
}

TEST(lock_waits)
{
    struct proc_lock_wait waits[4] = {{0}};
    size_t count = 9;

    assert_int_equal(proc_parse_lock_waits(locks_text, waits, 3, &count), -EFBIG);
    assert_int_equal(count, 9);
    assert_int_equal(proc_parse_lock_waits(locks_text, waits, 4, &count), 0);
    assert_int_equal(count, 3);
    assert_true(waits[0].pid == 200 && waits[0].holder == 0); /* it waits for two locks */
    assert_true(waits[1].pid == 201 && waits[1].holder == 101);
    assert_true(waits[2].pid == 300 && waits[2].holder == 0); /* the holder has no pid */
    assert_int_equal(proc_parse_lock_waits("", waits, 4, &count), 0);
    assert_int_equal(count, 0);
}

TEST(many_groups)
{
    struct proc_credentials credentials;
    char text[4096] = IDS;
    size_t length = strlen(text);

    for (int i = 0; i < 300; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%d ", 1000 + i);
    assert_int_equal(proc_parse_credentials(text, &credentials), 0);
    assert_int_equal(credentials.group_count, PROC_GROUPS_MAX);
    assert_int_equal(credentials.groups[PROC_GROUPS_MAX - 1], 1000 + PROC_GROUPS_MAX - 1);
}
