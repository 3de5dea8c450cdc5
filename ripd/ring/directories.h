/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directories.h - the directories that may contain rings, and the names that appear in them. For ripd/ring alone.
 *
 * Guarantees
 *   A. A directory is identified by its inode. The next refresh notices, with one stat() for each directory, if it was
 *      moved away, replaced, or mounted over. A missing directory is reported once, and then costs one stat() per
 *      refresh.
 *   B. Everything is listed again when a directory appears or its change time has changed, and every
 *      REGISTRY_RESCAN_NS. Listings because of changes take at most a twentieth of the time, so that names that come
 *      and go all the time do not cause one listing after another.
 *   C. A listing that was interrupted is continued at the next refresh. So a user who creates many names cannot hide
 *      the names of others.
 *   D. When the list of directories changes, rings stay if their directory is in both lists, by whatever path.
 */
#ifndef RIPD_RING_DIRECTORIES_H
#define RIPD_RING_DIRECTORIES_H

#include "ring/host.h"

struct directories;

/* Called for each listed name. */
typedef void directories_found(void *context, uint32_t directory, const char *name);

/* Returns 0, -E2BIG or -ENOMEM. host and context are borrowed. */
int directories_new(struct directories **ret_directories, struct ring_host *host, const char *const *paths,
                    size_t count, directories_found *found, void *context);
void directories_free(struct directories *directories);

/*
 * Replaces the paths. Fills in, for each old directory, its number in the new list. On -E2BIG or -ENOMEM nothing has
 * changed.
 */
#define DIRECTORIES_NOWHERE UINT32_MAX
int directories_set(struct directories *directories, const char *const *paths, size_t count,
                    uint32_t ret_places[REGISTRY_DIRECTORIES_MAX]);

/* Checks which directories exist, and which have changed. */
void directories_check(struct directories *directories);

/* Requests another listing soon. */
void directories_want_listing(struct directories *directories);
bool directories_listing_is_due(const struct directories *directories, uint64_t now_mono_ns);

/* Returns true if a listing has begun and is not complete. */
bool directories_are_listing(const struct directories *directories);

/* Begins or continues a listing, with at most limit names of each directory. */
void directories_list(struct directories *directories, uint64_t now_mono_ns, size_t limit);

int directories_at(const struct directories *directories, uint32_t number); /* descriptor; -1 = missing */
const char *directories_path(const struct directories *directories, uint32_t number);

/* Returns false if the directory is missing, or there is none with that number. */
bool directories_identify(const struct directories *directories, size_t number, uint64_t *ret_device,
                          uint64_t *ret_inode);

#endif
