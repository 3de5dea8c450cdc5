/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_names.h - what a thread has passed to a system call by address, as text: paths, and addresses of sockets.
 * Pure: bytes in, text out. All of it is the thread's own, and may hold anything.
 */
#ifndef RIPD_PROBE_KERNEL_NAMES_H
#define RIPD_PROBE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "os/proc_thread.h"

#define KERNEL_ADDRESS_BYTES 128u /* of a socket's address, at most, as the kernel takes them */

/*
 * The text that begins with these bytes. It is cut if it does not end within PROC_LINK_BYTES of them. False: it does
 * not end, and there are fewer of them; *ret_name is untouched.
 */
bool kernel_names_text(const unsigned char *bytes, size_t count, struct proc_name *ret_name);

/* The same path from base, a directory, on. Nothing is looked up: "..", and links, stay what they are. */
void kernel_names_join(const struct proc_name *base, const struct proc_name *path, struct proc_name *ret_name);

/*
 * A struct sockaddr: "127.0.0.1:80", "[::1]:80", "/run/db.sock", "@abstract", "vsock 2:1024". False: it is too short,
 * of another family, or names nothing; *ret_name is untouched.
 */
bool kernel_names_address(const unsigned char *bytes, size_t count, struct proc_name *ret_name);

#endif
