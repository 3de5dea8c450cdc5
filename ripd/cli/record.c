/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - `rip record`: records rings drain by drain into a file. Needs no ripd.
 *
 * Guarantees
 *   A. A recording ends in order on SIGINT, SIGTERM, the end of its command or processes, and after --duration, with a
 *      last drain. If the recorder is killed at any moment, the file can be read up to the last drain that was written.
 *   B. A disk that is full or fails is reported once; the recording continues when there is room.
 *   C. With a command, the exit status is the command's. A signal sent to the recorder is passed to the command.
 *   D. --trigger signals no process except a flight recorder.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/stall_watch.h"
#include "cli/table.h"
#include "os/clock.h"
#include "os/pidfd.h"
#include "os/proc.h"
#include "rip/session.h"
#include "util/array.h"
#include "util/duration.h"
#include "util/text.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define INTERVAL_NS (100 * NS_PER_MS)
#define INTERVAL_MIN_NS NS_PER_MS
#define INTERVAL_MAX_NS (3600 * NS_PER_S)
#define WAIT_NS (100 * NS_PER_MS)      /* a signal just before a wait is seen after this time */
#define REPORT_NS (200 * NS_PER_MS)    /* between reports of progress */
#define ERROR_PAUSE_NS (60 * NS_PER_S) /* without a failure, before one is reported again */
#define BYTES_MIN 65536u               /* minimum of a segment, and of the memory of a flight recorder */
#define BYTES_MAX (UINT64_C(1) << 40)
#define FLIGHT_FILES_MAX 10000
#define STALL_PAUSE_NS (10 * NS_PER_S) /* minimum between two files because of stalls */
#define WORDS_MAX 256u
#define NAME_BYTES 128u
#define PROGRAM "rip-client"

/* As in `rip run`, if there is a command. */
#define RECORD_FAILED 125

/* The task: flags, and the results of parsing the words. */
struct settings {
    struct rip_session_options session;
    struct rip_recording_options recording;
    const char *output;
    const char *dir;
    uint64_t duration_ns;
    uint64_t keep;
    uint64_t stall_ns;
    uint64_t trigger;
    bool json;
    char name[NAME_BYTES];   /* prefix of default file names */
    struct cli_list sources; /* directories, of which the first with matching rings is recorded, or one ring */
    const char *source;      /* the chosen one */
    int32_t pids[WORDS_MAX];
    int processes[WORDS_MAX]; /* pidfds of the processes; -1: not open */
    const char *names[WORDS_MAX];
    char **words;   /* the rings and pids as the user gave them, terminated by NULL */
    char **command; /* NULL: none */
};

static struct settings settings = {.session = {.size_bytes = sizeof(settings.session), .interval_ns = INTERVAL_NS},
                                   .recording.size_bytes = sizeof(settings.recording)};

static const struct cli_flag flags[] = {
    CLI_FLAG("--output", "FILE", CLI_TEXT, output,
             "output file (default: NAME-DATE.riprec, with the name of what is recorded)"),
    CLI_FLAG("-o", "FILE", CLI_TEXT, output, "the same"),
    CLI_FLAG("--dir", "DIR", CLI_TEXT, dir, "directory of rings (default: $RIP_DIR, else /run/librip or /dev/shm)"),
    CLI_BETWEEN("--interval", "DUR", CLI_DURATION, session.interval_ns, INTERVAL_MIN_NS, INTERVAL_MAX_NS,
                "time between two drains (default: 100ms)"),
    CLI_BETWEEN("--duration", "DUR", CLI_DURATION, duration_ns, NS_PER_MS, DURATION_SETTING_MAX_NS,
                "end after this time"),
    CLI_BETWEEN("--segment-bytes", "SIZE", CLI_SIZE, recording.segment_bytes, BYTES_MIN, BYTES_MAX,
                "make FILE a directory, and begin a new file in it at this size"),
    CLI_BETWEEN("--segment-time", "DUR", CLI_DURATION, recording.segment_ns, NS_PER_S, DURATION_SETTING_MAX_NS,
                "make FILE a directory, and begin a new file in it at this age"),
    CLI_BETWEEN("--keep", "N", CLI_NUMBER, keep, 1, 1000000, "keep this many of those files, and remove the oldest"),
    CLI_BETWEEN("--flight", "SIZE", CLI_SIZE, recording.flight_bytes, BYTES_MIN, BYTES_MAX,
                "keep the newest breadcrumbs in memory, and write them on SIGUSR1 to FILE, then to FILE.2 and so on"),
    CLI_BETWEEN("--trigger-on-stall", "DUR", CLI_DURATION, stall_ns, DURATION_SETTING_MIN_NS, DURATION_SETTING_MAX_NS,
                "with --flight: also write them when an id that should move has stood still for this long"),
    CLI_BETWEEN("--trigger", "PID", CLI_NUMBER, trigger, 1, INT32_MAX,
                "make the flight recorder with this pid write its memory, and exit"),
    CLI_FLAG("--json", NULL, CLI_SWITCH, json, "print progress and totals as JSON, one object per line"),
};

