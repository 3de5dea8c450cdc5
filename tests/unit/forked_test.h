/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forked_test.h - tests that each run in a child process of their own, because a process can have only one ring. They
 * check what a program, and a reader of its ring, can observe.
 *
 * FORKED_TEST(name) { ... } is a test whose body runs in a new child process. A failed CHECK() ends the child. A test
 * that cannot run on this machine calls skip_test("why").
 */
#ifndef FORKED_TEST_H
#define FORKED_TEST_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/descriptors.h"
#include "support/test.h"

#include "rip/reader.h"
#include "rip/rip.h"

#define CHILD_SKIPPED 77
#define CHILD_SECONDS 120

static size_t case_number; /* index of the current case, for the message of CHECK() */

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: check failed: %s (case %zu, errno %d)\n", __FILE__, __LINE__, #condition,          \
                    case_number, errno);                                                                               \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#define FORKED_TEST(name)                                                                                              \
    static void run_##name(void);                                                                                      \
    TEST(name, make_directory, remove_directory)                                                                       \
    {                                                                                                                  \
        run_in_child(run_##name);                                                                                      \
    }                                                                                                                  \
    static void run_##name(void)

static char test_directory[64]; /* on tmpfs, created for each test */

static inline void skip_test(const char *why)
{
    fprintf(stderr, "[  SKIPPED ] %s\n", why);
    _exit(CHILD_SKIPPED);
}

static inline pid_t start_child(void (*body)(void))
{
    pid_t pid = fork();

    if (pid == 0) {
        alarm(CHILD_SECONDS);
        body();
        _exit(0);
    }
    return pid;
}

/* Waits for a child. Returns its exit status, or 1000 + the signal that ended it. */
static inline int exit_status_of(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
        fprintf(stderr, "process %d was ended by signal %d\n", (int)pid, WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/*
 * Forks. Returns true in the child, which must _exit(0). The parent gets false after the child has exited with
 * status 0.
 */
static inline bool in_child(void)
{
    pid_t pid = fork();

    if (pid != 0)
        CHECK(exit_status_of(pid) == 0);
    return pid == 0;
}

/* Forks. Returns true in the child, which must be killed. The parent gets false after that. */
static inline bool in_killed_child(void)
{
    pid_t pid = fork();

    if (pid != 0)
        CHECK(exit_status_of(pid) == 1000 + SIGKILL);
    return pid == 0;
}

static inline void die(void)
{
    kill(getpid(), SIGKILL);
}

static inline void run_in_child(void (*body)(void))
{
    int result = exit_status_of(start_child(body));

    if (result == CHILD_SKIPPED)
        skip();
    assert_int_equal(result, 0);
}

static inline const char *test_path(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", test_directory, name);
    return path;
}

static inline int count_files(void)
{
    DIR *directory = opendir(test_directory);
    struct dirent *entry;
    int count = 0;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

static inline int make_directory(void **state)
{
    (void)state;
    strcpy(test_directory, "/dev/shm/rip-unit-XXXXXX");
    return mkdtemp(test_directory) != NULL && chmod(test_directory, 01777) == 0 ? 0 : -1;
}

static inline int remove_directory(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", test_directory);
    return system(command) == 0 ? 0 : -1;
}

/* Two processes synchronize by one byte in a pipe. */
static inline void signal_pipe(const int pipe_ends[2])
{
    CHECK(write(pipe_ends[1], "x", 1) == 1);
}

static inline void await_pipe(const int pipe_ends[2])
{
    char byte;

    CHECK(read(pipe_ends[0], &byte, 1) == 1);
}

static inline pthread_t start_thread(void *(*function)(void *argument), void *argument)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, function, argument) == 0);
    return thread;
}

static inline void join_thread(pthread_t thread)
{
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Rings and files -------------------------------------------------------------------------------------------------- */

static inline void make_ring(uint32_t max_procs)
{
    CHECK(rip_create_ring(test_path("ring"), max_procs));
}

/* Registers a new id on this thread. */
static inline void register_id(uint32_t id, const char *name)
{
    rip_init(id, name, strlen(name), 0, 0);
}

/* Registers a new id and checks that it was not refused. */
static inline void register_traced(uint32_t id, const char *name)
{
    register_id(id, name);
    CHECK(rip__thread.slot != NULL);
}

/* Makes a ring, and registers id 1 on this thread. */
static inline void make_ring_with_id(uint32_t max_procs)
{
    make_ring(max_procs);
    register_traced(1, "one");
}

/* Registers the ids first to last on this thread, one after the other. */
static inline void register_ids(uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id <= last; id++)
        register_id(id, "x");
}

/* Resumes an id, or registers it, without a name. */
static inline void resume_id(uint32_t id)
{
    rip_init(id, NULL, 0, 1, 1);
}

static inline void snap_times(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        rip_snap();
}

static inline const struct rip_view *own_view(void)
{
    static __thread struct rip_view view;

    CHECK(rip_view_open(&view, rip_ring, rip_ring->file_bytes) == RIP_OK);
    return &view;
}

static inline uint32_t slot_index(const struct rip_slot *slot)
{
    const uint64_t first = (uintptr_t)rip_ring + rip_ring->slot_offset;

    return (uint32_t)(((uintptr_t)slot - first) / rip_ring->slot_stride_bytes);
}

