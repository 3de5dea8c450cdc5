/* SPDX-License-Identifier: Apache-2.0 */
/* capture_read.c - see capture_read.h. */
#include "cli/capture_read.h"

#include <stdio.h>
#include <string.h>

#include "cli/item.h"

/* Its core file says what killed it where the kernel did not. */
static void format_killed(const json_t *end, const json_t *core, char *text, size_t size)
{
    const char *file = item_text(core, "corefile");
    const char *signal = item_text(end, "signal"), *prefix = "";

    if (signal == NULL && core != NULL && (signal = sigabbrev_np((int)item_number(core, "sig"))) != NULL)
        prefix = "SIG";
    if (file == NULL && json_is_true(json_object_get(end, "core_dumped")))
        file = "dumped";
    snprintf(text, size, "killed by %s%s%s%s", prefix, signal != NULL ? signal : "a signal",
             file != NULL ? ", core " : "", file != NULL ? file : "");
}

void capture_format_end(const json_t *document, char *text, size_t size)
{
    const json_t *end = json_object_get(document, "end"), *core = json_object_get(document, "core");

    if (core != NULL || item_is(end, "how", "killed"))
        format_killed(end, core, text, size);
    else if (item_is(end, "how", "exited"))
        snprintf(text, size, "exited with %lld by _exit()", item_number(end, "status"));
    else if (item_is(end, "how", "executed"))
        snprintf(text, size, "executed another program");
    else
        snprintf(text, size, "ended, it is not known how");
}