const struct cli_syntax cli_record_syntax = {
    .name = "record",
    .usage = "usage: rip record [FLAG...] [PID | RING]... [-- COMMAND [ARGUMENT...]]\n"
             "       rip record --trigger PID\n"
             "\n"
             "Records the breadcrumbs of all rings, of some processes or rings, or of a command that it runs with\n"
             "tracing, until it is interrupted or they end. `rip dump` shows a recording, `rip export` converts it.\n"
             "\n",
    .notes =
        "\n"
        "RING is a file name, a pattern of file names, or a path. SIZE is a number of bytes, optionally with K, M or "
        "G.\n"
        "\n"
        "exit status: 0; 1 there is no such ring or process, no ring may be read, or rip itself failed; 2 wrong flag;\n"
        "4 not everything could be written. With a command: its exit status, 128 plus the signal that killed it, or "
        "125 rip failed\n",
    .words_max = WORDS_MAX - 4,
    .ends = true,
    CLI_FLAGS(flags),
};

struct recorder {
    struct rip_session *session;
    char path[PATH_MAX]; /* of the recording; for a flight recorder the file written last */
    pid_t child;         /* 0: none, or it has ended */
    bool child_ends;     /* SIGTERM was sent */
    int child_status;
    uint64_t ended_mono_ns; /* when the child or the last process ended; 0: not yet */
    uint64_t began_mono_ns;
    uint64_t reported_mono_ns;
    uint64_t lost_count;     /* at the last report */
    uint64_t failed_mono_ns; /* time of the last failed write; 0: none */
    unsigned flight_files;
    struct stall_watch *watch;      /* NULL: stalls are not detected */
    uint64_t stalled_mono_ns;       /* time of the last stall for which a file was written; 0: none yet */
    bool on_terminal;               /* there is a line of progress */
    bool failed;                    /* something was lost */
    bool denied;                    /* there was no ring at the begin, but a file that this user may not read */
    uint64_t found_ids;             /* ids that existed when the recording began */
    struct rip_event_totals *rings; /* the latest totals, by number from 1 */
    size_t ring_numbers;
    size_t ring_capacity;
};

/* Flags ------------------------------------------------------------------------------------------------------------ */

/* Sets where `rip run` puts the ring of a command, or where existing rings may be. */
static void choose_sources(void)
{
    struct cli_list *sources = &settings.sources;

    if (settings.dir != NULL)
        sources->values[sources->count++] = settings.dir;
    cli_add_directories(sources);
    if (settings.command != NULL && sources->count > 1 && access(sources->values[0], W_OK | X_OK) != 0)
        sources->values[0] = sources->values[1];
    if (settings.command != NULL)
        sources->count = 1;
}

