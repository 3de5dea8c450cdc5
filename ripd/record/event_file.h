/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_file.h - the files of the event history, in the state directory.
 *
 *   events.jsonl      lines are appended to it
 *   events.1.jsonl    the file before it
 *   events.new        the next one, while it is written
 *   ripd.lock         locked by the ripd that uses the directory
 *
 * Guarantees
 *   A. A line is written by one write(2). The part of a line that did not fit is cut off again. If even that fails, the
 *      next line begins on a line of its own.
 *   B. A file is complete before it replaces another one. At every moment one of the two has all that was written since
 *      the older of them was begun.
 *   C. Only regular files of these names are opened, and no link is followed. Existing content is never overwritten or
 *      cut, with two exceptions: a last line without an end, and the second file when it is replaced.
 *   D. Two daemons never use the same directory.
 */
#ifndef RIPD_RECORD_EVENT_FILE_H
#define RIPD_RECORD_EVENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that has grown by this much is rotated: at least the newest 8 MiB of lines are kept. */
#define EVENT_FILE_BYTES_MAX (8u << 20)

#define EVENT_FILE_NAME "events.jsonl"
#define EVENT_FILE_OLDER_NAME "events.1.jsonl"
#define EVENT_FILE_NEW_NAME "events.new"
#define EVENT_FILE_LOCK_NAME "ripd.lock"

struct event_file {
    int directory;
    int lock;
    int descriptor; /* of EVENT_FILE_NAME; -1 = there is none yet */
    uint64_t bytes;
    uint64_t head_bytes; /* bytes at its beginning that it had from the start */
    bool torn;           /* its last line has no end */
};

/*
 * Creates the directory if it is missing, locks it, and opens the file if there is one. Returns 0 or -errno; -EBUSY if
 * another daemon uses it. On failure *ret_error is one line that names the directory, to be freed by the caller, or
 * NULL.
 */
int event_file_open(struct event_file *ret_file, const char *path, char **ret_error);
void event_file_close(struct event_file *file);

/*
 * Calls visit for each line of a file of the directory, without its end, from first to last, while visit returns 0.
 * Returns the last result of visit; -ENOENT if there is no such file; or another -errno. An incomplete last line is not
 * visited: *ret_complete_bytes is where it begins. A line longer than EVENT_LINE_BYTES_MAX is visited as an empty one.
 */
int event_file_read(const struct event_file *file, const char *name,
                    int (*visit)(void *context, const char *text, size_t length), void *context,
                    uint64_t *ret_complete_bytes);

/* Cuts off everything after that many bytes. Returns 0 or -errno. */
int event_file_cut(struct event_file *file, uint64_t bytes);

/* Appends a line with its end. Returns 0 or -errno; then nothing of it counts. */
int event_file_append(struct event_file *file, const char *line, size_t length);

/* Returns true if it is time for event_file_rotate(). */
bool event_file_is_full(const struct event_file *file);

/*
 * Begins the next file with head. The current file, if any, becomes the older one. Returns 0 or -errno; then nothing
 * has changed.
 */
int event_file_rotate(struct event_file *file, const char *head, size_t length);

/*
 * Renames a file that is not a history to NAME.damaged, or NAME.damaged-2 and so on. ret_name gets the new name.
 * Returns 0 or -errno.
 */
#define EVENT_FILE_ASIDE_BYTES 64u
int event_file_set_aside(struct event_file *file, const char *name, char ret_name[EVENT_FILE_ASIDE_BYTES]);

#endif
