/* SPDX-License-Identifier: Apache-2.0 */
/* test_spawn.c - how a command starts, and that none of its processes stays: ripd/os/spawn.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/packet.h"
#include "os/spawn.h"
#include "support/ring_stage.h"
#include "support/test.h"

static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "COLOUR=$(exit 9)", NULL};

static int wait_ended(struct spawned *spawned)
{
    struct pollfd ended = {.fd = spawned->descriptor, .events = POLLIN};
    int status = -1;

    assert_int_equal(poll(&ended, 1, 30000), 1);
    assert_true(spawn_ended(spawned, &status));
    return status;
}

/* Runs a command. Returns its standard output, in a buffer that the next call reuses. */
static const char *output_of(const char *command, const char *input, uint64_t descriptors_max)
{
    static char text[65536];
    struct spawn_options options = {command, environment, -1, -1, -1, "/", descriptors_max};
    struct spawned spawned;
    int ends[2];
    size_t length = 0;
    ssize_t count;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    options.output = ends[1];
    if (input != NULL) {
        options.input = spawn_input_line(input, strlen(input));
        assert_true(options.input > 2);
    }
    assert_int_equal(spawn_start(&options, &spawned), 0);
    close(ends[1]);
    if (options.input >= 0)
        close(options.input);
    while ((count = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0)
        length += (size_t)count;
    close(ends[0]);
    text[length] = '\0';
    wait_ended(&spawned);
    return text;
}

static int status_of(const char *command)
{
    struct spawn_options options = {command, environment, -1, -1, -1, NULL, 0};
    struct spawned spawned;

    assert_int_equal(spawn_start(&options, &spawned), 0);
    return wait_ended(&spawned);
}

TEST(statuses)
{
    assert_int_equal(status_of("exit 0"), 0);
    assert_int_equal(status_of("exit 3"), 3);
    assert_int_equal(status_of("kill -9 $$"), 128 + SIGKILL);
    assert_int_equal(status_of("/nonexistent/command"), 127);
    assert_int_equal(status_of("/etc/passwd"), 126);
    assert_int_equal(status_of("if"), 2); /* a syntax error */
}

TEST(environment_and_directory)
{
    assert_int_equal(setenv("SECRET", "1", 1), 0);
    assert_string_equal(output_of("tr '\\0' '\\n' </proc/$$/environ", NULL, 0),
                        "PATH=/usr/local/bin:/usr/bin:/bin\nCOLOUR=$(exit 9)\n");
    assert_string_equal(output_of("pwd", NULL, 0), "/\n");
}

TEST(descriptors)
{
    int leaky = open("/dev/null", O_RDONLY); /* not close-on-exec */

    assert_true(leaky > 2);
    /* 3 is the directory that ls itself reads */
    assert_string_equal(output_of("exec ls /proc/self/fd", NULL, 0), "0\n1\n2\n3\n");
    assert_string_equal(output_of("readlink /proc/$$/fd/0 /proc/$$/fd/2", NULL, 0), "/dev/null\n/dev/null\n");
    close(leaky);
}

TEST(descriptor_limit)
{
    struct rlimit limit;

    assert_string_equal(output_of("ulimit -S -n; echo \"$0 $#\"", NULL, 77), "77\n/bin/sh 0\n");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_not_equal(limit.rlim_cur, 77);
    assert_int_equal(strtoull(output_of("ulimit -S -n", NULL, 0), NULL, 10), limit.rlim_cur);
}

static uint64_t field_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    assert_non_null(at);
    return strtoull(at + strlen(name), NULL, 16);
}

TEST(signals)
{
    const uint64_t of_the_library = UINT64_C(3) << 31; /* 32 and 33, which only the C library can handle */
    const char *text;
    sigset_t set, old;

    sigfillset(&set);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, &old), 0);
    signal(SIGPIPE, SIG_IGN);
    text = output_of("exec cat /proc/self/status", NULL, 0);
    assert_int_equal(field_of(text, "SigBlk:"), 0);
    assert_int_equal(field_of(text, "SigIgn:") & ~of_the_library, 0);
    assert_int_equal(field_of(text, "SigCgt:"), 0);
    signal(SIGPIPE, SIG_DFL);
    assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
}

TEST(session_of_its_own)
{
    /* state, parent, group, session, terminal of the shell */
    const char *text = output_of("read pid command state parent group session tty rest </proc/$$/stat; "
                                 "[ $group = $$ ] && [ $session = $$ ] && echo $tty",
                                 NULL, 0);

    assert_string_equal(text, "0\n");
}

