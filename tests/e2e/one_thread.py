# SPDX-License-Identifier: Apache-2.0
"""Stops a single thread of a process with ptrace, as if this thread hung."""
import contextlib
import ctypes
import os
import time

import world as w

PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207
WALL = 0x40000000
# numbers of the system calls poll and ppoll
POLLS = {"x86_64": ("7", "271"), "aarch64": ("73",)}.get(os.uname().machine)


def is_in_poll(thread):
    """Is the thread stopped in poll()? Then it holds no lock that other threads need."""
    with open(f"/proc/{thread}/syscall", encoding="ascii") as file:
        return POLLS is None or file.read().split()[0] in POLLS


@contextlib.contextmanager
def stopped(thread):
    """Stops a thread while it waits in poll(). The thread must call poll() from time to time."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(PTRACE_SEIZE, thread, None, None) != 0:
        raise w.Skip(f"ptrace is not permitted: {os.strerror(ctypes.get_errno())}")
    end = time.monotonic() + w.PATIENCE_S
    while True:
        assert libc.ptrace(PTRACE_INTERRUPT, thread, None, None) == 0
        os.waitpid(thread, WALL)
        if is_in_poll(thread):
            break
        assert time.monotonic() < end, "the thread never waits in poll()"
        assert libc.ptrace(PTRACE_CONT, thread, None, None) == 0
        time.sleep(0.01)
    try:
        yield
    finally:
        assert libc.ptrace(PTRACE_DETACH, thread, None, None) == 0
