/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local.c - copies of rings, taken twice, and documents made of them. Touches the directories of rings, /proc and the
 * clock.
 */
#include "cli/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cases/query.h"
#include "cli/names.h"
#include "cli/ring_json.h"
#include "os/file.h"
#include "os/proc.h"
#include "rip/reader.h"
#include "session/ring_copy.h"
#include "util/array.h"
#include "util/glob.h"
#include "view/query_parse.h"

#define FILES_MAX 4096u /* of a directory */
#define RINGS_MAX 512u  /* of all */
#define IDS_MAX 100000u /* of all */
#define SAMPLES 256u
#define NS_PER_MS 1000000u
#define STALL_PARAMETERS (PARAMETER_RING | PARAMETER_PID | PARAMETER_NAME | PARAMETER_LIMIT | PARAMETER_TRAIL)
#define THREAD_PARAMETERS (STALL_PARAMETERS | PARAMETER_STATE)
#define RING_PARAMETERS (PARAMETER_RING | PARAMETER_PID | PARAMETER_LIMIT)

/* A slot as the first look saw it. */
struct sighted {
    uint32_t slot;
    uint32_t generation;
    uint64_t progress;
};

struct local_ring {
    char file_name[QUERY_PATTERN_BYTES];
    char name[QUERY_PATTERN_BYTES]; /* the same as valid UTF-8 */
    const char *directory;
    struct file_identity file;
    struct sighted *sighted; /* by slot, ascending */
    size_t sighted_count;
    json_t *items; /* of the second look */
    json_t *facts; /* its item of /rings */
};

struct local {
    int proc;
    uint64_t own_namespace;
    struct local_ring *rings;
    size_t ring_count;
    size_t ring_capacity;
    size_t id_count;
    json_t *paths; /* of modules, by build id */
    struct names *names;
    long long unreadable;
    size_t denied;         /* files that this user may not open */
    const char *directory; /* while it is listed */
    int descriptor;        /* of that, later of the ring that is looked at again */
};

/* ---- the first look ---- */

static void make_valid(char text[QUERY_PATTERN_BYTES], const char *name)
{
    json_t *value = ring_json_text(name, strlen(name));

    snprintf(text, QUERY_PATTERN_BYTES, "%s", json_is_string(value) ? json_string_value(value) : "?");
    json_decref(value);
}

static bool has_magic(int descriptor)
{
    uint64_t magic;

    return pread(descriptor, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) && magic == RIP_MAGIC;
}

static struct local_ring *add_ring(struct local *local, const char *name)
{
    struct local_ring *ring;

    if (local->ring_count == RINGS_MAX || strlen(name) >= sizeof(ring->name) ||
        !ARRAY_GROW(local->rings, local->ring_count, local->ring_capacity))
        return NULL;
    ring = &local->rings[local->ring_count++];
    *ring = (struct local_ring){.directory = local->directory};
    snprintf(ring->file_name, sizeof(ring->file_name), "%s", name);
    make_valid(ring->name, name);
    return ring;
}

static void take_samples(struct local *local, struct local_ring *ring, const struct rip_view *view)
{
    struct rip_scan_position position = {.next_word = 0};
    struct rip_sample samples[SAMPLES];
    size_t count, capacity = 0;

    do {
        count = rip_view_scan(view, &position, samples, SAMPLES);
        if (local->id_count + count > IDS_MAX || !ARRAY_RESERVE(ring->sighted, capacity, ring->sighted_count + count))
            return;
        local->id_count += count;
        for (size_t i = 0; i < count; i++)
            ring->sighted[ring->sighted_count++] = (struct sighted){
                .slot = samples[i].slot, .generation = samples[i].generation, .progress = samples[i].progress};
    } while (count == SAMPLES);
}

static int open_ring(int directory, const char *name, struct file_identity *ret_file)
{
    int descriptor = file_open_regular_at(directory, name);
    int error = descriptor >= 0 ? file_identify(descriptor, ret_file) : descriptor;

    if (error < 0 && descriptor >= 0)
        close(descriptor);
    return error < 0 ? error : descriptor;
}

static void refuse(struct local *local, struct local_ring *ring, const char *reason)
{
    ring->facts = json_pack("{s:s, s:o, s:s, s:s, s:[]}", "ring", ring->name, "directory",
                            ring_json_text(ring->directory, strlen(ring->directory)), "health", "unreadable", "reason",
                            reason, "processes");
    local->unreadable++;
}

