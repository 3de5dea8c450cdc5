/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - the bytes of a ring file, format 1.
 *
 * A ring is one file on tmpfs, written by the processes that share it through fork() and read by anyone who may
 * open it. This header is the layout and nothing else: constants, structures, an assertion for every offset. The
 * normative text, with the life cycle of every field and the ordering rules, is librip/ABI.md.
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
 *   | rip_slot[]         | one per live id, rip_ring.slot_stride bytes apart
 *   +--------------------+ note_offset, if it is not 0
 *   | rip_slot_note[]    | a note for each slot
 *   +--------------------+ script_offset, if it is not 0
 *   | rip_script[]       | append-only; functions of scripts, to which entries refer by index
 *   +--------------------+ file_bytes
 *
 * The file is sparse: a reader must not touch a page that the bitmaps and the high-water marks do not vouch for,
 * because a read fault on a hole of a tmpfs mapping allocates the page.
 *
 * Guarantees
 *   A. All integers are in host byte order; rip_ring.byte_order says which.
 *   B. Reserved bytes and unused flag bits are 0 in format 1.
 *   C. A file that carries rip_ring.magic is complete: every other field that is written once, but for the boot id, was
 *      stored before it.
 *   D. Offsets and strides live in the file; a reader uses those, bounded by the file's size, never sizeof().
 */
#ifndef RIP_RING_H
#define RIP_RING_H

#include <stddef.h>
#include <stdint.h>

/* "RIPRING\0" read as a little-endian integer. */
#define RIP_MAGIC UINT64_C(0x00474e4952504952)
#define RIP_FORMAT_VERSION 1u
#define RIP_UNFINISHED_PREFIX ".rip-unfinished-" /* of the name of a file that is to become a ring, if it has one */
#define RIP_BYTE_ORDER UINT32_C(0x01020304)

/* Sizes that format 1 fixes for its writers; readers take them from the header. */
#define RIP_PAGE_BYTES 4096u /* alignment of every section, whatever the machine's page size */
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
#define RIP_SCRIPT_FILE_BYTES 240u     /* bytes of a script's path that are kept, the last ones */
#define RIP_SCRIPT_FUNCTION_BYTES 128u /* bytes of a function's name that are kept, the first ones */
#define RIP_ENDED_COUNT 256u           /* ids that have ended that the header remembers */

/* Limits. A writer refuses to make, and a reader refuses to map, anything beyond them. */
#define RIP_CAPACITY_MAX (UINT32_C(1) << 26) /* slots */
#define RIP_PROCESS_MIN 64u                  /* process records of the smallest ring */
#define RIP_PROCESS_MAX 1024u
#define RIP_MODULE_MAX 4096u
#define RIP_SCRIPT_MAX 16384u

/* An entry packs the low 8 bits of its count above 56 bits of address. */
#define RIP_ENTRY_TAG_SHIFT 56
#define RIP_ENTRY_ADDRESS_MASK ((UINT64_C(1) << RIP_ENTRY_TAG_SHIFT) - 1)

/*
 * An address with this bit is a line of a script: the index of its function in the script table in bits 24 to 47, and
 * the line in bits 0 to 23 (0 = not known). No code lies there: what the kernel maps without being asked for such an
 * address is below 2^47 on amd64 and below 2^52 on aarch64. Bits 48 to 54 are 0; with others it is no place that is
 * known.
 */
#define RIP_PLACE_SCRIPT (UINT64_C(1) << 55)
#define RIP_PLACE_UNKNOWN_BITS (UINT64_C(127) << 48)
#define RIP_PLACE_INDEX_SHIFT 24
#define RIP_PLACE_INDEX_MASK UINT64_C(0xffffff)
#define RIP_PLACE_LINE_MASK UINT64_C(0xffffff)

/*
 * An entry of the log of ended ids packs the generation above RIP_ENDED_LAP(number) above the slot. The lap says which
 * number of those that share a place the entry is of: the one before differs by 1.
 */
#define RIP_ENDED_GENERATION_SHIFT 32
#define RIP_ENDED_LAP_SHIFT 26
#define RIP_ENDED_LAP_MASK UINT64_C(63)
#define RIP_ENDED_SLOT_MASK ((UINT64_C(1) << RIP_ENDED_LAP_SHIFT) - 1)
#define RIP_ENDED_LAP(number) (((number) / RIP_ENDED_COUNT + 1) & RIP_ENDED_LAP_MASK)

