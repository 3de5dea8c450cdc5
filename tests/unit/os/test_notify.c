/* SPDX-License-Identifier: Apache-2.0 */
/* test_notify.c - messages to a service manager's socket: ripd/os/notify.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/notify.h"
#include "support/ring_stage.h"
#include "support/test.h"

static struct ring_stage stage;

static int set_up(void **state)
{
    (void)state;
    ring_stage_open(&stage);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ring_stage_close(&stage);
    return 0;
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

static void send_and_receive(const struct notify *notify, int manager, const char *message)
{
    char text[64] = "";

    assert_int_equal(notify_send(notify, message, strlen(message)), 0);
    assert_int_equal(recv(manager, text, sizeof(text) - 1, 0), strlen(message));
    assert_string_equal(text, message);
}

static void assert_environment_clean(void)
{
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
}

static void assert_name_works(const char *name)
{
    int manager = manager_listen(name);
    struct notify notify;
    char pid[16];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "1500000", 1);
    setenv("WATCHDOG_PID", pid, 1);
    assert_int_equal(notify_open(&notify), 0);
    assert_environment_clean();
    assert_true(fcntl(notify.descriptor, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(notify.watchdog_ns, 1500000000);
    send_and_receive(&notify, manager, "READY=1\n");
    close(manager);
    assert_int_equal(notify_send(&notify, "WATCHDOG=1\n", 11), -ECONNREFUSED);
    if (name[0] == '/')
        unlink(name);
    manager = manager_listen(name); /* the manager was restarted */
    send_and_receive(&notify, manager, "WATCHDOG=1\n");
    close(manager);
    notify_close(&notify);
    assert_int_equal(notify.descriptor, -1);
    assert_int_equal(notify_send(&notify, "x", 1), 0);
}

TEST(path_and_abstract_name)
{
    char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];

    assert_name_works(ring_stage_path(&stage, "s"));
    snprintf(name, sizeof(name), "@ripd-test/%d", (int)getpid());
    assert_name_works(name);
    memset(name + strlen(name), 'x', sizeof(name) - 1 - strlen(name)); /* the longest name */
    name[sizeof(name) - 1] = '\0';
    assert_name_works(name);
}

TEST(invalid_addresses)
{
    static const char *const addresses[] = {"", "/", "@", "run/x", "vsock:2:1"};
    char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 2];
    struct notify notify;

    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        setenv("NOTIFY_SOCKET", addresses[i], 1);
        setenv("WATCHDOG_USEC", "1500000", 1);
        assert_int_equal(notify_open(&notify), -EAFNOSUPPORT);
        assert_int_equal(notify.descriptor, -1);
        assert_int_equal(notify.watchdog_ns, 0);
        assert_int_equal(notify_send(&notify, "READY=1\n", 8), 0);
        assert_environment_clean();
    }
    memset(name, '/', sizeof(name));
    for (size_t length = sizeof(name) - 2; length < sizeof(name); length++) {
        name[length] = '\0';
        setenv("NOTIFY_SOCKET", name, 1);
        assert_int_equal(notify_open(&notify), -ENAMETOOLONG);
        name[length] = '/';
    }
    assert_int_equal(notify_open(&notify), 0); /* no variable */
    assert_int_equal(notify.descriptor, -1);
}

TEST(watchdogs)
{
    static const struct {
        const char *value_us, *pid;
        int result;
        uint64_t watchdog_ns;
    } rows[] = {
        {"1", NULL, 0, 1000},     {"1", "1", 0, 0}, /* for another process */
        {"x", "1", 0, 0},         {"0", NULL, -EINVAL, 0},
        {"-1", NULL, -EINVAL, 0}, {"18446744073709551615", NULL, -EINVAL, 0},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct notify notify;

        setenv("NOTIFY_SOCKET", "@ripd-test-nobody", 1);
        setenv("WATCHDOG_USEC", rows[i].value_us, 1);
        if (rows[i].pid != NULL)
            setenv("WATCHDOG_PID", rows[i].pid, 1);
        assert_int_equal(notify_open(&notify), rows[i].result);
        assert_true(notify.descriptor >= 0); /* messages can be sent in any case */
        assert_int_equal(notify.watchdog_ns, rows[i].watchdog_ns);
        assert_environment_clean();
        notify_close(&notify);
    }
}

/* No call waits for a manager that does not read. */
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
