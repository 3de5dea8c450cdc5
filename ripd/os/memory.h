/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - what the process has and does not use, back to the system. */
#ifndef RIPD_OS_MEMORY_H
#define RIPD_OS_MEMORY_H

#include <stddef.h>

/*
 * Gives back every page of free memory, wherever it lies; free(3) does so only at the end of the heap, and for large
 * blocks. Takes some milliseconds for tens of megabytes, in which other threads may wait for memory. Any thread.
 */
void memory_give_back(void);

/*
 * A block for free() that the system may back with large pages, MEMORY_LARGE_BYTES at a time: fresh memory of tens of
 * megabytes costs a third. NULL: no memory.
 */
#define MEMORY_LARGE_BYTES ((size_t)2 << 20)
void *memory_allocate_large(size_t bytes);

#endif
