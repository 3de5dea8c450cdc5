/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.h - one ELF file: finds function, file, line and inlining functions of an address, with elfutils libdw.
 *
 * Only for the symbolizer process: the file is hostile, and libdw may crash on it or loop.
 *
 * Guarantees
 *   A. An address is relative to the file, as for addr2line.
 *   B. Inlined functions like rip_snap() do not name a location. The function that they were inlined into does.
 *   C. A name comes from debug information if there is any, in the file, or found by build id or debug link under
 *      /usr/lib/debug. Otherwise it comes from the symbol tables, including .gnu_debugdata. Otherwise there is no name.
 *   D. Debug information in other files is used only if it is of the same build: by build id, checksum, or the id of a
 *      split unit.
 */
#ifndef RIPD_SYM_CHILD_LOOKUP_H
#define RIPD_SYM_CHILD_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "cases/symbol.h"

struct lookup;

/*
 * Takes ownership of descriptor. path names the file, and helps to find debug information next to it. Returns 0,
 * -ESTALE if its build id differs from the one given (0 bytes: any is accepted), -ENOEXEC if it is not a valid ELF
 * file, or -ENOMEM.
 */
int lookup_open(struct lookup **ret_lookup, int descriptor, const char *path, const uint8_t *build_id,
                size_t build_id_bytes);
void lookup_close(struct lookup *lookup);

/*
 * Finds the frames of an address, at most SYMBOL_FRAMES_MAX. The texts are valid until the next call. Returns the
 * number of frames, 0 if nothing is known.
 */
size_t lookup_find(struct lookup *lookup, uint64_t address, struct symbol_frame ret_frames[SYMBOL_FRAMES_MAX]);

#endif
