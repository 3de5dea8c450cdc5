/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c - `rip show`: all that is known of one id, or of what is stuck in a process, a unit or a ring.
 *
 * Guarantees
 *   A. Whom an id waits for is a tree, each below the one that waits for it; who waits for it is another. Each has
 *      where it stands.
 *   B. Of a deadlock every member is named with where it stands.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/frame.h"
#include "cli/hosts.h"
#include "cli/incidents.h"
#include "cli/item.h"
#include "cli/report.h"
#include "cli/show.h"
#include "cli/table.h"
#include "view/query_parse.h"

#define TARGET_BYTES FILTERS_TARGET_BYTES
#define INCIDENTS_MAX 5u /* in full; those after it are lines of the table */
#define THREADS_SHOWN 200u
#define WAITERS_SHOWN 10u /* at one member */
#define WAITERS_DEPTH_MAX 8u
#define THREADS_ASKED "10000"

struct settings {
    struct hosts_options hosts;
    bool markdown;
};

static const struct cli_flag flags[] = {
    {"--markdown", NULL, offsetof(struct settings, markdown), "as a report to paste into a ticket", false},
    HOSTS_FLAGS(struct settings),
    HOSTS_DIR_FLAG(struct settings),
};

const struct cli_syntax cli_show_syntax = {
    .name = "show",
    .usage = "usage: rip show [FLAG...] PID|UNIT|RING [ID|NAME]\n"
             "\n"
             "All that is known of one id, or what is stuck in a process and where its other threads are.\n"
             "\n",
    .notes = "\n"
             "exit status: 0; 1 a ripd does not answer, or there is no such process, unit, ring or id; 2 wrong flag;\n"
             "3 an answer is not one of ripd's; 4 output could not be written\n",
    .flags = flags,
    .flags_count = sizeof(flags) / sizeof(flags[0]),
};

/* What the words name: one parameter of the lists. */
struct choice {
    const char *parameter;
    char value[QUERY_PATTERN_BYTES];
};

/* ---- one id ---- */

static void field(struct report *report, const char *name, const json_t *value)
{
    struct table_cell cell;

    table_cell_string(&cell, value);
    report_field(report, name, &cell);
}

static void show_process(struct report *report, const json_t *item)
{
    const json_t *process = json_object_get(item, "process");
    struct table_cell cell;

    item_fill_process(&cell, item);
    report_field(report, "process", &cell);
    field(report, "command", json_object_get(process, "cmdline"));
    field(report, "exe", json_object_get(process, "exe"));
    field(report, "unit", json_object_get(process, "unit"));
    field(report, "container", json_object_get(process, "container"));
    item_fill_number(&cell, process, "uid");
    report_field(report, "uid", &cell);
    field(report, "started", json_object_get(process, "started_at"));
    if (json_is_false(json_object_get(process, "attested"))) {
        table_cell_format(&cell, "no: its pid is what the ring claims");
        report_field(report, "attested", &cell);
    }
}

static void show_times(struct report *report, const json_t *item)
{
    struct table_cell cell, most;

    item_fill_cause(&cell, item);
    report_field(report, "state", &cell);
    field(report, "idle by", json_object_get(item, "reason"));
    field(report, "since", json_object_get(item, "since"));
    field(report, "earliest", json_object_get(item, "since_earliest"));
    item_fill_duration(&cell, item_number(item, "frozen_for_ms"));
    item_fill_duration(&most, item_number(item, "frozen_for_max_ms"));
    if (strcmp(cell.text, "-") != 0 && strcmp(most.text, "-") != 0) {
        char text[64];

        snprintf(text, sizeof(text), "%s to %s", cell.text, most.text);
        table_cell_format(&cell, "%s", text);
    }
    report_field(report, "frozen for", &cell);
    item_fill_duration(&cell, item_number(item, "threshold_ms"));
    report_field(report, "threshold", &cell);
    item_fill_number(&cell, item, "snaps");
    report_field(report, "snaps", &cell);
}

static void show_last(struct report *report, const json_t *last)
{
    struct table_cell cause;

    if (!json_is_object(last))
        return;
    item_fill_cause(&cause, last);
    report_field(report, "was", &cause);
}

