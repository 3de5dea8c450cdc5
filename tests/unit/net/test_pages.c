/* SPDX-License-Identifier: Apache-2.0 */
/* test_pages.c - lists that are kept: by question and scan, not too many, not too large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/pages.h"
#include "view/query_parse.h"

/* Keeps a body of that scan and size, and gives it back for comparison only. */
static struct body *keep(struct pages *pages, const char *key, uint64_t sequence, size_t length)
{
    const struct document_frame frame = {.sequence = sequence};
    struct body *body = body_new(pages, &frame, calloc(1, 1), length);

    pages_keep(pages, key, body);
    body_unref(body);
    return body;
}

static void test_by_question_and_scan(void **state)
{
    struct pages pages = {0};
    struct body *first = keep(&pages, "a", 1, 10);
    struct body *second = keep(&pages, "a", 2, 10);

    (void)state;
    assert_ptr_equal(pages_find(&pages, "a", 1), first);
    assert_ptr_equal(pages_find(&pages, "a", 2), second);
    assert_null(pages_find(&pages, "a", 3));
    assert_null(pages_find(&pages, "b", 1));
    pages_forget_before(&pages, 2);
    assert_null(pages_find(&pages, "a", 1));
    assert_ptr_equal(pages_find(&pages, "a", 2), second);
    pages_forget_before(&pages, UINT64_MAX);
    assert_null(pages_find(&pages, "a", 2));
    assert_int_equal(pages.alive_bytes, 0);
}

/* A long body is freed in pieces, also when another is let go meanwhile; its bytes do not count any more. */
static void test_long_ones_are_freed_in_pieces(void **state)
{
    const struct document_frame frame = {.sequence = 1};
    struct pages pages = {0};
    unsigned turns = 0;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct body *body = body_new(&pages, &frame, NULL, 0);

        for (unsigned piece = 0; piece < 10 * PAGES_PIECES_FREED_AT_ONCE; piece++)
            assert_int_equal(body_append(body, &(struct document_piece){malloc(100), 100, 100}), 0);
        assert_int_equal(pages.alive_bytes, body->length);
        body_unref(body);
        assert_int_equal(pages.alive_bytes, 0);
        assert_non_null(pages.discarded);
        keep(&pages, "short", 1, 10);
        pages_forget_before(&pages, UINT64_MAX);
    }
    while (pages_free_some(&pages))
        turns++;
    assert_in_range(turns, 15, 21);
    assert_null(pages.discarded);
    assert_false(pages_free_some(&pages));
}

static void test_not_too_many(void **state)
{
    struct pages pages = {0};
    char key[16];

    (void)state;
    for (unsigned i = 0; i < 3 * PAGES_KEPT_MAX; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        keep(&pages, key, 1, 10);
        assert_non_null(pages_find(&pages, "k0", 1)); /* used all the time */
        assert_non_null(pages_find(&pages, key, 1));
    }
    assert_null(pages_find(&pages, "k1", 1));
    pages_forget_before(&pages, UINT64_MAX);
}

static void test_not_too_large(void **state)
{
    struct pages pages = {0};

    (void)state;
    keep(&pages, "a", 1, PAGES_KEPT_BYTES_MAX / 2);
    keep(&pages, "b", 1, PAGES_KEPT_BYTES_MAX / 2);
    assert_non_null(pages_find(&pages, "a", 1));
    keep(&pages, "c", 1, 1);
    assert_non_null(pages_find(&pages, "a", 1));
    assert_null(pages_find(&pages, "b", 1)); /* used longest ago */
    keep(&pages, "d", 1, 2 * PAGES_KEPT_BYTES_MAX);
    assert_null(pages_find(&pages, "a", 1));
    assert_null(pages_find(&pages, "c", 1));
    assert_non_null(pages_find(&pages, "d", 1)); /* the newest, whatever its size */
    pages_forget_before(&pages, UINT64_MAX);
}

