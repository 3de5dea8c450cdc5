/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lock_wait.c - the holder of a lock, from its bytes: ripd/cases/lock_wait.c. The locks are locks of this C
 * library, held by this thread while other threads wait. The futex calls are those that strace shows; tests/e2e/zoo
 * makes them.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cases/lock_wait.h"
#include "rip/ring.h"
#include "support/guarded_copy.h"
#include "support/test.h"

enum { WAIT_PRIVATE = FUTEX_WAIT | FUTEX_PRIVATE_FLAG, BITSET_PRIVATE = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG };

static uint32_t self;
static struct lock_wait_holder holder; /* that was found last */

/*
 * Finds the first kind of lock that the bytes at memory can be. In the process they are at address 4096, and the call
 * waits on the word at that offset.
 */
static bool holder_at(uint32_t word, const void *memory, size_t size, uint32_t operation, uint32_t value, bool timed)
{
    const struct lock_wait_call call = {4096 + word, operation, value, timed};
    struct lock_wait_place place;
    size_t kind = 0;

    while (lock_wait_next_place(&call, &kind, &place)) {
        struct guarded_copy copy;
        bool found;

        if (place.address < 4096 || place.address - 4096 + place.size > size)
            continue; /* outside the object: unknown memory */
        guarded_copy_new(&copy, (const char *)memory + (place.address - 4096), place.size);
        found = lock_wait_holder_place(kind, copy.bytes, &place);
        guarded_copy_free(&copy);
        if (!found)
            continue;
        if (place.address >= 4096 + size) /* the control block of a thread, in this process */
            guarded_copy_new(&copy, (const char *)(uintptr_t)place.address, place.size);
        else
            guarded_copy_new(&copy, (const char *)memory + (place.address - 4096), place.size);
        found = lock_wait_holder_of(&call, kind, copy.bytes, &holder);
        guarded_copy_free(&copy);
        if (found)
            return true;
    }
    return false;
}

static bool mutex_holder(const void *mutex, uint32_t operation, uint32_t value, bool timed)
{
    return holder_at(0, mutex, sizeof(pthread_mutex_t), operation, value, timed);
}

static void *wait_for_mutex(void *mutex)
{
    if (pthread_mutex_lock(mutex) == 0)
        pthread_mutex_unlock(mutex);
    return NULL;
}

static void *wait_to_read(void *lock)
{
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_unlock(lock);
    return NULL;
}

static void *wait_to_write(void *lock)
{
    pthread_rwlock_wrlock(lock);
    pthread_rwlock_unlock(lock);
    return NULL;
}

static uint32_t word_of(const void *object, size_t offset)
{
    uint32_t word;

    __atomic_load((const uint32_t *)object + offset / 4, &word, __ATOMIC_SEQ_CST);
    return word;
}

static pthread_t start(void *(*wait)(void *lock), void *lock, size_t offset)
{
    const uint32_t before = word_of(lock, offset);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, wait, lock), 0);
    while (word_of(lock, offset) == before)
        usleep(100);
    return thread;
}

/* Mutexes ---------------------------------------------------------------------------------------------------------- */

static const struct {
    int type;
    int robust; /* PTHREAD_MUTEX_ROBUST or 0, and so on */
    int protocol;
    int shared;
    uint32_t operation;
} mutexes[] = {
    {PTHREAD_MUTEX_NORMAL, 0, 0, 0, WAIT_PRIVATE},
    {PTHREAD_MUTEX_RECURSIVE, 0, 0, 0, WAIT_PRIVATE},
    {PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0, WAIT_PRIVATE},
    {PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0, 0, WAIT_PRIVATE},
    {PTHREAD_MUTEX_NORMAL, 0, 0, PTHREAD_PROCESS_SHARED, FUTEX_WAIT},
    {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, 0, 0, FUTEX_WAIT},
    {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST, 0, PTHREAD_PROCESS_SHARED, FUTEX_WAIT},
    {PTHREAD_MUTEX_NORMAL, 0, PTHREAD_PRIO_INHERIT, 0, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG},
    {PTHREAD_MUTEX_NORMAL, 0, PTHREAD_PRIO_INHERIT, 0, 13 | FUTEX_PRIVATE_FLAG}, /* FUTEX_LOCK_PI2 of Linux 5.14 */
};

static void make_mutex(pthread_mutex_t *mutex, size_t number)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, mutexes[number].type);
    pthread_mutexattr_setrobust(&attributes, mutexes[number].robust);
    pthread_mutexattr_setprotocol(&attributes, mutexes[number].protocol);
    pthread_mutexattr_setpshared(&attributes, mutexes[number].shared);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