/* Times and switches of the time in which it was examined. */
static void show_share(struct report *report, const json_t *kernel)
{
    long long window_ms = item_number(kernel, "window_ms");
    long long cpu_ms = item_number(kernel, "cpu_ms"), wait_ms = item_number(kernel, "wait_ms");
    struct table_cell cell;

    if (window_ms <= 0)
        return;
    table_cell_format(&cell, "%lld ms on a processor and %lld ms ready for one, of %lld ms",
                      cpu_ms != ITEM_UNKNOWN ? cpu_ms : 0, wait_ms != ITEM_UNKNOWN ? wait_ms : 0, window_ms);
    report_field(report, "used", &cell);
}

static void show_kernel(struct report *report, const json_t *kernel)
{
    const json_t *holder = json_object_get(kernel, "holder"), *denied = json_object_get(kernel, "denied");
    struct table_cell cell;

    if (!json_is_object(kernel))
        return;
    report_section(report, "kernel");
    field(report, "task state", json_object_get(kernel, "state"));
    field(report, "call", json_object_get(kernel, "syscall"));
    item_fill_number(&cell, kernel, "fd");
    report_field(report, "descriptor", &cell);
    field(report, "target", json_object_get(kernel, "target"));
    if (json_is_object(holder)) {
        table_cell_format(
            &cell, "%s[%lld]",
            json_is_string(json_object_get(holder, "comm")) ? json_string_value(json_object_get(holder, "comm")) : "",
            item_number(holder, "pid"));
        report_field(report, "holder", &cell);
    }
    item_fill_duration(&cell, item_number(kernel, "asked_ms"));
    report_field(report, "asked for", &cell);
    field(report, "wchan", json_object_get(kernel, "wchan"));
    field(report, "mode", json_object_get(kernel, "mode"));
    show_share(report, kernel);
    for (size_t i = 0; i < json_array_size(denied); i++)
        field(report, "denied", json_array_get(denied, i));
}

static void show_trail(struct report *report, const json_t *trail)
{
    size_t i;
    json_t *entry;

    if (json_array_size(trail) == 0)
        return;
    report_section(report, "breadcrumbs, newest first");
    json_array_foreach(trail, i, entry)
    {
        struct table_cell where, line;

        item_fill_where(&where, entry, false);
        table_cell_format(&line, "#%lld  %.*s", item_number(entry, "count"), (int)where.bytes, where.text);
        report_line(report, &line);
    }
}

/* ---- the chain ---- */

/*
 * The item of a member of a chain: of those that are known, else asked for, unless hosts is NULL. The caller's
 * reference; NULL: there is none.
 */
static json_t *find_member(struct hosts *hosts, size_t host, const json_t *known, const json_t *member)
{
    const char *ring = json_string_value(json_object_get(member, "ring"));
    json_int_t id = json_integer_value(json_object_get(member, "id"));
    char target[TARGET_BYTES] = "/threads/";
    json_t *document, *item, *thread;
    size_t i;

    json_array_foreach(known, i, item) if (item_same_id(item, member)) return json_incref(item);
    if (hosts == NULL || ring == NULL || !json_is_integer(json_object_get(member, "id")) || id < 0 ||
        client_target_escape(target, sizeof(target) - 32, ring) != 0)
        return NULL;
    snprintf(target + strlen(target), 32, "/%" JSON_INTEGER_FORMAT "?trail=1", id);
    document = hosts_get_one(hosts, host, target, "ripd/thread/1");
    thread = json_incref(json_object_get(document, "thread"));
    json_decref(document);
    return thread;
}

static void show_member(struct report *report, unsigned depth, const json_t *member, const json_t *item, bool again)
{
    struct table_cell name, cause, where, line;

    item_fill_member(&name, member);
    item_fill_cause(&cause, item != NULL ? item : member);
    item_fill_where(&where, json_object_get(item, "location"), false);
    if (again)
        table_cell_format(&line, "%.*s, who is above: a deadlock", (int)name.bytes, name.text);
    else
        table_cell_format(&line, "%.*s  %.*s  in %.*s", (int)name.bytes, name.text, (int)cause.bytes, cause.text,
                          (int)where.bytes, where.text);
    if (depth == 0 || again)
        line.colour = cause.colour;
    report_node(report, depth, &line);
}

static bool is_deadlocked(const json_t *stall)
{
    const char *cause = json_string_value(json_object_get(stall, "cause"));

    return cause != NULL && strcmp(cause, "deadlock") == 0;
}

