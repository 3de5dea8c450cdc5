/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - requests through libcurl. Touches the network, the environment for $RIPD_URL, and the clock. */
#include "cli/client.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "util/array.h"
#include "util/text.h"

#define TARGET_BYTES 4096u
#define REFUSAL_BYTES_MAX 65536u /* of an error answer in place of a stream */
#define POLL_MS 1000             /* how often the time without data is checked */
#define CONNECTIONS_MAX 200L     /* at once; further requests wait */

__attribute__((format(printf, 3, 4))) static enum client_result fail(struct client *client, enum client_result result,
                                                                     const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(client->error, sizeof(client->error), format, arguments);
    va_end(arguments);
    text_make_printable(client->error);
    return result;
}

/* Returns whether the text has nothing that could end a line or a request, or begin a query, in a URL. */
static bool is_plain(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f || *text == '?' || *text == '#')
            return false;
    return true;
}

/* Sets base, socket and shown. Returns false if the URL is wrong. */
static bool set_url(struct client *client, const char *url)
{
    size_t length = strlen(url);

    if (length >= CLIENT_URL_BYTES)
        return false;
    memcpy(client->shown, url, length + 1);
    if (strncmp(url, "unix:/", 6) == 0) {
        memcpy(client->socket, url + 5, length - 4);
        snprintf(client->base, sizeof(client->base), "http://localhost");
        return true;
    }
    if (!is_plain(url) || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) ||
        strchr("/:", strstr(url, "//")[2]) != NULL)
        return false;
    while (url[length - 1] == '/')
        length--;
    snprintf(client->base, sizeof(client->base), "%.*s", (int)length, url);
    snprintf(client->shown, sizeof(client->shown), "%s", client->base + (url[4] == ':' ? 7 : 0));
    return true;
}

enum client_result client_open(struct client *client, const char *url)
{
    const char *given = url != NULL ? url : getenv("RIPD_URL");

    *client = (struct client){.result = CLIENT_OK};
    if (given == NULL || *given == '\0')
        given = CLIENT_URL_DEFAULT;
    if (!set_url(client, given))
        return fail(client, CLIENT_REFUSED, "%s: '%.100s': expected http://HOST:PORT, https://HOST:PORT or unix:/PATH",
                    url != NULL ? "--url" : "RIPD_URL", given);
    client->handle = curl_easy_init();
    return client->handle != NULL ? CLIENT_OK : fail(client, CLIENT_NOT_UNDERSTOOD, "out of memory");
}

void client_close(struct client *client)
{
    json_decref(client->document);
    curl_easy_cleanup(client->handle);
}

static void read_head(struct client *client)
{
    const char *type = NULL;

    curl_easy_getinfo(client->handle, CURLINFO_RESPONSE_CODE, &client->status);
    curl_easy_getinfo(client->handle, CURLINFO_CONTENT_TYPE, &type);
    if (type == NULL)
        type = "";
    snprintf(client->type, sizeof(client->type), "%.*s", (int)strcspn(type, "; "), type);
}

static bool is_answer(const struct client *client, const char *type)
{
    return client->status == 200 && strcmp(client->type, type) == 0;
}

/* Callback of libcurl: stores bytes of the answer. Returning fewer than count ends the request. */
static size_t receive(char *bytes, size_t size, size_t count, void *context)
{
    struct client *client = context;
    const struct client_stream *stream = client->stream;

    count *= size;
    read_head(client);
    if (stream != NULL && is_answer(client, "text/event-stream")) {
        client->stopped = stream->take(stream->context, bytes, count) != 0;
        client->heard_mono_ns = clock_mono_ns(); /* after the call, because nothing is read during it */
        return client->stopped ? 0 : count;
    }
    if (client->bytes + count > (stream != NULL ? REFUSAL_BYTES_MAX : CLIENT_ANSWER_BYTES_MAX) ||
        !ARRAY_RESERVE(client->text, client->room, client->bytes + count))
        return 0;
    memcpy(client->text + client->bytes, bytes, count);
    client->bytes += count;
    return count;
}

