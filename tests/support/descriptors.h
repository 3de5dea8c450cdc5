/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.h - the open file descriptors of this process, and their inodes. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

static inline size_t count_descriptors(void)
{
    size_t count = 0;

    for (int i = 0; i < 1024; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* For a pipe or a socket, whose inode numbers have 32 bits. */
static inline uint32_t inode_of(int descriptor)
{
    struct stat status = {0};

    (void)fstat(descriptor, &status);
    return (uint32_t)status.st_ino;
}

#endif