TEST(every_mutex_names_its_holder)
{
    for (size_t i = 0; i < COUNT_OF(mutexes); i++) {
        pthread_mutex_t mutex;
        pthread_t thread;
        bool found;

        make_mutex(&mutex, i);
        pthread_mutex_lock(&mutex);
        thread = start(wait_for_mutex, &mutex, 0);
        found = mutex_holder(&mutex, mutexes[i].operation, word_of(&mutex, 0), false);
        pthread_mutex_unlock(&mutex);
        pthread_join(thread, NULL);
        pthread_mutex_destroy(&mutex);
        if (!found || holder.address != 4096 || holder.tid != self ||
            holder.flags != ((mutexes[i].protocol != 0 ? LOCK_WAIT_HANDED_ON : 0) |
                             (mutexes[i].operation == FUTEX_WAIT ? RIP_WAIT_SHARED : 0)))
            fail_msg("mutex %zu: holder %u", i, holder.tid);
    }
}

#if defined(__x86_64__)
static void *wait_for_stream(void *unused)
{
    (void)unused;
    flockfile(stdin);
    funlockfile(stdin);
    return NULL;
}

/* The lock of a stream is not part of the stream in glibc. */
TEST(a_stream_names_its_holder)
{
    uint32_t *const lock = (uint32_t *)stdin->_lock;
    struct {
        uint32_t words[4];
    } bytes;
    pthread_t thread;

    flockfile(stdin);
    thread = start(wait_for_stream, lock, 0);
    assert_true(holder_at(0, lock, sizeof(bytes), WAIT_PRIVATE, 2, false));
    assert_true(holder.address == 4096 && holder.tid == self && holder.flags == 0);
    memcpy(&bytes, lock, sizeof(bytes));
    assert_false(holder_at(0, &bytes, sizeof(bytes), WAIT_PRIVATE, 2, true)); /* never has a time limit */
    bytes.words[1] = 0;
    assert_false(holder_at(0, &bytes, sizeof(bytes), WAIT_PRIVATE, 2, false)); /* no holder */
    memcpy(&bytes, lock, sizeof(bytes));
    bytes.words[2] += 64; /* no control block of a thread */
    assert_false(holder_at(0, &bytes, sizeof(bytes), WAIT_PRIVATE, 2, false));
    funlockfile(stdin);
    pthread_join(thread, NULL);
}
#endif

struct bytes {
    uint32_t words[10];
};

/* A change of one word of a lock, or another call: whether that is still a lock with a holder. */
struct change {
    const char *what;
    bool is_lock;
    size_t word;
    uint32_t value;
    uint32_t operation;
    uint32_t awaited;
    bool timed;
};

#define PRIVATE(text, lock, changed, to)                                                                               \
    {                                                                                                                  \
        text, lock, changed, to, WAIT_PRIVATE, 2, false                                                                \
    }

/* Of a normal mutex that thread 77 holds and another thread waits for. */
static const struct change mutex_changes[] = {
    PRIVATE("nothing", true, 0, 2),
    PRIVATE("released since", false, 0, 0),
    PRIVATE("no waiter any more", false, 0, 1),
    PRIVATE("no holder", false, 2, 0),
    PRIVATE("tid too large", false, 2, 4194305),
    PRIVATE("no users", false, 3, 0),
    PRIVATE("half a pointer in place of the number of users", false, 3, 0x7f001234),
    PRIVATE("a count, but not recursive", false, 1, 1),
    PRIVATE("recursive without a count", false, 4, 1),
    PRIVATE("in a list, but not robust", false, 6, 8),
    PRIVATE("a list continues from it", false, 9, 1),
    PRIVATE("has spun", true, 5, 100),
    PRIVATE("unknown kind", false, 4, 4),
    PRIVATE("robust, but another call waits for those", false, 4, 16),
    PRIVATE("lock elision", true, 4, 256),
    PRIVATE("shared, private call", false, 4, 128),
    {"shared, shared call", true, 4, 128, FUTEX_WAIT, 2, false},
    {"private, shared call", false, 4, 0, FUTEX_WAIT, 2, false},
    {"waits for another value", false, 0, 2, WAIT_PRIVATE, 1, false},
    {"another call", false, 0, 2, BITSET_PRIVATE, 2, false},
    {"with a time limit", true, 0, 2, BITSET_PRIVATE, 2, true},
    {"a call that does not wait", false, 0, 2, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 2, false},
    {"condition variable with priority inheritance", false, 0, 2, FUTEX_WAIT_REQUEUE_PI | FUTEX_PRIVATE_FLAG, 2, false},
};

#define ROBUST_WORD (77 | FUTEX_WAITERS)

