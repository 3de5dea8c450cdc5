/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - a chained hash table of files. Pure. */
#include "sym/files.h"

#include <stdlib.h>
#include <string.h>

#include "sym/symbols.h"

static uint64_t hash_of(const struct sym_files *files, const struct sym_file *like, const char *name)
{
    const uint64_t parts[] = {(uint64_t)like->uid << 32 | like->pid, like->process_start, like->start,
                              hash_text(&files->hash_key, name)};

    return hash_bytes(&files->hash_key, parts, sizeof(parts));
}

static bool is_same(const struct sym_file *a, const struct sym_file *b, const char *name)
{
    return a->uid == b->uid && a->pid == b->pid && a->process_start == b->process_start && a->start == b->start &&
           strcmp(a->name, name) == 0;
}

struct sym_file *files_find(struct sym_files *files, const struct process_facts *process,
                            const struct module_facts *module)
{
    struct sym_file like = {.uid = module->uid};
    const char *name = module->build_id;
    struct sym_file **bucket, *file;

    if (name[0] == '\0') {
        name = module->path;
        like.pid = process == NULL ? 0 : process->pid;
        like.process_start = process == NULL ? 0 : process->start_time_ticks;
        like.start = module->start;
    }
    bucket = &files->buckets[hash_of(files, &like, name) % SYM_FILE_BUCKETS];
    for (file = *bucket; file != NULL; file = file->chain)
        if (is_same(file, &like, name))
            return file;
    if (files->count == SYMBOLS_FILES_MAX)
        files_done(files);
    file = malloc(sizeof(*file) + strlen(name) + 1);
    if (file == NULL)
        return NULL;
    *file = like;
    file->key = ++files->last_key;
    memcpy(file->name, name, strlen(name) + 1);
    file->chain = *bucket;
    *bucket = file;
    files->count++;
    return file;
}

void files_close_all(struct sym_files *files)
{
    for (size_t i = 0; i < SYM_FILE_BUCKETS; i++)
        for (struct sym_file *file = files->buckets[i]; file != NULL; file = file->chain)
            file->open = false;
}

void files_done(struct sym_files *files)
{
    for (size_t i = 0; i < SYM_FILE_BUCKETS; i++) {
        while (files->buckets[i] != NULL) {
            struct sym_file *file = files->buckets[i];

            files->buckets[i] = file->chain;
            free(file);
        }
    }
    files->count = 0;
}

static uint32_t digit_of(char digit)
{
    return (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

uint32_t files_build_id(const struct module_facts *module, uint8_t ret_bytes[SYM_BUILD_ID_BYTES])
{
    uint32_t count = 0;

    for (const char *at = module->build_id; at[0] != '\0' && at[1] != '\0' && count < SYM_BUILD_ID_BYTES; at += 2)
        ret_bytes[count++] = (uint8_t)(digit_of(at[0]) << 4 | digit_of(at[1]));
    return count;
}
