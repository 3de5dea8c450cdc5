/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener.c - makes listening sockets. Dull: it does not decide who may connect.
 *
 * Addresses are numeric, so that listening does not depend on a name server. "localhost" is 127.0.0.1.
 */
#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define UNIX_PREFIX "unix:"
#define SOCKET_FILE_MODE 0666 /* as open as a loopback port; the directory may restrict it */

/* Splits "ADDR:PORT" or "[ADDR6]:PORT". Returns 0 or -EINVAL. */
static int split_address(const char *text, char *ret_host, size_t host_capacity, const char **ret_port)
{
    bool bracketed = text[0] == '[';
    const char *first = bracketed ? text + 1 : text;
    const char *end = bracketed ? strchr(first, ']') : strrchr(first, ':');
    const char *colon = end != NULL && bracketed ? end + 1 : end;
    size_t length = end == NULL ? 0 : (size_t)(end - first);
    size_t digits;

    if (length == 0 || length >= host_capacity || *colon != ':' || (!bracketed && memchr(first, ':', length) != NULL))
        return -EINVAL;
    digits = strspn(colon + 1, "0123456789");
    if (digits == 0 || digits > 5 || colon[1 + digits] != '\0' || atoi(colon + 1) > 65535)
        return -EINVAL;
    memcpy(ret_host, first, length);
    ret_host[length] = '\0';
    if (!bracketed && strcmp(ret_host, "localhost") == 0)
        memcpy(ret_host, "127.0.0.1", sizeof("127.0.0.1"));
    *ret_port = colon + 1;
    return 0;
}

static int set_option(int descriptor, int level, int option)
{
    int on = 1;

    return setsockopt(descriptor, level, option, &on, sizeof(on)) < 0 ? -errno : 0;
}

static int parse_inet(const char *text, struct addrinfo **ret_found)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    char host[NI_MAXHOST];
    const char *port;
    int status = split_address(text, host, sizeof(host), &port);

    if (status == 0 && getaddrinfo(host, port, &hints, ret_found) != 0)
        status = -EINVAL;
    return status;
}

bool listener_address_valid(const char *text)
{
    size_t prefix_bytes = strlen(UNIX_PREFIX), length = strlen(text);
    struct addrinfo *found = NULL;

    if (strncmp(text, UNIX_PREFIX, prefix_bytes) == 0)
        return length > prefix_bytes && length - prefix_bytes < sizeof(((struct sockaddr_un *)NULL)->sun_path);
    if (parse_inet(text, &found) != 0)
        return false;
    freeaddrinfo(found);
    return true;
}

