/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry_process.c - who lives in a ring, with real processes and real locks: ripd/ring/registry_process.c. */
#include "unit/registry_test.h"

#include <dlfcn.h>
#include <librip.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "os/clock.h"

#define FIRST_PID_NAMESPACE UINT64_C(4026531836) /* PROC_PID_INIT_INO of Linux */

/* Where children leave word for the test. */
struct word {
    char path[128];
    _Atomic pid_t pid;
    _Atomic pid_t tid;
    _Atomic uint64_t address; /* of code in a late module */
};
static struct word *word;

static void open_ring(void *context)
{
    (void)context;
    if (!rip_create_ring(word->path, 100))
        abort();
    rip_init(1, "one", 3, 0, 0);
    for (int i = 0; i < 10; i++)
        rip_snap();
}

/* The end of a child's part; the system's number, since librip's fork handlers may not have run. */
static _Noreturn void say_and_stay(void)
{
    word->pid = (pid_t)syscall(SYS_getpid);
    for (;;)
        pause();
}

static void await_word(void)
{
    while (word->pid == 0)
        usleep(1000);
}

static int set_up(void **state)
{
    word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(word, MAP_FAILED);
    scene_open(state);
    strcpy(word->path, ring_stage_path(&((struct scene *)*state)->stage, "ring"));
    return 0;
}

static int tear_down(void **state)
{
    munmap(word, sizeof(*word));
    return scene_close(state);
}

static enum process_verdict verdict_of(struct scene *scene, uint32_t index)
{
    struct ring *ring = ring_named(scene, "ring");

    assert_non_null(ring);
    assert_true(index < ring->process_count);
    assert_int_equal(ring->conditions[index], ring->processes[index].verdict == PROCESS_DEAD);
    return ring->processes[index].verdict;
}

static bool ring_is_dead(struct scene *scene)
{
    struct ring_facts *facts;
    size_t count;
    bool dead;

    assert_int_equal(registry_facts(scene->registry, &facts, &count), 0);
    assert_int_equal(count, 1);
    dead = facts[0].dead;
    ring_facts_done(&facts[0]);
    free(facts);
    return dead;
}

static void assert_dies(struct scene *scene)
{
    scene_refresh(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_MISSING);
    scene_refresh(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_DEAD);
    assert_int_equal(scene->noticed[NOTICE_PROCESS_DEAD], 1);
    assert_true(ring_is_dead(scene));
    scene_refresh(scene);
    assert_int_equal(scene->noticed[NOTICE_PROCESS_DEAD], 1);
}

/* Real processes --------------------------------------------------------------------------------------------------- */

TEST(attested_then_killed, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(open_ring, NULL, NULL);

    for (int i = 0; i < 8; i++) { /* over more than one look at /proc */
        scene_refresh(scene);
        assert_int_equal(verdict_of(scene, 0), PROCESS_ATTESTED);
        assert_int_equal(ring_named(scene, "ring")->processes[0].pid, pid);
    }
    assert_false(ring_is_dead(scene));
    ring_stage_end(pid);
    assert_dies(scene);
    assert_int_equal(scene->noticed[NOTICE_UNATTESTED], 0);
}

TEST(killed_but_not_waited_for, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(open_ring, NULL, NULL);
    siginfo_t info;

    scene_refresh(scene);
    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT); /* a zombie */
    assert_dies(scene);
    ring_stage_end(pid);
}

/* The new program stops itself: by then the old address space and its locks are gone, which its name says too early. */
static void exec_shell(void *context)
{
    (void)context;
    execl("/bin/sh", "sh", "-c", "kill -STOP $$; exec sleep 60", (char *)NULL);
    abort();
}

TEST(exec_ends_it, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(open_ring, exec_shell, NULL);
    int status = 0;

    scene_refresh(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_ATTESTED);
    ring_stage_go(pid);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    kill(pid, SIGCONT);
    assert_dies(scene);
    ring_stage_end(pid);
}

static void open_ring_and_close_all(void *context)
{
    open_ring(context);
    close_range(3, ~0u, 0);
}

TEST(a_lost_lock_is_one_warning, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(open_ring_and_close_all, NULL, NULL);
    char reason[32];

    for (int i = 0; i < 8; i++) {
        scene_refresh(scene);
        assert_int_equal(verdict_of(scene, 0), PROCESS_ALIVE);
    }
    assert_int_equal(scene->noticed[NOTICE_UNATTESTED], 1);
    snprintf(reason, sizeof(reason), "pid %d", pid);
    assert_string_equal(scene->last_reason, reason);
    ring_stage_end(pid);
    assert_dies(scene);
}

