/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry_process.c - the processes of a ring, with real processes and locks: ripd/ring/registry_process.c. */
#include "unit/registry_test.h"

#include <dlfcn.h>
#include <librip.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "os/clock.h"

#define FIRST_PID_NAMESPACE UINT64_C(4026531836) /* PROC_PID_INIT_INO of Linux */

static struct ring_builder claimed; /* "ring", if the test made it by claim() */

/* Shared with the children of a test. */
static struct shared {
    char path[128]; /* of "ring" */
    _Atomic pid_t pid;
    _Atomic pid_t tid;
    _Atomic uint64_t address; /* of code in a late module */
} * shared;

static void open_ring(void *context)
{
    (void)context;
    if (!rip_create_ring(shared->path, 100))
        abort();
    rip_init(1, "one", 3, 0, 0);
    for (int i = 0; i < 10; i++)
        rip_snap();
}

static pid_t start(void (*body)(void *context))
{
    return ring_stage_start(body, NULL, NULL);
}

/* Ends the work of a child. It asks the kernel for its pid: fork handlers of librip may not have run. */
static _Noreturn void report_and_stay(void)
{
    shared->pid = (pid_t)syscall(SYS_getpid);
    for (;;)
        pause();
}

static void await_report(void)
{
    while (shared->pid == 0)
        usleep(1000);
}

static int set_up(void **state)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    scene_open(state);
    strcpy(shared->path, path_of("ring"));
    return 0;
}

static int tear_down(void **state)
{
    if (claimed.bytes != NULL)
        ring_stage_release(&claimed);
    claimed = (struct ring_builder){0};
    munmap(shared, sizeof(*shared));
    return scene_close(state);
}

#define PLAY(title) TEST(title, set_up, tear_down)

static struct ring_process *process_at(uint32_t index)
{
    struct ring *ring = ring_named("ring");

    assert_non_null(ring);
    assert_true(index < ring->process_count);
    return &ring->processes[index];
}

static enum process_verdict verdict_of(uint32_t index)
{
    const enum process_verdict verdict = process_at(index)->verdict;

    assert_int_equal(ring_named("ring")->conditions[index], verdict == PROCESS_DEAD);
    return verdict;
}

static void refresh_and_expect(enum process_verdict verdict)
{
    scene_refresh();
    assert_int_equal(verdict_of(0), verdict);
}

static bool ring_is_dead(void)
{
    size_t count;
    struct ring_facts *facts = facts_of_rings(&count);
    bool dead;

    assert_int_equal(count, 1);
    dead = facts->dead;
    facts_free(facts, count);
    return dead;
}

/* The process is missing on the next scan and dead on the one after that. One notice reports it. */
static void assert_dies(void)
{
    refresh_and_expect(PROCESS_MISSING);
    for (int i = 0; i < 2; i++) {
        refresh_and_expect(PROCESS_DEAD);
        assert_int_equal(scene.noticed[NOTICE_PROCESS_DEAD], 1);
    }
    assert_true(ring_is_dead());
}

/* Real processes --------------------------------------------------------------------------------------------------- */

PLAY(attested_then_killed)
{
    pid_t pid = start(open_ring);

    for (int i = 0; i < 8; i++) { /* /proc is read several times */
        refresh_and_expect(PROCESS_ATTESTED);
        assert_int_equal(process_at(0)->pid, pid);
    }
    assert_false(ring_is_dead());
    ring_stage_end(pid);
    assert_dies();
    assert_int_equal(scene.noticed[NOTICE_UNATTESTED], 0);
}

PLAY(killed_but_not_waited_for)
{
    pid_t pid = start(open_ring);
    siginfo_t info;

    scene_refresh();
    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT); /* it stays a zombie */
    assert_dies();
    ring_stage_end(pid);
}

/* The new program stops itself: by then the old address space and its locks are gone. Its comm changes too early. */
static void exec_shell(void *context)
{
    (void)context;
    execl("/bin/sh", "sh", "-c", "kill -STOP $$; exec sleep 60", (char *)NULL);
    abort();
}

