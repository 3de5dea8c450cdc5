/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_symbols.c - looks up a function in the hash tables of the loaded libraries, without the dynamic linker.
 *
 * dlsym() takes the dynamic linker's lock, which a signal handler must not do. A lookup here finds the same function as
 * dlsym(RTLD_NEXT). If the rules are not simple, it finds nothing, and the caller uses dlsym().
 *
 * Guarantees
 *   A. Libraries are searched in the order in which they were loaded, from the library after ours to the C library and
 *      no further: libraries that were loaded later follow the C library. If the C library does not follow ours,
 *      nothing is found.
 *   B. Of several versions of a name the default version is found, as by dlsym(). If a library has only another version
 *      of the name, or if it is not a plain function there (an ifunc, for example), the name is left to dlsym().
 *   C. A library without a GNU hash table ends the search, because it may hide the symbols of later libraries.
 *   D. A lookup takes no lock and allocates nothing, so it may be called at any time. The libraries searched were
 *      loaded with the program and are never unloaded.
 */
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>

#include "preload.h"

#pragma weak _dl_find_object /* since glibc 2.35 */

#define SYMBOL_TYPE(info) ((info)&15u)
#define SYMBOL_BINDING(info) ((info) >> 4)
#define SYMBOL_VISIBILITY(other) ((other)&3u)
#define VERSION_HIDDEN 0x8000u /* not the default version of its name */
#define WORD_BITS (8 * (uint32_t)sizeof(ElfW(Addr)))

/* The symbols of a library, and its GNU hash table: a Bloom filter, the buckets, and one chain of hashes per bucket. */
struct library {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions; /* NULL = its symbols have no versions */
    const ElfW(Addr) * filter;
    const uint32_t *buckets;
    const uint32_t *chains; /* [0] belongs to first_symbol */
    uint32_t bucket_count;
    uint32_t first_symbol;
    uint32_t filter_words; /* a power of two */
    uint32_t filter_shift;
};

enum outcome { OUTCOME_ABSENT, OUTCOME_FOUND, OUTCOME_UNCLEAR };

/* The dynamic linker has replaced the offsets by addresses, except where the section is read-only. */
static const void *section_at(const struct link_map *map, const ElfW(Dyn) * entry)
{
    uintptr_t value = (uintptr_t)entry->d_un.d_ptr;

    return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

static bool library_open(struct library *ret_library, const struct link_map *map)
{
    struct library library = {.base = map->l_addr};
    const uint32_t *table = NULL;

    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_GNU_HASH)
            table = section_at(map, entry);
        else if (entry->d_tag == DT_SYMTAB)
            library.symbols = section_at(map, entry);
        else if (entry->d_tag == DT_STRTAB)
            library.strings = section_at(map, entry);
        else if (entry->d_tag == DT_VERSYM)
            library.versions = section_at(map, entry);
    }
    if (table == NULL || library.symbols == NULL || library.strings == NULL || table[2] == 0)
        return false;
    library.bucket_count = table[0];
    library.first_symbol = table[1];
    library.filter_words = table[2];
    library.filter_shift = table[3];
    library.filter = (const ElfW(Addr) *)(const void *)(table + 4);
    library.buckets = (const uint32_t *)(const void *)(library.filter + library.filter_words);
    library.chains = library.buckets + library.bucket_count;
    *ret_library = library;
    return true;
}

/* Not strcmp(): this may run before a sanitizer that replaces strcmp() is ready. */
static bool is_same(const char *left, const char *right)
{
    while (*left != '\0' && *left == *right) {
        left++;
        right++;
    }
    return *left == *right;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;

    for (; *name != '\0'; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool may_have(const struct library *library, uint32_t hash)
{
    ElfW(Addr) word = library->filter[hash / WORD_BITS & (library->filter_words - 1)];

    return library->bucket_count != 0 && (word >> (hash % WORD_BITS) & 1) != 0 &&
           (word >> ((hash >> library->filter_shift) % WORD_BITS) & 1) != 0;
}

/* Returns true if the result of dlsym() would simply be the symbol's address. */
static bool is_plain_function(const struct library *library, uint32_t index)
{
    const ElfW(Sym) *symbol = &library->symbols[index];
    unsigned int binding = SYMBOL_BINDING(symbol->st_info), visibility = SYMBOL_VISIBILITY(symbol->st_other);

    return SYMBOL_TYPE(symbol->st_info) == STT_FUNC && (binding == STB_GLOBAL || binding == STB_WEAK) &&
           (visibility == STV_DEFAULT || visibility == STV_PROTECTED) && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_shndx != SHN_ABS && symbol->st_value != 0 &&
           (library->versions == NULL || (library->versions[index] & VERSION_HIDDEN) == 0);
}

/* Undefined symbols are not in the hash table: a name that is there is defined, but perhaps not as a plain function. */
static enum outcome library_find(const struct library *library, const char *name, uint32_t hash, uint32_t *ret_index)
{
    enum outcome outcome = OUTCOME_ABSENT;
    uint32_t index;

    if (!may_have(library, hash))
        return OUTCOME_ABSENT;
    index = library->buckets[hash % library->bucket_count];
    if (index < library->first_symbol)
        return OUTCOME_ABSENT;
    for (;; index++) {
        uint32_t found = library->chains[index - library->first_symbol];

        if ((found | 1) == (hash | 1) && is_same(library->strings + library->symbols[index].st_name, name)) {
            if (is_plain_function(library, index)) {
                *ret_index = index;
                return OUTCOME_FOUND;
            }
            outcome = OUTCOME_UNCLEAR;
        }
        if ((found & 1) != 0) /* the last entry of the chain */
            return outcome;
    }
}

/* Returns the loaded object that contains the address, or NULL if glibc has no _dl_find_object(). */
static const struct link_map *map_of(const void *address)
{
    struct dl_find_object found;

    if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)address, &found) != 0)
        return NULL;
    return found.dlfo_link_map;
}

static enum outcome search(const struct link_map *map, const char *name, void **ret_function)
{
    struct library library;
    enum outcome outcome;
    uint32_t index;

    if (!library_open(&library, map))
        return OUTCOME_UNCLEAR;
    outcome = library_find(&library, name, hash_of(name), &index);
    if (outcome == OUTCOME_FOUND)
        *ret_function = (void *)(library.base + library.symbols[index].st_value);
    return outcome;
}

static bool is_behind(const struct link_map *map, const struct link_map *first)
{
    while (first != NULL && first != map)
        first = first->l_next;
    return first != NULL;
}

void *preload_symbol_find(const char *name)
{
    const struct link_map *map = map_of((const void *)preload_symbol_find);
    const struct link_map *last = map_of((const void *)gnu_get_libc_version);
    enum outcome outcome = OUTCOME_ABSENT;
    void *function = NULL;

    if (map == NULL || !is_behind(last, map))
        return NULL;
    while (map != last && outcome == OUTCOME_ABSENT) {
        map = map->l_next;
        outcome = search(map, name, &function);
    }
    return function;
}

static void *symbol_of(const struct link_map *map, const char *name)
{
    void *function = NULL;

    if (map != NULL)
        search(map, name, &function);
    return function;
}

void *preload_symbol_of_libc(const char *name)
{
    return symbol_of(map_of((const void *)gnu_get_libc_version), name);
}

void *preload_symbol_of_program(const char *name)
{
    const struct link_map *map = map_of((const void *)preload_symbol_find);

    while (map != NULL && map->l_prev != NULL)
        map = map->l_prev;
    return symbol_of(map, name);
}
