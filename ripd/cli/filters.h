/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters.h - flags that select ids, each a parameter of the endpoint. Wrong values are refused before a request is
 * sent, by the rules of ripd itself.
 */
#ifndef RIP_CLI_FILTERS_H
#define RIP_CLI_FILTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"
#include "detect/state.h"
#include "util/duration.h"

#define FILTERS_TARGET_BYTES 4096u

/* The parameter, which is also the name of the flag; its value; help. */
#define FILTER_TABLE(X)                                                                                                \
    X(RING, "ring", "RING", "only this ring")                                                                          \
    X(PID, "pid", "PID", "only this process")                                                                          \
    X(NAME, "name", "GLOB", "only ids whose names match")                                                              \
    X(UNIT, "unit", "GLOB", "only processes whose systemd unit matches")                                               \
    X(CONTAINER, "container", "GLOB", "only processes whose container matches")                                        \
    X(CAUSE, "cause", "CAUSE", "only this cause; with a leading '!', any other")

/* Flags only of events. */
#define FILTER_EVENT_TABLE(X)                                                                                          \
    X(LIMIT, "limit", "N", "print at most the newest N (default 100, at most 10000); not with --follow")               \
    X(SINCE, "since", "TIME",                                                                                          \
      "only since this time, or within this duration: 2026-11-20T09:00:00Z, 10m; not with --follow")                   \
    X(KIND, "kind", "KIND", "only begin or only end")

enum filter {
#define X(name, parameter, value, help) FILTER_##name,
    FILTER_TABLE(X) FILTER_EVENT_TABLE(X)
#undef X
        FILTER_COUNT
};

/* All zero: not given. */
struct filters {
    const char *values[FILTER_COUNT];
    uint64_t min_ns;
};

/* Rows of a table of flags, for settings with a member `filters`. */
#define FILTER_ROW(name, parameter, value, help)                                                                       \
    CLI_FLAG("--" parameter, value, CLI_TEXT, filters.values[FILTER_##name], help),
#define FILTERS_FLAGS                                                                                                  \
    FILTER_TABLE(FILTER_ROW)                                                                                           \
    CLI_BETWEEN("--min", "DUR", CLI_DURATION, filters.min_ns, 0, DURATION_SETTING_MAX_NS,                              \
                "only ids that have not moved for this long: 500ms, 5s, 2m, 1h")

#define FILTERS_EVENT_FLAGS FILTER_EVENT_TABLE(FILTER_ROW) FILTERS_FLAGS

/* The words of a table, as help lists them; and those of --cause. */
#define FILTER_WORD(name, text, meaning) " " text
#define FILTER_VALUES "\nCAUSE is one of:" ID_CAUSE_TABLE(FILTER_WORD) "\n"

/*
 * Writes path with its own parameters and those given into target. Returns false after an error message if ripd would
 * refuse a value.
 */
bool filters_target(const struct filters *filters, const char *path, char target[FILTERS_TARGET_BYTES]);

/* Makes a pattern that matches only this text. Returns false if it is too long. */
bool filters_quote(char *pattern, size_t size, const char *text);

#endif
