/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_attest.c - which process a record is believed to be of, by real locks, processes and /proc, and which claims
 * are never believed: ripd/probe/child/attest.c. Tests that need several users are skipped where we are not root.
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

#include "os/sigbus.h"
#include "probe/child/attest.h"

static struct scene {
    struct ring_stage stage;
    struct ring_builder ring; /* "ring" */
    pid_t pid;                /* of record 0, holds its lock; 0 = none */
    struct attested attested;
    int proc;
} scene;

/* Everything is right: one that holds the lock of its record. */
static void begin(uid_t user, void (*then)(void *context))
{
    scene = (struct scene){.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    ring_stage_open(&scene.stage);
    assert_int_equal(chmod(scene.stage.directory, 0777), 0);
    locker_ring(&scene.stage, "ring", user, &scene.ring);
    scene.pid = locker_start(&scene.stage, "ring", &scene.ring, 0, user, then);
}

static void end(void)
{
    if (scene.pid != 0)
        ring_stage_end(scene.pid);
    ring_stage_release(&scene.ring);
    ring_stage_close(&scene.stage);
    close(scene.proc);
}

static const char *path_of(void)
{
    return ring_stage_path(&scene.stage, "ring");
}

/* Asks about a record of a file; whatever is refused leaves no descriptor, and what it was to fill in as it was. */
static int ask_file(const char *path, uint32_t record)
{
    const struct attested before = {.pid = 7, .process = 8, .pidfd = 9};
    size_t descriptors = count_descriptors();
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), result;

    assert_true(descriptor >= 0);
    scene.attested = before;
    result = attest_open(&scene.attested, scene.proc, descriptor, record);
    if (result != 0) {
        assert_int_equal(count_descriptors(), descriptors);
        assert_memory_equal(&scene.attested, &before, sizeof(before));
    }
    return result;
}

static int ask(uint32_t record)
{
    int result = ask_file(path_of(), record);

    if (result == 0)
        attest_close(&scene.attested);
    return result;
}

/* The pid that it is believed to be; 0: none. */
static uint32_t believed(void)
{
    int result = ask(0);

    assert_true(result == 0 || result == -ESRCH);
    return result == 0 ? scene.attested.pid : 0;
}

/* Who is believed -------------------------------------------------------------------------------------------------- */

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
    assert_int_equal(ask_file(path, 0), 0);
    assert_int_equal(scene.attested.pid, pid);
    assert_int_equal(scene.attested.process, 0);
    assert_int_equal(scene.attested.mapping.file.uid, geteuid());
    assert_true(attest_holds(&scene.attested, scene.proc));
    attest_close(&scene.attested);
    ring_stage_end(pid);
    assert_int_equal(ask_file(path, 0), -ESRCH);
    end();
    assert_int_equal(count_descriptors(), descriptors);
}

TEST(files_that_are_no_rings)
{
    begin(0, NULL);
    ring_stage_write(&scene.stage, "text", "no ring", 7);
    ring_stage_write(&scene.stage, "empty", "", 0);
    assert_int_equal(mkfifo(ring_stage_path(&scene.stage, "fifo"), 0600), 0);
    assert_int_equal(ask_file(ring_stage_path(&scene.stage, "text"), 0), -EINVAL);
    assert_int_equal(ask_file(ring_stage_path(&scene.stage, "empty"), 0), -EINVAL);
    assert_int_equal(ask_file(ring_stage_path(&scene.stage, "fifo"), 0), -EINVAL);
    assert_int_equal(ask_file(scene.stage.directory, 0), -EINVAL);
    assert_int_equal(ask_file("/dev/null", 0), -EINVAL);
    assert_int_equal(ask_file("/proc/self/stat", 0), -EINVAL);
    scene.ring.ring->file_bytes += RIP_PAGE_BYTES; /* more than there is */
    assert_int_equal(ask(0), -EINVAL);
    end();
}

