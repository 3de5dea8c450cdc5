/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_output.c - the files of a recording: librip/session/output.c. A frame of this test is its number, its length,
 * and bytes computed from both.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/output.h"
#include "session/recording.h"
#include "support/test.h"
#include "unit/hanging_disk.h"

#define SECOND UINT64_C(1000000000)
#define FRAME_BYTES_MAX 8192u
#define FILE_BYTES_MAX (1u << 20)

static char directory[64], path[128];
static unsigned char header[OUTPUT_HEADER_BYTES_MAX];
static size_t header_bytes;

static int take_header(void *context, const void *bytes, size_t count, bool full)
{
    (void)context, (void)full;
    if (header_bytes == 0 && recording_is_one(bytes, count)) {
        assert_true(count <= sizeof(header));
        memcpy(header, bytes, count);
        header_bytes = count;
    }
    return 0;
}

/* Makes a header with the real writer. */
static int make_header(void **state)
{
    struct recording_output output = {.write = take_header};
    const struct rip_event drain = {.kind = RIP_EVENT_DRAIN, .number = 1, .as.drain = {.sequence = 1}};
    struct recording_writer *writer;

    (void)state;
    assert_int_equal(recording_writer_new(&writer, &output, 1), 0);
    assert_int_equal(recording_writer_take(writer, &drain), 0);
    assert_int_equal(recording_writer_attach(writer, "test", "x", 1), 0);
    assert_int_equal(recording_writer_flush(writer), 0);
    recording_writer_free(writer);
    assert_true(header_bytes >= 8);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/test_output.XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/recording", directory);
    return 0;
}

static int tear_down(void **state)
{
    char command[160];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    return system(command);
}

/* Frames ----------------------------------------------------------------------------------------------------------- */

static size_t make_frame(unsigned char *frame, uint32_t number, uint32_t count)
{
    assert_in_range(count, 8, FRAME_BYTES_MAX);
    memcpy(frame, &number, 4);
    memcpy(frame + 4, &count, 4);
    for (uint32_t i = 8; i < count; i++)
        frame[i] = (unsigned char)(number * 31 + i);
    return count;
}

static struct rip_recording_options options;
static struct output *output;

static int write_frame(uint32_t number, uint32_t count, bool full)
{
    unsigned char frame[FRAME_BYTES_MAX];

    return output_write(output, frame, make_frame(frame, number, count), full);
}

static void expect_write(uint32_t number, uint32_t count, bool full, int result)
{
    assert_int_equal(write_frame(number, count, full), result);
}

static void expect_open(const char *name, int result)
{
    struct output *other;

    assert_int_equal(output_open(&other, name, &options), result);
}

static void expect_trigger(int result)
{
    assert_int_equal(output_trigger(output, path), result);
}

static void expect_error(int error)
{
    assert_int_equal(output_error(output), error);
}

static void reopen(void)
{
    assert_int_equal(output_open(&output, path, &options), 0);
    assert_int_equal(output_write(output, header, header_bytes, false), 0);
}

/* Opens the output with these options. */
#define OPEN(...)                                                                                                      \
    do {                                                                                                               \
        options = (struct rip_recording_options){.size_bytes = sizeof(options), __VA_ARGS__};                          \
        reopen();                                                                                                      \
    } while (0)

static void close_output(void)
{
    assert_int_equal(output_close(output), 0);
}

/* The contents of a file. */
struct content {
    uint32_t first;
    uint32_t last; /* numbers increase, with gaps */
    uint32_t count;
    uint64_t rest_bytes; /* of an incomplete frame */
};

static bool has_frame(const unsigned char *bytes, uint64_t count)
{
    unsigned char expected[FRAME_BYTES_MAX];
    uint32_t number, size;

    if (count < 8)
        return false;
    memcpy(&number, bytes, 4);
    memcpy(&size, bytes + 4, 4);
    return size >= 8 && size <= FRAME_BYTES_MAX && size <= count &&
           memcmp(bytes, expected, make_frame(expected, number, size)) == 0;
}

