/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.h - who and where events are about: rings, processes, ids and places, as far as the events have come. Pure.
 *
 * Texts in here are clean: valid UTF-8, control characters escaped as in JSON, terminated.
 *
 * Guarantees
 *   A. Pointers that are returned stay valid until the next known_take(), those to places until known_free().
 *   B. An id that has ended is there until the known_take() after its EXIT; those of a ring until the one after
 *      its RING_END.
 *   C. Places are bounded by KNOWN_PLACES_MAX: what comes after those is KNOWN's one place "(other)".
 */
#ifndef RIPD_EXPORT_KNOWN_H
#define RIPD_EXPORT_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rip/session.h"

#define KNOWN_TRAIL 32u
#define KNOWN_PLACES_MAX 1000000u
#define KNOWN_BUILD_ID_BYTES (2 * RIP_BUILD_ID_BYTES + 1)

struct known_module {
    uint64_t start;
    uint64_t end;
    uint64_t bias;
    char build_id[KNOWN_BUILD_ID_BYTES]; /* hexadecimal; "" = none */
    char *path;                          /* as the ring has it, for who looks for the file */
    char *name;                          /* clean; last component */
    bool is_main;
};

struct known_place {
    const char *module; /* NULL: in no module that is known, or in a script; then offset is 0 */
    const char *build_id;
    uint64_t offset;
    char *function; /* NULL = not known; likewise */
    char *file;
    uint32_t line;
    char *text; /* "function (file:line)", "module+0x1234", or "?" */
};

/* A function of a script. */
struct known_script {
    char *function; /* clean; NULL = it has none; likewise */
    char *file;
};

struct known_process {
    uint32_t index;
    uint32_t generation;
    uint32_t pid; /* in the namespace of who wrote the ring */
    char *comm;
    struct known_module *modules; /* oldest first; the newest wins an overlap */
    size_t module_count;
    size_t module_capacity;
};

struct known_id {
    uint32_t slot;
    uint32_t generation;
    uint32_t id;
    uint32_t tid;
    uint32_t process;
    uint32_t serial; /* of this session: from 1, never used again */
    bool idle;
    char *name;
    char *note;                                   /* NULL = none */
    const struct known_place *trail[KNOWN_TRAIL]; /* newest first */
    uint32_t trail_count;
    uint64_t since_wall_ns; /* when trail or idle changed last */
    uint64_t since_drain;   /* drains that were complete then */
};

struct known_ring {
    uint32_t number;
    char *name;
    bool preload;
    bool is_gone;
    struct known_process *processes; /* in order of index */
    size_t process_count;
    size_t process_capacity;
    struct known_script *scripts; /* by index */
    size_t script_count;
    size_t script_capacity;
    struct known_id *ids; /* in order of slot */
    size_t id_count;
    size_t id_capacity;
};

/* Fills in function, file (malloc'ed) and line of a place, where they can be found out. */
typedef void known_namer(void *context, const struct known_module *module, uint64_t offset, struct known_place *place);

struct known;
struct known *known_new(known_namer *namer, void *context); /* NULL: no memory. namer may be NULL */
void known_free(struct known *known);

/* Takes in an event. 0 or -ENOMEM. */
int known_take(struct known *known, const struct rip_event *event);

/* NULL: there is none. ring may be NULL. */
struct known_ring *known_find_ring(struct known *known, uint32_t number);
struct known_process *known_find_process(const struct known_ring *ring, uint32_t index);
struct known_id *known_find_id(const struct known_ring *ring, uint32_t slot, uint32_t generation);

/* Rings there are, nth from 0; NULL: no more. */
struct known_ring *known_ring_at(struct known *known, size_t nth);

/* The place of an address; never NULL, but for want of memory. */
const struct known_place *known_place(struct known *known, const struct known_ring *ring, uint32_t process,
                                      uint64_t address);

uint64_t known_drain_count(const struct known *known); /* complete */
uint64_t known_wall_ns(const struct known *known);     /* of the latest event */

/* The id that has this number in the ring of this clean name; NULL: none. For what only JSON says. */
struct known_id *known_find_named(struct known *known, const char *ring_name, uint32_t id,
                                  struct known_ring **ret_ring);

/* The build id of a module; "": it has none. */
void known_build_id(char digits[KNOWN_BUILD_ID_BYTES], const struct rip_module_info *info);

/* Bytes as clean text, malloc'ed; NULL: no memory. */
char *known_clean(const void *bytes, size_t count);

#endif
