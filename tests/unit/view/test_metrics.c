/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_metrics.c - the table of metrics and the text rendered from it: each value in its line, unknown values left out,
 * and the same series whatever the names of rings and threads: ripd/view/metrics.c.
 */
#include <stdbool.h>
#include <stdio.h>

#include "support/test.h"
#include "unit/samples.h"
#include "view/metrics.h"

#define SECOND UINT64_C(1000000000)

static char *render(const struct metrics_input *input)
{
    size_t length;
    char *text;

    assert_int_equal(metrics_render(input, &text, &length), 0);
    assert_int_equal(strlen(text), length);
    assert_int_equal(text[length - 1], '\n');
    return text;
}

static bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);

    for (const char *at = strstr(text, line); at != NULL; at = strstr(at + 1, line))
        if ((at == text || at[-1] == '\n') && at[length] == '\n')
            return true;
    return false;
}

static void assert_line(const char *text, const char *line)
{
    if (!has_line(text, line))
        fail_msg("no line \"%s\" in\n%s", line, text);
}

static size_t sample_count(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text = strchr(text, '\n') + 1)
        count += *text != '#';
    return count;
}

/* All numbers differ. */
static struct snapshot *snapshot_of_numbers(void)
{
    struct snapshot *snapshot = sample_snapshot(421, 7 * SECOND, 3);
    struct health *health = &snapshot->health;

    health->started_wall_ns = SAMPLE_SCANNED_WALL_NS;
    health->scan_count = 421;
    health->scan_total_ns = 5 * SECOND / 2;
    for (size_t i = 0; i <= HEALTH_SCAN_BUCKET_COUNT; i++)
        health->scan_buckets[i] = i + 1;
    health->late_scan_count = 11;
    health->skipped_scan_count = 12;
    health->detector_bytes = 13;
    health->id_count = 14;
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        health->by_cause.stalls[i] = 100 + i;
        health->by_cause.longest_ns[i] = i * SECOND;
        health->by_cause.stopped[i] = 200 + i;
    }
    health->damaged_ring_count = 15;
    health->event_counts[EVENT_BEGIN] = 16;
    health->event_counts[EVENT_END] = 17;
    health->history_error_count = 18;
    health->hook_run_count = 19;
    health->hook_failure_count = 20;
    health->hook_timeout_count = 21;
    health->probe_start_count = 24;
    health->probe_died_count = 25;
    health->probe_hung_count = 26;
    health->probe_ended = 30;
    health->program_opened_count = 27;
    health->program_refused_count = 28;
    health->program_missed_count = 29;
    health->reload_count = 22;
    health->reload_failure_count = 23;
    for (size_t i = 0; i < HEALTH_LIMIT_COUNT; i++)
        health->limit_counts[i] = 300 + i;
    health->limit_counts[HEALTH_LIMIT_CONNECTIONS] = 350; /* added to the count of the server */
    return snapshot;
}

