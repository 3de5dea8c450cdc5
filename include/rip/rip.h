/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rip.h - what an application calls.
 *
 * A program makes one ring. Each of its threads (or coroutines) takes an id in the ring. rip_snap() stores the current
 * instruction pointer and a count under that id. A daemon that maps the ring sees which counts have stopped.
 *
 * Guarantees
 *   A. rip_snap(), rip_idle() and rip_switch() take no lock, never fail and make no system call, except one gettid(2)
 *      at the first rip_switch() of a thread. They may be called at any time: before a ring exists, without an id and
 *      after rip_exit() they do nothing.
 *   B. rip_snap(), rip_snap_at(), rip_idle(), rip_deadline_ms(), rip_note(), rip_flush() and rip_wait_*() are
 *      async-signal-safe. A snap or rip_idle() may interrupt another one: the count never goes back. The other
 *      functions are not async-signal-safe.
 *   C. All functions are thread-safe. An id must not be on two threads at the same time.
 *   D. No function logs, aborts, starts a thread, installs a signal handler or changes errno. Exception: a function
 *      that returns false sets errno.
 *   E. If tracing is not possible (ring full, out of memory, process table full), the caller runs on untraced. A
 *      counter in the ring counts the refusals.
 *
 * Compiles as C11 or later and C++17 or later, with gcc and clang, for Linux.
 */
#ifndef RIP_RIP_H
#define RIP_RIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rip/order.h"
#include "rip/ring.h"

#ifdef __cplusplus
#define RIP_THREAD_LOCAL thread_local
#else
#define RIP_THREAD_LOCAL _Thread_local
#endif

/* Default visibility even in a program built with -fvisibility=hidden: the library would never update a second copy. */
#define RIP_API __attribute__((visibility("default")))

#ifdef __cplusplus
/* These warnings are about code that is both C and C++. They must not appear in programs that include this header. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
extern "C" {
#endif

/*
 * The globals. The library defines them as weak symbols; a program may define them itself. The program may read them;
 * only the library writes them. Before the first snap, rip_idx and rip_ctr have the values given to rip_init().
 */
extern RIP_API RIP_THREAD_LOCAL pid_t rip_tid;   /* id given to rip_init() by this thread; 0 = none */
extern RIP_API RIP_THREAD_LOCAL uint8_t rip_idx; /* index of the last snap, modulo 256 */
extern RIP_API RIP_THREAD_LOCAL uint8_t rip_ctr; /* counter packed into the last snap, modulo 256 */
extern RIP_API struct rip_ring *rip_ring;        /* the mapped ring; NULL before rip_create_ring() */

/*
 * Makes the ring of this process: a new file on tmpfs or ramfs, mode 0640 regardless of the umask. The ring has room
 * for max_procs ids that are live at the same time (0 = the kernel's pid_max). max_procs does not limit the value of an
 * id.
 *
 * A second call with the same file returns true and changes nothing. An empty file at that name is replaced. A ring
 * whose processes have all ended is renamed to FILE.prev and replaces an older FILE.prev.
 *
 * A forked child shares the ring and enters itself at its first rip_init(). It inherits no file descriptor of the ring:
 * it opens the ring by its path. A child that has dropped its uid before that is traced, but ripd reads no privileged
 * evidence about it ("attested": false).
 *
 * With RIP_DISABLE=1 in the environment the function makes nothing and returns true: nothing is traced.
 *
 * Processes that share a ring must trust each other. Each of them can remove pages of the mapping (MADV_REMOVE), and on
 * a full tmpfs the others then die by SIGBUS. Do not run untrusted code in a forked child, not even under another uid,
 * unless the child calls exec or unmaps the ring first. (Under `rip run` a process that changes its user gets a ring of
 * its own.)
 *
 * Returns true on success. On failure returns false, leaves nothing behind and sets errno:
 *   EBUSY        the process has another ring, or a live process holds the ring at that name
 *   EEXIST       something other than a ring is at that name, or at FILE.prev if that name is needed
 *   EOPNOTSUPP   the directory is not on tmpfs or ramfs
 *   EINVAL       file is NULL or empty, or max_procs is above RIP_CAPACITY_MAX
 *   EFBIG        the file would be larger than RLIMIT_FSIZE
 *   ENOSPC       the file system cannot back the header
 *   EDEADLK      this thread is inside another call of this library
 *   and the errors of open(2), mmap(2) and linkat(2).
 */