/* fork ------------------------------------------------------------------------------------------------------------- */

static void open_ring_and_leave_a_child(void *context)
{
    open_ring(context);
    if (fork() == 0) {
        alarm(60);
        say_and_stay();
    }
    await_word();
}

TEST(the_parent_ends_before_its_child_has_registered, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t parent = ring_stage_start(open_ring_and_leave_a_child, NULL, NULL);

    scene_refresh(scene);
    ring_stage_end(parent);
    unlink(word->path);
    for (int i = 0; i < 5; i++)
        scene_rescan(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_DEAD);
    assert_false(ring_named(scene, "ring")->processes[1].present);
    assert_true(ring_named(scene, "ring")->unlinked);
    assert_false(ring_is_dead(scene)); /* it may yet register */
    kill(word->pid, SIGKILL);
    for (int i = 0; i < 1000 && ring_count(scene) > 0; i++) {
        usleep(1000);
        scene_refresh(scene);
    }
    assert_int_equal(ring_count(scene), 0);
    assert_int_equal(scene->noticed[NOTICE_RING_GONE], 1);
}

static void open_ring_and_register_a_child(void *context)
{
    open_ring(context);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        rip_init(2, "two", 3, 0, 0);
        say_and_stay();
    }
    await_word();
}

TEST(a_child_is_a_process_of_its_own, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(open_ring_and_register_a_child, NULL, NULL);

    scene_refresh(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_ATTESTED);
    assert_int_equal(verdict_of(scene, 1), PROCESS_ATTESTED);
    assert_int_equal(ring_named(scene, "ring")->processes[1].pid, word->pid);
    ring_stage_end(pid);
}

/* Lies ------------------------------------------------------------------------------------------------------------- */

/* Holds the bytes of a record that is not its own, of LIFE unless that is taken. */
static void lock_foreign_byte(void *context)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_HOLDER_OFFSET, .l_len = 1};
    struct flock life = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_LIFE_OFFSET, .l_len = 1};
    int descriptor = open(word->path, O_RDWR | O_CLOEXEC);

    (void)context;
    (void)fcntl(open(word->path, O_RDWR | O_CLOEXEC), F_OFD_SETLK, &life);
    if (descriptor < 0 || fcntl(descriptor, F_SETLK, &lock) != 0)
        abort();
}

TEST(a_foreign_lock_changes_no_verdict, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(open_ring_and_close_all, NULL, NULL), locker;

    scene_refresh(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_ALIVE);
    locker = ring_stage_start(lock_foreign_byte, NULL, NULL);
    for (int i = 0; i < 8; i++) {
        scene_refresh(scene);
        assert_int_equal(verdict_of(scene, 0), PROCESS_ALIVE);
        assert_int_equal(ring_named(scene, "ring")->processes[0].pid, pid);
    }
    ring_stage_end(pid);
    assert_dies(scene);
    ring_stage_end(locker);
    scene_refresh(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_DEAD);
}

/* Leaves behind a process that shares its descriptors, and with them the lock. */
static void open_ring_and_share_descriptors(void *context)
{
    open_ring(context);
    if (syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
        alarm(60);
        say_and_stay();
    }
    await_word();
}

TEST(a_lock_that_outlives_its_owner, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(open_ring_and_share_descriptors, NULL, NULL);

    scene_refresh(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_ATTESTED);
    ring_stage_end(pid);
    assert_dies(scene);
    /* The kernel still reports the number of the process that is gone; in a nested pid namespace it reports none. */
    assert_int_equal(ring_named(scene, "ring")->processes[0].holder_pid,
                     ring_stage_pid_namespace() == FIRST_PID_NAMESPACE ? (uint32_t)pid : UINT32_MAX);
    kill(word->pid, SIGKILL);
}

/* A made-up /proc -------------------------------------------------------------------------------------------------- */

static void put_process(struct scene *scene, uint32_t pid, uint64_t start_time_ticks, uint32_t uid)
{
    char name[64], text[256];

    snprintf(text, sizeof(text), "%u (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0", pid,
             (unsigned long long)start_time_ticks);
    ring_stage_put_stat(&scene->stage, pid, text);
    snprintf(name, sizeof(name), "proc/%u/status", pid);
    snprintf(text, sizeof(text), "Name:\tx\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t%u\n", uid, uid, uid, uid, pid);
    ring_stage_write(&scene->stage, name, text, strlen(text));
}