/* The very bytes, the record and the lock of a process that would be believed, but on a disk. */
TEST(a_ring_on_a_disk)
{
    char path[] = "/var/tmp/test_attest-XXXXXX";
    int descriptor = mkstemp(path);
    struct locker locker = {path, RIP_LOCK_HOLDER_OFFSET, F_SETLK, 0};
    struct statfs system;
    pid_t pid;

    assert_true(descriptor >= 0 && fstatfs(descriptor, &system) == 0);
    begin(0, NULL);
    pid = ring_stage_start(locker_lock, NULL, &locker);
    locker_claim(&scene.ring, 0, pid);
    assert_int_equal(write(descriptor, scene.ring.bytes, scene.ring.size_bytes), (ssize_t)scene.ring.size_bytes);
    if (system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC)
        assert_int_equal(ask_file(path, 0), -EINVAL);
    ring_stage_end(pid);
    end();
    close(descriptor);
    unlink(path);
}

TEST(records)
{
    static const uint32_t others[] = {RIP_PROCESS_FREE,   RIP_PROCESS_EMBRYO,  RIP_PROCESS_CLAIMED,
                                      RIP_PROCESS_EXITED, RIP_PROCESS_EXECING, 77};

    begin(0, NULL);
    assert_int_equal(believed(), scene.pid);
    locker_claim(&scene.ring, 1, scene.pid); /* whose lock it does not hold */
    assert_int_equal(ask(1), -ESRCH);
    assert_int_equal(ask(2), -ESRCH); /* free */
    assert_int_equal(ask(RIP_PROCESS_MIN), -ESRCH);
    assert_int_equal(ask(UINT32_MAX), -ESRCH);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        ring_builder_process(&scene.ring, 0)->state = others[i];
        assert_int_equal(ask(0), -ESRCH);
    }
    ring_builder_process(&scene.ring, 0)->state = RIP_PROCESS_LIVE;
    assert_int_equal(believed(), scene.pid);
    end();
}

/* Claims ----------------------------------------------------------------------------------------------------------- */

TEST(another_start_time)
{
    struct rip_process *record;
    uint64_t started;

    begin(0, NULL);
    record = ring_builder_process(&scene.ring, 0);
    started = record->start_time_ticks;
    record->start_time_ticks = started + 1;
    assert_int_equal(ask(0), -ESRCH);
    record->start_time_ticks = 0; /* not known yet: when it entered the ring bounds it */
    record->entered_boot_ns = 0;
    assert_int_equal(ask(0), -ESRCH);
    record->entered_boot_ns = (started - 1) * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
    assert_int_equal(ask(0), -ESRCH); /* another process has had its pid before it */
    record->entered_boot_ns = (started + 1) * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
    assert_int_equal(believed(), scene.pid);
    record->start_time_ticks = started;
    assert_int_equal(believed(), scene.pid);
    end();
}

/* The holder of the lock and the process of the record are two. */
TEST(another_pid)
{
    struct rip_process *record;

    begin(0, NULL);
    record = ring_builder_process(&scene.ring, 0);
    record->pid = (uint32_t)getpid(); /* with the start time of the holder, so that the pid alone differs */
    assert_int_equal(ask(0), -ESRCH);
    record->start_time_ticks = ring_stage_start_time(getpid());
    assert_int_equal(ask(0), -ESRCH);
    record->pid = 0;
    assert_int_equal(ask(0), -ESRCH);
    end();
}

