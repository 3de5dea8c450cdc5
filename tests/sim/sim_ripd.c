/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_ripd.c - the daemon of the world: what ripd/app does, around the same functions, with the world for a kernel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_inside.h"

void sim_open_ripd(struct sim_world *world)
{
    const struct sim_options *options = &world->options;

    assert_int_equal(detector_new(&world->detector, &world->config), 0);
    assert_int_equal(event_log_new(&world->event_log, world->config.stall_after_ns + world->config.interval_ns,
                                   options->reports_max ? options->reports_max : 2 * SIM_IDS_MAX,
                                   &(struct hash_key){{options->seed, options->seed}}),
                     0);
    schedule_init(&world->schedule, world->config.interval_ns, options->seed + 1);
}

struct sim_world *sim_new(struct sim_options options)
{
    struct sim_world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    world->options = options;
    world->random = options.seed;
    world->config = (struct detector_config){.interval_ns = SIM_INTERVAL_MS * SIM_MS,
                                             .stall_after_ns = SIM_STALL_AFTER_MS * SIM_MS};
    sim_open_ripd(world);
    return world;
}

void sim_free(struct sim_world *world)
{
    if (world->trace_bytes)
        fail_msg("nobody expected\n%s", world->trace);
    detector_free(world->detector);
    event_log_free(world->event_log, NULL);
    free(world);
}

int sim_set_up(void **state)
{
    *state = sim_new((struct sim_options){.seed = 1});
    return 0;
}

int sim_tear_down(void **state)
{
    sim_free(*state);
    return 0;
}

void sim_print(struct sim_world *world, const char *format, ...)
{
    const size_t room = SIM_TRACE_BYTES - world->trace_bytes;
    va_list arguments;
    int length;

    length = snprintf(world->trace + world->trace_bytes, room, "[%5llu] ", (unsigned long long)sim_now_ms(world));
    va_start(arguments, format);
    length += vsnprintf(world->trace + world->trace_bytes + length, room - (size_t)length, format, arguments);
    va_end(arguments);
    assert_true((size_t)length < room);
    world->trace_bytes += (size_t)length;
}

void sim_trace(struct sim_world *world, const char *expected, const char *file, int line)
{
    if (strcmp(world->trace, expected) != 0)
        fail_msg("%s:%d: expected\n%s\nand saw\n%s", file, line, expected, world->trace);
    world->trace_bytes = 0;
    world->trace[0] = 0;
}

static void feed_ring(struct sim_world *world, const struct sim_process *process)
{
    for (size_t i = 0; i < world->id_count; i++) {
        struct sim_id *id = &world->ids[i];
        struct rip_sample sample;

        if (!id->present || id->ring != process->ring)
            continue;
        if (id->scan_step && id->activity == SIM_MOVING && !process->held) {
            id->progress += id->scan_step;
            id->moved_at_ns = world->now_ns;
        }
        sample = (struct rip_sample){
            .progress = id->progress,
            .slot = id->slot,
            .generation = id->generation,
            .tid = id->on_no_thread ? 0 : 100 + id->slot,
            .idle = id->activity == SIM_IDLE,
        };
        assert_int_equal(detector_feed(world->detector, &sample, 1), 0);
    }
}

static void feed(struct sim_world *world)
{
    for (size_t i = 0; i < world->process_count; i++) {
        struct sim_process *process = &world->processes[i];
        const uint8_t dead = identity_judge(&process->facts, &process->memory) == PROCESS_DEAD;

        if (!process->present)
            continue;
        assert_int_equal(detector_ring(world->detector, process->ring, &dead, 1), 0);
        feed_ring(world, process);
    }
}

static void find_rules(struct sim_world *world)
{
    size_t count;
    struct detector_newcomer *newcomers = detector_newcomers(world->detector, &count);

    for (size_t i = 0; i < count; i++) {
        const struct sim_id *id = sim_find(world, newcomers[i].ring, newcomers[i].slot);

        assert_int_equal(newcomers[i].generation, id->generation);
        newcomers[i].rule = rules_find(&world->rules_table, (const uint8_t *)id->name, strlen(id->name));
    }
}

