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

/* What went wrong last in this thread, in whichever client. */
const char *client_error(void);

/* What errors and tables call the server: its address without "http://". */
const char *client_shown(const struct client *client);

/* One of several requests that run in parallel, each with its own client. */
struct client_request {
    struct client *client;
    const char *target; /* NULL: no request is sent; document and error stay empty */
    const char *schema; /* its "schema" has to be this; NULL: it need not have one */
    const char *list;   /* this member has to be an array; NULL: none */
    const char *server; /* what errors call it, the name of its unit; NULL: ripd */
    enum client_result result;
    bool answered;                  /* a server has, whatever it said */
    json_t *document;               /* the caller's; NULL unless result is CLIENT_OK */
    char error[CLIENT_ERROR_BYTES]; /* as client_error(); "" if result is CLIENT_OK */
};

/* Returns when each has its result, after answer_ms at the latest. */
void client_get_all(struct client_request *requests, size_t count, long answer_ms);

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

/* Appends text percent-encoded, as a segment of a path is. 0 or -ENAMETOOLONG. */
int client_target_escape(char *target, size_t size, const char *text);

/* Appends "?name=value" or "&name=value", value percent-encoded, to a target of size bytes. 0 or -ENAMETOOLONG. */
int client_target_add(char *target, size_t size, const char *name, const char *value);

#endif
