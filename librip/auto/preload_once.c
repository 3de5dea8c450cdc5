/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_once.c - pthread_once() and call_once(): a thread that waits for a routine which another one runs marks that
 * one as the holder.
 *
 * The word of the C library says that some thread runs the routine, and not which. So the routine is called by one of
 * ours, which notes its thread in a table by the address of the word. It has no argument: what to call is in the
 * thread's own memory.
 *
 * Guarantees
 *   A. The wrapped call decides, with the program's word: what is noted here changes nothing but marks.
 *   B. A routine that has run costs one load more.
 *   C. What is noted goes when the routine returns. After an exception, or cancellation, it stays until the next thread
 *      runs the routine, and nobody waits before. (To clean up there takes a library that every program would load.)
 *      Words that share a place in the table have the holder of the last one, or none.
 *   D. The mark promises that the holder lasts only where the thread waits for itself: another one may leave the
 *      routine by an exception, and a third one run it.
 */
#include <threads.h>

#include "preload.h"

#define RUNNERS 64u
#define WORD_RUNNING 1 /* bits of the word, as glibc has them since 2.18 */
#define WORD_DONE 2

/* A routine that is being run. Written by the thread that runs it. */
static struct runner {
    const int *word;
    uint32_t tid;
} runners[RUNNERS];

struct once {
    int *word;
    void (*routine)(void);
};
static __thread struct once *current_once __attribute__((tls_model("initial-exec")));

static struct runner *runner_of(const int *word)
{
    return &runners[(uintptr_t)word / sizeof(*word) % RUNNERS];
}

static void enter(struct runner *runner, const int *word)
{
    rip_store_relaxed(&runner->word, NULL);
    rip_fence_release(); /* pairs with the acquire fence in mark_runner() */
    rip_store_relaxed(&runner->tid, rip__thread.tid);
    rip_store_release(&runner->word, word); /* pairs with the acquire in mark_runner() */
}

/* One that waited before it runs the routine waits no more. */
static void run_routine(void)
{
    const struct once *once = current_once;
    struct runner *runner = runner_of(once->word);

    enter(runner, once->word);
    if (rip__thread.slot != NULL && rip_load_relaxed(&rip__thread.slot->call) == RIP_CALL_LOCK) {
        rip_store_relaxed(&rip__thread.slot->call, RIP_CALL_OUTSIDE);
        rip_wait_end();
    }
    once->routine();
    if (rip_load_relaxed(&runner->word) == once->word)
        rip_store_relaxed(&runner->word, NULL);
}

static void mark_runner(int *word)
{
    const struct runner *runner = runner_of(word);
    uint32_t tid = 0;

    if (rip_load_acquire(&runner->word) == word) {
        tid = rip_load_relaxed(&runner->tid);
        rip_fence_acquire();
        if (rip_load_relaxed(&runner->word) != word)
            tid = 0;
    }
    rip_wait_begin(word, &tid, tid == rip__thread.tid ? RIP_WAIT_OWNER_LASTS : 0);
}

static bool is_running(const int *word)
{
    return (rip_load_relaxed(word) & (WORD_RUNNING | WORD_DONE)) == WORD_RUNNING;
}

static int call(enum preload_call name, struct once *once)
{
    struct once *const before = current_once; /* a signal handler may come in between */
    int outcome;

    current_once = once;
    outcome = ((int (*)(int *, void (*)(void)))preload_function(name))(once->word, run_routine);
    current_once = before;
    return outcome;
}

#define ONCE(type, name, parameters, result)                                                                           \
    PRELOAD_WRAPPER(type, name, parameters)                                                                            \
    {                                                                                                                  \
        struct once once = {(int *)word, routine};                                                                     \
        preload_outer outer;                                                                                           \
        int outcome;                                                                                                   \
                                                                                                                       \
        if (__builtin_expect((rip_load_relaxed(once.word) & WORD_DONE) != 0 || preload_marks_none() ||                 \
                                 (preload_thread.special & PRELOAD_VFORKED) != 0,                                      \
                             1)) {                                                                                     \
            outcome = ((int (*)(int *, void (*)(void)))preload_function(CALL_##name))(once.word, routine);             \
            return result;                                                                                             \
        }                                                                                                              \
        if (!is_running(once.word)) {                                                                                  \
            outcome = call(CALL_##name, &once);                                                                        \
            return result;                                                                                             \
        }                                                                                                              \
        outer = preload_begin(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_LOCK);                 \
        mark_runner(once.word);                                                                                        \
        outcome = call(CALL_##name, &once);                                                                            \
        rip_wait_end();                                                                                                \
        preload_end(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_LOCK, outer);                    \
        return result;                                                                                                 \
    }

ONCE(int, pthread_once, (pthread_once_t * word, void (*routine)(void)), outcome)
ONCE(void, call_once, (once_flag * word, void (*routine)(void)), (void)outcome)