PLAY(exec_is_the_end)
{
    pid_t pid = ring_stage_start(open_ring, exec_shell, NULL);
    int status = 0;

    refresh_and_expect(PROCESS_ATTESTED);
    ring_stage_go(pid);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    kill(pid, SIGCONT);
    assert_dies();
    ring_stage_end(pid);
}

static void open_ring_and_close_all(void *context)
{
    open_ring(context);
    close_range(3, ~0u, 0);
}

PLAY(a_lost_lock_is_reported_once)
{
    pid_t pid = start(open_ring_and_close_all);
    char reason[32];

    for (int i = 0; i < 8; i++)
        refresh_and_expect(PROCESS_ALIVE);
    assert_int_equal(scene.noticed[NOTICE_UNATTESTED], 1);
    snprintf(reason, sizeof(reason), "pid %d", pid);
    assert_string_equal(scene.last_reason, reason);
    ring_stage_end(pid);
    assert_dies();
}

/* fork ------------------------------------------------------------------------------------------------------------- */

static void open_ring_and_leave_a_child(void *context)
{
    open_ring(context);
    if (fork() == 0) {
        alarm(60);
        report_and_stay();
    }
    await_report();
}

PLAY(the_parent_ends_before_its_child_has_registered)
{
    pid_t parent = start(open_ring_and_leave_a_child);

    scene_refresh();
    ring_stage_end(parent);
    unlink(shared->path);
    rescan_times(5);
    assert_int_equal(verdict_of(0), PROCESS_DEAD);
    assert_false(process_at(1)->present);
    assert_true(ring_named("ring")->unlinked);
    assert_false(ring_is_dead()); /* the child may still register */
    kill(shared->pid, SIGKILL);
    for (int i = 0; i < 1000 && ring_count() > 0; i++) {
        usleep(1000);
        scene_refresh();
    }
    assert_int_equal(ring_count(), 0);
    assert_int_equal(scene.noticed[NOTICE_RING_GONE], 1);
}

static void open_ring_and_register_a_child(void *context)
{
    open_ring(context);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        rip_init(2, "two", 3, 0, 0);
        report_and_stay();
    }
    await_report();
}

PLAY(a_child_is_a_process_of_its_own)
{
    pid_t pid = start(open_ring_and_register_a_child);

    refresh_and_expect(PROCESS_ATTESTED);
    assert_int_equal(verdict_of(1), PROCESS_ATTESTED);
    assert_int_equal(process_at(1)->pid, shared->pid);
    ring_stage_end(pid);
}

/* False claims ----------------------------------------------------------------------------------------------------- */

/* Locks the HOLDER byte of a record of another process, and its LIFE byte if that is free. */
static void lock_foreign_byte(void *context)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_HOLDER_OFFSET, .l_len = 1};
    struct flock life = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_LIFE_OFFSET, .l_len = 1};
    int descriptor = open(shared->path, O_RDWR | O_CLOEXEC);

    (void)context;
    (void)fcntl(open(shared->path, O_RDWR | O_CLOEXEC), F_OFD_SETLK, &life);
    if (descriptor < 0 || fcntl(descriptor, F_SETLK, &lock) != 0)
        abort();
}

PLAY(a_foreign_lock_changes_no_verdict)
{
    pid_t pid = start(open_ring_and_close_all), locker;

    refresh_and_expect(PROCESS_ALIVE);
    locker = start(lock_foreign_byte);
    for (int i = 0; i < 8; i++) {
        refresh_and_expect(PROCESS_ALIVE);
        assert_int_equal(process_at(0)->pid, pid);
    }
    ring_stage_end(pid);
    assert_dies();
    ring_stage_end(locker);
    refresh_and_expect(PROCESS_DEAD);
}

/* Leaves a process that shares the descriptors and so the lock. */
static void open_ring_and_share_descriptors(void *context)
{
    open_ring(context);
    if (syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
        alarm(60);
        report_and_stay();
    }
    await_report();
}

