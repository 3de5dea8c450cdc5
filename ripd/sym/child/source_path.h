/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_path.h - the name of a source file as people know it. Pure.
 *
 * "src/db.c" stays, as does "/usr/src/db.c"; "../src/db.c", which says where the compiler happened to run, becomes
 * "/home/me/src/db.c". "." and ".." in the middle are done away with.
 */
#ifndef RIPD_SYM_CHILD_SOURCE_PATH_H
#define RIPD_SYM_CHILD_SOURCE_PATH_H

/* directory: where the compiler ran; may be NULL, or relative. For free(); NULL: no memory. */
char *source_path(const char *directory, const char *file);

#endif
