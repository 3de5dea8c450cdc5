/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_code.h - encodes events as records and decodes them ("Records" in librip/RECORDING.md). The same functions
 * do both, so that the two directions cannot differ. Pure, except that it allocates.
 *
 * Guarantees
 *   A. Decoding never reads beyond the bytes, and takes no more memory than recording_table.h allows.
 *   B. After each record the state of the encoder and that of the decoder (coder.state) are equal.
 */
#ifndef RIP_SESSION_RECORDING_CODE_H
#define RIP_SESSION_RECORDING_CODE_H

#include "session/recording_format.h"
#include "session/recording_table.h"

#define RECORDING_TEXT_BYTES_MAX (1u << 24)

/* Bits of the first byte of a record. */
enum {
    RECORD_KIND = 0x0f, /* 0 = the kind follows as a number, then the fields as a text */
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

/* Returns an event that has these times and no content yet. */
struct rip_event record_event(uint32_t kind, uint32_t ring, const struct record_times *times);

/* To be zeroed, except for state. coder_begin() sets the rest for one frame. */
struct record_coder {
    struct recording_table *state;
    bool is_state; /* a state frame: no record refers to an earlier one of its id */

    /* Writing: a growing buffer, which the caller frees. Reading: borrowed from the caller. */
    unsigned char *bytes;
    size_t count;
    size_t capacity; /* 0 = reading */
    size_t position; /* reading */
    bool writes;
    int error;

    uint32_t ring_base; /* reading: is added to the ring numbers of the records */
    /* Of the previous record. */
    uint32_t ring;
    uint32_t slot;
    struct record_times times;
    /* Reading: the structs that the event points to. */
    struct rip_id_info id;
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_script_info script;
    struct rip_note_info note;
    struct rip_entry entries[RIP_ENTRY_COUNT];
};

/* Starts a frame. For reading, bytes and count are its content; for writing, they are NULL and 0. */
void coder_begin(struct record_coder *coder, bool is_state, unsigned char *bytes, size_t count);

/*
 * Appends one record. Returns 0; -EINVAL if there is no such kind of event, or it has too many entries; -EFBIG or
 * -ENOMEM. On an error nothing is appended. After -EFBIG or -ENOMEM the state must not be used any more.
 */
int coder_write(struct record_coder *coder, const struct rip_event *event);

/* Appends the data of the record that was written last, which begins at offset. */
int coder_write_data(struct record_coder *coder, size_t offset, const struct record_data *data, size_t count);

/* Decodes one record. Returns 1, *ret_event, and whether data follow; 0 at the end; -EBADMSG; -ENOMEM. */
int coder_read(struct record_coder *coder, struct rip_event *ret_event, bool *ret_has_data);

/*
 * Decodes the data of a record into an array of max elements, which the caller has zeroed. Returns 0, or -EBADMSG if
 * the data are damaged or more than max.
 */
int coder_read_data(struct record_coder *coder, struct record_data *data, size_t max, size_t *ret_count);

/* Yields the whole state as events with these times. Returns 0 or the error of the sink. */
int coder_repeat(const struct recording_table *state, const struct record_times *times, const struct rip_sink *sink);

#endif
