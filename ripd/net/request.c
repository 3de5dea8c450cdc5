/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - parses the head of an HTTP/1 request (RFC 9112), strictly. Pure.
 *
 * head_length() finds the end of the head and checks every byte of it once. Then the request line and the fields are
 * cut out of it. Only GET and HEAD are served, so the content of a body does not matter, only whether there is one.
 */
#include "net/request.h"

#include <string.h>

static const char *const field_names[FIELD_COUNT] = {
    [FIELD_HOST] = "host",
    [FIELD_ORIGIN] = "origin",
    [FIELD_SEC_FETCH_SITE] = "sec-fetch-site",
    [FIELD_SEC_FETCH_MODE] = "sec-fetch-mode",
    [FIELD_SEC_FETCH_DEST] = "sec-fetch-dest",
    [FIELD_CONNECTION] = "connection",
    [FIELD_CONTENT_LENGTH] = "content-length",
    [FIELD_TRANSFER_ENCODING] = "transfer-encoding",
    [FIELD_ACCEPT] = "accept",
    [FIELD_IF_NONE_MATCH] = "if-none-match",
    [FIELD_LAST_EVENT_ID] = "last-event-id",
};

static char to_lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

bool span_same(struct span left, struct span right)
{
    if (left.length != right.length)
        return false;
    for (size_t i = 0; i < left.length; i++)
        if (to_lower(left.bytes[i]) != to_lower(right.bytes[i]))
            return false;
    return true;
}

bool span_equals(struct span span, const char *lower_case)
{
    return span_same(span, (struct span){lower_case, strlen(lower_case)});
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* tchar of RFC 9110. */
static bool is_token_byte(char byte)
{
    return is_digit(byte) || (to_lower(byte) >= 'a' && to_lower(byte) <= 'z') ||
           (byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte) != NULL);
}

static bool is_token(struct span span)
{
    for (size_t i = 0; i < span.length; i++)
        if (!is_token_byte(span.bytes[i]))
            return false;
    return span.length != 0;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

struct span span_trim(struct span span)
{
    while (span.length != 0 && is_blank(span.bytes[0])) {
        span.bytes++;
        span.length--;
    }
    while (span.length != 0 && is_blank(span.bytes[span.length - 1]))
        span.length--;
    return span;
}

static enum request_outcome bad(struct request_fault *ret_fault, int status, const char *detail)
{
    *ret_fault = (struct request_fault){status, detail};
    return REQUEST_BAD;
}

/* Finds the empty line that ends the head. On REQUEST_COMPLETE, *ret_length includes that line. */
static enum request_outcome head_length(const char *bytes, size_t length, size_t scanned_bytes, size_t *ret_length,
                                        struct request_fault *ret_fault)
{
    size_t end = length < REQUEST_HEAD_BYTES_MAX ? length : REQUEST_HEAD_BYTES_MAX;

    for (size_t i = scanned_bytes; i < end; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte == '\n') {
            if (i == 0 || bytes[i - 1] != '\r')
                return bad(ret_fault, 400, "A line of the request does not end in CR LF.");
            if (i >= 3 && bytes[i - 2] == '\n') {
                *ret_length = i + 1;
                return REQUEST_COMPLETE;
            }
        } else if (i != 0 && bytes[i - 1] == '\r') {
            return bad(ret_fault, 400, "A line of the request contains a carriage return.");
        } else if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7f) {
            return bad(ret_fault, 400, "The request head contains a control character.");
        }
    }
    if (length >= REQUEST_HEAD_BYTES_MAX)
        return bad(ret_fault, 431, "The request head is longer than 16384 bytes.");
    return REQUEST_INCOMPLETE;
}

bool span_cut(struct span *rest, char separator, struct span *ret_before)
{
    const char *at = rest->length == 0 ? NULL : memchr(rest->bytes, separator, rest->length);
    size_t length = at == NULL ? rest->length : (size_t)(at - rest->bytes), taken = length + (at != NULL);

    *ret_before = (struct span){rest->bytes, length};
    *rest = (struct span){rest->bytes + taken, rest->length - taken};
    return at != NULL;
}

static bool starts_with(struct span span, const char *lower_case)
{
    size_t length = strlen(lower_case);

    return span.length >= length && span_equals((struct span){span.bytes, length}, lower_case);
}

/* Splits the target into authority, path and query. */
static enum request_outcome parse_target(struct span target, struct http_request *request,
                                         struct request_fault *ret_fault)
{
    size_t scheme_bytes = starts_with(target, "http://") ? 7 : starts_with(target, "https://") ? 8 : 0;
    struct span rest = {target.bytes + scheme_bytes, target.length - scheme_bytes};

    if (memchr(target.bytes, '#', target.length) != NULL)
        return bad(ret_fault, 400, "The request target has a fragment.");
    if (scheme_bytes != 0) {
        request->has_authority = true;
        request->authority = (struct span){rest.bytes, 0};
        while (rest.length != 0 && rest.bytes[0] != '/' && rest.bytes[0] != '?') {
            request->authority.length++;
            rest.bytes++;
            rest.length--;
        }
    }
    span_cut(&rest, '?', &request->path);
    request->query = rest;
    if (scheme_bytes != 0 && request->path.length == 0)
        request->path = (struct span){"/", 1};
    if (request->path.length == 0 || request->path.bytes[0] != '/') {
        if (request->method == REQUEST_OTHER) /* OPTIONS *, CONNECT host:port */
            return REQUEST_COMPLETE;
        return bad(ret_fault, 400, "The request target is neither a path nor an http URL.");
    }
    return REQUEST_COMPLETE;
}

