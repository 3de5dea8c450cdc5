/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - the bytes of a ring file, format 1.
 *
 * A ring is one file on tmpfs. The processes that share it through fork() write it; everyone who may open it can read
 * it. This header has only the layout: constants, structures, an assertion for every offset. The normative text, with
 * the life cycle of every field and the ordering rules, is librip/ABI.md.
 *
 *   +--------------------+ 0
 *   | struct rip_ring    | one page: geometry, identity, counters
 *   +--------------------+ summary_offset
 *   | summary bitmap     | a bit per word of the live bitmap; a set bit is never cleared
 *   +--------------------+ live_offset
 *   | live bitmap        | a bit per slot; set = the slot holds a live id
 *   +--------------------+ process_offset
 *   | rip_process[]      | one record per process that shares the ring
 *   +--------------------+ module_offset
 *   | rip_module[]       | append-only; processes refer to entries by index
 *   +--------------------+ slot_offset
 *   | rip_slot[]         | one per live id, rip_ring.slot_stride_bytes apart
 *   +--------------------+ note_offset, if it is not 0
 *   | rip_slot_note[]    | a note for each slot
 *   +--------------------+ script_offset, if it is not 0
 *   | rip_script[]       | append-only; functions of scripts; trail entries refer to them by index
 *   +--------------------+ file_bytes
 *
 * The file is sparse. A reader must touch only the pages that the bitmaps and the high-water marks vouch for: a read
 * fault on a hole of a tmpfs mapping allocates the page.
 *
 * Guarantees
 *   A. All integers are in host byte order; rip_ring.byte_order says which.
 *   B. Reserved bytes and unused flag bits are 0 in format 1.
 *   C. A file with a valid rip_ring.magic is complete: all other fields that are written once were stored before the
 *      magic. Exception: the boot id.
 *   D. Offsets and strides are in the file. A reader uses those, bounded by the size of the file, and never sizeof().
 */
#ifndef RIP_RING_H
#define RIP_RING_H

#include <stddef.h>
#include <stdint.h>

/* "RIPRING\0" read as a little-endian integer. */
#define RIP_MAGIC UINT64_C(0x00474e4952504952)
#define RIP_FORMAT_VERSION 1u
#define RIP_UNFINISHED_PREFIX ".rip-unfinished-" /* of the name, if any, of a file that is not a ring yet */
#define RIP_BYTE_ORDER UINT32_C(0x01020304)

/* Sizes that format 1 fixes for its writers. Readers take them from the header. */
#define RIP_PAGE_BYTES 4096u /* alignment of every section, regardless of the page size of the machine */
#define RIP_SLOT_BYTES 384u  /* not a power of two: see LAYOUT in librip/ABI.md */
#define RIP_ENTRY_COUNT 32u  /* entries of a trail */
#define RIP_NAME_BYTES 63u   /* bytes of an id's name that are kept */
#define RIP_NOTE_BYTES 127u  /* bytes of an id's note that are kept */
#define RIP_SLOT_NOTE_BYTES 192u
#define RIP_PROCESS_BYTES 1024u
#define RIP_PROCESS_MODULES 384u /* modules that one process record can name */
#define RIP_MODULE_BYTES 512u
#define RIP_MODULE_PATH_BYTES 440u
#define RIP_BUILD_ID_BYTES 32u
#define RIP_COMM_BYTES 16u
#define RIP_SCRIPT_BYTES 384u
#define RIP_SCRIPT_FILE_BYTES 240u     /* bytes of a script's path that are kept: the last ones */
#define RIP_SCRIPT_FUNCTION_BYTES 128u /* bytes of a function's name that are kept: the first ones */
#define RIP_ENDED_COUNT 256u           /* number of ended ids that the header remembers */

/* Limits. A writer does not make, and a reader does not map, a ring beyond them. */
#define RIP_CAPACITY_MAX (UINT32_C(1) << 26) /* slots */
#define RIP_PROCESS_MIN 64u                  /* process records of the smallest ring */
#define RIP_PROCESS_MAX 1024u
#define RIP_MODULE_MAX 4096u
#define RIP_SCRIPT_MAX 16384u

