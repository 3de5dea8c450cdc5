/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lock_wait.c - who owns a lock, from bytes: ripd/cases/lock_wait.c. The locks are real ones of this C library,
 * held by this thread, with others waiting; the calls are those that strace shows. tests/e2e/zoo has the real calls.
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

/* The first lock that the bytes at memory are, if they lie at 4096 in the process and the call waits on their word. */
static bool holder_at(uint32_t word, const void *memory, size_t size, uint32_t operation, uint32_t value, bool timed,
                      struct lock_wait_holder *ret_holder)
{
    const struct lock_wait_call call = {4096 + word, operation, value, timed};
    struct lock_wait_place place;
    size_t kind = 0;

    while (lock_wait_next_place(&call, &kind, &place)) {
        struct guarded_copy copy;
        bool found;

        if (place.address < 4096 || place.address - 4096 + place.size > size)
            continue; /* is not of this object: what lies there is unknown */
        guarded_copy_new(&copy, (const char *)memory + (place.address - 4096), place.size);
        found = lock_wait_holder_place(kind, copy.bytes, &place);
        guarded_copy_free(&copy);
        if (!found)
            continue;
        if (place.address >= 4096 + size) /* the control block of a thread, in our memory */
            guarded_copy_new(&copy, (const char *)(uintptr_t)place.address, place.size);
        else
            guarded_copy_new(&copy, (const char *)memory + (place.address - 4096), place.size);
        found = lock_wait_holder_of(&call, kind, copy.bytes, ret_holder);
        guarded_copy_free(&copy);
        if (found)
            return true;
    }
    return false;
}

static bool mutex_holder(const void *mutex, uint32_t operation, uint32_t value, bool timed,
                         struct lock_wait_holder *ret_holder)
{
    return holder_at(0, mutex, sizeof(pthread_mutex_t), operation, value, timed, ret_holder);
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
    int robust;
    int protocol;
    int shared;
    uint32_t operation;
} mutexes[] = {
    {PTHREAD_MUTEX_NORMAL, 0, 0, 0, WAIT_PRIVATE},
    {PTHREAD_MUTEX_RECURSIVE, 0, 0, 0, WAIT_PRIVATE},
    {PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0, WAIT_PRIVATE},
    {PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0, 0, WAIT_PRIVATE},
    {PTHREAD_MUTEX_NORMAL, 0, 0, 1, FUTEX_WAIT},
    {PTHREAD_MUTEX_NORMAL, 1, 0, 0, FUTEX_WAIT},
    {PTHREAD_MUTEX_RECURSIVE, 1, 0, 1, FUTEX_WAIT},
    {PTHREAD_MUTEX_NORMAL, 0, 1, 0, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG},
    {PTHREAD_MUTEX_NORMAL, 0, 1, 0, 13 | FUTEX_PRIVATE_FLAG}, /* FUTEX_LOCK_PI2 of Linux 5.14 */
};

static void make_mutex(pthread_mutex_t *mutex, size_t number)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, mutexes[number].type);
    if (mutexes[number].robust)
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (mutexes[number].protocol)
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutexattr_setpshared(&attributes, mutexes[number].shared);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

