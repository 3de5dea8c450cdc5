/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_maps.h - what a process has mapped where, as /proc/PID/maps says. Takes the descriptor of /proc/PID: once that
 * process has ended it leads nowhere, though another process may have its pid.
 */
#ifndef RIPD_OS_PROC_MAPS_H
#define RIPD_OS_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* A file that is mapped. */
struct proc_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* in the file */
    char rights[4];  /* such as "r-xp" */
    uint64_t inode;
    uint32_t device_major;
    uint32_t device_minor;
    const char *path; /* in the line: to its end, a newline included */
};

/* Visits the mappings of files, in order of address, until visit() returns false. 0; -errno: it may not be read. */
int proc_maps_visit(int process, bool (*visit)(void *context, const struct proc_mapping *mapping), void *context);

/*
 * The mapping of a file that holds an address; its path is NULL. path: what that of the file has to fit, NULL = it may
 * be any. 0; -ENOENT: no file is mapped there; -ESTALE: its path does not fit; another -errno: it may not be read.
 */
int proc_maps_find(int process, uint64_t address, const char *path, struct proc_mapping *ret_mapping);

/* A program or library as it is mapped: from its beginning up to the last mapping of it that follows. */
struct proc_object {
    uint64_t start;
    uint64_t end;
    char *path; /* the caller's to free */
};

/*
 * The object that an address of code lies in. 0; -ENOENT: no file is mapped there, or not for execution, or its
 * beginning is not mapped; another -errno: it may not be read. proc: /proc.
 */
int proc_maps_object(int proc, uint32_t pid, uint64_t address, struct proc_object *ret_object);

/* Whether a file is the one that is mapped, by device and inode. Pure. */
bool proc_maps_is(const struct proc_mapping *mapping, const struct stat *about);

/*
 * Whether it may be though it does not seem to be: overlays before Linux 6.8, and btrfs, show other numbers in maps
 * than elsewhere, with devices that are no block devices. Pure.
 */
bool proc_maps_may_be(const struct proc_mapping *mapping, const struct stat *about);

/* One line of maps. -EINVAL: it is none, or of no file. Pure. */
int proc_maps_parse_line(const char *line, struct proc_mapping *ret_mapping);

/*
 * Whether the path of a line of maps, which may be seen from another root and says when the file was deleted, can be
 * that of a module. Pure.
 */
bool proc_maps_path_fits(const char *mapped, const char *path);

#endif
