/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - requests through libcurl. Touches the network, the environment for $RIPD_URL, the clock.
 */
#include "cli/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client_inside.h"
#include "cli/curl_library.h"

static char error_text[CLIENT_ERROR_BYTES];

const char *client_error(void)
{
    return error_text;
}

long client_status(const struct client *client)
{
    return client->status;
}

const char *client_url(const struct client *client)
{
    return client->shown;
}

enum client_result client_fail(enum client_result result, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error_text, sizeof(error_text), format, arguments);
    va_end(arguments);
    for (char *at = error_text; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
            *at = '?';
    return result;
}

/* What a URL is made of: nothing that could end a line or a request, no question behind it. */
static bool is_plain(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f || *text == '?' || *text == '#')
            return false;
    return true;
}

/* Base and socket of a URL. False: it is none that we take. */
static bool take_url(struct client *client, const char *url)
{
    static const char unix_scheme[] = "unix:";
    size_t length = strlen(url);

    if (length >= CLIENT_URL_BYTES)
        return false;
    if (strncmp(url, unix_scheme, sizeof(unix_scheme) - 1) == 0) {
        if (url[sizeof(unix_scheme) - 1] != '/')
            return false;
        snprintf(client->socket, sizeof(client->socket), "%s", url + sizeof(unix_scheme) - 1);
        snprintf(client->base, sizeof(client->base), "http://localhost");
        return true;
    }
    if (!is_plain(url) || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) ||
        strchr("/:", strstr(url, "//")[2]) != NULL)
        return false;
    while (length > 0 && url[length - 1] == '/')
        length--;
    snprintf(client->base, sizeof(client->base), "%.*s", (int)length, url);
    return true;
}

enum client_result client_new(struct client **ret_client, const char *url)
{
    struct client *client = calloc(1, sizeof(*client));
    const char *given = url != NULL ? url : getenv("RIPD_URL");
    const char *reason = NULL;

    if (client == NULL)
        return client_fail(CLIENT_UNREACHABLE, "out of memory");
    if (given == NULL || *given == '\0')
        given = CLIENT_URL_DEFAULT;
    snprintf(client->shown, sizeof(client->shown), "%s", given);
    if (!take_url(client, given)) {
        client_free(client);
        return client_fail(CLIENT_REFUSED, "%s: '%.100s': expected http://HOST:PORT, https://HOST:PORT or unix:/PATH",
                           url != NULL ? "--url" : "RIPD_URL", given);
    }
    client->curl = curl_library_load(&reason);
    if (client->curl != NULL) {
        client->handle = client->curl->easy_init();
        reason = "out of memory";
    }
    if (client->handle == NULL) {
        client_free(client);
        return client_fail(CLIENT_UNREACHABLE, "%s", reason);
    }
    *ret_client = client;
    return CLIENT_OK;
}

void client_free(struct client *client)
{
    if (client == NULL)
        return;
    if (client->handle != NULL)
        client->curl->easy_cleanup(client->handle);
    free(client);
}

bool client_prepare(struct client *client, const char *target)
{
    const struct curl_library *curl = client->curl;
    char url[CLIENT_URL_BYTES + CLIENT_TARGET_BYTES];
    CURL *handle = client->handle;
    int length = snprintf(url, sizeof(url), "%s%s", client->base, target);

    client->status = 0;
    return length > 0 && (size_t)length < sizeof(url) && curl->easy_setopt(handle, CURLOPT_URL, url) == CURLE_OK &&
           (client->socket[0] == '\0' ||
            curl->easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, client->socket) == CURLE_OK) &&
           curl->easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl->easy_setopt(handle, CURLOPT_PROXY, "") == CURLE_OK &&
           curl->easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl->easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl->easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl->easy_setopt(handle, CURLOPT_USERAGENT, "rip/" RIP_VERSION) == CURLE_OK &&
           curl->easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)CLIENT_CONNECT_MS) == CURLE_OK;
}

void client_read_head(struct client *client, char ret_type[CLIENT_TYPE_BYTES])
{
    const char *type = NULL;

    client->curl->easy_getinfo(client->handle, CURLINFO_RESPONSE_CODE, &client->status);
    client->curl->easy_getinfo(client->handle, CURLINFO_CONTENT_TYPE, &type);
    snprintf(ret_type, CLIENT_TYPE_BYTES, "%.*s", type != NULL ? (int)strcspn(type, "; ") : 0,
             type != NULL ? type : "");
}

