/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - the table of metrics and their sources, and the Prometheus text format, version 0.0.4. Pure.
 *
 * Values in a ring are claims: sums stop at UINT64_MAX, and a share is at most 1. A ring that cannot be read is
 * counted, and nothing else of it.
 */
#include "view/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/event_kind.h"
#include "util/array.h"

#define MILLION UINT64_C(1000000)
#define NUMBER_BYTES 32u

/* The metric that is being written, its input, and the output. */
struct metrics_text {
    const struct metrics_input *input;
    const struct metric *metric;
    char *text; /* terminated */
    size_t length;
    bool full; /* something did not fit */
};

__attribute__((format(printf, 2, 3))) static void put(struct metrics_text *text, const char *format, ...)
{
    size_t room = METRICS_BYTES_MAX - text->length;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text->text + text->length, room, format, arguments);
    va_end(arguments);
    text->full |= length < 0 || (size_t)length >= room;
    if (!text->full)
        text->length += (size_t)length;
}

/* Exact in every locale: no value is converted to floating point. */
static void format_number(char ret_text[NUMBER_BYTES], uint64_t value, enum metric_unit unit)
{
    int digits = (int)unit;
    uint64_t whole, fraction, scale = 1;

    for (int i = 0; i < digits; i++)
        scale *= 10;
    whole = value / scale;
    fraction = value % scale;
    while (digits > 0 && fraction % 10 == 0) {
        fraction /= 10;
        digits--;
    }
    if (digits == 0)
        snprintf(ret_text, NUMBER_BYTES, "%" PRIu64, whole);
    else
        snprintf(ret_text, NUMBER_BYTES, "%" PRIu64 ".%0*" PRIu64, whole, digits, fraction);
}

/*
 * Writes a sample with a label, or without one if label is NULL. Label values are words of tables and need no escapes.
 */
static void put_sample(struct metrics_text *text, const char *label, uint64_t value)
{
    const struct metric *metric = text->metric;
    char number[NUMBER_BYTES];

    format_number(number, value, metric->unit);
    if (label == NULL)
        put(text, "%s %s\n", metric->name, number);
    else
        put(text, "%s{%s=\"%s\"} %s\n", metric->name, metric->labels, label, number);
}

/* Returns the number at an offset in a value. */
static uint64_t field_of(const void *value, size_t offset)
{
    uint64_t number;

    memcpy(&number, (const char *)value + offset, sizeof(number));
    return number;
}

/*
 * Returns NULL if not known. Before the first scan all counters are 0, but values that only a scan can measure are not
 * known.
 */
static const struct health *health_of(const struct metrics_text *text)
{
    static const struct health nothing;

    if (text->input->snapshot != NULL)
        return &text->input->snapshot->health;
    return text->metric->type != METRIC_GAUGE ? &nothing : NULL;
}

static void put_field(struct metrics_text *text, const void *value)
{
    if (value != NULL)
        put_sample(text, NULL, field_of(value, text->metric->field));
}

static void write_health(struct metrics_text *text)
{
    put_field(text, health_of(text));
}

static void write_snapshot(struct metrics_text *text)
{
    put_field(text, text->input->snapshot);
}

static void write_http(struct metrics_text *text)
{
    put_field(text, text->input->http);
}

static void write_process(struct metrics_text *text)
{
    put_field(text, text->input->process);
}

static void write_build(struct metrics_text *text)
{
    put(text, "%s{version=\"%s\",ring_format=\"%u\"} 1\n", text->metric->name, RIP_VERSION, RIP_FORMAT_VERSION);
}

static void write_start(struct metrics_text *text)
{
    const struct health *health = health_of(text);

    if (health != NULL && health->started_wall_ns != 0)
        put_sample(text, NULL, health->started_wall_ns);
}

static void write_age(struct metrics_text *text)
{
    const struct metrics_input *input = text->input;
    uint64_t scanned_ns = input->snapshot == NULL ? 0 : input->snapshot->scanned_mono_ns;

    if (input->snapshot != NULL)
        put_sample(text, NULL, input->now_mono_ns > scanned_ns ? input->now_mono_ns - scanned_ns : 0);
}

static void write_states(struct metrics_text *text)
{
    for (int i = 0; text->input->snapshot != NULL && i < ID_STATE_COUNT; i++)
        put_sample(text, id_state_name((enum id_state)i), text->input->snapshot->counts[i]);
}

