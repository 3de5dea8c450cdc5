/* SPDX-License-Identifier: Apache-2.0 */
/* item.c - from JSON to cells. Touches nothing. */
#include "cli/item.h"

#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "util/array.h"
#include "util/text.h"

#define TEXT_BYTES 512u

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
        table_cell_format(cell, "-");
    else if (seconds < 60)
        table_cell_format(cell, "%lld.%llds", seconds, ms % 1000 / 100);
    else if (seconds < 3600)
        table_cell_format(cell, "%lldm%02llds", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        table_cell_format(cell, "%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
    else
        table_cell_format(cell, "%lldd%02lldh", seconds / 86400, seconds / 3600 % 24);
}

/* Where the last `parts` parts of a path begin. */
static const char *last_parts(const char *path, unsigned parts)
{
    const char *at = path + strlen(path);

    while (at > path && (at[-1] != '/' || --parts > 0))
        at--;
    return at;
}

void item_fill_where(struct table_cell *cell, const json_t *location, unsigned parts)
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
        table_cell_format(cell, "-");
}

void item_fill_cause(struct table_cell *cell, const json_t *item)
{
    static const char *const urgent[] = {"deadlock", "blocked", "spinning", "uninterruptible", "starved"};
    bool caused = item_text(item, "cause") != NULL;

    if (!caused && item_is(item, "state", "stalled"))
        table_cell_format(cell, "examining"); /* not examined yet */
    else
        table_cell_value(cell, item, caused ? "cause" : "state");
    for (size_t i = 0; i < ARRAY_COUNT(urgent); i++)
        if (item_is(item, "cause", urgent[i]))
            cell->colour = TABLE_RED;
}

void item_fill_thread(struct table_cell *cell, const json_t *item)
{
    const char *name = item_text(item, "name"), *note = item_text(item, "note");
    const json_t *id = json_object_get(item, "id");
    char number[32] = "-";

    if (json_is_integer(id))
        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    if (json_string_length(json_object_get(item, "name")) != 0 && (note == NULL || *note == '\0')) {
        table_cell_value(cell, item, "name");
        return;
    }
    if (name == NULL || *name == '\0')
        name = number;
    if (note != NULL && *note != '\0')
        table_cell_format(cell, "%s \"%s\"", name, note);
    else
        table_cell_format(cell, "%s", name);
}

void item_fill_process(struct table_cell *cell, const json_t *item)
{
    const json_t *process = json_object_get(item, "process"), *pid = json_object_get(process, "pid");
    const char *unit = item_text(process, "unit"), *comm = item_text(process, "comm");
    const char *name = unit != NULL && *unit != '\0' ? unit : comm;
    size_t length = name != NULL ? strlen(name) : 0;

    if (length > strlen(".service") && strcmp(name + length - strlen(".service"), ".service") == 0)
        length -= strlen(".service");
    if (name == NULL && !json_is_integer(pid))
        table_cell_format(cell, "-");
    else if (!json_is_integer(pid))
        table_cell_format(cell, "%.*s", (int)(length < TEXT_BYTES ? length : TEXT_BYTES), name);
    else
        table_cell_format(cell, "%.*s[%" JSON_INTEGER_FORMAT "]", (int)(length < TEXT_BYTES ? length : TEXT_BYTES),
                          name != NULL ? name : "", json_integer_value(pid));
}

bool item_is_deadlocked(const json_t *item)
{
    return item_is(item, "cause", "deadlock");
}

bool item_make_key(char key[ITEM_KEY_BYTES], const json_t *object)
{
    const char *ring = item_text(object, "ring");
    const json_t *id = json_object_get(object, "id");

    return ring != NULL && json_is_integer(id) &&
           snprintf(key, ITEM_KEY_BYTES, "%" JSON_INTEGER_FORMAT "/%s", json_integer_value(id), ring) <
               (int)ITEM_KEY_BYTES;
}

/* Bytes from hexadecimal digits, as a text. False: they are none, or too many. */
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
    char bytes[TEXT_BYTES], number[32];

    if (ring != NULL && hex != NULL && parse_hex(bytes, sizeof(bytes), hex))
        ring = bytes;
    snprintf(number, sizeof(number), "/%lld", id);
    snprintf(target, size, "/threads/");
    if (ring == NULL || id < 0 || client_target_escape(target, size - strlen(number), ring) != 0)
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

/* A holder of a lock: an id by its name, another thread by its number. */
static void append_member(char *text, size_t size, const json_t *member)
{
    const char *name = item_text(member, "name"), *holder = item_text(member, "holder");
    const json_t *id = json_object_get(member, "id"), *tid = json_object_get(member, "tid");

    if (name != NULL && *name != '\0')
        text_append(text, size, "%s", name);
    else if (json_is_integer(id))
        text_append(text, size, "id %" JSON_INTEGER_FORMAT, json_integer_value(id));
    else if (json_is_integer(tid))
        text_append(text, size, "%s %" JSON_INTEGER_FORMAT, holder != NULL ? holder : "thread",
                    json_integer_value(tid));
    else
        text_append(text, size, "%s", holder != NULL ? holder : "-");
}

static bool same_name(const json_t *a, const json_t *b)
{
    const char *name = item_text(a, "name"), *other = item_text(b, "name");

    return name != NULL && other != NULL && strcmp(name, other) == 0 && !item_same_id(a, b);
}

/* Two of a chain, or one and who waits, have one name: as the threads of a program that gives them none. */
static bool is_ambiguous(const json_t *member, const json_t *chain, const json_t *waiter)
{
    bool found = same_name(member, waiter);
    const json_t *other;
    size_t i;

    json_array_foreach(chain, i, other) found = found || same_name(member, other);
    return found && *item_text(member, "name") != '\0' && json_is_integer(json_object_get(member, "id"));
}