RIP_API bool rip_create_ring(const char *file, uint32_t max_procs);

/* As rip_create_ring(), with options. Set size_bytes to sizeof(struct rip_options) and every unused field to 0. */
struct rip_options {
    size_t size_bytes;
    const char *file;
    uint32_t max_procs;
    uint32_t flags; /* must be 0; otherwise EINVAL */
};
RIP_API bool rip_create_ring_with(const struct rip_options *options);

/*
 * Puts id on this thread; 0 = the thread's own kernel tid. namelen bytes of name are copied, of which RIP_NAME_BYTES
 * are kept. The name need be neither terminated nor valid UTF-8. The id that was on this thread before stays live, on
 * no thread.
 *
 * An id starts fresh (progress 0, no trail) if idx and ctr are both 0 and name is not NULL. Otherwise it is resumed:
 * its progress and trail stay. A live id of this process whose progress is a multiple of 256 is always resumed. To
 * resume, pass in idx and ctr the values that rip_idx and rip_ctr had when the id was last on a thread. A NULL name
 * keeps the name.
 *
 * An id ends by rip_exit(), with the thread that it is on, or with its process. If the ring is full or there is no
 * memory for the slot, the thread is not traced and the ring counts the refusal.
 */
RIP_API void rip_init(uint32_t id, const char *name, size_t namelen, uint8_t idx, uint8_t ctr);

/*
 * Registers a function of a script, for runtimes of other languages. A line of the function can then be recorded as a
 * location, like an address of machine code:
 *
 *     uint64_t function = rip_script_enter(path, path_length, name, name_length, first_line);
 *     rip_snap_at(RIP_SCRIPT_LINE(function, line));
 *
 * file is the path of the script, function the name of the function with its class or module ("Order#place"). Both need
 * be neither terminated nor valid UTF-8. Of a longer path the last RIP_SCRIPT_FILE_BYTES are kept, of a longer name the
 * first RIP_SCRIPT_FUNCTION_BYTES. first_line is the first line of the function; 0 = not known.
 *
 * The same three values give the same number. The number is valid in this process and its forked children as long as
 * rip_script_epoch() does not change; it changes when the process gets another ring. Looking up a known function takes
 * about 50 ns and no lock. A ring has room for RIP_SCRIPT_MAX functions and counts the functions that did not fit.
 *
 * Returns 0 if there is no ring or no room: the caller then snaps at another address. Thread-safe. Not
 * async-signal-safe.
 */
RIP_API uint64_t rip_script_enter(const char *file, size_t file_length, const char *function, size_t function_length,
                                  uint32_t first_line);
RIP_API uint32_t rip_script_epoch(void);
#define RIP_SCRIPT_LINE(script, line) ((const void *)(uintptr_t)((script) | ((line)&RIP_PLACE_LINE_MASK)))

/* Ends the id on this thread. Does nothing if there is none. */
RIP_API void rip_exit(void);

/* Records address for the id on this thread, as rip_snap() does. A real function, for foreign-function interfaces. */
RIP_API void rip_snap_at(const void *address);

/*
 * Sets the threshold of the id on this thread, in milliseconds: the id is stalled when it has not moved for ms. 0 = no
 * threshold of its own. A --rule of ripd for the name of the id has priority over it; it has priority over
 * --stall-after. A fresh id has no threshold, a resumed id keeps its threshold. The value takes effect on ripd's next
 * scan. ripd cannot measure times shorter than a sixteenth of its --interval. Does nothing without an id.
 * Async-signal-safe.
 */
RIP_API void rip_deadline_ms(uint32_t ms);

