/* SPDX-License-Identifier: Apache-2.0 */
/* top_page.c - the cells of items, one text after another. Pure. */
#include "cli/top_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/item.h"

/* Adds it with its terminator; a NUL in it becomes another character that is not shown. */
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
    if (item_target(target, sizeof(target), item, row->id))
        table_cell_format(&cells[TOP_TARGET], "%s", target);
    else
        table_cell_format(&cells[TOP_TARGET], "-");
    item_fill_cause(&cells[TOP_CAUSE], item);
    item_fill_thread(&cells[TOP_THREAD], item);
    item_fill_process(&cells[TOP_PROCESS], item);
    item_fill_where(&cells[TOP_WHERE], json_object_get(item, "location"), 1);
    item_fill_on(&cells[TOP_ON], item);
    for (size_t i = 0; i < TOP_TEXT_COUNT; i++)
        add_text(stream, cells[i].text, cells[i].bytes);
    row->age_ms = item_number(item, "frozen_for_ms");
    row->waits = json_array_size(json_object_get(item, "waits_for")) != 0 && !item_is_deadlocked(item);
    row->urgent = cells[TOP_CAUSE].colour != NULL;
}

/* The texts of the rows follow one another in the page's. */
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
