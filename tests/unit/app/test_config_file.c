/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_file.c - the configuration file: what is accepted, and one line with its place for each mistake. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/config_option.h"
#include "support/guarded_copy.h"
#include "support/test.h"
#include "unit/config_test.h"

static int parse(const char *bytes, size_t length)
{
    config_done(&config);
    config = (struct config){0};
    config_error[0] = '\0';
    return config_file_parse("c", bytes, length, &config, config_error);
}

static void accept_text(const char *text)
{
    if (parse(text, strlen(text)) < 0)
        fail_msg("not accepted: %s", config_error);
}

static void refuse_bytes(const char *bytes, size_t length, const char *error)
{
    assert_int_equal(parse(bytes, length), -EINVAL);
    assert_string_equal(config_error, error);
}

TEST(forms)
{
    accept_text("# a comment\n; another\n\n   \t \n  # indented\nstall-after=5s\n\tinterval \t=   2s  \r\n"
                "dir = /a b = c ; d # e\ndir =/b\nlog-level= debug");
    assert_int_equal(config.stall_after_ns, 5000000000);
    assert_int_equal(config.interval_ns, 2000000000);
    assert_list(&config.directories, "/a b = c ; d # e|/b"); /* a value is everything after the '=' */
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    accept_text("interval = 3s\n[ripd]\nstall-after = 6s\n [ripd] \nlisten = unix:/x\n");
    assert_int_equal(config.interval_ns, 3000000000);
    assert_int_equal(config.stall_after_ns, 6000000000);
    assert_list(&config.listen, "unix:/x");
    accept_text("rule = a=1s\nrule = b ; c=2s\non-stall = logger -t x ; true # y\nstate-dir = /s\n");
    assert_int_equal(config.rules.count, 2);
    assert_string_equal(config.rules.rules[1].glob, "b ; c");
    assert_string_equal(config.on_stall, "logger -t x ; true # y");
    assert_string_equal(config.state_directory, "/s");
    accept_text("\xef\xbb\xbfinterval = 4s\n");
    assert_int_equal(config.interval_ns, 4000000000);
    accept_text("");
    accept_text("\n");
    accept_text("dir = /\xc3\xa4\xff\n"); /* a path may have any bytes */
    assert_list(&config.directories, "/\xc3\xa4\xff");
}

TEST(mistakes)
{
#define LINE_FORM "KEY = VALUE, [ripd], or a comment that begins with # or ;"
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"interval = 5\n", "c:1: interval: '5' is not accepted; expected a duration such as 250ms, 5s, 2m, 1h"},
        {"\n\ninterval = 5s ; so often\n",
         "c:3: interval: '5s ; so often' is not accepted; expected a duration such as 250ms, 5s, 2m, 1h"},
        {"interval = \"5s\"\n",
         "c:1: interval: '\"5s\"' is not accepted; expected a duration such as 250ms, 5s, 2m, 1h"},
        {"interval =\n", "c:1: interval: '' is not accepted; expected a duration such as 250ms, 5s, 2m, 1h"},
        {"interval = 1s\ndir = /a\ninterval = 2s", "c:3: interval: '2s' is not accepted; expected the key once"},
        {"on-stall = a\non-stall = b\n", "c:2: on-stall: 'b' is not accepted; expected the key once"},
        {"state-dir = var\n", "c:1: state-dir: 'var' is not accepted; expected an absolute path"},
        {"rule = a=1s\nrule = 1s\n",
         "c:2: rule: '1s' is not accepted; expected a name's pattern, '=' and a duration, such as batch-*=10m"},
        {"dir =\n", "c:1: dir: '' is not accepted; expected a directory"},
        {"interval\n", "c:1: 'interval' is not accepted; expected " LINE_FORM},
        {"interval: 5s\n", "c:1: 'interval: 5s' is not accepted; expected " LINE_FORM},
        {"interval: a=5s\n", "c:1: 'interval: a=5s' is not accepted; expected " LINE_FORM},
        {"dir = /a\n  /b\n", "c:2: '/b' is not accepted; expected " LINE_FORM},
        {"= 5s\n", "c:1: '= 5s' is not accepted; expected " LINE_FORM},
        {"[daemon]\n", "c:1: '[daemon]' is not accepted; expected [ripd], or keys before any section"},
        {"[ripd\n", "c:1: '[ripd' is not accepted; expected [ripd], or keys before any section"},
        {"[]\n", "c:1: '[]' is not accepted; expected [ripd], or keys before any section"},
        {"[ripd] interval = 5s\n",
         "c:1: '[ripd] interval = 5s' is not accepted; expected [ripd], or keys before any section"},
        {"x = 1\ninterval = 5\n", "c:1: x: the key is not known; expected one of"}, /* the first mistake is reported */
        {"--interval = 5s\n", "c:1: --interval: the key is not known; expected one of"},
        {"Interval = 5s\n", "c:1: Interval: the key is not known; expected one of"},
        {"config = /etc/x\n", "c:1: config: the key is not known; expected one of"},
        {"check-config = yes\n", "c:1: check-config: the key is not known; expected one of"},
        {"version = 1\n", "c:1: version: the key is not known; expected one of"},
        {"interval = \x01\n", "c:1: a control byte is in the line; expected text"},
        {"interval = 5s\rdir = /x\n", "c:1: a control byte is in the line; expected text"},
        {"a\x7f = 1\n", "c:1: a control byte is in the line; expected text"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *error = cases[i].error, *list_of_keys = strstr(error, "expected one of");

        assert_int_equal(parse(cases[i].text, strlen(cases[i].text)), -EINVAL);
        if (list_of_keys != NULL ? strncmp(config_error, error, strlen(error)) != 0 : strcmp(config_error, error) != 0)
            fail_msg("%s, expected: %s", config_error, error);
    }
    refuse_bytes("a\0b = c\n", 8, "c:1: a control byte is in the line; expected text");
    refuse_bytes("\n\x7f"
                 "ELF\2\1\1\0\0",
                 10, "c:2: a control byte is in the line; expected text");
}

