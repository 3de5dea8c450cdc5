/* SPDX-License-Identifier: Apache-2.0 */
/* recording_format.h - the headers of a recording and of its frames. librip/RECORDING.md defines their meaning. */
#ifndef RIP_SESSION_RECORDING_FORMAT_H
#define RIP_SESSION_RECORDING_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* "RIPREC\r\n" read as a little-endian integer. The line end shows if the file was transferred as text. */
#define RECORDING_MAGIC UINT64_C(0x0a0d434552504952)
#define RECORDING_FRAME_MAGIC UINT32_C(0x46504952) /* "RIPF" */
#define RECORDING_VERSION 1u

struct recording_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes; /* offset of the first frame from the start of the header */
    uint64_t created_wall_ns;
    uint32_t reserved_24;
    uint32_t checksum; /* of the preceding bytes */
};

enum recording_frame_flag {
    RECORDING_FRAME_STATE = 1,   /* describes what exists, not what happened */
    RECORDING_FRAME_BEGINS = 2,  /* the first frame of a state: a reader may start here */
    RECORDING_FRAME_GOES_ON = 4, /* the next frame continues this drain or this state */
};

struct recording_frame {
    uint32_t magic;
    uint32_t flags;
    uint32_t packed_bytes; /* of the zstd frame that follows */
    uint32_t raw_bytes;    /* of its content */
    uint64_t sequence;     /* from 1, increases by 1 per frame */
    uint64_t first_number; /* of its first event */
    uint64_t wall_ns;      /* of the last drain that is complete at the end of this frame */
    uint32_t reserved_40;
    uint32_t checksum; /* of the preceding bytes */
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "recordings are little-endian, and so is this code");
_Static_assert(sizeof(struct recording_header) == 32, "struct recording_header has changed size");
_Static_assert(sizeof(struct recording_frame) == 48, "struct recording_frame has changed size");

/* 32-bit FNV-1a. */
static inline uint32_t recording_checksum(const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    uint32_t sum = UINT32_C(2166136261);

    for (size_t i = 0; i < count; i++)
        sum = (sum ^ byte[i]) * UINT32_C(16777619);
    return sum;
}

#endif
