/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.c - see demangle.h. libiberty limits the recursion; the sandbox limits time and memory. */
#include "sym/child/demangle.h"

#include <libiberty/demangle.h>
#include <stddef.h>

/*
 * Every mangled name begins with a mark. Without this check, words that are also mangled types, like "f", would be
 * taken.
 */
static int style_of(const char *name)
{
    if (name[0] != '_')
        return 0;
    switch (name[1]) {
    case 'Z':
        return DMGL_AUTO; /* C++, or the older form of Rust, which looks the same */
    case 'R':
        return DMGL_RUST;
    case 'D':
        return DMGL_DLANG;
    default:
        return 0;
    }
}

char *demangle(const char *name)
{
    int style = style_of(name);

    return style == 0 ? NULL : cplus_demangle(name, style | DMGL_PARAMS | DMGL_ANSI);
}
