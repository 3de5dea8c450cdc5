/* SPDX-License-Identifier: Apache-2.0 */
/* test_export.c - one story made by hand, in each of the formats: ripd/export. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "export/export.h"
#include "support/test.h"

#define SECOND UINT64_C(1000000000)
#define WALL UINT64_C(1700000000000000000)

struct story {
    struct exporter *made;
    char *text;
    size_t count;
    int failure; /* what writing returns from now on */
};

static int keep(void *context, const void *bytes, size_t count)
{
    struct story *story = context;

    if (story->failure != 0)
        return story->failure;
    story->text = realloc(story->text, story->count + count + 1);
    assert_non_null(story->text);
    memcpy(story->text + story->count, bytes, count);
    story->count += count;
    story->text[story->count] = '\0';
    return 0;
}

static void name_place(void *context, struct module_facts *module, uint64_t offset)
{
    static const struct symbol_frame frame = {"db_wait", "src/db.c", 120};

    (void)context;
    assert_string_equal(module->path, "/opt/app");
    if (offset == 0x10)
        (void)symbol_table_add(&module->symbols, offset, symbol_new(&frame, 1));
}

static void begin(struct story *story, const struct export_format *format)
{
    const struct export_caller caller = {story, keep, name_place};

    *story = (struct story){.made = export_new(format, &caller)};
    assert_non_null(story->made);
}

static void end(struct story *story)
{
    export_free(story->made);
    free(story->text);
}

static void feed(struct story *story, unsigned second, struct rip_event event)
{
    event.latest_wall_ns = WALL + second * SECOND;
    event.earliest_wall_ns = second == 0 ? 0 : event.latest_wall_ns - SECOND;
    assert_int_equal(export_take(story->made, &event), 0);
}

static void feed_drain(struct story *story, unsigned second)
{
    feed(story, second, (struct rip_event){.kind = RIP_EVENT_DRAIN, .as.drain = {.sequence = second + 1}});
}

static void feed_process(struct story *story)
{
    static const struct rip_process_info process = {.pid = 4690, .comm = "app"};
    static const struct rip_module_info module = {
        .start = 0x1000, .end = 0x2000, .bias = 0x1000, .path_bytes = 8, .path = "/opt/app", .build_id_bytes = 1};

    feed(story, 0,
         (struct rip_event){.kind = RIP_EVENT_RING, .ring = 1, .as.ring_begin = {.name = {"shop;\x1b\xff", 7}}});
    feed(story, 0, (struct rip_event){.kind = RIP_EVENT_PROCESS, .ring = 1, .as.process_begin = &process});
    feed(story, 0, (struct rip_event){.kind = RIP_EVENT_MODULE, .ring = 1, .as.module = {.info = &module}});
}

static struct rip_event id_event(enum rip_event_kind kind)
{
    return (struct rip_event){.kind = kind, .ring = 1, .slot = 3, .generation = 2, .id = 17};
}

static void feed_id(struct story *story, unsigned second, enum rip_event_kind kind, bool idle)
{
    const struct rip_id_info info = {
        .slot = 3, .generation = 2, .id = 17, .tid = 4711, .name_bytes = 6, .name = "w;\"\x01 1", .idle = idle};
    struct rip_event event = id_event(kind);

    event.as.id_begin.info = &info;
    feed(story, second, event);
}

static void feed_snaps(struct story *story, unsigned second, uint64_t overwritten_count, uint64_t address)
{
    const struct rip_entry entries[] = {{.snap = 5, .address = 0x1020}, {.snap = 6, .address = address}};
    struct rip_event event = id_event(RIP_EVENT_SNAP);

    event.as.snap = (struct rip_event_snap){.made_count = 2 + overwritten_count,
                                            .overwritten_count = overwritten_count,
                                            .entry_count = 2,
                                            .entries = entries};
    feed(story, second, event);
}

static void feed_stall(struct story *story, unsigned second, enum rip_event_kind kind, const char *json)
{
    feed(story, second, (struct rip_event){.kind = kind, .ring = 1, .as.stall.json = {json, strlen(json)}});
}

/* An id that passes two places, stands still for three seconds, is idle, and ends. */
static void feed_all(struct story *story)
{
    feed_process(story);
    feed_id(story, 0, RIP_EVENT_REGISTER, false);
    feed_drain(story, 0);
    feed_snaps(story, 1, 4, 0x1010);
    feed_drain(story, 1);
    feed_drain(story, 2);
    feed_stall(
        story, 3, RIP_EVENT_STALL_BEGIN,
        "{\"episode\":9,\"since\":\"2023-11-14T22:13:21.000Z\",\"summary\":\"it is stuck\",\"cause\":\"blocked\"}");
    feed_drain(story, 3);
    feed_stall(story, 4, RIP_EVENT_STALL_END, "{\"episode\":9,\"at\":\"2023-11-14T22:13:24.000Z\"}");
    feed_stall(story, 4, RIP_EVENT_STALL_END, "no JSON");
    feed_id(story, 4, RIP_EVENT_STATE, true);
    feed_drain(story, 4);
    feed(story, 5, id_event(RIP_EVENT_EXIT));
    feed(story, 5,
         (struct rip_event){
             .kind = RIP_EVENT_TOTALS, .ring = 1, .as.totals = {.made_count = 9, .unseen_count = 3, .exact = true}});
    feed_drain(story, 5);
    assert_int_equal(export_finish(story->made), 0);
}

TEST(folded)
{
    struct story story;

    begin(&story, &export_folded);
    feed_all(&story);
    assert_string_equal(story.text, "app;w:\\\"\\u0001 1 1\n"
                                    "app;w:\\\"\\u0001 1;app+0x20;db_wait (db.c:120) 3\n"
                                    "app;w:\\\"\\u0001 1;app+0x20;db_wait (db.c:120);(idle) 1\n");
    end(&story);
}

