/* SPDX-License-Identifier: Apache-2.0 */
/* guarded_copy.h - a copy of bytes that ends at a page without access: reading one byte too far is a SIGSEGV. */
#ifndef TESTS_SUPPORT_GUARDED_COPY_H
#define TESTS_SUPPORT_GUARDED_COPY_H

#include <stddef.h>

struct guarded_copy {
    unsigned char *bytes; /* ends at the page without access; aligned as its size is */
    void *mapping;
    size_t mapping_bytes;
};

/* Copies bytes, or makes zeros if bytes is NULL. Exits the program if out of memory. */
void guarded_copy_new(struct guarded_copy *copy, const void *bytes, size_t size_bytes);
void guarded_copy_free(struct guarded_copy *copy);

/* Calls parse with the text cut at each length, the whole text last. Each copy ends with its terminator. */
void guarded_cuts(const char *text, void (*parse)(char *text));

#endif
