/* SPDX-License-Identifier: Apache-2.0 */
/* ring_json.h - parts of a ring as JSON in the form of ripd's. Its bytes are those of a copy (session/ring_copy.h). */
#ifndef RIP_CLI_RING_JSON_H
#define RIP_CLI_RING_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "rip/reader.h"

/* Bytes that need not be UTF-8; null if they are too many. */
json_t *ring_json_text(const void *bytes, size_t count);

/* The place of an address, which is in that module; NULL: in none that is known. */
json_t *ring_json_place(const struct rip_module_info *module, uint64_t address);

/* Adds the path of a module, or of those of a process, to an object, by build id: for names_fill(). */
void ring_json_path(const struct rip_module_info *module, json_t *paths);
void ring_json_paths(const struct rip_view *view, uint32_t process, json_t *paths);

/* The same of a line of a script. */
json_t *ring_json_script(const struct rip_script_info *script);
/* The breadcrumbs of an id, newest first. */
json_t *ring_json_trail(const struct rip_view *view, const struct rip_id_info *id);

#endif
