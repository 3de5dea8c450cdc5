/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c - `rip show`: everything known about one id, or about what is stuck in a process, a unit or a ring.
 *
 * Guarantees
 *   A. The ids that an id waits for are shown as a tree, and those that wait for it as another. Each member is shown
 *      with its state and its location, in a deadlock every member. Many ids that wait at one location are one line
 *      with their number.
 *   B. The table of a process counts all its threads. Deadlocks and ids that hold up others come first, then ids that
 *      wait, then those that are idle or move; within each group the longest first. Three or more that do the same at
 *      one location are one line with their number, unless all are requested.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/query.h"
#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/hosts.h"
#include "cli/incidents.h"
#include "cli/item.h"
#include "cli/list.h"
#include "cli/local.h"
#include "cli/report.h"
#include "cli/show.h"
#include "cli/table.h"
#include "detect/state.h"
#include "util/array.h"

#define TARGET_BYTES FILTERS_TARGET_BYTES
#define INCIDENTS_MAX 5u /* shown in full; further ones are lines of the table */
#define THREADS_ASKED "10000"
#define WAITERS_SHOWN 10u /* lines per member */
#define WAITERS_DEPTH_MAX 8u
#define FOLDED_MIN 3u /* equal threads per line */
#define KEY_BYTES (3u * TABLE_CELL_BYTES)

struct settings {
    struct hosts_options hosts;
    bool markdown;
    bool all;
};

static struct settings settings = {.hosts.reads_rings = true};

static const struct cli_flag flags[] = {
    CLI_FLAG("--markdown", NULL, CLI_SWITCH, markdown, "print a report to paste into a ticket"),
    CLI_FLAG("--all", NULL, CLI_SWITCH, all, "print one line per thread, even if several do the same at one place"),
    HOSTS_FLAGS,
    HOSTS_DIR_FLAG,
};

const struct cli_syntax cli_show_syntax = {
    .name = "show",
    .usage = "usage: rip show [FLAG...] PID|UNIT|RING [ID|NAME]\n"
             "\n"
             "Shows everything about one id, or what is stuck in a process and where its other threads are.\n"
             "\n",
    .notes = "\n"
             "exit status: 0; 1 a ripd does not answer, or there is no such process, unit, ring or id; 2 wrong flag;\n"
             "3 an answer is not from ripd; 4 output could not be written\n",
    .words_max = 2,
    .missing = "expected a process, a unit or a ring; `rip ls` lists them",
    CLI_FLAGS(flags),
};

/* What the words name: one parameter of the lists. */
struct choice {
    const char *parameter;
    char value[QUERY_PATTERN_BYTES];
};

/* ---- ids that wait for one another ---- */

/* Ids with the same key do the same at one location. */
static void make_key(char key[KEY_BYTES], const json_t *item)
{
    struct table_cell cause, where, on;

    item_fill_cause(&cause, item);
    item_fill_where(&where, json_object_get(item, "location"));
    item_fill_on(&on, item);
    snprintf(key, KEY_BYTES, "%s\n%s\n%s", cause.text, where.text, on.text);
}

/*
 * Returns an id with part of its trail, by the ring of an object. The caller owns the reference. Returns NULL if there
 * is none.
 */
static json_t *get_id(size_t host, const json_t *object, long long id, const char *trail)
{
    char target[TARGET_BYTES];
    json_t *document, *thread;

    if (!item_target(target, sizeof(target), object, id) ||
        (trail != NULL && !client_target_add(target, sizeof(target), "trail", trail)))
        return NULL;
    document = hosts_get_one(host, target, "ripd/thread/1");
    thread = json_incref(json_object_get(document, "thread"));
    json_decref(document);
    return thread;
}

/*
 * Returns the item of a member of a chain, from an array of items. The caller owns the reference. Returns NULL if it is
 * not in the array.
 */
static json_t *find_member(const json_t *known, const json_t *member)
{
    json_t *item;
    size_t i;

    json_array_foreach(known, i, item) if (item_same_id(item, member)) return json_incref(item);
    return NULL;
}

