/* SPDX-License-Identifier: Apache-2.0 */
/* test_reload.c - what a reload changes, what it leaves as it is, and what it reports. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "app/config_option.h"
#include "support/test.h"
#include "unit/config_test.h"

#define LIVE "dir, interval, stall-after, rule, allow-host, on-stall, log-level"

TEST(applied_and_refused)
{
    char path[] = CONFIG_TEST_PATH;
    struct config config;
    struct config_changes reload;

    write_config(path, "log-level = info\nlisten = 127.0.0.1:1\nallow-host = a\n");
    load(&config, "--config", path, NULL);
    assert_int_equal(config_reload(&config, &reload), 0);
    assert_string_equal(reload.applied, "");
    assert_string_equal(reload.refused, "");

    write_config(path, "rule = a=1s\ndir = /a\non-stall = b\nstate-dir = /c\nlog-level = debug\nstall-after = "
                       "9s\ninterval = 2s\nlisten = 127.0.0.1:2\nallow-host = a\nallow-host = b\n");
    for (int i = 0; i < 2; i++) { /* a key that needs a restart is reported each time */
        assert_int_equal(config_reload(&config, &reload), 0);
        assert_string_equal(reload.applied, i == 0 ? LIVE : "");
        assert_string_equal(reload.refused, "listen, state-dir");
        assert_null(config.state_directory);
        assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
        assert_list(&config.allow_hosts, "a", "b", NULL);
        assert_list(&config.listen, "127.0.0.1:1", NULL); /* what is in force */
    }

    write_config(path, "listen = 127.0.0.1:1\n"); /* taken out of the file: the default again */
    assert_int_equal(config_reload(&config, &reload), 0);
    assert_string_equal(reload.applied, LIVE);
    assert_string_equal(reload.refused, "");
    assert_int_equal(config.log_level, LOG_LEVEL_INFO);
    assert_list(&config.allow_hosts, NULL);
    config_done(&config);
    unlink(path);
}

TEST(bad_file_changes_nothing)
{
    char path[] = CONFIG_TEST_PATH;
    struct config config;
    struct config_changes reload;

    write_config(path, "log-level = debug\n");
    load(&config, "--config", path, NULL);
    write_config(path, "log-level = info\nallow-host = a:1\n");
    assert_int_equal(config_reload(&config, &reload), -EINVAL);
    assert_non_null(strstr(reload.error, ":2: allow-host: 'a:1' is not accepted; expected a host name"));
    assert_string_equal(reload.applied, "");
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    assert_list(&config.allow_hosts, NULL);
    config_done(&config);
    unlink(path);
}

TEST(no_file)
{
    struct config config;
    struct config_changes reload;

    load(&config, "--log-level=debug", NULL);
    assert_int_equal(config_reload(&config, &reload), -ENOENT);
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    config_done(&config);
}

/* Every key fits the lists of keys. */
TEST(room)
{
    size_t length = 0;

    for (size_t i = 0; i < options_count; i++)
        length += strlen(options[i].name) + 2;
    assert_true(length < CONFIG_KEYS_BYTES);
}
