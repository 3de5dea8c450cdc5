/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h - snapshots for tests of what is made from snapshots.
 *
 * The first stall of sample_snapshot() is the example of the interface's description, field by field.
 */
#ifndef TESTS_UNIT_SAMPLES_H
#define TESTS_UNIT_SAMPLES_H

#include <stdlib.h>
#include <string.h>

#include "cases/query.h"
#include "cases/snapshot.h"

#define SAMPLE_SCANNED_WALL_NS UINT64_C(1795167666940000000) /* 2026-11-20T09:41:06.940Z */
#define SAMPLE_BIAS UINT64_C(0x555500000000)
#define SAMPLE_BUILD_ID "9c0f000000000000000000000000000000000000"

static inline struct process_facts *sample_process(const char *exe, uint32_t pid)
{
    struct process_facts *process = calloc(1, sizeof(*process));

    atomic_init(&process->references, 1);
    process->pid = pid;
    process->attested = true;
    memcpy(process->comm, "checkout", sizeof("checkout"));
    process->exe = strdup(exe);
    process->origin = calloc(1, sizeof(*process->origin));
    atomic_init(&process->origin->references, 1);
    process->origin->uid = 998;
    process->origin->command_line = strdup("checkout --port 80");
    process->origin->unit = strdup("checkout.service");
    process->started_wall_ns = UINT64_C(1795161600000000000); /* 2026-11-20T08:00:00Z */
    process->module_count = 1;
    process->modules = calloc(1, sizeof(*process->modules));
    process->modules[0] = calloc(1, sizeof(**process->modules));
    *process->modules[0] = (struct module_facts){
        .start = SAMPLE_BIAS + 0x1000,
        .end = SAMPLE_BIAS + 0x9000,
        .bias = SAMPLE_BIAS,
        .path = strdup(exe),
        .build_id = SAMPLE_BUILD_ID,
    };
    atomic_init(&process->modules[0]->references, 1);
    process->modules[0]->name = strrchr(process->modules[0]->path, '/') + 1;
    return process;
}

/* Takes ownership of the reference of process. The newest entry is at offset 0x1234, each older one 16 bytes higher. */
static inline struct item *sample_item(struct process_facts *process, const char *ring_name, uint32_t ring,
                                       uint32_t slot, const void *name, size_t name_bytes, size_t entry_count)
{
    struct item *item = calloc(1, sizeof(*item) + entry_count * sizeof(struct rip_entry));

    atomic_init(&item->references, 1);
    item->ring_name = strdup(ring_name);
    item->ring = ring;
    item->slot = slot;
    item->id = slot;
    item->tid = 4694 + slot;
    item->name_bytes = (uint8_t)name_bytes;
    memcpy(item->name, name, name_bytes);
    item->snap_count = 918273;
    item->process = process;
    item->entry_count = entry_count;
    for (size_t i = 0; i < entry_count; i++)
        item->entries[i] = (struct rip_entry){.snap = 918273 - i, .address = SAMPLE_BIAS + 0x1234 + 16 * i};
    return item;
}

static inline struct sighting sample_stall(struct item *item, uint64_t frozen_since_ns)
{
    return (struct sighting){
        .item = item,
        .state = ID_STALLED,
        .cause = CAUSE_BLOCKED,
        .since_wall_ns = SAMPLE_SCANNED_WALL_NS - UINT64_C(13800000000),
        .since_earliest_wall_ns = SAMPLE_SCANNED_WALL_NS - UINT64_C(14900000000),
        .frozen_since_ns = frozen_since_ns,
        .frozen_for_ns = UINT64_C(13800000000),
        .frozen_for_max_ns = UINT64_C(14900000000),
        .threshold_ns = UINT64_C(5000000000),
    };
}

/* A snapshot with one ring and stall_count stalls, of ids 17, 18, ... */
static inline struct snapshot *sample_snapshot(uint64_t sequence, uint64_t scanned_mono_ns, size_t stall_count)
{
    struct snapshot *snapshot = snapshot_new();
    struct process_facts *process = sample_process("/usr/bin/checkout", 4690);

    snapshot->sequence = sequence;
    snapshot->scanned_wall_ns = SAMPLE_SCANNED_WALL_NS;
    snapshot->scanned_mono_ns = scanned_mono_ns;
    snapshot->interval_ns = UINT64_C(1000000000);
    snapshot->counts[ID_RUNNING] = 9120;
    snapshot->counts[ID_IDLE] = 871;
    snapshot->counts[ID_STALLED] = stall_count;
    snapshot->stalls = calloc(stall_count + 1, sizeof(*snapshot->stalls));
    snapshot->stall_count = stall_count;
    for (uint32_t i = 0; i < stall_count; i++) {
        struct item *item = sample_item(process_facts_ref(process), "checkout", 1, 17 + i, "worker-17", 9, 1);

        snapshot->stalls[i] = sample_stall(item, 1000 + i / 3);
    }
    snapshot->rings = calloc(1, sizeof(*snapshot->rings));
    snapshot->ring_count = 1;
    snapshot->rings[0] = (struct ring_facts){
        .name = strdup("checkout"),
        .directory = strdup("/run/librip"),
        .serial = 1,
        .slot_capacity = 65536,
        .live_count = 9992,
        .file_bytes = 25829376,
        .info = {.created_wall_ns = UINT64_C(1795161600000000000), .registered_count = 10000, .refused_full_count = 3},
        .processes = calloc(1, sizeof(struct process_facts *)),
        .process_count = 1,
    };
    snapshot->rings[0].processes[0] = process;
    return snapshot;
}

#endif