/* An entry packs the low 8 bits of its count above 56 bits of address. */
#define RIP_ENTRY_TAG_SHIFT 56
#define RIP_ENTRY_ADDRESS_MASK ((UINT64_C(1) << RIP_ENTRY_TAG_SHIFT) - 1)

/*
 * An address with this bit is a line of a script. Bits 24 to 47 are the index of the function in the script table, bits
 * 0 to 23 the line (0 = not known). Bits 48 to 54 are 0; an address with one of them set is not a known place. No code
 * has such an address: unless a program asks for a higher address, the kernel maps below 2^47 on amd64 and below 2^52
 * on aarch64.
 */
#define RIP_PLACE_SCRIPT (UINT64_C(1) << 55)
#define RIP_PLACE_UNKNOWN_BITS (UINT64_C(127) << 48)
#define RIP_PLACE_INDEX_SHIFT 24
#define RIP_PLACE_INDEX_MASK UINT64_C(0xffffff)
#define RIP_PLACE_LINE_MASK UINT64_C(0xffffff)

/*
 * An entry of the log of ended ids has the generation in its high bits, then RIP_ENDED_LAP(number), then the slot.
 * Numbers that are RIP_ENDED_COUNT apart share an element of the log. The lap distinguishes them: it grows by 1 with
 * each reuse.
 */
#define RIP_ENDED_GENERATION_SHIFT 32
#define RIP_ENDED_LAP_SHIFT 26
#define RIP_ENDED_LAP_MASK UINT64_C(63)
#define RIP_ENDED_SLOT_MASK ((UINT64_C(1) << RIP_ENDED_LAP_SHIFT) - 1)
#define RIP_ENDED_LAP(number) (((number) / RIP_ENDED_COUNT + 1) & RIP_ENDED_LAP_MASK)

/* Bits of compatible_flags. */
#define RIP_RING_COUNTS_ENDED UINT64_C(1) /* writers maintain ended_count and the fields next to it */
#define RIP_RING_HAS_SCRIPTS UINT64_C(2)  /* the ring has a script table, and addresses may be lines of scripts */

/*
 * Byte ranges that carry locks, never data. All are far beyond the end of any ring. Byte i of the first two ranges
 * belongs to process record i.
 *   HOLDER   A POSIX record lock. The process holds it through its one file descriptor of the ring. F_GETLK returns the
 *            pid of the holder in the reader's pid namespace. Lost when the process closes any descriptor of the file.
 *   LIFE     An open-file-description lock whose only reference is a mapping that fork does not inherit. It is released
 *            exactly when the address space ends: at exit, kill and exec, and at nothing else.
 *   TAKEOVER One byte, held while a dead ring is renamed.
 */
#define RIP_LOCK_HOLDER_OFFSET (UINT64_C(1) << 60)
#define RIP_LOCK_LIFE_OFFSET ((UINT64_C(1) << 60) + (UINT64_C(1) << 32))
#define RIP_LOCK_TAKEOVER_OFFSET ((UINT64_C(1) << 60) + (UINT64_C(1) << 33))

/*
 * Header, offset 0. Bytes 0-511 are written once, before the magic (except the boot id). From byte 512 on there are
 * counters and high-water marks, which processes change with atomic operations while they run.
 */
struct rip_ring {
    uint64_t magic;          /* RIP_MAGIC, stored last */
    uint32_t format_version; /* RIP_FORMAT_VERSION */
    uint32_t header_bytes;   /* RIP_PAGE_BYTES */
    uint32_t byte_order;     /* RIP_BYTE_ORDER */
    uint32_t reserved_20;
    uint64_t compatible_flags;   /* a reader ignores the bits it does not know */
    uint64_t incompatible_flags; /* a reader refuses a ring with bits it does not know */
    uint64_t file_bytes;         /* size of the whole file */

