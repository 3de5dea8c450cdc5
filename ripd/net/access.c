/* SPDX-License-Identifier: Apache-2.0 */
/* access.c - decides which requests are allowed. Pure. */
#include "net/access.h"

#include <argz.h>
#include <arpa/inet.h>
#include <string.h>

#include "util/array.h"

#define NAME_BYTES_MAX 255u

/* The parts of host[:port]. */
struct authority {
    struct span host; /* without brackets and trailing dot */
    struct span port; /* empty if not given */
};

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

/* Returns how many leading bytes are letters, digits or one of `others`. */
static size_t name_length(struct span span, const char *others)
{
    size_t i = 0;

    while (i < span.length && span.bytes[i] != '\0' &&
           (strchr(others, span.bytes[i]) != NULL || (span.bytes[i] >= '0' && span.bytes[i] <= '9') ||
            ((span.bytes[i] | 0x20) >= 'a' && (span.bytes[i] | 0x20) <= 'z')))
        i++;
    return i;
}

/*
 * Parses an IP address into bytes. Returns 4 for IPv4 (mapped into IPv6 or not), 16 for IPv6, 0 if the text is neither.
 */
static size_t parse_address(struct span text, unsigned char ret_bytes[16])
{
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    char terminated[INET6_ADDRSTRLEN];

    if (text.length >= sizeof(terminated))
        return 0;
    memcpy(terminated, text.bytes, text.length);
    terminated[text.length] = '\0';
    if (inet_pton(AF_INET, terminated, ret_bytes) == 1)
        return 4;
    if (inet_pton(AF_INET6, terminated, ret_bytes) != 1)
        return 0;
    if (memcmp(ret_bytes, mapped, sizeof(mapped)) != 0)
        return 16;
    memmove(ret_bytes, ret_bytes + 12, 4);
    return 4;
}

static bool parse_authority(struct span text, struct authority *ret_authority)
{
    bool bracketed = text.length != 0 && text.bytes[0] == '[';
    struct authority authority = {{NULL, 0}, {NULL, 0}};
    unsigned char address[16];
    struct span rest = text;

    if (bracketed) {
        rest.bytes++;
        rest.length--;
        if (!span_cut(&rest, ']', &authority.host) || parse_address(authority.host, address) == 0 ||
            memchr(authority.host.bytes, ':', authority.host.length) == NULL)
            return false;
    } else {
        authority.host = (struct span){text.bytes, name_length(text, "-._")};
        rest = (struct span){text.bytes + authority.host.length, text.length - authority.host.length};
        if (authority.host.length > 1 && authority.host.bytes[authority.host.length - 1] == '.')
            authority.host.length--;
    }
    if (rest.length != 0) {
        authority.port = (struct span){rest.bytes + 1, rest.length - 1};
        if (rest.bytes[0] != ':' || rest.length > 6)
            return false;
        for (size_t i = 0; i < authority.port.length; i++)
            if (authority.port.bytes[i] < '0' || authority.port.bytes[i] > '9')
                return false;
    }
    *ret_authority = authority;
    return authority.host.length != 0 && authority.host.length <= NAME_BYTES_MAX;
}

bool access_host_valid(const char *text)
{
    struct authority authority;

    return parse_authority(span_of(text), &authority) && authority.port.bytes == NULL;
}

static bool is_loopback(struct span host)
{
    static const char name[] = ".localhost";
    static const unsigned char loopback6[16] = {[15] = 1};
    const size_t name_bytes = sizeof(name) - 1;
    unsigned char address[16];
    size_t length = parse_address(host, address);

    if (length != 0)
        return length == 4 ? address[0] == 127 : memcmp(address, loopback6, sizeof(loopback6)) == 0;
    return span_equals(host, name + 1) ||
           (host.length > name_bytes &&
            span_equals((struct span){host.bytes + host.length - name_bytes, name_bytes}, name));
}

