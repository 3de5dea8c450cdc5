/* SPDX-License-Identifier: Apache-2.0 */
/* lock_wait.c - the table of lock kinds. Pure. See lock_wait.h for the guarantees and the source of the layouts. */
#include "cases/lock_wait.h"

#include <string.h>

#include "rip/ring.h"
#include "util/array.h"

#define TID_MAX 4194304u /* PID_MAX_LIMIT of the kernel */

/* From linux/futex.h, which is part of the kernel's ABI. */
enum { COMMAND_WAIT = 0, COMMAND_LOCK_PI = 6, COMMAND_WAIT_BITSET = 9, COMMAND_LOCK_PI2 = 13 };
#define FLAG_PRIVATE 128u
#define COMMAND_MASK (~(128u | 256u)) /* removes the flags PRIVATE and CLOCK_REALTIME */
#define WORD_WAITERS 0x80000000u
#define WORD_OWNER_DIED 0x40000000u
#define WORD_TID 0x3fffffffu

#define CALL(command) (1u << (command))
#define CALL_WAIT (CALL(COMMAND_WAIT) | CALL(COMMAND_WAIT_BITSET))
#define CALL_LOCK (CALL(COMMAND_LOCK_PI) | CALL(COMMAND_LOCK_PI2))

bool lock_wait_call_of(const uint64_t arguments[6], struct lock_wait_call *ret_call)
{
    const uint32_t operation = (uint32_t)arguments[1], command = operation & COMMAND_MASK;

    if (command >= 32 || (CALL(command) & (CALL_WAIT | CALL_LOCK)) == 0)
        return false;
    *ret_call = (struct lock_wait_call){
        .address = arguments[0],
        .operation = operation,
        .value = (uint32_t)arguments[2],
        .timed = arguments[3] != 0,
    };
    return true;
}

static uint32_t word_at(const uint8_t *bytes, size_t offset)
{
    uint32_t word;

    memcpy(&word, bytes + offset, sizeof(word));
    return word;
}

static bool is_zero(const uint8_t *bytes, size_t from, size_t to)
{
    while (from < to && bytes[from] == 0)
        from++;
    return from == to;
}

static bool is_tid(uint32_t tid)
{
    return tid != 0 && tid <= TID_MAX;
}

static bool is_private(const struct lock_wait_call *call)
{
    return (call->operation & FLAG_PRIVATE) != 0;
}

/* Mutexes ---------------------------------------------------------------------------------------------------------- */

enum {
    MUTEX_LOCK = 0,
    MUTEX_COUNT = 4,
    MUTEX_OWNER = 8,
    MUTEX_USERS = 12,
    MUTEX_KIND = 16,
    MUTEX_LIST = 24, /* two pointers, only in robust mutexes */
    MUTEX_BYTES = 40,

    MUTEX_CONTENDED = 2, /* lock word: held, with waiting threads */

    KIND_TYPE = 3, /* bits of the kind word */
    TYPE_RECURSIVE = 1,
    KIND_ROBUST = 16,
    KIND_SHARED = 128,
    KIND_ELISION = 256 | 512,
};

/*
 * A mutex without timeout waits with FUTEX_WAIT. FUTEX_WAIT_BITSET without timeout belongs to other users of futexes,
 * whose words may have any value.
 */
static bool fits_mutex(const struct lock_wait_call *call)
{
    return call->value == MUTEX_CONTENDED && (call->timed || (call->operation & COMMAND_MASK) == COMMAND_WAIT);
}

/* Only a recursive mutex counts its locks, and only a robust one is in a list. */
static bool is_plain(const uint8_t *bytes, uint32_t kind)
{
    return (word_at(bytes, MUTEX_COUNT) != 0) == ((kind & KIND_TYPE) == TYPE_RECURSIVE) &&
           is_zero(bytes, MUTEX_LIST, MUTEX_BYTES);
}

static bool decode_mutex(const struct lock_wait_call *call, const uint8_t *bytes, uint32_t *ret_tid)
{
    const uint32_t kind = word_at(bytes, MUTEX_KIND);

    *ret_tid = word_at(bytes, MUTEX_OWNER);
    return word_at(bytes, MUTEX_LOCK) == MUTEX_CONTENDED && is_tid(*ret_tid) && is_tid(word_at(bytes, MUTEX_USERS)) &&
           (kind & ~(uint32_t)(KIND_TYPE | KIND_SHARED | KIND_ELISION)) == 0 && is_plain(bytes, kind) &&
           ((kind & KIND_SHARED) == 0) == is_private(call);
}

static bool fits_robust(const struct lock_wait_call *call)
{
    return (call->value & ~WORD_TID) == WORD_WAITERS;
}

