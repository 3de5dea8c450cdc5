/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_capture.c - any bytes as a capture: accepted captures are within the limits, and their ring may be anything. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "session/capture_file.h"
#include "support/ring_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct capture capture;
    struct ring_walk walk;

    if (capture_unpack(bytes, size_bytes, &capture) != 0)
        return 0;
    require(capture_is_one(bytes, size_bytes));
    require(capture.document_bytes <= CAPTURE_DOCUMENT_BYTES_MAX && capture.ring_bytes <= CAPTURE_RING_BYTES_MAX);
    require(capture.document[capture.document_bytes] == '\0');
    (void)ring_walk(capture.ring, capture.ring_bytes, &walk);
    capture_done(&capture);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static unsigned char ring[8192];
    char document[] = "{\"schema\":\"ripd/capture/1\",\"stalls\":[]}";
    struct capture capture = {document, sizeof(document) - 1, ring, sizeof(ring)};
    void *bytes;
    size_t count;

    if (number != 0)
        return 0;
    require(capture_pack(&capture, &bytes, &count) == 0 && count <= capacity_bytes);
    memcpy(ret_bytes, bytes, count);
    free(bytes);
    return count;
}
