/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - functions and lines of places where no ripd knows them: from ripd-symbolizer, as ripd has them, if it is
 * installed.
 *
 * Guarantees
 *   A. Programs are opened and parsed by that process alone, which gives up what rights it has (sym/README.md). One
 *      that it ends or hangs on is tried once more, and then not again.
 *   B. A place is named only from the file of its build id: a wrong name is never given.
 *   C. All names together take NAMES_LIMIT_NS at most, what is done between them aside; places that have none by then
 *      stay as they are.
 */
#ifndef RIP_CLI_NAMES_H
#define RIP_CLI_NAMES_H

#include "cases/snapshot.h"

#define NAMES_LIMIT_NS UINT64_C(10000000000)

struct names;

/*
 * files: a directory with what the modules were loaded from, on another machine say, by build id, by path or by name;
 * NULL = none. Where there is no ripd-symbolizer, nothing gets a name. It is started for the first place.
 */
struct names *names_new(const char *files);
void names_free(struct names *names);

/* Adds what a place is called to the symbols of its module. */
void names_add(struct names *names, struct module_facts *module, uint64_t offset);

/* The same for the newest breadcrumbs of an item, at most so many. */
void names_add_item(struct names *names, const struct item *item, size_t most);

#endif
