/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_symbols.h - the functions of a module's symbol tables in order of address: made once, then a binary search. (To
 * ask libdw for each address walks the whole table every time.)
 */
#ifndef RIPD_SYM_CHILD_ELF_SYMBOLS_H
#define RIPD_SYM_CHILD_ELF_SYMBOLS_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbol {
    uint64_t start;
    uint64_t bytes;   /* for one without a size: the rest of its section; the next one ends it anyway */
    const char *name; /* the module's */
    int rank;         /* of several at one place the lowest is taken */
};

struct elf_symbols {
    struct elf_symbol *symbols;
    size_t count;
};

/* 0 or -ENOMEM; a module without symbols has none. */
int elf_symbols_load(struct elf_symbols *ret_symbols, Dwfl_Module *module);
void elf_symbols_done(struct elf_symbols *symbols);

/* Name of the function that address (libdwfl's) lies in; NULL: none. */
const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address);

#endif
