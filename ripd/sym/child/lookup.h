/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - one ELF file: from an address in it to function, file, line and inlining functions, by elfutils libdw.
 *
 * For the symbolizer's process alone: the file is hostile, and libdw may crash on it or loop.
 *
 * Guarantees
 *   A. An address is one of the file, as addr2line takes it.
 *   B. rip_snap() and its like, inlined where they are called, are not what a location is called: the function they
 *      were inlined into is.
 *   C. A name comes from the debug information if there is some (in the file, or found by build id or debug link under
 *      /usr/lib/debug), else from the symbol tables (of .gnu_debugdata too); else nothing.
 *   D. Debug information in other files is believed only if they are of the same build: by build id, checksum, or the
 *      id of a unit that was split off.
 */
#ifndef RIPD_SYM_CHILD_LOOKUP_H
#define RIPD_SYM_CHILD_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "cases/symbol.h"

struct lookup;

/*
 * Takes descriptor over. path: to name the file, and to find its debug information beside it. -ESTALE: its build id is
 * not the one given (bytes of 0: any); -ENOEXEC: not an ELF file that can be understood; -ENOMEM.
 */
int lookup_open(struct lookup **ret_lookup, int descriptor, const char *path, const uint8_t *build_id,
                size_t build_id_bytes);
void lookup_close(struct lookup *lookup);

/* Frames of an address, at most SYMBOL_FRAMES_MAX; texts live until the next call. Returns how many, 0 = nothing known.
 */
size_t lookup_find(struct lookup *lookup, uint64_t address, struct symbol_frame ret_frames[SYMBOL_FRAMES_MAX]);

#endif
