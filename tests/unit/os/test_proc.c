/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc.c - readers of /proc, a real and a made-up one: ripd/os/proc.c, pidfd.c. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "os/pidfd.h"
#include "os/proc.h"
#include "support/descriptors.h"
#include "support/ring_stage.h"
#include "support/test.h"

static int real_proc = -1;

static int open_proc(void **state)
{
    (void)state;
    real_proc = file_open_directory("/proc");
    return real_proc >= 0 ? 0 : -1;
}

/* Real processes --------------------------------------------------------------------------------------------------- */

static void set_name(void *context)
{
    prctl(PR_SET_NAME, context);
}

static int stat_of(pid_t pid, struct proc_stat *ret_stat)
{
    return proc_stat(real_proc, (uint32_t)pid, ret_stat);
}

TEST(real_process)
{
    char name[] = "a) (b\nc";
    pid_t pid = ring_stage_start(set_name, NULL, name);
    struct proc_status status;
    struct proc_stat stat;

    assert_int_equal(stat_of(pid, &stat), 0);
    assert_string_equal(stat.comm, name);
    assert_int_equal(stat.start_time_ticks, ring_stage_start_time(pid));
    assert_in_range(stat.thread_count, 1, 2); /* a sanitizer may have its own */
    assert_int_equal(proc_status(real_proc, (uint32_t)pid, &status), 0);
    assert_int_equal(status.uid_real, getuid());
    assert_int_equal(status.pid_in_namespace, pid);
    assert_false(status.core_dumping);
    assert_true(proc_exists(real_proc, (uint32_t)pid));
    ring_stage_end(pid);
    assert_int_equal(stat_of(pid, &stat), -ESRCH);
    assert_int_equal(proc_status(real_proc, (uint32_t)pid, &status), -ESRCH);
    assert_int_equal(proc_thread_stat(real_proc, (uint32_t)pid, (uint32_t)pid, &stat), -ESRCH);
    assert_false(proc_exists(real_proc, (uint32_t)pid));
}

static void *run_on(void *context)
{
    (void)context;
    for (;;)
        pause();
    return NULL;
}

static void end_first_thread(void *context)
{
    pthread_t thread;

    (void)context;
    if (pthread_create(&thread, NULL, run_on, NULL) != 0)
        abort();
}

static void leave_first_thread(void *context)
{
    (void)context;
    syscall(SYS_exit, 0);
}

TEST(zombies)
{
    pid_t whole = ring_stage_start(NULL, NULL, NULL);
    pid_t first = ring_stage_start(end_first_thread, leave_first_thread, NULL);
    struct proc_stat stat = {0};

    kill(whole, SIGKILL);
    for (int i = 0; i < 2000 && !proc_stat_ended(&stat); i++) {
        usleep(1000);
        assert_int_equal(stat_of(whole, &stat), 0);
    }
    assert_true(stat.state == 'Z' && proc_stat_ended(&stat));
    ring_stage_end(whole);

    ring_stage_go(first);
    for (int i = 0; i < 1000 && ring_stage_state(first) != 'Z'; i++)
        usleep(1000);
    assert_int_equal(stat_of(first, &stat), 0);
    assert_true(stat.state == 'Z' && !proc_stat_ended(&stat)); /* another thread of the process is alive */
    ring_stage_end(first);
}

TEST(pidfd)
{
    pid_t pid = ring_stage_start(NULL, NULL, NULL);
    int hold = pidfd_of((uint32_t)pid);

    assert_true(hold >= 0);
    assert_false(pidfd_ended(hold));
    ring_stage_end(pid);
    assert_true(pidfd_ended(hold));
    assert_int_equal(pidfd_of((uint32_t)pid), -ESRCH);
    assert_int_equal(pidfd_of(0), -ESRCH);
    assert_int_equal(pidfd_of(UINT32_MAX), -ESRCH);
    close(hold);
}

static int collect_tid(void *context, uint32_t tid)
{
    uint32_t *tids = context;

    tids[tids[0] == 0 ? 0 : 1] = tid;
    return 0;
}

