/* SPDX-License-Identifier: Apache-2.0 */
/* permission.c - checks the bits of a mode. Unknown facts can only forbid. See permission.h. */
#include "probe/permission.h"

#define OWNER_SHIFT 6
#define GROUP_SHIFT 3

static bool is_member(const struct permission_user *user, uint32_t gid)
{
    for (size_t i = 0; i < user->group_count; i++)
        if (user->groups[i] == gid)
            return true;
    return false;
}

bool permission_is_owner(const struct permission_user *user, const struct permission_file *file)
{
    return user->uid == file->uid;
}

bool permission_allows(const struct permission_user *user, const struct permission_file *file, enum permission wanted)
{
    bool owner = (file->mode >> OWNER_SHIFT & wanted) != 0;
    bool group = (file->mode >> GROUP_SHIFT & wanted) != 0;
    bool others = (file->mode & wanted) != 0;

    if (permission_is_owner(user, file))
        return owner; /* owner bits take precedence over an access control list */
    if (file->has_list)
        return false; /* the group bits are the list's mask, and the list may name the user */
    /* For a member the group bits alone decide. A user whose membership is unknown needs both group and other bits. */
    return group && (others || is_member(user, file->gid));
}
