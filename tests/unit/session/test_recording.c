/* SPDX-License-Identifier: Apache-2.0 */
/* test_recording.c - writing and reading recordings: damage, gaps and seeking. */
#include "unit/session/session_test.h"

#include <errno.h>
#include <malloc.h>

#include "session/recording_code.h"
#include "session/recording_format.h"
#include "session/recording_table.h"

static struct memory_file file;
static struct recording_writer *writer;
static struct event_text written; /* the events that were written */
static uint64_t now_ns, before_ns, drain_count;
static uint64_t offset; /* where reading stopped */

static int set_up(void **state)
{
    struct recording_output output = {.write = memory_write};

    (void)state;
    now_ns = 1000;
    before_ns = drain_count = 0;
    file = (struct memory_file){0};
    output.context = &file;
    assert_int_equal(recording_writer_new(&writer, &output, 5), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    recording_writer_free(writer);
    free(file.bytes);
    text_clear(&written);
    text_clear(&text);
    return 0;
}

/* Writes an event with the times of the current drain. */
static void take(struct rip_event event)
{
    event.earliest_wall_ns = before_ns;
    event.latest_wall_ns = now_ns;
    event.earliest_mono_ns = before_ns;
    event.latest_mono_ns = now_ns;
    assert_int_equal(recording_writer_take(writer, &event), 0);
    print_event(&written, &event);
}

static void take_drain(void)
{
    take((struct rip_event){.kind = RIP_EVENT_DRAIN, .as.drain = {++drain_count, now_ns, now_ns, 7, 3}});
    before_ns = now_ns;
    now_ns += 10;
}

static struct rip_id_info id_info(uint32_t slot)
{
    struct rip_id_info info = {.slot = slot,
                               .generation = 2,
                               .id = slot + 100,
                               .tid = 4000 + slot,
                               .name_bytes = 6,
                               .registered_boot_ns = 77,
                               .progress = 3 + slot,
                               .snap_count = 3 + slot};

    memcpy(info.name, "worker", 6);
    return info;
}

static struct rip_event event_of(uint32_t kind, const struct rip_id_info *info)
{
    return (struct rip_event){.kind = kind,
                              .ring = 1,
                              .slot = info->slot,
                              .generation = info->generation,
                              .id = info->id,
                              .process = info->process};
}

static void take_id(uint32_t kind, const struct rip_id_info *info, bool found)
{
    struct rip_event event = event_of(kind, info);

    event.as.id_begin = (struct rip_event_id){info, found};
    take(event);
}

/* Writes `made` more snaps of an id, of which the newest `entry_count` are recorded. */
static void take_snaps(struct rip_id_info *info, uint64_t made, uint32_t entry_count)
{
    struct rip_event event = event_of(RIP_EVENT_SNAP, info);
    struct rip_entry entries[RIP_ENTRY_COUNT] = {0};

    info->progress += made;
    info->snap_count += made;
    for (uint32_t i = 0; i < entry_count; i++) {
        entries[i].snap = info->snap_count - entry_count + 1 + i;
        entries[i].address = 0x400000 + entries[i].snap * 977 % 4096;
    }
    event.as.snap = (struct rip_event_snap){info->progress, made, made - entry_count, 0, entry_count, entries};
    take(event);
}

static void take_ring(void)
{
    const struct rip_process_info process = {
        .index = 2, .pid = 12, .generation = 1, .module_count = 1, .comm = "server"};
    const struct rip_module_info module = {.start = 0x400000,
                                           .end = 0x500000,
                                           .bias = 0x400000,
                                           .path_bytes = 7,
                                           .build_id_bytes = 2,
                                           .build_id = {1, 2},
                                           .path = "/bin/sh"};
    const struct rip_script_info script = {.index = 3,
                                           .first_line = 7,
                                           .flags = 1,
                                           .file_bytes = 8,
                                           .function_bytes = 5,
                                           .file = "order.rb",
                                           .function = "place"};

    take((struct rip_event){
        .kind = RIP_EVENT_RING,
        .ring = 1,
        .as.ring_begin = {
            .name = {"ring.1", 6}, .directory = {"/dev/shm", 8}, .slot_capacity = 128, .uid = 1000, .preload = true}});
    take((struct rip_event){.kind = RIP_EVENT_PROCESS, .ring = 1, .process = 2, .as.process_begin = &process});
    take((struct rip_event){.kind = RIP_EVENT_MODULE, .ring = 1, .process = 2, .as.module = {2, 0, &module}});
    take((struct rip_event){.kind = RIP_EVENT_SCRIPT, .ring = 1, .as.script = &script});
}

static void flush(void)
{
    assert_int_equal(recording_writer_flush(writer), 0);
}

/* Writes events of every kind, in five drains. */
static void take_everything(void)
{
    struct rip_id_info ids[] = {id_info(0), id_info(5), id_info(64)};
    struct rip_note_info note = {.slot = 5, .generation = 2, .sequence = 9, .text_bytes = 5, .text = "hello"};
    struct rip_event event;

    take_ring();
    for (size_t i = 0; i < 3; i++) {
        take_id(RIP_EVENT_REGISTER, &ids[i], i == 0);
        ids[i].progress = ids[i].snap_count = 0;
        take_snaps(&ids[i], 3 + ids[i].slot, 3);
    }
    take_drain();
    for (size_t i = 0; i < 3; i++)
        take_snaps(&ids[i], 40, i == 1 ? 31 : 32);
    ids[1].idle = 1;
    ids[1].tid = 0;
    take_id(RIP_EVENT_STATE, &ids[1], false);
    event = event_of(RIP_EVENT_NOTE, &ids[1]);
    event.as.note = &note;
    take(event);
    take_drain();
    ids[2].generation = 4; /* renamed, with another counter */
    ids[2].progress += 200;
    memcpy(ids[2].name, "WORKER", 6);
    take_id(RIP_EVENT_STATE, &ids[2], false);
    take_snaps(&ids[2], 1, 1);
    event = event_of(RIP_EVENT_EXIT, &ids[0]);
    event.as.exit = (struct rip_event_exit){ids[0].snap_count, true};
    take(event);
    take((struct rip_event){
        .kind = RIP_EVENT_STALL_BEGIN, .ring = 1, .slot = 2, .generation = 4, .id = 9, .as.stall.json = {"{}", 2}});
    take_drain();
    take((struct rip_event){.kind = RIP_EVENT_TOTALS, .ring = 1, .as.totals = {10, 7, 2, 1, 3, 1, 0, true}});
    take((struct rip_event){.kind = RIP_EVENT_FLUSH, .ring = 1, .as.flush_count = 2});
    take_drain();
    take((struct rip_event){
        .kind = RIP_EVENT_DEATH, .ring = 1, .process = 2, .as.death = {2, 1, -11, true, false, true, false}});
    take((struct rip_event){.kind = RIP_EVENT_RING_END, .ring = 1, .as.ring_end.reason = {"damaged", 7}});
    take_drain();
    flush();
}

/* Reads the file to its end. Returns the last result of the reader. */
static int read_all(struct memory_file *source)
{
    const struct recording_input input = {source, memory_read, source->count};
    struct recording_reader *reader;
    const struct rip_event *event;
    int result = recording_reader_new(&reader, &input);

    text_clear(&text);
    offset = 0;
    if (result != 0)
        return result;
    while ((result = recording_reader_next(reader, &event)) == 1)
        print_event(&text, event);
    offset = recording_reader_offset(reader);
    recording_reader_free(reader);
    return result;
}

TEST_F(written_events_are_read_again)
{
    take_everything();
    assert_int_equal(read_all(&file), 0);
    assert_string_equal(text_of(&text), text_of(&written));
    assert_int_equal(offset, file.count);
}

/* Of an event of an unknown kind only the kind is returned. A kind that fits into the tag must be in the tag. */
TEST(unknown_kinds_are_skipped)
{
    unsigned char bytes[] = {0, RIP_EVENT_SCRIPT + 1, 2, 'x', 'y', RIP_EVENT_FLUSH, 3};
    unsigned char hidden[] = {0, RIP_EVENT_EXIT, 0};
    struct recording_table table = {0};
    struct record_coder coder = {.state = &table};
    struct rip_event event;
    bool has_data;

    coder_begin(&coder, false, bytes, sizeof(bytes));
    assert_int_equal(coder_read(&coder, &event, &has_data), 1);
    assert_int_equal(event.kind, RIP_EVENT_SCRIPT + 1);
    assert_int_equal(coder_read(&coder, &event, &has_data), 1);
    assert_int_equal(event.kind, RIP_EVENT_FLUSH);
    assert_int_equal(event.as.flush_count, 3);
    assert_int_equal(coder_read(&coder, &event, &has_data), 0);
    coder_begin(&coder, false, hidden, sizeof(hidden));
    assert_int_equal(coder_read(&coder, &event, &has_data), -EBADMSG);
    recording_table_clear(&table);
}

/* A file that is cut at any byte yields the events of the frames before the cut, and the offset of the cut. */
TEST_F(cut_file_is_read_up_to_the_cut)
{
    struct memory_file cut;

    take_everything();
    for (size_t count = 0; count < file.count; count++) {
        int result;

        cut = (struct memory_file){.bytes = malloc(count + 1), .count = count};
        assert_non_null(cut.bytes);
        memcpy(cut.bytes, file.bytes, count);
        result = read_all(&cut);
        assert_true(result == 0 || result == (count < 8 ? -EINVAL : -EBADMSG));
        assert_true(offset <= count);
        assert_true(result != 0 || offset == count);
        assert_int_equal(strncmp(text_of(&text), text_of(&written), text.count), 0);
        free(cut.bytes);
    }
}

/* A flipped bit in any byte is detected, and the events before it do not change. (Some bits of zstd have no effect.) */
TEST_F(flipped_bit_is_detected)
{
    take_everything();
    for (size_t bit = 0; bit < 8 * file.count; bit += 3) {
        int result;

        file.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        result = read_all(&file);
        assert_true(result < 0 || text.count == written.count);
        assert_true(result == 0 || offset <= bit / 8);
        assert_int_equal(strncmp(text_of(&text), text_of(&written), text.count), 0);
        file.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

/* Yields zeros after the end of the file, as a sparse file does. */
static long read_sparse(void *context, uint64_t at, void *buffer, size_t count)
{
    struct memory_file *source = context;

    assert_true(count <= 2 * RECORDING_FRAME_BYTES_MAX);
    if (at + count <= source->count)
        return memory_read(source, at, buffer, count);
    memset(buffer, 0, count);
    return (long)count;
}

TEST_F(a_packed_frame_has_a_limit)
{
    struct recording_frame frame;
    const struct recording_input input = {&file, read_sparse, UINT64_C(1) << 40};
    struct recording_reader *reader;
    const struct rip_event *event;

    take_everything();
    memcpy(&frame, file.bytes + sizeof(struct recording_header), sizeof(frame));
    frame.packed_bytes = UINT32_MAX;
    frame.checksum = recording_checksum(&frame, offsetof(struct recording_frame, checksum));
    memcpy(file.bytes + sizeof(struct recording_header), &frame, sizeof(frame));
    assert_int_equal(recording_reader_new(&reader, &input), 0);
    assert_int_equal(recording_reader_next(reader, &event), -EBADMSG);
    recording_reader_free(reader);
}

TEST_F(missing_frame_is_detected)
{
    struct rip_id_info info = id_info(3);
    size_t ends[3];

    take_id(RIP_EVENT_REGISTER, &info, true);
    for (size_t i = 0; i < 3; i++) {
        take_snaps(&info, 1, 1);
        take_drain();
        flush();
        ends[i] = file.count;
    }
    memmove(file.bytes + ends[0], file.bytes + ends[1], ends[2] - ends[1]);
    file.count -= ends[1] - ends[0];
    assert_int_equal(read_all(&file), -EBADMSG);
    assert_int_equal(offset, ends[0]);
}

TEST_F(other_version_is_reported)
{
    struct recording_header header;

    take_everything();
    memcpy(&header, file.bytes, sizeof(header));
    header.version = RECORDING_VERSION + 1;
    header.checksum = recording_checksum(&header, offsetof(struct recording_header, checksum));
    memcpy(file.bytes, &header, sizeof(header));
    assert_int_equal(read_all(&file), -EPROTONOSUPPORT);
    assert_true(recording_is_one(file.bytes, 8));
    assert_false(recording_is_one(file.bytes, 7));
    assert_false(recording_is_one("RIPREC\n\n", 8));
}

static void attach(const char *name, const void *data, size_t count, int result)
{
    assert_int_equal(recording_writer_attach(writer, name, data, count), result);
}

/* Data belongs to the event written last, and is read with it. An empty drain is written only if it has data. */
TEST_F(data_comes_with_its_event)
{
    struct recording_input input = {&file, memory_read, 0};
    struct rip_id_info info = id_info(1);
    struct recording_reader *reader;
    const struct rip_event *event;
    const char *name;
    const void *data;
    size_t count;

    attach("a", "1", 1, -EINVAL);
    take_drain();
    take_id(RIP_EVENT_REGISTER, &info, true);
    attach("cpu", "old", 3, 0);
    attach("x", NULL, 0, 0);
    attach("cpu", "12.5", 4, 0);
    take_snaps(&info, 2, 2);
    take_drain();
    take_drain();
    attach("ripd.scan", "[]", 2, 0);
    take_drain();
    flush();
    input.size_bytes = file.count;
    assert_int_equal(recording_reader_new(&reader, &input), 0);
    while (recording_reader_next(reader, &event) == 1) {
        const bool is_drain = event->kind == RIP_EVENT_DRAIN;

        text_printf(&text, "%u: %s %u", (unsigned)event->number, is_drain ? "drain" : "event",
                    is_drain ? (unsigned)event->as.drain.sequence : event->kind);
        for (uint32_t i = 0; recording_reader_data(reader, i, &name, &data, &count); i++)
            text_printf(&text, " %s=%.*s", name, (int)count, (const char *)data);
        text_printf(&text, "\n");
    }
    assert_string_equal(text_of(&text), "1: event 6 cpu=12.5 x=\n2: event 8\n3: drain 2\n4: drain 3 ripd.scan=[]\n");
    recording_reader_free(reader);
}

/* Drains of ids that snap, with a restart every `restart_every` drains. */
static void take_drains(struct rip_id_info *ids, unsigned id_count, unsigned count, unsigned restart_every)
{
    for (unsigned i = 0; i < count; i++) {
        if (restart_every != 0 && i % restart_every == 0)
            recording_writer_restart(writer);
        for (unsigned j = 0; j < id_count; j++)
            take_snaps(&ids[j], 1 + (i + j) % 3, 1 + (i + j) % 3);
        take_drain();
    }
    flush();
}

/* Reads the part of the file from its nth header on, counted from 0. */
static void read_part(unsigned nth)
{
    for (size_t at = 0; at < file.count; at++) {
        if (recording_is_one(file.bytes + at, file.count - at) && nth-- == 0) {
            assert_int_equal(read_all(&(struct memory_file){.bytes = file.bytes + at, .count = file.count - at}), 0);
            return;
        }
    }
    fail();
}

/* Reads the whole file. */
static void read_file(void)
{
    assert_int_equal(read_all(&file), 0);
}

/*
 * A state yields no events when it is read in sequence. If reading begins there, it yields all current ids and rings.
 */
TEST_F(reading_begins_at_a_state)
{
    struct rip_id_info ids[] = {id_info(3), id_info(70)};
    struct rip_note_info note = {.slot = 70, .generation = 2, .sequence = 4, .text_bytes = 2, .text = "hi"};
    struct rip_event event = event_of(RIP_EVENT_NOTE, &ids[1]);
    const char *expected;

    take_ring();
    take_id(RIP_EVENT_REGISTER, &ids[0], true);
    take_id(RIP_EVENT_REGISTER, &ids[1], true);
    event.as.note = &note;
    take(event);
    take_drains(ids, 2, 9, 5);
    read_file();
    assert_string_equal(text_of(&text), text_of(&written));

    read_part(2);                                     /* the first restart was at the beginning */
    expected = strstr(text_of(&text), "(1040 1050]"); /* of the sixth drain */
    assert_non_null(expected);
    while (expected > text_of(&text) && expected[-1] != '\n')
        expected--;
    assert_non_null(strstr(text_of(&written), expected));
    assert_says("1/70 g2 id 170 of 0 (0 1040] register \"worker\"");
    assert_says("1/70 g2 id 170 of 0 (0 1040] note 4 \"hi\"");
    assert_says("ring ring.1 in /dev/shm");
    assert_says("module 0 400000-500000 /bin/sh");
}

/* Large drains and states take more than one frame. */
TEST_F(large_drains_and_states_are_split)
{
    enum { ID_COUNT = 45000 };
    struct rip_id_info *ids = calloc(ID_COUNT, sizeof(*ids));
    struct rip_recording_state counts;

    assert_non_null(ids);
    for (uint32_t i = 0; i < ID_COUNT; i++) {
        ids[i] = id_info(3 * i);
        ids[i].registered_boot_ns = UINT64_C(88888888888) * i;
        take_id(RIP_EVENT_REGISTER, &ids[i], true);
    }
    take_drains(ids, ID_COUNT, 1, 0);
    recording_writer_restart(writer);
    take_drains(ids, 1, 2, 0);
    counts = *recording_writer_state(writer);
    assert_in_range(counts.drain_count, 6, 100);
    assert_int_equal(counts.written_bytes, file.count);
    assert_int_equal(counts.event_count, ID_COUNT * 2 + 1 + 4);
    read_file();
    assert_string_equal(text_of(&text), text_of(&written));
    read_part(1);
    assert_says("1/134997 g2");
    free(ids);
}

/* Ids come and go in similar slots: the state contains exactly the ids that are live in the end. */
TEST_F(the_state_after_many_ends)
{
    enum { SLOTS = 400, STEPS = 20000 };
    static bool is_live[SLOTS];
    char expected[64];
    uint64_t random = 1;

    for (unsigned i = 0; i < STEPS; i++) {
        unsigned number;
        struct rip_id_info info;
        struct rip_event event;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        number = (unsigned)(random >> 40) % SLOTS;
        info = id_info(number % 2 != 0 ? number : number * 64);
        event = event_of(RIP_EVENT_EXIT, &info);
        if (is_live[number])
            take(event);
        else
            take_id(RIP_EVENT_REGISTER, &info, false);
        is_live[number] = !is_live[number];
    }
    take_drain();
    recording_writer_restart(writer);
    take_ring();
    take_drain();
    flush();
    read_part(1);
    for (unsigned number = 0; number < SLOTS; number++) {
        snprintf(expected, sizeof(expected), "1/%u g2 id", number % 2 != 0 ? number : number * 64);
        assert_int_equal(strstr(text_of(&text), expected) != NULL, is_live[number]);
    }
}

/* Events that cannot be written are counted as lost. Events after them can be read. */
TEST_F(failing_output_loses_its_frames)
{
    struct rip_id_info ids[] = {id_info(3), id_info(9)};
    struct rip_recording_state counts;
    struct rip_event event;

    take_ring();
    take_id(RIP_EVENT_REGISTER, &ids[0], true);
    take_id(RIP_EVENT_REGISTER, &ids[1], true);
    take_drains(ids, 2, 2, 0);
    take_snaps(&ids[0], 3, 3);
    take_drain();
    file.error = -ENOSPC;
    assert_int_equal(recording_writer_flush(writer), -ENOSPC);
    event = event_of(RIP_EVENT_EXIT, &ids[1]);
    assert_int_equal(recording_writer_take(writer, &event), -ENOSPC);
    file.error = 0;
    take_drain(); /* the rest of a drain whose beginning is lost is not written */
    text_clear(&written);
    take_drains(ids, 1, 1, 0);
    counts = *recording_writer_state(writer);
    assert_int_equal(counts.lost_entry_count, 3);
    assert_int_equal(counts.entry_count, 1 + 2 + 2 + 3 + 1);
    read_file();
    assert_says("ring end frames of the recording are missing\n1/0 g0 id 0 of 0 (0 1030] ring");
    assert_non_null(strstr(strstr(text_of(&text), "missing"), "1/3 g2 id 103"));
    assert_null(strstr(strstr(text_of(&text), "missing"), "1/9 g2 id 109"));
    assert_says(text_of(&written));
}

static void take_ring_event(uint32_t ring, uint32_t kind)
{
    take((struct rip_event){.kind = kind, .ring = ring});
}

static int try_to_take(struct rip_event event)
{
    event.latest_wall_ns = now_ns;
    return recording_writer_take(writer, &event);
}

/* Session limits of RECORDING.md. An event beyond them costs its drain; later events can be read. */
TEST_F(limits_of_a_writer)
{
    struct rip_id_info info = id_info(3);
    struct rip_process_info process = {.index = RIP_PROCESS_MAX};
    struct rip_entry entries[RIP_ENTRY_COUNT + 1] = {0};
    struct rip_event event = {.kind = RIP_EVENT_PROCESS, .ring = 1, .process = RIP_PROCESS_MAX};
    char name[RIP_SESSION_NAMESPACE_BYTES + 2];
    unsigned char *data = calloc(RIP_SESSION_DATA_BYTES_MAX + 1, 1);

    assert_non_null(data);
    take_id(RIP_EVENT_REGISTER, &info, true);
    attach("a", data, RIP_SESSION_DATA_BYTES_MAX + 1, -EFBIG);
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    attach(name, "", 0, -EINVAL);
    attach("n0", data, RIP_SESSION_DATA_BYTES_MAX, 0);
    take_drain();
    event.as.process_begin = &process;
    assert_int_equal(try_to_take(event), -EFBIG);
    event = (struct rip_event){.kind = RIP_EVENT_STALL_END};
    event.as.stall.json = (struct rip_text){(const char *)data, RIP_SESSION_DATA_BYTES_MAX + 1};
    assert_int_equal(try_to_take(event), -EFBIG);
    event = event_of(RIP_EVENT_SNAP, &info);
    event.as.snap = (struct rip_event_snap){.made_count = 33, .entry_count = 33, .entries = entries};
    assert_int_equal(try_to_take(event), -EINVAL);
    assert_int_equal(try_to_take((struct rip_event){.kind = RIP_EVENT_SCRIPT + 1}), -EINVAL);
    assert_int_equal(try_to_take((struct rip_event){.kind = RIP_EVENT_DRAIN}), 0); /* lost */
    take_ring();
    take_drain();
    flush();
    read_file();
    assert_says("frames of the recording are missing");
    assert_non_null(strstr(strstr(text_of(&text), "missing"), "process pid 12 server"));
    free(data);
}

TEST_F(maximum_number_of_rings)
{
    enum { RINGS = 16384 };
    struct rip_event event = {.kind = RIP_EVENT_FLUSH};

    for (event.ring = 1; event.ring <= RINGS; event.ring++)
        take_ring_event(event.ring, RIP_EVENT_RING);
    event.kind = RIP_EVENT_RING;
    assert_int_equal(try_to_take(event), -EFBIG);
    take_ring_event(77, RIP_EVENT_RING_END);
    take_ring_event(RINGS + 1, RIP_EVENT_RING);
}

/* What rings hold after their ids have ended counts as used, or is freed. */
TEST(memory_of_ended_ids_is_counted)
{
    enum { RINGS = 8, IDS = 1 << 14 };
    struct recording_table table = {0};
    const struct mallinfo2 before = mallinfo2();
    struct mallinfo2 after;
    struct state_id *id;

    for (uint32_t ring = 1; ring <= RINGS; ring++) {
        for (uint32_t slot = 0; slot < IDS; slot++)
            assert_int_equal(recording_table_id(&table, ring, slot, &id), 0);
        for (uint32_t slot = 0; slot < IDS; slot++)
            recording_table_drop_id(&table, ring, slot);
    }
    after = mallinfo2();
    assert_true(after.uordblks + after.hblkhd <= before.uordblks + before.hblkhd + table.used_bytes + (1u << 20));
    recording_table_clear(&table);
}

/* Two runs in one file: the rings of the first run end, and those of the second have other numbers. */
TEST_F(another_run_has_rings_of_its_own)
{
    struct rip_id_info info = id_info(3);
    const struct recording_output output = {.context = &file, .write = memory_write};

    take_ring();
    take_id(RIP_EVENT_REGISTER, &info, true);
    take_drain();
    flush();
    recording_writer_free(writer);
    assert_int_equal(recording_writer_new(&writer, &output, 6), 0);
    take_ring();
    take_drain();
    flush();
    read_file();
    assert_says("1/0 g0 id 0 of 0 (0 1000] ring end another run of the recorder begins\n"
                "1048577/0 g0 id 0 of 0 (1000 1010] ring ring.1");
}

static uint64_t first_after_seek(struct recording_reader *reader, uint64_t wall_ns)
{
    const struct rip_event *event;

    assert_int_equal(recording_reader_seek(reader, wall_ns), 0);
    do {
        assert_int_equal(recording_reader_next(reader, &event), 1);
    } while (event->kind != RIP_EVENT_SNAP);
    return event->latest_wall_ns;
}

TEST_F(seeking)
{
    struct rip_id_info ids[] = {id_info(3), id_info(70)};
    struct recording_input input = {&file, memory_read, 0};
    struct recording_reader *reader;
    const struct rip_sink sink = {&text, take_text};
    const struct rip_event *event;
    uint64_t number;

    take_ring();
    take_id(RIP_EVENT_REGISTER, &ids[0], true);
    take_id(RIP_EVENT_REGISTER, &ids[1], true);
    take_drains(ids, 2, 20, 5); /* at 1000, 1010 ... 1190; states before 1050, 1100, 1150 */
    input.size_bytes = file.count;
    assert_int_equal(recording_reader_new(&reader, &input), 0);
    assert_int_equal(first_after_seek(reader, 1139), 1100);
    assert_int_equal(first_after_seek(reader, 1140), 1150); /* the state belongs to the previous drain */
    assert_int_equal(first_after_seek(reader, 0), 1000);
    assert_int_equal(first_after_seek(reader, UINT64_MAX), 1150);
    while (recording_reader_next(reader, &event) == 1)
        number = event->number;
    assert_int_equal(number, 4 + 2 + 20 * 3);
    assert_int_equal(recording_reader_repeat(reader, &sink), 0);
    assert_says("1/70 g2 id 170 of 0 (0 1190] register");
    recording_reader_free(reader);
}
