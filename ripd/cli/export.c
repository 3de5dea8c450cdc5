/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.c - `rip export`: converts rings, captures and recordings to formats of other tools. Needs no ripd.
 *
 * Guarantees
 *   A. No existing file is overwritten.
 *   B. If a recording is damaged, the part before the damage is exported, and the exit status reports it.
 *   C. Any other failure removes the files that were created, so that the same command can be repeated.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/names.h"
#include "export/export.h"
#include "os/clock.h"
#include "rip/session.h"
#include "util/array.h"
#include "util/duration.h"

#define PATH_BYTES 4096u
#define NS_PER_MS UINT64_C(1000000)

struct settings {
    const char *ctf;
    const char *chrome;
    const char *folded;
    uint64_t duration_ns;
    uint64_t interval_ns;
    const char *files;
};

static struct settings settings;

static const struct cli_flag flags[] = {
    CLI_FLAG("--ctf", "DIR", CLI_TEXT, ctf, "write Common Trace Format, for babeltrace2 and Trace Compass"),
    CLI_FLAG("--chrome", "FILE", CLI_TEXT, chrome,
             "write JSON for speedscope, Perfetto and chrome://tracing (-: standard output)"),
    CLI_FLAG("--folded", "FILE", CLI_TEXT, folded,
             "write stacks of breadcrumbs, for flamegraph.pl and speedscope (-: standard output)"),
    CLI_BETWEEN("--duration", "DUR", CLI_DURATION, duration_ns, NS_PER_MS, DURATION_SETTING_MAX_NS,
                "follow live rings for this long (default: read them once)"),
    CLI_BETWEEN("--interval", "DUR", CLI_DURATION, interval_ns, NS_PER_MS, DURATION_SETTING_MAX_NS,
                "time between two reads of live rings (default: 1s)"),
    CLI_FLAG("--files", "DIR", CLI_TEXT, files,
             "directory with programs, libraries or debug files of another machine: by build id, path or name"),
};

const struct cli_syntax cli_export_syntax = {
    .name = "export",
    .usage = "usage: rip export (--ctf DIR | --chrome FILE | --folded FILE) [FLAG...] SOURCE\n"
             "\n"
             "SOURCE is a recording (see `rip record`), a capture (see `rip captures`), a ring, or a directory of\n"
             "rings. It is converted to DIR or FILE, which must not exist.\n"
             "\n",
    .notes = "\n"
             "exit status: 0; 1 SOURCE cannot be read completely; 2 wrong flag; 4 output could not be written\n",
    .words_max = 1,
    .missing = "expected a recording, a capture, a ring or a directory of rings",
    CLI_FLAGS(flags),
};

/* Output ----------------------------------------------------------------------------------------------------------- */

struct target {
    const struct export_format *format;
    const char *path; /* as given by the user */
    FILE *file;
    int error;    /* errno of the first write that failed; 0: none */
    bool created; /* path did not exist before */
};

/* Returns NULL after an error message. */
static FILE *create_file(const char *path)
{
    FILE *file = fopen(path, "wxe");

    if (file == NULL)
        cli_error("%s: %s", path, strerror(errno));
    return file;
}

static bool write_metadata(const char *path)
{
    char *metadata = export_ctf_metadata();
    FILE *file = create_file(path);
    bool written = metadata != NULL && file != NULL && fputs(metadata, file) >= 0;

    if (file != NULL) {
        written = fclose(file) == 0 && written;
        if (!written)
            cli_error("%s: %s", path, strerror(metadata != NULL ? errno : ENOMEM));
    }
    free(metadata);
    return written;
}

static bool open_ctf(struct target *target)
{
    char path[PATH_BYTES];

    if (mkdir(target->path, 0777) != 0)
        return cli_error("%s: %s", target->path, strerror(errno));
    target->created = true;
    snprintf(path, sizeof(path), "%s/metadata", target->path);
    if (!write_metadata(path))
        return false;
    snprintf(path, sizeof(path), "%s/stream", target->path);
    target->file = create_file(path);
    return target->file != NULL;
}

/* Returns false after an error message. */
static bool open_target(struct target *target)
{
    target->format = settings.ctf != NULL ? &export_ctf : settings.chrome != NULL ? &export_chrome : &export_folded;
    target->path = settings.ctf != NULL ? settings.ctf : settings.chrome != NULL ? settings.chrome : settings.folded;
    if (settings.ctf != NULL)
        return open_ctf(target);
    target->file = strcmp(target->path, "-") == 0 ? stdout : create_file(target->path);
    target->created = target->file != NULL && target->file != stdout;
    return target->file != NULL;
}

static void keep_error(struct target *target)
{
    if (target->error == 0)
        target->error = errno;
}

/* Returns false after an error message. */
static bool close_target(struct target *target)
{
    const bool own = target->file != stdout;

    if (fflush(target->file) != 0)
        keep_error(target);
    if (own && fclose(target->file) != 0)
        keep_error(target);
    if (target->error != 0 && own) /* cli_flush() reports standard output */
        cli_error("%s: %s", target->path, strerror(target->error));
    return target->error == 0;
}