static void refresh_by_made_up_proc(struct scene *scene)
{
    scene_watch(scene, "", NULL, ring_stage_path(&scene->stage, "proc"));
    scene_refresh(scene);
}

static void claim(struct scene *scene, uint32_t pid, uint64_t start_time_ticks, uint32_t flags,
                  struct ring_builder *ring)
{
    const struct ring_geometry geometry = {.slot_capacity = 64};

    ring_stage_build(&scene->stage, "ring", &geometry, ring);
    ring_builder_add_process(ring, 0, pid, start_time_ticks, "claimed");
    ring_builder_process(ring, 0)->flags = flags;
    ring_builder_process(ring, 0)->pid_namespace = 0;
}

TEST(a_reused_pid, set_up, tear_down)
{
    struct scene *scene = *state;
    struct ring_builder ring;

    claim(scene, 500, 1000, 0, &ring);
    put_process(scene, 500, 1000, getuid());
    refresh_by_made_up_proc(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_ALIVE);
    assert_int_equal(scene->noticed[NOTICE_UNATTESTED], 0); /* it never claimed a lock */
    put_process(scene, 500, 1001, getuid());
    assert_dies(scene);
    ring_stage_release(&ring);
}

/* Where it comes from ---------------------------------------------------------------------------------------------- */

static void put_origin(struct scene *scene, uint32_t pid, const char *command_line, const char *groups)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%u/cmdline", pid);
    ring_stage_write(&scene->stage, name, command_line, strlen(command_line) + 1);
    snprintf(name, sizeof(name), "proc/%u/cgroup", pid);
    ring_stage_write(&scene->stage, name, groups, strlen(groups));
    snprintf(name, sizeof(name), "proc/%u/task/%u/exe", pid, pid);
    unlink(ring_stage_path(&scene->stage, name));
    assert_int_equal(symlink("/opt/checkout", ring_stage_path(&scene->stage, name)), 0);
}

static struct process_facts *facts_of_first(struct scene *scene)
{
    struct process_facts *facts = registry_process_facts(scene->registry, ring_named(scene, "ring"), 0);

    assert_non_null(facts);
    return facts;
}

static void assert_origin(struct scene *scene, const char *command_line)
{
    struct process_facts *facts = facts_of_first(scene);

    assert_non_null(facts->origin);
    assert_int_equal(facts->origin->uid, getuid());
    assert_string_equal(facts->origin->command_line, command_line);
    assert_string_equal(facts->origin->unit, "checkout.service");
    assert_string_equal(facts->origin->container, "web1");
    assert_null(facts->origin->program); /* its user may not see it, and nobody attests that the ring is its own */
    process_facts_unref(facts);
}

static void assert_no_origin(struct scene *scene)
{
    struct process_facts *facts = facts_of_first(scene);

    assert_null(facts->origin);
    process_facts_unref(facts);
}

static void assert_runs_our_program(struct scene *scene)
{
    struct process_facts *facts = facts_of_first(scene);
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    assert_true(length > 0);
    path[length] = '\0';
    assert_non_null(facts->origin);
    assert_string_equal(facts->origin->program, path);
    process_facts_unref(facts);
}

TEST(the_program_of_an_attested_process, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(open_ring, NULL, NULL);

    scene_refresh(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_ATTESTED);
    assert_runs_our_program(scene);
    ring_stage_end(pid);
}

TEST(the_origin_of_a_process, set_up, tear_down)
{
    struct scene *scene = *state;
    struct ring_builder ring;

    claim(scene, 500, 1000, 0, &ring);
    put_process(scene, 500, 1000, getuid());
    put_origin(scene, 500, "checkout", "0::/lxc/web1/system.slice/checkout.service\n");
    refresh_by_made_up_proc(scene);
    assert_origin(scene, "checkout");
    put_origin(scene, 500, "another", "0::/\n"); /* it is read once */
    scene->now_mono_ns += REGISTRY_RECHECK_NS;
    scene_refresh(scene);
    assert_origin(scene, "checkout");
    put_process(scene, 500, 1001, getuid()); /* the number has become another process's */
    assert_dies(scene);
    assert_origin(scene, "checkout");
    ring_stage_release(&ring);
}

