/* SPDX-License-Identifier: Apache-2.0 */
/* test_document_event.c - events as text, read back by another JSON library: ripd/view/document_event.c. */
#include "support/test.h"
#include "unit/event_samples.h"
#include "unit/json_at.h"

#define SUBJECT                                                                                                        \
    "\"ring\":\"checkout\",\"source\":\"library\",\"id\":17,\"tid\":4711,\"name\":\"worker-17\",\"note\":null,"        \
    "\"process\":{\"pid\":4690,\"comm\":\"checkout\",\"exe\":\"/usr/bin/checkout\","                                   \
    "\"cmdline\":\"checkout --port 80\",\"uid\":998,\"unit\":\"checkout.service\",\"container\":null,"                 \
    "\"started_at\":\"2026-11-20T08:00:00.000Z\",\"attested\":true},"                                                  \
    "\"snaps\":918273,"                                                                                                \
    "\"location\":{\"module\":\"checkout\",\"build_id\":\"" SAMPLE_BUILD_ID "\",\"offset\":\"0x1234\","                \
    "\"function\":null,\"file\":null,\"line\":null},\"kernel\":null,\"waits_for\":null,\"waits_for_left_out\":null,"   \
    "\"root\":null}"

static json_t *parse(const struct event *event)
{
    json_error_t error;
    json_t *root = json_loadb(event->text, event->text_bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);

    if (root == NULL)
        fail_msg("%s at %d: %s", error.text, error.position, event->text);
    assert_int_equal(strlen(event->text), event->text_bytes);
    return root;
}

TEST(begin)
{
    struct event *event = sample_begin(12, 7);

    assert_string_equal(
        event->text,
        "{\"sequence\":12,\"kind\":\"begin\",\"at\":\"2026-11-20T09:41:06.940Z\",\"episode\":7,"
        "\"incident\":7,\"waiting_count\":0,\"reason\":null,\"lasted_ms\":null,\"lasted_max_ms\":null,\"stalls\":null,"
        "\"summary\":\"worker-17 of checkout (pid 4690) has been blocked for 13.8 s "
        "at checkout+0x1234\","
        "\"state\":\"stalled\",\"cause\":\"blocked\",\"since\":\"2026-11-20T09:40:53.140Z\","
        "\"frozen_for_ms\":13800,\"frozen_for_max_ms\":14900,\"threshold_ms\":5000," SUBJECT);
    assert_string_equal(event->text + event->subject_at, SUBJECT);
    json_decref(parse(event));
    event_unref(event);
}

TEST(end)
{
    struct event *begin = sample_begin(12, 7);
    struct event *event = sample_end(13, begin);

    assert_string_equal(event->text,
                        "{\"sequence\":13,\"kind\":\"end\",\"at\":\"2026-11-20T09:41:13.140Z\",\"episode\":7,"
                        "\"incident\":7,\"waiting_count\":null,\"reason\":\"moved\",\"lasted_ms\":20000,\"lasted_max_"
                        "ms\":21100,\"stalls\":2,"
                        "\"summary\":\"worker-17 of checkout (pid 4690) moved again, after 20.0 s "
                        "at checkout+0x1234: blocked\","
                        "\"state\":null,\"cause\":\"blocked\",\"since\":\"2026-11-20T09:40:53.140Z\","
                        "\"frozen_for_ms\":null,\"frozen_for_max_ms\":null,\"threshold_ms\":5000," SUBJECT);
    assert_string_equal(event->text + event->subject_at, SUBJECT);
    json_decref(parse(event));
    event_unref(begin);
    event_unref(event);
}

