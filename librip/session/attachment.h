/* SPDX-License-Identifier: Apache-2.0 */
/* attachment.h - named data attached to an event. Pure, except that it allocates. */
#ifndef RIP_SESSION_ATTACHMENT_H
#define RIP_SESSION_ATTACHMENT_H

#include "rip/session.h"

/* An entry of a linked list. NULL is the empty list. */
struct attachment {
    struct attachment *next;
    size_t count;
    char name_space[RIP_SESSION_NAMESPACE_BYTES + 1];
    unsigned char bytes[];
};

/*
 * Checks whether count bytes may be added to the list under name_space. Returns 0, -EINVAL if the name is invalid, or
 * -EFBIG if the event would have more than RIP_SESSION_DATA_BYTES_MAX bytes or RIP_SESSION_DATA_COUNT_MAX names.
 */
int attachment_check(const struct attachment *list, const char *name_space, size_t count);

/* Copies data into the list and replaces any entry of that name. Checks no limit. Returns 0 or -ENOMEM. */
int attachment_set(struct attachment **list, const char *name_space, const void *data, size_t count);

/* Returns NULL if there is no entry of that name. */
const struct attachment *attachment_find(const struct attachment *list, const char *name_space);
void attachment_clear(struct attachment **list);

#endif
