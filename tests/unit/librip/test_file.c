/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c - creating and publishing ring files: librip/file.c. */
#include "unit/writer_test.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statfs.h>

static void limit_descriptors(rlim_t value)
{
    struct rlimit limit = {value, value};

    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* Created ---------------------------------------------------------------------------------------------------------- */

/* The umask neither widens nor narrows the mode. A ring of the preload library is made in another way. */
FORKED_TEST(ring_is_created_complete)
{
    static const struct {
        mode_t mask;
        bool preloaded;
    } cases[] = {{0777, false}, {0, false}, {0777, true}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rip_ring_info info;
        struct stat status;

        case_number = i;
        if (!in_child())
            continue;
        umask(cases[i].mask);
        if (cases[i].preloaded)
            rip__set_preloaded(0);
        make_ring(100);
        CHECK(stat(test_path("ring"), &status) == 0 && (status.st_mode & 07777) == 0640);
        CHECK(count_files() == 1);
        CHECK(rip_ring != NULL && rip_ring->magic == RIP_MAGIC);
        CHECK(rip_ring->file_bytes == (uint64_t)status.st_size);
        CHECK(rip_ring->slot_capacity == 128); /* 100 rounded up to a word of the bitmap */
        rip_view_info(own_view(), &info);
        CHECK(info.process_high_water == 1);
        CHECK(info.created_wall_ns != 0 && info.created_boot_ns != 0);
        CHECK(status.st_blocks * 512 < 64 * 1024); /* sparse */
        CHECK(!cases[i].preloaded || rip__writer.life_descriptor < 0);
        CHECK(unlink(test_path("ring")) == 0);
        _exit(0);
    }
}

FORKED_TEST(numbers_and_links)
{
    char digits[RIP_DIGITS_BYTES], link[RIP_LINK_BYTES];

    rip__format_number(0, digits);
    CHECK(strcmp(digits, "0") == 0);
    rip__format_number(109, digits);
    CHECK(strcmp(digits, "109") == 0);
    rip__format_number(UINT32_MAX, digits);
    CHECK(strcmp(digits, "4294967295") == 0);
    rip__describe_descriptor(512, link);
    CHECK(strcmp(link, "/proc/self/fd/512") == 0);
}

FORKED_TEST(disabled)
{
    setenv("RIP_DISABLE", "1", 1);
    make_ring(100);
    CHECK(rip_ring == NULL && count_files() == 0);
    register_id(1, "main");
    rip_snap();
    rip_idle();
    CHECK(rip__thread.slot == NULL);
    rip_exit();
    setenv("RIP_DISABLE", "0", 1);
    make_ring(100);
    CHECK(rip_ring != NULL);
}

static void make_unfinished(const char *name, time_t age_s)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - age_s}};
    int descriptor = open(test_path(name), O_WRONLY | O_CREAT, 0640);

    CHECK(descriptor >= 0 && futimens(descriptor, times) == 0);
    close(descriptor);
}

/* A process that is killed while it creates a ring leaves a file with this prefix. Old ones are removed. */
FORKED_TEST(old_unfinished_files_are_removed)
{
    make_unfinished(RIP_UNFINISHED_PREFIX "00", 3600);
    make_unfinished(RIP_UNFINISHED_PREFIX "11", 0);
    make_unfinished(".rip-other", 3600);
    CHECK(mkdir(test_path(RIP_UNFINISHED_PREFIX "22"), 0700) == 0);
    rip__file_bound_dead(test_directory, "ring", 7);
    CHECK(count_files() == 3 && access(test_path(RIP_UNFINISHED_PREFIX "00"), F_OK) < 0);
    CHECK(access(test_path(RIP_UNFINISHED_PREFIX "11"), F_OK) == 0 && access(test_path(".rip-other"), F_OK) == 0);
}

FORKED_TEST(capacity_zero_is_pid_max)
{
    char text[32] = {0};
    int descriptor = open("/proc/sys/kernel/pid_max", O_RDONLY);

    CHECK(read(descriptor, text, sizeof(text) - 1) > 0);
    close(descriptor);
    make_ring(0);
    CHECK(rip_ring->slot_capacity >= strtoul(text, NULL, 10));
    register_traced(UINT32_MAX, "largest id");
    CHECK(rip_tid == -1);
}

FORKED_TEST(largest_ring)
{
    make_ring_with_id(RIP_CAPACITY_MAX);
}

FORKED_TEST(descriptor_has_a_high_number)
{
    limit_descriptors(600);
    make_ring(100);
    CHECK(rip__ring_fd() >= 512);
    CHECK(fcntl(rip__ring_fd(), F_GETFD) == FD_CLOEXEC);
}

FORKED_TEST(few_descriptors)
{
    limit_descriptors(40);
    make_ring(100);
    CHECK(rip__file_is_ring(rip__ring_fd()));
}

