/* SPDX-License-Identifier: Apache-2.0 */
/* elf_symbols.c - loads and sorts symbol tables. */
#include "sym/child/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/search.h"

#define SYMBOLS_MAX 16000000 /* per file: 640 MB */
#define NESTED_MAX 256u      /* functions nested in one, before the address */

/* Prefers global to weak to local symbols, and typed functions to bare labels. */
static uint16_t rank_of(const GElf_Sym *symbol)
{
    static const uint16_t ranks[] = {[STB_GLOBAL] = 0, [STB_WEAK] = 1, [STB_LOCAL] = 2};
    unsigned binding = GELF_ST_BIND(symbol->st_info);
    unsigned rank = binding < ARRAY_COUNT(ranks) ? ranks[binding] : 3;

    return (uint16_t)(rank + (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 4 : 0));
}

static bool is_function(const GElf_Sym *symbol, const char *name, Elf *elf, GElf_Word section)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    GElf_Shdr header_memory, *header;
    Elf_Scn *found;

    if (name == NULL || name[0] == '\0' || section == SHN_UNDEF)
        return false;
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        return true;
    if (type != STT_NOTYPE || section >= SHN_LORESERVE || name[0] == '$' || name[0] == '.')
        return false;
    found = elf_getscn(elf, section); /* an assembly label counts if it is in a code section */
    header = found == NULL ? NULL : gelf_getshdr(found, &header_memory);
    return header != NULL && (header->sh_flags & SHF_EXECINSTR) != 0;
}

/* Returns the size of a symbol without a size: up to the end of its section. */
static uint64_t rest_of_section(const GElf_Sym *symbol, Elf *elf, GElf_Word section)
{
    Elf_Scn *found = section >= SHN_LORESERVE ? NULL : elf_getscn(elf, section);
    GElf_Shdr memory, *header = found == NULL ? NULL : gelf_getshdr(found, &memory);

    if (header == NULL || symbol->st_value < header->sh_addr || symbol->st_value - header->sh_addr >= header->sh_size)
        return 1;
    return header->sh_size - (symbol->st_value - header->sh_addr);
}

static struct elf_symbol symbol_of(const GElf_Sym *symbol, const char *name, uint64_t start, Elf *elf,
                                   GElf_Word section)
{
    uint64_t bytes = symbol->st_size != 0 ? symbol->st_size : rest_of_section(symbol, elf, section);

    return (struct elf_symbol){
        .start = start,
        .end = bytes <= UINT64_MAX - start ? start + bytes : UINT64_MAX,
        .name = name,
        .rank = rank_of(symbol),
        .is_sized = symbol->st_size != 0,
    };
}

static int compare(const void *left, const void *right)
{
    const struct elf_symbol *a = left, *b = right;

    return search_order_then(search_order_pair(a->start, a->rank, b->start, b->rank), strcmp(a->name, b->name));
}

/* Keeps one name per address, and computes the ends. */
static void set_ends(struct elf_symbols *symbols)
{
    struct elf_symbol *all = symbols->symbols;
    size_t kept = 0;

    for (size_t i = 0; i < symbols->count; i++)
        if (kept == 0 || all[kept - 1].start != all[i].start)
            all[kept++] = all[i];
    symbols->count = kept;
    for (size_t i = 0; i < kept; i++) {
        uint64_t before = i == 0 ? 0 : all[i - 1].reach;

        if (!all[i].is_sized && i + 1 < kept && all[i].end > all[i + 1].start)
            all[i].end = all[i + 1].start;
        all[i].reach = all[i].end > before ? all[i].end : before;
    }
}

int elf_symbols_load(struct elf_symbols *ret_symbols, Dwfl_Module *module)
{
    int total = dwfl_module_getsymtab(module);
    struct elf_symbols symbols = {0};

    if (total <= 0 || total > SYMBOLS_MAX) {
        *ret_symbols = symbols;
        return 0;
    }
    symbols.symbols = calloc((size_t)total, sizeof(*symbols.symbols));
    if (symbols.symbols == NULL)
        return -ENOMEM;
    for (int i = 0; i < total; i++) {
        GElf_Addr address;
        GElf_Word section;
        GElf_Sym symbol;
        Elf *elf = NULL;
        Dwarf_Addr bias;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, &elf, &bias);

        if (name != NULL && is_function(&symbol, name, elf, section))
            symbols.symbols[symbols.count++] = symbol_of(&symbol, name, address, elf, section);
    }
    qsort(symbols.symbols, symbols.count, sizeof(*symbols.symbols), compare);
    set_ends(&symbols);
    *ret_symbols = symbols;
    return 0;
}

void elf_symbols_done(struct elf_symbols *symbols)
{
    free(symbols->symbols);
    *symbols = (struct elf_symbols){0};
}

static int compare_start(const void *key, const void *item)
{
    return search_order(*(const uint64_t *)key, ((const struct elf_symbol *)item)->start);
}

const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address)
{
    size_t low = search_after(&address, symbols->symbols, symbols->count, sizeof(*symbols->symbols), compare_start);

    for (size_t i = 0; low != 0 && address < symbols->symbols[low - 1].reach && i < NESTED_MAX; i++, low--)
        if (address < symbols->symbols[low - 1].end)
            return symbols->symbols[low - 1].name;
    return NULL;
}
