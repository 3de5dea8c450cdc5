/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abi_tables.c - the offset tables of librip/ABI.md, made from include/rip/ring.h.
 *
 * Without arguments the program prints the tables, to be pasted into ABI.md. With ABI.md and ring.h as arguments it
 * checks that ABI.md contains the tables as printed, and that each field of ring.h that is not reserved has a row here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rip/ring.h"

struct row {
    const char *type;
    const char *field; /* NULL: this row begins the table of type */
    size_t offset;
    size_t bytes;
    const char *changed_by;
};

#define STRUCT(type)                                                                                                   \
    {                                                                                                                  \
#type, NULL, 0, sizeof(struct type), NULL                                                                      \
    }
#define ROW(type, field, changed_by)                                                                                   \
    {                                                                                                                  \
#type, #field, offsetof(struct type, field), sizeof(((struct type *)0)->field), changed_by                     \
    }

static const struct row rows[] = {
    /* clang-format off */
    STRUCT(rip_ring),
    ROW(rip_ring, magic, "fixed, stored last"),
    ROW(rip_ring, format_version, "fixed"),
    ROW(rip_ring, header_bytes, "fixed"),
    ROW(rip_ring, byte_order, "fixed"),
    ROW(rip_ring, compatible_flags, "fixed"),
    ROW(rip_ring, incompatible_flags, "fixed"),
    ROW(rip_ring, file_bytes, "fixed"),
    ROW(rip_ring, ring_id, "fixed"),
    ROW(rip_ring, boot_id, "any, once"),
    ROW(rip_ring, created_wall_ns, "fixed"),
    ROW(rip_ring, created_boot_ns, "fixed"),
    ROW(rip_ring, slot_capacity, "fixed"),
    ROW(rip_ring, slot_stride_bytes, "fixed"),
    ROW(rip_ring, slot_offset, "fixed"),
    ROW(rip_ring, entry_count, "fixed"),
    ROW(rip_ring, entry_offset_bytes, "fixed"),
    ROW(rip_ring, summary_offset, "fixed"),
    ROW(rip_ring, live_offset, "fixed"),
    ROW(rip_ring, process_capacity, "fixed"),
    ROW(rip_ring, process_stride_bytes, "fixed"),
    ROW(rip_ring, process_offset, "fixed"),
    ROW(rip_ring, module_capacity, "fixed"),
    ROW(rip_ring, module_stride_bytes, "fixed"),
    ROW(rip_ring, module_offset, "fixed"),
    ROW(rip_ring, lock_holder_offset, "fixed"),
    ROW(rip_ring, lock_life_offset, "fixed"),
    ROW(rip_ring, lock_takeover_offset, "fixed"),
    ROW(rip_ring, note_offset, "fixed"),
    ROW(rip_ring, note_stride_bytes, "fixed"),
    ROW(rip_ring, stamp_stride_bytes, "fixed, 0"),
    ROW(rip_ring, stamp_offset, "fixed, 0"),
    ROW(rip_ring, deep_offset, "fixed, 0"),
    ROW(rip_ring, deep_stride_bytes, "fixed, 0"),
    ROW(rip_ring, deep_entry_count, "fixed, 0"),
    ROW(rip_ring, script_offset, "fixed"),
    ROW(rip_ring, script_stride_bytes, "fixed"),
    ROW(rip_ring, script_capacity, "fixed"),
    ROW(rip_ring, refused_full_count, "any"),
    ROW(rip_ring, refused_memory_count, "any"),
    ROW(rip_ring, refused_process_count, "any"),
    ROW(rip_ring, modules_dropped_count, "any"),
    ROW(rip_ring, registered_count, "any"),
    ROW(rip_ring, process_high_water, "any, only increases"),
    ROW(rip_ring, module_high_water, "any, only increases"),
    ROW(rip_ring, slot_hint, "any; only a hint"),
    ROW(rip_ring, ended_count, "any, only increases"),
    ROW(rip_ring, ended_snap_count, "any, only increases"),
    ROW(rip_ring, flush_count, "any"),
    ROW(rip_ring, ended_begun_count, "any"),
    ROW(rip_ring, ended, "any"),
    ROW(rip_ring, scripts_dropped_count, "any"),
    ROW(rip_ring, script_high_water, "any, only increases"),
    STRUCT(rip_process),
    ROW(rip_process, state, "see 2.2"),
    ROW(rip_process, generation, "process that claims the record, + 1"),
    ROW(rip_process, flags, "process"),
    ROW(rip_process, pid, "process; in an embryo, the child"),
    ROW(rip_process, start_time_ticks, "process"),
    ROW(rip_process, pid_namespace, "process"),
    ROW(rip_process, entered_boot_ns, "process"),
    ROW(rip_process, parent_pid, "process"),
    ROW(rip_process, uid, "process"),
    ROW(rip_process, module_count, "process, only increases while LIVE"),
    ROW(rip_process, comm, "process"),
    ROW(rip_process, module_index, "process, append only"),
    STRUCT(rip_module),
    ROW(rip_module, start, "fixed"),
    ROW(rip_module, end, "fixed, stored last"),
    ROW(rip_module, bias, "fixed"),
    ROW(rip_module, flags, "fixed"),
    ROW(rip_module, path_bytes, "fixed"),
    ROW(rip_module, build_id_bytes, "fixed"),
    ROW(rip_module, build_id, "fixed"),
    ROW(rip_module, path, "fixed"),
    STRUCT(rip_script),
    ROW(rip_script, published, "fixed, stored last"),
    ROW(rip_script, first_line, "fixed"),
    ROW(rip_script, file_bytes, "fixed"),
    ROW(rip_script, function_bytes, "fixed"),
    ROW(rip_script, flags, "fixed"),
    ROW(rip_script, file, "fixed"),
    ROW(rip_script, function, "fixed"),
    STRUCT(rip_slot),
    ROW(rip_slot, count, "thread"),
    ROW(rip_slot, idle_mark, "thread"),
    ROW(rip_slot, generation, "process"),
    ROW(rip_slot, id, "process, generation odd"),
    ROW(rip_slot, tid, "process"),
    ROW(rip_slot, process, "process, generation odd"),
    ROW(rip_slot, index_bias, "process"),
    ROW(rip_slot, counter_bias, "process, generation odd"),
    ROW(rip_slot, deadline_ms, "thread"),
    ROW(rip_slot, state, "see 2.1"),
    ROW(rip_slot, call, "thread, see 2.5"),
    ROW(rip_slot, name_version, "process"),
    ROW(rip_slot, registered_boot_ns, "process, generation odd"),
    ROW(rip_slot, wait_address, "thread"),
    ROW(rip_slot, wait_owner, "thread"),
    ROW(rip_slot, kind, "process"),
    ROW(rip_slot, wait_tag, "thread"),
    ROW(rip_slot, wait_flags, "thread"),
    ROW(rip_slot, wait_age_s, "thread"),
    ROW(rip_slot, entry, "thread"),
    ROW(rip_slot, name_bytes, "process, generation or name_version odd"),
    ROW(rip_slot, name, "process, generation or name_version odd"),
    STRUCT(rip_slot_note),
    ROW(rip_slot_note, sequence, "thread, process; only increases"),
    ROW(rip_slot_note, check, "thread, process"),
    ROW(rip_slot_note, text_bytes, "thread, process"),
    ROW(rip_slot_note, text, "thread, process"),
    /* clang-format on */
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void print_row(FILE *file, const struct row *row)
{
    if (row->field != NULL)
        fprintf(file, "| %zu | %zu | %s | %s |\n", row->offset, row->bytes, row->field, row->changed_by);
    else
        fprintf(file, "%s### struct %s (%zu bytes)\n\n| offset | size | field | changed by |\n|---|---|---|---|\n",
                row == rows ? "" : "\n", row->type, row->bytes);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t capacity = 1 << 20, bytes;
    char *text = calloc(1, capacity);

    if (file == NULL || text == NULL) {
        perror(path);
        exit(2);
    }
    bytes = fread(text, 1, capacity - 1, file);
    fclose(file);
    text[bytes] = '\0';
    return text;
}

/* Returns whether the document contains all tables, one after the other. */
static bool tables_stand_in(const char *document)
{
    char *tables;
    size_t bytes;
    FILE *memory = open_memstream(&tables, &bytes);
    bool found;

    for (size_t i = 0; i < ROW_COUNT; i++)
        print_row(memory, &rows[i]);
    fclose(memory);
    found = strstr(document, tables) != NULL;
    free(tables);
    return found;
}

static bool has_row(const char *type, const char *field)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].field != NULL && strcmp(rows[i].type, type) == 0 && strcmp(rows[i].field, field) == 0)
            return true;
    }
    return strncmp(field, "reserved_", 9) == 0;
}

/* ring.h asserts the offset of every field: counts those without a row. */
static unsigned count_missing_rows(const char *header)
{
    static const char assertion[] = "\nRIP_ASSERT_OFFSET(";
    unsigned missing = 0;
    char type[64], field[64];

    while ((header = strstr(header, assertion)) != NULL) {
        header += sizeof(assertion) - 1;
        if (sscanf(header, "%63[a-z_], %63[a-z_0-9]", type, field) != 2 || !has_row(type, field)) {
            printf("no row in abi_tables.c: %.60s\n", header);
            missing++;
        }
    }
    return missing;
}

int main(int argc, char **argv)
{
    char *document, *header;
    bool same;

    if (argc != 3) {
        for (size_t i = 0; i < ROW_COUNT; i++)
            print_row(stdout, &rows[i]);
        return 0;
    }
    document = read_file(argv[1]);
    header = read_file(argv[2]);
    same = tables_stand_in(document);
    if (!same)
        printf("the tables of %s differ from ring.h: run %s and paste its output\n", argv[1], argv[0]);
    same = count_missing_rows(header) == 0 && same;
    free(document);
    free(header);
    return same ? 0 : 1;
}
