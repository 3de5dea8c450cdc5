/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.h - demangles names of C++, of Rust (both forms), and of D, with the GNU demanglers. */
#ifndef RIPD_SYM_CHILD_DEMANGLE_H
#define RIPD_SYM_CHILD_DEMANGLE_H

/* Returns a string to be freed, or NULL if the name is not mangled. */
char *demangle(const char *name);

#endif
