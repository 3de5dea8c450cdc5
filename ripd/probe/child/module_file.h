/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_file.h - the file of a module of an attested process, open to read: the executable that the kernel names, or
 * a path that the ring names, below the process's own root.
 *
 * Guarantees
 *   A. Capabilities serve to reach the process, and to go where its user may: what is opened is a regular file that the
 *      user with whose rights the process opens files may read (walk.h), as far as its owner, mode and groups say.
 *   B. A module is one that the process's record in the ring names, at an address where the kernel says that a file is
 *      mapped. The caller names no path.
 *   C. It begins as a program does (ELF), and has at most MODULE_FILE_BYTES_MAX: nothing else is of use.
 *   D. It is the very file that is mapped, wherever that can be checked. Where file systems show other numbers in maps
 *      than elsewhere it may be another of that name, and is opened only if it need not be exact: who reads it has to
 *      compare its build id.
 */
#ifndef RIPD_PROBE_CHILD_MODULE_FILE_H
#define RIPD_PROBE_CHILD_MODULE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/child/attest.h"

#define MODULE_FILE_BYTES_MAX (UINT64_C(4) << 30) /* as much as the symbolizer could map */

/*
 * The module that begins at start. A descriptor, or -errno: -ENOENT: no such module, or no file is mapped there, or it
 * is not to be had any more; -ESTALE: there is another file now; -EACCES, -ENOTSUP and the others of walk_open().
 */
int module_file_open(int proc, struct attested *attested, uint64_t start, bool exact);

#endif
