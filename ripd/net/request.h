/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - parses the head of an HTTP/1 request. Pure; the bytes are hostile.
 *
 * Guarantees
 *   A. Nothing outside the given bytes is read. The results point into them.
 *   B. What two parsers could read in different ways is refused: bare line feeds, folded lines, blanks before a colon,
 *      NUL and other control characters, two lengths, a length together with a transfer coding, a coding other than
 *      chunked.
 *   C. Outputs are untouched unless the outcome says so.
 */
#ifndef RIPD_NET_REQUEST_H
#define RIPD_NET_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_HEAD_BYTES_MAX 16384u
#define REQUEST_FIELDS_MAX 100u

/* Bytes that are not terminated. */
struct span {
    const char *bytes;
    size_t length;
};

enum request_method {
    REQUEST_GET,
    REQUEST_HEAD,
    REQUEST_OTHER,
};

/* Fields that are used. A field that occurs several times has count > 1 and its first value. */
enum request_field {
    FIELD_HOST,
    FIELD_ORIGIN,
    FIELD_SEC_FETCH_SITE,
    FIELD_SEC_FETCH_MODE,
    FIELD_SEC_FETCH_DEST,
    FIELD_CONNECTION,
    FIELD_CONTENT_LENGTH,
    FIELD_TRANSFER_ENCODING,
    FIELD_ACCEPT,
    FIELD_IF_NONE_MATCH,
    FIELD_LAST_EVENT_ID,
    FIELD_COUNT,
};

struct field {
    unsigned count;
    struct span value;
};

struct http_request {
    enum request_method method;
    unsigned minor_version; /* of HTTP/1 */
    bool has_authority;     /* the target was absolute */
    struct span authority;  /* of an absolute target */
    struct span path;       /* with its first '/'; still percent-encoded */
    struct span query;      /* after the '?'; empty if there is none */
    struct field fields[FIELD_COUNT];
    bool keep_alive; /* requested by the client */
    bool has_body;
};

struct request_fault {
    int status; /* of the answer */
    const char *detail;
};

enum request_outcome {
    REQUEST_COMPLETE,   /* *ret_request and *ret_head_bytes are set */
    REQUEST_INCOMPLETE, /* valid so far; more bytes are needed */
    REQUEST_BAD,        /* *ret_fault is set; the connection must be closed */
};

/* scanned_bytes is how many of the bytes an earlier call for this head has seen; 0 is always correct. */
enum request_outcome request_parse(const char *bytes, size_t length, size_t scanned_bytes,
                                   struct http_request *ret_request, size_t *ret_head_bytes,
                                   struct request_fault *ret_fault);

/* Removes surrounding blanks and tabs. */
struct span span_trim(struct span span);

/*
 * Cuts off the part before the first separator, or everything if there is none. Returns true if there was a separator.
 */
bool span_cut(struct span *rest, char separator, struct span *ret_before);

/* ASCII letters compare without case. */
bool span_same(struct span left, struct span right);
bool span_equals(struct span span, const char *lower_case);

#endif
