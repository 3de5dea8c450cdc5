/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.h - the interface between the files of the preload library.
 *
 *   preload.c             starts and ends tracing
 *   preload_calls.c       wraps the calls that can block
 *   preload_lock.c        wraps the calls that wait for a lock with an owner
 *   preload_once.c        wraps pthread_once() and call_once()
 *   preload_syscall.c     wraps syscall()
 *   preload_descriptor.c  knows what each descriptor is
 *   preload_thread.c      gives threads their slots and names
 *   preload_process.c     follows the process through fork, exec and a change of user
 *   preload_shield.c      keeps the ring's descriptor open
 *   preload_pages.c       notices modules that are loaded late
 *   preload_filter.c      notices seccomp filters of the program
 *   preload_sanitizer.c   notices a program that is built with a sanitizer
 *   preload_symbols.c     finds the wrapped functions
 *   preload_own.c         makes the library's own system calls
 *   preload_binding.c     loads the binding of an interpreter
 *   preload_runtime.c     the functions that a binding calls
 *
 * Guarantees
 *   A. A wrapper has the return value, the errno and the side effects of the function it wraps.
 *   B. The wrapper of a call that can block is async-signal-safe if the call is. It takes no lock, except briefly the
 *      library's own lock when it sees a thread or a page of code for the first time.
 *   C. Without a ring (the constructor has not run, or no ring could be made, or the process has left it) every wrapper
 *      only calls the function it wraps.
 *   D. A child that shares our memory is left alone: a vfork() child has our memory, but another pid.
 *   E. Once the program has installed a seccomp filter, no wrapper makes a system call except the wrapped one.
 *   F. The library's own system calls never go through another library's wrapper, which may be unusable at exit: see
 *      preload_own.c.
 */
#ifndef RIP_PRELOAD_H
#define RIP_PRELOAD_H

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "rip/rip.h"

#define PRELOAD_EXPORT __attribute__((visibility("default")))
/* For functions that wrappers call in rare cases: the compiler moves the code for such cases out of the hot path. */
#define PRELOAD_COLD __attribute__((cold, noinline))

/*
 * Declares the wrapper of name under another C name, so that it cannot conflict with glibc's declaration. "hot" puts
 * all wrappers next to each other: after a long system call little of their code is left in the processor's caches.
 */
#define PRELOAD_WRAPPER(type, name, parameters)                                                                        \
    PRELOAD_EXPORT __attribute__((hot)) type wrap_##name parameters __asm__(#name);                                    \
    type wrap_##name parameters

enum preload_call {
#define ANNOUNCED(type, name, parameters, arguments, call, done) CALL_##name,
#define OWN(name) CALL_##name,
#define CALLED(name) CALL_##name,
#include "preload_calls.h"
    CALL_COUNT
};

/* --- preload_calls.c: the functions behind the wrappers ----------------------------------------------------------- */

extern void *preload_functions[CALL_COUNT];
PRELOAD_COLD void *preload_resolve(enum preload_call call);
/* If only dlsym() can find functions, resolves all of them, so that no wrapper calls it in a signal handler. */
void preload_resolve_setup(void);

static inline void *preload_function(enum preload_call call)
{
    void *function = rip_load_relaxed(&preload_functions[call]);

    return __builtin_expect(function != NULL, 1) ? function : preload_resolve(call);
}

/* The function that the wrapper of name wraps, with its type. */
#define PRELOAD_REAL(type, name, parameters) ((type(*) parameters)preload_function(CALL_##name))

/* --- preload_symbols.c -------------------------------------------------------------------------------------------- */

/*
 * Returns what dlsym(RTLD_NEXT, name) would return, or NULL if that cannot be found without dlsym().
 * Async-signal-safe.
 */
void *preload_symbol_find(const char *name);
/*
 * Returns the C library's function, even if another library overrides it. Returns NULL if it is not a plain function.
 * Async-signal-safe.
 */
void *preload_symbol_of_libc(const char *name);
/* The same for a function of the program itself. */
void *preload_symbol_of_program(const char *name);

/* --- preload.c ---------------------------------------------------------------------------------------------------- */

struct preload_state {
    bool active;          /* this process has a ring */
    bool started;         /* making a ring was tried; the program's own constructors run next */
    pid_t pid;            /* owner of this state; if getpid() differs: a child that shares or copied our memory */
    bool loader_may_hang; /* do not call dl_iterate_phdr(): see preload_own.c */
};
extern struct preload_state preload_state;

