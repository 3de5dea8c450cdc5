/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbolizer.c - the program ripd-symbolizer, with valid and malformed messages: ripd/sym/child/main.c. */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/packet.h"
#include "os/sandbox.h"
#include "os/spawn.h"
#include "support/test.h"
#include "sym/child/open_files.h"
#include "sym/child/sandbox.h"
#include "sym/protocol.h"
#include "unit/sym_samples.h"

static char folder[] = "/tmp/test_symbolizer-XXXXXX", copy[64];
static char program[PATH_MAX];
static uint8_t build_id[SYM_BUILD_ID_BYTES];
static uint32_t build_id_bytes;

/* The function that is looked up. */
__attribute__((noinline)) static int sought(int number)
{
    __asm__ volatile("");
    return number + 1;
}

static uint64_t sought_address(void)
{
    return address_in_file((const void *)(uintptr_t)sought);
}

static struct {
    pid_t pid;
    int socket;
} running;

/* Starts a symbolizer. Returns its end of the socket. */
static int start_symbolizer(void)
{
    struct sym_ready ready;
    int ends[2];

    assert_int_equal(packet_pair(ends), 0);
    assert_int_equal(spawn_program(program, ends[1], &running.pid), 0);
    running.socket = ends[0];
    assert_int_equal(packet_receive(ends[0], &ready, sizeof(ready), true, NULL), sizeof(ready));
    assert_int_equal(ready.kind, SYM_READY);
    return ends[1];
}

static int start(void **state)
{
    (void)state;
    close(start_symbolizer());
    return 0;
}

static int stop(void **state)
{
    (void)state;
    close(running.socket);
    kill(running.pid, SIGKILL);
    assert_int_equal(waitpid(running.pid, NULL, 0), running.pid);
    return 0;
}

static unsigned char packet[SYM_PACKET_BYTES];
static char function[64];

static ssize_t ask(const void *message, size_t bytes, int descriptor)
{
    assert_int_equal(packet_send(running.socket, message, bytes, descriptor, true), 0);
    return packet_receive(running.socket, packet, sizeof(packet), true, NULL);
}

/* Returns the status of the answer, or -errno. */
static int ask_open(const struct sym_open *message, int descriptor)
{
    ssize_t bytes = ask(message, sizeof(*message), descriptor);
    struct sym_opened opened;

    if (bytes < 0)
        return (int)bytes;
    assert_int_equal(bytes, sizeof(opened));
    memcpy(&opened, packet, sizeof(opened));
    assert_int_equal(opened.kind, SYM_OPENED);
    assert_int_equal(opened.key, message->key);
    return opened.status;
}

/* Returns the number of frames, or -errno. The name of the function is in function. */
static int ask_look(uint64_t key, uint64_t offset)
{
    const struct sym_look look = {.kind = SYM_LOOK, .key = key, .offset = offset};
    ssize_t bytes = ask(&look, sizeof(look), -1);
    struct sym_found found;
    struct symbol *symbol;
    int count;

    assert_true(bytes >= (ssize_t)sizeof(found));
    memcpy(&found, packet, sizeof(found));
    if (found.status != 0)
        return found.status;
    symbol = sym_found_parse(packet, (size_t)bytes, key, offset);
    assert_non_null(symbol);
    count = (int)symbol->frame_count;
    snprintf(function, sizeof(function), "%s", count > 0 ? symbol->frames[0].function : "");
    free(symbol);
    return count;
}

static struct sym_open message_for(uint64_t key, const char *path, bool with_build_id)
{
    struct sym_open message = {.kind = SYM_OPEN, .key = key};

    strncpy(message.path, path, sizeof(message.path) - 1);
    message.build_id_bytes = with_build_id ? build_id_bytes : 0;
    memcpy(message.build_id, build_id, sizeof(build_id));
    return message;
}

static int open_path(const char *path)
{
    const struct sym_open message = message_for(7, path, true);

    return ask_open(&message, -1);
}

static int open_own(uint64_t key, bool with_build_id)
{
    const struct sym_open message = message_for(key, "/nowhere", with_build_id);
    int descriptor = open_own_program();
    int result = ask_open(&message, descriptor);

    close(descriptor);
    return result;
}

static void assert_sought(uint64_t key)
{
    assert_int_equal(ask_look(key, sought_address()), 1);
    assert_string_equal(function, "sought");
}

