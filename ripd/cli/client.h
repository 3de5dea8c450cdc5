/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - requests to a ripd over HTTP.
 *
 * The server is --url, else $RIPD_URL, else http://127.0.0.1:7470: http://HOST[:PORT][/PATH], https://..., or
 * unix:/PATH.
 *
 * Guarantees
 *   A. Requests go to that server alone: no redirect is followed and no proxy used, whatever the environment says.
 *   B. An answer is limited in bytes and in time, and one that is not ripd's is refused.
 *   C. Every failure has a text, one line of printable ASCII, that names the server.
 */
#ifndef RIP_CLI_CLIENT_H
#define RIP_CLI_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_ANSWER_BYTES_MAX (256u << 20)
#define CLIENT_CONNECT_MS 5000L
#define CLIENT_ERROR_BYTES 2560u
#define CLIENT_URL_DEFAULT "http://127.0.0.1:7470"

enum client_result {
    CLIENT_OK,
    CLIENT_UNREACHABLE,    /* ripd does not answer now: no connection, an answer cut short, silence, a 5xx status */
    CLIENT_REFUSED,        /* ripd refuses the request, or the URL is wrong */
    CLIENT_NOT_UNDERSTOOD, /* the answer is not one of ripd's */
    CLIENT_STOPPED,        /* by take() or stop_descriptor of a stream */
};

#define CLIENT_URL_BYTES 2048u

/* A server, the request to it, and its answer. */
struct client {
    char shown[CLIENT_URL_BYTES]; /* what errors and tables call it: its address without "http://" */
    const char *server;           /* what errors call it, too, the name of its unit; NULL: ripd */
    const char *target;           /* NULL: no request is sent; document and error are empty then */
    const char *schema;           /* its "schema" has to be this; NULL: it need not have one */
    const char *list;             /* this member has to be an array; NULL: none */
    enum client_result result;
    json_t *document;               /* NULL unless result is CLIENT_OK */
    char error[CLIENT_ERROR_BYTES]; /* "" if result is CLIENT_OK */

    /* client.c's alone */
    void *handle;
    char base[CLIENT_URL_BYTES];        /* before the target */
    char socket[CLIENT_URL_BYTES];      /* "": TCP */
    const struct client_stream *stream; /* NULL: a document is expected */
    struct curl_slist *fields;          /* of the request's header; NULL: it has its result */
    char *text;                         /* of the answer, unless it streams */
    size_t bytes;
    size_t room;
    bool stopped;
    uint64_t heard_mono_ns;
    long status; /* of the answer; 0: no server has answered */
    char type[64];
};

/* url NULL: from the environment. CLIENT_REFUSED: the URL is wrong, as client->error says. */
enum client_result client_open(struct client *client, const char *url);
void client_close(struct client *client);

/* Those that have a target, in parallel: returns when each has its result, after answer_ms at the latest. */
void client_get_all(struct client *clients, size_t count, long answer_ms);

struct client_stream {
    const char *target;
    const char *last_event_id; /* "": from now on */
    int stop_descriptor;       /* readable: CLIENT_STOPPED */
    uint64_t silence_ns;       /* no byte for that long: CLIENT_UNREACHABLE */
    /* Takes bytes as they come. The server waits meanwhile. Not 0: CLIENT_STOPPED. */
    int (*take)(void *context, const char *bytes, size_t count);
    void *context;
};

/* Reads the stream to its end. CLIENT_UNREACHABLE when the server ended it. */
enum client_result client_follow(struct client *client, const struct client_stream *stream);

/* Appends text percent-encoded, as a segment of a path is. False: it does not fit. */
bool client_target_escape(char *target, size_t size, const char *text);

/* Appends "?name=value" or "&name=value", value percent-encoded, to a target of size bytes. False: it does not fit. */
bool client_target_add(char *target, size_t size, const char *name, const char *value);

#endif
