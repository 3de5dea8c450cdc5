/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rip.h - what an application calls.
 *
 * A program makes one ring, each of its threads (or coroutines) takes an id in it, and rip_snap() leaves the current
 * instruction pointer and a count under that id. A daemon that maps the ring sees which counts have stopped.
 *
 * Guarantees
 *   A. rip_snap(), rip_idle() and rip_switch() make no system call, take no lock, never fail, and may be called at
 *      any time: before a ring exists, without an id and after rip_exit() they do nothing.
 *   B. rip_snap(), rip_snap_at() and rip_idle() are async-signal-safe and may interrupt themselves: the count never
 *      goes back. So are rip_deadline_ms(), rip_note(), rip_flush() and rip_wait_*(). The other functions are not
 *      async-signal-safe.
 *   C. All functions may be called from any thread at once. An id should be on one thread at a time.
 *   D. Nothing here logs, aborts, starts a thread, installs a signal handler, or changes errno, except that a
 *      function that returns false says why in errno.
 *   E. When tracing cannot be had (ring full, memory gone, process table full) the caller runs on untraced; a
 *      counter in the ring says how often.
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

/* Default visibility even in a program built with -fvisibility=hidden: a second copy would never be updated. */
#define RIP_API __attribute__((visibility("default")))

#ifdef __cplusplus
/* What is written in the common part of two languages is no mistake of the program that includes it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
extern "C" {
#endif

/*
 * The globals. The library carries weak definitions; a program may define them itself. They are the program's to
 * read, and the library's to write.
 */
extern RIP_API RIP_THREAD_LOCAL pid_t rip_tid;   /* id given to rip_init() by this thread; 0 = none */
extern RIP_API RIP_THREAD_LOCAL uint8_t rip_idx; /* ring index of the next snapshot, modulo 256 */
extern RIP_API RIP_THREAD_LOCAL uint8_t rip_ctr; /* counter packed into the next snapshot, modulo 256 */
extern RIP_API struct rip_ring *rip_ring;        /* the mapped ring; NULL before rip_create_ring() */

/*
 * Makes the process's ring: a new file on tmpfs or ramfs, mode 0640 whatever the umask, with room for max_procs ids
 * live at once (0 = the kernel's pid_max). The value of an id is not bounded by it.
 *
 * The same file again is true and changes nothing. An empty file at that name is replaced; a ring whose processes
 * are all gone is kept as FILE.prev, in place of an older one. A process forked from this one shares the ring and
 * enters itself at its first rip_init(). It inherits no descriptor of the file, and opens it by its path then: one that
 * has dropped its uid before is traced, but ripd reads no privileged evidence of it ("attested": false).
 *
 * With RIP_DISABLE=1 in the environment it makes nothing and returns true: nothing is traced.
 *
 * Processes that share a ring trust each other: each can remove the pages of the mapping (MADV_REMOVE), and on a
 * full tmpfs that ends the others by SIGBUS. Do not run foreign code in a forked child, not even under another uid,
 * without exec or munmap() of the ring. (Under `rip run` a process that leaves its user gets a ring of its own.)
 *
 * Returns true, or false with nothing left behind and errno
 *   EBUSY        the process has another ring, or a live process holds the ring at that name
 *   EEXIST       something else stands at that name, or at FILE.prev when that is needed
 *   EOPNOTSUPP   the directory is not on tmpfs or ramfs
 *   EINVAL       file is NULL or empty, or max_procs is above RIP_CAPACITY_MAX
 *   EFBIG        the file would be larger than RLIMIT_FSIZE
 *   ENOSPC       the file system cannot back the header
 *   and those of open(2), mmap(2) and linkat(2).
 */
RIP_API bool rip_create_ring(const char *file, uint32_t max_procs);

