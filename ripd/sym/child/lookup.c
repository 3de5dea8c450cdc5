/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - libdwfl for one file that is not loaded anywhere. Its addresses are the file's own plus a bias that
 * libdwfl chooses.
 *
 * Compilation units are found by a table of their ranges, which is made once. The search of libdw needs .debug_aranges,
 * which not every compiler writes.
 */
#include "sym/child/lookup.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/child/demangle.h"
#include "sym/child/elf_symbols.h"
#include "sym/child/source_path.h"
#include "util/array.h"
#include "util/search.h"

#define UNIT_RANGES_MAX 4000000u
#define SCOPES_MAX 256u                   /* nested dies */
#define TEXTS_MAX (3 * SYMBOL_FRAMES_MAX) /* a function and a file for each frame, and for frames left out */

struct unit_range {
    uint64_t start;
    uint64_t end;
    uint64_t reach; /* greatest end of this one and all before it: ranges may be nested */
    Dwarf_Off unit; /* offset of its die */
};

struct lookup {
    Dwfl *dwfl;
    Dwfl_Module *module;
    GElf_Addr bias; /* added to an address of the file, to get libdwfl's */
    Dwarf *dwarf;   /* NULL = no debug information */
    Dwarf_Addr dwarf_bias;
    struct elf_symbols symbols;
    struct unit_range *ranges;
    size_t range_count;
    size_t range_capacity;
    char *texts[TEXTS_MAX]; /* owned texts that the last answer points to */
    size_t text_count;
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

    return search_order(a->start, b->start);
}

static bool add_range(struct lookup *lookup, const struct unit_range *range)
{
    if (lookup->range_count == UNIT_RANGES_MAX ||
        !ARRAY_GROW(lookup->ranges, lookup->range_count, lookup->range_capacity))
        return false;
    lookup->ranges[lookup->range_count++] = *range;
    return true;
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
            if (start < end && !add_range(lookup, &(struct unit_range){start, end, 0, dwarf_dieoffset(&die)}))
                break;
    }
    if (lookup->range_count != 0)
        qsort(lookup->ranges, lookup->range_count, sizeof(*lookup->ranges), compare_ranges);
    for (size_t i = 0; i < lookup->range_count; i++) {
        uint64_t before = i == 0 ? 0 : lookup->ranges[i - 1].reach;

        lookup->ranges[i].reach = lookup->ranges[i].end > before ? lookup->ranges[i].end : before;
    }
}

static int compare_start(const void *key, const void *item)
{
    return search_order(*(const uint64_t *)key, ((const struct unit_range *)item)->start);
}

/* Returns false if no unit contains the address. */
static bool find_unit(const struct lookup *lookup, uint64_t address, Dwarf_Die *ret_unit)
{
    size_t low = search_after(&address, lookup->ranges, lookup->range_count, sizeof(*lookup->ranges), compare_start);

    while (low != 0 && address < lookup->ranges[low - 1].reach && address >= lookup->ranges[low - 1].end)
        low--;
    return low != 0 && address < lookup->ranges[low - 1].end &&
           dwarf_offdie(lookup->dwarf, lookup->ranges[low - 1].unit, ret_unit) != NULL;
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

/*
 * dwz can move debug information to another file. Returns true if libdw has found the right one: it accepts any file
 * with that name.
 */
static bool has_matching_alternative(Dwarf *dwarf)
{
    const void *wanted = NULL, *found = NULL;
    const char *name;
    ssize_t count = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &wanted);
    Dwarf *alternative = count > 0 ? dwarf_getalt(dwarf) : NULL;

    if (alternative == NULL)
        return true; /* there is none, or it cannot be opened: names in it stay unknown */
    return dwelf_elf_gnu_build_id(dwarf_getelf(alternative), &found) == count &&
           memcmp(found, wanted, (size_t)count) == 0;
}

static void load_dwarf(struct lookup *lookup)
{
    Dwarf_Die unit;

    lookup->dwarf = dwfl_module_getdwarf(lookup->module, &lookup->dwarf_bias);
    if (lookup->dwarf != NULL && !has_matching_alternative(lookup->dwarf))
        lookup->dwarf = NULL;
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
        if (lookup->dwfl != NULL)
            lookup->module = dwfl_report_offline(lookup->dwfl, "", path, descriptor);
        if (lookup->module != NULL)
            descriptor = -1; /* owned by libdwfl now */
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

static void forget_texts(struct lookup *lookup)
{
    while (lookup->text_count != 0)
        free(lookup->texts[--lookup->text_count]);
}

void lookup_close(struct lookup *lookup)
{
    if (lookup == NULL)
        return;
    forget_texts(lookup);
    elf_symbols_done(&lookup->symbols);
    dwfl_end(lookup->dwfl);
    free(lookup->ranges);
    free(lookup);
}

/* Finding ---------------------------------------------------------------------------------------------------------- */

/* Takes ownership of a text until the next answer. Returns NULL if there is none. */
static const char *keep_text(struct lookup *lookup, char *text)
{
    if (text == NULL)
        return NULL;
    if (lookup->text_count == TEXTS_MAX) {
        free(text);
        return NULL;
    }
    lookup->texts[lookup->text_count++] = text;
    return text;
}

/* Demangles a linkage name. Returns NULL if it is not mangled. */
static const char *demangled(struct lookup *lookup, const char *name)
{
    return name == NULL ? NULL : keep_text(lookup, demangle(name));
}

/* Finds the die where a function was declared: within its namespace or type, not where it is inlined or defined. */
static void declared_at(Dwarf_Die *die, Dwarf_Die *ret_die)
{
    static const unsigned ways[] = {DW_AT_abstract_origin, DW_AT_specification};
    Dwarf_Attribute attribute;
    Dwarf_Die found;

    *ret_die = *die;
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++)
        if (dwarf_attr(ret_die, ways[i], &attribute) != NULL && dwarf_formref_die(&attribute, &found) != NULL)
            *ret_die = found;
}

