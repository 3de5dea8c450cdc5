/* SPDX-License-Identifier: Apache-2.0 */
/* test_session.c - rip/session.h with a directory, a ring, a capture and a recording. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "unit/session/session_test.h"

#include "rip/session.h"
#include "session/capture_file.h"
#include "support/ring_stage.h"

#define SECOND_NS UINT64_C(1000000000)
#define PATIENCE_NS (90 * SECOND_NS)
#define DOCUMENT                                                                                                       \
    "{\"schema\":\"ripd/capture/1\",\"ended_at\":\"2026-01-31T12:34:56.789Z\",\"ring\":\"ring\","                      \
    "\"source\":\"library\",\"end\":{\"how\":\"killed\",\"status\":null,\"signal_number\":11,\"signal\":\"SIGSEGV\","  \
    "\"core_dumped\":true},\"stalls\":[{\"id\":102,\"cause\":\"futex\"}]}"

static struct ring_stage stage;
static struct ring_builder builder;
static struct rip_session *session; /* opened last; one at a time */
static const struct rip_event *event;

/* Three ids of this process: one with fewer snaps than a trail holds, one with more, and one without snaps. */
static int set_up(void **state)
{
    static const uint8_t build_id[] = {1, 2, 3};

    (void)state;
    ring_stage_open(&stage);
    ring_stage_build(&stage, "ring", &(struct ring_geometry){.slot_capacity = 200, .note_stride_bytes = 192}, &builder);
    builder.ring->compatible_flags |= RIP_RING_COUNTS_ENDED;
    ring_builder_add_process(&builder, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "server");
    ring_builder_process(&builder, 0)->flags = 0; /* no locks: alive if /proc says so */
    ring_builder_link_module(&builder, 0, ring_builder_add_module(&builder, 16, 32, 0, "/bin/x", build_id, 3));
    ring_builder_add_id(&builder, 1, 101, 11, 0, "first");
    ring_builder_run_to(&builder, 1, 5);
    ring_builder_add_id(&builder, 2, 102, 12, 0, "second");
    ring_builder_run_to(&builder, 2, 1000);
    ring_builder_add_id(&builder, 150, 103, 13, 0, "third");
    ring_builder_note(&builder, 150, "GET /", 5);
    return 0;
}

static const char *path_of(const char *name)
{
    return ring_stage_path(&stage, name);
}

static void close_session(void)
{
    rip_session_close(session);
    session = NULL;
}

static int tear_down(void **state)
{
    (void)state;
    close_session();
    text_clear(&text);
    ring_stage_release(&builder);
    ring_stage_close(&stage);
    return 0;
}

static uint64_t wall_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void open_with(const char *name, const struct rip_session_options *options)
{
    char *error = NULL;

    close_session();
    if (rip_session_open(&session, path_of(name), options, &error) != 0)
        fail_msg("%s: %s", name, error);
}

static void open_once(const char *name)
{
    open_with(name, &(struct rip_session_options){.size_bytes = sizeof(struct rip_session_options), .once = true});
}

/* Opens a live session that is drained at this interval. */
static void open_every(uint64_t interval_ns, const char *name)
{
    open_with(name, &(struct rip_session_options){.size_bytes = sizeof(struct rip_session_options),
                                                  .interval_ns = interval_ns});
}

/* Runs until this limit, which is reached. */
static void run_until(struct rip_session_limit limit)
{
    limit.size_bytes = sizeof(limit);
    assert_int_equal(rip_session_run(session, &limit), 1);
}

static void run_drains(uint64_t count)
{
    run_until((struct rip_session_limit){.drain_count = count});
}

static void expect_next(int result)
{
    assert_int_equal(rip_session_next(session, &event), result);
}

static void wait_for_drain(void)
{
    assert_int_equal(rip_session_wait(session, PATIENCE_NS), 0);
}

static void attach(const char *name, const void *data, size_t count, int result)
{
    assert_int_equal(rip_session_attach(session, name, data, count), result);
}

static void expect_text(struct rip_text found, const char *expected)
{
    assert_int_equal(found.count, strlen(expected));
    assert_memory_equal(found.bytes, expected, found.count);
}

static void start_recording(const char *name)
{
    assert_int_equal(rip_session_record(session, path_of(name), NULL), 0);
}

/* Returns the next event of this kind, and skips the events before it. Waits for drains of a live ring. */
static const struct rip_event *find(uint32_t kind)
{
    int result;

    while ((result = rip_session_next(session, &event)) == 1 || result == -EAGAIN) {
        if (result == -EAGAIN)
            wait_for_drain();
        else if (event->kind == kind)
            return event;
    }
    fail_msg("no event of kind %u: %s", kind, strerror(-result));
    return NULL;
}

