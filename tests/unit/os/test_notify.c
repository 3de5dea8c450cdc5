/* SPDX-License-Identifier: Apache-2.0 */
/* test_notify.c - a service manager's socket, by path and by abstract name: ripd/os/notify.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/notify.h"
#include "support/test.h"

static char directory[] = "/tmp/ripd-notify-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory);
}

static void own_pid(const char *name)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", (int)getpid());
    setenv(name, text, 1);
}

/* name: "/path" or "@name". */
static int manager_listen(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (name[0] == '/'));
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, name, strlen(name));
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, length), 0);
    return descriptor;
}

static void assert_heard(int manager, const char *expected)
{
    char text[64] = "";

    assert_int_equal(recv(manager, text, sizeof(text) - 1, 0), strlen(expected));
    assert_string_equal(text, expected);
}

static void assert_spoken(const char *name)
{
    int manager = manager_listen(name);
    struct notify notify;

    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "1500000", 1);
    own_pid("WATCHDOG_PID");
    assert_int_equal(notify_open(&notify), 0);
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
    assert_true(fcntl(notify.descriptor, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(notify.watchdog_ns, 1500000000);
    assert_int_equal(notify_send(&notify, "READY=1\n", 8), 0);
    assert_heard(manager, "READY=1\n");
    close(manager);
    assert_int_equal(notify_send(&notify, "WATCHDOG=1\n", 11), -ECONNREFUSED);
    if (name[0] == '/')
        unlink(name);
    manager = manager_listen(name); /* a manager that came again is heard from */
    assert_int_equal(notify_send(&notify, "WATCHDOG=1\n", 11), 0);
    assert_heard(manager, "WATCHDOG=1\n");
    close(manager);
    notify_close(&notify);
    assert_int_equal(notify.descriptor, -1);
    assert_int_equal(notify_send(&notify, "x", 1), 0);
}

TEST(path_and_abstract_name)
{
    char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];

    snprintf(name, sizeof(name), "%s/s", directory);
    assert_spoken(name);
    unlink(name);
    snprintf(name, sizeof(name), "@ripd-test/%d", (int)getpid());
    assert_spoken(name);
    memset(name + strlen(name), 'x', sizeof(name) - 1 - strlen(name)); /* as long as there is room for */
    name[sizeof(name) - 1] = '\0';
    assert_spoken(name);
}

TEST(addresses_that_are_none)
{
    static const struct {
        const char *text;
        int error;
    } rows[] = {{"", -EAFNOSUPPORT},
                {"/", -EAFNOSUPPORT},
                {"@", -EAFNOSUPPORT},
                {"run/x", -EAFNOSUPPORT},
                {"vsock:2:1", -EAFNOSUPPORT}};
    char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 2];
    struct notify notify;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        setenv("NOTIFY_SOCKET", rows[i].text, 1);
        setenv("WATCHDOG_USEC", "1500000", 1);
        assert_int_equal(notify_open(&notify), rows[i].error);
        assert_int_equal(notify.descriptor, -1);
        assert_int_equal(notify.watchdog_ns, 0);
        assert_int_equal(notify_send(&notify, "READY=1\n", 8), 0);
        assert_null(getenv("NOTIFY_SOCKET"));
        assert_null(getenv("WATCHDOG_USEC"));
    }
    memset(name, '/', sizeof(name));
    for (size_t length = sizeof(name) - 2; length < sizeof(name); length++) {
        name[length] = '\0';
        setenv("NOTIFY_SOCKET", name, 1);
        assert_int_equal(notify_open(&notify), -ENAMETOOLONG);
        name[length] = '/';
    }
    assert_int_equal(notify_open(&notify), 0); /* none at all */
    assert_int_equal(notify.descriptor, -1);
}

static void assert_watchdog(const char *value_us, const char *pid, int result, uint64_t expected_ns)
{
    struct notify notify;

    setenv("NOTIFY_SOCKET", "@ripd-test-nobody", 1);
    setenv("WATCHDOG_USEC", value_us, 1);
    if (pid != NULL)
        setenv("WATCHDOG_PID", pid, 1);
    assert_int_equal(notify_open(&notify), result);
    assert_true(notify.descriptor >= 0); /* the rest is sent all the same */
    assert_int_equal(notify.watchdog_ns, expected_ns);
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
    notify_close(&notify);
}

TEST(watchdogs)
{
    assert_watchdog("1", NULL, 0, 1000); /* for another process */
    assert_watchdog("1", "1", 0, 0);     /* for another */
    assert_watchdog("x", "1", 0, 0);
    assert_watchdog("0", NULL, -EINVAL, 0);
    assert_watchdog("-1", NULL, -EINVAL, 0);
    assert_watchdog("18446744073709551615", NULL, -EINVAL, 0);
}

/* A manager that does not read: nobody waits for it. */
TEST(a_full_socket)
{
    char name[64];
    struct notify notify;
    int manager, result = 0;

    snprintf(name, sizeof(name), "@ripd-test/full/%d", (int)getpid());
    manager = manager_listen(name);
    setenv("NOTIFY_SOCKET", name, 1);
    assert_int_equal(notify_open(&notify), 0);
    for (int i = 0; i < 100000 && result == 0; i++)
        result = notify_send(&notify, "WATCHDOG=1\n", 11);
    assert_int_equal(result, -EAGAIN);
    notify_close(&notify);
    close(manager);
}

int main(void)
{
    return tests_run(set_up, tear_down);
}
