/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_snapshot.c - references and order of snapshots: ripd/cases/snapshot.c. AddressSanitizer checks that the last
 * unref frees everything, and no earlier one does.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cases/snapshot.h"
#include "support/test.h"
#include "unit/samples.h"

/* A snapshot with room for that many stalls. */
static struct snapshot *snapshot_of(size_t stall_count)
{
    struct snapshot *snapshot = snapshot_new();

    snapshot->stalls = calloc(stall_count, sizeof *snapshot->stalls);
    snapshot->stall_count = stall_count;
    return snapshot;
}

static struct item *item_new(uint32_t ring, uint32_t slot, struct process_facts *process)
{
    return sample_item(process, "checkout", ring, slot, "", 0, 0);
}

TEST(the_last_unref_frees_all)
{
    struct snapshot *snapshot = snapshot_of(2);
    struct process_facts *process = sample_process("/usr/bin/checkout", 1);
    struct item *kept;

    snapshot->stalls[0].item = item_new(1, 1, process_facts_ref(process));
    snapshot->stalls[1].item = item_new(1, 2, process_facts_ref(process));
    snapshot->rings = calloc(1, sizeof *snapshot->rings);
    snapshot->ring_count = 1;
    snapshot->rings[0] = (struct ring_facts){
        .name = strdup("a"), .directory = strdup("/run/librip"), .reason = strdup("is damaged"), .process_count = 1};
    snapshot->rings[0].processes = calloc(1, sizeof(struct process_facts *));
    snapshot->rings[0].processes[0] = process;

    assert_ptr_equal(snapshot_ref(snapshot), snapshot);
    snapshot_unref(snapshot);
    kept = item_ref(snapshot->stalls[1].item);
    snapshot_unref(snapshot);
    assert_int_equal(kept->slot, 2); /* still there after the snapshot */
    assert_int_equal(kept->process->pid, 1);
    item_unref(kept);
}

TEST(null_is_allowed)
{
    assert_null(snapshot_ref(NULL));
    assert_null(item_ref(NULL));
    assert_null(process_facts_ref(NULL));
    snapshot_unref(NULL);
    item_unref(NULL);
    process_facts_unref(NULL);
    process_origin_unref(NULL);
}

/* Modules may claim ranges that overlap. */
TEST(the_newest_module_wins_an_overlap)
{
    struct module_facts modules[3] = {
        {.start = 0x1000, .end = 0x3000}, {.start = 0x2000, .end = 0x4000}, {.start = 0x1000, .end = 0x1000}};
    struct module_facts *pointers[3] = {&modules[0], &modules[1], &modules[2]};
    const struct process_facts process = {.modules = pointers, .module_count = 3};

    assert_null(process_facts_module(&process, 0xfff));
    assert_ptr_equal(process_facts_module(&process, 0x1000), &modules[0]);
    assert_ptr_equal(process_facts_module(&process, 0x2000), &modules[1]);
    assert_ptr_equal(process_facts_module(&process, 0x3fff), &modules[1]);
    assert_null(process_facts_module(&process, 0x4000));
}

/* Then by ring and slot. */
TEST(stalls_are_sorted_longest_first)
{
    static const struct {
        uint64_t since;
        uint32_t ring, slot;
    } sorted[] = {{0, 7, 7}, {100, 1, 8}, {100, 1, 9}, {100, 2, 1}, {500, 1, 1}, {UINT64_MAX, 1, 0}};
    static const size_t order[] = {4, 3, 2, 5, 1, 0};
    struct snapshot *snapshot = snapshot_of(6);

    for (size_t i = 0; i < 6; i++) {
        snapshot->stalls[i].frozen_since_ns = sorted[order[i]].since;
        snapshot->stalls[i].item = item_new(sorted[order[i]].ring, sorted[order[i]].slot, NULL);
    }
    snapshot_sort(snapshot);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(snapshot->stalls[i].frozen_since_ns, sorted[i].since);
        assert_int_equal(snapshot->stalls[i].item->ring, sorted[i].ring);
        assert_int_equal(snapshot->stalls[i].item->slot, sorted[i].slot);
    }
    snapshot_unref(snapshot);
    snapshot = snapshot_new();
    snapshot_sort(snapshot); /* empty */
    snapshot_unref(snapshot);
}

static void *use_and_drop(void *argument)
{
    struct snapshot *snapshot = argument;

    for (int i = 0; i < 10000; i++) {
        struct item *item = item_ref(snapshot->stalls[0].item);

        snapshot_unref(snapshot_ref(snapshot));
        item_unref(item);
    }
    snapshot_unref(snapshot);
    return NULL;
}

