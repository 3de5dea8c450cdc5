/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - requests through libcurl. Touches the network, the environment for $RIPD_URL, and the clock. */
#include "cli/client.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "util/array.h"
#include "util/text.h"

#define URL_BYTES 2048u
#define TARGET_BYTES 4096u
#define TYPE_BYTES 64u
#define REFUSAL_BYTES_MAX 65536u /* of what comes instead of a stream */
#define POLL_MS 1000             /* how often silence is checked */
#define CONNECTIONS_MAX 200L     /* at once; further requests wait for their turn */

struct client {
    CURL *handle;
    char base[URL_BYTES];   /* before the target */
    char socket[URL_BYTES]; /* "": TCP */
    char shown[URL_BYTES];  /* in errors */
};

/* One request and its answer. */
struct exchange {
    struct client *client;
    const struct client_stream *stream; /* NULL: a document is expected */
    long answer_ms;
    struct curl_slist *fields; /* of its header; NULL: it has its result */
    struct client_request *request;
    char *text; /* of the answer, unless it streams */
    size_t bytes;
    size_t room;
    size_t bytes_max;
    bool stopped;
    uint64_t heard_mono_ns;
    long status;
    char type[TYPE_BYTES];
};

static _Thread_local char error_text[CLIENT_ERROR_BYTES];

const char *client_error(void)
{
    return error_text;
}

__attribute__((format(printf, 2, 3))) static enum client_result fail(enum client_result result, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error_text, sizeof(error_text), format, arguments);
    va_end(arguments);
    text_make_printable(error_text);
    return result;
}

static enum client_result fail_for_memory(void)
{
    return fail(CLIENT_NOT_UNDERSTOOD, "out of memory");
}

/* Whether nothing in a URL can end a line or a request, or begins a query. */
static bool is_plain(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f || *text == '?' || *text == '#')
            return false;
    return true;
}

/* Fills base, socket and shown. False: the URL is wrong. */
static bool set_url(struct client *client, const char *url)
{
    size_t length = strlen(url);

    if (length >= URL_BYTES)
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

enum client_result client_new(struct client **ret_client, const char *url)
{
    struct client *client = calloc(1, sizeof(*client));
    const char *given = url != NULL ? url : getenv("RIPD_URL");

    if (client == NULL)
        return fail_for_memory();
    if (given == NULL || *given == '\0')
        given = CLIENT_URL_DEFAULT;
    if (!set_url(client, given)) {
        client_free(client);
        return fail(CLIENT_REFUSED, "%s: '%.100s': expected http://HOST:PORT, https://HOST:PORT or unix:/PATH",
                    url != NULL ? "--url" : "RIPD_URL", given);
    }
    client->handle = curl_easy_init();
    if (client->handle == NULL) {
        client_free(client);
        return fail_for_memory();
    }
    *ret_client = client;
    return CLIENT_OK;
}

void client_free(struct client *client)
{
    if (client == NULL)
        return;
    curl_easy_cleanup(client->handle);
    free(client);
}

const char *client_shown(const struct client *client)
{
    return client->shown;
}

static void read_head(struct exchange *exchange)
{
    const char *type = NULL;

    curl_easy_getinfo(exchange->client->handle, CURLINFO_RESPONSE_CODE, &exchange->status);
    curl_easy_getinfo(exchange->client->handle, CURLINFO_CONTENT_TYPE, &type);
    if (type == NULL)
        type = "";
    snprintf(exchange->type, sizeof(exchange->type), "%.*s", (int)strcspn(type, "; "), type);
}

static bool is_answer(const struct exchange *exchange, const char *type)
{
    return exchange->status == 200 && strcmp(exchange->type, type) == 0;
}

/* For libcurl: bytes of the answer. Not all of them: the request ends. */
static size_t receive(char *bytes, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;

    count *= size;
    read_head(exchange);
    if (exchange->stream != NULL && is_answer(exchange, "text/event-stream")) {
        exchange->stopped = exchange->stream->take(exchange->stream->context, bytes, count) != 0;
        exchange->heard_mono_ns = clock_mono_ns(); /* afterwards: nothing is read while bytes are taken */
        return exchange->stopped ? 0 : count;
    }
    if (exchange->bytes + count > exchange->bytes_max ||
        !ARRAY_RESERVE(exchange->text, exchange->room, exchange->bytes + count))
        return 0;
    memcpy(exchange->text + exchange->bytes, bytes, count);
    exchange->bytes += count;
    return count;
}

/* NULL: no memory. */
static struct curl_slist *make_fields(const struct client_stream *stream)
{
    struct curl_slist *fields =
        curl_slist_append(NULL, stream != NULL ? "Accept: text/event-stream" : "Accept: application/json");
    struct curl_slist *more;
    char text[128];

    if (fields == NULL || stream == NULL || stream->last_event_id == NULL || *stream->last_event_id == '\0')
        return fields;
    snprintf(text, sizeof(text), "Last-Event-ID: %s", stream->last_event_id);
    more = curl_slist_append(fields, text);
    if (more == NULL)
        curl_slist_free_all(fields);
    return more;
}

static bool prepare(struct exchange *exchange)
{
    const struct client *client = exchange->client;
    char url[URL_BYTES + TARGET_BYTES];
    CURL *handle = client->handle;
    int length = snprintf(url, sizeof(url), "%s%s", client->base, exchange->request->target);

    exchange->fields = make_fields(exchange->stream);

    curl_easy_reset(handle);
    return exchange->fields != NULL && length > 0 && (size_t)length < sizeof(url) &&
           curl_easy_setopt(handle, CURLOPT_URL, url) == CURLE_OK &&
           (client->socket[0] == '\0' ||
            curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, client->socket) == CURLE_OK) &&
           curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_USERAGENT, "rip/" RIP_VERSION) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                            exchange->answer_ms < CLIENT_CONNECT_MS ? exchange->answer_ms : CLIENT_CONNECT_MS) ==
               CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, exchange->stream != NULL ? 0 : exchange->answer_ms) ==
               CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_HTTPHEADER, exchange->fields) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_WRITEDATA, exchange) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_PRIVATE, exchange) == CURLE_OK;
}