/* waiter: the id with the chain. alike: number of equal members. again: it was already shown above. */
static void show_member(struct report *report, unsigned depth, const json_t *waiter, const json_t *member,
                        const json_t *item, size_t alike, bool again)
{
    struct table_cell cause, where, line;

    table_cell_clear(&line);
    item_add_member(&line, member, json_object_get(waiter, "waits_for"), waiter);
    item_fill_cause(&cause, item != NULL ? item : member);
    item_fill_where(&where, json_object_get(item, "location"));
    if (alike != 0)
        table_cell_add(&line, " and %zu more", alike);
    if (again)
        table_cell_add(&line, ", shown above: a deadlock");
    else if (cause.bytes != 0 || where.bytes != 0) /* otherwise a thread without an id */
        table_cell_add(&line, "  %s  in %s", cause.bytes != 0 ? cause.text : "-", where.bytes != 0 ? where.text : "-");
    if (depth == 0 || again)
        line.colour = cause.colour;
    report_node(report, depth, &line);
}

/* A chain that returns to a member ends there. */
static void lock_tree_chain(struct report *report, size_t host, const json_t *known, const json_t *waiter)
{
    const json_t *chain = json_object_get(waiter, "waits_for"), *last = NULL;
    long long left_out = item_number(waiter, "waits_for_left_out");
    unsigned depth = 0;
    size_t i;
    json_t *member;

    if (json_array_size(chain) == 0)
        return;
    report_section(report, "waits for");
    show_member(report, depth++, waiter, waiter, waiter, 0, false);
    json_array_foreach(chain, i, member)
    {
        bool again = item_same_id(member, waiter);
        json_t *item;

        if (left_out > 0 && i + 1 == json_array_size(chain)) {
            struct table_cell more;

            table_cell_format(&more, "%lld more", left_out);
            report_node(report, depth++, &more);
        }
        item = again ? NULL : find_member(known, member);
        if (item == NULL && !again)
            item = get_id(host, member, item_number(member, "id"), "1");
        show_member(report, depth++, waiter, member, item, 0, again);
        if (item != NULL && i + 1 == json_array_size(chain))
            last = item;
        else
            json_decref(item);
    }
    /* a chain that leads to a deadlock ends at its last member */
    if (last != NULL && !item_is(waiter, "cause", "deadlock") &&
        json_array_size(json_object_get(last, "waits_for")) != 0)
        show_member(report, depth, waiter, json_array_get(json_object_get(last, "waits_for"), 0), NULL, 0, true);
    json_decref((json_t *)(uintptr_t)last);
}

/* ---- waiters ---- */

/*
 * Returns arrays of the stalls that wait directly for an id, by its key, without members of deadlocks, which are shown
 * above.
 */
static json_t *index_waiters(const json_t *stalls)
{
    json_t *waiters = json_object(), *stall;
    size_t i;

    json_array_foreach(stalls, i, stall)
    {
        char key[ITEM_KEY_BYTES];

        if (item_is(stall, "cause", "deadlock") ||
            !item_make_key(key, json_array_get(json_object_get(stall, "waits_for"), 0)))
            continue;
        if (json_object_get(waiters, key) == NULL)
            json_object_set_new_nocheck(waiters, key, json_array());
        json_array_append(json_object_get(waiters, key), stall);
    }
    return waiters;
}

/* Returns NULL if no stall waits for it. */
static const json_t *waiters_of(const json_t *waiters, const json_t *member)
{
    char key[ITEM_KEY_BYTES];

    return item_make_key(key, member) ? json_object_get(waiters, key) : NULL;
}

/* Counts equal items of a list, by key, except those for which others wait: they have their own lines. */
static json_t *count_alike(const json_t *waiters, const json_t *list)
{
    json_t *counts = json_object(), *stall;
    char key[KEY_BYTES];
    size_t i;

    json_array_foreach(list, i, stall)
    {
        make_key(key, stall);
        if (waiters_of(waiters, stall) == NULL)
            table_count(counts, key, 1);
    }
    return counts;
}

