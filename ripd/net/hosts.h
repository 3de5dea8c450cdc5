/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.h - a list of host names that is owned, to be handed from one thread to another. Private to net/. */
#ifndef RIPD_NET_HOSTS_H
#define RIPD_NET_HOSTS_H

#include <stddef.h>

struct hosts {
    char **names; /* NULL = an empty list that owns nothing */
    size_t count;
};

/* 0; -E2BIG: more than HTTP_HOSTS_MAX; -EINVAL: *ret_wrong, one of names, is no host name; -ENOMEM. */
int hosts_copy(struct hosts *ret_hosts, const char *const *names, size_t count, const char **ret_wrong);
void hosts_done(struct hosts *hosts);

#endif
