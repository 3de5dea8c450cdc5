# SPDX-License-Identifier: Apache-2.0
"""Shared code of the preload library's tests: a ring directory for each test, `rip run`, and a dump of rings.

The build tree is $RIP_BUILD (bin/rip); ring_dump and the other test programs are in $RIP_HELPERS.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from world import is_in_memory, lacking  # noqa: E402, F401

BUILD = os.environ["RIP_BUILD"]
HELPERS = os.environ["RIP_HELPERS"]
RIP = os.path.join(BUILD, "bin", "rip")
SKIP = 77
PATIENCE_S = 60.0


def helper(name):
    return os.path.join(HELPERS, name)


def wait_for(what, condition, seconds=PATIENCE_S):
    """Returns the first true value of condition()."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"timeout after {seconds} s: waiting for {what}")
        time.sleep(0.02)


def read_pid(path):
    """Returns the pid in a file, or 0 if the file does not exist or is empty."""
    try:
        with open(path) as file:
            return int(file.read() or 0)
    except OSError:
        return 0


def ask(path, request):
    """Sends a request to a server on a Unix socket. Returns the answer, or b"" if the server does not run."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.settimeout(PATIENCE_S)
            connection.sendall(request)
            return connection.recv(65536)
    except OSError:
        return b""


def dump(path):
    """Returns a ring as a dictionary. Removes the null that ends the list of ids."""
    text = subprocess.run([helper("ring_dump"), path], check=True, capture_output=True).stdout
    ring = json.loads(text)
    ring["ids"].pop()
    return ring


class PreloadTest(unittest.TestCase):
    """A test with its own directory of rings. All processes that it started are killed at the end."""

    def setUp(self):
        self.rings = tempfile.mkdtemp(prefix="rip-preload-", dir="/dev/shm")
        self.scratch = tempfile.mkdtemp(prefix="rip-preload-")
        self.started = []
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("RIP_") and k != "LD_PRELOAD"}
        # A folder without search permission would turn "not found" into "permission denied".
        self.environment["PATH"] = ":".join(f for f in os.environ["PATH"].split(":") if os.access(f, os.X_OK))

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        shutil.rmtree(self.rings)
        shutil.rmtree(self.scratch)

    def command(self, *command, flags=()):
        return [RIP, "run", "--dir", self.rings, *flags, "--", *command]

    def run_traced(self, *command, flags=(), **keywords):
        keywords.setdefault("capture_output", True)
        return subprocess.run(self.command(*command, flags=flags), env=self.environment, text=True, timeout=PATIENCE_S,
                              **keywords)

    def start(self, *command, flags=(), **keywords):
        keywords.setdefault("stdin", subprocess.PIPE)
        keywords.setdefault("stdout", subprocess.PIPE)
        process = subprocess.Popen(self.command(*command, flags=flags), env=self.environment, text=True, **keywords)
        self.started.append(process)
        return process

    def ring_names(self):
        """Returns the names of rings. Excludes rings that are still being created."""
        return sorted(name for name in os.listdir(self.rings) if not name.startswith(".rip-unfinished-"))

    def ring(self, name):
        return dump(os.path.join(self.rings, name))

    def ids(self, name):
        """Returns the ids of a ring by name. If several ids have a name, one of them is returned."""
        return {i["name"]: i for i in self.ring(name)["ids"]}

    def live(self, name):
        """Returns the pids of processes that have not ended, by index of their record."""
        return {p["index"]: p["pid"] for p in self.ring(name)["processes"] if p["state"] == 3}

    def wait_ring(self, name):
        return wait_for("ring " + name, lambda: name in self.ring_names())

    def wait_no_rings(self):
        wait_for("an empty ring directory", lambda: not self.ring_names())


def main(*needed):
    """Runs the tests of the calling module, or skips them if a program is not installed."""
    for program in needed:
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            print(f"skipped: {program} is not installed")
            sys.exit(SKIP)
    unittest.main(verbosity=2)


def kill(pid, number=signal.SIGTERM):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
