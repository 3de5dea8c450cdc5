/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - `rip replay`: the alerts of a recording, as ripd decided them or with other thresholds: one line per
 * thread with their number, duration and time, or as events, or compared with those of a file. Needs no ripd.
 *
 * Guarantees
 *   A. The recording is hostile: it is read as a session, and data that ripd attached to it can affect only the results
 *      of this replay.
 *   B. A recording that is truncated or damaged is replayed up to there, and a message reports it.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cases/scan_record.h"
#include "cli/cli.h"
#include "cli/item.h"
#include "cli/list.h"
#include "cli/names.h"
#include "cli/table.h"
#include "replay/replay.h"
#include "rip/session.h"
#include "util/array.h"
#include "util/duration.h"
#include "util/search.h"

#define NS_PER_MS UINT64_C(1000000)
#define KEY_BYTES (3u * TABLE_CELL_BYTES)
#define ALERT_KEY "alert" /* added by `rip replay --json` if it does not replay ripd's decisions */
#define VALUE_BYTES 200

struct settings {
    bool json;
    uint64_t stall_after_ns;
    const char *assert_file;
    const char *files;
    struct cli_list rules;
};

static struct settings settings;

static const struct cli_flag flags[] = {
    CLI_BETWEEN("--stall-after", "DUR", CLI_DURATION, stall_after_ns, DURATION_SETTING_MIN_NS, DURATION_SETTING_MAX_NS,
                "replay with this threshold instead of the recorded one"),
    CLI_FLAG("--rule", "GLOB=DUR", CLI_LIST, rules,
             "a different threshold for ids whose names match; repeatable; the first match counts"),
    CLI_FLAG("--assert", "FILE", CLI_TEXT, assert_file,
             "compare the events with those of this file: output of --json, or an answer of /events"),
    CLI_FLAG("--files", "DIR", CLI_TEXT, files,
             "directory with programs, libraries or debug files of another machine: by build id, path or name"),
    CLI_FLAG("--json", NULL, CLI_SWITCH, json, "print begins and ends as JSON, one event per line"),
};

const struct cli_syntax cli_replay_syntax = {
    .name = "replay",
    .usage =
        "usage: rip replay [FLAG...] FILE | DIR\n"
        "\n"
        "Computes the begins and ends of stalls from a recording, with the detector of ripd, one line per thread.\n"
        "DIR is a recording in segments. A recording of `ripd --record` is replayed as ripd decided it. With other\n"
        "thresholds, the output is how often they would have alerted, and how much earlier or later. An alert is\n"
        "certain if its verdict was recorded, or follows from the call that the thread announces. Otherwise evidence\n"
        "that was not recorded might have shown that the thread only waits for work.\n"
        "\n",
    .notes = "\n"
             "exit status: 0; 1 the recording cannot be read or is damaged, or the events are not those of --assert;\n"
             "2 wrong flag; 4 output could not be written\n",
    .words_max = 1,
    .missing = "expected a recording; `rip record` and `ripd --record` make them",
    CLI_FLAGS(flags),
};

/* A line a thread -------------------------------------------------------------------------------------------------- */

/* An episode that has not ended. */
struct open_episode {
    uint64_t number;
    uint64_t since_wall_ns;
    json_t *item; /* of its row */
};

struct alert_table {
    json_t *items; /* items of the rows, by what they show: the first begin, with the counts */
    struct open_episode *open;
    size_t open_count;
    size_t open_capacity;
};

static void table_done(struct alert_table *table)
{
    json_decref(table->items);
    free(table->open);
}

