/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - names of states and causes, both ways, from the two lists in state.h. Pure.
 *
 * Guarantees
 *   A. A value outside the enumeration has the name and the meaning "", never NULL.
 *   B. No state and no cause is found by "" or NULL: CAUSE_NONE has no name to ask for.
 */
#include "detect/state.h"

#include <stddef.h>
#include <string.h>

static const char *const state_names[ID_STATE_COUNT] = {
#define X(name, text, meaning) [ID_##name] = text,
    ID_STATE_TABLE(X)
#undef X
};

static const char *const cause_names[CAUSE_COUNT] = {
#define X(name, text, meaning) [CAUSE_##name] = text,
    ID_CAUSE_TABLE(X)
#undef X
};

static const char *const state_meanings[ID_STATE_COUNT] = {
#define X(name, text, meaning) [ID_##name] = meaning,
    ID_STATE_TABLE(X)
#undef X
};

static const char *const cause_meanings[CAUSE_COUNT] = {
#define X(name, text, meaning) [CAUSE_##name] = meaning,
    ID_CAUSE_TABLE(X)
#undef X
};

static const char *name_of(const char *const *names, int count, int value)
{
    return value >= 0 && value < count ? names[value] : "";
}

static int value_of(const char *const *names, int count, const char *name)
{
    if (!name || !*name)
        return -1;
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

const char *id_state_name(enum id_state state)
{
    return name_of(state_names, ID_STATE_COUNT, (int)state);
}

const char *id_cause_name(enum id_cause cause)
{
    return name_of(cause_names, CAUSE_COUNT, (int)cause);
}

bool id_cause_stops(enum id_cause cause)
{
    return cause >= CAUSE_SIGNAL && cause < CAUSE_COUNT;
}

const char *id_state_meaning(enum id_state state)
{
    return name_of(state_meanings, ID_STATE_COUNT, (int)state);
}

const char *id_cause_meaning(enum id_cause cause)
{
    return name_of(cause_meanings, CAUSE_COUNT, (int)cause);
}

int id_state_from_name(const char *name)
{
    return value_of(state_names, ID_STATE_COUNT, name);
}

int id_cause_from_name(const char *name)
{
    return value_of(cause_names, CAUSE_COUNT, name);
}
