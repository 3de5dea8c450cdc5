/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean.c - `rip clean`: removes the files of rings in which no process lives, and of rings that were never completed.
 * Needs no ripd.
 *
 * Guarantees
 *   A. A ring is removed only if two scans found it dead and no process holds any of its locks at that time.
 *   B. A file that cannot be removed is named on standard error with the reason, and the others are still removed.
 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/table.h"
#include "cli/text.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/sigbus.h"
#include "ring/leftovers.h"

#define SCANS 3 /* the registry declares a process dead only after two scans */
#define LOOK_NS 20000000

struct settings {
    struct cli_list dirs;
    bool dry_run;
    bool json;
};

static struct settings settings;

static const struct cli_flag flags[] = {
    CLI_FLAG("--dir", "DIR", CLI_LIST, dirs,
             "directory of rings; repeatable (default: $RIP_DIR, else /run/librip and /dev/shm)"),
    CLI_FLAG("--dry-run", NULL, CLI_SWITCH, dry_run, "list what would be removed, and remove nothing"),
    CLI_FLAG("--json", NULL, CLI_SWITCH, json, "one JSON object per ring"),
};

const struct cli_syntax cli_clean_syntax = {
    .name = "clean",
    .usage = "usage: rip clean [FLAG...]\n"
             "\n"
             "Removes rings without a living process, such as the rings of crashed programs.\n"
             "\n",
    .notes = "\n"
             "exit status: 0, with rings or without; 1 a ring could not be removed, or a directory could not be read;\n"
             "2 wrong flag; 4 output could not be written\n",
    CLI_FLAGS(flags),
};

/* The owner of a ring chooses the name of its file, so the name is escaped. */
static void print_line(const char *directory, const char *name, const char *done)
{
    const struct text_style style = text_style_of_output();
    char shown[4 * NAME_MAX];

    text_fit(&style, name, strlen(name), TEXT_ANY_COLUMNS, shown, sizeof(shown));
    printf("%s %s/%s\n", done, directory, shown);
}

static void print_json(const char *directory, const char *name, uint32_t uid, bool removed)
{
    json_t *object = json_pack("{s:s, s:s, s:I, s:b}", "ring", name, "directory", directory, "uid", (json_int_t)uid,
                               "removed", removed);

    if (object == NULL) /* the name is not UTF-8 */
        object = json_pack("{s:n, s:s, s:I, s:b}", "ring", "directory", directory, "uid", (json_int_t)uid, "removed",
                           removed);
    table_print_json(object);
    json_decref(object);
}

/* result is that of the removal. Returns false after an error message. */
static bool report(const char *path, const char *name, uint32_t uid, int result)
{
    if (settings.json)
        print_json(path, name, uid, result == 0 && !settings.dry_run);
    else if (result == 0)
        print_line(path, name, settings.dry_run ? "would remove" : "removed");
    if (result != 0)
        cli_error("%s/%s: %s", path, name, strerror(-result));
    return result == 0;
}

static bool clean_ring(const struct ring *ring)
{
    const char *path = settings.dirs.values[ring->directory];
    int directory, result = 0;

    if (!settings.dry_run) {
        directory = file_open_directory(path);
        result = directory < 0 ? directory : leftover_remove(directory, ring);
        if (directory >= 0)
            close(directory);
    }
    return report(path, ring->file_name, ring->mapping.file.uid, result);
}

/* A directory that is searched for rings that were never completed. */
struct listing {
    const char *path;
    int directory;
    bool all; /* all could be removed */
};

static int clean_unfinished(void *context, const char *name)
{
    struct listing *listing = context;
    int result = 0;
    uint32_t uid;

    if (!leftover_is_unfinished(name) || !leftover_has_had_its_time(listing->directory, name, clock_wall_ns(), &uid))
        return 0;
    if (!settings.dry_run && unlinkat(listing->directory, name, 0) != 0)
        result = -errno;
    listing->all &= report(listing->path, name, uid, result);
    return 0;
}

/* A default directory may be missing. Returns false after an error message. */
static bool clean_directory(const char *path, bool is_default)
{
    struct listing listing = {path, file_open_directory(path), true};

    if (listing.directory == -ENOENT && is_default)
        return true;
    if (listing.directory < 0)
        return cli_error("%.200s: %s", path, strerror(-listing.directory));
    (void)file_list(listing.directory, REGISTRY_FILES_MAX, clean_unfinished, &listing);
    close(listing.directory);
    return listing.all;
}

static void scan_until_certain(struct registry *registry)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};

    for (int i = 0; i < SCANS; i++) {
        if (i != 0)
            nanosleep(&pause, NULL);
        registry_refresh(registry, clock_mono_ns() + (uint64_t)i * REGISTRY_RESCAN_NS);
    }
}

static int clean(bool are_defaults)
{
    const struct registry_options options = {
        .directories = settings.dirs.values, .directory_count = settings.dirs.count, .proc_path = "/proc"};
    struct registry *registry;
    struct ring **rings;
    size_t count;
    bool all = true;
    int result = sigbus_install();

    if (result == 0)
        result = registry_new(&registry, &options);
    if (result != 0)
        return cli_fail(CLI_UNREACHABLE, "%s", strerror(-result));
    scan_until_certain(registry);
    rings = registry_rings(registry, &count);
    for (size_t i = 0; i < count; i++)
        if (!rings[i]->unlinked && leftover_is_dead(rings[i]))
            all &= clean_ring(rings[i]);
    registry_free(registry);
    for (size_t i = 0; i < settings.dirs.count; i++)
        all &= clean_directory(settings.dirs.values[i], are_defaults);
    return all ? CLI_OK : CLI_UNREACHABLE;
}

int cli_clean(char **words)
{
    const bool are_defaults = settings.dirs.count == 0;

    (void)words;
    cli_add_directories(&settings.dirs);
    return clean(are_defaults);
}
