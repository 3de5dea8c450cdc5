/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holes.h - reads a mapped file without filling its holes.
 *
 * A read fault on a hole of a tmpfs mapping allocates a page and charges it to the reader's memory cgroup.
 */
#ifndef RIPD_OS_HOLES_H
#define RIPD_OS_HOLES_H

#include <stddef.h>

/*
 * After this call, a read of a page that the file has no memory for raises SIGBUS and allocates nothing. The range must
 * be a whole private mapping of a tmpfs file. Pages that writers fill later become visible as in a shared mapping.
 * Returns 0; -EINVAL on another file system; -ENOSYS or -EPERM if the kernel or a filter does not allow it; or another
 * -errno.
 */
int holes_refuse(const void *base, size_t size_bytes);

#endif