FORKED_TEST(creating_the_same_ring_again)
{
    make_ring(100);
    make_ring(5);
    CHECK(chdir(test_directory) == 0);
    CHECK(rip_create_ring("ring", 5));
    CHECK(rip_create_ring("./ring", 5));
    CHECK(rip_ring->slot_capacity == 128);
    CHECK(!rip_create_ring(test_path("other"), 5) && errno == EBUSY);
    CHECK(count_files() == 1 && rip_ring != NULL);
    if (in_child()) {
        make_ring(5);
        CHECK(!rip_create_ring(test_path("other"), 5) && errno == EBUSY);
        _exit(0);
    }
    CHECK(unlink(test_path("ring")) == 0 &&
          rip_create_ring(test_path("ring"), 5)); /* the ring is the same with or without its name */
    CHECK(count_files() == 0);
}

/* The same relative name in another directory is another file. */
FORKED_TEST(same_relative_name_in_another_directory)
{
    CHECK(mkdir(test_path("folder"), 0755) == 0 && chdir(test_directory) == 0);
    CHECK(rip_create_ring("ring", 5));
    CHECK(chdir("folder") == 0);
    CHECK(!rip_create_ring("ring", 5) && errno == EBUSY);
    CHECK(rip_create_ring("../ring", 5));
    CHECK(unlink("../ring") == 0 && rip_create_ring("../ring", 5));
    CHECK(rip_create_ring("../folder/../ring", 5));
}

static void *create_after_main_thread(void *path)
{
    struct rip_process_info process;
    struct rip_module_info program;

    sleep_ms(100);
    CHECK(rip_create_ring(path, 5));
    CHECK(rip_view_process(own_view(), 0, &process) == RIP_OK);
    CHECK(process.flags == BOTH_LOCKS);
    CHECK(rip_view_module(own_view(), 0, 0, &program) == RIP_OK && program.path_bytes > 0);
    _exit(0);
}

/* /proc/self belongs to the main thread, which may have ended. */
FORKED_TEST(created_after_the_main_thread_ended)
{
    static char path[128];

    strcpy(path, test_path("ring"));
    start_thread(create_after_main_thread, path);
    pthread_exit(NULL);
}

FORKED_TEST(options)
{
    struct {
        struct rip_options options;
        uint64_t newer;
    } longer = {.options = {.size_bytes = sizeof(longer), .file = test_path("ring"), .max_procs = 10}, .newer = 1};
    struct rip_options options = {
        .size_bytes = sizeof(options), .file = test_path("ring"), .max_procs = 10, .flags = 1};

    CHECK(!rip_create_ring_with(NULL) && errno == EINVAL);
    CHECK(!rip_create_ring_with(&options) && errno == EINVAL);
    options.flags = 0;
    options.size_bytes = 8;
    CHECK(!rip_create_ring_with(&options) && errno == EINVAL);
    CHECK(!rip_create_ring_with(&longer.options) && errno == EINVAL);
    longer.newer = 0;
    CHECK(rip_create_ring_with(&longer.options));
}

FORKED_TEST(ring_is_not_in_core_dumps)
{
    FILE *maps = NULL;
    char line[512];
    bool in_ring = false, excluded = false;

    make_ring(100);
    maps = fopen("/proc/self/smaps", "r");
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long first;

        if (sscanf(line, "%lx-", &first) == 1 && strstr(line, " rw-s ") != NULL)
            in_ring = first == (unsigned long)(uintptr_t)rip_ring;
        else if (in_ring && strncmp(line, "VmFlags:", 8) == 0) {
            excluded = strstr(line, " dd") != NULL;
            break;
        }
    }
    CHECK(excluded);
}

/* Refused ---------------------------------------------------------------------------------------------------------- */

FORKED_TEST(bad_arguments)
{
    make_dead_ring("warm"); /* allocate everything that is allocated once */
    check_refused(NULL, 5, EINVAL);
    check_refused("", 5, EINVAL);
    check_refused(test_path("ring"), RIP_CAPACITY_MAX + 1, EINVAL);
    check_name_refused("missing/ring", ENOENT);
    check_name_refused("warm/ring", ENOTDIR);
    check_name_refused("", EISDIR);
    check_name_refused("..", EISDIR);
    check_refused("/proc/ring", 5, EOPNOTSUPP);
    make_ring(100);
}

FORKED_TEST(ring_on_disk_is_refused)
{
    struct statfs status;

    CHECK(statfs("/", &status) == 0);
    if (status.f_type == 0x01021994 || status.f_type == (__typeof__(status.f_type))0x858458f6)
        skip_test("the root directory is a file system in memory");
    check_refused("/rip-unit-ring", 5, EOPNOTSUPP);
}

