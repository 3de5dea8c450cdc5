/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_path.h - makes the path of a source file readable. Pure.
 *
 * "src/db.c" and "/usr/src/db.c" stay as they are. "../src/db.c" depends on where the compiler ran, and becomes
 * "/home/me/src/db.c". "." and ".." inside a path are resolved.
 */
#ifndef RIPD_SYM_CHILD_SOURCE_PATH_H
#define RIPD_SYM_CHILD_SOURCE_PATH_H

/*
 * directory is where the compiler ran; it may be NULL or relative. Returns a string to be freed, or NULL if out of
 * memory.
 */
char *source_path(const char *directory, const char *file);

#endif
