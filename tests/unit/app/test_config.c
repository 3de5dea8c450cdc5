/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c - which source has priority, the ownership of strings, and a reload: ripd/app/config.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/config.h"
#include "support/test.h"
#include "unit/config_test.h"

TEST(defaults)
{
    load(NULL);
    assert_list(&config.listen, "127.0.0.1:7470");
    assert_list(&config.directories, "/run/librip|/dev/shm");
    assert_list(&config.allow_hosts, "");
    assert_int_equal(config.interval_ns, 1000000000);
    assert_int_equal(config.stall_after_ns, 5000000000);
    assert_int_equal(config.log_level, LOG_LEVEL_INFO);
    assert_null(config.state_directory);
    assert_null(config.on_stall);
    assert_null(config.file);
}

/* The command line has priority over the file, and the file over the default. */
TEST(priorities, NULL, remove_config)
{
    write_config("interval = 2s\nstall-after = 9s\ndir = /from-file\ndir = /second\nallow-host = a\n"
                 "log-level = debug\n");
    load("--interval=3s", "--config", config_path, "--dir", "/from-line", NULL);
    assert_int_equal(config.interval_ns, 3000000000);
    assert_int_equal(config.stall_after_ns, 9000000000);
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    assert_list(&config.directories, "/from-line");
    assert_list(&config.allow_hosts, "a");
    assert_list(&config.listen, "127.0.0.1:7470");
    assert_true(config.listen.by_default);
    assert_false(config.directories.by_default);
    assert_false(config.allow_hosts.by_default);
    assert_string_equal(config.file, config_path);

    load("--config", config_path, "--allow-host=", NULL); /* an empty list has priority, too */
    assert_list(&config.directories, "/from-file|/second");
    assert_list(&config.allow_hosts, "");

    write_config("listen = 127.0.0.1:7470\n"); /* set, to the value of the default */
    load("--config", config_path, NULL);
    assert_false(config.listen.by_default);
}

TEST(rules, NULL, remove_config)
{
    write_config("rule = batch-nightly=2h\nrule = a=b*=250ms\n");
    load("--config", config_path, NULL);
    assert_int_equal(config.rules.count, 2);
    assert_string_equal(config.rules.rules[1].glob, "a=b*"); /* in their order; the last '=' splits */
    assert_int_equal(config.rules.rules[1].threshold_ns, 250000000);
    load("--config", config_path, "--rule", "ui-*=1s", NULL); /* replaces those of the file */
    assert_int_equal(config.rules.count, 1);
    assert_string_equal(config.rules.rules[0].glob, "ui-*");
    load("--config", config_path, "--rule=", NULL);
    assert_int_equal(config.rules.count, 0);
    refuse("--rule: 'worker=soon' is not accepted; expected a duration such as 250ms", "--rule=worker=soon", NULL);
    write_config("rule = x=1s\nrule = y=1ms\n");
    refuse(":2: rule: 'y=1ms' is not accepted; expected a duration from 10ms to a year", "--config", config_path, NULL);
}

TEST(scan_settings)
{
    struct scan_settings settings;

    load("--interval=200ms", "--stall-after=700ms", "--rule=a=1s", NULL);
    settings = config_settings(&config);
    assert_int_equal(settings.interval_ns, 200000000);
    assert_int_equal(settings.stall_after_ns, 700000000);
    assert_int_equal(settings.hysteresis_ns, 900000000);
    assert_int_equal(settings.rules.count, 1);
}

/* A bad value in the file is refused even if the command line has priority. */
TEST(every_value_of_the_file_is_checked, NULL, remove_config)
{
    write_config("interval = 2\n");
    refuse("interval: '2' is not accepted; expected a duration", "--config", config_path, "--interval", "1s", NULL);
}

TEST(owns_its_strings, NULL, remove_config)
{
    char word[] = "--dir=/a";

    write_config("allow-host = db1\n");
    load(word, "--config", config_path, NULL);
    memset(word, 'x', sizeof(word) - 1);
    assert_list(&config.directories, "/a");
    assert_list(&config.allow_hosts, "db1");
    config_done(&config);
    config_done(&config); /* can be repeated */
}

static void assert_reload_fails(const char *expected)
{
    struct config fresh = {.interval_ns = 77};

    assert_int_equal(config_load(config.argc, config.argv, &fresh, config_error), CONFIG_BAD);
    assert_non_null(strstr(config_error, expected));
    assert_int_equal(fresh.interval_ns, 77);
}

/* The command line is read again, and the file as it is now. */
TEST(reload, NULL, remove_config)
{
    struct config fresh;

    write_config("stall-after = 9s\ninterval = 3s\n");
    load("--interval", "2s", "--config", config_path, NULL);
    write_config("stall-after = 10s\n");
    assert_int_equal(config_load(config.argc, config.argv, &fresh, config_error), CONFIG_RUN);
    assert_int_equal(fresh.stall_after_ns, 10000000000);
    assert_int_equal(fresh.interval_ns, 2000000000);
    assert_int_equal(config.stall_after_ns, 9000000000);
    config_done(&fresh);
    write_config("stall-after = soon\n");
    assert_reload_fails(":1: stall-after: 'soon' is not accepted");
    unlink(config_path);
    assert_reload_fails("No such file");
}

TEST(check_config, NULL, remove_config)
{
    write_config("interval = 2s\n");
    assert_int_equal(try_load("--config", config_path, "--check-config", "--dir", "/x", NULL), CONFIG_CHECK);
    assert_string_equal(config.file, config_path);
    assert_int_equal(try_load("--check-config", NULL), CONFIG_CHECK);
    refuse("--interval", "--check-config", "--interval=x", NULL); /* later words are checked, too */
    write_config("interval\n");
    refuse(":1: 'interval' is not accepted", "--check-config", "--config", config_path, NULL);
}
