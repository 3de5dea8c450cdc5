/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_reader.h - reads of another process that may not return: the kernel takes some files of /proc from the process's
 * memory, and waits for who changes the map of it, a thread that hangs on a dead file system among them.
 *
 * Guarantees
 *   A. Nobody waits for longer than TEXT_READER_WAIT_NS; a read goes on without him.
 *   B. Of one user at most one read goes on so: another one of his is refused at once. Of TEXT_READERS_MAX users.
 */
#ifndef RIPD_OS_TEXT_READER_H
#define RIPD_OS_TEXT_READER_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_READER_WAIT_NS UINT64_C(20000000)
#define TEXT_READER_BYTES 1024u
#define TEXT_READERS_MAX 8u

struct text_reader;

/* Reads a text of that process, with its NUL: 0 or -errno. On a thread of its own. */
typedef int text_reader_read(int proc, uint32_t pid, char *ret_text, size_t size);

/* NULL: no memory. Else it closes proc, which others may use until text_reader_free(), when no read goes on any more.
 */
struct text_reader *text_reader_new(int proc, text_reader_read *read);
void text_reader_free(struct text_reader *reader); /* waits for nothing; NULL is allowed */

/*
 * What the read returns, its text cut to size bytes; of the scanner's thread alone. -EAGAIN: not in time, or one of
 * that user goes on; ask again.
 */
int text_reader_ask(struct text_reader *reader, uint32_t user, uint32_t pid, char *ret_text, size_t size);

#endif