/* Prints the stalls that wait for a member, and below each the stalls that wait for it; equal ones are one line. */
static void show_waiters(struct report *report, unsigned depth, const json_t *waiters, const json_t *member)
{
    const json_t *list = waiters_of(waiters, member);
    json_t *counts = count_alike(waiters, list), *stall;
    size_t lines = 0, left_out = 0, i;
    struct table_cell cell;

    json_array_foreach(list, i, stall)
    {
        const bool holds = waiters_of(waiters, stall) != NULL;
        char key[KEY_BYTES];
        json_int_t alike;

        make_key(key, stall);
        alike = holds ? 1 : json_integer_value(json_object_get(counts, key));
        if (alike == 0)
            continue; /* already shown with an equal one */
        if (lines++ >= WAITERS_SHOWN) {
            left_out++;
            continue;
        }
        show_member(report, depth, stall, stall, stall, (size_t)alike - 1, false);
        if (!holds)
            json_object_del(counts, key);
        else if (depth < WAITERS_DEPTH_MAX)
            show_waiters(report, depth + 1, waiters, stall);
    }
    if (left_out != 0) {
        table_cell_format(&cell, "%zu more", left_out);
        report_node(report, depth, &cell);
    }
    json_decref(counts);
}

static void lock_tree_held_up(struct report *report, const json_t *stalls, const json_t *shown)
{
    const json_t *chain = json_object_get(shown, "waits_for");
    json_t *waiters, *member;
    size_t i;

    if (!json_is_true(json_object_get(shown, "is_root")) || item_number(shown, "waiting") <= 0)
        return;
    waiters = index_waiters(stalls);
    report_section(report, "held up");
    if (json_array_size(chain) == 0) {
        show_member(report, 0, shown, shown, shown, 0, false);
        show_waiters(report, 1, waiters, shown);
    }
    json_array_foreach(chain, i, member)
    {
        json_t *item = waiters_of(waiters, member) != NULL ? find_member(stalls, member) : NULL;

        if (item == NULL)
            continue;
        show_member(report, 0, shown, member, item, 0, false);
        show_waiters(report, 1, waiters, member);
        json_decref(item);
    }
    json_decref(waiters);
}

/* ---- the table of threads ---- */

/* Problems come first, ids that move come last. */
static int rank_of(const json_t *item)
{
    static const char *const states[] = {"stalled", "not moving", "stopped", "dead", "exited", "idle", "running"};
    int rank = 0;

    while (rank < (int)(ARRAY_COUNT(states)) && !item_is(item, "state", states[rank]))
        rank++;
    if (rank != 0)
        return rank + 2;
    if (item_is(item, "cause", "deadlock"))
        return 0;
    return json_array_size(json_object_get(item, "waits_for")) == 0 ? 1 : 2;
}

static int compare_threads(const void *left, const void *right)
{
    const json_t *a = ((const struct list_row *)left)->item, *b = ((const struct list_row *)right)->item;
    const long long rank_a = item_number(a, "rank"), rank_b = item_number(b, "rank");
    const long long age_a = item_number(a, "frozen_for_ms"), age_b = item_number(b, "frozen_for_ms");

    return rank_a != rank_b ? (rank_a > rank_b) - (rank_a < rank_b) : (age_a < age_b) - (age_a > age_b);
}

/* Keeps the first of equal threads, if there are enough of them, with the number of the others. */
static void fold(struct list *threads)
{
    json_t *counts = json_object();
    const size_t count = threads->count;
    char key[KEY_BYTES];

    for (size_t i = 0; i < count; i++) {
        make_key(key, threads->rows[i].item);
        table_count(counts, key, 1);
    }
    threads->count = 0;
    for (size_t i = 0; i < count; i++) {
        json_t *item = threads->rows[i].item;
        json_int_t alike;

        make_key(key, item);
        alike = json_integer_value(json_object_get(counts, key));
        if (alike < 0) { /* part of a line above */
            json_decref(item);
            continue;
        }
        if (alike >= (json_int_t)FOLDED_MIN) {
            json_object_set_new(item, "alike", json_integer(alike - 1));
            json_object_set_new_nocheck(counts, key, json_integer(-1));
        }
        threads->rows[threads->count++].item = item;
    }
    json_decref(counts);
}

