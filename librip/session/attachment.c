/* SPDX-License-Identifier: Apache-2.0 */
/* attachment.c - see attachment.h. */
#include "session/attachment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const size_t length = strnlen(text, RIP_SESSION_NAMESPACE_BYTES + 1);

    return length != 0 && length <= RIP_SESSION_NAMESPACE_BYTES && strspn(text, allowed) == length;
}

static struct attachment **place_of(struct attachment **list, const char *name_space)
{
    while (*list != NULL && strcmp((*list)->name_space, name_space) != 0)
        list = &(*list)->next;
    return list;
}

int attachment_check(const struct attachment *list, const char *name_space, size_t count)
{
    size_t total = count, names = 1;

    if (!is_name(name_space))
        return -EINVAL;
    for (; list != NULL; list = list->next)
        if (strcmp(list->name_space, name_space) != 0) {
            total += list->count;
            names++;
        }
    return count > RIP_SESSION_DATA_BYTES_MAX || total > RIP_SESSION_DATA_BYTES_MAX ||
                   names > RIP_SESSION_DATA_COUNT_MAX
               ? -EFBIG
               : 0;
}

int attachment_set(struct attachment **list, const char *name_space, const void *data, size_t count)
{
    const size_t length = strnlen(name_space, RIP_SESSION_NAMESPACE_BYTES);
    struct attachment **place, *fresh = calloc(1, sizeof(*fresh) + count);

    if (fresh == NULL)
        return -ENOMEM;
    fresh->count = count;
    memcpy(fresh->name_space, name_space, length);
    if (count != 0)
        memcpy(fresh->bytes, data, count);
    place = place_of(list, fresh->name_space);
    fresh->next = *place != NULL ? (*place)->next : NULL;
    free(*place);
    *place = fresh;
    return 0;
}

const struct attachment *attachment_find(const struct attachment *list, const char *name_space)
{
    while (list != NULL && strcmp(list->name_space, name_space) != 0)
        list = list->next;
    return list;
}

void attachment_clear(struct attachment **list)
{
    while (*list != NULL) {
        struct attachment *next = (*list)->next;

        free(*list);
        *list = next;
    }
}
