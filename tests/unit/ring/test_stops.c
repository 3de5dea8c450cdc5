/* SPDX-License-Identifier: Apache-2.0 */
/* test_stops.c - which processes are stopped as a whole, a few looks at a time: ripd/ring/stops.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "detect/detector.h"
#include "os/file.h"
#include "ring/stops.h"
#include "support/ring_stage.h"
#include "support/test.h"

/* A /proc and control groups made up, and one ring with processes 100, 101, ... in it. */
struct host {
    struct ring_stage stage;
    int proc;
    struct ring ring;
    uint32_t pass;
};

static void open_host(struct host *host, size_t count)
{
    *host = (struct host){.proc = -1};
    ring_stage_open(&host->stage);
    mkdir(ring_stage_path(&host->stage, "proc"), 0700);
    mkdir(ring_stage_path(&host->stage, "cgroup"), 0700);
    mkdir(ring_stage_path(&host->stage, "cgroup/a"), 0700);
    host->proc = file_open_directory(ring_stage_path(&host->stage, "proc"));
    assert_true(host->proc >= 0);
    host->ring.processes = calloc(count, sizeof(*host->ring.processes));
    host->ring.conditions = calloc(count, 1);
    host->ring.process_count = count;
    for (size_t i = 0; i < count; i++)
        host->ring.processes[i] = (struct ring_process){
            .present = true, .verdict = PROCESS_ATTESTED, .pid = 100 + (uint32_t)i, .pid_start_time_ticks = 5000};
}

static void close_host(struct host *host)
{
    free(host->ring.processes);
    free(host->ring.conditions);
    close(host->proc);
    ring_stage_close(&host->stage);
}

static void set_threads(struct host *host, uint32_t pid, char letter, unsigned start_time_ticks, unsigned thread_count)
{
    char text[256];

    snprintf(text, sizeof(text), "%u (a) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 %u 0 %u 0 0", pid, letter, thread_count,
             start_time_ticks);
    ring_stage_put_stat(&host->stage, pid, text);
}

static void set_letter(struct host *host, uint32_t pid, char letter, unsigned start_time_ticks)
{
    set_threads(host, pid, letter, start_time_ticks, 1);
}

static void set_frozen(struct host *host, uint32_t pid, bool frozen)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%u/cgroup", pid);
    ring_stage_write(&host->stage, name, "0::/a\n", 6);
    ring_stage_write(&host->stage, "cgroup/a/cgroup.events", frozen ? "frozen 1\n" : "frozen 0\n", 9);
}

static uint8_t look(struct host *host)
{
    struct ring *rings[] = {&host->ring};

    stops_look(host->proc, ring_stage_path(&host->stage, "cgroup"), rings, 1, &host->pass);
    return host->ring.conditions[0];
}

/* A tracer that stops it for a moment, as one of system calls does, stops it not. */
TEST(letters)
{
    static const struct {
        char letter;
        unsigned start_time_ticks;
        uint8_t condition;
    } rows[] = {
        {'S', 5000, DETECTOR_LIVES}, {'T', 5000, CAUSE_SIGNAL},   {'T', 5000, CAUSE_SIGNAL},
        {'R', 5000, DETECTOR_LIVES}, {'t', 5000, DETECTOR_LIVES}, {'S', 5000, DETECTOR_LIVES},
        {'t', 5000, DETECTOR_LIVES}, {'t', 5000, CAUSE_TRACER},   {'t', 5000, CAUSE_TRACER},
        {'S', 5000, DETECTOR_LIVES}, {'T', 5001, DETECTOR_LIVES}, /* another process of that number */
    };
    struct host host;

    open_host(&host, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_letter(&host, 100, rows[i].letter, rows[i].start_time_ticks);
        assert_int_equal(look(&host), rows[i].condition);
    }
    host.ring.processes[0].verdict = PROCESS_DEAD;
    assert_int_equal(look(&host), DETECTOR_DEAD);
    host.ring.processes[0].verdict = PROCESS_UNKNOWN; /* it may be another one */
    set_letter(&host, 100, 'T', 5000);
    assert_int_equal(look(&host), DETECTOR_LIVES);
    close_host(&host);
}

