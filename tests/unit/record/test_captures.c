/* SPDX-License-Identifier: Apache-2.0 */
/* test_captures.c - captures in the state directory, and which of them stay: ripd/record/captures.c. */
#include <dirent.h>
#include <errno.h>

#include <time.h>

#include "record/captures.h"
#include "support/test.h"
#include "unit/state_directory.h"

#define SECOND_NS UINT64_C(1000000000)
#define WALL_NS (UINT64_C(1700000000) * SECOND_NS)
#define USER 4321u

static struct captures *opened(struct state_directory *directory)
{
    struct captures *captures = NULL;
    char *error = NULL;

    assert_int_equal(captures_open(&captures, directory->path, &error), 0);
    assert_null(error);
    return captures;
}

static bool add(struct captures *captures, uint32_t user, const char *name, uint64_t wall_ns, bool replaced)
{
    const struct capture_label label = {user, getuid(), name, wall_ns, replaced};
    struct capture capture = {strdup("{}"), 2, calloc(1, 4096), 4096};
    bool added = captures_add(captures, &label, &capture);

    assert_null(capture.document);
    assert_null(capture.ring);
    return added;
}

/* How many names with that ending the user's folder has. */
static size_t count_files(struct state_directory *directory, const char *user, const char *ending)
{
    char path[128];
    size_t count = 0;
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof(path), "%s/captures/%s", directory->path, user);
    folder = opendir(path);
    if (folder == NULL)
        return 0;
    while ((entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name);

        if (length > strlen(ending) && strcmp(entry->d_name + length - strlen(ending), ending) == 0)
            count++;
    }
    closedir(folder);
    return count;
}

