/* SPDX-License-Identifier: Apache-2.0 */
/* document_parts.h - pieces that several documents share. Private to view/. */
#ifndef RIPD_VIEW_DOCUMENT_PARTS_H
#define RIPD_VIEW_DOCUMENT_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "view/documents.h"
#include "view/fragments.h"
#include "view/json_writer.h"

void part_null(struct json_writer *writer, const char *key);
void part_uint(struct json_writer *writer, const char *key, uint64_t value);
void part_uint_or_null(struct json_writer *writer, const char *key, uint64_t value, uint64_t unknown);

/* A key with bytes of unknown origin; key_hex follows only if showing them changed anything. */
void part_bytes(struct json_writer *writer, const char *key, const char *key_hex, const void *bytes, size_t length);

/* The same of a terminated string; NULL is null. */
void part_text(struct json_writer *writer, const char *key, const char *key_hex, const char *text);

/* A key with a time; 0 is null. */
void part_time(struct json_writer *writer, const char *key, uint64_t wall_ns);

/* pid, comm, exe, started_at, attested: the fields of a process, inside the caller's object. */
void part_process(struct json_writer *writer, const struct process_facts *process);

/*
 * ring, id, tid, name, note, process. NULL: who it is could not be read, and all of it is null. Here and in the others,
 * fragments: what ids of this document have in common; NULL = nothing is kept.
 */
void part_who(struct json_writer *writer, const struct item *item, struct fragments *fragments);

/* state, cause, since, frozen_for_ms, frozen_for_max_ms, threshold_ms */
void part_verdict(struct json_writer *writer, const struct sighting *sighting);
void part_cause(struct json_writer *writer, enum id_cause cause);

/* snaps, location, kernel, waits_for, waits_for_left_out. Without an item as part_who(). named: as for part_place(). */
void part_where(struct json_writer *writer, const struct sighting *sighting, bool named, struct fragments *fragments);

/* "kernel": what its thread waits for. NULL: null. */
void part_kernel(struct json_writer *writer, const struct kernel_facts *kernel);

/* "location" of an item, which may be NULL. named: as for part_place(). */
void part_location(struct json_writer *writer, const struct item *item, bool named, struct fragments *fragments);

/* waits_for, waits_for_left_out */
void part_waits(struct json_writer *writer, const struct sighting *sighting);

/* One id: an item of /stalls and /threads, with at most trail_count breadcrumbs. */
void part_item(struct json_writer *writer, const struct sighting *sighting, uint32_t trail_count,
               struct fragments *fragments);

/* "location": a module and an offset in it; each may be unknown. named: false leaves out what the place is called. */
void part_place(struct json_writer *writer, const struct module_facts *module, uint64_t offset, bool named);

/* Ids at one location: an item of /locations. */
void part_group(struct json_writer *writer, const struct location_group *group);

/* Ids by who holds them up: an item of /stalls?group=root. */
void part_root(struct json_writer *writer, const struct waits *waits, const struct root_group *group);

/* A frame with what the snapshot tells. */
struct document_frame part_frame(enum document_kind kind, const struct snapshot *snapshot);

/* Begins a body: it goes on where the head stops, inside its object, after a value. */
void part_body_begin(struct json_writer *writer);

/* Ends a document that was begun with an object, and adds the newline. */
void part_end(struct json_writer *writer);
/* The same, and all of it as json_finish() has it. */
int part_finish(struct json_writer *writer, char **ret_text, size_t *ret_length);

#endif
