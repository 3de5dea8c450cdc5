/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.c - the world: ids and processes with their true state; ripd, which calls the same functions as app_scan(), with
 * the world as kernel and its list of begins as history on disk; and checks of ripd's reports against the truth.
 */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/incidents.h"
#include "detect/schedule.h"
#include "record/event_line.h"
#include "ring/identity.h"
#include "sim/tape.h"
#include "view/event_make.h"
#include "work/jobs.h"

#define SIM_IDS_MAX 512u
#define SIM_RINGS_MAX 16u
#define SIM_RINGS_OF_A_USER 10u
#define SIM_TRACE_BYTES 65536u

enum sim_activity { SIM_MOVING, SIM_FROZEN, SIM_IDLE };

struct sim_id {
    bool present;
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    enum sim_activity activity;
    char letter; /* state of its thread while it does not move */
    char name[RIP_NAME_BYTES + 1];
    bool on_no_thread;
    bool thread_gone;
    uint64_t period_ns;
    uint64_t ran_ns;    /* since it last moved */
    uint64_t scan_step; /* moves by this between two scans; 0 = according to its period */
    uint64_t progress;
    uint64_t moved_at_ns;
    uint32_t deadline_ms;
};

struct sim_process {
    bool present;
    uint32_t ring;
    bool held; /* stopped, traced, frozen or dumping: its threads do not run */
    bool frozen;
    bool core_dumping;
    uint64_t continued_ns; /* when it was last continued */
    char letter;           /* state of all its threads; 0 = each has its own */
    struct identity_facts facts;
    struct identity_memory memory;
};

/* A published begin whose end is not published: known after a restart. */
struct sim_begin {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    struct episode episode;
};

struct sim_world {
    struct sim_options options;
    uint64_t random;
    uint64_t now_ns;
    struct sim_id ids[SIM_IDS_MAX]; /* ascending by ring and slot */
    size_t id_count;
    struct sim_process processes[SIM_RINGS_MAX]; /* ascending by ring */
    size_t process_count;

    struct detector_config config;
    struct rules rules;
    struct rules_table rules_table;
    struct detector *detector;
    struct work *work;
    struct cases *cases;
    struct schedule schedule;
    struct detector_update update;
    size_t examine_next; /* round robin */
    struct sim_begin begun[SIM_IDS_MAX];
    size_t begun_count;
    uint64_t last_episode;

    char trace[SIM_TRACE_BYTES];
    size_t trace_bytes;

    struct tape *tape; /* NULL: nothing is recorded */
    uint64_t scan_count;
    bool configured; /* since the last scan */
    uint64_t event_sequence;
};

/* Ids and processes ------------------------------------------------------------------------------------------------ */

struct sim_place sim_place(uint32_t ring, uint32_t slot)
{
    struct sim_place place;

    snprintf(place.text, sizeof(place.text), "%u/%u", ring, slot);
    return place;
}

uint64_t sim_random(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 16) % bound;
}

static struct sim_id *find(struct sim_world *world, uint32_t ring, uint32_t slot)
{
    for (size_t i = 0; i < world->id_count; i++)
        if (world->ids[i].ring == ring && world->ids[i].slot == slot)
            return &world->ids[i];
    return NULL;
}

static struct sim_process *process_of(struct sim_world *world, uint32_t ring)
{
    for (size_t i = 0; i < world->process_count; i++)
        if (world->processes[i].ring == ring)
            return &world->processes[i];
    fail_msg("there is no ring %u", ring);
    return NULL;
}

static void parse(const char *place, uint32_t *ret_ring, uint32_t *ret_slot)
{
    char *end;

    *ret_ring = (uint32_t)strtoul(place, &end, 10);
    *ret_slot = (uint32_t)strtoul(end + 1, NULL, 10);
}

static struct sim_id *named(struct sim_world *world, const char *place)
{
    struct sim_id *id;
    uint32_t ring, slot;

    parse(place, &ring, &slot);
    id = find(world, ring, slot);
    if (!id)
        fail_msg("there is no id %s", place);
    return id;
}

