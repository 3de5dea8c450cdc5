/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_file.c - the files of the state directory: locked, appended to, replaced. See event_file.h for the guarantees.
 */
#include "record/event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "record/event_line.h"

#define DIRECTORY_MODE 0751 /* users reach their captures in it */
#define FILE_MODE 0640
#define ASIDE_MAX 1000
#define SAFE_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Returns 0 for a regular file, -ENOENT if there is none, -ENOTSUP if it is something else, or another -errno. */
static int check_regular(int directory, const char *name)
{
    struct file_identity identity;
    int status = file_identify_at(directory, name, &identity);

    return status != 0 ? status : identity.regular ? 0 : -ENOTSUP;
}

static int open_checked(int directory, const char *name, int flags)
{
    struct file_identity identity;
    int descriptor = openat(directory, name, flags | SAFE_FLAGS, FILE_MODE);
    int status;

    if (descriptor < 0)
        return errno == ELOOP || errno == EISDIR || errno == ENXIO ? -ENOTSUP : -errno;
    status = file_identify(descriptor, &identity);
    if (status == 0 && !identity.regular)
        status = -ENOTSUP;
    if (status == 0 && (flags & O_CREAT) != 0 && fchmod(descriptor, FILE_MODE) != 0)
        status = errno == EPERM ? 0 : -errno; /* another user's file: it is used as it is */
    if (status == 0)
        return descriptor;
    close(descriptor);
    return status;
}

static int open_directory(const char *path)
{
    int descriptor;

    if (mkdir(path, DIRECTORY_MODE) != 0 && errno != EEXIST)
        return -errno;
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return descriptor >= 0 ? descriptor : -errno;
}

/* The lock ends with the process: children do not inherit record locks. */
static int take_lock(struct event_file *file, uint32_t *ret_holder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    file->lock = open_checked(file->directory, EVENT_FILE_LOCK_NAME, O_RDWR | O_CREAT);
    if (file->lock < 0)
        return file->lock;
    if (fcntl(file->lock, F_SETLK, &lock) == 0)
        return 0;
    if (errno != EAGAIN && errno != EACCES)
        return -errno;
    file_lock_holder(file->lock, 0, ret_holder);
    return -EBUSY;
}

/* After a crash between the two renames, the current file has the name of the older one already. */
static int undo_half_rotation(const struct event_file *file)
{
    unlinkat(file->directory, EVENT_FILE_NEW_NAME, 0);
    if (check_regular(file->directory, EVENT_FILE_NAME) != -ENOENT ||
        check_regular(file->directory, EVENT_FILE_OLDER_NAME) != 0)
        return 0;
    return renameat(file->directory, EVENT_FILE_OLDER_NAME, file->directory, EVENT_FILE_NAME) == 0 ? 0 : -errno;
}

static int open_file(struct event_file *file)
{
    struct file_identity identity;
    int status = undo_half_rotation(file);

    if (status != 0)
        return status;
    status = open_checked(file->directory, EVENT_FILE_NAME, O_RDWR | O_APPEND);
    if (status == -ENOENT)
        return 0;
    if (status < 0)
        return status;
    file->descriptor = status;
    status = file_identify(file->descriptor, &identity);
    if (status == 0)
        file->bytes = identity.size_bytes;
    return status;
}

/* Makes one line about a failure: the directory, what in it, and what was expected. */
static void explain(const char *path, const char *what, uint32_t holder, int status, char **ret_error)
{
    char *text = NULL, pid[32] = "";
    int length;

    if (holder != 0 && holder != UINT32_MAX)
        snprintf(pid, sizeof(pid), " (pid %u)", holder);
    if (status == -EBUSY)
        length = asprintf(&text, "state directory '%s': another ripd has it%s", path, pid);
    else
        length = asprintf(&text, "state directory '%s': %s%s%s", path, what != NULL ? what : "",
                          status == -ENOTSUP ? " is "
                          : what != NULL     ? ": "
                                             : "",
                          status == -ENOTSUP ? "not a regular file" : strerror(-status));
    *ret_error = length >= 0 ? text : NULL;
}

int event_file_open(struct event_file *ret_file, const char *path, char **ret_error)
{
    struct event_file file = {.directory = open_directory(path), .lock = -1, .descriptor = -1};
    const char *what = NULL;
    uint32_t holder = 0;
    int status = file.directory < 0 ? file.directory : 0;

    if (status == 0) {
        what = EVENT_FILE_LOCK_NAME;
        status = take_lock(&file, &holder);
    }
    if (status == 0) {
        what = EVENT_FILE_OLDER_NAME;
        status = check_regular(file.directory, what);
        status = status == -ENOENT ? 0 : status;
    }
    if (status == 0) {
        what = EVENT_FILE_NAME;
        status = open_file(&file);
    }
    if (status != 0) {
        explain(path, what, holder, status, ret_error);
        event_file_close(&file);
        return status;
    }
    *ret_file = file;
    return 0;
}

void event_file_close(struct event_file *file)
{
    if (file->descriptor >= 0)
        close(file->descriptor);
    if (file->lock >= 0)
        close(file->lock);
    if (file->directory >= 0)
        close(file->directory);
    *file = (struct event_file){.directory = -1, .lock = -1, .descriptor = -1};
}

