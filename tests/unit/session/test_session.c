/* SPDX-License-Identifier: Apache-2.0 */
/* test_session.c - rip/session.h over a directory, a ring, a capture and a recording. */
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

#include "rip/session.h"
#include "session/capture_file.h"
#include "support/ring_stage.h"
#include "support/test.h"

#define SECOND_NS UINT64_C(1000000000)
#define PATIENCE_NS (90 * SECOND_NS)
#define DOCUMENT                                                                                                       \
    "{\"schema\":\"ripd/capture/1\",\"ended_at\":\"2026-01-31T12:34:56.789Z\",\"ring\":\"ring\","                      \
    "\"source\":\"library\",\"end\":{\"how\":\"killed\",\"status\":null,\"signal_number\":11,\"signal\":\"SIGSEGV\","  \
    "\"core_dumped\":true},\"stalls\":[{\"id\":102,\"cause\":\"futex\"}]}"

static struct ring_stage stage;
static struct ring_builder builder;
static struct rip_session *session; /* that was opened last; one at a time */
static const struct rip_event *event;

/* Three ids of this very process: one that has snapped less than a ring keeps, one more, one never. */
static int set_up(void **state)
{
    static const uint8_t build_id[] = {1, 2, 3};

    (void)state;
    ring_stage_open(&stage);
    ring_stage_build(&stage, "ring", &(struct ring_geometry){.slot_capacity = 200, .note_stride_bytes = 192}, &builder);
    builder.ring->compatible_flags |= RIP_RING_COUNTS_ENDED;
    ring_builder_add_process(&builder, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "server");
    ring_builder_process(&builder, 0)->flags = 0; /* no locks: it is looked up */
    ring_builder_link_module(&builder, 0, ring_builder_add_module(&builder, 16, 32, 0, "/bin/x", build_id, 3));
    ring_builder_add_id(&builder, 1, 101, 11, 0, "first");
    ring_builder_run_to(&builder, 1, 5);
    ring_builder_add_id(&builder, 2, 102, 12, 0, "second");
    ring_builder_run_to(&builder, 2, 1000);
    ring_builder_add_id(&builder, 150, 103, 13, 0, "third");
    ring_builder_note(&builder, 150, "GET /", 5);
    return 0;
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
    if (rip_session_open(&session, ring_stage_path(&stage, name), options, &error) != 0)
        fail_msg("%s: %s", name, error);
}

static void open_once(const char *name)
{
    open_with(name, &(struct rip_session_options){.size_bytes = sizeof(struct rip_session_options), .once = true});
}

/* Drained each time that so much has passed. */
static void open_every(uint64_t interval_ns, const char *name)
{
    open_with(name, &(struct rip_session_options){.size_bytes = sizeof(struct rip_session_options),
                                                  .interval_ns = interval_ns});
}

static void run_drains(uint64_t count)
{
    const struct rip_session_limit limit = {.size_bytes = sizeof(limit), .drain_count = count};

    assert_int_equal(rip_session_run(session, &limit), 1);
}

static void start_recording(const char *name)
{
    assert_int_equal(rip_session_record(session, ring_stage_path(&stage, name), NULL), 0);
}

/* The next event of this kind; those before it are passed over. */
static const struct rip_event *find(uint32_t kind)
{
    int result;

    while ((result = rip_session_next(session, &event)) == 1)
        if (event->kind == kind)
            return event;
    fail_msg("no event of kind %u: %s", kind, strerror(-result));
    return NULL;
}

