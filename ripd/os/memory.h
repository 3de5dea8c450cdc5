/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - returns unused memory of the process to the system. */
#ifndef RIPD_OS_MEMORY_H
#define RIPD_OS_MEMORY_H

/*
 * Gives back every page of free memory, wherever it lies; free(3) does so only at the end of the heap, and for large
 * blocks. Takes some milliseconds for tens of megabytes, in which other threads may wait for memory. Any thread.
 */
void memory_give_back(void);

#endif