/* For file_list(): a file may be a ring, whatever its name. */
static int look_first(void *context, const char *name)
{
    struct local *local = context;
    struct file_identity file;
    int descriptor = open_ring(local->descriptor, name, &file);
    struct local_ring *ring;
    struct ring_copy copy;

    local->denied += descriptor == -EACCES;
    if (descriptor < 0)
        return 0;
    if (has_magic(descriptor) && (ring = add_ring(local, name)) != NULL) {
        ring->file = file;
        if (ring_copy_once(&copy, descriptor) == 0) {
            take_samples(local, ring, &copy.view);
            ring_copy_close(&copy);
        } else {
            refuse(local, ring, copy.reason);
        }
    }
    close(descriptor);
    return 0;
}

/* ---- the second look ---- */

/* The LIFE lock goes with the process. Without one its pid must do, which says nothing from another namespace. */
static bool is_dead(const struct local *local, const struct rip_view *view, const struct rip_process_info *process)
{
    struct proc_stat stat;
    uint32_t holder;

    if ((process->flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0 &&
        file_lock_holder(local->descriptor, view->lock_life_offset + process->index, &holder) == 0)
        return holder == 0;
    if (process->pid_namespace != local->own_namespace)
        return false;
    return proc_stat(local->proc, process->pid, &stat) != 0 || stat.start_time_ticks != process->start_time_ticks;
}

static json_t *make_process(const struct local *local, const struct rip_view *view, uint32_t index)
{
    struct rip_process_info process;

    if (rip_view_process(view, index, &process) != RIP_OK)
        return json_null();
    return json_pack("{s:i, s:I, s:o, s:I, s:b}", "index", (int)index, "pid", (json_int_t)process.pid, "comm",
                     ring_json_text(process.comm, strnlen((const char *)process.comm, sizeof(process.comm))), "uid",
                     (json_int_t)process.uid, "dead", is_dead(local, view, &process));
}

static const struct sighted *find_sighted(const struct local_ring *ring, uint32_t slot, size_t *at)
{
    while (*at < ring->sighted_count && ring->sighted[*at].slot < slot)
        (*at)++;
    return *at < ring->sighted_count && ring->sighted[*at].slot == slot ? &ring->sighted[*at] : NULL;
}

static json_t *make_item(const struct local_ring *ring, const struct rip_view *view, const struct rip_sample *sample,
                         json_t *process, const struct sighted *before)
{
    bool dead = json_is_true(json_object_get(process, "dead"));
    bool still = before != NULL && before->generation == sample->generation && before->progress == sample->progress;
    const char *state = dead ? "dead" : sample->idle != 0 ? "idle" : still ? LOCAL_STATE : "running";
    struct rip_id_info id;
    json_t *item, *trail;

    if (rip_view_id(view, sample->slot, &id) != RIP_OK)
        return NULL;
    trail = ring_json_trail(view, &id);
    item = json_pack("{s:s, s:I, s:o, s:o, s:O, s:s, s:n, s:n, s:o, s:I, s:O?, s:n, s:n, s:o}", "ring", ring->name,
                     "id", (json_int_t)id.id, "tid", id.tid != 0 ? json_integer(id.tid) : json_null(), "name",
                     ring_json_text(id.name, id.name_bytes), "process", process, "state", state, "cause", "since",
                     "frozen_for_ms", still && !dead ? json_integer(LOCAL_LOOK_MS) : json_null(), "snaps",
                     (json_int_t)id.snap_count, "location", json_array_get(trail, 0), "kernel", "waits_for", "trail",
                     trail);
    return item;
}

static void read_ids(struct local *local, struct local_ring *ring, const struct rip_view *view)
{
    json_t *processes = json_object_get(ring->facts, "processes");
    struct rip_scan_position position = {.next_word = 0};
    struct rip_sample samples[SAMPLES];
    size_t count, at = 0, most = ring->sighted_count + SAMPLES; /* more have come meanwhile */

    do {
        count = rip_view_scan(view, &position, samples, SAMPLES);
        for (size_t i = 0; i < count && json_array_size(ring->items) < most; i++) {
            char key[16];
            json_t *process, *item;

            snprintf(key, sizeof(key), "%u", samples[i].process);
            process = json_object_get(processes, key);
            if (process == NULL) {
                process = make_process(local, view, samples[i].process);
                ring_json_paths(view, samples[i].process, local->paths);
                json_object_set_new(processes, key, process);
            }
            item = make_item(ring, view, &samples[i], process, find_sighted(ring, samples[i].slot, &at));
            if (item != NULL)
                json_array_append_new(ring->items, item);
        }
    } while (count == SAMPLES && json_array_size(ring->items) < most);
}

/* The processes, which are by their number while ids are read, as a list. */
static void finish_facts(struct local_ring *ring)
{
    json_t *list = json_array(), *process;
    const char *key;
    bool dead = true;

    json_object_foreach(json_object_get(ring->facts, "processes"), key, process)
    {
        dead = dead && json_is_true(json_object_get(process, "dead"));
        if (json_is_object(process))
            json_array_append(list, process);
    }
    json_object_set_new(ring->facts, "dead", json_boolean(dead && json_array_size(list) != 0));
    json_object_set_new(ring->facts, "live", json_integer((json_int_t)json_array_size(ring->items)));
    json_object_set_new(ring->facts, "processes", list);
}

static void look_again(struct local *local, struct local_ring *ring)
{
    int directory = file_open_directory(ring->directory);
    struct file_identity file;
    int descriptor = directory >= 0 ? open_ring(directory, ring->file_name, &file) : directory;
    struct ring_copy copy = {.reason = "is gone"};

    if (descriptor >= 0 && file.inode == ring->file.inode && file.device == ring->file.device &&
        ring_copy_once(&copy, descriptor) == 0) {
        ring->items = json_array();
        ring->facts = json_pack("{s:s, s:o, s:s, s:n, s:{}}", "ring", ring->name, "directory",
                                ring_json_text(ring->directory, strlen(ring->directory)), "health", "readable",
                                "reason", "processes");
        local->descriptor = descriptor;
        read_ids(local, ring, &copy.view);
        finish_facts(ring);
        ring_copy_close(&copy);
    } else {
        refuse(local, ring, copy.reason);
    }
    if (descriptor >= 0)
        close(descriptor);
    if (directory >= 0)
        close(directory);
}

int local_new(struct local **ret_local, const char *const *directories, size_t count, size_t *ret_denied)
{
    const struct timespec pause = {.tv_sec = LOCAL_LOOK_MS / 1000, .tv_nsec = LOCAL_LOOK_MS % 1000 * NS_PER_MS};
    struct local *local = calloc(1, sizeof(*local));

    if (local == NULL)
        return -ENOMEM;
    local->proc = file_open_directory("/proc");
    local->paths = json_object();
    proc_own_pid_namespace(local->proc, &local->own_namespace);
    for (size_t i = 0; i < count; i++) {
        local->directory = directories[i];
        local->descriptor = file_open_directory(directories[i]);
        if (local->descriptor < 0)
            continue;
        file_list(local->descriptor, FILES_MAX, look_first, local);
        close(local->descriptor);
    }
    nanosleep(&pause, NULL);
    for (size_t i = 0; i < local->ring_count; i++)
        if (local->rings[i].facts == NULL)
            look_again(local, &local->rings[i]);
    local->names = names_new(NULL);
    *ret_local = local;
    *ret_denied = local->denied;
    return 0;
}

void local_free(struct local *local)
{
    if (local == NULL)
        return;
    for (size_t i = 0; i < local->ring_count; i++) {
        free(local->rings[i].sighted);
        json_decref(local->rings[i].items);
        json_decref(local->rings[i].facts);
    }
    if (local->proc >= 0)
        close(local->proc);
    json_decref(local->paths);
    names_free(local->names);
    free(local->rings);
    free(local);
}

/* ---- answers ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

static bool is_of_process(const json_t *process, const struct query *query)
{
    return query->pid == 0 || json_integer_value(json_object_get(process, "pid")) == (json_int_t)query->pid;
}

static bool selects(const struct query *query, const struct glob *name, const json_t *item)
{
    const json_t *value = json_object_get(item, "name");

    return is_of_process(json_object_get(item, "process"), query) &&
           (query->name[0] == '\0' ||
            glob_matches(name, (const unsigned char *)text_of(item, "name"), json_string_length(value))) &&
           (!query->one || json_integer_value(json_object_get(item, "id")) == (json_int_t)query->id);
}

/* LOCAL_STATE counts, and is asked for, as stalled. */
static enum id_state state_of(const json_t *item)
{
    int state = id_state_from_name(text_of(item, "state"));

    return state >= 0 ? (enum id_state)state : ID_STALLED;
}

static json_t *make_frame(const struct local *local, const char *schema, json_t *counts, size_t total,
                          const char *member, json_t *list)
{
    return json_pack("{s:s, s:o, s:I, s:I, s:I, s:o}", "schema", schema, "counts", counts, "unreadable_rings",
                     (json_int_t)local->unreadable, "total", (json_int_t)total, "returned",
                     (json_int_t)json_array_size(list), member, list);
}

static bool ring_selected(const struct query *query, const struct glob *pattern, const struct local_ring *ring)
{
    return query->ring[0] == '\0' || (query->one && strcmp(query->ring, ring->name) == 0) ||
           (!query->one && glob_matches(pattern, (const unsigned char *)ring->name, strlen(ring->name)));
}

/* Items that the query selects; counts[] of them by state; *ret_total how many are of its state. */
static json_t *list_items(const struct local *local, const struct query *query, uint64_t counts[ID_STATE_COUNT],
                          size_t *ret_total)
{
    json_t *list = json_array();
    struct glob ring_pattern, name_pattern;

    glob_make(&ring_pattern, query->ring);
    glob_make(&name_pattern, query->name);
    *ret_total = 0;
    for (size_t i = 0; i < local->ring_count; i++) {
        size_t j;
        json_t *item;

        if (!ring_selected(query, &ring_pattern, &local->rings[i]))
            continue;
        json_array_foreach(local->rings[i].items, j, item)
        {
            if (!selects(query, &name_pattern, item))
                continue;
            counts[state_of(item)]++;
            if (query->has_state && state_of(item) != query->state)
                continue;
            if ((*ret_total)++ >= query->limit)
                continue;
            names_fill(local->names, json_object_get(item, "location"), local->paths);
            json_array_append(list, item);
        }
    }
    return list;
}

static json_t *answer_ids(const struct local *local, struct query *query, const char *member)
{
    uint64_t counts[ID_STATE_COUNT] = {0};
    json_t *list, *by_state = json_object();
    size_t total;

    if (strcmp(member, "stalls") == 0) {
        query->has_state = true;
        query->state = ID_STALLED;
    }
    list = list_items(local, query, counts, &total);
    for (int state = 0; state < ID_STATE_COUNT; state++)
        json_object_set_new(by_state, id_state_name((enum id_state)state), json_integer((json_int_t)counts[state]));
    return make_frame(local, strcmp(member, "stalls") == 0 ? "ripd/stalls/1" : "ripd/threads/1", by_state, total,
                      member, list);
}

/* /threads/RING/ID: the first of that number. */
static json_t *answer_id(const struct local *local, const char *path, size_t length)
{
    const char *slash = memrchr(path, '/', length);
    uint64_t counts[ID_STATE_COUNT] = {0};
    json_t *list, *document, *place;
    struct query query;
    size_t total, i;

    query_init(&query);
    if (slash == NULL || percent_decode(path, (size_t)(slash - path), false, query.ring, sizeof(query.ring)) != 0)
        return NULL;
    query.one = true;
    query.id = (uint32_t)strtoul(slash + 1, NULL, 10);
    list = list_items(local, &query, counts, &total);
    json_array_foreach(json_object_get(json_array_get(list, 0), "trail"), i, place)
        names_fill(local->names, place, local->paths);
    document = json_pack("{s:s, s:O?}", "schema", "ripd/thread/1", "thread", json_array_get(list, 0));
    json_decref(list);
    return document;
}

static json_t *answer_rings(const struct local *local, const struct query *query)
{
    json_t *list = json_array();
    struct glob pattern;
    size_t total = 0;

    glob_make(&pattern, query->ring);
    for (size_t i = 0; i < local->ring_count; i++) {
        const json_t *processes = json_object_get(local->rings[i].facts, "processes");
        bool selected = query->pid == 0;
        size_t j;
        json_t *process;

        json_array_foreach(processes, j, process) selected = selected || is_of_process(process, query);
        if (!selected || !ring_selected(query, &pattern, &local->rings[i]))
            continue;
        total++;
        json_array_append(list, local->rings[i].facts);
    }
    return make_frame(local, "ripd/rings/1", json_object(), total, "rings", list);
}

json_t *local_answer(const struct local *local, const char *target, char error[LOCAL_ERROR_BYTES])
{
    static const char one[] = "/threads/";
    const char *text = strchr(target, '?');
    size_t length = strcspn(target, "?");
    bool stalls = length == strlen("/stalls") && strncmp(target, "/stalls", length) == 0;
    bool threads = length == strlen("/threads") && strncmp(target, "/threads", length) == 0;
    unsigned allowed = stalls ? STALL_PARAMETERS : threads ? THREAD_PARAMETERS : RING_PARAMETERS;
    struct query_error fault;
    struct query query;
    json_t *document;

    if (strncmp(target, one, strlen(one)) == 0) {
        document = answer_id(local, target + strlen(one), length - strlen(one));
    } else if (query_parse(text != NULL ? text + 1 : NULL, allowed, &query, &fault) != 0) {
        snprintf(error, LOCAL_ERROR_BYTES, "this takes a ripd: %.64s", fault.parameter);
        return NULL;
    } else {
        document =
            stalls || threads ? answer_ids(local, &query, stalls ? "stalls" : "threads") : answer_rings(local, &query);
    }
    if (document == NULL)
        snprintf(error, LOCAL_ERROR_BYTES, "no such id");
    return document;
}