/* Reads the events about ids, processes and modules from a source into `text`, one line each. */
static void transcribe(const char *name)
{
    const uint32_t kinds = 1u << RIP_EVENT_REGISTER | 1u << RIP_EVENT_SNAP | 1u << RIP_EVENT_EXIT |
                           1u << RIP_EVENT_NOTE | 1u << RIP_EVENT_PROCESS | 1u << RIP_EVENT_MODULE;
    uint64_t number = 0;
    int result;

    text_clear(&text);
    open_once(name);
    while ((result = rip_session_next(session, &event)) == 1) {
        assert_int_equal(event->number, ++number);
        if ((kinds >> event->kind & 1) == 0)
            continue;
        text_printf(&text, "%u.%u %u", event->slot, event->generation, event->id);
        print_fields(&text, event);
        text_printf(&text, "\n");
    }
    assert_int_equal(result, 0);
}

/* Writes a capture whose time of the end has this fraction of a second. */
static void write_capture(const char *name, const char *fraction)
{
    char document[] = DOCUMENT;
    const struct capture capture = {document, sizeof(document) - 1, builder.bytes, builder.size_bytes};
    void *bytes;
    size_t count;

    memcpy(strstr(document, "789Z"), fraction, strlen(fraction));
    assert_int_equal(capture_pack(&capture, &bytes, &count), 0);
    ring_stage_write(&stage, name, bytes, count);
    free(bytes);
}

static void open_capture(void)
{
    write_capture("capture", "789Z");
    open_once("capture");
}

static void record(const char *name, const char *target)
{
    open_once(name);
    start_recording(target);
    assert_int_equal(rip_session_run(session, NULL), 0);
    assert_int_equal(rip_session_record_end(session), 0);
}

TEST_F(all_sources_yield_the_same_events)
{
    static const char *const names[] = {"directory", "capture", "recording", "recorded-capture", "again"};
    char *live;

    ring_builder_add_id(&builder, 151, 104, 14, 0, "ended");
    ring_builder_run_to(&builder, 151, 2);
    ring_builder_note(&builder, 151, "last", 4);
    ring_builder_end_id(&builder, 151);
    write_capture("capture", "789Z");
    record("ring", "recording");
    record("capture", "recorded-capture");
    record("recording", "again");
    assert_int_equal(mkdir(path_of("directory"), 0700), 0);
    assert_int_equal(link(path_of("ring"), path_of("directory/ring")), 0);
    transcribe("ring");
    assert_says(" 101 register \"first\"");
    assert_says(" 101 made 5 overwritten 0 torn 0 progress 5: 1@");
    assert_says(" 102 made 32 overwritten 0 torn 0 progress 1000: 969@");
    assert_says(" 103 note 1 \"GET /\"\n");
    assert_says(" module 0 10-20 /bin/x\n");
    assert_says(" 104 register \"ended\"");
    assert_says(" 104 note 1 \"last\"\n151.2 104 exit 2\n");
    live = strdup(text_of(&text));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        transcribe(names[i]);
        assert_string_equal(text_of(&text), live);
    }
    free(live);
    assert_int_equal(unlink(path_of("directory/ring")), 0);
    assert_int_equal(rmdir(path_of("directory")), 0);
}

TEST_F(kind_of_source_follows_from_its_content)
{
    static const struct {
        const char *name;
        enum rip_session_source source;
    } rows[] = {{".", RIP_SESSION_DIRECTORY},
                {"ring", RIP_SESSION_RING},
                {"capture", RIP_SESSION_CAPTURE},
                {"recording", RIP_SESSION_RECORDING}};

    write_capture("capture", "789Z");
    record("ring", "recording");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t at, total;

        open_once(rows[i].name);
        if (rip_session_source(session) != rows[i].source)
            fail_msg("%s: source %d", rows[i].name, (int)rip_session_source(session));
        assert_string_equal(rip_session_error(session), "");
        assert_int_equal(rip_session_position(session, &at, &total),
                         rows[i].source == RIP_SESSION_RECORDING ? 0 : -ENOTSUP);
        assert_int_equal(rip_session_seek(session, 1), rows[i].source == RIP_SESSION_RECORDING ? 0 : -ENOTSUP);
    }
}

TEST_F(each_drain_yields_what_is_new)
{
    const struct rip_event *peeked;

    open_every(SECOND_NS / 100, "ring");
    find(RIP_EVENT_DRAIN);
    assert_int_equal(event->as.drain.sequence, 1);
    ring_builder_snap(&builder, 1, 0x77);
    while (rip_session_peek(session, &peeked) == -EAGAIN)
        wait_for_drain();
    find(RIP_EVENT_SNAP);
    assert_int_equal(event->id, 101);
    assert_int_equal(event->as.snap.made_count, 1);
    assert_int_equal(event->as.snap.entry_count, 1);
    assert_int_equal(event->as.snap.entries[0].snap, 6);
    assert_int_equal(event->as.snap.entries[0].address, 0x77);
    assert_true(event->earliest_mono_ns != 0 && event->earliest_mono_ns < event->latest_mono_ns);
}

