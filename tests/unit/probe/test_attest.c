/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_attest.c - which process a record belongs to, by real locks, processes and /proc, and which claims are
 * rejected: ripd/probe/child/attest.c. Tests that need several users are skipped if we are not root.
 */
#include "unit/locker.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include <librip.h>

#include "os/file.h"
#include "os/proc.h"
#include "os/sigbus.h"
#include "probe/child/attest.h"

static struct scene {
    struct ring_stage stage;
    struct ring_builder ring; /* "ring" */
    pid_t pid;                /* process of record 0, which holds its lock; 0 = none */
    pid_t other;              /* another process, which ends with the scene; 0 = none */
    struct attested attested;
    int proc;
} scene;

/* Starts a process that holds the lock of its record, so that it is attested. */
static void begin(uid_t user, void (*then)(void *context))
{
    scene = (struct scene){.proc = file_open_directory("/proc")};
    assert_int_equal(sigbus_install(), 0); /* cmocka sets its own handler before each test */
    ring_stage_open(&scene.stage);
    assert_int_equal(chmod(scene.stage.directory, 0777), 0);
    locker_ring(&scene.stage, "ring", user, &scene.ring);
    scene.pid = locker_start(&scene.stage, "ring", &scene.ring, 0, user, then);
}

static void end(void)
{
    if (scene.pid != 0)
        ring_stage_end(scene.pid);
    if (scene.other != 0)
        ring_stage_end(scene.other);
    ring_stage_release(&scene.ring);
    ring_stage_close(&scene.stage);
    close(scene.proc);
}

static const char *path_of(void)
{
    return ring_stage_path(&scene.stage, "ring");
}

static struct rip_process *record(void)
{
    return ring_builder_process(&scene.ring, 0);
}

/* Attests a record of a file. A refusal leaves no descriptor open, and the output unchanged. */
static int attest_file(const char *path, uint32_t process)
{
    const struct attested before = {.pid = 7, .process = 8, .pidfd = 9};
    size_t descriptors = count_descriptors();
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), result;

    assert_true(descriptor >= 0);
    scene.attested = before;
    result = attest_open(&scene.attested, scene.proc, descriptor, process);
    if (result != 0) {
        assert_int_equal(count_descriptors(), descriptors);
        assert_memory_equal(&scene.attested, &before, sizeof(before));
    }
    return result;
}

static int attest(uint32_t process)
{
    int result = attest_file(path_of(), process);

    if (result == 0)
        attest_close(&scene.attested);
    return result;
}

static void assert_attested(void)
{
    assert_int_equal(attest(0), 0);
    assert_int_equal(scene.attested.pid, scene.pid);
}

/* Attested processes ----------------------------------------------------------------------------------------------- */

static void enter_ring(void *context)
{
    if (!rip_create_ring(context, 4))
        abort();
    rip_init(0, "worker", 6, 0, 0);
    rip_snap();
}

TEST(a_process_of_librip)
{
    size_t descriptors = count_descriptors();
    char path[128];
    pid_t pid;

    begin(0, NULL);
    snprintf(path, sizeof(path), "%s", ring_stage_path(&scene.stage, "real"));
    pid = ring_stage_start(enter_ring, NULL, path);
    assert_int_equal(attest_file(path, 0), 0);
    assert_int_equal(scene.attested.pid, pid);
    assert_int_equal(scene.attested.process, 0);
    assert_int_equal(scene.attested.mapping.file.uid, geteuid());
    assert_true(attest_holds(&scene.attested, scene.proc));
    attest_close(&scene.attested);
    ring_stage_end(pid);
    assert_int_equal(attest_file(path, 0), -ESRCH);
    end();
    assert_int_equal(count_descriptors(), descriptors);
}

