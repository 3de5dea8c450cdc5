/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_golden_recording.c - a recording of version 1, made when the format was fixed, reads as it did then: the events
 * of golden/version-1.riprec are those in golden/version-1.events.
 */
#include "unit/session/session_test.h"

static struct memory_file load(const char *name)
{
    char path[512];
    struct memory_file file = {.bytes = malloc(1 << 20)};
    FILE *source;

    snprintf(path, sizeof(path), "%s/%s", RIP_GOLDEN_FOLDER, name);
    source = fopen(path, "rb");
    assert_non_null(source);
    assert_non_null(file.bytes);
    file.count = fread(file.bytes, 1, (1 << 20) - 1, source);
    file.bytes[file.count] = '\0';
    fclose(source);
    return file;
}

TEST(golden_recording_reads_as_it_did)
{
    struct memory_file file = load("version-1.riprec"), events = load("version-1.events");
    const struct recording_input input = {&file, memory_read, file.count};
    struct recording_reader *reader;
    const struct rip_event *event;
    const char *name;
    const void *data;
    size_t count;
    int result;

    assert_int_equal(recording_reader_new(&reader, &input), 0);
    while ((result = recording_reader_next(reader, &event)) == 1) {
        print_event(&text, event);
        assert_int_equal(recording_reader_data(reader, 0, &name, &data, &count), event->kind == RIP_EVENT_STALL_BEGIN);
    }
    assert_int_equal(result, 0);
    assert_string_equal(text_of(&text), (const char *)events.bytes);
    recording_reader_free(reader);
    text_clear(&text);
    free(file.bytes);
    free(events.bytes);
}