TEST_F(a_peeked_event_stays)
{
    const struct rip_event *next;

    open_once("ring");
    for (int result = 1; result == 1;) {
        struct rip_event before;

        result = rip_session_peek(session, &event);
        if (result != 1)
            break;
        before = *event;
        assert_int_equal(rip_session_peek(session, &event), 1);
        assert_int_equal(rip_session_next(session, &next), 1);
        assert_int_equal(next->number, before.number);
        assert_int_equal(next->kind, before.kind);
    }
    assert_int_equal(rip_session_next(session, &next), 0);
}

/* Errors ----------------------------------------------------------------------------------------------------------- */

static void assert_refused(const char *name, int error, const char *part)
{
    struct rip_session *untouched = (struct rip_session *)&stage;
    char *message = NULL;

    assert_int_equal(rip_session_open(&untouched, path_of(name), NULL, &message), error);
    assert_ptr_equal(untouched, &stage);
    if (message == NULL || strstr(message, part) == NULL || strchr(message, '\n') != NULL)
        fail_msg("%s: %s", name, message);
    free(message);
}

TEST_F(errors_of_open_are_reported)
{
    static const char foreign[] = "a text that is neither of them, and longer than any magic of theirs is long";

    assert_refused("missing", -ENOENT, "No such file");
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    assert_refused("fifo", -EINVAL, "is neither");
    ring_stage_write(&stage, "foreign", foreign, sizeof(foreign));
    assert_refused("foreign", -EINVAL, "is neither");
    ring_stage_write(&stage, "empty", "", 0);
    assert_refused("empty", -EINVAL, "is neither");
    write_capture("capture", "789Z");
    assert_int_equal(truncate(path_of("capture"), 60), 0);
    assert_refused("capture", -EBADMSG, "damaged");
    builder.ring->format_version = 9;
    assert_refused("ring", -EPROTONOSUPPORT, "version");
    if (geteuid() != 0) {
        assert_int_equal(chmod(path_of("foreign"), 0), 0);
        assert_refused("foreign", -EACCES, "denied");
    }
    assert_int_equal(unlink(path_of("fifo")), 0);
}

static uint64_t size_of(const char *name)
{
    struct stat status;

    assert_int_equal(stat(path_of(name), &status), 0);
    return (uint64_t)status.st_size;
}

/*
 * A recording that is cut anywhere after its header yields the events before the cut, and reports the offset of the
 * cut.
 */
TEST_F(truncated_recording)
{
    uint64_t size_bytes;

    record("ring", "recording");
    size_bytes = size_of("recording");
    for (uint64_t cut = size_bytes - 1; cut > size_bytes / 2; cut -= 7) {
        uint64_t at, total;
        int result;

        assert_int_equal(truncate(path_of("recording"), (off_t)cut), 0);
        open_once("recording");
        while ((result = rip_session_next(session, &event)) == 1)
            continue;
        assert_int_equal(result, -EBADMSG);
        expect_next(-EBADMSG);
        assert_non_null(strstr(rip_session_error(session), "damaged or truncated at byte"));
        assert_int_equal(rip_session_position(session, &at, &total), 0);
        assert_int_equal(total, cut);
        assert_true(at < total);
    }
}

TEST_F(truncated_ring_ends_the_session)
{
    open_every(1, "ring");
    find(RIP_EVENT_DRAIN);
    assert_int_equal(truncate(path_of("ring"), 4096), 0);
    find(RIP_EVENT_RING_END);
    expect_text(event->as.ring_end.reason, "was cut short");
    find(RIP_EVENT_DRAIN);
    expect_next(0);
    assert_non_null(strstr(rip_session_error(session), "was cut short"));
}

/* The caller's structs may be shorter or longer than the library's. */
TEST_F(structs_of_other_releases)
{
    struct {
        struct rip_session_options options;
        uint64_t later;
    } longer = {.options = {.size_bytes = sizeof(longer), .once = true}};
    const struct rip_session_options shorter = {.size_bytes = offsetof(struct rip_session_options, names),
                                                .once = true,
                                                .names = (const char *const *)8,
                                                .name_count = 1};
    const struct rip_observer none = {.size_bytes = 0};

    open_with("ring", &longer.options);
    open_with(".", &shorter); /* fields beyond its size are ignored */
    find(RIP_EVENT_RING);
    assert_int_equal(rip_session_observe(session, &none), -EINVAL);
    close_session();
    longer.later = 1;
    assert_int_equal(rip_session_open(&session, path_of("ring"), &longer.options, NULL), -E2BIG);
    longer.options.size_bytes = 3;
    assert_int_equal(rip_session_open(&session, path_of("ring"), &longer.options, NULL), -EINVAL);
}

/* Observing -------------------------------------------------------------------------------------------------------- */

