/* SPDX-License-Identifier: Apache-2.0 */
/*
 * item.h - one id as JSON: who it is, whose, what it does, where it was; and groups of ids. For view/, and for rip,
 * which shows ids without a ripd.
 *
 * An item of a list has all of it; an event has these parts in another order, and no trail.
 *
 * Guarantees
 *   A. An address is written only as the offset in a module of its process; one that lies in no module is null. The
 *      address of a lock is not written.
 *   B. Every field is always there; what is not known is null. Only KEY_hex, inlined and inlined_into come
 *      and go.
 *   C. A chain of waits names at most WAITS_CHAIN_MAX, its last one always; how many stand unnamed before it is said.
 *   D. The times and switches of "kernel" are of window_ms, and null together with it.
 */
#ifndef RIPD_VIEW_ITEM_H
#define RIPD_VIEW_ITEM_H

#include "cases/locations.h"
#include "cases/roots.h"
#include "cases/snapshot.h"
#include "view/json_writer.h"

/* One id: an item of /stalls and /threads, with at most trail_count breadcrumbs. */
void item_write(struct json_writer *writer, const char *key, const struct sighting *sighting, uint32_t trail_count);

/* Its parts, inside the caller's object. ring, id, tid, name, note, process; NULL: all of it is null. */
void item_write_who(struct json_writer *writer, const struct item *item);
/* state, cause, since, frozen_for_ms, frozen_for_max_ms, threshold_ms */
void item_write_verdict(struct json_writer *writer, const struct sighting *sighting);
void item_write_cause(struct json_writer *writer, enum id_cause cause);
/* snaps, location, kernel, waits_for, waits_for_left_out. named: false leaves out what the location is called. */
void item_write_where(struct json_writer *writer, const struct sighting *sighting, bool named);

/* "root": who holds it up; null: it waits for no lock whose holder is known. */
void item_write_root(struct json_writer *writer, const struct sighting *sighting);

/* pid, comm, exe, cmdline, uid, unit, container, started_at, attested: the fields of a process, inside the caller's
 * object. */
void item_write_process(struct json_writer *writer, const struct process_facts *process);

/* Ids at one location: an item of /locations. */
void item_write_location_group(struct json_writer *writer, const struct location_group *group);
/* Ids by who holds them up: an item of /stalls?group=root, or with the id that speaks for them, of group=incident. */
void item_write_root_group(struct json_writer *writer, const struct waits *waits, const struct root_group *group,
                           bool with_example);

#endif
