/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_evidence_shares.c - that one user's suspects do not keep another's from being looked at: ripd/probe/evidence.c
 * and probe.c, on a clock of which each look takes a millisecond. For threads see test_pending.c.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "cases/waits.h"
#include "probe/probe_state.h"
#include "ring/registry_state.h"

enum { RINGS = 2, MANY = 1000, FEW = 2, COUNT = MANY + FEW };

#define MS UINT64_C(1000000)

static uint64_t clock_ns = 1000 * MS;

uint64_t __wrap_clock_mono_ns(void);

uint64_t __wrap_clock_mono_ns(void)
{
    return clock_ns += MS;
}

/* Many suspects of a ring and few of another, all of which are in doubt. */
struct fixture {
    struct registry registry;
    struct ring rings[RINGS];
    struct ring *ring_list[RINGS];
    struct probe probe;
    struct detector_suspect suspects[COUNT];
    struct waits_node nodes[COUNT];
    struct waits waits;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    for (uint32_t i = 0; i < RINGS; i++) {
        fixture->rings[i].serial = i + 1;
        fixture->ring_list[i] = &fixture->rings[i];
    }
    fixture->registry.rings = fixture->ring_list;
    fixture->registry.ring_count = RINGS;
    for (uint32_t i = 0; i < COUNT; i++) {
        fixture->suspects[i] =
            (struct detector_suspect){.ring = i < MANY ? 1 : 2, .slot = i < MANY ? i : i - MANY, .generation = 1};
        fixture->nodes[i] = (struct waits_node){
            .ring = fixture->suspects[i].ring, .slot = fixture->suspects[i].slot, .generation = 1, .doubted = true};
    }
    fixture->waits = (struct waits){.nodes = fixture->nodes, .count = COUNT, .waiting_count = COUNT};
    assert_int_equal(watches_begin(&fixture->probe.watches, fixture->suspects, COUNT), 0);
    for (size_t i = 0; i < COUNT; i++)
        assert_non_null(watches_take(&fixture->probe.watches, fixture->suspects, i));
    watches_end(&fixture->probe.watches, fixture->suspects, COUNT);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    watches_done(&fixture->probe.watches);
    free(fixture->probe.subjects);
    free(fixture->probe.places);
    free(fixture->probe.queue);
    free(fixture);
    return 0;
}

static size_t doubt(struct fixture *fixture)
{
    registry_owners_refresh(&fixture->registry);
    return evidence_doubt(&fixture->probe, &fixture->registry, &fixture->waits);
}

/* Those of suspects [first, end) that are doubted, and are no more after this. */
static size_t take_doubted(struct fixture *fixture, size_t first, size_t end)
{
    size_t count = 0;

    for (size_t i = first; i < end; i++) {
        count += fixture->probe.watches.items[i].doubted;
        fixture->probe.watches.items[i].doubted = false;
    }
    return count;
}

static void test_doubts_of_two_owners(void **state)
{
    struct fixture *fixture = *state;

    fixture->rings[1].mapping.file.uid = 1;
    for (int scan = 0; scan < 3; scan++) {
        assert_int_equal(doubt(fixture), EVIDENCE_DOUBTS_MAX / 2 + FEW);
        assert_int_equal(take_doubted(fixture, 0, MANY), EVIDENCE_DOUBTS_MAX / 2);
        assert_int_equal(take_doubted(fixture, MANY, COUNT), FEW);
    }
}

static void test_doubts_of_one_owner(void **state)
{
    struct fixture *fixture = *state;
    const size_t scans = COUNT / EVIDENCE_DOUBTS_MAX + 1;

    for (size_t i = 0; i < scans; i++)
        assert_int_equal(doubt(fixture), EVIDENCE_DOUBTS_MAX);
    assert_int_equal(take_doubted(fixture, 0, COUNT), COUNT); /* each had its turn */
}

static void test_no_doubts(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(evidence_doubt(&fixture->probe, &fixture->registry, NULL), 0);
    for (size_t i = 0; i < COUNT; i++)
        fixture->nodes[i].doubted = false;
    assert_int_equal(doubt(fixture), 0);
}

/* Many processes of a ring and few of another: of this one, each of them. */
static void add_subjects(struct fixture *fixture, struct ring_process *processes)
{
    fixture->probe.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < COUNT; i++)
        processes[i] = (struct ring_process){.verdict = PROCESS_ALIVE, .pid = (uint32_t)getpid()};
    for (size_t i = 0; i < RINGS; i++) {
        fixture->rings[i].processes = processes;
        fixture->rings[i].process_count = COUNT;
    }
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(probe_subject(&fixture->probe, &fixture->rings[i >= MANY], i), i);
}

/* One call that has time for some of them; which of them it asked about is counted in asked. */
static void ask_some(struct fixture *fixture, unsigned *asked)
{
    registry_owners_refresh(&fixture->registry);
    probe_ask_subjects(&fixture->probe, clock_ns + 101 * MS);
    for (size_t i = 0; i < COUNT; i++) {
        struct subject *subject = &fixture->probe.subjects[i];

        asked[i] += subject->lost; /* all are: this process is not the one of their records */
        subject->lost = false;
        if (subject->hold >= 0)
            close(subject->hold);
        subject->hold = -1;
    }
    fixture->probe.hold_count = 0;
}

static void test_processes_of_two_owners(void **state)
{
    struct fixture *fixture = *state;
    struct ring_process *processes = calloc(COUNT, sizeof(*processes));
    unsigned asked[COUNT] = {0};

    fixture->rings[1].mapping.file.uid = 1;
    add_subjects(fixture, processes);
    for (unsigned scan = 1; scan <= 3; scan++) {
        ask_some(fixture, asked);
        for (size_t i = MANY; i < COUNT; i++)
            assert_int_equal(asked[i], scan);
    }
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(asked[i], i < (size_t)3 * (100 - FEW)); /* they take turns as if they were alone */
    probe_forget(&fixture->probe);
    close(fixture->probe.proc);
    free(processes);
}

static void test_processes_of_one_owner(void **state)
{
    struct fixture *fixture = *state;
    struct ring_process *processes = calloc(COUNT, sizeof(*processes));
    unsigned asked[COUNT] = {0};

    add_subjects(fixture, processes);
    for (unsigned scan = 0; scan <= COUNT / 100; scan++)
        ask_some(fixture, asked);
    for (size_t i = 0; i < COUNT; i++)
        assert_in_range(asked[i], 1, 2);
    probe_forget(&fixture->probe);
    close(fixture->probe.proc);
    free(processes);
}

int main(void)
{
#define SHARES_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SHARES_TEST(test_doubts_of_two_owners),
        SHARES_TEST(test_doubts_of_one_owner),
        SHARES_TEST(test_no_doubts),
        SHARES_TEST(test_processes_of_two_owners),
        SHARES_TEST(test_processes_of_one_owner),
    };

    return cmocka_run_group_tests_name("evidence_shares", tests, NULL, NULL);
}
