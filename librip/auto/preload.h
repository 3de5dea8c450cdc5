/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.h - what the files of the preload library share.
 *
 * preload.c starts and ends tracing, preload_calls.c wraps the calls that can block, preload_lock.c
 * those that wait for a lock with an owner, preload_thread.c gives threads their slots and names, preload_process.c
 * follows the process through fork, exec and a change of user, preload_shield.c keeps the ring's descriptor open,
 * preload_pages.c notices modules that were loaded late, preload_filter.c the program's seccomp filters,
 * preload_sanitizer.c that it is built with a sanitizer, preload_symbols.c finds the wrapped functions,
 * preload_binding.c loads the binding of an interpreter, and preload_runtime.c is what that works with.
 *
 * Guarantees
 *   A. A wrapper has the return value, the errno and the side effects of the function it wraps.
 *   B. A wrapper of a call that can block is async-signal-safe where the call is, and takes no lock but the library's
 *      own, for a moment, where a thread or a page of code is new to it.
 *   C. Without a ring (the constructor has not run, or could make none, or the process has left) every wrapper only
 *      calls the function it wraps.
 *   D. Nothing is done to a process that is not ours: a vfork() child shares our memory but not our pid.
 *   E. Once the program has installed a seccomp filter no wrapper makes a system call but the wrapped one.
 *   F. No system call of ours goes through another library's wrapper, which may be gone at exit: see preload_own.c.
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
/* What a wrapper calls where something is out of the ordinary: the code that leads there stands apart. */
#define PRELOAD_COLD __attribute__((cold, noinline))

/*
 * Declares the wrapper of name under a C name of its own, so that glibc's declaration may say what it likes. Wrappers
 * stand side by side: after a long call into the kernel little of their code is left in the processor's caches.
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
/* Where only dlsym() finds functions, resolves all, so that no wrapper has to in a signal handler. */
void preload_resolve_setup(void);

static inline void *preload_function(enum preload_call call)
{
    void *function = rip_load_relaxed(&preload_functions[call]);

    return __builtin_expect(function != NULL, 1) ? function : preload_resolve(call);
}

/* The wrapped function name, with its type. */
#define PRELOAD_REAL(type, name, parameters) ((type(*) parameters)preload_function(CALL_##name))

/* --- preload_symbols.c -------------------------------------------------------------------------------------------- */

/* The address that dlsym(RTLD_NEXT, name) has, if it can be found without; else NULL. Async-signal-safe. */
void *preload_symbol_find(const char *name);
/* The C library's own function, whatever stands before it; NULL if it is no plain one. Async-signal-safe. */
void *preload_symbol_of_libc(const char *name);
/* The same of the program itself. */
void *preload_symbol_of_program(const char *name);

/* --- preload.c ---------------------------------------------------------------------------------------------------- */

struct preload_state {
    bool active;          /* this process has a ring */
    bool started;         /* or that was tried: the program's own start is near */
    pid_t pid;            /* whose state this is; another getpid() = a child that shares or copied our memory */
    bool loader_may_hang; /* see preload_own.c */
};
extern struct preload_state preload_state;

/*
 * True if this process has a ring that may be worked on: it is no vfork() child, and this is no signal handler in the
 * middle of fork(). Async-signal-safe.
 */
bool preload_is_ours(void);
/* The same, and system calls may be made. */
bool preload_is_free(void);
/* Starts tracing unless that was tried before; for those who may run before the constructor. */
void preload_start(void);
/* Leaves the ring in order; nothing is traced afterwards. Keeps errno. */
void preload_leave(void);
/* The same before an exec, after which readers may still look at what the process was doing. */
void preload_leave_to_exec(void);
/* Reports this line on standard error, if the program was started by `rip run` and nothing was reported yet. */
void preload_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Makes a new ring after these, for a process that stays after all, and registers this thread. Keeps errno.
 */
void preload_return(void);

/* --- preload_shield.c --------------------------------------------------------------------------------------------- */

