/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.c - `rip dump`: what a ring file says, the capture of a process that has ended, or a recording. Needs no ripd.
 *
 * Guarantees
 *   A. The file is hostile: it is copied, and read by readers that believe nothing.
 *   B. It says what was: whether a process lives is not asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/capture_read.h"
#include "cli/cli.h"
#include "cli/coredumps.h"
#include "cli/dump_ids.h"
#include "cli/incidents.h"
#include "cli/item.h"
#include "cli/names.h"
#include "cli/report.h"
#include "cli/ring_json.h"
#include "cli/table.h"
#include "rip/session.h"
#include "session/recording.h"
#include "session/ring_copy.h"
#include "util/array.h"

#define SAMPLES 256u
#define LOCATIONS_MAX 20u /* in the summary by location */
#define ENDED_MAX 16u     /* ids that had ended, in the report */

struct settings {
    const char *files;
    bool json;
    bool markdown;
};

static const struct cli_flag flags[] = {
    {"--files", "DIR", offsetof(struct settings, files),
     "programs, libraries or debug files of another machine: by build id, path or name", false},
    {"--json", NULL, offsetof(struct settings, json), "a JSON object for each id, after one for a capture", false},
    {"--markdown", NULL, offsetof(struct settings, markdown), "as a report to paste into a ticket", false},
};

const struct cli_syntax cli_dump_syntax = {
    .name = "dump",
    .usage = "usage: rip dump [FLAG...] FILE\n"
             "\n"
             "What a ring says, the capture of a process that has ended (see `rip captures`), or a recording (see\n"
             "`rip record`): its threads and coroutines, where each was last, and which were stalled then; of a\n"
             "recording also which places were passed most often.\n"
             "\n",
    .notes =
        "\n"
        "exit status: 0; 1 FILE cannot be read, not to its end, or is none of these; 2 wrong flag; 4 output could\n"
        "not be written\n",
    .flags = flags,
    .flags_count = sizeof(flags) / sizeof(flags[0]),
};

/* What is in the file. */
struct dump {
    const char *path;
    struct capture capture; /* with a ring, or all zero */
    struct ring_copy copy;  /* of a ring file */
    struct rip_view view;
    struct rip_session *session;                /* of a recording, instead of these */
    uint64_t recorded_count, overwritten_count; /* snaps; likewise */
    json_t *places;                             /* likewise */
    json_t *document;                           /* the capture's; NULL = a ring file */
    json_t *items;
    json_t *ended; /* the same of ids that had ended, the newest first */
    json_t *paths; /* of modules, by build id */
    struct names *names;
};

/* Opening ---------------------------------------------------------------------------------------------------------- */

/* What a file begins with. */
struct magic {
    char bytes[8];
};

static bool has_magic(int descriptor, bool (*is_one)(const void *bytes, size_t count))
{
    struct magic magic;

    return pread(descriptor, magic.bytes, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
           is_one(magic.bytes, sizeof(magic));
}

/* 1: it is no capture. */
static int open_capture(struct dump *dump, int descriptor, const char **ret_reason)
{
    int error;

    if (!has_magic(descriptor, capture_is_one))
        return 1;
    error = capture_read(descriptor, &dump->capture);
    *ret_reason = capture_error_text(error);
    if (error != 0)
        return error;
    dump->document =
        json_loadb(dump->capture.document, dump->capture.document_bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (dump->document != NULL && rip_view_open(&dump->view, dump->capture.ring, dump->capture.ring_bytes) == RIP_OK)
        return 0;
    *ret_reason = capture_error_text(-EBADMSG);
    return -EBADMSG;
}

/* A file, or a directory with segments. False after an error message. */
static bool open_recording(struct dump *dump)
{
    char *error = NULL;

    if (rip_session_open(&dump->session, dump->path, NULL, &error) != 0) {
        cli_error("dump: %s", error != NULL ? error : "out of memory");
        free(error);
        return false;
    }
    if (rip_session_source(dump->session) == RIP_SESSION_RECORDING)
        return true;
    cli_error("dump: %s: is neither a ring, a capture nor a recording", dump->path);
    return false;
}

/* False after an error message. */
static bool open_file(struct dump *dump)
{
    int descriptor = open(dump->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), result;
    const char *reason = strerror(errno);
    struct stat status;

    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
        cli_error("dump: %s: %s", dump->path, reason);
        if (descriptor >= 0)
            close(descriptor);
        return false;
    }
    if (S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && has_magic(descriptor, recording_is_one))) {
        close(descriptor);
        return open_recording(dump);
    }
    reason = "is neither a ring, a capture nor a recording";
    result = S_ISREG(status.st_mode) ? open_capture(dump, descriptor, &reason) : -EINVAL;
    if (result == 1) {
        result = ring_copy_once(&dump->copy, descriptor);
        dump->view = dump->copy.view;
        if (result != -EINVAL)
            reason = dump->copy.reason;
    }
    close(descriptor);
    if (result != 0)
        cli_error("dump: %s: %s", dump->path, reason);
    return result == 0;
}