/*
 * Says what the id on this thread is doing, as text for people: "GET /checkout?id=7". ripd shows the note with a stall
 * and in lists until the next note. NULL or length 0 removes the note. length bytes are copied, of which RIP_NOTE_BYTES
 * are kept. The text need be neither terminated nor valid UTF-8. Do not put secrets into a note: everyone who may read
 * the ring sees them. A fresh id has no note, a resumed id keeps its note. A reader never sees half of a note, and sees
 * no note while one is being written. Does nothing without an id. Async-signal-safe: a note made by a signal handler in
 * the middle of another rip_note() is shown until the interrupted call completes.
 */
RIP_API void rip_note(const char *text, size_t length);

/*
 * Records that the id on this thread waits for a lock, so that a reader of the ring sees which id blocks which. The
 * preload library does this for mutexes and rwlocks. A runtime with its own locks calls these functions around its
 * wait, only if it has to wait:
 *
 *     rip_snap();
 *     rip_wait_begin(lock, &lock->owner, 0);
 *     while (!lock_within(lock, pause))   // pauses of 1 s, 2 s, 4 s ... up to a minute
 *         rip_wait_look(&lock->owner);
 *     rip_wait_end();
 *
 * rip_wait_begin() marks the id on this thread as waiting. lock is only compared, never dereferenced. *owner is the tid
 * of the thread that holds the lock, or 0 if no thread holds it or the holder is not known. A NULL owner means 0.
 * rip_wait_begin() reads *owner, which must be the lock's own word and not a copy: a deadlock is proven only if the
 * word was read after the holder itself got stuck. rip_wait_look() reads the word again; without it a deadlock that
 * closes later is visible as a chain, but not proven. The mark ends at rip_wait_end() or at the next snap. A second
 * mark replaces the first. Flags:
 *   RIP_WAIT_OWNER_IS_ID   *owner is an id of this process: for locks that coroutines hold
 *   RIP_WAIT_SHARABLE      the lock is held by readers whenever it is held and *owner is 0
 *   RIP_WAIT_ENDS          the wait has a time limit, so it cannot be part of a deadlock
 *   RIP_WAIT_OWNER_LASTS   a promise: *owner, as read here, holds the lock as long as this mark stands. For runtimes
 *                          that wake all waiters, or mark them again, whenever the owner changes. owner may then be a
 *                          copy, and rip_wait_look() is not needed. A coroutine keeps its mark while it is on no
 *                          thread.
 *   RIP_WAIT_SHARED        the lock is shared between processes: *owner may be the tid of a thread of any of them
 * These functions do not fail, take no lock and do not change errno. The only system function that they use is
 * clock_gettime(2). Async-signal-safe.
 */
RIP_API void rip_wait_begin(const void *lock, const uint32_t *owner, uint32_t flags);
RIP_API void rip_wait_look(const uint32_t *owner);
RIP_API void rip_wait_end(void);

/*
 * Asks every recorder of this ring (rip record, ripd --record) to read the ring now. Does not wait for them. For
 * moments whose last snaps matter more than others: an error, the end of a phase. Calls futex(2) even if there is no
 * recorder. Does nothing without a ring. Async-signal-safe.
 */
RIP_API void rip_flush(void);

/*
 * Records in the ring the modules that were loaded or unloaded since the process entered it. rip_init() does the same.
 * Call this after dlopen() if threads that registered earlier run code of the new module.
 */
RIP_API void rip_refresh_modules(void);

/*
 * The place of a coroutine in the ring while it is on no thread. Owned by the caller, may be copied, holds no resource.
 * After fork() the contexts of the parent are inert in the child.
 */
struct rip_context {
    struct rip_slot *slot;
    uint32_t id;
    uint32_t epoch;
    uint8_t idx;
    uint8_t ctr;
    uint8_t entry; /* index of the entry that the next snap writes; a hint for the prefetch */
    uint8_t reserved_19[5];
};

/*
 * Registers id as a fresh coroutine that is on no thread. Returns true, or false with errno set:
 *   EEXIST    the id is live in this process
 *   EINVAL    id is 0
 *   ENOSPC    the id was refused: the ring or its process table is full, or out of memory
 *   ENOENT    there is no ring
 *   EDEADLK   this thread is inside another call of this library
 * On failure *ret_context is an inert context: it may be switched to, and the coroutine runs untraced.
 */
