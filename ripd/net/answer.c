/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - the status line and the fields of an answer.
 *
 * Guarantees
 *   A. Every answer but an event stream has its length, so that a connection can be kept; HEAD has the fields of GET,
 * its length included. B. No answer may be guessed at, framed, or read by a page of another origin; no CORS field,
 * ever. C. None may be stored, but that a client may keep a list to ask whether it is still the last word: never
 * another on its behalf.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "net/connection.h"
#include "os/clock.h"

static const struct {
    int status;
    const char *phrase;
} phrases[] = {
    {200, "OK"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {421, "Misdirected Request"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

const char *answer_phrase(int status)
{
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "Unknown";
}

static const char *date_now(struct http *http)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    uint64_t second = clock_wall_ns() / 1000000000;
    time_t time = (time_t)second;
    struct tm parts;

    if (second != http->date_second && gmtime_r(&time, &parts) != NULL) {
        snprintf(http->date_text, sizeof(http->date_text), "%s, %02d %s %04d %02d:%02d:%02d GMT", days[parts.tm_wday],
                 parts.tm_mday % 100, months[parts.tm_mon], (parts.tm_year + 1900) % 10000, parts.tm_hour % 100,
                 parts.tm_min % 100, parts.tm_sec % 100);
        http->date_second = second;
    }
    return http->date_text;
}

/* What an answer says of the connection: only where it is not what the client's version of HTTP takes for granted. */
static const char *connection_field(const struct connection *connection)
{
    if (!connection->keep_alive)
        return "Connection: close\r\n";
    return connection->minor_version == 0 ? "Connection: keep-alive\r\n" : "";
}

/* Of what the answer carries: nothing where it carries nothing (304). */
static void content_fields(const struct answer *answer, char *ret_text, size_t capacity)
{
    size_t length = answer->text_bytes + (answer->body == NULL ? 0 : answer->body->length);

    if (answer->content_type == NULL)
        ret_text[0] = '\0';
    else if (answer->endless)
        snprintf(ret_text, capacity, "Content-Type: %s\r\n", answer->content_type);
    else
        snprintf(ret_text, capacity, "Content-Type: %s\r\nContent-Length: %zu\r\n", answer->content_type, length);
}

/* Who may keep it: the client itself, to ask whether it still holds; otherwise nobody. */
static void cache_fields(const struct connection *connection, const struct answer *answer, char *ret_text,
                         size_t capacity)
{
    char tag[ETAG_TEXT_BYTES];

    if (answer->tag == NULL) {
        snprintf(ret_text, capacity, "Cache-Control: no-store\r\n");
        return;
    }
    etag_format(connection->http->instance, answer->tag, tag);
    snprintf(ret_text, capacity, "Cache-Control: private, no-cache\r\nETag: %s\r\n", tag);
}

int answer_write_head(struct connection *connection, const struct answer *answer)
{
    char content[128];
    char cache[64 + ETAG_TEXT_BYTES];
    char text[1024];
    int bytes;

    content_fields(answer, content, sizeof(content));
    cache_fields(connection, answer, cache, sizeof(cache));
    bytes = snprintf(text, sizeof(text),
                     "HTTP/1.1 %d %s\r\n"
                     "Date: %s\r\n"
                     "%s%s"
                     "X-Content-Type-Options: nosniff\r\n"
                     "Cross-Origin-Resource-Policy: same-origin\r\n"
                     "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
                     "%s%s\r\n",
                     answer->status, answer_phrase(answer->status), date_now(connection->http), content, cache,
                     answer->extra_fields == NULL ? "" : answer->extra_fields, connection_field(connection));
    if (bytes < 0 || (size_t)bytes >= sizeof(text) || evbuffer_add(connection->output, text, (size_t)bytes) < 0)
        return -ENOMEM;
    return 0;
}
