/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - `rip replay`: the alerts of a recording, as ripd decided them or by other thresholds. Needs no ripd.
 *
 * Guarantees
 *   A. The recording is hostile: it is read as a session, and what ripd attached to it is believed in nothing but in
 *      what it decides here.
 *   B. A recording that is cut or damaged is replayed up to there, and that is said.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/scan_record.h"
#include "cli/cli.h"
#include "cli/names.h"
#include "cli/replay_assert.h"
#include "cli/replay_table.h"
#include "replay/replay.h"
#include "rip/session.h"
#include "util/duration.h"

#define EVENTS_PER_PROGRESS 65536u

struct settings {
    bool json;
    uint64_t stall_after_ns;
    const char *assert_file;
    const char *files;
    struct cli_list rules;
};

static const struct cli_flag flags[] = {
    CLI_BETWEEN("--stall-after", "DUR", CLI_DURATION, stall_after_ns, DURATION_SETTING_MIN_NS, DURATION_SETTING_MAX_NS,
                "by this threshold, and not the one that was in force"),
    CLI_FLAG("--rule", "GLOB=DUR", CLI_LIST, rules,
             "another threshold for ids of such a name; repeatable; the first that matches"),
    CLI_FLAG("--assert", "FILE", CLI_TEXT, assert_file,
             "compare with these events: of --json, or an answer of /events"),
    CLI_FLAG("--files", "DIR", CLI_TEXT, files,
             "programs, libraries or debug files of another machine: by build id, path or name"),
    CLI_FLAG("--json", NULL, CLI_SWITCH, json, "the begins and ends as JSON, an event a line"),
};

const struct cli_syntax cli_replay_syntax = {
    .name = "replay",
    .usage =
        "usage: rip replay [FLAG...] FILE\n"
        "\n"
        "Which begins and ends of stalls a recording leads to, by the very detector of ripd: a line a thread. What\n"
        "`ripd --record` has written is replayed as it was decided, unless other thresholds are given: then it\n"
        "says how often these would have alerted, and how much earlier or later. An alert is certain where the\n"
        "verdict was recorded or follows from what the thread announces; otherwise evidence that nobody took\n"
        "might have shown that it only waits.\n"
        "\n",
    .notes = "\n"
             "exit status: 0; 1 FILE cannot be read or is damaged, or the events are not those of --assert; 2 wrong\n"
             "flag; 4 output could not be written\n",
    CLI_FLAGS(flags),
};

struct player {
    const char *path;
    bool json;
    struct rules rules;
    struct replay_request request;
    struct replay *replay;
    struct replay_table *table;
    struct replay_assert *expected;
    const char *files;
    bool wants_names;    /* and the symbolizer is not started yet */
    struct names *names; /* of places that ripd did not name */
    bool shows_progress;
    bool differs;
    bool is_damaged;
};

/* Flags ------------------------------------------------------------------------------------------------------------ */

/* False after an error message. */
static bool take_settings(struct player *player, const struct settings *settings)
{
    for (size_t i = 0; i < settings->rules.count; i++) {
        const char *expected;

        if (rules_add(&player->rules, settings->rules.values[i], &expected) != 0)
            return cli_error("--rule: '%.200s': expected %s", settings->rules.values[i], expected);
    }
    if (settings->rules.count != 0)
        player->request.rules = &player->rules;
    player->request.stall_after_ns = settings->stall_after_ns;
    player->json = settings->json;
    player->files = settings->files;
    player->wants_names = settings->json || settings->assert_file == NULL; /* --assert leaves them aside */
    return true;
}

/* Alerts ----------------------------------------------------------------------------------------------------------- */

/* The text, with whether it is certain where that is a question. NULL: no memory. */
static char *make_line(const struct player *player, const struct replay_alert *alert)
{
    const struct event *event = alert->event;
    struct replay_counts counts;
    char *line;

    replay_counts(player->replay, &counts);
    if (counts.exact)
        return strndup(event->text, event->text_bytes);
    if (asprintf(&line, "%.*s,\"alert\":\"%s\"}", (int)event->text_bytes - 1, event->text,
                 alert->certain ? "certain" : "possible") < 0)
        return NULL;
    return line;
}

static int take_alert(void *context, const struct replay_alert *alert)
{
    struct player *player = context;
    char *line;

    if (player->expected == NULL && !player->json)
        return replay_table_take(player->table, alert);
    line = make_line(player, alert);
    if (line == NULL)
        return -ENOMEM;
    if (player->json)
        puts(line);
    if (player->expected != NULL)
        player->differs = !replay_assert_take(player->expected, line, strlen(line));
    free(line);
    return player->differs ? -ECANCELED : player->json ? 0 : replay_table_take(player->table, alert);
}

