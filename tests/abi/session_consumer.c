/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_consumer.c - a tool that uses rip/session.h, compiled as C11 and as C++17 against the installed files alone.
 * Its argument is a directory without rings. Exit status 0: all checks passed.
 */
#include <rip/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(bool truth, const char *what)
{
    if (!truth) {
        printf("check failed: %s\n", what);
        failures++;
    }
}

static int count(void *context, struct rip_session *session, const struct rip_event *event)
{
    (void)session;
    *(unsigned *)context += event->kind == RIP_EVENT_DRAIN;
    return 0;
}

int main(int argc, char **argv)
{
    struct rip_session_options options;
    struct rip_observer observer;
    struct rip_session *session;
    unsigned drains = 0;
    char *error = NULL;

    memset(&options, 0, sizeof(options));
    options.size_bytes = sizeof(options);
    options.once = true;
    memset(&observer, 0, sizeof(observer));
    observer.size_bytes = sizeof(observer);
    observer.context = &drains;
    observer.event = count;
    check(argc == 2, "there is an argument");
    check(rip_session_open(&session, "/nowhere", NULL, &error) < 0 && error != NULL, "a missing directory is refused");
    free(error);
    if (argc != 2 || rip_session_open(&session, argv[1], &options, NULL) != 0)
        return 1;
    check(rip_session_source(session) == RIP_SESSION_DIRECTORY, "the source is a directory");
    check(rip_session_observe(session, &observer) == 0, "the session can be observed");
    check(rip_session_run(session, NULL) == 0, "the session ends");
    check(drains == 1, "there was one drain");
    check(rip_session_attach(session, "mine", "data", 4) == 0, "data can be attached");
    rip_session_close(session);
    return failures != 0;
}