/* The lines of the values in snapshot_of_numbers() and test_values(). */
static const char *const expected_lines[] = {
    "# HELP ripd_ids Ids seen by the last scan, by state.",
    "# TYPE ripd_ids gauge",
    "ripd_build_info{version=\"" RIP_VERSION "\",ring_format=\"1\"} 1",
    "ripd_ids{state=\"running\"} 9120",
    "ripd_ids{state=\"stalled\"} 3",
    "ripd_ids{state=\"dead\"} 0",
    "ripd_stalls{cause=\"unexamined\"} 100",
    "ripd_stalls{cause=\"sleeping\"} 103",
    "ripd_stall_longest_seconds{cause=\"unexamined\"} 0",
    "ripd_stall_longest_seconds{cause=\"deadlock\"} 6",
    "ripd_stopped{cause=\"core-dump\"} 212",
    "ripd_rings{health=\"readable\"} 1",
    "ripd_rings_damaged_total 15",
    "ripd_scans_total 421",
    "ripd_scan_duration_seconds_bucket{le=\"0.0001\"} 1",
    "ripd_scan_duration_seconds_bucket{le=\"0.00025\"} 3",
    "ripd_scan_duration_seconds_bucket{le=\"1\"} 91",
    "ripd_scan_duration_seconds_bucket{le=\"+Inf\"} 105",
    "ripd_scan_duration_seconds_sum 2.5",
    "ripd_scan_duration_seconds_count 105",
    "ripd_scan_age_seconds 0.18",
    "ripd_scan_interval_seconds 1",
    "ripd_late_scans_total 11",
    "ripd_skipped_scans_total 12",
    "ripd_detector_memory_bytes 13",
    "ripd_detector_ids 14",
    "ripd_events_total{kind=\"begin\"} 16",
    "ripd_events_total{kind=\"end\"} 17",
    "ripd_history_errors_total 18",
    "ripd_hook_runs_total 19",
    "ripd_hook_failures_total 20",
    "ripd_hook_timeouts_total 21",
    "ripd_probe_starts_total 24",
    "ripd_probe_failures_total{reason=\"died\"} 25",
    "ripd_probe_failures_total{reason=\"hung\"} 26",
    "ripd_probe_ended 30",
    "ripd_probe_programs_total{result=\"opened\"} 27",
    "ripd_probe_programs_total{result=\"refused\"} 28",
    "ripd_probe_programs_total{result=\"missed\"} 29",
    "ripd_reloads_total 22",
    "ripd_reload_failures_total 23",
    "ripd_limit_hits_total{limit=\"files\"} 300",
    "ripd_limit_hits_total{limit=\"connections\"} 400", /* 350 of the scanner and 50 of the server */
    "ripd_http_connections 1",
    "ripd_http_connections_max 2",
    "ripd_http_streams 3",
    "ripd_http_streams_max 4",
    "ripd_http_connections_accepted_total 5",
    "ripd_http_requests_total 6",
    "ripd_http_not_modified_total 7",
    "ripd_http_lists_memory_bytes 8",
    "ripd_http_lists_memory_max_bytes 9",
    "ripd_http_events_held 10",
    "ripd_http_events_held_max 11",
    "ripd_http_events_memory_bytes 12",
    "ripd_http_events_memory_max_bytes 13",
    "process_start_time_seconds 1795167666.94",
    "process_cpu_seconds_total 1.25",
    "process_virtual_memory_bytes 31",
    "process_resident_memory_bytes 32",
    "ripd_anonymous_memory_bytes 33",
    "process_open_fds 34",
    "process_max_fds 35",
};

TEST(values)
{
    struct snapshot *snapshot = snapshot_of_numbers();
    struct health_http http = {.connection_count = 1,
                               .connections_max = 2,
                               .stream_count = 3,
                               .streams_max = 4,
                               .accepted_count = 5,
                               .request_count = 6,
                               .not_modified_count = 7,
                               .list_bytes = 8,
                               .list_bytes_max = 9,
                               .event_count = 10,
                               .events_max = 11,
                               .event_bytes = 12,
                               .event_bytes_max = 13,
                               .limit_counts = {[HEALTH_LIMIT_CONNECTIONS] = 50}};
    struct health_process process = {5 * SECOND / 4, 31, 32, 33, 34, 35};
    struct metrics_input input = {snapshot, &http, &process, 7 * SECOND + 180000000};
    char *text = render(&input);

    for (size_t i = 0; i < COUNT_OF(expected_lines); i++)
        assert_line(text, expected_lines[i]);
    assert_null(strstr(text, "ripd_stalls{cause=\"signal\"")); /* a cause of stops */
    assert_null(strstr(text, "ripd_stopped{cause=\"blocked\""));
    free(text);
    snapshot_unref(snapshot);
}

/* Before the first scan: counters and the values of the server, no gauge that only a scan can fill. */
TEST(before_the_first_scan)
{
    static const char *const absent[] = {"ripd_ids",   "ripd_stall",    "ripd_stopped",  "ripd_ring",
                                         "ripd_scan_", "ripd_detector", "process_start", "ripd_refused"};
    struct health_http http = {.request_count = 1, .limit_counts = {[HEALTH_LIMIT_STREAMS] = 9}};
    struct metrics_input input = {.http = &http};
    char *text = render(&input);

    assert_line(text, "ripd_scans_total 0");
    assert_line(text, "ripd_scan_duration_seconds_count 0");
    assert_line(text, "ripd_limit_hits_total{limit=\"streams\"} 9");
    assert_line(text, "ripd_events_total{kind=\"begin\"} 0");
    assert_line(text, "ripd_http_requests_total 1");
    assert_null(strstr(text, "process_"));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        for (size_t i = 0; i < COUNT_OF(absent); i++)
            if (strncmp(line, absent[i], strlen(absent[i])) == 0 && strstr(line, "_total ") == NULL &&
                strncmp(line, "ripd_scan_duration", 18) != 0)
                fail_msg("present before the first scan: %s", line);
    free(text);
}