/* The waiter, below it whom it waits for, and so on. A chain that comes back to a member ends there. */
static void show_chain(struct report *report, struct hosts *hosts, size_t host, const json_t *known,
                       const json_t *waiter)
{
    const json_t *chain = json_object_get(waiter, "waits_for"), *last = NULL;
    long long left_out = item_number(waiter, "waits_for_left_out");
    unsigned depth = 0;
    size_t i;
    json_t *member;

    if (json_array_size(chain) == 0)
        return;
    report_section(report, "waits for");
    show_member(report, depth++, waiter, waiter, false);
    json_array_foreach(chain, i, member)
    {
        bool again = item_same_id(member, waiter);
        json_t *item;

        if (left_out > 0 && i + 1 == json_array_size(chain)) {
            struct table_cell more;

            table_cell_format(&more, "%lld more", left_out);
            report_node(report, depth++, &more);
        }
        item = again ? NULL : find_member(hosts, host, known, member);
        show_member(report, depth++, member, item, again);
        if (item != NULL && i + 1 == json_array_size(chain))
            last = item;
        else
            json_decref(item);
    }
    /* a chain that hangs on a deadlock ends at the last of its members */
    if (last != NULL && !is_deadlocked(waiter) && json_array_size(json_object_get(last, "waits_for")) != 0)
        show_member(report, depth, json_array_get(json_object_get(last, "waits_for"), 0), NULL, true);
    json_decref((json_t *)(uintptr_t)last);
}

static bool waits_directly_for(const json_t *stall, const json_t *member)
{
    return item_same_id(json_array_get(json_object_get(stall, "waits_for"), 0), member);
}

/* Those that wait for a member, below it, and those that wait for them. The members of a deadlock stand above. */
static void show_waiters(struct report *report, unsigned depth, const json_t *stalls, const json_t *member)
{
    struct table_cell cell;
    size_t count = 0, i;
    json_t *stall;

    json_array_foreach(stalls, i, stall)
    {
        if (!waits_directly_for(stall, member) || is_deadlocked(stall))
            continue;
        if (count++ >= WAITERS_SHOWN)
            continue;
        show_member(report, depth, stall, stall, false);
        if (depth < WAITERS_DEPTH_MAX)
            show_waiters(report, depth + 1, stalls, stall);
    }
    if (count > WAITERS_SHOWN) {
        table_cell_format(&cell, "%zu more", count - WAITERS_SHOWN);
        report_node(report, depth, &cell);
    }
}

static bool holds_up_somebody(const json_t *stalls, const json_t *member)
{
    size_t i;
    json_t *stall;

    json_array_foreach(stalls, i, stall) if (waits_directly_for(stall, member) && !is_deadlocked(stall)) return true;
    return false;
}

/* Of a root, or of each member of a deadlock: it, and below it who waits for it. */
static void show_held_up(struct report *report, const json_t *stalls, const struct incident *incident)
{
    const json_t *chain = json_object_get(incident->shown, "waits_for");
    size_t i;
    json_t *member;

    if (!incident->is_root || incident->waiting_count == 0)
        return;
    report_section(report, "held up");
    if (json_array_size(chain) == 0) {
        show_member(report, 0, incident->shown, incident->shown, false);
        show_waiters(report, 1, stalls, incident->shown);
    }
    json_array_foreach(chain, i, member)
    {
        json_t *item = holds_up_somebody(stalls, member) ? find_member(NULL, 0, stalls, member) : NULL;

        if (item == NULL)
            continue;
        show_member(report, 0, member, item, false);
        show_waiters(report, 1, stalls, member);
        json_decref(item);
    }
}

/* The functions inlined at a place, or around it. */
static void show_frames(struct report *report, const char *name, const json_t *frames)
{
    struct table_cell cell;
    size_t i;
    json_t *frame;

    json_array_foreach(frames, i, frame)
    {
        item_fill_where(&cell, frame, false);
        report_field(report, name, &cell);
    }
}

