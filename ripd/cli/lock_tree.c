/* SPDX-License-Identifier: Apache-2.0 */
/* lock_tree.c - see lock_tree.h. Asks for members that are not known. */
#include "cli/lock_tree.h"

#include <stdio.h>
#include <string.h>

#include "cli/item.h"

#define TARGET_BYTES 4096u
#define WAITERS_SHOWN 10u /* lines at one member */
#define WAITERS_DEPTH_MAX 8u
#define ALIKE_KEY_BYTES 1400u

/*
 * The item of a member of a chain: from known, else requested, unless hosts is NULL. The caller owns the reference;
 * NULL: there is none.
 */
static json_t *find_member(struct hosts *hosts, size_t host, const json_t *known, const json_t *member)
{
    char target[TARGET_BYTES];
    json_t *document, *item, *thread;
    size_t i;

    json_array_foreach(known, i, item) if (item_same_id(item, member)) return json_incref(item);
    if (hosts == NULL || !item_target(target, sizeof(target), member, item_number(member, "id")) ||
        client_target_add(target, sizeof(target), "trail", "1") != 0)
        return NULL;
    document = hosts_get_one(hosts, host, target, "ripd/thread/1");
    thread = json_incref(json_object_get(document, "thread"));
    json_decref(document);
    return thread;
}

/* alike: the number of others like it. again: it is shown above already. */
static void show_member(struct report *report, unsigned depth, const json_t *member, const json_t *item, size_t alike,
                        bool again)
{
    struct table_cell name, cause, where, line;
    char more[32] = "";

    item_fill_member(&name, member);
    item_fill_cause(&cause, item != NULL ? item : member);
    item_fill_where(&where, json_object_get(item, "location"), 0);
    if (alike != 0)
        snprintf(more, sizeof(more), " and %zu more", alike);
    if (again)
        table_cell_format(&line, "%s, who is above: a deadlock", name.text);
    else if (strcmp(cause.text, "-") == 0 && strcmp(where.text, "-") == 0) /* a thread without an id */
        table_cell_format(&line, "%s%s", name.text, more);
    else
        table_cell_format(&line, "%s%s  %s  in %s", name.text, more, cause.text, where.text);
    if (depth == 0 || again)
        line.colour = cause.colour;
    report_node(report, depth, &line);
}

/* A chain that comes back to a member ends there. */
void lock_tree_chain(struct report *report, struct hosts *hosts, size_t host, const json_t *known, const json_t *waiter)
{
    const json_t *chain = json_object_get(waiter, "waits_for"), *last = NULL;
    long long left_out = item_number(waiter, "waits_for_left_out");
    unsigned depth = 0;
    size_t i;
    json_t *member;

    if (json_array_size(chain) == 0)
        return;
    report_section(report, "waits for");
    show_member(report, depth++, waiter, waiter, 0, false);
    json_array_foreach(chain, i, member)
    {
        bool again = item_same_id(member, waiter);
        json_t *item;

        if (left_out > 0 && i + 1 == json_array_size(chain)) {
            struct table_cell more;

            table_cell_format(&more, "%lld more", left_out);
            report_node(report, depth++, &more);
        }
        item = again ? NULL : find_member(hosts, host, known, member);
        show_member(report, depth++, member, item, 0, again);
        if (item != NULL && i + 1 == json_array_size(chain))
            last = item;
        else
            json_decref(item);
    }
    /* a chain that hangs on a deadlock ends at the last of its members */
    if (last != NULL && !item_is_deadlocked(waiter) && json_array_size(json_object_get(last, "waits_for")) != 0)
        show_member(report, depth, json_array_get(json_object_get(last, "waits_for"), 0), NULL, 0, true);
    json_decref((json_t *)(uintptr_t)last);
}

/* ---- who waits ---- */

/* Arrays of the stalls that wait directly for an id, by its key; without members of deadlocks, which are shown above.
 */