static void put_causes(struct metrics_text *text, bool of_stops)
{
    const struct health *health = health_of(text);

    for (int i = 0; health != NULL && i < CAUSE_COUNT; i++)
        if (id_cause_stops((enum id_cause)i) == of_stops)
            put_sample(text, i == CAUSE_NONE ? METRIC_CAUSE_NONE : id_cause_name((enum id_cause)i),
                       field_of(health, text->metric->field + (size_t)i * sizeof(uint64_t)));
}

static void write_stall_causes(struct metrics_text *text)
{
    put_causes(text, false);
}

static void write_stop_causes(struct metrics_text *text)
{
    put_causes(text, true);
}

static void write_events(struct metrics_text *text)
{
    for (int i = 0; i < EVENT_KIND_COUNT; i++)
        put_sample(text, event_kind_name((enum event_kind)i), health_of(text)->event_counts[i]);
}

static void write_limits(struct metrics_text *text)
{
#define X(name, label, meaning) label,
    static const char *const names[] = {HEALTH_LIMIT_TABLE(X)};
#undef X
    const struct health_http *http = text->input->http;

    for (int i = 0; i < HEALTH_LIMIT_COUNT; i++)
        put_sample(text, names[i], health_of(text)->limit_counts[i] + (http != NULL ? http->limit_counts[i] : 0));
}

static void write_durations(struct metrics_text *text)
{
    static const uint64_t ends_us[] = HEALTH_SCAN_BUCKETS_US;
    const struct health *health = health_of(text);
    const char *name = text->metric->name;
    char number[NUMBER_BYTES];
    uint64_t count = 0;

    for (size_t i = 0; i <= HEALTH_SCAN_BUCKET_COUNT; i++) {
        if (i < HEALTH_SCAN_BUCKET_COUNT)
            format_number(number, ends_us[i], METRIC_SECONDS_OF_US);
        count += health->scan_buckets[i];
        put(text, "%s_bucket{le=\"%s\"} %" PRIu64 "\n", name, i < HEALTH_SCAN_BUCKET_COUNT ? number : "+Inf", count);
    }
    format_number(number, health->scan_total_ns, text->metric->unit);
    put(text, "%s_sum %s\n%s_count %" PRIu64 "\n", name, number, name, count);
}

/* Counters whose label has few values: the field of each value. */
enum { PARTS_SYMBOLS, PARTS_SYMBOLIZER_FAILURES, PARTS_PROBE_FAILURES, PARTS_PROGRAMS };

static const struct {
    const char *label;
    size_t field;
} parts[][3] = {
    [PARTS_SYMBOLS] = {{"named", offsetof(struct health, names_found_count)},
                       {"unnamed", offsetof(struct health, names_missing_count)},
                       {"refused", offsetof(struct health, names_refused_count)}},
    [PARTS_SYMBOLIZER_FAILURES] = {{"died", offsetof(struct health, symbolizer_died_count)},
                                   {"hung", offsetof(struct health, symbolizer_hung_count)}},
    [PARTS_PROBE_FAILURES] = {{"died", offsetof(struct health, probe_died_count)},
                              {"hung", offsetof(struct health, probe_hung_count)}},
    [PARTS_PROGRAMS] = {{"opened", offsetof(struct health, program_opened_count)},
                        {"refused", offsetof(struct health, program_refused_count)},
                        {"missed", offsetof(struct health, program_missed_count)}},
};

static void write_parts(struct metrics_text *text)
{
    const size_t which = text->metric->field;

    for (size_t i = 0; i < 3 && parts[which][i].label != NULL; i++)
        put_sample(text, parts[which][i].label, field_of(health_of(text), parts[which][i].field));
}

static void write_rings(struct metrics_text *text)
{
    const struct snapshot *snapshot = text->input->snapshot;
    uint64_t counts[RING_HEALTH_COUNT] = {0};

    for (size_t i = 0; snapshot != NULL && i < snapshot->ring_count; i++)
        counts[snapshot->rings[i].health]++;
    for (int i = 0; snapshot != NULL && i < RING_HEALTH_COUNT; i++)
        put_sample(text, ring_health_name((enum ring_health)i), counts[i]);
}

/* Values of a readable ring; OF_REFUSED: that field of its info. */
enum of_ring { OF_DEAD, OF_PROCESSES, OF_FILL, OF_REFUSED };

