/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_symbols.h - the functions in a module's symbol tables, sorted by address once, then searched by bisection. (libdw
 * walks the whole table for each address.)
 */
#ifndef RIPD_SYM_CHILD_ELF_SYMBOLS_H
#define RIPD_SYM_CHILD_ELF_SYMBOLS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbol {
    uint64_t start;
    uint64_t end;     /* without a size: the start of the next one, or the end of its section */
    uint64_t reach;   /* greatest end of this one and all before it: functions may be nested */
    const char *name; /* borrowed from the module */
    uint16_t rank;    /* of several at one address, the lowest rank is kept */
    bool is_sized;
};

struct elf_symbols {
    struct elf_symbol *symbols;
    size_t count;
};

/* Returns 0 or -ENOMEM. A module without symbols gives an empty table. */
int elf_symbols_load(struct elf_symbols *ret_symbols, Dwfl_Module *module);
void elf_symbols_done(struct elf_symbols *symbols);

/* Returns the name of the innermost function at an address of libdwfl, or NULL if there is none. */
const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address);

#endif
