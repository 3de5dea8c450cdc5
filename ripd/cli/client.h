/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - requests to a ripd over HTTP.
 *
 * The server is --url, else $RIPD_URL, else http://127.0.0.1:7470: http://HOST[:PORT][/PATH], https://..., or
 * unix:/PATH.
 *
 * Guarantees
 *   A. Requests go only to that server: no redirect is followed and no proxy is used, whatever the environment says.
 *   B. An answer is limited in bytes and in time; an answer that is not from ripd is refused.
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
    CLIENT_UNREACHABLE,    /* ripd does not answer now: no connection, a truncated answer, a timeout, a 5xx status */
    CLIENT_REFUSED,        /* ripd refuses the request, or the URL is wrong */
    CLIENT_NOT_UNDERSTOOD, /* the answer is not from ripd, or is damaged */
    CLIENT_STOPPED,        /* take() or the stop_descriptor of a stream ended it */
};

#define CLIENT_URL_BYTES 2048u

/* A server, the request to it, and its answer. */
struct client {
    char shown[CLIENT_URL_BYTES]; /* its name in errors and tables: the address without "http://" */
    const char *server;           /* the name of its service in errors; NULL: ripd */
    const char *target;           /* NULL: no request is sent, and document and error are empty */
    const char *schema;           /* required value of "schema"; NULL: any */
    const char *list;             /* member that must be an array; NULL: none */
    enum client_result result;
    json_t *document;               /* NULL unless result is CLIENT_OK */
    char error[CLIENT_ERROR_BYTES]; /* "" if result is CLIENT_OK */

    /* private to client.c */
    void *handle;
    char base[CLIENT_URL_BYTES];        /* before the target */
    char socket[CLIENT_URL_BYTES];      /* "" for TCP */
    const struct client_stream *stream; /* NULL: a document is expected */
    struct curl_slist *fields;          /* request header; NULL: the request has its result */
    char *text;                         /* text of the answer, unless it streams */
    size_t bytes;
    size_t room;
    bool stopped;
    uint64_t heard_mono_ns;
    long status; /* status of the answer; 0: no server has answered */
    char type[64];
};

/* url NULL: from the environment. Returns CLIENT_REFUSED if the URL is wrong; client->error has the reason. */
enum client_result client_open(struct client *client, const char *url);
void client_close(struct client *client);

/*
 * Sends the requests of all clients with a target in parallel. Returns when each has its result, at the latest after
 * answer_ms.
 */
void client_get_all(struct client *clients, size_t count, long answer_ms);

struct client_stream {
    const char *target;
    const char *last_event_id; /* "" for events from now on */
    int stop_descriptor;       /* readable: the stream ends with CLIENT_STOPPED */
    uint64_t silence_ns;       /* no byte for this long: CLIENT_UNREACHABLE */
    /*
     * Called with bytes as they are received; the server waits meanwhile. Any result other than 0 ends with
     * CLIENT_STOPPED.
     */
    int (*take)(void *context, const char *bytes, size_t count);
    void *context;
};

/* Reads the stream to its end. Returns CLIENT_UNREACHABLE if the server ended it. */
enum client_result client_follow(struct client *client, const struct client_stream *stream);

/* Appends text, percent-encoded as a segment of a path. Returns false if it does not fit. */
bool client_target_escape(char *target, size_t size, const char *text);

/*
 * Appends "?name=value" or "&name=value", value percent-encoded, to a target of size bytes. Returns false if it does
 * not fit.
 */
bool client_target_add(char *target, size_t size, const char *name, const char *value);

#endif
