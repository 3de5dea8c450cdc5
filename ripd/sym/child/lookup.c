/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - libdwfl over one file that is not loaded anywhere, so that addresses are the file's own plus a bias that
 * libdwfl chooses.
 *
 * Compilation units are found by a table of their ranges, made once: not every compiler writes .debug_aranges, which
 * libdw's own search needs.
 */
#include "sym/child/lookup.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/child/demangle.h"
#include "sym/child/elf_symbols.h"

#define UNIT_RANGES_MAX 4000000u

struct unit_range {
    uint64_t start;
    uint64_t end;
    Dwarf_Off unit; /* offset of its die */
};

struct lookup {
    Dwfl *dwfl;
    Dwfl_Module *module;
    GElf_Addr bias; /* of addresses in symbols: the file's plus this is libdwfl's */
    Dwarf *dwarf;   /* NULL: there is no debug information */
    Dwarf_Addr dwarf_bias;
    struct elf_symbols symbols;
    struct unit_range *ranges;
    size_t range_count;
    size_t range_capacity;
    char *demangled[SYMBOL_FRAMES_MAX]; /* what the last answer pointed at */
    size_t demangled_count;
};

static char *debug_path = (char *)(uintptr_t) ":.debug:/usr/lib/debug";

static const Dwfl_Callbacks callbacks = {
    .find_elf = NULL,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path,
};

static int check_build_id(int descriptor, const uint8_t *expected, size_t expected_bytes)
{
    const void *bytes = NULL;
    int status = -ENOEXEC;
    ssize_t count;
    Elf *elf;

    elf_version(EV_CURRENT);
    elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
    if (elf == NULL)
        return -ENOEXEC;
    if (elf_kind(elf) == ELF_K_ELF) {
        count = dwelf_elf_gnu_build_id(elf, &bytes);
        status =
            expected_bytes == 0 || (count == (ssize_t)expected_bytes && memcmp(bytes, expected, expected_bytes) == 0)
                ? 0
                : -ESTALE;
    }
    elf_end(elf);
    return status;
}

/* Ranges of units ------------------------------------------------------------------------------------------------- */

static int compare_ranges(const void *left, const void *right)
{
    const struct unit_range *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

static int add_range(struct lookup *lookup, const struct unit_range *range)
{
    if (lookup->range_count == lookup->range_capacity) {
        size_t capacity = lookup->range_capacity == 0 ? 256 : 2 * lookup->range_capacity;
        struct unit_range *ranges;

        if (capacity > UNIT_RANGES_MAX)
            return -ENOSPC;
        ranges = realloc(lookup->ranges, capacity * sizeof(*ranges));
        if (ranges == NULL)
            return -ENOMEM;
        lookup->ranges = ranges;
        lookup->range_capacity = capacity;
    }
    lookup->ranges[lookup->range_count++] = *range;
    return 0;
}

static void load_ranges(struct lookup *lookup)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;

    while (dwarf_get_units(lookup->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
        Dwarf_Addr base, start, end;
        ptrdiff_t at = 0;

        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0)
            if (start < end && add_range(lookup, &(struct unit_range){start, end, dwarf_dieoffset(&die)}) != 0)
                break;
    }
    if (lookup->range_count != 0)
        qsort(lookup->ranges, lookup->range_count, sizeof(*lookup->ranges), compare_ranges);
}

