/* SPDX-License-Identifier: Apache-2.0 */
/* filters.c - converts flags to the parameters of a request. Touches nothing. */
#include "cli/filters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "view/query_parse.h"

#define NS_PER_MS 1000000u

/* Parameters that a flag sets, or the path of a command. */
#define PARAMETERS                                                                                                     \
    (PARAMETER_RING | PARAMETER_PID | PARAMETER_NAME | PARAMETER_UNIT | PARAMETER_CONTAINER | PARAMETER_CAUSE |        \
     PARAMETER_MIN_MS | PARAMETER_LIMIT | PARAMETER_SINCE | PARAMETER_KIND | PARAMETER_TRAIL | PARAMETER_GROUP_STALLS)

static const char *const parameters[] = {
#define X(name, parameter, value, help) parameter,
    FILTER_TABLE(X) FILTER_EVENT_TABLE(X)
#undef X
};

bool filters_target(const struct filters *filters, const char *path, char target[FILTERS_TARGET_BYTES])
{
    struct query_error error;
    struct query query;
    const char *text;
    char min_ms[32];
    bool fits = true;

    snprintf(target, FILTERS_TARGET_BYTES, "%s", path);
    for (size_t i = 0; i < FILTER_COUNT; i++)
        if (filters->values[i] != NULL)
            fits &= client_target_add(target, FILTERS_TARGET_BYTES, parameters[i], filters->values[i]);
    snprintf(min_ms, sizeof(min_ms), "%" PRIu64, filters->min_ns / NS_PER_MS);
    if (filters->min_ns != 0)
        fits &= client_target_add(target, FILTERS_TARGET_BYTES, "min_ms", min_ms);
    if (!fits)
        return cli_error("the values of flags are too long; expected at most %u bytes", FILTERS_TARGET_BYTES);
    text = strchr(target, '?');
    if (query_parse(text != NULL ? text + 1 : NULL, PARAMETERS, &query, &error) == 0)
        return true;
    /* a flag has the name of its parameter, except --min, which takes a duration */
    return cli_error("--%s %s", strcmp(error.parameter, "min_ms") == 0 ? "min" : error.parameter, error.detail);
}

bool filters_quote(char *pattern, size_t size, const char *text)
{
    size_t length = 0;

    for (; *text != '\0' && length + 3 < size; text++) {
        if (strchr("*?[]\\", *text) != NULL)
            pattern[length++] = '\\';
        pattern[length++] = *text;
    }
    pattern[length] = '\0';
    return *text == '\0';
}