TEST(references_are_counted_across_threads)
{
    struct snapshot *snapshot = snapshot_of(1);
    struct item *item = item_new(1, 1, NULL);
    pthread_t threads[4];

    snapshot->stalls[0].item = item_ref(item);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_and_drop, snapshot_ref(snapshot)), 0);
    snapshot_unref(snapshot);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&item->references), 1);
    item_unref(item);
}

TEST(no_id_is_frozen_for_longer_than_it_is_registered)
{
    struct snapshot snapshot = {.scanned_boot_ns = 1000};
    struct item item = {.registered_boot_ns = 400};

    assert_int_equal(item_frozen_max_ns(&item, &snapshot, 300, 350), 350); /* what the detector observed is shorter */
    assert_int_equal(item_frozen_max_ns(&item, &snapshot, 300, UINT64_MAX), 600);
    assert_int_equal(item_frozen_max_ns(&item, &snapshot, 700, UINT64_MAX), 700); /* never less than the minimum */
    item.registered_boot_ns = 0;
    assert_int_equal(item_frozen_max_ns(&item, &snapshot, 300, UINT64_MAX), UINT64_MAX);
    item.registered_boot_ns = 1001; /* the ring lies: registered after the scan */
    assert_int_equal(item_frozen_max_ns(&item, &snapshot, 300, UINT64_MAX), UINT64_MAX);
}

TEST(since_is_a_range)
{
    const struct snapshot moment = {.scanned_wall_ns = 100000};
    struct sighting sighting = {.state = ID_IDLE, .frozen_for_ns = 300, .frozen_for_max_ns = 350};

    sighting_set_since(&sighting, &moment);
    assert_int_equal(sighting.since_wall_ns, 99700);
    assert_int_equal(sighting.since_earliest_wall_ns, 99650);
    sighting.frozen_for_max_ns = UINT64_MAX;
    sighting_set_since(&sighting, &moment);
    assert_int_equal(sighting.since_earliest_wall_ns, 0);
    sighting.read_ago_ns = 2000; /* its ring was skipped */
    sighting.frozen_for_max_ns = 350;
    sighting_set_since(&sighting, &moment);
    assert_int_equal(sighting.since_wall_ns, 97700);
    assert_int_equal(sighting.since_earliest_wall_ns, 97650);
}

/* A dead id ended when its process was found dead, whatever the clocks of later scans say. */
TEST(the_end_of_an_id_stays_the_same)
{
    struct process_facts process = {.dead = true, .lived_wall_ns = 400, .died_wall_ns = 500};
    struct item item = {.process = &process};
    struct sighting sighting = {.item = &item,
                                .state = ID_DEAD,
                                .since_wall_ns = 510,
                                .since_earliest_wall_ns = 390,
                                .last = {.known = true, .state = ID_STALLED, .frozen_for_ns = 100}};

    sighting_set_end(&sighting);
    assert_int_equal(sighting.since_wall_ns, 500);
    assert_int_equal(sighting.since_earliest_wall_ns, 400);
    assert_int_equal(sighting.last.since_wall_ns, 400);
    process.lived_wall_ns = 0; /* the process was dead when it was found */
    sighting.since_earliest_wall_ns = 390;
    sighting.last = (struct sighting_last){.known = true, .state = ID_RUNNING, .frozen_for_ns = 100};
    sighting_set_end(&sighting);
    assert_int_equal(sighting.since_earliest_wall_ns, 390);
    assert_int_equal(sighting.last.since_wall_ns, 0);
    item.process = NULL;
    sighting.since_wall_ns = 777;
    sighting_set_end(&sighting);
    assert_int_equal(sighting.since_wall_ns, 777);
    item.process = &process;
    sighting.state = ID_EXITED;
    sighting.last = (struct sighting_last){.known = true, .state = ID_STOPPED, .frozen_for_ns = 100};
    sighting_set_end(&sighting);
    assert_int_equal(sighting.since_wall_ns, 777);
    assert_int_equal(sighting.last.since_wall_ns, 777);
    sighting_set_exit(&sighting, 800, 790);
    assert_int_equal(sighting.since_wall_ns, 800);
    assert_int_equal(sighting.since_earliest_wall_ns, 790);
    assert_int_equal(sighting.last.frozen_for_ns, 800 - 777);
    sighting_set_exit(&sighting, 0, 0); /* it has no case */
    assert_int_equal(sighting.since_wall_ns, 0);
    assert_int_equal(sighting.last.frozen_for_ns, UINT64_MAX);
}
