/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_symbols.h - the functions of a module's symbol tables in order of address: made once, then a binary search. (To
 * ask libdw for each address walks the whole table every time.)
 */
#ifndef RIPD_SYM_CHILD_ELF_SYMBOLS_H
#define RIPD_SYM_CHILD_ELF_SYMBOLS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbol {
    uint64_t start;
    uint64_t end;     /* of one without a size: the next one, or its section's */
    uint64_t reach;   /* the furthest end of this one and all before it: functions may lie in one another */
    const char *name; /* the module's */
    uint16_t rank;    /* of several at one place the lowest is taken */
    bool is_sized;
};

struct elf_symbols {
    struct elf_symbol *symbols;
    size_t count;
};

/* 0 or -ENOMEM; a module without symbols has none. */
int elf_symbols_load(struct elf_symbols *ret_symbols, Dwfl_Module *module);
void elf_symbols_done(struct elf_symbols *symbols);

/* Name of the innermost function that address (libdwfl's) lies in; NULL: none. */
const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address);

#endif
