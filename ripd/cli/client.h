/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - asks a ripd over HTTP, for the subcommands that show what it knows.
 *
 * Where: --url, else $RIPD_URL, else http://127.0.0.1:7470. http://HOST[:PORT][/PATH], https://..., or unix:/PATH.
 *
 * Guarantees
 *   A. Asks the one server it was pointed at: no redirect is followed, no proxy used, whatever the environment says.
 *   B. An answer has a limit in bytes and in time; what is not an answer of ripd's is not taken for one.
 *   C. Every failure has a text, one line of printable ASCII, that names the server.
 */
#ifndef RIP_CLI_CLIENT_H
#define RIP_CLI_CLIENT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_ANSWER_BYTES_MAX (256u << 20)
#define CLIENT_CONNECT_MS 5000
#define CLIENT_ANSWER_MS 60000
#define CLIENT_URL_DEFAULT "http://127.0.0.1:7470"

struct client;

enum client_result {
    CLIENT_OK,
    CLIENT_UNREACHABLE,    /* nobody there, or gone in the middle of an answer, or silent */
    CLIENT_REFUSED,        /* it understood, and will not: client_status() says why */
    CLIENT_NOT_UNDERSTOOD, /* what answers is no ripd that we know */
    CLIENT_STOPPED,        /* by whoever takes what streams in, or by stop_descriptor */
};

/* url: NULL: by the environment. CLIENT_REFUSED: it is no URL that we take; CLIENT_UNREACHABLE: there is no libcurl. */
enum client_result client_new(struct client **ret_client, const char *url);
void client_free(struct client *client);

/* What went wrong last, in this or any other client. */
const char *client_error(void);
/* The HTTP status of the last answer, 0: none. */
long client_status(const struct client *client);
/* Where it asks, for people. */
const char *client_url(const struct client *client);

/*
 * The document at target, such as "/events?limit=5". Its "schema" must be "ripd/NAME/1". *ret_document is the caller's.
 */
enum client_result client_get(struct client *client, const char *target, const char *name, json_t **ret_document);

struct client_stream {
    const char *target;
    const char *last_event_id; /* NULL or "": from now on */
    int stop_descriptor;       /* readable: CLIENT_STOPPED. -1: none */
    uint64_t silence_ns;       /* nothing for so long: CLIENT_UNREACHABLE */
    /* Takes bytes as they come, and may take its time: the server waits. Not 0: CLIENT_STOPPED. */
    int (*take)(void *context, const char *bytes, size_t count);
    void *context;
};

/* Until it ends, which is CLIENT_UNREACHABLE when it is the server who ends it. */
enum client_result client_follow(struct client *client, const struct client_stream *stream);

/* Appends "?name=value" or "&name=value", value percent-encoded, to a target of size bytes. 0 or -ENAMETOOLONG. */
int client_target_add(char *target, size_t size, const char *name, const char *value);

#endif