static struct content read_file(const char *name)
{
    static unsigned char bytes[FILE_BYTES_MAX];
    int descriptor = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t count = read(descriptor, bytes, sizeof(bytes));
    struct content content = {.first = 0};
    uint64_t at = header_bytes;

    assert_in_range(count, header_bytes, sizeof(bytes) - 1);
    assert_memory_equal(bytes, header, header_bytes);
    close(descriptor);
    while (has_frame(bytes + at, (uint64_t)count - at)) {
        uint32_t number, size;

        memcpy(&number, bytes + at, 4);
        memcpy(&size, bytes + at + 4, 4);
        assert_true(content.count == 0 || number > content.last);
        if (content.count++ == 0)
            content.first = number;
        content.last = number;
        at += size;
    }
    content.rest_bytes = (uint64_t)count - at;
    return content;
}

static void assert_content(const char *name, uint32_t first, uint32_t last, uint32_t count)
{
    struct content content = read_file(name);

    assert_int_equal(content.first, first);
    assert_int_equal(content.last, last);
    assert_int_equal(content.count, count);
    assert_int_equal(content.rest_bytes, 0);
}

static const char *segment(uint32_t number)
{
    static char name[192];

    snprintf(name, sizeof(name), "%s/%010u.riprec", path, number);
    return name;
}

static bool is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

