/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.c - `rip dump`: prints a ring file, a capture of a process that has ended, or a recording. Needs no ripd.
 *
 * Guarantees
 *   A. The file is hostile: it is copied, and its readers validate everything.
 *   B. The output shows the file only: it does not depend on whether a process is alive.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/capture_end.h"
#include "cli/cli.h"
#include "cli/dump_ids.h"
#include "cli/incidents.h"
#include "cli/item.h"
#include "cli/names.h"
#include "cli/report.h"
#include "cli/table.h"
#include "rip/session.h"
#include "util/array.h"

#define LOCATIONS_MAX 20u /* in the summary by location */
#define KEY_BYTES 48u
#define ENDED_MAX 16u /* ids that had ended, in the report */

struct settings {
    const char *files;
    bool json;
    bool markdown;
};

static struct settings settings;

static const struct cli_flag flags[] = {
    CLI_FLAG("--files", "DIR", CLI_TEXT, files,
             "directory with programs, libraries or debug files of another machine: by build id, path or name"),
    CLI_FLAG("--json", NULL, CLI_SWITCH, json, "one JSON object per id, after one for a capture"),
    CLI_FLAG("--markdown", NULL, CLI_SWITCH, markdown, "print a report to paste into a ticket"),
};

const struct cli_syntax cli_dump_syntax = {
    .name = "dump",
    .usage = "usage: rip dump [FLAG...] FILE\n"
             "\n"
             "Shows a ring, the capture of a process that has ended (see `rip captures`), or a recording (see\n"
             "`rip record`): its threads and coroutines, the last location of each, and which were stalled. For a\n"
             "recording, also the locations with the most snaps.\n"
             "\n",
    .notes = "\n"
             "exit status: 0; 1 FILE cannot be read completely, or is none of these; 2 wrong flag; 4 output could\n"
             "not be written\n",
    .words_max = 1,
    .missing = "expected a file; `rip captures` lists captures, `rip ls` rings",
    CLI_FLAGS(flags),
};

/* The contents of the file. */
struct dump {
    const char *path;
    struct rip_session *session;
    enum rip_session_source source;
    uint64_t recorded_count, overwritten_count; /* snaps, if a recording */
    json_t *places;                             /* if a recording */
    json_t *document;                           /* if a capture, else NULL */
    json_t *items;
    json_t *ended; /* items of ids that had ended, newest first */
    struct names *names;
};

/* Returns false after an error message. */
static bool open_file(struct dump *dump)
{
    const struct rip_session_options options = {.size_bytes = sizeof(options), .once = true};
    char *error = NULL;

    if (rip_session_open(&dump->session, dump->path, &options, &error) != 0) {
        cli_error("%s", error != NULL ? error : "out of memory");
        free(error);
        return false;
    }
    dump->source = rip_session_source(dump->session);
    if (dump->source != RIP_SESSION_DIRECTORY)
        return true;
    return cli_error("%s is neither a ring, a capture nor a recording", dump->path);
}