    uint8_t ring_id[16];      /* random, unique to this ring */
    uint8_t boot_id[16];      /* /proc/sys/kernel/random/boot_id as bytes; all 0 = not known, or not yet */
    uint64_t created_wall_ns; /* CLOCK_REALTIME */
    uint64_t created_boot_ns; /* CLOCK_BOOTTIME */

    uint32_t slot_capacity;     /* number of slots, at least 1 */
    uint32_t slot_stride_bytes; /* RIP_SLOT_BYTES, or more in a later minor format */
    uint64_t slot_offset;
    uint32_t entry_count;        /* entries of a slot; a power of two */
    uint32_t entry_offset_bytes; /* offset of the entries inside a slot */
    uint64_t summary_offset;
    uint64_t live_offset;
    uint32_t process_capacity;
    uint32_t process_stride_bytes;
    uint64_t process_offset;
    uint32_t module_capacity;
    uint32_t module_stride_bytes;
    uint64_t module_offset;

    uint64_t lock_holder_offset;   /* RIP_LOCK_HOLDER_OFFSET */
    uint64_t lock_life_offset;     /* RIP_LOCK_LIFE_OFFSET */
    uint64_t lock_takeover_offset; /* RIP_LOCK_TAKEOVER_OFFSET */

    /*
     * Sections in which element i belongs to slot i. Offset 0 = absent. Notes are absent in most rings of the preload
     * library (see LAYOUT in librip/ABI.md). The others are for later releases. A reader ignores sections that it does
     * not know.
     */
    uint64_t note_offset; /* short texts ("GET /checkout?id=7") */
    uint32_t note_stride_bytes;
    uint32_t stamp_stride_bytes; /* a time stamp for every entry */
    uint64_t stamp_offset;
    uint64_t deep_offset; /* older entries, beyond the newest entry_count */
    uint32_t deep_stride_bytes;
    uint32_t deep_entry_count;

    uint64_t script_offset; /* the script table; 0 = the ring has none */
    uint32_t script_stride_bytes;
    uint32_t script_capacity;
    uint8_t reserved_248[264];

    uint64_t refused_full_count;    /* registrations refused because every slot was taken */
    uint64_t refused_memory_count;  /* ... because there was no memory for the slot */
    uint64_t refused_process_count; /* ... because no process record was free */
    uint64_t modules_dropped_count; /* modules that did not fit into a table */
    uint64_t registered_count;      /* ids ever registered */
    uint32_t process_high_water;    /* process records [0, this) may be read */
    uint32_t module_high_water;     /* module entries [0, this) may be read */
    uint32_t slot_hint;             /* where a search for a free slot starts; any value is valid */
    uint32_t reserved_564;

    /* Ids that have ended; see 2.6 in librip/ABI.md. The contents of a slot stay until the slot is claimed again. */
    uint64_t ended_count;            /* ids that have ended so far: the newest has the number ended_count - 1 */
    uint64_t ended_snap_count;       /* snaps that those ids made */
    uint32_t flush_count;            /* calls of rip_flush(). Recorders wait on this word with futex(2). */
    uint32_t ended_begun_count;      /* ends begun, low 32 bits; equal to ended_count unless an end is in progress */
    uint64_t ended[RIP_ENDED_COUNT]; /* [n % RIP_ENDED_COUNT] = the id that ended with number n */

    uint64_t scripts_dropped_count; /* functions of scripts that did not fit into the table */
    uint32_t script_high_water;     /* script entries [0, this) may be read */
    uint8_t reserved_2652[RIP_PAGE_BYTES - 2652];
};

/* States of a process record. */
enum rip_process_state {
    RIP_PROCESS_FREE = 0,    /* belongs to no process */
    RIP_PROCESS_EMBRYO = 1,  /* reserved by a parent for the child that it is about to fork */
    RIP_PROCESS_CLAIMED = 2, /* being written */
    RIP_PROCESS_LIVE = 3,    /* complete; 2.2 in librip/ABI.md lists what may still change */
    RIP_PROCESS_EXITED = 4,  /* the process left in order; the record may be claimed again */
    RIP_PROCESS_EXECING = 5, /* LIVE, about to exec; EXITED if the exec fails */
};

