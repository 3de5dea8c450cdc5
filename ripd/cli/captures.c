/* SPDX-License-Identifier: Apache-2.0 */
/*
 * captures.c - `rip captures`: what ripd kept of processes that ended otherwise than in order. Needs no ripd.
 *
 * Guarantees
 *   A. A user sees his own captures, root those of all.
 *   B. A file that cannot be read is listed with the reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/capture_read.h"
#include "cli/cli.h"
#include "cli/coredumps.h"
#include "cli/item.h"
#include "cli/list.h"
#include "cli/table.h"
#include "os/file.h"
#include "record/captures.h"
#include "util/array.h"

#define STATE_DIRECTORY "/var/lib/ripd"
#define USERS_MAX 65536u
#define FILES_MAX 65536u
#define PATH_BYTES 512u

struct settings {
    const char *state_dir;
    bool json;
};

static const struct cli_flag flags[] = {
    CLI_FLAG("--state-dir", "DIR", CLI_TEXT, state_dir, "ripd's (default: " STATE_DIRECTORY ")"),
    CLI_FLAG("--json", NULL, CLI_SWITCH, json, "a JSON object for each capture"),
};

const struct cli_syntax cli_captures_syntax = {
    .name = "captures",
    .usage = "usage: rip captures [FLAG...]\n"
             "\n"
             "What ripd kept of processes that were killed, crashed, or ended without leaving their ring: the newest\n"
             "last. `rip dump FILE` shows one.\n"
             "\n",
    .notes = "\n"
             "exit status: 0, with captures or without; 1 the directory cannot be read; 2 wrong flag; 4 output could\n"
             "not be written\n",
    CLI_FLAGS(flags),
};

struct line {
    struct list_row row; /* of document */
    char path[PATH_BYTES];
    json_t *document; /* NULL = it cannot be read */
    int error;
};

struct listing {
    const char *directory;
    const char *user; /* name of the folder that is read */
    int descriptor;
    struct line *lines;
    size_t count;
    size_t capacity;
};

static void read_document(struct line *line, int directory, const char *name)
{
    int descriptor = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct capture capture;

    line->error = descriptor < 0 ? -errno : capture_read(descriptor, &capture);
    if (descriptor >= 0)
        close(descriptor);
    if (line->error != 0)
        return;
    line->document =
        json_loadb(capture.document, capture.document_bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    line->error = line->document != NULL ? 0 : -EBADMSG;
    line->row.item = line->document;
    capture_done(&capture);
}

static int add_file(void *context, const char *name)
{
    struct listing *listing = context;
    const size_t length = strlen(name), suffix_length = strlen(CAPTURES_SUFFIX);
    struct line *line;

    if (length <= suffix_length || strcmp(name + length - suffix_length, CAPTURES_SUFFIX) != 0)
        return 0;
    if (!ARRAY_GROW(listing->lines, listing->count, listing->capacity))
        return -ENOMEM;
    line = &listing->lines[listing->count++];
    *line = (struct line){.error = 0};
    snprintf(line->path, PATH_BYTES, "%s/" CAPTURES_FOLDER "/%s/%s", listing->directory, listing->user, name);
    read_document(line, listing->descriptor, name);
    return 0;
}

static int read_user(struct listing *listing, const char *name)
{
    char path[PATH_BYTES];
    int result;

    snprintf(path, sizeof(path), "%s/" CAPTURES_FOLDER "/%s", listing->directory, name);
    listing->user = name;
    listing->descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (listing->descriptor < 0)
        return -errno;
    result = file_list(listing->descriptor, FILES_MAX, add_file, listing);
    close(listing->descriptor);
    return result == -EOVERFLOW ? 0 : result;
}

/* For file_list(). */
static int add_user(void *context, const char *name)
{
    return read_user(context, name) == -ENOMEM ? -ENOMEM : 0; /* another user's folder is passed over */
}

/* 0; -errno: the directory cannot be read, and neither can the user's own folder. */
static int read_captures(struct listing *listing)
{
    char path[PATH_BYTES], own[16];
    int directory, result;

    snprintf(path, sizeof(path), "%s/" CAPTURES_FOLDER, listing->directory);
    directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 && errno == EACCES) { /* others' folders are not listed */
        snprintf(own, sizeof(own), "%u", getuid());
        result = read_user(listing, own);
        return result == -ENOENT ? 0 : result;
    }
    if (directory < 0)
        return errno == ENOENT && access(listing->directory, F_OK) == 0 ? 0 : -errno;
    result = file_list(directory, USERS_MAX, add_user, listing);
    close(directory);
    return result;
}

