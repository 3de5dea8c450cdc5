/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folded.c - one line per stack: "process;thread;oldest location;...;newest location COUNT". COUNT is a number of
 * drains: an id counts once for each drain that found it with that trail. An id that is stuck for an hour at one drain
 * per second counts 3,600, as in a profile. Pure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/known.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/hash_index.h"

#define STACK_BYTES 8192u

struct stack {
    char *text;
    uint64_t count;
};

struct folded {
    struct exporter base;
    struct stack *stacks;
    size_t stack_count;
    size_t stack_capacity;
    struct hash_index index;
    uint64_t other_count;
};

static void folded_done(struct exporter *exporter)
{
    struct folded *folded = (struct folded *)exporter;

    for (size_t i = 0; i < folded->stack_count; i++)
        free(folded->stacks[i].text);
    free(folded->stacks);
    free(folded->index.places);
}

/* Appends a frame, with the separator of frames replaced. Returns the new length. */
static size_t add_frame(char stack[STACK_BYTES], size_t length, const char *text)
{
    if (length != 0 && length + 1 < STACK_BYTES)
        stack[length++] = ';';
    for (; *text != '\0' && length + 1 < STACK_BYTES; text++)
        stack[length++] = *text == ';' ? ':' : *text;
    stack[length] = '\0';
    return length;
}

static void format_stack(char stack[STACK_BYTES], const struct folded *folded, const struct known_id *known)
{
    const struct process_facts *process = known->process;
    uint32_t count = known->id->entry_count < FOLDED_TRAIL ? known->id->entry_count : FOLDED_TRAIL;
    const char *first = process != NULL ? process->comm : known->ring->name;
    char text[KNOWN_TEXT_BYTES];
    size_t length;

    known_clean(first, strlen(first), text);
    length = add_frame(stack, 0, text);
    known_name(known, text);
    length = add_frame(stack, length, text);
    while (count-- != 0) {
        known_place_text(&folded->base, process, known->id->entries[count].address, text);
        length = add_frame(stack, length, text);
    }
    if (known->sample->idle != 0)
        (void)add_frame(stack, length, "(idle)");
}

static void count_stack(struct folded *folded, const char *text, uint64_t count)
{
    uint64_t hash = hash_text(&(struct hash_key){{0, 0}}, text);
    size_t probe = 0;
    uint32_t number;
    char *copy;

    while ((number = hash_index_next(&folded->index, hash, &probe)) != 0)
        if (strcmp(folded->stacks[number - 1].text, text) == 0) {
            folded->stacks[number - 1].count += count;
            return;
        }
    if (folded->stack_count >= FOLDED_STACKS_MAX) {
        folded->other_count += count;
        return;
    }
    copy = ARRAY_GROW(folded->stacks, folded->stack_count, folded->stack_capacity) ? strdup(text) : NULL;
    if (copy == NULL || !hash_index_add(&folded->index, hash, (uint32_t)folded->stack_count + 1)) {
        export_fail(&folded->base);
        free(copy);
        return;
    }
    folded->stacks[folded->stack_count++] = (struct stack){copy, count};
}

/* Counts the complete drains that found the id as it is now. */
static void count_id(struct folded *folded, const struct known_id *known)
{
    uint64_t drains = folded->base.ids.drain_count - known->id->since_drain;
    char stack[STACK_BYTES];

    if (drains == 0)
        return;
    known->id->since_drain += drains;
    format_stack(stack, folded, known);
    count_stack(folded, stack, drains);
}

static void count_ring(struct folded *folded, struct replay_ring *ring)
{
    replay_ring_settle(ring);
    for (size_t i = 0; i < ring->count; i++) {
        const struct known_id known = known_at(ring, i);

        count_id(folded, &known);
    }
}

/* Counts an id in its old state before an event changes it. */
static void folded_before(struct exporter *exporter, const struct rip_event *event)
{
    struct folded *folded = (struct folded *)exporter;
    const struct known_id known = known_find(exporter, event);

    if (known.id != NULL &&
        (event->kind == RIP_EVENT_SNAP || event->kind == RIP_EVENT_STATE || event->kind == RIP_EVENT_EXIT))
        count_id(folded, &known);
    else if (known.ring != NULL && event->kind == RIP_EVENT_RING_END)
        count_ring(folded, known.ring);
}

static int compare_stacks(const void *left, const void *right)
{
    return strcmp(((const struct stack *)left)->text, ((const struct stack *)right)->text);
}

static void write_stack(struct folded *folded, const char *text, uint64_t count)
{
    char line[STACK_BYTES + 32];
    int length = snprintf(line, sizeof(line), "%s %" PRIu64 "\n", text, count);

    export_write(&folded->base, line, (size_t)length);
}

static void folded_finish(struct exporter *exporter)
{
    struct folded *folded = (struct folded *)exporter;

    for (size_t i = 0; i < exporter->ids.count; i++)
        count_ring(folded, exporter->ids.rings[i]);
    if (folded->stack_count != 0)
        qsort(folded->stacks, folded->stack_count, sizeof(*folded->stacks), compare_stacks);
    for (size_t i = 0; i < folded->stack_count; i++)
        write_stack(folded, folded->stacks[i].text, folded->stacks[i].count);
    if (folded->other_count != 0)
        write_stack(folded, "(other)", folded->other_count);
}

const struct export_format export_folded = {sizeof(struct folded), folded_before, NULL, folded_finish, folded_done};
