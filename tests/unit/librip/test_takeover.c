/* SPDX-License-Identifier: Apache-2.0 */
/* test_takeover.c - what exists at the name of a new ring: librip/file.c. */
#include "unit/writer_test.h"

#include <sys/resource.h>

/* Existing files --------------------------------------------------------------------------------------------------- */

FORKED_TEST(empty_file_is_replaced)
{
    write_file("ring", "");
    make_ring(100);
    CHECK(count_files() == 1 && rip__file_is_ring(rip__ring_fd()));
}

FORKED_TEST(other_files_are_kept)
{
    struct stat status;

    write_file("file", "not a ring");
    check_name_refused("file", EEXIST);
    CHECK(file_is("file", "not a ring"));
    CHECK(mkfifo(test_path("fifo"), 0600) == 0);
    check_name_refused("fifo", EEXIST);
    CHECK(mkdir(test_path("directory"), 0700) == 0);
    check_name_refused("directory", EEXIST);
    CHECK(symlink("nowhere", test_path("link")) == 0);
    check_name_refused("link", EEXIST);
    CHECK(lstat(test_path("link"), &status) == 0 && S_ISLNK(status.st_mode));
}

FORKED_TEST(link_to_a_dead_ring_is_kept)
{
    make_dead_ring("dead");
    CHECK(symlink("dead", test_path("link")) == 0);
    check_name_refused("link", EEXIST);
}

FORKED_TEST(dead_ring_becomes_previous)
{
    struct stat dead, previous;
    struct mapped_ring mapped_ring;

    for (unsigned round = 0; round < 3; round++) {
        make_dead_ring("ring");
        CHECK(stat(test_path("ring"), &dead) == 0);
        CHECK(count_files() == (round == 0 ? 1 : 2));
    }
    make_ring(100);
    CHECK(stat(test_path("ring.prev"), &previous) == 0 && previous.st_ino == dead.st_ino);
    CHECK(count_files() == 2);
    mapped_ring = map_ring(test_path("ring.prev"));
    CHECK(live_count(&mapped_ring.view) == 1); /* its ids stay readable */
}

FORKED_TEST(live_ring_is_busy)
{
    pid_t pid = make_live_ring("ring");

    check_name_refused("ring", EBUSY);
    kill_child(pid);
    make_ring(100);
    CHECK(count_files() == 2);
}

FORKED_TEST(other_file_named_previous_is_kept)
{
    make_dead_ring("ring");
    write_file("ring.prev", "thesis");
    check_name_refused("ring", EEXIST);
    CHECK(file_is("ring.prev", "thesis"));
    write_file("ring.prev", "");
    make_ring(100);
    CHECK(count_files() == 2);
}

FORKED_TEST(live_previous_ring_is_busy)
{
    pid_t pid = make_live_ring("ring");

    CHECK(rename(test_path("ring"), test_path("ring.prev")) == 0);
    make_dead_ring("ring");
    check_name_refused("ring", EBUSY);
    kill_child(pid);
    make_ring(100);
}

FORKED_TEST(previous_is_the_same_file)
{
    make_dead_ring("ring");
    CHECK(link(test_path("ring"), test_path("ring.prev")) == 0);
    make_ring(100);
    CHECK(count_files() == 2);
}

FORKED_TEST(ring_of_another_boot_is_dead)
{
    pid_t pid = make_live_ring("ring");
    int descriptor = open(test_path("ring"), O_RDWR);

    CHECK(pwrite(descriptor, "another boot....", 16, offsetof(struct rip_ring, boot_id)) == 16);
    close(descriptor);
    make_ring(100);
    kill_child(pid);
}

/* A copy of a live ring has no locks: no process uses it. */
FORKED_TEST(copy_of_a_live_ring_is_dead)
{
    pid_t pid = make_live_ring("original");
    char command[256];

    snprintf(command, sizeof(command), "cp '%s' '%s'", test_path("original"), test_path("ring"));
    CHECK(system(command) == 0);
    make_ring(100);
    kill_child(pid);
}

FORKED_TEST(damaged_ring_is_kept)
{
    int descriptor;

    make_dead_ring("ring");
    descriptor = open(test_path("ring"), O_RDWR);
    CHECK(ftruncate(descriptor, 8192) == 0);
    close(descriptor);
    check_name_refused("ring", EEXIST);
}