PLAY(a_lock_that_outlives_its_owner)
{
    pid_t pid = start(open_ring_and_share_descriptors);

    refresh_and_expect(PROCESS_ATTESTED);
    ring_stage_end(pid);
    assert_dies();
    /* The kernel still reports the number of the process that is gone; in a nested pid namespace it reports none. */
    assert_int_equal(process_at(0)->holder_pid,
                     ring_stage_pid_namespace() == FIRST_PID_NAMESPACE ? (uint32_t)pid : UINT32_MAX);
    kill(shared->pid, SIGKILL);
}

/* With a fake /proc ------------------------------------------------------------------------------------------------ */

static void put_process(uint32_t pid, uint64_t start_time_ticks, uint32_t uid)
{
    char name[64], text[256];

    snprintf(text, sizeof(text), "%u (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0", pid,
             (unsigned long long)start_time_ticks);
    ring_stage_put_stat(&scene.stage, pid, text);
    snprintf(name, sizeof(name), "proc/%u/status", pid);
    snprintf(text, sizeof(text), "Name:\tx\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t%u\n", uid, uid, uid, uid, pid);
    ring_stage_put(&scene.stage, name, text);
}

static void refresh_with_fake_proc(void)
{
    scene_watch("", NULL, path_of("proc"));
    scene_refresh();
}

/* Makes a ring with a record that claims a process with start time 1000. */
static void claim(uint32_t pid, uint32_t flags)
{
    const struct ring_geometry geometry = {.slot_capacity = 64};

    ring_stage_build(&scene.stage, "ring", &geometry, &claimed);
    ring_builder_add_process(&claimed, 0, pid, 1000, "claimed");
    ring_builder_process(&claimed, 0)->flags = flags;
    ring_builder_process(&claimed, 0)->pid_namespace = 0;
}

PLAY(a_reused_pid)
{
    claim(500, 0);
    put_process(500, 1000, getuid());
    refresh_with_fake_proc();
    assert_int_equal(verdict_of(0), PROCESS_ALIVE);
    assert_int_equal(scene.noticed[NOTICE_UNATTESTED], 0); /* it claimed no lock */
    put_process(500, 1001, getuid());
    assert_dies();
}

/* Origin ----------------------------------------------------------------------------------------------------------- */

static void put_origin(uint32_t pid, const char *command_line, const char *groups)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%u/cmdline", pid);
    ring_stage_write(&scene.stage, name, command_line, strlen(command_line) + 1);
    snprintf(name, sizeof(name), "proc/%u/cgroup", pid);
    ring_stage_put(&scene.stage, name, groups);
    snprintf(name, sizeof(name), "proc/%u/task/%u/exe", pid, pid);
    unlink(path_of(name));
    assert_int_equal(symlink("/opt/checkout", path_of(name)), 0);
}

/* The process 500 with an origin. */
static void put_checkout(void)
{
    put_process(500, 1000, getuid());
    put_origin(500, "checkout", "0::/lxc/web1/system.slice/checkout.service\n");
}

static struct process_facts *facts_of_first(void)
{
    struct process_facts *facts = registry_process_facts(scene.registry, ring_named("ring"), 0);

    assert_non_null(facts);
    return facts;
}

static void assert_origin(const char *command_line)
{
    struct process_facts *facts = facts_of_first();

    assert_non_null(facts->origin);
    assert_int_equal(facts->origin->uid, getuid());
    assert_string_equal(facts->origin->command_line, command_line);
    assert_string_equal(facts->origin->unit, "checkout.service");
    assert_string_equal(facts->origin->container, "web1");
    assert_null(facts->origin->program); /* shown for attested processes only */
    process_facts_unref(facts);
}

static void assert_no_origin(void)
{
    struct process_facts *facts = facts_of_first();

    assert_null(facts->origin);
    process_facts_unref(facts);
}