TEST(files_that_are_not_rings)
{
    static const char *const names[] = {"text", "empty", "fifo", "directory"};

    begin(0, NULL);
    ring_stage_put(&scene.stage, "text", "text");
    ring_stage_put(&scene.stage, "empty", "");
    ring_stage_put(&scene.stage, "directory/file", "");
    assert_int_equal(mkfifo(ring_stage_path(&scene.stage, "fifo"), 0600), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(attest_file(ring_stage_path(&scene.stage, names[i]), 0), -EINVAL);
    assert_int_equal(attest_file("/dev/null", 0), -EINVAL);
    assert_int_equal(attest_file("/proc/self/stat", 0), -EINVAL);
    scene.ring.ring->file_bytes += RIP_PAGE_BYTES; /* more than the file has */
    assert_int_equal(attest(0), -EINVAL);
    end();
}

/* Ring, record and lock are valid, but the file is on a disk: guarantee A. */
TEST(a_ring_on_a_disk)
{
    char path[] = "/var/tmp/test_attest-XXXXXX";
    int descriptor = mkstemp(path);
    struct statfs system;

    assert_true(descriptor >= 0 && fstatfs(descriptor, &system) == 0);
    begin(0, NULL);
    scene.other = locker_hold(path, RIP_LOCK_HOLDER_OFFSET, F_SETLK);
    locker_claim(&scene.ring, 0, scene.other);
    assert_int_equal(write(descriptor, scene.ring.bytes, scene.ring.size_bytes), (ssize_t)scene.ring.size_bytes);
    if (system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC)
        assert_int_equal(attest_file(path, 0), -EINVAL);
    end();
    close(descriptor);
    unlink(path);
}

TEST(records)
{
    static const uint32_t not_attested[] = {1, 2, RIP_PROCESS_MIN, UINT32_MAX}; /* 2 is free, the others do not exist */
    static const uint32_t other_states[] = {RIP_PROCESS_FREE,   RIP_PROCESS_EMBRYO,  RIP_PROCESS_CLAIMED,
                                            RIP_PROCESS_EXITED, RIP_PROCESS_EXECING, 77};

    begin(0, NULL);
    assert_attested();
    locker_claim(&scene.ring, 1, scene.pid); /* the process does not hold the lock of record 1 */
    for (size_t i = 0; i < COUNT_OF(not_attested); i++)
        assert_int_equal(attest(not_attested[i]), -ESRCH);
    for (size_t i = 0; i < COUNT_OF(other_states); i++) {
        record()->state = other_states[i];
        assert_int_equal(attest(0), -ESRCH);
    }
    record()->state = RIP_PROCESS_LIVE;
    assert_attested();
    end();
}

/* Claims ----------------------------------------------------------------------------------------------------------- */

/* A start time of 0 is not known yet: then the time at which the process entered the ring bounds it. */
TEST(start_times)
{
    const uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);

    begin(0, NULL);
    const uint64_t started = record()->start_time_ticks;
    const struct {
        uint64_t start_time_ticks, entered_boot_ns;
        int result;
    } rows[] = {
        {started + 1, 0, -ESRCH},
        {0, 0, -ESRCH},
        {0, (started - 1) * tick_ns, -ESRCH}, /* an earlier process with that pid */
        {0, (started + 1) * tick_ns, 0},
        {started, 0, 0},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        record()->start_time_ticks = rows[i].start_time_ticks;
        record()->entered_boot_ns = rows[i].entered_boot_ns;
        assert_int_equal(attest(0), rows[i].result);
    }
    end();
}

/* The record's process is not the lock holder. */
TEST(another_pid)
{
    begin(0, NULL);
    record()->pid = (uint32_t)getpid(); /* only the pid differs: the start time is the holder's */
    assert_int_equal(attest(0), -ESRCH);
    record()->start_time_ticks = ring_stage_start_time(getpid());
    assert_int_equal(attest(0), -ESRCH);
    record()->pid = 0;
    assert_int_equal(attest(0), -ESRCH);
    end();
}

static void make_up_proc(pid_t pid, const char *numbers)
{
    locker_make_up_proc(&scene.stage, pid, numbers);
    close(scene.proc);
    scene.proc = file_open_directory(ring_stage_path(&scene.stage, "proc"));
}

/* The record has the pid in its own namespace. If that namespace is ours, it is the pid that we see. */
TEST(pids_in_namespaces)
{
    struct stat ours;
    char numbers[32];

    begin(0, NULL);
    record()->pid_namespace++;
    assert_attested(); /* its innermost namespace is ours */
    snprintf(numbers, sizeof(numbers), "NSpid:\t%d\t7\n", scene.pid);
    make_up_proc(scene.pid, numbers);
    assert_int_equal(attest(0), -ESRCH);
    record()->pid = 7;
    assert_attested();
    make_up_proc(scene.pid, ""); /* an old kernel has no NSpid */
    assert_attested();
    assert_int_equal(stat(ring_stage_path(&scene.stage, "proc/self/ns/pid"), &ours), 0);
    record()->pid_namespace = ours.st_ino;
    assert_int_equal(attest(0), -ESRCH);
    record()->pid = (uint32_t)scene.pid;
    assert_attested();
    end();
}

