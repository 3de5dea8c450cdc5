/* SPDX-License-Identifier: Apache-2.0 */
/* capture_file.c - see capture_file.h. Pure, except for capture_read(). */
#include "session/capture_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "session/read_file.h"

#define MAGIC "RIPCAPT"
#define VERSION 1u
#define COMPRESSION_LEVEL 3
#define WINDOW_LOG_MAX 23 /* 8 MiB, four times what that level needs: bounds the memory that a frame can request */
#define RING_ALIGNMENT 4096u

struct header {
    char magic[8];
    uint32_t version;
    uint32_t reserved_12;
    uint64_t document_bytes;
    uint64_t ring_bytes;
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "captures are little-endian, and so is this code");
_Static_assert(sizeof(struct header) == CAPTURE_HEADER_BYTES, "struct header has changed size");

void capture_done(struct capture *capture)
{
    free(capture->document);
    free(capture->ring);
    *capture = (struct capture){0};
}

/* Packing ---------------------------------------------------------------------------------------------------------- */

/* Adds bytes to the frame. Output must have room for the compressed bytes. */
static bool compress(ZSTD_CCtx *context, const void *bytes, size_t count, ZSTD_EndDirective directive,
                     ZSTD_outBuffer *output)
{
    ZSTD_inBuffer input = {bytes, count, 0};
    const size_t left = ZSTD_compressStream2(context, output, &input, directive);

    return !ZSTD_isError(left) && input.pos == input.size && (directive != ZSTD_e_end || left == 0);
}

static bool compress_parts(const struct capture *capture, ZSTD_outBuffer *output)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    bool done;

    if (context == NULL)
        return false;
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, COMPRESSION_LEVEL);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    done = compress(context, capture->document, capture->document_bytes, ZSTD_e_continue, output) &&
           compress(context, capture->ring, capture->ring_bytes, ZSTD_e_end, output);
    ZSTD_freeCCtx(context);
    return done;
}

int capture_pack(const struct capture *capture, void **ret_bytes, size_t *ret_count)
{
    const struct header header = {MAGIC, VERSION, 0, capture->document_bytes, capture->ring_bytes};
    ZSTD_outBuffer output = {.pos = sizeof(header)};
    unsigned char *bytes;

    if (capture->document_bytes > CAPTURE_DOCUMENT_BYTES_MAX || capture->ring_bytes > CAPTURE_RING_BYTES_MAX)
        return -EFBIG;
    output.size = sizeof(header) + ZSTD_compressBound(capture->document_bytes + capture->ring_bytes);
    output.dst = bytes = malloc(output.size);
    if (bytes == NULL)
        return -ENOMEM;
    memcpy(bytes, &header, sizeof(header));
    if (!compress_parts(capture, &output)) {
        free(bytes);
        return -ENOMEM;
    }
    *ret_bytes = bytes;
    *ret_count = output.pos;
    return 0;
}

/* Unpacking -------------------------------------------------------------------------------------------------------- */

bool capture_is_one(const void *bytes, size_t count)
{
    return count >= sizeof(MAGIC) && memcmp(bytes, MAGIC, sizeof(MAGIC)) == 0;
}

/* Decompresses exactly count bytes. Returns false if the frame is damaged or has fewer. */
static bool decompress(ZSTD_DCtx *context, ZSTD_inBuffer *input, void *target, size_t count, size_t *ret_left)
{
    ZSTD_outBuffer output = {target, count, 0};

    *ret_left = ZSTD_decompressStream(context, &output, input);
    return !ZSTD_isError(*ret_left) && output.pos == output.size;
}

/*
 * Returns whether frame and input end here. The decompressor verifies the checksum at the end of the frame only when it
 * is called again after the last byte of content.
 */
static bool ends_there(ZSTD_DCtx *context, ZSTD_inBuffer *input, size_t left)
{
    unsigned char more;

    if (left != 0) {
        ZSTD_outBuffer output = {&more, sizeof(more), 0};

        left = ZSTD_decompressStream(context, &output, input);
        if (output.pos != 0)
            return false;
    }
    return left == 0 && input->pos == input->size;
}

static bool decompress_parts(struct capture *capture, ZSTD_inBuffer *input)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    size_t left = 1;
    bool done;

    if (context == NULL)
        return false;
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    done = decompress(context, input, capture->document, capture->document_bytes, &left) &&
           decompress(context, input, capture->ring, capture->ring_bytes, &left) && ends_there(context, input, left);
    ZSTD_freeDCtx(context);
    return done;
}

int capture_unpack(const void *bytes, size_t count, struct capture *ret_capture)
{
    struct capture capture = {0};
    struct header header;
    ZSTD_inBuffer input = {bytes, count, sizeof(header)};

    if (!capture_is_one(bytes, count))
        return -EINVAL;
    if (count < sizeof(header))
        return -EBADMSG;
    memcpy(&header, bytes, sizeof(header));
    if (header.version != VERSION)
        return -EPROTONOSUPPORT;
    if (header.reserved_12 != 0 || header.document_bytes > CAPTURE_DOCUMENT_BYTES_MAX ||
        header.ring_bytes > CAPTURE_RING_BYTES_MAX || header.ring_bytes == 0)
        return -EBADMSG;
    capture.document_bytes = (size_t)header.document_bytes;
    capture.ring_bytes = (size_t)header.ring_bytes;
    capture.document = malloc(capture.document_bytes + 1);
    capture.ring =
        aligned_alloc(RING_ALIGNMENT, (capture.ring_bytes + RING_ALIGNMENT - 1) / RING_ALIGNMENT * RING_ALIGNMENT);
    if (capture.document == NULL || capture.ring == NULL) {
        capture_done(&capture);
        return -ENOMEM;
    }
    capture.document[capture.document_bytes] = '\0';
    if (!decompress_parts(&capture, &input)) {
        capture_done(&capture);
        return -EBADMSG;
    }
    *ret_capture = capture;
    return 0;
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

int capture_read(int descriptor, struct capture *ret_capture)
{
    struct stat status;
    unsigned char *bytes;
    long length;
    int result;

    if (fstat(descriptor, &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_size < (off_t)CAPTURE_HEADER_BYTES ||
        status.st_size > (off_t)CAPTURE_BYTES_MAX)
        return -EINVAL;
    bytes = malloc((size_t)status.st_size);
    if (bytes == NULL)
        return -ENOMEM;
    length = read_file(descriptor, 0, bytes, (size_t)status.st_size);
    if (length < 0)
        result = (int)length;
    else if (length < status.st_size)
        result = -EBADMSG;
    else
        result = capture_unpack(bytes, (size_t)length, ret_capture);
    free(bytes);
    return result;
}

const char *capture_error_text(int error)
{
    switch (error) {
    case -EINVAL:
        return "is not a capture";
    case -EPROTONOSUPPORT:
        return "is a capture of another version";
    case -EBADMSG:
        return "is damaged or truncated";
    default:
        return strerror(-error);
    }
}
