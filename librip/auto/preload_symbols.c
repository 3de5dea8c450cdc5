/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_symbols.c - looks many functions up at once, in the hash tables of the libraries themselves.
 *
 * A dlsym() for each of them is a tenth of the start of a small program. What is found here is what dlsym(RTLD_NEXT)
 * finds; where the rules are not simple nothing is found, and the caller asks dlsym().
 *
 * Guarantees
 *   A. Libraries are searched in the order in which they were loaded, from the one behind ours to the C library and no
 *      further: all that were loaded later stand behind that. If it does not stand behind ours nothing is found.
 *   B. Of several versions of a name the default one is found, as by dlsym(). A name of which a library has another
 *      version only, or that is no plain function there (one that is chosen at run time, say), is left to dlsym().
 *   C. A library without a GNU hash table ends the search: what stands behind it may be hidden by it.
 *   D. It takes no lock and allocates nothing, but relies on no library being unloaded: it runs before main().
 */
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>

#include "preload.h"

#pragma weak _dl_find_object /* of glibc 2.35 */

#define SYMBOL_TYPE(info) ((info)&15u)
#define SYMBOL_BINDING(info) ((info) >> 4)
#define SYMBOL_VISIBILITY(other) ((other)&3u)
#define LIBRARY_MAX 32         /* that are searched; what stands behind those is left to dlsym() */
#define VERSION_HIDDEN 0x8000u /* not the default version of its name */
#define WORD_BITS (8 * (uint32_t)sizeof(ElfW(Addr)))

/* The symbols of a library, and its hash table: a filter of words, then chains of hashes, one of each bucket. */
struct library {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions; /* NULL = its names have none */
    const ElfW(Addr) * filter;
    const uint32_t *buckets;
    const uint32_t *chains; /* of symbols from first_symbol on */
    uint32_t bucket_count;
    uint32_t first_symbol;
    uint32_t filter_words; /* a power of two */
    uint32_t filter_shift;
};

enum outcome { OUTCOME_ABSENT, OUTCOME_FOUND, OUTCOME_UNCLEAR };

/* The dynamic linker has put addresses for the offsets, but where it may not write there. */
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

/* Whether dlsym() would take the symbol for its address alone. */
static bool is_plain_function(const struct library *library, uint32_t index)
{
    const ElfW(Sym) *symbol = &library->symbols[index];
    unsigned int binding = SYMBOL_BINDING(symbol->st_info), visibility = SYMBOL_VISIBILITY(symbol->st_other);

    return SYMBOL_TYPE(symbol->st_info) == STT_FUNC && (binding == STB_GLOBAL || binding == STB_WEAK) &&
           (visibility == STV_DEFAULT || visibility == STV_PROTECTED) && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_shndx != SHN_ABS && symbol->st_value != 0 &&
           (library->versions == NULL || (library->versions[index] & VERSION_HIDDEN) == 0);
}

/* Undefined symbols are in no hash table: a name that is there, in whatever form, is not absent. */
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

        if ((found | 1) == (hash | 1) && strcmp(library->strings + library->symbols[index].st_name, name) == 0) {
            if (is_plain_function(library, index)) {
                *ret_index = index;
                return OUTCOME_FOUND;
            }
            outcome = OUTCOME_UNCLEAR;
        }
        if ((found & 1) != 0) /* the last of its chain */
            return outcome;
    }
}

/* The object that holds an address; NULL if that cannot be asked. */
static const struct link_map *map_of(const void *address)
{
    struct dl_find_object found;

    if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)address, &found) != 0)
        return NULL;
    return found.dlfo_link_map;
}

/* The libraries from the one behind ours to the C library. How many. */
static unsigned int list_libraries(struct library ret_libraries[LIBRARY_MAX])
{
    const struct link_map *own = map_of((const void *)list_libraries);
    const struct link_map *last = map_of((const void *)gnu_get_libc_version), *map;
    unsigned int count = 0;

    for (map = own; map != NULL && map != last; map = map->l_next)
        ;
    if (own == NULL || own == last || map == NULL)
        return 0;
    do {
        own = own->l_next;
        if (!library_open(&ret_libraries[count], own))
            break;
        count++;
    } while (own != last && count < LIBRARY_MAX);
    return count;
}

void preload_symbols_find(const char *const *names, void **functions, unsigned int count)
{
    struct library libraries[LIBRARY_MAX];
    unsigned int library_count = list_libraries(libraries);

    for (unsigned int i = 0; i < count; i++) {
        enum outcome outcome = OUTCOME_ABSENT;
        uint32_t hash = hash_of(names[i]), index;

        if (functions[i] != NULL)
            continue;
        for (unsigned int j = 0; j < library_count && outcome == OUTCOME_ABSENT; j++) {
            outcome = library_find(&libraries[j], names[i], hash, &index);
            if (outcome == OUTCOME_FOUND)
                functions[i] = (void *)(libraries[j].base + libraries[j].symbols[index].st_value);
        }
    }
}
