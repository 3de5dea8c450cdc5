/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_names.h - converts what a thread passed to a system call by address into text: paths and socket addresses.
 * Pure: bytes in, text out. The bytes come from the thread and may be anything.
 */
#ifndef RIPD_PROBE_KERNEL_NAMES_H
#define RIPD_PROBE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "os/proc_thread.h"

#define KERNEL_ADDRESS_BYTES 128u /* the longest socket address that the kernel accepts */

/*
 * Takes the text at the start of these bytes. It is cut if it does not end within PROC_LINK_BYTES. Returns false, with
 * *ret_name untouched, if it does not end and there are fewer bytes than that.
 */
bool kernel_names_text(const unsigned char *bytes, size_t count, struct proc_name *ret_name);

/* Joins a path to the directory base. Nothing is looked up: ".." and links stay as they are. */
void kernel_names_join(const struct proc_name *base, const struct proc_name *path, struct proc_name *ret_name);

/*
 * Formats a struct sockaddr: "127.0.0.1:80", "[::1]:80", "/run/db.sock", "@abstract", "vsock 2:1024". Returns false,
 * with *ret_name untouched, if it is too short, of another family, or has no name.
 */
bool kernel_names_address(const unsigned char *bytes, size_t count, struct proc_name *ret_name);

#endif
