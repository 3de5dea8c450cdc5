/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.c - sends datagrams to the service manager. Touches that socket and the variables that name it.
 *
 * The socket is not connected, so datagrams reach a manager that has created its socket again under the same name. The
 * manager identifies the sender by the credentials that the kernel adds.
 */
#include "os/notify.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "os/environment.h"

#define US UINT64_C(1000)

static int read_watchdog(uint64_t *ret_watchdog_ns)
{
    int addressee = environment_take_pid("WATCHDOG_PID");
    uint64_t value_us;
    int result = environment_take_number("WATCHDOG_USEC", &value_us);

    if (addressee == -ESRCH || result == -ENOENT)
        return 0;
    if (result < 0 || value_us == 0 || value_us > UINT64_MAX / US)
        return -EINVAL;
    *ret_watchdog_ns = value_us * US;
    return 0;
}

/* Returns 0, -ENOENT if there is no manager, or another -errno. */
static int read_address(struct notify *notify)
{
    char text[sizeof(notify->address.sun_path) + 1]; /* an abstract name may fill sun_path without a terminator */
    int length = environment_take("NOTIFY_SOCKET", text, sizeof(text));

    if (length < 0)
        return length;
    if (length < 2 || (text[0] != '/' && text[0] != '@'))
        return -EAFNOSUPPORT;
    if (text[0] == '/' && (size_t)length >= sizeof(notify->address.sun_path))
        return -ENAMETOOLONG;
    notify->address.sun_family = AF_UNIX;
    memcpy(notify->address.sun_path, text, (size_t)length);
    notify->address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length);
    if (text[0] == '@')
        notify->address.sun_path[0] = '\0';
    else
        notify->address_bytes++; /* the terminator */
    return 0;
}

int notify_open(struct notify *ret_notify)
{
    struct notify notify = {.descriptor = -1};
    int watchdog = read_watchdog(&notify.watchdog_ns);
    int result = read_address(&notify);

    if (result == 0) {
        notify.descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        result = notify.descriptor < 0 ? -errno : watchdog;
    } else {
        notify.watchdog_ns = 0; /* there is no manager */
    }
    *ret_notify = notify;
    return result == -ENOENT ? 0 : result;
}

void notify_close(struct notify *notify)
{
    if (notify->descriptor >= 0)
        close(notify->descriptor);
    notify->descriptor = -1;
}

int notify_send(const struct notify *notify, const char *text, size_t length)
{
    if (notify->descriptor < 0)
        return 0;
    if (sendto(notify->descriptor, text, length, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&notify->address,
               notify->address_bytes) < 0)
        return -errno;
    return 0;
}