/* What comes to be known later is in the facts from then on. */
TEST(an_origin_that_comes_late, set_up, tear_down)
{
    struct scene *scene = *state;
    struct ring_builder ring;

    claim(scene, 500, 1000, 0, &ring);
    ring_stage_put_stat(&scene->stage, 500, "500 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1000 0");
    refresh_by_made_up_proc(scene); /* its status cannot be read: it is not known whose it is */
    assert_no_origin(scene);
    put_process(scene, 500, 1000, getuid());
    put_origin(scene, 500, "checkout", "0::/lxc/web1/system.slice/checkout.service\n");
    scene_refresh(scene);
    assert_origin(scene, "checkout");
    ring_stage_release(&ring);
}

/* A ring of root's may name every process; of a program that runs with another user's rights nothing is shown. */
TEST(nothing_of_a_set_user_id_program, set_up, tear_down)
{
    static const char status[] = "Name:\tx\nUid:\t1234\t0\t0\t0\nNSpid:\t500\n";
    struct scene *scene = *state;
    struct ring_builder ring;

    claim(scene, 500, 1000, 0, &ring);
    put_process(scene, 500, 1000, getuid());
    put_origin(scene, 500, "secret", "0::/system.slice/secret.service\n");
    ring_stage_write(&scene->stage, "proc/500/status", status, sizeof(status) - 1);
    refresh_by_made_up_proc(scene);
    assert_int_equal(verdict_of(scene, 0), getuid() == 0 ? PROCESS_ALIVE : PROCESS_UNKNOWN);
    assert_no_origin(scene);
    ring_stage_release(&ring);
}

TEST(nothing_of_another_users_process, set_up, tear_down)
{
    struct scene *scene = *state;
    struct ring_builder ring;
    struct process_facts *facts;

    claim(scene, 500, 1000, 0, &ring);
    if (chown(word->path, 1234, 1234) != 0) {
        ring_stage_release(&ring);
        print_message("skipped: needs root to make files of somebody else\n");
        skip();
    }
    put_process(scene, 500, 1000, 0);
    put_origin(scene, 500, "secret", "0::/system.slice/secret.service\n");
    refresh_by_made_up_proc(scene);
    facts = facts_of_first(scene);
    assert_null(facts->origin);
    assert_int_equal(facts->pid, 0);
    process_facts_unref(facts);
    ring_stage_release(&ring);
}

static void do_nothing(void *context)
{
    (void)context;
}

/* Nobody ever held a lock here, so the zombie is all there is to go by. */
TEST(a_zombie_without_locks, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(do_nothing, NULL, NULL);
    struct ring_builder ring;
    siginfo_t info;

    claim(scene, (uint32_t)pid, ring_stage_start_time(pid), 0, &ring);
    scene_refresh(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_ALIVE);
    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    assert_dies(scene);
    ring_stage_end(pid);
    ring_stage_release(&ring);
}

TEST(a_reused_pid_under_a_lock, set_up, tear_down)
{
    struct scene *scene = *state;
    struct ring_builder ring;
    pid_t locker;

    claim(scene, 0, 1000, RIP_PROCESS_HAS_HOLDER_LOCK, &ring);
    locker = ring_stage_start(lock_foreign_byte, NULL, NULL);
    ring_builder_process(&ring, 0)->pid = (uint32_t)locker;
    put_process(scene, (uint32_t)locker, 1000, getuid());
    refresh_by_made_up_proc(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_ATTESTED);
    assert_true(registry_process_holds(scene->registry, ring_named(scene, "ring"), 0));
    put_process(scene, (uint32_t)locker, 2000, getuid());
    assert_false(registry_process_holds(scene->registry, ring_named(scene, "ring"), 0)); /* seen at once if asked */
    scene->now_mono_ns += REGISTRY_RECHECK_NS;                                           /* and in time if not */
    assert_dies(scene);
    ring_stage_end(locker);
    ring_stage_release(&ring);
}

TEST(another_users_process_is_not_attested, set_up, tear_down)
{
    struct scene *scene = *state;
    struct ring_builder ring;
    pid_t locker;

    if (chown(scene->stage.directory, 1234, 1234) != 0) {
        print_message("skipped: needs root to make files of somebody else\n");
        skip();
    }
    claim(scene, 0, 1000, RIP_PROCESS_HAS_HOLDER_LOCK, &ring);
    assert_int_equal(chown(word->path, 1234, 1234), 0);
    locker = ring_stage_start(lock_foreign_byte, NULL, NULL);
    ring_builder_process(&ring, 0)->pid = (uint32_t)locker;
    put_process(scene, (uint32_t)locker, 1000, 0); /* as if it had exec'ed a set-user-id program */
    refresh_by_made_up_proc(scene);
    assert_int_not_equal(verdict_of(scene, 0), PROCESS_ATTESTED);
    put_process(scene, (uint32_t)locker, 1000, 1234);
    scene->now_mono_ns += REGISTRY_RECHECK_NS;
    scene_refresh(scene);
    assert_int_equal(verdict_of(scene, 0), PROCESS_ATTESTED);
    ring_stage_end(locker);
    ring_stage_release(&ring);
}

