/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - queries to ripd-symbolizer, one at a time, and what it has answered. Starts that program; see os/child.h.
 */
#include "cli/names.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/symbol.h"
#include "cli/cli.h"
#include "os/child.h"
#include "os/clock.h"
#include "sym/protocol.h"

#define STILL_NS UINT64_C(2000000000) /* no processor time for so long: it hangs, or waits for a disk that is gone */
#define KEY_BYTES 128u
#define FAILED (-1) /* in place of a file's key */

struct names {
    struct child *child;
    json_t *files; /* by build id: its key, or FAILED */
    json_t *found; /* by build id and offset: what is added to a place, or null */
    uint64_t end_mono_ns;
    unsigned char packet[SYM_PACKET_BYTES];
};

struct names *names_new(void)
{
    static const char *const places[] = {".", "../ripd"}; /* a build tree, and libexec */
    struct child_options options = {.ready = SYM_READY, .keeper = -1, .user_ends = UINT_MAX};
    struct names *names = calloc(1, sizeof(*names));
    char program[PATH_MAX];

    options.program = program;
    if (names == NULL || cli_find(places, sizeof(places) / sizeof(places[0]), "ripd-symbolizer", program) != 0 ||
        child_new(&names->child, &options) != 0) {
        free(names);
        return NULL;
    }
    names->files = json_object();
    names->found = json_object();
    names->end_mono_ns = clock_mono_ns() + NAMES_LIMIT_NS;
    return names;
}

void names_free(struct names *names)
{
    if (names == NULL)
        return;
    child_free(names->child);
    json_decref(names->files);
    json_decref(names->found);
    free(names);
}

/* ---- queries ---- */

/* The bytes of its answer, in names->packet; -errno: there is none. */
static ssize_t ask(struct names *names, const void *bytes, size_t count)
{
    uint64_t now_mono_ns = clock_mono_ns();
    struct child_query query = {.bytes = bytes, .count = count, .descriptor = -1};

    if (now_mono_ns >= names->end_mono_ns)
        return -ETIMEDOUT;
    if (!child_runs(names->child) && child_start(names->child, -1) != 0)
        return -ENOTCONN;
    query.wait = (struct child_wait){.limit_ns = names->end_mono_ns - now_mono_ns, .still_ns = STILL_NS, .cancel = -1};
    return child_ask(names->child, &query, names->packet, sizeof(names->packet), NULL);
}

/* Bytes from hexadecimal digits. 0: they are none, or too many. */
static uint32_t parse_build_id(const char *text, uint8_t bytes[SYM_BUILD_ID_BYTES])
{
    size_t count = strlen(text) / 2;

    if (count > SYM_BUILD_ID_BYTES)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (sscanf(text + 2 * i, "%2hhx", &bytes[i]) != 1)
            return 0;
    return (uint32_t)count;
}

static bool open_file(struct names *names, int64_t key, const char *build_id, const char *path)
{
    struct sym_open message = {.kind = SYM_OPEN, .key = (uint64_t)key};
    struct sym_opened opened;

    message.build_id_bytes = parse_build_id(build_id, message.build_id);
    if (message.build_id_bytes == 0 || strlen(path) >= sizeof(message.path))
        return false;
    snprintf(message.path, sizeof(message.path), "%s", path);
    if (ask(names, &message, sizeof(message)) != (ssize_t)sizeof(opened))
        return false;
    memcpy(&opened, names->packet, sizeof(opened));
    return opened.kind == SYM_OPENED && opened.key == message.key && opened.status == 0;
}

/* The key of an open file; FAILED: it cannot be opened. */
static int64_t find_file(struct names *names, const char *build_id, const char *path)
{
    const json_t *known = json_object_get(names->files, build_id);
    int64_t key = known != NULL ? json_integer_value(known) : (int64_t)json_object_size(names->files) + 1;

    if (known == NULL) {
        if (!open_file(names, key, build_id, path))
            key = FAILED;
        json_object_set_new(names->files, build_id, json_integer(key));
    }
    return key;
}

static ssize_t look(struct names *names, int64_t key, uint64_t offset)
{
    const struct sym_look message = {.kind = SYM_LOOK, .key = (uint64_t)key, .offset = offset};

    return ask(names, &message, sizeof(message));
}

/* The answer says that the file is not open: it was used least, or the symbolizer has been started again. */
static bool was_forgotten(const struct names *names, ssize_t bytes)
{
    struct sym_found found;

    if (bytes < (ssize_t)sizeof(found))
        return false;
    memcpy(&found, names->packet, sizeof(found));
    return found.status == -ENOENT;
}

/* NULL: nothing is known. The caller frees it. */
static struct symbol *find_symbol(struct names *names, const char *build_id, const char *path, uint64_t offset)
{
    int64_t key = find_file(names, build_id, path);
    ssize_t bytes;

    if (key == FAILED)
        return NULL;
    bytes = look(names, key, offset);
    if (was_forgotten(names, bytes) && open_file(names, key, build_id, path))
        bytes = look(names, key, offset);
    if (bytes < 0) /* it ended, or hung, on this file */
        json_object_set_new(names->files, build_id, json_integer(FAILED));
    return bytes > 0 ? sym_found_parse(names->packet, (size_t)bytes, (uint64_t)key, offset) : NULL;
}

/* ---- places ---- */

/* null also where it is no UTF-8: a program may name its functions as it likes. */
static json_t *make_text(const char *text)
{
    json_t *value = text != NULL ? json_string(text) : NULL;

    return value != NULL ? value : json_null();
}

static json_t *make_frame(const struct symbol_frame *frame)
{
    return json_pack("{s:o, s:o, s:o}", "function", make_text(frame->function), "file", make_text(frame->file), "line",
                     frame->line != 0 ? json_integer(frame->line) : json_null());
}

static void add_frames(json_t *source, const char *key, const struct symbol *symbol, size_t from, size_t end)
{
    json_t *frames = json_array();

    for (size_t i = from; i < end; i++)
        json_array_append_new(frames, make_frame(&symbol->frames[i]));
    if (json_array_size(frames) != 0)
        json_object_set(source, key, frames);
    json_decref(frames);
}

/* As ripd's locations have it; null: nothing is known. */
static json_t *make_source(const struct symbol *symbol)
{
    size_t place;
    json_t *source;

    if (symbol == NULL || symbol->frame_count == 0)
        return json_null();
    place = symbol_place(symbol);
    source = make_frame(&symbol->frames[place]);
    add_frames(source, "inlined", symbol, 0, place);
    add_frames(source, "inlined_into", symbol, place + 1, symbol->frame_count);
    return source;
}

void names_fill(struct names *names, json_t *place, const json_t *paths)
{
    const char *build_id = json_string_value(json_object_get(place, "build_id"));
    const char *path = build_id != NULL ? json_string_value(json_object_get(paths, build_id)) : NULL;
    const char *offset = json_string_value(json_object_get(place, "offset"));
    char key[KEY_BYTES];
    const json_t *source;

    if (names == NULL || path == NULL || offset == NULL)
        return;
    snprintf(key, sizeof(key), "%s %s", build_id, offset);
    source = json_object_get(names->found, key);
    if (source == NULL) {
        struct symbol *symbol = find_symbol(names, build_id, path, strtoull(offset, NULL, 16));

        json_object_set_new(names->found, key, make_source(symbol));
        free(symbol);
        source = json_object_get(names->found, key);
    }
    if (json_is_object(source))
        json_object_update(place, (json_t *)(uintptr_t)source);
}
