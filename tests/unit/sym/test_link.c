/* SPDX-License-Identifier: Apache-2.0 */
/* test_link.c - one question and one answer, whatever the other end does: ripd/sym/link.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "os/clock.h"
#include "sym/link.h"
#include "unit/fake_symbolizer.h"

#define LONG_NS UINT64_C(60000000000)
#define SHORT_NS UINT64_C(300000000)

static const struct link_patience patient = {LONG_NS, 0, -1};
static char self[4096];

static size_t count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static int ask(struct sym_link *link, const char *path, const struct link_patience *patience, struct symbol **symbol)
{
    struct sym_open message = {.kind = SYM_OPEN, .key = 7};
    int result;

    snprintf(message.path, sizeof(message.path), "%s", path);
    if (link->descriptor < 0)
        assert_int_equal(link_start(link, self, &patient), 0);
    result = link_open(link, &message, -1, patience);
    return result != 0 ? result : link_look(link, 7, 0x1234, patience, symbol);
}

static void test_an_answer(void **state)
{
    struct symbol *symbol = NULL;
    struct sym_link link;

    (void)state;
    assert_int_equal(link_init(&link), 0);
    assert_int_equal(ask(&link, "/fine", &patient, &symbol), 0);
    assert_string_equal(symbol->frames[0].function, "f");
    assert_string_equal(symbol->frames[0].file, "/fine");
    assert_int_equal(symbol->frames[0].line, link.pid);
    free(symbol);
    assert_int_equal(ask(&link, "/missing", &patient, &symbol), -ENOENT);
    assert_int_equal(ask(&link, "/stale", &patient, &symbol), -ESTALE);
    assert_true(link.pid != 0); /* these are answers */
    assert_int_equal(link_look(&link, 8, 0, &patient, &symbol), -ENOENT);
    assert_true(link.pid != 0);
    link_done(&link);
}

/* What it sees of us: nothing. */
static void test_it_begins_with_nothing(void **state)
{
    struct symbol *symbol = NULL;
    struct sym_link link;
    char path[64], text[64];
    struct dirent *entry;
    int open_file = open("/dev/null", O_RDONLY | O_CLOEXEC), descriptor;
    DIR *folder;

    (void)state;
    assert_int_equal(link_init(&link), 0);
    assert_int_equal(ask(&link, "/fine", &patient, &symbol), 0);
    free(symbol);
    snprintf(path, sizeof(path), "/proc/%d/fd", link.pid);
    folder = opendir(path);
    while ((entry = readdir(folder)) != NULL)
        assert_true(entry->d_name[0] == '.' || atoi(entry->d_name) <= SYM_DESCRIPTOR);
    closedir(folder);
    snprintf(path, sizeof(path), "/proc/%d/environ", link.pid);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(descriptor, text, sizeof(text)), 0);
    close(descriptor);
    close(open_file);
    link_done(&link);
}

/* Whoever was killed is gone, but for those that a busy machine takes long to take down: these are remembered. */
static void assert_no_zombie(const struct sym_link *link)
{
    if (link->leaving_count == 0)
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_no_answers(void **state)
{
    static const struct no_answer {
        const char *path;
        int result;
    } no_answers[] = {
        {"/dies", -EPIPE},       {"/open-dies", -EPIPE}, {"/stops", -ETIMEDOUT},
        {"/spins", -ETIMEDOUT},  {"/half", -EBADMSG},    {"/key", -EBADMSG},
        {"/nonsense", -EBADMSG}, {"/long", -EBADMSG},    {"/error", -EBADMSG},
    };
    const struct link_patience hasty = {SHORT_NS, 0, -1};
    size_t descriptors = count_descriptors();
    struct symbol *symbol = NULL;
    struct sym_link link;

    (void)state;
    assert_int_equal(link_init(&link), 0);
    for (size_t i = 0; i < sizeof(no_answers) / sizeof(no_answers[0]); i++) {
        assert_int_equal(ask(&link, no_answers[i].path, &hasty, &symbol), no_answers[i].result);
        assert_int_equal(link.pid, 0);
        assert_int_equal(link.descriptor, -1);
        assert_null(symbol);
        assert_no_zombie(&link);
        assert_int_equal(ask(&link, "/fine", &patient, &symbol), 0);
        free(symbol);
        symbol = NULL;
    }
    link_done(&link);
    assert_int_equal(count_descriptors(), descriptors);
}

static void test_more_answers_than_questions(void **state)
{
    struct symbol *symbol = NULL;
    struct sym_link link;

    (void)state;
    assert_int_equal(link_init(&link), 0);
    assert_int_equal(ask(&link, "/floods", &patient, &symbol), 0);
    free(symbol);
    usleep(50000);
    assert_int_equal(link_look(&link, 7, 0x1234, &patient, &symbol), -EBADMSG);
    assert_int_equal(link.pid, 0);
    link_done(&link);
}

static void test_killed_between_questions(void **state)
{
    struct symbol *symbol = NULL;
    struct sym_link link;

    (void)state;
    assert_int_equal(link_init(&link), 0);
    assert_int_equal(ask(&link, "/fine", &patient, &symbol), 0);
    free(symbol);
    kill(link.pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)link.pid, NULL, WEXITED | WNOWAIT), 0);
    assert_int_equal(link_look(&link, 7, 0x1234, &patient, &symbol), -ENOTCONN);
    assert_int_equal(link_look(&link, 7, 0x1234, &patient, &symbol), -ENOTCONN); /* none runs */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    link_done(&link);
}