static void take_begin(struct alert_table *table, const struct replay_alert *alert)
{
    const struct event *event = alert->event;
    json_t *item = json_loadb(event->text, event->text_bytes, JSON_ALLOW_NUL, NULL), *known;
    struct table_cell thread, process, where;
    char key[KEY_BYTES];

    item_fill_thread(&thread, item);
    item_fill_process(&process, item);
    item_fill_where(&where, json_object_get(item, "location"));
    snprintf(key, sizeof(key), "%s\n%s\n%s", thread.text, process.text, where.text);
    known = json_object_get(table->items, key);
    if (known == NULL)
        json_object_set_nocheck(table->items, key, item);
    json_decref(item);
    item = json_object_get(table->items, key);
    if (!ARRAY_GROW(table->open, table->open_count, table->open_capacity))
        cli_end_without_memory();
    table->open[table->open_count++] = (struct open_episode){event->episode, event->since_wall_ns, item};
    table_count(item, "episodes", 1);
    table_count(item, "certain", alert->certain);
    table_count(item, "by_ripd", alert->recorded != NULL);
    if (alert->recorded != NULL)
        table_count(item, "earlier_ns", (int64_t)(alert->recorded->at_wall_ns - event->at_wall_ns));
}

static void lasted(const struct open_episode *open, uint64_t ns)
{
    const json_int_t ms = (json_int_t)(ns / NS_PER_MS);

    if (ms >= json_integer_value(json_object_get(open->item, "longest_ms")))
        json_object_set_new(open->item, "longest_ms", json_integer(ms));
}

static void table_take(struct alert_table *table, const struct replay_alert *alert)
{
    const struct event *event = alert->event;

    if (event->kind == EVENT_BEGIN) {
        take_begin(table, alert);
        return;
    }
    for (size_t i = table->open_count; i > 0; i--) {
        struct open_episode *open = &table->open[i - 1];

        if (open->number != event->episode)
            continue;
        lasted(open, event->duration_ns);
        *open = table->open[--table->open_count];
        break;
    }
}

/* Writes how much earlier than ripd's the begins are, on average. */
static void fill_begins(struct table_cell *cell, const json_t *item)
{
    const int64_t by_ripd = json_integer_value(json_object_get(item, "by_ripd"));
    const int64_t earlier_ns = json_integer_value(json_object_get(item, "earlier_ns"));
    const int64_t ms = by_ripd != 0 ? earlier_ns / (by_ripd * (int64_t)NS_PER_MS) : 0;

    item_fill_duration(cell, ms < 0 ? -ms : ms);
    if (by_ripd == 0)
        table_cell_clear(cell);
    else if (ms == 0)
        table_cell_format(cell, "as then");
    else
        table_cell_add(cell, " %s", ms > 0 ? "earlier" : "later");
}

static const struct table_column columns[] = {
    {"EPISODES", 8, 9, true, .key = "episodes"},
    {"CERTAIN", 7, 9, true, .key = "certain"},
    {"BY RIPD", 7, 9, true, .key = "by_ripd"},
    {"BEGINS", 6, 14, .fill = fill_begins},
    {"LONGEST", 7, 8, true, .key = "longest_ms", .fill = item_fill_ms},
    {"FIRST", 20, 24, .key = "at"},
    {"THREAD", 8, 32, .fill = item_fill_thread},
    {"PROCESS", 8, 28, .fill = item_fill_process},
    {"WHERE", 0, TEXT_ANY_COLUMNS, .key = "location", .fill_columns = list_fill_where},
};

/* Most episodes first, then the longest, then the earliest. */
static int compare_rows(const void *left, const void *right)
{
    const json_t *a = ((const struct list_row *)left)->item, *b = ((const struct list_row *)right)->item;
    const char *at_a = item_text(a, "at"), *at_b = item_text(b, "at");
    const int order = search_order_pair((uint64_t)item_number(b, "episodes"), (uint64_t)item_number(b, "longest_ms"),
                                        (uint64_t)item_number(a, "episodes"), (uint64_t)item_number(a, "longest_ms"));

    return order != 0 ? order : strcmp(at_a != NULL ? at_a : "", at_b != NULL ? at_b : "");
}

