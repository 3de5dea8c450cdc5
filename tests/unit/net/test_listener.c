/* SPDX-License-Identifier: Apache-2.0 */
/* test_listener.c - addresses to listen on and sockets that are passed, right and wrong: ripd/net/listener.c. */
#include <stdbool.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/listener.h"
#include "support/test.h"
#include "unit/http_world.h"

static void assert_failure(const struct http_options *options, const char *expected)
{
    const struct http_source source = {take_query, NULL};
    struct http *http = NULL;
    char *error = NULL;

    assert_true(http_new(&http, options, &source, &error) < 0);
    assert_null(http);
    assert_non_null(error);
    if (strstr(error, expected) == NULL)
        fail_msg("%s, expected: %s", error, expected);
    free(error);
}

static void assert_cannot_listen(const char *listen, const char *expected)
{
    char text[160];

    snprintf(text, sizeof(text), "--listen %s: %s", listen, expected);
    assert_failure(&(struct http_options){.listen = &listen, .listen_count = 1}, text);
}

TEST(addresses)
{
    static const char *const bad[] = {"",          "7470",          ":7470",         "127.0.0.1",     "127.0.0.1:",
                                      "1.2.3:x",   "1.1.1.1:65536", "::1:7470",      "[::1]",         "[::1]7470",
                                      "[::1:7470", "example.com:1", "127.0.0.1:1:1", "127.0.0.1: 80", "unix:"};

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_cannot_listen(bad[i], "expected ADDR:PORT");
    assert_cannot_listen("203.0.113.7:1", "Cannot assign requested address");
    world_new_at("localhost:0");
    assert_memory_equal(world.address, "http://127.0.0.1:", 17);
    assert_null(http_address(world.http, 1));
    assert_cannot_listen(world.address + 7, "Address already in use");
    http_free(world.http); /* never started */
}

/* A socket file in a new directory. */
static char directory[64], listen_text[80];
static struct sockaddr_un socket_name;

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/ripd-test-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(listen_text, sizeof(listen_text), "unix:%s/s", directory);
    socket_name = (struct sockaddr_un){.sun_family = AF_UNIX};
    strcpy(socket_name.sun_path, listen_text + 5);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

static int bound(int family, int type, const void *address, socklen_t length)
{
    int descriptor = socket(family, type, 0);

    assert_true(descriptor >= 0);
    assert_int_equal(bind(descriptor, address, length), 0);
    return descriptor;
}

TEST(unix_socket, make_directory, remove_directory)
{
    struct stat facts;

    for (int round = 0; round < 2; round++) { /* the second finds a socket file on which nothing listens */
        world_new_at(listen_text);
        world_start(NULL);
        assert_string_equal(world.address, listen_text);
        assert_int_equal(stat(socket_name.sun_path, &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0666);
        assert_int_equal(fetch("GET /healthz HTTP/1.1\r\nHost: whatever\r\n\r\n"), 200);
        assert_int_equal(fetch("GET /healthz HTTP/1.1\r\n\r\n"), 400);
        assert_cannot_listen(listen_text, "Address already in use");
        world_close();
        assert_int_equal(stat(socket_name.sun_path, &facts), -1);
        if (round == 0)
            close(bound(AF_UNIX, SOCK_STREAM, &socket_name, sizeof(socket_name)));
    }
    unlink(socket_name.sun_path);
    fclose(fopen(socket_name.sun_path, "w")); /* a file that is no socket stays */
    assert_cannot_listen(listen_text, "File exists");
    assert_int_equal(unlink(socket_name.sun_path), 0);
}

static int bound_inet(int type)
{
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    return bound(AF_INET, type, &address, sizeof(address));
}

static void assert_unfit(int descriptor, const char *expected)
{
    struct listener listener;
    const char *reason = NULL;

    assert_int_equal(listener_adopt(&listener, descriptor, &reason), -EINVAL);
    assert_string_equal(reason, expected);
    close(descriptor);
}

TEST(passed_descriptors_that_do_not_listen)
{
    const struct sockaddr_un nameless = {.sun_family = AF_UNIX};
    int ends[2];

    assert_unfit(-1, "is not open");
    assert_unfit(open("/dev/null", O_RDWR), "is not a socket");
    assert_unfit(bound_inet(SOCK_DGRAM), "is not a stream socket");
    assert_unfit(bound(AF_UNIX, SOCK_SEQPACKET, &nameless, sizeof(sa_family_t)), "is not a stream socket");
    assert_unfit(bound_inet(SOCK_STREAM), "does not listen");
    assert_unfit(socket(AF_NETLINK, SOCK_RAW, 0), "is not of the family inet, inet6 or unix");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0); /* a connection, not a listener */
    assert_unfit(ends[0], "does not listen");
    close(ends[1]);
}

/* A server on a socket that was passed to it: the address of the socket, the usual rules. */
static void serve_passed(int descriptor)
{
    const struct http_passed passed = {descriptor, "http"};

    assert_int_equal(listen(descriptor, 16), 0);
    world_new(&(struct http_options){.passed = &passed, .passed_count = 1});
    assert_null(http_address(world.http, 1));
    assert_true(fcntl(descriptor, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(descriptor, F_GETFD) & FD_CLOEXEC);
    world_start(NULL);
}

TEST(passed_inet)
{
    int descriptor = bound_inet(SOCK_STREAM);

    serve_passed(descriptor);
    assert_memory_equal(world.address, "http://127.0.0.1:", 17);
    assert_int_equal(fetch("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), 200);
    assert_int_equal(fetch("GET /healthz HTTP/1.1\r\nHost: example.com\r\n\r\n"), 421);
    world_close();
    assert_int_equal(fcntl(descriptor, F_GETFD), -1); /* closed with the server */
}

TEST(passed_inet6)
{
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    int descriptor = socket(AF_INET6, SOCK_STREAM, 0);

    if (descriptor < 0 || bind(descriptor, (const struct sockaddr *)&any, sizeof(any)) < 0)
        skip(); /* no IPv6 here */
    serve_passed(descriptor);
    assert_memory_equal(world.address, "http://[::]:", 12);
    world_close();
}

/* The socket file belongs to the service manager. */
TEST(passed_unix, make_directory, remove_directory)
{
    serve_passed(bound(AF_UNIX, SOCK_STREAM, &socket_name, sizeof(socket_name)));
    assert_string_equal(world.address, listen_text);
    assert_int_equal(fetch("GET /healthz HTTP/1.1\r\nHost: whatever\r\n\r\n"), 200);
    world_close();
    assert_int_equal(unlink(socket_name.sun_path), 0);
}

/* An abstract name of the greatest length, which has no terminator. */
TEST(passed_abstract)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    memset(name.sun_path + 1, 'r', sizeof(name.sun_path) - 1);
    serve_passed(bound(AF_UNIX, SOCK_STREAM, &name, sizeof(name)));
    assert_memory_equal(world.address, "unix:@rrr", 9);
    assert_int_equal(strlen(world.address), 5 + sizeof(name.sun_path));
    world_close();
}

TEST(the_error_names_a_passed_descriptor_that_is_no_socket)
{
    const struct http_passed passed = {open("/dev/null", O_RDWR), "stored"};
    char expected[128];

    snprintf(expected, sizeof(expected),
             "LISTEN_FDS: descriptor %d (stored) is not a socket; expected a stream socket that listens",
             passed.descriptor);
    assert_failure(&(struct http_options){.passed = &passed, .passed_count = 1}, expected);
    close(passed.descriptor);
}
