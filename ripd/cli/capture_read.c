/* SPDX-License-Identifier: Apache-2.0 */
/* capture_read.c - see capture_read.h. Touches the descriptor it is given. */
#include "cli/capture_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/item.h"

static int read_all(int descriptor, unsigned char *bytes, size_t count)
{
    size_t length = 0;

    while (length < count) {
        ssize_t more = pread(descriptor, bytes + length, count - length, (off_t)length);

        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return more < 0 ? -errno : -EBADMSG; /* it was cut meanwhile */
        length += (size_t)more;
    }
    return 0;
}

int capture_read(int descriptor, struct capture *ret_capture)
{
    struct stat status;
    unsigned char *bytes;
    int result;

    if (fstat(descriptor, &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_size < (off_t)CAPTURE_HEADER_BYTES ||
        status.st_size > (off_t)CAPTURE_BYTES_MAX)
        return -EINVAL;
    bytes = malloc((size_t)status.st_size);
    if (bytes == NULL)
        return -ENOMEM;
    result = read_all(descriptor, bytes, (size_t)status.st_size);
    if (result == 0)
        result = capture_unpack(bytes, (size_t)status.st_size, ret_capture);
    free(bytes);
    return result;
}

const char *capture_error_text(int error)
{
    switch (error) {
    case -EINVAL:
        return "is no capture";
    case -EPROTONOSUPPORT:
        return "is a capture of another version";
    case -EBADMSG:
        return "is damaged, or was cut";
    default:
        return strerror(-error);
    }
}

void capture_format_end(const json_t *document, char *text, size_t size)
{
    const json_t *end = json_object_get(document, "end");
    const char *how = json_string_value(json_object_get(end, "how"));
    const char *signal = json_string_value(json_object_get(end, "signal"));

    if (how != NULL && strcmp(how, "killed") == 0)
        snprintf(text, size, "killed by %s%s", signal != NULL ? signal : "a signal",
                 json_is_true(json_object_get(end, "core_dumped")) ? ", core dumped" : "");
    else if (how != NULL && strcmp(how, "exited") == 0)
        snprintf(text, size, "exited with %lld by _exit()", item_number(end, "status"));
    else if (how != NULL && strcmp(how, "executed") == 0)
        snprintf(text, size, "executed another program");
    else
        snprintf(text, size, "ended, it is not known how");
}