static void make_up_proc(pid_t pid, const char *numbers)
{
    locker_make_up_proc(&scene.stage, pid, numbers);
    close(scene.proc);
    scene.proc = open(ring_stage_path(&scene.stage, "proc"), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Its number in the record's namespace is what counts, and our own where that is the same. */
TEST(numbers_of_namespaces)
{
    struct rip_process *record;
    struct stat ours;
    char numbers[32];

    begin(0, NULL);
    record = ring_builder_process(&scene.ring, 0);
    record->pid_namespace++;
    assert_int_equal(believed(), scene.pid); /* its innermost one is ours */
    snprintf(numbers, sizeof(numbers), "NSpid:\t%d\t7\n", scene.pid);
    make_up_proc(scene.pid, numbers);
    assert_int_equal(ask(0), -ESRCH);
    record->pid = 7;
    assert_int_equal(believed(), scene.pid);
    make_up_proc(scene.pid, ""); /* an old kernel */
    assert_int_equal(believed(), scene.pid);
    assert_int_equal(stat(ring_stage_path(&scene.stage, "proc/self/ns/pid"), &ours), 0);
    record->pid_namespace = ours.st_ino;
    assert_int_equal(ask(0), -ESRCH);
    record->pid = (uint32_t)scene.pid;
    assert_int_equal(believed(), scene.pid);
    end();
}

/* Locks ------------------------------------------------------------------------------------------------------------ */

static void start_another(uint64_t offset, int command)
{
    char path[128];
    struct locker locker = {path, offset, command, 0};

    snprintf(path, sizeof(path), "%s", path_of());
    ring_stage_end(scene.pid);
    scene.pid = ring_stage_start(locker_lock, NULL, &locker);
    locker_claim(&scene.ring, 0, scene.pid);
}

TEST(locks_that_prove_nothing)
{
    begin(0, NULL);
    start_another(0, F_SETLK); /* none */
    assert_int_equal(ask(0), -ESRCH);
    start_another(RIP_LOCK_HOLDER_OFFSET, F_OFD_SETLK); /* names nobody */
    assert_int_equal(ask(0), -ESRCH);
    start_another(RIP_LOCK_LIFE_OFFSET, F_SETLK); /* another byte, another meaning */
    assert_int_equal(ask(0), -ESRCH);
    start_another(RIP_LOCK_HOLDER_OFFSET, F_SETLK);
    assert_int_equal(believed(), scene.pid);
    end();
}

/* One that shares its descriptors with the locker, which ends: the lock stays, and names who is no more. */
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
    shared->locker = pid; /* and is not waited for */
}

static void start_sharer(void)
{
    char path[128];
    struct locker locker = {path, RIP_LOCK_HOLDER_OFFSET, F_SETLK, 0};

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    snprintf(path, sizeof(path), "%s", path_of());
    ring_stage_end(scene.pid);
    scene.pid = ring_stage_start(share_and_end, NULL, &locker);
    WAIT_UNTIL(locker_has_ended(shared->locker));
    assert_true(locker_is_locked(path, RIP_LOCK_HOLDER_OFFSET));
    locker_claim(&scene.ring, 0, shared->locker);
}

TEST(a_lock_that_outlives_its_owner)
{
    begin(0, NULL);
    start_sharer();
    assert_int_equal(ask(0), -ESRCH);
    munmap(shared, sizeof(*shared));
    end();
}

/* Users ------------------------------------------------------------------------------------------------------------ */

static void skip_unless_root(void)
{
    if (is_root_of_all())
        return;
    print_message("skipped: takes root with CAP_SYS_PTRACE\n");
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

static bool has_users(pid_t pid)
{
    char path[64], line[256];
    unsigned real = 0, effective = 0, saved = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "Uid: %u %u %u", &real, &effective, &saved) == 3)
            break;
    fclose(file);
    return real == users[0] && effective == users[1] && saved == users[2];
}

/* Each of the three has to be the file's owner's. */
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
        {LOCKER_USER, LOCKER_USER, LOCKER_USER, LOCKER_USER, 0666, 0}, /* his own business */
        {0, 0, 0, LOCKER_USER, 0640, -ESRCH},                          /* root has no use for a ring of another's */
        {LOCKER_USER, LOCKER_USER, LOCKER_USER, 0, 0644, 0},
        {LOCKER_USER, LOCKER_USER, LOCKER_USER, 0, 0666, -ESRCH}, /* that is not root's word */
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
        WAIT_UNTIL(has_users(scene.pid));
        WAIT_UNTIL(ask(0) == rows[i].expected); /* until it is dumpable again */
        end();
    }
}

