/* SPDX-License-Identifier: Apache-2.0 */
/* top_list.c - pages, order and selection. Pure; see top_list.h. */
#include "cli/top_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/filters.h"
#include "cli/item.h"
#include "util/array.h"
#include "util/search.h"
#include "util/text.h"

#define PAGE_IDS 5000u

const char *const top_which_names[] = {"stalled", "all", "running", "idle", "stopped", "exited", "dead"};
const char *const top_sort_names[] = {"default order", "age", "cause", "thread", "process", "where"};

void top_list_done(struct top_list *list)
{
    top_page_free(list->shown);
    free(list->rows);
}

/* Each part fits: percent-encoding at most triples the length of a pattern. */
void top_list_target(const struct top_list *list, char target[TOP_TARGET_BYTES], const char **ret_schema,
                     const char **ret_member)
{
    const bool stalled = list->which == TOP_STALLED;
    char pattern[TOP_FILTER_BYTES * 2 + 3] = "*";

    *ret_member = stalled ? "stalls" : "threads";
    *ret_schema = stalled ? "ripd/stalls/1" : "ripd/threads/1";
    snprintf(target, TOP_TARGET_BYTES, "/%s?trail=0&limit=%u", *ret_member, PAGE_IDS);
    if (list->which > TOP_ALL)
        client_target_add(target, TOP_TARGET_BYTES, "state", top_which_names[list->which]);
    if (list->filter[0] != '\0') {
        filters_quote(pattern + 1, sizeof(pattern) - 2, list->filter);
        text_append(pattern, sizeof(pattern), "*");
        client_target_add(target, TOP_TARGET_BYTES, "name", pattern);
    }
}

/* ---- a page ---- */

/* Adds a text with its terminator; a NUL in it becomes another invisible character. */
static void add_text(FILE *stream, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        putc_unlocked(text[i] != '\0' ? text[i] : '\x01', stream);
    putc_unlocked('\0', stream);
}

static void add_row(FILE *stream, struct top_row *row, const json_t *item)
{
    struct table_cell cells[TOP_TEXT_COUNT];
    char target[TABLE_CELL_BYTES];

    row->id = item_number(item, "id");
    table_cell_format(&cells[TOP_TARGET], "%s", item_target(target, sizeof(target), item, row->id) ? target : "");
    item_fill_cause(&cells[TOP_CAUSE], item);
    item_fill_thread(&cells[TOP_THREAD], item);
    item_fill_process(&cells[TOP_PROCESS], item);
    item_fill_path(&cells[TOP_WHERE], json_object_get(item, "location"), 1);
    item_fill_on(&cells[TOP_ON], item);
    for (size_t i = 0; i < TOP_TEXT_COUNT; i++)
        add_text(stream, cells[i].text, cells[i].bytes);
    row->age_ms = item_number(item, "frozen_for_ms");
    row->waits = json_array_size(json_object_get(item, "waits_for")) != 0 && !item_is(item, "cause", "deadlock");
    row->urgent = cells[TOP_CAUSE].colour != NULL;
}

/* Sets the pointers to the texts of the rows, which are consecutive in the page's text. */
static void point_at_texts(struct top_page *page)
{
    const char *at = page->text;

    for (size_t i = 0; i < page->count; i++) {
        page->rows[i].host = page->host;
        for (size_t j = 0; j < TOP_TEXT_COUNT; j++) {
            page->rows[i].texts[j] = at;
            at += strlen(at) + 1;
        }
    }
}

static struct top_page *new_page(size_t host, size_t count)
{
    struct top_page *page = calloc(1, sizeof(*page) + count * sizeof(page->rows[0]));

    if (page != NULL) {
        page->host = host;
        page->count = count;
    }
    return page;
}

struct top_page *top_page_new(size_t host, const json_t *items)
{
    struct top_page *page = new_page(host, json_array_size(items));
    size_t bytes = 0, i;
    FILE *stream = page != NULL ? open_memstream(&page->text, &bytes) : NULL;
    json_t *item;

    if (stream == NULL) {
        free(page);
        return NULL;
    }
    json_array_foreach(items, i, item) add_row(stream, &page->rows[i], item);
    if (fclose(stream) != 0) {
        top_page_free(page);
        return NULL;
    }
    point_at_texts(page);
    return page;
}

struct top_page *top_page_new_failed(size_t host)
{
    struct top_page *page = new_page(host, 0);

    if (page != NULL)
        page->failed = true;
    return page;
}

void top_page_free(struct top_page *page)
{
    while (page != NULL) {
        struct top_page *next = page->next;

        free(page->text);
        free(page);
        page = next;
    }
}

/* ---- order ---- */

const struct top_row *top_list_selected(const struct top_list *list)
{
    return list->selected < list->count ? list->rows[list->selected] : NULL;
}

