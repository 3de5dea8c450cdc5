/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_elf_symbols.c - the symbols below, as assembled into this program's own file: ripd/sym/child/elf_symbols.c.
 *
 * Which name of several is taken, where functions begin and end, and what is no function.
 */
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "support/test.h"
#include "sym/child/elf_symbols.h"

/* 64 bytes, filled; symbols in it are known by their offset. */
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
        "es_no_size:\n" /* up to the next one */
        ".fill 8, 1, 0x90\n"
        ".type es_data,@object; es_data: .size es_data, 4\n"
        ".fill 4, 1, 0x90\n"
        ".type es_outer,@function; es_outer: .size es_outer, 12\n"
        ".fill 4, 1, 0x90\n"
        ".type es_inner,@function; es_inner: .size es_inner, 4\n"
        ".fill 8, 1, 0x90\n"
        ".type es_last,@function; es_last:\n" /* to the end of what the section has */
        ".fill 8, 1, 0x90\n"
        ".popsection\n"
        ".pushsection .data\n"
        "es_variable: .quad 0\n"
        ".popsection\n");
extern const char elf_symbols_begin[];

static Dwfl *dwfl;
static struct elf_symbols symbols;
static uint64_t begin; /* as libdwfl has it */

static const char *at(uint64_t offset)
{
    return elf_symbols_find(&symbols, begin + offset);
}

static void assert_name(uint64_t offset, const char *name)
{
    if (at(offset) == NULL)
        fail_msg("nothing at %d, expected %s", (int)offset, name);
    assert_string_equal(at(offset), name);
}

TEST(one_name_of_several)
{
    assert_name(0, "es_global");
    assert_name(16, "es_typed"); /* though the other one is global */
}

TEST(begin_and_end)
{
    assert_name(7, "es_global");
    assert_null(at(8));
    assert_null(at(15));
    assert_name(19, "es_typed");
    assert_null(at(20));
}

TEST(without_size)
{
    assert_name(32, "es_no_size");
    assert_name(39, "es_no_size");
    assert_name(43, "es_no_size"); /* what is no function does not end it */
    assert_name(56, "es_last");
    assert_name(63, "es_last");
    assert_null(at(1 << 20));
}

TEST(one_in_another)
{
    assert_name(47, "es_outer");
    assert_name(48, "es_inner");
    assert_name(51, "es_inner");
    assert_name(52, "es_outer");
    assert_name(55, "es_outer");
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

static int first_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_addr;
    return 1;
}

static int load_own_file(void **state)
{
    static const Dwfl_Callbacks callbacks = {.find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address};
    int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    uint64_t loaded_at = 0;
    Dwfl_Module *module;
    GElf_Addr bias;

    (void)state;
    dwfl = dwfl_begin(&callbacks);
    module = dwfl_report_offline(dwfl, "", "/proc/self/exe", descriptor);
    if (module == NULL || dwfl_report_end(dwfl, NULL, NULL) != 0 || dwfl_module_getelf(module, &bias) == NULL)
        return 1;
    dl_iterate_phdr(first_object, &loaded_at);
    begin = (uint64_t)(uintptr_t)elf_symbols_begin - loaded_at + bias;
    return elf_symbols_load(&symbols, module);
}

static int forget_own_file(void **state)
{
    (void)state;
    elf_symbols_done(&symbols);
    elf_symbols_done(&symbols); /* twice is once */
    dwfl_end(dwfl);
    return 0;
}

int main(void)
{
    return tests_run(load_own_file, forget_own_file);
}