static void make_process(struct sim_world *world, uint32_t ring)
{
    size_t at = 0;

    while (at < world->process_count && world->processes[at].ring < ring)
        at++;
    if (at < world->process_count && world->processes[at].ring == ring)
        return;
    assert_true(world->process_count < SIM_RINGS_MAX);
    memmove(&world->processes[at + 1], &world->processes[at],
            (world->process_count++ - at) * sizeof world->processes[0]);
    world->processes[at] = (struct sim_process){
        .present = true,
        .ring = ring,
        .facts =
            {
                .claimed_pid = 1000 + ring,
                .claimed_start_time_ticks = 77,
                .claims_life_lock = true,
                .same_boot = true,
                .same_pid_namespace = true,
                .locks_known = true,
                .holder_pid = 1000 + ring,
                .life_locked = true,
                .pid = 1000 + ring,
                .pid_exists = true,
                .pid_readable = true,
                .pid_start_time_ticks = 77,
                .pid_in_namespace = 1000 + ring,
            },
    };
}

void sim_add(struct sim_world *world, const char *place, uint64_t period_ms)
{
    uint32_t ring, slot;
    size_t at = 0;

    parse(place, &ring, &slot);
    make_process(world, ring);
    assert_true(world->id_count < SIM_IDS_MAX && !find(world, ring, slot));
    while (at < world->id_count &&
           (world->ids[at].ring < ring || (world->ids[at].ring == ring && world->ids[at].slot < slot)))
        at++;
    memmove(&world->ids[at + 1], &world->ids[at], (world->id_count++ - at) * sizeof world->ids[0]);
    world->ids[at] = (struct sim_id){.ring = ring, .slot = slot};
    sim_reuse(world, place, period_ms);
}

void sim_reuse(struct sim_world *world, const char *place, uint64_t period_ms)
{
    struct sim_id *id = named(world, place);

    *id = (struct sim_id){
        .present = true,
        .ring = id->ring,
        .slot = id->slot,
        .generation = id->generation + 2,
        .letter = 'S',
        .period_ns = period_ms * SIM_MS,
        .progress = id->progress,
        .moved_at_ns = world->now_ns,
        .name = "worker",
    };
    id->ran_ns = sim_random(&world->random, id->period_ns);
}

void sim_name(struct sim_world *world, const char *place, const char *name)
{
    struct sim_id *id = named(world, place);

    assert_true(strlen(name) < sizeof id->name);
    memcpy(id->name, name, strlen(name) + 1);
}

void sim_deadline(struct sim_world *world, const char *place, uint32_t ms)
{
    named(world, place)->deadline_ms = ms;
}

static void set_activity(struct sim_world *world, const char *place, enum sim_activity activity, char letter)
{
    struct sim_id *id = named(world, place);

    if (id->activity == SIM_IDLE)
        id->moved_at_ns = world->now_ns; /* the end of idling counts as a move */
    if (activity != SIM_FROZEN) {
        id->moved_at_ns = world->now_ns;
        id->progress++; /* a change of state is progress */
    }
    id->activity = activity;
    id->letter = letter;
    id->on_no_thread = false;
    id->ran_ns = 0;
}

void sim_alias(struct sim_world *world, const char *place, uint64_t step)
{
    named(world, place)->scan_step = step;
}

void sim_freeze(struct sim_world *world, const char *place)
{
    set_activity(world, place, SIM_FROZEN, 'S');
}

void sim_block(struct sim_world *world, const char *place, char letter)
{
    set_activity(world, place, SIM_FROZEN, letter);
}

void sim_park(struct sim_world *world, const char *place)
{
    set_activity(world, place, SIM_FROZEN, 0);
    named(world, place)->on_no_thread = true;
}

void sim_thaw(struct sim_world *world, const char *place)
{
    set_activity(world, place, SIM_MOVING, 'S');
}

void sim_idle(struct sim_world *world, const char *place)
{
    set_activity(world, place, SIM_IDLE, 'S');
}

void sim_add_frozen(struct sim_world *world, const char *place)
{
    sim_add(world, place, 10);
    sim_run(world, 500);
    sim_freeze(world, place);
}

