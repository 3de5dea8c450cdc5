/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.c - sends datagrams to the journal. Touches its socket. An entry fits into a datagram, so the protocol's
 * memory file for larger entries is not needed.
 *
 * The socket is not connected, so datagrams reach the journal also after its restart.
 */
#include "os/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEND_BUFFER_BYTES (1 << 20) /* room for entries while the journal is slow for a moment */
#define LENGTH_BYTES sizeof(uint64_t)

bool journal_is_stream(int descriptor)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat facts;
    char own[48];

    if (stream == NULL || fstat(descriptor, &facts) < 0)
        return false;
    snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)facts.st_dev, (uintmax_t)facts.st_ino);
    return strcmp(stream, own) == 0;
}

int journal_open(struct journal *ret_journal, const char *path)
{
    struct journal journal = {.descriptor = -1, .address = {.sun_family = AF_UNIX}};
    const int buffer_bytes = SEND_BUFFER_BYTES;
    int result = 0;

    if (strlen(path) < sizeof(journal.address.sun_path)) {
        memcpy(journal.address.sun_path, path, strlen(path) + 1);
        journal.descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        result = journal.descriptor < 0 ? -errno : 0;
    } else {
        result = -ENAMETOOLONG;
    }
    if (result == 0) /* best effort: the system may grant less */
        (void)setsockopt(journal.descriptor, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
    *ret_journal = journal;
    return result;
}

void journal_close(struct journal *journal)
{
    if (journal->descriptor >= 0)
        close(journal->descriptor);
    journal->descriptor = -1;
}

bool journal_entry_add(struct journal_entry *entry, const char *name, const void *value, size_t length)
{
    size_t room = JOURNAL_ENTRY_BYTES - entry->length, name_bytes = strlen(name);
    char *to = entry->bytes + entry->length;
    size_t needed;
    bool plain;

    if (length > room)
        return false;
    plain = length == 0 || memchr(value, '\n', length) == NULL;
    needed = name_bytes + 1 + (plain ? 0 : LENGTH_BYTES) + length + 1;
    if (needed > room)
        return false;
    memcpy(to, name, name_bytes);
    to += name_bytes;
    *to++ = plain ? '=' : '\n';
    for (size_t i = 0; !plain && i < LENGTH_BYTES; i++) /* little-endian */
        *to++ = (char)(uint8_t)((uint64_t)length >> (8 * i));
    if (length != 0)
        memcpy(to, value, length);
    to[length] = '\n';
    entry->length += needed;
    return true;
}

int journal_send(const struct journal *journal, const struct journal_entry *entry)
{
    if (journal->descriptor < 0)
        return -EBADF;
    return sendto(journal->descriptor, entry->bytes, entry->length, MSG_NOSIGNAL | MSG_DONTWAIT,
                  (const struct sockaddr *)&journal->address, sizeof(journal->address)) < 0
               ? -errno
               : 0;
}