static const json_t *find_slice(const json_t *events, const char *name)
{
    const json_t *event;
    size_t i;

    json_array_foreach(events, i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "name")), name) == 0)
            return event;
    }
    return NULL;
}

static void assert_slice(const json_t *events, const char *name, double begin_us, double duration_us)
{
    const json_t *slice = find_slice(events, name);

    assert_non_null(slice);
    assert_string_equal(json_string_value(json_object_get(slice, "ph")), "X");
    assert_int_equal(json_integer_value(json_object_get(slice, "pid")), 4690);
    assert_true(json_number_value(json_object_get(slice, "ts")) == begin_us);
    assert_true(json_number_value(json_object_get(slice, "dur")) == duration_us);
}

TEST(chrome)
{
    struct story story;
    const json_t *events, *slice;
    json_t *document;

    begin(&story, &export_chrome);
    feed_all(&story);
    document = json_loads(story.text, JSON_REJECT_DUPLICATES, NULL);
    events = json_object_get(document, "traceEvents");
    assert_slice(events, "(no breadcrumb yet)", 0, 1e6);
    assert_slice(events, "db_wait (db.c:120)", 1e6, 3e6);
    assert_slice(events, "(idle)", 4e6, 1e6);
    slice = find_slice(events, "it is stuck");
    assert_non_null(slice);
    assert_true(json_number_value(json_object_get(slice, "ts")) == 1e6);
    assert_true(json_number_value(json_object_get(slice, "dur")) == 3e6);
    slice = find_slice(events, "thread_name");
    assert_string_equal(json_string_value(json_object_get(json_object_get(slice, "args"), "name")), "w;\\\"\\u0001 1");
    json_decref(document);
    end(&story);
}

/* What is open at the end ends there; what never was begins nowhere. */
TEST(chrome_without_ends)
{
    struct story story;
    json_t *document;

    begin(&story, &export_chrome);
    assert_int_equal(export_finish(story.made), 0);
    assert_string_equal(story.text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n\n]}\n");
    end(&story);

    begin(&story, &export_chrome);
    feed_process(&story);
    feed_id(&story, 0, RIP_EVENT_REGISTER, false);
    feed_snaps(&story, 1, 0, 0x5000); /* in no module */
    feed_stall(&story, 2, RIP_EVENT_STALL_BEGIN, "{\"episode\":9,\"summary\":\"it is stuck\",\"cause\":null}");
    feed_drain(&story, 3);
    assert_int_equal(export_finish(story.made), 0);
    document = json_loads(story.text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(find_slice(json_object_get(document, "traceEvents"), "?"));
    assert_non_null(find_slice(json_object_get(document, "traceEvents"), "it is stuck"));
    json_decref(document);
    end(&story);
}

static uint64_t number_at(const struct story *story, size_t offset, size_t bytes)
{
    uint64_t number = 0;

    assert_in_range(offset + bytes, 0, story->count);
    memcpy(&number, story->text + offset, bytes);
    return number;
}

TEST(ctf)
{
    struct story story;
    char *metadata = export_ctf_metadata();

    assert_non_null(strstr(metadata, "/* CTF 1.8 */\n"));
    assert_non_null(strstr(metadata, "event { name = \"snap\"; id = 7;"));
    assert_null(strstr(metadata, "%"));
    free(metadata);

    begin(&story, &export_ctf);
    feed_all(&story);
    assert_int_equal(number_at(&story, 0, 4), 0xc1fc1fc1);
    assert_int_equal(number_at(&story, 8, 8), WALL);
    assert_int_equal(number_at(&story, 16, 8), WALL + 5 * SECOND);
    assert_int_equal(number_at(&story, 24, 8), story.count * 8); /* one packet */
    assert_int_equal(number_at(&story, 40, 8), 0);
    assert_int_equal(number_at(&story, 48, 8), 4 + 3); /* overwritten, unseen */
    assert_non_null(memmem(story.text, story.count, "db_wait\0src/db.c", sizeof("db_wait\0src/db.c")));
    end(&story);
}

TEST(output_that_fails)
{
    const struct export_format *formats[] = {&export_ctf, &export_chrome, &export_folded};

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct story story;

        begin(&story, formats[i]);
        feed_process(&story);
        feed_id(&story, 0, RIP_EVENT_REGISTER, false);
        feed_drain(&story, 0);
        story.failure = -5;
        assert_int_equal(export_finish(story.made), -5);
        end(&story);
    }
}

/* Events of rings and ids that were never there, as a hostile recording has them. */
TEST(strangers)
{
    const struct export_format *formats[] = {&export_ctf, &export_chrome, &export_folded};

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct story story;

        begin(&story, formats[i]);
        feed_id(&story, 0, RIP_EVENT_REGISTER, false);
        feed_snaps(&story, 0, 1, 0x1010);
        feed(&story, 0, id_event(RIP_EVENT_EXIT));
        feed(&story, 0, (struct rip_event){.kind = RIP_EVENT_RING_END, .ring = 4});
        feed_process(&story);
        feed_process(&story);
        feed_id(&story, 1, RIP_EVENT_REGISTER, false);
        feed_id(&story, 1, RIP_EVENT_REGISTER, true); /* twice */
        feed(&story, 2, (struct rip_event){.kind = RIP_EVENT_RING_END, .ring = 1});
        feed_snaps(&story, 2, 1, 0x1010);
        feed(&story, 2, (struct rip_event){.kind = 4711, .ring = 1});
        assert_int_equal(export_finish(story.made), 0);
        end(&story);
    }
}
