/* SPDX-License-Identifier: Apache-2.0 */
/* test_captures.c - captures in the state directory, and which of them are kept: ripd/record/captures.c. */
#include <dirent.h>
#include <errno.h>

#include <time.h>

#include "record/captures.h"
#include "support/test.h"
#include "unit/state_directory.h"

#define SECOND_NS UINT64_C(1000000000)
#define WALL_NS (UINT64_C(1700000000) * SECOND_NS)
#define USER 4321u

/* The state directory of the test, and its captures. */
static struct state_directory *directory;
static struct captures *captures;

static void open_captures(void)
{
    char *error = NULL;

    assert_int_equal(captures_open(&captures, directory->path, &error), 0);
    assert_null(error);
}

static int set_up(void **state)
{
    state_directory_set_up(state);
    directory = *state;
    open_captures();
    return 0;
}

static void add(uint32_t user, const char *name, uint64_t wall_ns, bool replaced)
{
    const struct capture_label label = {user, getuid(), name, wall_ns, replaced};
    struct capture capture = {strdup("{}"), 2, calloc(1, 4096), 4096};

    assert_true(captures_add(captures, &label, &capture));
    assert_null(capture.document); /* the captures own them now */
    assert_null(capture.ring);
}

/* Returns how many files with this ending are in the folder of a user. */
static size_t count_files(const char *user, const char *ending)
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

static mode_t mode_of(const char *name)
{
    struct stat status;

    return stat(state_path(directory, name), &status) == 0 ? status.st_mode & 07777 : 0;
}

/* The name of the process gives no path. A second capture of the same time has a number. */
TEST(a_capture_is_a_file_that_only_its_owner_reads, set_up, state_directory_tear_down)
{
    struct captures_state now;

    add(USER, "../a b\n.1", WALL_NS, false);
    add(USER, "../a b\n.1", WALL_NS, false);
    captures_close(captures);
    assert_int_equal(count_files("4321", ""), 2 + 2); /* with . and .. */
    assert_int_equal(mode_of("captures/4321/_._a_b_.1-20231114T221320.000Z.capture"), 0600);
    assert_int_equal(mode_of("captures/4321/_._a_b_.1-20231114T221320.000Z~2.capture"), 0600);
    assert_int_equal(mode_of("captures/4321") & 0007, 0);
    assert_int_equal(mode_of("captures"), 0711);
    open_captures();
    captures_state(captures, &now);
    assert_int_equal(now.failed_count, 0);
    captures_close(captures);
}

/* The newest captures of a user are kept, but only a few of processes that executed another program. */
TEST(limit_of_one_user, set_up, state_directory_tear_down)
{
    for (unsigned i = 0; i < CAPTURES_OF_USER + 8; i++)
        add(USER, "crash", WALL_NS + i * SECOND_NS, false);
    add(USER + 1, "other", WALL_NS, false);
    for (unsigned i = 0; i < CAPTURES_REPLACED + 4; i++)
        add(USER + 2, "exec", WALL_NS + i * SECOND_NS, true);
    captures_close(captures);
    assert_int_equal(count_files("4321", CAPTURES_SUFFIX), CAPTURES_OF_USER);
    assert_int_equal(count_files("4322", CAPTURES_SUFFIX), 1);
    assert_int_equal(count_files("4323", CAPTURES_REPLACED_SUFFIX), CAPTURES_REPLACED);
}

TEST(an_old_capture_is_removed, set_up, state_directory_tear_down)
{
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

    add(USER, "old", WALL_NS, false);
    captures_close(captures);
    assert_int_equal(
        utimensat(AT_FDCWD, state_path(directory, "captures/4321/old-20231114T221320.000Z.capture"), times, 0), 0);
    open_captures();
    add(USER, "new", WALL_NS, false);
    captures_close(captures);
    assert_int_equal(count_files("4321", CAPTURES_SUFFIX), 1);
}

