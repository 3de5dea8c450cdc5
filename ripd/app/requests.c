/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.c - a ring buffer under a mutex, and an eventfd that counts what is in it.
 */
#include "app/requests.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct requests {
    pthread_mutex_t mutex;
    int descriptor; /* EFD_SEMAPHORE: one read takes one request */
    size_t first;
    size_t count;
    struct request queue[REQUESTS_MAX];
};

int requests_new(struct requests **ret_requests)
{
    struct requests *requests = calloc(1, sizeof(*requests));

    if (requests == NULL)
        return -ENOMEM;
    requests->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    if (requests->descriptor < 0) {
        int error = -errno;

        free(requests);
        return error;
    }
    pthread_mutex_init(&requests->mutex, NULL);
    *ret_requests = requests;
    return 0;
}

void requests_free(struct requests *requests)
{
    if (requests == NULL)
        return;
    close(requests->descriptor);
    pthread_mutex_destroy(&requests->mutex);
    free(requests);
}

int requests_descriptor(const struct requests *requests)
{
    return requests->descriptor;
}

int requests_push(struct requests *requests, uint64_t ticket, const struct query *query)
{
    int result = -EAGAIN;

    pthread_mutex_lock(&requests->mutex);
    if (requests->count < REQUESTS_MAX) {
        struct request *slot = &requests->queue[(requests->first + requests->count) % REQUESTS_MAX];

        slot->ticket = ticket;
        slot->query = *query;
        requests->count++;
        result = 0;
    }
    pthread_mutex_unlock(&requests->mutex);
    if (result == 0 && eventfd_write(requests->descriptor, 1) != 0)
        return -errno;
    return result;
}

bool requests_pop(struct requests *requests, struct request *ret_request)
{
    eventfd_t value;
    bool found = false;

    if (eventfd_read(requests->descriptor, &value) != 0)
        return false;
    pthread_mutex_lock(&requests->mutex);
    if (requests->count > 0) {
        *ret_request = requests->queue[requests->first];
        requests->first = (requests->first + 1) % REQUESTS_MAX;
        requests->count--;
        found = true;
    }
    pthread_mutex_unlock(&requests->mutex);
    return found;
}
