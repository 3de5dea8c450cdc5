/* SPDX-License-Identifier: Apache-2.0 */
/* test_listener.c - addresses to listen on, right and wrong. */
#include <stdbool.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/listener.h"
#include "support/test.h"
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

TEST(addresses)
{
    static const char *const bad[] = {"",          "7470",          ":7470",         "127.0.0.1",     "127.0.0.1:",
                                      "1.2.3:x",   "1.1.1.1:65536", "::1:7470",      "[::1]",         "[::1]7470",
                                      "[::1:7470", "example.com:1", "127.0.0.1:1:1", "127.0.0.1: 80", "unix:"};
    struct world world;
    char text[128];

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        snprintf(text, sizeof(text), "--listen %s: expected ADDR:PORT", bad[i]);
        assert_failure(bad[i], NULL, text);
    }
    assert_failure("203.0.113.7:1", NULL, "--listen 203.0.113.7:1: Cannot assign requested address");
    world_make(&world, "localhost:0");
    assert_memory_equal(world.address, "http://127.0.0.1:", 17);
    assert_null(http_address(world.http, 1));
    snprintf(text, sizeof(text), "--listen %s: Address already in use", world.address + 7);
    assert_failure(world.address + 7, NULL, text);
    http_free(world.http); /* never started */
}

TEST(unix_socket)
{
    char directory[] = "/tmp/ripd-test-XXXXXX";
    char listen[64];
    struct world world;
    struct stat facts;
    int stale;

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

static int bound(int family, int type, const void *address, socklen_t length)
{
    int descriptor = socket(family, type, 0);

    assert_true(descriptor >= 0);
    assert_int_equal(bind(descriptor, address, length), 0);
    return descriptor;
}

static void assert_unfit(int descriptor, const char *expected)
{
    struct listener listener;
    const char *reason = NULL;

    assert_int_equal(listener_adopt(&listener, descriptor, &reason), -EINVAL);
    assert_string_equal(reason, expected);
    close(descriptor);
}

TEST(passed_sockets_that_are_none)
{
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_un nameless = {.sun_family = AF_UNIX};
    int ends[2];

    assert_unfit(-1, "is not open");
    assert_unfit(open("/dev/null", O_RDWR), "is not a socket");
    assert_unfit(bound(AF_INET, SOCK_DGRAM, &address, sizeof(address)), "is not a stream socket");
    assert_unfit(bound(AF_UNIX, SOCK_SEQPACKET, &nameless, sizeof(sa_family_t)), "is not a stream socket");
    assert_unfit(bound(AF_INET, SOCK_STREAM, &address, sizeof(address)), "does not listen");
    assert_unfit(socket(AF_NETLINK, SOCK_RAW, 0), "is not of the family inet, inet6 or unix");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0); /* a connection, not a listener */
    assert_unfit(ends[0], "does not listen");
    close(ends[1]);
}

/* A server on a socket that was passed to it: the same address, the same rules. */
static void serve_passed(struct world *world, int descriptor)
{
    const struct http_passed passed = {descriptor, "http"};
    const struct http_options options = {.passed = &passed, .passed_count = 1};
    const struct http_source source = {take_question, world};
    char *error = NULL;

    assert_int_equal(listen(descriptor, 16), 0);
    memset(world, 0, sizeof(*world));
    pthread_mutex_init(&world->mutex, NULL);
    if (http_new(&world->http, &options, &source, &error) < 0)
        fail_msg("%s", error);
    world->address = http_address(world->http, 0);
    assert_null(http_address(world->http, 1));
    assert_true(fcntl(descriptor, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(descriptor, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(http_start(world->http), 0);
}

TEST(passed_inet)
{
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    int descriptor = bound(AF_INET, SOCK_STREAM, &address, sizeof(address));
    struct world world;

    serve_passed(&world, descriptor);
    assert_memory_equal(world.address, "http://127.0.0.1:", 17);
    assert_int_equal(ask(&world, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), 200);
    assert_int_equal(ask(&world, "GET /healthz HTTP/1.1\r\nHost: example.com\r\n\r\n"), 421);
    world_close(&world);
    assert_int_equal(fcntl(descriptor, F_GETFD), -1); /* closed with it */

    descriptor = socket(AF_INET6, SOCK_STREAM, 0);
    if (descriptor < 0 || bind(descriptor, (const struct sockaddr *)&any, sizeof(any)) < 0)
        skip(); /* no IPv6 here */
    serve_passed(&world, descriptor);
    assert_memory_equal(world.address, "http://[::]:", 12);
    world_close(&world);
}

/* The socket file is the manager's. */
TEST(passed_unix)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char directory[] = "/tmp/ripd-test-XXXXXX", listen_text[64];
    struct world world;
    struct stat facts;

    assert_non_null(mkdtemp(directory));
    snprintf(listen_text, sizeof(listen_text), "unix:%s/s", directory);
    strcpy(name.sun_path, listen_text + 5);
    serve_passed(&world, bound(AF_UNIX, SOCK_STREAM, &name, sizeof(name)));
    assert_string_equal(world.address, listen_text);
    assert_int_equal(ask(&world, "GET /healthz HTTP/1.1\r\nHost: whatever\r\n\r\n"), 200);
    world_close(&world);
    assert_int_equal(stat(name.sun_path, &facts), 0);
    unlink(name.sun_path);
    rmdir(directory);

    memset(name.sun_path, 0, sizeof(name.sun_path)); /* a name of every byte there is room for, without a terminator */
    memset(name.sun_path + 1, 'r', sizeof(name.sun_path) - 1);
    serve_passed(&world, bound(AF_UNIX, SOCK_STREAM, &name, sizeof(name)));
    assert_memory_equal(world.address, "unix:@rrr", 9);
    assert_int_equal(strlen(world.address), 5 + sizeof(name.sun_path));
    world_close(&world);
}

TEST(passed_rubbish_is_named)
{
    const struct http_passed passed = {open("/dev/null", O_RDWR), "stored"};
    const struct http_options options = {.passed = &passed, .passed_count = 1};
    const struct http_source source = {take_question, NULL};
    struct http *http = NULL;
    char *error = NULL, expected[128];

    assert_true(http_new(&http, &options, &source, &error) < 0);
    snprintf(expected, sizeof(expected),
             "LISTEN_FDS: descriptor %d (stored) is not a socket; expected a stream socket that listens",
             passed.descriptor);
    assert_string_equal(error, expected);
    free(error);
    close(passed.descriptor);
}
