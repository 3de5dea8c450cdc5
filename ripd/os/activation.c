/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activation.c - takes passed descriptors. Changes only their close-on-exec flag.
 */
#include "os/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "os/environment.h"
#include "util/text.h"

#define NAMES_BYTES (ACTIVATION_MAX * 256u) /* the manager allows 255 bytes for each name */

/* names: "one:two:three". A missing or empty name becomes "unknown". */
static void split_names(struct activation *activation, const char *names)
{
    for (size_t i = 0; i < activation->count; i++) {
        size_t length = strcspn(names, ":");
        char *name = activation->entries[i].name;

        snprintf(name, ACTIVATION_NAME_BYTES, "%.*s", (int)length, names);
        text_make_printable(name);
        if (length == 0)
            memcpy(name, "unknown", sizeof("unknown"));
        names += length + (names[length] == ':');
    }
}

int activation_take(struct activation *ret_activation)
{
    struct activation activation = {0};
    char names[NAMES_BYTES] = "";
    int addressee = environment_take_pid("LISTEN_PID");
    uint64_t count;
    int result = environment_take_number("LISTEN_FDS", &count);

    if (environment_take("LISTEN_FDNAMES", names, sizeof(names)) < 0)
        names[0] = '\0';
    if (addressee == 0 && result != -ENOENT) {
        if (result < 0)
            return result;
        if (count > ACTIVATION_MAX)
            return -E2BIG;
        activation.count = (size_t)count;
    }
    for (int i = 0; i < (int)activation.count; i++) {
        struct activation_entry *entry = &activation.entries[i];

        entry->number = ACTIVATION_FIRST + i;
        entry->open = fcntl(entry->number, F_SETFD, FD_CLOEXEC) == 0;
    }
    split_names(&activation, names);
    *ret_activation = activation;
    return 0;
}