/* Still is one that uses no processor time; one that is busy has until the limit. */
static void test_a_still_one(void **state)
{
    const struct link_patience patience = {8 * SHORT_NS, 2 * SHORT_NS, -1};
    struct symbol *symbol = NULL;
    struct sym_link link;
    uint64_t before_ns;

    (void)state;
    assert_int_equal(link_init(&link), 0);
    assert_int_equal(ask(&link, "/fine", &patient, &symbol), 0);
    free(symbol);
    before_ns = clock_mono_ns();
    assert_int_equal(ask(&link, "/spins", &patience, &symbol), -ETIMEDOUT);
    assert_true(clock_mono_ns() - before_ns >= 8 * SHORT_NS);
    assert_int_equal(ask(&link, "/stops", &(struct link_patience){LONG_NS, SHORT_NS, -1}, &symbol), -ETIMEDOUT);
    assert_true(clock_mono_ns() - before_ns < LONG_NS);
    link_done(&link);
}

static void test_called_off(void **state)
{
    int ends[2];
    struct symbol *symbol = NULL;
    struct sym_link link;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(link_init(&link), 0);
    assert_int_equal(ask(&link, "/stops", &(struct link_patience){LONG_NS, 0, ends[0]}, &symbol), -ECANCELED);
    assert_int_equal(link.pid, 0);
    assert_int_equal(link_start(&link, self, &(struct link_patience){LONG_NS, 0, ends[0]}), -ECANCELED);
    close(ends[0]);
    close(ends[1]);
    link_done(&link);
}

/* As long as processes that were killed do not go, so many of them, no other is started. */
static void test_too_many_leave(void **state)
{
    struct sym_link link;

    (void)state;
    assert_int_equal(link_init(&link), 0);
    while (link.leaving_count < LINK_LEAVING_MAX) {
        pid_t pid = fork();

        if (pid == 0)
            for (;;)
                pause();
        link.leaving[link.leaving_count++] = pid;
    }
    assert_int_equal(link_start(&link, self, &patient), -EAGAIN);
    kill(link.leaving[2], SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)link.leaving[2], NULL, WEXITED | WNOWAIT), 0);
    assert_int_equal(link_start(&link, self, &patient), 0);
    assert_int_equal(link.leaving_count, LINK_LEAVING_MAX - 1);
    for (size_t i = 0; i < link.leaving_count; i++) {
        kill(link.leaving[i], SIGKILL);
        assert_int_equal(waitid(P_PID, (id_t)link.leaving[i], NULL, WEXITED | WNOWAIT), 0);
    }
    link_done(&link);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_programs_that_are_none(void **state)
{
    const struct link_patience hasty = {LONG_NS, SHORT_NS, -1};
    char script[] = "/tmp/test_link-XXXXXX";
    int descriptor = mkstemp(script);
    struct sym_link link;

    (void)state;
    assert_true(dprintf(descriptor, "#!/bin/sh\nexec sleep 1000\n") > 0);
    assert_int_equal(fchmod(descriptor, 0700), 0);
    close(descriptor);
    assert_int_equal(link_init(&link), 0);
    assert_int_equal(link_start(&link, "/nowhere/ripd-symbolizer", &patient), -ENOENT);
    assert_int_equal(link_start(&link, "/etc/passwd", &patient), -EACCES);
    assert_int_equal(link_start(&link, "/bin/true", &patient), -EPROTO);
    assert_int_equal(link_start(&link, script, &hasty), -EPROTO); /* never says that it is ready */
    assert_int_equal(link.pid, 0);
    assert_no_zombie(&link);
    link_done(&link);
    unlink(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer),
        cmocka_unit_test(test_it_begins_with_nothing),
        cmocka_unit_test(test_no_answers),
        cmocka_unit_test(test_more_answers_than_questions),
        cmocka_unit_test(test_killed_between_questions),
        cmocka_unit_test(test_a_still_one),
        cmocka_unit_test(test_called_off),
        cmocka_unit_test(test_too_many_leave),
        cmocka_unit_test(test_programs_that_are_none),
    };

    fake_symbolizer();
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