TEST(a_capture_is_a_file_that_only_its_owner_reads, state_directory_set_up, state_directory_tear_down)
{
    struct state_directory *directory = *state;
    struct captures *captures = opened(directory);
    struct captures_state now;
    struct stat status;

    assert_true(add(captures, USER, "../a b\n.1", WALL_NS, false));
    assert_true(add(captures, USER, "../a b\n.1", WALL_NS, false));
    captures_close(captures);
    assert_int_equal(stat(state_path(directory, "captures/4321/.._a_b_.1-20231114T221320.000Z.capture"), &status), -1);
    assert_int_equal(stat(state_path(directory, "captures/4321/_._a_b_.1-20231114T221320.000Z.capture"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(stat(state_path(directory, "captures/4321/_._a_b_.1-20231114T221320.000Z~2.capture"), &status), 0);
    assert_int_equal(stat(state_path(directory, "captures/4321"), &status), 0);
    assert_int_equal(status.st_mode & 0007, 0);
    assert_int_equal(stat(state_path(directory, "captures"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0711);
    captures = opened(directory);
    captures_state(captures, &now);
    assert_int_equal(now.failed_count, 0);
    captures_close(captures);
}

/* The newest of a user stay, and of those that executed another program few. */
TEST(a_user_has_so_many, state_directory_set_up, state_directory_tear_down)
{
    struct state_directory *directory = *state;
    struct captures *captures = opened(directory);

    for (unsigned i = 0; i < CAPTURES_OF_USER + 8; i++)
        assert_true(add(captures, USER, "crash", WALL_NS + i * SECOND_NS, false));
    assert_true(add(captures, USER + 1, "other", WALL_NS, false));
    for (unsigned i = 0; i < CAPTURES_REPLACED + 4; i++)
        assert_true(add(captures, USER + 2, "exec", WALL_NS + i * SECOND_NS, true));
    captures_close(captures);
    assert_int_equal(count_files(directory, "4321", CAPTURES_SUFFIX), CAPTURES_OF_USER);
    assert_int_equal(count_files(directory, "4322", CAPTURES_SUFFIX), 1);
    assert_int_equal(count_files(directory, "4323", CAPTURES_REPLACED_SUFFIX), CAPTURES_REPLACED);
}

TEST(an_old_one_goes, state_directory_set_up, state_directory_tear_down)
{
    struct state_directory *directory = *state;
    struct captures *captures = opened(directory);
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

    assert_true(add(captures, USER, "old", WALL_NS, false));
    captures_close(captures);
    assert_int_equal(
        utimensat(AT_FDCWD, state_path(directory, "captures/4321/old-20231114T221320.000Z.capture"), times, 0), 0);
    captures = opened(directory);
    assert_true(add(captures, USER, "new", WALL_NS, false));
    captures_close(captures);
    assert_int_equal(count_files(directory, "4321", CAPTURES_SUFFIX), 1);
}

/* A file of another kind in its way is an error that is counted, and no more. */
TEST(what_cannot_be_written_is_counted, state_directory_set_up, state_directory_tear_down)
{
    struct state_directory *directory = *state;
    struct captures *captures = opened(directory);
    struct captures_state now = {0};

    state_write(directory, "captures/4321", "x", 1);
    assert_true(add(captures, USER, "one", WALL_NS, false));
    for (int i = 0; i < 900 && now.failed_count == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        captures_state(captures, &now);
    }
    assert_int_equal(now.failed_count, 1);
    assert_int_equal(now.error, -ENOTDIR);
    captures_close(captures);
}

/* It is said at once, and captures are written as soon as it is mended. */
TEST(a_directory_that_cannot_be_used, state_directory_set_up, state_directory_tear_down)
{
    struct state_directory *directory = *state;
    struct captures *captures;
    char *error = NULL;

    state_write(directory, "captures", "x", 1);
    assert_int_equal(captures_open(&captures, directory->path, &error), 0);
    assert_non_null(strstr(error, directory->path));
    free(error);
    assert_int_equal(unlink(state_path(directory, "captures")), 0);
    assert_true(add(captures, USER, "one", WALL_NS, false));
    captures_close(captures);
    assert_int_equal(count_files(directory, "4321", CAPTURES_SUFFIX), 1);
}

/* Somebody removes all captures, folder and all, while ripd runs. */
TEST(a_folder_that_is_gone_is_made_again, state_directory_set_up, state_directory_tear_down)
{
    struct state_directory *directory = *state;
    struct captures *captures = opened(directory);

    assert_int_equal(rmdir(state_path(directory, "captures")), 0);
    assert_true(add(captures, USER, "one", WALL_NS, false));
    captures_close(captures);
    assert_int_equal(count_files(directory, "4321", CAPTURES_SUFFIX), 1);
}

/* Links lead nowhere, and what else somebody has put there stays as it is. */
TEST(what_others_have_put_there, state_directory_set_up, state_directory_tear_down)
{
    struct state_directory *directory = *state;
    struct captures *captures = opened(directory);
    char target[128];

    assert_int_equal(mkdir(state_path(directory, "elsewhere"), 0700), 0);
    assert_int_equal(mkdir(state_path(directory, "captures/lost+found"), 0700), 0);
    assert_int_equal(mkdir(state_path(directory, "captures/4322"), 0700), 0);
    state_write(directory, "captures/4322/.new", "a capture that was begun", 24);
    assert_int_equal(mkdir(state_path(directory, "captures/4322/a.capture"), 0700), 0);
    state_write(directory, "captures/4322/notes", "x", 1);
    snprintf(target, sizeof(target), "%s/elsewhere", directory->path);
    assert_int_equal(symlink(target, state_path(directory, "captures/4321")), 0);
    assert_int_equal(symlink("/etc/passwd", state_path(directory, "captures/4322/b.capture")), 0);
    assert_true(add(captures, USER, "one", WALL_NS, false));
    for (unsigned i = 0; i < CAPTURES_OF_USER + 3; i++)
        assert_true(add(captures, USER + 1, "two", WALL_NS + i * SECOND_NS, false));
    captures_close(captures);
    assert_int_equal(rmdir(state_path(directory, "elsewhere")), 0); /* it is empty */
    assert_int_equal(rmdir(state_path(directory, "captures/lost+found")), 0);
    assert_int_equal(unlink(state_path(directory, "captures/4322/notes")), 0);
    assert_int_equal(rmdir(state_path(directory, "captures/4322/a.capture")), 0);
    assert_int_equal(unlink(state_path(directory, "captures/4322/b.capture")), 0);
    assert_int_equal(count_files(directory, "4322", CAPTURES_SUFFIX), CAPTURES_OF_USER);
    assert_int_equal(unlink(state_path(directory, "captures/4322/.new")), -1);
}

/* A file of another version is one of its user's all the same: it counts, and goes when it is his oldest. */
static void put_file(struct state_directory *directory, unsigned user, unsigned number, off_t bytes)
{
    char name[64];
    const struct timespec times[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = time(NULL) - 1000 + (long)number}};

    snprintf(name, sizeof(name), "captures/%u", user);
    (void)mkdir(state_path(directory, name), 0700);
    snprintf(name, sizeof(name), "captures/%u/x-%03u.capture", user, number);
    state_write(directory, name, "RIPCAPT\0\2", 9);
    assert_int_equal(truncate(state_path(directory, name), bytes), 0);
    assert_int_equal(utimensat(AT_FDCWD, state_path(directory, name), times, 0), 0);
}

/* The user who has most bytes loses his oldest, until both limits hold. */
TEST(all_users_have_so_many, state_directory_set_up, state_directory_tear_down)
{
    struct state_directory *directory = *state;
    struct captures *captures = opened(directory);

    for (unsigned number = 0; number < 30; number++)
        for (unsigned user = 1; user <= 34; user++)
            put_file(directory, user, number, user == 7 ? 8192 : 4096);
    for (unsigned number = 0; number < 4; number++)
        put_file(directory, 35, number, 10);
    assert_true(add(captures, USER, "one", WALL_NS, false)); /* 1025 of them */
    captures_close(captures);
    assert_int_equal(count_files(directory, "4321", CAPTURES_SUFFIX), 1);
    assert_int_equal(count_files(directory, "7", CAPTURES_SUFFIX), 29);
    assert_int_equal(count_files(directory, "7", "-000.capture"), 0);
    assert_int_equal(count_files(directory, "8", CAPTURES_SUFFIX), 30);
}

TEST(all_users_have_so_many_bytes, state_directory_set_up, state_directory_tear_down)
{
    struct state_directory *directory = *state;
    struct captures *captures = opened(directory);

    for (unsigned user = 1; user <= 9; user++)
        for (unsigned number = 0; number < 2; number++)
            put_file(directory, user, number, (off_t)(user == 3 ? 32 : 28) << 20); /* 512 MiB of the 9 */
    assert_true(add(captures, USER, "one", WALL_NS, false));
    captures_close(captures);
    assert_int_equal(count_files(directory, "4321", CAPTURES_SUFFIX), 1);
    assert_int_equal(count_files(directory, "3", "-000.capture"), 0);
    assert_int_equal(count_files(directory, "3", "-001.capture"), 1);
    assert_int_equal(count_files(directory, "1", CAPTURES_SUFFIX), 2);
}
