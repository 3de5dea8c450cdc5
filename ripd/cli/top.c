/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.c - `rip top`: shows ids and their present state on the whole screen.
 *
 * Guarantees
 *   A. The screen never waits for ripd: a separate thread, the loader, sends all requests, and keys are handled
 *      meanwhile.
 *   B. Only visible rows are fitted to columns, however many there are. To limit the load of ripd, a list is read again
 *      after at least PAUSE_FACTOR times the time that it took.
 *   C. While a ripd does not answer, its last answer stays, with a message; updates continue when ripd is back.
 *   D. The loader handles one query at a time. A new query replaces a pending one, and ends the one in progress after
 *      its present page.
 *   E. A list is read to its end, page by page, from all hosts in parallel. A page is requested after the one before
 *      has been received.
 */
#include <assert.h>
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/hosts.h"
#include "cli/item.h"
#include "cli/list.h"
#include "cli/report.h"
#include "cli/show.h"
#include "cli/table.h"
#include "cli/top_list.h"
#include "detect/state.h"
#include "os/clock.h"
#include "util/array.h"
#include "util/text.h"

#define REFRESH_NS UINT64_C(1000000000)
#define PAUSE_FACTOR 3u
#define OLD_NS UINT64_C(5000000000) /* the age of a list older than this is shown */
#define NS_PER_S 1000000000u
#define NS_PER_MS 1000000u
#define TOP_LINES 3      /* above the rows: counts, list, titles */
#define FRAME_LINES 4    /* those, and the last line */
#define LINE_BYTES 4096u /* of the widest terminal, in UTF-8 */
#define KEY_ESCAPE 27
#define KEY_DELETE 127

struct settings {
    struct hosts_options hosts;
};

static struct settings settings;

static const struct cli_flag flags[] = {
    HOSTS_URL_FLAGS,
};

const struct cli_syntax cli_top_syntax = {
    .name = "top",
    .usage = "usage: rip top [FLAG...]\n"
             "\n"
             "Shows stalled ids, or all ids, on the whole screen, of one or several hosts.\n"
             "\n",
    .notes =
        "\n"
        "keys: up, down, page up, page down, home, end, or k, j, b, space, g, G as in less; enter opens an id,\n"
        "escape closes it; tab shows the next state; s sorts; / filters by name as it is typed; f freezes; q quits\n"
        "\n"
        "exit status: 0; 1 it cannot run; 2 wrong flag, or no terminal\n",
    CLI_FLAGS(flags),
};

/* ---- the loader ---- */

/* A query for a list of all hosts, or for the report of one id of one host as text. */
struct loader_query {
    char target[TOP_TARGET_BYTES];
    const char *schema;
    const char *list; /* the member with the items; NULL: a report of the member "thread" */
    bool whole;       /* for a list: its pages are handed over together */
    size_t host;      /* for a report */
    bool utf8;
    unsigned serial; /* returned with the answer */
};

/* The receiver owns pages and text. error: what is missing, or "". */
struct loader_answer {
    unsigned serial;
    bool first;
    bool last; /* it is the last answer */
    struct top_page *pages;
    struct frame frame; /* of the first pages; the same in each answer to a query */
    char *text;
    char error[CLIENT_ERROR_BYTES];
};

/* A host while its list is read. */
struct source {
    char target[TOP_TARGET_BYTES]; /* the next page */
    bool going;
};

/* A thread, and pipes that transfer a query or an answer atomically. */
struct loader {
    struct source *sources;
    int queries[2]; /* has at most one pending query */
    int answers[2];
};

static_assert(sizeof(struct loader_query) <= PIPE_BUF && sizeof(struct loader_answer) <= PIPE_BUF,
              "the kernel neither splits nor mixes them");

/* Returns whether there is a new query: the present one is cancelled. */
static bool is_cancelled(const struct loader *loader, int wait_ms)
{
    struct pollfd next = {.fd = loader->queries[0], .events = POLLIN};

    return poll(&next, 1, wait_ms) > 0;
}

static bool hand_over(const struct loader *loader, const struct loader_answer *answer)
{
    return write(loader->answers[1], answer, sizeof(*answer)) == (ssize_t)sizeof(*answer);
}

static char *make_report(size_t host, const json_t *item, bool utf8)
{
    struct report report = {.style = {.utf8 = utf8, .columns = TEXT_ANY_COLUMNS}};
    char *text = NULL;
    size_t bytes = 0;

    report.stream = open_memstream(&text, &bytes);
    if (report.stream == NULL)
        return NULL;
    show_item(&report, host, item);
    if (fclose(report.stream) == 0)
        return text;
    free(text);
    return NULL;
}

