/* SPDX-License-Identifier: Apache-2.0 */
/* whole_document.h - a list document as a client gets it: the head, followed by the body. */
#ifndef TESTS_UNIT_WHOLE_DOCUMENT_H
#define TESTS_UNIT_WHOLE_DOCUMENT_H

#include <stdlib.h>
#include <string.h>

#include "view/documents.h"

/* Frees the body. Returns a terminated text, which the caller frees. */
static inline char *whole_document(const struct document *document, uint64_t now_wall_ns, uint64_t now_mono_ns,
                                   size_t *ret_length)
{
    size_t head_bytes;
    char *text;

    if (document_head(document, now_wall_ns, now_mono_ns, &text, &head_bytes) != 0 ||
        (text = realloc(text, head_bytes + document->body_bytes + 1)) == NULL)
        abort();
    memcpy(text + head_bytes, document->body, document->body_bytes + 1);
    free(document->body);
    *ret_length = head_bytes + document->body_bytes;
    return text;
}

static inline char *whole_page(enum document_kind kind, struct page *page, uint64_t now_wall_ns, uint64_t now_mono_ns,
                               size_t *ret_length)
{
    struct document document;

    if (document_page_body(kind, page, QUERY_TRAIL_MAX, &document) != 0)
        abort();
    return whole_document(&document, now_wall_ns, now_mono_ns, ret_length);
}

#endif