/* What a source yields of ids, as text: one line an event. */
static char *transcript(const char *name)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    uint64_t number = 0;
    int result;

    open_once(name);
    while ((result = rip_session_next(session, &event)) == 1) {
        assert_int_equal(event->number, ++number);
        if (event->kind == RIP_EVENT_REGISTER)
            fprintf(file, "%u.%u id %u %.*s\n", event->slot, event->generation, event->id,
                    event->as.id_begin.info->name_bytes, event->as.id_begin.info->name);
        if (event->kind == RIP_EVENT_SNAP)
            for (uint32_t i = 0; i < event->as.snap.entry_count; i++)
                fprintf(file, "%u snap %" PRIu64 " at %" PRIx64 "\n", event->id, event->as.snap.entries[i].snap,
                        event->as.snap.entries[i].address);
        if (event->kind == RIP_EVENT_EXIT)
            fprintf(file, "%u exit after %" PRIu64 "\n", event->id, event->as.exit.snap_count);
        if (event->kind == RIP_EVENT_NOTE)
            fprintf(file, "%u note %.*s\n", event->id, event->as.note->text_bytes, event->as.note->text);
        if (event->kind == RIP_EVENT_PROCESS)
            fprintf(file, "process %u %.16s\n", event->as.process_begin->pid, event->as.process_begin->comm);
        if (event->kind == RIP_EVENT_MODULE)
            fprintf(file, "module %.*s\n", event->as.module.info->path_bytes, event->as.module.info->path);
    }
    assert_int_equal(result, 0);
    fclose(file);
    return text;
}

/* With so much of a second in the time of the end. */
static void put_capture_of(const char *name, const char *fraction)
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

static void put_capture(const char *name)
{
    put_capture_of(name, "789Z");
}

static void record(const char *name, const char *target)
{
    open_once(name);
    start_recording(target);
    assert_int_equal(rip_session_run(session, NULL), 0);
    assert_int_equal(rip_session_record_end(session), 0);
}

TEST(all_sources_yield_the_same, set_up, tear_down)
{
    static const char *const names[] = {"directory", "capture", "recording", "recorded-capture", "again"};
    char *live;

    ring_builder_add_id(&builder, 151, 104, 14, 0, "ended");
    ring_builder_run_to(&builder, 151, 2);
    ring_builder_note(&builder, 151, "last", 4);
    ring_builder_end_id(&builder, 151);
    put_capture("capture");
    record("ring", "recording");
    record("capture", "recorded-capture");
    record("recording", "again");
    assert_int_equal(mkdir(ring_stage_path(&stage, "directory"), 0700), 0);
    assert_int_equal(link(ring_stage_path(&stage, "ring"), ring_stage_path(&stage, "directory/ring")), 0);
    live = transcript("ring");
    assert_non_null(strstr(live, "id 101 first\n101 snap 1 at"));
    assert_non_null(strstr(live, "102 snap 969 at"));
    assert_null(strstr(live, "102 snap 968 at"));
    assert_non_null(strstr(live, "103 note GET /\n"));
    assert_non_null(strstr(live, "module /bin/x\n"));
    assert_non_null(strstr(live, "id 104 ended\n104 snap 1 at"));
    assert_non_null(strstr(live, "104 note last\n104 exit after 2\n"));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *other = transcript(names[i]);

        assert_string_equal(live, other);
        free(other);
    }
    free(live);
    assert_int_equal(unlink(ring_stage_path(&stage, "directory/ring")), 0);
    assert_int_equal(rmdir(ring_stage_path(&stage, "directory")), 0);
}

TEST(what_a_source_is_its_content_says, set_up, tear_down)
{
    static const struct {
        const char *name;
        enum rip_session_source source;
    } rows[] = {{".", RIP_SESSION_DIRECTORY},
                {"ring", RIP_SESSION_RING},
                {"capture", RIP_SESSION_CAPTURE},
                {"recording", RIP_SESSION_RECORDING}};

    put_capture("capture");
    record("ring", "recording");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t at, total;

        open_once(rows[i].name);
        assert_int_equal(rip_session_source(session), rows[i].source);
        assert_string_equal(rip_session_error(session), "");
        assert_int_equal(rip_session_position(session, &at, &total),
                         rows[i].source == RIP_SESSION_RECORDING ? 0 : -ENOTSUP);
        assert_int_equal(rip_session_seek(session, 1), rows[i].source == RIP_SESSION_RECORDING ? 0 : -ENOTSUP);
    }
}

