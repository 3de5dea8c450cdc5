/* SPDX-License-Identifier: Apache-2.0 */
/* test_item_cells.c - the table cells of an item, complete or malformed: ripd/cli/item.c. */
#include <string.h>

#include <jansson.h>

#include "cli/item.h"
#include "support/test.h"

static void fill_brief(struct table_cell *cell, const json_t *item)
{
    item_fill_path(cell, item, 2);
}

static const struct {
    void (*fill)(struct table_cell *cell, const json_t *item);
    const char *json;
    const char *shown;
} cases[] = {
    {item_fill_where, "{\"function\": \"f\", \"file\": \"/a/b/c.c\", \"line\": 7}", "f, /a/b/c.c:7"},
    {fill_brief, "{\"function\": \"f\", \"file\": \"/a/b/c.c\", \"line\": 7}", "f, b/c.c:7"},
    {fill_brief, "{\"function\": \"f\", \"file\": \"c.c\", \"line\": 7}", "f, c.c:7"},
    {item_fill_where, "{\"function\": \"f\", \"module\": \"m\"}", "f (m)"},
    {item_fill_where, "{\"module\": \"m\", \"offset\": \"0x12\"}", "m+0x12"},
    {item_fill_where, "{\"module\": 5, \"function\": []}", ""},
    {item_fill_cause, "{\"state\": \"stalled\", \"cause\": \"blocked\"}", "blocked"},
    {item_fill_cause, "{\"state\": \"stalled\", \"cause\": null}", "examining"},
    {item_fill_cause, "{\"state\": \"idle\", \"cause\": null}", "idle"},
    {item_fill_cause, "{}", ""},
    {item_fill_thread, "{\"name\": \"w-1\", \"id\": 5}", "w-1"},
    {item_fill_thread, "{\"name\": \"\", \"id\": 5}", "5"},
    {item_fill_thread, "{\"name\": null}", ""},
    {item_fill_thread, "{\"name\": \"w-1\", \"note\": \"GET /\"}", "w-1 \"GET /\""},
    {item_fill_process, "{\"process\": {\"pid\": 9, \"comm\": \"c\", \"unit\": null}}", "c[9]"},
    {item_fill_process, "{\"process\": {\"pid\": 9, \"comm\": \"c\", \"unit\": \"web.service\"}}", "web[9]"},
    {item_fill_process, "{\"process\": {\"pid\": null, \"comm\": \"c\"}}", "c"},
    {item_fill_process, "{\"process\": {\"pid\": 9}}", "[9]"},
    {item_fill_process, "{\"process\": null}", ""},
    {item_fill_on, "{}", ""},
    {item_fill_on, "{\"kernel\": {\"syscall\": \"recvfrom\", \"target\": \"tcp A -> B\"}}", "recvfrom on tcp A -> B"},
    {item_fill_on, "{\"kernel\": {\"syscall\": \"futex\", \"target\": \"futex wait\"}}", "futex wait"},
    {item_fill_on,
     "{\"kernel\": {\"syscall\": \"read\", \"target\": \"pipe:[5]\", \"holder\": {\"pid\": 3, \"comm\": \"cat\"}}}",
     "read on pipe:[5], other end cat[3]"},
    {item_fill_on, "{\"kernel\": {\"syscall\": \"vfork\", \"holder\": {\"comm\": \"cat\", \"pid\": 3}}}",
     "vfork, child cat[3]"},
    {item_fill_on,
     "{\"kernel\": {\"syscall\": \"flock\", \"target\": \"/run/lock\", \"holder\": {\"pid\": 3, \"comm\": \"cat\"}}}",
     "flock on /run/lock, held by cat[3]"},
    {item_fill_on, "{\"cause\": \"blocked\", \"kernel\": {\"syscall\": null, \"denied\": [\"syscall\", \"wchan\"]}}",
     "no permission to read"},
    {item_fill_on, "{\"cause\": \"blocked\", \"kernel\": {\"syscall\": \"read\", \"denied\": [\"wchan\"]}}", "read"},
    {item_fill_on, "{\"cause\": \"sleeping\", \"kernel\": {\"syscall\": \"nanosleep\", \"asked_ms\": 300500}}",
     "nanosleep, for 5m00s"},
    {item_fill_on, "{\"cause\": \"spinning\", \"kernel\": {\"window_ms\": 2000, \"cpu_ms\": 1960}}",
     "on a processor 98 % of the time"},
    {item_fill_on, "{\"cause\": \"spinning\", \"kernel\": {\"window_ms\": 0, \"cpu_ms\": 1960}}", ""},
    {item_fill_on, "{\"cause\": \"spinning\", \"kernel\": {\"window_ms\": 1, \"cpu_ms\": 9223372036854775807}}",
     "on a processor 100000000000000 % of the time"},
    {item_fill_on,
     "{\"waits_for\": [{\"holder\": \"id\", \"name\": \"a\"}, {\"holder\": \"id\", \"id\": 7, \"name\": \"\"}]}",
     "waits for a, id 7"},
    {item_fill_on, "{\"waits_for\": [{\"holder\": \"readers\"}, {\"holder\": \"thread\", \"tid\": 4}, 7]}",
     "waits for readers, thread 4, -"},
    {item_fill_on,
     "{\"ring\": \"r\", \"id\": 1, \"cause\": \"deadlock\", \"waits_for\": [{\"ring\": \"r\", \"id\": 2, \"name\": "
     "\"b\"},"
     "{\"ring\": \"r\", \"id\": 1, \"name\": \"a\"}]}",
     "deadlock with b"},
    {item_fill_on,
     "{\"ring\": \"r\", \"id\": 1, \"name\": \"a\", \"cause\": \"deadlock\", \"waits_for\": [{\"ring\": \"r\", \"id\": "
     "2, "
     "\"name\": \"a\"}, {\"ring\": \"r\", \"id\": 1, \"name\": \"a\"}]}",
     "deadlock with a (id 2)"},
    {item_fill_on,
     "{\"ring\": \"r\", \"id\": 1, \"name\": \"a\", \"cause\": \"blocked\", \"waits_for\": [{\"ring\": \"r\", \"id\": "
     "2, "
     "\"name\": \"b\"}, {\"ring\": \"r\", \"id\": 3, \"name\": \"b\"}, {\"ring\": \"r\", \"id\": 4, \"name\": \"c\"}]}",
     "waits for b (id 2), b (id 3), c"},
    {item_fill_on,
     "{\"ring\": \"r\", \"id\": 1, \"cause\": \"deadlock\", \"waits_for\": [{\"ring\": \"r\", \"id\": 1, \"name\": "
     "\"a\"}]}",
     "a lock that it holds itself"},
    {item_fill_on,
     "{\"waits_for\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}, {\"name\": \"d\"}, {\"name\": \"e\"}]}",
     "waits for a, b, c, d and 1 more"},
};

