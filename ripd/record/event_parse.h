/* SPDX-License-Identifier: Apache-2.0 */
/* event_parse.h - from the JSON of the history to values. Private to record/. All return 0, -EBADMSG or -ENOMEM. */
#ifndef RIPD_RECORD_EVENT_PARSE_H
#define RIPD_RECORD_EVENT_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "cases/event.h"
#include "record/event_subject.h"

/* A number from 0 to max. */
int event_parse_number(const json_t *value, uint64_t max, uint64_t *ret_number);
/* A string of 1 to 16 hexadecimal digits. */
int event_parse_hex(const json_t *value, uint64_t *ret_number);

/* An event from its object and from the object's text, which it gets a copy of. */
int event_parse(const json_t *object, const char *text, size_t length, struct event **ret_event);

int event_parse_subject(const json_t *object, struct event_subject *ret_subject);

#endif