/* Flags of a process record. */
#define RIP_PROCESS_HAS_HOLDER_LOCK 1u /* the process took its HOLDER byte */
#define RIP_PROCESS_HAS_LIFE_LOCK 2u   /* the process took its LIFE byte: if the lock is gone, so is the process */
#define RIP_PROCESS_PRELOADED 4u       /* traced by the preload library */
#define RIP_PROCESS_EXITING 8u         /* the process called exit(), or returned from main() */
#define RIP_PROCESS_COMPILED 16u       /* traced by compiler instrumentation (librip-compiled) */

struct rip_process {
    uint32_t state;            /* enum rip_process_state */
    uint32_t generation;       /* incremented each time the record is claimed */
    uint32_t flags;            /* RIP_PROCESS_* flags */
    uint32_t pid;              /* in the writer's pid namespace; 0 = an embryo whose child is not forked yet */
    uint64_t start_time_ticks; /* /proc/PID/stat field 22; 0 = not known */
    uint64_t pid_namespace;    /* inode number of /proc/PID/ns/pid; 0 = not known */
    uint64_t entered_boot_ns;  /* CLOCK_BOOTTIME. EMBRYO: when it was reserved; LIVE: when the process entered */
    uint32_t parent_pid;       /* of an embryo: the parent that reserved it */
    uint32_t uid;              /* effective, at entry */
    uint32_t module_count;     /* module_index[0, this) may be read */
    uint32_t reserved_52;
    uint8_t comm[RIP_COMM_BYTES]; /* NUL-padded */
    uint8_t reserved_72[184];
    uint16_t module_index[RIP_PROCESS_MODULES]; /* into the module table, oldest first; of two that overlap, the
                                                   newer is mapped */
};

#define RIP_MODULE_PATH_TRUNCATED 1u /* path holds the last bytes of a longer one */
#define RIP_MODULE_MAIN 2u           /* the program itself, not a shared object */

struct rip_module {
    uint64_t start; /* first mapped address */
    uint64_t end;   /* one past the last mapped address; 0 = entry not published */
    uint64_t bias;  /* address = bias + address in the ELF file */
    uint32_t flags; /* RIP_MODULE_* */
    uint16_t path_bytes;
    uint8_t build_id_bytes; /* 0 = no build id */
    uint8_t reserved_31;
    uint8_t build_id[RIP_BUILD_ID_BYTES];
    uint8_t path[RIP_MODULE_PATH_BYTES]; /* not terminated */
    uint64_t reserved_504;
};

#define RIP_SCRIPT_FILE_TRUNCATED 1u     /* file holds the last bytes of a longer path */
#define RIP_SCRIPT_FUNCTION_TRUNCATED 2u /* function holds the first bytes of a longer name */

/* A function, method or block of a script. Texts are bytes, neither terminated nor necessarily valid UTF-8. */
struct rip_script {
    uint32_t published;  /* 1 = complete, stored last */
    uint32_t first_line; /* of the function; 0 = not known */
    uint16_t file_bytes;
    uint8_t function_bytes;
    uint8_t flags; /* RIP_SCRIPT_* */
    uint32_t reserved_12;
    uint8_t file[RIP_SCRIPT_FILE_BYTES];
    uint8_t function[RIP_SCRIPT_FUNCTION_BYTES];
};

enum rip_kind {
    RIP_KIND_THREAD = 0,    /* registered once and stayed on its thread */
    RIP_KIND_COROUTINE = 1, /* has been switched onto or off a thread */
};

/* States of a slot. Writers claim a slot with this word; only the live bitmap says whether the slot is live. */
enum rip_slot_state {
    RIP_SLOT_FREE = 0,
    RIP_SLOT_CLAIMED = 1,
    RIP_SLOT_LIVE = 2,
};