uint64_t sim_moved_at_ns(struct sim_world *world, const char *place)
{
    return named(world, place)->moved_at_ns;
}

void sim_end_thread(struct sim_world *world, const char *place)
{
    sim_freeze(world, place);
    named(world, place)->thread_gone = true;
}

void sim_exit(struct sim_world *world, const char *place)
{
    named(world, place)->present = false;
}

static void hold(struct sim_world *world, uint32_t ring, bool frozen, bool core_dumping, char letter)
{
    struct sim_process *process = process_of(world, ring);

    process->held = true;
    process->frozen = frozen;
    process->core_dumping = core_dumping;
    process->letter = letter;
}

void sim_stop(struct sim_world *world, uint32_t ring, char letter)
{
    hold(world, ring, false, false, letter);
}

void sim_freezer(struct sim_world *world, uint32_t ring)
{
    hold(world, ring, true, false, 'S');
}

void sim_core_dump(struct sim_world *world, uint32_t ring)
{
    hold(world, ring, false, true, 'D');
}

void sim_continue(struct sim_world *world, uint32_t ring)
{
    hold(world, ring, false, false, 0);
    process_of(world, ring)->held = false;
    process_of(world, ring)->continued_ns = world->now_ns;
}

void sim_kill(struct sim_world *world, uint32_t ring)
{
    struct sim_process *process = process_of(world, ring);

    sim_exec(world, ring);
    process->facts.pid_exists = process->facts.pid_readable = false;
}

void sim_exec(struct sim_world *world, uint32_t ring)
{
    struct sim_process *process = process_of(world, ring);

    process->facts.life_locked = false;
    process->facts.holder_pid = 0;
    process->held = true;
}

bool sim_is_held(struct sim_world *world, uint32_t ring)
{
    return process_of(world, ring)->held;
}

void sim_unlink(struct sim_world *world, uint32_t ring)
{
    process_of(world, ring)->present = false;
}

static void id_advance(struct sim_id *id, uint64_t now_ns, uint64_t ns)
{
    if (id->activity != SIM_MOVING || id->scan_step)
        return;
    id->ran_ns += ns;
    if (id->ran_ns >= id->period_ns)
        id->moved_at_ns = now_ns - id->ran_ns % id->period_ns;
    id->progress += id->ran_ns / id->period_ns;
    id->ran_ns %= id->period_ns;
}

/* Time passes. none_runs: no process runs. */
static void advance(struct sim_world *world, uint64_t ns, bool none_runs)
{
    world->now_ns += ns;
    for (size_t i = 0; i < world->id_count; i++) {
        struct sim_id *id = &world->ids[i];

        if (id->present && !none_runs && !process_of(world, id->ring)->held)
            id_advance(id, world->now_ns, ns);
    }
}

/* The transcript --------------------------------------------------------------------------------------------------- */

static __attribute__((format(printf, 2, 0))) void append(struct sim_world *world, const char *format, va_list arguments)
{
    const size_t room = SIM_TRACE_BYTES - world->trace_bytes;
    const int length = vsnprintf(world->trace + world->trace_bytes, room, format, arguments);

    assert_true((size_t)length < room);
    world->trace_bytes += (size_t)length;
}

/* Continues a line. */
static __attribute__((format(printf, 2, 3))) void print_on(struct sim_world *world, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    append(world, format, arguments);
    va_end(arguments);
}

static __attribute__((format(printf, 2, 3))) void print(struct sim_world *world, const char *format, ...)
{
    va_list arguments;

    print_on(world, "[%5llu] ", (unsigned long long)(world->now_ns / SIM_MS));
    va_start(arguments, format);
    append(world, format, arguments);
    va_end(arguments);
}

const char *sim_take_trace(struct sim_world *world)
{
    const char *seen = world->trace_bytes ? world->trace : "";

    world->trace_bytes = 0;
    return seen;
}

void sim_trace(struct sim_world *world, const char *expected, const char *file, int line)
{
    const char *seen = sim_take_trace(world);

    if (strcmp(seen, expected) != 0)
        fail_msg("%s:%d: expected\n%s\ngot\n%s", file, line, expected, seen);
}

/* ripd ------------------------------------------------------------------------------------------------------------- */

