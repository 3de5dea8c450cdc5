/* SPDX-License-Identifier: Apache-2.0 */
/* rfc3339.c - parses times as they appear in answers. Pure; no locale, no table of time zones. */
#include "util/rfc3339.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_SECOND INT64_C(1000000000)
#define YEAR_MIN 1970
#define YEAR_MAX 2500

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Skips text that matches the form. In the form, 9 stands for a digit, and T, Z and + each stand for several bytes. */
static bool take(const char **at, const char *form)
{
    const char *text = *at;

    for (; *form != '\0'; form++, text++) {
        const char *others = *form == 'T' ? "Tt " : *form == 'Z' ? "Zz" : "+- ";
        const bool is_choice = *form == 'T' || *form == 'Z' || *form == '+';

        if (*form == '9' ? !is_digit(*text)
            : is_choice  ? *text == '\0' || strchr(others, *text) == NULL
                         : *text != *form)
            return false;
    }
    *at = text;
    return true;
}

/* Returns the seconds from 1970 to the beginning of a day, or -1 if there is no such day. */
static int64_t second_of_day(int year, int month, int day)
{
    struct tm parts = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    const int64_t second = timegm(&parts);

    return year >= YEAR_MIN && year <= YEAR_MAX && parts.tm_mon == month - 1 && parts.tm_mday == day ? second : -1;
}

int rfc3339_parse(const char *text, uint64_t *ret_wall_ns)
{
    int year, month, day, hour, minute, second, offset_hours = 0, offset_minutes = 0;
    int64_t seconds, fraction_ns = 0, scale = NS_PER_SECOND;
    const char *at = text;
    char sign;

    if (!take(&at, "9999-99-99T99:99:99"))
        return -EINVAL;
    (void)sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second);
    if (take(&at, ".9"))
        for (at--; is_digit(*at); at++) { /* digits after nanoseconds are dropped */
            scale /= 10;
            fraction_ns += scale * (*at - '0');
        }
    sign = *at;
    if (take(&at, "+99:99"))
        (void)sscanf(at - 5, "%2d:%2d", &offset_hours, &offset_minutes);
    else if (!take(&at, "Z"))
        return -EINVAL;
    seconds = second_of_day(year, month, day);
    if (*at != '\0' || seconds < 0 || hour > 23 || minute > 59 || second > 60 || offset_hours > 23 ||
        offset_minutes > 59)
        return -EINVAL;
    seconds += (hour * 60 + minute) * 60 + second - (sign == '-' ? -60 : 60) * (offset_hours * 60 + offset_minutes);
    if (seconds < 0)
        return -EINVAL;
    *ret_wall_ns = (uint64_t)seconds * NS_PER_SECOND + (uint64_t)fraction_ns; /* exceeds INT64_MAX from 2262 on */
    return 0;
}
