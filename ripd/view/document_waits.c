/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_waits.c - who holds up whom as JSON: the chain of an id, and the groups of ids by the end of it. Pure.
 *
 * Guarantees
 *   A. The address of a lock is not written.
 *   B. A chain names at most WAITS_CHAIN_MAX, its last one always; how many stand before that one unnamed is said.
 */
#include "cases/waits.h"
#include "view/document_parts.h"

#define NS_PER_MS 1000000u

/* holder, ring, id, tid, name: inside the caller's object. */
static void write_node(struct json_writer *writer, const struct waits_node *node)
{
    json_key(writer, "holder");
    json_text(writer, waits_kind_name(node->kind));
    part_text(writer, "ring", "ring_hex", node->ring_name);
    part_uint_or_null(writer, "id", node->kind == WAITS_ID ? node->id : UINT64_MAX, UINT64_MAX);
    part_uint_or_null(writer, "tid", node->tid, 0);
    if (node->kind == WAITS_ID)
        part_bytes(writer, "name", "name_hex", node->name, node->name_bytes);
    else
        part_null(writer, "name");
}

static void write_state(struct json_writer *writer, const struct waits_node *node)
{
    json_key(writer, "state");
    if (node->has_state)
        json_text(writer, id_state_name(node->state));
    else
        json_none(writer);
}

/* certain: of the step to this one from the one before. */
static void write_step(struct json_writer *writer, const struct waits_node *node, bool certain)
{
    json_object_begin(writer);
    write_node(writer, node);
    write_state(writer, node);
    json_key(writer, "certain");
    json_bool(writer, certain);
    json_object_end(writer);
}

/* Whether what holds the last one of the chain is known for certain, if all are named; else it is not told. */
static void write_chain(struct json_writer *writer, const struct waits *waits, const uint32_t *chain, size_t count,
                        uint32_t node, bool whole)
{
    json_array_begin(writer);
    for (size_t i = 0; i < count; i++) {
        bool follows = whole || i + 1 < count;

        write_step(writer, &waits->nodes[chain[i]], follows && waits->nodes[node].certain);
        node = chain[i];
    }
    json_array_end(writer);
}

void part_waits(struct json_writer *writer, const struct sighting *sighting)
{
    uint32_t chain[WAITS_CHAIN_MAX];
    uint32_t left_out = 0;
    size_t count;

    if (sighting->waits == NULL) {
        part_null(writer, "waits_for");
        part_null(writer, "waits_for_left_out");
        return;
    }
    count = waits_chain(sighting->waits, sighting->wait_node, chain, &left_out);
    json_key(writer, "waits_for");
    write_chain(writer, sighting->waits, chain, count, sighting->wait_node, left_out == 0);
    part_uint(writer, "waits_for_left_out", left_out);
}

/* The members of the deadlock that all of a group hang on; null where it hangs on none. */
static void write_deadlock(struct json_writer *writer, const struct waits *waits, uint32_t root)
{
    uint32_t chain[WAITS_CHAIN_MAX];
    uint32_t left_out = 0;
    size_t count;

    if (!waits->nodes[root].deadlocked) {
        part_null(writer, "deadlock");
        part_null(writer, "deadlock_left_out");
        return;
    }
    count = waits_chain(waits, root, chain, &left_out);
    json_key(writer, "deadlock");
    write_chain(writer, waits, chain, count, root, left_out == 0);
    part_uint(writer, "deadlock_left_out", left_out);
}

static void write_root(struct json_writer *writer, const struct root_group *group, const struct waits_node *root)
{
    json_key(writer, "root");
    json_object_begin(writer);
    write_node(writer, root);
    write_state(writer, root);
    part_cause(writer, root->has_state ? root->cause : CAUSE_NONE);
    part_uint_or_null(writer, "frozen_for_ms", root->frozen_for_ns == 0 ? UINT64_MAX : root->frozen_for_ns / NS_PER_MS,
                      UINT64_MAX);
    part_location(writer, root->item, true, NULL);
    part_kernel(writer, group->stalled != NULL ? group->stalled->kernel : NULL);
    json_object_end(writer);
}

void part_root(struct json_writer *writer, const struct waits *waits, const struct root_group *group)
{
    json_object_begin(writer);
    part_uint(writer, "count", group->count);
    part_uint(writer, "longest_ms", group->longest_ns / NS_PER_MS);
    write_root(writer, group, &waits->nodes[group->root]);
    write_deadlock(writer, waits, group->root);
    json_object_end(writer);
}