static void fill_thread(struct table_cell *cell, const json_t *item)
{
    struct table_cell name;

    item_fill_thread(cell, item);
    if (json_object_get(item, "alike") == NULL)
        return;
    item_fill_thread(&name, item);
    table_cell_format(cell, "%s and %lld more", name.text, item_number(item, "alike"));
}

/* Also a table in Markdown: lines indented by four columns are literal. */
static void print_threads(const struct report *report, const json_t *items)
{
    static const struct table_column columns[] = {
        {"STATE", 7, 15, .fill = item_fill_cause},
        {"AGE", 6, 8, true, .key = "frozen_for_ms", .fill = item_fill_ms},
        {"ID", 5, 10, true, .key = "id"},
        {"THREAD", 20, 40, .fill = fill_thread},
        {"WHERE", 20, 60, .key = "location", .fill_columns = list_fill_where},
        {"ON", 0, TEXT_ANY_COLUMNS, .fill = item_fill_on},
    };
    struct list list;
    json_t *item;
    size_t i;

    list_init(&list, false, false, columns, ARRAY_COUNT(columns));
    if (report->markdown)
        list.table.style = (struct text_style){.utf8 = list.table.style.utf8, .columns = TEXT_ANY_COLUMNS};
    list.table.indent = report->markdown ? 4 : 2;
    json_array_foreach(items, i, item)
    {
        json_object_set_new(item, "rank", json_integer(rank_of(item)));
        list_add(&list, 0, json_incref(item));
    }
    list_sort(&list, compare_threads);
    if (!settings.all)
        fold(&list);
    list_print(&list, 0, list.count);
    list_done(&list);
}

/* ---- one id ---- */

static void fill_attested(struct table_cell *cell, const json_t *item)
{
    table_cell_clear(cell);
    if (json_is_false(table_member(item, "process.attested")) && !item_is(item, "state", "dead"))
        table_cell_add(cell, "no: its pid is what the ring claims");
}

static void fill_frozen(struct table_cell *cell, const json_t *item)
{
    struct table_cell most;

    item_fill_ms(cell, json_object_get(item, "frozen_for_ms"));
    item_fill_ms(&most, json_object_get(item, "frozen_for_max_ms"));
    if (cell->bytes != 0 && most.bytes != 0 && strcmp(cell->text, most.text) != 0)
        table_cell_add(cell, " to %s", most.text);
}

static void fill_offset(struct table_cell *cell, const json_t *location)
{
    const char *module = item_text(location, "module"), *offset = item_text(location, "offset");

    table_cell_clear(cell);
    if (module != NULL && offset != NULL)
        table_cell_add(cell, "%s+%s", module, offset);
}

static void fill_holder(struct table_cell *cell, const json_t *holder)
{
    const char *comm = item_text(holder, "comm");

    table_cell_clear(cell);
    if (json_is_object(holder))
        table_cell_add(cell, "%s[%lld]", comm != NULL ? comm : "", item_number(holder, "pid"));
}

/* Prints times and switches of the time in which the id was examined. */
static void fill_share(struct table_cell *cell, const json_t *kernel)
{
    long long window_ms = item_number(kernel, "window_ms");
    long long cpu_ms = item_number(kernel, "cpu_ms"), wait_ms = item_number(kernel, "wait_ms");

    table_cell_clear(cell);
    if (window_ms > 0)
        table_cell_add(cell, "ran for %lld ms and waited for a processor for %lld ms, in %lld ms",
                       cpu_ms != ITEM_UNKNOWN ? cpu_ms : 0, wait_ms != ITEM_UNKNOWN ? wait_ms : 0, window_ms);
}

