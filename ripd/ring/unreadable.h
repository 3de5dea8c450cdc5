/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable.h - rings that cannot be read, or were damaged: a list for /rings. For ripd/ring alone. */
#ifndef RIPD_RING_UNREADABLE_H
#define RIPD_RING_UNREADABLE_H

#include "os/file.h"
#include "ring/host.h"

struct unreadable_file {
    struct file_identity file;
    uint32_t serial; /* as if it were a ring */
    uint32_t directory;
    enum ring_health health;
    const char *reason; /* static */
    char *name;
};

/* All zero at first. At most REGISTRY_UNREADABLE_MAX. */
struct unreadable {
    struct unreadable_file *files;
    size_t count;
    size_t capacity;
};

/* NULL: it is not listed. */
struct unreadable_file *unreadable_find(const struct unreadable *unreadable, const struct file_identity *file);

/*
 * Lists a file, or has its line say what is known now; a line keeps its serial, and once damaged, a file is not just
 * unreadable. name is copied. True: the line is new.
 */
bool unreadable_put(struct unreadable *unreadable, struct ring_host *host, const struct unreadable_file *entry,
                    const char *name);

/* The last line takes its place. file may be NULL. */
void unreadable_remove(struct unreadable *unreadable, struct unreadable_file *file);
void unreadable_done(struct unreadable *unreadable);

#endif
