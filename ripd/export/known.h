/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.h - what the formats write of ids and places, as of the events so far; and how they write. Pure.
 *
 * Texts that it returns are clean: valid UTF-8, control characters escaped as in JSON, terminated.
 */
#ifndef RIPD_EXPORT_KNOWN_H
#define RIPD_EXPORT_KNOWN_H

#include "export/export.h"

#define KNOWN_TEXT_BYTES 32768u /* of a clean text: a byte takes up to six, and what has no room is cut before that */

/* Writes, unless something has failed; and that there is no memory. */
void export_write(struct exporter *exporter, const void *bytes, size_t count);
void export_fail(struct exporter *exporter);

/* An id; members that are not known are NULL. Valid until the next event is taken in. */
struct known_id {
    struct replay_ring *ring;
    struct replay_id *id;
    const struct rip_sample *sample;
    const struct process_facts *process; /* also of an event that has no id */
};

/* Of an event, and of an index in ring->ids. */
struct known_id known_find(const struct exporter *exporter, const struct rip_event *event);
struct known_id known_at(struct replay_ring *ring, size_t index);

/* Its name, or "id 17" if it has none. */
void known_name(const struct known_id *id, char ret_text[KNOWN_TEXT_BYTES]);

struct known_place {
    const struct module_facts *module; /* NULL: the address is in none that is known */
    uint64_t offset;
    struct symbol_frame frame; /* not clean */
};
struct known_place known_place(const struct exporter *exporter, const struct process_facts *process, uint64_t address);

/* "function (file:line)", "module+0x1234", or "?". */
void known_place_text(const struct exporter *exporter, const struct process_facts *process, uint64_t address,
                      char ret_text[KNOWN_TEXT_BYTES]);

/* Bytes up to the first NUL as clean text. */
void known_clean(const void *bytes, size_t count, char ret_text[KNOWN_TEXT_BYTES]);

#endif
