/* SPDX-License-Identifier: Apache-2.0 */
/* test_capture_file.c - the format of a capture file: librip/session/capture_file.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/capture_file.h"
#include "support/guarded_copy.h"
#include "support/test.h"

#define DOCUMENT "{\"schema\":\"ripd/capture/1\"}"
#define RING_BYTES 40960u

struct packed {
    void *bytes;
    size_t count;
};

static struct packed pack(void)
{
    unsigned char *ring = malloc(RING_BYTES);
    char document[] = DOCUMENT;
    struct capture capture = {document, sizeof(document) - 1, ring, RING_BYTES};
    struct packed packed;

    assert_non_null(ring);
    for (size_t i = 0; i < RING_BYTES; i++)
        ring[i] = (unsigned char)(i * i >> 7);
    assert_int_equal(capture_pack(&capture, &packed.bytes, &packed.count), 0);
    free(ring);
    return packed;
}

TEST(packed_capture_is_unpacked)
{
    struct packed packed = pack();
    struct capture capture;

    assert_true(capture_is_one(packed.bytes, packed.count));
    assert_true(packed.count < RING_BYTES);
    assert_int_equal(capture_unpack(packed.bytes, packed.count, &capture), 0);
    assert_string_equal(capture.document, DOCUMENT);
    assert_int_equal(capture.ring_bytes, RING_BYTES);
    for (size_t i = 0; i < RING_BYTES; i++)
        assert_int_equal(capture.ring[i], (unsigned char)(i * i >> 7));
    capture_done(&capture);
    free(packed.bytes);
}

/* A page without access follows the bytes. */
TEST(truncated_captures_are_refused)
{
    struct packed packed = pack();
    struct capture capture;

    for (size_t count = 0; count < packed.count; count++) {
        struct guarded_copy copy;
        int result;

        guarded_copy_new(&copy, packed.bytes, count);
        result = capture_unpack(copy.bytes, count, &capture);
        assert_int_equal(result, count < 8 ? -EINVAL : -EBADMSG);
        guarded_copy_free(&copy);
    }
    free(packed.bytes);
}

/* Some bits have no effect, such as those of the window size that a zstd frame requests. */
static void assert_refused_or_the_same(const void *bytes, size_t count)
{
    struct capture capture;

    if (capture_unpack(bytes, count, &capture) != 0)
        return;
    assert_string_equal(capture.document, DOCUMENT);
    assert_int_equal(capture.ring_bytes, RING_BYTES);
    for (size_t i = 0; i < RING_BYTES; i++)
        assert_int_equal(capture.ring[i], (unsigned char)(i * i >> 7));
    capture_done(&capture);
}

TEST(changed_captures_are_refused_or_equal)
{
    struct packed packed = pack();
    unsigned char *bytes = packed.bytes;
    struct capture capture;

    for (size_t i = 0; i < packed.count; i++) {
        bytes[i] ^= 0x10;
        assert_refused_or_the_same(bytes, packed.count);
        bytes[i] ^= 0x10;
    }
    bytes[8]++;
    assert_int_equal(capture_unpack(bytes, packed.count, &capture), -EPROTONOSUPPORT);
    free(packed.bytes);
}

TEST(sizes_beyond_the_limits_are_refused)
{
    struct packed packed = pack();
    unsigned char *bytes = packed.bytes;
    struct capture capture = {.document_bytes = CAPTURE_DOCUMENT_BYTES_MAX + 1u};
    void *none;
    size_t count;

    memset(bytes + 16, 0xff, 8);
    assert_int_equal(capture_unpack(bytes, packed.count, &capture), -EBADMSG);
    assert_int_equal(capture_pack(&capture, &none, &count), -EFBIG);
    free(packed.bytes);
}