static void load_report(struct loader *loader, const struct loader_query *query)
{
    struct loader_answer answer = {.serial = query->serial, .last = true};
    json_t *document = hosts_get_one(query->host, query->target, query->schema);
    const json_t *item = json_object_get(document, "thread");

    if (json_is_object(item))
        answer.text = make_report(query->host, item, query->utf8);
    if (answer.text == NULL)
        snprintf(answer.error, sizeof(answer.error), "%s",
                 document == NULL ? hosts_error(query->host) : "this id is gone");
    json_decref(document);
    if (!hand_over(loader, &answer))
        free(answer.text);
}

/* Sets the next page. A host without a next page, with an empty page, or with the same page again is at its end. */
static void set_next_page(struct source *source, const struct loader_query *query, const json_t *document)
{
    const char *next = item_text(document, "next");
    char target[TOP_TARGET_BYTES];

    snprintf(target, sizeof(target), "%s", query->target);
    source->going = next != NULL && json_array_size(json_object_get(document, query->list)) != 0 &&
                    client_target_add(target, sizeof(target), "after", next) && strcmp(target, source->target) != 0;
    snprintf(source->target, sizeof(source->target), "%s", target);
}

/* Adds the host's page, or a page that marks its failure. */
static void add_page(struct loader_answer *answer, size_t host, const char *list)
{
    const json_t *document = hosts_document(host);
    struct top_page *page =
        document != NULL ? top_page_new(host, json_object_get(document, list)) : top_page_new_failed(host);
    struct top_page **at = &answer->pages;

    if (document == NULL)
        snprintf(answer->error, sizeof(answer->error), "%s", hosts_error(host));
    if (page == NULL)
        snprintf(answer->error, sizeof(answer->error), "out of memory");
    while (*at != NULL)
        at = &(*at)->next;
    *at = page;
}

/* Loads the next page of each host that has one. Returns the number of ids. */
static size_t load_pages(struct loader *loader, const struct loader_query *query, struct loader_answer *answer)
{
    const char *targets[CLI_LIST_MAX];
    size_t count = 0;

    for (size_t i = 0; i < hosts_count(); i++)
        targets[i] = loader->sources[i].going ? loader->sources[i].target : NULL;
    hosts_get_each(targets, query->schema, query->list);
    answer->last = true;
    for (size_t i = 0; i < hosts_count(); i++) {
        const json_t *document = hosts_document(i);

        if (targets[i] == NULL)
            continue;
        if (answer->first)
            frame_add(&answer->frame, document);
        count += json_array_size(json_object_get(document, query->list));
        set_next_page(&loader->sources[i], query, document);
        add_page(answer, i, query->list);
        answer->last = answer->last && !loader->sources[i].going;
    }
    return count;
}

static void load_list(struct loader *loader, const struct loader_query *query)
{
    struct loader_answer answer = {.serial = query->serial, .first = true};
    size_t count = 0;

    for (size_t i = 0; i < hosts_count(); i++) {
        loader->sources[i].going = true;
        snprintf(loader->sources[i].target, sizeof(loader->sources[i].target), "%s", query->target);
    }
    do {
        count += load_pages(loader, query, &answer);
        answer.last = answer.last || count >= TOP_IDS_MAX;
        if (query->whole && !answer.last)
            continue;
        if (!hand_over(loader, &answer))
            break;
        answer.pages = NULL;
        answer.first = false;
    } while (!answer.last && !is_cancelled(loader, 0));
    top_page_free(answer.pages);
}

static _Noreturn void *work(void *argument)
{
    struct loader *loader = argument;
    struct loader_query query;

    for (;;)
        if (is_cancelled(loader, -1) && read(loader->queries[0], &query, sizeof(query)) == (ssize_t)sizeof(query))
            (query.list != NULL ? load_list : load_report)(loader, &query);
}

