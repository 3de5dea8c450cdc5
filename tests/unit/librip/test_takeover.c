/* SPDX-License-Identifier: Apache-2.0 */
/* test_takeover.c - what stands at the name that a ring wants: librip/file.c. */
#include "unit/writer_test.h"

#include <sys/resource.h>

/* What stands at the name ------------------------------------------------------------------------------------------ */

SCENE(empty_file_is_replaced)
{
    write_file("ring", "");
    make_ring(100);
    CHECK(count_on_stage() == 1 && rip__file_is_ring(rip__ring_fd()));
}

SCENE(foreign_things_stay)
{
    struct stat status;

    write_file("file", "not a ring");
    check_refused(on_stage("file"), 5, EEXIST);
    CHECK(file_is("file", "not a ring"));
    CHECK(mkfifo(on_stage("fifo"), 0600) == 0);
    check_refused(on_stage("fifo"), 5, EEXIST);
    CHECK(mkdir(on_stage("directory"), 0700) == 0);
    check_refused(on_stage("directory"), 5, EEXIST);
    CHECK(symlink("nowhere", on_stage("link")) == 0);
    check_refused(on_stage("link"), 5, EEXIST);
    CHECK(lstat(on_stage("link"), &status) == 0 && S_ISLNK(status.st_mode));
}

SCENE(link_to_dead_ring_stays)
{
    make_dead("dead");
    CHECK(symlink("dead", on_stage("link")) == 0);
    check_refused(on_stage("link"), 5, EEXIST);
}

SCENE(dead_becomes_previous)
{
    struct stat dead, previous;
    struct looker looker;

    for (unsigned round = 0; round < 3; round++) {
        make_dead("ring");
        CHECK(stat(on_stage("ring"), &dead) == 0);
        CHECK(count_on_stage() == (round == 0 ? 1 : 2));
    }
    make_ring(100);
    CHECK(stat(on_stage("ring.prev"), &previous) == 0 && previous.st_ino == dead.st_ino);
    CHECK(count_on_stage() == 2);
    looker = look(on_stage("ring.prev"));
    CHECK(live_count(&looker.view) == 1); /* still says what it was doing */
}

SCENE(live_is_busy)
{
    pid_t pid = make_live("ring");

    check_refused(on_stage("ring"), 5, EBUSY);
    end(pid);
    make_ring(100);
    CHECK(count_on_stage() == 2);
}

SCENE(previous_of_the_user_stays)
{
    make_dead("ring");
    write_file("ring.prev", "thesis");
    check_refused(on_stage("ring"), 5, EEXIST);
    CHECK(file_is("ring.prev", "thesis"));
    write_file("ring.prev", "");
    make_ring(100);
    CHECK(count_on_stage() == 2);
}

SCENE(previous_that_lives_is_busy)
{
    pid_t pid = make_live("ring");

    CHECK(rename(on_stage("ring"), on_stage("ring.prev")) == 0);
    make_dead("ring");
    check_refused(on_stage("ring"), 5, EBUSY);
    end(pid);
    make_ring(100);
}

SCENE(previous_that_is_the_same_file)
{
    make_dead("ring");
    CHECK(link(on_stage("ring"), on_stage("ring.prev")) == 0);
    make_ring(100);
    CHECK(count_on_stage() == 2);
}

SCENE(ring_of_another_boot_is_dead)
{
    pid_t pid = make_live("ring");
    int descriptor = open(on_stage("ring"), O_RDWR);

    CHECK(pwrite(descriptor, "another boot....", 16, offsetof(struct rip_ring, boot_id)) == 16);
    close(descriptor);
    make_ring(100);
    end(pid);
}

/* A copy of a live ring holds no lock: no process lives in it. */
SCENE(copy_of_a_live_ring_is_dead)
{
    pid_t pid = make_live("original");
    char command[256];

    snprintf(command, sizeof(command), "cp '%s' '%s'", on_stage("original"), on_stage("ring"));
    CHECK(system(command) == 0);
    make_ring(100);
    end(pid);
}

SCENE(damaged_ring_stays)
{
    int descriptor;

    make_dead("ring");
    descriptor = open(on_stage("ring"), O_RDWR);
    CHECK(ftruncate(descriptor, 8192) == 0);
    close(descriptor);
    check_refused(on_stage("ring"), 5, EEXIST);
}