/* Returns whether the text changes with this number. */
static bool number_shows(const struct metrics_input *input, uint64_t *number)
{
    uint64_t before = *number;
    char *one = render(input), *other;
    bool differs;

    *number = before + 3 * SECOND;
    other = render(input);
    differs = strcmp(one, other) != 0;
    *number = before;
    free(one);
    free(other);
    return differs;
}

/* Each counter is shown: a field that is added to these structs needs a row of the table. */
TEST(every_number_shows)
{
    struct snapshot *snapshot = snapshot_of_numbers();
    struct health_http http = {0};
    struct health_process process = {0};
    struct metrics_input input = {snapshot, &http, &process, 7 * SECOND};
    struct {
        void *value;
        size_t bytes;
        size_t unseen; /* numbers that are never shown */
    } parts[] = {
        {&snapshot->health, sizeof(snapshot->health), 0},
        {&http, sizeof(http), 0},
        {&process, sizeof(process), 0},
        {snapshot->counts, sizeof(snapshot->counts), 0},
    };

    for (int i = 0; i < CAUSE_COUNT; i++) /* a cause is one of stalls or one of stops */
        parts[0].unseen += id_cause_stops((enum id_cause)i) ? 6 : 1;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        uint64_t *numbers = parts[i].value;
        size_t unseen = 0;

        for (size_t j = 0; j < parts[i].bytes / sizeof(*numbers); j++)
            unseen += !number_shows(&input, &numbers[j]);
        assert_int_equal(unseen, parts[i].unseen);
    }
    snapshot_unref(snapshot);
}

/* The longest possible text fits, with room for a few more rows. */
TEST(longest_text)
{
    struct snapshot *snapshot = sample_snapshot(1, 0, 1);
    struct health_http http;
    struct health_process process;
    struct metrics_input input = {snapshot, &http, &process, UINT64_MAX};
    char *text;

    memset(&http, 0xff, sizeof(http));
    memset(&process, 0xff, sizeof(process));
    memset(&snapshot->health, 0xff, sizeof(snapshot->health));
    memset(snapshot->counts, 0xff, sizeof(snapshot->counts));
    snapshot->interval_ns = UINT64_MAX;
    text = render(&input);
    assert_in_range(strlen(text), METRICS_BYTES_MAX / 4, METRICS_BYTES_MAX - METRICS_BYTES_MAX / 8);
    free(text);
    snapshot_unref(snapshot);
}

/* Thousands of ids with names made to break the format change no label and add no line. */
TEST(hostile_names_are_not_shown)
{
    static const char *const names[] = {"\"} 1\nripd_ids{state=\"dead", "\xff\xfe", "a\\", "ripd_evil_total 1\n",
                                        "\x1b[31m"};
    struct snapshot *quiet = sample_snapshot(1, 0, 0), *loud = sample_snapshot(2, 0, 5000);
    struct metrics_input input = {.snapshot = quiet};
    char *before = render(&input), *after;

    for (size_t i = 0; i < loud->stall_count; i++) {
        struct item *item = loud->stalls[i].item;

        free(item->ring_name);
        item->ring_name = strdup(names[i % 5]);
        item->name_bytes = (uint8_t)strlen(names[i % 5]);
        memcpy(item->name, names[i % 5], item->name_bytes);
    }
    free(loud->rings[0].name);
    loud->rings[0].name = strdup(names[0]);
    input.snapshot = loud;
    after = render(&input);
    assert_int_equal(sample_count(before), sample_count(after));
    assert_null(strstr(after, "evil"));
    for (const char *at = after; *at != '\0'; at++)
        assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
    free(before);
    free(after);
    snapshot_unref(quiet);
    snapshot_unref(loud);
}

