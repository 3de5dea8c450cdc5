/* SPDX-License-Identifier: Apache-2.0 */
/* filters.c - from flags to the parameters of a request. Touches nothing. */
#include "cli/filters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "util/duration.h"
#include "view/query_parse.h"

#define NS_PER_MS 1000000u

static const struct {
    const char *flag;
    const char *parameter;
} names[] = {
#define X(name, flag, value, parameter, help) {flag, parameter},
    FILTER_TABLE(X)
#undef X
};

static bool add(char *target, const char *command, const char *parameter, const char *value)
{
    if (client_target_add(target, FILTERS_TARGET_BYTES, parameter, value) == 0)
        return true;
    cli_error("%s: the values of flags are too long; expected at most %u bytes", command, FILTERS_TARGET_BYTES);
    return false;
}

static bool add_duration(char *target, const char *command, enum filter filter, const char *value)
{
    char text[32];
    uint64_t ns;

    if (duration_parse(value, &ns) != 0) {
        cli_error("%s: %s: '%.64s': expected a duration, such as 500ms, 5s, 2m or 1h", command, names[filter].flag,
                  value);
        return false;
    }
    snprintf(text, sizeof(text), "%" PRIu64, ns / NS_PER_MS);
    return add(target, command, names[filter].parameter, text);
}

bool filters_target(const struct filters *filters, const char *command, const char *path, unsigned allowed,
                    char target[FILTERS_TARGET_BYTES])
{
    struct query_error error;
    struct query query;
    const char *text;

    snprintf(target, FILTERS_TARGET_BYTES, "%s", path);
    for (size_t i = 0; i < FILTER_COUNT; i++) {
        const char *value = filters->values[i];

        if (value != NULL && !(i == FILTER_MIN ? add_duration(target, command, FILTER_MIN, value)
                                               : add(target, command, names[i].parameter, value)))
            return false;
    }
    text = strchr(target, '?');
    if (query_parse(text != NULL ? text + 1 : NULL, allowed, &query, &error) == 0)
        return true;
    /* a flag is called as its parameter is, but for the one that takes a duration */
    cli_error("%s: --%s %s", command, strcmp(error.parameter, "min_ms") == 0 ? "min" : error.parameter, error.detail);
    return false;
}
