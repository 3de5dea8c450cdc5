/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_file.h - opens the file of a module of an attested process for reading: the executable according to the
 * kernel, or a path from the ring, below the process's own root.
 *
 * Guarantees
 *   A. Capabilities are used only to reach the process, and to go where its user may go. The opened file is a regular
 *      file that the user with whose rights the process opens files may read (walk.h), by owner, mode and groups.
 *   B. The process's record in the ring names the module, and the kernel has a file mapped at its address. The caller
 *      passes no path.
 *   C. The file begins as ELF and has at most MODULE_FILE_BYTES_MAX.
 *   D. It is the file that is mapped, wherever this can be checked. Some file systems show other numbers in maps than
 *      elsewhere. There it may be another file with that path, and is opened only if exact is false: then the reader
 *      must compare its build id.
 */
#ifndef RIPD_PROBE_CHILD_MODULE_FILE_H
#define RIPD_PROBE_CHILD_MODULE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/child/attest.h"

#define MODULE_FILE_BYTES_MAX (UINT64_C(4) << 30) /* as much as the symbolizer can map */

/*
 * Opens the file of the module that begins at start. Returns a descriptor, or
 *   -ENOENT  there is no such module, no file is mapped there, or the file does not exist any more
 *   -ESTALE  the path leads to another file now
 *   -errno   of walk_open(), such as -EACCES and -ENOTSUP
 */
int module_file_open(int proc, struct attested *attested, uint64_t start, bool exact);

#endif
