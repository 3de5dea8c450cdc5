/* SPDX-License-Identifier: Apache-2.0 */
/* test_item.c - what the kernel says of a thread, as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "view/item.h"

/* The "kernel" of an item, with its key; the caller frees it. */
static char *kernel_text(struct kernel_facts *kernel)
{
    static char ring_name[] = "app";
    struct item item = {.ring_name = ring_name};
    struct sighting sighting = {.item = &item, .kernel = kernel};
    struct json_writer writer;
    char *text, *begin, *end;
    size_t length;

    json_init(&writer);
    item_write(&writer, NULL, &sighting, 0);
    assert_int_equal(json_finish(&writer, &text, &length), 0);
    begin = strstr(text, "\"kernel\":");
    end = strstr(text, ",\"waits_for\"");
    assert_true(begin != NULL && end != NULL);
    memmove(text, begin, (size_t)(end - begin));
    text[end - begin] = '\0';
    return text;
}

static void assert_json(struct kernel_facts *kernel, const char *expected)
{
    char *text = kernel_text(kernel);

    assert_string_equal(text, expected);
    free(text);
}

TEST(nothing_known)
{
    struct kernel_facts *facts = kernel_facts_new("");

    facts->state = 'S';
    facts->denied = KERNEL_DENIED(SYSCALL) | KERNEL_DENIED(WCHAN);
    assert_json(NULL, "\"kernel\":null");
    assert_json(facts, "\"kernel\":{\"state\":\"S\",\"syscall\":null,\"fd\":null,\"target\":null,\"holder\":null,"
                       "\"asked_ms\":null,\"wchan\":null,\"mode\":null,\"window_ms\":null,\"cpu_ms\":null,"
                       "\"wait_ms\":null,\"voluntary_switches\":null,\"involuntary_switches\":null,"
                       "\"denied\":[\"syscall\",\"wchan\"]}");
    kernel_facts_unref(facts);
}

TEST(everything_known)
{
    struct kernel_facts *facts = kernel_facts_new("/tmp/a\n\xff"), *copy;

    facts->state = 'S';
    facts->syscall = "flock";
    facts->descriptor = 0;
    facts->asked_ns = 1999999;
    facts->mode = KERNEL_MODE_SYSTEM;
    facts->holder_pid = 17;
    strcpy(facts->holder_comm, "\"quoted\"");
    strcpy(facts->wchan, "locks_lock_inode_wait");
    facts->window_ns = 25000000;
    facts->cpu_ns = 0;
    facts->wait_ns = 999999;
    facts->voluntary = 1;
    facts->involuntary = 2;
    copy = kernel_facts_copy(facts);
    kernel_facts_unref(facts);
    assert_json(copy, "\"kernel\":{\"state\":\"S\",\"syscall\":\"flock\",\"fd\":0,"
                      "\"target\":\"/tmp/a\\u000a\xef\xbf\xbd\",\"target_hex\":\"2f746d702f610aff\","
                      "\"holder\":{\"pid\":17,\"comm\":\"\\\"quoted\\\"\"},"
                      "\"asked_ms\":1,\"wchan\":\"locks_lock_inode_wait\",\"mode\":\"system\",\"window_ms\":25,"
                      "\"cpu_ms\":0,\"wait_ms\":0,\"voluntary_switches\":1,\"involuntary_switches\":2,\"denied\":[]}");
    assert_ptr_equal(kernel_facts_ref(copy), copy);
    kernel_facts_unref(copy);
    kernel_facts_unref(copy);
    kernel_facts_unref(kernel_facts_ref(NULL));
}

/* The table, of which the manual page is made, has the fields in their order. */
TEST(the_table_of_fields)
{
#define X(name, meaning) name,
    static const char *const names[] = {KERNEL_FIELD_TABLE(X)};
#undef X
    struct kernel_facts *facts = kernel_facts_new("");
    char *text = kernel_text(facts), *found = text;
    size_t count = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char key[64];

        snprintf(key, sizeof(key), "\"%s\":", names[i]);
        found = strstr(found, key);
        if (found == NULL)
            fail_msg("%s", names[i]);
    }
    for (const char *at = text; *at != '\0'; at++)
        count += *at == ':';
    assert_int_equal(count, 1 + sizeof(names) / sizeof(names[0]));
    free(text);
    kernel_facts_unref(facts);
}

TEST(last)
{
    static const struct {
        struct sighting_last last;
        const char *expected;
    } rows[] = {
        {{0}, "\"last\":null,"},
        {{.known = true, .state = ID_RUNNING, .frozen_for_ns = 5000000},
         "\"last\":{\"state\":\"running\",\"cause\":null,\"since\":null,\"frozen_for_ms\":null,"
         "\"waits_for\":null,\"waits_for_left_out\":null},"},
        {{.known = true,
          .state = ID_STALLED,
          .cause = CAUSE_DEADLOCK,
          .since_wall_ns = 1000000,
          .frozen_for_ns = 5000000},
         "\"last\":{\"state\":\"stalled\",\"cause\":\"deadlock\",\"since\":\"1970-01-01T00:00:00.001Z\","
         "\"frozen_for_ms\":5,\"waits_for\":null,\"waits_for_left_out\":null},"},
    };
    static char ring_name[] = "app";
    struct item item = {.ring_name = ring_name};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sighting sighting = {.item = &item, .state = ID_DEAD, .last = rows[i].last};
        struct json_writer writer;
        size_t length;
        char *text;

        json_init(&writer);
        item_write(&writer, NULL, &sighting, 0);
        assert_int_equal(json_finish(&writer, &text, &length), 0);
        assert_non_null(strstr(text, rows[i].expected));
        free(text);
    }
}