/* A header may say that its records lie far apart: 4 GB of nothing, which are not to be read. */
SCENE(records_far_apart)
{
    struct rusage usage;
    struct rip_ring ring;
    int descriptor;

    make_dead("ring");
    descriptor = open(on_stage("ring"), O_RDWR);
    CHECK(pread(descriptor, &ring, sizeof(ring), 0) == (ssize_t)sizeof(ring));
    ring.process_stride_bytes = 64u << 20;
    ring.process_offset = ring.file_bytes;
    ring.file_bytes += (uint64_t)ring.process_stride_bytes * ring.process_capacity;
    CHECK(ftruncate(descriptor, (off_t)ring.file_bytes) == 0);
    CHECK(pwrite(descriptor, &ring, sizeof(ring), 0) == (ssize_t)sizeof(ring));
    make_ring(100);
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss < 1024L * 1024);
    CHECK(count_on_stage() == 2);
}

/* Without a descriptor to look with, what stands there is not to blame. */
SCENE(few_descriptors_say_so)
{
    struct rlimit limit = {.rlim_max = 1024};
    bool refused = false;

    make_dead("ring");
    for (limit.rlim_cur = 3; limit.rlim_cur < 40; limit.rlim_cur++) {
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        if (rip_create_ring(on_stage("ring"), 5))
            break;
        CHECK(errno == EMFILE);
        refused = true;
    }
    CHECK(refused && rip_ring != NULL);
}

SCENE(ring_of_another_user_stays)
{
    make_dead("ring");
    if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
        cannot("becoming another user needs root");
    check_refused(on_stage("ring"), 5, EEXIST);
}

/* Somebody is at it, and does not come to an end: not for ever. */
SCENE(takeover_by_another_is_busy)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)RIP_LOCK_TAKEOVER_OFFSET, .l_len = 1};
    int descriptor;

    make_dead("ring");
    descriptor = open(on_stage("ring"), O_RDWR);
    CHECK(fcntl(descriptor, F_OFD_SETLK, &lock) == 0);
    check_refused(on_stage("ring"), 5, EBUSY);
    close(descriptor);
    make_ring(100);
}

/* Races ------------------------------------------------------------------------------------------------------------ */

enum { RACERS = 8, RACE_ROUNDS = 20 };

static void race(const int go[2], const int done[2], const int stop[2])
{
    bool won;

    close(stop[1]);
    await(go);
    won = rip_create_ring(on_stage("ring"), 100);
    CHECK(won || errno == EBUSY);
    signal_pipe(done);
    await(stop); /* the winner must not die before the others have tried */
    _exit(won ? 42 : 0);
}

SCENE(one_of_many_takes_over)
{
    for (unsigned round = 0; round < RACE_ROUNDS; round++) {
        int go[2], done[2], stop[2], winners = 0;

        CHECK(pipe(go) == 0 && pipe(done) == 0 && pipe(stop) == 0);
        make_dead("ring");
        for (unsigned i = 0; i < RACERS; i++) {
            if (fork() == 0)
                race(go, done, stop);
        }
        CHECK(write(go[1], "xxxxxxxx", RACERS) == RACERS);
        for (unsigned i = 0; i < RACERS; i++)
            await(done);
        CHECK(write(stop[1], "xxxxxxxx", RACERS) == RACERS);
        for (unsigned i = 0; i < RACERS; i++) {
            int result = end_of(-1);

            CHECK(result == 0 || result == 42);
            winners += result == 42;
        }
        CHECK(winners == 1);
        CHECK(count_on_stage() == 2);
        CHECK(unlink(on_stage("ring")) == 0 && unlink(on_stage("ring.prev")) == 0);
        for (unsigned i = 0; i < 2; i++) {
            close(go[i]);
            close(done[i]);
            close(stop[i]);
        }
    }
}

/* The ring of a program that makes none itself --------------------------------------------------------------------- */

/* What stands at NAME is no ring, and NAME~2 is another process's: then it is the family of NAME.PID, which is bounded.
 */
SCENE(a_held_second_name)
{
    char path[PATH_MAX], expected[PATH_MAX];
    pid_t pid;
    int error;

    CHECK(mkdir(on_stage("app"), 0700) == 0);
    pid = make_live("app~2");
    CHECK(setenv("RIP_DIR", stage, 1) == 0 && setenv("RIP_NAME", "app", 1) == 0);
    CHECK(rip__own_ring_make(path, &error));
    snprintf(expected, sizeof(expected), "%s/app.%d", stage, (int)getpid());
    CHECK(strcmp(path, expected) == 0 && error == EEXIST);
    end(pid);
}
