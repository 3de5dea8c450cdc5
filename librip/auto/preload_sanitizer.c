/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_sanitizer.c - the program is built with AddressSanitizer or one of its kind.
 *
 * Their run-time libraries wrap what we wrap, and keep a record of all memory, locks and threads that they see. What
 * they do not see of ours, because it goes past them, they report as faults of the program. So such a program is not
 * traced, and our wrappers only make the wrapped calls.
 *
 * Guarantees
 *   A. AddressSanitizer, as a shared library, ends a program in which it is not the first library after it. It looks
 *      before any constructor runs; until ours does we are not in the list of dl_iterate_phdr().
 *   B. UndefinedBehaviorSanitizer and LeakSanitizer alone keep no such record: their programs are traced.
 */
#include "preload.h"

/* The start of each run-time library: exported by it, or by a program that it is linked into. */
extern void asan_init(void) __asm__("__asan_init") __attribute__((weak));
extern void tsan_init(void) __asm__("__tsan_init") __attribute__((weak));
extern void msan_init(void) __asm__("__msan_init") __attribute__((weak));
extern void hwasan_init(void) __asm__("__hwasan_init") __attribute__((weak));

bool preload_is_sanitized(void)
{
    return asan_init != NULL || tsan_init != NULL || msan_init != NULL || hwasan_init != NULL;
}

struct visit {
    preload_object_callback *callback;
    void *data;
};

static bool is_ours(const struct dl_phdr_info *info)
{
    uintptr_t here = (uintptr_t)preload_is_sanitized;

    for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type == PT_LOAD && here - (info->dlpi_addr + header->p_vaddr) < header->p_memsz)
            return true;
    }
    return false;
}

static int visit_others(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct visit *visit = data;

    return is_ours(info) ? 0 : visit->callback(info, size, visit->data);
}

PRELOAD_WRAPPER(int, dl_iterate_phdr, (preload_object_callback * callback, void *data))
{
    struct visit visit = {callback, data};

    if (!preload_state.started && preload_is_sanitized()) {
        callback = visit_others;
        data = &visit;
    }
    return PRELOAD_REAL(int, dl_iterate_phdr, (preload_object_callback *, void *))(callback, data);
}
