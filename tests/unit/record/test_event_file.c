/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_file.c - the files of the history in the state directory: ripd/record/event_file.c. */
#include <errno.h>
#include <signal.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include "record/event_line.h"
#include "support/test.h"
#include "unit/state_directory.h"

/* The state directory of the test, and its files. */
static struct state_directory *directory;
static struct event_file file;

static void open_file(void)
{
    char *error = NULL;

    if (event_file_open(&file, directory->path, &error) != 0)
        fail_msg("%s", error);
}

static int set_up(void **state)
{
    state_directory_set_up(state);
    directory = *state;
    open_file();
    return 0;
}

static int set_up_closed(void **state)
{
    state_directory_set_up(state);
    directory = *state;
    return 0;
}

static void assert_refused(int expected, const char *what)
{
    struct event_file other;
    char *error = NULL;

    assert_int_equal(event_file_open(&other, directory->path, &error), expected);
    assert_non_null(strstr(error, directory->path));
    assert_non_null(strstr(error, what));
    assert_null(strchr(error, '\n'));
    free(error);
}

/* expected is NULL if there is no such file. */
static void assert_content(const char *name, const char *expected)
{
    char *text = state_read(directory, name);

    if (expected == NULL) {
        assert_null(text);
        return;
    }
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static int append(const char *text)
{
    return event_file_append(&file, text, strlen(text));
}

static void rotate(const char *head)
{
    assert_int_equal(event_file_rotate(&file, head, strlen(head)), 0);
}

TEST(append_and_rotate, set_up, state_directory_tear_down)
{
    struct stat status;

    assert_int_equal(append("x\n"), -ENOENT);
    rotate("head 1\n");
    assert_int_equal(append("one\n"), 0);
    assert_content(EVENT_FILE_NAME, "head 1\none\n");
    assert_content(EVENT_FILE_OLDER_NAME, NULL);
    assert_int_equal(stat(state_path(directory, EVENT_FILE_NAME), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);

    rotate("head 2\n");
    assert_int_equal(append("two\n"), 0);
    assert_content(EVENT_FILE_NAME, "head 2\ntwo\n");
    assert_content(EVENT_FILE_OLDER_NAME, "head 1\none\n");
    event_file_close(&file);

    open_file();
    assert_int_equal(file.bytes, 11);
    assert_int_equal(append("three\n"), 0);
    event_file_close(&file);
    assert_content(EVENT_FILE_NAME, "head 2\ntwo\nthree\n");
}

/* Killed between the two renames, or before the first. */
TEST(half_rotation, set_up_closed, state_directory_tear_down)
{
    state_write(directory, EVENT_FILE_OLDER_NAME, "all\n", 4);
    state_write(directory, EVENT_FILE_NEW_NAME, "head", 4);
    open_file();
    assert_int_equal(file.bytes, 4);
    assert_content(EVENT_FILE_NAME, "all\n");
    assert_content(EVENT_FILE_OLDER_NAME, NULL);
    assert_content(EVENT_FILE_NEW_NAME, NULL);
    event_file_close(&file);
}

TEST(full, set_up, state_directory_tear_down)
{
    char *line = calloc(1, 1u << 20);
    size_t head = 4u << 20;
    char *text = calloc(1, head);

    memset(line, 'x', (1u << 20) - 1);
    assert_false(event_file_is_full(&file));
    assert_int_equal(event_file_rotate(&file, text, head), 0); /* the head does not count */
    for (unsigned i = 0; i < EVENT_FILE_BYTES_MAX >> 20; i++) {
        assert_false(event_file_is_full(&file));
        assert_int_equal(event_file_append(&file, line, 1u << 20), 0);
    }
    assert_true(event_file_is_full(&file));
    event_file_close(&file);
    free(line);
    free(text);
}

/* A line that did not fit is cut off again; the next one is complete. */
TEST(no_room, set_up, state_directory_tear_down)
{
    struct rlimit limit = {100, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    rotate("head\n");
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(append("a line of more than ninety-five bytes .......................... "
                            "....................................... .....\n"),
                     -EFBIG);
    assert_int_equal(append("short\n"), 0);
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_content(EVENT_FILE_NAME, "head\nshort\n");
    file.torn = true; /* as if it could not be cut off */
    assert_int_equal(append("next\n"), 0);
    assert_content(EVENT_FILE_NAME, "head\nshort\n\nnext\n");
    event_file_close(&file);
}

static int collect(void *context, const char *text, size_t length)
{
    char *all = context;

    snprintf(all + strlen(all), 256 - strlen(all), "[%.*s]", (int)(length < 40 ? length : 40), text);
    return 0;
}

TEST(read, set_up, state_directory_tear_down)
{
    size_t long_bytes = 3 * EVENT_LINE_BYTES_MAX;
    char *text = malloc(long_bytes + 64), seen[256] = "";
    uint64_t complete;

    assert_int_equal(event_file_read(&file, EVENT_FILE_NAME, collect, seen, &complete), -ENOENT);
    strcpy(text, "one\n\n");
    memset(text + 5, 'x', long_bytes);
    strcpy(text + 5 + long_bytes, "\ntwo\ntorn");
    state_write(directory, EVENT_FILE_NAME, text, strlen(text));
    assert_int_equal(event_file_read(&file, EVENT_FILE_NAME, collect, seen, &complete), 0);
    assert_string_equal(seen, "[one][][][two]");
    assert_int_equal(complete, strlen(text) - 4);
    event_file_close(&file);

    open_file();
    assert_int_equal(event_file_cut(&file, complete), 0);
    assert_int_equal(file.bytes, complete);
    event_file_close(&file);

    text[5 + long_bytes] = '\0'; /* an incomplete last line that is too long */
    state_write(directory, EVENT_FILE_NAME, text, strlen(text));
    open_file();
    seen[0] = '\0';
    assert_int_equal(event_file_read(&file, EVENT_FILE_NAME, collect, seen, &complete), 0);
    assert_string_equal(seen, "[one][]");
    assert_int_equal(complete, 5);
    event_file_close(&file);
    free(text);
}

TEST(one_at_a_time, set_up, state_directory_tear_down)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        struct event_file other;
        char *error = NULL, expected[64];
        int result = event_file_open(&other, directory->path, &error);

        snprintf(expected, sizeof(expected), "another ripd has it (pid %d)", getppid());
        _exit(result == -EBUSY && error != NULL && strstr(error, expected) != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    event_file_close(&file);
    open_file();
    event_file_close(&file);
}

TEST(files_that_are_not_regular, set_up_closed, state_directory_tear_down)
{
    static const char *const names[] = {EVENT_FILE_NAME, EVENT_FILE_OLDER_NAME, EVENT_FILE_LOCK_NAME};
    char kept[sizeof(directory->path)];

    for (size_t i = 0; i < 3; i++) {
        unlink(state_path(directory, names[i])); /* the lock file stays */
        assert_int_equal(mkdir(state_path(directory, names[i]), 0700), 0);
        assert_refused(-ENOTSUP, names[i]);
        rmdir(state_path(directory, names[i]));
        assert_int_equal(mkfifo(state_path(directory, names[i]), 0600), 0);
        assert_refused(-ENOTSUP, "is not a regular file");
        unlink(state_path(directory, names[i]));
        assert_int_equal(symlink("/etc/passwd", state_path(directory, names[i])), 0);
        assert_refused(-ENOTSUP, names[i]);
        unlink(state_path(directory, names[i]));
    }
    strcpy(kept, directory->path);
    strcpy(directory->path, "/dev/null");
    assert_refused(-ENOTDIR, "Not a directory");
    strcpy(directory->path, "/dev/shm/no/such");
    assert_refused(-ENOENT, "No such file");
    strcpy(directory->path, kept);
    rmdir(directory->path);
    unlink(state_path(directory, EVENT_FILE_LOCK_NAME));
    rmdir(directory->path);
    open_file(); /* made again */
    event_file_close(&file);
}

TEST(set_aside, set_up_closed, state_directory_tear_down)
{
    static const char *const expected[] = {"events.jsonl.damaged", "events.jsonl.damaged-2", "events.jsonl.damaged-3"};
    char name[EVENT_FILE_ASIDE_BYTES];

    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        state_write(directory, EVENT_FILE_NAME, "garbage", 7);
        open_file();
        assert_int_equal(event_file_set_aside(&file, EVENT_FILE_NAME, name), 0);
        assert_string_equal(name, expected[i]);
        rotate("head\n");
        assert_content(EVENT_FILE_OLDER_NAME, NULL);
        assert_content(name, "garbage");
        event_file_close(&file);
    }
}