TEST(cells)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *item = json_loads(cases[i].json, 0, NULL);
        struct table_cell cell;

        assert_non_null(item);
        cases[i].fill(&cell, item);
        assert_string_equal(cell.text, cases[i].shown);
        json_decref(item);
    }
}

TEST(durations)
{
    static const struct {
        long long ms;
        const char *shown;
    } durations[] = {
        {-1, ""},
        {0, "0.0s"},
        {13880, "13.8s"},
        {59999, "59.9s"},
        {60000, "1m00s"},
        {3599999, "59m59s"},
        {3600000, "1h00m"},
        {86399999, "23h59m"},
        {86400000, "1d00h"},
        {400000000, "4d15h"},
        {ITEM_NUMBER_MAX, "11574d01h"},
    };

    for (size_t i = 0; i < COUNT_OF(durations); i++) {
        struct table_cell cell;

        item_fill_duration(&cell, durations[i].ms);
        assert_string_equal(cell.text, durations[i].shown);
    }
}

TEST(numbers)
{
    json_t *object = json_loads("{\"a\": 5, \"b\": -1, \"c\": 9223372036854775807, \"d\": 1.5, \"e\": \"5\"}", 0, NULL);

    assert_int_equal(item_number(object, "a"), 5);
    assert_int_equal(item_number(object, "b"), ITEM_UNKNOWN);
    assert_int_equal(item_number(object, "c"), ITEM_NUMBER_MAX);
    assert_int_equal(item_number(object, "d"), ITEM_UNKNOWN);
    assert_int_equal(item_number(object, "e"), ITEM_UNKNOWN);
    assert_int_equal(item_number(object, "f"), ITEM_UNKNOWN);
    assert_int_equal(item_number(NULL, "a"), ITEM_UNKNOWN);
    json_decref(object);
}