PLAY(the_origin_of_a_process)
{
    claim(500, 0);
    put_checkout();
    refresh_with_fake_proc();
    assert_origin("checkout");
    put_origin(500, "another", "0::/\n"); /* not read again */
    scene.now_mono_ns += REGISTRY_RECHECK_NS;
    scene_refresh();
    assert_origin("checkout");
    put_process(500, 1001, getuid()); /* the pid was reused */
    assert_dies();
    assert_origin("checkout");
}

/* An origin that cannot be read at first is added to the facts later. */
PLAY(an_origin_that_comes_late)
{
    claim(500, 0);
    ring_stage_put_stat(&scene.stage, 500, "500 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1000 0");
    refresh_with_fake_proc(); /* without status its user is unknown */
    assert_no_origin();
    put_checkout();
    scene_refresh();
    assert_origin("checkout");
}

/* A ring of root may name any process, but discloses nothing about a program whose uids differ from each other. */
PLAY(nothing_of_a_set_user_id_program)
{
    const char *const status = "Name:\tx\nUid:\t1234\t0\t0\t0\nNSpid:\t500\n";

    claim(500, 0);
    put_process(500, 1000, getuid());
    put_origin(500, "secret", "0::/system.slice/secret.service\n");
    ring_stage_put(&scene.stage, "proc/500/status", status);
    refresh_with_fake_proc();
    assert_int_equal(verdict_of(0), getuid() == 0 ? PROCESS_ALIVE : PROCESS_UNKNOWN);
    assert_no_origin();
}

PLAY(nothing_of_another_users_process)
{
    struct process_facts *facts;

    need_root();
    claim(500, 0);
    give_file("ring", 1234);
    put_process(500, 1000, 0);
    put_origin(500, "secret", "0::/system.slice/secret.service\n");
    refresh_with_fake_proc();
    facts = facts_of_first();
    assert_null(facts->origin);
    assert_int_equal(facts->pid, 0);
    process_facts_unref(facts);
}

/* Without any lock only the state in /proc shows the end. */
PLAY(a_zombie_without_locks)
{
    pid_t pid = start(NULL);
    siginfo_t info;

    claim((uint32_t)pid, 0);
    ring_builder_process(&claimed, 0)->start_time_ticks = ring_stage_start_time(pid);
    refresh_and_expect(PROCESS_ALIVE);
    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    assert_dies();
    ring_stage_end(pid);
}

PLAY(a_reused_pid_under_a_lock)
{
    pid_t locker;

    claim(0, RIP_PROCESS_HAS_HOLDER_LOCK);
    locker = start(lock_foreign_byte);
    ring_builder_process(&claimed, 0)->pid = (uint32_t)locker;
    put_process((uint32_t)locker, 1000, getuid());
    refresh_with_fake_proc();
    assert_int_equal(verdict_of(0), PROCESS_ATTESTED);
    assert_true(registry_process_holds(scene.registry, ring_named("ring"), 0));
    put_process((uint32_t)locker, 2000, getuid());
    assert_false(registry_process_holds(scene.registry, ring_named("ring"), 0)); /* a query reads it now */
    scene.now_mono_ns += REGISTRY_RECHECK_NS;                                    /* the scan reads it in time */
    assert_dies();
    ring_stage_end(locker);
}

PLAY(another_users_process_is_not_attested)
{
    pid_t locker;

    need_root();
    give_file(".", 1234);
    claim(0, RIP_PROCESS_HAS_HOLDER_LOCK);
    give_file("ring", 1234);
    locker = start(lock_foreign_byte);
    ring_builder_process(&claimed, 0)->pid = (uint32_t)locker;
    put_process((uint32_t)locker, 1000, 0); /* as after exec of a set-user-id program */
    refresh_with_fake_proc();
    assert_int_not_equal(verdict_of(0), PROCESS_ATTESTED);
    put_process((uint32_t)locker, 1000, 1234);
    scene.now_mono_ns += REGISTRY_RECHECK_NS;
    refresh_and_expect(PROCESS_ATTESTED);
    ring_stage_end(locker);
}