struct counts {
    unsigned event, process, register_id, snap, idle, note, lost, exit, death, stall_begin;
    unsigned stop_after; /* events; 0 = never */
};

#define COUNT(member)                                                                                                  \
    static int count_##member(void *context, struct rip_session *observed, const struct rip_event *shown)              \
    {                                                                                                                  \
        struct counts *counts = context;                                                                               \
                                                                                                                       \
        assert_non_null(observed);                                                                                     \
        assert_non_null(shown);                                                                                        \
        return ++counts->member == counts->stop_after ? 42 : 0;                                                        \
    }
COUNT(event)
COUNT(process)
COUNT(register_id)
COUNT(snap)
COUNT(idle)
COUNT(note)
COUNT(lost)
COUNT(exit)
COUNT(death)
COUNT(stall_begin)
#undef COUNT

static struct rip_observer observer_of(struct counts *counts)
{
    return (struct rip_observer){.size_bytes = sizeof(struct rip_observer),
                                 .context = counts,
                                 .event = count_event,
                                 .process = count_process,
                                 .register_id = count_register_id,
                                 .snap = count_snap,
                                 .idle = count_idle,
                                 .note = count_note,
                                 .lost = count_lost,
                                 .exit = count_exit,
                                 .death = count_death,
                                 .stall_begin = count_stall_begin};
}

TEST_F(observers_are_called)
{
    struct counts counts = {0};
    const struct rip_observer observer = observer_of(&counts);

    open_capture();
    assert_int_equal(rip_session_observe(session, &observer), 0);
    assert_int_equal(rip_session_run(session, NULL), 0);
    assert_int_equal(counts.process, 1);
    assert_int_equal(counts.register_id, 3);
    assert_int_equal(counts.snap, 2);
    assert_int_equal(counts.note, 1);
    assert_int_equal(counts.death, 1);
    assert_int_equal(counts.stall_begin, 1);
    assert_true(counts.event > 9);
}

TEST_F(observer_ends_the_run)
{
    struct counts counts = {.stop_after = 3};
    const struct rip_observer observer = observer_of(&counts);

    open_once("ring");
    assert_int_equal(rip_session_observe(session, &observer), 0);
    assert_int_equal(rip_session_run(session, NULL), 42);
    assert_int_equal(counts.event, 3);
    expect_next(1);
    assert_int_equal(event->number, 4);
    assert_int_equal(rip_session_observe(session, NULL), 0);
    assert_int_equal(rip_session_run(session, NULL), 0);
    assert_int_equal(counts.event, 3);
}

/* A hostile recording may count for any number of rings. Each is compared with its own last count. */
TEST_F(lost_snaps_of_many_rings)
{
    enum { RINGS = 300000 };
    struct rip_event totals = {.kind = RIP_EVENT_TOTALS};
    const struct rip_event drain = {.kind = RIP_EVENT_DRAIN};
    struct counts counts = {0};
    const struct rip_observer observer = observer_of(&counts);
    struct memory_file file = {0};
    const struct recording_output output = {&file, memory_write};
    struct recording_writer *writer;
    clock_t begun;

    assert_int_equal(recording_writer_new(&writer, &output, 5), 0);
    for (totals.as.totals.unseen_count = 1; totals.as.totals.unseen_count <= 2; totals.as.totals.unseen_count++)
        for (totals.ring = 1; totals.ring <= RINGS; totals.ring++)
            assert_int_equal(recording_writer_take(writer, &totals), 0);
    totals.ring = 7;
    totals.as.totals.unseen_count = 2;
    assert_int_equal(recording_writer_take(writer, &totals), 0);
    assert_int_equal(recording_writer_take(writer, &drain), 0);
    assert_int_equal(recording_writer_flush(writer), 0);
    recording_writer_free(writer);
    ring_stage_write(&stage, "recording", file.bytes, file.count);
    free(file.bytes);
    begun = clock();
    open_once("recording");
    assert_int_equal(rip_session_observe(session, &observer), 0);
    assert_int_equal(rip_session_run(session, NULL), 0);
    assert_int_equal(counts.lost, 2 * RINGS);
    assert_true(clock() - begun < 5 * CLOCKS_PER_SEC);
}

/* More snaps than a trail holds: some are lost. */
TEST_F(lost_snaps_are_observed)
{
    struct counts counts = {0};
    const struct rip_observer observer = observer_of(&counts);

    open_every(1, "ring");
    run_drains(1);
    assert_int_equal(rip_session_observe(session, &observer), 0);
    ring_builder_run_to(&builder, 2, 1000 + 2 * RIP_ENTRY_COUNT);
    run_drains(1);
    assert_int_equal(counts.snap, 1);
    assert_int_equal(counts.lost, 1);
}

