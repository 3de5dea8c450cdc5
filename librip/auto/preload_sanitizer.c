/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_sanitizer.c - recognizes a program that is built with AddressSanitizer or a similar sanitizer.
 *
 * The run-time libraries of sanitizers wrap the same functions as this library, and record all memory, locks and
 * threads that they see. Our own operations bypass them, so they would report them as errors of the program. Therefore
 * such a program is not traced, and our wrappers only make the wrapped calls.
 *
 * Guarantees
 *   A. AddressSanitizer as a shared library aborts the program unless it is the first library after the program. It
 *      checks this before any constructor runs. So until our constructor runs, dl_iterate_phdr() does not list us.
 *   B. UndefinedBehaviorSanitizer and LeakSanitizer alone keep no such record: their programs are traced.
 */
#include "preload.h"

/* The init function of each run-time library, exported by the library or by the program that it is linked into. */
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