TEST(input)
{
    char *large = malloc((1 << 20) + 1);
    int descriptor;

    assert_non_null(large);
    assert_string_equal(output_of("cat", "{\"a\": \"$(touch x) `touch y`\"}", 0),
                        "{\"a\": \"$(touch x) `touch y`\"}\n");
    memset(large, 'x', 1 << 20); /* more than a pipe holds */
    large[1 << 20] = '\0';
    assert_string_equal(output_of("wc -c", large, 0), "1048577\n");
    assert_string_equal(output_of("true", large, 0), "");
    descriptor = spawn_input_line("x", 1);
    assert_true(descriptor > 2);
    assert_int_equal(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
    assert_int_equal(pwrite(descriptor, "y", 1, 0), -1);
    assert_int_equal(ftruncate(descriptor, 0), -1);
    close(descriptor);
    free(large);
}

static bool is_alive(pid_t pid)
{
    char state = ring_stage_state(pid);

    return state != 0 && state != 'Z' && state != 'X';
}

static void wait_gone(pid_t pid)
{
    for (int i = 0; i < 3000 && is_alive(pid); i++)
        usleep(10000);
    assert_false(is_alive(pid));
}

/* Starts a shell whose child would live on, and prints its pid. Returns that pid. */
static pid_t start_family(const char *command, struct spawned *ret_spawned)
{
    struct spawn_options options = {command, environment, -1, -1, -1, NULL, 0};
    char text[32] = "";
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    options.output = ends[1];
    assert_int_equal(spawn_start(&options, ret_spawned), 0);
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    close(ends[0]);
    return (pid_t)strtol(text, NULL, 10);
}

TEST(children_of_a_command_are_killed)
{
    struct spawned spawned;
    pid_t child = start_family("sleep 1000 & echo $!; exit 5", &spawned);

    assert_int_equal(wait_ended(&spawned), 5);
    wait_gone(child);
    assert_int_equal(spawned.pid, 0);
    spawn_signal(&spawned, SIGKILL); /* signals no process, not even this one */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

TEST(signal_reaches_the_group)
{
    struct spawned spawned;
    pid_t child = start_family("sleep 1000 & child=$!; trap '' TERM; echo $child; wait; sleep 1000", &spawned);
    int status;

    assert_true(is_alive(child));
    assert_false(spawn_ended(&spawned, &status));
    spawn_signal(&spawned, SIGTERM); /* the child ends, its parent ignores the signal */
    wait_gone(child);
    assert_false(spawn_ended(&spawned, &status));
    spawn_signal(&spawned, SIGKILL);
    assert_int_equal(wait_ended(&spawned), 128 + SIGKILL);
}

TEST(failure)
{
    struct spawn_options options = {"true", environment, 9999, -1, -1, NULL, 0};
    struct spawned spawned = {.pid = 77};

    assert_int_equal(spawn_start(&options, &spawned), -EBADF);
    assert_int_equal(spawned.pid, 77);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Programs --------------------------------------------------------------------------------------------------------- */

/* A program gets no other descriptors than the socket and standard error, and no variables. */
TEST(what_a_program_gets)
{
    static const char script[] = "#!/bin/sh\nfor i in /proc/$$/fd/*; do printf '%s ' \"${i##*/}\"; done >&3\n"
                                 "env | grep -c RIP_SPAWN_TEST >&3\n";
    int ends[2], leak = fcntl(STDIN_FILENO, F_DUPFD, 7); /* not close-on-exec */
    char path[] = "/tmp/test_spawn-XXXXXX", text[256] = "";
    int file = mkostemp(path, O_CLOEXEC);
    ssize_t bytes, all = 0;
    pid_t pid;

    assert_int_equal(fchmod(file, 0700), 0);
    assert_int_equal(write(file, script, sizeof(script) - 1), sizeof(script) - 1);
    close(file);
    assert_int_equal(setenv("RIP_SPAWN_TEST", "1", 1), 0);
    assert_int_equal(packet_pair(ends), 0);
    assert_int_equal(spawn_program(path, ends[1], &pid), 0);
    close(ends[1]);
    while ((bytes = packet_receive(ends[0], text + all, sizeof(text) - 1 - (size_t)all, true, NULL)) > 0)
        all += bytes;
    assert_non_null(strstr(text, " 2 3 "));
    assert_non_null(strstr(text, "0\n")); /* grep -c finds no variable */
    for (int i = 5; i < 10; i++) {        /* a shell reads its script from 10 or above */
        char number[8];

        snprintf(number, sizeof(number), " %d ", i);
        assert_null(strstr(text, number));
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
    close(leak);
    unlink(path);
}

TEST(programs_are_found)
{
    int ends[2];
    char path[4096], small[4];
    pid_t pid;

    assert_int_equal(packet_pair(ends), 0);
    assert_int_equal(spawn_program("/nowhere/at-all", ends[1], &pid), -ENOENT);
    assert_int_equal(spawn_find("no-such-program", "../libexec", path, sizeof(path)), -ENOENT);
    assert_int_equal(spawn_find("ripd", "../libexec", small, sizeof(small)), -ENAMETOOLONG);
    assert_int_equal(spawn_find("test_spawn", "../libexec", path, sizeof(path)), 0);
    assert_int_equal(access(path, X_OK), 0);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    signal(SIGCHLD, SIG_DFL);
    return tests_run(NULL, NULL);
}
