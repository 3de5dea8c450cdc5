/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel_memory.c - paths and addresses in the memory of a child: ripd/probe/kernel_memory.c. What else it reads
 * is in test_kernel_read.c.
 *
 * The child waits for nothing all the time. It is a copy of this program, so what lies at an address here lies there,
 * too; the call and the arguments of its reading are made up. What the kernel denies here is skipped.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases/kernel.h"
#include "probe/kernel.h"
#include "support/test.h"

#define HERE(object) ((uint64_t)(uintptr_t)(object))
#define CURRENT ((uint64_t)(uint32_t)AT_FDCWD)

static int proc = -1;

/* A child of the test, a reading of it, and one as if it were in another call. */
static struct {
    pid_t child;
    struct kernel_reading reading;
} thread;
static struct kernel_reading reading;

/* root: where absolute paths begin; NULL = where they begin here. False: the kernel denies it. */
static bool thread_start(const char *current, const char *root)
{
    thread.child = fork();
    assert_true(thread.child >= 0);
    if (thread.child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if ((root != NULL && chroot(root) != 0) || chdir(current) != 0)
            _exit(1);
        for (;;)
            syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
    }
    for (int i = 0; i < 10000; i++) {
        const uint32_t pid = (uint32_t)thread.child;
        int result;

        do
            result = kernel_read(proc, pid, pid, KERNEL_WHOLE, &thread.reading);
        while (result == -EAGAIN); /* it has not run yet */
        assert_int_equal(result, 0);
        if ((thread.reading.denied & KERNEL_DENIED(SYSCALL)) != 0)
            return false;
        if ((thread.reading.has & KERNEL_HAS_SYSCALL) != 0 && thread.reading.call.kind == PROC_SYSCALL_INSIDE &&
            thread.reading.call.number == SYS_ppoll)
            return true;
        usleep(1000);
    }
    fail();
    return false;
}

static int thread_end(void **state)
{
    (void)state;
    if (thread.child > 0) {
        kill(thread.child, SIGKILL);
        waitpid(thread.child, NULL, 0);
    }
    thread.child = 0;
    return 0;
}

static void in_call(long number, const uint64_t arguments[5])
{
    reading = thread.reading;
    reading.has &= ~(KERNEL_HAS_NAMES | KERNEL_HAS_DESCRIPTOR);
    reading.call.number = (uint64_t)number;
    memcpy(reading.call.arguments, arguments, 5 * sizeof(arguments[0]));
    kernel_read_memory(proc, &reading);
}

/* What is read of it there: two names, or none, if first is NULL. */
static void shows(const char *first, const char *second, long number, const uint64_t arguments[5])
{
    in_call(number, arguments);
    assert_int_equal((reading.has & KERNEL_HAS_NAMES) != 0, first != NULL);
    assert_int_equal(reading.has & KERNEL_HAS_DESCRIPTOR, 0);
    if (first == NULL)
        return;
    assert_string_equal(reading.names[0].text, first);
    assert_string_equal(reading.names[1].text, second);
}

#define SHOWS_TWO(first, second, number, ...) shows(first, second, number, (const uint64_t[5]){__VA_ARGS__})
#define SHOWS(name, number, ...) SHOWS_TWO(name, "", number, __VA_ARGS__)

/* Paths ------------------------------------------------------------------------------------------------------------ */

TEST(where_a_path_begins, NULL, thread_end)
{
    static const char absolute[] = "/no/such", relative[] = "no/such";
    int directory = open("/proc", O_PATH | O_CLOEXEC), ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    if (thread_start("/usr", NULL)) {
        SHOWS("/no/such", SYS_openat, CURRENT, HERE(absolute));
        SHOWS("/usr/no/such", SYS_openat, CURRENT, HERE(relative));
        SHOWS("/proc/no/such", SYS_openat2, (uint64_t)directory, HERE(relative));
        SHOWS("/no/such", SYS_openat, (uint64_t)directory, HERE(absolute));
        SHOWS("no/such", SYS_openat, 9999, HERE(relative));              /* from nowhere that is known */
        SHOWS("no/such", SYS_openat, (uint64_t)ends[0], HERE(relative)); /* from what has no name */
        SHOWS("/usr/no/such", SYS_execve, HERE(relative));
        SHOWS("/proc/no/such", SYS_symlinkat, HERE(absolute), (uint64_t)directory, HERE(relative));
        SHOWS(NULL, SYS_openat, CURRENT, 16); /* where there is nothing */
    }
    close(ends[0]);
    close(ends[1]);
    close(directory);
}

TEST(another_root, NULL, thread_end)
{
    static const char absolute[] = "/no/such";

    if (geteuid() != 0 || prctl(PR_CAPBSET_READ, CAP_SYS_CHROOT) != 1)
        skip();
    if (thread_start("/", "/usr")) {
        SHOWS("/usr/no/such", SYS_openat, CURRENT, HERE(absolute));
        SHOWS("/usr/no/such", SYS_openat, CURRENT, HERE(absolute + 1));
    }
}

TEST(two_paths, NULL, thread_end)
{
    static const char first[] = "old", second[] = "/new", server[] = "server:/export";
    int directory = open("/proc", O_PATH | O_CLOEXEC);

    if (thread_start("/usr", NULL)) {
        SHOWS_TWO("/proc/old", "/new", SYS_renameat2, (uint64_t)directory, HERE(first), CURRENT, HERE(second));
        SHOWS_TWO("/new", "/proc/old", SYS_renameat2, CURRENT, HERE(second), (uint64_t)directory, HERE(first));
        SHOWS_TWO("server:/export", "/usr/old", SYS_mount, HERE(server), HERE(first));
        SHOWS_TWO("", "/new", SYS_mount, 0, HERE(second));
        SHOWS_TWO(NULL, NULL, SYS_renameat2, CURRENT, HERE(second), CURRENT, 16); /* one alone would not do */
    }
    close(directory);
}