TEST(each_drain_yields_what_is_new, set_up, tear_down)
{
    const struct rip_event *peeked;

    open_every(SECOND_NS / 100, "ring");
    event = find(RIP_EVENT_DRAIN);
    assert_int_equal(event->as.drain.sequence, 1);
    ring_builder_snap(&builder, 1, 0x77);
    event = NULL;
    while (rip_session_peek(session, &peeked) == -EAGAIN)
        assert_int_equal(rip_session_wait(session, PATIENCE_NS), 0);
    event = find(RIP_EVENT_SNAP);
    assert_int_equal(event->id, 101);
    assert_int_equal(event->as.snap.made_count, 1);
    assert_int_equal(event->as.snap.entry_count, 1);
    assert_int_equal(event->as.snap.entries[0].snap, 6);
    assert_int_equal(event->as.snap.entries[0].address, 0x77);
    assert_true(event->earliest_mono_ns != 0 && event->earliest_mono_ns < event->latest_mono_ns);
}

TEST(a_peeked_event_stays, set_up, tear_down)
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
    char *text = NULL;

    assert_int_equal(rip_session_open(&untouched, ring_stage_path(&stage, name), NULL, &text), error);
    assert_ptr_equal(untouched, &stage);
    if (text == NULL || strstr(text, part) == NULL || strchr(text, '\n') != NULL)
        fail_msg("%s: %s", name, text);
    free(text);
}

TEST(what_cannot_be_opened_is_said, set_up, tear_down)
{
    static const char foreign[] = "a text that is neither of them, and longer than any magic of theirs is long";

    assert_refused("missing", -ENOENT, "No such file");
    assert_int_equal(mkfifo(ring_stage_path(&stage, "fifo"), 0600), 0);
    assert_refused("fifo", -EINVAL, "is neither");
    ring_stage_write(&stage, "foreign", foreign, sizeof(foreign));
    assert_refused("foreign", -EINVAL, "is neither");
    ring_stage_write(&stage, "empty", "", 0);
    assert_refused("empty", -EINVAL, "is neither");
    put_capture("capture");
    assert_int_equal(truncate(ring_stage_path(&stage, "capture"), 60), 0);
    assert_refused("capture", -EBADMSG, "damaged");
    builder.ring->format_version = 9;
    assert_refused("ring", -EPROTONOSUPPORT, "version");
    if (geteuid() != 0) {
        assert_int_equal(chmod(ring_stage_path(&stage, "foreign"), 0), 0);
        assert_refused("foreign", -EACCES, "denied");
    }
    assert_int_equal(unlink(ring_stage_path(&stage, "fifo")), 0);
}

static uint64_t size_of(const char *name)
{
    struct stat status;

    assert_int_equal(stat(ring_stage_path(&stage, name), &status), 0);
    return (uint64_t)status.st_size;
}

/* Cut anywhere behind its header, it yields what comes before the cut, and says where that is. */
TEST(a_recording_that_was_cut, set_up, tear_down)
{
    char *whole;
    uint64_t size_bytes;

    record("ring", "recording");
    size_bytes = size_of("recording");
    whole = transcript("recording");
    for (uint64_t cut = size_bytes - 1; cut > size_bytes / 2; cut -= 7) {
        uint64_t at, total;
        int result;

        assert_int_equal(truncate(ring_stage_path(&stage, "recording"), (off_t)cut), 0);
        open_once("recording");
        while ((result = rip_session_next(session, &event)) == 1)
            continue;
        assert_int_equal(result, -EBADMSG);
        assert_int_equal(rip_session_next(session, &event), -EBADMSG);
        assert_non_null(strstr(rip_session_error(session), "damaged or truncated at byte"));
        assert_int_equal(rip_session_position(session, &at, &total), 0);
        assert_int_equal(total, cut);
        assert_true(at < total);
    }
    free(whole);
}

