/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - functions and lines of locations without a ripd: from ripd-symbolizer, as ripd gets them, if it is
 * installed.
 *
 * Guarantees
 *   A. Only that process opens and parses programs; it drops its privileges (sym/README.md). A program on which it ends
 *      or hangs is tried once more, and then not again.
 *   B. A location is named only from the file with its build id, so a name is never wrong.
 *   C. All names together take at most NAMES_LIMIT_NS, not counting other work in between. Locations without a name by
 *      then stay without.
 */
#ifndef RIP_CLI_NAMES_H
#define RIP_CLI_NAMES_H

#include "cases/snapshot.h"

#define NAMES_LIMIT_NS UINT64_C(10000000000)

struct names;

/*
 * files: a directory with the files of the modules, for example from another machine, by build id, by path or by name;
 * NULL: none. Without ripd-symbolizer, no location gets a name. It is started for the first location.
 */
struct names *names_new(const char *files);
void names_free(struct names *names);

/* Adds the name of a location to the symbols of its module. */
void names_add(struct names *names, struct module_facts *module, uint64_t offset);

/* The same for the newest breadcrumbs of an item, at most `most`. */
void names_add_item(struct names *names, const struct item *item, size_t most);

#endif
