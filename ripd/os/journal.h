/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - entries for systemd's journal, in its native protocol: one datagram of fields per entry.
 *
 * Guarantees
 *   A. Nothing blocks: an entry that cannot be sent at once is not sent.
 *   B. A value may contain any bytes and stays one value: if it contains a newline, it is sent with its length.
 *   C. A field that does not fit into an entry is left out completely; earlier fields are sent.
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

/* Returns 0, -ENAMETOOLONG, or another -errno. On failure *ret_journal is valid, and closed. */
int journal_open(struct journal *ret_journal, const char *path);
void journal_close(struct journal *journal);

/* name: capital letters, digits and '_', beginning with a letter. Returns false if there is no room. */
bool journal_entry_add(struct journal_entry *entry, const char *name, const void *value, size_t length);

/* Returns 0; -EAGAIN if it would block; -EBADF if closed; or another -errno, for example if no journal runs. */
int journal_send(const struct journal *journal, const struct journal_entry *entry);

#endif