TEST(long_lines)
{
    static char text[CONFIG_LINE_BYTES_MAX + 100];
    size_t longest = CONFIG_LINE_BYTES_MAX;

    memset(text, 'd', sizeof(text));
    memcpy(text, "dir = /", 7);
    refuse_bytes(text, longest + 1, "c:1: the line has 4094 bytes; expected at most 4093");
    text[longest] = '\0';
    accept_text(text);
    assert_int_equal(strlen(config.directories.items[0]), longest - 6);
}

TEST(too_many_values)
{
    static char text[CONFIG_DIRECTORIES_MAX * 20];

    for (size_t i = 0; i <= CONFIG_DIRECTORIES_MAX; i++)
        strcat(text, "dir = /a\n");
    refuse_bytes(text, strlen(text), "c:65: dir: '/a' is not accepted; expected fewer values");
}

/* No byte behind the text is read. */
TEST(guard_page)
{
    static const char *const texts[] = {"interval = 2s", "[ripd]", "#", "\xef\xbb\xbf",
                                        "\xef\xbb",      "dir =",  "x", " \r"};

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        for (size_t length = 0; length <= strlen(texts[i]); length++) {
            struct guarded_copy copy;

            guarded_copy_new(&copy, texts[i], length);
            (void)parse((const char *)copy.bytes, length);
            guarded_copy_free(&copy);
        }
}

TEST(files, NULL, remove_config)
{
    static char bytes[CONFIG_FILE_BYTES_MAX + 1];
    char directory[] = "/tmp/ripd-config-XXXXXX";

    memset(bytes, '\n', sizeof(bytes));
    write_bytes(bytes, CONFIG_FILE_BYTES_MAX);
    load("--config", config_path, NULL);
    write_bytes(bytes, CONFIG_FILE_BYTES_MAX + 1);
    refuse(": too large; expected at most 65536 bytes", "--config", config_path, NULL);
    unlink(config_path);
    refuse("--config: /", "--config", config_path, NULL);
    refuse("No such file or directory; expected a file that can be read", "--config", config_path, NULL);
    assert_int_equal(mkfifo(config_path, 0600), 0);
    refuse(": not a file; expected a regular file", "--config", config_path, NULL); /* does not block */
    assert_non_null(mkdtemp(directory));
    refuse(": not a file; expected a regular file", "--config", directory, NULL);
    rmdir(directory);
    refuse(": not a file; expected a regular file", "--config", "/dev/null", NULL);
    refuse("expected", "--config", "/proc/self/exe", NULL);
    memset(bytes, 'x', sizeof(bytes) - 1);
    bytes[sizeof(bytes) - 1] = '\0';
    refuse("File name too long", "--config", bytes, NULL);
}

TEST(not_readable, NULL, remove_config)
{
    bool is_root = geteuid() == 0;

    write_config("interval = 1s\n");
    chmod(config_path, 0);
    if (is_root) /* root can read every file */
        assert_int_equal(seteuid(65534), 0);
    refuse("Permission denied; expected a file that can be read", "--config", config_path, NULL);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
}