/* Returns the name of a scope, or NULL if it has none (a block), or none for a qualified name (a unit). */
static const char *scope_name(Dwarf_Die *scope)
{
    const char *name = dwarf_diename(scope);

    switch (dwarf_tag(scope)) {
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_type_unit:
        return NULL;
    case DW_TAG_namespace:
        return name != NULL ? name : "(anonymous namespace)";
    default:
        return name;
    }
}

/* Returns the name with its namespaces and types, in the usual notation. Returns NULL if it is in none. */
static const char *qualified(struct lookup *lookup, Dwarf_Die *die)
{
    char text[SYMBOL_TEXT_BYTES_MAX] = "";
    Dwarf_Die declared, *scopes = NULL;
    size_t length = 0;
    int count;

    declared_at(die, &declared);
    count = dwarf_getscopes_die(&declared, &scopes);
    for (int i = count - 1; i > 0; i--) {
        const char *name = scope_name(&scopes[i]);
        int added = name == NULL ? 0 : snprintf(text + length, sizeof(text) - length, "%s::", name);

        if (added < 0 || (size_t)added >= sizeof(text) - length)
            break;
        length += (size_t)added;
    }
    if (count > 0)
        free(scopes);
    if (length == 0 || dwarf_diename(die) == NULL)
        return NULL;
    snprintf(text + length, sizeof(text) - length, "%s", dwarf_diename(die));
    return keep_text(lookup, strdup(text));
}

/* Prefers the linkage name to the plain one, because it includes the type and the arguments. */
static const char *name_of(struct lookup *lookup, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *linkage = NULL, *name;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) != NULL)
        linkage = dwarf_formstring(&attribute);
    name = demangled(lookup, linkage);
    if (name == NULL) /* gcc gives no linkage name to what other units cannot refer to: anonymous namespaces, lambdas */
        name = qualified(lookup, die);
    if (name == NULL)
        name = dwarf_diename(die);
    return name != NULL ? name : linkage;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;

    if (dwarf_attr(die, name, &attribute) == NULL || dwarf_formudata(&attribute, &value) != 0)
        return 0;
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static bool is_version_5(Dwarf_Die *unit)
{
    Dwarf_Half version = 0;

    return dwarf_cu_info(unit->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) == 0 && version >= 5;
}

/* Returns a source path as in source_path.h. */
static const char *source_path_of(struct lookup *lookup, Dwarf_Die *unit, const char *file)
{
    Dwarf_Attribute attribute;
    const char *directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));

    return file == NULL ? NULL : keep_text(lookup, source_path(directory, file));
}

/* Fills in where an inlined function was called. Before DWARF 5 files are counted from 1, and libdw has none at 0. */
static void take_call_site(struct lookup *lookup, Dwarf_Die *unit, Dwarf_Die *inlined, struct symbol_frame *frame)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    Dwarf_Files *files;
    size_t count;

    frame->line = number_of(inlined, DW_AT_call_line);
    frame->file = NULL;
    if (dwarf_attr(inlined, DW_AT_call_file, &attribute) == NULL || dwarf_formudata(&attribute, &number) != 0)
        return;
    if ((number != 0 || is_version_5(unit)) && dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count)
        frame->file = source_path_of(lookup, unit, dwarf_filesrc(files, (size_t)number, NULL, NULL));
}

static void take_line(struct lookup *lookup, Dwarf_Die *unit, Dwarf_Addr address, struct symbol_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number = 0;

    if (line == NULL)
        return;
    frame->file = source_path_of(lookup, unit, dwarf_linesrc(line, NULL, NULL));
    if (dwarf_lineno(line, &number) == 0 && number > 0)
        frame->line = (uint32_t)number;
}

static bool ends_with(const char *file, const char *header)
{
    size_t length = file == NULL ? 0 : strlen(file), bytes = strlen(header);

    return length >= bytes && strcmp(file + length - bytes, header) == 0;
}

