/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_line.c - lines of the history, written and read: ripd/record/event_line.c. */
#include <errno.h>

#include "record/event_line.h"
#include "support/guarded_copy.h"
#include "support/test.h"
#include "unit/event_samples.h"

static struct event_subject subject_of(uint64_t episode)
{
    struct event_subject subject = {
        .episode = episode,
        .directory_device = 0x1b,
        .directory_inode = UINT64_MAX,
        .slot = UINT32_MAX,
        .generation = 6,
        .began_mono_ns = 7,
        .stall_count = 2,
        .progress = UINT64_MAX,
        .frozen_mono_ns = INT64_MAX,
        .moved_after_mono_ns = EVENT_SUBJECT_UNKNOWN,
    };

    for (size_t i = 0; i < EVENT_SUBJECT_ID_BYTES; i++) {
        subject.boot_id[i] = (uint8_t)(i * 17);
        subject.ring_id[i] = (uint8_t)(255 - i);
    }
    return subject;
}

static char *format(const struct event_line *line, size_t *ret_length)
{
    char *text;

    assert_int_equal(event_line_format(line, 1, &text, ret_length), 0);
    assert_int_equal(strlen(text), *ret_length);
    assert_int_equal(text[*ret_length - 1], '\n');
    assert_ptr_equal(strchr(text, '\n'), text + *ret_length - 1);
    --*ret_length;
    return text;
}

/* Writes the line and reads it back. The parser reads no byte behind it. */
static struct event_line round_trip(const struct event_line *line)
{
    struct guarded_copy copy;
    struct event_line parsed;
    size_t length;
    char *text = format(line, &length);

    guarded_copy_new(&copy, text, length);
    assert_int_equal(event_line_parse((const char *)copy.bytes, length, &parsed), 0);
    guarded_copy_free(&copy);
    free(text);
    assert_int_equal(parsed.kind, line->kind);
    return parsed;
}

static struct event_line begin_line(void)
{
    return (struct event_line){.kind = EVENT_LINE_EVENT, .event = sample_begin(3, 2), .subject = subject_of(2)};
}

#define SAME_NUMBER(field) assert_int_equal(a->field, b->field)
#define SAME_TEXT(field) assert_string_equal(a->field, b->field)

static void assert_same_event(const struct event *a, const struct event *b)
{
    SAME_NUMBER(sequence);
    SAME_NUMBER(kind);
    SAME_NUMBER(episode);
    SAME_NUMBER(incident);
    SAME_NUMBER(at_wall_ns);
    SAME_NUMBER(duration_ns);
    SAME_NUMBER(duration_max_ns);
    SAME_NUMBER(since_wall_ns);
    SAME_NUMBER(threshold_ns);
    SAME_NUMBER(cause);
    SAME_NUMBER(reason);
    SAME_NUMBER(stall_count);
    SAME_NUMBER(id);
    SAME_NUMBER(pid);
    SAME_NUMBER(name_bytes);
    SAME_NUMBER(offset);
    SAME_NUMBER(text_bytes);
    SAME_TEXT(ring);
    SAME_TEXT(comm);
    SAME_TEXT(unit);
    SAME_TEXT(module);
    SAME_TEXT(text);
    assert_true(a->container == NULL && b->container == NULL);
    assert_memory_equal(a->name, b->name, RIP_NAME_BYTES);
}

/* Field by field, because the padding has any value. */
static void assert_same_subject(const struct event_subject *a, const struct event_subject *b)
{
    SAME_NUMBER(episode);
    SAME_NUMBER(slot);
    SAME_NUMBER(generation);
    SAME_NUMBER(directory_device);
    SAME_NUMBER(directory_inode);
    SAME_NUMBER(began_mono_ns);
    SAME_NUMBER(stall_count);
    SAME_NUMBER(progress);
    SAME_NUMBER(frozen_mono_ns);
    SAME_NUMBER(moved_after_mono_ns);
    assert_memory_equal(a->boot_id, b->boot_id, sizeof(b->boot_id));
    assert_memory_equal(a->ring_id, b->ring_id, sizeof(b->ring_id));
}

