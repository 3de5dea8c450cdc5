/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.h - queries on their way from the HTTP thread to the scanner. A bounded queue with a descriptor to wait on.
 */
#ifndef RIPD_APP_REQUESTS_H
#define RIPD_APP_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/query.h"

#define REQUESTS_MAX 64u

struct request {
    uint64_t ticket;
    struct query query;
};

struct requests;

int requests_new(struct requests **ret_requests);
void requests_free(struct requests *requests);
int requests_descriptor(const struct requests *requests); /* readable while something waits */

/* From any thread. -EAGAIN: REQUESTS_MAX are waiting already. */
int requests_push(struct requests *requests, uint64_t ticket, const struct query *query);
/* From the scanner. False: none. */
bool requests_pop(struct requests *requests, struct request *ret_request);

#endif