TEST(threads)
{
    pid_t pid = ring_stage_start(end_first_thread, NULL, NULL);
    struct proc_status status;
    uint32_t tids[2] = {0};
    struct proc_stat stat;

    assert_int_equal(proc_visit_threads(real_proc, (uint32_t)pid, collect_tid, tids), 0);
    assert_int_equal(tids[0], pid);
    assert_true(tids[1] != 0);
    assert_int_equal(proc_thread_stat(real_proc, (uint32_t)pid, tids[1], &stat), 0);
    assert_int_equal(proc_thread_stat(real_proc, (uint32_t)getpid(), tids[1], &stat),
                     -ESRCH); /* a thread of another process */
    assert_int_equal(proc_thread_status(real_proc, (uint32_t)pid, tids[1], &status), 0);
    assert_int_equal(status.pid_in_namespace, tids[1]);
    ring_stage_end(pid);
    assert_int_equal(proc_visit_threads(real_proc, (uint32_t)pid, collect_tid, tids), -ESRCH);
}

/* Writing to private pages increases anonymous memory. Writing to shared pages increases only resident memory. */
TEST(memory)
{
    enum { BYTES = 32 << 20, SLACK = 8 << 20 };
    struct proc_memory before, after;
    static const int kinds[] = {MAP_PRIVATE, MAP_SHARED};

    for (size_t i = 0; i < 2; i++) {
        uint8_t *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, kinds[i] | MAP_ANONYMOUS, -1, 0);

        assert_ptr_not_equal(pages, MAP_FAILED);
        assert_int_equal(proc_own_memory(real_proc, &before), 0);
        assert_int_equal(madvise(pages, BYTES, MADV_POPULATE_WRITE),
                         0); /* by the kernel, so that sanitizers do not see it */
        assert_int_equal(proc_own_memory(real_proc, &after), 0);
        assert_true(after.virtual_bytes >= BYTES && after.resident_bytes >= before.resident_bytes + BYTES - SLACK);
        assert_int_equal(after.anonymous_bytes >= before.anonymous_bytes + BYTES - SLACK, kinds[i] == MAP_PRIVATE);
        munmap(pages, BYTES);
    }
}

TEST(descriptors)
{
    int descriptors[20];
    uint64_t before, after;

    assert_int_equal(proc_own_descriptors(real_proc, &before), 0);
    for (size_t i = 0; i < 20; i++)
        descriptors[i] = dup(real_proc);
    assert_int_equal(proc_own_descriptors(real_proc, &after), 0);
    assert_int_equal(after, before + 20);
    for (size_t i = 0; i < 20; i++)
        close(descriptors[i]);
    assert_int_equal(proc_own_descriptors(real_proc, &after), 0);
    assert_int_equal(after, count_descriptors());
}

TEST(own_credentials)
{
    int count = getgroups(0, NULL);
    struct proc_credentials credentials;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_int_equal(proc_credentials(real_proc, (uint32_t)getpid(), &credentials), 0);
    assert_int_equal(credentials.uid, geteuid());
    assert_int_equal(credentials.gid, getegid());
    assert_true(count > (int)PROC_GROUPS_MAX || credentials.group_count == (uint32_t)count);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(proc_credentials(real_proc, (uint32_t)pid, &credentials), -ESRCH);
}

TEST(machine)
{
    uint8_t id[16] = {0}, none[16] = {0};
    uint64_t inode;

    assert_int_equal(proc_own_pid_namespace(real_proc, &inode), 0);
    assert_int_equal(inode, ring_stage_pid_namespace());
    assert_int_equal(proc_boot_id(real_proc, id), 0);
    assert_memory_not_equal(id, none, sizeof(id));
}

/* A made-up /proc -------------------------------------------------------------------------------------------------- */

static struct tree {
    struct ring_stage stage;
    int proc;
} tree;

static int make_tree(void **state)
{
    (void)state;
    ring_stage_open(&tree.stage);
    tree.proc = file_open_directory(tree.stage.directory);
    return tree.proc >= 0 ? 0 : -1;
}

