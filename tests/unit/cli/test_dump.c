/* SPDX-License-Identifier: Apache-2.0 */
/* test_dump.c - `rip dump` of a recording and a ring, and its table of ids: ripd/cli/dump.c, dump_ids.c. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/dump_ids.h"
#include "support/ring_stage.h"
#include "support/test.h"

#define PRINTED_BYTES 16384u

static struct ring_stage stage;

/* Makes a ring with a process and its module. */
static void build(const char *name, struct ring_builder *builder)
{
    ring_stage_build(&stage, name, &(struct ring_geometry){.slot_capacity = 64}, builder);
    ring_stage_claim(builder, 0, getpid(), "server");
    ring_builder_link_module(builder, 0,
                             ring_builder_add_module(builder, 0x1000, 0x9000, 0x1000, "/bin/server", NULL, 0));
}

/* Records two ids: "walker" alternates between two places, "ender" ends. */
static void record(void)
{
    const struct rip_session_options options = {.size_bytes = sizeof(options), .interval_ns = 1};
    const struct rip_session_limit one = {.size_bytes = sizeof(one), .drain_count = 1};
    struct rip_session *session;
    struct ring_builder builder;

    build("ring", &builder);
    ring_builder_add_id(&builder, 0, 11, 11, 0, "walker");
    ring_builder_add_id(&builder, 1, 12, 12, 0, "ender");
    assert_int_equal(rip_session_open(&session, ring_stage_path(&stage, "ring"), &options, NULL), 0);
    assert_int_equal(rip_session_record(session, ring_stage_path(&stage, "recording"), NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(rip_session_run(session, &one), 1);
        ring_builder_snap(&builder, 0, 0x1100);
        ring_builder_snap(&builder, 0, 0x1200);
        ring_builder_snap(&builder, 1, 0x1200);
    }
    assert_int_equal(rip_session_run(session, &one), 1);
    ring_builder_remove_id(&builder, 1);
    assert_int_equal(rip_session_run(session, &one), 1);
    rip_session_close(session);
    ring_stage_release(&builder);
}

static char printed[PRINTED_BYTES];

/* Runs the command on a file of the stage, in a child. Its output is in printed. */
static int dump(const char *file, bool as_json)
{
    static const struct cli_command command = {"dump", "", cli_dump, &cli_dump_syntax};
    char program[] = "rip", name[] = "dump", json[] = "--json", path[128];
    char *argv[] = {program, name, path, as_json ? json : NULL, NULL};
    int descriptor = open(ring_stage_path(&stage, "printed"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;
    ssize_t count;
    pid_t pid;

    snprintf(path, sizeof(path), "%s", ring_stage_path(&stage, file));
    fflush(stdout);
    pid = fork();
    assert_true(descriptor >= 0 && pid >= 0);
    if (pid == 0)
        _exit(dup2(descriptor, STDOUT_FILENO) >= 0 ? cli_dispatch(&command, 1, as_json ? 4 : 3, argv) : -1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    count = pread(descriptor, printed, PRINTED_BYTES - 1, 0);
    assert_true(count >= 0);
    printed[count] = '\0';
    close(descriptor);
    return WEXITSTATUS(status);
}

static void assert_printed(const char *text)
{
    if (strstr(printed, text) == NULL)
        fail_msg("'%s' is not in: %s", text, printed);
}

static int set_up(void **state)
{
    (void)state;
    ring_stage_open(&stage);
    record();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ring_stage_close(&stage);
    return 0;
}

TEST(a_recording_is_shown, set_up, tear_down)
{
    static const char *const texts[] = {"recording /",
                                        "9 recorded, 0 overwritten before",
                                        "snaps by place",
                                        "     6  server+0x200",
                                        "     3  server+0x100",
                                        "walker",
                                        "exited"};

    assert_int_equal(dump("recording", false), CLI_OK);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_printed(texts[i]);
}

/* Ids that have ended are listed last, with their trails. Only recordings count snaps. */
TEST(a_ring_is_shown, set_up, tear_down)
{
    struct ring_builder builder;

    build("other", &builder);
    builder.ring->compatible_flags |= RIP_RING_COUNTS_ENDED;
    ring_builder_add_id(&builder, 0, 11, 11, 0, "ender");
    ring_builder_snap(&builder, 0, 0x1100);
    ring_builder_end_id(&builder, 0);
    ring_builder_add_id(&builder, 1, 12, 12, 0, "walker");
    ring_builder_snap(&builder, 1, 0x1200);
    ring_stage_release(&builder);
    assert_int_equal(dump("other", false), CLI_OK);
    assert_ptr_equal(strstr(printed, "ring /"), strstr(printed, "ring"));
    assert_null(strstr(printed, "recorded"));
    assert_null(strstr(printed, "snaps by place"));
    assert_printed("server+0x100");
    assert_printed("server+0x200");
    assert_true(strstr(printed, "walker") < strstr(printed, "ender"));
    assert_int_equal(dump("other", true), CLI_OK);
    assert_non_null(strstr(strchr(printed, '\n'), "\"state\":\"exited\""));
    assert_non_null(strstr(strchr(printed, '\n'), "\"snaps\":1,"));
}

/* A truncated recording is shown up to its end, and the exit status reports that it is incomplete. */
TEST(a_truncated_recording_is_shown, set_up, tear_down)
{
    const char *path = ring_stage_path(&stage, "recording");
    struct stat status;

    assert_int_equal(dump("recording", true), CLI_OK);
    assert_printed("\"exited\"");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size - 10), 0);
    assert_int_equal(dump("recording", true), CLI_UNREACHABLE);
    assert_printed("\"walker\"");
    assert_null(strstr(printed, "\"exited\""));
}

/* Makes a table with one ring. */
static struct dump_ids *new_ids(uint32_t ring)
{
    const struct rip_event event = {.kind = RIP_EVENT_RING, .ring = ring, .as.ring_begin.name = {"ring", 4}};
    struct dump_ids *ids = dump_ids_new();

    assert_non_null(ids);
    dump_ids_take(ids, &event);
    return ids;
}

/* Only the first DUMP_ENDED_MAX ended ids are kept. The memory of the others is reused. */
TEST(ended_ids_are_limited)
{
    struct dump_ids *ids = new_ids(1);
    struct rip_id_info info = {.name_bytes = 1, .name = "x"};
    struct rip_entry entry = {.address = 16};
    json_t *items, *places;

    for (uint32_t i = 0; i < DUMP_ENDED_MAX + 1000; i++) {
        struct rip_event event = {.kind = RIP_EVENT_REGISTER, .ring = 1, .slot = i % 300, .id = i};

        info.slot = event.slot;
        info.id = i;
        entry.snap = 1;
        event.as.id_begin.info = &info;
        dump_ids_take(ids, &event);
        event.kind = RIP_EVENT_SNAP;
        event.as.snap = (struct rip_event_snap){.made_count = 1, .entry_count = 1, .entries = &entry};
        dump_ids_take(ids, &event);
        event.kind = RIP_EVENT_EXIT;
        event.as.exit = (struct rip_event_exit){.snap_count = 1, .has_snap_count = true};
        if (i != DUMP_ENDED_MAX + 999)
            dump_ids_take(ids, &event);
    }
    items = dump_ids_ended(ids, NULL);
    places = dump_ids_places(ids, NULL);
    assert_int_equal(json_array_size(items), DUMP_ENDED_MAX);
    assert_int_equal(json_array_size(places), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(places, 0), "count")), DUMP_ENDED_MAX + 1000);
    json_decref(items);
    json_decref(places);
    dump_ids_free(ids);
}

