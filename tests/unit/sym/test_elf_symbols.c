/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_elf_symbols.c - looks up the symbols that are assembled below: ripd/sym/child/elf_symbols.c. They have several
 * names, sizes and no sizes, or are no functions.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "support/test.h"
#include "sym/child/elf_symbols.h"
#include "unit/sym_samples.h"

/* 64 bytes with symbols at known offsets. */
__asm__(".pushsection .text.elf_symbols,\"ax\",@progbits\n"
        ".balign 64\n"
        ".globl elf_symbols_begin\n"
        ".hidden elf_symbols_begin\n"
        "elf_symbols_begin:\n"
        ".type es_local,@function; es_local:\n"
        ".weak es_weak; .type es_weak,@function; es_weak:\n"
        ".globl es_global; .type es_global,@function; es_global:\n"
        ".size es_local, 8; .size es_weak, 8; .size es_global, 8\n"
        ".fill 16, 1, 0x90\n" /* 8..15 belong to no symbol */
        ".type es_typed,@function; es_typed:\n"
        ".globl es_label; es_label:\n"
        ".size es_typed, 4; .size es_label, 4\n"
        ".fill 16, 1, 0x90\n"
        "es_no_size:\n" /* ends at the next function */
        ".fill 8, 1, 0x90\n"
        ".type es_data,@object; es_data: .size es_data, 4\n"
        ".fill 4, 1, 0x90\n"
        ".type es_outer,@function; es_outer: .size es_outer, 12\n"
        ".fill 4, 1, 0x90\n"
        ".type es_inner,@function; es_inner: .size es_inner, 4\n"
        ".fill 8, 1, 0x90\n"
        ".type es_last,@function; es_last:\n" /* ends with the section */
        ".fill 8, 1, 0x90\n"
        ".popsection\n"
        ".pushsection .data\n"
        "es_variable: .quad 0\n"
        ".popsection\n");
extern const char elf_symbols_begin[];

static Dwfl *dwfl;
static struct elf_symbols symbols;
static uint64_t begin; /* address of the 64 bytes for libdwfl */

TEST(names_by_offset)
{
    static const struct {
        uint64_t offset;
        const char *name;
    } cases[] = {
        {0, "es_global"},   {7, "es_global"},                       /* of several names the global function */
        {8, NULL},          {15, NULL},                             /* between functions */
        {16, "es_typed"},   {19, "es_typed"},   {20, NULL},         /* a function is preferred to a global label */
        {32, "es_no_size"}, {39, "es_no_size"}, {43, "es_no_size"}, /* an object does not end it */
        {47, "es_outer"},   {48, "es_inner"},   {51, "es_inner"},
        {52, "es_outer"},   {55, "es_outer"}, /* one in another */
        {56, "es_last"},    {63, "es_last"},    {1 << 20, NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *name = elf_symbols_find(&symbols, begin + cases[i].offset);

        if (name == NULL ? cases[i].name != NULL : cases[i].name == NULL || strcmp(name, cases[i].name) != 0)
            fail_msg("%s at offset %d", name != NULL ? name : "nothing", (int)cases[i].offset);
    }
}

TEST(no_function)
{
    for (size_t i = 0; i < symbols.count; i++) {
        assert_string_not_equal(symbols.symbols[i].name, "es_data");
        assert_string_not_equal(symbols.symbols[i].name, "es_variable");
        assert_string_not_equal(symbols.symbols[i].name, ""); /* of sections */
        if (i != 0)
            assert_true(symbols.symbols[i - 1].start < symbols.symbols[i].start);
    }
    assert_null(elf_symbols_find(&symbols, 0));
    assert_null(elf_symbols_find(&symbols, UINT64_MAX));
}

TEST(none)
{
    const struct elf_symbols none = {.count = 0};

    assert_null(elf_symbols_find(&none, 0));
    assert_null(elf_symbols_find(&none, UINT64_MAX));
}

static int load_own_file(void **state)
{
    static const Dwfl_Callbacks callbacks = {.find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address};
    Dwfl_Module *module;
    GElf_Addr bias;

    (void)state;
    dwfl = dwfl_begin(&callbacks);
    module = dwfl_report_offline(dwfl, "", "/proc/self/exe", open_own_program());
    if (module == NULL || dwfl_report_end(dwfl, NULL, NULL) != 0 || dwfl_module_getelf(module, &bias) == NULL)
        return 1;
    begin = address_in_file(elf_symbols_begin) + bias;
    return elf_symbols_load(&symbols, module);
}

static int forget_own_file(void **state)
{
    (void)state;
    elf_symbols_done(&symbols);
    elf_symbols_done(&symbols); /* has no effect */
    dwfl_end(dwfl);
    return 0;
}

int main(void)
{
    return tests_run(load_own_file, forget_own_file);
}
