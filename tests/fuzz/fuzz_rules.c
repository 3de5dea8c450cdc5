/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_rules.c - lines of rules, the last line is a name: accepted rules are in bounds, and the first match counts. */
#include <stdlib.h>
#include <string.h>

#include "detect/rules.h"
#include "fuzz.h"
#include "util/duration.h"

static void check_rule(const struct rule *rule)
{
    require(rule->glob[0] != '\0' && memchr(rule->glob, 0, sizeof(rule->glob)) != NULL);
    require(rule->threshold_ns >= DURATION_SETTING_MIN_NS && rule->threshold_ns <= DURATION_SETTING_MAX_NS);
}

static int matches(const char *pattern, const char *text, size_t text_bytes)
{
    struct glob glob;

    glob_make(&glob, pattern);
    return glob_matches(&glob, (const uint8_t *)text, text_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    const char *line, *newline, *expected = NULL;
    char *text = strndup((const char *)bytes, size_bytes);
    static struct rules_table table;
    struct rules rules = {0};
    size_t name_bytes;
    int found;

    if (text == NULL)
        return 0;
    for (line = text; (newline = strchr(line, '\n')) != NULL; line = newline + 1) {
        const size_t before = rules.count;

        text[newline - text] = '\0';
        if (rules_add(&rules, line, &expected) == 0) {
            require(rules.count == before + 1);
            check_rule(&rules.rules[before]);
        } else {
            require(rules.count == before && expected != NULL);
        }
    }
    require(rules.count <= RULES_MAX);
    name_bytes = strlen(line) < RIP_NAME_BYTES ? strlen(line) : RIP_NAME_BYTES;
    rules_table_make(&table, &rules);
    found = rules_find(&table, (const uint8_t *)line, name_bytes);
    for (int i = 0; i < (int)rules.count; i++) {
        if (matches(rules.rules[i].glob, line, name_bytes)) {
            require(found == i);
            break;
        }
        require(found != i);
    }
    free(text);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "batch-*=10m\n*=250ms\nbatch-17",
        "a=b=1h\n[!a-c]?=2s\n\\*=10ms\nx",
        "=5s\nworker=\nworker=9ms\nworker=8760h\nworker",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
