/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opener.h - the file that a process has mapped, as a descriptor.
 *
 * Guarantees
 *   A. The file is the very one that is mapped: device and inode are those of /proc/PID/maps, whatever stands at its
 *      path now. Where a file system shows other numbers there than elsewhere (overlays), the build id has to tell:
 *      such a file is opened only if the module has one, and whoever reads it compares.
 *   B. The process is one of the user that owns the ring, and still the one that was seen to be, or it is not asked.
 *   C. What is opened is mapped by such a process, or may be read by anybody: a path is walked with nobody's rights if
 *      ours are root's, and below the process's own root.
 *   D. Only regular files are opened; nothing waits for the other end of a FIFO.
 */
#ifndef RIPD_SYM_OPENER_H
#define RIPD_SYM_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"

/*
 * A descriptor to read the file of a module that the process has mapped at module->start; or -errno: -EACCES the
 * process may not be asked, -ENOENT no such mapping, or its file is not to be had any more. Where ours are root's
 * rights the calling thread has no supplementary groups from then on.
 */
int opener_open(int proc, const struct process_facts *process, const struct module_facts *module);

#endif
