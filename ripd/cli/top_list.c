/* SPDX-License-Identifier: Apache-2.0 */
/* top_list.c - pages, cursors and order. Pure; see top_list.h. */
#include "cli/top_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/item.h"
#include "util/array.h"

#define PAGE_IDS 1000u
#define SORTED_IDS 10000u

static const struct {
    const char *name;
    const char *path;
    const char *state;
} whiches[] = {
#define X(name, text, path, state) {text, path, state},
    TOP_WHICH_TABLE(X)
#undef X
};

const char *top_which_name(enum top_which which)
{
    return whiches[which].name;
}

const char *top_sort_name(enum top_sort sort)
{
    static const char *const names[] = {"as it is", "age", "cause", "thread", "process", "where"};

    return names[sort];
}

const char *top_list_schema(const struct top_list *list)
{
    return list->which == TOP_STALLED ? "ripd/stalls/1" : "ripd/threads/1";
}

const char *top_list_member(const struct top_list *list)
{
    return whiches[list->which].path + 1;
}

/* The next page that will be asked for is the first, and the one known. */
static void begin_again(struct top_list *list)
{
    list->page = 0;
    list->cursor_count = 1;
    list->cursors[0][0] = '\0';
    list->selected = list->first = 0;
    list->enter_at_end = false;
}

int top_list_init(struct top_list *list)
{
    *list = (struct top_list){.which = TOP_STALLED};
    list->cursors = array_reserve(NULL, &list->cursor_capacity, 1, sizeof(*list->cursors));
    if (list->cursors == NULL)
        return -ENOMEM;
    begin_again(list);
    return 0;
}

void top_list_done(struct top_list *list)
{
    json_decref(list->document);
    free(list->rows);
    free(list->cursors);
}

void top_list_set_which(struct top_list *list, enum top_which which)
{
    list->which = which;
    begin_again(list);
}

void top_list_set_sort(struct top_list *list, enum top_sort sort)
{
    list->sort = sort;
    begin_again(list);
}

void top_list_set_filter(struct top_list *list, const char *filter)
{
    snprintf(list->filter, sizeof(list->filter), "%s", filter);
    begin_again(list);
}

/* The filter as a pattern: what it has of a pattern's own characters stands for itself. */
static void make_pattern(const char *filter, char *pattern, size_t size)
{
    size_t length = 0;

    pattern[length++] = '*';
    for (; *filter != '\0' && length + 4 < size; filter++) {
        if (strchr("*?[]\\", *filter) != NULL)
            pattern[length++] = '\\';
        pattern[length++] = *filter;
    }
    pattern[length++] = '*';
    pattern[length] = '\0';
}

/* Each part fits: a cursor is percent-encoded to three times its length at most. */
void top_list_target(const struct top_list *list, char target[TOP_TARGET_BYTES])
{
    char pattern[TOP_FILTER_BYTES * 2 + 3];

    snprintf(target, TOP_TARGET_BYTES, "%s?trail=0&limit=%u", whiches[list->which].path,
             list->sort == TOP_AS_IT_IS ? PAGE_IDS : SORTED_IDS);
    if (whiches[list->which].state[0] != '\0')
        client_target_add(target, TOP_TARGET_BYTES, "state", whiches[list->which].state);
    if (list->filter[0] != '\0') {
        make_pattern(list->filter, pattern, sizeof(pattern));
        client_target_add(target, TOP_TARGET_BYTES, "name", pattern);
    }
    if (list->cursors[list->page][0] != '\0')
        client_target_add(target, TOP_TARGET_BYTES, "after", list->cursors[list->page]);
}

/* ---- a page ---- */

static int compare_rows(const void *left, const void *right)
{
    const struct top_row *a = left, *b = right;
    int order = strcmp(a->key, b->key);

    if (order != 0)
        return order;
    return (a->age_ms < b->age_ms) - (a->age_ms > b->age_ms);
}

static void make_key(struct top_row *row, enum top_sort sort)
{
    struct table_cell cell = {.text = ""};

    switch (sort) {
    case TOP_BY_CAUSE:
        item_fill_cause(&cell, row->item);
        break;
    case TOP_BY_THREAD:
        item_fill_thread(&cell, row->item);
        break;
    case TOP_BY_PROCESS:
        item_fill_process(&cell, row->item);
        break;
    case TOP_BY_WHERE:
        item_fill_where(&cell, json_object_get(row->item, "location"), true);
        break;
    case TOP_AS_IT_IS:
    case TOP_BY_AGE:
    case TOP_SORT_COUNT:
        break;
    }
    snprintf(row->key, sizeof(row->key), "%s", cell.text);
}

