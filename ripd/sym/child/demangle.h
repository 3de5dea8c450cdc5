/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.h - names of C++, of Rust in both its forms, and of D, as people write them: by the demanglers of GNU. */
#ifndef RIPD_SYM_CHILD_DEMANGLE_H
#define RIPD_SYM_CHILD_DEMANGLE_H

/* For free(); NULL: it is not a mangled name. */
char *demangle(const char *name);

#endif