TEST(begin)
{
    static const enum event_line_kind kinds[] = {EVENT_LINE_EVENT, EVENT_LINE_CARRIED};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct event_line line = {
            .kind = kinds[i], .event = sample_begin_named(3, 2, "\x1b\"\xff\\{}\n\x01", 8), .subject = subject_of(2)};
        struct event_line parsed = round_trip(&line);

        assert_same_event(parsed.event, line.event);
        assert_int_equal(parsed.event->subject_at, line.event->subject_at);
        assert_same_subject(&parsed.subject, &line.subject);
        event_unref(line.event);
        event_unref(parsed.event);
    }
}

/* The history can read what it wrote, whatever bytes and numbers are in the ring. */
TEST(any_values_of_a_ring)
{
    struct event_line line = {
        .kind = EVENT_LINE_EVENT, .event = sample_begin_named(3, 2, "a\0b", 3), .subject = subject_of(2)};
    struct item *item = sample_item(sample_process("/usr/bin/checkout", 4690), "checkout", 1, 17, "a\0b", 3, 1);
    struct sighting sighting = sample_stall(item, 1000);
    struct event_line parsed;

    item->snap_count = item->entries[0].snap = UINT64_MAX;
    free(line.event->text);
    assert_int_equal(document_event_begin(line.event, &sighting, NULL), 0);
    parsed = round_trip(&line);
    assert_same_event(parsed.event, line.event);
    assert_null(parsed.event->function); /* unknown, not "" */
    assert_null(parsed.event->file);
    event_unref(parsed.event);
    event_unref(line.event);
    item_unref(item);
}

TEST(end)
{
    struct event *begin = sample_begin(3, 2);
    struct event_line line = {.kind = EVENT_LINE_EVENT, .event = sample_end(4, begin)}, parsed = round_trip(&line);

    assert_same_event(parsed.event, line.event);
    assert_int_equal(parsed.event->reason, EVENT_REASON_MOVED);
    event_unref(begin);
    event_unref(line.event);
    event_unref(parsed.event);
}

TEST(the_end_of_a_begin_that_was_read)
{
    struct event_line line = begin_line(), parsed = round_trip(&line);
    struct event *end = sample_end(4, line.event), *end_of_read = sample_end(4, parsed.event);

    assert_string_equal(end->text, end_of_read->text);
    event_unref(end);
    event_unref(end_of_read);
    event_unref(line.event);
    event_unref(parsed.event);
}

TEST(unknown)
{
    const struct sighting sighting = {.state = ID_STALLED, .frozen_for_max_ns = UINT64_MAX, .threshold_ns = UINT64_MAX};
    struct event *event = event_make();
    struct event_line line = {.kind = EVENT_LINE_EVENT, .event = event, .subject = subject_of(1)}, parsed;

    event->sequence = event->episode = 1;
    assert_int_equal(document_event_begin(event, &sighting, NULL), 0);
    parsed = round_trip(&line);
    assert_string_equal(parsed.event->ring, "");
    assert_null(parsed.event->module);
    assert_int_equal(parsed.event->duration_ns, EVENT_UNKNOWN_NS);
    assert_int_equal(parsed.event->duration_max_ns, EVENT_UNKNOWN_NS);
    assert_int_equal(parsed.event->threshold_ns, EVENT_UNKNOWN_NS);
    assert_int_equal(parsed.event->since_wall_ns, 0);
    event_unref(event);
    event_unref(parsed.event);
}

