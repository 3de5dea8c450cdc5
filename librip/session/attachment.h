/* SPDX-License-Identifier: Apache-2.0 */
/* attachment.h - data attached to an event, by name. Pure but for allocations. */
#ifndef RIP_SESSION_ATTACHMENT_H
#define RIP_SESSION_ATTACHMENT_H

#include "rip/session.h"

/* A list of these; NULL: there is none. */
struct attachment {
    struct attachment *next;
    size_t count;
    char name_space[RIP_SESSION_NAMESPACE_BYTES + 1];
    unsigned char bytes[];
};

/* Whether a caller may attach so much. 0; -EINVAL: no name of a namespace; -EFBIG: more than RIP_SESSION_DATA_BYTES_MAX
 * at one event, or under more than RIP_SESSION_DATA_COUNT_MAX names. */
int attachment_check(const struct attachment *list, const char *name_space, size_t count);

/* What was there under that name is replaced. 0 or -ENOMEM. */
int attachment_set(struct attachment **list, const char *name_space, const void *data, size_t count);
const struct attachment *attachment_find(const struct attachment *list, const char *name_space);
void attachment_clear(struct attachment **list);

#endif