uint64_t sim_threshold_ns(const struct sim_world *world, const struct sim_id *id)
{
    const int rule = rules_find(&world->rules_table, (const uint8_t *)id->name, strlen(id->name));

    return rule == RULES_NONE ? world->config.stall_after_ns : world->rules.rules[rule].threshold_ns;
}

static void examine(struct sim_world *world, struct detector_suspect *suspect)
{
    const struct sim_process *process = sim_process_of(world, suspect->ring);
    const struct sim_id *id = sim_find(world, suspect->ring, suspect->slot);

    suspect->evidence = (struct evidence){
        .examined = true,
        .on_no_thread = id->on_no_thread,
        .thread_gone = id->thread_gone,
        .core_dumping = process->core_dumping,
        .frozen = process->frozen,
        .thread_state = id->on_no_thread || id->thread_gone ? 0
                        : process->letter                   ? process->letter
                                                            : id->letter,
        .process_state = process->letter ? process->letter : 'S',
    };
}

/* As the probe does: whoever was not examined yet first, then the others in turn, within the budget. */
static void collect_evidence(struct sim_world *world)
{
    size_t count, budget = world->options.evidence_max ? world->options.evidence_max : SIZE_MAX;
    struct detector_suspect *suspects = detector_suspects(world->detector, &count);

    for (size_t i = 0; i < count && budget; i++)
        if (suspects[i].state == ID_RUNNING || suspects[i].cause == CAUSE_NONE) {
            examine(world, &suspects[i]);
            budget--;
        }
    for (size_t i = 0; i < count && budget; i++) {
        struct detector_suspect *suspect = &suspects[world->examine_next++ % count];

        budget -= !suspect->evidence.examined;
        examine(world, suspect);
    }
}

/*
 * Guarantee 2 of sim.h. Two exceptions, of processes that are stopped and nobody has looked yet: the budget did not
 * allow it; or it was stopped for nearly the threshold, and continued so shortly before the scan that its id had no
 * time to move.
 */
static void check_accusation(struct sim_world *world, const struct detector_event *event)
{
    const struct sim_id *id = sim_find(world, event->ring, event->slot);
    const struct sim_process *process = sim_process_of(world, event->ring);
    const bool just_continued = process->continued_ns && world->now_ns - process->continued_ns < id->period_ns;
    const bool excused = just_continued || (process->held && event->cause == CAUSE_NONE);

    if (event->kind != DETECTOR_STALLED)
        return;
    if (id->activity != SIM_FROZEN && !excused)
        fail_msg("at %llu %u/%u is accused, and is innocent", (unsigned long long)sim_now_ms(world), event->ring,
                 event->slot);
    if (world->now_ns - id->moved_at_ns < sim_threshold_ns(world, id))
        fail_msg("at %llu %u/%u is accused too early", (unsigned long long)sim_now_ms(world), event->ring, event->slot);
}

/* Guarantee 4 of sim.h. */
static void check_report(struct sim_world *world, const struct report *report)
{
    size_t i = 0;

    while (i < world->begun_count && world->begun[i].episode != report->episode)
        i++;
    if (report->kind == REPORT_BEGIN) {
        assert_true(report->episode > world->last_episode && world->begun_count < SIM_IDS_MAX);
        world->last_episode = report->episode;
        world->begun[world->begun_count++] = *report;
        return;
    }
    assert_true(i < world->begun_count);
    assert_int_equal(world->begun[i].ring, report->ring);
    assert_int_equal(world->begun[i].slot, report->slot);
    assert_int_equal(world->begun[i].generation, report->generation);
    world->begun[i] = world->begun[--world->begun_count];
}

static void print_reports(struct sim_world *world)
{
    static const char *const reasons[] = {[DETECTOR_MOVED] = "moved",
                                          [DETECTOR_STOPPED] = "stopped",
                                          [DETECTOR_GONE] = "gone",
                                          [DETECTOR_EXCUSED] = "excused"};
    const struct report *reports;
    const int count =
        event_log_step(world->event_log, world->now_ns, world->update.events, world->update.event_count, &reports);

    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        const struct report *report = &reports[i];

        check_report(world, report);
        if (report->kind == REPORT_BEGIN)
            sim_print(world, "%u/%u > stalled, %s\n", report->ring, report->slot,
                      report->cause == CAUSE_NONE ? "not examined" : id_cause_name(report->cause));
        else
            sim_print(world, "%u/%u > over: %s at %llu after %llu ms, %u stall%s\n", report->ring, report->slot,
                      reasons[report->reason], (unsigned long long)(report->at_mono_ns / SIM_MS),
                      (unsigned long long)(report->lasted_ns / SIM_MS), report->stall_count,
                      report->stall_count == 1 ? "" : "s");
    }
}

