/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_parse.c - parses the parameters of a request. Pure; the parameters are one table.
 *
 * A query is a list of NAME=VALUE joined by '&'. Both sides are percent-encoded, and '+' is a space, as in HTML forms
 * and URL libraries: a plus sign is %2B. Empty parts are skipped.
 *
 * A cursor is a letter for the form and three fields of fixed width in lower-case hexadecimal. So each cursor has
 * exactly one text, which needs no quoting in a URL:
 *
 *   a SSSSSSSSSSSSSSSS RRRRRRRR TTTTTTTT     (without the blanks) frozen_since_ns, ring, slot
 *
 * The cursor of a list of events is a sequence number in decimal.
 *
 * Guarantees
 *   A. Nothing is ignored: a name that the path does not take, a name given twice, and a value with an invalid part are
 *      errors. The error names the parameter and what was expected.
 *   B. *ret_query is untouched on failure.
 */
#include "view/query_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cases/event_kind.h"
#include "util/array.h"
#include "util/duration.h"
#include "util/rfc3339.h"
#include "util/text.h"

#define CURSOR_FORM "a%016" PRIx64 "%08" PRIx32 "%08" PRIx32
#define PID_MAX INT32_MAX
#define MIN_MS_MAX UINT64_C(1000000000000) /* 31 years */
#define NS_PER_MS 1000000u

void cursor_format(const struct query_cursor *cursor, char ret_text[CURSOR_TEXT_BYTES])
{
    if (cursor->sequence != 0)
        snprintf(ret_text, CURSOR_TEXT_BYTES, "%" PRIu64, cursor->sequence);
    else
        snprintf(ret_text, CURSOR_TEXT_BYTES, CURSOR_FORM, cursor->frozen_since_ns, cursor->ring, cursor->slot);
}

int cursor_parse(const char *text, struct query_cursor *ret_cursor)
{
    struct query_cursor cursor = {.present = true};
    char again[CURSOR_TEXT_BYTES];

    if (sscanf(text, "a%16" SCNx64 "%8" SCNx32 "%8" SCNx32, &cursor.frozen_since_ns, &cursor.ring, &cursor.slot) != 3)
        return -EINVAL;
    cursor_format(&cursor, again);
    if (strcmp(text, again) != 0) /* sscanf() also accepts signs, blanks, capitals and trailing text */
        return -EINVAL;
    *ret_cursor = cursor;
    return 0;
}

int percent_decode(const char *text, size_t length, bool plus_is_space, char *ret_text, size_t capacity)
{
    size_t count = 0;

    for (size_t i = 0; i < length; i++) {
        char byte = text[i];

        if (byte == '%') {
            if (length - i < 3 || text_digit(text[i + 1]) > 15 || text_digit(text[i + 2]) > 15)
                return -EINVAL;
            byte = (char)(text_digit(text[i + 1]) << 4 | text_digit(text[i + 2]));
            i += 2;
        } else if (byte == '+' && plus_is_space) {
            byte = ' ';
        }
        if (byte == '\0')
            return -EINVAL;
        if (count + 1 >= capacity)
            return -ENAMETOOLONG;
        ret_text[count++] = byte;
    }
    ret_text[count] = '\0';
    return 0;
}

/* State of parsing the parameters of one request. */
struct query_parsing {
    struct query query;
    unsigned allowed;
    unsigned given;
    const struct query_parameter *parameter; /* of the current part */
    struct query_error error;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct query_parsing *parse, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(parse->error.detail, sizeof(parse->error.detail), format, arguments);
    va_end(arguments);
    return -EINVAL;
}

/* Returns the member of the query that the parameter sets. */
static void *member_of(struct query_parsing *parse)
{
    return (char *)&parse->query + parse->parameter->offset;
}