static void fill_rows(struct top_list *list, const json_t *items)
{
    size_t i;
    json_t *item;

    json_array_foreach(items, i, item)
    {
        struct top_row *row = &list->rows[i];

        row->item = item;
        row->age_ms = item_number(item, "frozen_for_ms");
        make_key(row, list->sort);
    }
    list->count = json_array_size(items);
    if (list->sort != TOP_AS_IT_IS && list->count > 1)
        qsort(list->rows, list->count, sizeof(*list->rows), compare_rows);
}

/* Where the page after this one begins; "": there is none. */
static void keep_next(struct top_list *list, const json_t *document)
{
    const char *next = json_string_value(json_object_get(document, "next"));
    char(*grown)[TOP_CURSOR_BYTES];

    list->cursor_count = list->page + 1;
    if (next == NULL || strlen(next) >= TOP_CURSOR_BYTES || *next == '\0')
        return;
    grown = array_reserve(list->cursors, &list->cursor_capacity, list->cursor_count + 1, sizeof(*grown));
    if (grown == NULL)
        return; /* then this page is the last */
    list->cursors = grown;
    snprintf(grown[list->cursor_count++], TOP_CURSOR_BYTES, "%s", next);
}

static void scroll(struct top_list *list, size_t visible)
{
    if (list->first > list->selected)
        list->first = list->selected;
    if (visible != 0 && list->selected >= list->first + visible)
        list->first = list->selected - visible + 1;
}

/* Selects the row of the id that was selected before, as far from the top of the screen as it was. */
static void select_again(struct top_list *list, const json_t *item)
{
    size_t distance = list->selected - list->first;

    for (size_t i = 0; i < list->count; i++)
        if (item_same_id(list->rows[i].item, item)) {
            list->selected = i;
            list->first = i > distance ? i - distance : 0;
            return;
        }
}

int top_list_take(struct top_list *list, json_t *document, size_t visible)
{
    const json_t *items = json_object_get(document, top_list_member(list));
    struct top_row *rows = calloc(json_array_size(items) + 1, sizeof(*rows));
    json_t *before = list->document;
    const json_t *was_selected = list->selected != 0 ? top_list_selected(list) : NULL;

    if (rows == NULL) {
        json_decref(document);
        return -ENOMEM;
    }
    free(list->rows);
    list->rows = rows;
    list->document = document;
    fill_rows(list, items);
    keep_next(list, document);
    if (list->enter_at_end)
        list->selected = list->count;
    else if (was_selected != NULL)
        select_again(list, was_selected);
    if (list->selected >= list->count)
        list->selected = list->count > 0 ? list->count - 1 : 0;
    scroll(list, visible);
    list->enter_at_end = false;
    json_decref(before);
    return 0;
}

/* ---- moving ---- */

const json_t *top_list_selected(const struct top_list *list)
{
    return list->selected < list->count ? list->rows[list->selected].item : NULL;
}

/* To another page; the list is empty until it comes. */
static bool turn_page(struct top_list *list, size_t page, bool at_end)
{
    list->page = page;
    list->selected = list->first = 0;
    list->enter_at_end = at_end;
    list->count = 0;
    return true;
}

bool top_list_move(struct top_list *list, long rows, size_t visible)
{
    size_t distance = (size_t)(rows < 0 ? -rows : rows);

    if (rows < 0 && list->selected == 0 && list->page > 0 && list->count != 0)
        return turn_page(list, list->page - 1, true);
    if (rows > 0 && list->count != 0 && list->selected + 1 == list->count && list->page + 1 < list->cursor_count)
        return turn_page(list, list->page + 1, false);
    if (rows < 0)
        list->selected -= distance < list->selected ? distance : list->selected;
    else if (list->count != 0)
        list->selected = distance < list->count - list->selected ? list->selected + distance : list->count - 1;
    scroll(list, visible);
    return false;
}

bool top_list_home(struct top_list *list)
{
    if (list->page != 0)
        return turn_page(list, 0, false);
    list->selected = list->first = 0;
    return false;
}

bool top_list_end(struct top_list *list, size_t visible)
{
    list->selected = list->count > 0 ? list->count - 1 : 0;
    scroll(list, visible);
    return false;
}