/*
 * Returns true if this process has a ring that may be changed: it is not a vfork() child, and the caller is not a
 * signal handler that interrupted fork(). Async-signal-safe.
 */
bool preload_is_ours(void);
/* The same, and the library may make system calls (no seccomp filter). */
bool preload_is_free(void);
/* Starts tracing unless that was tried before. For callers that may run before the constructor. */
void preload_start(void);
/* Leaves the ring in order; nothing is traced afterwards. Keeps errno. */
void preload_leave(void);
/* The same before an exec. Readers that have mapped the ring can still see what the process was doing. */
void preload_leave_to_exec(void);
/* Prints the line on standard error if `rip run` started the program and nothing was reported yet. */
void preload_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Makes a new ring after one of the two leave functions if the process continues after all (a failed exec, for
 * example), and registers this thread. Keeps errno.
 */
void preload_reopen(void);

/* --- preload_shield.c --------------------------------------------------------------------------------------------- */

/* Returns true for the ring's descriptor, which is hidden from the program. Keeps errno. */
bool preload_is_hidden(int fd);
/* The result of a call on a hidden descriptor: returns -1 with errno EBADF. */
int preload_refuse(void);

/* --- preload_filter.c --------------------------------------------------------------------------------------------- */

/*
 * Returns true once the program itself has installed a seccomp filter; an inherited filter does not count. From then on
 * the library makes no system call, in any thread, not even at exit.
 */
bool preload_filtered(void);
/* Called before and after a call that may install a filter; begun is the result of the first. Both keep errno. */
bool preload_filter_begin(void);
void preload_filter_end(bool begun, bool installed);
/* Return true if these arguments of prctl() or seccomp() install a filter, provided that the call succeeds. */
bool preload_is_filter_prctl(int option, const unsigned long values[4]);
bool preload_is_filter_seccomp(unsigned long operation, unsigned long program);
/* Returns true if this outcome of seccomp() means that the filter is in force. */
bool preload_is_filter_installed(unsigned long flags, long outcome);

/* --- preload_sanitizer.c ------------------------------------------------------------------------------------------ */

typedef int preload_object_callback(struct dl_phdr_info *info, size_t size, void *data);

/* Returns true if the program is built with a sanitizer that conflicts with this library; it is not traced then. */
bool preload_is_sanitized(void);

/* --- preload_thread.c --------------------------------------------------------------------------------------------- */

/* Call before the ring is made: then the end of a thread is seen here before its slot is freed. */
void preload_thread_setup(void);
/* Registers the calling thread under its kernel name. Keeps errno. */
void preload_thread_enter(void);
/* Call in a forked child: removes the parent's other threads from the table. */
void preload_thread_after_fork(void);
/* Call when the process has left the ring: removes all threads from the table, because their slots are gone. */
void preload_thread_forget(void);

/* --- preload_process.c -------------------------------------------------------------------------------------------- */

/* Called from the constructor. Our handlers must run after librip's handlers, which librip's constructor registers. */
void preload_fork_setup(void);

/* --- preload_descriptor.c: all functions are async-signal-safe and keep errno ------------------------------------- */

struct pollfd;

/* The state of one descriptor. It fits in one cache line, because a system call evicts much of the caches. */
struct preload_descriptor {
    uint32_t sender; /* tid of the thread that sent to it last; 0 = none */
    uint8_t kind;    /* enum rip_call of receiving from it; RIP_CALL_NONE = not known yet */
    bool connected;  /* by connect() */
    bool sent;       /* something was sent to it after the last receive */
    uint8_t reserved_7;
};
/* Higher descriptor numbers have no known kind. The table's pages for unused descriptors are never touched. */
#define PRELOAD_DESCRIPTORS 65536u
extern struct preload_descriptor preload_descriptors[PRELOAD_DESCRIPTORS];

/* Returns NULL if fd is negative or too high for the table. */
static inline struct preload_descriptor *preload_descriptor_of(int fd)
{
    return (unsigned int)fd < PRELOAD_DESCRIPTORS ? &preload_descriptors[fd] : NULL;
}

/* Returns true if a descriptor of this kind is, or may be, a connection on which the process awaits replies. */
static inline bool preload_may_be_reply(uint8_t kind)
{
    return kind == RIP_CALL_NONE || kind == RIP_CALL_REPLY;
}