/* Returns NULL if out of memory. */
static struct curl_slist *make_fields(const struct client_stream *stream)
{
    struct curl_slist *fields =
        curl_slist_append(NULL, stream != NULL ? "Accept: text/event-stream" : "Accept: application/json");
    struct curl_slist *more;
    char text[128];

    if (fields == NULL || stream == NULL || *stream->last_event_id == '\0')
        return fields;
    snprintf(text, sizeof(text), "Last-Event-ID: %s", stream->last_event_id);
    more = curl_slist_append(fields, text);
    if (more == NULL)
        curl_slist_free_all(fields);
    return more;
}

/* answer_ms 0: no time limit after the connection is made. */
static bool prepare(struct client *client, long answer_ms)
{
    char url[CLIENT_URL_BYTES + TARGET_BYTES];
    CURL *handle = client->handle;
    int length = snprintf(url, sizeof(url), "%s%s", client->base, client->target);

    client->heard_mono_ns = clock_mono_ns();
    client->fields = make_fields(client->stream);
    curl_easy_reset(handle);
    return client->fields != NULL && length > 0 && (size_t)length < sizeof(url) &&
           curl_easy_setopt(handle, CURLOPT_URL, url) == CURLE_OK &&
           (client->socket[0] == '\0' ||
            curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, client->socket) == CURLE_OK) &&
           curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_USERAGENT, "rip/" RIP_VERSION) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                            answer_ms != 0 && answer_ms < CLIENT_CONNECT_MS ? answer_ms : CLIENT_CONNECT_MS) ==
               CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, answer_ms) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_HTTPHEADER, client->fields) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_WRITEDATA, client) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_PRIVATE, client) == CURLE_OK;
}

/* Returns the result for an error answer. */
static enum client_result refusal(struct client *client)
{
    enum client_result result = client->status >= 500 ? CLIENT_UNREACHABLE : CLIENT_REFUSED;
    const char *detail = NULL;
    json_t *problem = NULL;

    if (strcmp(client->type, "application/problem+json") == 0)
        problem = json_loadb(client->text, client->bytes, JSON_ALLOW_NUL, NULL);
    if (json_unpack(problem, "{s:s}", "detail", &detail) == 0)
        fail(client, result, "%s: %s", client->shown, detail);
    else
        result =
            fail(client, result == CLIENT_REFUSED ? CLIENT_NOT_UNDERSTOOD : result,
                 "%s: the answer is not from ripd: status %ld, type '%s'", client->shown, client->status, client->type);
    json_decref(problem);
    return result;
}

/* Parses the received text into the document. */
static enum client_result read_document(struct client *client)
{
    json_t *document = json_loadb(client->text, client->bytes, JSON_ALLOW_NUL, NULL);
    const char *schema = json_string_value(json_object_get(document, "schema")), *expected = client->schema;
    enum client_result result = CLIENT_NOT_UNDERSTOOD;

    if (json_is_object(document) && (expected == NULL || (schema != NULL && strcmp(schema, expected) == 0)) &&
        (client->list == NULL || json_is_array(json_object_get(document, client->list)))) {
        client->document = document;
        return CLIENT_OK;
    }
    if (schema != NULL && expected != NULL && strcmp(schema, expected) != 0)
        fail(client, result, "ripd on %s has another version than this rip: it has %.64s, expected %s", client->shown,
             schema, expected);
    else
        fail(client, result, "%s: the answer is not from ripd: expected %s", client->shown,
             expected != NULL ? expected : "a JSON object");
    json_decref(document);
    return result;
}

/* Returns the result of a request that libcurl ended with code. */
static enum client_result conclude(struct client *client, CURLcode code)
{
    const char *shown = client->shown, *reason = curl_easy_strerror(code);
    const char *server = client->server != NULL ? client->server : "ripd";
    long error = 0;