/* What the last scan found, the one before, and the kernel: all have to agree. */
TEST(stuck)
{
    static const struct {
        unsigned thread_count;
        struct process_waits waits, before;
        char letter;
        uint8_t condition;
    } rows[] = {
        {3, {3, 900}, {3, 900}, 'S', DETECTOR_STUCK}, {9, {9, 900}, {9, 900}, 'S', DETECTOR_STUCK},
        {2, {2, 900}, {2, 900}, 'S', DETECTOR_LIVES}, /* two alone */
        {4, {3, 900}, {3, 900}, 'S', DETECTOR_LIVES}, /* one that nobody sees */
        {3, {3, 900}, {3, 899}, 'S', DETECTOR_LIVES}, /* one has moved */
        {3, {3, 900}, {2, 900}, 'S', DETECTOR_LIVES}, /* one has come */
        {3, {2, 900}, {2, 900}, 'S', DETECTOR_LIVES}, /* one waits for something else */
        {3, {3, 900}, {3, 900}, 'T', CAUSE_SIGNAL},
    };
    struct host host;

    open_host(&host, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_threads(&host, 100, rows[i].letter, 5000, rows[i].thread_count);
        host.ring.processes[0].waits = rows[i].waits;
        host.ring.processes[0].waits_before = rows[i].before;
        assert_int_equal(look(&host), rows[i].condition);
    }
    close_host(&host);
}

/* A number of threads that is older than what the scans found says nothing. */
TEST(stuck_since_the_last_look)
{
    struct ring_process *process;
    struct host host;

    open_host(&host, STOPS_PER_REFRESH + 1);
    for (uint32_t i = 0; i <= STOPS_PER_REFRESH; i++)
        set_threads(&host, 100 + i, 'S', 5000, 3);
    process = &host.ring.processes[0];
    process->waits = process->waits_before = (struct process_waits){3, 900};
    assert_int_equal(look(&host), DETECTOR_STUCK);
    process->waits = process->waits_before = (struct process_waits){3, 901};
    assert_int_equal(look(&host), DETECTOR_LIVES); /* the others had their turn */
    assert_int_equal(look(&host), DETECTOR_STUCK);
    close_host(&host);
}

TEST(frozen)
{
    struct host host;

    open_host(&host, 1);
    set_letter(&host, 100, 'S', 5000);
    set_frozen(&host, 100, true);
    for (unsigned i = 0; i < STOPS_FREEZER_EVERY; i++)
        assert_int_equal(look(&host), CAUSE_FREEZER);
    set_frozen(&host, 100, false);
    assert_int_equal(look(&host), DETECTOR_LIVES);
    set_letter(&host, 100, 'T', 5000);
    assert_int_equal(look(&host), CAUSE_SIGNAL);
    close_host(&host);
}

/* What was found lasts until the next look; all have one before any has two. */
TEST(turns)
{
    enum { COUNT = 2 * STOPS_PER_REFRESH + 10 };
    struct host host;
    size_t stopped = 0;

    open_host(&host, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        set_letter(&host, 100 + i, 'T', 5000);
    for (unsigned pass = 1; pass <= 3; pass++) {
        look(&host);
        stopped = 0;
        for (size_t i = 0; i < COUNT; i++)
            stopped += host.ring.conditions[i] == CAUSE_SIGNAL;
        assert_int_equal(stopped, pass < 3 ? pass * STOPS_PER_REFRESH : COUNT);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        set_letter(&host, 100 + i, 'S', 5000);
        assert_int_equal(host.ring.processes[i].stop_looks, 1);
    }
    for (unsigned pass = 1; pass <= 3; pass++)
        look(&host);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(host.ring.conditions[i], DETECTOR_LIVES);
    close_host(&host);
}
