/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_code.h - events as records (Records in librip/RECORDING.md), in both directions by the same functions, so
 * that what is written is what is read. Pure.
 *
 * Guarantees
 *   A. Reading never goes beyond the bytes, and takes no more memory than recording_table.h says.
 *   B. What both sides keep of the ids (coder.state) is the same after each record.
 */
#ifndef RIP_SESSION_RECORDING_CODE_H
#define RIP_SESSION_RECORDING_CODE_H

#include "session/recording_format.h"
#include "session/recording_table.h"

#define RECORDING_TEXT_BYTES_MAX (1u << 24)

/* Bits of the first byte of a record, beside its kind. */
enum {
    RECORD_KIND = 0x0f, /* 0 = it follows as a number, and then the fields with their length */
    RECORD_HAS_RING = 0x10,
    RECORD_HAS_TIMES = 0x20,
    RECORD_HAS_IDENTITY = 0x40,
    RECORD_HAS_DATA = 0x80,
};

struct record_data {
    struct rip_text name_space;
    struct rip_text data;
};

struct record_times {
    uint64_t earliest_wall_ns;
    uint64_t latest_wall_ns;
    uint64_t earliest_mono_ns;
    uint64_t latest_mono_ns;
};

struct record_times record_times_of(const struct rip_event *event);
/* An event of these times that says nothing yet. */
struct rip_event record_event(uint32_t kind, uint32_t ring, const struct record_times *times);

/* Zero, but for state. The rest is of one frame: coder_begin(). */
struct record_coder {
    struct recording_table *state;
    bool is_state; /* records of a state frame: each stands for itself */

    /* Writing: what was written, which grows. Reading: the caller's. */
    unsigned char *bytes;
    size_t count;
    size_t capacity; /* 0 = reading */
    size_t position; /* reading */
    bool writes;
    int error;

    uint32_t ring_base; /* reading: what the numbers of rings are more than those of the records */
    uint32_t ring;      /* of the record before; likewise */
    uint32_t slot;
    struct record_times times;
    /* What an event that was read points to. */
    struct rip_id_info id;
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_script_info script;
    struct rip_note_info note;
    struct rip_entry entries[RIP_ENTRY_COUNT];
};

/* The next record is the first of a frame. bytes and count are for reading. */
void coder_begin(struct record_coder *coder, bool is_state, unsigned char *bytes, size_t count);

/* Appends one record. -EINVAL: no such event; -EFBIG, -ENOMEM: nothing was appended, and the state is not to be used
 * any more. */
int coder_write(struct record_coder *coder, const struct rip_event *event);

/* Data of the record that was written last, at offset. */
int coder_write_data(struct record_coder *coder, size_t offset, const struct record_data *data, size_t count);

/* 1: *ret_event, and whether data follow; 0: no more; -EBADMSG, -ENOMEM. */
int coder_read(struct record_coder *coder, struct rip_event *ret_event, bool *ret_has_data);

/* All that follow, zeroed before. -EBADMSG: more than max, too. */
int coder_read_data(struct record_coder *coder, struct record_data *data, size_t max, size_t *ret_count);

/* All that is there, as if it were found at this time. */
int coder_repeat(const struct recording_table *state, const struct record_times *times, const struct rip_sink *sink);

#endif
