/* SPDX-License-Identifier: Apache-2.0 */
/* json_at.h - values of a JSON document by path, such as "stalls/0/process/pid". */
#ifndef TESTS_UNIT_JSON_AT_H
#define TESTS_UNIT_JSON_AT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* Borrowed. Returns NULL if there is no such value. */
static inline json_t *json_at(json_t *root, const char *path)
{
    while (root != NULL && *path != '\0') {
        size_t length = strcspn(path, "/");
        char key[64];

        snprintf(key, sizeof(key), "%.*s", (int)length, path);
        root = json_is_array(root) ? json_array_get(root, (size_t)atoi(key)) : json_object_get(root, key);
        path += length + (path[length] == '/');
    }
    return root;
}

static inline uint64_t json_number_at(json_t *root, const char *path)
{
    json_t *value = json_at(root, path);

    if (!json_is_integer(value))
        fail_msg("%s is no number", path);
    return (uint64_t)json_integer_value(value);
}

/* The value is exactly this JSON; NULL: there is no such value. */
static inline void assert_json(json_t *root, const char *path, const char *expected)
{
    json_t *value = json_at(root, path);
    char *text = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

    if ((text == NULL) != (expected == NULL) || (text != NULL && strcmp(text, expected) != 0))
        fail_msg("%s is %s, expected %s", path, text != NULL ? text : "missing", expected != NULL ? expected : "none");
    free(text);
}

/* The value is a string. */
static inline void assert_json_text(json_t *root, const char *path, const char *expected)
{
    const char *text = json_string_value(json_at(root, path));

    if (text == NULL || strcmp(text, expected) != 0)
        fail_msg("%s is %s, expected %s", path, text != NULL ? text : "no string", expected);
}

static inline void assert_json_count(json_t *root, const char *path, size_t expected)
{
    if (json_array_size(json_at(root, path)) != expected)
        fail_msg("%s has %zu elements, expected %zu", path, json_array_size(json_at(root, path)), expected);
}

#endif