    if (client->stopped)
        return CLIENT_STOPPED;
    if (code == CURLE_WRITE_ERROR)
        return fail(client, CLIENT_NOT_UNDERSTOOD, "%s: the answer is too large", shown);
    if (code == CURLE_COULDNT_CONNECT && curl_easy_getinfo(client->handle, CURLINFO_OS_ERRNO, &error) == 0 &&
        error != 0)
        reason = strerror((int)error);
    if (code != CURLE_OK)
        return fail(client, CLIENT_UNREACHABLE, "%s does not answer on %s (%c%s)%s%s", server, shown,
                    tolower((unsigned char)*reason), reason + 1,
                    code == CURLE_COULDNT_CONNECT ? ". Is it running? systemctl status " : "",
                    code == CURLE_COULDNT_CONNECT ? server : "");
    if (client->stream != NULL && is_answer(client, "text/event-stream"))
        return fail(client, CLIENT_UNREACHABLE, "ripd on %s has ended the stream", shown);
    return client->stream == NULL && is_answer(client, "application/json") ? read_document(client) : refusal(client);
}

static void set_result(struct client *client, enum client_result result)
{
    client->result = result;
    free(client->text);
    curl_slist_free_all(client->fields);
    client->text = NULL;
    client->fields = NULL;
}

/* Handles the requests that have ended since the last call. */
static void take_ended(CURLM *multi)
{
    const CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        struct client *client = NULL;
        CURLcode code = message->data.result;

        if (message->msg != CURLMSG_DONE ||
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &client) != CURLE_OK)
            continue;
        read_head(client);
        curl_multi_remove_handle(multi, client->handle);
        set_result(client, conclude(client, code));
    }
}

/*
 * Runs until all requests have ended, or the stream is stopped, and returns NULL. Otherwise returns the error of the
 * requests that have not ended.
 */
static const char *run_all(CURLM *multi, const struct client *first)
{
    const struct client_stream *stream = first->stream;
    struct curl_waitfd stop = {.fd = stream != NULL ? stream->stop_descriptor : -1, .events = CURL_WAIT_POLLIN};
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, CONNECTIONS_MAX);
    int running = 1;

    while (code == CURLM_OK) {
        code = curl_multi_perform(multi, &running);
        take_ended(multi);
        if (running == 0)
            return NULL;
        if (code == CURLM_OK)
            code = curl_multi_poll(multi, &stop, stop.fd >= 0 ? 1 : 0, POLL_MS, NULL);
        if (stop.revents != 0)
            return NULL;
        if (stream != NULL && clock_mono_ns() - first->heard_mono_ns > stream->silence_ns)
            return "silence";
    }
    return curl_multi_strerror(code);
}

void client_get_all(struct client *clients, size_t count, long answer_ms)
{
    CURLM *multi = curl_multi_init();
    const char *reason;

    for (size_t i = 0; i < count; i++) {
        struct client *client = &clients[i];

        json_decref(client->document);
        client->document = NULL;
        client->error[0] = '\0';
        client->result = CLIENT_OK;
        client->bytes = client->room = 0;
        client->status = 0;
        client->stopped = false;
        if (client->target != NULL &&
            (multi == NULL || !prepare(client, answer_ms) || curl_multi_add_handle(multi, client->handle) != CURLM_OK))
            set_result(client, fail(client, CLIENT_NOT_UNDERSTOOD, "out of memory"));
    }
    reason = multi != NULL && count != 0 ? run_all(multi, clients) : NULL;
    for (size_t i = 0; i < count; i++)
        if (clients[i].fields != NULL) {
            curl_multi_remove_handle(multi, clients[i].handle);
            set_result(&clients[i], reason == NULL ? CLIENT_STOPPED
                                                   : fail(&clients[i], CLIENT_UNREACHABLE,
                                                          "ripd does not answer on %s (%s)", clients[i].shown, reason));
        }
    curl_multi_cleanup(multi);
}

enum client_result client_follow(struct client *client, const struct client_stream *stream)
{
    client->target = stream->target;
    client->stream = stream;
    client_get_all(client, 1, 0);
    return client->result;
}

bool client_target_escape(char *target, size_t size, const char *text)
{
    char *escaped = curl_easy_escape(NULL, text, 0);
    const bool fits = escaped != NULL && strlen(target) + strlen(escaped) < size;

    if (fits)
        text_append(target, size, "%s", escaped);
    curl_free(escaped);
    return fits;
}

bool client_target_add(char *target, size_t size, const char *name, const char *value)
{
    text_append(target, size, "%c%s=", strchr(target, '?') != NULL ? '&' : '?', name);
    return strlen(target) + 1 < size && client_target_escape(target, size, value);
}
