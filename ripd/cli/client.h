/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - requests to a ripd over HTTP.
 *
 * The server is --url, else $RIPD_URL, else http://127.0.0.1:7470: http://HOST[:PORT][/PATH], https://..., or
 * unix:/PATH.
 *
 * Guarantees
 *   A. Only that server is asked: no redirect is followed and no proxy used, whatever the environment says.
 *   B. An answer is limited in bytes and in time, and one that is not ripd's is refused.
 *   C. Every failure has a text, one line of printable ASCII, that names the server.
 */
#ifndef RIP_CLI_CLIENT_H
#define RIP_CLI_CLIENT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_ANSWER_BYTES_MAX (256u << 20)
#define CLIENT_CONNECT_MS 5000L
#define CLIENT_ANSWER_MS 60000L
#define CLIENT_URL_DEFAULT "http://127.0.0.1:7470"

struct client;

enum client_result {
    CLIENT_OK,
    CLIENT_UNREACHABLE,    /* ripd does not answer now: no connection, an answer cut short, silence, a 5xx status */
    CLIENT_REFUSED,        /* ripd refuses the request, or the URL is wrong */
    CLIENT_NOT_UNDERSTOOD, /* the answer is not one of ripd's */
    CLIENT_STOPPED,        /* by take() or stop_descriptor of a stream */
};

/* url NULL: from the environment. CLIENT_REFUSED: the URL is wrong. */
enum client_result client_new(struct client **ret_client, const char *url);
void client_free(struct client *client);

/* What went wrong last, in this or any other client. */
const char *client_error(void);

/*
 * The list document at target, such as "/events?limit=5": its "schema" is "ripd/NAME/1" and its member NAME an array.
 * *ret_document is the caller's.
 */
enum client_result client_get_list(struct client *client, const char *target, const char *name, json_t **ret_document);

struct client_stream {
    const char *target;
    const char *last_event_id; /* NULL or "": from now on */
    int stop_descriptor;       /* readable: CLIENT_STOPPED */
    uint64_t silence_ns;       /* no byte for that long: CLIENT_UNREACHABLE */
    /* Takes bytes as they come. The server waits meanwhile. Not 0: CLIENT_STOPPED. */
    int (*take)(void *context, const char *bytes, size_t count);
    void *context;
};

/* Reads the stream to its end. CLIENT_UNREACHABLE when the server ended it. */
enum client_result client_follow(struct client *client, const struct client_stream *stream);

/* Appends "?name=value" or "&name=value", value percent-encoded, to a target of size bytes. 0 or -ENAMETOOLONG. */
int client_target_add(char *target, size_t size, const char *name, const char *value);

#endif
