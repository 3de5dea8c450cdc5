/* SPDX-License-Identifier: Apache-2.0 */
/* rfc3339.c - times as answers have them and people copy them. Pure; no locale, no table of time zones. */
#include "util/rfc3339.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define YEAR_MIN 1970
#define YEAR_MAX 2500

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Reads a number of exactly so many digits, up to max. */
static bool take_number(const char **at, int digits, int max, int *ret_number)
{
    int number = 0;

    for (; digits > 0; digits--, (*at)++) {
        if (!is_digit(**at))
            return false;
        number = number * 10 + (**at - '0');
    }
    *ret_number = number;
    return number <= max;
}

static bool take_byte(const char **at, const char *bytes)
{
    if (**at == '\0' || strchr(bytes, **at) == NULL)
        return false;
    (*at)++;
    return true;
}

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days since 1970-01-01. -1: there is no such day. */
static int64_t day_number(int year, int month, int day)
{
    static const int days_before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    bool leap = is_leap(year);
    int64_t number = (int64_t)(year - YEAR_MIN) * 365;

    if (year < YEAR_MIN || month < 1 || month > 12 || day < 1 ||
        day > days_before[month] - days_before[month - 1] + (leap && month == 2))
        return -1;
    for (int before = YEAR_MIN; before < year; before++)
        number += is_leap(before);
    return number + days_before[month - 1] + (leap && month > 2) + day - 1;
}

/* Digits behind the point; those beyond nanoseconds are dropped. */
static bool take_fraction(const char **at, int64_t *ret_ns)
{
    int64_t scale = (int64_t)NS_PER_SECOND;

    *ret_ns = 0;
    if (!take_byte(at, "."))
        return true;
    if (!is_digit(**at))
        return false;
    for (; is_digit(**at); (*at)++) {
        scale /= 10;
        *ret_ns += scale * (**at - '0');
    }
    return true;
}

static bool take_offset(const char **at, int64_t *ret_seconds)
{
    bool is_negative = **at == '-';
    int hours, minutes;

    *ret_seconds = 0;
    if (take_byte(at, "Zz"))
        return true;
    if (!take_byte(at, "+- ") || !take_number(at, 2, 23, &hours) || !take_byte(at, ":") ||
        !take_number(at, 2, 59, &minutes))
        return false;
    *ret_seconds = (is_negative ? -60 : 60) * (hours * 60 + minutes);
    return true;
}

int rfc3339_parse(const char *text, uint64_t *ret_wall_ns)
{
    const char *at = text;
    int64_t days, seconds, offset, fraction_ns;
    int year, month, day, hour, minute, second;

    if (!take_number(&at, 4, YEAR_MAX, &year) || !take_byte(&at, "-") || !take_number(&at, 2, 12, &month) ||
        !take_byte(&at, "-") || !take_number(&at, 2, 31, &day) || !take_byte(&at, "Tt ") ||
        !take_number(&at, 2, 23, &hour) || !take_byte(&at, ":") || !take_number(&at, 2, 59, &minute) ||
        !take_byte(&at, ":") || !take_number(&at, 2, 60, &second) || !take_fraction(&at, &fraction_ns) ||
        !take_offset(&at, &offset) || *at != '\0')
        return -EINVAL;
    days = day_number(year, month, day);
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - offset;
    if (days < 0 || seconds < 0)
        return -EINVAL;
    *ret_wall_ns = (uint64_t)seconds * NS_PER_SECOND + (uint64_t)fraction_ns; /* beyond INT64_MAX from 2262 on */
    return 0;
}
