/* SPDX-License-Identifier: Apache-2.0 */
/* test_item.c - an id as JSON: what the kernel reports about its thread, and its last state: ripd/view/item.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "view/item.h"

/* A sighting as JSON. The caller frees it. */
static char *item_text(struct sighting sighting)
{
    static char ring_name[] = "app";
    struct item item = {.ring_name = ring_name};
    struct json_writer writer;
    char *text;
    size_t length;

    sighting.item = &item;
    json_init(&writer);
    item_write(&writer, NULL, &sighting, 0);
    assert_int_equal(json_finish(&writer, &text, &length), 0);
    return text;
}

/* The "kernel" of an item, with its key. The caller frees it. */
static char *kernel_text(struct kernel_facts *kernel)
{
    char *text = item_text((struct sighting){.kernel = kernel}), *begin = strstr(text, "\"kernel\":"), *end;

    assert_non_null(begin);
    end = strstr(begin, ",\"waits_for\"");
    assert_non_null(end);
    begin = strndup(begin, (size_t)(end - begin));
    free(text);
    return begin;
}

static void assert_kernel(struct kernel_facts *kernel, const char *expected)
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
    assert_kernel(NULL, "\"kernel\":null");
    assert_kernel(facts, "\"kernel\":{\"state\":\"S\",\"syscall\":null,\"fd\":null,\"target\":null,\"holder\":null,"
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
    assert_kernel(copy,
                  "\"kernel\":{\"state\":\"S\",\"syscall\":\"flock\",\"fd\":0,"
                  "\"target\":\"/tmp/a\\u000a\xef\xbf\xbd\",\"target_hex\":\"2f746d702f610aff\","
                  "\"holder\":{\"pid\":17,\"comm\":\"\\\"quoted\\\"\"},"
                  "\"asked_ms\":1,\"wchan\":\"locks_lock_inode_wait\",\"mode\":\"system\",\"window_ms\":25,"
                  "\"cpu_ms\":0,\"wait_ms\":0,\"voluntary_switches\":1,\"involuntary_switches\":2,\"denied\":[]}");
    kernel_facts_unref(copy);
}

/* The table from which the manual page is made has all fields, in their order. */
TEST(table_of_fields)
{
#define X(name, meaning) name,
    static const char *const names[] = {KERNEL_FIELD_TABLE(X)};
#undef X
    struct kernel_facts *facts = kernel_facts_new("");
    char *text = kernel_text(facts), *found = text;
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char key[64];

        snprintf(key, sizeof(key), "\"%s\":", names[i]);
        found = strstr(found, key);
        if (found == NULL)
            fail_msg("%s is missing or out of order", names[i]);
    }
    for (const char *at = text; *at != '\0'; at++)
        count += *at == ':';
    assert_int_equal(count, 1 + COUNT_OF(names));
    free(text);
    kernel_facts_unref(facts);
}

TEST(last)
{
    static const struct {
        struct sighting_last last;
        const char *expected;
    } cases[] = {
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

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = item_text((struct sighting){.state = ID_DEAD, .last = cases[i].last});

        if (strstr(text, cases[i].expected) == NULL)
            fail_msg("no %s in %s", cases[i].expected, text);
        free(text);
    }
}
