/* SPDX-License-Identifier: Apache-2.0 */
/* capture_read.c - see capture_read.h. */
#include "cli/capture_read.h"

#include <stdio.h>
#include <string.h>

#include "cli/item.h"

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
