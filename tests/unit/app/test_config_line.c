/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_line.c - the command line of ripd: ripd/app/config.c. */
#include <string.h>

#include "app/config.h"
#include "support/test.h"
#include "unit/config_test.h"

TEST(values)
{
    load("--dir", "/a", "--dir=/b", "--interval=250ms", "--stall-after", "2m", "--listen", "unix:/x",
         "--listen=[::1]:0", "--allow-host", "db1", "--log-level=debug", NULL);
    assert_list(&config.directories, "/a|/b");
    assert_int_equal(config.interval_ns, 250000000);
    assert_int_equal(config.stall_after_ns, 120000000000);
    assert_list(&config.listen, "unix:/x|[::1]:0");
    assert_list(&config.allow_hosts, "db1");
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    load("--rule=a=1s", "--rule", "b=c=2s", "--state-dir=/s", "--on-stall", "logger; true", NULL);
    assert_int_equal(config.rules.count, 2);
    assert_string_equal(config.rules.rules[1].glob, "b=c");
    assert_int_equal(config.rules.rules[1].threshold_ns, 2000000000);
    assert_string_equal(config.state_directory, "/s");
    assert_string_equal(config.on_stall, "logger; true");
    load("--rule=a=1s", "--rule=", "--state-dir=/s", "--state-dir=", "--on-stall=x", "--on-stall=", NULL);
    assert_int_equal(config.rules.count, 0);
    assert_null(config.state_directory);
    assert_null(config.on_stall);
    load("--interval=1s", "--interval=2s", NULL);
    assert_int_equal(config.interval_ns, 2000000000); /* the last value counts */
}

TEST(limits)
{
    char *many[CONFIG_DIRECTORIES_MAX + 3] = {NULL};

    config_done(&config);
    for (size_t i = 0; i <= CONFIG_DIRECTORIES_MAX + 1; i++)
        many[i] = (char *)(uintptr_t) "--dir=/x";
    assert_int_equal(config_load(CONFIG_DIRECTORIES_MAX + 1, many, &config, config_error), CONFIG_RUN);
    assert_int_equal(config.directories.count, CONFIG_DIRECTORIES_MAX);
    assert_int_equal(config_load(CONFIG_DIRECTORIES_MAX + 2, many, &config, config_error), CONFIG_BAD);
    assert_string_equal(config_error, "--dir: '/x' is not accepted; expected fewer values");
}

TEST(refused)
{
    static const struct {
        const char *words; /* separated by '|' */
        const char *part_of_error;
    } cases[] = {
        {"--interval|5", "duration"},
        {"--interval|9ms", "10ms"},
        {"--interval", "needs a value"},
        {"--stall-after=0s", "--stall-after"},
        {"--stall-after=", "--stall-after"},
        {"--colour=red", "--colour"},
        {"stalls", "stalls"},
        {"--help=yes", "no value"},
        {"--check-config=yes", "no value"},
        {"--dir=", "--dir"},
        {"-h", "-h"},
        {"--listen|7470", "ADDR:PORT"},
        {"--log-level|all", "debug"},
        {"--", "--help"},
        {"--listen|127.0.0.1:65536", "numeric"},
        {"--listen|example.org:80", "--listen"},
        {"--listen|unix:", "--listen"},
        {"--listen=", "--listen"},
        {"--allow-host|a b", "--allow-host"},
        {"--allow-host|db1:7470", "without a port"},
        {"--rule|batch-*", "--rule: 'batch-*' is not accepted; expected a name's pattern"},
        {"--rule=a=9ms", "expected a duration from 10ms"},
        {"--state-dir|here", "--state-dir: 'here' is not accepted; expected an absolute path"},
        {"--config=", "expected a file"},
        {"--config", "needs a value"},
        {"--config|/nowhere/ripd.conf", "/nowhere/ripd.conf: No such file"},
        {"--interval|5s\nand \x1b[31mmore", "?[31m"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char words[64], *second = words, *first;

        strcpy(words, cases[i].words);
        first = strsep(&second, "|");
        refuse(cases[i].part_of_error, first, second, NULL);
    }
}

TEST(other_actions)
{
    assert_int_equal(try_load("--help", NULL), CONFIG_SHOW_HELP);
    assert_int_equal(try_load("--version", NULL), CONFIG_SHOW_VERSION);
    assert_int_equal(try_load("--dir", "/x", "--help", "--nonsense", NULL), CONFIG_SHOW_HELP);
    assert_int_equal(try_load("--config", "/nowhere", "--version", NULL), CONFIG_SHOW_VERSION);
}