enum client_result client_refusal(const struct client *client, const char *type, const char *body, size_t bytes)
{
    json_t *problem = NULL;
    enum client_result result;
    const char *detail = NULL;

    if (strcmp(type, "application/problem+json") == 0)
        problem = json_loadb(body, bytes, JSON_ALLOW_NUL, NULL);
    if (json_unpack(problem, "{s:s}", "detail", &detail) == 0)
        result = client_fail(CLIENT_REFUSED, "%s: %s", client->shown, detail);
    else
        result = client_fail(CLIENT_NOT_UNDERSTOOD, "%s: not an answer of ripd's: status %ld, %s", client->shown,
                             client->status, *type != '\0' ? type : "of no type");
    json_decref(problem);
    return result;
}

int client_buffer_add(struct client_buffer *buffer, const char *bytes, size_t count)
{
    if (buffer->bytes + count > buffer->bytes_max)
        return -EMSGSIZE;
    if (buffer->bytes + count > buffer->room) {
        size_t room = (buffer->bytes + count) * 2;
        char *grown = realloc(buffer->text, room);

        if (grown == NULL)
            return -ENOMEM;
        buffer->text = grown;
        buffer->room = room;
    }
    memcpy(buffer->text + buffer->bytes, bytes, count);
    buffer->bytes += count;
    return 0;
}

static size_t collect(char *bytes, size_t size, size_t count, void *context)
{
    return client_buffer_add(context, bytes, size * count) == 0 ? size * count : 0;
}

static enum client_result parse_document(const struct client *client, const struct client_buffer *buffer,
                                         const char *name, json_t **ret_document)
{
    json_t *document = json_loadb(buffer->text, buffer->bytes, JSON_ALLOW_NUL, NULL);
    char expected[64];
    const char *schema;

    snprintf(expected, sizeof(expected), "ripd/%s/1", name);
    if (json_unpack(document, "{s:s}", "schema", &schema) == 0 && strcmp(schema, expected) == 0) {
        *ret_document = document;
        return CLIENT_OK;
    }
    json_decref(document);
    return client_fail(CLIENT_NOT_UNDERSTOOD, "%s: not an answer of ripd's: expected the schema %s", client->shown,
                       expected);
}

enum client_result client_get(struct client *client, const char *target, const char *name, json_t **ret_document)
{
    const struct curl_library *curl = client->curl;
    struct client_buffer buffer = {.bytes_max = CLIENT_ANSWER_BYTES_MAX};
    char type[CLIENT_TYPE_BYTES];
    enum client_result result;
    CURLcode code = CURLE_OUT_OF_MEMORY;

    if (client_prepare(client, target) &&
        curl->easy_setopt(client->handle, CURLOPT_WRITEFUNCTION, collect) == CURLE_OK &&
        curl->easy_setopt(client->handle, CURLOPT_WRITEDATA, &buffer) == CURLE_OK &&
        curl->easy_setopt(client->handle, CURLOPT_TIMEOUT_MS, (long)CLIENT_ANSWER_MS) == CURLE_OK)
        code = curl->easy_perform(client->handle);
    client_read_head(client, type);
    if (code == CURLE_WRITE_ERROR)
        result = client_fail(CLIENT_NOT_UNDERSTOOD, "%s: the answer is too large", client->shown);
    else if (code != CURLE_OK)
        result = client_fail(CLIENT_UNREACHABLE, "%s: %s", client->shown, curl->easy_strerror(code));
    else if (client->status != 200 || strcmp(type, "application/json") != 0)
        result = client_refusal(client, type, buffer.text, buffer.bytes);
    else
        result = parse_document(client, &buffer, name, ret_document);
    free(buffer.text);
    return result;
}

int client_target_add(char *target, size_t size, const char *name, const char *value)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t length = strlen(target);
    int added = snprintf(target + length, size - length, "%c%s=", strchr(target, '?') != NULL ? '&' : '?', name);

    if (added < 0 || (size_t)added >= size - length)
        return -ENAMETOOLONG;
    for (length += (size_t)added; *value != '\0'; value++) {
        unsigned char byte = (unsigned char)*value;

        if (size - length < sizeof("%ff"))
            return -ENAMETOOLONG;
        length += (size_t)snprintf(target + length, size - length, strchr(plain, byte) != NULL ? "%c" : "%%%02X", byte);
    }
    return 0;
}