/* Locks ------------------------------------------------------------------------------------------------------------ */

TEST(locks_that_prove_nothing)
{
    static const struct {
        uint64_t offset;
        int command, result;
    } rows[] = {
        {0, F_SETLK, -ESRCH},                          /* no lock */
        {RIP_LOCK_HOLDER_OFFSET, F_OFD_SETLK, -ESRCH}, /* such a lock has no pid */
        {RIP_LOCK_LIFE_OFFSET, F_SETLK, -ESRCH},       /* another lock */
        {RIP_LOCK_HOLDER_OFFSET, F_SETLK, 0},
    };

    begin(0, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ring_stage_end(scene.pid);
        scene.pid = locker_hold(path_of(), rows[i].offset, rows[i].command);
        locker_claim(&scene.ring, 0, scene.pid);
        assert_int_equal(attest(0), rows[i].result);
    }
    end();
}

/* A process shares its descriptors with the locker. The locker ends, but the lock stays, with the pid of the locker. */
static struct {
    volatile pid_t locker;
} * shared;

static void share_and_end(void *context)
{
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

    if (pid < 0)
        abort();
    if (pid == 0) {
        locker_lock(context);
        _exit(0);
    }
    shared->locker = pid; /* stays a zombie */
}

static void start_sharer(void)
{
    struct locker locker = {path_of(), RIP_LOCK_HOLDER_OFFSET, F_SETLK, 0};

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    ring_stage_end(scene.pid);
    scene.pid = ring_stage_start(share_and_end, NULL, &locker);
    WAIT_UNTIL(ring_stage_state(shared->locker) == 'Z');
    assert_true(locker_is_locked(path_of(), RIP_LOCK_HOLDER_OFFSET));
    locker_claim(&scene.ring, 0, shared->locker);
}

TEST(a_lock_that_outlives_its_owner)
{
    begin(0, NULL);
    start_sharer();
    assert_int_equal(attest(0), -ESRCH);
    munmap(shared, sizeof(*shared));
    end();
}

/* Users ------------------------------------------------------------------------------------------------------------ */

static void skip_unless_root(void)
{
    if (is_root_of_all())
        return;
    print_message("skipped: needs root with CAP_SYS_PTRACE\n");
    skip();
}

static uid_t users[3]; /* real, effective, saved */

static void take_users(void *context)
{
    (void)context;
    if (setresuid(users[0], users[1], users[2]) != 0)
        abort();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static bool has_users(void)
{
    struct proc_status status;

    assert_int_equal(proc_status(scene.proc, (uint32_t)scene.pid, &status), 0);
    return status.uid_real == users[0] && status.uid_effective == users[1] && status.uid_saved == users[2];
}

/* Guarantee B: all three uids are the owner's, or the owner is root and nobody else may write to the file. */
TEST(users)
{
    static const struct {
        uid_t real, effective, saved, owner;
        mode_t mode;
        int expected;
    } rows[] = {
        {LOCKER_USER, LOCKER_USER, LOCKER_USER, LOCKER_USER, 0640, 0},
        {LOCKER_STRANGER, LOCKER_USER, LOCKER_USER, LOCKER_USER, 0640, -ESRCH},
        {LOCKER_USER, LOCKER_STRANGER, LOCKER_USER, LOCKER_USER, 0640, -ESRCH},
        {LOCKER_USER, LOCKER_USER, LOCKER_STRANGER, LOCKER_USER, 0640, -ESRCH},
        {LOCKER_STRANGER, LOCKER_STRANGER, LOCKER_STRANGER, LOCKER_USER, 0640, -ESRCH},
        {LOCKER_USER, LOCKER_USER, LOCKER_USER, LOCKER_STRANGER, 0640, -ESRCH},
        {LOCKER_USER, LOCKER_USER, LOCKER_USER, LOCKER_USER, 0666, 0}, /* the owner may allow it */
        {0, 0, 0, LOCKER_USER, 0640, -ESRCH},                          /* root does not use rings of other users */
        {LOCKER_USER, LOCKER_USER, LOCKER_USER, 0, 0644, 0},
        {LOCKER_USER, LOCKER_USER, LOCKER_USER, 0, 0666, -ESRCH}, /* others may have written the record */
        {LOCKER_USER, LOCKER_USER, LOCKER_USER, 0, 0660, -ESRCH},
    };

    skip_unless_root();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        users[0] = rows[i].real;
        users[1] = rows[i].effective;
        users[2] = rows[i].saved;
        begin(0, take_users);
        assert_int_equal(chown(path_of(), rows[i].owner, rows[i].owner), 0);
        assert_int_equal(chmod(path_of(), rows[i].mode), 0);
        ring_stage_go(scene.pid);
        WAIT_UNTIL(has_users());
        WAIT_UNTIL(attest(0) == rows[i].expected); /* it is not dumpable for a moment */
        end();
    }
}