TEST(records_that_lie, set_up, tear_down)
{
    struct scene *scene = *state;
    struct ring_builder ring;

    claim(scene, 0, 0, 0xffffffff, &ring);
    ring_builder_process(&ring, 0)->module_count = UINT32_MAX;
    ring_builder_process(&ring, 0)->start_time_ticks = UINT64_MAX;
    ring_builder_process(&ring, 0)->pid = UINT32_MAX;
    ring.ring->process_high_water = UINT32_MAX;
    for (uint32_t i = 1; i < RIP_PROCESS_MIN; i++) {
        ring_builder_process(&ring, i)->state = i;
        ring_builder_process(&ring, i)->pid = i;
        ring_builder_process(&ring, i)->entered_boot_ns = UINT64_MAX - i;
    }
    for (int i = 0; i < 5; i++) {
        scene_refresh(scene);
        assert_int_equal(ring_named(scene, "ring")->process_count, RIP_PROCESS_MIN);
        ring_is_dead(scene); /* builds all facts */
        for (uint32_t process = 0; process < 70; process++)
            process_facts_unref(registry_process_facts(scene->registry, ring_named(scene, "ring"), process));
    }
    ring_stage_release(&ring);
}

/* Facts ------------------------------------------------------------------------------------------------------------ */

TEST(facts_of_a_process, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(open_ring, NULL, NULL);
    char exe[256] = "";
    struct process_facts *facts, *again;
    uint64_t now_ns = clock_wall_ns();
    struct ring *ring;

    assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
    scene_refresh(scene);
    ring = ring_named(scene, "ring");
    assert_true(ring->processes[0].wants_modules); /* nobody has asked yet */
    facts = registry_process_facts(scene->registry, ring, 0);
    assert_non_null(facts);
    assert_int_equal(facts->pid, pid);
    assert_true(facts->attested);
    assert_false(facts->dead);
    assert_string_equal(facts->exe, exe);
    assert_in_range(facts->started_wall_ns, now_ns - UINT64_C(30000000000), now_ns + UINT64_C(1000000000));
    assert_true(facts->module_count > 1);
    assert_non_null(facts->modules[0]->name);
    scene_refresh(scene);
    again = registry_process_facts(scene->registry, ring, 0);
    assert_ptr_equal(again, facts); /* the same as long as nothing has changed */
    process_facts_unref(again);
    ring_stage_end(pid);
    scene_refresh(scene);
    scene_refresh(scene);
    again = registry_process_facts(scene->registry, ring, 0);
    assert_ptr_not_equal(again, facts);
    assert_true(again->dead);
    assert_false(again->attested);
    assert_int_equal(again->pid, pid); /* as it was attested while it lived */
    process_facts_unref(again);
    assert_int_equal(facts->pid, pid); /* ours to keep */
    process_facts_unref(facts);
}

/* A library that is loaded behind the back of librip, which names it in the record when it is asked to. */
static void load_late(void *context)
{
    void *library;

    open_ring(context);
    library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
    word->address = library != NULL ? (uintptr_t)dlsym(library, "__ctype_get_mb_cur_max") : 0;
}

static void name_late(void *context)
{
    (void)context;
    rip_refresh_modules();
}

static const struct module_facts *late_module(struct scene *scene, struct process_facts **ret_facts)
{
    *ret_facts = registry_process_facts(scene->registry, ring_named(scene, "ring"), 0);
    return *ret_facts != NULL ? process_facts_module(*ret_facts, word->address) : NULL;
}