/* One that its own user may not trace, because it has asked for that. */
TEST(a_process_that_keeps_its_secrets)
{
    uid_t user = geteuid() == 0 ? LOCKER_USER : 0;

    begin(user, locker_hide);
    assert_int_equal(believed(), scene.pid);
    ring_stage_go(scene.pid);
    WAIT_UNTIL(locker_proc_owner(scene.pid) == 0);
    assert_int_equal(ask(0), -EACCES);
    end();
}

static void execute_with_the_lock(void *context)
{
    fcntl(LOCKER_DESCRIPTOR, F_SETFD, 0);
    locker_execute(context);
}

static bool has_executed(pid_t pid)
{
    char path[64], name[16] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    file = fopen(path, "re");
    if (file == NULL || fgets(name, sizeof(name), file) == NULL)
        return false;
    fclose(file);
    return strcmp(name, "sleep\n") == 0;
}

/* Both locks can be had by who has a descriptor, and the uids are root's: the program that runs now is not traced. */
TEST(locks_and_users_survive_exec)
{
    char path[128];
    struct locker life = {path, RIP_LOCK_LIFE_OFFSET, F_OFD_SETLK, 0};
    pid_t sibling;

    skip_unless_root();
    begin(0, execute_with_the_lock);
    snprintf(path, sizeof(path), "%s", path_of());
    assert_int_equal(ask_file(path, 0), 0);
    ring_stage_go(scene.pid);
    WAIT_UNTIL(has_executed(scene.pid));
    assert_true(locker_is_locked(path, RIP_LOCK_HOLDER_OFFSET));
    assert_false(attest_holds(&scene.attested, scene.proc));
    sibling = ring_stage_start(locker_lock, NULL, &life);
    assert_false(attest_holds(&scene.attested, scene.proc));
    attest_close(&scene.attested);
    assert_int_equal(ask(0), -EACCES);
    ring_stage_end(sibling);
    end();
}

static void drop_users(void *context)
{
    (void)context;
    if (setresuid(LOCKER_USER, LOCKER_USER, LOCKER_USER) != 0)
        abort();
}

/* /proc says that this user has executed the program. */
static void put_auxv(uid_t user, uint64_t secure)
{
    const Elf64_auxv_t vector[] = {{AT_SECURE, {secure}}, {AT_UID, {user}}, {AT_EUID, {user}}, {AT_NULL, {0}}};
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/auxv", scene.pid);
    ring_stage_write(&scene.stage, name, vector, sizeof(vector));
}

/*
 * A process that root started and that has dropped to the user of its ring, who may not read its /proc: it is attested
 * only if root executed it, without a gain of privilege, and the ring is mapped in it.
 */
TEST(a_process_that_dropped_its_user)
{
    char name[64], users_text[64];

    skip_unless_root();
    begin(0, drop_users);
    assert_int_equal(chown(path_of(), LOCKER_USER, LOCKER_USER), 0);
    ring_stage_go(scene.pid);
    WAIT_UNTIL(ask(0) == 0);
    assert_int_equal(locker_proc_owner(scene.pid), 0);
    make_up_proc(scene.pid, "");
    snprintf(name, sizeof(name), "proc/%d/status", scene.pid);
    snprintf(users_text, sizeof(users_text), "Uid:\t%u\t%u\t%u\t0\n", LOCKER_USER, LOCKER_USER, LOCKER_USER);
    ring_stage_write(&scene.stage, name, users_text, strlen(users_text));
    put_auxv(0, 0);
    assert_int_equal(ask(0), 0);
    put_auxv(LOCKER_USER, 0);
    assert_int_equal(ask(0), -EACCES);
    put_auxv(0, 1);
    assert_int_equal(ask(0), -EACCES);
    end();
}

/* Between the two answers ------------------------------------------------------------------------------------------ */

static void begin_held(uid_t user, void (*then)(void *context))
{
    begin(user, then);
    assert_int_equal(ask_file(path_of(), 0), 0);
    assert_true(attest_holds(&scene.attested, scene.proc));
    assert_true(attest_holds(&scene.attested, scene.proc)); /* a query changes nothing */
}

