/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_maps.c - lines of /proc/PID/maps, and the mapping at an address: ripd/os/proc_maps.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "os/file.h"
#include "os/proc_maps.h"
#include "support/guarded_copy.h"
#include "support/ring_stage.h"
#include "support/test.h"

TEST(lines)
{
    static const char line[] = "55d0c0a00000-55d0c0a22000 r-xp 00002000 fe:01 1311765      /usr/bin/redis server\n";
    struct proc_mapping mapping;

    assert_int_equal(proc_maps_parse_line(line, &mapping), 0);
    assert_int_equal(mapping.start, 0x55d0c0a00000);
    assert_int_equal(mapping.end, 0x55d0c0a22000);
    assert_int_equal(mapping.offset, 0x2000);
    assert_memory_equal(mapping.rights, "r-xp", 4);
    assert_int_equal(mapping.device_major, 0xfe);
    assert_int_equal(mapping.device_minor, 1);
    assert_int_equal(mapping.inode, 1311765);
    assert_string_equal(mapping.path, "/usr/bin/redis server\n");
    assert_int_equal(proc_maps_parse_line("1000-2000 r-xp 0 fe:01 7", &mapping), 0);
    assert_string_equal(mapping.path, "");
}

/* Two libraries, one of them also mapped for reading only, a data file, and mappings without a file. */
static const char map[] = "1000-2000 r--p 00000000 fe:01 7    /lib/a.so\n"
                          "2000-4000 r-xp 00001000 fe:01 7    /lib/a.so\n"
                          "4000-5000 rw-p 00003000 fe:01 7    /lib/a.so\n"
                          "5000-6000 rw-p 00000000 00:00 0\n"
                          "6000-7000 r--p 00000000 fe:01 9    /lib/b.so (deleted)\n"
                          "7000-8000 r-xp 00001000 fe:01 9    /lib/b.so (deleted)\n"
                          "8000-9000 r-xp 00000000 00:00 0\n"
                          "9000-a000 rw-p 00002000 fe:01 9    /lib/b.so (deleted)\n"
                          "a000-b000 r--p 00000000 fe:01 7    /lib/a.so\n"
                          "b000-c000 r-xp 00001000 fe:01 8    /lib/without its beginning\n"
                          "c000-d000 r--p 00000000 fe:01 5    /data\n"
                          "d000-e000 r-xp 00000000 00:00 0    [vdso]\n";

TEST(objects)
{
    static const struct {
        uint64_t address, start, end;
        const char *path; /* NULL = -ENOENT */
    } cases[] = {
        {0x2000, 0x1000, 0x5000, "/lib/a.so"},
        {0x3fff, 0x1000, 0x5000, "/lib/a.so"},
        {0x7abc, 0x6000, 0xa000, "/lib/b.so"},
        {0x1000, 0, 0, NULL}, /* not executable */
        {0x4000, 0, 0, NULL},
        {0x5000, 0, 0, NULL},
        {0x8000, 0, 0, NULL}, /* generated code */
        {0xa800, 0, 0, NULL},
        {0xb800, 0, 0, NULL},
        {0xc800, 0, 0, NULL},
        {0xd800, 0, 0, NULL},
        {0, 0, 0, NULL},
        {UINT64_MAX, 0, 0, NULL},
    };
    struct proc_object object;
    struct ring_stage stage;
    int proc;

    ring_stage_open(&stage);
    proc = file_open_directory(stage.directory);
    assert_int_equal(proc_maps_object(proc, 7, 0x2000, &object), -ESRCH);
    ring_stage_put(&stage, "7/other", "");
    assert_int_equal(proc_maps_object(proc, 7, 0x2000, &object), -ENOENT);
    ring_stage_put(&stage, "7/maps", map);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        object = (struct proc_object){.start = 42};
        assert_int_equal(proc_maps_object(proc, 7, cases[i].address, &object), cases[i].path != NULL ? 0 : -ENOENT);
        assert_int_equal(object.start, cases[i].path != NULL ? cases[i].start : 42);
        if (cases[i].path == NULL)
            continue;
        assert_int_equal(object.end, cases[i].end);
        assert_string_equal(object.path, cases[i].path);
        free(object.path);
    }
    close(proc);
    ring_stage_close(&stage);
}

