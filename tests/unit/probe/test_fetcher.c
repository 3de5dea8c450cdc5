/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fetcher.c - files of the modules of a real process, with a real ring: ripd/probe/child/fetcher.c and
 * module_file.c. If we are root, the process belongs to another user. The tests write false claims into its ring.
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
#include "os/file.h"
#include "os/packet.h"
#include "probe/child/module_file.h"
#include "probe/child/worker.h"
#include "rip/ring.h"
#include "support/ring_stage.h"
#include "support/test.h"

enum { STRANGER = 61002 };

static struct ring_stage stage;
static uid_t own_uid;
static struct worker_sources sources = {-1, -1};

static bool map_files_allowed; /* in the next query, if we may at all */
static char mapped_path[192];  /* of a file that the next process maps; "" = none */

/* A process that has a ring, and the ring, for writing. */
static struct subject {
    char path[128];
    pid_t pid; /* 0 = it has ended */
    struct rip_ring *ring;
    size_t bytes;
    struct rip_module *main;    /* its modules in the ring */
    struct rip_module *library; /* the C library; NULL in a static program */
} subject;

static void hide(void *context)
{
    (void)context;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* context: the effective gid, as of a program with a set-group-id bit. */
static void be_subject(void *context)
{
    const gid_t group = own_uid, effective = *(const gid_t *)context;

    if (geteuid() == 0 && (setgroups(1, &group) != 0 || setresgid(own_uid, effective, effective) != 0 ||
                           setresuid(own_uid, own_uid, own_uid) != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0))
        abort();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* a change of user clears it */
    if (mapped_path[0] != '\0' &&
        mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open(mapped_path, O_RDONLY), 0) == MAP_FAILED)
        abort();
    if (!rip_create_ring(subject.path, 8))
        abort();
    rip_init(1, "subject", 7, 0, 0);
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

static void start_subject(gid_t effective)
{
    static int number;
    struct stat about;
    int file;

    subject = (struct subject){.pid = 0};
    snprintf(subject.path, sizeof(subject.path), "%s/ring-%d", stage.directory, number++);
    subject.pid = ring_stage_start(be_subject, hide, &effective);
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

static void kill_subject(void)
{
    if (subject.pid != 0)
        ring_stage_end(subject.pid);
    subject.pid = 0;
}

static int set_up(void **state)
{
    (void)state;
    start_subject(own_uid);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kill_subject();
    munmap(subject.ring, subject.bytes);
    unlink(subject.path);
    mapped_path[0] = '\0';
    return 0;
}

static int set_up_as_root(void **state)
{
    if (geteuid() != 0)
        skip();
    return set_up(state);
}

/* A change while a file is opened. */
static bool kill_meanwhile;

int __real_module_file_open(int directory, struct attested *attested, uint64_t start, bool exact);
int __wrap_module_file_open(int directory, struct attested *attested, uint64_t start, bool exact);
int __wrap_module_file_open(int directory, struct attested *attested, uint64_t start, bool exact)
{
    int file = __real_module_file_open(directory, attested, start, exact);

    if (kill_meanwhile)
        kill_subject();
    return file;
}

/* One of these capabilities is needed to follow links of map_files. The service has neither, root has both. */
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

/* Returns the file descriptor, or the status of the answer. */
static int fetch_from(int ring, uint64_t start, bool exact, uint32_t process)
{
    const struct probe_fetch fetch = {
        .kind = PROBE_FETCH, .exact = exact, .number = 7, .start = start, .process = process};
    struct probe_fetched fetched;
    int file;

    allow_map_files(map_files_allowed);
    file = worker_fetch(&sources, &fetch, ring, &fetched);
    allow_map_files(true);
    assert_true(probe_fetched_is_sound(&fetched, sizeof(fetched), &fetch));
    assert_int_equal(fetched.status == 0, file >= 0);
    return file >= 0 ? file : fetched.status;
}

static int fetch(const struct rip_module *module, bool exact)
{
    return fetch_from(open(subject.path, O_RDONLY | O_CLOEXEC), module->start, exact, 0);
}

static int fetch_main(void)
{
    return fetch(subject.main, false);
}

/* Skips the test of a static program. */
static int fetch_library(void)
{
    if (subject.library == NULL)
        skip();
    return fetch(subject.library, false);
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

static const char *path_of(const struct rip_module *module)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.*s", module->path_bytes, module->path);
    return path;
}

TEST(modules, set_up, tear_down)
{
    static const struct {
        uint64_t start_offset;
        uint32_t process;
        int status;
    } bad[] = {{1, 0, -ENOENT}, {0, 1, -ESRCH}, {0, UINT32_MAX, -ESRCH}};

    assert_is(fetch_main(), "/proc/self/exe");
    assert_is(fetch_library(), path_of(subject.library));
    assert_is(fetch(subject.main, true), "/proc/self/exe");
    assert_is(fetch(subject.library, true), path_of(subject.library));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(fetch_from(open(subject.path, O_RDONLY | O_CLOEXEC), subject.main->start + bad[i].start_offset,
                                    false, bad[i].process),
                         bad[i].status);
}

/* No file of a process that is not attested. */
TEST(not_attested, set_up, tear_down)
{
    assert_int_equal(fetch_from(-1, 0, false, 0), -EINVAL);
    assert_int_equal(fetch_from(open("/bin/sh", O_RDONLY | O_CLOEXEC), 0, false, 0), -EINVAL);
    if (geteuid() == 0) {
        assert_int_equal(chown(subject.path, STRANGER, STRANGER), 0);
        assert_int_equal(fetch_main(), -ESRCH);
        assert_int_equal(chown(subject.path, own_uid, own_uid), 0);
    }
    kill_subject();
    assert_int_equal(fetch_main(), -ESRCH);
}

/* If the process ends while its file is opened, the file may be another process's. */
TEST(an_end_meanwhile, set_up, tear_down)
{
    kill_meanwhile = true;
    assert_int_equal(fetch_main(), -ESRCH);
    kill_meanwhile = false;
}

/* A process that its own user may not read: no file, unless root executed the process and it has a ring. */
TEST(closed_to_its_user, set_up, tear_down)
{
    struct stat about;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/stat", subject.pid);
    ring_stage_go(subject.pid);
    for (int i = 0; stat(path, &about) == 0 && about.st_uid == own_uid; i++) {
        assert_true(i < 20000);
        usleep(1000);
    }
    if (geteuid() != 0)
        assert_int_equal(fetch_main(), -EACCES);
    else
        close(fetch_main());
}

/* Rings with false claims ------------------------------------------------------------------------------------------ */

static void claim_path(struct rip_module *module, const char *path)
{
    memset(module->path, 0, sizeof(module->path));
    memcpy(module->path, path, strlen(path));
    module->path_bytes = (uint16_t)strlen(path);
}

/* Claims that the library is another file, which is mapped somewhere in the process. */
static void claim_mapped(const char *path)
{
    char name[64], line[512];
    FILE *file;

    snprintf(name, sizeof(name), "/proc/%d/maps", subject.pid);
    file = fopen(name, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        if (strstr(line, mapped_path) != NULL)
            break;
    fclose(file);
    subject.library->start = strtoull(line, NULL, 16);
    subject.library->end = subject.library->start + 4096;
    claim_path(subject.library, path);
}

/* Runs a shell command. */
__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
    char command[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    assert_int_equal(system(command), 0);
}

/* Copies a program. Returns its path. */
static const char *make_copy(const char *name, uid_t owner, gid_t group, mode_t mode)
{
    const char *path = ring_stage_path(&stage, name);

    run("cp /bin/true %s", path);
    assert_int_equal(chown(path, owner, group), 0);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

/* The library as such a copy; returns the status. */
static int fetch_copy(const char *name, uid_t owner, gid_t group, mode_t mode)
{
    if (subject.library == NULL)
        skip();
    claim_path(subject.library, make_copy(name, owner, group, mode));
    return fetch_library();
}

/* For any path in the ring, only the file that is mapped at the address is opened. */
TEST(paths, set_up, tear_down)
{
    static const char *const paths[] = {"/etc/shadow", "/proc/self/mem", "/dev/zero", "relative", "", "/../etc/passwd"};
    char path[PATH_MAX];
    struct stat about, other;

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        claim_path(subject.main, paths[i]);
        assert_is(fetch_main(), "/proc/self/exe");
        assert_int_equal(fetch(subject.main, true), -ESTALE);
    }
    if (subject.library != NULL) {
        snprintf(path, sizeof(path), "%s", path_of(subject.library));
        for (size_t i = 0; i < COUNT_OF(paths); i++) {
            claim_path(subject.library, paths[i]);
            assert_true(fetch_library() < 0);
            assert_int_equal(fetch(subject.library, true), -ESTALE);
        }
        claim_path(subject.library, "/bin/true"); /* a program, but another one */
        if (stat("/bin/true", &other) == 0 && stat(path, &about) == 0 && other.st_dev == about.st_dev)
            assert_int_equal(fetch_library(), -ESTALE);
        claim_path(subject.library, path);
        assert_is(fetch_library(), path);
    }
    subject.main->start = 0x10000; /* nothing is mapped there */
    assert_int_equal(fetch_main(), -ENOENT);
}

/*
 * The ring names another file for the address of a library, on a file system whose device and inode numbers prove
 * nothing. It is opened if the user may read it and it looks like a program. The reader compares build ids.
 */
TEST(other_files, set_up, tear_down)
{
    struct stat about, mapped;
    const char *path;
    int file;

    if (subject.library == NULL || stat(stage.directory, &about) != 0 || stat(path_of(subject.library), &mapped) != 0 ||
        major(about.st_dev) != 0 || about.st_dev == mapped.st_dev)
        skip();
    path = make_copy("own", own_uid, own_uid, 0400);
    claim_path(subject.library, path);
    assert_is(fetch_library(), path);
    file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC); /* make it something else than a program */
    if (file >= 0) {
        assert_int_equal(write(file, "text", 4), 4);
        close(file);
        assert_int_equal(fetch_library(), -ENOTSUP);
        assert_int_equal(truncate(path, 0), 0);
        assert_int_equal(fetch_library(), -ENOTSUP);
    }
    if (geteuid() == 0) {
        assert_int_equal(fetch_copy("private", STRANGER, STRANGER, 0600), -EACCES);
        assert_int_equal(fetch_copy("executable", STRANGER, STRANGER, 0711), -EACCES);
        close(fetch_copy("huge", own_uid, own_uid, 0600));
        assert_int_equal(truncate(ring_stage_path(&stage, "huge"), (off_t)MODULE_FILE_BYTES_MAX + 1), 0);
        assert_int_equal(fetch_library(), -ENOTSUP);
    }
}

/*
 * The process has mapped a file of that path in another root, and the numbers prove nothing. The file may be the same,
 * which is enough if the query is not exact.
 */
TEST(a_file_that_may_be_the_mapped_one)
{
    char other_root[] = "/var/tmp/test_fetcher-XXXXXX";
    struct stat here, there;
    const char *path = make_copy("seen", own_uid, own_uid, 0444);

    assert_non_null(mkdtemp(other_root));
    snprintf(mapped_path, sizeof(mapped_path), "%s%s", other_root, path);
    run("mkdir -p %s%s && cp %s %s && chmod -R a+rX %s", other_root, stage.directory, path, mapped_path, other_root);
    assert_int_equal(stat(path, &here) | stat(mapped_path, &there), 0);
    start_subject(own_uid);
    if (subject.library != NULL && major(here.st_dev) == 0 && here.st_dev != there.st_dev) {
        claim_mapped(path);
        assert_is(fetch_library(), path);
        assert_int_equal(fetch(subject.library, true), -ESTALE);
    } else {
        print_message("skipped: a static program, or a file system with numbers that identify files\n");
    }
    tear_down(NULL);
    run("rm -rf %s", other_root);
}

/* A deleted file is opened if the links of map_files may be followed and the user may read the file. */
TEST(a_deleted_file)
{
    struct stat mapped, about;
    int file;

    snprintf(mapped_path, sizeof(mapped_path), "%s", make_copy("deleted", own_uid, own_uid, 0444));
    assert_int_equal(stat(mapped_path, &mapped), 0);
    start_subject(own_uid);
    if (subject.library != NULL && geteuid() == 0) {
        claim_mapped(mapped_path);
        assert_int_equal(unlink(mapped_path), 0);
        assert_int_equal(fetch_library(), -ENOENT);
        map_files_allowed = true;
        file = fetch_library();
        assert_true(file >= 0 && fstat(file, &about) == 0 && about.st_ino == mapped.st_ino);
        assert_int_equal(fchmod(file, 0) | fchown(file, STRANGER, STRANGER), 0);
        close(file);
        assert_true(fetch_library() < 0);
        map_files_allowed = false;
    }
    tear_down(NULL);
}

/* The rights of the process count, not those of the ring's owner. */
TEST(rights_of_the_process, set_up_as_root, tear_down)
{
    assert_int_equal(fetch_copy("of-root", 0, 0, 0600), -EACCES);
    assert_int_equal(chown(subject.path, 0, 0), 0); /* a ring of root may name any process */
    assert_int_equal(fetch_library(), -EACCES);
    assert_int_equal(fetch_copy("of-its-group", 0, 0, 0750), -EACCES);
    assert_int_equal(chown(ring_stage_path(&stage, "of-its-group"), 0, own_uid), 0);
    assert_is(fetch_library(), ring_stage_path(&stage, "of-its-group"));
    tear_down(NULL);

    /* The effective group comes from a program with a set-group-id bit. The user does not have it. */
    start_subject(STRANGER);
    assert_int_equal(fetch_copy("of-the-lent-group", 0, STRANGER, 0750), -EACCES);
    assert_int_equal(chmod(ring_stage_path(&stage, "of-the-lent-group"), 0755), 0);
    assert_is(fetch_library(), ring_stage_path(&stage, "of-the-lent-group"));
}

/* The loop --------------------------------------------------------------------------------------------------------- */

TEST(run, set_up, tear_down)
{
    struct probe_fetch query = {.kind = PROBE_FETCH};
    struct probe_fetched fetched;
    int ends[2], file, ring = open(subject.path, O_RDONLY | O_CLOEXEC), status;
    pid_t pid;

    assert_int_equal(packet_pair(ends), 0);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        worker_run(&sources, PROBE_FETCHER, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    for (uint64_t i = 0; i < 3; i++) {
        query.number = i;
        query.start = i == 1 ? 1 : subject.main->start;
        assert_int_equal(packet_send(ends[0], &query, sizeof(query), ring, true), 0);
        assert_int_equal(packet_receive(ends[0], &fetched, sizeof(fetched), true, &file), sizeof(fetched));
        assert_true(probe_fetched_is_sound(&fetched, sizeof(fetched), &query));
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
    sources.proc = file_open_directory("/proc");
    ring_stage_open(&stage);
    return chmod(stage.directory, 0777);
}

static int remove_folder(void **state)
{
    (void)state;
    close(sources.proc);
    ring_stage_close(&stage);
    return 0;
}

int main(void)
{
    return tests_run(make_folder, remove_folder);
}