/* Consecutive breadcrumbs at one place are one line. */
static void show_trail(struct report *report, const json_t *trail)
{
    const size_t count = json_array_size(trail);
    struct table_cell cell, where, next;

    if (count != 0)
        report_section(report, "breadcrumbs, newest first");
    for (size_t i = 0, alike; i < count; i += alike) {
        const json_t *entry = json_array_get(trail, i);

        item_fill_where(&where, entry);
        for (alike = 1; i + alike < count; alike++) {
            item_fill_where(&next, json_array_get(trail, i + alike));
            if (strcmp(next.text, where.text) != 0)
                break;
        }
        table_cell_format(&cell, "#%lld  %s", item_number(entry, "count"), where.bytes != 0 ? where.text : "-");
        if (alike > 1)
            table_cell_add(&cell, ", %zu times", alike);
        report_line(report, &cell);
    }
}

static const struct table_column process_fields[] = {
    {"process", .fill = item_fill_process},   {"command", .key = "process.cmdline"},     {"exe", .key = "process.exe"},
    {"unit", .key = "process.unit"},          {"container", .key = "process.container"}, {"uid", .key = "process.uid"},
    {"started", .key = "process.started_at"}, {"attested", .fill = fill_attested},
};

static const struct table_column who_fields[] = {
    {"ring", .key = "ring"},     {"id", .key = "id"},     {"tid", .key = "tid"},
    {"source", .key = "source"}, {"note", .key = "note"},
};

static const struct table_column state_fields[] = {
    {"state", .fill = item_fill_cause},
    {"idle by", .key = "reason"},
    {"since", .key = "since"},
    {"earliest", .key = "since_earliest"},
    {"frozen for", .fill = fill_frozen},
    {"threshold", .key = "threshold_ms", .fill = item_fill_ms},
    {"snaps", .key = "snaps"},
    {"was", .key = "last", .fill = item_fill_cause},
    {"where", .key = "location", .fill = item_fill_where},
    {"offset", .key = "location", .fill = fill_offset},
    {"build id", .key = "location.build_id"},
    {"inlined", .key = "location.inlined", .fill = item_fill_where},
    {"inlined in", .key = "location.inlined_into", .fill = item_fill_where},
};

static const struct table_column kernel_fields[] = {
    {"task state", .key = "state"},
    {"call", .key = "syscall"},
    {"descriptor", .key = "fd"},
    {"target", .key = "target"},
    {"holder", .key = "holder", .fill = fill_holder},
    {"asked for", .key = "asked_ms", .fill = item_fill_ms},
    {"wchan", .key = "wchan"},
    {"mode", .key = "mode"},
    {"processor", .fill = fill_share},
    {"denied", .key = "denied"},
};

void show_item(struct report *report, size_t host, const json_t *item)
{
    const json_t *kernel = json_object_get(item, "kernel");
    struct table_cell cell;

    table_cell_value(&cell, json_object_get(item, "summary"));
    report_title(report, &cell);
    if (hosts_named())
        report_text(report, "host", "%s", hosts_name(host));
    report_fields(report, item, who_fields, ARRAY_COUNT(who_fields));
    report_fields(report, item, process_fields, ARRAY_COUNT(process_fields));
    report_fields(report, item, state_fields, ARRAY_COUNT(state_fields));
    if (json_is_object(kernel)) {
        report_section(report, "kernel");
        report_fields(report, kernel, kernel_fields, ARRAY_COUNT(kernel_fields));
    }
    lock_tree_chain(report, host, NULL, item);
    show_trail(report, json_object_get(item, "trail"));
}

/* ---- a process, a unit or a ring ---- */

static void show_threads(struct report *report, const json_t *document)
{
    const json_t *threads = json_object_get(document, "threads");
    long long left_out = item_number(document, "total") - (long long)json_array_size(threads);
    struct table_cell cell;

    report_section(report, "threads");
    print_threads(report, threads);
    if (left_out > 0) {
        table_cell_format(&cell, "%lld more; `rip top` scrolls through all", left_out);
        report_line(report, &cell);
    }
}

