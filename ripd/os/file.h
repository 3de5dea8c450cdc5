/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - directories and files of any user. Every function returns 0 (or a descriptor) or -errno.
 */
#ifndef RIPD_OS_FILE_H
#define RIPD_OS_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What differs between files, and between states of one file. */
struct file_identity {
    uint64_t device;
    uint64_t inode;
    uint64_t size_bytes;
    uint64_t changed_ns; /* ctime */
    uint32_t uid;
    uint32_t links;
    bool regular;
    bool others_write; /* its mode lets others than its owner write to it */
};

static inline bool file_is_same(const struct file_identity *a, const struct file_identity *b)
{
    return a->device == b->device && a->inode == b->inode;
}

int file_open_directory(const char *path);

/* How many descriptors this process may have. */
uint64_t file_descriptors_max(void);

/* Raises that limit to the hard one. *ret_before: what it was, 0 = it is unchanged. Returns what it is now. */
uint64_t file_raise_descriptors_max(uint64_t *ret_before);

int file_identify(int descriptor, struct file_identity *ret_identity);
int file_identify_at(int directory, const char *name, struct file_identity *ret_identity); /* follows no link */

/*
 * Opens a regular file to read, following no link and opening nothing that is not a regular file: a FIFO does not
 * block and a device is not touched. -ENOTSUP: not a regular file.
 */
int file_open_regular_at(int directory, const char *name);

/* Whether it is a regular file of a file system that is nothing but memory: tmpfs or ramfs. */
bool file_is_in_memory(int descriptor);

/* Names in a directory, except "." and "..", while visit returns 0; at most limit of them, then -EOVERFLOW. */
int file_list(int directory, size_t limit, int (*visit)(void *context, const char *name), void *context);

/*
 * The same in parts: from where the last one stopped. -EOVERFLOW: there may be more. closedir() ends it, at any time.
 */
int file_list_begin(int directory, DIR **ret_stream);
int file_list_on(DIR *stream, size_t limit, int (*visit)(void *context, const char *name), void *context);

/* Reads a small file, whose name is formatted, whole: at most size - 1 bytes, terminated. The length or -errno. */
__attribute__((format(printf, 4, 5))) ssize_t file_read_at(int directory, char *buffer, size_t size, const char *format,
                                                           ...);

/* Reads up to count bytes from an offset on, less only where the file ends. How many, or -errno. */
ssize_t file_read(int descriptor, void *bytes, size_t count, uint64_t offset);

/* Writes all of it: 0, or -errno and *ret_written says how much of it was written. */
int file_write(int descriptor, const void *bytes, size_t count, size_t *ret_written);

/*
 * Who holds a write lock on byte offset, POSIX or open-file-description. *ret_pid: 0 nobody, else the pid in our
 * namespace, or UINT32_MAX when it has none that we can see.
 */
int file_lock_holder(int descriptor, uint64_t offset, uint32_t *ret_pid);

#endif