RIP_API bool rip_context_init(struct rip_context *ret_context, uint32_t id, const char *name, size_t namelen);

/* Ends the id of a context that is on no thread. The context becomes inert. Its copies must not be used any more. */
RIP_API void rip_context_exit(struct rip_context *context);

/* Internal: used by the inline functions below. */
struct rip_thread {
    struct rip_slot *slot; /* slot of the id on this thread; NULL = not traced */
    uint32_t tid;          /* kernel tid, set by the first rip_init() or rip_switch() of the thread */
    uint32_t reserved_12;
};
extern RIP_API __thread struct rip_thread rip__thread __attribute__((tls_model("initial-exec")));
extern RIP_API uint32_t rip__epoch;   /* incremented in each forked child */
RIP_API void rip__enter_thread(void); /* fills rip__thread.tid, and makes the end of the thread end its id */

/* The same symbols as rip_idx, rip_ctr and rip_tid, without the wrapper function that C++ makes for a thread_local. */
extern RIP_API __thread uint8_t rip__idx __asm__("rip_idx") __attribute__((tls_model("initial-exec")));
extern RIP_API __thread uint8_t rip__ctr __asm__("rip_ctr") __attribute__((tls_model("initial-exec")));
extern RIP_API __thread pid_t rip__tid __asm__("rip_tid") __attribute__((tls_model("initial-exec")));

/* -finstrument-functions must not trace these functions. */
#define RIP_INLINE extern inline __attribute__((gnu_inline, always_inline, no_instrument_function))

#if defined(__SANITIZE_THREAD__)
#define RIP_PORTABLE_SNAP 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RIP_PORTABLE_SNAP 1
#endif
#endif
#if !defined(__x86_64__) || defined(__ILP32__)
#define RIP_PORTABLE_SNAP 1
#endif

/* Address of the instruction where the function is inlined. */
#if defined(__x86_64__)
#define RIP_HERE(pointer) __asm__ volatile("leaq 0(%%rip), %0" : "=r"(pointer))
#elif defined(__aarch64__)
#define RIP_HERE(pointer) __asm__ volatile("adr %0, ." : "=r"(pointer))
#else
#define RIP_HERE(pointer) ((pointer) = (uintptr_t)__builtin_return_address(0))
#endif

/*
 * Records a snap in terms of the memory model. A signal handler cannot split the increment of the count. The count is
 * read again after the increment: if a handler snaps in between, this snap only reuses the number of the handler's
 * snap.
 */
RIP_INLINE void rip__record(struct rip_slot *slot, uintptr_t address);
RIP_INLINE void rip__record(struct rip_slot *slot, uintptr_t address)
{
    uint64_t count; /* only one thread increments it; for readers see reader.c */

#ifdef RIP_PORTABLE_SNAP
    count = rip_add_relaxed(&slot->count, 1) + 1;
#else
    __asm__ volatile("incq %0" : "+m"(slot->count) : : "cc");
    count = rip_load_relaxed(&slot->count);
#endif
    rip__idx = (uint8_t)(count + slot->index_bias);
    rip__ctr = (uint8_t)count;
    rip_signal_fence(); /* the caller reads both under their other names, rip_idx and rip_ctr */
    rip_store_relaxed(&slot->entry[count % RIP_ENTRY_COUNT],
                      (count << RIP_ENTRY_TAG_SHIFT) | ((uint64_t)address & RIP_ENTRY_ADDRESS_MASK));
}

/*
 * Leaves a breadcrumb: records this place in the code and adds one to the count.
 *
 * amd64: a signal on this thread cannot split the increment, and no other thread writes the count, so the increment
 * needs no lock prefix. The reload includes what a handler added. Measured in tests/bench/bench_snap.c.
 */
