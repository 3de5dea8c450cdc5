/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permission.h - decides whether a user may read a file or search a directory. The caller itself has more rights than
 * the user. Pure.
 *
 * Guarantees
 *   A. The kernel would allow the user whatever is allowed here, whatever other groups the user is in, and whatever an
 *      access control list says. The reverse does not hold: a user whose rights come from such a list, or from a
 *      capability, is refused.
 *   B. Uid 0 is treated like any other. Rights of root beyond the mode come from capabilities, which containers remove.
 */
#ifndef RIPD_PROBE_PERMISSION_H
#define RIPD_PROBE_PERMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum permission { PERMISSION_SEARCH = 1, PERMISSION_READ = 4 }; /* the bits of a mode */

struct permission_user {
    uint32_t uid;
    const uint32_t *groups; /* the known ones; borrowed */
    size_t group_count;
};

struct permission_file {
    uint32_t uid;
    uint32_t gid;
    uint32_t mode;
    bool has_list; /* it has an access control list, or that is not known */
};

/* Whether the owner bits alone decide, so that has_list does not matter. */
bool permission_is_owner(const struct permission_user *user, const struct permission_file *file);

bool permission_allows(const struct permission_user *user, const struct permission_file *file, enum permission wanted);

#endif