/* A word that is a number is a pid. Returns false after an error message. */
static bool take_word(const char *word)
{
    uint64_t pid;

    if (strchr(word, '/') != NULL)
        return cli_error("%.200s: a path must be the only argument; expected names of rings in --dir, or pids", word);
    if (strspn(word, "0123456789") != strlen(word)) {
        settings.names[settings.session.name_count++] = word;
        return true;
    }
    if (!text_number(word, 1, INT32_MAX, &pid))
        return cli_error("%.100s: no such process; expected a pid, or the name of a ring", word);
    settings.processes[settings.session.pid_count] = -1;
    settings.pids[settings.session.pid_count++] = (int32_t)pid;
    return true;
}

/* Sets the prefix of default file names. */
static void choose_name(const char *word)
{
    const char *base = word != NULL ? strrchr(word, '/') : NULL;

    base = base != NULL ? base + 1 : word != NULL ? word : "rings";
    for (size_t i = 0; base[i] != '\0' && i + 1 < NAME_BYTES - 16; i++) {
        bool plain = strchr("/*?[]\\", base[i]) == NULL && (unsigned char)base[i] > ' ';

        settings.name[i] = plain ? base[i] : '_';
    }
}

static bool take_words(char **words, size_t count)
{
    choose_name(settings.command != NULL ? settings.command[0] : count != 0 ? words[0] : NULL);
    choose_sources();
    settings.words = words;
    if (settings.command != NULL && count != 0)
        return cli_error("%.100s: unexpected argument; expected a command, or rings and pids, not both", words[0]);
    if (count == 1 && strchr(words[0], '/') != NULL) {
        settings.sources.values[0] = words[0];
        settings.sources.count = 1;
        return true;
    }
    for (size_t i = 0; i < count; i++)
        if (!take_word(words[i]))
            return false;
    return true;
}

/* Returns false after an error message. */
static bool complete(char **words, size_t count)
{
    struct rip_recording_options *recording = &settings.recording;
    const bool segments = recording->segment_bytes != 0 || recording->segment_ns != 0;

    settings.session.pids = settings.pids;
    settings.session.names = settings.names;
    recording->segments_kept = (uint32_t)settings.keep;
    if (settings.stall_ns != 0 && recording->flight_bytes == 0)
        return cli_error("--trigger-on-stall: expected together with --flight");
    if (settings.keep != 0 && !segments)
        return cli_error("--keep: expected together with --segment-bytes or --segment-time");
    if (recording->flight_bytes != 0 && segments)
        return cli_error("--flight: expected without %s",
                         recording->segment_bytes != 0 ? "--segment-bytes" : "--segment-time");
    return take_words(words, count);
}

/* Signals ---------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t ends, triggers, child_pid;

static void on_signal(int number, siginfo_t *information, void *context)
{
    (void)context;
    if (number == SIGUSR1)
        triggers = 1;
    else if (number != SIGCHLD && child_pid == 0)
        ends = 1;
    else if (number != SIGCHLD && information->si_code != SI_KERNEL) /* SI_KERNEL: the command gets the key, too */
        kill((pid_t)child_pid, number);
}

static void take_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, former;

    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
        if (sigaction(numbers[i], NULL, &former) != 0 || former.sa_handler != SIG_IGN || numbers[i] == SIGCHLD)
            sigaction(numbers[i], &action, NULL); /* what nohup(1) ignores stays ignored */
    if (settings.recording.flight_bytes != 0)
        sigaction(SIGUSR1, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is handled like a full disk */
}

/* Reports ---------------------------------------------------------------------------------------------------------- */

struct sums {
    struct rip_event_totals totals;
    struct rip_recording_state state;
    double seconds;
};

static void sum_up(const struct recorder *recorder, struct sums *ret_sums)
{
    struct rip_event_totals *sum = &ret_sums->totals;

    *ret_sums = (struct sums){.totals.exact = true};
    for (size_t i = 0; i < recorder->ring_numbers; i++) {
        const struct rip_event_totals *totals = &recorder->rings[i];

        sum->made_count += totals->made_count;
        sum->recorded_count += totals->recorded_count;
        sum->overwritten_count += totals->overwritten_count;
        sum->unseen_count += totals->unseen_count;
        sum->registered_count += totals->registered_count;
        sum->ended_count += totals->ended_count;
        sum->torn_count += totals->torn_count;
        sum->exact = sum->exact && totals->exact;
    }
    sum->registered_count += recorder->found_ids;
    rip_session_recording_state(recorder->session, &ret_sums->state);
    ret_sums->seconds = (double)(clock_mono_ns() - recorder->began_mono_ns) / 1e9;
}