static enum request_outcome parse_request_line(struct span line, struct http_request *request,
                                               struct request_fault *ret_fault)
{
    struct span method;
    struct span target;

    if (!span_cut(&line, ' ', &method) || !span_cut(&line, ' ', &target) || !is_token(method) || target.length == 0 ||
        memchr(target.bytes, '\t', target.length) != NULL)
        return bad(ret_fault, 400, "The request line is not METHOD TARGET VERSION with single spaces.");
    if (method.length == 3 && memcmp(method.bytes, "GET", 3) == 0)
        request->method = REQUEST_GET;
    else if (method.length == 4 && memcmp(method.bytes, "HEAD", 4) == 0)
        request->method = REQUEST_HEAD;
    else
        request->method = REQUEST_OTHER;
    if (line.length != 8 || memcmp(line.bytes, "HTTP/", 5) != 0 || !is_digit(line.bytes[5]) || line.bytes[6] != '.' ||
        !is_digit(line.bytes[7]))
        return bad(ret_fault, 400, "The request line does not end in an HTTP version.");
    if (line.bytes[5] != '1')
        return bad(ret_fault, 505, "Only HTTP/1.1 and HTTP/1.0 are supported.");
    request->minor_version = (unsigned)(line.bytes[7] - '0');
    return parse_target(target, request, ret_fault);
}

static enum request_outcome parse_field(struct span line, struct http_request *request, struct request_fault *ret_fault)
{
    struct span name;

    if (!span_cut(&line, ':', &name) || !is_token(name)) /* a folded line begins with a blank: not a token */
        return bad(ret_fault, 400, "A line of the request head is not NAME: VALUE.");
    for (int i = 0; i < FIELD_COUNT; i++) {
        struct field *field = &request->fields[i];

        if (!span_equals(name, field_names[i]))
            continue;
        if (field->count++ == 0)
            field->value = span_trim(line);
    }
    return REQUEST_COMPLETE;
}

/* Returns true if the comma-separated list contains the word. */
static bool list_has(struct span list, const char *lower_case)
{
    struct span word;

    while (list.length != 0) {
        span_cut(&list, ',', &word);
        if (span_equals(span_trim(word), lower_case))
            return true;
    }
    return false;
}

static enum request_outcome parse_length(struct http_request *request, struct request_fault *ret_fault)
{
    const struct field *field = &request->fields[FIELD_CONTENT_LENGTH];
    const struct field *coding = &request->fields[FIELD_TRANSFER_ENCODING];
    struct span value = field->value;
    size_t i;

    request->has_body = coding->count != 0;
    if (request->has_body &&
        (coding->count > 1 || request->minor_version == 0 || !span_equals(coding->value, "chunked")))
        return bad(ret_fault, 400, "The only transfer coding accepted is \"chunked\", once, in HTTP/1.1.");
    if (field->count == 0)
        return REQUEST_COMPLETE;
    for (i = 0; i < value.length && is_digit(value.bytes[i]); i++)
        request->has_body |= value.bytes[i] != '0';
    if (i == 0 || i != value.length || field->count > 1 || coding->count != 0)
        return bad(ret_fault, 400, "The length of the request body is not a single number.");
    return REQUEST_COMPLETE;
}

enum request_outcome request_parse(const char *bytes, size_t length, size_t scanned_bytes,
                                   struct http_request *ret_request, size_t *ret_head_bytes,
                                   struct request_fault *ret_fault)
{
    struct http_request request = {0};
    enum request_outcome outcome;
    size_t head_bytes = 0;
    struct span head, line;

    outcome = head_length(bytes, length, scanned_bytes, &head_bytes, ret_fault);
    if (outcome != REQUEST_COMPLETE)
        return outcome;
    head = (struct span){bytes, head_bytes - 2};                                         /* without the empty line */
    for (size_t i = 0; span_cut(&head, '\r', &line); i++, head.bytes++, head.length--) { /* skips the line feed */
        if (i > REQUEST_FIELDS_MAX)
            return bad(ret_fault, 431, "The request has more than 100 fields.");
        outcome = (i == 0 ? parse_request_line : parse_field)(line, &request, ret_fault);
        if (outcome != REQUEST_COMPLETE)
            return outcome;
    }
    outcome = parse_length(&request, ret_fault);
    if (outcome != REQUEST_COMPLETE)
        return outcome;
    request.keep_alive = request.minor_version == 0 ? list_has(request.fields[FIELD_CONNECTION].value, "keep-alive")
                                                    : !list_has(request.fields[FIELD_CONNECTION].value, "close");
    *ret_request = request;
    *ret_head_bytes = head_bytes;
    return REQUEST_COMPLETE;
}
