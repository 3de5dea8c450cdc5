/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - parses rules and finds the rule for a name. Pure.
 */
#include "detect/rules.h"

#include <errno.h>
#include <string.h>

#include "util/duration.h"

_Static_assert(RULES_MAX <= UINT8_MAX - 2, "a rule's number and three more values do not fit a byte");

static const char *problem_of(const struct rules *rules, const char *text, const char *equals, uint64_t *ret_ns)
{
    if (!equals || equals == text)
        return "a name's pattern, '=' and a duration, such as batch-*=10m";
    if ((size_t)(equals - text) >= RULE_GLOB_BYTES)
        return "a pattern of at most 127 bytes";
    if (duration_parse(equals + 1, ret_ns) != 0)
        return "a duration such as 250ms, 5s, 2m, 1h after the last '='";
    if (*ret_ns < DURATION_SETTING_MIN_NS || *ret_ns > DURATION_SETTING_MAX_NS)
        return "a duration from 10ms to a year after the last '='";
    if (rules->count >= RULES_MAX)
        return "at most 64 rules";
    return NULL;
}

int rules_add(struct rules *rules, const char *text, const char **ret_expected)
{
    const char *equals = strrchr(text, '=');
    uint64_t threshold_ns = 0;
    const char *problem = problem_of(rules, text, equals, &threshold_ns);
    struct rule *rule;

    if (problem) {
        *ret_expected = problem;
        return -EINVAL;
    }
    rule = &rules->rules[rules->count++];
    *rule = (struct rule){.threshold_ns = threshold_ns};
    memcpy(rule->glob, text, (size_t)(equals - text));
    return 0;
}

void rules_table_make(struct rules_table *ret_table, const struct rules *rules)
{
    ret_table->count = rules->count;
    for (size_t i = 0; i < rules->count; i++)
        glob_make(&ret_table->globs[i], rules->rules[i].glob);
}

int rules_find(const struct rules_table *table, const uint8_t *name, size_t name_bytes)
{
    for (size_t i = 0; i < table->count; i++)
        if (glob_matches(&table->globs[i], name, name_bytes))
            return (int)i;
    return RULES_NONE;
}
