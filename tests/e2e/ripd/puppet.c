/* SPDX-License-Identifier: Apache-2.0 */
/*
 * puppet.c - a traced program that executes commands: one command a line on stdin, one line of answer on stdout.
 *
 *   ring FILE MAX            rip_create_ring(): "ok" or the name of the errno
 *   spawn ID NAME MODE       starts a thread with that id: snap | idle | never | burst (256 snaps at a time) | once
 *   spawn-hex ID HEX MODE    the same, with the name in hexadecimal: any bytes except NUL
 *   spawn-many COUNT         starts threads 1..COUNT named worker-N that snap; less often if they are many
 *   deadline ID MS           the thread calls rip_deadline_ms() before its next snap
 *   note ID HEX              the thread calls rip_note() with these bytes before its next snap; "-" removes the note
 *   freeze ID, thaw ID       the thread stops making snaps, or makes them again
 *   freeze-all               freezes all threads
 *   end ID, exit ID          the thread ends without, or with, rip_exit()
 *   coroutine ID NAME        an id is switched onto the main thread, snaps, and is switched out
 *   resume ID                that id is switched in again, snaps, and is switched out
 *   script ID HEX HEX LINE   like coroutine, at a line of a script: its file, and its function
 *   close-all                closes every descriptor from 3 up
 *   open-files DIR COUNT     opens COUNT files, each with the content "0123456789"
 *   check-files DIR COUNT    "ok" if they are unchanged
 *   daemon FILE              forks twice; the grandchild registers ids 901 and 902, writes its pid to FILE, and snaps
 *   child                    forks a child that registers id 800 and snaps; answers its pid
 *   exec                     executes "sleep 300"
 *   leave STATUS             calls _exit(STATUS), without cleaning up
 *   pid                      answers the pid
 *   quit
 */
#include <errno.h>
#include <fcntl.h>
#include <librip.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum mode { MODE_SNAP, MODE_IDLE, MODE_NEVER, MODE_BURST, MODE_ONCE };
static const char *const mode_names[] = {"snap", "idle", "never", "burst", "once"};

struct note {
    size_t bytes;
    char text[256];
};

struct worker {
    pthread_t thread;
    uint32_t id;
    char name[64];
    enum mode mode;
    long pause_ms;
    atomic_uint deadline_ms;
    _Atomic(struct note *) note; /* the next note, which the thread has not made yet */
    atomic_int frozen;
    atomic_int ending; /* 1 = return, 2 = call rip_exit() first */
};

#define WORKERS_MAX 4096
static struct worker workers[WORKERS_MAX];
static size_t worker_count;

#define COROUTINES_MAX 512
static struct rip_context coroutines[COROUTINES_MAX];
static uint32_t coroutine_ids[COROUTINES_MAX];
static size_t coroutine_count;

static void pause_for(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static pthread_mutex_t thaw_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t thawed = PTHREAD_COND_INITIALIZER;

/* Blocks in a system call that is not a sleep. */
static void stay_frozen(struct worker *worker)
{
    pthread_mutex_lock(&thaw_mutex);
    while (atomic_load(&worker->frozen) && atomic_load(&worker->ending) == 0)
        pthread_cond_wait(&thawed, &thaw_mutex);
    pthread_mutex_unlock(&thaw_mutex);
}

static void change(atomic_int *word, int value)
{
    pthread_mutex_lock(&thaw_mutex);
    atomic_store(word, value);
    pthread_cond_broadcast(&thawed);
    pthread_mutex_unlock(&thaw_mutex);
}

static void make_note(struct note *note)
{
    if (note != NULL)
        rip_note(note->text, note->bytes);
    free(note);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;

    rip_init(worker->id, worker->name, strlen(worker->name), 0, 0);
    if (worker->mode == MODE_ONCE)
        rip_snap();
    while (atomic_load(&worker->ending) == 0) {
        rip_deadline_ms(atomic_load(&worker->deadline_ms));
        make_note(atomic_exchange(&worker->note, NULL));
        if (atomic_load(&worker->frozen))
            stay_frozen(worker);
        else if (worker->mode == MODE_IDLE)
            rip_idle();
        else if (worker->mode == MODE_SNAP)
            rip_snap();
        else if (worker->mode == MODE_BURST)
            for (int i = 0; i < 256; i++)
                rip_snap();
        pause_for(worker->pause_ms);
    }
    if (atomic_load(&worker->ending) == 2)
        rip_exit();
    return NULL;
}

static struct worker *worker_find(uint32_t id)
{
    for (size_t i = 0; i < worker_count; i++)
        if (workers[i].id == id && atomic_load(&workers[i].ending) == 0)
            return &workers[i];
    return NULL;
}

static int worker_spawn(uint32_t id, const char *name, enum mode mode, long pause_ms)
{
    struct worker *worker = &workers[worker_count];
    pthread_attr_t attributes;
    int error;

    if (worker_count == WORKERS_MAX)
        return -1;
    worker->id = id;
    worker->mode = mode;
    worker->pause_ms = pause_ms;
    snprintf(worker->name, sizeof(worker->name), "%s", name);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 * 1024);
    error = pthread_create(&worker->thread, &attributes, worker_main, worker);
    pthread_attr_destroy(&attributes);
    worker_count += error == 0;
    return error == 0 ? 0 : -1;
}

