/* SPDX-License-Identifier: Apache-2.0 */
/* read_file.h - reads bytes of a file at an offset, and continues after short reads. */
#ifndef RIP_SESSION_READ_FILE_H
#define RIP_SESSION_READ_FILE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Returns the number of bytes read, or -errno. It is less than count only at the end of the file. */
static inline long read_file(int descriptor, uint64_t offset, void *target, size_t count)
{
    size_t length = 0;

    while (length < count) {
        ssize_t more = pread(descriptor, (unsigned char *)target + length, count - length, (off_t)(offset + length));

        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -errno;
        if (more == 0)
            break;
        length += (size_t)more;
    }
    return (long)length;
}

#endif
