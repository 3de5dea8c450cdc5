/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directories.h - the directories in which rings may be, and the names that appear in them. For ripd/ring alone.
 *
 * Guarantees
 *   A. A directory is identified by its inode: the next refresh notices, with one stat() each, that one was moved away,
 *      replaced, or mounted over. A missing one is reported once, and then costs one stat() per refresh.
 *   B. Everything is listed again when a directory appears or has changed, as its change time shows, and every
 *      REGISTRY_RESCAN_NS. Names that come and go without pause make for no listing without pause: but for the latter,
 *      listings take a twentieth of the time at most.
 *   C. A listing that does not come to its end goes on from there at the next refresh: however many names one user
 *      makes, those of others come up.
 *   D. Where the list of directories changes, rings of one that is in both lists, by whatever path, stay.
 */
#ifndef RIPD_RING_DIRECTORIES_H
#define RIPD_RING_DIRECTORIES_H

#include "ring/host.h"

struct directories;

/* A name that is listed. */
typedef void directories_found(void *context, uint32_t directory, const char *name);

/* 0, -E2BIG or -ENOMEM. host and context stay the caller's. */
int directories_new(struct directories **ret_directories, struct ring_host *host, const char *const *paths,
                    size_t count, directories_found *found, void *context);
void directories_free(struct directories *directories);

/* Other paths. Fills for each old directory its number in the new list. -E2BIG or -ENOMEM: nothing has changed. */
#define DIRECTORIES_NOWHERE UINT32_MAX
int directories_set(struct directories *directories, const char *const *paths, size_t count,
                    uint32_t ret_places[REGISTRY_DIRECTORIES_MAX]);

/* Whether they are there, and have changed. */
void directories_check(struct directories *directories);

/* Another listing, soon. */
void directories_want_listing(struct directories *directories);
bool directories_listing_is_due(const struct directories *directories, uint64_t now_mono_ns);

/* Whether a listing has been begun and not ended. */
bool directories_are_listing(const struct directories *directories);

/* Begins a listing, or goes on with it, by limit names of each directory. */
void directories_list(struct directories *directories, uint64_t now_mono_ns, size_t limit);

int directories_at(const struct directories *directories, uint32_t number); /* descriptor; -1 = it is missing */
const char *directories_path(const struct directories *directories, uint32_t number);

/* False: it is missing, or there is none of that number. */
bool directories_identify(const struct directories *directories, size_t number, uint64_t *ret_device,
                          uint64_t *ret_inode);

#endif