/* True for the ring's descriptor, which is not open as far as the program can see. Keeps errno. */
bool preload_is_hidden(int fd);
/* What a call that was given it returns: -1, with errno EBADF. */
int preload_refuse(void);

/* --- preload_filter.c --------------------------------------------------------------------------------------------- */

/*
 * True once the program itself has installed a seccomp filter; one that it inherited does not count. From then on
 * nothing of ours may make a system call, also not at exit and in other threads.
 */
bool preload_filtered(void);
/* Around a call that may install a filter. Both keep errno. */
bool preload_filter_begin(void);
void preload_filter_end(bool begun, bool installed);
/* Whether these arguments of prctl() or seccomp() install one, if they succeed. */
bool preload_is_filter_prctl(int option, const unsigned long values[4]);
bool preload_is_filter_seccomp(unsigned long operation, unsigned long program);
/* Whether that outcome of seccomp() says that the filter is in force. */
bool preload_is_filter_installed(unsigned long flags, long outcome);

/* --- preload_sanitizer.c ------------------------------------------------------------------------------------------ */

typedef int preload_object_callback(struct dl_phdr_info *info, size_t size, void *data);

/* True if the program is built with a sanitizer that cannot work beside us: it is not traced. */
bool preload_is_sanitized(void);

/* --- preload_thread.c --------------------------------------------------------------------------------------------- */

/* Before the ring is made, so that the end of a thread is seen here before its slot is freed. */
void preload_thread_setup(void);
/* Registers the calling thread under its kernel name. Keeps errno. */
void preload_thread_enter(void);
/* In a forked child: the parent's other threads are not here. */
void preload_thread_after_fork(void);
/* The slots of all threads are gone. */
void preload_thread_forget(void);

/* --- preload_process.c -------------------------------------------------------------------------------------------- */

/* From the constructor: our handlers have to run behind the library's, which its own constructor registers. */
void preload_fork_setup(void);

/* --- preload_descriptor.c: async-signal-safe, errno is kept ------------------------------------------------------- */

struct pollfd;

/* All that is known of a descriptor, in one line: a call has just gone through much of the kernel's memory. */
struct preload_descriptor {
    uint32_t sender; /* tid of the thread that sent to it last; 0 = none */
    uint8_t kind;    /* enum rip_call of receiving from it; RIP_CALL_NONE = not known yet */
    bool connected;  /* by connect() */
    bool sent;       /* something was sent to it after the last receive */
    uint8_t reserved_7;
};
#define PRELOAD_DESCRIPTORS                                                                                            \
    65536u /* descriptors beyond are of no known kind; the pages of those not used are never touched */
extern struct preload_descriptor preload_descriptors[PRELOAD_DESCRIPTORS];

/* NULL for a number that is none, or beyond. */
static inline struct preload_descriptor *preload_descriptor_of(int fd)
{
    return (unsigned int)fd < PRELOAD_DESCRIPTORS ? &preload_descriptors[fd] : NULL;
}

/* Whether a descriptor of that kind is a connection to somebody who is asked for replies, or may be. */
static inline bool preload_may_ask(uint8_t kind)
{
    return kind == RIP_CALL_NONE || kind == RIP_CALL_REPLY;
}

/* What a call that receives from the descriptor waits for: an enum rip_call. */
uint8_t preload_call_receive_asked(int fd);

static inline uint8_t preload_call_receive(int fd)
{
    const struct preload_descriptor *descriptor = preload_descriptor_of(fd);
    const uint8_t kind = descriptor != NULL ? rip_load_relaxed(&descriptor->kind) : RIP_CALL_UNSURE;

    return __builtin_expect(preload_may_ask(kind), 0) ? preload_call_receive_asked(fd) : kind;
}

/* What opening waits for: to read, and to wait for it, may be a wait for who writes to a FIFO; only the kernel knows.
 */
