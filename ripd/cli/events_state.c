/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_state.c - the file that says how far a follower came: one line, EPOCH-SEQUENCE.
 *
 * Guarantees
 *   1. It is replaced as a whole: whoever is killed at any moment leaves the old place or the new one.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/events.h"

#define EPOCH_DIGITS 16u

bool events_id_valid(const char *text, uint64_t *ret_sequence)
{
    uint64_t sequence = 0;
    size_t at = 0;

    while (at < EPOCH_DIGITS && isxdigit((unsigned char)text[at]))
        at++;
    if (at != EPOCH_DIGITS || text[at++] != '-' || text[at] == '\0' || strlen(text + at) > 19)
        return false;
    for (; text[at] != '\0'; at++) {
        if (!isdigit((unsigned char)text[at]))
            return false;
        sequence = sequence * 10 + (uint64_t)(text[at] - '0');
    }
    *ret_sequence = sequence;
    return true;
}

int events_state_read(const char *path, char ret_id[EVENTS_ID_BYTES])
{
    char text[EVENTS_ID_BYTES];
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t sequence;
    ssize_t length;

    if (descriptor < 0)
        return -errno;
    length = read(descriptor, text, sizeof(text) - 1);
    close(descriptor);
    if (length < 0)
        return -EIO;
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (!events_id_valid(text, &sequence))
        return -EINVAL;
    memcpy(ret_id, text, sizeof(text));
    return 0;
}

int events_state_write(const char *path, const char *id)
{
    char *making;
    int descriptor, error = 0;

    if (asprintf(&making, "%s.new", path) < 0)
        return -ENOMEM;
    descriptor = open(making, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) {
        error = -errno;
        free(making);
        return error;
    }
    if (dprintf(descriptor, "%s\n", id) < 0 || fsync(descriptor) != 0)
        error = -errno;
    if (close(descriptor) != 0 && error == 0)
        error = -errno;
    if (error == 0 && rename(making, path) != 0)
        error = -errno;
    if (error != 0)
        unlink(making);
    free(making);
    return error;
}
