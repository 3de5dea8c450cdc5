/* SPDX-License-Identifier: Apache-2.0 */
/* whole_document.h - a list document as a client gets it: its head, followed by its body. */
#ifndef TESTS_UNIT_WHOLE_DOCUMENT_H
#define TESTS_UNIT_WHOLE_DOCUMENT_H

#include <stdlib.h>
#include <string.h>

#include "view/documents.h"

/* Frees the body. The text is the caller's, and terminated. */
static inline char *whole_document(const struct document_frame *frame, uint64_t now_wall_ns, uint64_t now_mono_ns,
                                   char *body, size_t body_bytes, size_t *ret_length)
{
    size_t head_bytes;
    char *text;

    if (document_head(frame, now_wall_ns, now_mono_ns, &text, &head_bytes) != 0 ||
        (text = realloc(text, head_bytes + body_bytes + 1)) == NULL)
        abort();
    memcpy(text + head_bytes, body, body_bytes + 1);
    free(body);
    *ret_length = head_bytes + body_bytes;
    return text;
}

static inline char *whole_page(enum document_kind kind, struct page *page, uint64_t now_wall_ns, uint64_t now_mono_ns,
                               size_t *ret_length)
{
    struct document_frame frame;
    size_t bytes;
    char *body;

    if (document_page_body(kind, page, QUERY_TRAIL_MAX, &frame, &body, &bytes) != 0)
        abort();
    return whole_document(&frame, now_wall_ns, now_mono_ns, body, bytes, ret_length);
}

#endif
