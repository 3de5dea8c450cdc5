/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fetcher.c - files of the modules of a real process, with a real ring: ripd/probe/child/fetcher.c and
 * module_file.c. The process is of another user where we are root, and its ring is made to lie.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <librip.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/capability.h"
#include "os/packet.h"
#include "probe/child/module_file.h"
#include "probe/child/worker.h"
#include "rip/ring.h"
#include "support/test.h"

enum { STRANGER = 61002 };

static char folder[64];
static uid_t own_uid;
static int proc;

static bool map_files_allowed; /* in the next query; where we may at all */
static char mapped_path[192];  /* of a file that the next process maps; "" = none */

/* A process that has a ring, and the ring, for writing. */
static struct subject {
    char path[128];
    pid_t pid;
    struct rip_ring *ring;
    size_t bytes;
    struct rip_module *main;    /* its modules in the ring */
    struct rip_module *library; /* the C library */
} subject;

static void hide(int number)
{
    (void)number;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* lent_gid: of a program that anybody may run as a member of that group. */
static void be_subject(const char *path, gid_t lent_gid, int ready)
{
    const gid_t group = own_uid;

    if (geteuid() == 0 && (setgroups(1, &group) != 0 || setresgid(own_uid, lent_gid, lent_gid) != 0 ||
                           setresuid(own_uid, own_uid, own_uid) != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0))
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* forgotten when the user changes */
    signal(SIGUSR1, hide);
    if (mapped_path[0] != '\0' &&
        mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open(mapped_path, O_RDONLY), 0) == MAP_FAILED)
        _exit(4);
    if (!rip_create_ring(path, 8))
        _exit(2);
    rip_init(1, "subject", 7, 0, 0);
    if (write(ready, "x", 1) != 1)
        _exit(3);
    for (;;)
        pause();
}

static struct rip_module *module_of(bool main)
{
    struct rip_module *modules = (struct rip_module *)((char *)subject.ring + subject.ring->module_offset);

    for (uint32_t i = 0; i < subject.ring->module_high_water; i++)
        if (main ? (modules[i].flags & RIP_MODULE_MAIN) != 0
                 : memmem(modules[i].path, modules[i].path_bytes, "/libc.so", 8) != NULL)
            return &modules[i];
    return NULL;
}

/* Things happen while a file is opened. */
static pid_t kill_meanwhile;

int __real_module_file_open(int directory, struct attested *attested, uint64_t start, bool exact);
int __wrap_module_file_open(int directory, struct attested *attested, uint64_t start, bool exact);
int __wrap_module_file_open(int directory, struct attested *attested, uint64_t start, bool exact)
{
    int file = __real_module_file_open(directory, attested, start, exact);

    if (kill_meanwhile != 0) {
        kill(kill_meanwhile, SIGKILL);
        waitpid(kill_meanwhile, NULL, 0);
    }
    return file;
}