TEST(a_ring_that_is_cut_ends_it, set_up, tear_down)
{
    open_every(1, "ring");
    find(RIP_EVENT_DRAIN);
    assert_int_equal(truncate(ring_stage_path(&stage, "ring"), 4096), 0);
    event = find(RIP_EVENT_RING_END);
    assert_int_equal(event->as.ring_end.reason.count, strlen("was cut short"));
    assert_memory_equal(event->as.ring_end.reason.bytes, "was cut short", strlen("was cut short"));
    find(RIP_EVENT_DRAIN);
    assert_int_equal(rip_session_next(session, &event), 0);
    assert_non_null(strstr(rip_session_error(session), "was cut short"));
}

/* Structs of the caller's that are shorter, or longer, than ours. */
TEST(structs_of_other_releases, set_up, tear_down)
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
    open_with(".", &shorter); /* what lies behind its size is not looked at */
    find(RIP_EVENT_RING);
    assert_int_equal(rip_session_observe(session, &none), -EINVAL);
    close_session();
    longer.later = 1;
    assert_int_equal(rip_session_open(&session, ring_stage_path(&stage, "ring"), &longer.options, NULL), -E2BIG);
    longer.options.size_bytes = 3;
    assert_int_equal(rip_session_open(&session, ring_stage_path(&stage, "ring"), &longer.options, NULL), -EINVAL);
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