RIP_INLINE void rip_snap(void);
RIP_INLINE RIP_API void rip_snap(void)
{
    struct rip_slot *slot = rip__thread.slot;

    if (__builtin_expect(slot == NULL, 0))
        return;
#ifdef RIP_PORTABLE_SNAP
    uintptr_t here;
    RIP_HERE(here);
    rip__record(slot, here);
#else
    uint64_t count, scratch, index;
    __asm__ volatile("incq (%[slot])\n\t"
                     "movq (%[slot]), %[count]\n\t"
                     "movb 30(%[slot]), %b[scratch]\n\t" /* index_bias. One byte shorter than movzbl; the high bits of
                                                            scratch are not used. */
                     "addb %b[count], %b[scratch]\n\t"
                     "movb %b[scratch], %[idx]\n\t"
                     "movb %b[count], %[ctr]\n\t"
                     "leaq 0(%%rip), %[scratch]\n\t"
                     "movl %k[count], %k[index]\n\t"
                     "andl $31, %k[index]\n\t"
                     "shlq $56, %[count]\n\t"
                     "orq %[scratch], %[count]\n\t"
                     "movq %[count], 64(%[slot],%[index],8)" /* entry[] */
                     : [count] "=&c"(count), [scratch] "=&d"(scratch), [index] "=&S"(index), [idx] "=m"(rip__idx),
                       [ctr] "=m"(rip__ctr)
                     : [slot] "r"(slot)
                     : "memory", "cc");
#endif
}

/*
 * Declares that this id waits for work from now on: a count that stands still is no stall. The next snap ends the idle
 * state. Call it right before the wait.
 */
RIP_INLINE void rip_idle(void);
RIP_INLINE RIP_API void rip_idle(void)
{
    struct rip_slot *slot = rip__thread.slot;
    uint64_t count;

    if (slot == NULL)
        return;
    do { /* again if a handler snapped in between: otherwise the mark is stale and the wait looks like work */
        count = rip_load_relaxed(&slot->count);
        rip_store_relaxed(&slot->idle_mark, ~count);
        rip_signal_fence();
    } while (rip_load_relaxed(&slot->count) != count);
}

/*
 * Switches this thread from one coroutine to another in constant time. Stores what is on the thread into *from, unless
 * from is NULL. Puts *to on the thread; if to is NULL or inert, the thread is not traced. from and to may be the same.
 * *to must not be on another thread, and its id must not have ended. The cache lines of the new slot are prefetched for
 * writing; the function does not wait for them.
 */
RIP_INLINE void rip_switch(struct rip_context *from, const struct rip_context *to);
RIP_INLINE RIP_API void rip_switch(struct rip_context *from, const struct rip_context *to)
{
    struct rip_slot *old_slot = rip__thread.slot;
    struct rip_slot *new_slot = to != NULL && to->epoch == rip__epoch ? to->slot : NULL;
    uint32_t id = new_slot != NULL ? to->id : 0;
    uint8_t idx = new_slot != NULL ? to->idx : 0;
    uint8_t ctr = new_slot != NULL ? to->ctr : 0;
    uint8_t entry = new_slot != NULL ? to->entry : 0;

    rip__thread.slot = NULL; /* from here to the end, snaps of a signal handler are dropped */
    rip_signal_fence();
    if (old_slot != NULL) {
        rip_store_relaxed(&old_slot->tid, 0);
        rip_store_relaxed(&old_slot->kind, (uint8_t)RIP_KIND_COROUTINE);
    }
    if (from != NULL) {
        from->slot = old_slot;
        from->id = (uint32_t)rip__tid;
        from->epoch = rip__epoch;
        from->idx = rip__idx;
        from->ctr = rip__ctr;
        from->entry = (uint8_t)((rip__ctr + 1) % RIP_ENTRY_COUNT);
    }
    rip__tid = (pid_t)id;
    rip__idx = idx;
    rip__ctr = ctr;
    rip_signal_fence();
    if (new_slot != NULL) {
        if (__builtin_expect(rip__thread.tid == 0, 0))
            rip__enter_thread(); /* once per thread */
        __builtin_prefetch(new_slot, 1);
        __builtin_prefetch(&new_slot->entry[entry % RIP_ENTRY_COUNT], 1);
        rip_store_relaxed(&new_slot->tid, rip__thread.tid);
        rip_store_relaxed(&new_slot->kind, (uint8_t)RIP_KIND_COROUTINE);
    }
    rip__thread.slot = new_slot;
}

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif

#endif
