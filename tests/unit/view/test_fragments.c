/* SPDX-License-Identifier: Apache-2.0 */
/* test_fragments.c - what is kept is found by its key, is what was written, and is bounded; lists are as without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/samples.h"
#include "view/document_parts.h"
#include "view/fragments.h"

static const int owners[2];

static void keep_text(struct fragments *fragments, const struct fragment_key *key, const char *text)
{
    struct json_writer writer;

    json_init(&writer);
    json_none(&writer);
    json_text(&writer, text); /* with a comma before it */
    fragments_keep(fragments, key, &writer, strlen("null"));
    json_done(&writer);
}

static void assert_kept(const struct fragments *fragments, const struct fragment_key *key, const char *text)
{
    size_t length;
    const char *found = fragments_find(fragments, key, &length);

    if (text == NULL) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_int_equal(length, strlen(text) + 2); /* quotes, no comma */
    assert_memory_equal(found + 1, text, length - 2);
}

static void test_by_key(void **state)
{
    const struct fragment_key keys[] = {
        {&owners[0], 1, FRAGMENT_ENTRY}, {&owners[0], 2, FRAGMENT_ENTRY},    {&owners[1], 1, FRAGMENT_ENTRY},
        {NULL, 1, FRAGMENT_ENTRY},       {&owners[0], 1, FRAGMENT_LOCATION}, {&owners[0], 0, FRAGMENT_PROCESS},
    };
    struct fragments *fragments = fragments_new();
    char text[16];

    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        assert_kept(fragments, &keys[i], NULL);
        snprintf(text, sizeof(text), "text %zu", i);
        keep_text(fragments, &keys[i], text);
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        snprintf(text, sizeof(text), "text %zu", i);
        assert_kept(fragments, &keys[i], text);
    }
    fragments_free(fragments);
}

static void test_written_with_the_comma_that_is_due(void **state)
{
    const struct fragment_key key = {owners, 1, FRAGMENT_ENTRY}, other = {owners, 2, FRAGMENT_ENTRY};
    struct fragments *fragments = fragments_new();
    struct json_writer writer;
    size_t length;
    char *text;

    (void)state;
    keep_text(fragments, &key, "a");
    json_init(&writer);
    json_array_begin(&writer);
    assert_true(fragments_write(fragments, &key, &writer));
    assert_true(fragments_write(fragments, &key, &writer));
    assert_false(fragments_write(fragments, &other, &writer));
    json_array_end(&writer);
    assert_int_equal(json_finish(&writer, &text, &length), 0);
    assert_string_equal(text, "[\"a\",\"a\"]");
    free(text);
    fragments_free(fragments);
}

static void test_bounds(void **state)
{
    struct fragments *fragments = fragments_new();
    struct fragment_key key = {owners, 0, FRAGMENT_ENTRY};
    char *text = malloc(FRAGMENTS_BYTES_MAX + 1);

    (void)state;
    memset(text, 'x', FRAGMENTS_BYTES_MAX);
    text[FRAGMENTS_BYTES_MAX] = '\0';
    keep_text(fragments, &key, text); /* with its quotes it is too long */
    assert_kept(fragments, &key, NULL);
    text[FRAGMENTS_BYTES_MAX - 2 - 10 * FRAGMENTS_MAX] = '\0';
    keep_text(fragments, &key, text);
    assert_kept(fragments, &key, text);
    for (key.number = 1; key.number < FRAGMENTS_MAX + 10; key.number++)
        keep_text(fragments, &key, "short");
    for (key.number = 0; key.number < FRAGMENTS_MAX + 10; key.number++)
        assert_kept(fragments, &key, key.number == 0 ? text : key.number < FRAGMENTS_MAX ? "short" : NULL);
    free(text);
    fragments_free(fragments);
}

/* Numbers that any hash of their lower bits takes for the same: what is not kept of them is found nowhere. */
static void test_numbers_that_collide(void **state)
{
    struct fragments *fragments = fragments_new();
    struct fragment_key key = {owners, 0, FRAGMENT_ENTRY};
    size_t kept = 0;
    char text[16];

    (void)state;
    for (uint64_t i = 1; i < 1000; i++) {
        key.number = i << 46;
        snprintf(text, sizeof(text), "text %u", (unsigned)i);
        keep_text(fragments, &key, text);
        key.number = i; /* among others */
        keep_text(fragments, &key, text);
    }
    for (uint64_t i = 1; i < 1000; i++) {
        size_t length;

        key.number = i << 46;
        snprintf(text, sizeof(text), "text %u", (unsigned)i);
        if (fragments_find(fragments, &key, &length) == NULL)
            continue;
        assert_kept(fragments, &key, text);
        kept++;
    }
    assert_in_range(kept, 1, FRAGMENTS_STEPS_MAX);
    fragments_free(fragments);
}

static void test_nothing_is_kept(void **state)
{
    const struct fragment_key key = {owners, 1, FRAGMENT_ENTRY};
    struct fragments *fragments = fragments_new();
    struct json_writer writer;

    (void)state;
    assert_false(fragments_write(NULL, &key, NULL));
    keep_text(NULL, &key, "a");
    fragments_free(NULL);
    json_init(&writer);
    json_none(&writer);
    fragments_keep(fragments, &key, &writer, writer.length); /* nothing was written */
    writer.failed = true;
    fragments_keep(fragments, &key, &writer, 0); /* it was not all written */
    assert_kept(fragments, &key, NULL);
    json_done(&writer);
    fragments_free(fragments);
}

static char *text_of(const struct sighting *sighting, struct fragments *fragments)
{
    struct json_writer writer;
    size_t length;
    char *text;

    json_init(&writer);
    part_item(&writer, sighting, QUERY_TRAIL_MAX, fragments);
    assert_int_equal(json_finish(&writer, &text, &length), 0);
    assert_int_equal(strlen(text), length);
    return text;
}

/* Two processes have different things at the same addresses, one id is of no process, one has never snapped. */
static void test_items_are_as_without(void **state)
{
    struct process_facts *processes[] = {sample_process("/usr/bin/checkout", 4690), sample_process("/bin/\"odd\n", 5)};
    const struct symbol_frame frames[] = {{"take", "a.c", 12}, {"around \"it\"", NULL, 0}};
    struct symbol_budget *budget = symbol_budget_new();
    struct fragments *fragments = fragments_new();

    (void)state;
    assert_int_equal(symbol_table_add(&processes[0]->modules[0]->symbols, budget, 0, 0x1244, symbol_new(frames, 2)), 0);
    symbol_budget_unref(budget);
    for (uint32_t i = 0; i < 64; i++) {
        struct process_facts *process = i % 7 == 6 ? NULL : process_facts_ref(processes[i % 2]);
        size_t crumb_count = i % 5 == 4 ? 0 : 1 + i % 3;
        struct item *item = sample_item(process, "ring", 1, i, "worker", 6, crumb_count);
        struct sighting sighting = sample_stall(item, 1000);
        char *with, *without;

        with = text_of(&sighting, fragments);
        without = text_of(&sighting, NULL);
        assert_string_equal(with, without);
        free(with);
        free(without);
        sighting_done(&sighting);
    }
    fragments_free(fragments);
    process_facts_unref(processes[0]);
    process_facts_unref(processes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_key),          cmocka_unit_test(test_written_with_the_comma_that_is_due),
        cmocka_unit_test(test_bounds),          cmocka_unit_test(test_numbers_that_collide),
        cmocka_unit_test(test_nothing_is_kept), cmocka_unit_test(test_items_are_as_without),
    };

    return cmocka_run_group_tests_name("fragments", tests, NULL, NULL);
}