static void print_rows(const struct alert_table *table, const struct replay_counts *counts)
{
    size_t episodes = 0, certain = 0, published = 0;
    struct list list;
    const char *key;
    json_t *item;

    list_init(&list, false, false, columns, ARRAY_COUNT(columns));
    json_object_foreach(table->items, key, item)
    {
        episodes += (size_t)item_number(item, "episodes");
        certain += (size_t)item_number(item, "certain");
        published += (size_t)item_number(item, "by_ripd");
        list_add(&list, 0, json_incref(item));
    }
    list_sort(&list, compare_rows);
    list_print(&list, 0, list.count);
    list_done(&list);
    printf("%zu episode%s", episodes, episodes == 1 ? "" : "s");
    if (counts->exact)
        printf("; %" PRIu64 " of %" PRIu64 " events are as ripd published them\n", counts->same_count,
               counts->recorded_count);
    else if (counts->by_ripd)
        printf(", %zu certain; ripd published %" PRIu64 ", %zu of them among these\n", certain,
               counts->recorded_begin_count, published);
    else
        printf(", %zu certain\n", certain);
}

static void print_span(const struct replay_counts *counts)
{
    struct table_cell span, after;
    const time_t first = (time_t)(counts->first_wall_ns / (1000 * NS_PER_MS));
    char from[32];
    struct tm time;

    gmtime_r(&first, &time);
    strftime(from, sizeof(from), "%Y-%m-%dT%H:%M:%SZ", &time);
    item_fill_duration(&span, (long long)((counts->last_wall_ns - counts->first_wall_ns) / NS_PER_MS));
    item_fill_duration(&after, (long long)(counts->stall_after_ns / NS_PER_MS));
    printf("recorded by %s from %s for %s: %" PRIu64 " scan%s of up to %" PRIu64 " id%s, stalled after %s\n",
           counts->by_ripd ? "ripd" : "rip record", from, span.text, counts->scan_count,
           counts->scan_count == 1 ? "" : "s", counts->id_count_max, counts->id_count_max == 1 ? "" : "s", after.text);
}

static void table_print(struct alert_table *table, const char *path, const struct replay_counts *counts)
{
    if (counts->scan_count == 0) {
        printf("%s: has no scan\n", path);
        return;
    }
    for (size_t i = 0; i < table->open_count; i++)
        lasted(&table->open[i], counts->last_wall_ns - table->open[i].since_wall_ns);
    print_span(counts);
    print_rows(table, counts);
}

/* Comparing -------------------------------------------------------------------------------------------------------- */

struct expected {
    const char *path;
    json_t *events;
    size_t next;
};

/* Reads a sequence of objects: events, or documents with lists of events. */
static bool read_objects(FILE *file, json_t *events)
{
    int next;

    for (;;) {
        json_t *object, *list, *event;
        size_t i;

        do
            next = getc(file);
        while (next == ' ' || next == '\n' || next == '\r');
        if (next == EOF)
            return ferror(file) == 0;
        ungetc(next, file);
        object = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL);
        list = json_object_get(object, "events");
        if (!json_is_object(object))
            return false;
        json_array_foreach(list, i, event) json_array_insert(events, 0, event); /* /events has the newest first */
        if (!json_is_array(list))
            json_array_append(events, object);
        json_decref(object);
    }
}

/* Returns false after an error message. */
static bool expected_read(struct expected *expected, const char *path)
{
    FILE *file = fopen(path, "re");
    bool read;

    if (file == NULL)
        return cli_error("--assert: '%s': cannot be read", path);
    expected->path = path;
    expected->events = json_array();
    read = read_objects(file, expected->events);
    fclose(file);
    return read ||
           cli_error("--assert: '%s': expected events as JSON, one object per line, or an answer of /events", path);
}

static void format_value(const json_t *value, char ret_text[VALUE_BYTES])
{
    char *text = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

    snprintf(ret_text, VALUE_BYTES, "%s", text != NULL ? text : "nothing");
    free(text);
}

