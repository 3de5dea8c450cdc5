/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.h - names of C++ (and of Rust's older form) as people write them, by the C++ runtime's own demangler. */
#ifndef RIPD_SYM_CHILD_DEMANGLE_H
#define RIPD_SYM_CHILD_DEMANGLE_H

/* For free(); NULL: it is not a mangled name. */
char *demangle(const char *name);

#endif