TEST_F(runs_end_at_their_limits)
{
    record("ring", "recording");
    open_once("recording");
    run_until((struct rip_session_limit){.event_count = 2});
    expect_next(1);
    assert_int_equal(event->number, 3);
    run_until((struct rip_session_limit){.ring = event->ring, .id = 102});
    assert_int_equal(rip_session_peek(session, &event), 1);
    assert_true(event->kind == RIP_EVENT_SNAP && event->id == 102); /* its REGISTER was the last event */
    run_until((struct rip_session_limit){.until_wall_ns = event->latest_wall_ns - 1});
    expect_next(1);
    assert_true(event->kind == RIP_EVENT_SNAP && event->id == 102);
    run_drains(1);
    expect_next(0);
}

/* A capture records how its process ended, and which ids were stalled. */
TEST_F(capture_reports_the_end_of_the_process)
{
    const void *data;
    size_t count;

    open_capture();
    find(RIP_EVENT_RING);
    expect_text(event->as.ring_begin.name, "ring");
    assert_int_equal(rip_session_data(session, "rip.capture", &data, &count), 0);
    assert_int_equal(count, strlen(DOCUMENT));
    assert_memory_equal(data, DOCUMENT, count);
    find(RIP_EVENT_STALL_BEGIN);
    assert_int_equal(event->id, 102);
    assert_int_equal(event->slot, 2);
    expect_text(event->as.stall.json, "{\"id\":102,\"cause\":\"futex\"}");
    find(RIP_EVENT_DEATH);
    assert_true(event->as.death.has_status && event->as.death.core_dumped);
    assert_true(WIFSIGNALED(event->as.death.status) && WTERMSIG(event->as.death.status) == SIGSEGV);
    assert_int_equal(find(RIP_EVENT_DRAIN)->as.drain.wall_ns, UINT64_C(1769862896789000000));
}

/* A hostile capture with many ids and many stalls takes no time in proportion to their product. */
TEST_F(many_ids_and_many_stalls)
{
    enum { IDS = 1 << 16, STALLS = 1000000 };
    static const char head[] = "{\"stalls\":[{\"id\":7}", more[] = ",{}", tail[] = ",{\"id\":7}]}";
    struct capture capture = {.document = malloc(sizeof(head) + 3 * STALLS + sizeof(tail))};
    struct ring_builder many;
    unsigned placed = 0;
    clock_t begun;
    char *at = stpcpy(capture.document, head);
    void *bytes;
    size_t count;

    for (unsigned i = 0; i < STALLS; i++)
        at = mempcpy(at, more, 3);
    capture.document_bytes = (size_t)(stpcpy(at, tail) - capture.document);
    ring_builder_new(&many, &(struct ring_geometry){.slot_capacity = IDS});
    ring_builder_add_process(&many, 0, 500, 9, "server");
    for (uint32_t slot = 0; slot < IDS; slot++)
        ring_builder_add_id(&many, slot, slot + 1, 0, 0, "id");
    capture.ring = many.bytes;
    capture.ring_bytes = many.size_bytes;
    assert_int_equal(capture_pack(&capture, &bytes, &count), 0);
    ring_stage_write(&stage, "capture", bytes, count);
    free(bytes);
    free(capture.document);
    ring_builder_free(&many);
    begun = clock();
    open_once("capture");
    while (rip_session_next(session, &event) == 1)
        placed += event->kind == RIP_EVENT_STALL_BEGIN && event->id == 7 && event->slot == 6;
    assert_true(clock() - begun < 20 * CLOCKS_PER_SEC);
    assert_int_equal(placed, 2);
}

/* Digits only, in any locale of the program, and in any capture. */
TEST_F(a_fraction_of_a_second_is_digits)
{
    static const struct {
        const char *fraction;
        uint64_t ns;
    } cases[] = {{"001Z", 1000000}, {"1e9Z", 100000000}, {"inf ", 0}, {"0x1p", 0}, {"9  Z", 900000000}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        write_capture("capture", cases[i].fraction);
        open_once("capture");
        if (find(RIP_EVENT_DRAIN)->as.drain.wall_ns != UINT64_C(1769862896000000000) + cases[i].ns)
            fail_msg("%s: not %" PRIu64 " ns", cases[i].fraction, cases[i].ns);
    }
}

/* Ancillary data --------------------------------------------------------------------------------------------------- */

TEST_F(attached_data_is_saved)
{
    uint64_t snap_count = 0;
    const void *data;
    size_t count;

    open_once("ring");
    attach("a", "x", 1, -EINVAL); /* no event yet */
    start_recording("recording");
    while (rip_session_next(session, &event) == 1) {
        if (event->kind != RIP_EVENT_SNAP && event->kind != RIP_EVENT_DRAIN)
            continue;
        attach("test.kind", "replaced", 8, 0);
        attach("test.kind", &event->kind, sizeof(event->kind), 0);
        attach("test.empty", NULL, 0, 0);
        assert_int_equal(rip_session_data(session, "test.kind", &data, &count), 0);
        assert_int_equal(count, sizeof(event->kind));
    }
    open_once("recording");
    while (rip_session_next(session, &event) == 1) {
        const bool has = event->kind == RIP_EVENT_SNAP || event->kind == RIP_EVENT_DRAIN;

        assert_int_equal(rip_session_data(session, "test.kind", &data, &count), has ? 0 : -ENOENT);
        if (has) {
            assert_int_equal(count, sizeof(event->kind));
            assert_memory_equal(data, &event->kind, sizeof(event->kind));
            assert_int_equal(rip_session_data(session, "test.empty", &data, &count), 0);
            assert_int_equal(count, 0);
        }
        snap_count += event->kind == RIP_EVENT_SNAP;
    }
    assert_int_equal(snap_count, 2);
}

