/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_net.c - reads socket tables, one line at a time. Touches files below the given descriptor.
 *
 * Guarantees
 *   1. Memory is constant, however long a table is. The visitor decides when to stop, and the caller may continue
 *      later.
 *   2. The parser reads nothing beyond the terminator. On failure its output is untouched.
 */
#include "os/proc_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/proc.h"
#include "os/proc_thread.h"
#include "util/array.h"
#include "util/text.h"

enum { CHUNK_BYTES = 16384 };
enum { UNIX_FLAG_LISTENS = 1 << 16, UNIX_UNCONNECTED = 1 }; /* the kernel's __SO_ACCEPTCON, SS_UNCONNECTED */

static const char *const kind_names[PROC_SOCKET_KIND_COUNT] = {
    [PROC_SOCKET_TCP] = "tcp",   [PROC_SOCKET_TCP6] = "tcp6", [PROC_SOCKET_UDP] = "udp",
    [PROC_SOCKET_UDP6] = "udp6", [PROC_SOCKET_UNIX] = "unix",
};

const char *proc_socket_kind_name(enum proc_socket_kind kind)
{
    return kind_names[kind];
}

int proc_network_namespace(int proc, uint32_t pid, uint64_t *ret_inode)
{
    char text[PROC_HELD_BYTES];
    int result = proc_read_held(proc, pid, pid, PROC_HELD_NETWORK, text);

    return result != 0 ? result : proc_link_inode(text, "net", ret_inode) ? 0 : -EINVAL;
}

/* Lines ------------------------------------------------------------------------------------------------------------ */

/* Parses an address as the kernel prints it: words in host byte order, in hexadecimal, and the port. */
static const char *parse_address(const char *text, size_t words, struct proc_address *ret_address)
{
    uint64_t port;

    if (text == NULL)
        return NULL;
    text = text_skip_blanks(text);
    for (size_t i = 0; i < words; i++) {
        char digits[9] = "";
        uint64_t value;
        uint32_t word;

        for (size_t at = 0; at < 8 && text[at] != '\0'; at++)
            digits[at] = text[at];
        if (text_hex(digits, UINT32_MAX, &value) != digits + 8)
            return NULL;
        word = (uint32_t)value;
        memcpy(ret_address->bytes + 4 * i, &word, sizeof(word));
        text += 8;
    }
    if (*text != ':')
        return NULL;
    text = text_hex(text + 1, UINT16_MAX, &port);
    if (text != NULL)
        ret_address->port = (uint16_t)port;
    return text;
}

/* "  0: 0100007F:8711 00000000:0000 0A ... uid timeout inode": the inode is the seventh field after the state. */
static int parse_internet(const char *line, struct proc_socket *ret_socket)
{
    size_t words = ret_socket->kind == PROC_SOCKET_TCP || ret_socket->kind == PROC_SOCKET_UDP ? 1 : 4;
    uint64_t value;

    line = text_decimal(line, UINT64_MAX, &value);
    if (line == NULL || *line != ':')
        return -EINVAL;
    line = parse_address(line + 1, words, &ret_socket->local);
    line = parse_address(line, words, &ret_socket->remote);
    if (text_hex(line, UINT8_MAX, &value) == NULL)
        return -EINVAL;
    ret_socket->state = (uint8_t)value;
    line = text_decimal(text_skip_fields(line, 4), UINT32_MAX, &value); /* after state, queues, timer, retransmits */
    if (line == NULL)
        return -EINVAL;
    ret_socket->uid = (uint32_t)value;
    line = text_skip_fields(line, 1); /* timeout */
    return text_decimal(line, UINT64_MAX, &ret_socket->inode) != NULL ? 0 : -EINVAL;
}

/* "00000000256fc0db: 00000003 00000000 00010000 0001 01 629 /run/x": the path extends to the end of the line. */
static int parse_unix(const char *line, struct proc_socket *ret_socket)
{
    uint64_t flags, type, state;
    size_t length;

    line = text_hex(line, UINT64_MAX, &flags);
    if (line == NULL || *line != ':')
        return -EINVAL;
    line = text_hex(text_skip_fields(line + 1, 2), UINT32_MAX, &flags); /* after references and protocol */
    line = text_hex(line, UINT8_MAX, &type);
    line = text_hex(line, UINT8_MAX, &state);
    line = text_decimal(line, UINT64_MAX, &ret_socket->inode);
    if (line == NULL)
        return -EINVAL;
    ret_socket->listens = (flags & UNIX_FLAG_LISTENS) != 0;
    ret_socket->type = (uint8_t)type;
    ret_socket->state = (uint8_t)state;
    line = text_skip_blanks(line);
    length = strcspn(line, "\n");
    if (length >= sizeof(ret_socket->path))
        return -EINVAL;
    memcpy(ret_socket->path, line, length);
    return 0;
}