TEST(every_mutex_names_its_holder)
{
    for (size_t i = 0; i < sizeof(mutexes) / sizeof(mutexes[0]); i++) {
        struct lock_wait_holder holder = {0};
        pthread_mutex_t mutex;
        pthread_t thread;
        bool found;

        make_mutex(&mutex, i);
        pthread_mutex_lock(&mutex);
        thread = start(wait_for_mutex, &mutex, 0);
        found = mutex_holder(&mutex, mutexes[i].operation, word_of(&mutex, 0), false, &holder);
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

/* glibc has the lock of a stream elsewhere than the stream. */
TEST(a_stream_names_its_holder)
{
    uint32_t *const lock = (uint32_t *)stdin->_lock;
    struct lock_wait_holder holder = {0};
    struct {
        uint32_t words[4];
    } bytes;
    pthread_t thread;

    flockfile(stdin);
    thread = start(wait_for_stream, lock, 0);
    assert_true(holder_at(0, lock, sizeof(bytes), WAIT_PRIVATE, 2, false, &holder));
    assert_true(holder.address == 4096 && holder.tid == self && holder.flags == 0);
    memcpy(&bytes, lock, sizeof(bytes));
    assert_false(
        holder_at(0, &bytes, sizeof(bytes), WAIT_PRIVATE, 2, true, &holder)); /* nobody waits so with a limit */
    bytes.words[1] = 0;
    assert_false(holder_at(0, &bytes, sizeof(bytes), WAIT_PRIVATE, 2, false, &holder)); /* held, by nobody */
    memcpy(&bytes, lock, sizeof(bytes));
    bytes.words[2] += 64;
    assert_false(
        holder_at(0, &bytes, sizeof(bytes), WAIT_PRIVATE, 2, false, &holder)); /* no control block of a thread */
    funlockfile(stdin);
    pthread_join(thread, NULL);
}
#endif

/* A normal mutex that is held and waited for, as bytes. */
struct bytes {
    uint32_t words[10];
};
static const struct bytes held = {{2, 0, 77, 1, 0}};

/* What is changed in it, and whether it is a mutex then. */
static const struct {
    const char *what;
    size_t word;
    uint32_t value;
    uint32_t operation;
    uint32_t awaited;
    bool timed;
    bool is_one;
} changes[] = {
    {"nothing", 0, 2, WAIT_PRIVATE, 2, false, true},
    {"it is free by now", 0, 0, WAIT_PRIVATE, 2, false, false},
    {"nobody waits any more", 0, 1, WAIT_PRIVATE, 2, false, false},
    {"no holder", 2, 0, WAIT_PRIVATE, 2, false, false},
    {"no thread has such a number", 2, 4194305, WAIT_PRIVATE, 2, false, false},
    {"nobody uses it", 3, 0, WAIT_PRIVATE, 2, false, false},
    {"half a pointer where users are counted", 3, 0x7f001234, WAIT_PRIVATE, 2, false, false},
    {"it counts, and cannot be locked again", 1, 1, WAIT_PRIVATE, 2, false, false},
    {"it can be locked again, and does not count", 4, 1, WAIT_PRIVATE, 2, false, false},
    {"in a list, and not robust", 6, 8, WAIT_PRIVATE, 2, false, false},
    {"a list goes on from it", 9, 1, WAIT_PRIVATE, 2, false, false},
    {"it has spun", 5, 100, WAIT_PRIVATE, 2, false, true},
    {"a kind that there is not", 4, 4, WAIT_PRIVATE, 2, false, false},
    {"a robust one is waited for in another way", 4, 16, WAIT_PRIVATE, 2, false, false},
    {"one with elision", 4, 256, WAIT_PRIVATE, 2, false, true},
    {"shared, waited for as a private one", 4, 128, WAIT_PRIVATE, 2, false, false},
    {"shared, waited for as such", 4, 128, FUTEX_WAIT, 2, false, true},
    {"private, waited for as a shared one", 4, 0, FUTEX_WAIT, 2, false, false},
    {"a word of another kind", 0, 2, WAIT_PRIVATE, 1, false, false},
    {"a call of another kind", 0, 2, BITSET_PRIVATE, 2, false, false},
    {"with a time limit", 0, 2, BITSET_PRIVATE, 2, true, true},
    {"no wait", 0, 2, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 2, false, false},
    {"a condition of priority", 0, 2, FUTEX_WAIT_REQUEUE_PI | FUTEX_PRIVATE_FLAG, 2, false, false},
};

TEST(what_is_no_mutex)
{
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct lock_wait_holder holder = {0};
        struct bytes bytes = held;
        bool found;

        bytes.words[changes[i].word] = changes[i].value;
        found = mutex_holder(&bytes, changes[i].operation, changes[i].awaited, changes[i].timed, &holder);
        if (found != changes[i].is_one || (found && holder.tid != 77) ||
            (found && holder.flags != ((changes[i].timed ? RIP_WAIT_ENDS : 0) |
                                       (changes[i].operation == FUTEX_WAIT ? RIP_WAIT_SHARED : 0))))
            fail_msg("%s", changes[i].what);
    }
}

TEST(what_is_no_robust_mutex)
{
    const uint32_t word = 77 | FUTEX_WAITERS;
    const struct bytes good = {{word, 0, 77, 1, 16}};
    struct bytes bytes = good;
    struct lock_wait_holder holder;

    assert_true(mutex_holder(&bytes, FUTEX_WAIT, word, false, &holder));
    assert_int_equal(holder.tid, 77);
    bytes.words[0] |= FUTEX_OWNER_DIED;
    assert_false(mutex_holder(&bytes, FUTEX_WAIT, word, false, &holder));
    bytes = good;
    bytes.words[0] &= ~(uint32_t)FUTEX_WAITERS;
    assert_false(mutex_holder(&bytes, FUTEX_WAIT, word, false, &holder));
    bytes = good;
    bytes.words[2] = 78;
    assert_false(mutex_holder(&bytes, FUTEX_WAIT, word, false, &holder));
    bytes = good;
    bytes.words[4] = 0;
    assert_false(mutex_holder(&bytes, FUTEX_WAIT, word, false, &holder));
    bytes.words[4] = 16 | 1024;
    assert_false(mutex_holder(&bytes, FUTEX_WAIT, word, false, &holder));
    assert_false(mutex_holder(&good, FUTEX_WAIT, 77, false, &holder));
}

TEST(the_kernels_own_holder)
{
    struct bytes bytes = {{77 | FUTEX_WAITERS}};
    struct lock_wait_holder holder;

    assert_true(mutex_holder(&bytes, FUTEX_LOCK_PI, 0, true, &holder));
    assert_true(holder.tid == 77 && holder.flags == (RIP_WAIT_ENDS | LOCK_WAIT_HANDED_ON | RIP_WAIT_SHARED));
    bytes.words[0] |= FUTEX_OWNER_DIED;
    assert_false(mutex_holder(&bytes, FUTEX_LOCK_PI, 0, false, &holder));
    bytes.words[0] = 0;
    assert_false(mutex_holder(&bytes, FUTEX_LOCK_PI, 0, false, &holder));
}

/* Rwlocks ---------------------------------------------------------------------------------------------------------- */

enum { PHASE = 8, WRITERS = 12, SHARED_WORD = 7, FLAGS_WORD = 12 };

static bool rwlock_holder(const void *lock, uint32_t word, uint32_t value, struct lock_wait_holder *ret_holder)
{
    return holder_at(word, lock, sizeof(pthread_rwlock_t), BITSET_PRIVATE, value, false, ret_holder);
}

TEST(a_writer_is_named)
{
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    struct lock_wait_holder holder;
    pthread_t reader, writer;

    pthread_rwlock_wrlock(&lock);
    reader = start(wait_to_read, &lock, PHASE);
    writer = start(wait_to_write, &lock, WRITERS);
    assert_true(rwlock_holder(&lock, PHASE, 3, &holder));
    assert_true(holder.address == 4096 && holder.tid == self && holder.flags == RIP_WAIT_SHARABLE);
    assert_true(rwlock_holder(&lock, WRITERS, 3, &holder));
    assert_true(holder.address == 4096 && holder.tid == self && holder.flags == RIP_WAIT_SHARABLE);
    pthread_rwlock_unlock(&lock);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
}

TEST(readers_are_not_named)
{
    pthread_rwlockattr_t attributes;
    struct lock_wait_holder holder;
    pthread_t writer, reader;
    pthread_rwlock_t lock;

    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock, &attributes);
    pthread_rwlock_rdlock(&lock);
    writer = start(wait_to_write, &lock, PHASE);
    reader = start(wait_to_read, &lock, 0); /* stands back for the writer */
    assert_true(rwlock_holder(&lock, PHASE, 2, &holder));
    assert_true(holder.address == 4096 && holder.tid == 0 && holder.flags == RIP_WAIT_SHARABLE);
    assert_true(rwlock_holder(&lock, 0, word_of(&lock, 0), &holder));
    assert_true(holder.address == 4096 && holder.tid == 0 && holder.flags == RIP_WAIT_SHARABLE);
    pthread_rwlock_unlock(&lock);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
}

