/* SPDX-License-Identifier: Apache-2.0 */
/* event_id.c - parses ids, and stores one in a file with one line. Touches that file and FILE.new beside it. */
#include "cli/event_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EPOCH_DIGITS 16u
#define SEQUENCE_DIGITS_MAX 19u

bool event_id_parse(const char *text, uint64_t *ret_sequence)
{
    size_t digits;

    if (strspn(text, "0123456789abcdefABCDEF") != EPOCH_DIGITS || text[EPOCH_DIGITS] != '-')
        return false;
    text += EPOCH_DIGITS + 1;
    digits = strspn(text, "0123456789");
    if (digits == 0 || digits > SEQUENCE_DIGITS_MAX || text[digits] != '\0')
        return false;
    *ret_sequence = strtoull(text, NULL, 10);
    return true;
}

int event_id_load(const char *path, char ret_id[EVENT_ID_BYTES])
{
    char text[EVENT_ID_BYTES];
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
    if (!event_id_parse(text, &sequence))
        return -EINVAL;
    memcpy(ret_id, text, sizeof(text));
    return 0;
}

int event_id_store(const char *path, const char *id)
{
    char *making;
    int descriptor, error = 0;

    if (asprintf(&making, "%s.new", path) < 0)
        return -ENOMEM;
    descriptor = open(making, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) {
        error = -errno;
        goto out;
    }
    if (dprintf(descriptor, "%s\n", id) < 0 || fsync(descriptor) != 0)
        error = -errno;
    if (close(descriptor) != 0 && error == 0)
        error = -errno;
    if (error == 0 && rename(making, path) != 0)
        error = -errno;
    if (error != 0)
        unlink(making);
out:
    free(making);
    return error;
}