/* With PR_SET_DUMPABLE 0 a process forbids its own user to read it. */
TEST(a_process_that_is_not_dumpable)
{
    uid_t user = geteuid() == 0 ? LOCKER_USER : 0;

    begin(user, locker_hide);
    assert_attested();
    ring_stage_go(scene.pid);
    WAIT_UNTIL(locker_proc_owner(scene.pid) == 0);
    assert_int_equal(attest(0), -EACCES);
    end();
}

static void execute_with_the_lock(void *context)
{
    fcntl(LOCKER_DESCRIPTOR, F_SETFD, 0);
    locker_execute(context);
}

static bool has_executed(void)
{
    struct proc_stat stat;

    return proc_stat(scene.proc, (uint32_t)scene.pid, &stat) == 0 && strcmp(stat.comm, "sleep") == 0;
}

/*
 * After exec, a process with a descriptor can still hold both locks, and the uids are still root's. But exec has
 * dropped the mapping of the ring.
 */
TEST(locks_and_users_survive_exec)
{
    skip_unless_root();
    begin(0, execute_with_the_lock);
    assert_int_equal(attest_file(path_of(), 0), 0);
    ring_stage_go(scene.pid);
    WAIT_UNTIL(has_executed());
    WAIT_UNTIL(!locker_is_locked(path_of(), RIP_LOCK_LIFE_OFFSET)); /* its mapping is gone */
    assert_true(locker_is_locked(path_of(), RIP_LOCK_HOLDER_OFFSET));
    assert_false(attest_holds(&scene.attested, scene.proc));
    scene.other = locker_hold(path_of(), RIP_LOCK_LIFE_OFFSET, F_OFD_SETLK);
    assert_false(attest_holds(&scene.attested, scene.proc));
    attest_close(&scene.attested);
    assert_int_equal(attest(0), -EACCES);
    end();
}

static void drop_users(void *context)
{
    (void)context;
    if (setresuid(LOCKER_USER, LOCKER_USER, LOCKER_USER) != 0)
        abort();
}

/* Makes /proc show that this user executed the program. */
static void put_auxv(uid_t user, uint64_t secure)
{
    const Elf64_auxv_t vector[] = {{AT_SECURE, {secure}}, {AT_UID, {user}}, {AT_EUID, {user}}, {AT_NULL, {0}}};
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/auxv", scene.pid);
    ring_stage_write(&scene.stage, name, vector, sizeof(vector));
}

/*
 * Root starts a process, which changes to the owner of its ring. The owner may not read it in /proc. It is attested
 * only if root executed it, without a gain of privilege, and the ring is mapped in it.
 */
TEST(a_process_that_dropped_its_user)
{
    char name[64], users_text[64];

    skip_unless_root();
    begin(0, drop_users);
    assert_int_equal(chown(path_of(), LOCKER_USER, LOCKER_USER), 0);
    ring_stage_go(scene.pid);
    WAIT_UNTIL(attest(0) == 0);
    assert_int_equal(locker_proc_owner(scene.pid), 0);
    make_up_proc(scene.pid, "");
    snprintf(name, sizeof(name), "proc/%d/status", scene.pid);
    snprintf(users_text, sizeof(users_text), "Uid:\t%u\t%u\t%u\t0\n", LOCKER_USER, LOCKER_USER, LOCKER_USER);
    ring_stage_put(&scene.stage, name, users_text);
    put_auxv(0, 0);
    assert_int_equal(attest(0), 0);
    put_auxv(LOCKER_USER, 0);
    assert_int_equal(attest(0), -EACCES);
    put_auxv(0, 1);
    assert_int_equal(attest(0), -EACCES);
    end();
}