static uint32_t user_of(void *context, uint32_t ring)
{
    (void)context;
    return ring / SIM_RINGS_OF_A_USER;
}

static void open_ripd(struct sim_world *world)
{
    assert_int_equal(detector_new(&world->detector, &world->config), 0);
    world->work = work_new();
    assert_non_null(world->work);
    if (world->options.events_max)
        work_set_total(world->work, WORK_EVENTS, world->options.events_max);
    world->cases = cases_new(world->work, world->config.stall_after_ns + world->config.interval_ns);
    assert_non_null(world->cases);
    schedule_init(&world->schedule, world->config.interval_ns, world->options.seed + 1);
}

static void close_ripd(struct sim_world *world)
{
    detector_free(world->detector);
    cases_free(world->cases);
    work_free(world->work);
}

struct sim_world *sim_new(struct sim_options options)
{
    struct sim_world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    world->options = options;
    world->random = options.seed;
    world->tape = options.records ? tape_new() : NULL;
    world->config = (struct detector_config){.interval_ns = SIM_INTERVAL_MS * SIM_MS,
                                             .stall_after_ns = SIM_STALL_AFTER_MS * SIM_MS};
    open_ripd(world);
    return world;
}

void sim_free(struct sim_world *world)
{
    if (world->trace_bytes)
        fail_msg("not expected:\n%s", world->trace);
    if (world->tape != NULL)
        tape_check(world->tape);
    tape_free(world->tape);
    close_ripd(world);
    for (size_t i = 0; i < world->begun_count; i++)
        event_unref(world->begun[i].episode.begin);
    free(world);
}

int sim_set_up(void **state)
{
    *state = sim_new((struct sim_options){.seed = 1, .records = true});
    return 0;
}

int sim_tear_down(void **state)
{
    sim_free(*state);
    return 0;
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
            .deadline_ms = id->deadline_ms,
        };
        assert_int_equal(detector_feed(world->detector, &sample, 1), 0);
        if (world->tape != NULL)
            tape_id(world->tape, id->ring, &sample, id->name);
    }
}

/* The condition of a process, as in ring/stops.h. */
static uint8_t condition_of(struct sim_process *process)
{
    if (identity_judge(&process->facts, &process->memory) == PROCESS_DEAD)
        return DETECTOR_DEAD;
    if (process->frozen)
        return CAUSE_FREEZER;
    return process->letter == 'T' ? CAUSE_SIGNAL : process->letter == 't' ? CAUSE_TRACER : DETECTOR_LIVES;
}

static void feed(struct sim_world *world)
{
    for (size_t i = 0; i < world->process_count; i++) {
        struct sim_process *process = &world->processes[i];
        const uint8_t condition = condition_of(process);

        if (!process->present)
            continue;
        assert_int_equal(detector_ring(world->detector, process->ring, &condition, 1), 0);
        if (world->tape != NULL)
            tape_ring(world->tape, process->ring, user_of(NULL, process->ring), condition);
        feed_ring(world, process);
    }
}

static int rule_of(const struct sim_world *world, const struct sim_id *id)
{
    return rules_find(&world->rules_table, (const uint8_t *)id->name, strlen(id->name));
}

static uint64_t threshold_of(const struct sim_world *world, const struct sim_id *id)
{
    const int rule = rule_of(world, id);

    if (rule != RULES_NONE)
        return world->rules.rules[rule].threshold_ns;
    return id->deadline_ms != 0 ? id->deadline_ms * SIM_MS : world->config.stall_after_ns;
}

static void find_rules(struct sim_world *world)
{
    size_t count;
    struct detector_unclassified *ids = detector_unclassified(world->detector, &count);

    for (size_t i = 0; i < count; i++) {
        const struct sim_id *id = find(world, ids[i].ring, ids[i].slot);

        assert_int_equal(ids[i].generation, id->generation);
        ids[i].rule = rule_of(world, id);
        if (world->tape != NULL)
            SCAN_RECORD_ADD(tape_scan(world->tape), SCAN_RULES, id->ring, id->slot, id->generation,
                            (uint64_t)(ids[i].rule + 1));
    }
}

