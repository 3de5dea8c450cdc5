/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - maps states and causes to names and back, from the tables in state.h. Pure.
 *
 * Guarantees
 *   A. A value outside the enumeration has the name and the meaning "", never NULL.
 *   B. "" and NULL match no state and no cause, although CAUSE_NONE has the name "".
 */
#include "detect/state.h"

#include <stddef.h>
#include <string.h>

struct word {
    const char *name;
    const char *meaning;
};

static const struct word states[ID_STATE_COUNT] = {
#define X(name, text, meaning) [ID_##name] = {text, meaning},
    ID_STATE_TABLE(X)
#undef X
};

static const struct word causes[CAUSE_AND_REASON_COUNT] = {
#define X(name, text, meaning) [CAUSE_##name] = {text, meaning},
    ID_CAUSE_TABLE(X) ID_REASON_TABLE(X)
#undef X
};

static struct word word_of(const struct word *words, int count, int value)
{
    return value >= 0 && value < count ? words[value] : (struct word){"", ""};
}

static int value_of(const struct word *words, int count, const char *name)
{
    for (int i = 0; name && *name && i < count; i++)
        if (!strcmp(words[i].name, name))
            return i;
    return -1;
}

const char *id_state_name(enum id_state state)
{
    return word_of(states, ID_STATE_COUNT, (int)state).name;
}

const char *id_cause_name(enum id_cause cause)
{
    return word_of(causes, CAUSE_AND_REASON_COUNT, (int)cause).name;
}

char id_state_letter(enum id_state state)
{
    static const char letters[ID_STATE_COUNT] = {
        [ID_RUNNING] = 'r', [ID_IDLE] = 'i', [ID_STALLED] = 's', [ID_STOPPED] = 't', [ID_EXITED] = 'e', [ID_DEAD] = 'd',
    };

    return (int)state >= 0 && (int)state < ID_STATE_COUNT ? letters[state] : '?';
}

const char *id_state_meaning(enum id_state state)
{
    return word_of(states, ID_STATE_COUNT, (int)state).meaning;
}

const char *id_cause_meaning(enum id_cause cause)
{
    return word_of(causes, CAUSE_AND_REASON_COUNT, (int)cause).meaning;
}

bool id_cause_stops(enum id_cause cause)
{
    return cause >= CAUSE_SIGNAL && cause < CAUSE_COUNT;
}

bool id_cause_idles(enum id_cause cause)
{
    return cause >= CAUSE_COUNT && cause < CAUSE_AND_REASON_COUNT;
}

bool id_cause_is_certain(enum id_cause cause, bool preloaded)
{
    switch (cause) {
    case CAUSE_BLOCKED:
    case CAUSE_UNINTERRUPTIBLE:
    case CAUSE_STARVED:
    case CAUSE_DEADLOCK:
    case CAUSE_PARKED:
        return true;
    case CAUSE_SPINNING:
        return !preloaded;
    default:
        return false;
    }
}

int id_state_from_name(const char *name)
{
    return value_of(states, ID_STATE_COUNT, name);
}

int id_cause_from_name(const char *name)
{
    return value_of(causes, CAUSE_COUNT, name);
}