static uint64_t value_of(const struct ring_facts *ring, enum of_ring what, size_t field)
{
    uint64_t count = 0;

    if (what == OF_REFUSED)
        return field_of(&ring->info, field);
    if (what == OF_DEAD)
        return ring->dead;
    if (what == OF_FILL && (ring->dead || ring->slot_capacity == 0))
        return 0;
    if (what == OF_FILL)
        return ring->live_count >= ring->slot_capacity ? MILLION : ring->live_count * MILLION / ring->slot_capacity;
    for (size_t i = 0; i < ring->process_count; i++)
        count += !ring->processes[i]->dead;
    return count;
}

/* Writes the sum over all rings, at most UINT64_MAX; for OF_FILL the maximum. */
static void put_of_rings(struct metrics_text *text, const char *label, enum of_ring what, size_t field)
{
    const struct snapshot *snapshot = text->input->snapshot;
    uint64_t result = 0;

    if (snapshot == NULL)
        return;
    for (size_t i = 0; i < snapshot->ring_count; i++) {
        const struct ring_facts *ring = &snapshot->rings[i];
        uint64_t value = ring->health == RING_READABLE ? value_of(ring, what, field) : 0;

        if (what == OF_FILL)
            result = value > result ? value : result;
        else
            result = result > UINT64_MAX - value ? UINT64_MAX : result + value;
    }
    put_sample(text, label, result);
}

static void write_of_rings(struct metrics_text *text)
{
    put_of_rings(text, NULL, (enum of_ring)text->metric->field, 0);
}

static void write_refused(struct metrics_text *text)
{
#define X(field, label) put_of_rings(text, label, OF_REFUSED, offsetof(struct rip_ring_info, field));
    RING_REFUSAL_TABLE(X)
#undef X
}

#define COUNTER(name) name, METRIC_COUNTER, METRIC_COUNT
#define GAUGE(name) name, METRIC_GAUGE, METRIC_COUNT
#define SECONDS(name) name, METRIC_GAUGE, METRIC_SECONDS_OF_NS
#define OF_HEALTH(field) write_health, offsetof(struct health, field)
#define OF_PARTS(name) write_parts, PARTS_##name
#define OF_HTTP(field) write_http, offsetof(struct health_http, field)
#define OF_PROCESS(field) write_process, offsetof(struct health_process, field)

