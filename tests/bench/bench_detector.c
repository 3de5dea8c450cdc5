/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_detector.c - a scan with detection against a plain read of one counter per slot.
 *
 * A ring image with every slot live, in memory. The reference is the least a scan could do: one 8-byte load in every
 * slot, added up. The contenders read the ring in batches as ripd does and feed them to the detector, in populations
 * in which nothing stalls. The daemon's share is the difference to "rip_view_scan alone".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/detector.h"
#include "rip/reader.h"

#define BATCH_COUNT 256u /* SCAN_BATCH of ring/scan.h */
#define INTERVAL_NS UINT64_C(1000000000)

static struct rip_ring *ring;
static struct rip_view view;
static uint32_t slot_count;
static uint64_t sink;

/* A detector for each contender, so that each meets the table that it left behind. */
enum population { MOVING, STILL, IDLE, MIXED, POPULATION_COUNT };
static struct detector *detectors[POPULATION_COUNT];
static uint64_t scan_number;

static struct rip_slot *slot_at(uint32_t slot)
{
    return (struct rip_slot *)((unsigned char *)ring + ring->slot_offset + (uint64_t)slot * ring->slot_stride_bytes);
}

static uint64_t page_up(uint64_t bytes)
{
    return (bytes + RIP_PAGE_BYTES - 1) / RIP_PAGE_BYTES * RIP_PAGE_BYTES;
}

static void ring_layout(struct rip_ring *header)
{
    const uint64_t words = (slot_count + 63) / 64;

    *header = (struct rip_ring){
        .magic = RIP_MAGIC,
        .format_version = RIP_FORMAT_VERSION,
        .header_bytes = RIP_PAGE_BYTES,
        .byte_order = RIP_BYTE_ORDER,
        .slot_capacity = slot_count,
        .slot_stride_bytes = RIP_SLOT_BYTES,
        .entry_count = RIP_ENTRY_COUNT,
        .entry_offset_bytes = offsetof(struct rip_slot, entry),
        .summary_offset = RIP_PAGE_BYTES,
        .process_capacity = RIP_PROCESS_MIN,
        .process_stride_bytes = RIP_PROCESS_BYTES,
        .module_capacity = 64,
        .module_stride_bytes = RIP_MODULE_BYTES,
        .lock_holder_offset = RIP_LOCK_HOLDER_OFFSET,
        .lock_life_offset = RIP_LOCK_LIFE_OFFSET,
        .lock_takeover_offset = RIP_LOCK_TAKEOVER_OFFSET,
    };
    header->live_offset = header->summary_offset + page_up((words + 63) / 64 * 8);
    header->process_offset = header->live_offset + page_up(words * 8);
    header->module_offset = header->process_offset + page_up(RIP_PROCESS_MIN * RIP_PROCESS_BYTES);
    header->slot_offset = header->module_offset + page_up(64 * RIP_MODULE_BYTES);
    header->file_bytes = header->slot_offset + page_up((uint64_t)slot_count * RIP_SLOT_BYTES);
}

static void fill_bits(uint64_t offset, uint64_t count)
{
    uint64_t *words = (uint64_t *)((unsigned char *)ring + offset);

    for (uint64_t i = 0; i < count; i++)
        words[i / 64] |= UINT64_C(1) << i % 64;
}

static void ring_make(uint32_t count)
{
    struct rip_ring header;

    slot_count = count;
    ring_layout(&header);
    ring = aligned_alloc(RIP_PAGE_BYTES, header.file_bytes);
    if (!ring)
        abort();
    memset(ring, 0, header.file_bytes);
    *ring = header;
    fill_bits(header.summary_offset, (count + 63) / 64);
    fill_bits(header.live_offset, count);
    for (uint32_t i = 0; i < count; i++) {
        struct rip_slot *slot = slot_at(i);

        slot->count = 1000 + i;
        slot->generation = 2;
        slot->id = i;
        slot->tid = 1 + i;
        slot->state = RIP_SLOT_LIVE;
    }
    if (rip_view_open(&view, ring, header.file_bytes) != RIP_OK)
        abort();
}

