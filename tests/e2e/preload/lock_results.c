/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_results.c - prints what every kind of lock returns in every state, one line for each case. With and without the
 * preload library the lines must be the same. Each wait lasts long enough for the library to read the holder again.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const struct kind {
    const char *name;
    int type;
    int robust;
    int protocol;
} kinds[] = {
    {"normal", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE},
    {"robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE},
    {"robust recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE},
    {"robust errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE},
    {"inherit", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT},
    {"inherit recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT},
    {"inherit errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT},
    {"inherit robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT},
    {"protect", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_PROTECT},
    {"protect errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_PROTECT},
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

static void say(const char *who, const char *what, int outcome)
{
    printf("%s: %s: %d errno %d\n", who, what, outcome, errno);
    errno = 0;
}

static struct timespec after(clockid_t clock, long ms)
{
    struct timespec time;

    clock_gettime(clock, &time);
    time.tv_sec += ms / 1000;
    time.tv_nsec += ms % 1000 * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void rest(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

static int mutex_of(pthread_mutex_t *mutex, const struct kind *kind)
{
    pthread_mutexattr_t attributes;
    int outcome;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind->type);
    pthread_mutexattr_setrobust(&attributes, kind->robust);
    pthread_mutexattr_setprotocol(&attributes, kind->protocol);
    outcome = pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return outcome;
}

/* A thread that holds a mutex and releases it after some time, or exits while it holds the mutex. */
struct holder {
    pthread_mutex_t *mutex;
    long ms;
    bool dies;
    pthread_barrier_t ready;
};

static void *hold(void *argument)
{
    struct holder *holder = argument;

    pthread_mutex_lock(holder->mutex);
    pthread_barrier_wait(&holder->ready);
    rest(holder->ms);
    if (!holder->dies)
        pthread_mutex_unlock(holder->mutex);
    return NULL;
}

static pthread_t held(struct holder *holder, pthread_mutex_t *mutex, long ms, bool dies)
{
    pthread_t thread;

    holder->mutex = mutex;
    holder->ms = ms;
    holder->dies = dies;
    pthread_barrier_init(&holder->ready, NULL, 2);
    if (pthread_create(&thread, NULL, hold, holder) != 0)
        exit(3);
    pthread_barrier_wait(&holder->ready);
    return thread;
}

static void with_limits(const char *name, pthread_mutex_t *mutex, const char *state)
{
    struct timespec real = after(CLOCK_REALTIME, 50), mono = after(CLOCK_MONOTONIC, 50), wrong = {1, 1000000000};
    char what[64];
    int outcome;

#define TRY(text, call)                                                                                                \
    snprintf(what, sizeof(what), "%s %s", state, text);                                                                \
    outcome = call;                                                                                                    \
    say(name, what, outcome);                                                                                          \
    if (outcome == 0)                                                                                                  \
    pthread_mutex_unlock(mutex)
    TRY("timedlock", pthread_mutex_timedlock(mutex, &real));
    TRY("timedlock of the past", pthread_mutex_timedlock(mutex, &(struct timespec){1, 0}));
    TRY("timedlock of no time", pthread_mutex_timedlock(mutex, &wrong));
    TRY("clocklock", pthread_mutex_clocklock(mutex, CLOCK_REALTIME, &real));
    TRY("clocklock of no clock", pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &mono));
    TRY("trylock", pthread_mutex_trylock(mutex));
}

static void *mutexes_of_kind(void *argument)
{
    const struct kind *kind = argument;
    struct holder holder;
    pthread_mutex_t mutex;
    pthread_t thread;
    int outcome = mutex_of(&mutex, kind);

    errno = 0;
    say(kind->name, "init", outcome);
    if (outcome != 0)
        return NULL;
    outcome = pthread_mutex_lock(&mutex);
    say(kind->name, "free", outcome);
    if (outcome != 0) /* a priority ceiling needs a real-time thread */
        return NULL;
    if (kind->type == PTHREAD_MUTEX_RECURSIVE || kind->type == PTHREAD_MUTEX_ERRORCHECK) {
        outcome = pthread_mutex_lock(&mutex);
        say(kind->name, "held by itself", outcome);
        if (outcome == 0)
            say(kind->name, "unlock", pthread_mutex_unlock(&mutex));
    }
    with_limits(kind->name, &mutex, "held by itself");
    say(kind->name, "unlock", pthread_mutex_unlock(&mutex));
    with_limits(kind->name, &mutex, "free");
    thread = held(&holder, &mutex, 1300, false);
    with_limits(kind->name, &mutex, "held by another");
    say(kind->name, "after a wait", pthread_mutex_lock(&mutex));
    pthread_join(thread, NULL);
    say(kind->name, "owner", (int)(mutex.__data.__owner == gettid()));
    say(kind->name, "unlock", pthread_mutex_unlock(&mutex));
    say(kind->name, "left", mutex.__data.__lock);
    if (kind->robust == PTHREAD_MUTEX_STALLED)
        return NULL;
    thread = held(&holder, &mutex, 1300, true);
    say(kind->name, "of one who dies in the wait", pthread_mutex_lock(&mutex));
    pthread_join(thread, NULL);
    say(kind->name, "consistent", pthread_mutex_consistent(&mutex));
    say(kind->name, "unlock", pthread_mutex_unlock(&mutex));
    thread = held(&holder, &mutex, 0, true);
    pthread_join(thread, NULL);
    say(kind->name, "of one who has died", pthread_mutex_lock(&mutex));
    say(kind->name, "unlock", pthread_mutex_unlock(&mutex));
    say(kind->name, "never made consistent", pthread_mutex_lock(&mutex));
    return NULL;
}

/* C11 ------------------------------------------------------------------------------------------------------------- */

static pthread_barrier_t taken; /* passed when the holder has the lock */
static mtx_t c11_mutex;

static int hold_c11(void *unused)
{
    (void)unused;
    mtx_lock(&c11_mutex);
    pthread_barrier_wait(&taken);
    rest(1300);
    mtx_unlock(&c11_mutex);
    return 0;
}

static void c11(int type, const char *name)
{
    struct timespec until = after(CLOCK_REALTIME, 100);
    thrd_t thread;

    mtx_init(&c11_mutex, type);
    errno = 0;
    say(name, "free", mtx_lock(&c11_mutex));
    say(name, "held by itself", type & mtx_recursive ? mtx_lock(&c11_mutex) : mtx_timedlock(&c11_mutex, &until));
    mtx_unlock(&c11_mutex);
    if (type & mtx_recursive)
        mtx_unlock(&c11_mutex);
    thrd_create(&thread, hold_c11, NULL);
    pthread_barrier_wait(&taken);
    rest(200); /* longer than the timeout */
    errno = 0;
    say(name, "held by another", mtx_timedlock(&c11_mutex, &until));
    say(name, "after a wait", mtx_lock(&c11_mutex));
    mtx_unlock(&c11_mutex);
    thrd_join(thread, NULL);
}

/* rwlocks ---------------------------------------------------------------------------------------------------------- */

static pthread_rwlock_t rwlock;
static bool for_writing;

static void *hold_rwlock(void *unused)
{
    (void)unused;
    if (for_writing)
        pthread_rwlock_wrlock(&rwlock);
    else
        pthread_rwlock_rdlock(&rwlock);
    pthread_barrier_wait(&taken);
    rest(1300);
    pthread_rwlock_unlock(&rwlock);
    return NULL;
}

static void rwlock_state(const char *name, const char *state)
{
    struct timespec real = after(CLOCK_REALTIME, 50), mono = after(CLOCK_MONOTONIC, 50), wrong = {1, 1000000000};
    char what[64];
    int outcome;

#define TRY_RWLOCK(text, call)                                                                                         \
    snprintf(what, sizeof(what), "%s %s", state, text);                                                                \
    outcome = call;                                                                                                    \
    say(name, what, outcome);                                                                                          \
    if (outcome == 0)                                                                                                  \
    pthread_rwlock_unlock(&rwlock)
    TRY_RWLOCK("timedrdlock", pthread_rwlock_timedrdlock(&rwlock, &real));
    TRY_RWLOCK("timedwrlock", pthread_rwlock_timedwrlock(&rwlock, &real));
    TRY_RWLOCK("timedrdlock of no time", pthread_rwlock_timedrdlock(&rwlock, &wrong));
    TRY_RWLOCK("timedwrlock of no time", pthread_rwlock_timedwrlock(&rwlock, &wrong));
    TRY_RWLOCK("clockrdlock", pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &mono));
    TRY_RWLOCK("clockwrlock", pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &mono));
    TRY_RWLOCK("clockrdlock of no clock", pthread_rwlock_clockrdlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &mono));
    TRY_RWLOCK("clockwrlock of no clock", pthread_rwlock_clockwrlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &mono));
}

static void rwlocks(int kind, const char *name)
{
    pthread_rwlockattr_t attributes;
    pthread_t thread;

    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, kind);
    pthread_rwlock_init(&rwlock, &attributes);
    errno = 0;
    rwlock_state(name, "free");
    pthread_rwlock_wrlock(&rwlock);
    say(name, "wrlock held by itself", pthread_rwlock_wrlock(&rwlock));
    say(name, "rdlock held by itself", pthread_rwlock_rdlock(&rwlock));
    rwlock_state(name, "held by itself");
    pthread_rwlock_unlock(&rwlock);
    for (int writing = 0; writing < 2; writing++) {
        for_writing = writing;
        pthread_create(&thread, NULL, hold_rwlock, NULL);
        pthread_barrier_wait(&taken);
        errno = 0;
        rwlock_state(name, writing ? "written" : "read");
        say(name, "wrlock after a wait", pthread_rwlock_wrlock(&rwlock));
        pthread_rwlock_unlock(&rwlock);
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, hold_rwlock, NULL);
        pthread_barrier_wait(&taken);
        errno = 0;
        say(name, "rdlock after a wait", pthread_rwlock_rdlock(&rwlock));
        pthread_rwlock_unlock(&rwlock);
        pthread_join(thread, NULL);
    }
    pthread_rwlock_destroy(&rwlock);
}

int main(int count, char **words)
{
    pthread_t thread;
    int which = count > 1 ? atoi(words[1]) : 0;

    pthread_barrier_init(&taken, NULL, 2);
    if (which < KIND_COUNT) {
        pthread_create(&thread, NULL, mutexes_of_kind, (void *)&kinds[which]);
        pthread_join(thread, NULL);
    } else if (which == KIND_COUNT) {
        c11(mtx_timed, "C11");
        c11(mtx_timed | mtx_recursive, "C11 recursive");
    } else if (which == KIND_COUNT + 1) {
        rwlocks(PTHREAD_RWLOCK_PREFER_READER_NP, "rwlock");
    } else if (which == KIND_COUNT + 2) {
        rwlocks(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, "rwlock for writers");
    } else {
        return 2; /* no such case */
    }
    return 0;
}
