/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opener.h - the file that a process has mapped, as a descriptor.
 *
 * Guarantees
 *   A. The file is the very one that is mapped: device and inode are those of /proc/PID/maps, whatever stands at its
 *      path now.
 *   B. The process is one of the user that owns the ring, or it is not asked.
 */
#ifndef RIPD_SYM_OPENER_H
#define RIPD_SYM_OPENER_H

#include <stdint.h>

#include "core/snapshot.h"

/*
 * A descriptor to read the file of a module that the process has mapped at module->start; or -errno: -EACCES the
 * process may not be asked, -ENOENT no such mapping, or its file is not to be had any more.
 */
int opener_open(int proc, const struct process_facts *process, const struct module_facts *module);

struct opener_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t inode;
    uint32_t device_major;
    uint32_t device_minor;
};

/* One line of /proc/PID/maps. -EINVAL: it is none, or of no file. Pure. */
int opener_parse_line(const char *line, struct opener_mapping *ret_mapping);

#endif