/*
 * The kind of call that a thread is in. The preload library sets it at entry and return of a call. A reader treats an
 * unknown kind as RIP_CALL_UNSURE.
 */
enum rip_call {
    RIP_CALL_NONE = 0,     /* not used: the program itself declares when it waits for work */
    RIP_CALL_OUTSIDE = 1,  /* in none of the marked calls */
    RIP_CALL_WORK = 2,     /* waits for work; idle is declared too */
    RIP_CALL_INPUT = 3,    /* receives from an input; idle is declared too */
    RIP_CALL_PIPE = 4,     /* reads a pipe: as INPUT, unless its own child writes to the pipe */
    RIP_CALL_UNSURE = 5,   /* receives from, or opens for reading, something that may or may not be an input */
    RIP_CALL_REPLY = 6,    /* receives from a connection that the process opened */
    RIP_CALL_BLOCK = 7,    /* waits for others: writes, connects, queries a name server */
    RIP_CALL_LOCK = 8,     /* waits for a lock or a barrier */
    RIP_CALL_SLEEP = 9,    /* sleeps for a time that it chose */
    RIP_CALL_VFORK = 10,   /* in state D: waits for its vfork child to exec; otherwise as OUTSIDE */
    RIP_CALL_PRIVATE = 11, /* as WORK, without a time limit, and only a thread of its own process can end the wait */
    RIP_CALL_SHARED = 12,  /* waits for a lock that processes may share: a mutex or a file lock */
    RIP_CALL_READY = 13,   /* as WORK, for a file descriptor: a connection, or readiness */
    RIP_CALL_INTERPRETER = 14, /* in no other call: wants to run, and waits for its interpreter's lock */
    RIP_CALL_COMPUTES = 15,    /* as OUTSIDE, after INTERPRETER since the last call: its sleeps may be waits for that
                                  lock */
};

/* Flags of a wait for a lock. If a wait has a flag that the reader does not know, nothing of the wait is proven. */
#define RIP_WAIT_OWNER_IS_ID 1u /* wait_owner is an id of the same process; otherwise a tid of the same process */
#define RIP_WAIT_SHARABLE 2u    /* several readers may hold the lock; they are not named, and the owner is then 0 */
#define RIP_WAIT_ENDS 4u        /* the wait has a time limit */
#define RIP_WAIT_OWNER_LASTS 8u /* the writer promises: same owner until the wait ends or is marked again */
#define RIP_WAIT_SHARED 16u     /* processes may share the lock: wait_owner is a tid in the holder's pid namespace */

/*
 * A slot. The first cache line is hot: it has all that a scan reads, and most of what a snap writes. The entries
 * follow. The name is read only for suspects and has its own cache line.
 */
struct rip_slot {
    uint64_t count;      /* snaps made + counter_bias; incremented without a lock by the thread that the id is on */
    uint64_t idle_mark;  /* 0 = neither idle nor waiting. Highest bit set: ~count when idle was declared; the id is
                            idle while this equals ~count. Otherwise: the CLOCK_MONOTONIC at which wait_owner was
                            read. */
    uint32_t generation; /* + 2 per registration, restart or change of counter_bias; odd while identity fields change */
    uint32_t id;
    uint32_t tid;         /* thread that the id is on, in the writer's pid namespace; 0 = none */
    uint16_t process;     /* index of the process record */
    uint8_t index_bias;   /* rip_idx = low 8 bits of count + this */
    uint8_t counter_bias; /* makes the low 8 bits of count equal rip_ctr, for any counter that a program starts with */
    uint32_t deadline_ms; /* the id's own threshold: frozen for longer is a stall; 0 = none */
    uint16_t state;       /* enum rip_slot_state */
    uint8_t call;         /* enum rip_call */
    uint8_t name_version; /* + 2 for each rename without a new registration; odd while the name changes */
    uint64_t registered_boot_ns; /* CLOCK_BOOTTIME */
    uint64_t wait_address;       /* the lock that the id waits for, 56 bits; only to be compared */
    uint32_t wait_owner;         /* the holder of that lock when it was last read; 0 = none, or not known */
    uint8_t kind;                /* enum rip_kind */
    uint8_t wait_tag;            /* low 8 bits of the count that the wait belongs to */
    uint8_t wait_flags;          /* RIP_WAIT_* */
    uint8_t wait_age_s;          /* minimum age of the wait in seconds when wait_owner was read; 255 = that or more */
    uint64_t entry[RIP_ENTRY_COUNT]; /* [n & 31] = (n << 56) | address, of the snap that made count n */
    uint8_t name_bytes;
    uint8_t name[RIP_NAME_BYTES]; /* not terminated */
};

