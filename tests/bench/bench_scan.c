/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_scan.c - the cost of a scan with detection, with the code of the daemon: the registry finds and maps a ring
 * file on tmpfs, and scan_run() reads it and feeds the detector.
 *
 * The reference is the minimum cost of a scan: one 8-byte load in every slot of the same mapping, in order. Between
 * passes,
 * which is not measured, the ids move, so that each contender finds the ring as the writers left it and the same
 * caches.
 * registry_refresh() is not measured, because its cost depends on processes and not on ids.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "os/sigbus.h"
#include "ring/scan.h"
#include "support/ring_stage.h"

#define INTERVAL_NS UINT64_C(1000000000)
#define SPARSE_CAPACITY (4u << 20)
#define SPARSE_LIVE 1000u
#define SPARSE_SCANS 101

enum population { MOVING, STILL, IDLE, MIXED, POPULATION_COUNT };
static const char *const population_text[POPULATION_COUNT] = {
    "every id moves",
    "no id moves, none is due",
    "every id is idle",
    "9 of 10 move, 1 is idle",
};

static struct ring_stage stage;
static struct ring_builder writer;
static struct registry *registry;
static struct ring *ring;
static struct detector *detector;
static struct rules rules; /* no rules, or some */
static struct rule_finder finder;
static enum population population;
static uint32_t live_count;
static uint64_t scan_number;
static uint64_t sink;

static void need(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "bench_scan: %s failed\n", what);
    exit(EXIT_FAILURE);
}

/* Creates a ring of this process in which every step-th slot is live, and a registry that has found it. */
static void world_open(uint32_t capacity, uint32_t step)
{
    const struct ring_geometry geometry = {.slot_capacity = capacity};
    const char *directories[1] = {stage.directory};
    const struct registry_options options = {.directories = directories, .directory_count = 1, .proc_path = "/proc"};
    struct ring **rings;
    size_t count;

    ring_stage_open(&stage);
    ring_stage_build(&stage, "bench", &geometry, &writer);
    ring_builder_add_process(&writer, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "bench");
    ring_builder_process(&writer, 0)->flags = 0;
    ring_builder_process(&writer, 0)->pid_namespace = ring_stage_pid_namespace();
    for (uint32_t slot = 0; slot < capacity; slot += step) {
        ring_builder_add_id(&writer, slot, slot + 1, 1 + slot, 0, "worker");
        ring_builder_run_to(&writer, slot, 1000 + slot);
    }
    live_count = (capacity + step - 1) / step;
    need(registry_new(&registry, &options) == 0, "registry_new");
    registry_refresh(registry, INTERVAL_NS);
    rings = registry_rings(registry, &count);
    need(count == 1, "registry_rings");
    ring = rings[0];
}

static void world_close(void)
{
    registry_free(registry);
    ring_stage_release(&writer);
    ring_stage_close(&stage);
}

static void detector_start(void)
{
    /* Ids that stand still must not become due during the measurement. */
    struct detector_config config = {.interval_ns = INTERVAL_NS,
                                     .stall_after_ns = population == STILL ? UINT64_MAX : 5 * INTERVAL_NS};

    config.rule_count = rules.count;
    for (size_t i = 0; i < rules.count; i++)
        config.rule_thresholds_ns[i] = config.stall_after_ns / 2;
    need(detector_new(&detector, &config) == 0, "detector_new");
    rule_finder_set_rules(&finder, &rules);
}

/* Does what happens between two scans. */
static void make_moves(void)
{
    registry_refresh(registry, INTERVAL_NS); /* gives each scan its own time */
    for (uint32_t slot = 0; slot < live_count; slot++) {
        if (population == IDLE || (population == MIXED && slot % 10 == 3))
            ring_builder_idle(&writer, slot);
        else if (population != STILL)
            ring_builder_slot(&writer, slot)->count++;
    }
}

static void run_plain(uint64_t count)
{
    const unsigned char *counters = (const unsigned char *)ring->mapping.base + writer.ring->slot_offset;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < count; i++)
        sum += *(const uint64_t *)(const void *)(counters + i * RIP_SLOT_BYTES);
    sink += sum;
}

static void run_samples(uint64_t count)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[SCAN_BATCH];
    uint64_t total = 0;
    size_t got;

    do {
        got = 0;
        need(mapping_scan(&ring->mapping, &position, samples, SCAN_BATCH, &got) == 0, "mapping_scan");
        total += got;
        sink += got ? samples[got - 1].progress : 0;
    } while (got == SCAN_BATCH);
    need(total == count, "a complete scan");
}

static struct detector_update scan_within(uint64_t naming_ns)
{
    struct detector_unclassified *ids;
    struct detector_update update;
    size_t suspect_count, unclassified_count;