static int command_spawn(char *const *words)
{
    for (size_t mode = 0; mode < sizeof(mode_names) / sizeof(mode_names[0]); mode++)
        if (strcmp(words[3], mode_names[mode]) == 0)
            return worker_spawn((uint32_t)strtoul(words[1], NULL, 10), words[2], (enum mode)mode,
                                mode == MODE_BURST ? 5 : 20);
    return -1;
}

static int command_spawn_hex(char *const *words)
{
    char name[64] = "", digits[3] = "";
    char *const plain[] = {words[0], words[1], name, words[3]};

    for (size_t i = 0; i + 1 < sizeof(name) && words[2][2 * i] != '\0' && words[2][2 * i + 1] != '\0'; i++) {
        memcpy(digits, words[2] + 2 * i, 2);
        name[i] = (char)strtoul(digits, NULL, 16);
    }
    return command_spawn(plain);
}

static int command_spawn_many(char *const *words)
{
    unsigned long count = strtoul(words[1], NULL, 10);
    char name[32];

    for (uint32_t i = 1; i <= count; i++) {
        snprintf(name, sizeof(name), "worker-%u", i);
        if (worker_spawn(i, name, MODE_SNAP, count < 100 ? 20 : 100) != 0)
            return -1;
    }
    return 0;
}

static int command_ring(char *const *words)
{
    if (rip_create_ring(words[1], (uint32_t)strtoul(words[2], NULL, 10)))
        return 0;
    printf("%s\n", strerrorname_np(errno));
    return 1;
}

static int command_deadline(char *const *words)
{
    struct worker *worker = worker_find((uint32_t)strtoul(words[1], NULL, 10));

    if (worker == NULL)
        return -1;
    atomic_store(&worker->deadline_ms, (unsigned)strtoul(words[2], NULL, 10));
    return 0;
}

/* Returns the number of bytes; "-" gives 0. */
static size_t from_hex(const char *hex, char *ret_bytes, size_t capacity)
{
    char digits[3] = "";
    size_t count = 0;

    for (; hex[0] != '-' && hex[0] != '\0' && count < capacity; hex += 2) {
        memcpy(digits, hex, 2);
        ret_bytes[count++] = (char)strtoul(digits, NULL, 16);
    }
    return count;
}

static int command_note(char *const *words)
{
    struct worker *worker = worker_find((uint32_t)strtoul(words[1], NULL, 10));
    struct note *note = calloc(1, sizeof(*note));

    if (worker == NULL || note == NULL) {
        free(note);
        return -1;
    }
    note->bytes = from_hex(words[2], note->text, sizeof(note->text));
    free(atomic_exchange(&worker->note, note));
    return 0;
}

static int set_frozen(const char *id, int frozen)
{
    struct worker *worker = worker_find((uint32_t)strtoul(id, NULL, 10));

    if (worker == NULL)
        return -1;
    change(&worker->frozen, frozen);
    return 0;
}

static int command_freeze(char *const *words)
{
    return set_frozen(words[1], 1);
}

static int command_freeze_all(char *const *words)
{
    (void)words;
    for (size_t i = 0; i < worker_count; i++)
        change(&workers[i].frozen, 1);
    return 0;
}

static int command_thaw(char *const *words)
{
    return set_frozen(words[1], 0);
}

static int end_worker(const char *id, int how)
{
    struct worker *worker = worker_find((uint32_t)strtoul(id, NULL, 10));

    if (worker == NULL)
        return -1;
    change(&worker->ending, how);
    pthread_join(worker->thread, NULL);
    return 0;
}

static int command_end(char *const *words)
{
    return end_worker(words[1], 1);
}

static int command_exit(char *const *words)
{
    return end_worker(words[1], 2);
}

static void coroutine_turn(struct rip_context *context, const void *place)
{
    struct rip_context scheduler;

    rip_switch(&scheduler, context);
    rip_snap_at(place);
    rip_switch(context, &scheduler);
}

static int make_coroutine(const char *id, const char *name, const void *place)
{
    struct rip_context *context = &coroutines[coroutine_count];

    if (coroutine_count == COROUTINES_MAX)
        return -1;
    coroutine_ids[coroutine_count] = (uint32_t)strtoul(id, NULL, 10);
    if (!rip_context_init(context, coroutine_ids[coroutine_count], name, strlen(name)))
        return -1;
    coroutine_count++;
    coroutine_turn(context, place);
    return 0;
}

