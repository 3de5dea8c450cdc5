/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - lanes that take turns, and a hash table of what is in them. Pure. */
#include "sym/queue.h"

#include <errno.h>
#include <stdlib.h>

static size_t bucket_of(const struct sym_queue *queue, const struct module_facts *module, uint64_t offset)
{
    const uint64_t parts[] = {(uintptr_t)module, offset};

    return (size_t)hash_bytes(&queue->hash_key, parts, sizeof(parts)) & (QUEUE_BUCKETS - 1);
}

static size_t lane_of(uint32_t uid)
{
    return (size_t)((uid * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % QUEUE_LANES;
}

bool queue_has(const struct sym_queue *queue, const struct module_facts *module, uint64_t offset)
{
    const struct sym_question *question = queue->buckets[bucket_of(queue, module, offset)];

    while (question != NULL && (question->module != module || question->offset != offset))
        question = question->chain;
    return question != NULL;
}

int queue_push(struct sym_queue *queue, uint64_t now_ns, struct lease *ring, struct process_facts *process,
               struct module_facts *module, uint64_t offset)
{
    struct sym_question **bucket = &queue->buckets[bucket_of(queue, module, offset)], *question;
    struct sym_lane *lane = &queue->lanes[lane_of(module->uid)];

    if (now_ns < lane->paused_until_ns)
        return -EAGAIN;
    if (queue->count >= QUEUE_MAX || lane->count >= QUEUE_LANE_MAX)
        return -ENOSPC;
    question = malloc(sizeof(*question));
    if (question == NULL)
        return -ENOMEM;
    *question = (struct sym_question){
        .chain = *bucket,
        .ring = lease_ref(ring),
        .process = process == NULL ? NULL : process_facts_ref(process),
        .module = module_facts_ref(module),
        .offset = offset,
    };
    *bucket = question;
    if (lane->first == NULL)
        lane->first = question;
    else
        lane->last->next = question;
    lane->last = question;
    lane->count++;
    queue->count++;
    return 0;
}

struct sym_question *queue_pop(struct sym_queue *queue, uint64_t now_ns, uint64_t *ret_until_ns)
{
    uint64_t until_ns = UINT64_MAX;

    for (size_t i = 0; i < QUEUE_LANES; i++) {
        size_t number = (queue->turn + i) % QUEUE_LANES;
        struct sym_lane *lane = &queue->lanes[number];
        struct sym_question *question = lane->first;

        if (question == NULL)
            continue;
        if (now_ns < lane->paused_until_ns) {
            until_ns = lane->paused_until_ns < until_ns ? lane->paused_until_ns : until_ns;
            continue;
        }
        lane->first = question->next;
        queue->turn = (number + 1) % QUEUE_LANES;
        return question;
    }
    *ret_until_ns = until_ns;
    return NULL;
}

void queue_drop(struct sym_queue *queue, struct sym_question *question)
{
    struct sym_question **link = &queue->buckets[bucket_of(queue, question->module, question->offset)];

    while (*link != question)
        link = &(*link)->chain;
    *link = question->chain;
    queue->lanes[lane_of(question->module->uid)].count--;
    queue->count--;
    lease_unref(question->ring);
    process_facts_unref(question->process);
    module_facts_unref(question->module);
    free(question);
}

void queue_done(struct sym_queue *queue)
{
    for (size_t i = 0; i < QUEUE_LANES; i++) {
        while (queue->lanes[i].first != NULL) {
            struct sym_question *question = queue->lanes[i].first;

            queue->lanes[i].first = question->next;
            queue_drop(queue, question);
        }
    }
}

unsigned queue_strikes(const struct sym_queue *queue, uint32_t uid, uint64_t now_ns)
{
    const struct sym_lane *lane = &queue->lanes[lane_of(uid)];

    return now_ns - lane->struck_ns < QUEUE_FORGIVE_NS ? lane->strikes : 0;
}

void queue_strike(struct sym_queue *queue, uint32_t uid, uint64_t now_ns, uint64_t pause_ns)
{
    struct sym_lane *lane = &queue->lanes[lane_of(uid)];
    unsigned before = queue_strikes(queue, uid, now_ns);

    lane->paused_until_ns = now_ns + (pause_ns << (before < QUEUE_PAUSE_DOUBLES ? before : QUEUE_PAUSE_DOUBLES));
    lane->strikes = before + 1;
    lane->struck_ns = now_ns;
}
