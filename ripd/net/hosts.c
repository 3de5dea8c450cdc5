/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.c - host names copied, checked and given back. */
#include "net/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/access.h"
#include "net/http.h"

int hosts_copy(struct hosts *ret_hosts, const char *const *names, size_t count, const char **ret_wrong)
{
    struct hosts hosts = {NULL, 0};

    if (count > HTTP_HOSTS_MAX)
        return -E2BIG;
    for (size_t i = 0; i < count; i++)
        if (!access_host_valid(names[i])) {
            *ret_wrong = names[i];
            return -EINVAL;
        }
    hosts.names = calloc(count + 1, sizeof(*hosts.names));
    if (hosts.names == NULL)
        return -ENOMEM;
    for (; hosts.count < count; hosts.count++) {
        hosts.names[hosts.count] = strdup(names[hosts.count]);
        if (hosts.names[hosts.count] == NULL) {
            hosts_done(&hosts);
            return -ENOMEM;
        }
    }
    *ret_hosts = hosts;
    return 0;
}

void hosts_done(struct hosts *hosts)
{
    while (hosts->count > 0)
        free(hosts->names[--hosts->count]);
    free(hosts->names);
    hosts->names = NULL;
}
