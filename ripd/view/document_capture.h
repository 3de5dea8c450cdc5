/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_capture.h - what was known of a process that has ended, as JSON: the document of a capture. Pure.
 */
#ifndef RIPD_VIEW_DOCUMENT_CAPTURE_H
#define RIPD_VIEW_DOCUMENT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"

#define CAPTURE_STALLS_MAX 1000u /* in a document; the longest */

/* How a process ended. */
enum capture_end {
    CAPTURE_END_KILLED,   /* by a signal */
    CAPTURE_END_EXITED,   /* without leaving its ring: _exit() of a linked program */
    CAPTURE_END_EXECUTED, /* another program; the process lives on */
    CAPTURE_END_UNKNOWN,  /* it has ended, and the kernel does not say how */
};

/* Static string. */
const char *capture_end_name(enum capture_end end);

struct capture_facts {
    const char *ring_name;
    uint32_t ring;
    struct process_facts *process;
    uint64_t ended_wall_ns; /* when that was noticed */
    enum capture_end end;
    uint32_t exit_status; /* of EXITED */
    const char *signal;   /* of KILLED: "SIGSEGV"; NULL = no name is known */
    uint32_t signal_number;
    bool core_dumped;  /* of KILLED */
    uint32_t id_count; /* in the capture */
    uint32_t id_left_out_count;
};

/* moment: of the last scan before the end; NULL = there was none. 0 and text that the caller frees, or -ENOMEM. */
int document_capture(const struct capture_facts *facts, const struct snapshot *moment, char **ret_text,
                     size_t *ret_length);

#endif
