/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activation.h - descriptors that a service manager passed to this process: sd_listen_fds(3).
 *
 * Guarantees
 *   A. Only what was passed to this very process is taken, and no program that it starts inherits it; $LISTEN_FDS,
 *      $LISTEN_PID and $LISTEN_FDNAMES are gone from the environment afterwards.
 *   B. Names are printable ASCII: any other byte is shown as '?'.
 */
#ifndef RIPD_OS_ACTIVATION_H
#define RIPD_OS_ACTIVATION_H

#include <stdbool.h>
#include <stddef.h>

#define ACTIVATION_FIRST 3 /* the number of the first descriptor; the others follow */
#define ACTIVATION_MAX 16u
#define ACTIVATION_NAME_BYTES 64u

struct activation_entry {
    int number;                       /* of the descriptor */
    bool open;                        /* there is a descriptor of that number */
    char name[ACTIVATION_NAME_BYTES]; /* "unknown" where there was none */
};

struct activation {
    struct activation_entry entries[ACTIVATION_MAX];
    size_t count;
};

/*
 * Before there are threads. 0, also where nothing was passed. -EINVAL: $LISTEN_FDS is no number; -E2BIG: more than
 * ACTIVATION_MAX.
 */
int activation_take(struct activation *ret_activation);

#endif