/*
 * What an id says it is doing. Written by the thread that the id is on, while readers read. A note is complete if check
 * matches its sequence and the words from text_bytes on (see Notes in librip/ABI.md).
 */
struct rip_slot_note {
    uint64_t sequence; /* incremented for each note; 0 = there has been none */
    uint64_t check;
    uint8_t text_bytes;           /* 0 = no note */
    uint8_t text[RIP_NOTE_BYTES]; /* not terminated; the rest is 0 */
    uint64_t reserved_144[6];
};

#ifdef __cplusplus
#define RIP_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define RIP_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#define RIP_ASSERT_OFFSET(type, field, offset)                                                                         \
    RIP_STATIC_ASSERT(offsetof(struct type, field) == (offset), #type "." #field " has moved")

RIP_STATIC_ASSERT(RIP_CAPACITY_MAX - 1 <= RIP_ENDED_SLOT_MASK, "a slot does not fit into the log of ended ids");
RIP_STATIC_ASSERT(sizeof(struct rip_ring) == RIP_PAGE_BYTES, "struct rip_ring has changed size");
RIP_STATIC_ASSERT(sizeof(struct rip_process) == RIP_PROCESS_BYTES, "struct rip_process has changed size");
RIP_STATIC_ASSERT(sizeof(struct rip_module) == RIP_MODULE_BYTES, "struct rip_module has changed size");
RIP_STATIC_ASSERT(sizeof(struct rip_script) == RIP_SCRIPT_BYTES, "struct rip_script has changed size");
RIP_STATIC_ASSERT(RIP_SCRIPT_MAX - 1 <= RIP_PLACE_INDEX_MASK, "an index does not fit into a place of a script");
RIP_STATIC_ASSERT(sizeof(struct rip_slot) == RIP_SLOT_BYTES, "struct rip_slot has changed size");
RIP_STATIC_ASSERT(sizeof(struct rip_slot_note) == RIP_SLOT_NOTE_BYTES, "struct rip_slot_note has changed size");

RIP_ASSERT_OFFSET(rip_ring, magic, 0);
RIP_ASSERT_OFFSET(rip_ring, format_version, 8);
RIP_ASSERT_OFFSET(rip_ring, header_bytes, 12);
RIP_ASSERT_OFFSET(rip_ring, byte_order, 16);
RIP_ASSERT_OFFSET(rip_ring, reserved_20, 20);
RIP_ASSERT_OFFSET(rip_ring, compatible_flags, 24);
RIP_ASSERT_OFFSET(rip_ring, incompatible_flags, 32);
RIP_ASSERT_OFFSET(rip_ring, file_bytes, 40);
RIP_ASSERT_OFFSET(rip_ring, ring_id, 48);
RIP_ASSERT_OFFSET(rip_ring, boot_id, 64);
RIP_ASSERT_OFFSET(rip_ring, created_wall_ns, 80);
RIP_ASSERT_OFFSET(rip_ring, created_boot_ns, 88);
RIP_ASSERT_OFFSET(rip_ring, slot_capacity, 96);
RIP_ASSERT_OFFSET(rip_ring, slot_stride_bytes, 100);
RIP_ASSERT_OFFSET(rip_ring, slot_offset, 104);
RIP_ASSERT_OFFSET(rip_ring, entry_count, 112);
RIP_ASSERT_OFFSET(rip_ring, entry_offset_bytes, 116);
RIP_ASSERT_OFFSET(rip_ring, summary_offset, 120);
RIP_ASSERT_OFFSET(rip_ring, live_offset, 128);
RIP_ASSERT_OFFSET(rip_ring, process_capacity, 136);
RIP_ASSERT_OFFSET(rip_ring, process_stride_bytes, 140);
RIP_ASSERT_OFFSET(rip_ring, process_offset, 144);
RIP_ASSERT_OFFSET(rip_ring, module_capacity, 152);
RIP_ASSERT_OFFSET(rip_ring, module_stride_bytes, 156);
RIP_ASSERT_OFFSET(rip_ring, module_offset, 160);
RIP_ASSERT_OFFSET(rip_ring, lock_holder_offset, 168);
RIP_ASSERT_OFFSET(rip_ring, lock_life_offset, 176);
RIP_ASSERT_OFFSET(rip_ring, lock_takeover_offset, 184);
RIP_ASSERT_OFFSET(rip_ring, note_offset, 192);
RIP_ASSERT_OFFSET(rip_ring, note_stride_bytes, 200);
RIP_ASSERT_OFFSET(rip_ring, stamp_stride_bytes, 204);
RIP_ASSERT_OFFSET(rip_ring, stamp_offset, 208);
RIP_ASSERT_OFFSET(rip_ring, deep_offset, 216);
RIP_ASSERT_OFFSET(rip_ring, deep_stride_bytes, 224);
RIP_ASSERT_OFFSET(rip_ring, deep_entry_count, 228);
RIP_ASSERT_OFFSET(rip_ring, script_offset, 232);
RIP_ASSERT_OFFSET(rip_ring, script_stride_bytes, 240);
RIP_ASSERT_OFFSET(rip_ring, script_capacity, 244);
RIP_ASSERT_OFFSET(rip_ring, reserved_248, 248);
RIP_ASSERT_OFFSET(rip_ring, refused_full_count, 512);
RIP_ASSERT_OFFSET(rip_ring, refused_memory_count, 520);
RIP_ASSERT_OFFSET(rip_ring, refused_process_count, 528);
RIP_ASSERT_OFFSET(rip_ring, modules_dropped_count, 536);
RIP_ASSERT_OFFSET(rip_ring, registered_count, 544);
RIP_ASSERT_OFFSET(rip_ring, process_high_water, 552);
RIP_ASSERT_OFFSET(rip_ring, module_high_water, 556);
RIP_ASSERT_OFFSET(rip_ring, slot_hint, 560);
RIP_ASSERT_OFFSET(rip_ring, reserved_564, 564);
RIP_ASSERT_OFFSET(rip_ring, ended_count, 568);
RIP_ASSERT_OFFSET(rip_ring, ended_snap_count, 576);
RIP_ASSERT_OFFSET(rip_ring, flush_count, 584);
RIP_ASSERT_OFFSET(rip_ring, ended_begun_count, 588);
RIP_ASSERT_OFFSET(rip_ring, ended, 592);
RIP_ASSERT_OFFSET(rip_ring, scripts_dropped_count, 2640);
RIP_ASSERT_OFFSET(rip_ring, script_high_water, 2648);
RIP_ASSERT_OFFSET(rip_ring, reserved_2652, 2652);

RIP_ASSERT_OFFSET(rip_script, published, 0);
RIP_ASSERT_OFFSET(rip_script, first_line, 4);
RIP_ASSERT_OFFSET(rip_script, file_bytes, 8);
RIP_ASSERT_OFFSET(rip_script, function_bytes, 10);
RIP_ASSERT_OFFSET(rip_script, flags, 11);
RIP_ASSERT_OFFSET(rip_script, reserved_12, 12);
RIP_ASSERT_OFFSET(rip_script, file, 16);
RIP_ASSERT_OFFSET(rip_script, function, 256);

RIP_ASSERT_OFFSET(rip_process, state, 0);
RIP_ASSERT_OFFSET(rip_process, generation, 4);
RIP_ASSERT_OFFSET(rip_process, flags, 8);
RIP_ASSERT_OFFSET(rip_process, pid, 12);
RIP_ASSERT_OFFSET(rip_process, start_time_ticks, 16);
RIP_ASSERT_OFFSET(rip_process, pid_namespace, 24);
RIP_ASSERT_OFFSET(rip_process, entered_boot_ns, 32);
RIP_ASSERT_OFFSET(rip_process, parent_pid, 40);
RIP_ASSERT_OFFSET(rip_process, uid, 44);
RIP_ASSERT_OFFSET(rip_process, module_count, 48);
RIP_ASSERT_OFFSET(rip_process, reserved_52, 52);
RIP_ASSERT_OFFSET(rip_process, comm, 56);
RIP_ASSERT_OFFSET(rip_process, reserved_72, 72);
RIP_ASSERT_OFFSET(rip_process, module_index, 256);

RIP_ASSERT_OFFSET(rip_module, start, 0);
RIP_ASSERT_OFFSET(rip_module, end, 8);
RIP_ASSERT_OFFSET(rip_module, bias, 16);
RIP_ASSERT_OFFSET(rip_module, flags, 24);
RIP_ASSERT_OFFSET(rip_module, path_bytes, 28);
RIP_ASSERT_OFFSET(rip_module, build_id_bytes, 30);
RIP_ASSERT_OFFSET(rip_module, reserved_31, 31);
RIP_ASSERT_OFFSET(rip_module, build_id, 32);
RIP_ASSERT_OFFSET(rip_module, path, 64);
RIP_ASSERT_OFFSET(rip_module, reserved_504, 504);

RIP_ASSERT_OFFSET(rip_slot, count, 0);
RIP_ASSERT_OFFSET(rip_slot, idle_mark, 8);
RIP_ASSERT_OFFSET(rip_slot, generation, 16);
RIP_ASSERT_OFFSET(rip_slot, id, 20);
RIP_ASSERT_OFFSET(rip_slot, tid, 24);
RIP_ASSERT_OFFSET(rip_slot, process, 28);
RIP_ASSERT_OFFSET(rip_slot, index_bias, 30);
RIP_ASSERT_OFFSET(rip_slot, counter_bias, 31);
RIP_ASSERT_OFFSET(rip_slot, deadline_ms, 32);
RIP_ASSERT_OFFSET(rip_slot, state, 36);
RIP_ASSERT_OFFSET(rip_slot, call, 38);
RIP_ASSERT_OFFSET(rip_slot, name_version, 39);
RIP_ASSERT_OFFSET(rip_slot, registered_boot_ns, 40);
RIP_ASSERT_OFFSET(rip_slot, wait_address, 48);
RIP_ASSERT_OFFSET(rip_slot, wait_owner, 56);
RIP_ASSERT_OFFSET(rip_slot, kind, 60);
RIP_ASSERT_OFFSET(rip_slot, wait_tag, 61);
RIP_ASSERT_OFFSET(rip_slot, wait_flags, 62);
RIP_ASSERT_OFFSET(rip_slot, wait_age_s, 63);
RIP_ASSERT_OFFSET(rip_slot, entry, 64);
RIP_ASSERT_OFFSET(rip_slot, name_bytes, 320);
RIP_ASSERT_OFFSET(rip_slot, name, 321);

RIP_ASSERT_OFFSET(rip_slot_note, sequence, 0);
RIP_ASSERT_OFFSET(rip_slot_note, check, 8);
RIP_ASSERT_OFFSET(rip_slot_note, text_bytes, 16);
RIP_ASSERT_OFFSET(rip_slot_note, text, 17);
RIP_ASSERT_OFFSET(rip_slot_note, reserved_144, 144);

#endif
