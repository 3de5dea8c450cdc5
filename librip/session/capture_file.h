/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_file.h - the file format of a capture: a document about a process that ended, and the contents of its ring.
 *
 *   offset  bytes  what
 *        0      8  "RIPCAPT\0"
 *        8      4  version: 1
 *       12      4  reserved: 0
 *       16      8  size of the document in bytes
 *       24      8  size of the ring in bytes
 *       32    ...  one zstd frame with a checksum: the document, then the ring
 *
 * Integers are little-endian. The document is JSON (ripd/capture/1 of the schema). The ring has format 1, one process
 * and no gaps (ring/remains.h). Pure, except for capture_read().
 *
 * Guarantees
 *   A. For any input, unpacking allocates at most CAPTURE_DOCUMENT_BYTES_MAX plus CAPTURE_RING_BYTES_MAX for the parts,
 *      and a bounded window to decompress them.
 *   B. Unpacking returns exactly the parts that were packed, or an error and nothing.
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
    char *document; /* NUL-terminated */
    size_t document_bytes;
    unsigned char *ring; /* page-aligned if unpacked */
    size_t ring_bytes;
};

/* Frees both parts. */
void capture_done(struct capture *capture);

/* Allocates the bytes of the file; the caller frees them. Returns 0, -ENOMEM, or -EFBIG if a part exceeds its limit. */
int capture_pack(const struct capture *capture, void **ret_bytes, size_t *ret_count);

/* Returns whether bytes begin with the magic of a capture. 8 bytes are enough. */
bool capture_is_one(const void *bytes, size_t count);

/*
 * Returns 0; -EINVAL if bytes are not a capture; -EPROTONOSUPPORT for another version; -EBADMSG if the capture is
 * damaged or truncated; -ENOMEM.
 */
int capture_unpack(const void *bytes, size_t count, struct capture *ret_capture);

/* Reads and unpacks an open file. Returns the errors of capture_unpack(), or -errno. */
int capture_read(int descriptor, struct capture *ret_capture);

/* Returns the error text for a return value of the functions above. It follows the name of the file. */
const char *capture_error_text(int error);

#endif
