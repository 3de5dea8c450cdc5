/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_pages.c - remembers from which pages of code wrapped calls have come, so that the ring gets the module of
 * each caller, even if the module was loaded after the last thread registered.
 *
 * Guarantees
 *   A. A call from a known page costs a load and a comparison; a call from the program itself costs a comparison.
 *   B. Modules are looked up without the dynamic linker's locks, because the caller may be a signal handler or a forked
 *      child.
 *   C. Two pages that share a bucket evict each other. This costs time, but is never wrong.
 */
#include <sys/auxv.h>

#include "preload.h"
#include "writer.h"

uintptr_t preload_pages[PRELOAD_PAGES];
static uintptr_t program_start;
static uintptr_t program_bytes; /* 0 = the ring does not know the program's module; written last */

void preload_pages_enter(void)
{
    preload_thread.known_bytes = rip_load_acquire(&program_bytes); /* pairs with note_program() */
    preload_thread.known_start = rip_load_relaxed(&program_start);
}

/* If the address is in the program itself, records its segment. The kernel passes the address of the headers. */
static void note_program(uintptr_t address)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)(uintptr_t)getauxval(AT_PHDR);
    const unsigned long count = headers != NULL ? getauxval(AT_PHNUM) : 0;
    uintptr_t base = 0;

    for (unsigned long i = 0; i < count; i++)
        if (headers[i].p_type == PT_PHDR)
            base = (uintptr_t)headers - headers[i].p_vaddr;
    for (unsigned long i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && address - (base + headers[i].p_vaddr) < headers[i].p_memsz) {
            rip_store_relaxed(&program_start, base + headers[i].p_vaddr);
            rip_store_release(&program_bytes, headers[i].p_memsz); /* pairs with preload_pages_enter() */
        }
}

void preload_new_page(uintptr_t address)
{
    const uintptr_t page = address >> PRELOAD_PAGE_SHIFT;

    if ((address & RIP_PLACE_SCRIPT) != 0 || !preload_is_free() || !rip__modules_learn(address))
        return;
    rip_store_relaxed(&preload_pages[page % PRELOAD_PAGES], page);
    if (rip_load_relaxed(&program_bytes) == 0)
        note_program(address);
    preload_pages_enter();
}

void preload_forget_pages(void)
{
    rip_store_relaxed(&program_bytes, 0);
    for (unsigned int i = 0; i < PRELOAD_PAGES; i++)
        rip_store_relaxed(&preload_pages[i], 0);
}