static void clear_line(const struct recorder *recorder)
{
    if (recorder->on_terminal)
        fputs("\r\x1b[K", stderr);
}

static void format_sums(char *text, size_t size, const struct recorder *recorder, const struct sums *sums)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    const struct rip_event_totals *totals = &sums->totals;
    double bytes = (double)sums->state.written_bytes;
    size_t unit = 0;

    for (; bytes >= 10000 && unit + 1 < ARRAY_COUNT(units); unit++)
        bytes /= 1000;
    snprintf(text, size,
             "%.1f s: rings %zu, ids %" PRIu64 ", breadcrumbs %" PRIu64 ", overwritten %" PRIu64 ", unseen %s%" PRIu64
             ", lost %" PRIu64 "; %.0f %s",
             sums->seconds, recorder->ring_numbers, totals->registered_count, totals->recorded_count,
             totals->overwritten_count, totals->exact ? "" : "at least ", totals->unseen_count,
             sums->state.lost_entry_count, bytes, units[unit]);
}

static void print_json(const struct recorder *recorder, const struct sums *sums, bool final)
{
    const struct rip_event_totals *totals = &sums->totals;
    json_t *object =
        json_pack("{s:s?, s:b, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:s?}", "file",
                  recorder->path[0] != '\0' ? recorder->path : NULL, "final", final, "seconds", sums->seconds, "rings",
                  (json_int_t)recorder->ring_numbers, "ids", (json_int_t)totals->registered_count, "ended",
                  (json_int_t)totals->ended_count, "drains", (json_int_t)sums->state.drain_count, "made",
                  (json_int_t)totals->made_count, "recorded", (json_int_t)totals->recorded_count, "overwritten",
                  (json_int_t)totals->overwritten_count, "unseen", (json_int_t)totals->unseen_count, "torn",
                  (json_int_t)totals->torn_count, "exact", totals->exact, "lost",
                  (json_int_t)sums->state.lost_entry_count, "bytes", (json_int_t)sums->state.written_bytes, "error",
                  sums->state.error != 0 ? strerror(-sums->state.error) : NULL);

    table_print_json(object);
    json_decref(object);
    fflush(stdout);
}

/*
 * Reports once, until nothing has failed for a while: on a disk that is almost full, some frames fit and some do not.
 */
static void report_error(struct recorder *recorder, const struct rip_recording_state *state, uint64_t now_ns)
{
    const char *reason = state->error != 0 ? strerror(-state->error) : "a write has failed";

    if (state->error == 0 && state->lost_entry_count == recorder->lost_count)
        return;
    recorder->lost_count = state->lost_entry_count;
    if (recorder->failed_mono_ns == 0 || now_ns - recorder->failed_mono_ns >= ERROR_PAUSE_NS) {
        clear_line(recorder);
        cli_error("%s: %s: the recording continues when this is over", recorder->path, reason);
    }
    recorder->failed = true;
    recorder->failed_mono_ns = now_ns;
}

static void report(struct recorder *recorder)
{
    uint64_t now_ns = clock_mono_ns();
    struct rip_recording_state state;
    struct sums sums;
    char text[256];

    if (rip_session_recording_state(recorder->session, &state) == 0)
        report_error(recorder, &state, now_ns);
    if ((!settings.json && !recorder->on_terminal) || now_ns - recorder->reported_mono_ns < REPORT_NS)
        return;
    recorder->reported_mono_ns = now_ns;
    sum_up(recorder, &sums);
    if (settings.json) {
        print_json(recorder, &sums, false);
        return;
    }
    format_sums(text, sizeof(text), recorder, &sums);
    fprintf(stderr, "\r%s\x1b[K", text);
    fflush(stderr);
}