static void end_held(void)
{
    attest_close(&scene.attested);
    end();
}

TEST(killed)
{
    begin_held(0, NULL);
    ring_stage_end(scene.pid);
    scene.pid = 0;
    assert_false(attest_holds(&scene.attested, scene.proc));
    end_held();
}

TEST(lock_lost)
{
    begin_held(0, locker_lose_lock);
    ring_stage_go(scene.pid);
    WAIT_UNTIL(!locker_is_locked(path_of(), RIP_LOCK_HOLDER_OFFSET));
    assert_false(attest_holds(&scene.attested, scene.proc));
    end_held();
}

TEST(executed_another_program)
{
    begin_held(0, locker_execute);
    ring_stage_go(scene.pid);
    WAIT_UNTIL(!locker_is_locked(path_of(), RIP_LOCK_HOLDER_OFFSET));
    assert_false(attest_holds(&scene.attested, scene.proc));
    end_held();
}

/* The process is all that it was, but the lock has become somebody else's. */
TEST(lock_passed_on)
{
    char path[128];
    struct locker locker = {path, RIP_LOCK_HOLDER_OFFSET, F_SETLK, 0};
    pid_t other;

    begin_held(0, locker_lose_lock);
    snprintf(path, sizeof(path), "%s", path_of());
    ring_stage_go(scene.pid);
    WAIT_UNTIL(!locker_is_locked(path, RIP_LOCK_HOLDER_OFFSET));
    other = ring_stage_start(locker_lock, NULL, &locker);
    assert_false(attest_holds(&scene.attested, scene.proc));
    ring_stage_end(other);
    end_held();
}

TEST(record_written_anew)
{
    begin_held(0, NULL);
    ring_builder_process(&scene.ring, 0)->start_time_ticks++;
    assert_false(attest_holds(&scene.attested, scene.proc));
    ring_builder_process(&scene.ring, 0)->start_time_ticks--;
    ring_builder_process(&scene.ring, 0)->state = RIP_PROCESS_EXITED;
    assert_false(attest_holds(&scene.attested, scene.proc));
    end_held();
}

TEST(became_another_user)
{
    skip_unless_root();
    users[0] = users[1] = users[2] = LOCKER_STRANGER;
    begin(0, take_users);
    assert_int_equal(ask_file(path_of(), 0), 0);
    scene.attested.mapping.file.uid = LOCKER_USER; /* as if it had been of that user */
    ring_stage_go(scene.pid);
    WAIT_UNTIL(has_users(scene.pid));
    assert_false(attest_holds(&scene.attested, scene.proc));
    end_held();
}

TEST(began_to_keep_its_secrets)
{
    begin_held(geteuid() == 0 ? LOCKER_USER : 0, locker_hide);
    ring_stage_go(scene.pid);
    WAIT_UNTIL(locker_proc_owner(scene.pid) == 0);
    assert_false(attest_holds(&scene.attested, scene.proc));
    end_held();
}

TEST(ring_cut)
{
    begin_held(0, NULL);
    assert_int_equal(truncate(path_of(), 0), 0);
    assert_false(attest_holds(&scene.attested, scene.proc));
    end_held();
}

/* /proc says that the locker, which is gone, maps the ring; its LIFE lock is ours. */
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
    ring_stage_write(&scene.stage, name, text, strlen(text));
}

/* A number that is used again looks the same in /proc, and where descriptors are shared the lock still names it: only
   the hold on the process shows the difference. The /proc is a made-up one, in which the process lives on. */
TEST(the_hold_alone_decides)
{
    begin(0, NULL);
    start_sharer();
    make_up_proc(shared->locker, "");
    put_maps();
    assert_int_equal(ask_file(path_of(), 0), 0);
    assert_false(attest_holds(&scene.attested, scene.proc));
    munmap(shared, sizeof(*shared));
    end_held();
}
