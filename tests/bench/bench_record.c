/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_record.c - the cost of a recording: 10,000 ids, drained ten times a second and written to a file, with one,
 * eight and 32 new entries of each id between two drains. Measures CPU time (samples, drain, compression and write(2))
 * and the bytes of the file compared with the bytes of the entries.
 *
 * The reference is a scan of the same ring. Between drains, which is not measured, ids snap at thousands of locations.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "session/drain.h"
#include "session/recording.h"
#include "support/ring_builder.h"

enum { ID_COUNT = 10000, DRAINS_A_SECOND = 10, DRAINS = 50, PLACES = 4096, ENTRY_BYTES = 8 };

static struct ring_builder builder;
static struct rip_view view;
static int file;

static void need(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "bench_record: %s failed\n", what);
    exit(EXIT_FAILURE);
}

static int write_file(void *context, const void *bytes, size_t count, bool full)
{
    (void)context;
    (void)full;
    return write(file, bytes, count) == (ssize_t)count ? 0 : -1;
}

/* Locations of snaps: functions spread over a program of 8 MB. */
static uint64_t place(uint64_t number)
{
    return UINT64_C(0x561234560000) + (number % PLACES) * UINT64_C(0x9e3779b97f4a7c15) % (8u << 20);
}

static void make_ids(void)
{
    const struct ring_geometry geometry = {.slot_capacity = ID_COUNT};

    ring_builder_new(&builder, &geometry);
    builder.ring->compatible_flags = RIP_RING_COUNTS_ENDED;
    for (uint32_t slot = 0; slot < ID_COUNT; slot++)
        ring_builder_add_id(&builder, slot, slot + 1, slot + 1, 0, "worker");
    need(rip_view_open(&view, builder.bytes, builder.size_bytes) == RIP_OK, "rip_view_open");
}

/* The locations are in random order, which compresses badly. Real programs repeat themselves more. */
static void make_moves(unsigned entries)
{
    static uint64_t random = 1;

    for (uint32_t slot = 0; slot < ID_COUNT; slot++) {
        for (unsigned i = 0; i < entries; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            ring_builder_snap(&builder, slot, place(random >> 40));
        }
    }
}

struct recorder {
    struct drain *drain;
    struct drain_batch *batch;
    struct recording_writer *writer;
};

static int take_event(void *context, const struct rip_event *event)
{
    return recording_writer_take(context, event);
}

static void drain_once(struct recorder *recorder, uint64_t sequence)
{
    const struct rip_sink sink = {recorder->writer, take_event};
    const uint64_t now_ns = sequence * (1000000000 / DRAINS_A_SECOND);
    struct rip_event event = {.kind = RIP_EVENT_DRAIN, .latest_wall_ns = now_ns, .latest_mono_ns = now_ns};
    struct rip_scan_position position = {0};
    struct rip_sample samples[DRAIN_BATCH];
    size_t count;

    drain_begin(recorder->drain, (struct drain_moment){now_ns, now_ns});
    while (drain_open(recorder->drain, &view, recorder->batch))
        drain_take(recorder->drain, recorder->batch, &sink);
    while ((count = rip_view_scan(&view, &position, samples, DRAIN_BATCH)) > 0) {
        drain_read(recorder->drain, &view, samples, count, recorder->batch);
        need(drain_take(recorder->drain, recorder->batch, &sink) == 0, "drain_take");
    }
    while (drain_finish(recorder->drain, &view, recorder->batch))
        drain_take(recorder->drain, recorder->batch, &sink);
    drain_end(recorder->drain, &sink);
    event.as.drain = (struct rip_event_drain){.sequence = sequence, .wall_ns = now_ns, .mono_ns = now_ns};
    need(recording_writer_take(recorder->writer, &event) == 0, "recording_writer_take");
    need(recording_writer_flush(recorder->writer) == 0, "recording_writer_flush");
}

static void scan_once(void)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[DRAIN_BATCH];

    while (rip_view_scan(&view, &position, samples, DRAIN_BATCH) == DRAIN_BATCH)
        ;
}

static void measure(unsigned entries)
{
    const struct recording_output output = {.write = write_file};
    struct rip_recording_state begin, end;
    struct recorder recorder;
    uint64_t record_ns = 0, scan_ns = 0, began;
    double percent, ratio = 0;
    char name[64];

    make_ids();
    recorder.batch = drain_batch_new();
    need(recorder.batch != NULL && drain_new(&recorder.drain, 1) == 0, "drain_new");
    need(recording_writer_new(&recorder.writer, &output, 1) == 0, "recording_writer_new");
    make_moves(entries);
    drain_once(&recorder, 1); /* the state before the measurement */
    begin = *recording_writer_state(recorder.writer);
    for (unsigned i = 1; i <= DRAINS; i++) {
        make_moves(entries);
        began = bench_now_ns();
        scan_once();
        scan_ns += bench_now_ns() - began;
        began = bench_now_ns();
        drain_once(&recorder, i + 1);
        record_ns += bench_now_ns() - began;
    }
    end = *recording_writer_state(recorder.writer);
    percent = 100.0 * (double)record_ns / 1e9 * DRAINS_A_SECOND / DRAINS;
    if (end.entry_count != begin.entry_count)
        ratio = (double)(end.written_bytes - begin.written_bytes) /
                (double)((end.entry_count - begin.entry_count) * ENTRY_BYTES);
    need(end.entry_count - begin.entry_count == (uint64_t)DRAINS * ID_COUNT * entries, "recording every entry");
    printf("%u entries of each id between drains: a drain takes %.1f times its scan\n", entries,
           (double)record_ns / (double)scan_ns);
    snprintf(name, sizeof(name), "  percent of a core at %d drains a second", DRAINS_A_SECOND);
    bench_print_bar(name, percent, 5.0);
    if (entries != 0)
        bench_print_bar("  bytes written for a byte of entries", ratio, 1.2);
    drain_free(recorder.drain);
    drain_batch_free(recorder.batch);
    recording_writer_free(recorder.writer);
    ring_builder_free(&builder);
}

int main(void)
{
    static const unsigned rates[] = {0, 1, 8, 32};
    char path[] = "/tmp/bench_record.XXXXXX";

    file = mkstemp(path);
    need(file >= 0 && unlink(path) == 0, "mkstemp");
    bench_print_machine();
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        measure(rates[i]);
    return 0;
}
