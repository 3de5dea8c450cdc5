/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.c - who may ask. Pure. The rules are one table, each with the status it gives; the first that fails decides.
 */
#include "net/access.h"

#include <arpa/inet.h>
#include <string.h>

#define NAME_BYTES_MAX 255u

/* host[:port] in parts. */
struct authority {
    struct span host; /* without brackets and without a last dot */
    struct span port; /* empty if not given */
    bool is_ipv6;
};

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static char to_lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static bool is_name_byte(char byte)
{
    return is_digit(byte) || (to_lower(byte) >= 'a' && to_lower(byte) <= 'z') || byte == '-' || byte == '.' ||
           byte == '_';
}

/* Text equals text, letters of ASCII without case. */
static bool same_text(struct span left, struct span right)
{
    if (left.length != right.length)
        return false;
    for (size_t i = 0; i < left.length; i++)
        if (to_lower(left.bytes[i]) != to_lower(right.bytes[i]))
            return false;
    return true;
}

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

static bool ends_with(struct span span, const char *lower_case)
{
    size_t length = strlen(lower_case);

    return span.length > length && span_equals((struct span){span.bytes + span.length - length, length}, lower_case);
}

static bool parse_port(struct span rest, struct span *ret_port)
{
    if (rest.length == 0)
        return true;
    if (rest.bytes[0] != ':' || rest.length > 6)
        return false;
    for (size_t i = 1; i < rest.length; i++)
        if (!is_digit(rest.bytes[i]))
            return false;
    *ret_port = (struct span){rest.bytes + 1, rest.length - 1};
    return true;
}

/* A binary address: 4 bytes for IPv4 (mapped into IPv6 or not), 16 for IPv6. Returns 0 if the text is neither. */
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
    struct authority authority = {.is_ipv6 = text.length != 0 && text.bytes[0] == '['};
    unsigned char address[16];
    struct span rest;
    size_t length = 0;

    if (authority.is_ipv6) {
        const char *end = memchr(text.bytes, ']', text.length);

        if (end == NULL)
            return false;
        length = (size_t)(end - text.bytes) + 1;
        authority.host = (struct span){text.bytes + 1, length - 2};
        if (memchr(authority.host.bytes, ':', authority.host.length) == NULL ||
            parse_address(authority.host, address) == 0)
            return false;
    } else {
        while (length < text.length && is_name_byte(text.bytes[length]))
            length++;
        authority.host = (struct span){text.bytes, length};
        if (length > 1 && text.bytes[length - 1] == '.')
            authority.host.length--;
    }
    rest = (struct span){text.bytes + length, text.length - length};
    if (authority.host.length == 0 || authority.host.length > NAME_BYTES_MAX || !parse_port(rest, &authority.port))
        return false;
    *ret_authority = authority;
    return true;
}

bool access_host_valid(const char *text)
{
    struct authority authority;

    return parse_authority(span_of(text), &authority) && authority.port.bytes == NULL;
}

static bool is_loopback(struct span host)
{
    static const unsigned char loopback6[16] = {[15] = 1};
    unsigned char address[16];
    size_t length = parse_address(host, address);

    if (length == 0)
        return span_equals(host, "localhost") || ends_with(host, ".localhost");
    return length == 4 ? address[0] == 127 : memcmp(address, loopback6, sizeof(loopback6)) == 0;
}

static bool is_own_address(const struct access_rules *rules, struct span host)
{
    unsigned char own[16];
    unsigned char address[16];
    size_t length = rules->own_address == NULL ? 0 : parse_address(span_of(rules->own_address), own);

    return length != 0 && parse_address(host, address) == length && memcmp(own, address, length) == 0;
}

static bool is_allowed_name(const struct access_rules *rules, struct span host)
{
    for (size_t i = 0; i < rules->allow_host_count; i++) {
        struct authority allowed;

        if (parse_authority(span_of(rules->allow_hosts[i]), &allowed) && same_text(allowed.host, host))
            return true;
    }
    return false;
}

