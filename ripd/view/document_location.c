/* SPDX-License-Identifier: Apache-2.0 */
/* document_location.c - ids at one location as JSON: how many, doing what, where, and one of them. Pure. */
#include "view/document_parts.h"

#define NS_PER_MS 1000000u

static void write_example(struct json_writer *writer, const struct item *item)
{
    json_key(writer, "example");
    if (item == NULL) {
        json_none(writer);
        return;
    }
    json_object_begin(writer);
    part_text(writer, "ring", "ring_hex", item->ring_name);
    json_key(writer, "id");
    json_uint(writer, item->id);
    json_key(writer, "tid");
    if (item->tid == 0)
        json_none(writer);
    else
        json_uint(writer, item->tid);
    part_bytes(writer, "name", "name_hex", item->name,
               item->name_bytes < RIP_NAME_BYTES ? item->name_bytes : RIP_NAME_BYTES);
    json_object_end(writer);
}

void part_group(struct json_writer *writer, const struct location_group *group)
{
    json_object_begin(writer);
    json_key(writer, "count");
    json_uint(writer, group->count);
    json_key(writer, "states");
    json_object_begin(writer);
    for (int state = 0; state < ID_STATE_COUNT; state++) {
        json_key(writer, id_state_name((enum id_state)state));
        json_uint(writer, group->counts[state]);
    }
    json_object_end(writer);
    json_key(writer, "longest_ms");
    if (group->longest_ns == 0)
        json_none(writer);
    else
        json_uint(writer, group->longest_ns / NS_PER_MS);
    if (group->snapped) {
        part_place(writer, group->module, group->offset, true);
    } else {
        json_key(writer, "location");
        json_none(writer);
    }
    write_example(writer, group->example);
    json_object_end(writer);
}
