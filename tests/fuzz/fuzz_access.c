/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_access.c - the head of a request and the access rules: what is returned lies inside the bytes, a head in two
 * parts reads like the whole head, and requests are refused if their Host is not a name of this machine.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/access.h"

static void check_inside(struct span span, const uint8_t *bytes, size_t size_bytes)
{
    const char *first = (const char *)bytes;

    if (span.length != 0 && !(span.length == 1 && span.bytes[0] == '/'))
        require(span.bytes >= first && span.bytes + span.length <= first + size_bytes);
}

/* Checks the rules independently: without allowed names, only these hosts may be accepted. */
static void check_allowed(const struct http_request *request)
{
    const struct field *host = &request->fields[FIELD_HOST];
    char text[512] = "";

    require(host->count == 1 && host->value.length < sizeof(text));
    memcpy(text, host->value.bytes, host->value.length);
    require(strcasestr(text, "localhost") != NULL || strncmp(text, "127.", 4) == 0 || text[0] == '[');
    require(request->fields[FIELD_ORIGIN].count <= 1);
}

static void check_request(const struct http_request *request, const uint8_t *bytes, size_t size_bytes)
{
    static const struct access_rules rules = {0};
    static const struct access_rules unix_rules = {.is_unix = true};
    struct access_verdict verdict = access_decide(&rules, request);

    check_inside(request->path, bytes, size_bytes);
    check_inside(request->query, bytes, size_bytes);
    check_inside(request->authority, bytes, size_bytes);
    for (int i = 0; i < FIELD_COUNT; i++)
        check_inside(request->fields[i].value, bytes, size_bytes);
    require(request->method == REQUEST_OTHER || request->path.bytes[0] == '/');
    if (verdict.status == 0)
        check_allowed(request);
    else
        require(verdict.detail != NULL);
    require(verdict.status != 0 || access_decide(&unix_rules, request).status == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    const char *text = (const char *)bytes;
    enum request_outcome outcome;
    enum request_outcome of_part;
    struct http_request request;
    struct request_fault fault;
    size_t head_bytes = 0;

    outcome = request_parse(text, size_bytes, 0, &request, &head_bytes, &fault);
    if (outcome == REQUEST_COMPLETE) {
        require(head_bytes <= size_bytes && head_bytes <= REQUEST_HEAD_BYTES_MAX);
        check_request(&request, bytes, head_bytes);
    } else if (outcome == REQUEST_BAD) {
        require(fault.status >= 400 && fault.detail != NULL);
    }
    of_part = request_parse(text, size_bytes / 2, 0, &request, &head_bytes, &fault);
    if (of_part == REQUEST_INCOMPLETE)
        of_part = request_parse(text, size_bytes, size_bytes / 2, &request, &head_bytes, &fault);
    require(of_part == outcome);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "GET /stalls?limit=1 HTTP/1.1\r\nHost: localhost:7470\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
        "HEAD http://127.0.0.1:7470/threads/a%20b/17 HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [::1]:7470\r\nOrigin: http://[::1]:7470\r\nSec-Fetch-Site: same-origin\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.localhost.\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
        "PUT * HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
