/* SPDX-License-Identifier: Apache-2.0 */
/* document_capture.h - the document of a capture, as JSON: what was known of a process that has ended. Pure. */
#ifndef RIPD_VIEW_DOCUMENT_CAPTURE_H
#define RIPD_VIEW_DOCUMENT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"

#define CAPTURE_STALLS_MAX 1000u /* in a document; the longest are kept */

/* How a process ended. */
enum capture_end {
    CAPTURE_END_KILLED,   /* by a signal */
    CAPTURE_END_EXITED,   /* by _exit() of a linked program, which did not leave its ring */
    CAPTURE_END_EXECUTED, /* executed another program; the process is still alive */
    CAPTURE_END_UNKNOWN,  /* it has ended, and the kernel does not report how */
};

/* Static string. */
const char *capture_end_name(enum capture_end end);

struct capture_facts {
    const char *ring_name;
    uint32_t ring;
    struct process_facts *process;
    uint64_t ended_wall_ns; /* when the end was noticed */
    enum capture_end end;
    uint32_t exit_status; /* if EXITED */
    const char *signal;   /* if KILLED: "SIGSEGV"; NULL if the name is not known */
    uint32_t signal_number;
    bool core_dumped;  /* if KILLED */
    uint32_t id_count; /* ids in the capture */
    uint32_t id_left_out_count;
};

/*
 * moment is the last scan before the end, or NULL if there was none. Returns 0 and a text that the caller frees, or
 * -ENOMEM.
 */
int document_capture(const struct capture_facts *facts, const struct snapshot *moment, char **ret_text,
                     size_t *ret_length);

#endif