/* clang-format off */
const struct metric metrics[] = {
    {GAUGE("ripd_build_info"), "version, ring_format", "Always 1; the labels have the versions.", write_build, 0},

    {GAUGE("ripd_ids"), "state", "Ids seen by the last scan, by state.", write_states, 0},
    {GAUGE("ripd_stalls"), "cause", "Stalled ids, by cause; unexamined until they have been examined.",
     write_stall_causes, offsetof(struct health, by_cause.stalls)},
    {SECONDS("ripd_stall_longest_seconds"), "cause",
     "Duration for which the longest stall of each cause has been observed; 0 if there is none.",
     write_stall_causes, offsetof(struct health, by_cause.longest_ns)},
    {GAUGE("ripd_stuck"), "cause",
     "The part of ripd_stalls that is certainly stuck: not sleeping, unknown or unexamined, and not "
     "spinning under the preload library.",
     write_stall_causes, offsetof(struct health, by_cause.stuck)},
    {SECONDS("ripd_stuck_longest_seconds"), "cause", "Duration for which the longest of these has been observed.",
     write_stall_causes, offsetof(struct health, by_cause.stuck_longest_ns)},
    {GAUGE("ripd_stopped"), "cause", "Ids whose thread is stopped, by cause.",
     write_stop_causes, offsetof(struct health, by_cause.stopped)},

    {GAUGE("ripd_rings"), "health", "Rings found, by whether they can be read; /rings lists unreadable ones.",
     write_rings, 0},
    {GAUGE("ripd_rings_dead"), "", "Readable rings without a living process.", write_of_rings, OF_DEAD},
    {GAUGE("ripd_ring_processes"), "", "Living processes in readable rings, counted once per ring.",
     write_of_rings, OF_PROCESSES},
    {"ripd_ring_fill_ratio", METRIC_GAUGE, METRIC_RATIO_OF_MILLIONTHS, "",
     "Share of slots in use in the fullest ring with a living process; at 1 the ring refuses registrations.",
     write_of_rings, OF_FILL},
    {GAUGE("ripd_refused_registrations"), "reason",
     "Registrations refused by the current rings, by what was missing; such threads are not traced.",
     write_refused, 0},
    {COUNTER("ripd_rings_damaged_total"), "", "Rings found damaged.", OF_HEALTH(damaged_ring_count)},

    {COUNTER("ripd_scans_total"), "", "Scans completed.", OF_HEALTH(scan_count)},
    {"ripd_scan_duration_seconds", METRIC_HISTOGRAM, METRIC_SECONDS_OF_NS, "le", "Durations of scans.",
     write_durations, 0},
    {SECONDS("ripd_scan_age_seconds"), "", "Time since the last scan.", write_age, 0},
    {SECONDS("ripd_scan_interval_seconds"), "", "Configured time between scans.",
     write_snapshot, offsetof(struct snapshot, interval_ns)},
    {COUNTER("ripd_late_scans_total"), "", "Scans so late that no id became stalled on them.",
     OF_HEALTH(late_scan_count)},
    {COUNTER("ripd_skipped_scans_total"), "", "Intervals without a scan.", OF_HEALTH(skipped_scan_count)},
    {GAUGE("ripd_detector_ids"), "", "Ids in the memory of the detector.", OF_HEALTH(id_count)},
    {GAUGE("ripd_detector_memory_bytes"), "", "Memory of the detector.", OF_HEALTH(detector_bytes)},

    {COUNTER("ripd_events_total"), "kind", "Begins and ends of stalls reported as events.", write_events, 0},
    {GAUGE("ripd_incidents"), "",
     "Current incidents; stalls with one root are one incident.", OF_HEALTH(incident_count)},
    {COUNTER("ripd_incidents_total"), "cause", "Incidents that have begun, by the cause known at the begin.",
     write_stall_causes, offsetof(struct health, incidents_by_cause)},
    {COUNTER("ripd_stuck_incidents_total"), "cause",
     "The part of ripd_incidents_total that was certainly stuck, as in ripd_stuck.",
     write_stall_causes, offsetof(struct health, stuck_incidents_by_cause)},
    {COUNTER("ripd_history_errors_total"), "", "Events that could not be written to the state directory.",
     OF_HEALTH(history_error_count)},
    {COUNTER("ripd_captures_total"), "", "Captures of processes that ended, written to the state directory.",
     OF_HEALTH(capture_count)},
    {COUNTER("ripd_capture_errors_total"), "", "Captures that could not be written.", OF_HEALTH(capture_error_count)},
    {COUNTER("ripd_recording_bytes_total"), "", "Bytes written to the recording of --record.",
     OF_HEALTH(recording_bytes)},
    {COUNTER("ripd_recording_lost_total"), "", "Scans that could not be recorded.", OF_HEALTH(recording_lost_count)},
    {COUNTER("ripd_hook_runs_total"), "", "How often the --on-stall command was started.",
     OF_HEALTH(hook_run_count)},
    {COUNTER("ripd_hook_failures_total"), "", "How often the --on-stall command could not be started or failed.",
     OF_HEALTH(hook_failure_count)},
    {COUNTER("ripd_hook_timeouts_total"), "", "How often the --on-stall command was killed because it took too long.",
     OF_HEALTH(hook_timeout_count)},
    {COUNTER("ripd_symbols_total"), "result", "Locations to be named: named, without a name, or not looked up.",
     OF_PARTS(SYMBOLS)},
    {GAUGE("ripd_symbols_memory_bytes"), "", "Memory of names of locations.", OF_HEALTH(names_bytes)},
    {GAUGE("ripd_symbols_memory_max_bytes"), "",
     "Maximum of ripd_symbols_memory_bytes; beyond it locations have no names.",
     OF_HEALTH(names_bytes_max)},
    {COUNTER("ripd_symbolizer_starts_total"), "", "Symbolizers started.", OF_HEALTH(symbolizer_start_count)},
    {COUNTER("ripd_symbolizer_failures_total"), "reason",
     "Symbolizers that ended, sent invalid answers, or were killed because they did not answer in time.",
     OF_PARTS(SYMBOLIZER_FAILURES)},
    {COUNTER("ripd_probe_starts_total"), "", "Processes started to read what threads wait for or to open programs.",
     OF_HEALTH(probe_start_count)},
    {COUNTER("ripd_probe_failures_total"), "reason",
     "How many of these ended, sent invalid answers, or were killed because they did not answer in time.",
     OF_PARTS(PROBE_FAILURES)},
    {GAUGE("ripd_probe_ended"), "",
     "1 if ripd-probe itself has ended: what threads wait for stays unknown until ripd is restarted.",
     OF_HEALTH(probe_ended)},
    {COUNTER("ripd_probe_programs_total"), "result",
     "Programs that ripd could not open itself: opened by ripd-probe, refused, or not requested or answered.",
     OF_PARTS(PROGRAMS)},
    {COUNTER("ripd_reloads_total"), "", "How often the configuration was reloaded.", OF_HEALTH(reload_count)},
    {COUNTER("ripd_reload_failures_total"), "", "How often a reload failed and the old configuration stayed in force.",
     OF_HEALTH(reload_failure_count)},
    {COUNTER("ripd_limit_hits_total"), "limit", "What was dropped because a limit was hit, by limit.",
     write_limits, 0},

    {GAUGE("ripd_http_connections"), "", "Client connections, without event streams.", OF_HTTP(connection_count)},
    {GAUGE("ripd_http_connections_max"), "", "Maximum of ripd_http_connections; then a new one replaces the slowest.",
     OF_HTTP(connections_max)},
    {COUNTER("ripd_http_connections_accepted_total"), "", "Connections accepted.", OF_HTTP(accepted_count)},
    {COUNTER("ripd_http_requests_total"), "", "Requests answered, including refused ones.", OF_HTTP(request_count)},
    {COUNTER("ripd_http_not_modified_total"), "", "How many of these had status 304.", OF_HTTP(not_modified_count)},
    {GAUGE("ripd_http_lists_memory_bytes"), "",
     "Memory of lists kept or being sent.", OF_HTTP(list_bytes)},
    {GAUGE("ripd_http_lists_memory_max_bytes"), "",
     "Maximum of ripd_http_lists_memory_bytes; then clients that do not read are dropped.",
     OF_HTTP(list_bytes_max)},
    {GAUGE("ripd_http_streams"), "", "Clients of the event stream.", OF_HTTP(stream_count)},
    {GAUGE("ripd_http_streams_max"), "",
     "Maximum of ripd_http_streams; then a new one ends the oldest of the client with most.", OF_HTTP(streams_max)},
    {GAUGE("ripd_http_events_held"), "", "Events held for /events.", OF_HTTP(event_count)},
    {GAUGE("ripd_http_events_held_max"), "",
     "Maximum of ripd_http_events_held; then the oldest are dropped.", OF_HTTP(events_max)},
    {GAUGE("ripd_http_events_memory_bytes"), "", "Memory of the events held.", OF_HTTP(event_bytes)},
    {GAUGE("ripd_http_events_memory_max_bytes"), "",
     "Maximum of ripd_http_events_memory_bytes; then the oldest are dropped.",
     OF_HTTP(event_bytes_max)},

    {GAUGE("ripd_anonymous_memory_bytes"), "", "Resident memory without pages of mapped files, such as rings.",
     OF_PROCESS(anonymous_bytes)},
    {SECONDS("process_start_time_seconds"), "", "When the daemon started, since the Unix epoch.", write_start, 0},
    {"process_cpu_seconds_total", METRIC_COUNTER, METRIC_SECONDS_OF_NS, "", "CPU time used.", OF_PROCESS(cpu_ns)},
    {GAUGE("process_virtual_memory_bytes"), "", "Size of the address space.", OF_PROCESS(virtual_bytes)},
    {GAUGE("process_resident_memory_bytes"), "", "Memory in use, including pages of mapped rings.",
     OF_PROCESS(resident_bytes)},
    {GAUGE("process_open_fds"), "", "File descriptors in use.", OF_PROCESS(descriptor_count)},
    {GAUGE("process_max_fds"), "", "Maximum number of file descriptors.", OF_PROCESS(descriptors_max)},
};
/* clang-format on */
const size_t metrics_count = ARRAY_COUNT(metrics);

const char *metric_type_name(enum metric_type type)
{
    static const char *const names[] = {"counter", "gauge", "histogram"};

    return names[type];
}

int metrics_render(const struct metrics_input *input, char **ret_text, size_t *ret_length)
{
    struct metrics_text text = {.input = input, .text = malloc(METRICS_BYTES_MAX)};

    if (text.text == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < metrics_count; i++) {
        const struct metric *metric = &metrics[i];
        size_t family = text.length, samples;

        put(&text, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
            metric_type_name(metric->type));
        samples = text.length;
        text.metric = metric;
        metric->put(&text);
        if (text.length == samples)
            text.length = family;
    }
    text.text[text.length] = '\0';
    if (text.full) {
        free(text.text);
        return -ENOBUFS;
    }
    *ret_text = text.text;
    *ret_length = text.length;
    return 0;
}