TEST(unknown_is_null)
{
    /* clang-format off */
    static const char *const null_keys[] = {
        "ring", "id", "tid", "name", "note", "process", "snaps", "location", "kernel", "waits_for",
        "waits_for_left_out", "frozen_for_max_ms", "cause",
    };
    static const char *const null_keys_of_end[] = {"lasted_ms", "lasted_max_ms", "since"};
    /* clang-format on */
    const struct sighting sighting = {.state = ID_STALLED, .since_wall_ns = 1, .frozen_for_max_ns = UINT64_MAX};
    struct event *begin = event_make(), *end = event_make();
    json_t *root;

    begin->sequence = begin->episode = 1;
    begin->duration_max_ns = EVENT_UNKNOWN_NS;
    assert_int_equal(document_event_begin(begin, &sighting, NULL), 0);
    root = parse(begin);
    for (size_t i = 0; i < COUNT_OF(null_keys); i++)
        assert_json(root, null_keys[i], "null");
    json_decref(root);

    end->kind = EVENT_END;
    end->duration_ns = end->duration_max_ns = EVENT_UNKNOWN_NS;
    assert_int_equal(document_event_end(end, begin), 0);
    root = parse(end);
    for (size_t i = 0; i < COUNT_OF(null_keys_of_end); i++)
        assert_json(root, null_keys_of_end[i], "null");
    json_decref(root);
    event_unref(end);
    event_unref(begin);
}

/* The begin of a stall at a place with frame_count frames, all of this function. */
static struct event *begin_at(const char *function, size_t frame_count)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct process_facts *process = sample_process("/usr/bin/checkout", 4690);
    struct item *item = sample_item(process, "checkout", 1, 17, "worker-17", 9, 1);
    struct sighting sighting = sample_stall(item, 1000);
    struct event *event = event_make();

    for (size_t i = 0; i < frame_count; i++)
        frames[i] = (struct symbol_frame){function, "a.c", 7};
    assert_int_equal(symbol_table_add(&process->modules[0]->symbols, 0x1234, symbol_new(frames, frame_count)), 0);
    event->sequence = event->episode = 1;
    assert_int_equal(document_event_begin(event, &sighting, NULL), 0);
    item_unref(item);
    return event;
}

/* Names of places that would make the text too long are left out, and nothing else. */
TEST(long_names)
{
    char function[SYMBOL_TEXT_BYTES_MAX];
    struct event *event = begin_at("db_wait", SYMBOL_FRAMES_MAX);

    assert_non_null(strstr(event->text, "\"offset\":\"0x1234\",\"function\":\"db_wait\",\"file\":\"a.c\",\"line\":7"));
    event_unref(event);
    memset(function, '\x1b', sizeof(function) - 1);
    function[sizeof(function) - 1] = '\0';
    event = begin_at(function, SYMBOL_FRAMES_MAX);
    assert_true(event->text_bytes < EVENT_NAMED_BYTES_MAX);
    assert_string_equal(event->text + event->subject_at, SUBJECT);
    json_decref(parse(event));
    event_unref(event);
}

/* Whatever the name of a thread: one line, valid JSON, no control bytes, and the name's bytes in name_hex. */
TEST(hostile_names)
{
    static const char quotes[] =
        "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\""
        "\"\"\"\"\"\"\"\"";
    static const char *const names[] = {
        quotes,          "\x1b]0;owned\x07\x1b[2J",        "<script>alert(1)</script>",
        "\xff\xfe\xc3(", "\",\"ring\":\"other\",\"x\":\"", "\n\n{\"event\":{}}",
        "\\\\\\\"",
    };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct event *begin = sample_begin_named(1, 1, names[i], strlen(names[i]));
        struct event *end = sample_end(2, begin);
        json_t *root = parse(begin), *root_of_end = parse(end), *hex = json_at(root, "name_hex");

        for (const char *at = begin->text; *at != '\0'; at++)
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        assert_json_text(root, "ring", "checkout");
        if (hex == NULL)
            assert_json_text(root, "name", names[i]);
        else
            assert_int_equal(json_string_length(hex), 2 * strlen(names[i]));
        assert_true(json_equal(json_at(root, "name"), json_at(root_of_end, "name")));
        json_decref(root);
        json_decref(root_of_end);
        event_unref(end);
        event_unref(begin);
    }
}