static int remove_tree(void **state)
{
    (void)state;
    close(tree.proc);
    ring_stage_close(&tree.stage);
    return 0;
}

static void put(const char *name, const char *text)
{
    ring_stage_put(&tree.stage, name, text);
}

TEST(thread_of_another_namespace, make_tree, remove_tree)
{
    struct proc_status status;

    put("500/status", "Uid:\t0\t0\t0\t0\nNSpid:\t500\t1\n");
    put("500/task/501/status", "Uid:\t0\t0\t0\t0\nNSpid:\t501\t7\n");
    put("500/task/7/status", "Uid:\t0\t0\t0\t0\nNSpid:\t7\t9\n"); /* another thread, with that number as its tid here */
    assert_int_equal(proc_thread_status(tree.proc, 500, 501, &status), 0);
    assert_int_equal(status.pid_in_namespace, 7);
    assert_int_equal(proc_thread_status(tree.proc, 500, 7, &status), 0);
    assert_int_equal(status.pid_in_namespace, 9);
    assert_int_equal(proc_thread_status(tree.proc, 500, 9, &status), -ESRCH);
}

TEST(empty_and_cut_files, make_tree, remove_tree)
{
    struct proc_memory memory;
    struct proc_stat stat;
    uint64_t count = 7;
    uint8_t id[16];

    put("500/task/500/stat", "");
    put("501/task/501/stat", "501 (a");
    put("sys/kernel/random/boot_id", "0123456-89ab-cdef-0123-456789abcdef0\n");
    assert_int_equal(proc_stat(tree.proc, 500, &stat), -ESRCH);
    assert_int_equal(proc_stat(tree.proc, 501, &stat), -EINVAL);
    assert_int_equal(proc_boot_id(tree.proc, id), -EINVAL);
    assert_int_equal(proc_own_memory(tree.proc, &memory), -ESRCH);
    assert_int_equal(proc_own_descriptors(tree.proc, &count), -ESRCH);
    assert_int_equal(count, 7);
}

/* cgroups ---------------------------------------------------------------------------------------------------------- */

enum { THAWED, FROZEN };

static const struct {
    const char *membership;
    const char *file; /* below the root of the cgroups; NULL = none */
    const char *text;
    int result; /* THAWED, FROZEN, or -errno */
} cgroups[] = {
    {"0::/a/b\n", "a/b/cgroup.events", "populated 1\nfrozen 1\n", FROZEN},
    {"0::/a/b\n", "a/b/cgroup.events", "populated 1\nfrozen 0\n", THAWED},
    {"0::/a/b\n", "unified/a/b/cgroup.events", "populated 1\nfrozen 1\n", FROZEN},
    {"5:cpu,freezer:/x\n0::/a\n", "freezer/x/freezer.state", "FROZEN\n", FROZEN},
    {"5:freezer:/x\n", "freezer/x/freezer.state", "FREEZING\n", THAWED},
    {"5:freezer:/x\n", "freezer/x/freezer.state", "THAWED\n", THAWED},
    {"5:freezer:/x:y\n", "freezer/x:y/freezer.state", "FROZEN\n", FROZEN},
    {"5:freezer2,xfreezer:/x\n", "freezer/x/freezer.state", "FROZEN\n", -ENOENT},
    {"5:freezer:/..\n", "freezer.state", "FROZEN\n", -ENOENT},
    {"5:freezer:/../../x\n", "x/freezer.state", "FROZEN\n", -ENOENT},
    {"5:freezer:/..x\n", "freezer/..x/freezer.state", "FROZEN\n", FROZEN},
    {"5:freezer:x\n", "freezerx/freezer.state", "FROZEN\n", -ENOENT},
    {"0::/gone (deleted)\n", NULL, NULL, -ENOENT},
    {"0::\n", "cgroup.events", "frozen 1\n", -ENOENT},
    {"nonsense\n", NULL, NULL, -ENOENT},
    {":\n::\n:::\n", NULL, NULL, -ENOENT},
};

