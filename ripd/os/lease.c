/* SPDX-License-Identifier: Apache-2.0 */
/* lease.c - a descriptor with a mutex and a reference count. See lease.h. */
#include "os/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "util/reference.h"

struct lease {
    atomic_uint references;
    pthread_mutex_t mutex;
    int descriptor; /* -1 = ended */
};

struct lease *lease_new(int descriptor)
{
    struct lease *lease = malloc(sizeof(*lease));

    if (lease == NULL)
        return NULL;
    atomic_init(&lease->references, 1);
    pthread_mutex_init(&lease->mutex, NULL);
    lease->descriptor = descriptor;
    return lease;
}

void lease_end(struct lease *lease)
{
    if (lease == NULL)
        return;
    pthread_mutex_lock(&lease->mutex);
    lease->descriptor = -1;
    pthread_mutex_unlock(&lease->mutex);
}

void lease_unref(struct lease *lease)
{
    if (!reference_drop(lease))
        return;
    pthread_mutex_destroy(&lease->mutex);
    free(lease);
}

int lease_duplicate(struct lease *lease)
{
    int descriptor = -EBADF;

    if (lease == NULL)
        return -EBADF;
    pthread_mutex_lock(&lease->mutex);
    if (lease->descriptor >= 0) {
        descriptor = fcntl(lease->descriptor, F_DUPFD_CLOEXEC, 0);
        if (descriptor < 0)
            descriptor = -errno;
    }
    pthread_mutex_unlock(&lease->mutex);
    return descriptor;
}