static void append_distinct(char *text, size_t size, const json_t *member, const json_t *chain, const json_t *waiter)
{
    append_member(text, size, member);
    if (is_ambiguous(member, chain, waiter))
        text_append(text, size, " (id %lld)", item_number(member, "id"));
}

void item_fill_member(struct table_cell *cell, const json_t *member, const json_t *chain, const json_t *waiter)
{
    char text[TEXT_BYTES] = "";

    append_distinct(text, sizeof(text), member, chain, waiter);
    table_cell_format(cell, "%s", text);
}

void item_format_chain(char *text, size_t size, const json_t *chain, const json_t *waiter, size_t most)
{
    const bool leave_out = item_is_deadlocked(waiter);
    size_t named = 0, count = json_array_size(chain), left_out = 0;

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const json_t *member = json_array_get(chain, i);

        if (leave_out && item_same_id(member, waiter))
            continue;
        if (named == most) {
            left_out++;
            continue;
        }
        text_append(text, size, "%s", named++ != 0 ? ", " : "");
        append_distinct(text, size, member, chain, waiter);
    }
    if (left_out != 0)
        text_append(text, size, " and %zu more", left_out);
}

/* Of the time from its first examination to its last, in percent; if it is known. */
static void append_share(char *text, size_t size, const json_t *kernel, const char *key, const char *what)
{
    long long window_ms = item_number(kernel, "window_ms"), part_ms = item_number(kernel, key);

    if (window_ms > 0 && part_ms > 0)
        text_append(text, size, "%s %lld %% of the time", what, part_ms * 100 / window_ms);
}

static void append_kernel(char *text, size_t size, const json_t *kernel)
{
    const char *call = item_text(kernel, "syscall"), *target = item_text(kernel, "target");
    const json_t *holder = json_object_get(kernel, "holder");
    const bool is_lock = call != NULL && (strcmp(call, "flock") == 0 || strcmp(call, "fcntl") == 0);
    long long asked_ms = item_number(kernel, "asked_ms");

    /* "futex wait private" and the like begin with the call */
    if (call != NULL && (target == NULL || strncmp(target, call, strlen(call)) != 0))
        text_append(text, size, "%s%s", call, target != NULL ? " on " : "");
    if (target != NULL)
        text_append(text, size, "%s", target);
    else if (call == NULL && json_array_size(json_object_get(kernel, "denied")) != 0)
        text_append(text, size, "may not be read");
    if (item_text(holder, "comm") != NULL && item_number(holder, "pid") != ITEM_UNKNOWN)
        text_append(text, size, ", %s %s[%lld]", is_lock ? "held by" : "other end", item_text(holder, "comm"),
                    item_number(holder, "pid"));
    if (asked_ms != ITEM_UNKNOWN) {
        struct table_cell asked;

        item_fill_duration(&asked, asked_ms);
        text_append(text, size, ", for %s", asked.text);
    }
}

void item_fill_on(struct table_cell *cell, const json_t *item)
{
    const json_t *chain = json_object_get(item, "waits_for"), *kernel = json_object_get(item, "kernel");
    char text[TEXT_BYTES] = "", names[TEXT_BYTES];

    if (json_array_size(chain) != 0) {
        bool deadlock = item_is_deadlocked(item);

        item_format_chain(names, sizeof(names), chain, item, ITEM_CHAIN_NAMES);
        if (deadlock)
            text_append(text, sizeof(text), "%s%s", names[0] != '\0' ? "deadlock with " : "a lock that it holds itself",
                        names);
        else
            text_append(text, sizeof(text), "waits for %s", names);
    } else if (item_is(item, "cause", "spinning")) {
        append_share(text, sizeof(text), kernel, "cpu_ms", "on a processor");
    } else if (item_is(item, "cause", "starved")) {
        append_share(text, sizeof(text), kernel, "wait_ms", "ready, without a processor");
    } else {
        append_kernel(text, sizeof(text), kernel);
    }
    table_cell_format(cell, "%s", text[0] != '\0' ? text : "-");
}

void item_fill_sentence(struct table_cell *cell, const json_t *item)
{
    struct table_cell thread, process, where, on, cause, age;
    char text[TEXT_BYTES * 4];
    bool has_age;

    if (json_is_string(json_object_get(item, "summary"))) {
        table_cell_value(cell, item, "summary");
        return;
    }
    item_fill_thread(&thread, item);
    item_fill_process(&process, item);
    item_fill_cause(&cause, item);
    if (strcmp(cause.text, "deadlock") == 0)
        table_cell_format(&cause, "deadlocked");
    item_fill_duration(&age, item_number(item, "frozen_for_ms"));
    has_age = strcmp(age.text, "-") != 0;
    item_fill_where(&where, json_object_get(item, "location"), 2);
    item_fill_on(&on, item);
    snprintf(text, sizeof(text), "%s of %s ", thread.text, process.text);
    if (strcmp(cause.text, "not moving") == 0)
        text_append(text, sizeof(text), "has not moved");
    else
        text_append(text, sizeof(text), "%s %s", has_age ? "has been" : "is", cause.text);
    if (has_age)
        text_append(text, sizeof(text), " for %s", age.text);
    if (strcmp(where.text, "-") != 0)
        text_append(text, sizeof(text), " in %s", where.text);
    if (strcmp(on.text, "-") != 0)
        text_append(text, sizeof(text), ": %s", on.text);
    table_cell_format(cell, "%s", text);
}