static bool is_ours(const struct access_rules *rules, const struct authority *authority)
{
    return rules->is_unix || is_loopback(authority->host) || is_own_address(rules, authority->host) ||
           is_allowed_name(rules, authority->host);
}

/* The request with Host and an absolute target's authority taken apart. */
struct question {
    const struct access_rules *rules;
    const struct http_request *request;
    struct authority host;
    struct authority target; /* meaningful if request->has_authority */
};

static bool host_given_once(struct question *question)
{
    return question->request->fields[FIELD_HOST].count == 1;
}

static bool names_well_formed(struct question *question)
{
    return parse_authority(question->request->fields[FIELD_HOST].value, &question->host) &&
           (!question->request->has_authority || parse_authority(question->request->authority, &question->target));
}

static bool names_ours(struct question *question)
{
    return is_ours(question->rules, &question->host) &&
           (!question->request->has_authority || is_ours(question->rules, &question->target));
}

static bool origin_fields_single(struct question *question)
{
    const struct field *fields = question->request->fields;

    return fields[FIELD_ORIGIN].count <= 1 && fields[FIELD_SEC_FETCH_SITE].count <= 1 &&
           fields[FIELD_SEC_FETCH_MODE].count <= 1 && fields[FIELD_SEC_FETCH_DEST].count <= 1;
}

static struct span port_or(struct span port, const char *otherwise)
{
    return port.length != 0 ? port : span_of(otherwise);
}

/* Origin is the scheme, host and port under which the browser sees this very server; "null" is not. */
static bool origin_same(struct question *question)
{
    const struct field *origin = &question->request->fields[FIELD_ORIGIN];
    const struct authority *addressed = question->request->has_authority ? &question->target : &question->host;
    struct span text = origin->value;
    const char *default_port = "80";
    struct authority authority;
    size_t scheme_bytes = 7;

    if (origin->count == 0)
        return true;
    if (text.length > 8 && span_equals((struct span){text.bytes, 8}, "https://")) {
        default_port = "443";
        scheme_bytes = 8;
    } else if (text.length <= 7 || !span_equals((struct span){text.bytes, 7}, "http://")) {
        return false;
    }
    text = (struct span){text.bytes + scheme_bytes, text.length - scheme_bytes};
    return parse_authority(text, &authority) && same_text(authority.host, addressed->host) &&
           same_text(port_or(authority.port, default_port), port_or(addressed->port, default_port));
}

/* Where the browser says the request comes from. A link in an alert is a navigation, and shows only to its user. */
static bool fetch_same_site(struct question *question)
{
    const struct field *fields = question->request->fields;
    const struct field *destination = &fields[FIELD_SEC_FETCH_DEST];
    struct span site = fields[FIELD_SEC_FETCH_SITE].value;

    if (fields[FIELD_SEC_FETCH_SITE].count == 0 || span_equals(site, "same-origin") || span_equals(site, "none"))
        return true;
    return question->request->method != REQUEST_OTHER && span_equals(fields[FIELD_SEC_FETCH_MODE].value, "navigate") &&
           (destination->count == 0 || span_equals(destination->value, "document"));
}

static const struct {
    bool (*holds)(struct question *question);
    int status;
    const char *detail;
} rules_in_order[] = {
    {host_given_once, 400, "The request must name the host it is for in one Host field."},
    {names_well_formed, 400, "The request's host is not NAME or NAME:PORT."},
    {names_ours, 421, "The request is for a host that is not this one; --allow-host NAME makes a name known."},
    {origin_fields_single, 400, "The request says more than once where it comes from."},
    {origin_same, 403, "The request comes from a page of another origin."},
    {fetch_same_site, 403, "The request comes from a page of another site."},
};

struct access_verdict access_decide(const struct access_rules *rules, const struct http_request *request)
{
    struct question question = {.rules = rules, .request = request};

    for (size_t i = 0; i < sizeof(rules_in_order) / sizeof(rules_in_order[0]); i++)
        if (!rules_in_order[i].holds(&question))
            return (struct access_verdict){rules_in_order[i].status, rules_in_order[i].detail};
    return (struct access_verdict){0, NULL};
}