static bool decode_robust(const struct lock_wait_call *call, const uint8_t *bytes, uint32_t *ret_tid)
{
    const uint32_t lock = word_at(bytes, MUTEX_LOCK), kind = word_at(bytes, MUTEX_KIND);

    (void)call;
    *ret_tid = lock & WORD_TID;
    return (lock & WORD_WAITERS) != 0 && (lock & WORD_OWNER_DIED) == 0 && is_tid(*ret_tid) &&
           word_at(bytes, MUTEX_OWNER) == *ret_tid && (kind & KIND_ROBUST) != 0 &&
           (kind & ~(uint32_t)(KIND_TYPE | KIND_ROBUST | KIND_SHARED | KIND_ELISION)) == 0;
}

static bool fits_any(const struct lock_wait_call *call)
{
    (void)call;
    return true;
}

/* The kernel itself stores the holder there, and hands the lock over. */
static bool decode_inheriting(const struct lock_wait_call *call, const uint8_t *bytes, uint32_t *ret_tid)
{
    const uint32_t lock = word_at(bytes, MUTEX_LOCK);

    (void)call;
    *ret_tid = lock & WORD_TID;
    return (lock & WORD_OWNER_DIED) == 0 && is_tid(*ret_tid);
}

/* Rwlocks ---------------------------------------------------------------------------------------------------------- */

enum {
    RWLOCK_READERS = 0,
    RWLOCK_PHASE = 8,    /* readers wait here for a writer, and the first writer waits here for readers */
    RWLOCK_WRITERS = 12, /* other writers wait here */
    RWLOCK_PADDING = 16,
    RWLOCK_WRITER = 24,
    RWLOCK_SHARED = 28,
    RWLOCK_MORE_PADDING = 40,
    RWLOCK_FLAGS = 48,
    RWLOCK_BYTES = 56,

    RWLOCK_FLAGS_MAX = 2, /* preferring readers, writers, or writers without recursion */

    READERS_WRITING = 1, /* bits of the readers word: held by a writer, or free for one */
    READERS_LOCKED = 2,  /* a writer holds the lock or waits */
    READERS_WAIT = 4,    /* readers wait on this word until a writer has had its turn */
    READERS_SHIFT = 3,

    FUTEX_USED = 2, /* bit of the other two words */
};

static bool fits_phase(const struct lock_wait_call *call)
{
    return call->value == FUTEX_USED || call->value == (1 | FUTEX_USED);
}

static bool fits_writers(const struct lock_wait_call *call)
{
    return call->value == (1 | FUTEX_USED);
}

static bool is_read_held(uint32_t readers)
{
    return (readers & READERS_WRITING) == 0 && readers >> READERS_SHIFT != 0;
}

static bool fits_readers(const struct lock_wait_call *call)
{
    return (call->value & READERS_WAIT) != 0 && is_read_held(call->value);
}

static bool decode_rwlock(const struct lock_wait_call *call, const uint8_t *bytes, uint32_t *ret_tid)
{
    const uint32_t readers = word_at(bytes, RWLOCK_READERS), writing = READERS_WRITING | READERS_LOCKED;
    const uint32_t shared = word_at(bytes, RWLOCK_SHARED);

    if (shared != (is_private(call) ? 0 : 1) || word_at(bytes, RWLOCK_FLAGS) > RWLOCK_FLAGS_MAX ||
        !is_zero(bytes, RWLOCK_PADDING, RWLOCK_WRITER) || !is_zero(bytes, RWLOCK_MORE_PADDING, RWLOCK_FLAGS))
        return false;
    *ret_tid = word_at(bytes, RWLOCK_WRITER);
    if (*ret_tid != 0)
        return is_tid(*ret_tid) && (readers & writing) == writing;
    return is_read_held(readers) && (readers & READERS_LOCKED) != 0;
}

/* Only with a lock of this kind do readers wait on the readers word. */
static bool decode_readers(const struct lock_wait_call *call, const uint8_t *bytes, uint32_t *ret_tid)
{
    return word_at(bytes, RWLOCK_FLAGS) == RWLOCK_FLAGS_MAX && decode_rwlock(call, bytes, ret_tid) && *ret_tid == 0;
}

/* Streams of stdio ------------------------------------------------------------------------------------------------- */

enum {
    STREAM_LOCK = 0,
    STREAM_COUNT = 4,
    STREAM_OWNER = 8, /* address of the thread's control block */
    STREAM_BYTES = 16,

    STREAM_COUNT_MAX = 1000, /* highest lock count that is plausible */
    CONTROL_ALIGNMENT = 64,

    CONTROL_TID = 720, /* offset in glibc's struct pthread on amd64; the following offsets are relative to it */
    CONTROL_LIST = 8,
    CONTROL_LIST_NEXT = 16,
    CONTROL_LIST_OFFSET =
        24, /* offset from a robust list entry to the futex word, as each thread passes it to the kernel at its start */
    CONTROL_BYTES = 32,
};

#define LIST_OFFSET ((uint64_t)-32)
#define USER_ADDRESS_MAX (UINT64_C(1) << 47)

static uint64_t address_at(const uint8_t *bytes, size_t offset)
{
    uint64_t address;

    memcpy(&address, bytes + offset, sizeof(address));
    return address;
}