TEST(by_descriptor, start, stop)
{
    assert_int_equal(sought(1), 2);
    assert_int_equal(open_own(1, true), 0);
    assert_int_equal(open_own(2, false), 0);
    assert_sought(1);
    assert_sought(2);
    assert_int_equal(ask_look(1, UINT64_MAX), 0);
    assert_int_equal(ask_look(3, 0), -ENOENT);
}

TEST(another_build_id, start, stop)
{
    for (size_t i = 0; i < build_id_bytes; i++) {
        build_id[i] ^= 1;
        assert_int_equal(open_own(1, true), -ESTALE);
        assert_int_equal(open_path(copy), -ESTALE);
        build_id[i] ^= 1;
    }
    build_id_bytes--;
    assert_int_equal(open_own(1, true), -ESTALE);
    build_id_bytes++;
    assert_int_equal(open_own(1, true), 0);
}

/* A path is opened only if the build id matches and all users may read the file. */
TEST(by_path, start, stop)
{
    const struct sym_open message = message_for(1, copy, false);
    char fifo[96];
    const struct {
        const char *path;
        int result;
    } cases[] = {
        {copy + 1, -EINVAL}, /* relative */
        {"", -EINVAL},       {"/nowhere", -ENOENT}, {folder, -ENOTSUP}, {"/dev/zero", -ENOTSUP}, {fifo, -ENOTSUP},
    };

    assert_int_equal(open_path(copy), 0);
    assert_sought(7);
    assert_int_equal(ask_open(&message, -1), -EINVAL);
    snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0644), 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(open_path(cases[i].path), cases[i].result);
    unlink(fifo);
    if (geteuid() == 0) {
        assert_int_equal(chmod(copy, 0600), 0);
        assert_int_equal(open_path(copy), -EACCES);
        assert_int_equal(chmod(copy, 0644), 0);
    }
    assert_sought(7); /* an open file stays open */
}

TEST(too_many_files, start, stop)
{
    for (uint64_t key = 1; key <= OPEN_FILES_MAX + 1; key++)
        assert_int_equal(open_own(key, true), 0);
    assert_int_equal(ask_look(1, sought_address()), -ENOENT);
    assert_sought(2);
    assert_sought(OPEN_FILES_MAX + 1);
}

/* After a minute without queries all files are closed. They can be opened again. */
TEST(idle_files_are_closed)
{
    struct timeval patient = {0}, impatient = {.tv_usec = 20000};
    socklen_t length = sizeof(patient);
    int theirs = start_symbolizer(), result = 1;

    assert_int_equal(getsockopt(theirs, SOL_SOCKET, SO_RCVTIMEO, &patient, &length), 0);
    assert_int_equal(patient.tv_sec, 60);
    assert_int_equal(setsockopt(theirs, SOL_SOCKET, SO_RCVTIMEO, &impatient, sizeof(impatient)), 0);
    assert_int_equal(open_own(1, true), 0);
    for (int i = 0; i < 100 && result == 1; i++) {
        usleep(50000);
        result = ask_look(1, sought_address());
    }
    assert_int_equal(result, -ENOENT);
    assert_int_equal(setsockopt(theirs, SOL_SOCKET, SO_RCVTIMEO, &patient, sizeof(patient)), 0);
    assert_int_equal(open_own(1, true), 0);
    assert_sought(1);
    close(theirs);
    stop(NULL);
}

/* Without a free descriptor it answers -EMFILE, closes its files, and continues. */
TEST(no_descriptors, start, stop)
{
    const struct rlimit few = {SPAWN_SOCKET + 1, SPAWN_SOCKET + 1}, enough = {SPAWN_SOCKET + 2, SPAWN_SOCKET + 2};

    assert_int_equal(open_own(1, true), 0);
    if (prlimit(running.pid, RLIMIT_NOFILE, &few, NULL) != 0)
        skip();
    assert_int_equal(open_own(2, true), -EMFILE);
    assert_int_equal(open_path(copy), -EMFILE);
    (void)prlimit(running.pid, RLIMIT_NOFILE, &enough, NULL); /* only root may raise it */
    if (geteuid() == 0)
        assert_int_equal(open_own(2, true), 0);
}