/* What a call that receives from the descriptor waits for: an enum rip_call. */
uint8_t preload_call_receive_slow(int fd);

static inline uint8_t preload_call_receive(int fd)
{
    const struct preload_descriptor *descriptor = preload_descriptor_of(fd);
    const uint8_t kind = descriptor != NULL ? rip_load_relaxed(&descriptor->kind) : RIP_CALL_UNSURE;

    return __builtin_expect(preload_may_be_reply(kind), 0) ? preload_call_receive_slow(fd) : kind;
}

/* A blocking open for reading may wait for a writer of a FIFO. Only the kernel knows whether the path is a FIFO. */
static inline uint8_t preload_call_open(int flags)
{
    return (flags & (O_ACCMODE | O_NONBLOCK)) == O_RDONLY ? RIP_CALL_UNSURE : RIP_CALL_BLOCK;
}

static inline uint8_t preload_call_fopen(const char *mode)
{
    return mode[0] == 'r' && strchr(mode, '+') == NULL ? RIP_CALL_UNSURE : RIP_CALL_BLOCK;
}

/* Sets the callback that recognizes the interpreter's own descriptors: see rip/runtime.h. */
void preload_set_own_descriptors(bool (*is_own)(int fd));
/* What a poll() or select() waits for: an enum rip_call. in is an fd_set. */
uint8_t preload_call_poll(const struct pollfd *fds, unsigned long count);
uint8_t preload_call_select(int count, const void *in);

/*
 * The following functions ignore an fd that is not in the table. The first two note that something was received from,
 * or sent to, the descriptor.
 */
static inline void preload_received(int fd)
{
    struct preload_descriptor *descriptor = preload_descriptor_of(fd);

    if (descriptor != NULL && __builtin_expect(rip_load_relaxed(&descriptor->sent), 0))
        rip_store_relaxed(&descriptor->sent, false);
}

void preload_sent_request(int fd);

static inline void preload_sent(int fd)
{
    const struct preload_descriptor *descriptor = preload_descriptor_of(fd);

    if (descriptor != NULL && __builtin_expect(preload_may_be_reply(rip_load_relaxed(&descriptor->kind)), 0))
        preload_sent_request(fd);
}

void preload_descriptor_accepted(int fd);
void preload_descriptor_connecting(int fd);
/* Call when the number is closed, or has just got another meaning. */
void preload_descriptor_forget(int fd);
void preload_descriptors_forget(unsigned int first, unsigned int last);
/* Call when to has become a duplicate of from. */
void preload_descriptor_copy(int from, int to);

/* --- the hot path ------------------------------------------------------------------------------------------------- */

/*
 * The thread state that a wrapper uses. It is one cache line behind one address, because little of it is in the
 * processor's caches when a thread returns from the kernel.
 */
struct preload_thread {
    struct rip_thread of_library; /* rip__thread itself: both names are one symbol */
    union {
        uintptr_t frame; /* stack frame of the announced call that this thread is in; 0 = none */
        struct {
            uint8_t address[7];
            uint8_t special; /* PRELOAD_* flags; 0 for most threads. It is above all bits of an address, so that one
                                comparison of frame shows whether the thread is special or in a call */
        };
    };
    bool tried;            /* registration was tried, successfully or not */
    bool forking;          /* in fork(), between the handlers: this thread holds the library's mutex already */
    uintptr_t known_start; /* start of the program's code, once the ring knows that module */
    uintptr_t known_bytes; /* 0 = the ring does not know the module yet */
};
#define PRELOAD_SPECIAL_SHIFT 56
RIP_STATIC_ASSERT((offsetof(struct preload_thread, special) - offsetof(struct preload_thread, frame)) * 8 ==
                          PRELOAD_SPECIAL_SHIFT &&
                      __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
                  "what is special about a thread is not the highest byte of its frame");
#define PRELOAD_VFORKED 1u /* has called vfork(): this may be the child, in its parent's memory */
#define PRELOAD_SCRIPT 2u  /* a thread of an interpreter: preload_runtime.c asks the binding for its place */
#define PRELOAD_INSIDE 4u  /* in a call that the binding has announced */
#define PRELOAD_WATCHED 8u /* preload_watch() records the mutexes that the thread locks */
extern __thread struct preload_thread preload_thread __asm__("rip__thread")
    __attribute__((tls_model("initial-exec"), aligned(64)));

