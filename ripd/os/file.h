/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - directories and files of any user. Unless noted, a function returns 0, a descriptor, or -errno.
 */
#ifndef RIPD_OS_FILE_H
#define RIPD_OS_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What distinguishes files, and states of one file. */
struct file_identity {
    uint64_t device;
    uint64_t inode;
    uint64_t size_bytes;
    uint64_t changed_ns; /* ctime */
    uint32_t uid;
    uint32_t links;
    bool regular;
    bool others_write; /* its mode allows writing for users other than the owner */
};

static inline bool file_is_same(const struct file_identity *a, const struct file_identity *b)
{
    return a->device == b->device && a->inode == b->inode;
}

int file_open_directory(const char *path);

/* Returns the soft limit of open descriptors of this process. */
uint64_t file_descriptors_max(void);

/* Raises that limit to the hard limit. Returns the present limit. *ret_before: the previous limit; 0 = unchanged. */
uint64_t file_raise_descriptors_max(uint64_t *ret_before);

int file_identify(int descriptor, struct file_identity *ret_identity);
int file_identify_at(int directory, const char *name, struct file_identity *ret_identity); /* follows no link */

/*
 * Opens a regular file for reading. Follows no link and opens no other kind of file, so a FIFO does not block and a
 * device is not touched. Returns -ENOTSUP if it is not a regular file.
 */
int file_open_regular_at(int directory, const char *name);

/* Whether it is a regular file on tmpfs or ramfs. */
bool file_is_in_memory(int descriptor);

/*
 * Visits the names in a directory, except "." and "..", while visit returns 0. Returns what visit returned last,
 * -EOVERFLOW after limit names if there are more, or another -errno.
 */
int file_list(int directory, size_t limit, int (*visit)(void *context, const char *name), void *context);

/*
 * The same in parts: file_list_on() continues where the last call stopped. It returns -EOVERFLOW if there may be more.
 * The caller ends it with closedir(), at any time.
 */
int file_list_begin(int directory, DIR **ret_stream);
int file_list_on(DIR *stream, size_t limit, int (*visit)(void *context, const char *name), void *context);

/*
 * Reads a small file of a formatted name: at most size - 1 bytes, terminated. Returns the length or -errno.
 */
__attribute__((format(printf, 4, 5))) ssize_t file_read_at(int directory, char *buffer, size_t size, const char *format,
                                                           ...);

/* Reads count bytes at an offset, or fewer if the file ends before. Returns the number of bytes read or -errno. */
ssize_t file_read(int descriptor, void *bytes, size_t count, uint64_t offset);

/* Writes all bytes. Returns 0, or -errno with the number of written bytes in *ret_written. */
int file_write(int descriptor, const void *bytes, size_t count, size_t *ret_written);

/*
 * Finds the holder of a write lock on byte offset, either a POSIX or an open file description lock. *ret_pid: the pid
 * in the caller's namespace; 0 = not locked; UINT32_MAX = the holder has no pid that is visible here.
 */
int file_lock_holder(int descriptor, uint64_t offset, uint32_t *ret_pid);

#endif