static size_t count_files(const char *name)
{
    DIR *listing = opendir(name);
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(listing);
    while ((entry = readdir(listing)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

static void expect_segments(size_t count)
{
    assert_int_equal(count_files(path), count);
}

/* One file --------------------------------------------------------------------------------------------------------- */

TEST_F(file_holds_one_header_and_the_frames)
{
    struct stat status;

    OPEN();
    for (uint32_t i = 1; i <= 9; i++)
        expect_write(i, 100 + i, i == 1 || i == 5, 0);
    assert_int_equal(output_write(output, header, header_bytes, false), 0);
    expect_write(10, 100, true, 0);
    assert_int_equal(output_trigger(output, "/dev/null/x"), -ENOTSUP);
    close_output();
    assert_content(path, 1, 10, 10);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

TEST_F(existing_files_are_not_overwritten)
{
    char link[160];

    OPEN();
    expect_open(path, -EEXIST);
    close_output();
    assert_content(path, 0, 0, 0); /* no frames; the header is written anyway */
    snprintf(link, sizeof(link), "%s/link", directory);
    assert_int_equal(symlink("nowhere", link), 0);
    expect_open(link, -EEXIST);
    options.segment_bytes = 1;
    expect_open(path, -EEXIST);
    expect_open(link, -EEXIST);
    expect_open("/proc/nothing/x", -ENOENT);
}

TEST_F(contradictory_options_are_refused)
{
    options = (struct rip_recording_options){.size_bytes = sizeof(options), .segments_kept = 1};
    expect_open(path, -EINVAL);
    options.flight_bytes = 1;
    expect_open(path, -EINVAL);
    options.segments_kept = 0;
    options.segment_ns = 1;
    expect_open(path, -EINVAL);
    assert_false(is_there(path));
}

static void limit_files(uint64_t count)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = count != 0 ? count : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* As on a full disk, the kernel writes the part of a frame that fits, and fails for the rest. */
TEST_F(incomplete_frame_is_truncated)
{
    OPEN();
    limit_files(header_bytes + 250);
    expect_write(1, 100, true, 0);
    expect_write(2, 100, false, 0);
    expect_write(3, 100, false, -EFBIG);
    expect_error(-EFBIG);
    assert_content(path, 1, 2, 2);
    /* Frames after a lost frame are useless without it. */
    expect_write(4, 10, false, -EFBIG);
    expect_write(5, 60, true, -EFBIG);
    assert_content(path, 1, 2, 2);
    limit_files(0);
    expect_write(6, 10, false, -EFBIG);
    expect_write(7, 100, true, 0);
    expect_error(0);
    expect_write(8, 100, false, 0);
    close_output();
    assert_content(path, 1, 8, 4);
}

TEST_F(no_room_for_the_first_frame)
{
    OPEN();
    limit_files(header_bytes + 50);
    expect_write(1, 100, true, -EFBIG);
    limit_files(0);
    expect_write(2, 100, true, 0);
    close_output();
    assert_content(path, 2, 2, 1);
}

TEST_F(failed_sync_is_reported)
{
    OPEN(.sync_interval_ns = 2 * SECOND);
    assert_false(output_advance(output, 100 * SECOND));
    expect_write(1, 100, true, 0);
    disk_set_failing(EIO);
    assert_false(output_advance(output, 101 * SECOND)); /* not yet due */
    assert_true(output_advance(output, 102 * SECOND));
    expect_error(-EIO);
    expect_write(2, 100, true, 0);
    expect_error(-EIO);
    assert_false(output_advance(output, 104 * SECOND));
    expect_error(0);
    disk_set_failing(EIO);
    expect_write(3, 100, false, 0);
    assert_int_equal(output_close(output), -EIO);
    assert_content(path, 1, 3, 3);
}

/* Writes 400 KB, and waits to be killed. */
static void write_until_killed(void)
{
    OPEN();
    for (uint32_t i = 1; i <= 400; i++)
        if (write_frame(i, 1000, output_advance(output, i * SECOND) || i == 1) != 0)
            _exit(1);
    for (;;)
        pause();
}

TEST_F(killed_recorder_leaves_whole_frames)
{
    struct content content;
    struct stat status;
    pid_t child = fork();
    int how;

    assert_true(child >= 0);
    if (child == 0)
        write_until_killed();
    while (stat(path, &status) != 0 || status.st_size < 100000) {
        assert_int_equal(waitpid(child, &how, WNOHANG), 0);
        usleep(100);
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
    content = read_file(path);
    assert_true(content.count >= 99);
    assert_int_equal(content.last, content.count);
    assert_in_range(content.rest_bytes, 0, 999);
}

/* Segments --------------------------------------------------------------------------------------------------------- */

/* As a session does: the first frame of each segment is a full one. */
static void write_frames(uint32_t first, uint32_t last, uint64_t step_ns)
{
    for (uint32_t i = first; i <= last; i++) {
        bool full = output_advance(output, 1000 * SECOND + i * step_ns) || i == first;

        expect_write(i, 100, full, 0);
    }
}

TEST_F(segments_end_by_size)
{
    struct stat status;

    OPEN(.segment_bytes = 450 + header_bytes);
    expect_open(path, -EBUSY);
    write_frames(1, 12, 1);
    close_output();
    assert_content(segment(1), 1, 5, 5);
    assert_content(segment(2), 6, 10, 5);
    assert_content(segment(3), 11, 12, 2);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
}

TEST_F(segments_end_by_age)
{
    OPEN(.segment_ns = 10 * SECOND);
    write_frames(1, 25, SECOND);
    close_output();
    assert_content(segment(1), 1, 10, 10);
    assert_content(segment(2), 11, 20, 10);
    assert_content(segment(3), 21, 25, 5);
}

TEST_F(segment_has_more_than_its_first_frame)
{
    OPEN(.segment_bytes = 10);
    write_frames(1, 6, 1);
    close_output();
    expect_segments(3);
}

TEST_F(newest_segments_of_all_recordings_are_kept)
{
    OPEN(.segment_bytes = 150 + header_bytes, .segments_kept = 3);
    write_frames(1, 9, 1);
    close_output();
    expect_segments(3);
    assert_content(segment(5), 9, 9, 1);
    reopen();
    expect_segments(3);
    write_frames(10, 11, 1);
    close_output();
    expect_segments(3);
    assert_content(segment(4), 7, 8, 2);
    assert_content(segment(6), 10, 11, 2);
}

TEST_F(other_files_in_the_directory_are_kept)
{
    static const char *const names[] = {"1.riprec", "000000000a.riprec", "9999999999.riprec", "0000000001.riprec.old"};
    char name[192];

    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s/%s", path, names[i]);
        close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    OPEN(.segment_bytes = 150 + header_bytes, .segments_kept = 1);
    write_frames(1, 6, 1);
    close_output();
    expect_segments(5);
    assert_content(segment(3), 5, 6, 2);
}

TEST_F(directory_is_removed)
{
    OPEN(.segment_bytes = 150 + header_bytes);
    write_frames(1, 2, 1);
    assert_int_equal(remove(segment(1)), 0);
    assert_int_equal(rmdir(path), 0);
    assert_true(output_advance(output, 2000 * SECOND));
    expect_write(3, 100, true, -ENOENT);
    assert_false(output_advance(output, 2001 * SECOND));
    expect_write(4, 100, false, -ENOENT);
    expect_write(5, 100, true, -ENOENT);
    expect_error(-ENOENT);
    close_output();
}

/* If an old segment cannot be removed, no further segment is created. */
TEST_F(number_of_segments_is_bounded)
{
    OPEN(.segment_bytes = 150 + header_bytes, .segments_kept = 1);
    write_frames(1, 2, 1);
    assert_int_equal(remove(segment(1)), 0);
    assert_int_equal(mkdir(segment(1), 0700), 0);
    assert_true(output_advance(output, 2000 * SECOND));
    expect_write(3, 100, true, -EISDIR);
    expect_segments(1);
    assert_int_equal(rmdir(segment(1)), 0);
    expect_write(4, 100, true, 0);
    close_output();
    assert_content(segment(2), 4, 4, 1);
}

TEST_F(full_disk_keeps_one_incomplete_segment)
{
    OPEN(.segment_bytes = 150 + header_bytes);
    write_frames(1, 2, 1);
    limit_files(header_bytes + 50);
    for (uint32_t i = 3; i < 8; i++) {
        output_advance(output, 2000 * SECOND + i);
        expect_write(i, 100, true, -EFBIG);
    }
    limit_files(0);
    expect_write(8, 100, true, 0);
    close_output();
    expect_segments(2);
    assert_content(segment(2), 8, 8, 1);
}

/* Memory ----------------------------------------------------------------------------------------------------------- */

TEST_F(memory_holds_the_newest_frames)
{
    struct content content;
    bool full = true;

    OPEN(.flight_bytes = 10000);
    expect_trigger(-ENODATA);
    assert_false(is_there(path));
    for (uint32_t i = 1; i <= 1000; i++) {
        expect_write(i, full ? 300 : 100, full, 0);
        full = output_advance(output, i);
    }
    expect_trigger(0);
    expect_trigger(-EEXIST);
    content = read_file(path);
    assert_int_equal(content.last, 1000);
    assert_int_equal(content.count, content.last - content.first + 1);
    /* At least the part that remains after one of the parts was dropped. */
    assert_in_range(content.count * 100, 10000 * 5 / 8, 10000);
    expect_write(1001, 100, false, 0);
    snprintf(path + strlen(path), 8, ".2");
    expect_trigger(0);
    assert_int_equal(read_file(path).last, 1001);
    close_output();
}

TEST_F(frames_too_large_for_memory)
{
    OPEN(.flight_bytes = 1000);
    expect_write(1, 2000, true, -EFBIG);
    expect_error(-EFBIG);
    expect_write(2, 100, false, -EFBIG);
    expect_write(3, 600, true, 0);
    expect_write(4, 600, false, -ENOBUFS);
    expect_write(5, 700, true, 0);
    expect_trigger(0);
    assert_content(path, 5, 5, 1);
    close_output();
}

TEST_F(trigger_on_a_full_disk_writes_whole_frames)
{
    OPEN(.flight_bytes = 10000);
    for (uint32_t i = 1; i <= 5; i++)
        expect_write(i, 100, i == 1, 0);
    limit_files(header_bytes + 350);
    expect_trigger(-EFBIG);
    limit_files(0);
    assert_content(path, 1, 3, 3);
    close_output();
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    return tests_run(make_header, NULL);
}