/* Changes after a process was attested: guarantee D ---------------------------------------------------------------- */

static void begin_held(uid_t user, void (*then)(void *context))
{
    begin(user, then);
    assert_int_equal(attest_file(path_of(), 0), 0);
    assert_true(attest_holds(&scene.attested, scene.proc));
    assert_true(attest_holds(&scene.attested, scene.proc)); /* a query changes nothing */
}

static void end_held(void)
{
    attest_close(&scene.attested);
    end();
}

static void kill_it(void)
{
    ring_stage_end(scene.pid);
    scene.pid = 0;
}

static void unlock(void)
{
    ring_stage_go(scene.pid);
    WAIT_UNTIL(!locker_is_locked(path_of(), RIP_LOCK_HOLDER_OFFSET));
}

static void pass_lock_on(void)
{
    unlock();
    scene.other = locker_hold(path_of(), RIP_LOCK_HOLDER_OFFSET, F_SETLK);
}

static void change_record(void)
{
    record()->start_time_ticks++;
}

static void end_record(void)
{
    record()->state = RIP_PROCESS_EXITED;
}

static void hide_it(void)
{
    ring_stage_go(scene.pid);
    WAIT_UNTIL(locker_proc_owner(scene.pid) == 0);
}

static void cut_ring(void)
{
    assert_int_equal(truncate(path_of(), 0), 0);
}

TEST(changes)
{
    const uid_t user = geteuid() == 0 ? LOCKER_USER : 0;
    const struct {
        const char *name;
        uid_t user;
        void (*then)(void *context);
        void (*change)(void);
    } rows[] = {
        {"killed", 0, NULL, kill_it},
        {"lock lost", 0, locker_lose_lock, unlock},
        {"executed another program", 0, locker_execute, unlock}, /* the descriptor is close-on-exec */
        {"lock passed on", 0, locker_lose_lock, pass_lock_on},
        {"record changed", 0, NULL, change_record},
        {"record ended", 0, NULL, end_record},
        {"not dumpable any more", user, locker_hide, hide_it},
        {"ring cut", 0, NULL, cut_ring},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin_held(rows[i].user, rows[i].then);
        rows[i].change();
        if (attest_holds(&scene.attested, scene.proc))
            fail_msg("still attested: %s", rows[i].name);
        end_held();
    }
}

TEST(became_another_user)
{
    skip_unless_root();
    users[0] = users[1] = users[2] = LOCKER_STRANGER;
    begin(0, take_users);
    assert_int_equal(attest_file(path_of(), 0), 0);
    scene.attested.mapping.file.uid = LOCKER_USER; /* as if it had been that user's */
    ring_stage_go(scene.pid);
    WAIT_UNTIL(has_users());
    assert_false(attest_holds(&scene.attested, scene.proc));
    end_held();
}

/* Makes /proc show that the locker, which has ended, maps the ring. We hold its LIFE lock. */
static void put_maps(void)
{
    struct flock life = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_LIFE_OFFSET, .l_len = 1};
    char name[64], text[128];
    struct stat status;
    int descriptor = open(path_of(), O_RDWR | O_CLOEXEC); /* until the test ends */

    assert_int_equal(fcntl(descriptor, F_OFD_SETLK, &life), 0);
    assert_int_equal(fstat(descriptor, &status), 0);
    snprintf(name, sizeof(name), "proc/%d/maps", shared->locker);
    assert_int_equal(unlink(ring_stage_path(&scene.stage, name)), 0);
    snprintf(text, sizeof(text), "7f0000000000-7f0000001000 ---s 00000000 %02x:%02x %lu\n", major(status.st_dev),
             minor(status.st_dev), (unsigned long)status.st_ino);
    ring_stage_put(&scene.stage, name, text);
}

/*
 * If a pid is reused, /proc looks the same; and if descriptors are shared, the lock still has that pid. Only the pidfd
 * shows the difference. In the made-up /proc the process lives on.
 */
TEST(only_the_pidfd_shows_that_a_pid_was_reused)
{
    begin(0, NULL);
    start_sharer();
    make_up_proc(shared->locker, "");
    put_maps();
    assert_int_equal(attest_file(path_of(), 0), 0);
    assert_false(attest_holds(&scene.attested, scene.proc));
    munmap(shared, sizeof(*shared));
    end_held();
}
