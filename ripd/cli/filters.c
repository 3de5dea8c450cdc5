/* SPDX-License-Identifier: Apache-2.0 */
/* filters.c - from flags to the parameters of a request. Touches nothing. */
#include "cli/filters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "view/query_parse.h"

#define NS_PER_MS 1000000u

static const char *const parameters[] = {
#define X(name, flag, value, parameter, help) parameter,
    FILTER_TABLE(X) FILTER_EVENT_TABLE(X)
#undef X
};

bool filters_target(const struct filters *filters, const char *command, const char *path, unsigned allowed,
                    char target[FILTERS_TARGET_BYTES])
{
    struct query_error error;
    struct query query;
    const char *text;
    char min_ms[32];
    int failure = 0;

    snprintf(target, FILTERS_TARGET_BYTES, "%s", path);
    for (size_t i = 0; i < FILTER_COUNT; i++)
        if (filters->values[i] != NULL)
            failure |= client_target_add(target, FILTERS_TARGET_BYTES, parameters[i], filters->values[i]);
    snprintf(min_ms, sizeof(min_ms), "%" PRIu64, filters->min_ns / NS_PER_MS);
    if (filters->min_ns != 0)
        failure |= client_target_add(target, FILTERS_TARGET_BYTES, "min_ms", min_ms);
    if (failure != 0) {
        cli_error("%s: the values of flags are too long; expected at most %u bytes", command, FILTERS_TARGET_BYTES);
        return false;
    }
    text = strchr(target, '?');
    if (query_parse(text != NULL ? text + 1 : NULL, allowed, &query, &error) == 0)
        return true;
    /* a flag is called as its parameter is, but for the one that takes a duration */
    cli_error("%s: --%s %s", command, strcmp(error.parameter, "min_ms") == 0 ? "min" : error.parameter, error.detail);
    return false;
}
