/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c - the command line of ripd. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/config.h"

#define WORDS_MAX 200

static enum config_action parse(struct config *config, char *error, const char *const *words)
{
    char *argv[WORDS_MAX] = {(char *)(uintptr_t) "ripd"};
    int argc = 1;

    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    error[0] = '\0';
    return config_parse(argc, argv, config, error);
}

static void test_defaults(void **state)
{
    struct config config;
    char error[CONFIG_ERROR_BYTES];

    (void)state;
    assert_int_equal(parse(&config, error, (const char *const[]){NULL}), CONFIG_RUN);
    assert_int_equal(config.listen_count, 1);
    assert_string_equal(config.listen[0], "127.0.0.1:7470");
    assert_int_equal(config.directory_count, 2);
    assert_string_equal(config.directories[0], "/run/librip");
    assert_string_equal(config.directories[1], "/dev/shm");
    assert_int_equal(config.interval_ns, 1000000000);
    assert_int_equal(config.stall_after_ns, 5000000000);
    assert_int_equal(config.allow_host_count, 0);
}

static void test_values(void **state)
{
    struct config config;
    char error[CONFIG_ERROR_BYTES];

    (void)state;
    assert_int_equal(
        parse(&config, error,
              (const char *const[]){"--dir", "/a", "--dir=/b", "--interval=250ms", "--stall-after", "2m", "--listen",
                                    "unix:/x", "--listen=[::1]:0", "--allow-host", "db1", "--log-level=debug", NULL}),
        CONFIG_RUN);
    assert_int_equal(config.directory_count, 2);
    assert_string_equal(config.directories[1], "/b");
    assert_int_equal(config.interval_ns, 250000000);
    assert_int_equal(config.stall_after_ns, 120000000000);
    assert_int_equal(config.listen_count, 2);
    assert_string_equal(config.allow_hosts[0], "db1");
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
}

static void test_limits(void **state)
{
    const char *words[WORDS_MAX] = {NULL};
    struct config config;
    char error[CONFIG_ERROR_BYTES];

    (void)state;
    for (size_t i = 0; i < CONFIG_DIRECTORIES_MAX; i++)
        words[i] = "--dir=/x";
    assert_int_equal(parse(&config, error, words), CONFIG_RUN);
    words[CONFIG_DIRECTORIES_MAX] = "--dir=/x";
    assert_int_equal(parse(&config, error, words), CONFIG_BAD);
    assert_non_null(strstr(error, "--dir"));
}

static void test_bad(void **state)
{
    static const struct {
        const char *words[3];
        const char *said;
    } cases[] = {
        {{"--interval", "5"}, "duration"},
        {{"--interval", "9ms"}, "10ms"},
        {{"--interval"}, "needs a value"},
        {{"--stall-after=0s"}, "--stall-after"},
        {{"--colour=red"}, "--colour"},
        {{"stalls"}, "stalls"},
        {{"--help=yes"}, "no value"},
        {{"--dir="}, "--dir"},
        {{"-h"}, "-h"},
        {{"--listen", "7470"}, "ADDR:PORT"},
        {{"--log-level", "all"}, "debug"},
        {{"--"}, "--help"},
        {{"--listen", "127.0.0.1:65536"}, "numeric"},
        {{"--listen", "example.org:80"}, "--listen"},
        {{"--listen", "unix:"}, "--listen"},
        {{"--allow-host", "a b"}, "--allow-host"},
        {{"--allow-host", "db1:7470"}, "without a port"},
        {{"--interval", "5s\nand \x1b[31mmore"}, "?[31m"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config config = {.interval_ns = 77};
        char error[CONFIG_ERROR_BYTES];

        assert_int_equal(parse(&config, error, cases[i].words), CONFIG_BAD);
        assert_non_null(strstr(error, cases[i].said));
        assert_null(strchr(error, '\n'));
        assert_int_equal(config.interval_ns, 77);
    }
}

static void test_questions(void **state)
{
    struct config config;
    char error[CONFIG_ERROR_BYTES];

    (void)state;
    assert_int_equal(parse(&config, error, (const char *const[]){"--help", NULL}), CONFIG_SHOW_HELP);
    assert_int_equal(parse(&config, error, (const char *const[]){"--version", NULL}), CONFIG_SHOW_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_values),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_bad),      cmocka_unit_test(test_questions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