static void report_end(const struct recorder *recorder, const struct sums *sums)
{
    char text[256];

    clear_line(recorder);
    if (settings.json) {
        print_json(recorder, sums, true);
        return;
    }
    format_sums(text, sizeof(text), recorder, sums);
    if (recorder->path[0] != '\0')
        fprintf(stderr, "%s: %s\n", recorder->path, text);
    else
        fprintf(stderr, "nothing written: %s\n", text);
}

/* Files ------------------------------------------------------------------------------------------------------------ */

/* Sets the next file name for the memory of a flight recorder, or the name of the recording. */
static void choose_path(struct recorder *recorder)
{
    bool segments = settings.recording.segment_bytes != 0 || settings.recording.segment_ns != 0;
    time_t now = time(NULL);
    char date[32], nth[16] = "";
    struct tm moment;

    if (recorder->flight_files > 1)
        snprintf(nth, sizeof(nth), ".%u", recorder->flight_files);
    gmtime_r(&now, &moment);
    strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &moment);
    if (settings.output != NULL)
        snprintf(recorder->path, sizeof(recorder->path), "%s%s", settings.output, nth);
    else
        snprintf(recorder->path, sizeof(recorder->path), "%s-%s%s%s", settings.name, date, nth,
                 segments ? "" : ".riprec");
}

static void write_flight(struct recorder *recorder)
{
    int result;

    do {
        recorder->flight_files++;
        choose_path(recorder);
        result = rip_session_trigger(recorder->session, recorder->path);
    } while (result == -EEXIST && recorder->flight_files < FLIGHT_FILES_MAX);
    clear_line(recorder);
    if (result == 0) {
        fprintf(stderr, "rip: record: wrote %s\n", recorder->path);
        return;
    }
    cli_error("%s: %s", recorder->path, result == -ENODATA ? "nothing has been drained yet" : strerror(-result));
    recorder->failed = true;
    recorder->path[0] = '\0';
}

/* The command ------------------------------------------------------------------------------------------------------ */

/* Runs in the child after the recorder watches the directory. Names its ring, and executes `rip run`. */
static void run_command(int gate)
{
    static const char *const places[] = {".", RIP_FROM_CLIENT};
    char path[PATH_MAX], name[NAME_BYTES + 16], go;
    size_t count = 0;
    const char **words;

    while (settings.command[count] != NULL)
        count++;
    words = calloc(count + 8, sizeof(*words));
    if (words == NULL || read(gate, &go, 1) != 1)
        _exit(RECORD_FAILED);
    if (cli_find(places, ARRAY_COUNT(places), "rip", path) != 0) {
        cli_error("rip is not installed in " RIP_FROM_CLIENT ", seen from the directory of rip-client");
        _exit(RECORD_FAILED);
    }
    snprintf(name, sizeof(name), "%s.%d", settings.name, (int)getpid());
    memcpy(words, (const char *[]){"rip", "run", "--dir", settings.source, "--name", name, "--"}, 7 * sizeof(*words));
    memcpy(words + 7, settings.command, count * sizeof(*words));
    execv(path, (char *const *)(uintptr_t)words);
    cli_error("%s: %s", path, strerror(errno));
    _exit(RECORD_FAILED);
}

/* Forks; the child waits for a byte in *ret_gate. Its rings are NAME.PID, and NAME.PID.* of its children. */
static bool prepare_command(pid_t *ret_pid, int *ret_gate)
{
    static char names[3][NAME_BYTES + 24];
    static const char *const more[] = {"", ".*", "~*"};
    int gate[2];
    pid_t pid;

    if (pipe2(gate, O_CLOEXEC) != 0 || (pid = fork()) < 0)
        return cli_error("%s: %s", settings.command[0], strerror(errno));
    if (pid == 0) {
        close(gate[1]);
        run_command(gate[0]);
    }
    close(gate[0]);
    for (size_t i = 0; i < 3; i++) {
        snprintf(names[i], sizeof(names[i]), "%s.%d%s", settings.name, (int)pid, more[i]);
        settings.names[settings.session.name_count++] = names[i];
    }
    *ret_pid = pid;
    *ret_gate = gate[1];
    return true;
}