/* False: no unit has that address. */
static bool find_unit(const struct lookup *lookup, uint64_t address, Dwarf_Die *ret_unit)
{
    size_t low = 0, high = lookup->range_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (lookup->ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low != 0 && address < lookup->ranges[low - 1].end &&
           dwarf_offdie(lookup->dwarf, lookup->ranges[low - 1].unit, ret_unit) != NULL;
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

static void load_dwarf(struct lookup *lookup)
{
    Dwarf_Die unit;

    lookup->dwarf = dwfl_module_getdwarf(lookup->module, &lookup->dwarf_bias);
    if (lookup->dwarf == NULL)
        return;
    load_ranges(lookup);
    if (lookup->range_count == 0 || dwarf_offdie(lookup->dwarf, lookup->ranges[0].unit, &unit) == NULL)
        lookup->dwarf = NULL;
}

int lookup_open(struct lookup **ret_lookup, int descriptor, const char *path, const uint8_t *build_id,
                size_t build_id_bytes)
{
    struct lookup *lookup = calloc(1, sizeof(*lookup));
    int status = lookup == NULL ? -ENOMEM : check_build_id(descriptor, build_id, build_id_bytes);

    if (status == 0) {
        lookup->dwfl = dwfl_begin(&callbacks);
        status = lookup->dwfl == NULL ? -ENOMEM : -ENOEXEC;
    }
    if (status == -ENOEXEC && lookup != NULL && lookup->dwfl != NULL) {
        lookup->module = dwfl_report_offline(lookup->dwfl, "", path, descriptor);
        if (lookup->module != NULL)
            descriptor = -1; /* it is libdwfl's */
        if (lookup->module != NULL && dwfl_report_end(lookup->dwfl, NULL, NULL) == 0 &&
            dwfl_module_getelf(lookup->module, &lookup->bias) != NULL)
            status = elf_symbols_load(&lookup->symbols, lookup->module);
    }
    if (descriptor >= 0)
        close(descriptor);
    if (status != 0) {
        lookup_close(lookup);
        return status;
    }
    load_dwarf(lookup);
    *ret_lookup = lookup;
    return 0;
}

static void forget_demangled(struct lookup *lookup)
{
    while (lookup->demangled_count != 0)
        free(lookup->demangled[--lookup->demangled_count]);
}

void lookup_close(struct lookup *lookup)
{
    if (lookup == NULL)
        return;
    forget_demangled(lookup);
    elf_symbols_done(&lookup->symbols);
    if (lookup->dwfl != NULL)
        dwfl_end(lookup->dwfl);
    free(lookup->ranges);
    free(lookup);
}

/* Finding ---------------------------------------------------------------------------------------------------------- */

static const char *readable(struct lookup *lookup, const char *name)
{
    char *text = name == NULL || lookup->demangled_count == SYMBOL_FRAMES_MAX ? NULL : demangle(name);

    if (text == NULL)
        return name;
    lookup->demangled[lookup->demangled_count++] = text;
    return text;
}

/* The name as the linker has it says more than the plain one: whose method, of which type. */
static const char *name_of(struct lookup *lookup, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) != NULL)
        name = dwarf_formstring(&attribute);
    return name != NULL ? readable(lookup, name) : dwarf_diename(die);
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;

    if (dwarf_attr(die, name, &attribute) == NULL || dwarf_formudata(&attribute, &value) != 0)
        return 0;
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* Where an inlined function was called. */
static void take_call_site(Dwarf_Die *unit, Dwarf_Die *inlined, struct symbol_frame *frame)
{
    uint32_t number = number_of(inlined, DW_AT_call_file);
    Dwarf_Files *files;
    size_t count;

    frame->line = number_of(inlined, DW_AT_call_line);
    frame->file = NULL;
    if (number != 0 && dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count)
        frame->file = dwarf_filesrc(files, number, NULL, NULL);
}

static void take_line(Dwarf_Die *unit, Dwarf_Addr address, struct symbol_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number = 0;

    if (line == NULL)
        return;
    frame->file = dwarf_linesrc(line, NULL, NULL);
    if (dwarf_lineno(line, &number) == 0 && number > 0)
        frame->line = (uint32_t)number;
}

static bool is_ours(const struct symbol_frame *frame)
{
    static const char header[] = "rip/rip.h";
    size_t length = frame->file == NULL ? 0 : strlen(frame->file);

    return frame->function != NULL && strncmp(frame->function, "rip_", 4) == 0 && length >= sizeof(header) - 1 &&
           strcmp(frame->file + length - (sizeof(header) - 1), header) == 0;
}

/* The functions around an address, inside out, by the tree of dies. */
static size_t frames_of_scopes(struct lookup *lookup, Dwarf_Die *unit, Dwarf_Die *scopes, int scope_count,
                               struct symbol_frame first, struct symbol_frame *ret_frames)
{
    struct symbol_frame frame = first;
    size_t count = 0;

    for (int i = 0; i < scope_count && count < SYMBOL_FRAMES_MAX; i++) {
        int tag = dwarf_tag(&scopes[i]);

        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram && tag != DW_TAG_entry_point)
            continue;
        frame.function = name_of(lookup, &scopes[i]);
        ret_frames[count++] = frame;
        if (tag != DW_TAG_inlined_subroutine)
            break;
        if (is_ours(&ret_frames[count - 1]))
            count--;
        take_call_site(unit, &scopes[i], &frame);
    }
    return count;
}

static size_t find_in_dwarf(struct lookup *lookup, Dwarf_Addr address, struct symbol_frame *ret_frames)
{
    struct symbol_frame first = {0};
    Dwarf_Die unit, innermost, *scopes = NULL;
    size_t count = 0;
    int scope_count;

    if (!find_unit(lookup, address, &unit))
        return 0;
    take_line(&unit, address, &first);
    scope_count = dwarf_getscopes(&unit, address, &scopes);
    if (scope_count > 0) { /* these go on where an inlined function was defined; we want where it was called */
        innermost = scopes[0];
        free(scopes);
        scopes = NULL;
        scope_count = dwarf_getscopes_die(&innermost, &scopes);
    }
    if (scope_count > 0)
        count = frames_of_scopes(lookup, &unit, scopes, scope_count, first, ret_frames);
    free(scopes);
    if (count == 0 && first.file != NULL)
        ret_frames[count++] = first;
    return count;
}

size_t lookup_find(struct lookup *lookup, uint64_t address, struct symbol_frame ret_frames[SYMBOL_FRAMES_MAX])
{
    const uint64_t dwfl_address = address + lookup->bias;
    const char *name;
    size_t count = 0;

    forget_demangled(lookup);
    if (lookup->dwarf != NULL)
        count = find_in_dwarf(lookup, dwfl_address - lookup->dwarf_bias, ret_frames);
    if (count != 0 && ret_frames[count - 1].function != NULL)
        return count;
    name = elf_symbols_find(&lookup->symbols, dwfl_address);
    if (count == 0 && name == NULL)
        return 0;
    if (count == 0)
        ret_frames[count++] = (struct symbol_frame){0};
    ret_frames[count - 1].function = name == NULL ? NULL : readable(lookup, name);
    return count;
}