    detector_begin(detector, ++scan_number * INTERVAL_NS);
    need(scan_run(registry, detector, NULL) == 0, "scan_run");
    ids = detector_unclassified(detector, &unclassified_count);
    rule_finder_run(&finder, registry, ids, unclassified_count, naming_ns);
    detector_suspects(detector, &suspect_count);
    detector_end(detector, &update);
    need(update.id_count == live_count && suspect_count == 0, "a scan in which nothing stalls");
    return update;
}

static struct detector_update scan(void)
{
    return scan_within(UINT64_MAX);
}

static void run_detection(uint64_t count)
{
    (void)count;
    sink += scan().counts[ID_RUNNING];
}

static void bench_population(uint32_t count)
{
    char title[96], bar[96];
    struct contender contenders[] = {
        {.name = "plain read of one counter per slot", .prepare = make_moves, .run = run_plain},
        {.name = "samples alone", .prepare = make_moves, .run = run_samples},
        {.name = "scan with detection", .prepare = make_moves, .run = run_detection},
    };

    detector_start();
    for (int i = 0; i < 3; i++) { /* new ids appear and reach a stable state */
        make_moves();
        scan();
    }
    snprintf(title, sizeof title, "%u live ids, %s", count, population_text[population]);
    bench_table(title, contenders, 3, 0, count);
    if (count >= 1000000) {
        snprintf(bar, sizeof bar, "scan with detection, %s, against the plain read", population_text[population]);
        bench_print_bar(bar, contenders[2].ns / contenders[0].ns, 1.2);
        bench_print_bar("bytes of the detector per live id", (double)scan().memory_bytes / count, 64);
    }
    detector_free(detector);
}

static void bench_size(uint32_t count)
{
    world_open(count, 1);
    for (population = 0; population < POPULATION_COUNT; population++)
        bench_population(count);
    world_close();
}

/* The cost of rules: when every id has one, and on the scan on which all ids are new. */
static void bench_rules(uint32_t count)
{
    static const char *const texts[] = {"batch-*=10m", "report-*=1h", "*-nightly=2h", "[a-c]?x-*=1m", "worker*=5s"};
    struct contender contender = {.name = "scan with detection by rules", .prepare = make_moves, .run = run_detection};
    const char *expected;
    uint64_t began_ns, took_ns, left;
    unsigned scans;
    char title[96];

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        need(rules_add(&rules, texts[i], &expected) == 0, "rules_add");
    world_open(count, 1);
    for (population = MOVING; population <= STILL; population++) {
        detector_start();
        began_ns = bench_now_ns();
        scan();
        took_ns = bench_now_ns() - began_ns;
        snprintf(title, sizeof title, "%u live ids with 5 rules, %s", count, population_text[population]);
        make_moves();
        scan();
        bench_table(title, &contender, 1, 0, count);
        detector_free(detector);
        printf("the scan on which all of them are new: %.1f ms, %.0f ns an id\n", (double)took_ns / 1e6,
               (double)took_ns / count);
        detector_start();
        for (scans = 0, left = 1; left; scans++) {
            make_moves();
            left = scan_within(INTERVAL_NS / 20).unclassified_count;
        }
        printf("with a twentieth of a second for naming: %u scans until all are named\n", scans);
        detector_free(detector);
    }
    world_close();
    rules.count = 0;
}

static int compare_times(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static uint64_t allocated_bytes(void)
{
    struct stat status;

    need(stat(ring_stage_path(&stage, "bench"), &status) == 0, "stat");
    return (uint64_t)status.st_blocks * 512;
}

/* A few live ids, spread over a large sparse ring. */
static void bench_sparse(void)
{
    uint64_t times_ns[SPARSE_SCANS], before;

    population = STILL;
    world_open(SPARSE_CAPACITY, SPARSE_CAPACITY / SPARSE_LIVE + 1);
    detector_start();
    before = allocated_bytes();
    for (int i = 0; i < SPARSE_SCANS; i++) {
        const uint64_t began_ns = bench_now_ns();

        scan();
        times_ns[i] = bench_now_ns() - began_ns;
    }
    qsort(times_ns, SPARSE_SCANS, sizeof times_ns[0], compare_times);
    printf("\n%u live ids spread over %u slots: median %.1f us, worst %.1f us\n", live_count, SPARSE_CAPACITY,
           (double)times_ns[SPARSE_SCANS / 2] / 1e3, (double)times_ns[SPARSE_SCANS - 1] / 1e3);
    bench_print_bar("microseconds a scan of it", (double)times_ns[SPARSE_SCANS / 2] / 1e3, 50);
    bench_print_bar("bytes allocated by reading it", (double)(allocated_bytes() - before), 0);
    detector_free(detector);
    world_close();
}

int main(void)
{
    need(sigbus_install() == 0, "sigbus_install");
    rule_finder_set_rules(&finder, &rules);
    bench_print_machine();
    bench_size(1000);
    bench_size(100000);
    bench_size(1000000);
    bench_rules(1000000);
    bench_sparse();
    return sink == 0;
}