/* The index of the slot of the id on this thread. */
static inline uint32_t own_slot_index(void)
{
    return slot_index(rip__thread.slot);
}

/* Returns the slot of the id on this thread. */
static inline struct rip_slot *own_slot(void)
{
    CHECK(rip__thread.slot != NULL);
    return rip__thread.slot;
}

/* Makes a ring whose process has exited. */
static inline void make_dead_ring(const char *name)
{
    pid_t pid = fork();

    if (pid == 0) {
        CHECK(rip_create_ring(test_path(name), 100));
        register_id(7, "seven");
        _exit(0);
    }
    CHECK(exit_status_of(pid) == 0);
}

/* Makes a ring that is in use until the returned process is killed. */
static inline pid_t make_live_ring(const char *name)
{
    int ready[2];
    pid_t pid;

    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        CHECK(rip_create_ring(test_path(name), 100));
        signal_pipe(ready);
        pause();
    }
    await_pipe(ready);
    return pid;
}

static inline void kill_child(pid_t pid)
{
    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(exit_status_of(pid) == 1000 + SIGKILL);
}

static inline void write_file(const char *name, const char *text)
{
    int descriptor = open(test_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

    CHECK(descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text));
    close(descriptor);
}

static inline bool file_is(const char *name, const char *text)
{
    char found[64] = {0};
    int descriptor = open(test_path(name), O_RDONLY);
    ssize_t bytes = read(descriptor, found, sizeof(found) - 1);

    close(descriptor);
    return bytes == (ssize_t)strlen(text) && strcmp(found, text) == 0;
}

static inline int count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int count = 0;

    while (fgets(line, sizeof(line), maps) != NULL)
        count += strstr(line, test_directory) != NULL || strstr(line, "/dev/shm") != NULL;
    fclose(maps);
    return count;
}

/* Creating this ring fails with this errno and leaves no file, mapping or file descriptor. */
static inline void check_refused(const char *path, uint32_t max_procs, int error)
{
    size_t descriptors = count_descriptors();
    int files = count_files();

    errno = 0;
    if (rip_create_ring(path, max_procs) || errno != error)
        fprintf(stderr, "%s: errno %d, expected %d\n", path != NULL ? path : "NULL", errno, error);
    CHECK(errno == error);
    CHECK(rip_ring == NULL);
    CHECK(count_descriptors() == descriptors);
    CHECK(count_mappings() == 0);
    CHECK(count_files() == files);
}

/* The same for a file in the directory of the test. */
static inline void check_name_refused(const char *name, int error)
{
    check_refused(test_path(name), 5, error);
}

/* A ring of another process, mapped read-only. The file descriptor stays open for F_GETLK. */
struct mapped_ring {
    struct rip_view view;
    int descriptor;
};

static inline struct mapped_ring map_ring(const char *path)
{
    struct mapped_ring mapped_ring = {.descriptor = open(path, O_RDONLY | O_CLOEXEC)};
    struct stat status;
    void *base;

    CHECK(mapped_ring.descriptor >= 0);
    CHECK(fstat(mapped_ring.descriptor, &status) == 0);
    base = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, mapped_ring.descriptor, 0);
    CHECK(base != MAP_FAILED);
    CHECK(rip_view_open(&mapped_ring.view, base, (uint64_t)status.st_size) == RIP_OK);
    return mapped_ring;
}

/* Returns the pid that F_GETLK reports for a byte: 0 = not locked, -1 = locked by an open file description. */
static inline pid_t lock_holder(int descriptor, uint64_t offset)
{
    struct flock lock = {.l_type = F_RDLCK, .l_start = (off_t)offset, .l_len = 1};

    CHECK(fcntl(descriptor, F_GETLK, &lock) == 0);
    return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

static inline size_t live_count(const struct rip_view *view)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[64];
    size_t total = 0, count;

    while ((count = rip_view_scan(view, &position, samples, 64)) > 0)
        total += count;
    return total;
}

static inline size_t own_live_count(void)
{
    return live_count(own_view());
}

static inline struct rip_process_info process_info(const struct rip_view *view, uint32_t index)
{
    struct rip_process_info info;

    CHECK(rip_view_process(view, index, &info) == RIP_OK);
    return info;
}

/* A process of the ring of this process. */
static inline struct rip_process_info own_process_info(uint32_t index)
{
    return process_info(own_view(), index);
}

/*
 * Returns the number of snaps of all ids, as in 2.6 of librip/ABI.md. No thread may register, snap or exit meanwhile.
 */
static inline uint64_t made_count(const struct rip_view *view)
{
    struct rip_scan_position position = {0};
    struct rip_ring_info info;
    struct rip_sample sample;
    uint64_t total = 0;

    while (rip_view_scan(view, &position, &sample, 1) == 1)
        total += sample.progress - sample.counter_bias;
    rip_view_info(view, &info);
    CHECK(info.counts_ended == 1 && info.ended_settled == 1 && position.left_out_count == 0);
    return info.ended_snap_count + total;
}

static inline void sleep_ms(long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

#endif
