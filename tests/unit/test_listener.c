/* SPDX-License-Identifier: Apache-2.0 */
/* test_listener.c - addresses to listen on, right and wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "unit/http_world.h"

static char *failure(const char *listen, const char *host)
{
    const struct http_options options = {
        .listen = &listen, .listen_count = 1, .allow_hosts = &host, .allow_host_count = host == NULL ? 0 : 1};
    const struct http_source source = {take_question, NULL};
    struct http *http = NULL;
    char *error = NULL;

    assert_true(http_new(&http, &options, &source, &error) < 0);
    assert_null(http);
    assert_non_null(error);
    return error;
}

static void assert_failure(const char *listen, const char *host, const char *expected)
{
    char *error = failure(listen, host);

    if (strstr(error, expected) == NULL)
        fail_msg("%s", error);
    free(error);
}

static void test_addresses(void **state)
{
    static const char *const bad[] = {"",          "7470",          ":7470",         "127.0.0.1",     "127.0.0.1:",
                                      "1.2.3:x",   "1.1.1.1:65536", "::1:7470",      "[::1]",         "[::1]7470",
                                      "[::1:7470", "example.com:1", "127.0.0.1:1:1", "127.0.0.1: 80", "unix:"};
    struct world world;
    char text[128];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        snprintf(text, sizeof(text), "--listen %s: expected ADDR:PORT", bad[i]);
        assert_failure(bad[i], NULL, text);
    }
    assert_failure("127.0.0.1:0", "a b", "--allow-host a b: not a host name");
    assert_failure("203.0.113.7:1", NULL, "--listen 203.0.113.7:1: Cannot assign requested address");
    world_make(&world, "localhost:0");
    assert_memory_equal(world.address, "http://127.0.0.1:", 17);
    assert_null(http_address(world.http, 1));
    snprintf(text, sizeof(text), "--listen %s: Address already in use", world.address + 7);
    assert_failure(world.address + 7, NULL, text);
    http_free(world.http); /* never started */
}

static void test_unix_socket(void **state)
{
    char directory[] = "/tmp/ripd-test-XXXXXX";
    char listen[64];
    struct world world;
    struct stat facts;
    int stale;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(listen, sizeof(listen), "unix:%s/s", directory);
    for (int round = 0; round < 2; round++) { /* the second finds a socket file that nobody listens on */
        world_make(&world, listen);
        assert_int_equal(http_start(world.http), 0);
        assert_string_equal(world.address, listen);
        assert_int_equal(stat(listen + 5, &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0666);
        assert_int_equal(ask(&world, "GET /healthz HTTP/1.1\r\nHost: whatever\r\n\r\n"), 200);
        assert_int_equal(ask(&world, "GET /healthz HTTP/1.1\r\n\r\n"), 400);
        assert_failure(listen, NULL, "Address already in use");
        world_close(&world);
        assert_int_equal(stat(listen + 5, &facts), -1);
        if (round == 0) {
            struct sockaddr_un name = {.sun_family = AF_UNIX};

            memcpy(name.sun_path, listen + 5, strlen(listen + 5) + 1);
            stale = socket(AF_UNIX, SOCK_STREAM, 0);
            assert_int_equal(bind(stale, (struct sockaddr *)&name, sizeof(name)), 0);
            close(stale);
        }
    }
    fclose(fopen(listen + 5, "w"));
    assert_failure(listen, NULL, "File exists");
    assert_int_equal(stat(listen + 5, &facts), 0);
    unlink(listen + 5);
    rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_unix_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