/* What the answer says instead of what was expected. */
static enum client_result refusal(const struct exchange *exchange)
{
    const char *shown = exchange->client->shown, *detail = NULL;
    enum client_result result = exchange->status >= 500 ? CLIENT_UNREACHABLE : CLIENT_REFUSED;
    json_t *problem = NULL;

    if (strcmp(exchange->type, "application/problem+json") == 0)
        problem = json_loadb(exchange->text, exchange->bytes, JSON_ALLOW_NUL, NULL);
    if (json_unpack(problem, "{s:s}", "detail", &detail) == 0)
        fail(result, "%s: %s", shown, detail);
    else
        result =
            fail(result == CLIENT_REFUSED ? CLIENT_NOT_UNDERSTOOD : result,
                 "%s: the answer is not one of ripd's: status %ld, type '%s'", shown, exchange->status, exchange->type);
    json_decref(problem);
    return result;
}

/* How a request ended that libcurl ended with code. CLIENT_OK: the body of a document is in text. */
static enum client_result conclude(const struct exchange *exchange, CURLcode code)
{
    const char *shown = exchange->client->shown, *reason = curl_easy_strerror(code);
    const char *server = exchange->request->server != NULL ? exchange->request->server : "ripd";
    long error = 0;

    if (exchange->stopped)
        return CLIENT_STOPPED;
    if (code == CURLE_WRITE_ERROR)
        return fail(CLIENT_NOT_UNDERSTOOD, "%s: the answer is too large", shown);
    if (code == CURLE_COULDNT_CONNECT && curl_easy_getinfo(exchange->client->handle, CURLINFO_OS_ERRNO, &error) == 0 &&
        error != 0)
        reason = strerror((int)error);
    if (code != CURLE_OK)
        return fail(CLIENT_UNREACHABLE, "%s does not answer on %s (%c%s)%s%s", server, shown,
                    tolower((unsigned char)*reason), reason + 1,
                    code == CURLE_COULDNT_CONNECT ? ". Is it running? systemctl status " : "",
                    code == CURLE_COULDNT_CONNECT ? server : "");
    if (exchange->stream != NULL && is_answer(exchange, "text/event-stream"))
        return fail(CLIENT_UNREACHABLE, "ripd on %s has ended the stream", shown);
    if (exchange->stream != NULL || !is_answer(exchange, "application/json"))
        return refusal(exchange);
    return CLIENT_OK;
}

/* Whether they are of one document, "ripd/NAME/", in whichever version. */
static bool is_other_version(const char *schema, const char *expected)
{
    size_t length = (size_t)(strrchr(expected, '/') - expected) + 1;

    return schema != NULL && strncmp(schema, expected, length) == 0 && strcmp(schema, expected) != 0;
}

/* Turns what has been received into the document of its request. */
static enum client_result read_document(const struct exchange *exchange)
{
    struct client_request *request = exchange->request;
    json_t *document = json_loadb(exchange->text, exchange->bytes, JSON_ALLOW_NUL, NULL);
    const char *schema = json_string_value(json_object_get(document, "schema"));

