/* SPDX-License-Identifier: Apache-2.0 */
/* test_export.c - one sequence of events in each of the formats: ripd/export. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "export/export.h"
#include "support/test.h"
#include "unit/json_at.h"

#define SECOND UINT64_C(1000000000)
#define WALL UINT64_C(1700000000000000000)

/* The exporter of the test, and what it wrote. */
static struct exporter *exporter;
static char *output;
static size_t output_bytes;
static int output_error; /* what the next write returns */

static int keep(void *context, const void *bytes, size_t count)
{
    (void)context;
    if (output_error != 0)
        return output_error;
    output = realloc(output, output_bytes + count + 1);
    assert_non_null(output);
    memcpy(output + output_bytes, bytes, count);
    output_bytes += count;
    output[output_bytes] = '\0';
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

static void begin(const struct export_format *format)
{
    const struct export_caller caller = {NULL, keep, name_place};

    output = NULL;
    output_bytes = 0;
    output_error = 0;
    exporter = export_new(format, &caller);
    assert_non_null(exporter);
}

static void end(void)
{
    export_free(exporter);
    free(output);
}

static void feed(unsigned second, struct rip_event event)
{
    event.latest_wall_ns = WALL + second * SECOND;
    event.earliest_wall_ns = second == 0 ? 0 : event.latest_wall_ns - SECOND;
    assert_int_equal(export_take(exporter, &event), 0);
}

static void feed_drain(unsigned second)
{
    feed(second, (struct rip_event){.kind = RIP_EVENT_DRAIN, .as.drain = {.sequence = second + 1}});
}

static void feed_process(void)
{
    static const struct rip_process_info process = {.pid = 4690, .comm = "app"};
    static const struct rip_module_info module = {
        .start = 0x1000, .end = 0x2000, .bias = 0x1000, .path_bytes = 8, .path = "/opt/app", .build_id_bytes = 1};

    feed(0, (struct rip_event){.kind = RIP_EVENT_RING, .ring = 1, .as.ring_begin = {.name = {"shop;\x1b\xff", 7}}});
    feed(0, (struct rip_event){.kind = RIP_EVENT_PROCESS, .ring = 1, .as.process_begin = &process});
    feed(0, (struct rip_event){.kind = RIP_EVENT_MODULE, .ring = 1, .as.module = {.info = &module}});
}

static struct rip_event id_event(enum rip_event_kind kind)
{
    return (struct rip_event){.kind = kind, .ring = 1, .slot = 3, .generation = 2, .id = 17};
}

static void feed_id(unsigned second, enum rip_event_kind kind, bool idle)
{
    const struct rip_id_info info = {
        .slot = 3, .generation = 2, .id = 17, .tid = 4711, .name_bytes = 6, .name = "w;\"\x01 1", .idle = idle};
    struct rip_event event = id_event(kind);

    event.as.id_begin.info = &info;
    feed(second, event);
}

static void feed_snaps(unsigned second, uint64_t overwritten_count, uint64_t address)
{
    const struct rip_entry entries[] = {{.snap = 5, .address = 0x1020}, {.snap = 6, .address = address}};
    struct rip_event event = id_event(RIP_EVENT_SNAP);

    event.as.snap = (struct rip_event_snap){.made_count = 2 + overwritten_count,
                                            .overwritten_count = overwritten_count,
                                            .entry_count = 2,
                                            .entries = entries};
    feed(second, event);
}

static void feed_stall(unsigned second, enum rip_event_kind kind, const char *json)
{
    feed(second, (struct rip_event){.kind = kind, .ring = 1, .as.stall.json = {json, strlen(json)}});
}

/* An id that passes two places, stalls for three seconds, is idle, and ends. Its name ends with a NUL. */
static void feed_all(void)
{
    feed_process();
    feed_id(0, RIP_EVENT_REGISTER, false);
    feed_drain(0);
    feed_snaps(1, 4, 0x1010);
    feed_drain(1);
    feed_drain(2);
    feed_stall(
        3, RIP_EVENT_STALL_BEGIN,
        "{\"episode\":9,\"since\":\"2023-11-14T22:13:21.000Z\",\"summary\":\"it is stuck\",\"cause\":\"blocked\","
        "\"name\":\"w\\u0000\"}");
    feed_stall(3, RIP_EVENT_STALL_END, "{\"episode\":8,\"at\":\"2023-11-14T22:13:22.000Z\"}"); /* unknown */
    feed_drain(3);
    feed_stall(4, RIP_EVENT_STALL_END, "{\"episode\":9,\"at\":\"2023-11-14T22:13:24.000Z\"}");
    feed_stall(4, RIP_EVENT_STALL_END, "no JSON");
    feed_id(4, RIP_EVENT_STATE, true);
    feed_id(4, RIP_EVENT_STATE, false); /* for no time */
    feed_id(4, RIP_EVENT_STATE, true);
    feed_drain(4);
    feed(5, id_event(RIP_EVENT_EXIT));
    feed(5, (struct rip_event){
                .kind = RIP_EVENT_TOTALS, .ring = 1, .as.totals = {.made_count = 9, .unseen_count = 3, .exact = true}});
    feed_drain(5);
    assert_int_equal(export_finish(exporter), 0);
}

TEST(folded)
{
    begin(&export_folded);
    feed_all();
    assert_string_equal(output, "app;w:\\\"\\u0001 1 1\n"
                                "app;w:\\\"\\u0001 1;app+0x20;db_wait (db.c:120) 3\n"
                                "app;w:\\\"\\u0001 1;app+0x20;db_wait (db.c:120);(idle) 1\n");
    end();
}

/* The caller releases the document. Returns its events. */
static json_t *parse_chrome(json_t **ret_document)
{
    *ret_document = json_loads(output, JSON_REJECT_DUPLICATES, NULL);
    return json_at(*ret_document, "traceEvents");
}

/* The event of this name must exist. */
static json_t *find_event(json_t *events, const char *name)
{
    json_t *event;
    size_t i;

    json_array_foreach(events, i, event)
    {
        if (strcmp(json_string_value(json_at(event, "name")), name) == 0)
            return event;
    }
    fail_msg("no event %s", name);
    return NULL;
}

TEST(chrome)
{
    static const struct {
        const char *name, *pid;
        double begin_us, duration_us;
    } cases[] = {
        {"(no breadcrumb yet)", "4690", 0, 1e6},
        {"db_wait (db.c:120)", "4690", 1e6, 3e6},
        {"(idle)", "4690", 4e6, 1e6},
        {"it is stuck", "0", 1e6, 3e6}, /* the event names no id */
    };
    json_t *document, *events;

    begin(&export_chrome);
    feed_all();
    events = parse_chrome(&document);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *slice = find_event(events, cases[i].name);

        assert_json(slice, "pid", cases[i].pid);
        if (json_number_value(json_at(slice, "ts")) != cases[i].begin_us ||
            json_number_value(json_at(slice, "dur")) != cases[i].duration_us)
            fail_msg("%s: from %g us, %g us", cases[i].name, json_number_value(json_at(slice, "ts")),
                     json_number_value(json_at(slice, "dur")));
        assert_json_text(slice, "ph", "X");
    }
    assert_json_text(find_event(events, "thread_name"), "args/name", "w;\\\"\\u0001 1");
    json_decref(document);
    end();
}