static void close_file(struct dump *dump)
{
    names_free(dump->names);
    json_decref(dump->items);
    json_decref(dump->ended);
    json_decref(dump->places);
    json_decref(dump->document);
    rip_session_close(dump->session);
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

static void take_document(struct dump *dump)
{
    const void *bytes;
    size_t count;

    if (dump->source == RIP_SESSION_CAPTURE && rip_session_data(dump->session, "rip.capture", &bytes, &count) == 0)
        dump->document = json_loadb(bytes, count, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
}

/* Returns 0 or -errno; the events before the error have been handled. */
static int take_events(struct dump *dump, struct dump_ids *ids)
{
    const struct rip_event *event;
    int result;

    while ((result = rip_session_next(dump->session, &event)) == 1) {
        if (event->kind == RIP_EVENT_RING)
            take_document(dump);
        if (event->kind == RIP_EVENT_SNAP) {
            dump->recorded_count += event->as.snap.entry_count;
            dump->overwritten_count += event->as.snap.overwritten_count;
        }
        dump_ids_take(ids, event);
    }
    /* A truncated ring has an error text although its events end normally. */
    return result == 0 && rip_session_error(dump->session)[0] != '\0' ? -EBADMSG : result;
}

static const char *key_of(char key[KEY_BYTES], const json_t *item)
{
    snprintf(key, KEY_BYTES, "%lld %lld", item_number(item, "id"), item_number(item, "snaps"));
    return key;
}

/* Returns ripd's facts about stalled ids, by id and count: an id that has moved since is not found. */
static json_t *index_stalls(const struct dump *dump)
{
    json_t *index = json_object(), *stall;
    char key[KEY_BYTES];
    size_t i;

    json_array_foreach(json_object_get(dump->document, "stalls"), i, stall)
    {
        if (json_object_get(index, key_of(key, stall)) == NULL)
            json_object_set(index, key, stall);
    }
    return index;
}

/* Adds the facts of a capture's document. It has more than the ring, except names that ripd did not have yet. */
static void join_document(const struct dump *dump)
{
    static const char *const places[] = {"location", "trail"};
    json_t *process = json_object_get(dump->document, "process"), *index = index_stalls(dump), *item, *stall;
    char key[KEY_BYTES];
    size_t i, j;

    json_array_foreach(dump->ended, i, item) json_object_set(item, "process", process);
    json_array_foreach(dump->items, i, item)
    {
        json_object_set(item, "process", process);
        stall = json_object_get(index, key_of(key, item));
        if (stall == NULL)
            continue;
        for (j = 0; item_text(json_object_get(stall, "location"), "function") == NULL && j < ARRAY_COUNT(places); j++)
            json_object_set(stall, places[j], json_object_get(item, places[j]));
        json_array_set(dump->items, i, stall);
    }
    json_decref(index);
}

/* Returns false after an error message; the part before the error has been read. */
static bool read_file(struct dump *dump, const char *files)
{
    struct dump_ids *ids = dump_ids_new();
    const int result = take_events(dump, ids);

    dump->names = names_new(files);
    dump->items = dump_ids_items(ids, dump->names);
    dump->ended = dump_ids_ended(ids, dump->names);
    if (dump->source == RIP_SESSION_RECORDING)
        dump->places = dump_ids_places(ids, dump->names);
    join_document(dump);
    dump_ids_free(ids);
    return result == 0 || cli_error("%s", rip_session_error(dump->session));
}

/* Printing --------------------------------------------------------------------------------------------------------- */

static void print_json(const struct dump *dump)
{
    size_t i;
    json_t *item;

    if (dump->document != NULL) {
        json_t *head = json_copy(dump->document);

        json_object_del(head, "stalls");
        table_print_json(head);
        json_decref(head);
    }
    json_array_foreach(dump->items, i, item) table_print_json(item);
    json_array_foreach(dump->ended, i, item) table_print_json(item);
}

static const struct table_column capture_fields[] = {
    {"ended", .key = "ended_at"},
    {"ring", .key = "ring"},
    {"exe", .key = "process.exe"},
    {"command", .key = "process.cmdline"},
};

static void show_head(const struct dump *dump, struct report *report)
{
    const json_t *core = json_object_get(dump->document, "core");
    struct table_cell cell, how;

    if (dump->document == NULL) {
        table_cell_format(&cell, "%s %s", dump->source == RIP_SESSION_RECORDING ? "recording" : "ring", dump->path);
        report_title(report, &cell);
        if (dump->source == RIP_SESSION_RECORDING)
            report_text(report, "snaps", "%" PRIu64 " recorded, %" PRIu64 " overwritten before", dump->recorded_count,
                        dump->overwritten_count);
        return;
    }
    capture_fill_end(&how, dump->document);
    item_fill_process(&cell, dump->document);
    table_cell_add(&cell, ": %s", how.text);
    report_title(report, &cell);
    report_fields(report, dump->document, capture_fields, ARRAY_COUNT(capture_fields));
    if (core != NULL)
        report_text(report, "core", "coredumpctl info %lld", item_number(core, "pid"));
}

/* Prints a line per incident, with the number of stalls that waited for it. */
static void show_stalls(const struct dump *dump, struct report *report)
{
    json_t *incidents = incidents_of(json_object_get(dump->document, "stalls")), *shown;
    struct table_cell cell, line;
    size_t i;

    if (json_array_size(incidents) != 0)
        report_section(report, "stalled when it ended");
    json_array_foreach(incidents, i, shown)
    {
        table_cell_value(&cell, json_object_get(shown, "summary"));
        table_cell_format(&line, "%s; and %lld waited for it", cell.text, item_number(shown, "waiting"));
        report_line(report, item_number(shown, "waiting") > 0 ? &line : &cell);
    }
    json_decref(incidents);
}

struct place {
    const char *text;
    json_int_t count;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strcmp(a->text, b->text);
}

/* Counts each location in a list of objects with a location and an optional count. */
static json_t *count_places(const json_t *list)
{
    json_t *counts = json_object(), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const long long passed = item_number(item, "count");
        struct table_cell cell;

        item_fill_where(&cell, json_object_get(item, "location"));
        table_count(counts, cell.text, passed != ITEM_UNKNOWN ? passed : 1);
    }
    return counts;
}

/* Prints the most frequent first. */
static void show_places(struct report *report, const json_t *list, const char *heading)
{
    json_t *counts = count_places(list), *value;
    struct place *places = cli_allocate(json_object_size(counts), sizeof(*places));
    size_t count = 0;
    struct table_cell cell;
    const char *text;

    json_object_foreach(counts, text, value) places[count++] = (struct place){text, json_integer_value(value)};
    if (count > 1) {
        qsort(places, count, sizeof(*places), compare_places);
        report_section(report, heading);
        for (size_t i = 0; i < count && i < LOCATIONS_MAX; i++) {
            table_cell_format(&cell, "%6lld  %s", (long long)places[i].count,
                              places[i].text[0] != '\0' ? places[i].text : "-");
            report_line(report, &cell);
        }
        if (count > LOCATIONS_MAX) {
            table_cell_format(&cell, "%zu more place%s", count - LOCATIONS_MAX, count - LOCATIONS_MAX == 1 ? "" : "s");
            report_line(report, &cell);
        }
    }
    free(places);
    json_decref(counts);
}

/* Prints the breadcrumbs, newest first; consecutive ones at one location are one line. */
static void show_trail(struct report *report, const json_t *trail)
{
    const size_t count = json_array_size(trail);
    struct table_cell cell, next;
    char text[64];
    size_t last;

    for (size_t i = 0; i < count; i = last + 1) {
        item_fill_where(&cell, json_array_get(trail, i));
        for (last = i; last + 1 < count; last++) {
            item_fill_where(&next, json_array_get(trail, last + 1));
            if (strcmp(next.text, cell.text) != 0)
                break;
        }
        if (cell.bytes == 0)
            continue;
        if (last != i)
            table_cell_add(&cell, ", %zu times", last - i + 1);
        snprintf(text, sizeof(text), "#%lld", item_number(json_array_get(trail, i), "count"));
        report_field(report, text, &cell);
    }
}

static const struct table_column id_fields[] = {
    {"name", .fill = item_fill_thread}, {"id", .key = "id"},       {"note", .key = "note"},
    {"state", .fill = item_fill_cause}, {"snaps", .key = "snaps"},
};

static void show_id(struct report *report, const json_t *item)
{
    report_section(report, json_is_null(json_object_get(item, "tid")) ? "id" : "thread");
    report_fields(report, item, id_fields, ARRAY_COUNT(id_fields));
    show_trail(report, json_object_get(item, "trail"));
}

static void print_report(const struct dump *dump, bool markdown)
{
    struct report report;
    size_t i;
    json_t *item;

    report_init(&report, markdown);
    show_head(dump, &report);
    show_stalls(dump, &report);
    show_places(&report, dump->items, "ids by where they were last");
    show_places(&report, dump->places, "snaps by place");
    json_array_foreach(dump->items, i, item) show_id(&report, item);
    for (i = 0; i < json_array_size(dump->ended) && i < ENDED_MAX; i++)
        show_id(&report, json_array_get(dump->ended, i));
}

int cli_dump(char **words)
{
    struct dump dump = {.path = words[0]};
    json_t *documents;
    int status;

    if (!open_file(&dump)) {
        close_file(&dump);
        return CLI_UNREACHABLE;
    }
    status = read_file(&dump, settings.files) ? CLI_OK : CLI_UNREACHABLE;
    documents = dump.document != NULL ? json_pack("[O]", dump.document) : NULL;
    capture_add_cores(documents);
    json_decref(documents);
    if (settings.json)
        print_json(&dump);
    else
        print_report(&dump, settings.markdown);
    close_file(&dump);
    return status;
}
