/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - modules by build id and their names, one query at a time. Starts ripd-symbolizer through sym/symbols.h. */
#include "cli/names.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/random.h"
#include "sym/symbols.h"
#include "util/array.h"
#include "util/time_limit.h"

#define STILL_NS UINT64_C(2000000000) /* without processor time: it hangs, or waits for a disk that is gone */
#define RESTART_NS UINT64_C(1000000)

struct names {
    struct symbols *symbols;
    int idle; /* an eventfd that is readable when no query is pending */
    struct module_facts **modules;
    size_t count;
    size_t capacity;
    uint64_t left_ns;     /* of NAMES_LIMIT_NS */
    char files[PATH_MAX]; /* a directory; "": none */
};

/* Runs on the thread of the symbols. */
static void on_idle(void *context)
{
    const struct names *names = context;

    (void)eventfd_write(names->idle, 1);
}

struct names *names_new(const char *files)
{
    struct names *names = cli_allocate(1, sizeof(*names));
    int directory = -1;

    if (files != NULL && (directory = file_open_directory(files)) < 0)
        cli_error("--files: '%.200s': %s; no names are looked up there", files, strerror(-directory));
    else if (files != NULL && realpath(files, names->files) == NULL)
        names->files[0] = '\0';
    if (directory >= 0)
        close(directory);
    names->idle = -1;
    names->left_ns = NAMES_LIMIT_NS;
    return names;
}

/* Starts the symbolizer at the first call. */
static void start(struct names *names)
{
    static const char *const places[] = {".", "../ripd"}; /* in a build tree, and in libexec */
    char program[PATH_MAX];
    const struct symbols_options options = {.program = program,
                                            .answer_ns = NAMES_LIMIT_NS,
                                            .still_ns = STILL_NS,
                                            .restart_ns = RESTART_NS,
                                            .hash_key = {{random_u64(), random_u64()}},
                                            .idle = on_idle,
                                            .context = names};

    names->idle = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (names->idle < 0 || cli_find(places, ARRAY_COUNT(places), "ripd-symbolizer", program) != 0 ||
        symbols_new(&names->symbols, &options) != 0)
        names->left_ns = 0;
}

void names_free(struct names *names)
{
    if (names == NULL)
        return;
    symbols_free(names->symbols);
    for (size_t i = 0; i < names->count; i++)
        module_facts_unref(names->modules[i]);
    free(names->modules);
    if (names->idle >= 0)
        close(names->idle);
    free(names);
}

/*
 * Looks for the file as in debug packages, as in a copy of the tree, and by its name. The symbolizer compares build
 * ids.
 */
static char *find_file(const struct names *names, const char *build_id, const char *path)
{
    const char *name = strrchr(path, '/');
    char *found = NULL;

    for (unsigned i = 0; i < 4 && names->files[0] != '\0'; i++) {
        const int length = i < 2 ? asprintf(&found, "%s%s/.build-id/%.2s/%s.debug", names->files,
                                            i == 0 ? "" : "/usr/lib/debug", build_id, build_id + 2)
                                 : asprintf(&found, "%s/%s", names->files, i == 2 || name == NULL ? path : name + 1);

        if (length < 0)
            return NULL;
        if (access(found, F_OK) == 0)
            return found;
        free(found);
    }
    return strdup(path);
}

/* Returns NULL if out of memory. */
static struct module_facts *find_module(struct names *names, const char *build_id, const char *path)
{
    struct module_facts *module;

    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->modules[i]->build_id, build_id) == 0)
            return names->modules[i];
    module = ARRAY_GROW(names->modules, names->count, names->capacity) ? calloc(1, sizeof(*module)) : NULL;
    if (module == NULL || (module->path = find_file(names, build_id, path)) == NULL) {
        free(module);
        return NULL;
    }
    atomic_init(&module->references, 1);
    snprintf(module->build_id, sizeof(module->build_id), "%s", build_id);
    module->uid = (uint32_t)names->count; /* an account for each file, so that no file is charged for another */
    return names->modules[names->count++] = module;
}

static void await_answer(struct names *names)
{
    const uint64_t end_mono_ns = clock_mono_ns() + names->left_ns;
    struct pollfd idle = {.fd = names->idle, .events = POLLIN};
    eventfd_t value;

    while (!symbols_are_idle(names->symbols) && clock_mono_ns() < end_mono_ns) {
        poll(&idle, 1, (int)(time_left_ns(end_mono_ns, clock_mono_ns()) / 1000000) + 1);
        (void)eventfd_read(names->idle, &value);
    }
    names->left_ns = time_left_ns(end_mono_ns, clock_mono_ns());
}

/* Returns NULL if nothing is known. Valid until names_free(). */
static const struct symbol *find_symbol(struct names *names, const char *build_id, const char *path, uint64_t offset)
{
    struct module_facts *module = build_id[0] != '\0' ? find_module(names, build_id, path) : NULL;

    if (module == NULL)
        return NULL;
    if (names->idle < 0)
        start(names);
    if (names->left_ns != 0 && symbols_want(names->symbols, NULL, NULL, module, offset))
        await_answer(names);
    return symbol_table_find(&module->symbols, offset);
}

/* A location without a name is entered too, so that it is looked up once. */
void names_add(struct names *names, struct module_facts *module, uint64_t offset)
{
    const struct symbol *symbol;
    struct symbol *copy;

    if (names == NULL || module->is_scripts || symbol_table_find(&module->symbols, offset) != NULL)
        return;
    symbol = find_symbol(names, module->build_id, module->path, offset);
    copy = symbol_new(symbol != NULL ? symbol->frames : NULL, symbol != NULL ? symbol->frame_count : 0);
    if (copy != NULL)
        (void)symbol_table_add(&module->symbols, offset, copy);
}

void names_add_item(struct names *names, const struct item *item, size_t most)
{
    for (size_t i = 0; item->process != NULL && i < item->entry_count && i < most; i++) {
        struct module_facts *module = process_facts_module(item->process, item->entries[i].address);

        if (module != NULL)
            names_add(names, module, item->entries[i].address - module->bias);
    }
}
