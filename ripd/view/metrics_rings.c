/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_rings.c - metrics summed over the rings of a snapshot. Pure.
 *
 * Guarantees
 *   A. What stands in a ring is a claim: sums stop at the greatest number, and a share is at most 1.
 *   B. Of a ring that cannot be read only that it is there is counted.
 */
#include "view/metrics_parts.h"

#define MILLION UINT64_C(1000000)

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* A ring that can be read, or NULL. */
static const struct ring_facts *readable(const struct snapshot *snapshot, size_t i)
{
    return snapshot->rings[i].health == RING_READABLE ? &snapshot->rings[i] : NULL;
}

static void put(struct metrics_text *text, const struct metric *metric, uint64_t value)
{
    metrics_text_sample(text, metric->name, "", NULL, 0, value, metric->unit);
}

void metrics_write_rings(struct metrics_text *text, const struct metric *metric, const struct metrics_input *input)
{
    uint64_t counts[RING_HEALTH_COUNT] = {0};

    if (input->snapshot == NULL)
        return;
    for (size_t i = 0; i < input->snapshot->ring_count; i++)
        counts[input->snapshot->rings[i].health]++;
    for (int i = 0; i < RING_HEALTH_COUNT; i++) {
        const struct metric_label label = {metric->labels, ring_health_name((enum ring_health)i)};

        metrics_text_sample(text, metric->name, "", &label, 1, counts[i], metric->unit);
    }
}

void metrics_write_dead_rings(struct metrics_text *text, const struct metric *metric, const struct metrics_input *input)
{
    uint64_t count = 0;

    if (input->snapshot == NULL)
        return;
    for (size_t i = 0; i < input->snapshot->ring_count; i++) {
        const struct ring_facts *ring = readable(input->snapshot, i);

        count += ring != NULL && ring->dead;
    }
    put(text, metric, count);
}

void metrics_write_processes(struct metrics_text *text, const struct metric *metric, const struct metrics_input *input)
{
    uint64_t count = 0;

    if (input->snapshot == NULL)
        return;
    for (size_t i = 0; i < input->snapshot->ring_count; i++) {
        const struct ring_facts *ring = readable(input->snapshot, i);

        for (size_t j = 0; ring != NULL && j < ring->process_count; j++)
            count += !ring->processes[j]->dead;
    }
    put(text, metric, count);
}

void metrics_write_fill(struct metrics_text *text, const struct metric *metric, const struct metrics_input *input)
{
    uint64_t largest = 0;

    if (input->snapshot == NULL)
        return;
    for (size_t i = 0; i < input->snapshot->ring_count; i++) {
        const struct ring_facts *ring = readable(input->snapshot, i);
        uint64_t share;

        if (ring == NULL || ring->dead || ring->slot_capacity == 0)
            continue;
        share = ring->live_count >= ring->slot_capacity ? MILLION : ring->live_count * MILLION / ring->slot_capacity;
        largest = share > largest ? share : largest;
    }
    put(text, metric, largest);
}

void metrics_write_refused(struct metrics_text *text, const struct metric *metric, const struct metrics_input *input)
{
#define X(field, text) {text, offsetof(struct rip_ring_info, field)},
    static const struct {
        const char *reason;
        size_t field;
    } reasons[] = {RING_REFUSAL_TABLE(X)};
#undef X

    for (size_t j = 0; input->snapshot != NULL && j < sizeof(reasons) / sizeof(reasons[0]); j++) {
        const struct metric_label label = {metric->labels, reasons[j].reason};
        uint64_t count = 0;

        for (size_t i = 0; i < input->snapshot->ring_count; i++) {
            const struct ring_facts *ring = readable(input->snapshot, i);

            if (ring != NULL)
                count = sum(count, metric_field(&ring->info, reasons[j].field));
        }
        metrics_text_sample(text, metric->name, "", &label, 1, count, metric->unit);
    }
}