/* The same with options. Set size_bytes to sizeof(struct rip_options) and every unused field to 0. */
struct rip_options {
    size_t size_bytes;
    const char *file;
    uint32_t max_procs;
    uint32_t flags; /* 0; anything else is EINVAL */
};
RIP_API bool rip_create_ring_with(const struct rip_options *options);

/*
 * Puts id on this thread; 0 = the thread's own kernel tid. name is copied: namelen bytes of which RIP_NAME_BYTES are
 * kept; need not be terminated nor valid UTF-8. What was on this thread before stays live, on no thread.
 *
 * An id is fresh (progress 0, no trail) when idx and ctr are both 0 and name is not NULL. Otherwise, and always for a
 * live id of this process whose progress is a multiple of 256, it is resumed: progress and trail stay. idx and ctr
 * are what rip_idx and rip_ctr were when it was last on a thread. NULL keeps the name.
 *
 * An id ends by rip_exit(), by the end of the thread it is on, or with its process. If the ring is full or memory
 * for the slot cannot be had the thread is not traced, and the ring counts the refusal.
 */
RIP_API void rip_init(uint32_t id, const char *name, size_t namelen, uint8_t idx, uint8_t ctr);

/*
 * A function of a script, for runtimes of other languages: a place in it is a location as one in machine code is.
 *
 *     uint64_t function = rip_script_enter(path, path_length, name, name_length, first_line);
 *     rip_snap_at(RIP_SCRIPT_LINE(function, line));
 *
 * file is the path that people know the script by, function its name with that of its class or module ("Order#place");
 * neither need be terminated nor valid UTF-8, and of longer ones the last RIP_SCRIPT_FILE_BYTES and the first
 * RIP_SCRIPT_FUNCTION_BYTES are kept. first_line is that of the function, 0 if it is not known. The same three give the
 * same number, which holds in this process and its forked children as long as rip_script_epoch() does not change; it
 * changes when the process gets another ring. Functions once known are found in some 50 ns without a lock. A ring takes
 * RIP_SCRIPT_MAX of them; what has no room is counted there.
 *
 * Returns 0 without a ring or without room: make a snap at another address then. Thread-safe, but not
 * async-signal-safe.
 */
RIP_API uint64_t rip_script_enter(const char *file, size_t file_length, const char *function, size_t function_length,
                                  uint32_t first_line);
RIP_API uint32_t rip_script_epoch(void);
#define RIP_SCRIPT_LINE(script, line) ((const void *)(uintptr_t)((script) | ((line)&RIP_PLACE_LINE_MASK)))

/* Ends the id on this thread. Without one, does nothing. */
RIP_API void rip_exit(void);

/* Records address for the id on this thread, as rip_snap() does; a real function, for foreign-function interfaces. */
RIP_API void rip_snap_at(const void *address);

/*
 * The threshold of the id on this thread: from now on it is stalled when it has not moved for ms milliseconds, however
 * long ripd lets others be. 0 = none of its own. A --rule of ripd for its name outranks it, and it outranks
 * --stall-after. A fresh id has none, a resumed one keeps its own. Takes effect on ripd's next scan; nothing shorter
 * than a sixteenth of ripd's --interval can be told apart. Without an id it does nothing. Async-signal-safe.
 */
RIP_API void rip_deadline_ms(uint32_t ms);

/*
 * What the id on this thread is doing, for people: "GET /checkout?id=7". It is shown with a stall and in lists until
 * the next note; NULL or length 0 takes it back. length bytes are copied, of which RIP_NOTE_BYTES are kept; they need
 * not be terminated nor valid UTF-8. A secret does not belong there: all who may read the ring see it. A fresh id has
 * none, a resumed one keeps its own. A reader never sees half of a note, and none while one is being written. Without
 * an id it does nothing. Async-signal-safe; a note of a handler in the middle of another is shown until that one is
 * complete.
 */
RIP_API void rip_note(const char *text, size_t length);