static void examine(struct sim_world *world, struct stall_case *stall)
{
    const struct sim_process *process = process_of(world, stall->ring);
    const struct sim_id *id = find(world, stall->ring, stall->slot);

    stall->examined_mono_ns = world->now_ns;
    stall->evidence = (struct evidence){
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

/* Like the probe: first suspects that were not examined yet, then the others in turn, within the budget. */
static void collect_evidence(struct sim_world *world)
{
    size_t count, budget = world->options.evidence_max ? world->options.evidence_max : SIZE_MAX;
    struct stall_case *const *cases = cases_all(world->cases, &count);

    for (size_t i = 0; i < count && budget; i++)
        if (cases[i]->is_suspect && cases[i]->examined_mono_ns == 0) {
            examine(world, cases[i]);
            budget--;
        }
    for (size_t i = 0; i < count && budget; i++) {
        struct stall_case *stall = cases[world->examine_next++ % count];

        if (stall->is_suspect && !stall->evidence.examined) {
            examine(world, stall);
            budget--;
        }
    }
}

/*
 * Guarantee B of sim.h. There are two exceptions for stopped processes: the budget did not allow to examine the id; or
 * the process was stopped for nearly the threshold, and continued so shortly before the scan that the id could not move
 * yet.
 */
static void check_stalled(struct sim_world *world, const struct detector_event *event)
{
    const struct sim_id *id = find(world, event->ring, event->slot);
    const struct sim_process *process = process_of(world, event->ring);
    const bool just_continued = process->continued_ns && world->now_ns - process->continued_ns < id->period_ns;
    const uint64_t threshold_ns = threshold_of(world, id);

    if (event->kind != DETECTOR_STALLED)
        return;
    if (id->activity != SIM_FROZEN && !just_continued && !(process->held && event->cause == CAUSE_NONE))
        fail_msg("at %llu %u/%u is reported as stalled, but is not", (unsigned long long)(world->now_ns / SIM_MS),
                 event->ring, event->slot);
    if (world->now_ns - id->moved_at_ns < threshold_ns)
        fail_msg("at %llu %u/%u is reported as stalled too early", (unsigned long long)(world->now_ns / SIM_MS),
                 event->ring, event->slot);
}

/* Guarantee E of sim.h. */
static void check_report(struct sim_world *world, const struct case_report *report)
{
    const struct stall_case *stall = report->stall;
    size_t i = 0;

    while (i < world->begun_count && world->begun[i].episode.number != stall->episode.number)
        i++;
    if (report->kind == EVENT_BEGIN) {
        assert_true(stall->episode.number > world->last_episode && world->begun_count < SIM_IDS_MAX);
        world->last_episode = stall->episode.number;
        world->begun[world->begun_count++] =
            (struct sim_begin){stall->ring, stall->slot, stall->generation, stall->episode};
        if (stall->episode.begin != NULL)
            event_ref(stall->episode.begin);
        return;
    }
    assert_true(i < world->begun_count);
    assert_int_equal(world->begun[i].ring, stall->ring);
    assert_int_equal(world->begun[i].slot, stall->slot);
    assert_int_equal(world->begun[i].generation, stall->generation);
    event_unref(world->begun[i].episode.begin);
    world->begun[i] = world->begun[--world->begun_count];
}

/* The item that ripd would make. */
static struct item *make_item(const struct stall_case *stall)
{
    struct item *item = calloc(1, sizeof *item);

    assert_non_null(item);
    atomic_init(&item->references, 1);
    assert_true(asprintf(&item->ring_name, "the ring %u", stall->ring) > 0);
    item->ring = stall->ring;
    item->slot = stall->slot;
    item->generation = stall->generation;
    item->id = 1000 + stall->slot;
    item->registered_boot_ns = 1;
    return item;
}

/* Published events are recorded. */
static void record_event(struct sim_world *world, const struct case_report *report)
{
    const struct snapshot moment = {.scanned_wall_ns = TAPE_WALL_NS + world->now_ns,
                                    .scanned_mono_ns = world->now_ns,
                                    .scanned_boot_ns = world->now_ns};
    const struct event_label label = {++world->event_sequence, true};
    struct stall_case *stall = report->stall;
    struct event *end;

    if (report->kind == EVENT_BEGIN) {
        if (stall->item == NULL)
            stall->item = make_item(stall);
        stall->episode.begin = event_make_begin(stall, &moment, label, NULL);
        assert_non_null(stall->episode.begin);
        tape_event(world->tape, stall, stall->episode.begin, false);
        return;
    }
    end = event_make_end(&stall->episode, &moment, label);
    assert_non_null(end);
    tape_event(world->tape, stall, end, false);
    event_unref(end);
}

/* Records the order of users in publication. No id waits for another one. */
static void record_reports(struct sim_world *world, const struct case_report *reports, size_t count)
{
    size_t case_count;
    struct stall_case *const *cases = cases_all(world->cases, &case_count);

    if (world->tape == NULL)
        return;
    incidents_find_roots(cases, case_count, NULL);
    assert_int_equal(incidents_assign(cases, case_count), 0);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || reports[i - 1].stall->user != reports[i].stall->user)
            SCAN_RECORD_ADD(tape_scan(world->tape), SCAN_TURNS, reports[i].stall->user);
        record_event(world, &reports[i]);
    }
}

