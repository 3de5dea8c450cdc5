/* SPDX-License-Identifier: Apache-2.0 */
/* capture_read.h - a capture out of its file, and what is said of how its process ended. */
#ifndef RIP_CLI_CAPTURE_READ_H
#define RIP_CLI_CAPTURE_READ_H

#include <jansson.h>

#include "session/capture_file.h"

/* Reads an open file. 0 or -errno; those of capture_unpack() included. */
int capture_read(int descriptor, struct capture *ret_capture);

/* Why it cannot be read, of what these return: a static phrase. */
const char *capture_error_text(int error);

/* "killed by SIGSEGV, core dumped"; of the member "end" of its document. */
void capture_format_end(const json_t *document, char *text, size_t size);

#endif
