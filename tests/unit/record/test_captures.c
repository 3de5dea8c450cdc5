/* SPDX-License-Identifier: Apache-2.0 */
/* test_captures.c - captures in the state directory, and which of them stay: ripd/record/captures.c. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "record/captures.h"
#include "unit/state_directory.h"

#define SECOND_NS UINT64_C(1000000000)
#define WALL_NS (UINT64_C(1700000000) * SECOND_NS)
#define USER 4321u

static struct captures *opened(struct state_directory *directory)
{
    struct captures *captures = NULL;
    char *error = NULL;

    if (captures_open(&captures, directory->path, &error) != 0)
        fail_msg("%s", error);
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

static void test_a_capture_is_a_file_that_only_its_owner_reads(void **state)
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
static void test_a_user_has_so_many(void **state)
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

static void test_an_old_one_goes(void **state)
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
static void test_what_cannot_be_written_is_counted(void **state)
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

static void test_a_directory_that_cannot_be_used(void **state)
{
    struct state_directory *directory = *state;
    struct captures *captures;
    char *error = NULL;

    state_write(directory, "captures", "x", 1);
    assert_int_equal(captures_open(&captures, directory->path, &error), -ENOTDIR);
    assert_non_null(strstr(error, directory->path));
    free(error);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, state_directory_set_up, state_directory_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_capture_is_a_file_that_only_its_owner_reads),
        TEST(test_a_user_has_so_many),
        TEST(test_an_old_one_goes),
        TEST(test_what_cannot_be_written_is_counted),
        TEST(test_a_directory_that_cannot_be_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
