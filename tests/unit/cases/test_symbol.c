/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol.c - symbols, and tables that other threads read while they grow: ripd/cases/symbol.c. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cases/symbol.h"
#include "support/test.h"

static struct symbol *numbered(uint64_t number)
{
    char name[32];
    struct symbol_frame frame = {.function = name, .line = (uint32_t)number};

    snprintf(name, sizeof(name), "f%llu", (unsigned long long)number);
    return symbol_new(&frame, 1);
}

static struct symbol_table table;

static int setup(void **state)
{
    (void)state;
    table = (struct symbol_table){.count = 0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    symbol_table_done(&table);
    return 0;
}

static int add(uint64_t offset, struct symbol *symbol)
{
    return symbol_table_add(&table, offset, symbol);
}

static const struct symbol *find(uint64_t offset)
{
    return symbol_table_find(&table, offset);
}

TEST(a_symbol_is_a_copy)
{
    struct symbol_frame frames[] = {{"inner", "a.c", 7}, {NULL, NULL, 0}, {"outer", NULL, 9}};
    struct symbol *symbol = symbol_new(frames, 3);

    frames[0] = frames[1];
    assert_int_equal(symbol->frame_count, 3);
    assert_string_equal(symbol->frames[0].function, "inner");
    assert_string_equal(symbol->frames[0].file, "a.c");
    assert_null(symbol->frames[1].function);
    assert_null(symbol->frames[2].file);
    assert_int_equal(symbol->frames[2].line, 9);
    free(symbol);
}

TEST(limits)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX + 3] = {{0}};
    char *name = malloc(SYMBOL_TEXT_BYTES_MAX + 100);
    struct symbol *symbol;

    memset(name, 'x', SYMBOL_TEXT_BYTES_MAX + 99);
    name[SYMBOL_TEXT_BYTES_MAX + 99] = '\0';
    frames[0].function = name;
    symbol = symbol_new(frames, SYMBOL_FRAMES_MAX + 3);
    assert_int_equal(symbol->frame_count, SYMBOL_FRAMES_MAX);
    assert_int_equal(strlen(symbol->frames[0].function), SYMBOL_TEXT_BYTES_MAX);
    free(symbol);
    free(name);
}

TEST(table, setup, teardown)
{
    size_t cost = 0;

    assert_false(symbol_table_is_full(&table));
    assert_null(find(5));
    for (uint64_t i = 0; i < SYMBOL_TABLE_MAX; i++) {
        struct symbol *symbol = numbered(i);

        cost += symbol_table_cost(&table, symbol);
        assert_int_equal(add(i * 4096, symbol), 0);
    }
    assert_int_equal(add(1, numbered(1)), -ENOSPC);
    assert_int_equal(add(4096, numbered(1)), -EEXIST);
    assert_int_equal(add(1, NULL), -ENOMEM);
    for (uint64_t i = 0; i < SYMBOL_TABLE_MAX; i++)
        assert_int_equal(find(i * 4096)->frames[0].line, i);
    assert_null(find(1));
    assert_true(symbol_table_is_full(&table));
    assert_true(cost > SYMBOL_TABLE_MAX * (sizeof(struct symbol) + sizeof(struct symbol_frame)));
}

/* The largest possible symbol. */
static struct symbol *largest(void)
{
    static char name[SYMBOL_TEXT_BYTES_MAX + 1];
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];

    memset(name, 'x', SYMBOL_TEXT_BYTES_MAX);
    for (size_t i = 0; i < SYMBOL_FRAMES_MAX; i++)
        frames[i] = (struct symbol_frame){name, name, 1};
    return symbol_new(frames, SYMBOL_FRAMES_MAX);
}

TEST(the_memory_of_a_table_is_limited, setup, teardown)
{
    const size_t one = 2 * SYMBOL_FRAMES_MAX * SYMBOL_TEXT_BYTES_MAX;
    uint64_t count = 0;

    while (add(count, largest()) == 0)
        count++;
    assert_true(symbol_table_is_full(&table));
    assert_in_range(count, SYMBOL_TABLE_BYTES_MAX / one - 2, SYMBOL_TABLE_BYTES_MAX / one + 1);
    assert_int_equal(add(count, numbered(1)), -ENOSPC);
    assert_int_equal(add(0, numbered(1)), -EEXIST);
    assert_non_null(find(count - 1));
}

/* The later of its two ends frees a charge. AddressSanitizer reports a leak, or a use after that. */
TEST(charges, setup)
{
    for (int first = 0; first < 2; first++) {
        struct symbol_charge *charge = calloc(1, sizeof(*charge));

        table.charge = charge;
        assert_int_equal(add(1, numbered(1)), 0);
        if (first == 0)
            symbol_charge_end(charge);
        symbol_table_done(&table);
        if (first == 1) {
            assert_int_equal(atomic_load(&charge->end_count), 1);
            symbol_charge_end(charge);
        }
        assert_null(table.charge);
    }
}

#define RACE_COUNT 4000u

static const char *fault;

/* A symbol that was found once is found again at the same address while the table grows. */
static void *read_while_it_grows(void *context)
{
    static const struct symbol *seen[RACE_COUNT];

    (void)context;
    for (size_t found = 0; found < RACE_COUNT;) {
        found = 0;
        for (uint64_t i = 0; i < RACE_COUNT; i++) {
            const struct symbol *symbol = find(i);

            if (seen[i] != NULL && symbol != seen[i]) {
                fault = "a symbol has moved or disappeared";
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

TEST(readers_of_a_growing_table, setup, teardown)
{
    pthread_t reader;

    assert_int_equal(pthread_create(&reader, NULL, read_while_it_grows, NULL), 0);
    for (uint64_t i = 0; i < RACE_COUNT; i++)
        assert_int_equal(add(i, numbered(i)), 0);
    pthread_join(reader, NULL);
    assert_null(fault);
}

/* Returns the CPU time for finding all of count offsets at that distance: the smallest of three measurements. */
static uint64_t finding_ns(uint64_t distance, size_t count)
{
    uint64_t least_ns = UINT64_MAX;

    for (uint64_t i = 1; i <= count; i++)
        assert_int_equal(add(i * distance, symbol_new(NULL, 0)), 0);
    for (int turn = 0; turn < 3; turn++) {
        struct timespec begun, ended;
        uint64_t ns;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
        for (uint64_t i = 1; i <= count; i++)
            assert_true(find(i * distance) != NULL);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
        ns = (uint64_t)(ended.tv_sec - begun.tv_sec) * 1000000000 + (uint64_t)ended.tv_nsec - (uint64_t)begun.tv_nsec;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    symbol_table_done(&table);
    return least_ns;
}

/* The hash is keyed: offsets chosen to collide do not. */
TEST(offsets_chosen_to_collide, setup, teardown)
{
    uint64_t near_ns = finding_ns(16, SYMBOL_TABLE_MAX - 1),
             far_ns = finding_ns(UINT64_C(1) << 47, SYMBOL_TABLE_MAX - 1);

    if (far_ns > 50 * near_ns)
        fail_msg("close offsets: %llu ns, distant offsets: %llu ns", (unsigned long long)near_ns,
                 (unsigned long long)far_ns);
}