static void close_file(struct dump *dump)
{
    names_free(dump->names);
    json_decref(dump->paths);
    json_decref(dump->items);
    json_decref(dump->ended);
    json_decref(dump->places);
    json_decref(dump->document);
    rip_session_close(dump->session);
    capture_done(&dump->capture);
    ring_copy_close(&dump->copy);
}

/* Ids -------------------------------------------------------------------------------------------------------------- */

/* What ripd knew of a stalled id; NULL: it was not stalled, or has moved since. */
static json_t *find_stall(const struct dump *dump, const struct rip_id_info *id)
{
    size_t i;
    json_t *stall;

    json_array_foreach(json_object_get(dump->document, "stalls"), i, stall)
    {
        if (item_number(stall, "id") == (json_int_t)id->id && item_number(stall, "snaps") == (json_int_t)id->snap_count)
            return json_incref(stall);
    }
    return NULL;
}

static json_t *make_note(const struct rip_view *view, const struct rip_id_info *id)
{
    struct rip_note_info note;

    if (rip_view_note(view, id->slot, &note) != RIP_OK &&
        rip_view_ended_note(view, id->slot, id->generation, &note) != RIP_OK)
        return json_null();
    return ring_json_text(note.text, note.text_bytes);
}

static json_t *make_process(const struct dump *dump, uint32_t index)
{
    struct rip_process_info process;

    if (dump->document != NULL)
        return json_incref(json_object_get(dump->document, "process"));
    if (rip_view_process(&dump->view, index, &process) != RIP_OK)
        return json_null();
    return json_pack("{s:I, s:o, s:I}", "pid", (json_int_t)process.pid, "comm",
                     ring_json_text(process.comm, strnlen((const char *)process.comm, sizeof(process.comm))), "uid",
                     (json_int_t)process.uid);
}

static json_t *make_trail(const struct dump *dump, const struct rip_id_info *id)
{
    json_t *trail = ring_json_trail(&dump->view, id), *place;
    size_t i;

    json_array_foreach(trail, i, place) names_fill(dump->names, place, dump->paths);
    return trail;
}

/* Names that ripd did not have. */
static void fill_stall(const struct dump *dump, json_t *stall)
{
    json_t *place;
    size_t i;

    names_fill(dump->names, json_object_get(stall, "location"), dump->paths);
    json_array_foreach(json_object_get(stall, "trail"), i, place) names_fill(dump->names, place, dump->paths);
}

/* state: NULL = that of a live id. */
static json_t *make_item(const struct dump *dump, const struct rip_id_info *id, const char *state)
{
    json_t *item = state == NULL ? find_stall(dump, id) : NULL, *trail;

    if (state == NULL && id->idle != 0)
        state = "idle";
    if (item != NULL) {
        fill_stall(dump, item);
    } else {
        trail = make_trail(dump, id);
        item = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:O?, s:o}", "id", (json_int_t)id->id, "tid",
                         id->tid != 0 ? json_integer(id->tid) : json_null(), "name",
                         ring_json_text(id->name, id->name_bytes), "note", make_note(&dump->view, id), "process",
                         make_process(dump, id->process), "state", state != NULL ? json_string(state) : json_null(),
                         "snaps", (json_int_t)id->snap_count, "location", json_array_get(trail, 0), "trail", trail);
    }
    return item;
}

/* Those whose slots are not another id's yet. */
static void read_ended(struct dump *dump)
{
    struct rip_ended ended[RIP_ENDED_COUNT];
    struct rip_id_info id;
    uint64_t next;
    size_t count = rip_view_ended(&dump->view, 0, ended, RIP_ENDED_COUNT, &next);

    dump->ended = json_array();
    while (count-- != 0)
        if (rip_view_ended_id(&dump->view, ended[count].slot, ended[count].generation, &id) == RIP_OK)
            json_array_append_new(dump->ended, make_item(dump, &id, "exited"));
}

static bool read_ids(struct dump *dump, const char *files)
{
    struct rip_scan_position position = {.next_word = 0};
    struct rip_sample samples[SAMPLES];
    struct rip_ring_info info;
    size_t count;

    dump->items = json_array();
    dump->paths = json_object();
    dump->names = names_new(files);
    rip_view_info(&dump->view, &info);
    for (uint32_t i = 0; i < info.process_high_water; i++)
        ring_json_paths(&dump->view, i, dump->paths);
    do {
        count = rip_view_scan(&dump->view, &position, samples, SAMPLES);
        for (size_t i = 0; i < count; i++) {
            struct rip_id_info id;

            if (rip_view_id(&dump->view, samples[i].slot, &id) == RIP_OK &&
                json_array_append_new(dump->items, make_item(dump, &id, NULL)) != 0)
                return false;
        }
    } while (count == SAMPLES);
    read_ended(dump);
    return dump->items != NULL && dump->ended != NULL;
}