static void reap(struct recorder *recorder)
{
    int status;

    if (waitpid(recorder->child, &status, WNOHANG) != recorder->child)
        return;
    recorder->child_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    recorder->child = 0;
    child_pid = 0;
    recorder->ended_mono_ns = clock_mono_ns();
}

/* Returns whether all processes have ended, if only processes are recorded. */
static bool have_ended(void)
{
    size_t count = settings.session.name_count == 0 ? settings.session.pid_count : 0, ended = 0;

    while (ended < count && pidfd_ended(settings.processes[ended]))
        ended++;
    return count != 0 && ended == count;
}

/* The end of a command ends the recording; every other reason to end also ends the command. */
static void check_for_end(struct recorder *recorder, bool time_is_over)
{
    if (recorder->child != 0)
        reap(recorder);
    if (recorder->child != 0 && time_is_over && !recorder->child_ends) {
        recorder->child_ends = true;
        kill(recorder->child, SIGTERM);
    }
    if (recorder->child == 0 && recorder->ended_mono_ns == 0 && (ends != 0 || time_is_over || have_ended()))
        recorder->ended_mono_ns = clock_mono_ns();
}

/* Recording -------------------------------------------------------------------------------------------------------- */

static int take_totals(struct recorder *recorder, const struct rip_event *event)
{
    if (!ARRAY_RESERVE(recorder->rings, recorder->ring_capacity, event->ring))
        return -ENOMEM;
    while (recorder->ring_numbers < event->ring)
        recorder->rings[recorder->ring_numbers++] = (struct rip_event_totals){.exact = true};
    if (event->kind == RIP_EVENT_TOTALS)
        recorder->rings[event->ring - 1] = event->as.totals;
    return 0;
}

/* Writes the flight recorder's memory when a stall begins. Returns 0 or -errno. */
static int check_for_stalls(struct recorder *recorder, const struct rip_event *event)
{
    bool stalled;
    int result = stall_watch_take(recorder->watch, event, &stalled);
    uint64_t now_ns;

    if (result != 0 || !stalled)
        return result;
    now_ns = event->as.drain.mono_ns;
    if (recorder->stalled_mono_ns == 0 || now_ns - recorder->stalled_mono_ns >= STALL_PAUSE_NS) {
        recorder->stalled_mono_ns = now_ns;
        write_flight(recorder);
    }
    return 0;
}

/* Returns 1 if it was the last event. */
static int take_event(struct recorder *recorder, const struct rip_event *event)
{
    int result = recorder->watch != NULL ? check_for_stalls(recorder, event) : 0;

    if (result != 0)
        return result;
    switch (event->kind) {
    case RIP_EVENT_RING:
    case RIP_EVENT_TOTALS:
        return take_totals(recorder, event);
    case RIP_EVENT_REGISTER:
        recorder->found_ids += event->as.id_begin.found;
        return 0;
    case RIP_EVENT_DRAIN:
        report(recorder);
        return recorder->ended_mono_ns != 0 && event->as.drain.mono_ns >= recorder->ended_mono_ns;
    default:
        return 0;
    }
}

/* Returns how long to wait for a drain; 0: the time is over. */
static uint64_t wait_time_ns(const struct recorder *recorder)
{
    uint64_t gone_ns = clock_mono_ns() - recorder->began_mono_ns, limit_ns = settings.duration_ns;

    if (limit_ns == 0 || limit_ns > gone_ns + WAIT_NS)
        return WAIT_NS;
    return limit_ns > gone_ns ? limit_ns - gone_ns : 0;
}

/* Runs until a drain that began after the end is complete. Returns 0 or -errno. */
static int follow(struct recorder *recorder)
{
    const struct rip_event *event;
    int result = 0;

    while (result == 0) {
        uint64_t wait_ns;

        result = rip_session_next(recorder->session, &event);
        if (result == 0)
            return 0;
        if (result == 1) {
            result = take_event(recorder, event);
            continue;
        }
        if (result != -EAGAIN)
            return result;
        if (triggers != 0) {
            triggers = 0;
            write_flight(recorder);
        }
        wait_ns = wait_time_ns(recorder);
        check_for_end(recorder, wait_ns == 0);
        if (recorder->ended_mono_ns != 0)
            rip_session_drain_now(recorder->session);
        result = rip_session_wait(recorder->session, wait_ns != 0 ? wait_ns : WAIT_NS);
        result = result == -ETIMEDOUT || result == -EINTR ? 0 : result;
    }
    return result < 0 ? result : 0;
}

