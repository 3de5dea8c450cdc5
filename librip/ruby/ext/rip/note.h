/* SPDX-License-Identifier: Apache-2.0 */
/* note.h - the note of a thread or fiber: what it is doing. */
#ifndef RIP_RUBY_NOTE_H
#define RIP_RUBY_NOTE_H

#include <rip/rip.h>

struct note {
    size_t bytes;
    char text[RIP_NOTE_BYTES];
};

#endif