void show_item(struct report *report, struct hosts *hosts, size_t host, const json_t *known, const json_t *item)
{
    const json_t *location = json_object_get(item, "location");
    const char *module = json_string_value(json_object_get(location, "module"));
    const char *offset = json_string_value(json_object_get(location, "offset"));
    struct table_cell cell;

    item_fill_sentence(&cell, item);
    report_title(report, &cell);
    if (hosts_named(hosts)) {
        table_cell_format(&cell, "%s", hosts_name(hosts, host));
        report_field(report, "host", &cell);
    }
    field(report, "ring", json_object_get(item, "ring"));
    item_fill_number(&cell, item, "id");
    report_field(report, "id", &cell);
    item_fill_number(&cell, item, "tid");
    report_field(report, "tid", &cell);
    field(report, "source", json_object_get(item, "source"));
    field(report, "note", json_object_get(item, "note"));
    show_process(report, item);
    show_times(report, item);
    show_last(report, json_object_get(item, "last"));
    item_fill_where(&cell, location, false);
    report_field(report, "where", &cell);
    if (module != NULL && offset != NULL) {
        table_cell_format(&cell, "%s+%s", module, offset);
        report_field(report, "offset", &cell);
    }
    field(report, "build id", json_object_get(location, "build_id"));
    show_frames(report, "inlined", json_object_get(location, "inlined"));
    show_frames(report, "inlined in", json_object_get(location, "inlined_into"));
    show_kernel(report, json_object_get(item, "kernel"));
    show_chain(report, hosts, host, known, item);
    show_trail(report, json_object_get(item, "trail"));
}

/* ---- a process, a unit or a ring ---- */

static const struct table_column thread_columns[] = {
    {"STATE", 7, 15, false},  {"AGE", 5, 8, true},      {"ID", 5, 10, true},
    {"THREAD", 8, 28, false}, {"WHERE", 16, 60, false}, {"ON", 0, TEXT_ANY_COLUMNS, false},
};
#define THREAD_COLUMNS (sizeof(thread_columns) / sizeof(thread_columns[0]))

static void fill_thread_row(struct table_cell *cells, const json_t *item, bool brief)
{
    item_fill_cause(&cells[0], item);
    item_fill_duration(&cells[1], item_number(item, "frozen_for_ms"));
    item_fill_number(&cells[2], item, "id");
    item_fill_thread(&cells[3], item);
    item_fill_where(&cells[4], json_object_get(item, "location"), brief);
    item_fill_on(&cells[5], item);
}

/* What is looked for comes first, what moves last. */
static int rank_of(const json_t *item)
{
    static const char *const states[] = {"stalled", "not moving", "stopped", "dead", "exited", "idle", "running"};
    const char *state = json_string_value(json_object_get(item, "state"));
    int rank = 0;

    while (rank < (int)(sizeof(states) / sizeof(states[0])) && (state == NULL || strcmp(state, states[rank]) != 0))
        rank++;
    return rank;
}

static int compare_threads(const void *left, const void *right)
{
    const json_t *a = *(const json_t *const *)left, *b = *(const json_t *const *)right;
    long long age_a = item_number(a, "frozen_for_ms"), age_b = item_number(b, "frozen_for_ms");

    if (rank_of(a) != rank_of(b))
        return rank_of(a) - rank_of(b);
    return (age_a < age_b) - (age_a > age_b);
}

/* As a table also in Markdown: indented by four columns it is text. */
static void print_threads(const struct report *report, const json_t *const *items, size_t count)
{
    struct table_cell cells[THREAD_COLUMNS];
    struct table table;
    size_t shown = count < THREADS_SHOWN ? count : THREADS_SHOWN;
    bool brief;

    table_init(&table, thread_columns, THREAD_COLUMNS, true);
    if (report->markdown)
        table.style = (struct text_style){.utf8 = table.style.utf8, .columns = TEXT_ANY_COLUMNS};
    table.indent = report->markdown ? 4 : 2;
    brief = table.style.columns != TEXT_ANY_COLUMNS;
    for (size_t i = 0; i < shown; i++) {
        fill_thread_row(cells, items[i], brief);
        table_fit(&table, cells);
    }
    table_settle(&table);
    table_print_titles(&table);
    for (size_t i = 0; i < shown; i++) {
        fill_thread_row(cells, items[i], brief);
        table_print(&table, cells);
    }
}