static inline uint8_t preload_call_open(int flags)
{
    return (flags & (O_ACCMODE | O_NONBLOCK)) == O_RDONLY ? RIP_CALL_UNSURE : RIP_CALL_BLOCK;
}

static inline uint8_t preload_call_fopen(const char *mode)
{
    return mode[0] == 'r' && strchr(mode, '+') == NULL ? RIP_CALL_UNSURE : RIP_CALL_BLOCK;
}

/* Which descriptors are an interpreter's own: see rip/runtime.h. */
void preload_set_own_descriptors(bool (*is_own)(int fd));
/* The same of poll() and select(); in is an fd_set. */
uint8_t preload_call_poll(const struct pollfd *fds, unsigned long count);
uint8_t preload_call_select(int count, const void *in);
/* A number that is none is ignored by all that follow. Something was received from it, or sent to it. */
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

    if (descriptor != NULL && __builtin_expect(preload_may_ask(rip_load_relaxed(&descriptor->kind)), 0))
        preload_sent_request(fd);
}

void preload_descriptor_accepted(int fd);
void preload_descriptor_connecting(int fd);
/* The number is closed, or has just become something else. */
void preload_descriptor_forget(int fd);
void preload_descriptors_forget(unsigned int first, unsigned int last);
/* to stands for what from stands for. */
void preload_descriptor_copy(int from, int to);

/* --- the hot path ------------------------------------------------------------------------------------------------- */

/*
 * All that a call looks at of its thread is in one line of memory, behind one address: a call that comes out of the
 * kernel finds little of that in the processor's caches.
 */
struct preload_thread {
    struct rip_thread of_library; /* rip__thread itself: the name of both is one symbol */
    union {
        uintptr_t frame; /* of the call that this thread is in, and that it announces; 0 = none */
        struct {
            uint8_t address[7];
            uint8_t special; /* PRELOAD_*: what makes its calls other than those of most threads. It stands above all
                                bits of an address: one comparison says whether a thread is special or in a call */
        };
    };
    bool tried;            /* to register, with whatever result */
    bool forking;          /* in fork(), between the handlers: the library's mutex is ours, but cannot be taken again */
    uintptr_t known_start; /* code of the program, once the ring knows that module */
    uintptr_t known_bytes; /* 0 = not yet */
};
#define PRELOAD_SPECIAL_SHIFT 56
RIP_STATIC_ASSERT((offsetof(struct preload_thread, special) - offsetof(struct preload_thread, frame)) * 8 ==
                          PRELOAD_SPECIAL_SHIFT &&
                      __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
                  "what is special about a thread is not the highest byte of its frame");
#define PRELOAD_VFORKED 1u /* it has called vfork(): this may be the child, in its parent's memory */
#define PRELOAD_SCRIPT 2u  /* a thread of an interpreter: preload_runtime.c knows where it is */
#define PRELOAD_INSIDE 4u  /* in a call that the interpreter has announced itself */
#define PRELOAD_WATCHED 8u /* the mutexes that it locks are noted */
extern __thread struct preload_thread preload_thread __asm__("rip__thread")
    __attribute__((tls_model("initial-exec"), aligned(64)));

/* What is special about the thread stays. */
static inline void preload_set_frame(uintptr_t frame)
{
    preload_thread.frame = ((uintptr_t)preload_thread.special << PRELOAD_SPECIAL_SHIFT) | frame;
}

/*
 * The kind of a wait without a time limit: RIP_CALL_PRIVATE, unless other processes may share what is waited for. glibc
 * keeps that in the first bit of a condition's __wrefs and in a semaphore's third word.
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

/* A hash table of one place for each, for all threads: numbers of pages whose modules are known. */
#define PRELOAD_PAGES 1024u
#define PRELOAD_PAGE_SHIFT 12
extern uintptr_t preload_pages[PRELOAD_PAGES];
/* Has the ring know the module of an address whose page is in no place. */
PRELOAD_COLD void preload_new_page(uintptr_t address);
/* The ring is another one. */
void preload_forget_pages(void);
/* What the ring knows of the program, for a thread that has just registered. */
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