TEST(cgroups, make_tree, remove_tree)
{
    for (size_t i = 0; i < COUNT_OF(cgroups); i++) {
        char root[64], file[160], membership[64];
        bool frozen = false;
        int result;

        snprintf(root, sizeof(root), "root%zu", i);
        snprintf(membership, sizeof(membership), "%zu/cgroup", i + 1);
        snprintf(file, sizeof(file), "%s/freezer/keep", root);
        put(file, "");
        put(membership, cgroups[i].membership);
        snprintf(file, sizeof(file), "%s/%s", root, cgroups[i].file != NULL ? cgroups[i].file : "");
        if (cgroups[i].file != NULL)
            put(file, cgroups[i].text);
        result = proc_cgroup_frozen(tree.proc, ring_stage_path(&tree.stage, root), (uint32_t)i + 1, &frozen);
        if ((result == 0 ? (int)frozen : result) != cgroups[i].result)
            fail_msg("'%s', %s: %d %d", cgroups[i].membership, file, result, frozen);
    }
    assert_int_equal(proc_cgroup_frozen(tree.proc, tree.stage.directory, 9999, &(bool){false}), -ESRCH);
}

/* Command lines, units and containers ------------------------------------------------------------------------------ */

#define EURO "\xe2\x82\xac"
#define CLEF "\xf0\x9d\x84\x9e"

/* size: of the buffer; shown: NULL is -ESRCH. */
static const struct {
    const char *file;
    size_t file_bytes;
    size_t size;
    const char *shown;
} command_lines[] = {
    {"checkout\0--port\00080\0", 19, 64, "checkout --port 80"},
    {"nginx: worker process\0\0\0\0", 25, 64, "nginx: worker process"}, /* as setproctitle() leaves it */
    {"", 0, 64, NULL},
    {"\0\0", 2, 64, NULL},
    {"checkout\0--port\0", 16, 12, "checkout --"},
    {"checkout\0--port\0", 16, 10, "checkout"},
    {"ab" EURO, 5, 6, "ab" EURO}, /* cut after, in, and before a character */
    {"ab" EURO "c", 6, 6, "ab" EURO},
    {"ab" EURO, 5, 5, "ab"},
    {"ab" EURO, 5, 4, "ab"},
    {"ab" EURO, 5, 3, "ab"},
    {CLEF CLEF, 8, 9, CLEF CLEF},
    {CLEF CLEF, 8, 8, CLEF},
    {CLEF CLEF, 8, 6, CLEF},
    {"a\xc3\xa9", 3, 3, "a"},
    {"a\xff\xfe\xfd", 4, 4, "a\xff"},
    {"\x80\x80\x80\x80\x80\x80", 6, 6, "\x80\x80\x80\x80\x80"}, /* no valid character: shown unchanged */
};

TEST(command_lines, make_tree, remove_tree)
{
    put("500/cmdline", "");
    for (size_t i = 0; i < COUNT_OF(command_lines); i++) {
        char text[64];
        int result;

        ring_stage_write(&tree.stage, "500/cmdline", command_lines[i].file, command_lines[i].file_bytes);
        result = proc_command_line(tree.proc, 500, text, command_lines[i].size);
        assert_int_equal(result, command_lines[i].shown != NULL ? 0 : -ESRCH);
        if (result == 0)
            assert_string_equal(text, command_lines[i].shown);
    }
    assert_int_equal(proc_command_line(tree.proc, 501, (char[64]){""}, 64), -ESRCH);
}

TEST(group, make_tree, remove_tree)
{
    struct proc_group group;

    put("500/cgroup", "0::/system.slice/checkout.service\n");
    assert_int_equal(proc_group(tree.proc, 500, &group), 0);
    assert_string_equal(group.unit, "checkout.service");
    assert_string_equal(group.container, "");
    assert_int_equal(proc_group(tree.proc, 501, &group), -ESRCH);
}

int main(void)
{
    return tests_run(open_proc, NULL);
}