/* Bits of compatible_flags. */
#define RIP_RING_COUNTS_ENDED UINT64_C(1) /* its writers keep ended_count and what stands beside it */
#define RIP_RING_HAS_SCRIPTS UINT64_C(2)  /* it has a script table, and addresses may be lines of scripts */

/*
 * Byte ranges that carry locks, never data; all lie far beyond the end of any ring. Byte i of the first two
 * ranges belongs to process record i.
 *   HOLDER   a POSIX record lock, held by the process through its one descriptor of the ring. F_GETLK names the
 *            holder's pid in the reader's pid namespace. Lost when the process closes any descriptor of the file.
 *   LIFE     an open-file-description lock whose only reference is a mapping that is not inherited by fork. It
 *            goes exactly when the address space goes: at exit, kill and exec, and at nothing else.
 *   TAKEOVER one byte, held while a dead ring is renamed away.
 */
#define RIP_LOCK_HOLDER_OFFSET (UINT64_C(1) << 60)
#define RIP_LOCK_LIFE_OFFSET ((UINT64_C(1) << 60) + (UINT64_C(1) << 32))
#define RIP_LOCK_TAKEOVER_OFFSET ((UINT64_C(1) << 60) + (UINT64_C(1) << 33))

/*
 * Header, offset 0. Bytes 0-511 are written once, before the magic, but for the boot id; from 512 on are counters and
 * high-water marks that processes change with atomic operations while they run.
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

    uint8_t ring_id[16];      /* random, of this ring alone */
    uint8_t boot_id[16];      /* /proc/sys/kernel/random/boot_id as bytes; all 0 = not known, or not yet */
    uint64_t created_wall_ns; /* CLOCK_REALTIME */
    uint64_t created_boot_ns; /* CLOCK_BOOTTIME */

    uint32_t slot_capacity;     /* slots, at least 1 */
    uint32_t slot_stride_bytes; /* RIP_SLOT_BYTES, or more in a later minor format */
    uint64_t slot_offset;
    uint32_t entry_count;        /* entries of a slot, a power of two */
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
     * Sections beside the slots, element i for slot i. Offset 0 = absent. Notes are there, but in rings of the preload
     * library; the others a later release may add. A reader ignores those that it does not know.
     */
    uint64_t note_offset; /* short texts ("GET /checkout?id=7") */
    uint32_t note_stride_bytes;
    uint32_t stamp_stride_bytes; /* a time stamp for every entry */
    uint64_t stamp_offset;
    uint64_t deep_offset; /* further entries behind the newest entry_count */
    uint32_t deep_stride_bytes;
    uint32_t deep_entry_count;

    uint64_t script_offset; /* the script table; 0 = the ring has none */
    uint32_t script_stride_bytes;
    uint32_t script_capacity;
    uint8_t reserved_248[264];

    uint64_t refused_full_count;    /* registrations refused: every slot taken */
    uint64_t refused_memory_count;  /* ... memory for the slot could not be had */
    uint64_t refused_process_count; /* ... no process record left */
    uint64_t modules_dropped_count; /* modules for which a table had no room */
    uint64_t registered_count;      /* ids ever registered */
    uint32_t process_high_water;    /* records [0, this) may be read */
    uint32_t module_high_water;     /* entries [0, this) may be read */
    uint32_t slot_hint;             /* where a search for a free slot starts; any value is right */
    uint32_t reserved_564;

    /* Ids that have ended; see 2.6 in librip/ABI.md. The contents of a slot stay until it is claimed again. */
    uint64_t ended_count;            /* ids that ever ended: the newest is number ended_count - 1 */
    uint64_t ended_snap_count;       /* snaps that those made */
    uint32_t flush_count;            /* calls of rip_flush(); who waits for one waits on this word */
    uint32_t ended_begun_count;      /* ends that were begun, the low 32 bits: ended_count, unless one is under way */
    uint64_t ended[RIP_ENDED_COUNT]; /* [n % RIP_ENDED_COUNT] = the id that was number n to end */

    uint64_t scripts_dropped_count; /* functions of scripts for which the table had no room */
    uint32_t script_high_water;     /* entries [0, this) may be read */
    uint8_t reserved_2652[RIP_PAGE_BYTES - 2652];
};

