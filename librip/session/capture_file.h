/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_file.h - the bytes of a capture: what was known of a process that ended, and what it left in its ring.
 *
 *   offset  bytes  what
 *        0      8  "RIPCAPT\0"
 *        8      4  version: 1
 *       12      4  0
 *       16      8  bytes of the document
 *       24      8  bytes of the ring
 *       32    ...  one frame of zstd, with checksum: the document, then the ring
 *
 * Integers are little-endian. The document is JSON (ripd/capture/1 of the schema). The ring is one of format 1, of one
 * process and without gaps (ring/remains.h). Pure, but for capture_read().
 *
 * Guarantees
 *   A. Whatever the bytes, unpacking allocates no more than CAPTURE_DOCUMENT_BYTES_MAX and CAPTURE_RING_BYTES_MAX.
 *   B. What is unpacked is complete, and what was packed: else there is an error and nothing is returned.
 */
#ifndef RIP_SESSION_CAPTURE_FILE_H
#define RIP_SESSION_CAPTURE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define CAPTURE_HEADER_BYTES 32u
#define CAPTURE_DOCUMENT_BYTES_MAX (8u << 20)
#define CAPTURE_RING_BYTES_MAX (32u << 20)
#define CAPTURE_BYTES_MAX (CAPTURE_HEADER_BYTES + CAPTURE_DOCUMENT_BYTES_MAX + CAPTURE_RING_BYTES_MAX)

struct capture {
    char *document; /* terminated */
    size_t document_bytes;
    unsigned char *ring; /* aligned to a page */
    size_t ring_bytes;
};

void capture_done(struct capture *capture);

/* The bytes of the file, the caller's to free. 0, -ENOMEM, or -EFBIG: the parts are larger than the limits. */
int capture_pack(const struct capture *capture, void **ret_bytes, size_t *ret_count);

/* Whether bytes begin as a capture does; 8 of them are enough. */
bool capture_is_one(const void *bytes, size_t count);

/* 0; -EINVAL: no capture; -EPROTONOSUPPORT: one of another version; -EBADMSG: damaged or cut; -ENOMEM. */
int capture_unpack(const void *bytes, size_t count, struct capture *ret_capture);

/* Reads an open file. As capture_unpack(), or -errno. */
int capture_read(int descriptor, struct capture *ret_capture);

/* Why it cannot be read, of what these return: a static phrase. */
const char *capture_error_text(int error);

#endif