TEST(table)
{
    for (size_t i = 0; i < metrics_count; i++) {
        const struct metric *metric = &metrics[i];
        size_t length = strlen(metric->name);
        bool total = length > 6 && strcmp(metric->name + length - 6, "_total") == 0;

        assert_true(strncmp(metric->name, "ripd_", 5) == 0 || strncmp(metric->name, "process_", 8) == 0);
        assert_int_equal(strspn(metric->name, "abcdefghijklmnopqrstuvwxyz_"), length);
        assert_int_equal(total, metric->type == METRIC_COUNTER);
        if (metric->unit == METRIC_SECONDS_OF_NS)
            assert_non_null(strstr(metric->name, "_seconds"));
        assert_null(strpbrk(metric->help, "\\\n"));
        assert_int_equal(metric->help[strlen(metric->help) - 1], '.');
        assert_non_null(metric->put);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(metric->name, metrics[j].name);
    }
    assert_string_equal(metric_type_name(METRIC_HISTOGRAM), "histogram");
}

/* Sums over the rings; a damaged ring counts only as damaged. */
TEST(rings)
{
    static const struct {
        const char *name;
        size_t count;
        struct ring_facts rings[5];
        const char *lines[6];
    } cases[] = {
        {"no ring",
         0,
         {{0}},
         {"ripd_rings{health=\"readable\"} 0", "ripd_rings_dead 0", "ripd_ring_fill_ratio 0", "ripd_ring_processes 0",
          "ripd_refused_registrations{reason=\"full\"} 0"}},
        {"health",
         5,
         {{.health = RING_READABLE},
          {.health = RING_UNREADABLE, .dead = true},
          {.health = RING_UNREADABLE},
          {.health = RING_DAMAGED, .dead = true},
          {.health = RING_READABLE, .dead = true}},
         {"ripd_rings{health=\"readable\"} 2", "ripd_rings{health=\"unreadable\"} 2",
          "ripd_rings{health=\"damaged\"} 1", "ripd_rings_dead 1"}},
        {"the fullest ring that is readable and not dead",
         4,
         {{.slot_capacity = 3, .live_count = 1},
          {.slot_capacity = 0, .live_count = 7}, /* as the ring claims */
          {.slot_capacity = 4, .live_count = 4, .dead = true},
          {.slot_capacity = 4, .live_count = 4, .health = RING_DAMAGED}},
         {"ripd_ring_fill_ratio 0.333333"}},
        {"a ring that claims too much",
         1,
         {{.slot_capacity = UINT32_MAX, .live_count = UINT64_MAX}},
         {"ripd_ring_fill_ratio 1"}},
        {"a sum of refusals that stops at the greatest number",
         3,
         {{.info = {.refused_full_count = 3, .refused_memory_count = UINT64_MAX, .refused_process_count = 1}},
          {.info = {.refused_full_count = 4, .refused_memory_count = UINT64_MAX}},
          {.info = {.refused_full_count = 1000}, .health = RING_DAMAGED}},
         {"ripd_refused_registrations{reason=\"full\"} 7",
          "ripd_refused_registrations{reason=\"memory\"} 18446744073709551615",
          "ripd_refused_registrations{reason=\"processes\"} 1"}},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ring_facts rings[5];
        struct snapshot snapshot = {.rings = rings, .ring_count = cases[i].count};
        char *text;

        memcpy(rings, cases[i].rings, sizeof(rings));
        text = render(&(struct metrics_input){.snapshot = &snapshot});
        for (const char *const *line = cases[i].lines; *line != NULL; line++)
            if (!has_line(text, *line))
                fail_msg("%s: no line \"%s\" in\n%s", cases[i].name, *line, text);
        free(text);
    }
}

/* A dead process is not counted. */
TEST(processes)
{
    struct snapshot *snapshot = sample_snapshot(1, 0, 0);

    for (int dead = 0; dead < 2; dead++) {
        char *text;

        snapshot->rings[0].processes[0]->dead = dead == 1;
        text = render(&(struct metrics_input){.snapshot = snapshot});
        assert_line(text, dead ? "ripd_ring_processes 0" : "ripd_ring_processes 1");
        free(text);
    }
    snapshot_unref(snapshot);
}
