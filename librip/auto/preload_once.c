/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_once.c - pthread_once() and call_once(): a thread that waits until another thread has run the routine marks
 * that thread as the holder.
 *
 * The program's once word says that some thread runs the routine, but not which thread. So the wrapper passes a
 * routine of ours to glibc. This routine records the calling thread in a table, by the address of the word, and calls
 * the program's routine. It takes no argument, so the program's routine is in a thread-local variable.
 *
 * Guarantees
 *   A. The wrapped call decides, with the program's word. The table affects only the marks.
 *   B. A routine that has run costs one additional load.
 *   C. An entry is removed when the routine returns. After an exception or a cancellation the entry stays until the
 *      next thread runs the routine; no thread waits before that. (Removing it there would need a library that every
 *      program would have to load.) Words that share an entry show the holder of the last one, or none.
 *   D. The mark has RIP_WAIT_OWNER_LASTS only if the thread waits for itself. Another holder may leave the routine by
 *      an exception, and a third thread may then run it.
 */
#include <threads.h>

#include "preload.h"

#define RUNNERS 64u
#define WORD_RUNNING 1 /* bits of the word, as glibc has them since 2.18 */
#define WORD_DONE 2

/* A routine that is running. Written by the thread that runs it. */
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

/* If the thread waited before it runs the routine, ends the wait. */
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
    struct once *const before = current_once; /* of an outer call, or of the call that a signal handler interrupted */
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
        if (__builtin_expect((rip_load_relaxed(once.word) & WORD_DONE) != 0 || preload_is_unmarked() ||                \
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
