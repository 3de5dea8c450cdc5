/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_follow.c - an answer without an end, taken as it comes. Touches the network and the clock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client_inside.h"
#include "os/clock.h"

#define REFUSAL_BYTES_MAX 65536u
#define TURN_MS 1000 /* between looks at the silence */

struct following {
    struct client *client;
    const struct client_stream *stream;
    struct client_buffer refusal;
    char type[CLIENT_TYPE_BYTES];
    bool begun;
    bool refused; /* what comes is not the stream */
    bool stopped;
    uint64_t heard_mono_ns;
};

static size_t take(char *bytes, size_t size, size_t count, void *context)
{
    struct following *following = context;
    struct client *client = following->client;

    if (!following->begun) {
        following->begun = true;
        client_read_head(client, following->type);
        following->refused = client->status != 200 || strcmp(following->type, "text/event-stream") != 0;
    }
    if (following->refused)
        return client_buffer_add(&following->refusal, bytes, size * count) == 0 ? size * count : 0;
    following->stopped = following->stream->take(following->stream->context, bytes, size * count) != 0;
    following->heard_mono_ns = clock_mono_ns(); /* afterwards: while it was being taken, nobody listened */
    return following->stopped ? 0 : size * count;
}

static struct curl_slist *make_fields(const struct client *client, const char *last_event_id)
{
    struct curl_slist *fields = client->curl->slist_append(NULL, "Accept: text/event-stream"), *more;
    char text[128];

    if (fields == NULL || last_event_id == NULL || *last_event_id == '\0')
        return fields;
    snprintf(text, sizeof(text), "Last-Event-ID: %s", last_event_id);
    more = client->curl->slist_append(fields, text);
    if (more == NULL)
        client->curl->slist_free_all(fields);
    return more;
}

/* How it ended. */
static enum client_result verdict(const struct following *following, CURLcode code)
{
    const struct client *client = following->client;

    if (following->stopped)
        return CLIENT_STOPPED;
    if (following->refused)
        return client_refusal(client, following->type, following->refusal.text, following->refusal.bytes);
    if (client->status != 0 && !following->begun && code == CURLE_OK)
        return client_refusal(client, following->type, "", 0);
    return client_fail(CLIENT_UNREACHABLE, "%s: %s", client->shown,
                       code == CURLE_OK ? "the stream has ended" : client->curl->easy_strerror(code));
}

static enum client_result turn(struct following *following, CURLM *multi)
{
    const struct client *client = following->client;
    const struct curl_library *curl = client->curl;
    struct curl_waitfd stop = {.fd = following->stream->stop_descriptor, .events = CURL_WAIT_POLLIN};

    for (;;) {
        int running = 0, left;
        CURLMcode code = curl->multi_perform(multi, &running);
        const CURLMsg *message = curl->multi_info_read(multi, &left);

        if (message != NULL && message->msg == CURLMSG_DONE) {
            if (!following->begun)
                client_read_head(following->client, following->type);
            return verdict(following, message->data.result);
        }
        if (code == CURLM_OK)
            code = curl->multi_poll(multi, &stop, stop.fd >= 0 ? 1 : 0, TURN_MS, NULL);
        if (code != CURLM_OK)
            return client_fail(CLIENT_UNREACHABLE, "%s: %s", client->shown, curl->multi_strerror(code));
        if (stop.revents != 0)
            return CLIENT_STOPPED;
        if (clock_mono_ns() - following->heard_mono_ns > following->stream->silence_ns)
            return client_fail(CLIENT_UNREACHABLE, "%s: no sign of life any more", client->shown);
    }
}

enum client_result client_follow(struct client *client, const struct client_stream *stream)
{
    const struct curl_library *curl = client->curl;
    struct following following = {.client = client,
                                  .stream = stream,
                                  .refusal = {.bytes_max = REFUSAL_BYTES_MAX},
                                  .heard_mono_ns = clock_mono_ns()};
    struct curl_slist *fields = make_fields(client, stream->last_event_id);
    CURLM *multi = curl->multi_init();
    enum client_result result = client_fail(CLIENT_UNREACHABLE, "%s: out of memory", client->shown);

    if (multi != NULL && fields != NULL && client_prepare(client, stream->target) &&
        curl->easy_setopt(client->handle, CURLOPT_WRITEFUNCTION, take) == CURLE_OK &&
        curl->easy_setopt(client->handle, CURLOPT_WRITEDATA, &following) == CURLE_OK &&
        curl->easy_setopt(client->handle, CURLOPT_TIMEOUT_MS, 0L) == CURLE_OK &&
        curl->easy_setopt(client->handle, CURLOPT_HTTPHEADER, fields) == CURLE_OK &&
        curl->multi_add_handle(multi, client->handle) == CURLM_OK) {
        result = turn(&following, multi);
        curl->multi_remove_handle(multi, client->handle);
    }
    curl->easy_setopt(client->handle, CURLOPT_HTTPHEADER, NULL);
    if (multi != NULL)
        curl->multi_cleanup(multi);
    curl->slist_free_all(fields);
    free(following.refusal.text);
    return result;
}
