/* SPDX-License-Identifier: Apache-2.0 */
/* test_reload.c - what a reload changes, what it leaves as it is, and what it reports: ripd/app/config.c. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "app/config_option.h"
#include "support/test.h"
#include "unit/config_test.h"

#define LIVE "dir, interval, stall-after, rule, allow-host, on-stall, log-level"

static void assert_reload(const char *applied, const char *refused)
{
    struct config_changes changes;

    assert_int_equal(config_reload(&config, &changes), 0);
    assert_string_equal(changes.applied, applied);
    assert_string_equal(changes.refused, refused);
}

TEST(applied_and_refused, NULL, remove_config)
{
    write_config("log-level = info\nlisten = 127.0.0.1:1\nallow-host = a\n");
    load("--config", config_path, NULL);
    assert_reload("", "");

    write_config("rule = a=1s\ndir = /a\non-stall = b\nstate-dir = /c\nlog-level = debug\nstall-after = "
                 "9s\ninterval = 2s\nlisten = 127.0.0.1:2\nallow-host = a\nallow-host = b\n");
    for (int i = 0; i < 2; i++) { /* a key that needs a restart is reported each time */
        assert_reload(i == 0 ? LIVE : "", "listen, state-dir");
        assert_null(config.state_directory);
        assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
        assert_list(&config.allow_hosts, "a|b");
        assert_list(&config.listen, "127.0.0.1:1"); /* the value in force */
    }

    write_config("listen = 127.0.0.1:1\n"); /* keys that were removed have their defaults again */
    assert_reload(LIVE, "");
    assert_int_equal(config.log_level, LOG_LEVEL_INFO);
    assert_list(&config.allow_hosts, "");
}

TEST(bad_file_changes_nothing, NULL, remove_config)
{
    struct config_changes changes;

    write_config("log-level = debug\n");
    load("--config", config_path, NULL);
    write_config("log-level = info\nallow-host = a:1\n");
    assert_int_equal(config_reload(&config, &changes), -EINVAL);
    assert_non_null(strstr(changes.error, ":2: allow-host: 'a:1' is not accepted; expected a host name"));
    assert_string_equal(changes.applied, "");
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    assert_list(&config.allow_hosts, "");
}

TEST(no_file)
{
    struct config_changes changes;

    load("--log-level=debug", NULL);
    assert_int_equal(config_reload(&config, &changes), -ENOENT);
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
}

/* The lists of keys have room for all keys. */
TEST(room)
{
    size_t length = 0;

    for (size_t i = 0; i < options_count; i++)
        length += strlen(options[i].name) + 2;
    assert_true(length < CONFIG_KEYS_BYTES);
}
