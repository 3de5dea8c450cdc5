# SPDX-License-Identifier: Apache-2.0
"""A ripd that is started as by a service manager, and the messages that the manager receives, for the end-to-end tests.
"""
import contextlib
import os
import re
import socket
import subprocess
import sys

import world as w

INTERVAL_MS = w.World.INTERVAL_MS
# Does what a service manager does between fork and exec: sets variables ({pid} stands for the pid), and passes
# descriptors from number 3 on.
LAUNCHER = """
import fcntl, os, sys
variables, descriptors, command = sys.argv[1], sys.argv[2], sys.argv[3:]
for variable in variables.split("|"):
    name, _, value = variable.partition("=")
    os.environ[name] = value.replace("{pid}", str(os.getpid()))
numbers = [int(number) for number in descriptors.split()]
aside = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 100) for number in numbers]
for number in numbers:
    os.close(number)
for number, descriptor in enumerate(aside, 3):
    os.dup2(descriptor, number)
os.execv(command[0], command)
"""


class Manager:
    """The notification socket of a service manager, and the messages received: one dictionary for each message."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind("\0" + path[1:] if path.startswith("@") else path)
        self.socket.setblocking(False)
        self.path = path
        self.heard = []

    def listen(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                data, ancillary, _, _ = self.socket.recvmsg(4096, 256)
                pid = int.from_bytes(ancillary[0][2][:4], sys.byteorder)
                lines = data.decode().splitlines()
                self.heard.append(dict(line.split("=", 1) for line in lines) | {"pid": pid})
        return self.heard

    def count(self, key):
        return sum(key in message for message in self.listen())

    def last(self, key):
        return [message[key] for message in self.listen() if key in message][-1]


class Managed(w.World):
    """A ripd that is started as by a service manager. A test starts it with launch() or serve()."""

    def __init__(self):
        self.manager = None
        super().__init__()

    def start(self):
        self.log = open(self.log_path, "ab")

    def launch(self, environment=None, passed=(), flags=("--listen", "127.0.0.1:0"), path=None,
               interval=("--interval", f"{INTERVAL_MS}ms")):
        """passed: files that become descriptors 3, 4 and so on."""
        if self.manager is None:
            self.manager = Manager(path or os.path.join(self.made, "notify.socket"))
        variables = {"NOTIFY_SOCKET": self.manager.path} | (environment or {})
        numbers = [file.fileno() for file in passed]
        self.ripd = subprocess.Popen(
            [*self.prefix, sys.executable, "-c", LAUNCHER, "|".join(f"{k}={v}" for k, v in variables.items()),
             " ".join(map(str, numbers)), f"{w.BIN}/ripd", "--dir", self.dir, *interval, *flags], stderr=self.log,
            pass_fds=numbers)

    def serve(self, **options):
        self.launch(**options)
        found = self.wait_for(lambda: re.findall(r"listening on http://127\.0\.0\.1:(\d+)\n", self.log_text()))
        self.port = int(found[0])
        self.wait_for(lambda: self.manager.count("READY"))

    def close(self):
        if self.ripd is None:
            self.ripd = subprocess.Popen(["true"])
        super().close()