TEST(observers_are_called, set_up, tear_down)
{
    struct counts counts = {0};
    const struct rip_observer observer = observer_of(&counts);

    put_capture("capture");
    open_once("capture");
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

TEST(an_observer_ends_the_run, set_up, tear_down)
{
    struct counts counts = {.stop_after = 3};
    const struct rip_observer observer = observer_of(&counts);

    open_once("ring");
    assert_int_equal(rip_session_observe(session, &observer), 0);
    assert_int_equal(rip_session_run(session, NULL), 42);
    assert_int_equal(counts.event, 3);
    assert_int_equal(rip_session_next(session, &event), 1);
    assert_int_equal(event->number, 4);
    assert_int_equal(rip_session_observe(session, NULL), 0);
    assert_int_equal(rip_session_run(session, NULL), 0);
    assert_int_equal(counts.event, 3);
}

/* A snap of more than an id keeps: some of it is lost. */
TEST(what_was_lost_is_observed, set_up, tear_down)
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

TEST(runs_end_at_their_limits, set_up, tear_down)
{
    struct rip_session_limit limit = {.size_bytes = sizeof(limit), .event_count = 2};

    record("ring", "recording");
    open_once("recording");
    assert_int_equal(rip_session_run(session, &limit), 1);
    assert_int_equal(rip_session_next(session, &event), 1);
    assert_int_equal(event->number, 3);
    limit = (struct rip_session_limit){.size_bytes = sizeof(limit), .ring = event->ring, .id = 102};
    assert_int_equal(rip_session_run(session, &limit), 1);
    assert_int_equal(rip_session_peek(session, &event), 1);
    assert_true(event->kind == RIP_EVENT_SNAP && event->id == 102); /* its REGISTER was the last */
    limit = (struct rip_session_limit){.size_bytes = sizeof(limit), .until_wall_ns = event->latest_wall_ns - 1};
    assert_int_equal(rip_session_run(session, &limit), 1);
    assert_int_equal(rip_session_next(session, &event), 1);
    assert_true(event->kind == RIP_EVENT_SNAP && event->id == 102);
    limit = (struct rip_session_limit){.size_bytes = sizeof(limit), .drain_count = 1};
    assert_int_equal(rip_session_run(session, &limit), 1);
    assert_int_equal(rip_session_next(session, &event), 0);
}

/* A capture knows how its process ended, and who was stalled then. */
TEST(a_capture_says_how_it_ended, set_up, tear_down)
{
    const void *data;
    size_t count;

    put_capture("capture");
    open_once("capture");
    event = find(RIP_EVENT_RING);
    assert_memory_equal(event->as.ring_begin.name.bytes, "ring", 4);
    assert_int_equal(rip_session_data(session, "rip.capture", &data, &count), 0);
    assert_int_equal(count, strlen(DOCUMENT));
    assert_memory_equal(data, DOCUMENT, count);
    event = find(RIP_EVENT_STALL_BEGIN);
    assert_int_equal(event->id, 102);
    assert_int_equal(event->slot, 2);
    assert_memory_equal(event->as.stall.json.bytes, "{\"id\":102,\"cause\":\"futex\"}", event->as.stall.json.count);
    event = find(RIP_EVENT_DEATH);
    assert_true(event->as.death.has_status && event->as.death.core_dumped);
    assert_true(WIFSIGNALED(event->as.death.status) && WTERMSIG(event->as.death.status) == SIGSEGV);
    assert_int_equal(find(RIP_EVENT_DRAIN)->as.drain.wall_ns, UINT64_C(1769862896789000000));
}

/* In any program: it may have a locale in which numbers are written otherwise. And in any capture. */
TEST(a_fraction_of_a_second_is_digits, set_up, tear_down)
{
    static const struct {
        const char *fraction;
        uint64_t ns;
    } cases[] = {{"001Z", 1000000}, {"1e9Z", 100000000}, {"inf ", 0}, {"0x1p", 0}, {"9  Z", 900000000}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put_capture_of("capture", cases[i].fraction);
        open_once("capture");
        assert_int_equal(find(RIP_EVENT_DRAIN)->as.drain.wall_ns, UINT64_C(1769862896000000000) + cases[i].ns);
    }
}

/* Ancillary data --------------------------------------------------------------------------------------------------- */

TEST(attached_data_is_saved, set_up, tear_down)
{
    uint64_t snap_count = 0;
    const void *data;
    size_t count;

    open_once("ring");
    assert_int_equal(rip_session_attach(session, "a", "x", 1), -EINVAL); /* no event yet */
    start_recording("recording");
    while (rip_session_next(session, &event) == 1) {
        if (event->kind != RIP_EVENT_SNAP && event->kind != RIP_EVENT_DRAIN)
            continue;
        assert_int_equal(rip_session_attach(session, "test.kind", "replaced", 8), 0);
        assert_int_equal(rip_session_attach(session, "test.kind", &event->kind, sizeof(event->kind)), 0);
        assert_int_equal(rip_session_attach(session, "test.empty", NULL, 0), 0);
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

TEST(attached_data_has_limits, set_up, tear_down)
{
    char name[RIP_SESSION_NAMESPACE_BYTES + 2], *large = calloc(1, RIP_SESSION_DATA_BYTES_MAX + 1);

    open_once("ring");
    assert_non_null(large);
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(rip_session_next(session, &event), 1);
    assert_int_equal(rip_session_attach(session, name, "", 0), -EINVAL);
    assert_int_equal(rip_session_attach(session, name + 1, "", 0), 0);
    assert_int_equal(rip_session_attach(session, "", "", 0), -EINVAL);
    assert_int_equal(rip_session_attach(session, "a b", "", 0), -EINVAL);
    assert_int_equal(rip_session_attach(session, "large", large, RIP_SESSION_DATA_BYTES_MAX + 1), -EFBIG);
    assert_int_equal(rip_session_attach(session, "large", large, RIP_SESSION_DATA_BYTES_MAX), 0);
    assert_int_equal(rip_session_attach(session, "more", large, 1), -EFBIG);
    assert_int_equal(rip_session_next(session, &event), 1);
    for (unsigned i = 0; i < RIP_SESSION_DATA_COUNT_MAX; i++) {
        snprintf(name, sizeof(name), "name%u", i);
        assert_int_equal(rip_session_attach(session, name, "", 0), 0);
    }
    assert_int_equal(rip_session_attach(session, name, "", 0), 0);
    assert_int_equal(rip_session_attach(session, "one-more", "", 0), -EFBIG);
    free(large);
}

/* Recording -------------------------------------------------------------------------------------------------------- */

TEST(recording_begins_in_the_middle, set_up, tear_down)
{
    struct rip_recording_state recorded;
    char *text;

    open_every(1, "ring");
    run_drains(1);
    start_recording("recording");
    assert_int_equal(rip_session_record(session, ring_stage_path(&stage, "other"), NULL), -EBUSY);
    ring_builder_snap(&builder, 1, 0x77);
    run_drains(1);
    assert_int_equal(rip_session_record_end(session), 0);
    assert_int_equal(rip_session_recording_state(session, &recorded), 0);
    assert_int_equal(recorded.entry_count, 1);
    assert_int_equal(recorded.error, 0);
    assert_int_equal(rip_session_record(session, ring_stage_path(&stage, "recording"), NULL), -EEXIST);
    text = transcript("recording");
    assert_non_null(strstr(text, "id 102 second\n")); /* it stood still meanwhile */
    assert_non_null(strstr(text, "101 snap 6 at 77\n"));
    free(text);
}

/* Drains that said nothing are left out, but for the last. */
TEST(a_recording_says_until_when_it_goes, set_up, tear_down)
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
    assert_int_equal(rip_session_next(session, &event), 0);
}

TEST(a_recording_is_searched, set_up, tear_down)
{
    const struct rip_session_limit one = {.size_bytes = sizeof(one), .drain_count = 1};
    uint64_t times[20], ids = 0;

    open_every(1, "ring");
    start_recording("recording");
    for (unsigned i = 0; i < 20; i++) {
        ring_builder_snap(&builder, 1, 0x100 + i);
        event = find(RIP_EVENT_DRAIN);
        times[i] = event->latest_wall_ns;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    open_once("recording");
    for (unsigned i = 19; i >= 7; i -= 6) {
        ids = 0;
        assert_int_equal(rip_session_seek(session, times[i]), 0);
        while (rip_session_next(session, &event) == 1 && event->kind != RIP_EVENT_SNAP)
            ids += event->kind == RIP_EVENT_REGISTER;
        assert_int_equal(ids, 3);
        assert_int_equal(event->kind, RIP_EVENT_SNAP);
        assert_int_equal(event->as.snap.entries[0].address, 0x100 + i);
    }
    assert_int_equal(rip_session_seek(session, times[19] + SECOND_NS), 0);
    assert_int_equal(rip_session_run(session, &one), 0);
}

static unsigned count_files(const char *directory)
{
    struct dirent *entry;
    DIR *entries = opendir(ring_stage_path(&stage, directory));
    unsigned count = 0;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count;
}

/* Segments are read as one recording: nothing is found anew where the next one begins. */
TEST(segments_are_one_recording, set_up, tear_down)
{
    const struct rip_recording_options segments = {.size_bytes = sizeof(segments), .segment_bytes = 1};
    uint64_t middle_ns = 0, at, total, ids = 0;
    char *text;

    open_every(1, "ring");
    assert_int_equal(rip_session_record(session, ring_stage_path(&stage, "segments"), &segments), 0);
    for (unsigned i = 0; i < 40; i++) {
        ring_builder_snap(&builder, 1, 0x100 + i);
        event = find(RIP_EVENT_DRAIN);
        middle_ns = i == 30 ? event->latest_wall_ns : middle_ns;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    close_session();
    assert_true(count_files("segments") > 3);
    text = transcript("segments");
    assert_non_null(strstr(text, "101 snap 45 at 127\n"));
    assert_null(strstr(strstr(text, "id 101 first") + 1, "id 101 first"));
    free(text);
    open_once("segments");
    assert_int_equal(rip_session_seek(session, middle_ns), 0);
    assert_int_equal(rip_session_position(session, &at, &total), 0);
    assert_true(at > 0 && at < total);
    while (rip_session_next(session, &event) == 1 && event->kind != RIP_EVENT_SNAP)
        ids += event->kind == RIP_EVENT_REGISTER;
    assert_int_equal(ids, 3);
    assert_int_equal(event->as.snap.entries[0].address, 0x100 + 30);
}

/* Live ------------------------------------------------------------------------------------------------------------- */

TEST(new_rings_are_found, set_up, tear_down)
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
    fresh.ring->created_wall_ns = wall_now_ns() - SECOND_NS; /* it has taken so long to be made */
    fresh.ring->compatible_flags |= RIP_RING_COUNTS_ENDED;
    ring_builder_add_id(&fresh, 0, 7, 7, 0, "one");
    ring_builder_run_to(&fresh, 0, 100);
    assert_int_equal(rename(ring_stage_path(&stage, "part"), ring_stage_path(&stage, "new")), 0);
    do {
        assert_int_equal(rip_session_wait(session, PATIENCE_NS), 0);
        while (rip_session_next(session, &event) == 1 && event->kind != RIP_EVENT_RING)
            continue;
    } while (event->kind != RIP_EVENT_RING);
    assert_int_equal(event->ring, 2);
    assert_int_equal(event->as.ring_begin.name.count, 3);
    assert_memory_equal(event->as.ring_begin.name.bytes, "new", 3);
    assert_true(event->earliest_mono_ns != 0);
    /* It was made under the eyes of the session: all that it has is known, or lost. */
    event = find(RIP_EVENT_REGISTER);
    assert_false(event->as.id_begin.found);
    assert_true(event->earliest_mono_ns != 0);
    event = find(RIP_EVENT_SNAP);
    assert_int_equal(event->as.snap.made_count, 100);
    assert_int_equal(event->as.snap.overwritten_count, 100 - RIP_ENTRY_COUNT);
    event = find(RIP_EVENT_TOTALS);
    assert_true(event->as.totals.exact);
    assert_int_equal(event->as.totals.made_count, 100);
    assert_int_equal(event->as.totals.recorded_count, RIP_ENTRY_COUNT);
    /* Nobody lives in it: when its file is gone, so is it. */
    assert_int_equal(unlink(ring_stage_path(&stage, "new")), 0);
    do {
        assert_int_equal(rip_session_wait(session, PATIENCE_NS), 0);
        while (rip_session_next(session, &event) == 1 && event->kind != RIP_EVENT_RING_END)
            continue;
    } while (event->kind != RIP_EVENT_RING_END);
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

/* Files that are no rings come and go: what is known of them does not grow without end. */
TEST(foreign_files_are_forgotten, set_up, tear_down)
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
            assert_int_equal(unlink(ring_stage_path(&stage, name)), 0);
        }
        if (round == 0)
            before = used_bytes();
    }
    assert_true(used_bytes() < before + 200000);
}

/* A ring that comes between two drains is open at once: what it says is read though its file has gone again. */
TEST(a_new_ring_is_held, set_up, tear_down)
{
    struct ring_builder fresh;

    open_every(20 * PATIENCE_NS, ".");
    run_drains(1);
    ring_stage_build(&stage, "part", &(struct ring_geometry){.slot_capacity = 1}, &fresh);
    ring_builder_add_id(&fresh, 0, 7, 7, 0, "one");
    assert_int_equal(rename(ring_stage_path(&stage, "part"), ring_stage_path(&stage, "new")), 0);
    assert_int_equal(rip_session_wait(session, SECOND_NS / 10), -ETIMEDOUT);
    assert_int_equal(unlink(ring_stage_path(&stage, "new")), 0);
    fresh.ring->flush_count++;
    assert_int_equal(rip_session_wait(session, PATIENCE_NS), 0);
    event = find(RIP_EVENT_RING);
    assert_memory_equal(event->as.ring_begin.name.bytes, "new", 3);
    find(RIP_EVENT_REGISTER);
    assert_int_equal(find(RIP_EVENT_RING_END)->as.ring_end.reason.count, 0);
    ring_stage_release(&fresh);
}

static void pause_for_long(void *context)
{
    (void)context;
}

/* A process without locks, as one in which they could not be had: it is looked up. */
TEST(a_process_dies, set_up, tear_down)
{
    pid_t pid = ring_stage_start(pause_for_long, NULL, NULL);
    int result = -EAGAIN;

    ring_builder_add_process(&builder, 0, (uint32_t)pid, ring_stage_start_time(pid), "child");
    ring_builder_process(&builder, 0)->flags = 0;
    open_every(SECOND_NS / 100, "ring");
    run_drains(1);
    assert_int_equal(rip_session_next(session, &event), -EAGAIN);
    ring_builder_snap(&builder, 1, 0x78);
    ring_stage_end(pid);
    while (result == -EAGAIN || (result == 1 && event->kind != RIP_EVENT_DEATH)) {
        if (result == -EAGAIN)
            assert_int_equal(rip_session_wait(session, PATIENCE_NS), 0);
        result = rip_session_next(session, &event);
    }
    assert_int_equal(result, 1);
    assert_int_equal(event->process, 0);
    assert_false(event->as.death.in_order || event->as.death.replaced || event->as.death.has_status);
    assert_int_equal(rip_session_run(session, NULL), 0); /* nobody lives in it any more */
}

TEST(waits_end, set_up, tear_down)
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

TEST(a_drain_is_asked_for, set_up, tear_down)
{
    open_every(20 * PATIENCE_NS, "ring");
    run_drains(1);
    ring_builder_snap(&builder, 1, 0x79);
    assert_int_equal(rip_session_next(session, &event), -EAGAIN);
    assert_int_equal(rip_session_drain_now(session), 0);
    assert_int_equal(rip_session_due_ns(session), 0);
    assert_int_equal(find(RIP_EVENT_SNAP)->as.snap.entries[0].address, 0x79);
    find(RIP_EVENT_DRAIN);
    assert_int_equal(rip_session_next(session, &event), -EAGAIN);
    put_capture("capture");
    open_once("capture");
    assert_int_equal(rip_session_drain_now(session), -ENOTSUP);
}

/* As a process enters itself; and anybody may lock whatever he likes. */
static void hold_locks(void *context)
{
    const uint64_t *range = context;
    struct flock lock = {.l_type = F_RDLCK, .l_start = (off_t)range[0], .l_len = (off_t)range[1]};
    int descriptor = open(ring_stage_path(&stage, "ring"), O_RDONLY | O_CLOEXEC);

    if (descriptor < 0 || fcntl(descriptor, F_SETLK, &lock) != 0)
        _exit(1);
}

TEST(rings_are_chosen_by_process, set_up, tear_down)
{
    const uint64_t ranges[][2] = {{RIP_LOCK_HOLDER_OFFSET + 3, 1}, {0, 0}}; /* one byte, and all of them */

    for (size_t i = 0; i < 2; i++) {
        uint64_t range[2] = {ranges[i][0], ranges[i][1]};
        const pid_t pid = ring_stage_start(hold_locks, NULL, range);

        for (int32_t other = 0; other < 2; other++) {
            const int32_t pids[] = {1, pid + other};
            const struct rip_session_options options = {
                .size_bytes = sizeof(options), .once = true, .pids = pids, .pid_count = 2};

            open_with(".", &options);
            assert_int_equal(rip_session_next(session, &event), 1);
            assert_int_equal(event->kind, other == 0 ? RIP_EVENT_RING : RIP_EVENT_DRAIN);
        }
        ring_stage_end(pid);
    }
}

static void do_nothing(int signal_number)
{
    (void)signal_number;
}

TEST(a_signal_ends_a_wait, set_up, tear_down)
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
