/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_shelf.h - which captures stay: see captures.h, C. Touches the folders of captures.
 *
 * Files that are not captures by type, name or folder are not ours, and stay.
 * A failure to remove one is no error: it is tried again with the next capture.
 */
#ifndef RIPD_RECORD_CAPTURE_SHELF_H
#define RIPD_RECORD_CAPTURE_SHELF_H

#include <stdbool.h>
#include <stdint.h>

/* The captures of one user, in their folder. */
void capture_shelf_trim(int folder, uint64_t now_wall_ns);

/* The folders of all users. */
void capture_shelf_trim_all(int directory);

/* Removes the oldest capture of the user who has most. False: there is none. */
bool capture_shelf_give_way(int directory);

#endif