    if (json_is_object(document) &&
        (request->schema == NULL || (schema != NULL && strcmp(schema, request->schema) == 0)) &&
        (request->list == NULL || json_is_array(json_object_get(document, request->list)))) {
        request->document = document;
        return CLIENT_OK;
    }
    if (request->schema == NULL)
        fail(CLIENT_NOT_UNDERSTOOD, "%s: the answer is not a JSON object", exchange->client->shown);
    else if (is_other_version(schema, request->schema))
        fail(CLIENT_NOT_UNDERSTOOD, "ripd on %s is of another version than this rip: it has %.64s, expected %s",
             exchange->client->shown, schema, request->schema);
    else
        fail(CLIENT_NOT_UNDERSTOOD, "%s: the answer is not one of ripd's: expected the schema %s",
             exchange->client->shown, request->schema);
    json_decref(document);
    return CLIENT_NOT_UNDERSTOOD;
}

/* Sets the result of a request, whose error text is that of the last failure. */
static void settle(struct exchange *exchange, enum client_result result)
{
    exchange->request->result = result;
    exchange->request->answered = exchange->status != 0;
    if (result != CLIENT_OK)
        snprintf(exchange->request->error, sizeof(exchange->request->error), "%s", error_text);
    free(exchange->text);
    curl_slist_free_all(exchange->fields);
    exchange->fields = NULL;
}

/* Those that have ended since it was last called. */
static void take_ended(CURLM *multi)
{
    const CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        struct exchange *exchange = NULL;
        CURLcode code = message->data.result;
        enum client_result result;

        if (message->msg != CURLMSG_DONE ||
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange) != CURLE_OK || exchange == NULL)
            continue;
        read_head(exchange);
        result = conclude(exchange, code);
        if (result == CLIENT_OK)
            result = read_document(exchange);
        curl_multi_remove_handle(multi, exchange->client->handle);
        settle(exchange, result);
    }
}

/* Until all have ended, or the one that streams is stopped: NULL; else what is wrong with those that have not. */
static const char *turn(CURLM *multi, const struct exchange *first)
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

static void perform(struct exchange *exchanges, size_t count)
{
    CURLM *multi = curl_multi_init();
    const char *reason;

    for (size_t i = 0; i < count; i++) {
        struct exchange *exchange = &exchanges[i];

        if (exchange->request->target == NULL)
            continue;
        exchange->heard_mono_ns = clock_mono_ns();
        if (multi == NULL || !prepare(exchange) || curl_multi_add_handle(multi, exchange->client->handle) != CURLM_OK)
            settle(exchange, fail_for_memory());
    }
    reason = multi != NULL ? turn(multi, exchanges) : NULL;
    for (size_t i = 0; i < count; i++)
        if (exchanges[i].fields != NULL) {
            const char *shown = exchanges[i].client->shown;

            curl_multi_remove_handle(multi, exchanges[i].client->handle);
            settle(&exchanges[i], reason == NULL
                                      ? CLIENT_STOPPED
                                      : fail(CLIENT_UNREACHABLE, "ripd does not answer on %s (%s)", shown, reason));
        }
    curl_multi_cleanup(multi);
}

void client_get_all(struct client_request *requests, size_t count, long answer_ms)
{
    struct exchange *exchanges = calloc(count + 1, sizeof(*exchanges));

    for (size_t i = 0; i < count; i++) {
        requests[i].document = NULL;
        requests[i].error[0] = '\0';
        requests[i].result = exchanges != NULL ? CLIENT_OK : fail_for_memory();
        if (exchanges != NULL)
            exchanges[i] = (struct exchange){.client = requests[i].client,
                                             .request = &requests[i],
                                             .answer_ms = answer_ms,
                                             .bytes_max = CLIENT_ANSWER_BYTES_MAX};
    }
    if (exchanges != NULL)
        perform(exchanges, count);
    free(exchanges);
}

enum client_result client_follow(struct client *client, const struct client_stream *stream)
{
    struct client_request request = {.client = client, .target = stream->target};
    struct exchange exchange = {.client = client,
                                .request = &request,
                                .stream = stream,
                                .answer_ms = CLIENT_CONNECT_MS,
                                .bytes_max = REFUSAL_BYTES_MAX};

    perform(&exchange, 1);
    return request.result;
}

int client_target_escape(char *target, size_t size, const char *text)
{
    for (size_t length = strlen(target); *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        bool plain = byte < 0x80 && (isalnum(byte) || strchr("-._~", byte) != NULL);

        if (size - length < sizeof("%ff"))
            return -ENAMETOOLONG;
        length += (size_t)snprintf(target + length, size - length, plain ? "%c" : "%%%02X", byte);
    }
    return 0;
}

int client_target_add(char *target, size_t size, const char *name, const char *value)
{
    size_t length = strlen(target);
    int added = snprintf(target + length, size - length, "%c%s=", strchr(target, '?') != NULL ? '&' : '?', name);

    if (added < 0 || (size_t)added >= size - length)
        return -ENAMETOOLONG;
    return client_target_escape(target, size, value);
}
