/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - from a path of a process to a file, by somebody who may go anywhere, only where the process's user may.
 *
 * A path is a claim. Who holds CAP_DAC_READ_SEARCH is refused nothing by the kernel, so each step is judged
 * here, by probe/permission.h, before it is taken.
 *
 * Guarantees
 *   A. No name is looked up in a directory that the user may not search, on the way or by way of a link: whether there
 *      is such a name is not found out for anybody who could not.
 *   B. What is found is a regular file that the user may read. Nothing else is opened, so no FIFO waits and no device
 *      acts.
 *   C. The way stays below root: ".." leads no further up, and links are followed as the process itself would, by their
 *      text.
 *   D. The kernel's own file systems (proc and such) are not entered: their files and links depend on who reads them.
 *   E. At most WALK_DEPTH_MAX directories deep, and by WALK_LINKS_MAX links.
 */
#ifndef RIPD_PROBE_CHILD_WALK_H
#define RIPD_PROBE_CHILD_WALK_H

#include "probe/permission.h"

#define WALK_DEPTH_MAX 32u
#define WALK_LINKS_MAX 16u
#define WALK_PATH_BYTES 4096u

/*
 * A descriptor (O_PATH) of the file at path below root, a directory. -EACCES: the user may not; -EINVAL: the path does
 * not begin with a slash; -ENOTSUP: no regular file, or the kernel's own; -ELOOP, -ENAMETOOLONG: a limit; another
 * -errno.
 */
int walk_open(int root, const char *path, const struct permission_user *user);

/* Judges a file (O_PATH) as the last step of a walk does: 0, -EACCES, -ENOTSUP, or another -errno. */
int walk_check(int found, const struct permission_user *user);

/* A file that was found, for reading. */
int walk_reopen(int found);

#endif