/* Sets whether there is a ring to record now. Returns 0 or -errno; *ret_error is that of rip_session_open(). */
static int find_rings(bool *ret_found, char **ret_error)
{
    struct rip_session_options options = settings.session;
    struct rip_session *session;
    const struct rip_event *event;
    int result;

    options.once = true;
    result = rip_session_open(&session, settings.source, &options, ret_error);
    if (result != 0)
        return result;
    if (rip_session_source(session) == RIP_SESSION_CAPTURE || rip_session_source(session) == RIP_SESSION_RECORDING) {
        *ret_error = strdup("already a recording; `rip dump`, `rip export` and `rip replay` read it");
        result = -EINVAL;
    }
    while (result == 0 && !*ret_found && rip_session_next(session, &event) == 1)
        *ret_found = event->kind == RIP_EVENT_RING;
    rip_session_close(session);
    return result;
}

/* Opens pidfds of the processes given by pid. Returns false after an error message. */
static bool find_processes(void)
{
    for (size_t i = 0; i < settings.session.pid_count; i++) {
        settings.processes[i] = pidfd_of((uint32_t)settings.pids[i]);
        if (settings.processes[i] < 0)
            return cli_error("%d: %s", (int)settings.pids[i], strerror(-settings.processes[i]));
    }
    return true;
}

static void report_no_ring(void)
{
    const struct cli_list *sources = &settings.sources;
    const bool more = settings.words[1] != NULL;

    cli_error("%.200s%s: no %s in %s%s%s that this user may read; `rip ls` lists rings", settings.words[0],
              more ? " and the others" : "", settings.session.pid_count != 0 ? "ring of such a process" : "such ring",
              sources->values[0], sources->count > 1 ? " or " : "", sources->count > 1 ? sources->values[1] : "");
}

/* Reports a file that may be a ring. The recording waits for a ring that this user may read. */
static void report_unreadable(struct recorder *recorder)
{
    char path[PATH_MAX];
    int error = cli_find_unreadable(settings.source, path);

    if (error != 0)
        cli_error("%.200s: no ring that this user may read; %s: %s", settings.source, path, strerror(error));
    recorder->denied = error != 0;
}

/* Chooses the source; everything named must exist. Returns false after an error message. */
static bool choose_source(struct recorder *recorder)
{
    bool all = settings.command != NULL || settings.session.pid_count + settings.session.name_count == 0, found = false;
    const char *usable = NULL;
    char *error = NULL;
    int result = 0;

    for (size_t i = 0; i < settings.sources.count && !found; i++) {
        free(error);
        error = NULL;
        settings.source = settings.sources.values[i];
        result = find_rings(&found, &error);
        if (result == 0 && !found && usable == NULL)
            usable = settings.source;
    }
    if (!found && usable != NULL && all)
        settings.source = usable;
    else if (!found && usable != NULL)
        report_no_ring();
    else if (!found)
        cli_error("%s", error != NULL ? error : strerror(-result));
    free(error);
    if (!found && usable != NULL && all && settings.command == NULL)
        report_unreadable(recorder);
    return found || (all && usable != NULL);
}

/* Returns false after an error message. */
static bool begin(struct recorder *recorder)
{
    bool in_memory = settings.recording.flight_bytes != 0;
    char *error = NULL;
    int result = rip_session_open(&recorder->session, settings.source, &settings.session, &error);

    if (result != 0) {
        cli_error("%s", error != NULL ? error : strerror(-result));
        free(error);
        return false;
    }
    if (!in_memory)
        choose_path(recorder);
    result = rip_session_record(recorder->session, in_memory ? NULL : recorder->path, &settings.recording);
    if (result == 0 && settings.stall_ns != 0)
        result = stall_watch_new(&recorder->watch, settings.session.interval_ns, settings.stall_ns);
    if (result != 0)
        cli_error("%s: %s", recorder->path, strerror(-result));
    recorder->began_mono_ns = clock_mono_ns();
    recorder->on_terminal = !settings.json && isatty(STDERR_FILENO);
    return result == 0;
}