static void record_verdicts(struct sim_world *world, const struct detector_suspect *suspects, size_t count)
{
    for (size_t i = 0; i < count && world->tape != NULL; i++) {
        const struct verdict verdict = suspects[i].verdict, by_default = cause_unexamined(&suspects[i]);

        if (!suspects[i].unread && (verdict.state != by_default.state || verdict.cause != by_default.cause))
            SCAN_RECORD_ADD(tape_scan(world->tape), SCAN_VERDICTS, suspects[i].ring, suspects[i].slot,
                            suspects[i].generation, verdict.state, verdict.cause);
    }
}

static void record_drain(struct sim_world *world, uint64_t sequence, uint64_t episode)
{
    const struct scan_settings settings = {
        .reason = world->scan_count == 1 ? SCAN_SETTINGS_STARTED : SCAN_SETTINGS_RELOADED,
        .interval_ns = world->config.interval_ns,
        .stall_after_ns = world->config.stall_after_ns,
        .hysteresis_ns = world->config.stall_after_ns + world->config.interval_ns,
        .sequence = sequence,
        .episode = episode,
        .rules = world->rules,
    };
    const bool is_new = world->scan_count == 1 || world->configured;

    tape_drain(world->tape, world->scan_count, world->now_ns, is_new ? &settings : NULL);
    world->configured = false;
}

static void publish(struct sim_world *world)
{
    static const char *const reasons[] = {[DETECTOR_MOVED] = "moved",
                                          [DETECTOR_STOPPED] = "stopped",
                                          [DETECTOR_GONE] = "gone",
                                          [DETECTOR_EXCUSED] = "excused"};
    const struct case_report *reports;
    const size_t count = cases_publish(world->cases, &reports);

    record_reports(world, reports, count);
    for (size_t i = 0; i < count; i++) {
        const struct stall_case *stall = reports[i].stall;
        const struct episode *episode = &stall->episode;

        check_report(world, &reports[i]);
        if (reports[i].kind == EVENT_BEGIN)
            print(world, "%u/%u > stalled, %s\n", stall->ring, stall->slot,
                  episode->cause == CAUSE_NONE ? "not examined" : id_cause_name(episode->cause));
        else
            print(world, "%u/%u > over: %s at %llu after %llu ms, %u stall%s\n", stall->ring, stall->slot,
                  reasons[episode->reason], (unsigned long long)(episode->moved_mono_ns / SIM_MS),
                  (unsigned long long)((episode->moved_mono_ns - episode->frozen_mono_ns) / SIM_MS),
                  episode->stall_count, episode->stall_count == 1 ? "" : "s");
    }
}