TEST_F(attached_data_has_limits)
{
    char name[RIP_SESSION_NAMESPACE_BYTES + 2], *large = calloc(1, RIP_SESSION_DATA_BYTES_MAX + 1);

    open_once("ring");
    assert_non_null(large);
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    expect_next(1);
    attach(name, "", 0, -EINVAL);
    attach(name + 1, "", 0, 0);
    attach("", "", 0, -EINVAL);
    attach("a b", "", 0, -EINVAL);
    attach("large", large, RIP_SESSION_DATA_BYTES_MAX + 1, -EFBIG);
    attach("large", large, RIP_SESSION_DATA_BYTES_MAX, 0);
    attach("more", large, 1, -EFBIG);
    expect_next(1);
    for (unsigned i = 0; i < RIP_SESSION_DATA_COUNT_MAX; i++) {
        snprintf(name, sizeof(name), "name%u", i);
        attach(name, "", 0, 0);
    }
    attach(name, "", 0, 0);
    attach("one-more", "", 0, -EFBIG);
    free(large);
}

/* Recording -------------------------------------------------------------------------------------------------------- */

TEST_F(recording_begins_later)
{
    struct rip_recording_state recorded;

    open_every(1, "ring");
    run_drains(1);
    start_recording("recording");
    assert_int_equal(rip_session_record(session, path_of("other"), NULL), -EBUSY);
    ring_builder_snap(&builder, 1, 0x77);
    run_drains(1);
    assert_int_equal(rip_session_record_end(session), 0);
    assert_int_equal(rip_session_recording_state(session, &recorded), 0);
    assert_int_equal(recorded.entry_count, 1);
    assert_int_equal(recorded.error, 0);
    assert_int_equal(rip_session_record(session, path_of("recording"), NULL), -EEXIST);
    transcribe("recording");
    assert_says("102 register \"second\""); /* an id without new snaps */
    assert_says(" 6@77\n");
}

/* Empty drains are left out, except the last. */
TEST_F(end_of_a_recording_is_recorded)
{
    const void *data;
    size_t count;

    open_every(1, "ring");
    start_recording("recording");
    run_drains(5);
    open_once("recording");
    assert_int_equal(find(RIP_EVENT_DRAIN)->as.drain.sequence, 1);
    assert_int_equal(rip_session_data(session, "rip.end", &data, &count), -ENOENT);
    assert_int_equal(find(RIP_EVENT_DRAIN)->as.drain.sequence, 5);
    assert_int_equal(rip_session_data(session, "rip.end", &data, &count), 0);
    expect_next(0);
}

/* After a seek, all ids come before the first snap. Returns the address of that snap. */
static uint64_t address_after_seek(uint64_t wall_ns)
{
    unsigned ids = 0;

    assert_int_equal(rip_session_seek(session, wall_ns), 0);
    do {
        expect_next(1);
        ids += event->kind == RIP_EVENT_REGISTER;
    } while (event->kind != RIP_EVENT_SNAP);
    assert_int_equal(ids, 3);
    return event->as.snap.entries[0].address;
}

enum { RECORDED_DRAINS = 40 };