static bool is_own_address(const struct access_rules *rules, struct span host)
{
    unsigned char own[16];
    unsigned char address[16];
    size_t length = rules->own_address == NULL ? 0 : parse_address(span_of(rules->own_address), own);

    return length != 0 && parse_address(host, address) == length && memcmp(own, address, length) == 0;
}

static bool is_ours(const struct access_rules *rules, struct span host)
{
    const struct access_hosts *hosts = rules->allowed;
    struct authority allowed;

    if (rules->is_unix || is_loopback(host) || is_own_address(rules, host))
        return true;
    for (char *name = NULL; hosts != NULL && (name = argz_next(hosts->names, hosts->bytes, name)) != NULL;)
        if (parse_authority(span_of(name), &allowed) && span_same(allowed.host, host))
            return true;
    return false;
}

/* Returns true if Origin has the scheme, host and port under which the browser sees this server; "null" does not. */
static bool is_same_origin(struct span origin, const struct authority *addressed)
{
    struct span default_port = span_of("80");
    struct authority authority;
    struct span scheme, ports[2];

    if (!span_cut(&origin, ':', &scheme) || origin.length < 2 || memcmp(origin.bytes, "//", 2) != 0)
        return false;
    if (span_equals(scheme, "https"))
        default_port = span_of("443");
    else if (!span_equals(scheme, "http"))
        return false;
    if (!parse_authority((struct span){origin.bytes + 2, origin.length - 2}, &authority))
        return false;
    ports[0] = authority.port.length != 0 ? authority.port : default_port;
    ports[1] = addressed->port.length != 0 ? addressed->port : default_port;
    return span_same(authority.host, addressed->host) && span_same(ports[0], ports[1]);
}

/*
 * Checks the fields in which the browser says where the request comes from. A link in an alert is a navigation: only
 * its user sees the result.
 */
static bool is_same_site(const struct http_request *request)
{
    const struct field *site = &request->fields[FIELD_SEC_FETCH_SITE];
    const struct field *destination = &request->fields[FIELD_SEC_FETCH_DEST];

    if (site->count == 0 || span_equals(site->value, "same-origin") || span_equals(site->value, "none"))
        return true;
    return request->method != REQUEST_OTHER && span_equals(request->fields[FIELD_SEC_FETCH_MODE].value, "navigate") &&
           (destination->count == 0 || span_equals(destination->value, "document"));
}

struct access_verdict access_decide(const struct access_rules *rules, const struct http_request *request)
{
    static const enum request_field browser_fields[] = {FIELD_ORIGIN, FIELD_SEC_FETCH_SITE, FIELD_SEC_FETCH_MODE,
                                                        FIELD_SEC_FETCH_DEST};
    const struct field *fields = request->fields;
    struct authority host, target;

    if (fields[FIELD_HOST].count != 1)
        return (struct access_verdict){400, "The request must have exactly one Host field."};
    if (!parse_authority(fields[FIELD_HOST].value, &host) ||
        (request->has_authority && !parse_authority(request->authority, &target)))
        return (struct access_verdict){400, "The host in the request must be NAME or NAME:PORT."};
    if (!is_ours(rules, host.host) || (request->has_authority && !is_ours(rules, target.host)))
        return (struct access_verdict){
            421, "The host in the request is not a name of this server; --allow-host NAME allows it."};
    for (size_t i = 0; i < ARRAY_COUNT(browser_fields); i++)
        if (fields[browser_fields[i]].count > 1)
            return (struct access_verdict){400, "The request has an Origin or Sec-Fetch field more than once."};
    if (fields[FIELD_ORIGIN].count != 0 &&
        !is_same_origin(fields[FIELD_ORIGIN].value, request->has_authority ? &target : &host))
        return (struct access_verdict){403, "The request comes from a page of another origin."};
    if (!is_same_site(request))
        return (struct access_verdict){403, "The request comes from a page of another site."};
    return (struct access_verdict){0, NULL};
}