int proc_parse_socket(const char *line, enum proc_socket_kind kind, struct proc_socket *ret_socket)
{
    struct proc_socket found = {.kind = kind};
    int result = kind == PROC_SOCKET_UNIX ? parse_unix(line, &found) : parse_internet(line, &found);

    if (result == 0)
        *ret_socket = found;
    return result;
}

/* Files ------------------------------------------------------------------------------------------------------------ */

/* Visits the complete lines of text. Returns what visit returned; *ret_taken: how many bytes were visited. */
static int visit_lines(char *text, enum proc_socket_kind kind,
                       int (*visit)(void *context, const struct proc_socket *socket), void *context, size_t *ret_taken)
{
    char *line = text;
    int result = 0;

    for (char *end = strchr(line, '\n'); end != NULL && result == 0; end = strchr(line, '\n')) {
        struct proc_socket socket;

        *end = '\0';
        if (proc_parse_socket(line, kind, &socket) == 0)
            result = visit(context, &socket);
        line = end + 1;
    }
    *ret_taken = (size_t)(line - text);
    return result;
}

struct proc_socket_table {
    int descriptor;
    enum proc_socket_kind kind;
    size_t kept; /* bytes of text that were read but not visited yet */
    char text[CHUNK_BYTES];
};

int proc_socket_table_open(int proc, uint32_t pid, enum proc_socket_kind kind, struct proc_socket_table **ret_table)
{
    struct proc_socket_table *table;
    int descriptor = proc_open(proc, O_RDONLY, "%u/net/%s", pid, kind_names[kind]);

    if (descriptor < 0)
        return descriptor;
    table = malloc(sizeof(*table));
    if (table == NULL) {
        close(descriptor);
        return -ENOMEM;
    }
    table->descriptor = descriptor;
    table->kind = kind;
    table->kept = 0;
    table->text[0] = '\0';
    *ret_table = table;
    return 0;
}

void proc_socket_table_close(struct proc_socket_table *table)
{
    if (table == NULL)
        return;
    close(table->descriptor);
    free(table);
}

/* Returns 1 if more was read, 0 at the end, or -errno. */
static int read_more(struct proc_socket_table *table)
{
    size_t room = sizeof(table->text) - 1 - table->kept;
    ssize_t length;

    if (room == 0)
        return -EINVAL; /* no such line is that long */
    do
        length = read(table->descriptor, table->text + table->kept, room);
    while (length < 0 && errno == EINTR);
    if (length < 0)
        return -errno;
    table->kept += (size_t)length;
    table->text[table->kept] = '\0';
    return length != 0;
}

int proc_socket_table_visit(struct proc_socket_table *table,
                            int (*visit)(void *context, const struct proc_socket *socket), void *context)
{
    for (;;) {
        size_t taken;
        int result = visit_lines(table->text, table->kind, visit, context, &taken);

        if (taken > table->kept)
            taken = table->kept; /* the text has a zero byte, which the kernel never writes */
        memmove(table->text, table->text + taken, table->kept - taken + 1);
        table->kept -= taken;
        if (result != 0)
            return result;
        result = read_more(table);
        if (result <= 0)
            return result;
    }
}

/* Words ------------------------------------------------------------------------------------------------------------ */

const char *proc_tcp_state_name(uint8_t state)
{
    static const char *const names[] = {
        [2] = "SYN_SENT", [3] = "SYN_RECV",   [4] = "FIN_WAIT1", [5] = "FIN_WAIT2", [6] = "TIME_WAIT",
        [7] = "CLOSE",    [8] = "CLOSE_WAIT", [9] = "LAST_ACK",  [10] = "LISTEN",   [11] = "CLOSING",
    };

    return state < ARRAY_COUNT(names) ? names[state] : NULL;
}

/* The state of a datagram socket is not reliable on all kernels, see unix_diag.h. */
const char *proc_unix_state_name(const struct proc_socket *socket)
{
    if (socket->listens)
        return "LISTEN";
    if (socket->state == UNIX_UNCONNECTED && (socket->type == SOCK_STREAM || socket->type == SOCK_SEQPACKET))
        return "UNCONNECTED";
    return NULL;
}

char *proc_address_format(enum proc_socket_kind kind, const struct proc_address *address,
                          char ret_text[PROC_ADDRESS_TEXT_BYTES])
{
    bool is_4 = kind == PROC_SOCKET_TCP || kind == PROC_SOCKET_UDP;
    char host[INET6_ADDRSTRLEN] = "";

    inet_ntop(is_4 ? AF_INET : AF_INET6, address->bytes, host, sizeof(host));
    snprintf(ret_text, PROC_ADDRESS_TEXT_BYTES, is_4 ? "%s:%u" : "[%s]:%u", host, (unsigned)address->port);
    return ret_text;
}