/* Makes snaps 0x100, 0x101 ..., one for each drain, and records them. */
static void record_drains(const char *name, const struct rip_recording_options *options,
                          uint64_t ret_times[RECORDED_DRAINS])
{
    open_every(1, "ring");
    assert_int_equal(rip_session_record(session, path_of(name), options), 0);
    for (unsigned i = 0; i < RECORDED_DRAINS; i++) {
        ring_builder_snap(&builder, 1, 0x100 + i);
        ret_times[i] = find(RIP_EVENT_DRAIN)->latest_wall_ns;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    open_once(name);
}

TEST_F(seek_in_a_recording)
{
    const struct rip_session_limit one_drain = {.size_bytes = sizeof(one_drain), .drain_count = 1};
    uint64_t times[RECORDED_DRAINS];

    record_drains("recording", NULL, times);
    for (unsigned i = 19; i >= 7; i -= 6)
        assert_int_equal(address_after_seek(times[i]), 0x100 + i);
    assert_int_equal(rip_session_seek(session, times[RECORDED_DRAINS - 1] + SECOND_NS), 0);
    assert_int_equal(rip_session_run(session, &one_drain), 0); /* no further drain */
}

static unsigned count_files(const char *directory)
{
    struct dirent *entry;
    DIR *entries = opendir(path_of(directory));
    unsigned count = 0;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count;
}

/* Segments are read as one recording: the start of a segment yields no event again. */
TEST_F(segments_are_one_recording)
{
    const struct rip_recording_options segments = {.size_bytes = sizeof(segments), .segment_bytes = 1};
    uint64_t times[RECORDED_DRAINS], at, total;

    record_drains("segments", &segments, times);
    assert_true(count_files("segments") > 3);
    assert_int_equal(address_after_seek(times[30]), 0x100 + 30);
    assert_int_equal(rip_session_position(session, &at, &total), 0);
    assert_true(at > 0 && at < total);
    transcribe("segments");
    assert_says(" 45@127\n");
    assert_null(strstr(strstr(text_of(&text), "101 register") + 1, "101 register"));
}

/* Live ------------------------------------------------------------------------------------------------------------- */

TEST_F(new_rings_are_found)
{
    const char *const patterns[] = {"ri*", "new"};
    const struct rip_session_options options = {
        .size_bytes = sizeof(options), .interval_ns = SECOND_NS / 100, .names = patterns, .name_count = 2};
    struct ring_builder other, fresh;

    open_with(".", &options);
    ring_stage_build(&stage, "unwanted", &(struct ring_geometry){.slot_capacity = 1}, &other);
    ring_stage_write(&stage, "ripe", "no ring", 7);
    run_drains(1);
    ring_stage_build(&stage, "part", &(struct ring_geometry){.slot_capacity = 1}, &fresh);
    fresh.ring->created_wall_ns = wall_now_ns() - SECOND_NS; /* as if creating it had taken 1 s */
    fresh.ring->compatible_flags |= RIP_RING_COUNTS_ENDED;
    ring_builder_add_id(&fresh, 0, 7, 7, 0, "one");
    ring_builder_run_to(&fresh, 0, 100);
    assert_int_equal(rename(path_of("part"), path_of("new")), 0);
    while (find(RIP_EVENT_RING)->ring == 1)
        continue;
    assert_int_equal(event->ring, 2);
    expect_text(event->as.ring_begin.name, "new");
    assert_true(event->earliest_mono_ns != 0);
    /* The ring was created during the session: all its snaps are recorded, or counted as lost. */
    find(RIP_EVENT_REGISTER);
    assert_false(event->as.id_begin.found);
    assert_true(event->earliest_mono_ns != 0);
    find(RIP_EVENT_SNAP);
    assert_int_equal(event->as.snap.made_count, 100);
    assert_int_equal(event->as.snap.overwritten_count, 100 - RIP_ENTRY_COUNT);
    find(RIP_EVENT_TOTALS);
    assert_true(event->as.totals.exact);
    assert_int_equal(event->as.totals.made_count, 100);
    assert_int_equal(event->as.totals.recorded_count, RIP_ENTRY_COUNT);
    /* No process uses the ring: it ends when its file is removed. */
    assert_int_equal(unlink(path_of("new")), 0);
    find(RIP_EVENT_RING_END);
    assert_int_equal(event->ring, 2);
    assert_int_equal(event->as.ring_end.reason.count, 0);
    ring_stage_release(&other);
    ring_stage_release(&fresh);
}

static size_t used_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* Files that are not rings come and go: the memory for them does not grow without limit. */
TEST_F(foreign_files_are_forgotten)
{
    enum { FILES = 1000, ROUNDS = 30 };
    size_t before = 0;
    char name[32];

    open_every(20 * PATIENCE_NS, ".");
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < FILES; i++) {
            snprintf(name, sizeof(name), "file-%u", i);
            ring_stage_write(&stage, name, "x", 1);
        }
        assert_int_equal(rip_session_drain_now(session), 0);
        run_drains(1);
        for (unsigned i = 0; i < FILES; i++) {
            snprintf(name, sizeof(name), "file-%u", i);
            assert_int_equal(unlink(path_of(name)), 0);
        }
        if (round == 0)
            before = used_bytes();
    }
    assert_true(used_bytes() < before + 200000);
}

/*
 * A ring that appears between two drains is opened at once, and is read even if its file is removed before the next
 * drain.
 */
TEST_F(new_ring_is_opened_at_once)
{
    struct ring_builder fresh;

    open_every(20 * PATIENCE_NS, ".");
    run_drains(1);
    ring_stage_build(&stage, "part", &(struct ring_geometry){.slot_capacity = 1}, &fresh);
    ring_builder_add_id(&fresh, 0, 7, 7, 0, "one");
    assert_int_equal(rename(path_of("part"), path_of("new")), 0);
    assert_int_equal(rip_session_wait(session, SECOND_NS / 10), -ETIMEDOUT);
    assert_int_equal(unlink(path_of("new")), 0);
    fresh.ring->flush_count++;
    wait_for_drain();
    find(RIP_EVENT_RING);
    expect_text(event->as.ring_begin.name, "new");
    find(RIP_EVENT_REGISTER);
    assert_int_equal(find(RIP_EVENT_RING_END)->as.ring_end.reason.count, 0);
    ring_stage_release(&fresh);
}

