/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - thresholds for ids by name: "batch-*=10m". Pure.
 *
 * Guarantees
 *   A. The first rule whose glob matches a name decides, in the order in which they were added.
 *   B. Rules are values: they refer to no memory but their own, may be copied, and are empty when all zero.
 *   C. A rule's number fits a byte, with three values to spare (see RULES_MAX).
 */
#ifndef RIPD_DETECT_RULES_H
#define RIPD_DETECT_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "util/glob.h"

#define RULES_MAX 64u
#define RULE_GLOB_BYTES 128u /* with a terminator: names have 63 bytes at most, classes and quotes take more */

#define RULES_NONE (-1) /* in place of a number: no rule matches */

struct rule {
    char glob[RULE_GLOB_BYTES];
    uint64_t threshold_ns;
};

struct rules {
    size_t count;
    struct rule rules[RULES_MAX];
};

/*
 * Takes "GLOB=DUR". The last '=' splits it, so that a glob may contain one; DUR is a duration from
 * DURATION_SETTING_MIN_NS to DURATION_SETTING_MAX_NS (util/duration.h). 0, or -EINVAL with *ret_expected, a static
 * text, saying what was expected: nothing has been added then.
 */
int rules_add(struct rules *rules, const char *text, const char **ret_expected);

/* The patterns of rules, made ready for many names. Large (two kilobytes a rule): not for the stack. */
struct rules_table {
    size_t count;
    struct glob globs[RULES_MAX];
};
void rules_table_make(struct rules_table *ret_table, const struct rules *rules);

/* Number of the first rule that matches the bytes of a name, or RULES_NONE. */
int rules_find(const struct rules_table *table, const uint8_t *name, size_t name_bytes);

#endif