static void scan(struct sim_world *world)
{
    const uint64_t uncounted = detector_begin(world->detector, world->now_ns);
    struct detector_suspect *suspects;
    size_t suspect_count;
    const uint64_t sequence = world->event_sequence, episode = world->last_episode;
    uint64_t total = 0;

    world->scan_count++;
    work_begin(world->work);
    if (uncounted)
        print(world, "ripd > late, %llu ms do not count\n", (unsigned long long)(uncounted / SIM_MS));
    feed(world);
    find_rules(world);
    suspects = detector_suspects(world->detector, &suspect_count);
    assert_int_equal(cases_begin(world->cases, suspects, suspect_count, user_of, NULL), 0);
    collect_evidence(world);
    cases_judge(world->cases, suspects, suspect_count);
    record_verdicts(world, suspects, suspect_count);
    detector_end(world->detector, &world->update);
    for (size_t i = 0; i < world->update.event_count; i++)
        check_stalled(world, &world->update.events[i]);
    for (int i = 0; i < ID_STATE_COUNT; i++)
        total += world->update.counts[i];
    assert_int_equal(total, world->update.id_count);
    cases_end(world->cases, &world->update, world->now_ns);
    publish(world);
    if (world->tape != NULL)
        record_drain(world, sequence, episode);
    schedule_next(&world->schedule, world->now_ns, detector_next_due(world->detector));
    if (!world->options.jitter) { /* as the schedule without jitter */
        uint64_t next = world->now_ns + world->config.interval_ns, due = detector_next_due(world->detector);

        world->schedule.next_mono_ns = due < next ? due : next;
    }
}

void sim_run(struct sim_world *world, uint64_t ms)
{
    const uint64_t end = world->now_ns + ms * SIM_MS;

    while (world->now_ns + schedule_wait_ns(&world->schedule, world->now_ns) <= end)
        sim_run_scan(world);
    advance(world, end - world->now_ns, false);
}

void sim_run_scan(struct sim_world *world)
{
    advance(world, schedule_wait_ns(&world->schedule, world->now_ns), false);
    scan(world);
}

void sim_stop_ripd(struct sim_world *world, uint64_t ms)
{
    print(world, "ripd > stopped %llu s\n", (unsigned long long)ms / 1000);
    advance(world, ms * SIM_MS, false);
}

void sim_suspend(struct sim_world *world, uint64_t ms)
{
    print(world, "ripd > suspended %llu s\n", (unsigned long long)ms / 1000);
    advance(world, ms * SIM_MS, true);
}

void sim_starve(struct sim_world *world, unsigned scans, uint64_t gap_ms)
{
    for (unsigned i = 0; i < scans; i++) {
        advance(world, gap_ms * SIM_MS, false);
        scan(world);
    }
}

static void take_rules(struct sim_world *world, const char *texts)
{
    char *copy = strdup(texts), *rest = NULL;

    assert_non_null(copy);
    world->rules = (struct rules){0};
    for (char *text = strtok_r(copy, " ", &rest); text; text = strtok_r(NULL, " ", &rest)) {
        const char *expected;

        assert_int_equal(rules_add(&world->rules, text, &expected), 0);
    }
    free(copy);
    rules_table_make(&world->rules_table, &world->rules);
    world->config.rule_count = world->rules.count;
    for (size_t i = 0; i < world->rules.count; i++)
        world->config.rule_thresholds_ns[i] = world->rules.rules[i].threshold_ns;
}

void sim_configure(struct sim_world *world, uint64_t interval_ms, uint64_t stall_after_ms, const char *rules)
{
    world->config.interval_ns = interval_ms * SIM_MS;
    world->config.stall_after_ns = stall_after_ms * SIM_MS;
    take_rules(world, rules);
    detector_configure(world->detector, &world->config);
    world->configured = true;
    cases_configure(world->cases, world->config.stall_after_ns + world->config.interval_ns, EPISODE_UNEXAMINED_SCANS);
    schedule_set_interval(&world->schedule, world->config.interval_ns, world->now_ns);
}

/* A run that adopts an episode records it, with its begin as read from disk. */
static void record_adoption(struct sim_world *world, struct sim_begin *begin, const struct detector_adoption *adoption)
{
    const struct stall_case stall = {.ring = begin->ring, .slot = begin->slot, .generation = begin->generation};
    struct event *published = begin->episode.begin;

    if (world->tape == NULL)
        return;
    assert_int_equal(event_line_parse_event(published->text, published->text_bytes, &begin->episode.begin), 0);
    event_unref(published);
    scan_record_add_adopted(tape_scan(world->tape), adoption, &begin->episode);
    tape_event(world->tape, &stall, begin->episode.begin, true);
}