static void do_not_exit(void *context)
{
    (void)context;
}

/* A process without locks is looked up in /proc. */
TEST_F(a_process_dies)
{
    pid_t pid = ring_stage_start(do_not_exit, NULL, NULL);

    ring_builder_add_process(&builder, 0, (uint32_t)pid, ring_stage_start_time(pid), "child");
    ring_builder_process(&builder, 0)->flags = 0;
    open_every(SECOND_NS / 100, "ring");
    run_drains(1);
    expect_next(-EAGAIN);
    ring_builder_snap(&builder, 1, 0x78);
    ring_stage_end(pid);
    find(RIP_EVENT_DEATH);
    assert_int_equal(event->process, 0);
    assert_false(event->as.death.in_order || event->as.death.replaced || event->as.death.has_status);
    assert_int_equal(rip_session_run(session, NULL), 0); /* no process uses the ring any more */
}

TEST_F(waits_end)
{
    open_every(UINT64_MAX, "ring");
    assert_int_equal(rip_session_due_ns(session), 0);
    assert_int_equal(rip_session_wait(session, 0), 0);
    run_drains(1);
    assert_true(rip_session_due_ns(session) > PATIENCE_NS / 2);
    assert_int_equal(rip_session_wait(session, SECOND_NS / 100), -ETIMEDOUT);
    builder.ring->flush_count++; /* as rip_flush() does */
    assert_int_equal(rip_session_wait(session, PATIENCE_NS / 2), 0);
    assert_int_equal(rip_session_due_ns(session), 0);
    assert_int_equal(find(RIP_EVENT_FLUSH)->as.flush_count, 1);
}

TEST_F(drain_now)
{
    open_every(20 * PATIENCE_NS, "ring");
    run_drains(1);
    ring_builder_snap(&builder, 1, 0x79);
    expect_next(-EAGAIN);
    assert_int_equal(rip_session_drain_now(session), 0);
    assert_int_equal(rip_session_due_ns(session), 0);
    assert_int_equal(find(RIP_EVENT_SNAP)->as.snap.entries[0].address, 0x79);
    find(RIP_EVENT_DRAIN);
    expect_next(-EAGAIN);
    open_capture();
    assert_int_equal(rip_session_drain_now(session), -ENOTSUP);
}

/* Locks bytes as a process of the ring does. Any other process may also lock any bytes. */
static void hold_locks(void *context)
{
    const uint64_t *range = context;
    struct flock lock = {.l_type = F_RDLCK, .l_start = (off_t)range[0], .l_len = (off_t)range[1]};
    int descriptor = open(path_of("ring"), O_RDONLY | O_CLOEXEC);

    if (descriptor < 0 || fcntl(descriptor, F_SETLK, &lock) != 0)
        _exit(1);
}

TEST_F(rings_are_selected_by_process)
{
    const uint64_t ranges[][2] = {{RIP_LOCK_HOLDER_OFFSET + 3, 1}, {0, 0}}; /* one byte, and all bytes */

    for (size_t i = 0; i < 2; i++) {
        uint64_t range[2] = {ranges[i][0], ranges[i][1]};
        const pid_t pid = ring_stage_start(hold_locks, NULL, range);

        for (int32_t other = 0; other < 2; other++) {
            const int32_t pids[] = {1, pid + other};
            const struct rip_session_options options = {
                .size_bytes = sizeof(options), .once = true, .pids = pids, .pid_count = 2};

            open_with(".", &options);
            expect_next(1);
            assert_int_equal(event->kind, other == 0 ? RIP_EVENT_RING : RIP_EVENT_DRAIN);
        }
        ring_stage_end(pid);
    }
}

static void do_nothing(int signal_number)
{
    (void)signal_number;
}

TEST_F(a_signal_ends_a_wait)
{
    const struct sigaction action = {.sa_handler = do_nothing};
    static const char *const names[] = {"ring", "."};

    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        struct itimerspec soon = {.it_value.tv_nsec = 10000000, .it_interval.tv_nsec = 10000000};
        struct sigevent expiry = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
        timer_t timer;

        open_every(PATIENCE_NS, names[i]);
        run_drains(1);
        assert_int_equal(timer_create(CLOCK_MONOTONIC, &expiry, &timer), 0);
        assert_int_equal(timer_settime(timer, 0, &soon, NULL), 0);
        assert_int_equal(rip_session_run(session, NULL), -EINTR);
        assert_int_equal(timer_delete(timer), 0);
    }
}
