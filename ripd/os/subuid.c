/* SPDX-License-Identifier: Apache-2.0 */
/* subuid.c - parses files of the formats of subuid(5) and passwd(5). See subuid.h. */
#include "os/subuid.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define LINE_BYTES 512u

static bool find_uid(const char *name, const char *passwd_path, uint32_t *ret_uid)
{
    struct passwd entry, *found;
    char buffer[LINE_BYTES * 4];
    bool known = false;
    FILE *file = fopen(passwd_path, "re");

    while (file != NULL && !known && fgetpwent_r(file, &entry, buffer, sizeof(buffer), &found) == 0) {
        known = strcmp(entry.pw_name, name) == 0;
        *ret_uid = entry.pw_uid;
    }
    if (file != NULL)
        fclose(file);
    return known;
}

/* "NAME:FIRST:COUNT". NAME may be a uid. */
static bool parse_line(const char *line, const char *passwd_path, struct uid_range *ret_range)
{
    char name[LINE_BYTES], rest;
    int end = 0;

    if (sscanf(line, "%511[^:\n]:%" SCNu32 ":%" SCNu32 "%c", name, &ret_range->first, &ret_range->count, &rest) < 3 ||
        ret_range->count == 0)
        return false;
    if (sscanf(name, "%" SCNu32 "%n", &ret_range->user, &end) == 1 && name[end] == '\0')
        return true;
    return find_uid(name, passwd_path, &ret_range->user);
}

int subuid_read(const char *path, const char *passwd_path, struct uid_range **ret_ranges, size_t *ret_count)
{
    struct uid_range *ranges = NULL, range;
    size_t count = 0, capacity = 0;
    char line[LINE_BYTES];
    FILE *file = fopen(path, "re");

    if (file == NULL)
        return -errno;
    while (count < SUBUID_RANGES_MAX && fgets(line, sizeof(line), file) != NULL) {
        if (!parse_line(line, passwd_path, &range))
            continue;
        if (!ARRAY_GROW(ranges, count, capacity)) {
            free(ranges);
            fclose(file);
            return -ENOMEM;
        }
        ranges[count++] = range;
    }
    fclose(file);
    *ret_ranges = ranges;
    *ret_count = count;
    return 0;
}
