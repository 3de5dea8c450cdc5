/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holes.h - reading a mapped file without filling its holes.
 *
 * A read fault on a hole of a tmpfs mapping allocates the page and charges it to the memory account of the reader.
 */
#ifndef RIPD_OS_HOLES_H
#define RIPD_OS_HOLES_H

#include <stddef.h>

/*
 * After this call a read of a page that the file has no memory for raises SIGBUS and allocates nothing. The range is a
 * whole private mapping of a tmpfs file; pages that its writers fill later are seen as in a shared one. 0; -EINVAL:
 * another file system; -ENOSYS, -EPERM: this kernel or this filter does not allow it; or -errno.
 */
int holes_refuse(const void *base, size_t size_bytes);

#endif