PLAY(malformed_records)
{
    claim(0, 0xffffffff);
    ring_builder_process(&claimed, 0)->module_count = UINT32_MAX;
    ring_builder_process(&claimed, 0)->start_time_ticks = UINT64_MAX;
    ring_builder_process(&claimed, 0)->pid = UINT32_MAX;
    claimed.ring->process_high_water = UINT32_MAX;
    for (uint32_t i = 1; i < RIP_PROCESS_MIN; i++) {
        ring_builder_process(&claimed, i)->state = i;
        ring_builder_process(&claimed, i)->pid = i;
        ring_builder_process(&claimed, i)->entered_boot_ns = UINT64_MAX - i;
    }
    for (int i = 0; i < 5; i++) {
        scene_refresh();
        assert_int_equal(ring_named("ring")->process_count, RIP_PROCESS_MIN);
        ring_is_dead(); /* builds the facts of all processes */
        for (uint32_t process = 0; process < 70; process++)
            process_facts_unref(registry_process_facts(scene.registry, ring_named("ring"), process));
    }
}

/* Facts ------------------------------------------------------------------------------------------------------------ */

PLAY(facts_of_a_process)
{
    const uint64_t now_ns = clock_wall_ns();
    const pid_t pid = start(open_ring);
    struct process_facts *facts, *again;
    char exe[256] = "";

    assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
    scene_refresh();
    assert_true(process_at(0)->wants_modules); /* not queried yet */
    facts = facts_of_first();
    assert_int_equal(facts->pid, pid);
    assert_true(facts->attested);
    assert_false(facts->dead);
    assert_string_equal(facts->exe, exe);
    assert_string_equal(facts->origin->program, exe);
    assert_in_range(facts->started_wall_ns, now_ns - UINT64_C(30000000000), now_ns + UINT64_C(1000000000));
    assert_true(facts->module_count > 1);
    assert_non_null(facts->modules[0]->name);
    scene_refresh();
    again = facts_of_first();
    assert_ptr_equal(again, facts); /* shared while nothing changes */
    process_facts_unref(again);
    ring_stage_end(pid);
    scene_refresh();
    scene_refresh();
    again = facts_of_first();
    assert_ptr_not_equal(again, facts);
    assert_true(again->dead);
    assert_false(again->attested);
    assert_int_equal(again->pid, pid); /* as attested before */
    process_facts_unref(again);
    assert_int_equal(facts->pid, pid); /* the reference is still valid */
    process_facts_unref(facts);
}

/* Loads a library that the record does not name until rip_refresh_modules(). */
static void load_late(void *context)
{
    void *library;

    open_ring(context);
    library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
    shared->address = library != NULL ? (uintptr_t)dlsym(library, "__ctype_get_mb_cur_max") : 0;
}

static void name_late(void *context)
{
    (void)context;
    rip_refresh_modules();
}

static const struct module_facts *late_module(struct process_facts **ret_facts)
{
    *ret_facts = facts_of_first();
    return process_facts_module(*ret_facts, shared->address);
}

/* The module is found in the kernel's map first, and replaced when the record names it. */
PLAY(a_late_module)
{
    pid_t pid = ring_stage_start(load_late, name_late, NULL);
    const struct module_facts *module = NULL;
    struct process_facts *facts;

    if (shared->address == 0) {
        ring_stage_end(pid);
        print_message("skipped: this C library comes without libBrokenLocale\n");
        skip();
    }
    scene_refresh();
    assert_null(late_module(&facts));
    process_facts_unref(facts);
    assert_true(registry_learn_module(scene.registry, ring_named("ring"), 0, shared->address));
    module = late_module(&facts);
    assert_non_null(module);
    assert_string_equal(module->name, "libBrokenLocale.so.1");
    assert_string_equal(module->build_id, ""); /* the map has no build id */
    process_facts_unref(facts);
    ring_stage_go(pid);
    for (int i = 0; i < 3000; i++) {
        scene_refresh();
        module = late_module(&facts);
        if (module != NULL && module->build_id[0] != '\0')
            break;
        process_facts_unref(facts);
        facts = NULL;
        usleep(10000);
    }
    assert_non_null(facts);
    assert_string_equal(module->name, "libBrokenLocale.so.1");
    process_facts_unref(facts);
    ring_stage_end(pid);
}