static void fill_counts(struct table_cell *cell, const json_t *document)
{
    struct frame frame = {.answered = 0};

    table_cell_clear(cell);
    frame_add(&frame, document);
    for (int i = 0; i < ID_STATE_COUNT; i++)
        if (frame.counts[i] != 0)
            table_cell_add(cell, "%s%lld %s", cell->bytes != 0 ? ", " : "", frame.counts[i],
                           id_state_name((enum id_state)i));
}

static void show_incidents(struct report *report, size_t host, const json_t *stalls)
{
    json_t *incidents = incidents_of(stalls), *shown;
    struct table_cell cell;
    size_t i;

    json_array_foreach(incidents, i, shown)
    {
        if (i == INCIDENTS_MAX)
            break;
        table_cell_value(&cell, json_object_get(shown, "summary"));
        report_section(report, "stalled");
        report_line(report, &cell);
        if (item_number(shown, "waiting") > 0)
            report_text(report, json_is_true(json_object_get(shown, "is_root")) ? "wait for it" : "wait", "%lld",
                        item_number(shown, "waiting"));
        lock_tree_chain(report, host, stalls, shown);
        lock_tree_held_up(report, stalls, shown);
    }
    json_decref(incidents);
}

static void show_group(struct report *report, size_t host, const struct choice *choice, const json_t *threads)
{
    const json_t *list = json_object_get(threads, "threads"), *first = json_array_get(list, 0), *item;
    bool of_one_ring = true, of_one_process = json_is_integer(table_member(first, "process.pid"));
    char target[TARGET_BYTES] = "/stalls?trail=0&limit=" THREADS_ASKED;
    struct table_cell cell;
    json_t *stalls = NULL;
    size_t i;

    json_array_foreach(list, i, item) /* a pattern may match several */
    {
        of_one_ring = of_one_ring && json_equal(json_object_get(item, "ring"), json_object_get(first, "ring"));
        of_one_process =
            of_one_process && json_equal(table_member(item, "process.pid"), table_member(first, "process.pid"));
    }
    if (client_target_add(target, sizeof(target), choice->parameter, choice->value))
        stalls = hosts_get_one(host, target, "ripd/stalls/1");
    table_cell_format(&cell, "%s %s", choice->parameter, choice->value);
    report_title(report, &cell);
    if (hosts_named())
        report_text(report, "host", "%s", hosts_name(host));
    if (of_one_ring)
        report_fields(report, first, who_fields, 1);
    if (of_one_process)
        report_fields(report, first, process_fields, ARRAY_COUNT(process_fields));
    fill_counts(&cell, threads);
    report_field(report, "ids", &cell);
    show_incidents(report, host, json_object_get(stalls, "stalls"));
    show_threads(report, threads);
    json_decref(stalls);
}

/* ---- what the words name ---- */

static bool is_number(const char *text)
{
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 10;
}

/* Gets the nth interpretation of a word. Returns false if there are no more. */
static bool next_choice(const char *word, unsigned nth, struct choice *ret_choice)
{
    static const char *const parameters[] = {"pid", "ring", "unit", "unit"};
    bool number = is_number(word) && strtoull(word, NULL, 10) != 0 && strtoull(word, NULL, 10) <= INT32_MAX;
    size_t i = number ? nth : nth + 1;
    int length;

    if (i >= ARRAY_COUNT(parameters))
        return false;
    ret_choice->parameter = parameters[i];
    length = snprintf(ret_choice->value, sizeof(ret_choice->value), "%s%s", word, i == 3 ? ".service" : "");
    return length > 0 && (size_t)length < sizeof(ret_choice->value);
}