/* An id keeps its last breadcrumbs. Events of unknown ids are ignored. */
TEST(the_last_breadcrumbs_are_kept)
{
    struct dump_ids *ids = new_ids(2);
    struct rip_id_info info = {.slot = 3, .id = 9};
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_event event = {.kind = RIP_EVENT_REGISTER, .ring = 2, .slot = 3, .as.id_begin.info = &info};
    json_t *items, *trail;

    dump_ids_take(ids, &event);
    for (uint64_t first = 1; first < 100; first += RIP_ENTRY_COUNT / 2) {
        for (uint64_t i = 0; i < RIP_ENTRY_COUNT / 2; i++)
            entries[i] = (struct rip_entry){.snap = first + i, .address = 64 + i};
        event.kind = RIP_EVENT_SNAP;
        event.as.snap = (struct rip_event_snap){.entry_count = RIP_ENTRY_COUNT / 2, .entries = entries};
        dump_ids_take(ids, &event);
    }
    event.slot = 4;
    dump_ids_take(ids, &event);
    event.kind = RIP_EVENT_EXIT;
    dump_ids_take(ids, &event);
    items = dump_ids_items(ids, NULL);
    assert_int_equal(json_array_size(items), 1);
    trail = json_object_get(json_array_get(items, 0), "trail");
    assert_int_equal(json_array_size(trail), RIP_ENTRY_COUNT);
    for (size_t i = 0; i < RIP_ENTRY_COUNT; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(trail, i), "count")), 111 - i);
    json_decref(items);
    dump_ids_free(ids);
}