FORKED_TEST(file_limit_does_not_kill)
{
    struct rlimit limit = {1 << 20, 1 << 20};

    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    check_refused(test_path("ring"), 100, EFBIG);
}

static void mount_small(const char *type, const char *options)
{
    CHECK(mkdir(test_path("small"), 0755) == 0);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("small", test_path("small"), type, 0, options) < 0)
        skip_test("mounting needs root and a mount namespace");
}

FORKED_TEST(full_tmpfs)
{
    mount_small("tmpfs", "size=8k");
    errno = 0;
    CHECK(!rip_create_ring(test_path("small/ring"), 100));
    CHECK(errno == ENOSPC);
    CHECK(access(test_path("small/ring"), F_OK) < 0 && rip_ring == NULL);
}

FORKED_TEST(full_tmpfs_refuses_slots)
{
    int others;

    mount_small("tmpfs", "size=96k");
    CHECK(rip_create_ring(test_path("small/ring"), 1000));
    others = open(test_path("small/filler"), O_WRONLY | O_CREAT, 0600);
    CHECK(others >= 0);
    while (write(others, test_directory, 1) == 1 && lseek(others, 4095, SEEK_CUR) > 0)
        ;
    CHECK(errno == ENOSPC);
    rip_init(5, "five", 4, 3, 4);
    rip_snap();
    CHECK(rip__thread.slot == NULL);
    CHECK(rip_tid == 5 && rip_idx == 3 && rip_ctr == 4); /* correct: no snap was made */
    CHECK(rip_ring->refused_memory_count == 1);
    CHECK(ftruncate(others, 0) == 0);
    rip_init(5, "five", 4, 3, 4);
    rip_snap();
    CHECK(rip__thread.slot != NULL && rip_ctr == 5);
}

FORKED_TEST(ramfs)
{
    mount_small("ramfs", NULL);
    CHECK(rip_create_ring(test_path("small/ring"), 100));
    register_traced(5, "five");
}

/* A failed call does not affect a later fork or a later call. */
FORKED_TEST(fork_and_create_after_a_failure)
{
    write_file("ring", "in the way");
    CHECK(!rip_create_ring(test_path("ring"), 5) && errno == EEXIST);
    if (in_child()) {
        CHECK(!rip__fork_unnoticed());
        CHECK(rip_create_ring(test_path("ring2"), 5));
        register_traced(1, "one");
        CHECK(rip__writer.process == 0);
        _exit(0);
    }
    CHECK(rip_create_ring(test_path("ring3"), 5));
    register_traced(1, "one");
    CHECK(rip__writer.process == 0);
}

/* Memory ----------------------------------------------------------------------------------------------------------- */

static void check_sparse_when_locked(void)
{
    struct stat status;

    make_ring(4 << 20);
    CHECK(stat(test_path("ring"), &status) == 0);
    CHECK(status.st_size > 1500000000);
    CHECK(status.st_blocks * 512 < 1 << 20);
    register_id(1, "one");
    rip_snap();
    CHECK(rip_ctr == 1);
}

FORKED_TEST(locked_memory_stays_sparse)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
        skip_test("mlockall() is not allowed here");
    check_sparse_when_locked();
}

/* mlockall() after the ring was created, as always under the preload library. */
FORKED_TEST(memory_locked_later_stays_sparse)
{
    struct stat status;

    make_ring_with_id(4000000);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
        skip_test("mlockall() is not allowed here");
    for (uint32_t id = 2; id < 10000; id++)
        resume_id(id);
    CHECK(rip_ring->registered_count == 9999);
    CHECK(stat(test_path("ring"), &status) == 0 && status.st_blocks * 512 < 16 << 20);
}

/* Each process makes the pages that it needs accessible itself, also to free slots of other processes. */
FORKED_TEST(slots_of_others_are_opened)
{
    struct mapped_ring mapped_ring;

    make_ring(10000);
    if (in_child()) {
        for (uint32_t id = 1; id <= 9000; id++)
            resume_id(id);
        _exit(0);
    }
    mapped_ring = map_ring(test_path("ring"));
    CHECK(live_count(&mapped_ring.view) == 9000);
    rip__slot_sweep(RIP_NO_PROCESS);
    CHECK(live_count(&mapped_ring.view) == 0);
}

FORKED_TEST(locked_memory_of_an_ordinary_user)
{
    struct rlimit limit;

    CHECK(getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    if (limit.rlim_cur > 64 << 20)
        limit.rlim_cur = limit.rlim_max = 64 << 20;
    if (setrlimit(RLIMIT_MEMLOCK, &limit) < 0 || setresgid(65534, 65534, 65534) < 0 ||
        setresuid(65534, 65534, 65534) < 0 || mlockall(MCL_FUTURE) < 0)
        skip_test("mlockall() under a limit is not allowed here");
    check_sparse_when_locked();
}
