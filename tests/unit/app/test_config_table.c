/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_table.c - the table of flags: its rows are complete, and accept their own defaults. */
#include <string.h>

#include "app/config_option.h"
#include "support/test.h"

TEST(rows)
{
    for (size_t i = 0; i < options_count; i++) {
        const struct option *option = &options[i];

        assert_ptr_equal(option_find(option->name, strlen(option->name)), option);
        assert_non_null(option->help);
        assert_int_equal(option->value_name == NULL, option->kind == OPTION_ACTION);
        assert_int_equal(option->valid == NULL, option->expected == NULL);
        assert_int_equal(option->max != 0, option->kind == OPTION_LIST);
        assert_true(option->max <= CONFIG_LIST_MAX);
    }
    assert_null(option_find("", 0));
    assert_null(option_find("interval", 7));
    assert_null(option_find("intervals", 9));
}

TEST(which_are_keys)
{
    static const char *const not_keys[] = {"config", "check-config", "version", "help"};

    for (size_t i = 0; i < options_count; i++) {
        bool expected = true;

        for (size_t j = 0; j < COUNT_OF(not_keys); j++)
            if (strcmp(not_keys[j], options[i].name) == 0)
                expected = false;
        assert_int_equal(option_is_key(&options[i]), expected);
    }
}

/* Setting the default is the same as giving its values, or "" if there is no default. */
TEST(defaults)
{
    for (size_t i = 0; i < options_count; i++) {
        struct config set = {0}, taken = {0};
        struct options_given given = {{false}};
        const char *expected = NULL;

        if (!option_is_key(&options[i]))
            continue;
        assert_int_equal(option_set_default(&options[i], &set), 0);
        if (options[i].defaults[0] == NULL)
            assert_int_equal(option_take(&options[i], &taken, &given, "", &expected), 0);
        for (size_t j = 0; options[i].defaults[j] != NULL; j++)
            assert_int_equal(option_take(&options[i], &taken, &given, options[i].defaults[j], &expected), 0);
        assert_true(given.given[i]);
        assert_true(option_same(&options[i], &set, &taken));
        option_done(&options[i], &set);
        option_done(&options[i], &taken);
    }
}

TEST(same)
{
    static const struct {
        const char *name, *one, *other;
    } cases[] = {
        {"listen", "127.0.0.1:0", "127.0.0.1:1"},
        {"dir", "/a", "/b"},
        {"interval", "1s", "2s"},
        {"stall-after", "1s", "1001ms"},
        {"allow-host", "a", "b"},
        {"allow-host", "a", ""},
        {"log-level", "info", "debug"},
        {"rule", "a=1s", "a=2s"},
        {"rule", "a=1s", "b=1s"},
        {"rule", "a=1s", ""},
        {"state-dir", "/a", "/b"},
        {"state-dir", "/a", ""},
        {"record", "/a", "/b"},
        {"record", "/a", ""},
        {"on-stall", "true", "false"},
        {"on-stall", "true", ""},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct option *option = option_find(cases[i].name, strlen(cases[i].name));
        const char *const values[] = {cases[i].one, cases[i].one, cases[i].other};
        struct config configs[3] = {{.argc = 0}};

        for (size_t j = 0; j < 3; j++) {
            struct options_given given = {{false}};
            const char *expected;

            assert_int_equal(option_take(option, &configs[j], &given, values[j], &expected), 0);
        }
        if (!option_same(option, &configs[0], &configs[1]) || option_same(option, &configs[0], &configs[2]) ||
            option_same(option, &configs[2], &configs[0]))
            fail_msg("%s: %s and %s", cases[i].name, cases[i].one, cases[i].other);
        for (size_t j = 0; j < 3; j++)
            option_done(option, &configs[j]);
    }
}

TEST(default_text)
{
    char text[OPTION_DEFAULT_BYTES];

    option_default_text(option_find("dir", 3), text);
    assert_string_equal(text, "[/run/librip, /dev/shm]");
    option_default_text(option_find("interval", 8), text);
    assert_string_equal(text, "[1s]");
    option_default_text(option_find("help", 4), text);
    assert_string_equal(text, "");
}