/* Parses a whole number within the parameter's bounds: digits only. */
static int parse_number(struct query_parsing *parse, const char *value, uint64_t *ret_number)
{
    if (!text_number(value, parse->parameter->low, parse->parameter->high, ret_number))
        return refuse(parse, "is \"%.32s\"; expected a whole number from %" PRIu64 " to %" PRIu64, value,
                      parse->parameter->low, parse->parameter->high);
    return 0;
}

static int parse_32(struct query_parsing *parse, const char *value)
{
    uint64_t number = 0;
    int status = parse_number(parse, value, &number);

    *(uint32_t *)member_of(parse) = (uint32_t)number;
    return status;
}

static int parse_64(struct query_parsing *parse, const char *value)
{
    return parse_number(parse, value, member_of(parse));
}

/* The elements of a glob are limited; a name without special characters may be longer. */
static int parse_glob(struct query_parsing *parse, const char *value)
{
    struct glob glob;

    glob_make(&glob, value);
    if (glob.end == 0 && strpbrk(value, "*?[\\") != NULL)
        return refuse(parse, "has more than %u elements; a pattern that long matches nothing", GLOB_ELEMENTS_MAX);
    memcpy(member_of(parse), value, strlen(value) + 1);
    return 0;
}

static int parse_text(struct query_parsing *parse, const char *value)
{
    memcpy(member_of(parse), value, strlen(value) + 1);
    return 0;
}

static int parse_min_ms(struct query_parsing *parse, const char *value)
{
    int status = parse_64(parse, value);

    parse->query.min_ns *= NS_PER_MS;
    return status;
}

static int parse_after(struct query_parsing *parse, const char *value)
{
    if (cursor_parse(value, &parse->query.after) < 0)
        return refuse(parse, "is not a cursor; expected the \"next\" of an earlier answer");
    return 0;
}

/* Answers show "null" for a cause that is not known yet. */
#define CAUSE_NONE_TEXT "null"

#define X(name, text, meaning) " " text
static const char known_kinds[] = EVENT_KIND_TABLE(X);
static const char known_causes[] = ID_CAUSE_TABLE(X) " " CAUSE_NONE_TEXT; /* the first is CAUSE_NONE, without a text */
static const char known_states[] = ID_STATE_TABLE(X);
#undef X

/* Sets the set to the one word of the value. number: the number of that word; negative: none of words. */
static int take_word(struct query_parsing *parse, const char *value, int number, const char *how, const char *words)
{
    if (number < 0)
        return refuse(parse, "is \"%.32s\"; expected%s one of%s", value, how, words);
    *(uint32_t *)member_of(parse) = 1u << number;
    return 0;
}

static int parse_kind(struct query_parsing *parse, const char *value)
{
    return take_word(parse, value, event_kind_from_name(value), "", known_kinds);
}

/* Parses a time, or a duration before the answer. */
static int parse_since(struct query_parsing *parse, const char *value)
{
    if (rfc3339_parse(value, &parse->query.since_wall_ns) == 0)
        return 0;
    if (duration_parse(value, &parse->query.since_ago_ns) == 0) {
        parse->query.since_ago_ns += parse->query.since_ago_ns == 0; /* 0 means "not given" */
        return 0;
    }
    return refuse(parse, "is \"%.40s\"; expected a time such as 2026-11-20T09:41:07Z, or a duration such as 10m",
                  value);
}

static int parse_cause(struct query_parsing *parse, const char *value)
{
    const char *name = value[0] == '!' ? value + 1 : value;
    int cause = strcmp(name, CAUSE_NONE_TEXT) == 0 ? (int)CAUSE_NONE : id_cause_from_name(name);
    int status = take_word(parse, value, name[0] != '\0' ? cause : -1, ", with or without '!',", known_causes + 1);

    if (name != value)
        parse->query.causes = ~parse->query.causes;
    return status;
}

static int parse_state(struct query_parsing *parse, const char *value)
{
    return take_word(parse, value, id_state_from_name(value), "", known_states);
}

