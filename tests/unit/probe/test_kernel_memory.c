/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel_memory.c - paths and addresses in the memory of a child: ripd/probe/kernel_memory.c. test_kernel_read.c
 * has the rest of what is read there.
 *
 * The child waits in a poll of nothing. It is a copy of this program, so it has the same data at the same addresses.
 * The tests change the call and the arguments in its reading. What the kernel denies is skipped.
 */
#include <arpa/inet.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "unit/probe_child.h"

#define HERE(object) ((uint64_t)(uintptr_t)(object))
#define CURRENT ((uint64_t)(uint32_t)AT_FDCWD)

static const char no_such[] = "/no/such";
static const struct sockaddr_un db = {.sun_family = AF_UNIX, .sun_path = "/run/db.sock"};

static struct kernel_reading waiting; /* the child's, in its real call */

/* Of a child: its directory, and its root; NULL = ours. */
struct place {
    const char *current, *root;
};

static void wait_at(void *context)
{
    const struct place *place = context;

    if ((place->root != NULL && chroot(place->root) != 0) || chdir(place->current) != 0)
        _exit(1);
    for (;;)
        syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}

/* Returns false if the kernel denies reading the child. */
static bool start_at(const char *current, const char *root)
{
    struct place place = {current, root};
    bool known = child_start_in_call(wait_at, &place, SYS_ppoll);

    waiting = reading;
    return known;
}

static bool start(void)
{
    return start_at("/usr", NULL);
}

/* Reads the memory as if the child waited in that call. */
static void in_call(long number, const uint64_t arguments[5])
{
    reading = waiting;
    reading.has &= ~(KERNEL_HAS_NAMES | KERNEL_HAS_DESCRIPTOR);
    reading.call.number = (uint64_t)number;
    memcpy(reading.call.arguments, arguments, 5 * sizeof(arguments[0]));
    kernel_read_memory(proc, &reading);
}

/* Asserts the two names that are read in that call. first NULL: none. */
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

TEST(where_a_path_begins, NULL, child_end)
{
    int directory = open("/proc", O_PATH | O_CLOEXEC), ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    if (start()) {
        SHOWS("/no/such", SYS_openat, CURRENT, HERE(no_such));
        SHOWS("/usr/no/such", SYS_openat, CURRENT, HERE(no_such + 1));
        SHOWS("/proc/no/such", SYS_openat2, (uint64_t)directory, HERE(no_such + 1));
        SHOWS("/no/such", SYS_openat, (uint64_t)directory, HERE(no_such));
        SHOWS("no/such", SYS_openat, 9999, HERE(no_such + 1));              /* the directory is not known */
        SHOWS("no/such", SYS_openat, (uint64_t)ends[0], HERE(no_such + 1)); /* a pipe has no name */
        SHOWS("/usr/no/such", SYS_execve, HERE(no_such + 1));
        SHOWS("/proc/no/such", SYS_symlinkat, HERE(no_such), (uint64_t)directory, HERE(no_such + 1));
        SHOWS(NULL, SYS_openat, CURRENT, 16); /* a bad address */
    }
    close(ends[0]);
    close(ends[1]);
    close(directory);
}

TEST(another_root, NULL, child_end)
{
    if (geteuid() != 0 || prctl(PR_CAPBSET_READ, CAP_SYS_CHROOT) != 1)
        skip();
    if (start_at("/", "/usr")) {
        SHOWS("/usr/no/such", SYS_openat, CURRENT, HERE(no_such));
        SHOWS("/usr/no/such", SYS_openat, CURRENT, HERE(no_such + 1));
    }
}

TEST(two_paths, NULL, child_end)
{
    static const char first[] = "old", second[] = "/new", server[] = "server:/export";
    int directory = open("/proc", O_PATH | O_CLOEXEC);

    if (start()) {
        SHOWS_TWO("/proc/old", "/new", SYS_renameat2, (uint64_t)directory, HERE(first), CURRENT, HERE(second));
        SHOWS_TWO("/new", "/proc/old", SYS_renameat2, CURRENT, HERE(second), (uint64_t)directory, HERE(first));
        SHOWS_TWO("server:/export", "/usr/old", SYS_mount, HERE(server), HERE(first));
        SHOWS_TWO("", "/new", SYS_mount, 0, HERE(second));
        SHOWS_TWO(NULL, NULL, SYS_renameat2, CURRENT, HERE(second), CURRENT, 16); /* both or none */
    }
    close(directory);
}