/* Sets the frame and keeps the special flags. */
static inline void preload_set_frame(uintptr_t frame)
{
    preload_thread.frame = ((uintptr_t)preload_thread.special << PRELOAD_SPECIAL_SHIFT) | frame;
}

/*
 * The kind of a wait without a timeout: RIP_CALL_PRIVATE, unless the object is shared between processes. glibc keeps
 * that flag in the lowest bit of a condition's __wrefs and in the third word of a semaphore.
 */
static inline uint8_t preload_call_condition(const pthread_cond_t *condition)
{
    return (rip_load_relaxed(&condition->__data.__wrefs) & 1) == 0 ? RIP_CALL_PRIVATE : RIP_CALL_WORK;
}

static inline uint8_t preload_call_semaphore(const sem_t *semaphore)
{
    const int *words = (const void *)semaphore;

    return rip_load_relaxed(&words[2]) == 0 ? RIP_CALL_PRIVATE : RIP_CALL_WORK;
}

/* --- preload_pages.c ---------------------------------------------------------------------------------------------- */

/* Page numbers whose module the ring knows: a hash table with one entry per bucket, shared by all threads. */
#define PRELOAD_PAGES 1024u
#define PRELOAD_PAGE_SHIFT 12
extern uintptr_t preload_pages[PRELOAD_PAGES];
/* Adds the module of an address to the ring, if its page is not in the table. */
PRELOAD_COLD void preload_new_page(uintptr_t address);
/* Empties the table, for a new ring. */
void preload_forget_pages(void);
/* Copies the known range of the program's code to a thread that has just registered. */
void preload_pages_enter(void);

static inline bool preload_is_known_page(uintptr_t address)
{
    const uintptr_t page = address >> PRELOAD_PAGE_SHIFT;

    return rip_load_relaxed(&preload_pages[page % PRELOAD_PAGES]) == page;
}

/* Most calls come from the program itself. */
static inline __attribute__((always_inline)) bool preload_is_known(uintptr_t address)
{
    return __builtin_expect(address - preload_thread.known_start < preload_thread.known_bytes, 1) ||
           preload_is_known_page(address);
}

static inline void preload_visit(uintptr_t address)
{
    if (!preload_is_known(address))
        preload_new_page(address);
}

/* --- preload_calls.c: every call ---------------------------------------------------------------------------------- */

/*
 * The outer call: the call that a signal handler interrupted before it made the present call; 0 = none. See
 * preload_runtime.c.
 */
typedef uint64_t preload_outer;

/* Registers a thread without a slot at its first wrapped call. Such a thread was not created by our wrapper. */
void preload_register_thread(const void *return_address);
/*
 * Leaves a breadcrumb at address, for the call that returns to return_address. Returns the slot, or NULL if the thread
 * is not traced. Adds the module of machine code to the ring; script places have no module.
 */
struct rip_slot *preload_record_at(const void *return_address, uintptr_t address);
/* Returns true in a vfork() child, which must not write to its parent's slot. Called if PRELOAD_VFORKED is set. */
bool preload_is_vfork_child(void);
static inline bool preload_in_vfork_child(void)
{
    return (preload_thread.special & PRELOAD_VFORKED) != 0 && preload_is_vfork_child();
}

/*
 * rip__record() with the unlocked increment of rip_snap(), which is explained there. The global variables that
 * rip_snap() sets are not used in this library.
 */
static inline void preload_record(struct rip_slot *slot, uintptr_t address)
{
#ifdef RIP_PORTABLE_SNAP
    rip__record(slot, address);
#else
    uint64_t count;

    __asm__ volatile("incq %[shared]\n\t"
                     "movq %[shared], %[count]"
                     : [shared] "+m"(slot->count), [count] "=r"(count)
                     :
                     : "cc");
    rip_store_relaxed(&slot->entry[count % RIP_ENTRY_COUNT], (count << RIP_ENTRY_TAG_SHIFT) | address);
#endif
}

/* Returns true for calls that also declare the thread idle. */
static inline bool preload_declares(uint8_t call)
{
    return call == RIP_CALL_WORK || call == RIP_CALL_INPUT || call == RIP_CALL_PRIVATE || call == RIP_CALL_READY;
}

/*
 * Returns the slot in the common case: the thread has a slot, the process has not left the ring (rip__detach_mapping()
 * sets the generation to 0), and the ring knows the module of the address. Otherwise returns NULL.
 */