/* A header may claim records that are far apart: 4 GB of holes, which must not be read. */
FORKED_TEST(records_far_apart)
{
    struct rusage usage;
    struct rip_ring ring;
    int descriptor;

    make_dead_ring("ring");
    descriptor = open(test_path("ring"), O_RDWR);
    CHECK(pread(descriptor, &ring, sizeof(ring), 0) == (ssize_t)sizeof(ring));
    ring.process_stride_bytes = 64u << 20;
    ring.process_offset = ring.file_bytes;
    ring.file_bytes += (uint64_t)ring.process_stride_bytes * ring.process_capacity;
    CHECK(ftruncate(descriptor, (off_t)ring.file_bytes) == 0);
    CHECK(pwrite(descriptor, &ring, sizeof(ring), 0) == (ssize_t)sizeof(ring));
    make_ring(100);
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss < 1024L * 1024);
    CHECK(count_files() == 2);
}

/* Without a free descriptor the error is EMFILE, not an error about the file. */
FORKED_TEST(too_few_descriptors_is_emfile)
{
    struct rlimit limit = {.rlim_max = 1024};
    bool refused = false;

    make_dead_ring("ring");
    for (limit.rlim_cur = 3; limit.rlim_cur < 40; limit.rlim_cur++) {
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        if (rip_create_ring(test_path("ring"), 5))
            break;
        CHECK(errno == EMFILE);
        refused = true;
    }
    CHECK(refused && rip_ring != NULL);
}

FORKED_TEST(ring_of_another_user_is_kept)
{
    make_dead_ring("ring");
    if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
        skip_test("becoming another user needs root");
    check_name_refused("ring", EEXIST);
}

/* Another process holds the takeover lock and does not finish: the call does not wait forever. */
FORKED_TEST(takeover_by_another_is_busy)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_TAKEOVER_OFFSET, .l_len = 1};
    int descriptor;

    make_dead_ring("ring");
    descriptor = open(test_path("ring"), O_RDWR);
    CHECK(fcntl(descriptor, F_OFD_SETLK, &lock) == 0);
    check_name_refused("ring", EBUSY);
    close(descriptor);
    make_ring(100);
}

/* Races ------------------------------------------------------------------------------------------------------------ */

enum { PROCESSES = 8, RACE_ROUNDS = 20 };

static void race(const int go[2], const int done[2], const int stop[2])
{
    bool won;

    close(stop[1]);
    await_pipe(go);
    won = rip_create_ring(test_path("ring"), 100);
    CHECK(won || errno == EBUSY);
    signal_pipe(done);
    await_pipe(stop); /* the winner stays alive until the others have tried */
    _exit(won ? 42 : 0);
}

FORKED_TEST(one_of_many_processes_takes_over)
{
    for (unsigned round = 0; round < RACE_ROUNDS; round++) {
        int go[2], done[2], stop[2], winners = 0;

        CHECK(pipe(go) == 0 && pipe(done) == 0 && pipe(stop) == 0);
        make_dead_ring("ring");
        for (unsigned i = 0; i < PROCESSES; i++) {
            if (fork() == 0)
                race(go, done, stop);
        }
        CHECK(write(go[1], "xxxxxxxx", PROCESSES) == PROCESSES);
        for (unsigned i = 0; i < PROCESSES; i++)
            await_pipe(done);
        CHECK(write(stop[1], "xxxxxxxx", PROCESSES) == PROCESSES);
        for (unsigned i = 0; i < PROCESSES; i++) {
            int result = exit_status_of(-1);

            CHECK(result == 0 || result == 42);
            winners += result == 42;
        }
        CHECK(winners == 1);
        CHECK(count_files() == 2);
        CHECK(unlink(test_path("ring")) == 0 && unlink(test_path("ring.prev")) == 0);
        for (unsigned i = 0; i < 2; i++) {
            close(go[i]);
            close(done[i]);
            close(stop[i]);
        }
    }
}

/* Rings of the preload library ------------------------------------------------------------------------------------- */

/*
 * NAME is not a ring, and NAME~2 belongs to another process: the ring gets the name NAME.PID. The number of such files
 * is bounded.
 */
FORKED_TEST(preload_ring_when_two_names_are_taken)
{
    char path[PATH_MAX], expected[PATH_MAX];
    pid_t pid;
    int error;

    CHECK(mkdir(test_path("app"), 0700) == 0);
    pid = make_live_ring("app~2");
    CHECK(setenv("RIP_DIR", test_directory, 1) == 0 && setenv("RIP_NAME", "app", 1) == 0);
    CHECK(rip__own_ring_make(path, &error));
    snprintf(expected, sizeof(expected), "%s/app.%d", test_directory, (int)getpid());
    CHECK(strcmp(path, expected) == 0 && error == EEXIST);
    kill_child(pid);
}
