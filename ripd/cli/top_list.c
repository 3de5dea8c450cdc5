/* SPDX-License-Identifier: Apache-2.0 */
/* top_list.c - pages, order and selection. Pure; see top_list.h. */
#include "cli/top_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "util/array.h"

#define PAGE_IDS 5000u

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
    static const char *const names[] = {
#define X(name, text) text,
        TOP_SORT_TABLE(X)
#undef X
    };

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

void top_list_init(struct top_list *list)
{
    *list = (struct top_list){.which = TOP_STALLED};
}

void top_list_done(struct top_list *list)
{
    top_page_free(list->shown);
    top_page_free(list->coming);
    free(list->rows);
}

/* The filter as a pattern, with wildcards in it quoted. */
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

/* Each part fits: percent-encoded, a pattern takes three times its length at most. */
void top_list_target(const struct top_list *list, char target[TOP_TARGET_BYTES])
{
    char pattern[TOP_FILTER_BYTES * 2 + 3];

    snprintf(target, TOP_TARGET_BYTES, "%s?trail=0&limit=%u", whiches[list->which].path, PAGE_IDS);
    if (whiches[list->which].state[0] != '\0')
        client_target_add(target, TOP_TARGET_BYTES, "state", whiches[list->which].state);
    if (list->filter[0] != '\0') {
        make_pattern(list->filter, pattern, sizeof(pattern));
        client_target_add(target, TOP_TARGET_BYTES, "name", pattern);
    }
}

/* ---- order ---- */

const struct top_row *top_list_selected(const struct top_list *list)
{
    return list->selected < list->count ? list->rows[list->selected] : NULL;
}

/* By a text, else by age, the longest first; then so that the order of equals does not change. */
static int compare_rows(const void *left, const void *right, void *context)
{
    static const enum top_text texts[] = {[TOP_BY_CAUSE] = TOP_CAUSE,
                                          [TOP_BY_THREAD] = TOP_THREAD,
                                          [TOP_BY_PROCESS] = TOP_PROCESS,
                                          [TOP_BY_WHERE] = TOP_WHERE};
    const struct top_row *a = *(const struct top_row *const *)left, *b = *(const struct top_row *const *)right;
    const enum top_sort sort = *(const enum top_sort *)context;
    int order = sort == TOP_AS_IT_IS   ? a->waits - b->waits
                : sort >= TOP_BY_CAUSE ? strcmp(a->texts[texts[sort]], b->texts[texts[sort]])
                                       : 0;

    if (order == 0)
        order = (a->age_ms < b->age_ms) - (a->age_ms > b->age_ms);
    if (order == 0)
        order = (a->host > b->host) - (a->host < b->host);
    if (order == 0)
        order = strcmp(a->texts[TOP_TARGET], b->texts[TOP_TARGET]);
    return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
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

/* Selects the row of an id, as far from the top of the screen as the selected row was. */
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

/* The rows of the pages that are shown. wanted: was selected; NULL: the first row stays. 0 or -ENOMEM. */
static int arrange(struct top_list *list, const struct top_row *wanted, size_t visible)
{
    size_t needed = 1;
    bool has_room;

    for (const struct top_page *page = list->shown; page != NULL; page = page->next)
        needed += page->count;
    has_room = ARRAY_RESERVE(list->rows, list->capacity, needed);
    list->count = 0;
    for (const struct top_page *page = list->shown; has_room && page != NULL; page = page->next)
        for (size_t i = 0; i < page->count; i++)
            list->rows[list->count++] = &page->rows[i];
    if (list->count > 1 && (list->sort != TOP_AS_IT_IS || list->which == TOP_STALLED))
        qsort_r(list->rows, list->count, sizeof(const struct top_row *), compare_rows, &list->sort);
    if (wanted != NULL)
        select_again(list, wanted);
    scroll(list, visible);
    return has_room ? 0 : -ENOMEM;
}

/* ---- pages ---- */

/* Puts each behind those of its host. */
static void insert(struct top_page **pages, struct top_page *more)
{
    while (more != NULL) {
        struct top_page *page = more, **at = pages;

        more = more->next;
        while (*at != NULL && (*at)->host <= page->host)
            at = &(*at)->next;
        page->next = *at;
        *at = page;
    }
}

static bool has_failed(const struct top_page *pages, size_t host)
{
    for (; pages != NULL; pages = pages->next)
        if (pages->failed && pages->host == host)
            return true;
    return false;
}

/* Takes out of pages those of hosts that have failed in *answers, or of those that have not. */
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
        insert(&taken, page);
    }
    return taken;
}

/* Shows the new pages; hosts that failed keep their old ones. Returns the pages to free. */
static struct top_page *replace_shown(struct top_list *list)
{
    struct top_page *kept = take_out(&list->shown, &list->coming, true), *old = list->shown;

    list->shown = take_out(&list->coming, &list->coming, false);
    insert(&list->shown, kept);
    insert(&old, list->coming);
    list->coming = NULL;
    return old;
}

int top_list_take(struct top_list *list, struct top_page *pages, bool last, size_t visible)
{
    const struct top_row *wanted = list->selected != 0 ? top_list_selected(list) : NULL;
    struct top_page *old = NULL;
    int status;

    if (list->phase == TOP_WHOLE) {
        insert(&list->coming, pages);
        if (!last)
            return 0;
        old = replace_shown(list);
    } else {
        if (list->phase == TOP_OTHER) {
            old = list->shown;
            list->shown = NULL;
        }
        insert(&list->shown, pages);
    }
    list->phase = last ? TOP_WHOLE : TOP_GROWING;
    status = arrange(list, wanted, visible);
    top_page_free(old);
    return status;
}

static void begin_again(struct top_list *list)
{
    top_page_free(list->coming);
    list->coming = NULL;
    list->phase = TOP_OTHER;
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

void top_list_give_up(struct top_list *list)
{
    top_page_free(list->coming);
    list->coming = NULL;
    if (list->phase == TOP_GROWING)
        list->phase = TOP_OTHER;
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

void top_list_home(struct top_list *list)
{
    list->selected = list->first = 0;
}

void top_list_end(struct top_list *list, size_t visible)
{
    list->selected = list->count;
    scroll(list, visible);
}