/* Recordings ------------------------------------------------------------------------------------------------------- */

static void fill_names(const struct dump *dump, const json_t *items)
{
    size_t i, nth;
    json_t *item, *place;

    json_array_foreach(items, i, item)
    {
        names_fill(dump->names, item, dump->paths); /* it may be a place itself */
        json_array_foreach(json_object_get(item, "trail"), nth, place) names_fill(dump->names, place, dump->paths);
    }
}

/* 0 or -errno; what could be read is there. */
static int take_events(struct dump *dump, struct dump_ids *ids)
{
    const struct rip_event *event;
    int result;

    while ((result = rip_session_next(dump->session, &event)) == 1) {
        if (event->kind == RIP_EVENT_SNAP) {
            dump->recorded_count += event->as.snap.entry_count;
            dump->overwritten_count += event->as.snap.overwritten_count;
        }
        if (dump_ids_take(ids, event) != 0)
            return -ENOMEM;
    }
    return result;
}

/* 0 or -errno; what could be read is there. */
static int read_recording(struct dump *dump, const char *files)
{
    struct dump_ids *ids = dump_ids_new();
    int result = ids != NULL ? take_events(dump, ids) : -ENOMEM;

    if (ids != NULL) {
        dump->items = dump_ids_items(ids, false);
        dump->ended = dump_ids_items(ids, true);
        dump->places = dump_ids_places(ids);
        dump->paths = dump_ids_paths(ids);
        dump->names = names_new(files);
        fill_names(dump, dump->items);
        fill_names(dump, dump->ended);
        fill_names(dump, dump->places);
    }
    dump_ids_free(ids);
    return result;
}

/* Printing --------------------------------------------------------------------------------------------------------- */

static void print_json(const struct dump *dump)
{
    const struct text_style style = text_style_of_output();
    size_t i;
    json_t *item;

    if (dump->document != NULL) {
        json_t *head = json_copy(dump->document);

        json_object_del(head, "stalls");
        table_print_json(&style, head);
        json_decref(head);
    }
    json_array_foreach(dump->items, i, item) table_print_json(&style, item);
    json_array_foreach(dump->ended, i, item) table_print_json(&style, item);
}

static void show_head(const struct dump *dump, struct report *report)
{
    struct table_cell cell, process;
    char how[96];

    if (dump->document == NULL) {
        table_cell_format(&cell, "%s %s", dump->session != NULL ? "recording" : "ring", dump->path);
        report_title(report, &cell);
        if (dump->session == NULL)
            return;
        table_cell_format(&cell, "%" PRIu64 " recorded, %" PRIu64 " overwritten before", dump->recorded_count,
                          dump->overwritten_count);
        report_field(report, "snaps", &cell);
        return;
    }
    capture_format_end(dump->document, how, sizeof(how));
    item_fill_process(&process, dump->document);
    table_cell_format(&cell, "%.*s: %s", (int)process.bytes, process.text, how);
    report_title(report, &cell);
    table_cell_string(&cell, json_object_get(dump->document, "ended_at"));
    report_field(report, "ended", &cell);
    table_cell_string(&cell, json_object_get(dump->document, "ring"));
    report_field(report, "ring", &cell);
    table_cell_string(&cell, json_object_get(json_object_get(dump->document, "process"), "exe"));
    report_field(report, "exe", &cell);
    table_cell_string(&cell, json_object_get(json_object_get(dump->document, "process"), "cmdline"));
    report_field(report, "command", &cell);
    if (json_object_get(dump->document, "core") != NULL) {
        table_cell_format(&cell, "coredumpctl info %lld", item_number(json_object_get(dump->document, "core"), "pid"));
        report_field(report, "core", &cell);
    }
}

static void find_core(const struct dump *dump)
{
    json_t *documents = json_array();

    if (dump->document != NULL)
        json_array_append(documents, dump->document);
    coredumps_join(documents);
    json_decref(documents);
}

/* A line an incident, and how many waited for it. */
static void show_stalls(const struct dump *dump, struct report *report)
{
    const json_t *stalls = json_object_get(dump->document, "stalls");
    struct incident *incidents = NULL;
    struct table_cell cell, line;
    size_t count = 0;

    if (json_array_size(stalls) == 0 || incidents_of(stalls, &incidents, &count) != 0)
        return;
    report_section(report, "stalled when it ended");
    for (size_t i = 0; i < count; i++) {
        item_fill_sentence(&cell, incidents[i].shown);
        if (incidents[i].waiting_count != 0) {
            table_cell_format(&line, "%.*s; and %zu waited for it", (int)cell.bytes, cell.text,
                              incidents[i].waiting_count);
            report_line(report, &line);
        } else {
            report_line(report, &cell);
        }
    }
    free(incidents);
}

