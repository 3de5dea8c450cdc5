/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_config.c - any bytes as a configuration file: accepted within limits, or refused with one printable line. */
#include <stdlib.h>
#include <string.h>

#include "app/config_option.h"
#include "fuzz.h"

static void check_list(const struct config_list *list, size_t max)
{
    require(list->count <= max);
    for (size_t i = 0; i < list->count; i++)
        require(list->items[i][0] != '\0' && strpbrk(list->items[i], "\r\n") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct config config = {.interval_ns = 1000000000, .stall_after_ns = 5000000000};
    char error[CONFIG_ERROR_BYTES] = "";

    if (config_file_parse("file", (const char *)bytes, size_bytes, &config, error) == 0) {
        require(error[0] == '\0');
        require(config.interval_ns >= 10000000 && config.stall_after_ns >= 10000000);
    } else {
        require(strncmp(error, "file", 4) == 0 && strstr(error, "expected") != NULL);
        for (const char *at = error; *at != '\0'; at++)
            require(*at >= 0x20 && *at < 0x7f);
    }
    check_list(&config.listen, CONFIG_LISTEN_MAX);
    check_list(&config.directories, CONFIG_DIRECTORIES_MAX);
    check_list(&config.allow_hosts, CONFIG_HOSTS_MAX);
    require(config.rules.count <= RULES_MAX);
    require(config.state_directory == NULL || config.state_directory[0] == '/');
    config_done(&config);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "# ripd\n[ripd]\nlisten = 127.0.0.1:7470\nlisten = unix:/run/ripd.sock\ndir = /run/librip\n",
        "interval = 1s\nstall-after = 5s\nallow-host = db1\nallow-host =\nlog-level = debug\n",
        "\xef\xbb\xbfinterval = 250ms\r\n; comment\r\n  dir = /a ; b\r\n",
        "rule = batch-*=10m\nrule = rpc-[0-9]=1s\nstate-dir = /var/lib/ripd\non-stall = logger ; true\n",
        "stall-after: 5s\n  continued\n[other]\nkey\n= value\n",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
