/* SPDX-License-Identifier: Apache-2.0 */
/* query_parse.h - parses the parameters of a request into a query. Pure; the parameters are one table. */
#ifndef RIPD_VIEW_QUERY_PARSE_H
#define RIPD_VIEW_QUERY_PARSE_H

#include "cases/query.h"

/* Bits of the parameters that a path takes. */
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
#define PARAMETER_GROUP_STALLS 0x800u /* "group" with more values */
#define PARAMETER_TRAIL 0x1000u
#define PARAMETER_UNIT 0x4000u
#define PARAMETER_CONTAINER 0x8000u
#define PARAMETER_SINCE 0x2000u         /* of events */
#define PARAMETER_AFTER_EVENT 0x400u    /* "after" if the cursor is the sequence number of an event */
#define PARAMETER_LIMIT_STATES 0x10000u /* "limit" for /states */
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
    const char *summary; /* which items it selects, for the manual page */
    size_t offset;       /* offset in struct query of the value; 0 if parse() sets it */
    uint64_t low, high;  /* bounds of a number */
};

/* The table. */
extern const struct query_parameter query_parameters[];
extern const size_t query_parameters_count;

/*
 * text is the part after the '?', percent-encoded; NULL or "" for none. Returns 0, or -EINVAL with *ret_error filled.
 */
int query_parse(const char *text, unsigned allowed, struct query *ret_query, struct query_error *ret_error);

#define CURSOR_TEXT_BYTES 64u
/* Cursors are opaque to clients, and safe in a URL. */
void cursor_format(const struct query_cursor *cursor, char ret_text[CURSOR_TEXT_BYTES]);
int cursor_parse(const char *text, struct query_cursor *ret_cursor);

/*
 * Decodes `length` bytes of text and terminates the result. plus_is_space: as in HTML forms in a query; never in a
 * path. A NUL byte is refused, because it would truncate the text. Returns 0; -EINVAL: '%' without two hexadecimal
 * digits, or a NUL byte; -ENAMETOOLONG: more than capacity - 1 bytes.
 */
int percent_decode(const char *text, size_t length, bool plus_is_space, char *ret_text, size_t capacity);

#endif
