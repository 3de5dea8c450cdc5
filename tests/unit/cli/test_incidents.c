/* SPDX-License-Identifier: Apache-2.0 */
/* test_incidents.c - groups stalls with a common cause: ripd/cli/incidents.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/incidents.h"
#include "cli/item.h"
#include "support/test.h"
#include "util/text.h"

/* Makes a stall in "r". chain lists the ids that it waits for. */
static json_t *stall(int id, int ms, const char *cause, const char *chain)
{
    json_t *object =
        json_pack("{s:s, s:i, s:i, s:s, s:n}", "ring", "r", "id", id, "frozen_for_ms", ms, "cause", cause, "waits_for");
    json_t *members = json_array();

    for (char *end; *chain != '\0'; chain = end + (*end == ' '))
        json_array_append_new(members, json_pack("{s:s, s:i}", "ring", "r", "id", (int)strtol(chain, &end, 10)));
    if (json_array_size(members) != 0)
        json_object_set(object, "waits_for", members);
    json_decref(members);
    return object;
}

/* Compares "ID+WAITING@MS" of each incident, with '?' after an id that is no root. */
static void assert_incidents(json_t *stalls, const char *expected)
{
    json_t *incidents = incidents_of(stalls), *shown;
    char text[512] = "";
    size_t i;

    json_array_foreach(incidents, i, shown)
    {
        text_append(text, sizeof(text), "%s%lld%s+%lld@%lld", i == 0 ? "" : " ", item_number(shown, "id"),
                    json_is_false(json_object_get(shown, "is_root")) ? "?" : "", item_number(shown, "waiting"),
                    item_number(shown, "longest_ms"));
    }
    assert_string_equal(text, expected);
    json_decref(incidents);
    json_decref(stalls);
}

TEST(incidents)
{
    assert_incidents(json_array(), "");
    /* two independent stalls */
    assert_incidents(json_pack("[o, o]", stall(1, 9, "blocked", ""), stall(2, 8, "spinning", "")), "1+0@9 2+0@8");
    /* two wait for a third stall, which comes last */
    assert_incidents(
        json_pack("[o, o, o]", stall(1, 9, "blocked", "3"), stall(2, 8, "blocked", "3"), stall(3, 7, "sleeping", "")),
        "3+2@9");
    /* two wait for an id that is no stall: the longest stall represents them */
    assert_incidents(json_pack("[o, o]", stall(1, 9, "blocked", "3"), stall(2, 8, "blocked", "3")), "1?+2@9");
    /* a deadlock of two; a third waits for it, a fourth for the third */
    assert_incidents(json_pack("[o, o, o, o]", stall(4, 9, "blocked", "3 1 2"), stall(1, 8, "deadlock", "2 1"),
                               stall(2, 8, "deadlock", "1 2"), stall(3, 7, "blocked", "1 2")),
                     "1+2@9");
    /* a chain with an unknown member */
    assert_incidents(json_pack("[o, o, o]", stall(1, 9, "blocked", "2 5"), stall(7, 8, "blocked", ""),
                               stall(3, 7, "blocked", "4 5")),
                     "1?+2@9 7+0@8");
}

/* Duplicate ids, and members without an id. */
TEST(malformed_stalls)
{
    json_t *nameless = json_pack("{s:i, s:[{}, n, i, {s:s}]}", "id", 1, "waits_for", 5, "ring", "r");

    assert_incidents(json_pack("[O, O, n, i]", nameless, nameless, 3), "1?+1@-1 1?+1@-1 -1+-1@-1 -1+-1@-1");
    json_decref(nameless);
    assert_incidents(json_pack("[o, o]", stall(1, 9, "blocked", ""), stall(1, 8, "blocked", "")), "1+0@9");
}

/* 10,000 stalls wait for one, with chains of up to 16. Quadratic time would take minutes. */
TEST(many_stalls)
{
    json_t *stalls = json_array();
    json_t *incidents;

    for (int i = 0; i < 10000; i++) {
        char chain[128] = "";

        for (int j = i - 1; j >= 0 && j > i - 16; j--)
            text_append(chain, sizeof(chain), "%s%d", chain[0] == '\0' ? "" : " ", j);
        json_array_append_new(stalls, stall(i, 5, "blocked", chain));
    }
    incidents = incidents_of(stalls);
    assert_int_equal(json_array_size(incidents), 1);
    assert_int_equal(item_number(json_array_get(incidents, 0), "waiting"), 9999);
    json_decref(incidents);
    json_decref(stalls);
}
