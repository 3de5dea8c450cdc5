/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guarded_copy.h - bytes placed so that one byte read too far is a SIGSEGV: they end right at a page without access.
 */
#ifndef TESTS_SUPPORT_GUARDED_COPY_H
#define TESTS_SUPPORT_GUARDED_COPY_H

#include <stddef.h>

struct guarded_copy {
    unsigned char *bytes; /* ends at the forbidden page; aligned as its size is */
    void *mapping;
    size_t mapping_bytes;
};

/* bytes may be NULL for zeros. Exits the program if there is no memory. */
void guarded_copy_new(struct guarded_copy *copy, const void *bytes, size_t size_bytes);
void guarded_copy_free(struct guarded_copy *copy);

#endif