/* A file in place of the folder is an error that is counted. */
TEST(a_capture_that_cannot_be_written_is_counted, set_up, state_directory_tear_down)
{
    struct captures_state now = {0};

    state_write(directory, "captures/4321", "x", 1);
    add(USER, "one", WALL_NS, false);
    for (int i = 0; i < 900 && now.failed_count == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        captures_state(captures, &now);
    }
    assert_int_equal(now.failed_count, 1);
    assert_int_equal(now.error, -ENOTDIR);
    captures_close(captures);
}

/* The error is reported at once; captures are written as soon as it is corrected. */
TEST(a_directory_that_cannot_be_used, state_directory_set_up, state_directory_tear_down)
{
    char *error = NULL;

    directory = *state;
    state_write(directory, "captures", "x", 1);
    assert_int_equal(captures_open(&captures, directory->path, &error), 0);
    assert_non_null(strstr(error, directory->path));
    free(error);
    assert_int_equal(unlink(state_path(directory, "captures")), 0);
    add(USER, "one", WALL_NS, false);
    captures_close(captures);
    assert_int_equal(count_files("4321", CAPTURES_SUFFIX), 1);
}

/* The folder was removed while ripd runs. */
TEST(a_removed_folder_is_made_again, set_up, state_directory_tear_down)
{
    assert_int_equal(rmdir(state_path(directory, "captures")), 0);
    add(USER, "one", WALL_NS, false);
    captures_close(captures);
    assert_int_equal(count_files("4321", CAPTURES_SUFFIX), 1);
}

/* Links are not followed, and files and folders of others stay. */
TEST(files_of_others, set_up, state_directory_tear_down)
{
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
    add(USER, "one", WALL_NS, false);
    for (unsigned i = 0; i < CAPTURES_OF_USER + 3; i++)
        add(USER + 1, "two", WALL_NS + i * SECOND_NS, false);
    captures_close(captures);
    assert_int_equal(rmdir(state_path(directory, "elsewhere")), 0); /* it is empty */
    assert_int_equal(rmdir(state_path(directory, "captures/lost+found")), 0);
    assert_int_equal(unlink(state_path(directory, "captures/4322/notes")), 0);
    assert_int_equal(rmdir(state_path(directory, "captures/4322/a.capture")), 0);
    assert_int_equal(unlink(state_path(directory, "captures/4322/b.capture")), 0);
    assert_int_equal(count_files("4322", CAPTURES_SUFFIX), CAPTURES_OF_USER);
    assert_int_equal(unlink(state_path(directory, "captures/4322/.new")), -1);
}

/* A capture of another version, which counts as one of its user. */
static void put_file(unsigned user, unsigned number, off_t bytes)
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

/* The user with the most bytes loses its oldest capture, until both limits hold. */
TEST(limit_of_all_users, set_up, state_directory_tear_down)
{
    for (unsigned number = 0; number < 30; number++)
        for (unsigned user = 1; user <= 34; user++)
            put_file(user, number, user == 7 ? 8192 : 4096);
    for (unsigned number = 0; number < 4; number++)
        put_file(35, number, 10);
    add(USER, "one", WALL_NS, false); /* the 1025th */
    captures_close(captures);
    assert_int_equal(count_files("4321", CAPTURES_SUFFIX), 1);
    assert_int_equal(count_files("7", CAPTURES_SUFFIX), 29);
    assert_int_equal(count_files("7", "-000.capture"), 0);
    assert_int_equal(count_files("8", CAPTURES_SUFFIX), 30);
}

TEST(limit_of_bytes_of_all_users, set_up, state_directory_tear_down)
{
    for (unsigned user = 1; user <= 9; user++)
        for (unsigned number = 0; number < 2; number++)
            put_file(user, number, (off_t)(user == 3 ? 32 : 28) << 20); /* 512 MiB in total */
    add(USER, "one", WALL_NS, false);
    captures_close(captures);
    assert_int_equal(count_files("4321", CAPTURES_SUFFIX), 1);
    assert_int_equal(count_files("3", "-000.capture"), 0);
    assert_int_equal(count_files("3", "-001.capture"), 1);
    assert_int_equal(count_files("1", CAPTURES_SUFFIX), 2);
}
