/* SPDX-License-Identifier: Apache-2.0 */
/*
 * item.h - writes one id as JSON (identity, owner, state, location), and groups of ids. Used by view/, and by rip,
 * which shows ids without a ripd.
 *
 * An item of a list has all parts. An event has these parts in another order, and no trail.
 *
 * Guarantees
 *   A. An address is written only as an offset in a module of its process; an address outside of all modules is null.
 *      The address of a lock is not written.
 *   B. Every field is always present; a value that is not known is null. Only KEY_hex, inlined and inlined_into are
 *      optional.
 *   C. A chain of waits names at most WAITS_CHAIN_MAX nodes, and always the last one. The number of nodes omitted
 *      before it is written.
 *   D. The times and switches of "kernel" refer to window_ms, and are null together with it.
 */
#ifndef RIPD_VIEW_ITEM_H
#define RIPD_VIEW_ITEM_H

#include "cases/locations.h"
#include "cases/roots.h"
#include "cases/snapshot.h"
#include "view/json_writer.h"

/* Writes one id: an item of /stalls and /threads, with at most trail_count breadcrumbs. */
void item_write(struct json_writer *writer, const char *key, const struct sighting *sighting, uint32_t trail_count);

/*
 * Writes parts of an item inside the caller's object: ring, id, tid, name, note, process. If item is NULL, all are
 * null.
 */
void item_write_identity(struct json_writer *writer, const struct item *item);
/* Writes state, cause, since, frozen_for_ms, frozen_for_max_ms, threshold_ms. */
void item_write_verdict(struct json_writer *writer, const struct sighting *sighting);
void item_write_cause(struct json_writer *writer, enum id_cause cause);
/* Writes snaps, location, kernel, waits_for, waits_for_left_out. Without named, names of the location are left out. */
void item_write_where(struct json_writer *writer, const struct sighting *sighting, bool named);

/* Writes "root": the holder that holds up the id; null if it waits for no lock whose holder is known. */
void item_write_root(struct json_writer *writer, const struct sighting *sighting);

/*
 * Writes the fields of a process inside the caller's object: pid, comm, exe, cmdline, uid, unit, container, started_at,
 * attested.
 */
void item_write_process(struct json_writer *writer, const struct process_facts *process);

/* Writes the ids at one location: an item of /locations. */
void item_write_location_group(struct json_writer *writer, const struct location_group *group);
/*
 * Writes the ids with one root: an item of /stalls?group=root, or, with the id that represents them, of group=incident.
 */
void item_write_root_group(struct json_writer *writer, const struct waits *waits, const struct root_group *group,
                           bool with_example);

#endif
