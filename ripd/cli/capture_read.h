/* SPDX-License-Identifier: Apache-2.0 */
/* capture_read.h - how the process of a capture ended, as text. */
#ifndef RIP_CLI_CAPTURE_READ_H
#define RIP_CLI_CAPTURE_READ_H

#include <jansson.h>

#include "session/capture_file.h"

/* "killed by SIGSEGV, core dumped"; or "present" or "missing", as coredumpctl has it. */
void capture_format_end(const json_t *document, char *text, size_t size);

#endif