/* Fills in the address from the kernel: port 0 has become a real one. Returns 0 or -errno. */
static int describe_inet(struct listener *listener)
{
    struct sockaddr_storage storage = {0};
    struct sockaddr *address = (struct sockaddr *)&storage;
    socklen_t length = sizeof(storage);
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    bool ipv6;
    bool wildcard;

    if (getsockname(listener->descriptor, address, &length) < 0)
        return -errno;
    if (getnameinfo(address, length, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -EINVAL;
    ipv6 = address->sa_family == AF_INET6;
    wildcard = strcmp(host, ipv6 ? "::" : "0.0.0.0") == 0;
    snprintf(listener->address, sizeof(listener->address), ipv6 ? "http://[%.80s]:%.8s" : "http://%.80s:%.8s", host,
             port);
    snprintf(listener->literal, sizeof(listener->literal), "%.80s", wildcard ? "" : host);
    return 0;
}

static int open_inet(struct listener *listener, const char *text)
{
    struct addrinfo *found = NULL;
    int status = parse_inet(text, &found);

    if (status < 0)
        return status;
    listener->descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->descriptor < 0) {
        status = -errno;
        goto done;
    }
    status = set_option(listener->descriptor, SOL_SOCKET, SO_REUSEADDR);
    if (status == 0) /* accepted sockets inherit it: answers must not wait for acknowledgements */
        status = set_option(listener->descriptor, IPPROTO_TCP, TCP_NODELAY);
    if (status == 0 && found->ai_family == AF_INET6) /* so that 0.0.0.0 and [::] can both be bound */
        status = set_option(listener->descriptor, IPPROTO_IPV6, IPV6_V6ONLY);
    if (status == 0 && (bind(listener->descriptor, found->ai_addr, found->ai_addrlen) < 0 ||
                        listen(listener->descriptor, SOMAXCONN) < 0))
        status = -errno;
    if (status == 0)
        status = describe_inet(listener);
done:
    freeaddrinfo(found);
    return status;
}

/* Removes a socket file if nobody listens on it. Returns 0 if the path is free, otherwise -errno. */
static int remove_stale(const struct sockaddr_un *address)
{
    struct stat facts;
    int descriptor;
    int status = 0;

    if (lstat(address->sun_path, &facts) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(facts.st_mode))
        return -EEXIST;
    descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -errno;
    if (connect(descriptor, (const struct sockaddr *)address, sizeof(*address)) == 0)
        status = -EADDRINUSE;
    else if (errno != ECONNREFUSED)
        status = errno == EAGAIN ? -EADDRINUSE : -errno;
    else if (unlink(address->sun_path) < 0 && errno != ENOENT)
        status = -errno;
    close(descriptor);
    return status;
}

static int open_unix(struct listener *listener, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat facts;
    int status;

    if (path[0] == '\0')
        return -EINVAL;
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    listener->is_unix = true;
    snprintf(listener->address, sizeof(listener->address), UNIX_PREFIX "%.107s", path);
    status = remove_stale(&address);
    if (status < 0)
        return status;
    listener->descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->descriptor < 0 || bind(listener->descriptor, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    if (lstat(path, &facts) == 0) {
        listener->file_device = facts.st_dev;
        listener->file_inode = facts.st_ino;
    }
    if (chmod(path, SOCKET_FILE_MODE) < 0 || listen(listener->descriptor, SOMAXCONN) < 0)
        return -errno;
    return 0;
}

int listener_open(struct listener *ret_listener, const char *text)
{
    struct listener listener = {.descriptor = -1};
    bool is_unix = strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0;
    int status;

    status = is_unix ? open_unix(&listener, text + strlen(UNIX_PREFIX)) : open_inet(&listener, text);
    if (status < 0) {
        listener_close(&listener);
        return status;
    }
    *ret_listener = listener;
    return 0;
}

static int option_of(int descriptor, int option)
{
    socklen_t length = sizeof(int);
    int value = 0;

    return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) < 0 ? -errno : value;
}

/* "unix:/run/ripd.sock", or "unix:@name" for an abstract one. */
static int describe_unix(struct listener *listener)
{
    struct sockaddr_un address = {0};
    socklen_t length = sizeof(address);
    const char *path = address.sun_path;
    int path_bytes;
    bool abstract;

    if (getsockname(listener->descriptor, (struct sockaddr *)&address, &length) < 0)
        return -errno;
    path_bytes = (int)length - (int)offsetof(struct sockaddr_un, sun_path);
    abstract = path_bytes > 1 && path[0] == '\0';
    listener->is_unix = true;
    snprintf(listener->address, sizeof(listener->address), UNIX_PREFIX "%s%.*s", abstract ? "@" : "",
             path_bytes > abstract ? path_bytes - abstract : 0, path + abstract);
    return 0;
}

/* Returns why the descriptor cannot be listened on, or NULL if it can. */
static const char *unfit(int descriptor, int family)
{
    if (family == -EBADF)
        return "is not open";
    if (family < 0)
        return "is not a socket";
    if (family != AF_INET && family != AF_INET6 && family != AF_UNIX)
        return "is not of the family inet, inet6 or unix";
    if (option_of(descriptor, SO_TYPE) != SOCK_STREAM)
        return "is not a stream socket";
    if (option_of(descriptor, SO_ACCEPTCONN) != 1)
        return "does not listen";
    return NULL;
}

int listener_adopt(struct listener *ret_listener, int descriptor, const char **ret_reason)
{
    struct listener listener = {.descriptor = descriptor};
    int family = option_of(descriptor, SO_DOMAIN);
    const char *reason = unfit(descriptor, family);
    int flags = reason == NULL ? fcntl(descriptor, F_GETFL) : -1;

    if (reason != NULL) {
        *ret_reason = reason;
        return -EINVAL;
    }
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0 ||
        (family != AF_UNIX && set_option(descriptor, IPPROTO_TCP, TCP_NODELAY) < 0) ||
        (family == AF_UNIX ? describe_unix(&listener) : describe_inet(&listener)) < 0) {
        *ret_reason = "cannot be used";
        return -EINVAL;
    }
    *ret_listener = listener;
    return 0;
}

void listener_close(struct listener *listener)
{
    const char *path = listener->address + strlen(UNIX_PREFIX);
    struct stat facts;

    if (listener->file_inode != 0 && lstat(path, &facts) == 0 && S_ISSOCK(facts.st_mode) &&
        facts.st_dev == listener->file_device && facts.st_ino == listener->file_inode)
        unlink(path);
    if (listener->descriptor >= 0)
        close(listener->descriptor);
    listener->descriptor = -1;
    listener->file_inode = 0;
}