static json_t *index_waiters(const json_t *stalls)
{
    json_t *waiters = json_object(), *stall;
    size_t i;

    json_array_foreach(stalls, i, stall)
    {
        char key[ITEM_KEY_BYTES];

        if (item_is_deadlocked(stall) || !item_make_key(key, json_array_get(json_object_get(stall, "waits_for"), 0)))
            continue;
        if (json_object_get(waiters, key) == NULL)
            json_object_set_new_nocheck(waiters, key, json_array());
        json_array_append(json_object_get(waiters, key), stall);
    }
    return waiters;
}

/* NULL: no stall waits for it. */
static const json_t *waiters_of(const json_t *waiters, const json_t *member)
{
    char key[ITEM_KEY_BYTES];

    return item_make_key(key, member) ? json_object_get(waiters, key) : NULL;
}

/* Those with the same key do the same at the same place. */
static void make_alike_key(char key[ALIKE_KEY_BYTES], const json_t *stall)
{
    struct table_cell cause, where;

    item_fill_cause(&cause, stall);
    item_fill_where(&where, json_object_get(stall, "location"), 0);
    snprintf(key, ALIKE_KEY_BYTES, "%s in %s", cause.text, where.text);
}

/* How many of a list are alike, by key; without those that others wait for, who have lines of their own. */
static json_t *count_alike(const json_t *waiters, const json_t *list)
{
    json_t *counts = json_object(), *stall;
    char key[ALIKE_KEY_BYTES];
    size_t i;

    json_array_foreach(list, i, stall)
    {
        make_alike_key(key, stall);
        if (waiters_of(waiters, stall) == NULL)
            json_object_set_new_nocheck(counts, key,
                                        json_integer(json_integer_value(json_object_get(counts, key)) + 1));
    }
    return counts;
}

/* The stalls that wait for a member, with those that wait for them below; a line for all that are alike. */
static void show_waiters(struct report *report, unsigned depth, const json_t *waiters, const json_t *member)
{
    const json_t *list = waiters_of(waiters, member);
    json_t *counts = count_alike(waiters, list), *stall;
    size_t lines = 0, left_out = 0, i;
    struct table_cell cell;

    json_array_foreach(list, i, stall)
    {
        const bool holds = waiters_of(waiters, stall) != NULL;
        char key[ALIKE_KEY_BYTES];
        json_int_t alike;

        make_alike_key(key, stall);
        alike = holds ? 1 : json_integer_value(json_object_get(counts, key));
        if (alike == 0)
            continue; /* shown with one like it */
        if (lines++ >= WAITERS_SHOWN) {
            left_out++;
            continue;
        }
        show_member(report, depth, stall, stall, (size_t)alike - 1, false);
        if (!holds)
            json_object_del(counts, key);
        else if (depth < WAITERS_DEPTH_MAX)
            show_waiters(report, depth + 1, waiters, stall);
    }
    if (left_out != 0) {
        table_cell_format(&cell, "%zu more", left_out);
        report_node(report, depth, &cell);
    }
    json_decref(counts);
}

void lock_tree_held_up(struct report *report, const json_t *stalls, const struct incident *incident)
{
    const json_t *chain = json_object_get(incident->shown, "waits_for");
    json_t *waiters, *member;
    size_t i;

    if (!incident->is_root || incident->waiting_count == 0)
        return;
    waiters = index_waiters(stalls);
    report_section(report, "held up");
    if (json_array_size(chain) == 0) {
        show_member(report, 0, incident->shown, incident->shown, 0, false);
        show_waiters(report, 1, waiters, incident->shown);
    }
    json_array_foreach(chain, i, member)
    {
        json_t *item = waiters_of(waiters, member) != NULL ? find_member(NULL, 0, stalls, member) : NULL;

        if (item == NULL)
            continue;
        show_member(report, 0, member, item, 0, false);
        show_waiters(report, 1, waiters, member);
        json_decref(item);
    }
    json_decref(waiters);
}