static bool is_our_file(const char *file)
{
    return ends_with(file, "rip/rip.h") || ends_with(file, "rip/rip.hpp");
}

static bool is_ours(const struct symbol_frame *frame)
{
    return frame->function != NULL && is_our_file(frame->file) &&
           (strncmp(frame->function, "rip_", 4) == 0 || strncmp(frame->function, "rip::", 5) == 0);
}

/*
 * Returns true if a die may contain declarations of functions whose code is elsewhere. also_functions: functions may
 * contain a lambda.
 */
static bool may_hold_functions(Dwarf_Die *die, bool also_functions)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
        return also_functions;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
        return true;
    default:
        return false;
    }
}

/*
 * Finds the dies that contain an address, outermost first, and returns their number. dwarf_getscopes() finds none if a
 * function of another unit was inlined, as link-time optimization does, and it does not limit the depth.
 */
static size_t find_scopes(Dwarf_Die *unit, Dwarf_Addr address, bool also_functions, Dwarf_Die path[SCOPES_MAX])
{
    size_t depth = dwarf_child(unit, &path[0]) == 0 ? 1 : 0, found = 0;

    while (depth != 0) {
        const bool is_inside = dwarf_haspc(&path[depth - 1], address) > 0;

        if (is_inside)
            found = depth;
        if ((is_inside || may_hold_functions(&path[depth - 1], also_functions)) && depth < SCOPES_MAX &&
            dwarf_child(&path[depth - 1], &path[depth]) == 0) {
            depth++;
            continue;
        }
        while (depth > found && dwarf_siblingof(&path[depth - 1], &path[depth - 1]) != 0)
            depth--;
        if (depth <= found) /* siblings of a die that has the address do not have it */
            return found;
    }
    return found;
}

/* Fills in the functions at an address, innermost first. */
static size_t frames_of_scopes(struct lookup *lookup, Dwarf_Die *unit, Dwarf_Die *scopes, size_t scope_count,
                               struct symbol_frame first, struct symbol_frame *ret_frames)
{
    struct symbol_frame frame = first;
    size_t count = 0;

    while (scope_count != 0 && count < SYMBOL_FRAMES_MAX) {
        Dwarf_Die *scope = &scopes[--scope_count];
        int tag = dwarf_tag(scope);

        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram && tag != DW_TAG_entry_point)
            continue;
        frame.function = name_of(lookup, scope);
        ret_frames[count++] = frame;
        if (tag != DW_TAG_inlined_subroutine)
            break;
        if (is_ours(&ret_frames[count - 1]))
            count--;
        take_call_site(lookup, unit, scope, &frame);
    }
    return count;
}

/* If debug information was split off (-gsplit-dwarf), the skeleton unit has only lines: returns the split unit. */
static Dwarf_Die part_with_functions(const Dwarf_Die *unit)
{
    Dwarf_Die part;
    uint8_t type;

    if (dwarf_cu_info(unit->cu, NULL, &type, NULL, &part, NULL, NULL, NULL) == 0 && type == DW_UT_skeleton &&
        part.cu != NULL && part.addr != NULL)
        return part;
    return *unit;
}

static size_t find_in_dwarf(struct lookup *lookup, Dwarf_Addr address, struct symbol_frame *ret_frames)
{
    struct symbol_frame first = {0};
    Dwarf_Die unit, part, scopes[SCOPES_MAX];
    size_t count, depth;

    if (!find_unit(lookup, address, &unit))
        return 0;
    take_line(lookup, &unit, address, &first);
    part = part_with_functions(&unit);
    depth = find_scopes(&part, address, false, scopes);
    if (depth == 0) /* slow: searches every function of the unit */
        depth = find_scopes(&part, address, true, scopes);
    count = frames_of_scopes(lookup, &unit, scopes, depth, first, ret_frames);
    if (count == 0 && first.file != NULL && !is_our_file(first.file)) /* the line is known, the function is not */
        ret_frames[count++] = first;
    return count;
}

size_t lookup_find(struct lookup *lookup, uint64_t address, struct symbol_frame ret_frames[SYMBOL_FRAMES_MAX])
{
    const uint64_t dwfl_address = address + lookup->bias;
    const char *name;
    size_t count = 0;

    forget_texts(lookup);
    if (lookup->dwarf != NULL)
        count = find_in_dwarf(lookup, dwfl_address - lookup->dwarf_bias, ret_frames);
    if (count != 0 && ret_frames[count - 1].function != NULL)
        return count;
    name = elf_symbols_find(&lookup->symbols, dwfl_address);
    if (count == 0 && name == NULL)
        return 0;
    if (count == 0)
        ret_frames[count++] = (struct symbol_frame){0};
    ret_frames[count - 1].function = demangled(lookup, name);
    if (ret_frames[count - 1].function == NULL)
        ret_frames[count - 1].function = name;
    return count;
}
