/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_maps.h - the mappings of a process, from /proc/PID/maps. Takes a descriptor of /proc/PID, which becomes invalid
 * when that process ends, even if another process gets its pid.
 */
#ifndef RIPD_OS_PROC_MAPS_H
#define RIPD_OS_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* A mapping of a file. */
struct proc_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* in the file */
    char rights[4];  /* such as "r-xp" */
    uint64_t inode;
    uint32_t device_major;
    uint32_t device_minor;
    const char *path; /* borrowed from the line: up to its end, including the newline */
};

/* Visits the mappings of files, in order of address, until visit() returns false. Returns 0 or -errno. */
int proc_maps_visit(int process, bool (*visit)(void *context, const struct proc_mapping *mapping), void *context);

/*
 * Finds the file mapping that contains an address. Its path is set to NULL. path: the path that the file's must fit;
 * NULL = any. Returns 0; -ENOENT if no file is mapped there; -ESTALE if the path does not fit; or another -errno.
 */
int proc_maps_find(int process, uint64_t address, const char *path, struct proc_mapping *ret_mapping);

/* A mapped program or library: from the mapping of its beginning to the end of its last mapping that follows. */
struct proc_object {
    uint64_t start;
    uint64_t end;
    char *path; /* owned by the caller */
};

/*
 * Finds the object that contains an address of code. proc: /proc. Returns 0; -ENOENT if no file is mapped there, or not
 * for execution, or its beginning is not mapped; or another -errno.
 */
int proc_maps_object(int proc, uint32_t pid, uint64_t address, struct proc_object *ret_object);

/* Whether a file is the mapped one, by device and inode. Pure. */
bool proc_maps_is(const struct proc_mapping *mapping, const struct stat *about);

/*
 * Whether a file may be the mapped one although device or inode differ. Overlays before Linux 6.8 and btrfs show other
 * numbers in maps than elsewhere, with devices that are no block devices. Pure.
 */
bool proc_maps_may_be(const struct proc_mapping *mapping, const struct stat *about);

/* Parses one line of maps. Returns -EINVAL if it is malformed or has no file. Pure. */
int proc_maps_parse_line(const char *line, struct proc_mapping *ret_mapping);

/*
 * Whether the path of a maps line can be that of a module. It may be relative to another root, and may end in
 * " (deleted)". Pure.
 */
bool proc_maps_path_fits(const char *mapped, const char *path);

#endif
