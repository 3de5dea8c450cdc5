/* SPDX-License-Identifier: Apache-2.0 */
/* journal_test.h - a socket that stands for the journal's, and a parser of the entries that it receives. */
#ifndef TESTS_UNIT_JOURNAL_TEST_H
#define TESTS_UNIT_JOURNAL_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define TEST_FIELDS_MAX 64

/* A received entry. */
struct test_entry {
    char bytes[65536];
    size_t length;
    size_t count;
    struct {
        char name[65];
        const char *value;
        size_t length;
    } fields[TEST_FIELDS_MAX];
};

static inline int test_journal_listen(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
    return descriptor;
}

static inline void test_entry_parse(struct test_entry *entry)
{
    const char *at = entry->bytes, *end = entry->bytes + entry->length;

    for (entry->count = 0; at < end; entry->count++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *equals;

        assert_non_null(line_end);
        assert_true(entry->count < TEST_FIELDS_MAX);
        equals = memchr(at, '=', (size_t)(line_end - at));
        assert_true((equals != NULL ? equals : line_end) - at <= 64);
        snprintf(entry->fields[entry->count].name, sizeof(entry->fields[0].name), "%.*s",
                 (int)((equals != NULL ? equals : line_end) - at), at);
        if (equals != NULL) {
            entry->fields[entry->count].value = equals + 1;
            entry->fields[entry->count].length = (size_t)(line_end - equals - 1);
            at = line_end + 1;
        } else {
            uint64_t length = 0;

            assert_true(end - line_end > 9);
            for (int i = 7; i >= 0; i--)
                length = length << 8 | (uint8_t)line_end[1 + i];
            assert_true(length < (uint64_t)(end - line_end - 9));
            entry->fields[entry->count].value = line_end + 9;
            entry->fields[entry->count].length = (size_t)length;
            at = line_end + 9 + length;
            assert_int_equal(*at, '\n');
            at++;
        }
    }
}

/* Returns false if there is no entry. */
static inline bool test_journal_receive(int descriptor, struct test_entry *ret_entry)
{
    ssize_t length = recv(descriptor, ret_entry->bytes, sizeof(ret_entry->bytes), 0);

    if (length < 0)
        return false;
    ret_entry->length = (size_t)length;
    test_entry_parse(ret_entry);
    return true;
}

/* Asserts that the entry has exactly one field of that name, with that value. */
static inline void assert_field_bytes(const struct test_entry *entry, const char *name, const void *value,
                                      size_t length)
{
    size_t found = 0;

    for (size_t i = 0; i < entry->count; i++) {
        if (strcmp(entry->fields[i].name, name) != 0)
            continue;
        found++;
        assert_int_equal(entry->fields[i].length, length);
        assert_memory_equal(entry->fields[i].value, value, length);
    }
    if (found != 1)
        fail_msg("%zu fields %s", found, name);
}

static inline void assert_field(const struct test_entry *entry, const char *name, const char *value)
{
    assert_field_bytes(entry, name, value, strlen(value));
}

static inline void assert_no_field(const struct test_entry *entry, const char *name)
{
    for (size_t i = 0; i < entry->count; i++)
        assert_string_not_equal(entry->fields[i].name, name);
}

#endif