/* States of a process record. */
enum rip_process_state {
    RIP_PROCESS_FREE = 0,    /* of no process */
    RIP_PROCESS_EMBRYO = 1,  /* kept by a parent for the child it is about to fork */
    RIP_PROCESS_CLAIMED = 2, /* being written */
    RIP_PROCESS_LIVE = 3,    /* complete; its fields do not change until it is EXITED */
    RIP_PROCESS_EXITED = 4,  /* left in order; may be taken again */
    RIP_PROCESS_EXECING = 5, /* LIVE, about to exec; EXITED if that fails */
};

/* Flags of a process record. */
#define RIP_PROCESS_HAS_HOLDER_LOCK 1u /* it took its HOLDER byte */
#define RIP_PROCESS_HAS_LIFE_LOCK 2u   /* it took its LIFE byte: without the lock it is gone */
#define RIP_PROCESS_PRELOADED 4u       /* traced by the preload library */
#define RIP_PROCESS_EXITING 8u         /* it called exit(), or returned from main() */
#define RIP_PROCESS_COMPILED 16u       /* traced by what its compiler put in (librip-compiled) */

struct rip_process {
    uint32_t state;            /* enum rip_process_state */
    uint32_t generation;       /* + 1 each time the record is claimed */
    uint32_t flags;            /* RIP_PROCESS_* flags */
    uint32_t pid;              /* in the writer's pid namespace; 0 = an embryo not born yet */
    uint64_t start_time_ticks; /* /proc/PID/stat field 22; 0 = not known */
    uint64_t pid_namespace;    /* inode number of /proc/PID/ns/pid; 0 = not known */
    uint64_t entered_boot_ns;  /* CLOCK_BOOTTIME: EMBRYO: when kept; LIVE: when it entered */
    uint32_t parent_pid;       /* of an embryo: who keeps it */
    uint32_t uid;              /* effective, at entry */
    uint32_t module_count;     /* module_index[0, this) may be read */
    uint32_t reserved_52;
    uint8_t comm[RIP_COMM_BYTES]; /* NUL-padded */
    uint8_t reserved_72[184];
    uint16_t module_index[RIP_PROCESS_MODULES]; /* into the module table, oldest first; the newest wins an overlap */
};

#define RIP_MODULE_PATH_TRUNCATED 1u /* path holds the last bytes of a longer one */
#define RIP_MODULE_MAIN 2u           /* the program itself, not a shared object */

struct rip_module {
    uint64_t start; /* first mapped address */
    uint64_t end;   /* one past the last mapped address; 0 = entry not published */
    uint64_t bias;  /* address = bias + address in the ELF file */
    uint32_t flags; /* RIP_MODULE_* */
    uint16_t path_bytes;
    uint8_t build_id_bytes; /* 0 = it has none */
    uint8_t reserved_31;
    uint8_t build_id[RIP_BUILD_ID_BYTES];
    uint8_t path[RIP_MODULE_PATH_BYTES]; /* not terminated */
    uint64_t reserved_504;
};

#define RIP_SCRIPT_FILE_TRUNCATED 1u     /* file holds the last bytes of a longer path */
#define RIP_SCRIPT_FUNCTION_TRUNCATED 2u /* function holds the first bytes of a longer name */

/* A function, method or block of a script. Text is bytes, neither terminated nor valid UTF-8. */
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
    RIP_KIND_THREAD = 0,    /* registered once, stays on its thread */
    RIP_KIND_COROUTINE = 1, /* has been switched on or off a thread */
};

/* States of a slot. Writers claim it by this word; the bitmap alone says whether it is live. */
enum rip_slot_state {
    RIP_SLOT_FREE = 0,
    RIP_SLOT_CLAIMED = 1,
    RIP_SLOT_LIVE = 2,
};

/*
 * The kind of call that a thread is in, as the preload library marks it at entry and return. A reader takes a kind that
 * it does not know for RIP_CALL_UNSURE.
 */