TEST(malformed_lines)
{
    static const char *const lines[] = {"",
                                        "\n",
                                        "1000",
                                        "1000-",
                                        "1000-2000",
                                        "1000-2000 r-xp",
                                        "1000-2000 r-xp 0 fe",
                                        "1000-2000 r-xp 0 fe:01",
                                        "2000-1000 r-xp 0 fe:01 7",
                                        "1000-1000 r-xp 0 fe:01 7",
                                        "1000-2000 r-xp 0 00:00 0 [vdso]\n",
                                        "x-y r-xp 0 0:0 7"};
    struct proc_mapping mapping = {.start = 42};

    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        assert_int_equal(proc_maps_parse_line(lines[i], &mapping), -EINVAL);
        assert_int_equal(mapping.start, 42);
    }
}

static void parse(char *line)
{
    (void)proc_maps_parse_line(line, &(struct proc_mapping){.start = 0});
}

TEST(nothing_is_read_behind_the_end)
{
    guarded_cuts("55d0c0a00000-55d0c0a22000 r-xp 00002000 fe:01 1311765      /usr/bin/redis\n", parse);
}

TEST(paths)
{
    static const struct {
        const char *mapped, *path;
        bool fits;
    } rows[] = {
        {"/usr/bin/a\n", "/usr/bin/a", true},
        {"/usr/bin/a (deleted)\n", "/usr/bin/a", true},
        {"/srv/root/usr/bin/a\n", "/usr/bin/a", true}, /* a path in another root */
        {"/usr/bin/ab\n", "/usr/bin/a", false},
        {"/usr/bin/a\n", "/other/bin/a", false},
        {"/usr/bin/a\n", "a", false},
        {"/usr/bin/a\n", "", false},
        {"", "/a", false},
        {" (deleted)\n", "/a", false},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (proc_maps_path_fits(rows[i].mapped, rows[i].path) != rows[i].fits)
            fail_msg("'%s' in '%s'", rows[i].path, rows[i].mapped);
}

/* The program of this test. */
TEST(own_mappings)
{
    int process = file_open_directory("/proc/self");
    uint64_t here = (uint64_t)(uintptr_t)&test_own_mappings;
    struct proc_mapping mapping = {.inode = 42}, next;
    struct stat about, other;
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    assert_true(length > 0);
    path[length] = '\0';
    assert_int_equal(stat("/proc/self/exe", &about), 0);
    assert_int_equal(stat("/bin/sh", &other), 0);
    assert_int_equal(proc_maps_find(process, 0x1000, NULL, &mapping), -ENOENT);
    assert_int_equal(proc_maps_find(process, here, "/of/another", &mapping), -ESTALE);
    assert_int_equal(mapping.inode, 42);
    assert_int_equal(proc_maps_find(process, here, NULL, &mapping), 0);
    assert_true(mapping.start <= here && here < mapping.end && mapping.path == NULL);
    assert_int_equal(proc_maps_find(process, mapping.end, NULL, &next), 0); /* of the same program */
    assert_int_equal(next.start, mapping.end);
    assert_true(proc_maps_is(&mapping, &about));
    assert_false(proc_maps_is(&mapping, &other));
    assert_int_equal(proc_maps_find(process, here, path, &mapping), 0);
    close(process);
    assert_int_equal(proc_maps_find(process, here, NULL, &mapping), -EBADF);
    about.st_dev++;
    assert_false(proc_maps_is(&mapping, &about));
}

/* Device numbers with major 0 prove nothing: some file systems show others in maps than in stat. */
TEST(device_and_inode_numbers)
{
    static const struct {
        unsigned mapped_major, mapped_minor, mapped_inode, major, minor, inode;
        bool is, may_be;
    } rows[] = {
        {8, 1, 42, 8, 1, 42, true, false},   {8, 1, 42, 8, 1, 43, false, false},   {8, 1, 42, 8, 2, 42, false, false},
        {0, 30, 42, 0, 30, 42, true, false}, {0, 30, 42, 0, 30, 43, false, false}, /* tmpfs shows the same number */
        {0, 30, 42, 0, 35, 7, false, true},                                        /* a btrfs subvolume */
        {8, 1, 42, 0, 50, 7, false, true},                                         /* an overlay */
        {0, 50, 7, 8, 1, 42, false, false},  {8, 1, 42, 9, 1, 42, false, false},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct proc_mapping mapping = {
            .inode = rows[i].mapped_inode, .device_major = rows[i].mapped_major, .device_minor = rows[i].mapped_minor};
        struct stat about = {.st_ino = rows[i].inode, .st_dev = makedev(rows[i].major, rows[i].minor)};

        assert_int_equal(proc_maps_is(&mapping, &about), rows[i].is);
        assert_int_equal(proc_maps_may_be(&mapping, &about), rows[i].may_be);
    }
}