/* Found in the kernel's map before the record had it, it is the record's module once that names it. */
TEST(a_module_that_is_named_late, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(load_late, name_late, NULL);
    const struct module_facts *module = NULL;
    struct process_facts *facts;

    if (word->address == 0) {
        ring_stage_end(pid);
        print_message("skipped: this C library comes without libBrokenLocale\n");
        skip();
    }
    scene_refresh(scene);
    assert_null(late_module(scene, &facts));
    process_facts_unref(facts);
    assert_true(registry_learn_module(scene->registry, ring_named(scene, "ring"), 0, word->address));
    module = late_module(scene, &facts);
    assert_non_null(module);
    assert_string_equal(module->name, "libBrokenLocale.so.1");
    assert_string_equal(module->build_id, ""); /* the map has none */
    process_facts_unref(facts);
    ring_stage_go(pid);
    for (int i = 0; i < 3000; i++) {
        scene_refresh(scene);
        module = late_module(scene, &facts);
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
    word->tid = (pid_t)syscall(SYS_gettid);
    for (;;)
        pause();
    return NULL;
}

/* A process that is pid 1 of a namespace of its own. */
static void open_ring_in_a_namespace(void *context)
{
    if (unshare(CLONE_NEWPID) != 0) {
        word->pid = -1;
        return;
    }
    if (fork() == 0) {
        pthread_t thread;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        open_ring(context);
        if (pthread_create(&thread, NULL, live_on, NULL) != 0)
            abort();
        while (word->tid == 0)
            usleep(1000);
        say_and_stay();
    }
    await_word();
}

/* The holder of a lock is found by its number inside the namespace, but not where the record names no namespace. */
static void check_holder_inside(struct scene *scene, struct ring *ring, uint32_t tid)
{
    struct ring_process *process = &ring->processes[0];
    const uint64_t claimed = process->claim.pid_namespace;
    uint32_t serial = 0, found = 1;

    assert_int_equal(registry_find_holder(scene->registry, ring, 0, tid, UINT64_MAX, &serial, &found), 0);
    assert_int_equal(serial, ring->serial);
    assert_int_equal(found, 0);
    assert_int_equal(registry_find_holder(scene->registry, ring, 0, 4000000, UINT64_MAX, &serial, &found), -ESRCH);
    process->claim.pid_namespace = 0;
    assert_int_equal(registry_find_holder(scene->registry, ring, 0, tid, UINT64_MAX, &serial, &found), -ESRCH);
    process->claim.pid_namespace = claimed;
}

TEST(another_pid_namespace, set_up, tear_down)
{
    struct scene *scene = *state;
    pid_t pid = ring_stage_start(open_ring_in_a_namespace, NULL, NULL);
    uint64_t deadline_ns = clock_mono_ns() + UINT64_C(1000000000);
    const struct ring_process *process;
    uint32_t leader, thread, none;
    struct ring *ring;

    if (word->pid < 0) {
        ring_stage_end(pid);
        print_message("skipped: no pid namespaces here\n");
        skip();
    }
    scene_refresh(scene);
    assert_int_equal(word->pid, 1);
    ring = ring_named(scene, "ring");
    process = &ring->processes[0];
    assert_int_equal(process->claim.pid, 1);
    if (ring_stage_pid_namespace() == process->claim.pid_namespace) {
        ring_stage_end(pid);
        print_message("skipped: /proc is of another namespace than the child\n");
        skip();
    }
    assert_int_equal(verdict_of(scene, 0), PROCESS_ATTESTED);
    assert_int_not_equal(process->pid, 1);
    assert_int_equal(registry_find_thread(scene->registry, ring, 0, 1, deadline_ns, &leader), 0);
    assert_int_equal(leader, process->pid);
    assert_int_equal(registry_find_thread(scene->registry, ring, 0, (uint32_t)word->tid, deadline_ns, &thread), 0);
    assert_int_not_equal(thread, word->tid);
    assert_int_equal(registry_find_thread(scene->registry, ring, 0, 4000000, deadline_ns, &none), -ESRCH);
    check_holder_inside(scene, ring, (uint32_t)word->tid);
    registry_forget_thread(ring, 0, thread);
    usleep(600000); /* listed again */
    assert_int_equal(registry_find_thread(scene->registry, ring, 0, (uint32_t)word->tid, 0, &none), -EAGAIN);
    assert_int_equal(registry_find_thread(scene->registry, ring, 0, (uint32_t)word->tid, UINT64_MAX, &none), 0);
    assert_int_equal(none, thread);
    ring_stage_end(pid);
    for (int i = 0; i < 1000 && verdict_of(scene, 0) != PROCESS_DEAD; i++) {
        usleep(1000);
        scene_refresh(scene);
    }
    assert_int_equal(verdict_of(scene, 0), PROCESS_DEAD);
}
