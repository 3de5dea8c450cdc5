/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - thresholds for ids by name, such as "batch-*=10m". Pure.
 *
 * Guarantees
 *   A. The first rule whose glob matches a name applies, in the order in which rules were added.
 *   B. Rules are plain values: they contain no pointers, may be copied, and are empty if all bytes are zero.
 *   C. A rule number fits in a byte, with three values to spare (see RULES_MAX).
 */
#ifndef RIPD_DETECT_RULES_H
#define RIPD_DETECT_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "util/glob.h"

#define RULES_MAX 64u
#define RULE_GLOB_BYTES 128u /* with terminator; names have at most 63 bytes, but classes and quotes take more */

#define RULES_NONE (-1) /* no rule matches */

struct rule {
    char glob[RULE_GLOB_BYTES];
    uint64_t threshold_ns;
};

struct rules {
    size_t count;
    struct rule rules[RULES_MAX];
};

/*
 * Adds a rule "GLOB=DUR". The last '=' is the separator, so a glob may contain '='. DUR is a duration from
 * DURATION_SETTING_MIN_NS to DURATION_SETTING_MAX_NS (util/duration.h). Returns 0, or -EINVAL: then nothing is added
 * and *ret_expected is a static text that says what was expected.
 */
int rules_add(struct rules *rules, const char *text, const char **ret_expected);

/* Compiled patterns, for matching many names. Large (2 KB per rule): do not put it on the stack. */
struct rules_table {
    size_t count;
    struct glob globs[RULES_MAX];
};
void rules_table_make(struct rules_table *ret_table, const struct rules *rules);

/* Returns the number of the first rule that matches the name, or RULES_NONE. */
int rules_find(const struct rules_table *table, const uint8_t *name, size_t name_bytes);

#endif
