/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - sends messages to the service manager. A message that could not be sent is repeated. */
#include "app/service.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "app/log.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/unix_diag.h"

#define MS 1000000u

static int take_sockets(struct service *service)
{
    int error = activation_take(&service->activation);

    if (error != 0) {
        log_line(LOG_LEVEL_ERROR,
                 error == -E2BIG ? "LISTEN_FDS: more than %u sockets were passed"
                                 : "LISTEN_FDS is not a number, expected one up to %u",
                 ACTIVATION_MAX);
        return -EINVAL;
    }
    for (size_t i = 0; i < service->activation.count; i++) {
        const struct activation_entry *entry = &service->activation.entries[i];

        if (!entry->open) {
            log_line(LOG_LEVEL_ERROR,
                     "LISTEN_FDS: descriptor %d (%s) is not open; expected a stream socket that listens", entry->number,
                     entry->name);
            return -EINVAL;
        }
        if (!unix_diag_is(entry->number))
            service->passed[service->passed_count++] = (struct http_passed){entry->number, entry->name};
        else if (service->diag == NULL)
            service->diag = entry;
        else
            close(entry->number); /* one is enough */
    }
    return 0;
}

int service_open(struct service *service)
{
    uint64_t descriptors_max;
    int error;

    *service = (struct service){.notify = {.descriptor = -1}};
    descriptors_max = file_raise_descriptors_max(&service->descriptors_before);
    if (descriptors_max < SERVICE_DESCRIPTORS_MIN) {
        log_line(LOG_LEVEL_ERROR, "cannot start: RLIMIT_NOFILE allows %" PRIu64 " descriptors, at least %u are needed",
                 descriptors_max, SERVICE_DESCRIPTORS_MIN);
        return -EMFILE;
    }
    error = take_sockets(service); /* before anything is opened: a number that was not passed must not be reused */
    if (error != 0)
        return error;
    error = notify_open(&service->notify);
    if (error == -EAFNOSUPPORT)
        log_line(LOG_LEVEL_WARNING, "NOTIFY_SOCKET is neither a path nor an abstract name: "
                                    "nothing is sent to the service manager");
    else if (error == -EINVAL)
        log_line(LOG_LEVEL_WARNING, "WATCHDOG_USEC is not a number of microseconds: the watchdog is off");
    else if (error != 0)
        log_line(LOG_LEVEL_WARNING, "NOTIFY_SOCKET: %s: nothing is sent to the service manager", strerror(-error));
    supervision_init(&service->supervision, service->notify.watchdog_ns);
    return 0;
}

void service_close(struct service *service)
{
    notify_close(&service->notify);
}

void service_report_sockets(const struct service *service, const struct http *http)
{
    for (size_t i = 0; i < service->passed_count; i++) {
        const struct http_passed *passed = &service->passed[i];
        char quoted[LOG_QUOTED_BYTES];

        log_line(LOG_LEVEL_INFO, "socket passed by the service manager: descriptor=%d name=%s address=%s",
                 passed->descriptor, log_quote_text(passed->name, quoted), http_address(http, i));
    }
    if (service->diag != NULL) {
        char quoted[LOG_QUOTED_BYTES];

        log_line(LOG_LEVEL_INFO,
                 "socket passed by the service manager: descriptor=%d name=%s address=netlink:sock-diag",
                 service->diag->number, log_quote_text(service->diag->name, quoted));
    }
}

static void log_failure(struct service *service, int error)
{
    if (!service->complained)
        log_line(LOG_LEVEL_WARNING, "cannot send to the service manager: %s", strerror(-error));
    service->complained = true;
}

/* next is the supervision state once its text has been sent. */
static void send_next(struct service *service, const struct supervision *next)
{
    uint64_t watchdog_ns = service->supervision.watchdog_ns;
    size_t length = strlen(next->text);
    int error = length != 0 ? notify_send(&service->notify, next->text, length) : 0;

    if (error != 0) {
        log_failure(service, error);
        return;
    }
    service->complained = service->complained && length == 0;
    service->supervision = *next;
    if (next->watchdog_ns != watchdog_ns)
        log_line(LOG_LEVEL_WARNING,
                 "the watchdog does not fit the scan interval, requested another one: "
                 "configured_ms=%" PRIu64 " before_ms=%" PRIu64 " now_ms=%" PRIu64,
                 next->configured_watchdog_ns / MS, watchdog_ns / MS, next->watchdog_ns / MS);
}

void service_scanned(struct service *service, const struct snapshot *snapshot)
{
    struct supervision next = service->supervision;

    supervision_scanned(&next, clock_mono_ns(), snapshot);
    send_next(service, &next);
}

void service_reloading(struct service *service)
{
    struct supervision next = service->supervision;

    supervision_reloading(&next, clock_mono_ns());
    send_next(service, &next);
}

void service_reloaded(struct service *service, uint64_t interval_ns)
{
    struct supervision next = service->supervision;

    supervision_reloaded(&next, interval_ns);
    send_next(service, &next);
}

void service_stopping(struct service *service)
{
    struct supervision next = service->supervision;

    supervision_stopping(&next);
    send_next(service, &next);
}
