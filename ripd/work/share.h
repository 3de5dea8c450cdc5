/* SPDX-License-Identifier: Apache-2.0 */
/* share.h - how much of a limit each ring may take, so that one of them does not hide the others. Pure. */
#ifndef RIPD_WORK_SHARE_H
#define RIPD_WORK_SHARE_H

#include <stdbool.h>
#include <stddef.h>

#include "detect/detector.h"

/*
 * How many of the suspects of one ring may be taken if all that are taken shall be no more than most: most, if there
 * are no more who claim a place; else as many as leave the same for each ring, those with fewer having all of theirs.
 * most too when there is no memory to count. suspects: in order of ring; claims: who counts, NULL = all.
 */
size_t share_of_ring(const struct detector_suspect *suspects, size_t count,
                     bool (*claims)(const struct detector_suspect *suspect), size_t most);

#endif
