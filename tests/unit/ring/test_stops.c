/* SPDX-License-Identifier: Apache-2.0 */
/* test_stops.c - finds processes that are stopped as a whole, a few in each refresh: ripd/ring/stops.c. */
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

enum { PROCESSES_MAX = 2 * STOPS_PER_REFRESH + 10, FIRST_PID = 100, START_TICKS = 5000 };

/* A fake /proc, a fake control group, and one ring with the processes 100, 101, ... */
static struct ring_stage stage;
static struct ring_host host;
static struct ring_process processes[PROCESSES_MAX];
static uint8_t conditions[PROCESSES_MAX];
static struct ring ring, other; /* other is of another user, and has no process at first */

static int set_up(void **state)
{
    (void)state;
    ring_stage_open(&stage);
    mkdir(ring_stage_path(&stage, "proc"), 0700);
    host = (struct ring_host){.proc = file_open_directory(ring_stage_path(&stage, "proc")), .work = work_new()};
    assert_true(host.proc >= 0);
    assert_non_null(host.work);
    ring = (struct ring){.serial = 1, .processes = processes, .conditions = conditions, .process_count = 1};
    other = (struct ring){.serial = 2, .user = 7};
    memset(conditions, 0, sizeof(conditions));
    for (uint32_t i = 0; i < PROCESSES_MAX; i++)
        processes[i] = (struct ring_process){
            .present = true, .verdict = PROCESS_ATTESTED, .pid = FIRST_PID + i, .pid_start_time_ticks = START_TICKS};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(host.proc);
    work_free(host.work);
    ring_stage_close(&stage);
    return 0;
}

static void set_stat(uint32_t process, char letter, unsigned start_ticks, unsigned thread_count)
{
    char text[256];

    snprintf(text, sizeof(text), "%u (a) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 %u 0 %u 0 0", FIRST_PID + process, letter,
             thread_count, start_ticks);
    ring_stage_put_stat(&stage, FIRST_PID + process, text);
}

static void set_letter(uint32_t process, char letter)
{
    set_stat(process, letter, START_TICKS, 1);
}

static void set_frozen(bool frozen)
{
    ring_stage_put(&stage, "proc/100/cgroup", "0::/a\n");
    ring_stage_put(&stage, "cgroup/a/cgroup.events", frozen ? "frozen 1\n" : "frozen 0\n");
}

/* Returns the condition of the first process. */
static uint8_t look(void)
{
    struct ring *rings[] = {&ring, &other};

    host.cgroup_path = ring_stage_path(&stage, "cgroup");
    stops_look(&host, rings, other.process_count == 0 ? 1 : 2);
    return conditions[0];
}

static size_t count_conditions(uint8_t condition)
{
    size_t count = 0;

    for (size_t i = 0; i < ring.process_count; i++)
        count += conditions[i] == condition;
    return count;
}

/* A tracer of system calls stops the process for moments: one look at 't' is not enough. */
TEST(state_letters, set_up, tear_down)
{
    static const struct {
        char letter;
        unsigned start_ticks;
        uint8_t condition;
    } rows[] = {
        {'S', 5000, DETECTOR_LIVES}, {'T', 5000, CAUSE_SIGNAL},   {'T', 5000, CAUSE_SIGNAL},
        {'R', 5000, DETECTOR_LIVES}, {'t', 5000, DETECTOR_LIVES}, {'S', 5000, DETECTOR_LIVES},
        {'t', 5000, DETECTOR_LIVES}, {'t', 5000, CAUSE_TRACER},   {'t', 5000, CAUSE_TRACER},
        {'S', 5000, DETECTOR_LIVES}, {'T', 5001, DETECTOR_LIVES}, /* the pid was reused */
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        set_stat(0, rows[i].letter, rows[i].start_ticks, 1);
        assert_int_equal(look(), rows[i].condition);
    }
    processes[0].verdict = PROCESS_DEAD;
    assert_int_equal(look(), DETECTOR_DEAD);
    processes[0].verdict = PROCESS_UNKNOWN; /* the pid may belong to another process */
    set_letter(0, 'T');
    assert_int_equal(look(), DETECTOR_LIVES);
}

