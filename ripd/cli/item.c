/* SPDX-License-Identifier: Apache-2.0 */
/* item.c - converts JSON to cells. Touches nothing. */
#include "cli/item.h"

#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "util/array.h"
#include "util/text.h"

#define NAME_BYTES_SHOWN 512
#define CHAIN_NAMES 4u /* as many as fit in a line */
#define RING_BYTES 512u

long long item_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    long long number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0)
        return ITEM_UNKNOWN;
    return number < ITEM_NUMBER_MAX ? number : ITEM_NUMBER_MAX;
}

const char *item_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool item_is(const json_t *object, const char *key, const char *text)
{
    const char *value = item_text(object, key);

    return value != NULL && strcmp(value, text) == 0;
}

void item_fill_duration(struct table_cell *cell, long long ms)
{
    long long seconds = ms / 1000;

    if (ms < 0)
        table_cell_clear(cell);
    else if (seconds < 60)
        table_cell_format(cell, "%lld.%llds", seconds, ms % 1000 / 100);
    else if (seconds < 3600)
        table_cell_format(cell, "%lldm%02llds", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        table_cell_format(cell, "%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
    else
        table_cell_format(cell, "%lldd%02lldh", seconds / 86400, seconds / 3600 % 24);
}

void item_fill_ms(struct table_cell *cell, const json_t *ms)
{
    item_fill_duration(cell, json_is_integer(ms) ? json_integer_value(ms) : ITEM_UNKNOWN);
}

/* Returns where the last `parts` parts of a path begin. */
static const char *last_parts(const char *path, unsigned parts)
{
    const char *at = path + strlen(path);

    while (at > path && (at[-1] != '/' || --parts > 0))
        at--;
    return at;
}

void item_fill_where(struct table_cell *cell, const json_t *location)
{
    item_fill_path(cell, location, 0);
}

void item_fill_path(struct table_cell *cell, const json_t *location, unsigned parts)
{
    const char *function = item_text(location, "function"), *file = item_text(location, "file");
    const char *module = item_text(location, "module"), *offset = item_text(location, "offset");
    const json_t *line = json_object_get(location, "line");

    if (function != NULL && file != NULL && json_is_integer(line))
        table_cell_format(cell, "%s, %s:%" JSON_INTEGER_FORMAT, function, parts != 0 ? last_parts(file, parts) : file,
                          json_integer_value(line));
    else if (function != NULL)
        table_cell_format(cell, "%s (%s)", function, module != NULL ? module : "-");
    else if (module != NULL && offset != NULL)
        table_cell_format(cell, "%s+%s", module, offset);
    else
        table_cell_clear(cell);
}

void item_fill_cause(struct table_cell *cell, const json_t *item)
{
    static const char *const urgent[] = {"deadlock", "blocked", "spinning", "uninterruptible", "starved"};
    bool caused = item_text(item, "cause") != NULL;

    if (!caused && item_is(item, "state", "stalled"))
        table_cell_format(cell, "examining"); /* not examined yet */
    else
        table_cell_value(cell, json_object_get(item, caused ? "cause" : "state"));
    for (size_t i = 0; i < ARRAY_COUNT(urgent); i++)
        if (item_is(item, "cause", urgent[i]))
            cell->colour = TABLE_RED;
}

void item_fill_thread(struct table_cell *cell, const json_t *item)
{
    const json_t *name = json_object_get(item, "name");
    const char *note = item_text(item, "note");

    table_cell_value(cell, json_string_length(name) != 0 ? name : json_object_get(item, "id"));
    if (note == NULL || *note == '\0')
        return;
    if (cell->text != cell->made)
        table_cell_format(cell, "%s", cell->text);
    table_cell_add(cell, " \"%s\"", note);
}

void item_fill_process(struct table_cell *cell, const json_t *item)
{
    const json_t *process = json_object_get(item, "process"), *pid = json_object_get(process, "pid");
    const char *unit = item_text(process, "unit"), *comm = item_text(process, "comm");
    const char *name = unit != NULL && *unit != '\0' ? unit : comm != NULL ? comm : "";
    size_t length = strlen(name);

    if (length > strlen(".service") && strcmp(name + length - strlen(".service"), ".service") == 0)
        length -= strlen(".service");
    table_cell_format(cell, "%.*s", length < NAME_BYTES_SHOWN ? (int)length : NAME_BYTES_SHOWN, name);
    if (json_is_integer(pid))
        table_cell_add(cell, "[%" JSON_INTEGER_FORMAT "]", json_integer_value(pid));
}

bool item_make_key(char key[ITEM_KEY_BYTES], const json_t *object)
{
    const char *ring = item_text(object, "ring");
    const json_t *id = json_object_get(object, "id");

    return ring != NULL && json_is_integer(id) &&
           snprintf(key, ITEM_KEY_BYTES, "%" JSON_INTEGER_FORMAT "/%s", json_integer_value(id), ring) <
               (int)ITEM_KEY_BYTES;
}

/* Converts hexadecimal digits to bytes, as a text. Returns false if they are no such digits, or too many. */
static bool parse_hex(char *bytes, size_t size, const char *digits)
{
    size_t count = strlen(digits) / 2;

    if (count >= size)
        return false;
    bytes[count] = '\0';
    return text_hex_bytes(digits, bytes, count);
}

bool item_target(char *target, size_t size, const json_t *item, long long id)
{
    const char *ring = item_text(item, "ring"), *hex = item_text(item, "ring_hex");
    char bytes[RING_BYTES], number[32];

    if (ring != NULL && hex != NULL && parse_hex(bytes, sizeof(bytes), hex))
        ring = bytes;
    snprintf(number, sizeof(number), "/%lld", id);
    snprintf(target, size, "/threads/");
    if (ring == NULL || id < 0 || !client_target_escape(target, size - strlen(number), ring))
        return false;
    text_append(target, size, "%s", number);
    return true;
}

bool item_same_id(const json_t *a, const json_t *b)
{
    const json_t *id = json_object_get(a, "id");

    return json_is_integer(id) && json_equal(id, json_object_get(b, "id")) &&
           json_equal(json_object_get(a, "ring"), json_object_get(b, "ring"));
}

static bool same_name(const json_t *a, const json_t *b)
{
    const char *name = item_text(a, "name"), *other = item_text(b, "name");

    return name != NULL && other != NULL && strcmp(name, other) == 0 && !item_same_id(a, b);
}

/*
 * Returns whether another member of the chain, or the waiter, has the same name, as in a program that gives its threads
 * no names.
 */
static bool is_ambiguous(const json_t *member, const json_t *chain, const json_t *waiter)
{
    bool found = same_name(member, waiter);
    const json_t *other;
    size_t i;

    json_array_foreach(chain, i, other) found = found || same_name(member, other);
    return found && *item_text(member, "name") != '\0' && json_is_integer(json_object_get(member, "id"));
}

void item_add_member(struct table_cell *cell, const json_t *member, const json_t *chain, const json_t *waiter)
{
    const char *name = item_text(member, "name"), *holder = item_text(member, "holder");
    const json_t *id = json_object_get(member, "id"), *tid = json_object_get(member, "tid");

    if (name != NULL && *name != '\0')
        table_cell_add(cell, "%s", name);
    else if (json_is_integer(id))
        table_cell_add(cell, "id %" JSON_INTEGER_FORMAT, json_integer_value(id));
    else if (json_is_integer(tid))
        table_cell_add(cell, "%s %" JSON_INTEGER_FORMAT, holder != NULL ? holder : "thread", json_integer_value(tid));
    else
        table_cell_add(cell, "%s", holder != NULL ? holder : "-");
    if (is_ambiguous(member, chain, waiter))
        table_cell_add(cell, " (id %lld)", item_number(member, "id"));
}

void item_add_chain(struct table_cell *cell, const json_t *chain, const json_t *waiter)
{
    const bool leave_out = item_is(waiter, "cause", "deadlock");
    size_t named = 0, left_out = 0, i;
    const json_t *member;

    json_array_foreach(chain, i, member)
    {
        if (leave_out && item_same_id(member, waiter))
            continue;
        if (named == CHAIN_NAMES) {
            left_out++;
            continue;
        }
        if (named++ != 0)
            table_cell_add(cell, ", ");
        item_add_member(cell, member, chain, waiter);
    }
    if (left_out != 0)
        table_cell_add(cell, " and %zu more", left_out);
}

/* Adds the share of the time between the first and the last examination, in percent, if it is known. */
static void add_share(struct table_cell *cell, const json_t *kernel, const char *key, const char *what)
{
    long long window_ms = item_number(kernel, "window_ms"), part_ms = item_number(kernel, key);

    if (window_ms > 0 && part_ms > 0)
        table_cell_add(cell, "%s %lld %% of the time", what, part_ms * 100 / window_ms);
}

static void add_kernel(struct table_cell *cell, const json_t *kernel)
{
    const char *call = item_text(kernel, "syscall"), *target = item_text(kernel, "target");
    const json_t *holder = json_object_get(kernel, "holder");
    const bool is_lock = call != NULL && (strcmp(call, "flock") == 0 || strcmp(call, "fcntl") == 0);
    const bool is_child = call != NULL && strcmp(call, "vfork") == 0;
    struct table_cell asked;

    /* "futex wait private" and the like already begin with the call */
    if (call != NULL && (target == NULL || strncmp(target, call, strlen(call)) != 0))
        table_cell_add(cell, "%s%s", call, target != NULL ? " on " : "");
    if (target != NULL)
        table_cell_add(cell, "%s", target);
    else if (call == NULL && json_array_size(json_object_get(kernel, "denied")) != 0)
        table_cell_add(cell, "no permission to read");
    if (item_text(holder, "comm") != NULL && item_number(holder, "pid") != ITEM_UNKNOWN)
        table_cell_add(cell, ", %s %s[%lld]",
                       is_lock    ? "held by"
                       : is_child ? "child"
                                  : "other end",
                       item_text(holder, "comm"), item_number(holder, "pid"));
    item_fill_ms(&asked, json_object_get(kernel, "asked_ms"));
    if (asked.bytes != 0)
        table_cell_add(cell, ", for %s", asked.text);
}

void item_fill_on(struct table_cell *cell, const json_t *item)
{
    const json_t *chain = json_object_get(item, "waits_for"), *kernel = json_object_get(item, "kernel");
    size_t words;

    table_cell_clear(cell);
    if (json_array_size(chain) != 0) {
        table_cell_add(cell, item_is(item, "cause", "deadlock") ? "deadlock with " : "waits for ");
        words = cell->bytes;
        item_add_chain(cell, chain, item);
        if (cell->bytes == words)
            table_cell_format(cell, "a lock that it holds itself");
    } else if (item_is(item, "cause", "spinning")) {
        add_share(cell, kernel, "cpu_ms", "on a processor");
    } else if (item_is(item, "cause", "starved")) {
        add_share(cell, kernel, "wait_ms", "ready, without a processor");
    } else {
        add_kernel(cell, kernel);
    }
}
