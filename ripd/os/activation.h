/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activation.h - descriptors that a service manager passed to this process: sd_listen_fds(3).
 *
 * Guarantees
 *   A. Only descriptors passed to this process are taken. Programs that it starts do not inherit them. $LISTEN_FDS,
 *      $LISTEN_PID and $LISTEN_FDNAMES are removed from the environment.
 *   B. Names are printable ASCII: any other byte is replaced by '?'.
 */
#ifndef RIPD_OS_ACTIVATION_H
#define RIPD_OS_ACTIVATION_H

#include <stdbool.h>
#include <stddef.h>

#define ACTIVATION_FIRST 3 /* number of the first descriptor; the others follow */
#define ACTIVATION_MAX 16u
#define ACTIVATION_NAME_BYTES 64u

struct activation_entry {
    int number;                       /* of the descriptor */
    bool open;                        /* the descriptor exists */
    char name[ACTIVATION_NAME_BYTES]; /* "unknown" if it has none */
};

struct activation {
    struct activation_entry entries[ACTIVATION_MAX];
    size_t count;
};

/*
 * Must be called before threads exist. Returns 0, also if nothing was passed; -EINVAL if $LISTEN_FDS is not a number;
 * -E2BIG if there are more than ACTIVATION_MAX descriptors.
 */
int activation_take(struct activation *ret_activation);

#endif
