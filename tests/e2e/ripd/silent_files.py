# SPDX-License-Identifier: Apache-2.0
"""silent_files.py FOLDER PROGRAM - a FUSE file system with one program, which stops answering on request.

Prints "ready". After a line on standard input it stops answering and prints "silent". It implements the kernel's
protocol (linux/fuse.h). A process that waits for the file system cannot be killed until the file system ends.
"""
import ctypes
import errno
import os
import stat
import struct
import sys
import threading

LOOKUP, FORGET, GETATTR, OPEN, READ, INIT, BATCH_FORGET = 1, 2, 3, 14, 15, 26, 42
ROOT, FILE = 1, 2
FOR_EVER = 1 << 30


class Silent:
    """Serves content as PATH/program until silent is set."""

    def __init__(self, path, content):
        self.content, self.silent = content, threading.Event()
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        libc = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self.device},rootmode=40755,user_id=0,group_id=0,allow_other,default_permissions"
        if libc.mount(b"silent", path.encode(), b"fuse", 6, options.encode()) != 0:  # the flags are nosuid and nodev
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        threading.Thread(target=self.run, daemon=True).start()

    def attributes(self, node):
        size = len(self.content) if node == FILE else 0
        mode = stat.S_IFREG | 0o755 if node == FILE else stat.S_IFDIR | 0o755
        return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, code, node, body):
        """Returns bytes, or an error number."""
        if code == INIT:
            return struct.pack("<IIIIHHIIHH7I", 7, 31, 65536, 0, 12, 10, 65536, 1, 32, 0, *[0] * 7)
        if code == LOOKUP:
            if node != ROOT or body.rstrip(b"\0") != b"program":
                return errno.ENOENT
            return struct.pack("<4Q2I", FILE, 1, FOR_EVER, FOR_EVER, 0, 0) + self.attributes(FILE)
        if code == GETATTR:
            return struct.pack("<Q2I", FOR_EVER, 0, 0) + self.attributes(node)
        if code == OPEN:
            return struct.pack("<QII", 7, 2, 0)  # FOPEN_KEEP_CACHE
        if code == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.content[offset:offset + size]
        return errno.ENOSYS

    def run(self):
        while True:
            try:
                message = os.read(self.device, 1 << 20)
            except OSError:
                return
            _, code, unique, node = struct.unpack_from("<IIQQ", message)
            if code in (FORGET, BATCH_FORGET) or self.silent.is_set():
                continue
            result = self.answer(code, node, message[40:])
            error, data = (-result, b"") if isinstance(result, int) else (0, result)
            os.write(self.device, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


if __name__ == "__main__":
    with open(sys.argv[2], "rb") as file:
        served = Silent(sys.argv[1], file.read())
    print("ready", flush=True)
    for line in sys.stdin:
        served.silent.set()
        print("silent", flush=True)
