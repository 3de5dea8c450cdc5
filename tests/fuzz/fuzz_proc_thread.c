/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_proc_thread.c - threads, descriptors, sockets and locks in /proc: accepted values are terminated and in bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "os/proc_net.h"
#include "os/proc_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    char *text = malloc(size_bytes + 1); /* exact size, to detect reads past the end */
    char wchan[PROC_WCHAN_BYTES], address[PROC_ADDRESS_TEXT_BYTES];
    struct proc_schedstat schedstat;
    struct proc_switches switches;
    struct proc_socket socket;
    struct proc_lock_wait waits[8];
    struct proc_syscall call;
    uint32_t holder;
    uint64_t inode;
    size_t count;

    if (text == NULL)
        return 0;
    if (size_bytes != 0)
        memcpy(text, bytes, size_bytes);
    text[size_bytes] = '\0';
    proc_parse_schedstat(text, &schedstat);
    proc_parse_switches(text, &switches);
    proc_parse_descriptor(text, &inode, &inode);
    proc_link_inode(text, "socket", &inode);
    if (proc_parse_wchan(text, wchan) == 0)
        require(memchr(wchan, 0, sizeof(wchan)) != NULL && wchan[0] != '\0');
    if (proc_parse_syscall(text, &call) == 0)
        require(call.kind <= PROC_SYSCALL_INSIDE && call.number <= UINT32_MAX);
    if (proc_parse_lock_holder(text, 200, 0, &holder) == 0)
        require(holder != 0);
    if (proc_parse_lock_waits(text, waits, 8, &count) == 0)
        require(count <= 8);
    for (int kind = 0; kind < PROC_SOCKET_KIND_COUNT; kind++) {
        if (proc_parse_socket(text, (enum proc_socket_kind)kind, &socket) != 0)
            continue;
        require(memchr(socket.path, 0, sizeof(socket.path)) != NULL);
        proc_address_format(socket.kind, &socket.local, address);
        require(memchr(address, 0, sizeof(address)) != NULL);
    }
    free(text);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "1241344 11359471 2\n",
        "Name:\tapp\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t4\n",
        "hrtimer_nanosleep",
        "230 0x0 0x1 0x7ffcc5ad5170 0x7ffcc5ad51b0 0x0 0x0 0x7ffcc5ad5158 0x7ff0dfb19503\n",
        "-1 0x7ffcc5ad5158 0x7ff0dfb19503\n",
        "pos:\t0\nflags:\t02\nmnt_id:\t27\nino:\t77\n",
        "socket:[5842546]",
        "   0: 0100007F:8711 0200A8C0:1538 02 00000000:00000000 00:00000000 00000000 0 0 5670868 1 0 100",
        "  1: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 99 1",
        "00000000256fc0db: 00000003 00000000 00010000 0001 01 629 /run/a b.sock",
        "5: FLOCK  ADVISORY  WRITE 101 fe:00:9 0 EOF\n5: -> FLOCK  ADVISORY  WRITE 200 fe:00:9 0 EOF\n",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