/* Returns false if the thread cannot be started. It runs until the program ends. */
static bool loader_start(struct loader *loader)
{
    pthread_t thread;

    loader->sources = cli_allocate(hosts_count(), sizeof(*loader->sources));
    return pipe2(loader->queries, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(loader->answers, O_CLOEXEC) == 0 &&
           pthread_create(&thread, NULL, work, loader) == 0;
}

/* Replaces the pending query. */
static void loader_send(const struct loader *loader, const struct loader_query *query)
{
    struct loader_query former;

    while (read(loader->queries[0], &former, sizeof(former)) > 0)
        continue;
    (void)!write(loader->queries[1], query, sizeof(*query));
}

/* ---- what is shown ---- */

/* HOST is left out if there is only one host. */
static const struct table_column columns[] = {
    {"HOST", 8, 30, .right = false},   {"AGE", 6, 8, .right = true},
    {"CAUSE", 8, 15, .right = false},  {"ID", 5, 10, .right = true},
    {"THREAD", 8, 28, .right = false}, {"PROCESS", 8, 28, .right = false},
    {"WHERE", 20, 50, .right = false}, {"ON", 0, TEXT_ANY_COLUMNS, .right = false},
};
#define COLUMN_COUNT (ARRAY_COUNT(columns))

struct top {
    struct loader *loader;
    struct text_style style;
    struct top_list list;
    struct frame frame;
    char filter[TOP_FILTER_BYTES];
    bool typing;
    bool frozen;
    bool ended;
    unsigned serial; /* of the last query */
    bool asked;      /* the last answer to the query has not been received */
    uint64_t asked_mono_ns;
    uint64_t whole_mono_ns; /* when the request for the last complete list was sent */
    uint64_t next_mono_ns;
    char error[CLIENT_ERROR_BYTES];
    /* the id that is open */
    bool open;
    char open_target[TOP_TARGET_BYTES];
    size_t open_host;
    char *text; /* its report; NULL: not received yet */
    size_t first_line;
};

/* ---- queries and answers ---- */

static size_t visible_rows(void)
{
    return LINES > FRAME_LINES ? (size_t)(LINES - FRAME_LINES) : 1;
}

static void ask(struct top *top)
{
    struct loader_query query = {.utf8 = top->style.utf8, .serial = ++top->serial};

    if (top->open) {
        snprintf(query.target, sizeof(query.target), "%s", top->open_target);
        query.schema = "ripd/thread/1";
        query.host = top->open_host;
    } else {
        top_list_target(&top->list, query.target, &query.schema, &query.list);
        query.whole = top->list.whole;
    }
    top->asked = true;
    top->asked_mono_ns = clock_mono_ns();
    loader_send(top->loader, &query);
}

/* Handles a page of the list, or the last one. */
static void take_pages(struct top *top, struct loader_answer *answer)
{
    if (answer->frame.answered != 0)
        top->frame = answer->frame;
    if (answer->last && answer->frame.answered != 0)
        top->whole_mono_ns = top->asked_mono_ns;
    if (top_list_take(&top->list, answer->pages, answer->first, answer->last, visible_rows()) != 0)
        snprintf(top->error, sizeof(top->error), "out of memory");
    answer->pages = NULL;
}

static void take(struct top *top)
{
    uint64_t now_mono_ns = clock_mono_ns(), pause_ns = (now_mono_ns - top->asked_mono_ns) * PAUSE_FACTOR;
    struct loader_answer answer;

    if (read(top->loader->answers[0], &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
        return;
    if (answer.serial == top->serial) {
        top->asked = !answer.last;
        top->next_mono_ns = now_mono_ns + (pause_ns > REFRESH_NS ? pause_ns : REFRESH_NS);
        snprintf(top->error, sizeof(top->error), "%s", answer.error);
        if (answer.text != NULL) {
            free(top->text);
            top->text = answer.text;
            answer.text = NULL;
        } else if (!top->open) {
            take_pages(top, &answer);
        }
    }
    top_page_free(answer.pages);
    free(answer.text);
}

static void open_selected(struct top *top)
{
    const struct top_row *row = top_list_selected(&top->list);

    if (row == NULL)
        return;
    if (row->texts[TOP_TARGET][0] == '\0') {
        snprintf(top->error, sizeof(top->error), "this id cannot be requested: its ring has no name");
        return;
    }
    snprintf(top->open_target, sizeof(top->open_target), "%s", row->texts[TOP_TARGET]);
    top->open_host = row->host;
    free(top->text);
    top->text = NULL;
    top->first_line = 0;
    top->open = true;
    ask(top);
}

static void close_id(struct top *top)
{
    top->open = false;
    ask(top);
}

/* ---- the screen ---- */

/* Writes a line, at most as wide as the screen. */
static void put_line(const struct top *top, int row, attr_t attributes, const char *text)
{
    char shown[LINE_BYTES];

    text_fit(&top->style, text, strlen(text), COLS > 0 ? (unsigned)COLS : 1, shown, sizeof(shown));
    attrset((int)attributes);
    mvaddstr(row, 0, shown);
    clrtoeol();
    attrset(A_NORMAL);
}

static void draw_counts(const struct top *top)
{
    char line[512] = "rip top  ";

    if (hosts_named())
        text_append(line, sizeof(line), "%zu of %zu hosts", top->frame.answered, hosts_count());
    else
        text_append(line, sizeof(line), "%.200s", hosts_name(0));
    text_append(line, sizeof(line), "  %lld ids:", top->frame.ids);
    for (int state = 0; state < ID_STATE_COUNT; state++)
        if (top->frame.counts[state] != 0)
            text_append(line, sizeof(line), " %lld %s", top->frame.counts[state], id_state_name((enum id_state)state));
    put_line(top, 0, A_BOLD, line);
}

/* Shows which list it is, and warnings about it. */
static void draw_list_line(const struct top *top)
{
    const struct top_list *list = &top->list;
    uint64_t old_ns = top->whole_mono_ns != 0 ? clock_mono_ns() - top->whole_mono_ns : 0;
    char line[512] = "";

    text_append(line, sizeof(line), "%s%s: %zu of %lld", top->frozen ? "FROZEN  " : "", top_which_names[list->which],
                list->count, top->frame.total);
    if (list->count > visible_rows())
        text_append(line, sizeof(line), "  row %zu", list->selected + 1);
    if (list->sort != TOP_AS_IT_IS)
        text_append(line, sizeof(line), "  by %s", top_sort_names[list->sort]);
    if (top->typing || list->filter[0] != '\0')
        text_append(line, sizeof(line), "  /%s%s", top->filter, top->typing ? "_" : "");
    if (top->frame.unreadable != 0)
        text_append(line, sizeof(line), "  %lld rings cannot be read", top->frame.unreadable);
    if (top->frame.late_ms != 0)
        text_append(line, sizeof(line), "  ripd does not scan: this was %lld s ago", top->frame.late_ms / 1000);
    else if (old_ns > OLD_NS && list->whole)
        text_append(line, sizeof(line), "  %" PRIu64 " s ago", old_ns / NS_PER_S);
    put_line(top, 1, A_NORMAL, line);
}

static void draw_last_line(const struct top *top)
{
    if (top->error[0] != '\0')
        put_line(top, LINES - 1, A_REVERSE, top->error);
    else if (top->typing)
        put_line(top, LINES - 1, A_DIM, "type a part of the name; enter: keep   escape: clear");
    else if (top->open)
        put_line(top, LINES - 1, A_DIM, "up, down: scroll   f: freeze   escape: back   q: end");
    else
        put_line(top, LINES - 1, A_DIM, "enter: open   tab: state   s: sort   /: filter   f: freeze   q: end");
}

static void fill_text(struct table_cell *cell, const char *text)
{
    *cell = (struct table_cell){.text = text, .bytes = strlen(text)};
}

static void fill_row(struct table_cell *cells, const struct top_row *row)
{
    if (hosts_named())
        fill_text(cells++, hosts_name(row->host));
    item_fill_duration(&cells[0], row->age_ms);
    fill_text(&cells[1], row->texts[TOP_CAUSE]);
    table_cell_clear(&cells[2]);
    if (row->id != ITEM_UNKNOWN)
        table_cell_add(&cells[2], "%lld", row->id);
    fill_text(&cells[3], row->texts[TOP_THREAD]);
    fill_text(&cells[4], row->texts[TOP_PROCESS]);
    fill_text(&cells[5], row->texts[TOP_WHERE]);
    fill_text(&cells[6], row->texts[TOP_ON]);
}

/* Writes the stream output of table.h as a line of the screen. */
static void put_row(const struct top *top, int row, attr_t attributes, const struct table *table,
                    const struct table_cell *cells)
{
    char line[LINE_BYTES] = "";
    FILE *stream = fmemopen(line, sizeof(line), "w");

    if (stream == NULL)
        return;
    table_write(table, cells, stream);
    fclose(stream);
    line[sizeof(line) - 1] = '\0';
    put_line(top, row, attributes, line);
}

static void draw_rows(const struct top *top)
{
    const struct top_list *list = &top->list;
    size_t visible = visible_rows(), skip = hosts_named() ? 0 : 1;
    struct table_cell cells[COLUMN_COUNT];
    struct table table;

    table_init(&table, columns + skip, COLUMN_COUNT - skip);
    table_begin_fit(&table);
    table.style = top->style;
    table.style.colours = false; /* curses does the colours */
    table.style.columns = COLS > 0 ? (unsigned)COLS : 1;
    for (size_t i = list->first; i < list->count && i < list->first + visible; i++) {
        fill_row(cells, list->rows[i]);
        table_fit(&table, cells);
    }
    table_settle(&table);
    put_row(top, TOP_LINES - 1, A_UNDERLINE, &table, NULL);
    for (size_t i = 0; i < visible; i++) {
        size_t row = list->first + i;
        attr_t attributes = row == list->selected ? A_REVERSE : A_NORMAL;

        if (row >= list->count) {
            put_line(top, TOP_LINES + (int)i, A_NORMAL, "");
            continue;
        }
        fill_row(cells, list->rows[row]);
        if (list->rows[row]->urgent && top->style.colours)
            attributes |= COLOR_PAIR(1);
        put_row(top, TOP_LINES + (int)i, attributes, &table, cells);
    }
    if (list->count == 0 && list->whole && top->frame.answered != 0)
        put_line(top, TOP_LINES, A_NORMAL, list->filter[0] != '\0' ? "no such ids" : "none");
}

/* Returns how many rows of the screen a line takes. */
static size_t rows_of_line(const struct top *top, const char *line, size_t bytes)
{
    char shown[LINE_BYTES];
    unsigned width = text_fit(&top->style, line, bytes, TEXT_ANY_COLUMNS, shown, sizeof(shown));

    return COLS > 0 && width != 0 ? (width + (unsigned)COLS - 1) / (unsigned)COLS : 1;
}

/* Returns the first line to show so that the last one is visible. */
static size_t last_first_line(const struct top *top)
{
    size_t lines = 0, rows = 0, first = 0;
    const char *begin = top->text, *at = begin;

    for (; at != NULL && *at != '\0'; lines++) {
        size_t length = strcspn(at, "\n");

        rows += rows_of_line(top, at, length);
        at += length + (at[length] == '\n');
        for (; rows > (LINES > 1 ? (size_t)LINES - 1 : 1) && first < lines; first++) {
            length = strcspn(begin, "\n");
            rows -= rows_of_line(top, begin, length);
            begin += length + 1;
        }
    }
    return first;
}

/* A line wider than the screen continues in the next row: nothing of a report is cut. */
static void draw_report(const struct top *top)
{
    const char *at = top->text != NULL ? top->text : "...\n";
    char shown[LINE_BYTES];
    int row = 0;

    erase();
    for (size_t i = 0; i < top->first_line && strchr(at, '\n') != NULL; i++)
        at = strchr(at, '\n') + 1;
    while (row < LINES - 1 && *at != '\0') {
        size_t length = strcspn(at, "\n");

        text_fit(&top->style, at, length, TEXT_ANY_COLUMNS, shown, sizeof(shown));
        mvaddstr(row, 0, shown);
        row += (int)rows_of_line(top, at, length);
        at += length + (at[length] == '\n');
    }
}

static void draw(const struct top *top)
{
    if (top->open) {
        draw_report(top);
    } else {
        draw_counts(top);
        draw_list_line(top);
        draw_rows(top);
    }
    draw_last_line(top);
    refresh();
}

/* ---- keys ---- */

/* Handles a key while the filter is typed. */
static void take_letter(struct top *top, int key)
{
    size_t length = strlen(top->filter);

    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
        top->typing = false;
        return;
    }
    if (key == KEY_ESCAPE) {
        top->typing = false;
        top->filter[0] = '\0';
    } else if (key == KEY_BACKSPACE || key == KEY_DELETE || key == '\b') {
        while (length > 0 && ((unsigned char)top->filter[--length] & 0xc0) == 0x80)
            continue;
        top->filter[length] = '\0';
    } else if (key >= 0x20 && key <= 0xff && length + 1 < sizeof(top->filter)) {
        top->filter[length] = (char)key;
        top->filter[length + 1] = '\0';
    } else {
        return;
    }
    top_list_set_filter(&top->list, top->filter);
    ask(top);
}

/* Returns the number of rows by which a key scrolls; 0: none. */
static long rows_of(int key)
{
    long page = (long)visible_rows();

    switch (key) {
    case KEY_DOWN:
    case 'j':
        return 1;
    case KEY_UP:
    case 'k':
        return -1;
    case KEY_NPAGE:
    case ' ':
        return page;
    case KEY_PPAGE:
    case 'b':
        return -page;
    default:
        return 0;
    }
}

static void scroll_report(struct top *top, int key)
{
    size_t last = last_first_line(top);
    long rows = rows_of(key);

    if (key == KEY_HOME || key == 'g')
        top->first_line = 0;
    else if (key == KEY_END || key == 'G')
        top->first_line = last;
    else if (rows < 0)
        top->first_line -= (size_t)-rows < top->first_line ? (size_t)-rows : top->first_line;
    else
        top->first_line = top->first_line + (size_t)rows < last ? top->first_line + (size_t)rows : last;
}

static void take_list_key(struct top *top, int key)
{
    struct top_list *list = &top->list;

    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
        open_selected(top);
    } else if (key == '/') {
        top->typing = true;
    } else if (key == '\t') {
        top_list_set_which(list, (enum top_which)((list->which + 1) % TOP_WHICH_COUNT));
        ask(top);
    } else if (key == 's') {
        top_list_set_sort(list, (enum top_sort)((list->sort + 1) % TOP_SORT_COUNT), visible_rows());
    } else if (key == KEY_HOME || key == 'g') {
        top_list_move(list, -(long)list->count, visible_rows());
    } else if (key == KEY_END || key == 'G') {
        top_list_move(list, (long)list->count, visible_rows());
    } else if (rows_of(key) != 0) {
        top_list_move(list, rows_of(key), visible_rows());
    }
}

static void take_key(struct top *top, int key)
{
    if (key == KEY_RESIZE) {
        clear();
        top_list_move(&top->list, 0, visible_rows());
    } else if (top->typing) {
        take_letter(top, key);
    } else if (key == 'q') {
        top->ended = true;
    } else if (key == 'f') {
        top->frozen = !top->frozen;
    } else if (top->open && (key == KEY_ESCAPE || key == KEY_LEFT || key == KEY_BACKSPACE)) {
        close_id(top);
    } else if (top->open) {
        scroll_report(top, key);
    } else {
        take_list_key(top, key);
    }
}

/* ---- the loop ---- */

static int time_to_refresh_ms(const struct top *top)
{
    uint64_t now_mono_ns = clock_mono_ns();

    if (top->asked || top->frozen)
        return -1;
    return top->next_mono_ns > now_mono_ns ? (int)((top->next_mono_ns - now_mono_ns) / NS_PER_MS) + 1 : 0;
}

static void run(struct top *top)
{
    struct pollfd descriptors[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                   {.fd = top->loader->answers[0], .events = POLLIN}};

    ask(top);
    while (!top->ended) {
        int key, ready;

        draw(top);
        ready = poll(descriptors, 2, time_to_refresh_ms(top));
        if (ready < 0 && errno != EINTR)
            return;
        if (ready > 0 && (descriptors[0].revents & (POLLHUP | POLLERR)) != 0)
            return; /* the terminal is gone */
        while ((key = getch()) != ERR && !top->ended)
            take_key(top, key);
        if (ready > 0 && descriptors[1].revents != 0)
            take(top);
        if (!top->asked && !top->frozen && clock_mono_ns() >= top->next_mono_ns)
            ask(top);
    }
}

/* Returns false if the terminal is unknown. */
static bool begin_screen(struct top *top)
{
    SCREEN *screen = newterm(NULL, stdout, stdin);

    if (screen == NULL)
        return false;
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, true);
    nodelay(stdscr, true);
    curs_set(0);
    if (top->style.colours && has_colors()) {
        start_color();
        use_default_colors();
        init_pair(1, COLOR_RED, -1);
    } else {
        top->style.colours = false;
    }
    return true;
}

static int show_screen(void)
{
    static struct loader loader;
    struct top top = {.style = text_style_of_output(), .loader = &loader};
    int status = CLI_OK;

    if (!loader_start(&loader))
        return cli_fail(CLI_UNREACHABLE, "no thread could be started");
    if (begin_screen(&top)) {
        run(&top);
        endwin();
    } else {
        status = cli_fail(CLI_UNREACHABLE, "unknown terminal type in $TERM");
    }
    top_list_done(&top.list);
    free(top.text);
    return status;
}

int cli_top(char **words)
{
    int status;

    (void)words;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return cli_fail(CLI_USAGE, "expected a terminal; `rip stalls` prints to any output");
    status = hosts_open(&settings.hosts);
    return status == CLI_OK ? show_screen() : status;
}
