/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_parse.h - the parameters of a request into a query. Pure; the parameters are one table.
 */
#ifndef RIPD_VIEW_QUERY_PARSE_H
#define RIPD_VIEW_QUERY_PARSE_H

#include "cases/query.h"

/* Which parameters a path takes. */
#define PARAMETER_RING 0x1u
#define PARAMETER_PID 0x2u
#define PARAMETER_NAME 0x4u
#define PARAMETER_CAUSE 0x8u
#define PARAMETER_MIN_MS 0x10u
#define PARAMETER_LIMIT 0x20u
#define PARAMETER_AFTER 0x40u
#define PARAMETER_STATE 0x80u
#define PARAMETER_GROUP 0x200u
#define PARAMETER_KIND 0x100u         /* of events */
#define PARAMETER_GROUP_STALLS 0x800u /* "group" where there is one more */
#define PARAMETER_TRAIL 0x1000u
#define PARAMETER_UNIT 0x4000u
#define PARAMETER_CONTAINER 0x8000u
#define PARAMETER_SINCE 0x2000u         /* of events */
#define PARAMETER_AFTER_EVENT 0x400u    /* "after" where the cursor is an event's sequence number */
#define PARAMETER_LIMIT_STATES 0x10000u /* "limit" of a list of states */
#define PARAMETER_INCIDENT 0x20000u

struct query_error {
    char parameter[64]; /* as given, shortened */
    char detail[192];   /* what was found and what was expected */
};

struct query_parsing;
struct query_parameter {
    const char *name;
    unsigned bit;
    int (*parse)(struct query_parsing *parse, const char *value);
    const char *value_name;
    const char *summary; /* which of a list it leaves, for the manual page */
    size_t offset;       /* in struct query, of what takes the value; 0 where parse() knows it */
    uint64_t low, high;  /* of a number */
};

/* The table. */
extern const struct query_parameter query_parameters[];
extern const size_t query_parameters_count;

/* text: after the '?', percent-encoded; NULL or "" = none. 0, or -EINVAL with *ret_error filled. */
int query_parse(const char *text, unsigned allowed, struct query *ret_query, struct query_error *ret_error);

#define CURSOR_TEXT_BYTES 64u
/* Opaque to clients, URL-safe. */
void cursor_format(const struct query_cursor *cursor, char ret_text[CURSOR_TEXT_BYTES]);
int cursor_parse(const char *text, struct query_cursor *ret_cursor);

/*
 * Decodes `length` bytes of text and terminates them. plus_is_space: as HTML forms do in a query; never in a path. A
 * NUL would cut the text short of what the client meant, so it is refused. 0; -EINVAL: '%' without two hexadecimal
 * digits, or a NUL byte; -ENAMETOOLONG: more than capacity - 1 bytes.
 */
int percent_decode(const char *text, size_t length, bool plus_is_space, char *ret_text, size_t capacity);

#endif
