/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_file.h - the files of the history of events, in the state directory.
 *
 *   events.jsonl      lines are added at its end
 *   events.1.jsonl    the file before it
 *   events.new        the next one, while it is made
 *   ripd.lock         locked by the ripd that has the directory
 *
 * Guarantees
 *   A. A line is written by one write(2). What came of one that did not fit is cut off again; where even that fails,
 *      the next line begins on a line of its own.
 *   B. A file that takes the place of another is complete before it does: at every moment one of the two has all that
 *      was written since the older of them was begun.
 *   C. Nothing but regular files of these names is opened, no link is followed. What is there is never overwritten or
 *      cut, but for a last line without an end, and for the file that is the second to be replaced.
 *   D. Two daemons never have one directory.
 */
#ifndef RIPD_RECORD_EVENT_FILE_H
#define RIPD_RECORD_EVENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that has grown by this much is followed by the next: the newest 8 MiB of lines are always kept. */
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
    uint64_t head_bytes; /* of them at its beginning, that it had from the start */
    bool torn;           /* its last line has no end */
};

/*
 * Makes the directory if it is missing, locks it, opens the file if there is one. On failure *ret_error (malloc'ed, or
 * NULL for want of memory) is one line that names the directory. 0 or -errno; -EBUSY: another daemon has it.
 */
int event_file_open(struct event_file *ret_file, const char *path, char **ret_error);
void event_file_close(struct event_file *file);

/*
 * Calls visit for each line of a file of the directory, without its end, from first to last, while it returns 0; its
 * last result is returned. An incomplete last line is not visited: *ret_complete_bytes is where it begins.
 * -ENOENT: there is no such file; -errno. A line longer than EVENT_LINE_BYTES_MAX is visited as an empty one.
 */
int event_file_read(const struct event_file *file, const char *name,
                    int (*visit)(void *context, const char *text, size_t length), void *context,
                    uint64_t *ret_complete_bytes);

/* Cuts off what is behind. */
int event_file_cut(struct event_file *file, uint64_t bytes);

/* Adds a line, its end included. 0 or -errno: nothing of it counts. */
int event_file_append(struct event_file *file, const char *line, size_t length);

/* Whether it is time for event_file_turn(). */
bool event_file_is_full(const struct event_file *file);

/* The next file, that begins with head; the present one, if any, becomes the older. 0 or -errno: all is as it was. */
int event_file_turn(struct event_file *file, const char *head, size_t length);

/*
 * Moves a file that is none of ours out of the way: NAME.damaged, or NAME.damaged-2 and so on. ret_name gets the name
 * it has now.
 */
#define EVENT_FILE_ASIDE_BYTES 64u
int event_file_set_aside(struct event_file *file, const char *name, char ret_name[EVENT_FILE_ASIDE_BYTES]);

#endif