static int end(struct recorder *recorder, int result)
{
    int written = rip_session_record_end(recorder->session);
    struct sums sums;

    sum_up(recorder, &sums);
    report_end(recorder, &sums);
    if (written != 0)
        cli_error("%s: %s", recorder->path, strerror(-written));
    if (result != 0)
        cli_error("%s: %s", settings.source, strerror(-result));
    if (settings.command != NULL)
        return recorder->child == 0 ? recorder->child_status : RECORD_FAILED;
    if (result != 0 || (recorder->denied && recorder->ring_numbers == 0))
        return CLI_UNREACHABLE;
    return recorder->failed || written != 0 || sums.state.lost_entry_count != 0 ? CLI_OUTPUT : CLI_OK;
}

static int record(void)
{
    struct recorder recorder = {0};
    bool runs = settings.command != NULL;
    int gate = -1, status = runs ? RECORD_FAILED : CLI_UNREACHABLE;

    if (find_processes() && choose_source(&recorder) && (!runs || prepare_command(&recorder.child, &gate)) &&
        begin(&recorder)) {
        child_pid = recorder.child;
        take_signals();
        if (!runs || write(gate, "", 1) == 1)
            status = end(&recorder, follow(&recorder));
    }
    if (gate >= 0)
        close(gate); /* the command does not start if the recording has not begun */
    rip_session_close(recorder.session);
    stall_watch_free(recorder.watch);
    for (size_t i = 0; i < settings.session.pid_count; i++)
        if (settings.processes[i] >= 0)
            close(settings.processes[i]);
    free(recorder.rings);
    return status;
}

/* --trigger -------------------------------------------------------------------------------------------------------- */

/* Returns whether it is a `rip record` that handles SIGUSR1. Any other process would be ended by that signal. */
static bool is_flight_recorder(int proc, uint32_t pid)
{
    char path[64], program[PATH_MAX], text[4096];
    const char *caught;
    ssize_t length;

    snprintf(path, sizeof(path), "%u/exe", pid);
    length = readlinkat(proc, path, program, sizeof(program) - 1);
    if (length <= 0 || proc_read(proc, text, sizeof(text), "%u/status", pid) != 0)
        return false;
    program[length] = '\0';
    caught = text_find_line(text, "SigCgt:");
    return strstr(program, "/" PROGRAM) != NULL && caught != NULL &&
           (strtoull(caught, NULL, 16) >> (SIGUSR1 - 1) & 1) != 0;
}

static int trigger(uint32_t pid)
{
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), process = pidfd_of(pid), status = CLI_UNREACHABLE;

    if (process < 0)
        cli_error("--trigger: %u: %s", pid, strerror(-process));
    else if (!is_flight_recorder(proc, pid))
        cli_error("--trigger: %u is not a `rip record --flight` of yours", pid);
    else if (syscall(SYS_pidfd_send_signal, process, SIGUSR1, NULL, 0u) != 0)
        cli_error("--trigger: %u: %s", pid, strerror(errno));
    else
        status = CLI_OK;
    if (process >= 0)
        close(process);
    if (proc >= 0)
        close(proc);
    return status;
}

int cli_record(char **words)
{
    size_t count = 0;

    while (words[count] != NULL && strcmp(words[count], "--") != 0)
        count++;
    if (settings.trigger != 0)
        return trigger((uint32_t)settings.trigger);
    if (words[count] != NULL)
        settings.command = words + count + 1;
    if (settings.command != NULL && settings.command[0] == NULL)
        return cli_fail(CLI_USAGE, "--: expected a command after it");
    return complete(words, count) ? record() : CLI_USAGE;
}
