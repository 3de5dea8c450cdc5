/* SPDX-License-Identifier: Apache-2.0 */
/* sample_event.h - events with a text of any size. */
#ifndef TESTS_UNIT_SAMPLE_EVENT_H
#define TESTS_UNIT_SAMPLE_EVENT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/event.h"

/*
 * Odd sequences are begins, even ones are ends. The ring is "checkout"; the id and the pid are the sequence. The text
 * has at least text_bytes.
 */
static inline struct event *sample_event(uint64_t sequence, size_t text_bytes)
{
    struct event *event = calloc(1, sizeof(*event));
    char *text = malloc(text_bytes + 128);
    int length = snprintf(text, 128, "{\"sequence\":%llu,\"fill\":\"", (unsigned long long)sequence);

    while ((size_t)length < text_bytes)
        text[length++] = 'x';
    memcpy(text + length, "\"}", 3);
    atomic_init(&event->references, 1);
    event->sequence = sequence;
    event->kind = sequence % 2 == 1 ? EVENT_BEGIN : EVENT_END;
    event->episode = event->incident = (sequence + 1) / 2;
    event->at_wall_ns = UINT64_C(1795167660000000000) + sequence * 1000000000; /* from 2026-11-20T09:41:01Z on */
    event->duration_ns = sequence * 1000000;
    event->cause = sequence % 3 == 0 ? CAUSE_BLOCKED : CAUSE_SPINNING;
    event->id = (uint32_t)sequence;
    event->pid = (uint32_t)sequence;
    memcpy(event->ring, "checkout", sizeof("checkout"));
    event->name_bytes = (uint8_t)snprintf((char *)event->name, RIP_NAME_BYTES, "worker-%u", (unsigned)sequence % 100);
    event->text = text;
    event->text_bytes = strlen(text);
    return event;
}

#endif
