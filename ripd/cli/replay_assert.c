/* SPDX-License-Identifier: Apache-2.0 */
/* replay_assert.c - events of a file, the oldest first, compared one by one. Reads the file. */
#include "cli/replay_assert.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "util/array.h"

#define ALERT_KEY "alert" /* that `rip replay --json` adds where it does not replay what ripd decided */
#define VALUE_BYTES 200

struct replay_assert {
    const char *path;
    json_t *events;
    size_t next;
};

/* Objects, one after the other: events, or documents that list some. */
static bool read_objects(FILE *file, json_t *events)
{
    int next;

    for (;;) {
        json_t *object, *list, *event;
        size_t i;

        do
            next = getc(file);
        while (next == ' ' || next == '\n' || next == '\r');
        if (next == EOF)
            return ferror(file) == 0;
        ungetc(next, file);
        object = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL);
        list = json_object_get(object, "events");
        if (!json_is_object(object))
            return false;
        json_array_foreach(list, i, event) json_array_insert(events, 0, event); /* /events has the newest first */
        if (!json_is_array(list))
            json_array_append(events, object);
        json_decref(object);
    }
}

struct replay_assert *replay_assert_open(const char *path)
{
    FILE *file = fopen(path, "re");
    struct replay_assert *expected = calloc(1, sizeof(*expected));
    bool read = false;

    if (file == NULL) {
        cli_error("--assert: '%s': cannot be read", path);
        free(expected);
        return NULL;
    }
    if (expected != NULL) {
        expected->path = path;
        expected->events = json_array();
        read = expected->events != NULL && read_objects(file, expected->events);
    }
    fclose(file);
    if (read)
        return expected;
    cli_error("--assert: '%s': expected events as JSON, an object a line, or an answer of /events", path);
    replay_assert_free(expected);
    return NULL;
}

void replay_assert_free(struct replay_assert *expected)
{
    if (expected == NULL)
        return;
    json_decref(expected->events);
    free(expected);
}

static void format(const json_t *value, char ret_text[VALUE_BYTES])
{
    char *text = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

    snprintf(ret_text, VALUE_BYTES, "%s", text != NULL ? text : "nothing");
    free(text);
}

/* The first member of one of the two that differs. False: none does. */
static bool report(const struct replay_assert *expected, json_t *of, const json_t *is, const json_t *was)
{
    char is_text[VALUE_BYTES], was_text[VALUE_BYTES];
    const char *key;
    json_t *value;

    json_object_foreach(of, key, value)
    {
        if (json_equal(json_object_get(is, key), json_object_get(was, key)))
            continue;
        format(json_object_get(is, key), is_text);
        format(json_object_get(was, key), was_text);
        cli_error("event %zu differs from '%s': \"%s\" is %s, and was %s", expected->next, expected->path, key, is_text,
                  was_text);
        return true;
    }
    return false;
}

static void forget_names_of(json_t *place)
{
    static const char *const keys[] = {"function", "file", "line", "inlined", "inlined_into"};

    for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
        json_object_del(place, keys[i]);
}

/* Of places: another machine may not have the files that they are found in. */
static void forget_names(json_t *event)
{
    json_t *place;
    size_t i;

    json_object_del(event, "summary");
    forget_names_of(json_object_get(event, "location"));
    json_array_foreach(json_object_get(event, "trail"), i, place) forget_names_of(place);
}

bool replay_assert_take(struct replay_assert *expected, const char *text, size_t count)
{
    json_t *is = json_loadb(text, count, JSON_ALLOW_NUL, NULL);
    json_t *was = json_array_get(expected->events, expected->next);
    bool same;

    expected->next++;
    if (was != NULL && json_object_get(is, ALERT_KEY) != NULL) {
        forget_names(is);
        forget_names(was);
    }
    if (was != NULL && json_object_get(was, ALERT_KEY) == NULL)
        json_object_del(is, ALERT_KEY);
    same = was != NULL && json_equal(is, was);
    if (was == NULL)
        cli_error("event %zu is one more than '%s' has: %s", expected->next, expected->path,
                  json_string_value(json_object_get(is, "summary")));
    else if (!same && !report(expected, is, is, was))
        (void)report(expected, was, is, was);
    json_decref(is);
    return same;
}

bool replay_assert_end(const struct replay_assert *expected)
{
    const size_t count = json_array_size(expected->events);

    if (expected->next >= count)
        return true;
    return cli_error("event %zu of '%s' is missing: %s", expected->next + 1, expected->path,
                     json_string_value(json_object_get(json_array_get(expected->events, expected->next), "summary")));
}
