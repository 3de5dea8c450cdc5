/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c - reads the frame of list documents. Writes warnings. */
#include "cli/frame.h"

#include "cli/item.h"

#define LATE_INTERVALS 3

/* 0 if it is not known. */
static long long count_of(const json_t *object, const char *key)
{
    long long count = item_number(object, key);

    return count != ITEM_UNKNOWN ? count : 0;
}

long long frame_count(const json_t *document, const char *state)
{
    json_t *counts = json_object_get(document, "counts"), *value;
    long long sum = 0;
    const char *key;

    if (state != NULL)
        return count_of(counts, state);
    json_object_foreach(counts, key, value) if (sum < ITEM_NUMBER_MAX) sum += count_of(counts, key);
    return sum;
}

long long frame_unreadable(const json_t *document)
{
    return count_of(document, "unreadable_rings");
}

long long frame_total(const json_t *document)
{
    return count_of(document, "total");
}

bool frame_is_late(const json_t *document, long long *ret_age_ms)
{
    const json_t *scan = json_object_get(document, "scan");
    long long age_ms = item_number(scan, "age_ms"), interval_ms = item_number(scan, "interval_ms");

    *ret_age_ms = age_ms;
    return age_ms != ITEM_UNKNOWN && interval_ms != ITEM_UNKNOWN && age_ms > LATE_INTERVALS * interval_ms;
}

size_t frame_answered(const struct hosts *hosts)
{
    size_t count = 0;

    for (size_t i = 0; i < hosts_count(hosts); i++)
        count += hosts_document(hosts, i) != NULL;
    return count;
}

void frame_warn(const struct hosts *hosts, const char *list)
{
    for (size_t i = 0; i < hosts_count(hosts); i++) {
        const json_t *document = hosts_document(hosts, i);
        long long total = item_number(document, "total"), age_ms;
        long long shown = (long long)json_array_size(json_object_get(document, list));

        if (document == NULL)
            continue;
        if (frame_unreadable(document) != 0)
            cli_error("ripd on %s cannot read %lld ring%s: there may be more; `rip ls` names them",
                      hosts_name(hosts, i), frame_unreadable(document), frame_unreadable(document) == 1 ? "" : "s");
        if (frame_is_late(document, &age_ms))
            cli_error("ripd on %s does not scan: this was %lld s ago", hosts_name(hosts, i), age_ms / 1000);
        if (total > shown)
            cli_error("ripd on %s has %lld, of which the first %lld were read", hosts_name(hosts, i), total, shown);
    }
}