TEST(subject_and_history)
{
    struct event_line subject = {.kind = EVENT_LINE_SUBJECT, .subject = subject_of(9)};
    struct event_line history = {.kind = EVENT_LINE_HISTORY, .epoch = UINT64_MAX, .sequence = INT64_MAX, .episode = 12};
    struct event_line parsed;

    subject.subject.moved_after_mono_ns = 5;
    parsed = round_trip(&subject);
    assert_same_subject(&parsed.subject, &subject.subject);
    parsed = round_trip(&history);
    assert_int_equal(parsed.epoch, history.epoch);
    assert_int_equal(parsed.sequence, history.sequence);
    assert_int_equal(parsed.episode, history.episode);
}

static int parse(const char *text, size_t length)
{
    struct event_line parsed;
    int status = event_line_parse(text, length, &parsed);

    if (status == 0)
        event_unref(parsed.event);
    return status;
}

/* No part of a line is accepted, and no change of one byte makes the parser fail otherwise. */
TEST(damage)
{
    struct event_line line = begin_line();
    struct guarded_copy copy;
    size_t length;
    char *text = format(&line, &length);

    for (size_t cut = 0; cut < length; cut++) {
        guarded_copy_new(&copy, text, cut);
        assert_int_equal(parse((const char *)copy.bytes, cut), -EBADMSG);
        guarded_copy_free(&copy);
    }
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];

        text[i] = '\0';
        if (parse(text, length) != -EBADMSG)
            fail_msg("NUL accepted at %zu: %s|%s", i, text + (i > 20 ? i - 20 : 0), text + i + 1);
        text[i] = '"';
        (void)parse(text, length);
        text[i] = byte;
    }
    assert_int_equal(parse(text, length), 0);
    free(text);
    event_unref(line.event);
}

TEST(refused)
{
    static const char *const changes[][2] = {
        {"\"sequence\":3", "\"sequence\":0"},
        {"\"sequence\":3", "\"sequence\":-1"},
        {"\"sequence\":3", "\"sequence\":3.5"},
        {"\"sequence\":3", "\"sequence\":99999999999999999999"},
        {"\"kind\":\"begin\"", "\"kind\":\"start\""},
        {"\"kind\":\"begin\"", "\"kind\":\"end\""},
        {"\"cause\":\"blocked\"", "\"cause\":\"bored\""},
        {"\"since\":\"2026", "\"since\":\"x026"},
        {"\"since\":\"2026", "\"since\":\"1960"},
        {"\"name\":\"worker-17\"", "\"name\":17"},
        {"\"name\":\"worker-17\"", "\"name\":\"a\",\"name_hex\":\"abc\""},
        {"\"id\":17", "\"id\":4294967296"},
        {"\"pid\":4690", "\"pid\":\"4690\""},
        {"\"offset\":\"0x1234\"", "\"offset\":\"1234\""},
        {"\"ring\":\"checkout\",", ""},
        {"\"attested\":true", "\"attested\":\ttrue"},
        {"\"attested\":true", "\"pid\":1"},
        {"\"subject\":{\"episode\":2", "\"subject\":{\"episode\":3"},
        {"\"boot_id\":\"00", "\"boot_id\":\""},
        {"\"directory\":\"1b:", "\"directory\":\"1b"},
        {"\"stalls\":2,\"progress\"", "\"stalls\":0,\"progress\""},
        {"\"progress\":\"ff", "\"progress\":\"fff"},
        {"\"moved_after_mono_ns\":null", "\"moved_after_mono_ns\":true"},
    };
    struct event_line line = begin_line();
    size_t length;
    char *text = format(&line, &length);

    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        const char *at = strstr(text, changes[i][0]);
        char *changed;

        assert_non_null(at);
        assert_true(asprintf(&changed, "%.*s%s%.*s", (int)(at - text), text, changes[i][1],
                             (int)(text + length - at) - (int)strlen(changes[i][0]), at + strlen(changes[i][0])) > 0);
        if (parse(changed, strlen(changed)) != -EBADMSG)
            fail_msg("accepted: %s", changed);
        free(changed);
    }
    assert_int_equal(parse("", 0), -EBADMSG);
    assert_int_equal(parse("{\"history\":{}}", 14), -EBADMSG);
    free(text);
    event_unref(line.event);
}