static void run_plain(uint64_t count)
{
    const unsigned char *counters = (const unsigned char *)slot_at(0);

    for (uint64_t pass = 0; pass < (count + slot_count - 1) / slot_count; pass++) {
        uint64_t sum = 0;

        for (uint64_t i = 0; i < slot_count; i++)
            sum += *(const uint64_t *)(const void *)(counters + i * RIP_SLOT_BYTES);
        sink += sum;
        __asm__ volatile("" ::: "memory");
    }
}

static void run_scan(uint64_t count)
{
    for (uint64_t pass = 0; pass < (count + slot_count - 1) / slot_count; pass++) {
        struct rip_scan_position position = {0};
        struct rip_sample samples[BATCH_COUNT];
        size_t got;

        while ((got = rip_view_scan(&view, &position, samples, BATCH_COUNT)) > 0)
            sink += samples[got - 1].progress;
    }
}

/* Makes a batch of what the ring holds look like one of the population, while it lies in the nearest cache. */
static void populate(struct rip_sample *samples, size_t count, enum population population)
{
    if (population == STILL)
        return;
    for (size_t i = 0; i < count; i++) {
        if (population == IDLE || (population == MIXED && samples[i].slot % 10 == 3))
            samples[i].idle = 1;
        else
            samples[i].progress += scan_number;
    }
}

static void scan_with_detection(enum population population)
{
    struct detector *detector = detectors[population];
    struct rip_scan_position position = {0};
    struct rip_sample samples[BATCH_COUNT];
    struct detector_update update;
    size_t got;

    detector_begin(detector, ++scan_number * INTERVAL_NS);
    detector_ring(detector, 1, NULL, 0);
    while ((got = rip_view_scan(&view, &position, samples, BATCH_COUNT)) > 0) {
        populate(samples, got, population);
        detector_feed(detector, samples, got);
    }
    detector_end(detector, &update);
    if (update.id_count != slot_count || update.suspect_count)
        abort();
    sink += update.counts[ID_RUNNING];
}

#define RUN_POPULATION(name, population)                                                                               \
    static void name(uint64_t count)                                                                                   \
    {                                                                                                                  \
        for (uint64_t pass = 0; pass < (count + slot_count - 1) / slot_count; pass++)                                  \
            scan_with_detection(population);                                                                           \
    }
RUN_POPULATION(run_moving, MOVING)
RUN_POPULATION(run_still, STILL)
RUN_POPULATION(run_idle, IDLE)
RUN_POPULATION(run_mixed, MIXED)

static void detectors_make(void)
{
    for (int i = 0; i < POPULATION_COUNT; i++) {
        /* Those that stand still must not fall due while they are measured. */
        struct detector_config config = {INTERVAL_NS, i == STILL ? UINT64_MAX : 5 * INTERVAL_NS};

        if (detector_new(&detectors[i], &config) < 0)
            abort();
    }
}

static void bench_size(uint32_t count)
{
    struct contender contenders[] = {
        {.name = "plain read of one counter per slot", .run = run_plain},
        {.name = "rip_view_scan alone", .run = run_scan},
        {.name = "scan with detection, every id moves", .run = run_moving},
        {.name = "scan with detection, no id moves, none is due", .run = run_still},
        {.name = "scan with detection, every id is idle", .run = run_idle},
        {.name = "scan with detection, 9 of 10 move, 1 is idle", .run = run_mixed},
    };
    const size_t contender_count = sizeof contenders / sizeof contenders[0];
    char title[64];

    ring_make(count);
    detectors_make();
    snprintf(title, sizeof title, "%u live ids, per id", count);
    bench_table(title, contenders, contender_count, 0, count < 1000000 ? 4000000 : 2 * (uint64_t)count);
    if (count >= 1000000)
        for (size_t i = 2; i < contender_count; i++)
            bench_print_bar(contenders[i].name, contenders[i].ns / contenders[0].ns, 1.2);
    for (int i = 0; i < POPULATION_COUNT; i++)
        detector_free(detectors[i]);
    free(ring);
}

int main(void)
{
    bench_print_machine();
    bench_size(1000);
    bench_size(100000);
    bench_size(1000000);
    return sink == 0;
}
