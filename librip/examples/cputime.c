/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cputime.c - records what traced programs do, and attaches to each snap of an id the CPU time that its thread has
 * used. Also prints such a recording. C; also compiles as C++.
 *
 *   cc cputime.c $(pkg-config --cflags --libs librip-session) -o cputime
 *   ./cputime /run/librip FILE       until it is interrupted
 *   ./cputime FILE
 */
#include <inttypes.h>
#include <rip/session.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_TIME "example.cpu-ns"

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

/* tid is in this pid namespace. Returns false if the thread has ended or belongs to another user. */
static bool read_cpu_ns(uint32_t tid, uint64_t *ret_ns)
{
    char path[64];
    FILE *file;
    bool done;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/schedstat", tid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    done = fscanf(file, "%" SCNu64, ret_ns) == 1;
    fclose(file);
    return done;
}

/* The thread of each id, from its REGISTER and STATE events. */
static uint32_t threads[65536];

static int save(void *context, struct rip_session *session, const struct rip_event *event)
{
    uint32_t *tid = &threads[(event->ring * 31 + event->slot) % 65536];
    uint64_t cpu_ns;

    (void)context;
    if (is_interrupted)
        return 1;
    if (event->kind == RIP_EVENT_REGISTER || event->kind == RIP_EVENT_STATE)
        *tid = event->as.state.info->tid;
    if (event->kind == RIP_EVENT_SNAP && read_cpu_ns(*tid, &cpu_ns))
        return rip_session_attach(session, CPU_TIME, &cpu_ns, sizeof(cpu_ns));
    return 0;
}

static int show(void *context, struct rip_session *session, const struct rip_event *event)
{
    const void *data;
    size_t count;

    (void)context;
    if (rip_session_data(session, CPU_TIME, &data, &count) == 0 && count == sizeof(uint64_t))
        printf("ring %" PRIu32 " id %" PRIu32 ": %" PRIu64 " snaps, %" PRIu64 " us of CPU time\n", event->ring,
               event->id, event->as.snap.progress, *(const uint64_t *)data / 1000);
    return 0;
}

static int fail(const char *text)
{
    fprintf(stderr, "cputime: %s\n", text != NULL ? text : "out of memory");
    return 1;
}

int main(int argc, char **argv)
{
    struct rip_observer observer;
    struct sigaction action;
    struct rip_session *session;
    char *error = NULL;
    int result;

    if (argc < 2)
        return fail("usage: cputime DIRECTORY FILE to record, or cputime FILE to print");
    if (rip_session_open(&session, argv[1], NULL, &error) != 0)
        return fail(error);
    memset(&action, 0, sizeof(action));
    action.sa_handler = interrupt;
    sigaction(SIGINT, &action, NULL);
    memset(&observer, 0, sizeof(observer));
    observer.size_bytes = sizeof(observer);
    observer.event = argc > 2 ? save : show;
    rip_session_observe(session, &observer);
    result = argc > 2 ? rip_session_record(session, argv[2], NULL) : 0;
    if (result == 0)
        result = rip_session_run(session, NULL);
    if (result < 0 && rip_session_error(session)[0] != '\0')
        fail(rip_session_error(session));
    rip_session_close(session);
    return 0;
}
