/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snaps.c - prints what traced programs do while they do it, like strace. C; also compiles as C++.
 *
 *   cc snaps.c $(pkg-config --cflags --libs librip-session) -o snaps && ./snaps /run/librip
 */
#include <inttypes.h>
#include <rip/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int show(void *context, struct rip_session *session, const struct rip_event *event)
{
    const struct rip_event_snap *snap = &event->as.snap;

    (void)context, (void)session;
    switch (event->kind) {
    case RIP_EVENT_PROCESS:
        printf("%u: process %u %.16s\n", event->ring, event->as.process_begin->pid, event->as.process_begin->comm);
        break;
    case RIP_EVENT_REGISTER:
        printf("%u: id %u is %.*s\n", event->ring, event->id, event->as.id_begin.info->name_bytes,
               event->as.id_begin.info->name);
        break;
    case RIP_EVENT_SNAP:
        if (snap->overwritten_count != 0)
            printf("%u: id %u: %" PRIu64 " lost\n", event->ring, event->id, snap->overwritten_count);
        for (uint32_t i = 0; i < snap->entry_count; i++)
            printf("%u: id %u: snap %" PRIu64 " at 0x%" PRIx64 "\n", event->ring, event->id, snap->entries[i].snap,
                   snap->entries[i].address);
        break;
    case RIP_EVENT_EXIT:
        printf("%u: id %u ended\n", event->ring, event->id);
        break;
    }
    return fflush(stdout);
}

int main(int argc, char **argv)
{
    struct rip_observer observer;
    struct rip_session *session;
    char *error = NULL;

    if (rip_session_open(&session, argc > 1 ? argv[1] : "/run/librip", NULL, &error) != 0) {
        fprintf(stderr, "snaps: %s\n", error != NULL ? error : "out of memory");
        free(error);
        return 1;
    }
    memset(&observer, 0, sizeof(observer));
    observer.size_bytes = sizeof(observer);
    observer.event = show;
    rip_session_observe(session, &observer);
    rip_session_run(session, NULL);
    rip_session_close(session);
    return 0;
}