void sim_scan(struct sim_world *world)
{
    const uint64_t uncounted = detector_begin(world->detector, world->now_ns);
    uint64_t total = 0;

    if (uncounted)
        sim_print(world, "ripd > late, %llu ms do not count\n", (unsigned long long)(uncounted / SIM_MS));
    feed(world);
    find_rules(world);
    collect_evidence(world);
    detector_end(world->detector, &world->update);
    for (size_t i = 0; i < world->update.event_count; i++)
        check_accusation(world, &world->update.events[i]);
    for (int i = 0; i < ID_STATE_COUNT; i++)
        total += world->update.counts[i];
    assert_int_equal(total, world->update.id_count);
    print_reports(world);
    schedule_next(&world->schedule, world->now_ns, detector_next_due(world->detector));
    if (!world->options.jitter) { /* as the schedule would have it with no jitter drawn */
        uint64_t next = world->now_ns + world->config.interval_ns, due = detector_next_due(world->detector);

        world->schedule.next_mono_ns = due < next ? due : next;
    }
}

void sim_run(struct sim_world *world, uint64_t ms)
{
    const uint64_t end = world->now_ns + ms * SIM_MS;

    for (;;) {
        uint64_t wait = schedule_wait_ns(&world->schedule, world->now_ns);

        if (world->now_ns + wait > end)
            break;
        sim_advance(world, wait, false);
        sim_scan(world);
    }
    sim_advance(world, end - world->now_ns, false);
}

void sim_stop_ripd(struct sim_world *world, uint64_t ms)
{
    sim_print(world, "ripd > stopped %llu s\n", (unsigned long long)ms / 1000);
    sim_advance(world, ms * SIM_MS, false);
}

void sim_suspend(struct sim_world *world, uint64_t ms)
{
    sim_print(world, "ripd > suspended %llu s\n", (unsigned long long)ms / 1000);
    sim_advance(world, ms * SIM_MS, true);
}

void sim_starve(struct sim_world *world, unsigned scans, uint64_t gap_ms)
{
    for (unsigned i = 0; i < scans; i++) {
        sim_advance(world, gap_ms * SIM_MS, false);
        sim_scan(world);
    }
}

void sim_look(struct sim_world *world, const char *who)
{
    struct detector_id known;
    char *end;
    const uint32_t ring = (uint32_t)strtoul(who, &end, 10), slot = (uint32_t)strtoul(end + 1, NULL, 10);
    const struct sim_id *id = sim_find(world, ring, slot);

    if (detector_find(world->detector, ring, slot, id->generation, &known) < 0)
        sim_print(world, "%s > not known\n", who);
    else
        sim_print(world, "%s > is %s%s%s\n", who, id_state_name(known.state), known.cause ? ", " : "",
                  id_cause_name(known.cause));
}

void sim_counts(struct sim_world *world)
{
    sim_print(world, "ripd >");
    for (int i = 0; i < ID_STATE_COUNT; i++)
        if (world->update.counts[i])
            world->trace_bytes +=
                (size_t)snprintf(world->trace + world->trace_bytes, SIM_TRACE_BYTES - world->trace_bytes, " %llu %s",
                                 (unsigned long long)world->update.counts[i], id_state_name((enum id_state)i));
    world->trace_bytes +=
        (size_t)snprintf(world->trace + world->trace_bytes, SIM_TRACE_BYTES - world->trace_bytes, "\n");
}

uint64_t sim_open_count(const struct sim_world *world)
{
    return event_log_open_count(world->event_log);
}

uint64_t sim_suppressed_count(const struct sim_world *world)
{
    return event_log_suppressed_count(world->event_log);
}

uint64_t sim_now_ms(const struct sim_world *world)
{
    return world->now_ns / SIM_MS;
}