static void start_subject_lent(gid_t lent_gid)
{
    static int number;
    int ready[2], file;
    struct stat about;
    char byte;

    subject = (struct subject){.pid = 0};
    snprintf(subject.path, sizeof(subject.path), "%s/ring-%d", folder, number++);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    subject.pid = fork();
    if (subject.pid == 0)
        be_subject(subject.path, lent_gid, ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    file = open(subject.path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0 && fstat(file, &about) == 0);
    subject.bytes = (size_t)about.st_size;
    subject.ring = mmap(NULL, subject.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_true(subject.ring != MAP_FAILED);
    close(file);
    subject.main = module_of(true);
    subject.library = module_of(false);
    assert_non_null(subject.main);
}

static void start_subject(void)
{
    start_subject_lent(own_uid);
}

static void end_subject(void)
{
    munmap(subject.ring, subject.bytes);
    kill(subject.pid, SIGKILL);
    waitpid(subject.pid, NULL, 0);
    unlink(subject.path);
}

/* To follow links of map_files takes one of these; the service has neither, root has both. */
static void allow_map_files(bool allowed)
{
    const uint64_t links = CAPABILITY(CAP_SYS_ADMIN) | CAPABILITY(CAP_CHECKPOINT_RESTORE);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    assert_int_equal(syscall(SYS_capget, &header, data), 0);
    for (int i = 0; i < 2; i++)
        data[i].effective = data[i].permitted & (allowed ? UINT32_MAX : ~(uint32_t)(links >> (32 * i)));
    assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/* The descriptor, or what the answer says. */
static int fetch_of(uint64_t start, bool exact, uint32_t process)
{
    const struct probe_fetch fetch = {
        .kind = PROBE_FETCH, .exact = exact, .number = 7, .start = start, .process = process};
    struct probe_fetched fetched;
    int ring = open(subject.path, O_RDONLY | O_CLOEXEC), file;

    allow_map_files(map_files_allowed);
    file = worker_fetch(&(struct worker_sources){proc, -1}, &fetch, ring, &fetched);
    allow_map_files(true);
    assert_true(probe_fetched_is_sound(&fetched, sizeof(fetched), &fetch));
    assert_int_equal(fetched.status == 0, file >= 0);
    return file >= 0 ? file : fetched.status;
}

static void assert_is(int file, const char *path)
{
    struct stat about, expected;

    assert_true(file >= 0);
    assert_int_equal(fstat(file, &about) | stat(path, &expected), 0);
    assert_true(about.st_ino == expected.st_ino && about.st_dev == expected.st_dev);
    assert_int_equal(fcntl(file, F_GETFL) & (O_ACCMODE | O_PATH), O_RDONLY);
    assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
    close(file);
}

TEST(modules)
{
    char library[RIP_MODULE_PATH_BYTES + 1];

    start_subject();
    if (subject.library == NULL) {
        end_subject();
        skip(); /* a static program */
    }
    snprintf(library, sizeof(library), "%.*s", subject.library->path_bytes, subject.library->path);
    for (int exact = 0; exact < 2; exact++) {
        assert_is(fetch_of(subject.main->start, exact != 0, 0), "/proc/self/exe");
        assert_is(fetch_of(subject.library->start, exact != 0, 0), library);
    }
    assert_int_equal(fetch_of(subject.main->start + 1, false, 0), -ENOENT);
    assert_int_equal(fetch_of(subject.main->start, false, 1), -ESRCH);
    assert_int_equal(fetch_of(subject.main->start, false, UINT32_MAX), -ESRCH);
    end_subject();
}

/* Nobody who is not vouched for. */
TEST(not_attested)
{
    const struct probe_fetch fetch = {.kind = PROBE_FETCH, .number = 7};
    struct probe_fetched fetched;
    int status;

    assert_int_equal(worker_fetch(&(struct worker_sources){proc, -1}, &fetch, -1, &fetched), -1);
    assert_int_equal(fetched.status, -EINVAL);
    assert_int_equal(
        worker_fetch(&(struct worker_sources){proc, -1}, &fetch, open("/bin/sh", O_RDONLY | O_CLOEXEC), &fetched), -1);
    assert_int_equal(fetched.status, -EINVAL);
    start_subject();
    if (geteuid() == 0) {
        assert_int_equal(chown(subject.path, STRANGER, STRANGER), 0);
        assert_int_equal(fetch_of(subject.main->start, false, 0), -ESRCH);
        assert_int_equal(chown(subject.path, own_uid, own_uid), 0);
    }
    kill(subject.pid, SIGKILL);
    waitpid(subject.pid, &status, 0);
    assert_int_equal(fetch_of(subject.main->start, false, 0), -ESRCH);
    subject.pid = fork();
    if (subject.pid == 0)
        _exit(0);
    end_subject();
}

/* A file that was opened for a process that is not there any more could be another's. */
TEST(an_end_meanwhile)
{
    start_subject();
    kill_meanwhile = subject.pid;
    assert_int_equal(fetch_of(subject.main->start, false, 0), -ESRCH);
    kill_meanwhile = 0;
    subject.pid = fork();
    if (subject.pid == 0)
        _exit(0);
    end_subject();
}

/* A process that is closed to its own user: nothing of it is opened, unless root has executed it and it has a ring. */
TEST(closed_to_its_user)
{
    struct stat about;
    char path[64];

    start_subject();
    snprintf(path, sizeof(path), "/proc/%d/stat", subject.pid);
    kill(subject.pid, SIGUSR1);
    for (int i = 0; stat(path, &about) == 0 && about.st_uid == own_uid; i++) {
        assert_true(i < 20000);
        usleep(1000);
    }
    if (geteuid() != 0)
        assert_int_equal(fetch_of(subject.main->start, false, 0), -EACCES);
    else
        close(fetch_of(subject.main->start, false, 0));
    end_subject();
}

/* Rings that lie --------------------------------------------------------------------------------------------------- */

static void claim_path(struct rip_module *module, const char *path)
{
    memset(module->path, 0, sizeof(module->path));
    memcpy(module->path, path, strlen(path));
    module->path_bytes = (uint16_t)strlen(path);
}

static const char *make_copy(const char *name, uid_t owner, mode_t mode)
{
    static char path[128];
    char command[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(command, sizeof(command), "cp /bin/true %s", path);
    assert_int_equal(system(command), 0);
    assert_int_equal(chown(path, owner, owner), 0);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

/* Whatever path the ring names: the file that is mapped at that address, or nothing. */
TEST(paths)
{
    static const char *const paths[] = {"/etc/shadow", "/proc/self/mem", "/dev/zero", "relative", "", "/../etc/passwd"};
    char library[RIP_MODULE_PATH_BYTES + 1] = "", path[sizeof(library)];
    struct stat about, other;

    start_subject();
    if (subject.library != NULL)
        snprintf(library, sizeof(library), "%.*s", subject.library->path_bytes, subject.library->path);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        claim_path(subject.main, paths[i]);
        assert_is(fetch_of(subject.main->start, false, 0), "/proc/self/exe");
        assert_int_equal(fetch_of(subject.main->start, true, 0), -ESTALE);
        if (subject.library != NULL) {
            claim_path(subject.library, paths[i]);
            assert_true(fetch_of(subject.library->start, false, 0) < 0);
            assert_int_equal(fetch_of(subject.library->start, true, 0), -ESTALE);
        }
    }
    if (subject.library != NULL) { /* another program is none either */
        snprintf(path, sizeof(path), "%s", library);
        claim_path(subject.library, "/bin/true");
        if (stat("/bin/true", &other) == 0 && stat(path, &about) == 0 && other.st_dev == about.st_dev)
            assert_int_equal(fetch_of(subject.library->start, false, 0), -ESTALE);
        claim_path(subject.library, path);
        assert_is(fetch_of(subject.library->start, false, 0), path);
    }
    subject.main->start = 0x10000; /* where nothing is */
    assert_int_equal(fetch_of(0x10000, false, 0), -ENOENT);
    end_subject();
}

/*
 * Another file by a library's address, on a file system whose numbers say nothing: opened if its user may read it and
 * it looks like a program. It is for who reads it to compare build ids.
 */
TEST(other_files)
{
    struct stat about, mapped;
    char path[PATH_MAX];
    int file;

    start_subject();
    snprintf(path, sizeof(path), "%.*s", subject.library != NULL ? subject.library->path_bytes : 0,
             subject.library != NULL ? (const char *)subject.library->path : "");
    if (subject.library == NULL || stat(folder, &about) != 0 || stat(path, &mapped) != 0 || major(about.st_dev) != 0 ||
        about.st_dev == mapped.st_dev) {
        end_subject();
        skip();
    }
    claim_path(subject.library, make_copy("own", own_uid, 0400));
    snprintf(path, sizeof(path), "%s/own", folder);
    assert_is(fetch_of(subject.library->start, false, 0), path);
    file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC); /* it is no program any more */
    if (file >= 0) {
        assert_int_equal(write(file, "text", 4), 4);
        close(file);
        assert_int_equal(fetch_of(subject.library->start, false, 0), -ENOTSUP);
        assert_int_equal(truncate(path, 0), 0);
        assert_int_equal(fetch_of(subject.library->start, false, 0), -ENOTSUP);
    }
    if (geteuid() == 0) {
        claim_path(subject.library, make_copy("private", STRANGER, 0600));
        assert_int_equal(fetch_of(subject.library->start, false, 0), -EACCES);
        claim_path(subject.library, make_copy("executable", STRANGER, 0711));
        assert_int_equal(fetch_of(subject.library->start, false, 0), -EACCES);
        claim_path(subject.library, make_copy("huge", own_uid, 0600));
        assert_int_equal(truncate(make_copy("huge", own_uid, 0600), (off_t)MODULE_FILE_BYTES_MAX + 1), 0);
        assert_int_equal(fetch_of(subject.library->start, false, 0), -ENOTSUP);
    }
    end_subject();
}

/* Where the process has mapped a file of that path; 0: nowhere. */
static uint64_t find_mapped(pid_t pid, const char *path)
{
    char name[64], line[512];
    uint64_t start = 0;
    FILE *file;

    snprintf(name, sizeof(name), "/proc/%d/maps", pid);
    file = fopen(name, "re");
    assert_non_null(file);
    while (start == 0 && fgets(line, sizeof(line), file) != NULL)
        if (strstr(line, path) != NULL)
            start = strtoull(line, NULL, 16);
    fclose(file);
    return start;
}

/*
 * A file of that path, seen from another root, where the numbers say nothing: it may be what is mapped, and will do if
 * it need not be.
 */
TEST(what_may_be_mapped_is_not_exact)
{
    char other_root[] = "/var/tmp/test_fetcher-XXXXXX", command[512];
    struct stat here, there;
    const char *path;

    assert_non_null(mkdtemp(other_root));
    path = make_copy("seen", own_uid, 0444);
    snprintf(mapped_path, sizeof(mapped_path), "%s%s", other_root, path);
    snprintf(command, sizeof(command), "mkdir -p %s%s && cp %s %s && chmod -R a+rX %s", other_root, folder, path,
             mapped_path, other_root);
    assert_int_equal(system(command), 0);
    assert_int_equal(stat(path, &here) | stat(mapped_path, &there), 0);
    start_subject();
    if (subject.library != NULL && major(here.st_dev) == 0 && here.st_dev != there.st_dev) {
        subject.library->start = find_mapped(subject.pid, mapped_path);
        subject.library->end = subject.library->start + 4096;
        claim_path(subject.library, path);
        assert_is(fetch_of(subject.library->start, false, 0), path);
        assert_int_equal(fetch_of(subject.library->start, true, 0), -ESTALE);
    } else {
        print_message("skipped: a static program, or the file systems keep files apart by number\n");
    }
    end_subject();
    mapped_path[0] = '\0';
    snprintf(command, sizeof(command), "rm -rf %s", other_root);
    assert_int_equal(system(command), 0);
}

/* A file that has been deleted, where the kernel's own links may be followed; and nothing that the user may not read.
 */
TEST(what_is_deleted)
{
    struct stat mapped, about;
    uint64_t start;
    int file;

    snprintf(mapped_path, sizeof(mapped_path), "%s", make_copy("deleted", own_uid, 0444));
    assert_int_equal(stat(mapped_path, &mapped), 0);
    start_subject();
    if (subject.library == NULL || geteuid() != 0) {
        end_subject();
        mapped_path[0] = '\0';
        skip();
    }
    subject.library->start = start = find_mapped(subject.pid, mapped_path);
    subject.library->end = start + 4096;
    claim_path(subject.library, mapped_path);
    assert_int_equal(unlink(mapped_path), 0);
    assert_int_equal(fetch_of(start, false, 0), -ENOENT);
    map_files_allowed = true;
    file = fetch_of(start, false, 0);
    assert_true(file >= 0 && fstat(file, &about) == 0 && about.st_ino == mapped.st_ino);
    assert_int_equal(fchmod(file, 0) | fchown(file, STRANGER, STRANGER), 0);
    close(file);
    assert_true(fetch_of(start, false, 0) < 0);
    map_files_allowed = false;
    mapped_path[0] = '\0';
    end_subject();
}

/* With whose rights: those of the process, not of the ring's owner. */
TEST(whose_rights)
{
    char path[128];

    if (geteuid() != 0)
        skip();
    start_subject();
    if (subject.library == NULL) {
        end_subject();
        skip();
    }
    claim_path(subject.library, make_copy("of-root", 0, 0600));
    assert_int_equal(fetch_of(subject.library->start, false, 0), -EACCES);
    assert_int_equal(chown(subject.path, 0, 0), 0); /* root's ring may name every process */
    assert_int_equal(fetch_of(subject.library->start, false, 0), -EACCES);
    claim_path(subject.library, make_copy("of-its-group", 0, 0750));
    snprintf(path, sizeof(path), "%s/of-its-group", folder);
    assert_int_equal(fetch_of(subject.library->start, false, 0), -EACCES);
    assert_int_equal(chown(path, 0, own_uid), 0);
    assert_is(fetch_of(subject.library->start, false, 0), path);
    end_subject();

    /* A group that a program lends is not its user's. */
    start_subject_lent(STRANGER);
    claim_path(subject.library, make_copy("of-the-lent-group", 0, 0750));
    snprintf(path, sizeof(path), "%s/of-the-lent-group", folder);
    assert_int_equal(chown(path, 0, STRANGER), 0);
    assert_int_equal(fetch_of(subject.library->start, false, 0), -EACCES);
    assert_int_equal(chmod(path, 0755), 0);
    assert_is(fetch_of(subject.library->start, false, 0), path);
    end_subject();
}

/* The loop --------------------------------------------------------------------------------------------------------- */

TEST(run)
{
    struct probe_fetch fetch = {.kind = PROBE_FETCH, .number = 1};
    struct probe_fetched fetched;
    int ends[2], file, ring, status;
    pid_t pid;

    start_subject();
    ring = open(subject.path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(packet_pair(ends), 0);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        worker_run(&(struct worker_sources){proc, -1}, PROBE_FETCHER, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    for (uint64_t i = 0; i < 3; i++) {
        fetch.number = i;
        fetch.start = i == 1 ? 1 : subject.main->start;
        assert_int_equal(packet_send(ends[0], &fetch, sizeof(fetch), ring, true), 0);
        assert_int_equal(packet_receive(ends[0], &fetched, sizeof(fetched), true, &file), sizeof(fetched));
        assert_true(probe_fetched_is_sound(&fetched, sizeof(fetched), &fetch));
        assert_int_equal(fetched.status, i == 1 ? -ENOENT : 0);
        if (i != 1)
            assert_is(file, "/proc/self/exe");
        else
            assert_int_equal(file, -1);
    }
    assert_int_equal(packet_send(ends[0], "nonsense", 8, -1, true), 0);
    assert_int_equal(packet_receive(ends[0], &fetched, sizeof(fetched), true, NULL), -EPIPE);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(ends[0]);
    close(ring);
    end_subject();
}

static int make_folder(void **state)
{
    uint64_t permitted = 0;

    (void)state;
    if (geteuid() == 0 && capability_permitted(&permitted) == 0 && (permitted & CAPABILITY(CAP_SYS_PTRACE)) == 0) {
        printf("skipped: root without CAP_SYS_PTRACE\n");
        exit(77);
    }
    own_uid = geteuid() != 0 ? geteuid() : 61001;
    proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    strcpy(folder, "/dev/shm/test_fetcher-XXXXXX");
    return mkdtemp(folder) == NULL || chmod(folder, 0777) != 0;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    close(proc);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    return tests_run(make_folder, remove_folder);
}