/*
 * What a lock's own code records of a wait, so that a reader of the ring sees who blocks whom. The preload library does
 * it for mutexes and rwlocks; a runtime with locks of its own calls these around its wait, only when it has to wait:
 *
 *     rip_snap();
 *     rip_wait_begin(lock, &lock->owner, 0);
 *     while (!lock_within(lock, pause))   // pauses of 1 s, 2 s, 4 s ... up to a minute
 *         rip_wait_look(&lock->owner);
 *     rip_wait_end();
 *
 * rip_wait_begin() marks the id on this thread. lock is only compared. *owner is the tid of the thread that holds the
 * lock, or 0 if nobody does or it is not known; owner NULL is 0. It is read here, and must be the lock's own word and
 * not a copy: that it was read after the holder itself had got stuck is what proves a deadlock. rip_wait_look() reads
 * it again; without it a deadlock that closes later can be seen as a chain, but not proven. The next snap ends the
 * mark too, as does rip_wait_end(); a mark may be made while another stands, and replaces it. Flags:
 *   RIP_WAIT_OWNER_IS_ID   *owner is an id of this process: locks that coroutines hold
 *   RIP_WAIT_SHARABLE      held by readers whenever it is held and *owner is 0
 *   RIP_WAIT_ENDS          the wait has a time limit, so it is part of no deadlock
 *   RIP_WAIT_OWNER_LASTS   a promise: as long as this mark stands, *owner, as read here, holds the lock. For runtimes
 *                          that wake or mark anew all who wait whenever the owner changes; owner may then be a copy,
 *                          and nobody need look again. A coroutine keeps its mark while it is on no thread.
 *   RIP_WAIT_SHARED        other processes may have the lock: *owner is the tid of a thread of any of them
 * None of the three fails, calls the system beyond its clock, takes a lock, or changes errno; they are
 * async-signal-safe.
 */
RIP_API void rip_wait_begin(const void *lock, const uint32_t *owner, uint32_t flags);
RIP_API void rip_wait_look(const uint32_t *owner);
RIP_API void rip_wait_end(void);

/*
 * Asks who records this ring (rip record, ripd --record) to read it now, and does not wait until that is done. For
 * moments whose last snaps are worth more than others: an error, the end of a phase. It calls futex(2), whether or not
 * anybody records; without a ring it does nothing. Async-signal-safe.
 */
RIP_API void rip_flush(void);

/*
 * Records in the ring the modules loaded or unloaded since the process entered it. rip_init() does so itself; call
 * this after dlopen() when threads that registered earlier run code of the new module.
 */
RIP_API void rip_refresh_modules(void);

/*
 * A coroutine's place in the ring while it is on no thread. Owned by the caller; copyable; holds no resource of its
 * own. After fork() a parent's contexts are inert in the child.
 */
struct rip_context {
    struct rip_slot *slot;
    uint32_t id;
    uint32_t epoch;
    uint8_t idx;
    uint8_t ctr;
    uint8_t entry; /* index of the entry that the next snap will write; a hint for the prefetch */
    uint8_t reserved_19[5];
};

/*
 * Registers id, on no thread, as a fresh coroutine. False, with errno, if it could not: EEXIST when the id is live in
 * this process, EINVAL when it is 0, ENOSPC when refused, ENOENT without a ring. *ret_context is then an inert context
 * that may be switched to: the coroutine runs untraced.
 */
RIP_API bool rip_context_init(struct rip_context *ret_context, uint32_t id, const char *name, size_t namelen);

/* Ends the id of a context that is on no thread; the context becomes inert. Copies of it must not be used again. */
RIP_API void rip_context_exit(struct rip_context *context);

/* Internal to the inline functions below. */
struct rip_thread {
    struct rip_slot *slot; /* of the id on this thread; NULL = not traced */
    uint32_t tid;          /* kernel tid, set by the first rip_init() of the thread */
    uint32_t reserved_12;
};
extern RIP_API __thread struct rip_thread rip__thread __attribute__((tls_model("initial-exec")));
extern RIP_API uint32_t rip__epoch;   /* + 1 in each forked child */
RIP_API void rip__enter_thread(void); /* fills rip__thread.tid and arranges for the end of the thread */

