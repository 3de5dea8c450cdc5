/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol.c - symbols, and tables that are read while they grow: ripd/core/symbol.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/symbol.h"

static struct symbol *numbered(uint64_t number)
{
    char name[32];
    struct symbol_frame frame = {.function = name, .line = (uint32_t)number};

    snprintf(name, sizeof(name), "f%llu", (unsigned long long)number);
    return symbol_new(&frame, 1);
}

static void test_a_copy_in_one_piece(void **state)
{
    struct symbol_frame frames[] = {{"inner", "a.c", 7}, {NULL, NULL, 0}, {"outer", NULL, 9}};
    struct symbol *symbol = symbol_new(frames, 3);

    (void)state;
    frames[0] = frames[1];
    assert_int_equal(symbol->frame_count, 3);
    assert_string_equal(symbol->frames[0].function, "inner");
    assert_string_equal(symbol->frames[0].file, "a.c");
    assert_null(symbol->frames[1].function);
    assert_null(symbol->frames[2].file);
    assert_int_equal(symbol->frames[2].line, 9);
    free(symbol);
}

static void test_limits(void **state)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX + 3] = {{0}};
    char *name = malloc(SYMBOL_TEXT_BYTES_MAX + 100);
    struct symbol *symbol;

    (void)state;
    memset(name, 'x', SYMBOL_TEXT_BYTES_MAX + 99);
    name[SYMBOL_TEXT_BYTES_MAX + 99] = '\0';
    frames[0].function = name;
    symbol = symbol_new(frames, SYMBOL_FRAMES_MAX + 3);
    assert_int_equal(symbol->frame_count, SYMBOL_FRAMES_MAX);
    assert_int_equal(strlen(symbol->frames[0].function), SYMBOL_TEXT_BYTES_MAX);
    free(symbol);
    free(name);
}

static void test_table(void **state)
{
    struct symbol_table table = {.count = 0};

    (void)state;
    assert_null(symbol_table_find(&table, 5));
    for (uint64_t i = 0; i < SYMBOL_TABLE_MAX; i++)
        assert_int_equal(symbol_table_add(&table, i * 4096, numbered(i)), 0);
    assert_int_equal(symbol_table_add(&table, 1, numbered(1)), -ENOSPC);
    assert_int_equal(symbol_table_add(&table, 4096, numbered(1)), -EEXIST);
    assert_int_equal(symbol_table_add(&table, 1, NULL), -ENOMEM);
    for (uint64_t i = 0; i < SYMBOL_TABLE_MAX; i++)
        assert_int_equal(symbol_table_find(&table, i * 4096)->frames[0].line, i);
    assert_null(symbol_table_find(&table, 1));
    symbol_table_done(&table);
}

#define RACE_COUNT 4000u

static const char *fault;

/* What was found once is found again, the same, however the table grows. */
static void *read_while_it_grows(void *context)
{
    static const struct symbol *seen[RACE_COUNT];
    const struct symbol_table *table = context;

    for (size_t found = 0; found < RACE_COUNT;) {
        found = 0;
        for (uint64_t i = 0; i < RACE_COUNT; i++) {
            const struct symbol *symbol = symbol_table_find(table, i);

            if (seen[i] != NULL && symbol != seen[i]) {
                fault = "a symbol has moved or gone";
                return NULL;
            }
            if (symbol != NULL && symbol->frames[0].line != i) {
                fault = "a symbol of another offset";
                return NULL;
            }
            seen[i] = symbol;
            found += symbol != NULL;
        }
    }
    return NULL;
}

static void test_readers_of_a_growing_table(void **state)
{
    struct symbol_table table = {.count = 0};
    pthread_t reader;

    (void)state;
    assert_int_equal(pthread_create(&reader, NULL, read_while_it_grows, &table), 0);
    for (uint64_t i = 0; i < RACE_COUNT; i++)
        assert_int_equal(symbol_table_add(&table, i, numbered(i)), 0);
    pthread_join(reader, NULL);
    assert_null(fault);
    symbol_table_done(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_in_one_piece),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_readers_of_a_growing_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
