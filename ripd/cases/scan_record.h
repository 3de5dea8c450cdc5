/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_record.h - what ripd knew on a scan in addition to the contents of the rings, as numbers. Together with a
 * recording of the rings, this is all input of the detector and the cases. So a replay gives the same begins and ends.
 * Pure.
 *
 * Each scan has rows of several tables, most of them empty: only what has changed, and what does not follow from the
 * rest. A packed table is the count of its rows, and then their numbers, all as varints.
 *
 * Guarantees
 *   A. Unpacking returns exactly what was packed. For any input, unpacking uses at most SCAN_RECORD_EXPANSION times its
 *      size, and returns only complete rows.
 */
#ifndef RIPD_CASES_SCAN_RECORD_H
#define RIPD_CASES_SCAN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/case.h"
#include "detect/rules.h"

/*
 * Namespaces of the data in a DRAIN of ripd's recordings: for each scan; and for the first scan, after a reload and at
 * the start of a segment.
 */
#define SCAN_RECORD_NAMESPACE "ripd.scan"
#define SCAN_SETTINGS_NAMESPACE "ripd.config"
#define SCAN_RECORD_EXPANSION 16u

/* name, numbers per row, meaning. A ring is given by its serial, which a reader may replace by another number. */
#define SCAN_TABLE_TABLE(X)                                                                                            \
    X(RINGS, 4, "ring, two halves of its ring_id, user it is charged to; for a new ring, and from time to time")       \
    X(CONDITIONS, 3, "ring, process, condition as in detector_ring(); when it changes, 0 before that")                 \
    X(SKIPPED, 1, "ring that was not read")                                                                            \
    X(RULES, 4, "ring, slot, generation, 1 + number of the rule found for the id, or 0 if none applies")               \
    X(VERDICTS, 5, "ring, slot, generation, state, cause; if it is not cause_unexamined()")                            \
    X(ROOTS, 8, "ring, slot, generation, whether it waits; kind, ring, place and number of its root")                  \
    X(TURNS, 1, "user; the order in which events of several users were published")                                     \
    X(ADOPTED, 12, "continued episode of an earlier run: see scan_record_add_adopted()")

enum scan_table {
#define X(name, width, meaning) SCAN_##name,
    SCAN_TABLE_TABLE(X)
#undef X
        SCAN_TABLE_COUNT
};

/* All zero: empty. */
struct scan_record {
    struct scan_rows {
        uint64_t *numbers;
        size_t count; /* of rows */
        size_t capacity;
    } tables[SCAN_TABLE_COUNT];
    bool incomplete; /* a row was lost: out of memory */
};

void scan_record_done(struct scan_record *record);
void scan_record_clear(struct scan_record *record); /* keeps the memory */

/* Adds a row. numbers has as many elements as a row of the table. */
void scan_record_add(struct scan_record *record, enum scan_table table, const uint64_t *numbers);
#define SCAN_RECORD_ADD(record, table, ...) scan_record_add(record, table, (const uint64_t[]){__VA_ARGS__})
uint64_t *scan_record_row(const struct scan_record *record, enum scan_table table, size_t index);

void scan_record_add_ring(struct scan_record *record, uint32_t ring, const uint8_t ring_id[16], uint32_t user);
bool scan_record_is_ring(const uint64_t *row, const uint8_t ring_id[16]);

/* Rows of ADOPTED: a continued episode, with the arguments of detector_adopt() and cases_adopt(). */
void scan_record_add_adopted(struct scan_record *record, const struct detector_adoption *adoption,
                             const struct episode *episode);
void scan_record_adopted(const struct scan_record *record, size_t index, struct detector_adoption *ret_adoption,
                         struct episode *ret_episode);

/* Convert to bytes and back. *ret_bytes is allocated with malloc(). Return 0, -ENOMEM, or -EBADMSG if damaged. */
int scan_record_pack(const struct scan_record *record, void **ret_bytes, size_t *ret_count);
int scan_record_unpack(struct scan_record *record, const void *bytes, size_t count);

enum scan_settings_reason {
    SCAN_SETTINGS_STARTED,  /* first scan of a ripd: everything before belongs to another one */
    SCAN_SETTINGS_RELOADED, /* all ids are unclassified */
    SCAN_SETTINGS_REPEATED, /* no change; repeated for readers that start here */
};

/* The configuration, as far as it decides what stalls. */
struct scan_settings {
    enum scan_settings_reason reason;
    uint64_t interval_ns;
    uint64_t stall_after_ns;
    uint64_t hysteresis_ns;
    uint64_t sequence; /* of the last event before this scan; episode likewise */
    uint64_t episode;
    struct rules rules;
};
struct detector_config scan_settings_detector(const struct scan_settings *settings);
int scan_settings_pack(const struct scan_settings *settings, void **ret_bytes, size_t *ret_count);
int scan_settings_unpack(struct scan_settings *ret_settings, const void *bytes, size_t count);

#endif
