/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_record.h - what ripd knew on a scan besides what the rings said, as numbers: with a recording of the rings it is
 * all that the detector and the cases were given, so that a replay comes to the same begins and ends. Pure.
 *
 * Of each scan there are rows of several tables, most of them empty: what has changed, and what is not a function of
 * the rest. Packed, a table is its count of rows and then their numbers, all as varints.
 *
 * Guarantees
 *   A. What was packed is unpacked as it was. Whatever the bytes, unpacking takes no more than SCAN_RECORD_EXPANSION
 *      times as many, and yields no row that is not whole.
 */
#ifndef RIPD_CASES_SCAN_RECORD_H
#define RIPD_CASES_SCAN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/case.h"
#include "detect/rules.h"

/* Namespaces of the data of a DRAIN in a recording of ripd's: of each scan, and of the first, after a reload and where
 * a segment begins. */
#define SCAN_RECORD_NAMESPACE "ripd.scan"
#define SCAN_SETTINGS_NAMESPACE "ripd.config"
#define SCAN_RECORD_EXPANSION 16u

/* name, numbers of a row, what they are. A ring is its serial, by which a reader may have put another number. */
#define SCAN_TABLE_TABLE(X)                                                                                            \
    X(RINGS, 4, "ring, halves of its ring_id, user on whose account it is: when it comes, and now and then")           \
    X(CONDITIONS, 3, "ring, process, condition as of detector_ring(): when it changes; 0 before that")                 \
    X(SKIPPED, 1, "ring that was not read")                                                                            \
    X(RULES, 4, "ring, slot, generation, 1 + the number of the rule that was found for the id; 0 = none applies")      \
    X(VERDICTS, 5, "ring, slot, generation, state, cause: where it is not cause_unexamined()")                         \
    X(ROOTS, 8, "ring, slot, generation, whether it waits, root's kind, ring, place, number: of who waits")            \
    X(TURNS, 1, "user: the order in which events of several users were published")                                     \
    X(ADOPTED, 12, "episodes of a former run that go on: see scan_record_add_adopted()")

enum scan_table {
#define X(name, width, meaning) SCAN_##name,
    SCAN_TABLE_TABLE(X)
#undef X
        SCAN_TABLE_COUNT
};

/* All zero = nothing. */
struct scan_record {
    struct scan_rows {
        uint64_t *numbers;
        size_t count; /* of rows */
        size_t capacity;
    } tables[SCAN_TABLE_COUNT];
    bool incomplete; /* there was no memory for a row */
};

void scan_record_done(struct scan_record *record);
void scan_record_clear(struct scan_record *record); /* empty; keeps its memory */

/* Adds a row; its numbers are those of the table. */
void scan_record_add(struct scan_record *record, enum scan_table table, const uint64_t *numbers);
#define SCAN_RECORD_ADD(record, table, ...) scan_record_add(record, table, (const uint64_t[]){__VA_ARGS__})
uint64_t *scan_record_row(const struct scan_record *record, enum scan_table table, size_t index);

void scan_record_add_ring(struct scan_record *record, uint32_t ring, const uint8_t ring_id[16], uint32_t user);
bool scan_record_is_ring(const uint64_t *row, const uint8_t ring_id[16]);

/* An episode that goes on, which has stood still since then: what detector_adopt() and cases_adopt() were given. */
void scan_record_add_adopted(struct scan_record *record, const struct detector_adoption *adoption,
                             const struct episode *episode);
void scan_record_adopted(const struct scan_record *record, size_t index, struct detector_adoption *ret_adoption,
                         struct episode *ret_episode);

/* To bytes and back. malloc'ed. 0, -ENOMEM, -EBADMSG. */
int scan_record_pack(const struct scan_record *record, void **ret_bytes, size_t *ret_count);
int scan_record_unpack(struct scan_record *record, const void *bytes, size_t count);

enum scan_settings_reason {
    SCAN_SETTINGS_STARTED,  /* the first scan of a ripd: all that was before is of another one */
    SCAN_SETTINGS_RELOADED, /* all ids are unclassified */
    SCAN_SETTINGS_REPEATED, /* nothing has changed: for who begins to read here */
};

/* The configuration, as far as it decides what stalls. */
struct scan_settings {
    enum scan_settings_reason reason;
    uint64_t interval_ns;
    uint64_t stall_after_ns;
    uint64_t hysteresis_ns;
    uint64_t sequence; /* of the last event before this scan; likewise */
    uint64_t episode;
    struct rules rules;
};
struct detector_config scan_settings_detector(const struct scan_settings *settings);
int scan_settings_pack(const struct scan_settings *settings, void **ret_bytes, size_t *ret_count);
int scan_settings_unpack(struct scan_settings *ret_settings, const void *bytes, size_t count);

#endif
