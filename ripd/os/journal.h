/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - entries for the journal of systemd, by its native protocol: a datagram of fields.
 *
 * Guarantees
 *   A. Nothing waits: what cannot be sent at once is not sent.
 *   B. A value may be any bytes, and stays one value: what holds a newline is sent with its length before it.
 *   C. A field that does not fit into an entry is left out whole; those before it are sent.
 */
#ifndef RIPD_OS_JOURNAL_H
#define RIPD_OS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define JOURNAL_ENTRY_BYTES 8192u

struct journal {
    int descriptor; /* -1 = closed */
    struct sockaddr_un address;
};

struct journal_entry {
    size_t length;
    char bytes[JOURNAL_ENTRY_BYTES];
};

/* Whether the descriptor is the stream to the journal that $JOURNAL_STREAM names. */
bool journal_is_stream(int descriptor);

/* 0, or -ENAMETOOLONG or what the system says; *ret_journal is made then too, and closed. */
int journal_open(struct journal *ret_journal, const char *path);
void journal_close(struct journal *journal);

/* name: capital letters, digits and '_', not at the beginning. False: there was no room. */
bool journal_entry_add(struct journal_entry *entry, const char *name, const void *value, size_t length);

/* 0; -EAGAIN: it would have had to wait; -EBADF: it is closed; or what the system says: nobody is there. */
int journal_send(const struct journal *journal, const struct journal_entry *entry);

#endif