TEST(what_is_no_rwlock)
{
    struct rwlock_bytes {
        uint32_t words[14];
    } written = {{3, 0, 3, 3, 0, 0, 77}}, read = {{10, 0, 2, 3}}, bytes;
    struct lock_wait_holder holder;

    assert_true(rwlock_holder(&written, PHASE, 3, &holder) && holder.tid == 77);
    assert_true(rwlock_holder(&read, PHASE, 2, &holder) && holder.tid == 0);
    assert_false(rwlock_holder(&written, PHASE, 1, &holder));
    assert_false(rwlock_holder(&written, WRITERS, 2, &holder));
    for (uint32_t readers = 0; readers < 3; readers++) { /* a writer, and yet the lock is not one's */
        bytes = written;
        bytes.words[0] = readers;
        assert_false(rwlock_holder(&bytes, PHASE, 3, &holder));
    }
    bytes = written;
    bytes.words[6] = 4194305;
    assert_false(rwlock_holder(&bytes, PHASE, 3, &holder));
    bytes = written;
    bytes.words[SHARED_WORD] = 1;
    assert_false(rwlock_holder(&bytes, PHASE, 3, &holder));
    assert_true(holder_at(PHASE, &bytes, sizeof(bytes), FUTEX_WAIT_BITSET, 3, false, &holder) && holder.tid == 77);
    for (size_t word = 0; word < 14; word++) { /* nothing is in these */
        bytes = written;
        bytes.words[word] = 1;
        if (word == 4 || word == 5 || word == 10 || word == 11)
            assert_false(rwlock_holder(&bytes, PHASE, 3, &holder));
    }
    bytes = written;
    bytes.words[FLAGS_WORD] = 3;
    assert_false(rwlock_holder(&bytes, PHASE, 3, &holder));
    bytes = read;
    bytes.words[0] = 2; /* no reader is left */
    assert_false(rwlock_holder(&bytes, PHASE, 2, &holder));
    bytes.words[0] = 8; /* nobody wants to write */
    assert_false(rwlock_holder(&bytes, PHASE, 2, &holder));
    bytes.words[0] = 14;
    assert_false(rwlock_holder(&bytes, 0, 14, &holder)); /* one of this kind does not stand back */
}