/* Requests the ids that the word names. Returns CLI_OK, or the exit status after an error message. */
static int find(const char *word, const char *name, struct choice *ret_choice)
{
    for (unsigned nth = 0; next_choice(word, nth, ret_choice); nth++) {
        char target[TARGET_BYTES];

        if (hosts_are_local() && strcmp(ret_choice->parameter, "unit") == 0)
            continue; /* a ring does not name its unit */
        snprintf(target, sizeof(target), "/threads?trail=0&limit=" THREADS_ASKED);
        if (!client_target_add(target, sizeof(target), ret_choice->parameter, ret_choice->value) ||
            (name != NULL && !is_number(name) && !client_target_add(target, sizeof(target), "name", name)))
            break;
        hosts_get(target, "ripd/threads/1", "threads");
        if (frame_of().total != 0)
            return CLI_OK;
        if (frame_of().answered == 0)
            return hosts_report();
    }
    if (name != NULL)
        return cli_fail(CLI_UNREACHABLE,
                        "'%.100s' '%.100s': no such id, or no such pid, unit or ring; `rip show %.100s` lists ids",
                        word, name, word);
    if (hosts_are_local()) {
        cli_error("'%.100s': no such pid or ring; `rip ls` lists them", word);
        (void)hosts_report(); /* names the reason if rings cannot be read */
        return CLI_UNREACHABLE;
    }
    return cli_fail(CLI_UNREACHABLE, "'%.100s': ripd has no such pid, unit or ring; `rip ls` lists them", word);
}

static bool is_stuck(const json_t *thread)
{
    return item_is(thread, "state", "stalled") || item_is(thread, "state", LOCAL_STATE);
}

/*
 * Returns the id with this name that is stuck longest, else the first, or the id with this number. Returns NULL if
 * there is none.
 */
static const json_t *choose(const json_t *threads, const char *name)
{
    const long long number = is_number(name) ? strtoll(name, NULL, 10) : ITEM_UNKNOWN;
    const json_t *chosen = json_array_get(threads, 0), *thread;
    size_t i;

    json_array_foreach(threads, i, thread)
    {
        const bool longer = item_number(thread, "frozen_for_ms") > item_number(chosen, "frozen_for_ms");

        if (number != ITEM_UNKNOWN ? item_number(thread, "id") == number
                                   : is_stuck(thread) && (!is_stuck(chosen) || longer))
            chosen = thread;
    }
    return chosen;
}

static bool show_one(struct report *report, size_t host, const char *name)
{
    const json_t *document = hosts_document(host);
    const json_t *chosen = choose(json_object_get(document, "threads"), name);
    long long id = is_number(name) ? strtoll(name, NULL, 10) : item_number(chosen, "id");
    json_t *item = get_id(host, chosen, id, NULL);
    bool found = json_is_object(item);

    if (found && settings.hosts.json)
        hosts_print_json(host, item);
    else if (found)
        show_item(report, host, item);
    if (found && !is_number(name) && item_number(document, "total") > 1)
        cli_error("'%.100s': %lld ids have this name; this is %lld, the %s; select another by its number", name,
                  item_number(document, "total"), item_number(item, "id"),
                  is_stuck(chosen) ? "one that is stuck longest" : "first");
    json_decref(item);
    return found;
}

static int show(const char *word, const char *name)
{
    struct choice choice;
    struct report report;
    bool found = false;
    const json_t *item;
    size_t j;
    int status = find(word, name, &choice);

    if (status != CLI_OK)
        return status;
    report_init(&report, settings.markdown);
    status = hosts_report();
    for (size_t i = 0; i < hosts_count(); i++) {
        if (item_number(hosts_document(i), "total") <= 0)
            continue;
        if (name != NULL)
            found |= show_one(&report, i, name);
        else if (settings.hosts.json)
            json_array_foreach(json_object_get(hosts_document(i), "threads"), j, item) hosts_print_json(i, item);
        else
            show_group(&report, i, &choice, hosts_document(i));
    }
    if (found || name == NULL)
        return status;
    return cli_fail(CLI_UNREACHABLE, "'%.100s': no such id of %.100s", name, word);
}

int cli_show(char **words)
{
    int status;

    if (words[0][0] == '\0' || (words[1] != NULL && words[1][0] == '\0'))
        return cli_fail(CLI_USAGE, "expected a process, a unit or a ring; `rip ls` lists them");
    if (settings.markdown && settings.hosts.json)
        return cli_fail(CLI_USAGE, "--markdown: expected without --json");
    status = hosts_open(&settings.hosts);
    if (status != CLI_OK)
        return status;
    return show(words[0], words[1]);
}
