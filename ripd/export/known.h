/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.h - what is known of ids and locations after the events so far, and how formats write it. Pure.
 *
 * Returned texts are clean: valid UTF-8, control characters escaped as in JSON, terminated.
 */
#ifndef RIPD_EXPORT_KNOWN_H
#define RIPD_EXPORT_KNOWN_H

#include "export/export.h"

#define KNOWN_TEXT_BYTES 32768u /* of a clean text: a byte takes up to six; longer names are cut */

/* export_write() writes, unless something has failed. export_fail() records that memory is short. */
void export_write(struct exporter *exporter, const void *bytes, size_t count);
void export_fail(struct exporter *exporter);

/* An id. Members that are not known are NULL. Valid until the next event is taken. */
struct known_id {
    struct replay_ring *ring;
    struct replay_id *id;
    const struct rip_sample *sample;
    const struct process_facts *process; /* may also be known for an event without an id */
};

/* The id of an event, and the id at an index of ring->ids. */
struct known_id known_find(const struct exporter *exporter, const struct rip_event *event);
struct known_id known_at(struct replay_ring *ring, size_t index);

/* The name of the id, or "id 17" if it has none. */
void known_name(const struct known_id *id, char ret_text[KNOWN_TEXT_BYTES]);

struct known_place {
    const struct module_facts *module; /* NULL: the address is in no known module */
    uint64_t offset;
    struct symbol_frame frame; /* not clean */
};
struct known_place known_place(const struct exporter *exporter, const struct process_facts *process, uint64_t address);

/* "function (file:line)", "module+0x1234", or "?". */
void known_place_text(const struct exporter *exporter, const struct process_facts *process, uint64_t address,
                      char ret_text[KNOWN_TEXT_BYTES]);

/* Returns the bytes up to the first NUL as clean text. */
void known_clean(const void *bytes, size_t count, char ret_text[KNOWN_TEXT_BYTES]);

#endif
