/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_pages.c - from which pages of code wrapped calls have come, so that the ring knows the module of each, also
 * of one that was loaded after the last thread registered.
 *
 * Guarantees
 *   A. A call from a page that is known costs a load and a comparison.
 *   B. The loader is asked without any lock of its own: this may be a signal handler, or a forked child.
 *   C. Two pages that share a place drive each other out: that costs time, and is never wrong.
 */
#include "preload.h"
#include "writer.h"

uintptr_t preload_pages[PRELOAD_PAGES];

void preload_new_page(uintptr_t address)
{
    const uintptr_t page = address >> PRELOAD_PAGE_SHIFT;

    if ((address & RIP_PLACE_SCRIPT) == 0 && preload_is_free() && rip__modules_learn(address))
        rip_store_relaxed(&preload_pages[page % PRELOAD_PAGES], page);
}

void preload_forget_pages(void)
{
    for (unsigned int i = 0; i < PRELOAD_PAGES; i++)
        rip_store_relaxed(&preload_pages[i], 0);
}