/* fstat() is one of these: what is meant is the descriptor itself. */
TEST(no_path, NULL, thread_end)
{
    static const char empty[] = "";
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (thread_start("/usr", NULL)) {
        const uint64_t nowhere[] = {HERE(empty), 0};

        for (size_t i = 0; i < COUNT_OF(nowhere); i++) {
            in_call(SYS_statx, (const uint64_t[5]){(uint64_t)file, nowhere[i], AT_EMPTY_PATH});
            assert_int_equal(reading.has & KERNEL_HAS_NAMES, 0);
            assert_true((reading.has & KERNEL_HAS_DESCRIPTOR) != 0);
            assert_int_equal(reading.descriptor_number, file);
            assert_string_equal(reading.descriptor.link, "/dev/null");
        }
        SHOWS("/usr", SYS_statx, CURRENT, HERE(empty), AT_EMPTY_PATH);
        SHOWS(NULL, SYS_statx, 16, 16);
    }
    close(file);
}

/* Paths that end with a page behind which there is nothing, or do not end there; and those that are long. */
TEST(where_a_path_ends, NULL, thread_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char shown[PROC_LINK_BYTES];

    assert_ptr_not_equal(pages, MAP_FAILED);
    memset(pages, 'x', 2 * page);
    strcpy(pages + 2 * page - 5, "/end");
    memcpy(pages + page - 4, "/over", 5);
    memcpy(pages + page - 10, "/end", 5);
    pages[page + 4] = '\0';
    memcpy(pages, "/long", 5);
    assert_int_equal(munmap(pages + 2 * page, page), 0);
    if (thread_start("/usr", NULL)) {
        SHOWS("/end", SYS_openat, CURRENT, HERE(pages + 2 * page - 5));
        SHOWS("/end", SYS_openat, CURRENT, HERE(pages + page - 10));
        SHOWS("/overxxx", SYS_openat, CURRENT, HERE(pages + page - 4));
        snprintf(shown, sizeof(shown), "%s", pages);
        SHOWS(shown, SYS_openat, CURRENT, HERE(pages));
        assert_true(reading.names[0].cut);
    }
    thread_end(NULL);
    pages[2 * page - 1] = 'x'; /* it does not end */
    if (thread_start("/usr", NULL))
        SHOWS(NULL, SYS_openat, CURRENT, HERE(pages + 2 * page - 5));
    munmap(pages, 2 * page);
}

/* Addresses -------------------------------------------------------------------------------------------------------- */

TEST(addresses, NULL, thread_end)
{
    static const struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/run/db.sock"};
    static struct sockaddr_in internet = {.sin_family = AF_INET};
    static struct msghdr message = {.msg_name = &internet, .msg_namelen = sizeof(internet)}, bare;

    internet.sin_port = htons(53);
    internet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (thread_start("/usr", NULL)) {
        const struct {
            long number;
            uint64_t arguments[5];
            uint64_t last;
            const char *text;
        } cases[] = {
            {SYS_connect, {9, HERE(&name), sizeof(name)}, 0, "/run/db.sock"},
            {SYS_connect, {9, HERE(&name), 6}, 0, "/run"},
            {SYS_connect, {9, HERE(&name), UINT32_MAX}, 0, NULL}, /* the kernel would not take that */
            {SYS_connect, {9, HERE(&name), 1}, 0, NULL},
            {SYS_connect, {9, HERE(&name), 0}, 0, NULL},
            {SYS_connect, {9, 16, sizeof(name)}, 0, NULL},
            {SYS_connect, {9, 0, sizeof(name)}, 0, NULL},
            {SYS_sendto, {9, 0, 0, 0, HERE(&internet)}, sizeof(internet), "127.0.0.1:53"},
            {SYS_sendto, {9, 0, 0, 0, 0}, 0, NULL},
            {SYS_sendmsg, {9, HERE(&message)}, 0, "127.0.0.1:53"},
            {SYS_sendmsg, {9, HERE(&bare)}, 0, NULL},
            {SYS_sendmsg, {9, 16}, 0, NULL},
            {SYS_recvfrom, {9, 0, 0, 0, HERE(&internet)}, sizeof(internet), NULL}, /* where it would be put */
        };

        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            thread.reading.call.arguments[5] = cases[i].last;
            shows(cases[i].text, "", cases[i].number, cases[i].arguments);
        }
    }
}

/* Guards ----------------------------------------------------------------------------------------------------------- */

TEST(what_is_not_believed, NULL, thread_end)
{
    static const char path[] = "/no/such";
    static const struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/run/db.sock"};

    if (thread_start("/usr", NULL)) {
        thread.reading.call.stack_pointer = 0xffffd000; /* a program of 32 bits: its numbers are others */
        SHOWS(NULL, SYS_openat, CURRENT, HERE(path));
        thread.reading.call.stack_pointer = HERE(__builtin_frame_address(0));
        thread.reading.times.voluntary_count--; /* it has run since: the call is another one */
        thread.reading.times.slice_count--;
        SHOWS(NULL, SYS_openat, CURRENT, HERE(path));
        SHOWS(NULL, SYS_connect, 9, HERE(&name), sizeof(name));
        SHOWS(NULL, SYS_statx, 0, 0, AT_EMPTY_PATH);
    }
}

static int open_proc(void **state)
{
    (void)state;
    proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return proc >= 0 ? 0 : -1;
}

int main(void)
{
    return tests_run(open_proc, NULL);
}