static inline __attribute__((always_inline)) struct rip_slot *preload_plain(uintptr_t address)
{
    struct rip_slot *slot = rip__thread.slot;

    if (__builtin_expect(slot == NULL, 0) || __builtin_expect(rip_load_relaxed(&slot->generation) == 0, 0) ||
        __builtin_expect(!preload_is_known(address), 0))
        return NULL;
    return slot;
}

/*
 * preload_begin() begins a call, for the wrapper whose stack frame is given: it leaves a breadcrumb at the caller and
 * announces the kind of the call. The breadcrumb's address is the last byte of the call instruction: the return address
 * may belong to the next line, or to the next function if the callee does not return.
 *
 * Most calls are announced by preload_begin() itself. preload_begin_special() announces the others, with a frame value
 * that no real frame has. So preload_end() needs to compare only the frame.
 */
PRELOAD_COLD preload_outer preload_begin_special(const void *return_address, const void *frame, uint8_t call);
/* Announces a call whose breadcrumb has already been left. */
preload_outer preload_announce(const void *frame, uint8_t call);

static inline __attribute__((always_inline)) preload_outer preload_begin(const void *return_address, const void *frame,
                                                                         uint8_t call)
{
    const uintptr_t address = (uintptr_t)return_address - 1;
    struct rip_slot *slot = preload_plain(address);

    if (__builtin_expect(slot == NULL, 0) || __builtin_expect(preload_thread.frame > (uintptr_t)frame, 0))
        return preload_begin_special(return_address, frame, call);
    preload_record(slot, address);
    preload_thread.frame = (uintptr_t)frame;
    rip_signal_fence(); /* a signal handler must see that it interrupts this call */
    rip_store_relaxed(&slot->call, call);
    if (preload_declares(call))
        rip_idle();
    return 0;
}

/*
 * Ends a call. After an idle call there is a second snap, which ends the idleness. Without it, a loop after the call
 * that makes no further calls would stay idle for ever, and never be a stall.
 */
PRELOAD_COLD void preload_end_special(const void *return_address, const void *frame, uint8_t call, preload_outer outer);

static inline __attribute__((always_inline)) void preload_end(const void *return_address, const void *frame,
                                                              uint8_t call, preload_outer outer)
{
    struct rip_slot *slot = rip__thread.slot;

    if (__builtin_expect(slot == NULL, 0) || __builtin_expect(preload_thread.frame != (uintptr_t)frame, 0)) {
        preload_end_special(return_address, frame, call, outer);
        return;
    }
    preload_thread.frame = 0;
    rip_store_relaxed(&slot->call, RIP_CALL_OUTSIDE);
    rip_signal_fence(); /* otherwise a handler after the snap could find this call and declare the thread idle again */
    if (preload_declares(call))
        preload_record(slot, (uintptr_t)return_address - 1);
}

/* Returns true if waits for locks are not marked here: the thread is not traced, or its binding marks them. */
static inline bool preload_is_unmarked(void)
{
    return rip__thread.slot == NULL || (preload_thread.special & PRELOAD_INSIDE) != 0;
}

/* --- preload_runtime.c -------------------------------------------------------------------------------------------- */

/*
 * Returns the place of a thread that calls from return_address, as a ring entry: a line of a script, or an address of
 * code. Async-signal-safe.
 */
uintptr_t preload_place(const void *return_address);
/* Called when a thread has registered. */
void preload_runtime_enter(void);
/* Returns true if the mutex belongs to the interpreter's lock. Called by special threads only. */
bool preload_is_interpreter_lock(const void *mutex);
/* Records a mutex that this thread locks. Called by special threads only. */
void preload_watch(const void *mutex);

/* Returns the kind of a wait for a condition with this mutex. */
static inline uint8_t preload_call_with(const void *mutex, uint8_t call)
{
    return __builtin_expect(preload_thread.special != 0, 0) && preload_is_interpreter_lock(mutex) ? RIP_CALL_INTERPRETER
                                                                                                  : call;
}

/* --- preload_binding.c -------------------------------------------------------------------------------------------- */

/* Called from the constructor. Returns true if the program is the interpreter of a known language. */
bool preload_is_interpreter(void);
/* Called from the constructor, with a ring. Has the binding loaded before the interpreter runs a script. */
void preload_binding_setup(void);

#endif
