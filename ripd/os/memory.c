/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - malloc_trim(3). Touches the allocator. */
#include "os/memory.h"

#include <malloc.h>

void memory_give_back(void)
{
    (void)malloc_trim(0);
}