/* Reports the first member that differs between the two. Returns false if none does. */
static bool report_difference(const struct expected *expected, json_t *of, const json_t *is, const json_t *was)
{
    char is_text[VALUE_BYTES], was_text[VALUE_BYTES];
    const char *key;
    json_t *value;

    json_object_foreach(of, key, value)
    {
        if (json_equal(json_object_get(is, key), json_object_get(was, key)))
            continue;
        format_value(json_object_get(is, key), is_text);
        format_value(json_object_get(was, key), was_text);
        cli_error("event %zu differs from '%s': \"%s\" is %s, and was %s", expected->next, expected->path, key, is_text,
                  was_text);
        return true;
    }
    return false;
}

static void forget_names_of(json_t *place)
{
    static const char *const keys[] = {"function", "file", "line", "inlined", "inlined_into"};

    for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
        json_object_del(place, keys[i]);
}

/* Removes names of locations: another machine may not have the files with the names. */
static void forget_names(json_t *event)
{
    json_t *place;
    size_t i;

    json_object_del(event, "summary");
    forget_names_of(json_object_get(event, "location"));
    json_array_foreach(json_object_get(event, "trail"), i, place) forget_names_of(place);
}

/* Compares the next event of the replay. Returns false after a message with the difference. */
static bool expected_take(struct expected *expected, const char *text, size_t count)
{
    json_t *is = json_loadb(text, count, JSON_ALLOW_NUL, NULL);
    json_t *was = json_array_get(expected->events, expected->next);
    bool same;

    expected->next++;
    if (was != NULL && json_object_get(is, ALERT_KEY) != NULL) {
        forget_names(is);
        forget_names(was);
    }
    if (was != NULL && json_object_get(was, ALERT_KEY) == NULL)
        json_object_del(is, ALERT_KEY);
    same = was != NULL && json_equal(is, was);
    if (was == NULL)
        cli_error("event %zu is not in '%s': %s", expected->next, expected->path,
                  json_string_value(json_object_get(is, "summary")));
    else if (!same && !report_difference(expected, is, is, was))
        (void)report_difference(expected, was, is, was);
    json_decref(is);
    return same;
}

/* Returns whether all expected events were there; false after a message. */
static bool expected_end(const struct expected *expected)
{
    const size_t count = json_array_size(expected->events);

    if (expected->next >= count)
        return true;
    return cli_error("event %zu of '%s' is missing: %s", expected->next + 1, expected->path,
                     json_string_value(json_object_get(json_array_get(expected->events, expected->next), "summary")));
}

/* Playing ---------------------------------------------------------------------------------------------------------- */

struct player {
    const char *path;
    bool json;
    struct rules rules;
    struct replay_request request;
    struct replay *replay;
    struct alert_table table;
    struct expected expected; /* events NULL: no comparison */
    struct names *names;      /* of locations that ripd did not name; NULL: they get none */
    bool differs;
    bool is_damaged;
};

/* Flags ------------------------------------------------------------------------------------------------------------ */

/* Returns false after an error message. */
static bool take_settings(struct player *player)
{
    for (size_t i = 0; i < settings.rules.count; i++) {
        const char *expected;

        if (rules_add(&player->rules, settings.rules.values[i], &expected) != 0)
            return cli_error("--rule: '%.200s': expected %s", settings.rules.values[i], expected);
    }
    if (settings.rules.count != 0)
        player->request.rules = &player->rules;
    player->request.stall_after_ns = settings.stall_after_ns;
    player->json = settings.json;
    if (settings.json || settings.assert_file == NULL) /* --assert ignores them */
        player->names = names_new(settings.files);
    return true;
}

/* Alerts ----------------------------------------------------------------------------------------------------------- */

/* Returns the text, with "certain" or "possible" if that applies, or NULL if out of memory. */
static char *make_line(const struct player *player, const struct replay_alert *alert)
{
    const struct event *event = alert->event;
    struct replay_counts counts;
    char *line;

    replay_counts(player->replay, &counts);
    if (counts.exact)
        return strndup(event->text, event->text_bytes);
    if (asprintf(&line, "%.*s,\"alert\":\"%s\"}", (int)event->text_bytes - 1, event->text,
                 alert->certain ? "certain" : "possible") < 0)
        return NULL;
    return line;
}

