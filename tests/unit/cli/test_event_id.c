/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_id.c - ids of events, and the file that keeps one: ripd/cli/event_id.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/event_id.h"
#include "support/test.h"

TEST(ids)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t sequence;
    } cases[] = {
        {"0123456789abcdef-9999999999999999999", true, UINT64_C(9999999999999999999)},
        {"ffffffffffffffff-0", true, 0},
        {"FFFFFFFFFFFFFFFF-17", true, 17},
        {.text = ""},
        {.text = "-"},
        {.text = "1-2"},
        {.text = "0123456789abcdef"},
        {.text = "0123456789abcdef-"},
        {.text = "0123456789abcdef-1x"},
        {.text = "0123456789abcdeg-1"},
        {.text = "0123456789abcdef-12345678901234567890"},
        {.text = "0123456789abcdef--1"},
        {.text = "0123456789abcdef_1"},
        {.text = "0123456789abcdef-1\n"},
        {.text = "0123456789abcdef0-1"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t sequence = 7;

        assert_int_equal(event_id_parse(cases[i].text, &sequence), cases[i].good);
        assert_true(sequence == (cases[i].good ? cases[i].sequence : 7));
    }
}

TEST(file)
{
    static const char *const contents[] = {"", "hello\n", "0123456789abcdef"};
    char directory[] = "/dev/shm/rip-test-id-XXXXXX", path[64], id[EVENT_ID_BYTES] = "before";

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/last", directory);
    assert_int_equal(event_id_load(path, id), -ENOENT);
    assert_int_equal(event_id_store(path, "0123456789abcdef-1"), 0);
    assert_int_equal(event_id_store(path, "0123456789abcdef-22"), 0);
    assert_int_equal(event_id_load(path, id), 0);
    assert_string_equal(id, "0123456789abcdef-22");
    for (size_t i = 0; i < COUNT_OF(contents); i++) {
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        fputs(contents[i], file);
        fclose(file);
        assert_int_equal(event_id_load(path, id), -EINVAL);
    }
    assert_string_equal(id, "0123456789abcdef-22"); /* untouched on failure */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0); /* no other file was made */
    assert_int_equal(event_id_store(path, "0123456789abcdef-1"), -ENOENT);
}