/* The last two scans and the kernel have to agree. */
TEST(stuck, set_up, tear_down)
{
    static const struct {
        const char *name;
        unsigned thread_count;
        struct process_waits waits, before;
        char letter;
        uint8_t condition;
    } cases[] = {
        {"three threads", 3, {3, 900}, {3, 900}, 'S', DETECTOR_STUCK},
        {"nine threads", 9, {9, 900}, {9, 900}, 'S', DETECTOR_STUCK},
        {"only two threads", 2, {2, 900}, {2, 900}, 'S', DETECTOR_LIVES},
        {"a thread without an id", 4, {3, 900}, {3, 900}, 'S', DETECTOR_LIVES},
        {"one has moved", 3, {3, 900}, {3, 899}, 'S', DETECTOR_LIVES},
        {"one is new", 3, {3, 900}, {2, 900}, 'S', DETECTOR_LIVES},
        {"one waits for something else", 3, {2, 900}, {2, 900}, 'S', DETECTOR_LIVES},
        {"stopped by a signal", 3, {3, 900}, {3, 900}, 'T', CAUSE_SIGNAL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        set_stat(0, cases[i].letter, START_TICKS, cases[i].thread_count);
        processes[0].waits = cases[i].waits;
        processes[0].waits_before = cases[i].before;
        if (look() != cases[i].condition)
            fail_msg("%s: condition %d", cases[i].name, conditions[0]);
    }
}

/* A number of threads that was read before the last two scans is not used. */
TEST(stuck_since_the_last_look, set_up, tear_down)
{
    static const struct {
        uint64_t progress;
        uint8_t condition;
    } steps[] = {{900, DETECTOR_STUCK}, {901, DETECTOR_LIVES}, {901, DETECTOR_STUCK}}; /* the others are looked at */

    ring.process_count = STOPS_PER_REFRESH + 1;
    for (uint32_t i = 0; i < ring.process_count; i++)
        set_stat(i, 'S', START_TICKS, 3);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        processes[0].waits = processes[0].waits_before = (struct process_waits){3, steps[i].progress};
        assert_int_equal(look(), steps[i].condition);
    }
}

TEST(frozen, set_up, tear_down)
{
    set_letter(0, 'S');
    set_frozen(true);
    for (unsigned i = 0; i < STOPS_FREEZER_EVERY; i++)
        assert_int_equal(look(), CAUSE_FREEZER);
    set_frozen(false);
    assert_int_equal(look(), DETECTOR_LIVES);
    set_letter(0, 'T');
    assert_int_equal(look(), CAUSE_SIGNAL);
}

/* A condition lasts until the next look. All processes have one look before any has two. */
TEST(turns, set_up, tear_down)
{
    static const size_t stopped[] = {STOPS_PER_REFRESH, 2 * STOPS_PER_REFRESH, PROCESSES_MAX};

    ring.process_count = PROCESSES_MAX;
    for (uint32_t i = 0; i < PROCESSES_MAX; i++)
        set_letter(i, 'T');
    for (size_t i = 0; i < COUNT_OF(stopped); i++) {
        look();
        assert_int_equal(count_conditions(CAUSE_SIGNAL), stopped[i]);
    }
    for (uint32_t i = 0; i < PROCESSES_MAX; i++) {
        set_letter(i, 'S');
        assert_int_equal(processes[i].stop_looks, 1);
    }
    for (size_t i = 0; i < COUNT_OF(stopped); i++)
        look();
    assert_int_equal(count_conditions(DETECTOR_LIVES), PROCESSES_MAX);
}

/* A user with many processes does not delay the looks at those of another user. */
TEST(turns_of_users, set_up, tear_down)
{
    ring.process_count = PROCESSES_MAX - 1;
    other.processes = &processes[ring.process_count];
    other.conditions = &conditions[ring.process_count];
    other.process_count = 1;
    for (uint32_t i = 0; i < PROCESSES_MAX; i++)
        set_letter(i, 'S');
    look();
    set_letter(PROCESSES_MAX - 1, 'T');
    look();
    assert_int_equal(other.conditions[0], CAUSE_SIGNAL);
}