static void show_threads(struct report *report, const json_t *document)
{
    const json_t *threads = json_object_get(document, "threads");
    size_t count = json_array_size(threads);
    const json_t **items = calloc(count + 1, sizeof(*items));
    long long total = item_number(document, "total");
    struct table_cell cell;

    if (items == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        items[i] = json_array_get(threads, i);
    qsort(items, count, sizeof(*items), compare_threads);
    report_section(report, "threads");
    print_threads(report, items, count);
    if (total > (long long)THREADS_SHOWN) {
        table_cell_format(&cell, "%lld more; `rip top` scrolls through all", total - (long long)THREADS_SHOWN);
        report_line(report, &cell);
    }
    free(items);
}

static void show_counts(struct report *report, const json_t *document)
{
    static const char *const states[] = {"running", "idle", "stalled", "stopped", "exited", "dead"};
    char text[256] = "";
    struct table_cell cell;

    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (frame_count(document, states[i]) != 0)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%lld %s", text[0] != '\0' ? ", " : "",
                     frame_count(document, states[i]), states[i]);
    table_cell_format(&cell, "%s", text[0] != '\0' ? text : "-");
    report_field(report, "ids", &cell);
}

static void show_incidents(struct report *report, struct hosts *hosts, size_t host, const json_t *stalls)
{
    struct incident *incidents = NULL;
    size_t count = 0;

    if (incidents_of(stalls, &incidents, &count) != 0)
        return;
    for (size_t i = 0; i < count && i < INCIDENTS_MAX; i++) {
        struct table_cell cell;

        item_fill_sentence(&cell, incidents[i].shown);
        report_section(report, "stalled");
        report_line(report, &cell);
        if (incidents[i].waiting_count != 0) {
            table_cell_format(&cell, "%zu", incidents[i].waiting_count);
            report_field(report, incidents[i].is_root ? "wait for it" : "wait", &cell);
        }
        show_chain(report, hosts, host, stalls, incidents[i].shown);
        show_held_up(report, stalls, &incidents[i]);
    }
    free(incidents);
}

static void show_group(struct report *report, struct hosts *hosts, size_t host, const struct choice *choice,
                       const json_t *threads)
{
    const json_t *first = json_array_get(json_object_get(threads, "threads"), 0);
    char target[TARGET_BYTES] = "/stalls?trail=0&limit=" THREADS_ASKED;
    struct table_cell cell;
    json_t *stalls = NULL;

    if (client_target_add(target, sizeof(target), choice->parameter, choice->value) == 0)
        stalls = hosts_get_one(hosts, host, target, "ripd/stalls/1");
    table_cell_format(&cell, "%s %s", choice->parameter, choice->value);
    report_title(report, &cell);
    if (hosts_named(hosts)) {
        table_cell_format(&cell, "%s", hosts_name(hosts, host));
        report_field(report, "host", &cell);
    }
    field(report, "ring", json_object_get(first, "ring"));
    if (strcmp(choice->parameter, "pid") == 0)
        show_process(report, first);
    show_counts(report, threads);
    show_incidents(report, hosts, host, json_object_get(stalls, "stalls"));
    show_threads(report, threads);
    json_decref(stalls);
}

/* ---- what the words name ---- */

static bool is_number(const char *text)
{
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 10;
}

/* The nth of what a word may name; false: there is no more. */
static bool next_choice(const char *word, unsigned nth, struct choice *ret_choice)
{
    static const char *const parameters[] = {"pid", "ring", "unit", "unit"};
    bool number = is_number(word) && strtoull(word, NULL, 10) != 0 && strtoull(word, NULL, 10) <= INT32_MAX;
    size_t i = number ? nth : nth + 1;
    int length;

    if (i >= sizeof(parameters) / sizeof(parameters[0]))
        return false;
    ret_choice->parameter = parameters[i];
    length = snprintf(ret_choice->value, sizeof(ret_choice->value), "%s%s", word, i == 3 ? ".service" : "");
    return length > 0 && (size_t)length < sizeof(ret_choice->value);
}

static bool any_total(const struct hosts *hosts)
{
    for (size_t i = 0; i < hosts_count(hosts); i++)
        if (item_number(hosts_document(hosts, i), "total") > 0)
            return true;
    return false;
}

/* Asks for the ids of what the word names. CLI_OK, or the exit status after an error message. */
static int find(struct hosts *hosts, const char *word, const char *name, struct choice *ret_choice)
{
    for (unsigned nth = 0; next_choice(word, nth, ret_choice); nth++) {
        char target[TARGET_BYTES];

        snprintf(target, sizeof(target), "/threads?trail=0&limit=%s", name != NULL ? "2" : THREADS_ASKED);
        if (client_target_add(target, sizeof(target), ret_choice->parameter, ret_choice->value) != 0 ||
            (name != NULL && !is_number(name) && client_target_add(target, sizeof(target), "name", name) != 0))
            break;
        hosts_get(hosts, target, "ripd/threads/1", "threads");
        if (any_total(hosts))
            return CLI_OK;
        if (frame_answered(hosts) == 0 && nth == 0)
            return hosts_report(hosts);
        if (frame_answered(hosts) == 0)
            break; /* an older ripd does not know units */
    }
    cli_error("show: '%.100s'%s%.100s: no process, unit or ring that ripd knows; `rip ls` lists them", word,
              name != NULL ? " " : "", name != NULL ? name : "");
    return CLI_UNREACHABLE;
}

