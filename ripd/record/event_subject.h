/* SPDX-License-Identifier: Apache-2.0 */
/* event_subject.h - what it takes to know the id of an open episode again when ripd has been away. */
#ifndef RIPD_RECORD_EVENT_SUBJECT_H
#define RIPD_RECORD_EVENT_SUBJECT_H

#include <stdint.h>

#define EVENT_SUBJECT_ID_BYTES 16u
#define EVENT_SUBJECT_UNKNOWN UINT64_MAX

struct event_subject {
    uint64_t episode;
    uint8_t boot_id[EVENT_SUBJECT_ID_BYTES]; /* the run of the system; monotonic times are of it */
    uint8_t ring_id[EVENT_SUBJECT_ID_BYTES]; /* all zero = not known */
    uint64_t directory_device;               /* of the directory in which the ring's file is */
    uint64_t directory_inode;                /* 0 = not known */
    uint32_t slot;
    uint32_t generation;
    uint64_t began_mono_ns;       /* first seen frozen in this episode */
    uint32_t stall_count;         /* of the episode so far, at least 1; of the last of them is what follows */
    uint64_t progress;            /* at which it stands still */
    uint64_t frozen_mono_ns;      /* first seen frozen at it */
    uint64_t moved_after_mono_ns; /* last seen at another; EVENT_SUBJECT_UNKNOWN = never */
};

#endif
