/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - opens, identifies and lists files of any user. Touches the file system through descriptors of directories,
 * and decides nothing.
 *
 * Guarantees
 *   1. A name is resolved once, with O_PATH, which opens nothing. Only a regular file is then opened, so no FIFO
 *      blocks, no device acts, and no link is followed.
 *   2. Every descriptor is close-on-exec and read-only.
 */
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { READ_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

int file_open_directory(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return descriptor >= 0 ? descriptor : -errno;
}

uint64_t file_descriptors_max(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

uint64_t file_raise_descriptors_max(uint64_t *ret_before)
{
    struct rlimit limit, raised;

    *ret_before = 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return file_descriptors_max();
    raised = (struct rlimit){.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) != 0)
        return limit.rlim_cur;
    *ret_before = limit.rlim_cur;
    return limit.rlim_max;
}

static struct file_identity identity_of(const struct stat *status)
{
    return (struct file_identity){
        .device = status->st_dev,
        .inode = status->st_ino,
        .size_bytes = (uint64_t)status->st_size,
        .changed_ns = (uint64_t)status->st_ctim.tv_sec * 1000000000u + (uint64_t)status->st_ctim.tv_nsec,
        .uid = status->st_uid,
        .links = (uint32_t)status->st_nlink,
        .regular = S_ISREG(status->st_mode),
        .others_write = (status->st_mode & (S_IWGRP | S_IWOTH)) != 0,
    };
}

int file_identify(int descriptor, struct file_identity *ret_identity)
{
    struct stat status;

    if (fstat(descriptor, &status) != 0)
        return -errno;
    *ret_identity = identity_of(&status);
    return 0;
}

int file_identify_at(int directory, const char *name, struct file_identity *ret_identity)
{
    struct stat status;

    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return -errno;
    *ret_identity = identity_of(&status);
    return 0;
}

int file_open_regular_at(int directory, const char *name)
{
    char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
    struct stat status;
    int found = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int result;

    if (found < 0)
        return -errno;
    if (fstat(found, &status) != 0) {
        result = -errno;
    } else if (!S_ISREG(status.st_mode)) {
        result = -ENOTSUP;
    } else {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
        result = open(path, READ_FLAGS);
        if (result < 0)
            result = -errno;
    }
    close(found);
    return result;
}

bool file_is_in_memory(int descriptor)
{
    struct statfs system;
    struct stat status;

    return fstatfs(descriptor, &system) == 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
           (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

static bool is_dot_name(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

int file_list_on(DIR *stream, size_t limit, int (*visit)(void *context, const char *name), void *context)
{
    for (size_t count = 0; count < limit;) {
        const struct dirent *entry;
        int result;

        errno = 0;
        entry = readdir(stream);
        if (entry == NULL)
            return -errno;
        if (is_dot_name(entry->d_name))
            continue;
        count++;
        result = visit(context, entry->d_name);
        if (result != 0)
            return result;
    }
    return -EOVERFLOW;
}

int file_list_begin(int directory, DIR **ret_stream)
{
    int descriptor = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* with a position of its own */
    DIR *stream;
    int result;

    if (descriptor < 0)
        return -errno;
    stream = fdopendir(descriptor);
    if (stream == NULL) {
        result = -errno;
        close(descriptor);
        return result;
    }
    *ret_stream = stream;
    return 0;
}

static int is_one_more(void *context, const char *name)
{
    (void)context;
    (void)name;
    return 1;
}

int file_list(int directory, size_t limit, int (*visit)(void *context, const char *name), void *context)
{
    DIR *stream;
    int result = file_list_begin(directory, &stream);

    if (result != 0)
        return result;
    result = file_list_on(stream, limit, visit, context);
    if (result == -EOVERFLOW && file_list_on(stream, 1, is_one_more, NULL) == 0)
        result = 0;
    closedir(stream);
    return result;
}

ssize_t file_read(int descriptor, void *bytes, size_t count, uint64_t offset)
{
    size_t done = 0;

    while (done < count) {
        const ssize_t got = pread(descriptor, (char *)bytes + done, count - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

ssize_t file_read_at(int directory, char *buffer, size_t size, const char *format, ...)
{
    char name[PATH_MAX];
    va_list arguments;
    ssize_t bytes = 0;
    int descriptor;

    va_start(arguments, format);
    bytes = vsnprintf(name, sizeof(name), format, arguments);
    va_end(arguments);
    if (bytes < 0 || (size_t)bytes >= sizeof(name))
        return -ENAMETOOLONG;
    descriptor = openat(directory, name, READ_FLAGS | O_NOFOLLOW);
    if (descriptor < 0)
        return -errno;
    bytes = file_read(descriptor, buffer, size - 1, 0);
    close(descriptor);
    buffer[bytes < 0 ? 0 : bytes] = '\0';
    return bytes;
}

int file_write(int descriptor, const void *bytes, size_t count, size_t *ret_written)
{
    for (*ret_written = 0; *ret_written < count;) {
        const ssize_t written = write(descriptor, (const char *)bytes + *ret_written, count - *ret_written);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -ENOSPC;
        *ret_written += (size_t)written;
    }
    return 0;
}

int file_lock_holder(int descriptor, uint64_t offset, uint32_t *ret_pid)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = 1};

    if (fcntl(descriptor, F_GETLK, &lock) != 0)
        return -errno;
    if (lock.l_type == F_UNLCK)
        *ret_pid = 0;
    else
        *ret_pid = lock.l_pid > 0 ? (uint32_t)lock.l_pid : UINT32_MAX;
    return 0;
}