static void remove_target(const struct target *target)
{
    static const char *const files[] = {"metadata", "stream"};
    char path[PATH_BYTES];

    if (!target->created)
        return;
    for (size_t i = 0; settings.ctf != NULL && i < ARRAY_COUNT(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", target->path, files[i]);
        unlink(path);
    }
    (void)(settings.ctf != NULL ? rmdir(target->path) : unlink(target->path));
}

/* Events ----------------------------------------------------------------------------------------------------------- */

struct export
{
    struct target target;
    struct exporter *exporter;
    struct names *names;
    struct rip_session *session;
    uint64_t end_mono_ns; /* if the source is live; 0: one drain */
    int failure;          /* -errno of the output; 0: none */
    bool found_ring;
    bool is_damaged; /* the source; the part before the damage is exported */
};

static int write_file(void *context, const void *bytes, size_t count)
{
    struct target *target = &((struct export *)context)->target;

    if (fwrite(bytes, 1, count, target->file) == count)
        return 0;
    keep_error(target);
    return -EIO;
}

static void name_place(void *context, struct module_facts *module, uint64_t offset)
{
    names_add(((struct export *)context)->names, module, offset);
}

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static int take_event(void *context, struct rip_session *session, const struct rip_event *event)
{
    struct export *export = context;

    (void)session;
    export->found_ring |= event->kind == RIP_EVENT_RING;
    export->failure = export_take(export->exporter, event);
    if (export->failure != 0)
        return 1;
    return event->kind == RIP_EVENT_DRAIN && export->end_mono_ns != 0 &&
           (interrupted != 0 || clock_mono_ns() >= export->end_mono_ns);
}

static int report_no_ring(const char *directory)
{
    char path[PATH_MAX];
    const int error = cli_find_unreadable(directory, path);

    if (error != 0)
        cli_error("%.200s: no ring that this user may read; %s: %s", directory, path, strerror(error));
    else
        cli_error("%.200s: no ring that this user may read", directory);
    return CLI_UNREACHABLE;
}

static int report_source(struct export *export, const char *source, int result)
{
    if ((result >= 0 || result == -EINTR) && !export->found_ring &&
        rip_session_source(export->session) == RIP_SESSION_DIRECTORY)
        return report_no_ring(source);
    if (result >= 0 || result == -EINTR)
        return CLI_OK;
    export->is_damaged = result == -EBADMSG;
    return cli_fail(CLI_UNREACHABLE, "%s%s", rip_session_error(export->session),
                    export->is_damaged ? "; the part before that is exported" : "");
}

/* Exports events until the end of the source, the end of the duration, or an interruption. */
static int run(struct export *export, const char *source)
{
    const struct rip_observer observer = {.size_bytes = sizeof(observer), .context = export, .event = take_event};
    const struct sigaction action = {.sa_handler = interrupt};
    int result;

    if (export->end_mono_ns != 0) {
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
    }
    result = rip_session_observe(export->session, &observer);
    if (result == 0)
        result = rip_session_run(export->session, NULL);
    export->failure = export_finish(export->exporter);
    return export->failure == -ENOMEM ? cli_fail(CLI_UNREACHABLE, "out of memory")
                                      : report_source(export, source, result);
}

static int export_to(struct export *export, const char *source)
{
    const struct export_caller caller = {export, write_file, name_place};
    int status = CLI_OUTPUT;

    export->names = names_new(settings.files);
    if (open_target(&export->target)) {
        export->exporter = export_new(export->target.format, &caller);
        status = export->exporter != NULL ? run(export, source) : CLI_UNREACHABLE;
        export_free(export->exporter);
        if (!close_target(&export->target))
            status = CLI_OUTPUT;
    }
    if (status == CLI_OUTPUT || (status != CLI_OK && !export->is_damaged))
        remove_target(&export->target);
    names_free(export->names);
    return status;
}

int cli_export(char **words)
{
    struct rip_session_options options = {.size_bytes = sizeof(options)};
    struct export export = {0};
    char *error = NULL;
    int status;

    if ((settings.ctf != NULL) + (settings.chrome != NULL) + (settings.folded != NULL) != 1)
        return cli_fail(CLI_USAGE, "expected exactly one of --ctf DIR, --chrome FILE or --folded FILE");
    options.once = settings.duration_ns == 0;
    options.interval_ns = settings.interval_ns;
    if (rip_session_open(&export.session, words[0], &options, &error) != 0) {
        cli_error("%s", error != NULL ? error : "out of memory");
        free(error);
        return CLI_UNREACHABLE;
    }
    export.end_mono_ns = options.once ? 0 : clock_mono_ns() + settings.duration_ns;
    status = export_to(&export, words[0]);
    rip_session_close(export.session);
    return status;
}