/* Pid namespaces --------------------------------------------------------------------------------------------------- */

static void *live_on(void *context)
{
    (void)context;
    shared->tid = (pid_t)syscall(SYS_gettid);
    for (;;)
        pause();
    return NULL;
}

/* Starts a process that is pid 1 of its own namespace. */
static void open_ring_in_a_namespace(void *context)
{
    if (unshare(CLONE_NEWPID) != 0) {
        shared->pid = -1;
        return;
    }
    if (fork() == 0) {
        pthread_t thread;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        open_ring(context);
        if (pthread_create(&thread, NULL, live_on, NULL) != 0)
            abort();
        while (shared->tid == 0)
            usleep(1000);
        report_and_stay();
    }
    await_report();
}

static int find_thread(pid_t tid, uint64_t deadline_mono_ns, uint32_t *ret_tid)
{
    return registry_find_thread(scene.registry, ring_named("ring"), 0, (uint32_t)tid, deadline_mono_ns, ret_tid);
}

/* A holder is found by its tid inside the namespace, but only if the record names a namespace. */
static void check_holder_inside(uint32_t tid)
{
    struct ring_process *process = process_at(0);
    struct ring *ring = ring_named("ring");
    const uint64_t pid_namespace = process->claim.pid_namespace;
    uint32_t serial = 0, found = 1;

    assert_int_equal(registry_find_holder(scene.registry, ring, 0, tid, UINT64_MAX, &serial, &found), 0);
    assert_int_equal(serial, ring->serial);
    assert_int_equal(found, 0);
    assert_int_equal(registry_find_holder(scene.registry, ring, 0, 4000000, UINT64_MAX, &serial, &found), -ESRCH);
    process->claim.pid_namespace = 0;
    assert_int_equal(registry_find_holder(scene.registry, ring, 0, tid, UINT64_MAX, &serial, &found), -ESRCH);
    process->claim.pid_namespace = pid_namespace;
}

PLAY(another_pid_namespace)
{
    pid_t pid = start(open_ring_in_a_namespace);
    uint64_t deadline_ns = clock_mono_ns() + UINT64_C(1000000000);
    const struct ring_process *process;
    uint32_t leader, thread, none;

    if (shared->pid < 0) {
        ring_stage_end(pid);
        print_message("skipped: no pid namespaces here\n");
        skip();
    }
    scene_refresh();
    assert_int_equal(shared->pid, 1);
    process = process_at(0);
    assert_int_equal(process->claim.pid, 1);
    if (ring_stage_pid_namespace() == process->claim.pid_namespace) {
        ring_stage_end(pid);
        print_message("skipped: /proc is of another namespace than the child\n");
        skip();
    }
    assert_int_equal(verdict_of(0), PROCESS_ATTESTED);
    assert_int_not_equal(process->pid, 1);
    assert_int_equal(find_thread(1, deadline_ns, &leader), 0);
    assert_int_equal(leader, process->pid);
    assert_int_equal(find_thread(shared->tid, deadline_ns, &thread), 0);
    assert_int_not_equal(thread, shared->tid);
    assert_int_equal(find_thread(4000000, deadline_ns, &none), -ESRCH);
    check_holder_inside((uint32_t)shared->tid);
    registry_forget_thread(ring_named("ring"), 0, thread);
    usleep(600000); /* until the threads may be listed again */
    assert_int_equal(find_thread(shared->tid, 0, &none), -EAGAIN);
    assert_int_equal(find_thread(shared->tid, UINT64_MAX, &none), 0);
    assert_int_equal(none, thread);
    ring_stage_end(pid);
    for (int i = 0; i < 1000 && verdict_of(0) != PROCESS_DEAD; i++) {
        usleep(1000);
        scene_refresh();
    }
    assert_int_equal(verdict_of(0), PROCESS_DEAD);
}