/* Only stdio waits in this way for such a word. */
static bool fits_stream(const struct lock_wait_call *call)
{
    return fits_mutex(call) && is_private(call) && !call->timed;
}

static bool is_user_address(uint64_t address, unsigned alignment)
{
    return address != 0 && address < USER_ADDRESS_MAX && address % alignment == 0;
}

static bool is_stream(const uint8_t *bytes)
{
    return word_at(bytes, STREAM_LOCK) == MUTEX_CONTENDED && word_at(bytes, STREAM_COUNT) != 0 &&
           word_at(bytes, STREAM_COUNT) <= STREAM_COUNT_MAX &&
           is_user_address(address_at(bytes, STREAM_OWNER), CONTROL_ALIGNMENT);
}

/* bytes are those of the control block. */
static bool decode_stream(const struct lock_wait_call *call, const uint8_t *bytes, uint32_t *ret_tid)
{
    (void)call;
    *ret_tid = word_at(bytes, 0);
    return is_tid(*ret_tid) && is_user_address(address_at(bytes, CONTROL_LIST), 8) &&
           is_user_address(address_at(bytes, CONTROL_LIST_NEXT), 8) &&
           address_at(bytes, CONTROL_LIST_OFFSET) == LIST_OFFSET;
}

/* The table -------------------------------------------------------------------------------------------------------- */

static const struct lock_kind {
    uint32_t calls; /* bits of CALL() */
    bool (*fits)(const struct lock_wait_call *call);
    size_t word; /* offset in the lock of the word that is waited on */
    size_t size;
    bool (*decode)(const struct lock_wait_call *call, const uint8_t *bytes, uint32_t *ret_tid);
    uint8_t flags;
} kinds[] = {
    {CALL_WAIT, fits_mutex, MUTEX_LOCK, MUTEX_BYTES, decode_mutex, 0},
    {CALL_WAIT, fits_robust, MUTEX_LOCK, MUTEX_BYTES, decode_robust, 0},
    {CALL_LOCK, fits_any, MUTEX_LOCK, sizeof(uint32_t), decode_inheriting, LOCK_WAIT_HANDED_ON},
    {CALL_WAIT, fits_phase, RWLOCK_PHASE, RWLOCK_BYTES, decode_rwlock, RIP_WAIT_SHARABLE},
    {CALL_WAIT, fits_writers, RWLOCK_WRITERS, RWLOCK_BYTES, decode_rwlock, RIP_WAIT_SHARABLE},
    {CALL_WAIT, fits_readers, RWLOCK_READERS, RWLOCK_BYTES, decode_readers, RIP_WAIT_SHARABLE},
    {CALL_WAIT, fits_stream, STREAM_LOCK, STREAM_BYTES, decode_stream, 0},
};

bool lock_wait_next_place(const struct lock_wait_call *call, size_t *kind, struct lock_wait_place *ret_place)
{
    while (*kind < ARRAY_COUNT(kinds)) {
        const struct lock_kind *tried = &kinds[(*kind)++];

        if ((CALL(call->operation & COMMAND_MASK) & tried->calls) == 0 || !tried->fits(call) ||
            call->address < tried->word || call->address % sizeof(uint32_t) != 0)
            continue;
        *ret_place = (struct lock_wait_place){call->address - tried->word, tried->size};
        return true;
    }
    return false;
}

bool lock_wait_holder_place(size_t next, const uint8_t *bytes, struct lock_wait_place *place)
{
    const uint64_t lock = place->address;

    if (kinds[next - 1].decode != decode_stream)
        return true;
    if (!is_stream(bytes))
        return false;
    *place = (struct lock_wait_place){address_at(bytes, STREAM_OWNER) + CONTROL_TID, CONTROL_BYTES};
    return place->address != lock;
}

bool lock_wait_holder_of(const struct lock_wait_call *call, size_t next, const uint8_t *bytes,
                         struct lock_wait_holder *ret_holder)
{
    const struct lock_kind *kind = &kinds[next - 1];
    uint32_t tid;

    if (!kind->decode(call, bytes, &tid))
        return false;
    *ret_holder = (struct lock_wait_holder){
        .address = call->address - kind->word,
        .tid = tid,
        .flags = (uint8_t)(kind->flags | (call->timed ? RIP_WAIT_ENDS : 0) | (is_private(call) ? 0 : RIP_WAIT_SHARED)),
    };
    return true;
}

/* Looks ------------------------------------------------------------------------------------------------------------ */

void lock_wait_seen(struct lock_wait *wait, const struct lock_wait_holder *holder, const struct lock_wait_look *look,
                    bool same_wait)
{
    bool same = same_wait && wait->holder.address == holder->address && wait->holder.tid == holder->tid &&
                wait->holder.flags == holder->flags;

    for (size_t i = 0; i < LOCK_WAIT_LOOKS && !same; i++)
        wait->looks[i] = *look;
    wait->looks[1] = wait->looks[2];
    wait->looks[2] = *look;
    wait->holder = *holder;
    wait->until_mono_ns = look->ended_mono_ns;
}