/* Calls ------------------------------------------------------------------------------------------------------------ */

TEST(calls)
{
    uint64_t arguments[6] = {4096, WAIT_PRIVATE, 2, 0};
    struct lock_wait_call call;
    struct lock_wait_place place;
    size_t kind = 0;

    assert_true(lock_wait_call_of(arguments, &call));
    assert_true(call.address == 4096 && call.operation == WAIT_PRIVATE && call.value == 2 && !call.timed);
    arguments[3] = 64;
    assert_true(lock_wait_call_of(arguments, &call) && call.timed);
    arguments[1] = FUTEX_WAKE;
    assert_false(lock_wait_call_of(arguments, &call));
    arguments[1] = 64; /* beyond all commands */
    assert_false(lock_wait_call_of(arguments, &call));
    call = (struct lock_wait_call){4, BITSET_PRIVATE, 3, false}; /* no rwlock lies below address 0 */
    assert_false(lock_wait_next_place(&call, &kind, &place));
    call = (struct lock_wait_call){4097, WAIT_PRIVATE, 2, false};
    kind = 0;
    assert_false(lock_wait_next_place(&call, &kind, &place));
}

/* Looks ------------------------------------------------------------------------------------------------------------ */

TEST(looks_that_find_the_same)
{
    const struct lock_wait_holder one = {4096, 77, 0}, other = {4096, 78, 0};
    struct lock_wait wait = {.until_mono_ns = 0};

    lock_wait_seen(&wait, &one, &(struct lock_wait_look){10, 11}, true);
    assert_int_equal(wait.looks[0].begun_mono_ns, 10);
    assert_int_equal(wait.until_mono_ns, 11);
    lock_wait_seen(&wait, &one, &(struct lock_wait_look){20, 21}, true);
    lock_wait_seen(&wait, &one, &(struct lock_wait_look){30, 31}, true);
    lock_wait_seen(&wait, &one, &(struct lock_wait_look){40, 41}, true);
    assert_int_equal(wait.looks[0].begun_mono_ns, 10);
    assert_int_equal(wait.looks[1].begun_mono_ns, 30);
    assert_int_equal(wait.looks[2].begun_mono_ns, 40);
    assert_int_equal(wait.until_mono_ns, 41);
    lock_wait_seen(&wait, &one, &(struct lock_wait_look){50, 51},
                   false); /* the same once more, for all that is known */
    assert_int_equal(wait.looks[0].begun_mono_ns, 50);
    assert_int_equal(wait.looks[1].begun_mono_ns, 50);
    lock_wait_seen(&wait, &other, &(struct lock_wait_look){60, 61}, true);
    assert_int_equal(wait.looks[0].begun_mono_ns, 60);
    assert_int_equal(wait.holder.tid, 78);
}

int main(void)
{
    self = (uint32_t)syscall(SYS_gettid);
    return tests_run(NULL, NULL);
}
