/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_scene.h - scenes: a process has one ring for good, so each test of the writer plays in a process of its own.
 * What is looked at is what a program and a reader of its ring see.
 *
 * SCENE(name) { ... } is a test whose body runs in a fresh child; CHECK() ends that child.
 * A scene that cannot be played here calls cannot("why"), which skips the test and says so.
 */
#ifndef RING_SCENE_H
#define RING_SCENE_H

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

#define SCENE_SKIPPED 77
#define SCENE_SECONDS 120

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);                  \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#define SCENE(name)                                                                                                    \
    static void scene_##name(void);                                                                                    \
    TEST(name, set_stage, clear_stage)                                                                                 \
    {                                                                                                                  \
        play(scene_##name);                                                                                            \
    }                                                                                                                  \
    static void scene_##name(void)

static char stage[64]; /* directory on tmpfs, new for each test */

static inline void cannot(const char *why)
{
    fprintf(stderr, "[  SKIPPED ] %s\n", why);
    _exit(SCENE_SKIPPED);
}

static inline pid_t start(void (*scene)(void))
{
    pid_t pid = fork();

    if (pid == 0) {
        alarm(SCENE_SECONDS);
        scene();
        _exit(0);
    }
    return pid;
}

/* What became of a child: its exit status, or 1000 + the signal. */
static inline int end_of(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
        fprintf(stderr, "process %d was ended by signal %d\n", (int)pid, WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Of what fork() returned: true in the child, which has to _exit(0) for it to be false in the parent. */
static inline bool in_child(pid_t pid)
{
    if (pid != 0)
        CHECK(end_of(pid) == 0);
    return pid == 0;
}

static inline void play(void (*scene)(void))
{
    int result = end_of(start(scene));

    if (result == SCENE_SKIPPED)
        skip();
    assert_int_equal(result, 0);
}

static inline const char *on_stage(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", stage, name);
    return path;
}

static inline int count_on_stage(void)
{
    DIR *directory = opendir(stage);
    struct dirent *entry;
    int count = 0;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

static inline int set_stage(void **state)
{
    (void)state;
    strcpy(stage, "/dev/shm/rip-unit-XXXXXX");
    return mkdtemp(stage) != NULL && chmod(stage, 01777) == 0 ? 0 : -1;
}

static inline int clear_stage(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", stage);
    return system(command) == 0 ? 0 : -1;
}

/* One byte lets another process go on. */
static inline void signal_pipe(const int pipe_ends[2])
{
    CHECK(write(pipe_ends[1], "x", 1) == 1);
}

static inline void await(const int pipe_ends[2])
{
    char byte;

    CHECK(read(pipe_ends[0], &byte, 1) == 1);
}

static inline pthread_t begin_thread(void *(*function)(void *argument), void *argument)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, function, argument) == 0);
    return thread;
}

static inline void end_thread(pthread_t thread)
{
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Files on stage ------------------------------------------------------------------------------------------------- */

static inline void make_ring(uint32_t max_procs)
{
    CHECK(rip_create_ring(on_stage("ring"), max_procs));
}

/* A fresh id on this thread. */
static inline void begin_id(uint32_t id, const char *name)
{
    rip_init(id, name, strlen(name), 0, 0);
}

/* The same, which is not refused. */
static inline void begin_traced(uint32_t id, const char *name)
{
    begin_id(id, name);
    CHECK(rip__thread.slot != NULL);
}

static inline void snap_times(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        rip_snap();
}

/* Of the ring of this process. */
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

/* Of the id on this thread. */
static inline struct rip_slot *own_slot(void)
{
    CHECK(rip__thread.slot != NULL);
    return rip__thread.slot;
}

/* A ring whose process is gone. */
static inline void make_dead(const char *name)
{
    pid_t pid = fork();

    if (pid == 0) {
        CHECK(rip_create_ring(on_stage(name), 100));
        begin_id(7, "seven");
        _exit(0);
    }
    CHECK(end_of(pid) == 0);
}

/* A ring that lives until the returned process is killed. */
static inline pid_t make_live(const char *name)
{
    int ready[2];
    pid_t pid;

    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        alarm(SCENE_SECONDS);
        CHECK(rip_create_ring(on_stage(name), 100));
        signal_pipe(ready);
        pause();
    }
    await(ready);
    return pid;
}

static inline void end(pid_t pid)
{
    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(end_of(pid) == 1000 + SIGKILL);
}

static inline void write_file(const char *name, const char *text)
{
    int descriptor = open(on_stage(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

    CHECK(descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text));
    close(descriptor);
}

static inline bool file_is(const char *name, const char *text)
{
    char found[64] = {0};
    int descriptor = open(on_stage(name), O_RDONLY);
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
        count += strstr(line, stage) != NULL || strstr(line, "/dev/shm") != NULL;
    fclose(maps);
    return count;
}

/* Fails with that errno and leaves nothing. */
static inline void check_refused(const char *path, uint32_t max_procs, int error)
{
    size_t descriptors = count_descriptors();
    int files = count_on_stage();

    errno = 0;
    if (rip_create_ring(path, max_procs) || errno != error)
        fprintf(stderr, "%s: errno %d, expected %d\n", path != NULL ? path : "NULL", errno, error);
    CHECK(errno == error);
    CHECK(rip_ring == NULL);
    CHECK(count_descriptors() == descriptors);
    CHECK(count_mappings() == 0);
    CHECK(count_on_stage() == files);
}

/* A ring to look at, from a process that has no ring itself. The descriptor is kept for F_GETLK. */
struct looker {
    struct rip_view view;
    int descriptor;
};

static inline struct looker look(const char *path)
{
    struct looker looker = {.descriptor = open(path, O_RDONLY | O_CLOEXEC)};
    struct stat status;
    void *base;

    CHECK(looker.descriptor >= 0);
    CHECK(fstat(looker.descriptor, &status) == 0);
    base = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, looker.descriptor, 0);
    CHECK(base != MAP_FAILED);
    CHECK(rip_view_open(&looker.view, base, (uint64_t)status.st_size) == RIP_OK);
    return looker;
}

/* The pid that F_GETLK names for a byte, 0 = not locked, -1 = an open file description. */
static inline pid_t holder_of(int descriptor, uint64_t offset)
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

/* Of the ring of this process. */
static inline size_t own_live_count(void)
{
    return live_count(own_view());
}

static inline struct rip_process_info info_of(const struct rip_view *view, uint32_t index)
{
    struct rip_process_info info;

    CHECK(rip_view_process(view, index, &info) == RIP_OK);
    return info;
}

/* The snaps of all ids, by 2.6 of librip/ABI.md; for when nobody else is running. */
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