/* The call that a signal handler interrupted to get to the present one; 0 = none. See preload_runtime.c. */
typedef uint64_t preload_outer;

/* A thread without a slot: one that pthread_create() has not shown us is registered at its first wrapped call. */
void preload_untraced(const void *return_address);
/*
 * A breadcrumb at address, for the call that returns to return_address. The slot; NULL = the thread is not traced. The
 * ring knows the modules of machine code, and not those of scripts.
 */
struct rip_slot *preload_pass_at(const void *return_address, uintptr_t address);
/* Whether this is the child of a vfork(), which must not write into its parent's slot; asked if PRELOAD_VFORKED. */
bool preload_is_vfork_child(void);
static inline bool preload_in_vfork_child(void)
{
    return (preload_thread.special & PRELOAD_VFORKED) != 0 && preload_is_vfork_child();
}

/* rip__record() with the unlocked increment of rip_snap(), see there; without the globals, which nobody reads here. */
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

/* Calls that declare idleness besides. */
static inline bool preload_declares(uint8_t call)
{
    return call == RIP_CALL_WORK || call == RIP_CALL_INPUT || call == RIP_CALL_PRIVATE || call == RIP_CALL_READY;
}

/*
 * The slot of a thread like most, that calls from an address like most: its module is known, and the process has not
 * left the ring (see detach_mapping()). NULL: something is out of the ordinary.
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
 * The begin of a call, for the wrapper whose frame is given: a breadcrumb at the caller, and the kind of the call. The
 * address is that of the call's last byte: a return address may belong to the next line, or after a call that does not
 * return to the next function.
 *
 * Most calls are announced here. The others are announced by the second function, in preload_runtime.c, with a frame
 * that no call has by itself: so the end of most needs to look at nothing else.
 */
PRELOAD_COLD preload_outer preload_begin_special(const void *return_address, const void *frame, uint8_t call);
/* Announces a call whose breadcrumb has been left. */
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
    rip_signal_fence(); /* a handler has to know that it interrupts this call */
    rip_store_relaxed(&slot->call, call);
    if (preload_declares(call))
        rip_idle();
    return 0;
}

/*
 * The end of a call. After one that was idle comes a second snap: it makes a loop that never gets here again a stall.
 * Without it, it would be idle for ever.
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
    rip_signal_fence(); /* no handler may declare idleness after what the caller does next */
    if (preload_declares(call))
        preload_record(slot, (uintptr_t)return_address - 1);
}

/* True if a lock that this thread waits for is not marked: it is not traced, or its binding does that. */
static inline bool preload_marks_none(void)
{
    return rip__thread.slot == NULL || (preload_thread.special & PRELOAD_INSIDE) != 0;
}

/* --- preload_runtime.c -------------------------------------------------------------------------------------------- */

/* Where a thread is that calls from return_address, as an entry of the ring has it. Async-signal-safe. */
uintptr_t preload_place(const void *return_address);
/* A thread has registered. */
void preload_runtime_enter(void);
/* Whether the mutex is that of the interpreter's lock; asked by special threads. */
bool preload_is_interpreter_lock(const void *mutex);
/* Notes a mutex that this thread locks; asked by special threads. */
void preload_watch(const void *mutex);

/* The kind of a wait for a condition with that mutex. */
static inline uint8_t preload_call_with(const void *mutex, uint8_t call)
{
    return __builtin_expect(preload_thread.special != 0, 0) && preload_is_interpreter_lock(mutex) ? RIP_CALL_INTERPRETER
                                                                                                  : call;
}

/* --- preload_binding.c -------------------------------------------------------------------------------------------- */

/* From the constructor: true if the program is the interpreter of a known language. */
bool preload_is_interpreter(void);
/* From the constructor, with a ring: the binding is loaded before the interpreter runs a program. */
void preload_binding_setup(void);

#endif