static int parse_group(struct query_parsing *parse, const char *value)
{
    static const char *const names[] = {
        [QUERY_GROUP_LOCATION] = "location",
        [QUERY_GROUP_ROOT] = "root",
        [QUERY_GROUP_INCIDENT] = "incident",
    };
    const bool of_stalls = parse->parameter->bit == PARAMETER_GROUP_STALLS;
    const enum query_group last = of_stalls ? QUERY_GROUP_INCIDENT : QUERY_GROUP_LOCATION;

    for (enum query_group group = QUERY_GROUP_LOCATION; group <= last; group++) {
        if (strcmp(value, names[group]) != 0)
            continue;
        parse->query.group = group;
        return 0;
    }
    return refuse(parse, "is \"%.32s\"; expected %s", value, of_stalls ? "one of location root incident" : "location");
}

/* Parses RING/ID, as in the path of one id. The name of a ring has no '/'. */
static int parse_incident(struct query_parsing *parse, const char *value)
{
    const char *slash = strrchr(value, '/');

    if (slash == NULL || slash == value || (size_t)(slash - value) >= sizeof(parse->query.incident_ring))
        return refuse(parse, "is \"%.32s\"; expected RING/ID", value);
    parse->query.has_incident = true;
    memcpy(parse->query.incident_ring, value, (size_t)(slash - value));
    parse->query.incident_ring[slash - value] = '\0';
    return parse_32(parse, slash + 1);
}

#define IN(field) offsetof(struct query, field)

const struct query_parameter query_parameters[] = {
    {"ring", PARAMETER_RING, parse_glob, "GLOB", "only this ring, or rings whose names match", IN(ring), 0, 0},
    {"pid", PARAMETER_PID, parse_32, "PID", "only this process", IN(pid), 1, PID_MAX},
    {"name", PARAMETER_NAME, parse_text, "GLOB", "only ids whose names match; *, ? and [...] match other bytes",
     IN(name), 0, 0},
    {"unit", PARAMETER_UNIT, parse_glob, "GLOB", "only processes whose systemd unit matches", IN(unit), 0, 0},
    {"container", PARAMETER_CONTAINER, parse_glob, "GLOB", "only processes whose container matches", IN(container), 0,
     0},
    {"cause", PARAMETER_CAUSE, parse_cause, "CAUSE",
     "only this cause, or any other with ! before it; null is also a cause", IN(causes), 0, 0},
    {"min_ms", PARAMETER_MIN_MS, parse_min_ms, "NUMBER",
     "only ids that have not moved, or events that lasted, this long or longer", IN(min_ns), 0, MIN_MS_MAX},
    {"limit", PARAMETER_LIMIT, parse_32, "NUMBER", "maximum number of items, from 1 to 10000; default: 100", IN(limit),
     1, QUERY_LIMIT_MAX},
    {"limit", PARAMETER_LIMIT_STATES, parse_32, "NUMBER",
     "in /states the maximum number of ids, from 1 to 1000000; default: 100000", IN(limit), 1, QUERY_STATES_MAX},
    {"trail", PARAMETER_TRAIL, parse_32, "NUMBER",
     "number of breadcrumbs of each id, from 0 to 32; default: 4 in /stalls, none in /threads, all for one id",
     IN(trail_count), 0, QUERY_TRAIL_MAX},
    {"after", PARAMETER_AFTER, parse_after, "CURSOR", "only items that follow an earlier answer, given its \"next\"", 0,
     0, 0},
    {"state", PARAMETER_STATE, parse_state, "STATE", "only ids in this state", IN(states), 0, 0},
    {"group", PARAMETER_GROUP, parse_group, "location", "in /threads, counts by location instead of a list", 0, 0, 0},
    {"group", PARAMETER_GROUP_STALLS, parse_group, "WAY",
     "in /stalls, counts by location, by root (the holder that holds them up), or by incident (the same, and also "
     "stalls without a root) instead of a list",
     0, 0, 0},
    {"incident", PARAMETER_INCIDENT, parse_incident, "RING/ID", "only the incident of this id", IN(incident_id), 0,
     UINT32_MAX},
    {"kind", PARAMETER_KIND, parse_kind, "KIND", "only events of this kind", IN(kinds), 0, 0},
    {"since", PARAMETER_SINCE, parse_since, "TIME",
     "only events since this time: 2026-11-20T09:41:07Z, or 10m for the last ten minutes", 0, 0, 0},
    {"after", PARAMETER_AFTER_EVENT, parse_64, "NUMBER",
     "in /events, only events older than this one, given the \"next\" of an earlier answer", IN(after.sequence), 1,
     UINT64_MAX / 10 - 1},
};
const size_t query_parameters_count = ARRAY_COUNT(query_parameters);