struct place {
    char text[512];
    size_t count;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strcmp(a->text, b->text);
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(((const struct place *)left)->text, ((const struct place *)right)->text);
}

/* Those of one text together, most first. Returns how many are left. */
static size_t join_places(struct place *places, size_t count)
{
    size_t kept = 0;

    qsort(places, count, sizeof(*places), compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (kept != 0 && strcmp(places[kept - 1].text, places[i].text) == 0)
            places[kept - 1].count += places[i].count;
        else
            places[kept++] = places[i];
    }
    qsort(places, kept, sizeof(*places), compare_places);
    return kept;
}

/* list: of ids, each at its location, or of places that have a count of their own. */
static void show_places(struct report *report, const json_t *list, const char *heading)
{
    struct place *places = calloc(json_array_size(list) + 1, sizeof(*places));
    size_t i, count = 0;
    struct table_cell cell;
    json_t *item;

    if (places == NULL)
        return;
    json_array_foreach(list, i, item)
    {
        const json_t *location = json_object_get(item, "location");

        item_fill_where(&cell, location != NULL ? location : item, false);
        places[count].count = location != NULL ? 1 : (size_t)item_number(item, "count");
        snprintf(places[count++].text, sizeof(places->text), "%.*s", (int)cell.bytes, cell.text);
    }
    count = join_places(places, count);
    if (count > 1) {
        report_section(report, heading);
        for (i = 0; i < count && i < LOCATIONS_MAX; i++) {
            table_cell_format(&cell, "%6zu  %s", places[i].count, places[i].text);
            report_line(report, &cell);
        }
        if (count > LOCATIONS_MAX) {
            table_cell_format(&cell, "%zu more places", count - LOCATIONS_MAX);
            report_line(report, &cell);
        }
    }
    free(places);
}

/* The breadcrumbs, newest first; a line for those at one place. */
static void show_trail(struct report *report, const json_t *trail)
{
    const size_t count = json_array_size(trail);
    struct table_cell cell, next, line;
    char text[64];
    size_t last;

    for (size_t i = 0; i < count; i = last + 1) {
        item_fill_where(&cell, json_array_get(trail, i), false);
        for (last = i; last + 1 < count; last++) {
            item_fill_where(&next, json_array_get(trail, last + 1), false);
            if (next.bytes != cell.bytes || memcmp(next.text, cell.text, cell.bytes) != 0)
                break;
        }
        snprintf(text, sizeof(text), "#%lld", item_number(json_array_get(trail, i), "count"));
        if (last != i) {
            table_cell_format(&line, "%.*s, %zu times", (int)cell.bytes, cell.text, last - i + 1);
            report_field(report, text, &line);
        } else {
            report_field(report, text, &cell);
        }
    }
}

static void show_id(struct report *report, const json_t *item)
{
    struct table_cell cell, state;

    item_fill_thread(&cell, item);
    item_fill_cause(&state, item);
    report_section(report, json_is_null(json_object_get(item, "tid")) ? "id" : "thread");
    report_field(report, "name", &cell);
    item_fill_number(&cell, item, "id");
    report_field(report, "id", &cell);
    table_cell_string(&cell, json_object_get(item, "note"));
    report_field(report, "note", &cell);
    report_field(report, "state", &state);
    item_fill_number(&cell, item, "snaps");
    report_field(report, "snaps", &cell);
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

/* False after an error message; nothing may be there then. */
static bool read_file(struct dump *dump, const char *files)
{
    const int result = dump->session != NULL ? read_recording(dump, files) : read_ids(dump, files) ? 0 : -ENOMEM;

    if (result != 0)
        cli_error("dump: %s", result != -ENOMEM ? rip_session_error(dump->session) : "out of memory");
    return result == 0;
}

int cli_dump(int argc, char **argv)
{
    struct settings settings = {0};
    struct dump dump = {0};
    size_t count;
    int status;

    if (!cli_parse_words(&cli_dump_syntax, argc, argv, &settings, &dump.path, 1, &count, &status))
        return status;
    if (count == 0) {
        cli_error("dump: which file? `rip captures` lists captures, `rip ls` rings");
        return CLI_USAGE;
    }
    if (!open_file(&dump)) {
        close_file(&dump);
        return CLI_UNREACHABLE;
    }
    status = read_file(&dump, settings.files) ? CLI_OK : CLI_UNREACHABLE;
    find_core(&dump);
    if (settings.json)
        print_json(&dump);
    else
        print_report(&dump, settings.markdown);
    close_file(&dump);
    return status;
}