static int take_alert(void *context, const struct replay_alert *alert)
{
    struct player *player = context;
    char *line;

    if (player->expected.events == NULL && !player->json) {
        table_take(&player->table, alert);
        return 0;
    }
    line = make_line(player, alert);
    if (line == NULL)
        return -ENOMEM;
    if (player->json)
        puts(line);
    if (player->expected.events != NULL)
        player->differs = !expected_take(&player->expected, line, strlen(line));
    free(line);
    return player->differs ? -ECANCELED : 0;
}

static void name_place(void *context, struct module_facts *module, uint64_t offset)
{
    names_add(((struct player *)context)->names, module, offset);
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

static int take_event(struct player *player, struct rip_session *session, const struct rip_event *event, int pass)
{
    struct replay_data data = {.scan = NULL};

    if (event->kind == RIP_EVENT_DRAIN) {
        (void)rip_session_data(session, SCAN_RECORD_NAMESPACE, &data.scan, &data.scan_bytes);
        (void)rip_session_data(session, SCAN_SETTINGS_NAMESPACE, &data.settings, &data.settings_bytes);
    }
    return (pass == 0 ? replay_learn : replay_take)(player->replay, event, &data);
}

/* Returns 0, or -errno after an error message. */
static int read_all(struct player *player, int pass)
{
    const struct rip_event *event;
    struct rip_session *session;
    char *reason = NULL;
    int result = rip_session_open(&session, player->path, NULL, &reason);

    if (result != 0) {
        cli_error("%s", reason != NULL ? reason : "out of memory");
        free(reason);
        return result;
    }
    if (rip_session_source(session) != RIP_SESSION_RECORDING) {
        cli_error("%s is not a recording", player->path);
        rip_session_close(session);
        return -EINVAL;
    }
    while (result == 0) {
        const int next = rip_session_next(session, &event);

        if (next == 1) {
            result = take_event(player, session, event, pass);
            continue;
        }
        player->is_damaged |= next < 0;
        if (next < 0 && pass != 0)
            cli_error("%s", rip_session_error(session));
        break;
    }
    rip_session_close(session);
    if (result != 0 && result != -ECANCELED) {
        cli_error("%s: %s", player->path,
                  result == -EBADMSG ? "ripd's data about its scans is damaged" : strerror(-result));
    }
    return result;
}

static int play(struct player *player)
{
    struct replay_counts counts;
    int result = replay_new(&player->replay, &player->request);

    if (result == 0)
        result = read_all(player, 0);
    if (result == 0)
        result = read_all(player, 1);
    if (result == 0)
        result = replay_end(player->replay);
    if (player->expected.events != NULL && result == 0)
        player->differs = !expected_end(&player->expected);
    if (result != 0)
        return result;
    replay_counts(player->replay, &counts);
    if (!player->json && player->expected.events == NULL)
        table_print(&player->table, player->path, &counts);
    if (counts.exact && counts.same_count != counts.recorded_count)
        cli_error("%s: of %llu events that ripd published %llu are not the same in the replay: the recording "
                  "lacks their beginning, or is incomplete",
                  player->path, (unsigned long long)counts.recorded_count,
                  (unsigned long long)(counts.recorded_count - counts.same_count));
    return 0;
}

int cli_replay(char **words)
{
    struct player player = {.path = words[0], .request = {.alert = take_alert, .name_place = name_place}};
    int result = -EINVAL;

    if (!take_settings(&player))
        return CLI_USAGE;
    player.request.context = &player;
    player.table.items = json_object();
    if (settings.assert_file == NULL || expected_read(&player.expected, settings.assert_file))
        result = play(&player);
    replay_free(player.replay);
    table_done(&player.table);
    json_decref(player.expected.events);
    names_free(player.names);
    return result != 0 || player.differs || player.is_damaged ? CLI_UNREACHABLE : CLI_OK;
}