/* Returns the parameter with that name, or NULL, with the error filled, if the path does not take it. */
static const struct query_parameter *find_parameter(struct query_parsing *parse, const char *name)
{
    char known[128] = "";

    for (size_t i = 0; i < query_parameters_count; i++) {
        if ((query_parameters[i].bit & parse->allowed) == 0)
            continue;
        if (strcmp(query_parameters[i].name, name) == 0)
            return &query_parameters[i];
        text_append(known, sizeof(known), " %s", query_parameters[i].name);
    }
    if (parse->allowed == 0)
        refuse(parse, "is unknown: this path takes no parameters");
    else
        refuse(parse, "is unknown: this path takes%s", known);
    return NULL;
}

/* Decodes one side of a part into a buffer of QUERY_PATTERN_BYTES. */
static int decode(struct query_parsing *parse, const char *text, size_t length, char *ret_text)
{
    int status = percent_decode(text, length, true, ret_text, QUERY_PATTERN_BYTES);

    if (status == -ENAMETOOLONG)
        return refuse(parse, "is longer than %u bytes", QUERY_PATTERN_BYTES - 1);
    if (status < 0)
        return refuse(parse, "is badly encoded: '%%' takes two hexadecimal digits, and %%00 is not allowed");
    return 0;
}

static void name_fault(struct query_parsing *parse, const char *text, size_t length)
{
    snprintf(parse->error.parameter, sizeof(parse->error.parameter), "%.*s",
             (int)(length < sizeof(parse->error.parameter) ? length : sizeof(parse->error.parameter)), text);
}

static int parse_piece(struct query_parsing *parse, const char *text, size_t length)
{
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals == NULL ? length : (size_t)(equals - text);
    char name[QUERY_PATTERN_BYTES];
    char value[QUERY_PATTERN_BYTES];

    name_fault(parse, text, name_length);
    if (decode(parse, text, name_length, name) < 0)
        return -EINVAL;
    name_fault(parse, name, strlen(name));
    parse->parameter = find_parameter(parse, name);
    if (parse->parameter == NULL)
        return -EINVAL;
    if ((parse->given & parse->parameter->bit) != 0)
        return refuse(parse, "is given twice");
    parse->given |= parse->parameter->bit;
    if (equals == NULL || name_length + 1 == length)
        return refuse(parse, "has no value");
    if (decode(parse, equals + 1, length - name_length - 1, value) < 0)
        return -EINVAL;
    return parse->parameter->parse(parse, value);
}

int query_parse(const char *text, unsigned allowed, struct query *ret_query, struct query_error *ret_error)
{
    struct query_parsing parse = {.allowed = allowed};

    query_init(&parse.query);
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "&");

        if (length != 0 && parse_piece(&parse, text, length) < 0) {
            *ret_error = parse.error;
            return -EINVAL;
        }
        text += length + (text[length] == '&');
    }
    parse.query.has_limit = (parse.given & (PARAMETER_LIMIT | PARAMETER_LIMIT_STATES)) != 0;
    parse.query.has_trail = (parse.given & PARAMETER_TRAIL) != 0;
    parse.query.after.present = (parse.given & (PARAMETER_AFTER | PARAMETER_AFTER_EVENT)) != 0;
    *ret_query = parse.query;
    return 0;
}