/* A file that is being split into lines. The buffer begins with the bytes that are not visited yet. */
struct reading {
    char *buffer;
    size_t length;
    uint64_t skipped_bytes; /* of the current line, which is too long; 0 = it is not */
    uint64_t complete_bytes;
    int (*visit)(void *context, const char *text, size_t length);
    void *context;
};

static int visit_lines(struct reading *reading)
{
    char *at = reading->buffer, *end;
    size_t left = reading->length;
    int status = 0;

    while (status == 0 && (end = memchr(at, '\n', left)) != NULL) {
        size_t length = (size_t)(end - at);

        status = reading->visit(reading->context, at, reading->skipped_bytes != 0 ? 0 : length);
        reading->complete_bytes += reading->skipped_bytes + length + 1;
        reading->skipped_bytes = 0;
        at = end + 1;
        left -= length + 1;
    }
    memmove(reading->buffer, at, left);
    reading->length = left;
    if (left == EVENT_LINE_BYTES_MAX) {
        reading->skipped_bytes += left;
        reading->length = 0;
    }
    return status;
}

int event_file_read(const struct event_file *file, const char *name,
                    int (*visit)(void *context, const char *text, size_t length), void *context,
                    uint64_t *ret_complete_bytes)
{
    struct reading reading = {.visit = visit, .context = context};
    int descriptor = open_checked(file->directory, name, O_RDONLY);
    int status = 0;

    if (descriptor < 0)
        return descriptor;
    reading.buffer = malloc(EVENT_LINE_BYTES_MAX);
    if (reading.buffer == NULL)
        status = -ENOMEM;
    while (status == 0) {
        ssize_t bytes = read(descriptor, reading.buffer + reading.length, EVENT_LINE_BYTES_MAX - reading.length);

        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0) {
            status = bytes < 0 ? -errno : 0;
            break;
        }
        reading.length += (size_t)bytes;
        status = visit_lines(&reading);
    }
    *ret_complete_bytes = reading.complete_bytes;
    free(reading.buffer);
    close(descriptor);
    return status;
}

int event_file_cut(struct event_file *file, uint64_t bytes)
{
    if (ftruncate(file->descriptor, (off_t)bytes) != 0) {
        file->torn = true;
        return -errno;
    }
    file->bytes = bytes;
    return 0;
}

int event_file_append(struct event_file *file, const char *line, size_t length)
{
    size_t written;
    int status;

    if (file->descriptor < 0)
        return -ENOENT;
    if (file->torn) {
        status = file_write(file->descriptor, "\n", 1, &written);
        if (status != 0)
            return status;
        file->bytes++;
        file->torn = false;
    }
    status = file_write(file->descriptor, line, length, &written);
    if (status == 0)
        file->bytes += written;
    else if (written != 0)
        event_file_cut(file, file->bytes);
    return status;
}

bool event_file_is_full(const struct event_file *file)
{
    return file->descriptor >= 0 && file->bytes - file->head_bytes >= EVENT_FILE_BYTES_MAX;
}

static int replace(const struct event_file *file)
{
    int status;

    if (file->descriptor >= 0 &&
        renameat(file->directory, EVENT_FILE_NAME, file->directory, EVENT_FILE_OLDER_NAME) != 0)
        return -errno;
    if (renameat(file->directory, EVENT_FILE_NEW_NAME, file->directory, EVENT_FILE_NAME) == 0)
        return 0;
    status = -errno;
    if (file->descriptor >= 0)
        renameat(file->directory, EVENT_FILE_OLDER_NAME, file->directory, EVENT_FILE_NAME);
    return status;
}

int event_file_rotate(struct event_file *file, const char *head, size_t length)
{
    size_t written = 0;
    int descriptor, status;

    if (file->descriptor >= 0)
        fdatasync(file->descriptor); /* nothing is written to it any more */
    unlinkat(file->directory, EVENT_FILE_NEW_NAME, 0);
    descriptor = open_checked(file->directory, EVENT_FILE_NEW_NAME, O_RDWR | O_APPEND | O_CREAT | O_EXCL);
    if (descriptor < 0)
        return descriptor;
    status = file_write(descriptor, head, length, &written);
    if (status == 0 && fdatasync(descriptor) != 0)
        status = -errno;
    if (status == 0)
        status = replace(file);
    if (status != 0) {
        unlinkat(file->directory, EVENT_FILE_NEW_NAME, 0);
        close(descriptor);
        return status;
    }
    fsync(file->directory); /* best effort for the names; otherwise the kernel writes them later */
    if (file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = descriptor;
    file->bytes = file->head_bytes = length;
    file->torn = false;
    return 0;
}

int event_file_set_aside(struct event_file *file, const char *name, char ret_name[EVENT_FILE_ASIDE_BYTES])
{
    for (int i = 1; i < ASIDE_MAX; i++) {
        char number[16] = "";

        if (i > 1)
            snprintf(number, sizeof(number), "-%d", i);
        snprintf(ret_name, EVENT_FILE_ASIDE_BYTES, "%.32s.damaged%s", name, number);
        if (renameat2(file->directory, name, file->directory, ret_name, RENAME_NOREPLACE) == 0) {
            if (strcmp(name, EVENT_FILE_NAME) == 0 && file->descriptor >= 0) {
                close(file->descriptor);
                file->descriptor = -1;
                file->bytes = file->head_bytes = 0;
            }
            return 0;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}
