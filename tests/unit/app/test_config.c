/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c - which source outranks which, who owns the strings, and what a reload brings. */
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
    struct config config;

    load(&config, NULL);
    assert_list(&config.listen, "127.0.0.1:7470", NULL);
    assert_list(&config.directories, "/run/librip", "/dev/shm", NULL);
    assert_list(&config.allow_hosts, NULL);
    assert_int_equal(config.interval_ns, 1000000000);
    assert_int_equal(config.stall_after_ns, 5000000000);
    assert_int_equal(config.log_level, LOG_LEVEL_INFO);
    assert_null(config.state_directory);
    assert_null(config.on_stall);
    assert_null(config.file);
    config_done(&config);
}

TEST(ranks)
{
    struct config config;
    char path[] = CONFIG_TEST_PATH;

    write_config(path, "interval = 2s\nstall-after = 9s\ndir = /from-file\ndir = /second\nallow-host = a\n"
                       "log-level = debug\n");
    load(&config, "--interval=3s", "--config", path, "--dir", "/from-line", NULL);
    assert_int_equal(config.interval_ns, 3000000000);    /* the line outranks the file */
    assert_int_equal(config.stall_after_ns, 9000000000); /* the file outranks the default */
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    assert_list(&config.directories, "/from-line", NULL);
    assert_list(&config.allow_hosts, "a", NULL);
    assert_list(&config.listen, "127.0.0.1:7470", NULL);
    assert_true(config.listen.by_default);
    assert_false(config.directories.by_default);
    assert_false(config.allow_hosts.by_default);
    assert_string_equal(config.file, path);
    config_done(&config);

    write_config(path, "listen = 127.0.0.1:7470\n"); /* asked for, though it is what the default is */
    load(&config, "--config", path, NULL);
    assert_false(config.listen.by_default);
    config_done(&config);
    write_config(path, "dir = /from-file\ndir = /second\nallow-host = a\n");

    load(&config, "--config", path, "--allow-host=", NULL); /* none is a list too */
    assert_list(&config.directories, "/from-file", "/second", NULL);
    assert_list(&config.allow_hosts, NULL);
    config_done(&config);
    unlink(path);
}

TEST(rules)
{
    struct config config;
    char path[] = CONFIG_TEST_PATH;

    write_config(path, "rule = batch-nightly=2h\nrule = a=b*=250ms\n");
    load(&config, "--config", path, NULL);
    assert_int_equal(config.rules.count, 2);
    assert_string_equal(config.rules.rules[1].glob, "a=b*"); /* in their order, and the last '=' splits */
    assert_int_equal(config.rules.rules[1].threshold_ns, 250000000);
    config_done(&config);
    load(&config, "--config", path, "--rule", "ui-*=1s", NULL); /* the command line's replace the file's */
    assert_int_equal(config.rules.count, 1);
    assert_string_equal(config.rules.rules[0].glob, "ui-*");
    config_done(&config);
    load(&config, "--config", path, "--rule=", NULL);
    assert_int_equal(config.rules.count, 0);
    config_done(&config);
    refuse("--rule: 'worker' is not accepted; expected a name's pattern, '='", "--rule", "worker", NULL);
    refuse("--rule: 'worker=soon' is not accepted; expected a duration such as 250ms", "--rule=worker=soon", NULL);
    write_config(path, "rule = x=1s\nrule = y=1ms\n");
    refuse(":2: rule: 'y=1ms' is not accepted; expected a duration from 10ms to a year", "--config", path, NULL);
    unlink(path);
}

TEST(what_decides_which_ids_stall)
{
    struct scan_settings settings;
    struct config config;

    load(&config, "--interval=200ms", "--stall-after=700ms", "--rule=a=1s", NULL);
    settings = config_settings(&config);
    assert_int_equal(settings.interval_ns, 200000000);
    assert_int_equal(settings.stall_after_ns, 700000000);
    assert_int_equal(settings.hysteresis_ns, 900000000);
    assert_int_equal(settings.rules.count, 1);
    config_done(&config);
}

/* A bad value in the file is a mistake even where the command line outranks it. */
TEST(outranked_is_checked)
{
    char path[] = CONFIG_TEST_PATH;

    write_config(path, "interval = 2\n");
    refuse("interval: '2' is not accepted; expected a duration", "--config", path, "--interval", "1s", NULL);
    unlink(path);
}

TEST(owns_its_strings)
{
    char word[] = "--dir=/a", path[] = CONFIG_TEST_PATH;
    struct config config;

    write_config(path, "allow-host = db1\n");
    load(&config, word, "--config", path, NULL);
    memset(word, 'x', sizeof(word) - 1);
    assert_list(&config.directories, "/a", NULL);
    assert_list(&config.allow_hosts, "db1", NULL);
    config_done(&config);
    config_done(&config); /* nothing is left to give back */
    unlink(path);
}

TEST(reload)
{
    struct config config, fresh = {.interval_ns = 77};
    char path[] = CONFIG_TEST_PATH, error[CONFIG_ERROR_BYTES] = "";

    write_config(path, "stall-after = 9s\ninterval = 3s\n");
    load(&config, "--interval", "2s", "--config", path, NULL);
    write_config(path, "stall-after = 10s\n");
    assert_int_equal(config_load(config.argc, config.argv, &fresh, error), CONFIG_RUN);
    assert_int_equal(fresh.stall_after_ns, 10000000000);
    assert_int_equal(fresh.interval_ns, 2000000000); /* the command line says the same as before */
    assert_int_equal(config.stall_after_ns, 9000000000);
    config_done(&fresh);

    fresh = (struct config){.interval_ns = 77};
    write_config(path, "stall-after = soon\n");
    assert_int_equal(config_load(config.argc, config.argv, &fresh, error), CONFIG_BAD);
    assert_non_null(strstr(error, ":1: stall-after: 'soon' is not accepted"));
    unlink(path);
    assert_int_equal(config_load(config.argc, config.argv, &fresh, error), CONFIG_BAD);
    assert_non_null(strstr(error, "No such file"));
    assert_int_equal(fresh.interval_ns, 77);
    config_done(&config);
}

TEST(check)
{
    struct config config;
    char path[] = CONFIG_TEST_PATH;

    write_config(path, "interval = 2s\n");
    assert_int_equal(ask(&config, "--config", path, "--check-config", "--dir", "/x", NULL), CONFIG_CHECK);
    assert_string_equal(config.file, path);
    config_done(&config);
    assert_int_equal(ask(&config, "--check-config", NULL), CONFIG_CHECK);
    config_done(&config);
    refuse("--interval", "--check-config", "--interval=x", NULL); /* what stands behind it counts too */
    write_config(path, "interval\n");
    refuse(":1: 'interval' is not accepted", "--check-config", "--config", path, NULL);
    unlink(path);
}
