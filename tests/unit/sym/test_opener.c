/* SPDX-License-Identifier: Apache-2.0 */
/* test_opener.c - the file that is mapped, or none: ripd/sym/opener.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/proc.h"
#include "os/proc_maps.h"
#include "sym/opener.h"
#include "unit/sym_samples.h"

/* Real processes --------------------------------------------------------------------------------------------------- */

static char folder[64];

/* A copy of a program, started; what a ring could say of it. */
struct victim {
    char path[128];
    pid_t pid;
    struct process_facts *process;
    struct module_facts *module;
    struct stat about;
};

static int proc_directory(void)
{
    static int proc = -1;

    if (proc < 0)
        proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return proc;
}

static void find_start(struct victim *victim)
{
    char path[64], line[512];
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", victim->pid);
    for (int i = 0; i < 10000 && victim->module->start == 0; i++) { /* until it has executed it */
        maps = fopen(path, "r");
        while (fgets(line, sizeof(line), maps) != NULL) {
            struct proc_mapping mapping;

            if (proc_maps_parse_line(line, &mapping) == 0 && proc_maps_path_fits(mapping.path, victim->path) &&
                victim->module->start == 0)
                victim->module->start = mapping.start;
        }
        fclose(maps);
        usleep(1000);
    }
    assert_true(victim->module->start != 0);
}

static void start_victim(struct victim *victim, const char *build_id)
{
    struct proc_stat stat_of;
    char command[256];

    *victim = (struct victim){.pid = 0};
    snprintf(victim->path, sizeof(victim->path), "%s/program", folder);
    snprintf(command, sizeof(command), "cp /bin/sleep %s", victim->path);
    assert_int_equal(system(command), 0);
    assert_int_equal(stat(victim->path, &victim->about), 0);
    victim->pid = fork();
    if (victim->pid == 0) {
        execl(victim->path, "sleep", "1000", NULL);
        _exit(127);
    }
    victim->module = sample_module(victim->path, build_id, geteuid());
    find_start(victim);
    assert_int_equal(proc_stat(proc_directory(), (uint32_t)victim->pid, &stat_of), 0);
    victim->process = sample_process((uint32_t)victim->pid, stat_of.start_time_ticks);
}

static void end_victim(struct victim *victim)
{
    kill(victim->pid, SIGKILL);
    waitpid(victim->pid, NULL, 0);
    unlink(victim->path);
    process_facts_unref(victim->process);
    module_facts_unref(victim->module);
}

static int open_victim(const struct victim *victim)
{
    return opener_open(proc_directory(), victim->process, victim->module);
}