static void name_place(void *context, struct module_facts *module, uint64_t offset)
{
    struct player *player = context;

    if (player->wants_names)
        player->names = names_new(player->files);
    player->wants_names = false;
    names_add(player->names, module, offset);
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

static void show_progress(const struct player *player, const struct rip_session *session, int pass)
{
    uint64_t bytes, total;

    if (player->shows_progress && rip_session_position(session, &bytes, &total) == 0 && total != 0)
        fprintf(stderr, "\r%3u %%", (unsigned)((double)bytes / (double)total * 50) + 50 * (unsigned)pass);
}

static void hide_progress(const struct player *player)
{
    if (player->shows_progress)
        fputs("\r     \r", stderr);
}

static int take_event(struct player *player, struct rip_session *session, const struct rip_event *event, int pass)
{
    struct replay_data data = {.scan = NULL};

    if (event->kind == RIP_EVENT_DRAIN) {
        (void)rip_session_data(session, SCAN_RECORD_NAMESPACE, &data.scan, &data.scan_bytes);
        (void)rip_session_data(session, SCAN_SETTINGS_NAMESPACE, &data.settings, &data.settings_bytes);
    }
    return (pass == 0 ? replay_learn : replay_take)(player->replay, event, &data);
}

/* 0, or -errno after an error message. */
static int read_all(struct player *player, int pass)
{
    const struct rip_event *event;
    struct rip_session *session;
    char *reason = NULL;
    int result = rip_session_open(&session, player->path, NULL, &reason);

    if (result != 0) {
        cli_error("%s", reason != NULL ? reason : "out of memory");
        free(reason);
        return result;
    }
    if (rip_session_source(session) != RIP_SESSION_RECORDING) {
        cli_error("%s is no recording", player->path);
        rip_session_close(session);
        return -EINVAL;
    }
    for (uint64_t count = 0; result == 0; count++) {
        const int next = rip_session_next(session, &event);

        if (count % EVENTS_PER_PROGRESS == 0)
            show_progress(player, session, pass);
        if (next != 1) {
            player->is_damaged |= next < 0;
            if (next < 0 && pass != 0) {
                hide_progress(player);
                cli_error("%s", rip_session_error(session));
            }
            break;
        }
        result = take_event(player, session, event, pass);
    }
    rip_session_close(session);
    if (result != 0 && result != -ECANCELED) {
        hide_progress(player);
        cli_error("%s: %s", player->path,
                  result == -EBADMSG ? "what ripd wrote of its scans is damaged" : strerror(-result));
    }
    return result;
}

static int play(struct player *player)
{
    struct replay_counts counts;
    int result = replay_new(&player->replay, &player->request);

    if (result == 0)
        result = read_all(player, 0);
    if (result == 0)
        result = read_all(player, 1);
    if (result == 0)
        result = replay_end(player->replay);
    hide_progress(player);
    if (player->expected != NULL && result == 0)
        player->differs = !replay_assert_end(player->expected);
    if (result != 0)
        return result;
    replay_counts(player->replay, &counts);
    if (!player->json && player->expected == NULL)
        replay_table_print(player->table, player->path, &counts);
    if (counts.exact && counts.same_count != counts.recorded_count)
        cli_error("%s: of %llu events that ripd published %llu are not the same in the replay: the recording "
                  "lacks their beginning, or is incomplete",
                  player->path, (unsigned long long)counts.recorded_count,
                  (unsigned long long)(counts.recorded_count - counts.same_count));
    return 0;
}

int cli_replay(int argc, char **argv)
{
    struct settings settings = {.json = false};
    struct player player = {.request = {.alert = take_alert, .name_place = name_place}};
    size_t count;
    int status, result = -EINVAL;

    if (!cli_parse_words(&cli_replay_syntax, argc, argv, &settings, &player.path, 1, &count, &status))
        return status;
    if (count == 0)
        return cli_fail(CLI_USAGE, "which recording? `rip record` and `ripd --record` make them");
    if (!take_settings(&player, &settings))
        return CLI_USAGE;
    player.request.context = &player;
    player.shows_progress = isatty(STDERR_FILENO) && isatty(STDOUT_FILENO);
    player.table = replay_table_new();
    if (settings.assert_file != NULL)
        player.expected = replay_assert_open(settings.assert_file);
    if (player.table != NULL && (settings.assert_file == NULL || player.expected != NULL))
        result = play(&player);
    replay_free(player.replay);
    replay_table_free(player.table);
    replay_assert_free(player.expected);
    names_free(player.names);
    return result != 0 || player.differs || player.is_damaged ? CLI_UNREACHABLE : CLI_OK;
}