void sim_restart(struct sim_world *world, uint64_t ms)
{
    struct detector_adoption adoptions[SIM_IDS_MAX];

    print(world, "ripd > restarted after %llu s\n", (unsigned long long)ms / 1000);
    close_ripd(world);
    world->update = (struct detector_update){0};
    world->scan_count = 0;
    if (world->tape != NULL)
        tape_restart(world->tape);
    for (size_t i = 0; i < world->process_count; i++)
        world->processes[i].memory = (struct identity_memory){0};
    advance(world, ms * SIM_MS, false);
    open_ripd(world);
    for (size_t i = 0; i < world->begun_count; i++) {
        struct sim_begin *begin = &world->begun[i];

        adoptions[i] = (struct detector_adoption){
            .ring = begin->ring,
            .slot = begin->slot,
            .generation = begin->generation,
            .cause = begin->episode.cause,
            .progress = begin->episode.progress,
            .frozen_since_mono_ns = begin->episode.frozen_mono_ns,
            .moved_after_mono_ns = begin->episode.moved_after_mono_ns,
        };
        record_adoption(world, begin, &adoptions[i]);
        assert_int_equal(cases_adopt(world->cases, begin->ring, begin->slot, begin->generation,
                                     user_of(NULL, begin->ring), &begin->episode),
                         0);
    }
    assert_int_equal(detector_adopt(world->detector, world->now_ns, adoptions, world->begun_count), 0);
    cases_set_last_episode(world->cases, world->last_episode);
}

/* Checks ----------------------------------------------------------------------------------------------------------- */

void sim_look(struct sim_world *world, const char *place)
{
    const struct sim_id *id = named(world, place);
    struct detector_id known;

    if (detector_find(world->detector, id->ring, id->slot, id->generation, &known) < 0)
        print(world, "%s > not known\n", place);
    else
        print(world, "%s > is %s%s%s\n", place, id_state_name(known.state), known.cause ? ", " : "",
              id_cause_name(known.cause));
}

void sim_counts(struct sim_world *world)
{
    print(world, "ripd >");
    for (int i = 0; i < ID_STATE_COUNT; i++)
        if (world->update.counts[i])
            print_on(world, " %llu %s", (unsigned long long)world->update.counts[i], id_state_name((enum id_state)i));
    print_on(world, "\n");
}

static enum id_state truth(struct sim_world *world, const struct sim_id *id)
{
    const struct sim_process *process = process_of(world, id->ring);

    if (!process->facts.pid_exists)
        return ID_DEAD;
    if (id->activity == SIM_IDLE && (!process->held || process->core_dumping))
        return ID_IDLE; /* idle ids are not examined, and a core dump is over soon */
    if (process->held)
        return ID_STOPPED;
    return id->activity == SIM_FROZEN ? ID_STALLED : ID_RUNNING;
}

void sim_check_states(struct sim_world *world)
{
    for (size_t i = 0; i < world->id_count; i++) {
        const struct sim_id *id = &world->ids[i];
        struct detector_id known;
        const bool found = detector_find(world->detector, id->ring, id->slot, id->generation, &known) == 0;

        assert_int_equal(found, id->present);
        if (found && known.state != truth(world, id))
            fail_msg("seed %d, %u/%u: is %s, expected %s", (int)world->options.seed, id->ring, id->slot,
                     id_state_name(known.state), id_state_name(truth(world, id)));
    }
}

struct cases_counters sim_cases(const struct sim_world *world)
{
    struct cases_counters counters;

    cases_count(world->cases, &counters);
    return counters;
}

uint64_t sim_id_count(const struct sim_world *world)
{
    return world->update.id_count;
}

size_t sim_begun_count(const struct sim_world *world)
{
    return world->begun_count;
}

uint64_t sim_now_ns(const struct sim_world *world)
{
    return world->now_ns;
}
