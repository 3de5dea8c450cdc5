/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permission.h - whether a user may read a file, or go through a directory, judged by a process that could do both
 * itself. Pure.
 *
 * Guarantees
 *   A. What is allowed here the kernel would allow that user, whatever groups he is in that are not known here, and
 *      whatever else an access control list says. The reverse does not hold: a user whose rights come from such a list,
 *      or from a capability, is refused.
 *   B. The user with the number 0 is one like others: what root may do beyond the mode comes from capabilities, which
 *      containers take away.
 */
#ifndef RIPD_PROBE_PERMISSION_H
#define RIPD_PROBE_PERMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum permission { PERMISSION_SEARCH = 1, PERMISSION_READ = 4 }; /* as in a mode */

struct permission_user {
    uint32_t uid;
    const uint32_t *groups; /* those that are known */
    size_t group_count;
};

struct permission_file {
    uint32_t uid;
    uint32_t gid;
    uint32_t mode;
    bool has_list; /* an access control list, or it is not known whether it has one */
};

/* Whether the owner's bits alone decide, so that has_list does not matter. */
bool permission_is_owner(const struct permission_user *user, const struct permission_file *file);

bool permission_allows(const struct permission_user *user, const struct permission_file *file, enum permission wanted);

#endif
