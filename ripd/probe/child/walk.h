/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - resolves a path of a process to a file. The caller may go anywhere, but the walk goes only where the
 * process's user may go.
 *
 * A path is a claim. The kernel refuses nothing to a holder of CAP_DAC_READ_SEARCH, so probe/permission.h judges each
 * step before it is taken.
 *
 * Guarantees
 *   A. No name is looked up in a directory that the user may not search, also not through a link. So the walk does not
 *      disclose whether such a name exists.
 *   B. The result is a regular file that the user may read. Nothing else is opened, so no FIFO blocks and no device
 *      acts.
 *   C. The walk stays below root. ".." at the root stays there, and links are followed by their text, as the process
 *      itself would follow them.
 *   D. The kernel's own file systems (proc and others) are not entered, because their files and links depend on the
 *      reader.
 *   E. A walk is at most WALK_DEPTH_MAX directories deep and follows at most WALK_LINKS_MAX links.
 */
#ifndef RIPD_PROBE_CHILD_WALK_H
#define RIPD_PROBE_CHILD_WALK_H

#include "probe/permission.h"

#define WALK_DEPTH_MAX 32u
#define WALK_LINKS_MAX 16u
#define WALK_PATH_BYTES 4096u

/*
 * Finds the file at path below the directory root. Returns a descriptor (O_PATH), or
 *   -EACCES                 the user may not search a directory, or may not read the file
 *   -EINVAL                 the path does not begin with a slash
 *   -ENOTSUP                not a regular file, or on a file system of the kernel's own
 *   -ELOOP, -ENAMETOOLONG   a limit
 *   another -errno
 */
int walk_open(int root, const char *path, const struct permission_user *user);

/* Checks a file (O_PATH) as the last step of a walk does. Returns 0, -EACCES, -ENOTSUP, or another -errno. */
int walk_check(int found, const struct permission_user *user);

/* Opens a found file (O_PATH) for reading. Returns a descriptor or -errno. */
int walk_reopen(int found);

#endif