/* By a text, by age (longest first), or in the order of each host. */
static int compare_rows(const void *left, const void *right, void *context)
{
    static const enum top_text texts[] = {[TOP_BY_CAUSE] = TOP_CAUSE,
                                          [TOP_BY_THREAD] = TOP_THREAD,
                                          [TOP_BY_PROCESS] = TOP_PROCESS,
                                          [TOP_BY_WHERE] = TOP_WHERE};
    const struct top_row *a = *(const struct top_row *const *)left, *b = *(const struct top_row *const *)right;
    const struct top_list *list = context;
    int order = 0;

    if (list->sort >= TOP_BY_CAUSE)
        order = strcmp(a->texts[texts[list->sort]], b->texts[texts[list->sort]]);
    else if (list->sort == TOP_AS_IT_IS)
        order = a->waits - b->waits;
    if (list->sort == TOP_AS_IT_IS && list->which != TOP_STALLED)
        order = 0;
    else if (order == 0)
        order = (a->age_ms < b->age_ms) - (a->age_ms > b->age_ms);
    return search_order_then(order, search_order_pair(a->host, a->nth, b->host, b->nth));
}

static void scroll(struct top_list *list, size_t visible)
{
    if (list->selected >= list->count)
        list->selected = list->count > 0 ? list->count - 1 : 0;
    if (list->first > list->selected)
        list->first = list->selected;
    if (visible != 0 && list->selected >= list->first + visible)
        list->first = list->selected - visible + 1;
}

/* Selects the row of an id, and keeps its distance from the top of the screen. */
static void select_again(struct top_list *list, const struct top_row *wanted)
{
    size_t distance = list->selected - list->first;

    for (size_t i = 0; i < list->count; i++)
        if (list->rows[i]->id == wanted->id && list->rows[i]->host == wanted->host &&
            strcmp(list->rows[i]->texts[TOP_TARGET], wanted->texts[TOP_TARGET]) == 0) {
            list->selected = i;
            list->first = i > distance ? i - distance : 0;
            return;
        }
}

/*
 * Makes the rows of the pages that are shown. wanted: the selected row; NULL: the first row stays selected. Returns 0
 * or -ENOMEM.
 */
static int arrange(struct top_list *list, const struct top_row *wanted, size_t visible)
{
    bool has_room = true;

    list->count = 0;
    for (struct top_page *page = list->shown; has_room && page != NULL; page = page->next) {
        has_room = ARRAY_RESERVE(list->rows, list->capacity, list->count + page->count);
        for (size_t i = 0; has_room && i < page->count; i++) {
            page->rows[i].nth = list->count;
            list->rows[list->count++] = &page->rows[i];
        }
    }
    if (list->count > 1)
        qsort_r(list->rows, list->count, sizeof(const struct top_row *), compare_rows, list);
    if (wanted != NULL)
        select_again(list, wanted);
    scroll(list, visible);
    return has_room ? 0 : -ENOMEM;
}

/* ---- pages ---- */

static void append(struct top_page **pages, struct top_page *more)
{
    while (*pages != NULL)
        pages = &(*pages)->next;
    *pages = more;
}

static bool has_failed(const struct top_page *pages, size_t host)
{
    for (; pages != NULL; pages = pages->next)
        if (pages->failed && pages->host == host)
            return true;
    return false;
}

/* Removes pages from a list: those of hosts that have failed in *answers, or those of hosts that have not. */
static struct top_page *take_out(struct top_page **pages, struct top_page *const *answers, bool failed)
{
    struct top_page *taken = NULL;

    while (*pages != NULL) {
        struct top_page *page = *pages;

        if (has_failed(*answers, page->host) != failed) {
            pages = &page->next;
            continue;
        }
        *pages = page->next;
        page->next = NULL;
        append(&taken, page);
    }
    return taken;
}

int top_list_take(struct top_list *list, struct top_page *pages, bool first, bool last, size_t visible)
{
    const struct top_row *wanted = list->selected != 0 ? top_list_selected(list) : NULL;
    struct top_page *old = NULL, *kept;
    int status;

    if (first) {
        kept = list->whole ? take_out(&list->shown, &pages, true) : NULL; /* hosts that failed keep their pages */
        old = list->shown;
        list->shown = take_out(&pages, &pages, false);
        append(&list->shown, kept);
        append(&old, pages);
    } else {
        append(&list->shown, pages);
    }
    list->whole = last;
    status = arrange(list, wanted, visible);
    top_page_free(old);
    return status;
}

static void begin_again(struct top_list *list)
{
    list->whole = false;
    list->selected = list->first = 0;
}

void top_list_set_which(struct top_list *list, enum top_which which)
{
    list->which = which;
    begin_again(list);
}

void top_list_set_filter(struct top_list *list, const char *filter)
{
    snprintf(list->filter, sizeof(list->filter), "%s", filter);
    begin_again(list);
}

void top_list_set_sort(struct top_list *list, enum top_sort sort, size_t visible)
{
    list->sort = sort;
    list->selected = list->first = 0;
    arrange(list, NULL, visible);
}

/* ---- moving ---- */

void top_list_move(struct top_list *list, long rows, size_t visible)
{
    size_t distance = (size_t)(rows < 0 ? -rows : rows);

    if (rows < 0)
        list->selected -= distance < list->selected ? distance : list->selected;
    else
        list->selected += distance < list->count - list->selected ? distance : list->count - list->selected;
    scroll(list, visible);
}
