/* SPDX-License-Identifier: Apache-2.0 */
/* test_schema.c - the words that ripd/schema/ripd.json allows are those of the tables that answers are made of. */
#include <string.h>

#include <jansson.h>

#include "cases/event_kind.h"
#include "cases/snapshot.h"
#include "cases/waits.h"
#include "detect/state.h"
#include "net/limits.h"
#include "support/test.h"

static json_t *definitions;

static int load_schema(void **state)
{
    json_t *schema = json_load_file(RIPD_SCHEMA, JSON_REJECT_DUPLICATES, NULL);

    (void)state;
    definitions = json_incref(json_object_get(schema, "$defs"));
    json_decref(schema);
    return definitions != NULL ? 0 : -1;
}

static int drop_schema(void **state)
{
    (void)state;
    json_decref(definitions);
    return 0;
}

static bool has_word(const json_t *words, const char *word)
{
    size_t i;
    json_t *value;

    json_array_foreach(words, i, value) if (word == NULL ? json_is_null(value)
                                                         : json_is_string(value) &&
                                                               strcmp(json_string_value(value), word) == 0) return true;
    return false;
}

/* words: as many as there may be, no more; NULL is null. */
static void assert_words(const json_t *definition, const char *const *words, size_t count)
{
    const json_t *allowed = json_object_get(definition, "enum");

    for (size_t i = 0; i < count; i++)
        if (!has_word(allowed, words[i]))
            fail_msg("%s is missing", words[i] != NULL ? words[i] : "null");
    assert_int_equal(json_array_size(allowed), count);
}

#define X(name, text, ...) text,

TEST(states_and_causes)
{
    static const char *const states[] = {ID_STATE_TABLE(X)};
    const char *causes[] = {ID_CAUSE_TABLE(X)};

    causes[CAUSE_NONE] = NULL; /* which is null */
    assert_words(json_object_get(definitions, "state"), states, sizeof(states) / sizeof(states[0]));
    assert_words(json_object_get(definitions, "cause"), causes, sizeof(causes) / sizeof(causes[0]));
}

TEST(events)
{
    static const char *const kinds[] = {EVENT_KIND_TABLE(X)};
    static const char *const reasons[] = {EVENT_REASON_TABLE(X)};

    static const char *const gaps[] = {STREAM_GAP_TABLE(X)};
    const json_t *gap = json_object_get(json_object_get(definitions, "gap"), "properties");

    assert_words(json_object_get(gap, "reason"), gaps, sizeof(gaps) / sizeof(gaps[0]));
    assert_words(json_object_get(definitions, "kind"), kinds, sizeof(kinds) / sizeof(kinds[0]));
    assert_words(json_object_get(definitions, "end_reason"), reasons, sizeof(reasons) / sizeof(reasons[0]));
}

TEST(health_of_rings)
{
    static const char *const words[] = {RING_HEALTH_TABLE(X)};
    const json_t *properties = json_object_get(json_object_get(definitions, "ring"), "properties");

    assert_words(json_object_get(properties, "health"), words, sizeof(words) / sizeof(words[0]));
}

int main(void)
{
    return tests_run(load_schema, drop_schema);
}