#define ROBUST(text, lock, changed, to)                                                                                \
    {                                                                                                                  \
        text, lock, changed, to, FUTEX_WAIT, ROBUST_WORD, false                                                        \
    }

/* Of a robust mutex in the same situation. */
static const struct change robust_changes[] = {
    ROBUST("nothing", true, 0, ROBUST_WORD),
    ROBUST("its owner died", false, 0, ROBUST_WORD | FUTEX_OWNER_DIED),
    ROBUST("no waiter any more", false, 0, 77),
    ROBUST("two holders", false, 2, 78),
    ROBUST("not robust", false, 4, 0),
    ROBUST("unknown kind", false, 4, 16 | 1024),
    {"waits for another value", false, 0, ROBUST_WORD, FUTEX_WAIT, 77, false},
};

static void check_changes(const struct bytes *lock, const struct change *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t flags =
            (rows[i].timed ? RIP_WAIT_ENDS : 0) | (rows[i].operation == FUTEX_WAIT ? RIP_WAIT_SHARED : 0);
        struct bytes bytes = *lock;
        bool found;

        bytes.words[rows[i].word] = rows[i].value;
        found = mutex_holder(&bytes, rows[i].operation, rows[i].awaited, rows[i].timed);
        if (found != rows[i].is_lock || (found && (holder.tid != 77 || holder.flags != flags)))
            fail_msg("%s", rows[i].what);
    }
}

TEST(bytes_that_are_no_mutex)
{
    check_changes(&(struct bytes){{2, 0, 77, 1, 0}}, mutex_changes, COUNT_OF(mutex_changes));
    check_changes(&(struct bytes){{ROBUST_WORD, 0, 77, 1, 16}}, robust_changes, COUNT_OF(robust_changes));
}

/* The word of a mutex with priority inheritance is the holder, for the kernel. */
TEST(the_kernels_own_holder)
{
    struct bytes bytes = {{77 | FUTEX_WAITERS}};
    assert_true(mutex_holder(&bytes, FUTEX_LOCK_PI, 0, true));
    assert_true(holder.tid == 77 && holder.flags == (RIP_WAIT_ENDS | LOCK_WAIT_HANDED_ON | RIP_WAIT_SHARED));
    bytes.words[0] |= FUTEX_OWNER_DIED;
    assert_false(mutex_holder(&bytes, FUTEX_LOCK_PI, 0, false));
    bytes.words[0] = 0;
    assert_false(mutex_holder(&bytes, FUTEX_LOCK_PI, 0, false));
}

/* Rwlocks ---------------------------------------------------------------------------------------------------------- */

enum { PHASE = 8, WRITERS = 12, SHARED_WORD = 7, FLAGS_WORD = 12 };

static bool rwlock_holder(const void *lock, uint32_t word, uint32_t value)
{
    return holder_at(word, lock, sizeof(pthread_rwlock_t), BITSET_PRIVATE, value, false);
}

static void assert_rwlock_holder(const void *lock, uint32_t word, uint32_t value, uint32_t tid)
{
    assert_true(rwlock_holder(lock, word, value));
    assert_true(holder.address == 4096 && holder.tid == tid && holder.flags == RIP_WAIT_SHARABLE);
}

TEST(a_writer_is_named)
{
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_t reader, writer;

    pthread_rwlock_wrlock(&lock);
    reader = start(wait_to_read, &lock, PHASE);
    writer = start(wait_to_write, &lock, WRITERS);
    assert_rwlock_holder(&lock, PHASE, 3, self);
    assert_rwlock_holder(&lock, WRITERS, 3, self);
    pthread_rwlock_unlock(&lock);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
}

TEST(readers_are_not_named)
{
    pthread_rwlockattr_t attributes;
    pthread_t writer, reader;
    pthread_rwlock_t lock;

    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock, &attributes);
    pthread_rwlock_rdlock(&lock);
    writer = start(wait_to_write, &lock, PHASE);
    reader = start(wait_to_read, &lock, 0); /* lets the writer go first */
    assert_rwlock_holder(&lock, PHASE, 2, 0);
    assert_rwlock_holder(&lock, 0, word_of(&lock, 0), 0);
    pthread_rwlock_unlock(&lock);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
}

