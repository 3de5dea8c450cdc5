/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_copy.h - a ring copied out of its file, and parts of it as JSON in the form of ripd's.
 *
 * Guarantees
 *   A. A ring is hostile: its bytes are copied, without touching its holes, and read through rip/reader.h. A file that
 *      is cut, grows or changes meanwhile harms nobody.
 *   B. What is copied is bounded.
 */
#ifndef RIP_CLI_RING_COPY_H
#define RIP_CLI_RING_COPY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "rip/reader.h"

struct ring_copy {
    unsigned char *bytes;
    uint64_t size_bytes;
    struct rip_view view;
};

/* Of a file of that size. False: it cannot be read, or is no ring; *ret_reason is a phrase that says so. */
bool ring_copy_take(struct ring_copy *copy, int descriptor, uint64_t size_bytes, const char **ret_reason);
void ring_copy_done(struct ring_copy *copy);

/* Bytes that need not be UTF-8; null if they are too many. */
json_t *ring_json_text(const void *bytes, size_t count);

/* Adds the paths of the modules of a process to an object, by build id: for names_fill(). */
void ring_json_paths(const struct rip_view *view, uint32_t process, json_t *paths);

/* The breadcrumbs of an id, newest first. */
json_t *ring_json_trail(const struct rip_view *view, const struct rip_id_info *id);

#endif