TEST(chrome_without_events)
{
    begin(&export_chrome);
    assert_int_equal(export_finish(exporter), 0);
    assert_string_equal(output, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n\n]}\n");
    end();
}

/* The end of many ids in one drain takes time in proportion to their number, and each is exported once. */
TEST(many_ends)
{
    enum { IDS = 300000 };
    struct rip_id_info info = {.generation = 2, .name_bytes = 1, .name = "w"};
    struct rip_event event = id_event(RIP_EVENT_REGISTER);
    const clock_t begun = clock();

    begin(&export_folded);
    feed_process();
    event.as.id_begin.info = &info;
    for (event.slot = 0; event.slot < IDS; event.slot++) {
        info.slot = event.slot;
        feed(0, event);
    }
    feed_drain(0);
    event.kind = RIP_EVENT_EXIT;
    for (event.slot = 0; event.slot < IDS; event.slot++)
        feed(1, event);
    info.slot = 7;
    info.generation = 4;
    event = (struct rip_event){.kind = RIP_EVENT_REGISTER, .ring = 1, .slot = 7, .generation = 4, .id = 1};
    event.as.id_begin.info = &info;
    feed(1, event);
    feed_drain(1);
    assert_int_equal(export_finish(exporter), 0);
    assert_string_equal(output, "app;w 300001\n");
    assert_true(clock() - begun < 8 * CLOCKS_PER_SEC);
    end();
}