static void find_cores(const struct listing *listing)
{
    json_t *documents = json_array();

    for (size_t i = 0; i < listing->count; i++)
        if (listing->lines[i].document != NULL)
            json_array_append(documents, listing->lines[i].document);
    coredumps_join(documents);
    json_decref(documents);
}

static const char *ended_at(const struct line *line)
{
    const char *time = item_text(line->document, "ended_at");

    return time != NULL ? time : "";
}

static int compare(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    int order = strcmp(ended_at(a), ended_at(b));

    return order != 0 ? order : strcmp(a->path, b->path);
}

static void fill_how(struct table_cell *cell, const struct list_row *row, const struct table *table)
{
    const struct line *line = (const struct line *)row;
    char how[96];

    (void)table;
    snprintf(how, sizeof(how), "%s", line->document == NULL ? capture_error_text(line->error) : "");
    if (line->document != NULL)
        capture_format_end(line->document, how, sizeof(how));
    table_cell_format(cell, "%s", how);
}

static void fill_stalled(struct table_cell *cell, const json_t *document)
{
    long long left_out = item_number(document, "stalls_left_out");
    long long count = (long long)json_array_size(json_object_get(document, "stalls"));

    table_cell_format(cell, document != NULL ? "%lld" : "-", count + (left_out > 0 ? left_out : 0));
}

static void fill_path(struct table_cell *cell, const struct list_row *row, const struct table *table)
{
    (void)table;
    table_cell_format(cell, "%s", ((const struct line *)row)->path);
}

static void print_table(const struct listing *listing)
{
    static const struct table_column columns[] = {
        {"ENDED", 20, 24, .key = "ended_at"},          {"PROCESS", 8, 28, false, .fill = item_fill_process},
        {"HOW", 8, 34, .fill_row = fill_how},          {"IDS", 3, 9, true, .key = "ids"},
        {"STALLED", 7, 9, true, .fill = fill_stalled}, {"FILE", 0, TEXT_ANY_COLUMNS, .fill_row = fill_path},
    };
    struct list list;

    list_init(&list, NULL, false, columns, ARRAY_COUNT(columns), true);
    list_print(&list, listing->lines, sizeof(*listing->lines), listing->count);
}

static void print_json(const struct listing *listing)
{
    const struct text_style style = text_style_of_output();

    for (size_t i = 0; i < listing->count; i++) {
        const struct line *line = &listing->lines[i];
        json_t *object = line->document != NULL ? json_deep_copy(line->document) : json_object();

        json_object_set_new(object, "file", json_string(line->path));
        if (line->document == NULL)
            json_object_set_new(object, "error", json_string(capture_error_text(line->error)));
        table_print_json(&style, object);
        json_decref(object);
    }
}

int cli_captures(int argc, char **argv)
{
    struct settings settings = {.state_dir = STATE_DIRECTORY};
    struct listing listing = {0};
    int status, result;

    if (!cli_parse_words(&cli_captures_syntax, argc, argv, &settings, NULL, 0, NULL, &status))
        return status;
    listing.directory = settings.state_dir;
    result = read_captures(&listing);
    if (result != 0)
        return cli_fail(CLI_UNREACHABLE, "%s: %s; --state-dir names that of ripd", settings.state_dir,
                        strerror(-result));
    if (listing.count != 0)
        qsort(listing.lines, listing.count, sizeof(*listing.lines), compare);
    find_cores(&listing);
    if (settings.json)
        print_json(&listing);
    else if (listing.count == 0)
        puts("no captures");
    else
        print_table(&listing);
    for (size_t i = 0; i < listing.count; i++)
        json_decref(listing.lines[i].document);
    free(listing.lines);
    return CLI_OK;
}
