/* SPDX-License-Identifier: Apache-2.0 */
/* test_os_file.c - opens, reads and lists files of any user, and queries their locks: ripd/os/file.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "support/ring_stage.h"
#include "support/test.h"

static struct fixture {
    struct ring_stage stage;
    int directory;
} fixture;

static int set_up(void **state)
{
    (void)state;
    ring_stage_open(&fixture.stage);
    fixture.directory = file_open_directory(fixture.stage.directory);
    assert_true(fixture.directory >= 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(fixture.directory);
    ring_stage_close(&fixture.stage);
    return 0;
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

TEST(only_regular_files_are_opened, set_up, tear_down)
{
    static const struct {
        const char *name;
        int result;
    } rows[] = {
        {"fifo", -ENOTSUP}, {"directory", -ENOTSUP}, {"link", -ENOTSUP}, {"dangling", -ENOTSUP}, {"absent", -ENOENT}};
    const struct ring_stage *stage = &fixture.stage;
    int descriptor;

    ring_stage_put(stage, "file", "text");
    assert_int_equal(mkfifo(ring_stage_path(stage, "fifo"), 0600), 0);
    assert_int_equal(mkdir(ring_stage_path(stage, "directory"), 0700), 0);
    assert_int_equal(symlink("file", ring_stage_path(stage, "link")), 0);
    assert_int_equal(symlink("nowhere", ring_stage_path(stage, "dangling")), 0);
    alarm(10); /* a FIFO must not block */
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(file_open_regular_at(fixture.directory, rows[i].name), rows[i].result);
    alarm(0);
    descriptor = file_open_regular_at(fixture.directory, "file");
    assert_true(descriptor >= 0);
    assert_int_equal(fcntl(descriptor, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
    close(descriptor);
}

TEST(identity, set_up, tear_down)
{
    struct file_identity first, second;
    int descriptor;

    ring_stage_put(&fixture.stage, "file", "text");
    assert_int_equal(file_identify_at(fixture.directory, "file", &first), 0);
    assert_true(first.regular);
    assert_int_equal(first.size_bytes, 4);
    assert_int_equal(first.links, 1);
    assert_int_equal(first.uid, getuid());
    descriptor = file_open_regular_at(fixture.directory, "file");
    assert_int_equal(file_identify(descriptor, &second), 0);
    assert_int_equal(second.inode, first.inode);
    assert_int_equal(second.device, first.device);
    assert_int_equal(second.changed_ns, first.changed_ns);
    usleep(20000);
    ring_stage_put(&fixture.stage, "file", "longer");
    assert_int_equal(file_identify(descriptor, &second), 0);
    assert_int_equal(second.inode, first.inode);
    assert_int_equal(second.size_bytes, 6);
    assert_true(second.changed_ns > first.changed_ns);
    unlink(ring_stage_path(&fixture.stage, "file"));
    assert_int_equal(file_identify(descriptor, &second), 0);
    assert_int_equal(second.links, 0);
    assert_int_equal(file_identify_at(fixture.directory, "file", &second), -ENOENT);
    close(descriptor);
}

TEST(links_are_not_followed, set_up, tear_down)
{
    struct file_identity identity;
    char text[8];

    ring_stage_put(&fixture.stage, "file", "text");
    assert_int_equal(symlink("file", ring_stage_path(&fixture.stage, "link")), 0);
    assert_int_equal(file_identify_at(fixture.directory, "link", &identity), 0);
    assert_false(identity.regular);
    assert_int_equal(file_read_at(fixture.directory, text, sizeof(text), "link"), -ELOOP);
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

TEST(read_is_bounded, set_up, tear_down)
{
    char text[5];

    ring_stage_put(&fixture.stage, "file", "123456789");
    ring_stage_put(&fixture.stage, "empty", "");
    assert_int_equal(file_read_at(fixture.directory, text, sizeof(text), "file"), 4);
    assert_string_equal(text, "1234");
    assert_int_equal(file_read_at(fixture.directory, text, sizeof(text), "empty"), 0);
    assert_string_equal(text, "");
    assert_int_equal(file_read_at(fixture.directory, text, sizeof(text), "absent"), -ENOENT);
}

/* Listing ---------------------------------------------------------------------------------------------------------- */

static int count_name(void *context, const char *name)
{
    assert_int_not_equal(name[0], '.');
    ++*(int *)context;
    return 0;
}

static int stop_at_once(void *context, const char *name)
{
    (void)name;
    ++*(int *)context;
    return 7;
}

TEST(listing, set_up, tear_down)
{
    char name[32];
    int count = 0;

    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "file-%d", i);
        ring_stage_put(&fixture.stage, name, "");
    }
    for (int round = 0; round < 2; round++) { /* each listing starts at the beginning */
        count = 0;
        assert_int_equal(file_list(fixture.directory, 100, count_name, &count), 0);
        assert_int_equal(count, 100);
    }
    count = 0;
    assert_int_equal(file_list(fixture.directory, 99, count_name, &count), -EOVERFLOW);
    assert_int_equal(count, 99);
    count = 0;
    assert_int_equal(file_list(fixture.directory, 99, stop_at_once, &count), 7);
    assert_int_equal(count, 1);
}

/* Locks ------------------------------------------------------------------------------------------------------------ */

struct locker {
    const char *path;
    int command;
    short type;
};

static const uint64_t offset = UINT64_C(1) << 60;

static void take_lock(void *context)
{
    const struct locker *locker = context;
    struct flock lock = {.l_type = locker->type, .l_start = (off_t)offset, .l_len = 1};
    int descriptor = open(locker->path, O_RDWR | O_CLOEXEC);

    if (descriptor < 0 || fcntl(descriptor, locker->command, &lock) != 0)
        abort();
}

static uint32_t holder_of(uint64_t byte)
{
    uint32_t holder = 12345;
    int descriptor = file_open_regular_at(fixture.directory, "file");

    assert_int_equal(file_lock_holder(descriptor, byte, &holder), 0);
    close(descriptor);
    return holder;
}

/* A lock of an open file description has no pid. Everybody who may read can hold a read lock, so it does not count. */
TEST(lock_holders, set_up, tear_down)
{
    static const struct {
        int command;
        short type;
        uint32_t holder; /* 1 = the pid of the process */
    } rows[] = {{F_SETLK, F_WRLCK, 1}, {F_OFD_SETLK, F_WRLCK, UINT32_MAX}, {F_SETLK, F_RDLCK, 0}};

    ring_stage_put(&fixture.stage, "file", "text");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct locker locker = {ring_stage_path(&fixture.stage, "file"), rows[i].command, rows[i].type};
        pid_t pid;

        assert_int_equal(holder_of(offset), 0);
        pid = ring_stage_start(take_lock, NULL, &locker);
        assert_int_equal(holder_of(offset), rows[i].holder == 1 ? (uint32_t)pid : rows[i].holder);
        assert_int_equal(holder_of(offset + 1), 0);
        ring_stage_end(pid);
    }
}