/* Without a path the call is about the descriptor itself, as with fstat(). */
TEST(no_path, NULL, child_end)
{
    static const char empty[] = "";
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (start()) {
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

/* The next page is not mapped, the path continues on it, or the path is too long. */
TEST(where_a_path_ends, NULL, child_end)
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
    if (start()) {
        SHOWS("/end", SYS_openat, CURRENT, HERE(pages + 2 * page - 5));
        SHOWS("/end", SYS_openat, CURRENT, HERE(pages + page - 10));
        SHOWS("/overxxx", SYS_openat, CURRENT, HERE(pages + page - 4));
        snprintf(shown, sizeof(shown), "%s", pages);
        SHOWS(shown, SYS_openat, CURRENT, HERE(pages));
        assert_true(reading.names[0].cut);
    }
    child_end(NULL);
    pages[2 * page - 1] = 'x'; /* the path does not end */
    if (start())
        SHOWS(NULL, SYS_openat, CURRENT, HERE(pages + 2 * page - 5));
    munmap(pages, 2 * page);
}

/* Addresses -------------------------------------------------------------------------------------------------------- */

TEST(addresses, NULL, child_end)
{
    static struct sockaddr_in internet = {.sin_family = AF_INET};
    static struct msghdr message = {.msg_name = &internet, .msg_namelen = sizeof(internet)}, bare;

    internet.sin_port = htons(53);
    internet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (start()) {
        const struct {
            long number;
            uint64_t arguments[5];
            uint64_t last;
            const char *text;
        } cases[] = {
            {SYS_connect, {9, HERE(&db), sizeof(db)}, 0, "/run/db.sock"},
            {SYS_connect, {9, HERE(&db), 6}, 0, "/run"},
            {SYS_connect, {9, HERE(&db), UINT32_MAX}, 0, NULL}, /* the kernel rejects that length */
            {SYS_connect, {9, HERE(&db), 1}, 0, NULL},
            {SYS_connect, {9, HERE(&db), 0}, 0, NULL},
            {SYS_connect, {9, 16, sizeof(db)}, 0, NULL},
            {SYS_connect, {9, 0, sizeof(db)}, 0, NULL},
            {SYS_sendto, {9, 0, 0, 0, HERE(&internet)}, sizeof(internet), "127.0.0.1:53"},
            {SYS_sendto, {9, 0, 0, 0, 0}, 0, NULL},
            {SYS_sendmsg, {9, HERE(&message)}, 0, "127.0.0.1:53"},
            {SYS_sendmsg, {9, HERE(&bare)}, 0, NULL},
            {SYS_sendmsg, {9, 16}, 0, NULL},
            {SYS_recvfrom, {9, 0, 0, 0, HERE(&internet)}, sizeof(internet), NULL}, /* an output */
        };

        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            waiting.call.arguments[5] = cases[i].last;
            shows(cases[i].text, "", cases[i].number, cases[i].arguments);
        }
    }
}

/* Guards ----------------------------------------------------------------------------------------------------------- */

TEST(memory_that_is_not_read, NULL, child_end)
{
    if (start()) {
        waiting.call.stack_pointer = 0xffffd000; /* a 32-bit program has other call numbers */
        SHOWS(NULL, SYS_openat, CURRENT, HERE(no_such));
        waiting.call.stack_pointer = HERE(__builtin_frame_address(0));
        waiting.times.voluntary_count--; /* the thread has run since, so it is in another call */
        waiting.times.slice_count--;
        SHOWS(NULL, SYS_openat, CURRENT, HERE(no_such));
        SHOWS(NULL, SYS_connect, 9, HERE(&db), sizeof(db));
        SHOWS(NULL, SYS_statx, 0, 0, AT_EMPTY_PATH);
    }
}

int main(void)
{
    return tests_run(open_proc, NULL);
}
