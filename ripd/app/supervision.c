/* SPDX-License-Identifier: Apache-2.0 */
/* supervision.c - the lines for the service manager. Pure. */
#include "app/supervision.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"

#define US UINT64_C(1000)
#define SECOND_NS UINT64_C(1000000000)
#define WATCHDOG_INTERVALS 3u /* a scan is late after 1.5 intervals; twice that */
#define PING_DIVISOR 8u
#define STATUS_STALLS_NS SECOND_NS
#define STATUS_NS (10 * SECOND_NS)
#define GROUPED_BYTES 32u

void supervision_init(struct supervision *supervision, uint64_t watchdog_ns)
{
    *supervision = (struct supervision){.configured_watchdog_ns = watchdog_ns, .watchdog_ns = watchdog_ns};
}

/* 1204 as "1,204". */
static const char *group(uint64_t number, char ret_text[GROUPED_BYTES])
{
    char digits[GROUPED_BYTES];
    size_t count = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number), used = 0;

    for (size_t i = 0; i < count; i++) {
        if (i != 0 && (count - i) % 3 == 0)
            ret_text[used++] = ',';
        ret_text[used++] = digits[i];
    }
    ret_text[used] = '\0';
    return ret_text;
}

static void describe(const struct snapshot *snapshot, char ret_status[SUPERVISION_STATUS_BYTES])
{
    char stalls[GROUPED_BYTES], ids[GROUPED_BYTES], rings[GROUPED_BYTES];
    uint64_t tenths_ms = (snapshot->scan_duration_ns + 50 * US) / (100 * US);

    snprintf(ret_status, SUPERVISION_STATUS_BYTES, "%s stalled of %s id%s in %s ring%s; last scan %" PRIu64 ".%u ms",
             group(snapshot->counts[ID_STALLED], stalls), group(snapshot->health.id_count, ids),
             snapshot->health.id_count == 1 ? "" : "s", group(snapshot->ring_count, rings),
             snapshot->ring_count == 1 ? "" : "s", tenths_ms / 10, (unsigned)(tenths_ms % 10));
}

static void append_status(struct supervision *supervision, uint64_t now_mono_ns, const struct snapshot *snapshot)
{
    bool first = supervision->status[0] == '\0',
         stalls_changed = snapshot->counts[ID_STALLED] != supervision->status_stall_count;
    uint64_t age_ns = now_mono_ns - supervision->status_mono_ns;
    char status[SUPERVISION_STATUS_BYTES];

    if (!first && age_ns < (stalls_changed ? STATUS_STALLS_NS : STATUS_NS))
        return;
    describe(snapshot, status);
    if (strcmp(status, supervision->status) == 0)
        return;
    memcpy(supervision->status, status, sizeof(status));
    supervision->status_mono_ns = now_mono_ns;
    supervision->status_stall_count = snapshot->counts[ID_STALLED];
    text_append(supervision->text, SUPERVISION_TEXT_BYTES, "STATUS=%s\n", status);
}

/* Adds READY=1 if it is not sent yet, and the watchdog that fits the interval. */
static void begin(struct supervision *supervision, uint64_t interval_ns)
{
    uint64_t needed_ns = WATCHDOG_INTERVALS * interval_ns;
    uint64_t wanted_ns =
        needed_ns > supervision->configured_watchdog_ns ? needed_ns : supervision->configured_watchdog_ns;

    snprintf(supervision->text, SUPERVISION_TEXT_BYTES, "%s", supervision->ready ? "" : "READY=1\n");
    supervision->ready = true;
    if (supervision->configured_watchdog_ns == 0 || wanted_ns == supervision->watchdog_ns)
        return;
    supervision->watchdog_ns = wanted_ns;
    text_append(supervision->text, SUPERVISION_TEXT_BYTES, "WATCHDOG_USEC=%" PRIu64 "\n", wanted_ns / US);
}

void supervision_scanned(struct supervision *supervision, uint64_t now_mono_ns, const struct snapshot *snapshot)
{
    bool first = !supervision->ready;

    begin(supervision, snapshot->interval_ns);
    if (supervision->watchdog_ns != 0 &&
        (first || now_mono_ns - supervision->pinged_mono_ns >= supervision->watchdog_ns / PING_DIVISOR)) {
        supervision->pinged_mono_ns = now_mono_ns;
        text_append(supervision->text, SUPERVISION_TEXT_BYTES, "WATCHDOG=1\n");
    }
    append_status(supervision, now_mono_ns, snapshot);
}

void supervision_reloading(struct supervision *supervision, uint64_t now_mono_ns)
{
    supervision->ready = false;
    snprintf(supervision->text, SUPERVISION_TEXT_BYTES, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n", now_mono_ns / US);
}

void supervision_reloaded(struct supervision *supervision, uint64_t interval_ns)
{
    begin(supervision, interval_ns);
}

void supervision_stopping(struct supervision *supervision)
{
    snprintf(supervision->text, SUPERVISION_TEXT_BYTES, "STOPPING=1\n");
}