/* What is open at the end of the recording ends there. */
TEST(chrome_without_ends)
{
    json_t *document, *events;

    begin(&export_chrome);
    feed_process();
    feed_id(0, RIP_EVENT_REGISTER, false);
    feed_snaps(1, 0, 0x5000); /* in no module */
    feed_stall(2, RIP_EVENT_STALL_BEGIN, "{\"episode\":9,\"summary\":\"it is stuck\",\"cause\":null}");
    feed_drain(3);
    assert_int_equal(export_finish(exporter), 0);
    events = parse_chrome(&document);
    find_event(events, "?");
    find_event(events, "it is stuck");
    json_decref(document);
    end();
}

static uint64_t number_at(size_t offset, size_t bytes)
{
    uint64_t number = 0;

    assert_in_range(offset + bytes, 0, output_bytes);
    memcpy(&number, output + offset, bytes);
    return number;
}

TEST(ctf)
{
    char *metadata = export_ctf_metadata();

    assert_non_null(strstr(metadata, "/* CTF 1.8 */\n"));
    assert_non_null(strstr(metadata, "event { name = \"snap\"; id = 7;"));
    assert_null(strstr(metadata, "%"));
    free(metadata);

    begin(&export_ctf);
    feed_all();
    assert_int_equal(number_at(0, 4), 0xc1fc1fc1);
    assert_int_equal(number_at(8, 8), WALL);
    assert_int_equal(number_at(16, 8), WALL + 5 * SECOND);
    assert_int_equal(number_at(24, 8), output_bytes * 8); /* one packet */
    assert_int_equal(number_at(40, 8), 0);
    assert_int_equal(number_at(48, 8), 4 + 3); /* overwritten, unseen */
    assert_non_null(memmem(output, output_bytes, "db_wait\0src/db.c", sizeof("db_wait\0src/db.c")));
    end();
}

static const struct export_format *const formats[] = {&export_ctf, &export_chrome, &export_folded};

TEST(output_that_fails)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        begin(formats[i]);
        feed_process();
        feed_id(0, RIP_EVENT_REGISTER, false);
        feed_drain(0);
        output_error = -5;
        assert_int_equal(export_finish(exporter), -5);
        end();
    }
}

/* A hostile recording has events of unknown rings and ids, and unknown events. */
TEST(hostile_recording)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        begin(formats[i]);
        feed_id(0, RIP_EVENT_REGISTER, false);
        feed_snaps(0, 1, 0x1010);
        feed(0, id_event(RIP_EVENT_EXIT));
        feed(0, (struct rip_event){.kind = RIP_EVENT_RING_END, .ring = 4});
        feed_process();
        feed_process();
        feed_id(1, RIP_EVENT_REGISTER, false);
        feed_id(1, RIP_EVENT_REGISTER, true); /* twice */
        feed(2, (struct rip_event){.kind = RIP_EVENT_RING_END, .ring = 1});
        feed_snaps(2, 1, 0x1010);
        feed(2, (struct rip_event){.kind = 4711, .ring = 1});
        assert_int_equal(export_finish(exporter), 0);
        end();
    }
}
