/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locker.h - a process that holds the lock of a record of a ring, and what it does next: for the tests of ripd-probe's
 * worker. The ring is made of ring.h alone. The lock, the process and /proc are real.
 */
#ifndef TESTS_UNIT_LOCKER_H
#define TESTS_UNIT_LOCKER_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
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

#include "support/descriptors.h"
#include "support/test.h"

#include "os/capability.h"
#include "support/ring_stage.h"

enum {
    LOCKER_DESCRIPTOR = 100,
    LOCKER_LIFE = 101,
    LOCKER_USER = 61001,
    LOCKER_STRANGER = 61002,
    LOCKER_PATIENCE_MS = 20000
};

/* Waits until the condition is true. The test fails if it does not become true in time. */
#define WAIT_UNTIL(condition)                                                                                          \
    do {                                                                                                               \
        int waited_ms = 0;                                                                                             \
        while (!(condition) && waited_ms++ < LOCKER_PATIENCE_MS)                                                       \
            usleep(1000);                                                                                              \
        assert_true(waited_ms <= LOCKER_PATIENCE_MS);                                                                  \
    } while (0)

struct locker {
    const char *path;
    uint64_t offset; /* of the byte to lock; 0 = lock none */
    int command;     /* F_SETLK, or F_OFD_SETLK */
    uid_t user;      /* to change to after locking; 0 = do not change */
};

/*
 * Takes the LIFE lock of the record, and holds it as librip does: by a mapping. A locker that changes its user may not
 * read its ring any more, so it keeps a descriptor instead.
 */
static inline void locker_live(const struct locker *locker)
{
    struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
    int descriptor = open(locker->path, O_RDWR | O_CLOEXEC);

    lock.l_start = (off_t)(locker->offset - RIP_LOCK_HOLDER_OFFSET + RIP_LOCK_LIFE_OFFSET);
    /* EAGAIN: a process that lost the holder lock still has this one */
    if (fcntl(descriptor, F_OFD_SETLK, &lock) != 0 && errno != EAGAIN)
        abort();
    if (locker->user != 0) {
        if (dup3(descriptor, LOCKER_LIFE, O_CLOEXEC) < 0)
            abort();
    } else if (mmap(NULL, 1, PROT_NONE, MAP_SHARED, descriptor, 0) == MAP_FAILED) {
        abort();
    }
    close(descriptor);
}

static inline void locker_set_user(uid_t user)
{
    if (setresuid(user, user, user) != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
        abort();
}

static inline void locker_lock(void *context)
{
    const struct locker *locker = context;
    struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)locker->offset, .l_len = 1};
    int descriptor;

    if (locker->offset >= RIP_LOCK_HOLDER_OFFSET && locker->offset < RIP_LOCK_LIFE_OFFSET && locker->command == F_SETLK)
        locker_live(locker);
    descriptor = open(locker->path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0 || dup3(descriptor, LOCKER_DESCRIPTOR, O_CLOEXEC) < 0 || close(descriptor) != 0 ||
        (locker->offset != 0 && fcntl(LOCKER_DESCRIPTOR, locker->command, &lock) != 0))
        abort();
    if (locker->user != 0) {
        if (setresgid(locker->user, locker->user, locker->user) != 0)
            abort();
        locker_set_user(locker->user);
    }
}

/* What a locker can do next, when ring_stage_go() is called. */
static inline void locker_lose_lock(void *context)
{
    (void)context;
    close(LOCKER_DESCRIPTOR);
}

static inline void locker_execute(void *context)
{
    char *const arguments[] = {(char[]){"sleep"}, (char[]){"60"}, NULL};

    (void)context;
    execv("/bin/sleep", arguments);
    abort();
}

static inline void locker_hide(void *context)
{
    (void)context;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* A locker that can become another user and come back, as with set-user-id programs. */
static inline void locker_be(uid_t user)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{.effective = 1 << CAP_SETUID, .permitted = 1 << CAP_SETUID}};

    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setresuid(user, user, user) != 0 ||
        syscall(SYS_capset, &header, data) != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
        abort();
}

static inline void locker_lock_and_change_user(void *context)
{
    locker_lock(context);
    locker_be(LOCKER_USER);
}

