# SPDX-License-Identifier: Apache-2.0
"""One thread, and no other of its process, is stopped, as if it hung: by ptrace."""
import contextlib
import ctypes
import os
import time

import world as w

PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207
WALL = 0x40000000
POLLS = {"x86_64": ("7", "271"), "aarch64": ("73",)}.get(os.uname().machine)  # system calls


def waits(thread):
    """Whether it is stopped where it waits, so that it holds no lock that the other threads need."""
    with open(f"/proc/{thread}/syscall", encoding="ascii") as file:
        return POLLS is None or file.read().split()[0] in POLLS


@contextlib.contextmanager
def stopped(thread):
    """A thread that waits in poll() now and then, stopped while it does."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(PTRACE_SEIZE, thread, None, None) != 0:
        raise w.Skip(f"may not trace: {os.strerror(ctypes.get_errno())}")
    end = time.monotonic() + w.PATIENCE_S
    while True:
        assert libc.ptrace(PTRACE_INTERRUPT, thread, None, None) == 0
        os.waitpid(thread, WALL)
        if waits(thread):
            break
        assert time.monotonic() < end, "it never waits"
        assert libc.ptrace(PTRACE_CONT, thread, None, None) == 0
        time.sleep(0.01)
    try:
        yield
    finally:
        assert libc.ptrace(PTRACE_DETACH, thread, None, None) == 0