/* The same for rwlocks. */
TEST(bytes_that_are_no_rwlock)
{
    struct rwlock_bytes {
        uint32_t words[14];
    } written = {{3, 0, 3, 3, 0, 0, 77}}, read = {{10, 0, 2, 3}};
    const struct {
        const char *what;
        bool is_lock;
        const struct rwlock_bytes *lock;
        size_t word;
        uint32_t value, waits_on, awaited;
    } rows[] = {
        {"held for writing", true, &written, 0, 3, PHASE, 3},
        {"held for reading", true, &read, 0, 10, PHASE, 2},
        {"waits for another value", false, &written, 0, 3, PHASE, 1},
        {"the writers wait for another value", false, &written, 0, 3, WRITERS, 2},
        {"a writer, but the lock is not held for writing", false, &written, 0, 0, PHASE, 3},
        {"the same, write phase", false, &written, 0, 1, PHASE, 3},
        {"the same, a writer waits", false, &written, 0, 2, PHASE, 3},
        {"tid too large", false, &written, 6, 4194305, PHASE, 3},
        {"shared, private call", false, &written, SHARED_WORD, 1, PHASE, 3},
        {"padding is not 0", false, &written, 4, 1, PHASE, 3},
        {"padding is not 0", false, &written, 5, 1, PHASE, 3},
        {"padding is not 0", false, &written, 10, 1, PHASE, 3},
        {"padding is not 0", false, &written, 11, 1, PHASE, 3},
        {"unknown kind", false, &written, FLAGS_WORD, 3, PHASE, 3},
        {"no reader is left", false, &read, 0, 2, PHASE, 2},
        {"no thread wants to write", false, &read, 0, 8, PHASE, 2},
        {"readers of this kind do not let writers go first", false, &read, 0, 14, 0, 14},
    };
    struct rwlock_bytes bytes;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bytes = *rows[i].lock;
        bytes.words[rows[i].word] = rows[i].value;
        if (rwlock_holder(&bytes, rows[i].waits_on, rows[i].awaited) != rows[i].is_lock ||
            (rows[i].is_lock && holder.tid != bytes.words[6]))
            fail_msg("%s", rows[i].what);
    }
    bytes = written;
    bytes.words[SHARED_WORD] = 1;
    assert_true(holder_at(PHASE, &bytes, sizeof(bytes), FUTEX_WAIT_BITSET, 3, false) && holder.tid == 77);
}

/* Calls ------------------------------------------------------------------------------------------------------------ */

TEST(calls)
{
    uint64_t arguments[6] = {4096, WAIT_PRIVATE, 2, 0};
    struct lock_wait_call call;
    struct lock_wait_place place;

    assert_true(lock_wait_call_of(arguments, &call));
    assert_true(call.address == 4096 && call.operation == WAIT_PRIVATE && call.value == 2 && !call.timed);
    arguments[3] = 64;
    assert_true(lock_wait_call_of(arguments, &call) && call.timed);
    arguments[1] = FUTEX_WAKE;
    assert_false(lock_wait_call_of(arguments, &call));
    arguments[1] = 64; /* larger than all commands */
    assert_false(lock_wait_call_of(arguments, &call));
    call = (struct lock_wait_call){4, BITSET_PRIVATE, 3, false}; /* no rwlock begins before address 0 */
    assert_false(lock_wait_next_place(&call, &(size_t){0}, &place));
    call = (struct lock_wait_call){4097, WAIT_PRIVATE, 2, false}; /* not aligned */
    assert_false(lock_wait_next_place(&call, &(size_t){0}, &place));
}

/* Looks ------------------------------------------------------------------------------------------------------------ */

static void look(struct lock_wait *wait, uint32_t tid, uint64_t begun_mono_ns, bool same)
{
    lock_wait_seen(wait, &(struct lock_wait_holder){4096, tid, 0},
                   &(struct lock_wait_look){begun_mono_ns, begun_mono_ns + 1}, same);
}

/* The first look and the last two are kept while the thread stays in one wait for one holder. */
TEST(looks_that_find_the_same)
{
    struct lock_wait wait = {.until_mono_ns = 0};

    look(&wait, 77, 10, true);
    assert_int_equal(wait.looks[0].begun_mono_ns, 10);
    assert_int_equal(wait.until_mono_ns, 11);
    for (uint64_t now = 20; now <= 40; now += 10)
        look(&wait, 77, now, true);
    assert_int_equal(wait.looks[0].begun_mono_ns, 10);
    assert_int_equal(wait.looks[1].begun_mono_ns, 30);
    assert_int_equal(wait.looks[2].begun_mono_ns, 40);
    assert_int_equal(wait.until_mono_ns, 41);
    look(&wait, 77, 50, false); /* the thread has run: it may be another wait for the same lock */
    assert_int_equal(wait.looks[0].begun_mono_ns, 50);
    assert_int_equal(wait.looks[1].begun_mono_ns, 50);
    look(&wait, 78, 60, true);
    assert_int_equal(wait.looks[0].begun_mono_ns, 60);
    assert_int_equal(wait.holder.tid, 78);
}

int main(void)
{
    self = (uint32_t)syscall(SYS_gettid);
    return tests_run(NULL, NULL);
}