TEST(malformed_messages, start, stop)
{
    struct sym_open message = message_for(1, "/nowhere", true);
    int descriptor = open_own_program();

    message.build_id_bytes = SYM_BUILD_ID_BYTES + 1;
    assert_int_equal(ask_open(&message, descriptor), -EINVAL);
    message = message_for(1, "", true);
    memset(message.path, '/', sizeof(message.path));
    assert_int_equal(ask_open(&message, descriptor), -EINVAL);
    assert_int_equal(open_own(1, true), 0);
    message.kind = SYM_LOOK; /* of the wrong length */
    assert_int_equal(ask_open(&message, -1), -EPIPE);
    close(descriptor);
}

/* A query with a descriptor, half a query, and the end of the connection. */
TEST(it_exits_after_a_malformed_message)
{
    const struct sym_look look = {.kind = SYM_LOOK, .key = 1};
    int descriptor = open_own_program();
    unsigned char answer[64];

    for (int i = 0; i < 3; i++) {
        start(NULL);
        if (i == 0)
            assert_int_equal(packet_send(running.socket, &look, sizeof(look), descriptor, true), 0);
        else if (i == 1)
            assert_int_equal(packet_send(running.socket, &look, sizeof(look) / 2, -1, true), 0);
        else
            assert_int_equal(shutdown(running.socket, SHUT_WR), 0);
        assert_int_equal(packet_receive(running.socket, answer, sizeof(answer), true, NULL), -EPIPE);
        stop(NULL);
    }
    close(descriptor);
}

/* /proc/PID/status has this line. */
static void assert_status(pid_t pid, const char *line)
{
    char path[64], text[4096];
    size_t bytes;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "r");
    assert_non_null(file);
    bytes = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[bytes] = '\0';
    if (strstr(text, line) == NULL)
        fail_msg("no %s in %s", line, text);
}

/* Other services that run as nobody cannot send signals to it. */
static void assert_stranger_cannot_stop(pid_t pid)
{
    const pid_t stranger = fork();
    int status;

    if (stranger == 0) {
        if (seteuid(SANDBOX_USER) != 0) /* in a user namespace */
            _exit(0);
        if (seteuid(0) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        _exit(kill(pid, SIGSTOP) != 0 && errno == EPERM ? 0 : 1);
    }
    assert_int_equal(waitpid(stranger, &status, 0), stranger);
    assert_int_equal(status, 0);
}

TEST(privileges_and_environment)
{
    char path[64], text[64];
    int descriptor;

    setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9", 1); /* libdw would query this server, and wait */
    start(NULL);
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)running.pid);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(descriptor < 0 || read(descriptor, text, sizeof(text)) <= 0);
    if (descriptor >= 0)
        close(descriptor);
    assert_status(running.pid, "NoNewPrivs:\t1\n");
    assert_status(running.pid, "CapPrm:\t0000000000000000\n");
    if (!SANDBOX_FOR_SANITIZER)
        assert_status(running.pid, "Seccomp:\t2\n");
    if (geteuid() == 0)
        assert_stranger_cannot_stop(running.pid);
    stop(NULL);
    unsetenv("DEBUGINFOD_URLS");
}

/* Makes a copy of this program that all users may read, and reads its build id. */
static int make_copy(void **state)
{
    int from = open_own_program(), to;
    const void *id = NULL;
    struct stat about;
    ssize_t bytes;
    Elf *elf;

    (void)state;
    elf_version(EV_CURRENT);
    elf = elf_begin(from, ELF_C_READ, NULL);
    bytes = elf == NULL ? -1 : dwelf_elf_gnu_build_id(elf, &id);
    if (bytes <= 1 || bytes > (ssize_t)sizeof(build_id) || mkdtemp(folder) == NULL || chmod(folder, 0755) != 0)
        return 1;
    build_id_bytes = (uint32_t)bytes;
    memcpy(build_id, id, (size_t)bytes);
    elf_end(elf);
    snprintf(copy, sizeof(copy), "%s/copy", folder);
    to = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fstat(from, &about) != 0 || fchmod(to, 0644) != 0)
        return 1;
    for (off_t at = 0; at < about.st_size;)
        if (sendfile(to, from, &at, (size_t)(about.st_size - at)) <= 0)
            return 1;
    return close(from) != 0 || close(to) != 0;
}

static int remove_copy(void **state)
{
    (void)state;
    return unlink(copy) != 0 || rmdir(folder) != 0;
}

int main(void)
{
    if (spawn_find("ripd-symbolizer", ".", program, sizeof(program)) != 0)
        return 77; /* not built */
    return tests_run(make_copy, remove_copy);
}
