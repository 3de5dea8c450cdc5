/* SPDX-License-Identifier: Apache-2.0 */
/* client_inside.h - what the files of the client share, and nobody else sees. */
#ifndef RIP_CLI_CLIENT_INSIDE_H
#define RIP_CLI_CLIENT_INSIDE_H

#include <limits.h>
#include <stdbool.h>

#include "cli/client.h"
#include "cli/curl_library.h"

#define CLIENT_URL_BYTES 2048u
#define CLIENT_TARGET_BYTES 4096u
#define CLIENT_ERROR_BYTES 2560u
#define CLIENT_TYPE_BYTES 64u

struct client {
    const struct curl_library *curl;
    CURL *handle;
    long status;
    char base[CLIENT_URL_BYTES];   /* before the target */
    char socket[CLIENT_URL_BYTES]; /* "": TCP */
    char shown[CLIENT_URL_BYTES];  /* as given */
};

struct client_buffer {
    char *text;
    size_t bytes;
    size_t room;
    size_t bytes_max;
};
int client_buffer_add(struct client_buffer *buffer, const char *bytes, size_t count); /* 0, -ENOMEM, -EMSGSIZE */

__attribute__((format(printf, 2, 3))) enum client_result client_fail(enum client_result result, const char *format,
                                                                     ...);

/* Everything about a request but who takes its answer. */
bool client_prepare(struct client *client, const char *target);

/* Status and media type of the answer. */
void client_read_head(struct client *client, char ret_type[CLIENT_TYPE_BYTES]);

/* Of an answer that is not the one that was asked for: what ripd says of it, or that it is not ripd's. */
enum client_result client_refusal(const struct client *client, const char *type, const char *body, size_t bytes);

#endif
