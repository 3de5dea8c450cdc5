/* SPDX-License-Identifier: Apache-2.0 */
/*
 * captures.c - `rip captures`: lists the captures that ripd kept of processes that did not end normally. Needs no ripd.
 *
 * Guarantees
 *   A. A user sees its own captures, root those of all users.
 *   B. A file that cannot be read is listed with the reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/capture_end.h"
#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/item.h"
#include "cli/list.h"
#include "cli/table.h"
#include "record/captures.h"
#include "util/array.h"
#include "util/text.h"

#define STATE_DIRECTORY "/var/lib/ripd"
#define PATH_BYTES 512u

struct settings {
    const char *state_dir;
    bool json;
};

static struct settings settings = {.state_dir = STATE_DIRECTORY};

static const struct cli_flag flags[] = {
    CLI_FLAG("--state-dir", "DIR", CLI_TEXT, state_dir, "state directory of ripd (default: " STATE_DIRECTORY ")"),
    CLI_FLAG("--json", NULL, CLI_SWITCH, json, "one JSON object per capture"),
};

const struct cli_syntax cli_captures_syntax = {
    .name = "captures",
    .usage = "usage: rip captures [FLAG...]\n"
             "\n"
             "Lists the captures of processes that were killed, crashed, executed another program, or ended without\n"
             "leaving their ring, newest last. `rip dump FILE` shows one.\n"
             "\n",
    .notes = "\n"
             "exit status: 0, with captures or without; 1 the directory cannot be read; 2 wrong flag; 4 output could\n"
             "not be written\n",
    CLI_FLAGS(flags),
};

/* Returns NULL if the file cannot be read; *ret_error is the reason. */
static json_t *read_document(const char *path, int *ret_error)
{
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct capture capture;
    json_t *document;

    *ret_error = descriptor < 0 ? -errno : capture_read(descriptor, &capture);
    if (descriptor >= 0)
        close(descriptor);
    if (*ret_error != 0)
        return NULL;
    document = json_loadb(capture.document, capture.document_bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    *ret_error = document != NULL ? 0 : -EBADMSG;
    capture_done(&capture);
    return document;
}

/* Returns its document with "file", or an object with "error" and "file". */
static json_t *read_capture(const char *path)
{
    int error;
    json_t *document = read_document(path, &error);

    if (document == NULL)
        document = json_pack("{s:s}", "error", capture_error_text(error));
    json_object_set_new(document, "file", json_string(path));
    return document;
}

/*
 * Finds the captures of all users, or only of this user if the directories of others may not be listed. Returns 0, or
 * -errno if neither the directory nor the user's own directory can be read.
 */
static int find_captures(const char *state_directory, glob_t *ret_paths)
{
    char folder[PATH_BYTES], pattern[2 * PATH_BYTES];
    bool all;

    snprintf(folder, sizeof(folder), "%s/" CAPTURES_FOLDER, state_directory);
    all = access(folder, R_OK | X_OK) == 0;
    if (!all && errno == EACCES)
        text_append(folder, sizeof(folder), "/%u", getuid());
    if (access(folder, R_OK | X_OK) != 0)
        return errno == ENOENT && access(state_directory, F_OK) == 0 ? 0 : -errno;
    filters_quote(pattern, sizeof(pattern), folder);
    text_append(pattern, sizeof(pattern), "%s/*" CAPTURES_SUFFIX, all ? "/*" : "");
    return glob(pattern, GLOB_NOSORT, NULL, ret_paths) == GLOB_NOSPACE ? -ENOMEM : 0;
}

static const char *text_of(const json_t *capture, const char *key)
{
    const char *text = item_text(capture, key);

    return text != NULL ? text : "";
}

static int compare(const void *left, const void *right)
{
    const json_t *a = ((const struct list_row *)left)->item, *b = ((const struct list_row *)right)->item;
    int order = strcmp(text_of(a, "ended_at"), text_of(b, "ended_at"));

    return order != 0 ? order : strcmp(text_of(a, "file"), text_of(b, "file"));
}

static void fill_how(struct table_cell *cell, const json_t *capture)
{
    if (item_text(capture, "error") != NULL)
        table_cell_value(cell, json_object_get(capture, "error"));
    else
        capture_fill_end(cell, capture);
}

static void fill_stalled(struct table_cell *cell, const json_t *capture)
{
    long long left_out = item_number(capture, "stalls_left_out");
    long long count = (long long)json_array_size(json_object_get(capture, "stalls"));

    table_cell_clear(cell);
    if (item_text(capture, "error") == NULL)
        table_cell_add(cell, "%lld", count + (left_out > 0 ? left_out : 0));
}

int cli_captures(char **words)
{
    static const struct table_column columns[] = {
        {"ENDED", 20, 24, .key = "ended_at"},
        {"PROCESS", 8, 28, .fill = item_fill_process},
        {"HOW", 8, 34, .fill = fill_how},
        {"IDS", 3, 9, true, .key = "ids"},
        {"STALLED", 7, 9, true, .fill = fill_stalled},
        {"FILE", 0, TEXT_ANY_COLUMNS, .key = "file"},
    };
    glob_t paths = {.gl_pathc = 0};
    struct list list;
    json_t *captures;
    int result;

    (void)words;
    result = find_captures(settings.state_dir, &paths);
    if (result != 0)
        return cli_fail(CLI_UNREACHABLE, "%s: %s; --state-dir names that of ripd", settings.state_dir,
                        strerror(-result));
    list_init(&list, false, settings.json, columns, ARRAY_COUNT(columns));
    captures = json_array();
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        list_add(&list, 0, read_capture(paths.gl_pathv[i]));
        json_array_append(captures, list.rows[i].item);
    }
    capture_add_cores(captures);
    json_decref(captures);
    list_sort(&list, compare);
    list_print(&list, 0, list.count);
    if (list.count == 0 && !settings.json)
        puts("no captures");
    list_done(&list);
    globfree(&paths);
    return CLI_OK;
}