/* The same symbols as rip_idx, rip_ctr and rip_tid, without the wrapper that C++ puts around a thread_local. */
extern RIP_API __thread uint8_t rip__idx __asm__("rip_idx") __attribute__((tls_model("initial-exec")));
extern RIP_API __thread uint8_t rip__ctr __asm__("rip_ctr") __attribute__((tls_model("initial-exec")));
extern RIP_API __thread pid_t rip__tid __asm__("rip_tid") __attribute__((tls_model("initial-exec")));

/* Not traced by what a compiler puts in: -finstrument-functions. */
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

/* Address of the instruction where this is inlined. */
#if defined(__x86_64__)
#define RIP_HERE(pointer) __asm__ volatile("leaq 0(%%rip), %0" : "=r"(pointer))
#elif defined(__aarch64__)
#define RIP_HERE(pointer) __asm__ volatile("adr %0, ." : "=r"(pointer))
#else
#define RIP_HERE(pointer) ((pointer) = (uintptr_t)__builtin_return_address(0))
#endif

/*
 * The snap in terms of the memory model. The count is incremented by one operation that a signal handler cannot
 * split, and read again afterwards, so that a handler which snaps in between only makes this snap reuse its number.
 */
RIP_INLINE void rip__record(struct rip_slot *slot, uintptr_t address);
RIP_INLINE void rip__record(struct rip_slot *slot, uintptr_t address)
{
    uint64_t count; /* only one thread counts; readers: reader.c */

#ifdef RIP_PORTABLE_SNAP
    count = rip_add_relaxed(&slot->count, 1) + 1;
#else
    __asm__ volatile("incq %0" : "+m"(slot->count) : : "cc");
    count = rip_load_relaxed(&slot->count);
#endif
    rip__idx = (uint8_t)(count + slot->index_bias);
    rip__ctr = (uint8_t)count;
    rip_signal_fence(); /* the caller reads them under their other names, rip_idx and rip_ctr */
    rip_store_relaxed(&slot->entry[count % RIP_ENTRY_COUNT],
                      (count << RIP_ENTRY_TAG_SHIFT) | ((uint64_t)address & RIP_ENTRY_ADDRESS_MASK));
}

/*
 * Leaves a breadcrumb: this place in the code, and one more on the count.
 *
 * amd64: an unlocked increment of the shared count cannot be split by a signal of this thread, and no other thread
 * writes it; the reload takes in what a handler added. Measured in tests/bench/bench_snap.c.
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
                     "movb 30(%[slot]), %b[scratch]\n\t" /* index_bias; one byte less than movzbl, and scratch carries
                                                            nothing over */
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
 * From here on this id waits for work: a frozen count is no stall until the next snap, which ends the idleness by
 * itself. Call it right before the wait.
 */
RIP_INLINE void rip_idle(void);
RIP_INLINE RIP_API void rip_idle(void)
{
    struct rip_slot *slot = rip__thread.slot;
    uint64_t count;

    if (slot == NULL)
        return;
    do { /* again if a handler snapped in between: the mark would be stale and the wait look like work */
        count = rip_load_relaxed(&slot->count);
        rip_store_relaxed(&slot->idle_mark, ~count);
        rip_signal_fence();
    } while (rip_load_relaxed(&slot->count) != count);
}

/*
 * Takes this thread from one coroutine to another in constant time: stores what is on the thread into *from (unless
 * NULL) and puts *to on it (NULL or inert = nothing). from and to may be the same. to must not be on another thread,
 * and its id must not have ended. The new slot's lines are prefetched for writing; nothing waits for them.
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

    rip__thread.slot = NULL; /* a handler from here to the end snaps nowhere */
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