enum rip_call {
    RIP_CALL_NONE = 0,     /* it marks none: the program itself declares when it waits for work */
    RIP_CALL_OUTSIDE = 1,  /* outside of all calls that are marked */
    RIP_CALL_WORK = 2,     /* waits for work: idle is declared as well */
    RIP_CALL_INPUT = 3,    /* receives from an input: idle is declared as well */
    RIP_CALL_PIPE = 4,     /* reads a pipe: an input, unless it is the output of its own child */
    RIP_CALL_UNSURE = 5,   /* receives from, or opens to read, what may be an input or not */
    RIP_CALL_REPLY = 6,    /* receives from a connection that it opened */
    RIP_CALL_BLOCK = 7,    /* waits for others: writes, connects, asks a name server */
    RIP_CALL_LOCK = 8,     /* waits for a lock or a barrier */
    RIP_CALL_SLEEP = 9,    /* for a time that it asked for */
    RIP_CALL_VFORK = 10,   /* its vfork child has not executed a program when it is in state D; else as OUTSIDE */
    RIP_CALL_PRIVATE = 11, /* as WORK, for what only threads of its own process can do, without a time limit */
    RIP_CALL_SHARED = 12,  /* waits for a lock that processes may share: a mutex, or one of a file */
    RIP_CALL_READY = 13,   /* as WORK, for what a descriptor brings: a connection, or readiness */
    RIP_CALL_INTERPRETER =
        14,                 /* outside of all other calls, and waits for the lock of its interpreter: it wants to run */
    RIP_CALL_COMPUTES = 15, /* outside of all calls, and has waited for that lock since the last: as OUTSIDE, but that
                               its sleeps may have been such waits */
};

/* Flags of a wait for a lock. A reader takes no wait for certain that has a flag it does not know. */
#define RIP_WAIT_OWNER_IS_ID 1u /* wait_owner is an id of the same process; otherwise a tid of it */
#define RIP_WAIT_SHARABLE 2u    /* several may hold the lock for reading: those are not named, and the owner is 0 */
#define RIP_WAIT_ENDS 4u        /* the wait has a time limit */
#define RIP_WAIT_OWNER_LASTS 8u /* who writes promises: the owner stays until this wait is over or marked anew */
#define RIP_WAIT_SHARED 16u     /* processes may share the lock: wait_owner is a tid of any, as it has it itself */

/*
 * A slot. The first cache line is the hot line: what a scan needs and what a snap writes. The entries follow; the
 * name, which is read only for suspects, has a line of its own.
 */
struct rip_slot {
    uint64_t count;      /* snaps made + counter_bias; incremented by the thread on it, without a lock */
    uint64_t idle_mark;  /* ~count when idle was declared: idle while it equals ~count. With the highest bit clear: the
                            CLOCK_MONOTONIC at which wait_owner was read. 0 = neither idle nor waiting */
    uint32_t generation; /* + 2 per registration; odd while identity fields are being written */
    uint32_t id;
    uint32_t tid;                    /* thread it is on, in the writer's pid namespace; 0 = on none */
    uint16_t process;                /* index of the process record */
    uint8_t index_bias;              /* rip_idx = low 8 bits of count + this */
    uint8_t counter_bias;            /* makes rip_ctr the low 8 bits of count, whatever counter a program starts with */
    uint32_t deadline_ms;            /* the id's own threshold: frozen for longer is a stall; 0 = none */
    uint16_t state;                  /* enum rip_slot_state */
    uint8_t call;                    /* enum rip_call */
    uint8_t name_version;            /* + 2 for each change of the name that is no registration; odd meanwhile */
    uint64_t registered_boot_ns;     /* CLOCK_BOOTTIME */
    uint64_t wait_address;           /* lock that it waits for, 56 bits; to be compared, nothing else */
    uint32_t wait_owner;             /* who held that lock when it was last looked at; 0 = nobody, or not known */
    uint8_t kind;                    /* enum rip_kind */
    uint8_t wait_tag;                /* low 8 bits of the count that the wait belongs to */
    uint8_t wait_flags;              /* RIP_WAIT_* */
    uint8_t wait_age_s;              /* least age of the wait when wait_owner was read; 255 = that or more */
    uint64_t entry[RIP_ENTRY_COUNT]; /* [n & 31] = (n << 56) | address, of the snap that made count n */
    uint8_t name_bytes;
    uint8_t name[RIP_NAME_BYTES]; /* not terminated */
};

/*
 * What an id says it is doing. A note is whole if check is that of its sequence and of the words from text_bytes on
 * (see Notes in librip/ABI.md); it is written by the thread that the id is on, while readers read.
 */
struct rip_slot_note {
    uint64_t sequence; /* + 1 for each note; 0 = none was ever made */
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
