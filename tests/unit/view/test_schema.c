/* SPDX-License-Identifier: Apache-2.0 */
/* test_schema.c - the words that ripd/schema/ripd.json allows are those in the tables of the product. */
#include <string.h>

#include "cases/event_kind.h"
#include "cases/snapshot.h"
#include "cases/waits.h"
#include "detect/state.h"
#include "net/limits.h"
#include "support/test.h"
#include "unit/json_at.h"

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

/* The definition at this path allows exactly these words; a NULL is null. */
static void assert_words(const char *path, const char *const *words, size_t count)
{
    json_t *allowed = json_at(definitions, path), *value;
    size_t found, j;

    for (size_t i = 0; i < count; i++) {
        json_t *word = words[i] != NULL ? json_string(words[i]) : json_null();

        found = 0;
        json_array_foreach(allowed, j, value) found += json_equal(value, word) == 1;
        if (found != 1)
            fail_msg("%s has %s %zu times", path, words[i] != NULL ? words[i] : "null", found);
        json_decref(word);
    }
    assert_json_count(definitions, path, count);
}

#define X(name, text, ...) text,

TEST(words)
{
    static const char *const states[] = {ID_STATE_TABLE(X)}, *const kinds[] = {EVENT_KIND_TABLE(X)},
                             *const reasons[] = {EVENT_REASON_TABLE(X)}, *const gaps[] = {STREAM_GAP_TABLE(X)},
                             *const healths[] = {RING_HEALTH_TABLE(X)};
    const char *causes[] = {ID_CAUSE_TABLE(X)};

    causes[CAUSE_NONE] = NULL; /* null */
    assert_words("state/enum", states, COUNT_OF(states));
    assert_words("cause/enum", causes, COUNT_OF(causes));
    assert_words("kind/enum", kinds, COUNT_OF(kinds));
    assert_words("end_reason/enum", reasons, COUNT_OF(reasons));
    assert_words("gap/properties/reason/enum", gaps, COUNT_OF(gaps));
    assert_words("ring/properties/health/enum", healths, COUNT_OF(healths));
}

int main(void)
{
    return tests_run(load_schema, drop_schema);
}