static int command_coroutine(char *const *words)
{
    return make_coroutine(words[1], words[2], (const void *)command_coroutine);
}

static int command_script(char *const *words)
{
    char file[1024], function[1024];
    const size_t file_bytes = from_hex(words[2], file, sizeof(file));
    const uint64_t script =
        rip_script_enter(file, file_bytes, function, from_hex(words[3], function, sizeof(function)), 1);

    return script != 0 ? make_coroutine(words[1], "scripted", RIP_SCRIPT_LINE(script, strtoul(words[4], NULL, 10)))
                       : -1;
}

static int command_resume(char *const *words)
{
    for (size_t i = 0; i < coroutine_count; i++)
        if (coroutine_ids[i] == strtoul(words[1], NULL, 10)) {
            coroutine_turn(&coroutines[i], (const void *)command_resume);
            return 0;
        }
    return -1;
}

static int command_close_all(char *const *words)
{
    (void)words;
    for (int i = 3; i < 4096; i++)
        close(i);
    return 0;
}

static int command_open_files(char *const *words)
{
    char path[512];

    for (long i = 0; i < strtol(words[2], NULL, 10); i++) {
        int descriptor;

        snprintf(path, sizeof(path), "%s/own-%ld", words[1], i);
        descriptor = open(path, O_RDWR | O_CREAT, 0600);
        if (descriptor < 0 || write(descriptor, "0123456789", 10) != 10)
            return -1;
    }
    return 0;
}

static int command_check_files(char *const *words)
{
    char path[512];
    struct stat status;

    for (long i = 0; i < strtol(words[2], NULL, 10); i++) {
        snprintf(path, sizeof(path), "%s/own-%ld", words[1], i);
        if (stat(path, &status) != 0 || status.st_size != 10)
            return -1;
    }
    return 0;
}

/* Snaps until the process is killed or minutes have passed. */
static void live_on(void)
{
    for (int i = 0; i < 15000; i++) {
        rip_snap();
        pause_for(20);
    }
    _exit(0);
}

static int command_daemon(char *const *words)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            FILE *file;

            pause_for(300); /* until its parents have ended */
            rip_init(901, "daemon", 6, 0, 0);
            file = fopen(words[1], "w");
            if (file != NULL) {
                fprintf(file, "%d\n", getpid());
                fclose(file);
            }
            live_on();
        }
        _exit(0);
    }
    return 0;
}

static int command_child(char *const *words)
{
    pid_t child = fork();

    (void)words;
    if (child == 0) {
        for (int i = 0; i < 1000; i++)
            rip_snap(); /* not registered: must have no effect */
        rip_init(800, "child", 5, 0, 0);
        live_on();
    }
    printf("%d\n", child);
    return 1;
}

static int command_leave(char *const *words)
{
    _exit(atoi(words[1]));
}

static int command_exec(char *const *words)
{
    (void)words;
    execlp("sleep", "sleep", "300", (char *)NULL);
    return -1;
}

static int command_pid(char *const *words)
{
    (void)words;
    printf("%d\n", getpid());
    return 1;
}

static int command_quit(char *const *words)
{
    (void)words;
    _exit(0);
}

static const struct command {
    const char *name;
    int words;
    int (*run)(char *const *words); /* Returns 0: answer ok; 1: it has answered; -1: answer failed. */
} commands[] = {
    {"ring", 3, command_ring},
    {"spawn", 4, command_spawn},
    {"spawn-hex", 4, command_spawn_hex},
    {"spawn-many", 2, command_spawn_many},
    {"deadline", 3, command_deadline},
    {"note", 3, command_note},
    {"freeze", 2, command_freeze},
    {"freeze-all", 1, command_freeze_all},
    {"thaw", 2, command_thaw},
    {"end", 2, command_end},
    {"exit", 2, command_exit},
    {"coroutine", 3, command_coroutine},
    {"resume", 2, command_resume},
    {"script", 5, command_script},
    {"close-all", 1, command_close_all},
    {"open-files", 3, command_open_files},
    {"check-files", 3, command_check_files},
    {"daemon", 2, command_daemon},
    {"child", 1, command_child},
    {"exec", 1, command_exec},
    {"pid", 1, command_pid},
    {"leave", 2, command_leave},
    {"quit", 1, command_quit},
};

static void obey(char *line)
{
    char *words[5] = {NULL};
    int count = 0, result = -1;

    for (char *word = strtok_r(line, " \n", &line); word != NULL && count < 5; word = strtok_r(NULL, " \n", &line))
        words[count++] = word;
    for (size_t i = 0; count > 0 && i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(words[0], commands[i].name) == 0 && commands[i].words == count)
            result = commands[i].run(words);
    if (result <= 0)
        printf("%s\n", result == 0 ? "ok" : "failed");
}

int main(void)
{
    char line[1024];

    signal(SIGCHLD, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof(line), stdin) != NULL)
        obey(line);
    return 0;
}