/* Every parameter makes another question, and no two patterns run into each other. */
static void test_keys(void **state)
{
    static const char *const queries[] = {
        "",
        "ring=a",
        "name=a",
        "ring=ab&name=c",
        "ring=a&name=bc",
        "pid=1",
        "min_ms=1",
        "limit=1",
        "trail=1",
        "cause=null",
        "cause=!null",
        "cause=blocked",
        "cause=!blocked",
        "state=idle",
        "state=running",
        "ring=1%20a",
        "after=a00000000000000000000000000000000",
    };
    enum { COUNT = sizeof(queries) / sizeof(queries[0]) };
    char keys[COUNT + 1][PAGE_KEY_BYTES];
    struct query_error error;
    struct query query;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(query_parse(queries[i], 0xff | PARAMETER_TRAIL, &query, &error), 0);
        page_key(DOCUMENT_THREADS, &query, keys[i]);
    }
    query_init(&query);
    page_key(DOCUMENT_STALLS, &query, keys[COUNT]);
    for (size_t i = 0; i <= COUNT; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(keys[i], keys[j]);
    memset(query.ring, 'r', sizeof(query.ring) - 1);
    memset(query.name, 'n', sizeof(query.name) - 1);
    query.min_ns = query.after.frozen_since_ns = UINT64_MAX;
    query.after.ring = query.after.slot = query.pid = query.id = query.limit = UINT32_MAX;
    query.one = query.after.present = true;
    page_key(DOCUMENT_THREAD, &query, keys[0]);
    assert_int_equal(keys[0][strlen(keys[0]) - 1], 'n'); /* the longest key fits */
    assert_true(strlen(keys[0]) < PAGE_KEY_BYTES - 1);
}

/* A list of that many full pieces, and one that is nearly empty. */
static struct body *long_list(struct pages *pages, size_t piece_count)
{
    const struct document_frame frame = {.sequence = 1};
    struct body *body = body_new(pages, &frame, NULL, 0);
    size_t before = pages->alive_bytes;

    for (size_t i = 0; i <= piece_count; i++) {
        struct document_piece piece = pages_take_piece(pages);

        assert_non_null(piece.text);
        assert_int_equal(piece.capacity, PAGES_PIECE_BYTES);
        memset(piece.text, 'x', 4096);
        piece.length = i < piece_count ? piece.capacity - 1 : 100;
        assert_int_equal(body_append(body, &piece), 0);
    }
    assert_int_equal(body->pieces[piece_count].capacity, 101);
    assert_int_equal(pages->alive_bytes, before + piece_count * PAGES_PIECE_BYTES + 101);
    return body;
}

/* What one list took the next one has; what none takes between two scans is given back. */
static void test_pieces_are_used_again(void **state)
{
    enum { COUNT = 8 };
    struct pages pages = {0};
    uint64_t sequence = 1;

    (void)state;
    for (; sequence < 10; sequence++) {
        size_t spare_count = pages.spare_count;
        struct body *body = long_list(&pages, COUNT);

        assert_int_equal(pages.spare_count, sequence == 1 ? 1 : spare_count - COUNT);
        body_unref(body);
        pages_forget_before(&pages, sequence);
        while (pages_free_some(&pages))
            ;
        assert_int_equal(pages.alive_bytes, 0);
        assert_int_equal(pages.spare_count, COUNT + 1);
    }
    body_unref(long_list(&pages, COUNT / 2));
    pages_forget_before(&pages, sequence++);
    while (pages_free_some(&pages))
        ;
    assert_int_equal(pages.spare_count, COUNT / 2 + 1); /* half of them was not needed */
    pages_forget_before(&pages, sequence++);
    assert_true(pages_free_some(&pages)); /* none was, and they are more than go at once */
    while (pages_free_some(&pages))
        ;
    assert_int_equal(pages.spare_count, 0);
    assert_int_equal(pages_bytes(&pages), 0);
    assert_null(pages.spares);
}

static void test_spare_pieces_are_bounded(void **state)
{
    enum { TOO_MANY = PAGES_SPARE_BYTES_MAX / PAGES_PIECE_BYTES + 10 };
    struct pages pages = {0};
    struct body *one = long_list(&pages, TOO_MANY);
    size_t most;

    (void)state;
    body_unref(one);
    while (pages_free_some(&pages))
        ;
    most = pages.spare_count;
    assert_in_range(most * PAGES_PIECE_BYTES, PAGES_SPARE_BYTES_MAX - 2 * PAGES_PIECE_BYTES, PAGES_SPARE_BYTES_MAX);
    pages_done(&pages);
    assert_int_equal(pages.spare_count, 0);
    one = long_list(&pages, 5); /* alive, they are counted with the spare ones */
    body_unref(long_list(&pages, TOO_MANY - 5));
    while (pages_free_some(&pages))
        ;
    assert_in_range(pages.spare_count, most - 8, most - 5);
    assert_in_range(pages_bytes(&pages), PAGES_SPARE_BYTES_MAX - 2 * PAGES_PIECE_BYTES, PAGES_SPARE_BYTES_MAX);
    body_unref(one);
    pages_done(&pages);
    assert_int_equal(pages.alive_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_question_and_scan),
        cmocka_unit_test(test_long_ones_are_freed_in_pieces),
        cmocka_unit_test(test_pieces_are_used_again),
        cmocka_unit_test(test_spare_pieces_are_bounded),
        cmocka_unit_test(test_not_too_many),
        cmocka_unit_test(test_not_too_large),
        cmocka_unit_test(test_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