/* One id with its whole trail. name: its number, or NULL if `first` is the one. */
static json_t *get_id(struct hosts *hosts, size_t host, const json_t *first, const char *number)
{
    const char *ring = json_string_value(json_object_get(first, "ring"));
    char target[TARGET_BYTES] = "/threads/";
    json_t *document, *thread;

    if (ring == NULL || client_target_escape(target, sizeof(target) - 32, ring) != 0)
        return NULL;
    if (number != NULL)
        snprintf(target + strlen(target), 32, "/%.10s", number);
    else
        snprintf(target + strlen(target), 32, "/%lld", item_number(first, "id"));
    document = hosts_get_one(hosts, host, target, "ripd/thread/1");
    thread = json_incref(json_object_get(document, "thread"));
    json_decref(document);
    return thread;
}

static bool show_one(struct report *report, struct hosts *hosts, size_t host, const struct settings *settings,
                     const char *name)
{
    const json_t *document = hosts_document(hosts, host);
    const json_t *first = json_array_get(json_object_get(document, "threads"), 0);
    json_t *item = first != NULL ? get_id(hosts, host, first, is_number(name) ? name : NULL) : NULL;
    bool found = json_is_object(item);

    if (found && settings->hosts.json)
        hosts_print_json(hosts, host, item);
    else if (found)
        show_item(report, hosts, host, NULL, item);
    if (found && !is_number(name) && item_number(document, "total") > 1)
        cli_error("show: '%.100s': %lld ids have such a name; this is the first", name, item_number(document, "total"));
    json_decref(item);
    return found;
}

static void print_threads_json(const struct hosts *hosts, size_t host)
{
    const json_t *threads = json_object_get(hosts_document(hosts, host), "threads");
    size_t i;
    json_t *item;

    json_array_foreach(threads, i, item) hosts_print_json(hosts, host, item);
}

static int show(struct hosts *hosts, const struct settings *settings, const char *word, const char *name)
{
    struct choice choice;
    struct report report;
    bool found = false;
    int status = find(hosts, word, name, &choice);

    if (status != CLI_OK)
        return status;
    report_init(&report, settings->markdown);
    status = hosts_report(hosts);
    for (size_t i = 0; i < hosts_count(hosts); i++) {
        if (item_number(hosts_document(hosts, i), "total") <= 0)
            continue;
        if (name != NULL) {
            found |= show_one(&report, hosts, i, settings, name);
            continue;
        }
        found = true;
        if (settings->hosts.json)
            print_threads_json(hosts, i);
        else
            show_group(&report, hosts, i, &choice, hosts_document(hosts, i));
    }
    if (found)
        return status;
    cli_error("show: '%.100s': no such id of %.100s", name, word);
    return CLI_UNREACHABLE;
}

int cli_show(int argc, char **argv)
{
    static struct settings settings = {.hosts.reads_rings = true};
    const char *words[2] = {NULL, NULL};
    struct hosts *hosts = NULL;
    size_t count = 0;
    int status;

    if (!cli_parse_words(&cli_show_syntax, argc, argv, &settings, words, 2, &count, &status))
        return status;
    if (count == 0 || words[0][0] == '\0' || (count == 2 && words[1][0] == '\0')) {
        cli_error("show: expected a process, a unit or a ring; `rip ls` lists them");
        return CLI_USAGE;
    }
    if (settings.markdown && settings.hosts.json) {
        cli_error("show: --markdown: expected without --json");
        return CLI_USAGE;
    }
    signal(SIGPIPE, SIG_IGN); /* a write to a reader that has gone is an error instead */
    status = hosts_open(&hosts, &settings.hosts, "show");
    if (status != CLI_OK)
        return status;
    status = show(hosts, &settings, words[0], words[1]);
    hosts_close(hosts);
    return status;
}
