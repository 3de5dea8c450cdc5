/* SPDX-License-Identifier: Apache-2.0 */
/* document_capture.c - see document_capture.h. Pure. */
#include "view/document_capture.h"

#include "rip/ring.h"
#include "view/item.h"

const char *capture_end_name(enum capture_end end)
{
    static const char *const names[] = {
        [CAPTURE_END_KILLED] = "killed",
        [CAPTURE_END_EXITED] = "exited",
        [CAPTURE_END_EXECUTED] = "executed",
        [CAPTURE_END_UNKNOWN] = "unknown",
    };

    return names[end];
}

static void write_end(struct json_writer *writer, const struct capture_facts *facts)
{
    const bool killed = facts->end == CAPTURE_END_KILLED;

    json_open(writer, "end", '{');
    json_text(writer, "how", capture_end_name(facts->end));
    json_uint(writer, "status", facts->end == CAPTURE_END_EXITED ? facts->exit_status : JSON_UNKNOWN);
    json_uint(writer, "signal_number", killed ? facts->signal_number : JSON_UNKNOWN);
    json_text(writer, "signal", killed ? facts->signal : NULL);
    if (killed)
        json_bool(writer, "core_dumped", facts->core_dumped);
    else
        json_none(writer, "core_dumped");
    json_close(writer);
}

static bool is_of_process(const struct sighting *stall, const struct capture_facts *facts)
{
    const struct item *item = stall->item;

    return item->ring == facts->ring && item->process != NULL && item->process->index == facts->process->index &&
           item->process->generation == facts->process->generation;
}

static void write_stalls(struct json_writer *writer, const struct capture_facts *facts, const struct snapshot *moment)
{
    uint64_t written = 0, left_out = 0;

    json_time(writer, "scanned_at", moment != NULL ? moment->scanned_wall_ns : 0);
    json_open(writer, "stalls", '[');
    for (size_t i = 0; moment != NULL && i < moment->stall_count; i++) {
        if (!is_of_process(&moment->stalls[i], facts))
            continue;
        if (written == CAPTURE_STALLS_MAX) {
            left_out++;
            continue;
        }
        json_line(writer);
        item_write(writer, NULL, &moment->stalls[i], RIP_ENTRY_COUNT);
        written++;
    }
    json_close(writer);
    json_uint(writer, "stalls_left_out", left_out);
}

int document_capture(const struct capture_facts *facts, const struct snapshot *moment, char **ret_text,
                     size_t *ret_length)
{
    struct json_writer writer;

    json_begin(&writer, "ripd/capture/1");
    json_time(&writer, "ended_at", facts->ended_wall_ns);
    json_name(&writer, "ring", facts->ring_name);
    json_text(&writer, "source", process_source(facts->process));
    json_open(&writer, "process", '{');
    item_write_process(&writer, facts->process);
    json_close(&writer);
    write_end(&writer, facts);
    json_uint(&writer, "ids", facts->id_count);
    json_uint(&writer, "ids_left_out", facts->id_left_out_count);
    write_stalls(&writer, facts, moment);
    json_close(&writer);
    return json_finish(&writer, ret_text, ret_length);
}