static inline void locker_change_user_by_turns(void *context)
{
    sigset_t go;
    int number;

    (void)context;
    sigemptyset(&go);
    sigaddset(&go, SIGUSR1);
    for (uid_t user = LOCKER_STRANGER;; user ^= LOCKER_STRANGER ^ LOCKER_USER) {
        locker_be(user);
        sigwait(&go, &number);
    }
}

/* Makes an empty ring that belongs to owner, as librip writes it. */
static inline void locker_ring(const struct ring_stage *stage, const char *name, uid_t owner,
                               struct ring_builder *ret_ring)
{
    const struct ring_geometry geometry = {.slot_capacity = 16};

    ring_stage_build(stage, name, &geometry, ret_ring);
    if (owner != 0)
        assert_int_equal(chown(ring_stage_path(stage, name), owner, owner), 0);
}

/* Writes a record of the process. */
static inline void locker_claim(struct ring_builder *ring, uint32_t record, pid_t pid)
{
    ring_builder_add_process(ring, record, (uint32_t)pid, ring_stage_start_time(pid), "locker");
    ring_builder_process(ring, record)->pid_namespace = ring_stage_pid_namespace();
}

/* Starts a process that holds a lock of its own user. */
static inline pid_t locker_hold(const char *path, uint64_t offset, int command)
{
    struct locker locker = {path, offset, command, 0};

    return ring_stage_start(locker_lock, NULL, &locker);
}

/* Starts a process that holds the lock of a record, and writes the record. */
static inline pid_t locker_start(const struct ring_stage *stage, const char *name, struct ring_builder *ring,
                                 uint32_t record, uid_t user, void (*then)(void *context))
{
    struct locker locker = {ring_stage_path(stage, name), ring->ring->lock_holder_offset + record, F_SETLK, user};
    pid_t pid = ring_stage_start(locker_lock, then, &locker);

    locker_claim(ring, record, pid);
    return pid;
}

static inline bool locker_is_locked(const char *path, uint64_t offset)
{
    struct flock lock = {.l_type = F_RDLCK, .l_start = (off_t)offset, .l_len = 1};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    bool locked = descriptor >= 0 && fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

    if (descriptor >= 0)
        close(descriptor);
    return locked;
}

/* The user that may read the process in /proc: its own user, or root alone. */
static inline uid_t locker_proc_owner(pid_t pid)
{
    struct stat status;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    assert_int_equal(stat(path, &status), 0);
    return status.st_uid;
}

/*
 * Makes "proc", a /proc that shows this process with its real start time, our uids and the given lines in its status.
 * We are in a pid namespace whose number is the inode of a file there.
 */
static inline void locker_make_up_proc(const struct ring_stage *stage, pid_t pid, const char *numbers)
{
    static const char *const real[] = {"maps", "map_files"};
    char name[64], text[256];

    ring_stage_put(stage, "proc/self/ns/pid", "");
    snprintf(text, sizeof(text), "%d (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0", pid,
             (unsigned long long)ring_stage_start_time(pid));
    ring_stage_put_stat(stage, (uint32_t)pid, text);
    snprintf(name, sizeof(name), "proc/%d/stat", pid); /* its owner shows whether the process may be read */
    ring_stage_put(stage, name, text);
    snprintf(name, sizeof(name), "proc/%d/status", pid);
    snprintf(text, sizeof(text), "Uid:\t%u\t%u\t%u\t0\n%s", geteuid(), geteuid(), geteuid(), numbers);
    ring_stage_put(stage, name, text);
    for (size_t i = 0; i < COUNT_OF(real); i++) {
        snprintf(name, sizeof(name), "proc/%d/%s", pid, real[i]);
        snprintf(text, sizeof(text), "/proc/%d/%s", pid, real[i]);
        (void)!symlink(text, ring_stage_path(stage, name));
    }
}

/* Whether we are root and may read the processes of all users. Root in a container may not. */
static inline bool is_root_of_all(void)
{
    uint64_t permitted = 0;

    return geteuid() == 0 && capability_permitted(&permitted) == 0 && (permitted & CAPABILITY(CAP_SYS_PTRACE)) != 0 &&
           (permitted & CAPABILITY(CAP_DAC_READ_SEARCH)) != 0;
}

#endif