static void assert_is(int descriptor, const struct stat *expected)
{
    struct stat about;

    assert_true(descriptor >= 0);
    assert_int_equal(fstat(descriptor, &about), 0);
    assert_int_equal(about.st_ino, expected->st_ino);
    assert_int_equal(about.st_dev, expected->st_dev);
    assert_int_equal(fcntl(descriptor, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
    close(descriptor);
}

static void test_what_is_mapped(void **state)
{
    static const char *const build_ids[] = {"", "aabb"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct victim victim;

        start_victim(&victim, build_ids[i]);
        assert_is(open_victim(&victim), &victim.about);
        assert_int_equal(unlink(victim.path), 0);
        assert_is(open_victim(&victim), &victim.about); /* deleted */
        assert_int_equal(link("/bin/true", victim.path) == 0 || symlink("/bin/true", victim.path) == 0, 1);
        assert_is(open_victim(&victim), &victim.about); /* replaced */
        end_victim(&victim);
    }
}

/* Whatever path a ring names: what the process has mapped there is opened, or nothing. */
static void test_other_paths(void **state)
{
    static const char *const paths[] = {"/etc/shadow", "/proc/1/mem", "/dev/zero", "relative", "", "/../../etc/passwd"};
    struct victim victim;

    (void)state;
    start_victim(&victim, "aabb");
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        free(victim.module->path);
        victim.module->path = strdup(paths[i]);
        assert_is(open_victim(&victim), &victim.about); /* and it is compared with the build id */
    }
    victim.module->build_id[0] = '\0'; /* nothing to compare */
    assert_int_equal(open_victim(&victim), -ESTALE);
    end_victim(&victim);
}

static void test_not_asked(void **state)
{
    struct victim victim;

    (void)state;
    start_victim(&victim, "aabb");
    assert_int_equal(opener_open(proc_directory(), NULL, victim.module), -EACCES);
    victim.process->dead = true;
    assert_int_equal(open_victim(&victim), -EACCES);
    victim.process->dead = false;
    victim.process->attested = false;
    assert_int_equal(open_victim(&victim), -EACCES);
    victim.process->attested = true;
    victim.process->start_time_ticks++; /* another process had this pid */
    assert_int_equal(open_victim(&victim), -EACCES);
    victim.process->start_time_ticks--;
    victim.module->uid = geteuid() + 1; /* a ring of somebody else */
    assert_int_equal(open_victim(&victim), -EACCES);
    victim.module->uid = geteuid();
    victim.module->start = 0x1000; /* nothing there */
    assert_int_equal(open_victim(&victim), -ENOENT);
    victim.process->pid = 0;
    assert_int_equal(open_victim(&victim), -EACCES);
    victim.process->pid = (uint32_t)victim.pid;
    kill(victim.pid, SIGKILL);
    assert_int_equal(waitpid(victim.pid, NULL, 0), victim.pid);
    assert_int_equal(open_victim(&victim), -ENOENT);
    end_victim(&victim);
}

/* A proc tree of our own: no map_files and no exe, so that the path decides -----------------------------------------
 */

static void put(const char *name, const char *text)
{
    char path[160];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make(const char *name, mode_t mode)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void close_to_others(const char *name)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(chmod(path, 0640), 0);
}

/* What of a process with the number 7 is looked at, but for its maps. */
static void make_process(void)
{
    make("7", 0755);
    make("7/root", 0755);
    put("7/stat", "");
    make("7/task", 0755);
    make("7/task/7", 0755);
    put("7/task/7/stat", "7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 42 0 0 18446744073709551615\n");
}

static int open_in_tree(int proc, const char *path, const char *build_id)
{
    struct module_facts *module = sample_module(path, build_id, geteuid());
    struct process_facts *process = sample_process(7, 42);
    int descriptor;

    module->start = 0x1000;
    descriptor = opener_open(proc, process, module);
    module_facts_unref(module);
    process_facts_unref(process);
    return descriptor;
}

static void map_file(const char *name)
{
    struct stat about;
    char path[160], line[256];

    snprintf(path, sizeof(path), "%s/7/root%s", folder, name);
    assert_int_equal(stat(path, &about), 0);
    snprintf(line, sizeof(line), "1000-2000 r-xp 0 %x:%x %ju %s\n", major(about.st_dev), minor(about.st_dev),
             (uintmax_t)about.st_ino, name);
    put("7/maps", line);
}

static void test_a_path(void **state)
{
    char path[160], command[400];
    int proc;

    (void)state;
    make_process();
    make("7/root/open", 0755);
    make("7/root/private", 0700);
    put("7/root/open/file", "x");
    put("7/root/private/file", "x");
    snprintf(path, sizeof(path), "%s/7/root/open/fifo", folder);
    assert_int_equal(mkfifo(path, 0666), 0);
    snprintf(path, sizeof(path), "%s/7/root/open/out", folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    snprintf(path, sizeof(path), "%s/7/root/open/in", folder);
    assert_int_equal(symlink("/open/file", path), 0);
    proc = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

    map_file("/open/file");
    close(open_in_tree(proc, "/open/file", ""));
    assert_true(open_in_tree(proc, "/open/file", "") >= 0);
    assert_true(open_in_tree(proc, "/open/in", "aabb") >= 0); /* below its own root */
    assert_int_equal(open_in_tree(proc, "/open/out", "aabb"), -ENOENT);
    assert_int_equal(open_in_tree(proc, "/../../../../../../etc/passwd", "aabb"), -ENOENT);
    assert_int_equal(open_in_tree(proc, "/open/fifo", "aabb"), -ENOENT);
    assert_int_equal(open_in_tree(proc, "/open", "aabb"), -ENOENT);
    snprintf(command, sizeof(command), "echo y >%s/7/root/open/new && mv %s/7/root/open/new %s/7/root/open/file",
             folder, folder, folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(open_in_tree(proc, "/open/file", ""), -ENOENT); /* another file, and nothing to tell it by */
    assert_true(open_in_tree(proc, "/open/file", "aabb") >= 0);
    if (geteuid() == 0) /* what root alone can reach is not reached for anybody */
        assert_int_equal(open_in_tree(proc, "/private/file", "aabb"), -EACCES);
    assert_int_equal(geteuid(), getuid());
    close(proc);
    snprintf(command, sizeof(command), "rm -r %s/7", folder);
    assert_int_equal(system(command), 0);
}

/* sudo leaves root in root's group, which may read what others may not: that is no right of nobody's. */
static void test_groups_of_root(void **state)
{
    const gid_t group = getegid();
    char command[200];
    int proc;

    (void)state;
    if (geteuid() != 0 || setgroups(1, &group) != 0)
        skip();
    make_process();
    make("7/root/closed", 0750);
    put("7/root/closed/file", "x");
    make("7/root/open", 0755);
    put("7/root/open/file", "x");
    close_to_others("7/root/open/file");
    proc = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    map_file("/open/file");
    assert_int_equal(open_in_tree(proc, "/closed/file", "aabb"), -EACCES);
    assert_int_equal(open_in_tree(proc, "/open/file", "aabb"), -EACCES);
    close(proc);
    snprintf(command, sizeof(command), "rm -r %s/7", folder);
    assert_int_equal(system(command), 0);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_opener-XXXXXX");
    return mkdtemp(folder) == NULL || chmod(folder, 0755) != 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_mapped), cmocka_unit_test(test_other_paths),    cmocka_unit_test(test_not_asked),
        cmocka_unit_test(test_a_path),         cmocka_unit_test(test_groups_of_root),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
