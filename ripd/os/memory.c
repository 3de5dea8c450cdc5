/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - malloc_trim(3), madvise(2). Touches the allocator. */
#include "os/memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

void memory_give_back(void)
{
    (void)malloc_trim(0);
}

void *memory_allocate_large(size_t bytes)
{
    size_t whole = (bytes + MEMORY_LARGE_BYTES - 1) & ~(MEMORY_LARGE_BYTES - 1);
    void *block = aligned_alloc(MEMORY_LARGE_BYTES, whole);

    if (block != NULL)
        (void)madvise(block, whole, MADV_HUGEPAGE); /* if it will not, there are small ones */
    return block;
}
