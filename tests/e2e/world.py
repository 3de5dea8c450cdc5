# SPDX-License-Identifier: Apache-2.0
"""Shared code of the end-to-end tests: starts ripd and traced programs, and sends requests to ripd.

Every test has its own directory on tmpfs. At the end all processes are killed and the directory is removed. Tests wait
for conditions with a generous timeout, because they must pass on a busy machine.
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

import schema

BIN = os.environ.get("RIP_TEST_BIN", "build/bin")
PATIENCE_S = 90
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable  # every user may execute it


class Puppet:
    """A running instance of puppet.c."""

    def __init__(self, world, argv=None, **options):
        self.process = subprocess.Popen(argv or [f"{BIN}/puppet"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1, **options)
        self.pid = self.process.pid
        world.processes.append(self.process)

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def do(self, line):
        answer = self.send(line)
        assert answer == "ok", f"{line}: {answer}"

    def kill(self, number=signal.SIGKILL):
        """Sends a signal. Waits until the process has ended, or until all its threads have stopped."""
        self.process.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.process.wait()
        elif number == signal.SIGSTOP:
            os.waitpid(self.pid, os.WUNTRACED)


class Busy(Exception):
    """ripd answered 503: too many requests at the same time."""


def wait_for(condition, seconds=PATIENCE_S, check=lambda: None):
    """Returns the first true value of condition(). check() raises an exception if waiting is pointless."""
    end, pause_s = time.monotonic() + seconds, 0.02
    while True:
        try:
            value = condition()
        except (Busy, IndexError, TypeError, KeyError, FileNotFoundError, ProcessLookupError) as error:
            value = error  # the object does not exist yet, or no longer exists
        if value and not isinstance(value, Exception):
            return value
        if time.monotonic() > end:
            raise AssertionError(f"timeout after {seconds} s; the last value is {value!r:.4000}")
        check()
        time.sleep(pause_s)
        pause_s = min(1.5 * pause_s, 0.1)  # many tests wait at the same time, and each request slows all of them


def in_first_pid_namespace():
    """Is this the initial pid namespace? Only there does the kernel report original pids, for example of lock holders.
    """
    return os.stat("/proc/self/ns/pid").st_ino == 4026531836  # PROC_PID_INIT_INO in Linux


CAPABILITIES = {"dac_read_search": 2, "ipc_lock": 14, "sys_ptrace": 19, "sys_admin": 21, "checkpoint_restore": 40}


def lacking(*names):
    """Returns the capabilities of names that this process lacks. Root in a container may also lack some."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        held = [int(line.split()[1], 16) for line in file if line.startswith("CapEff:")][0]
    return [name for name in names if not held >> CAPABILITIES[name] & 1]


def children(pid):
    """Returns the children of all threads of the process."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += [int(word) for word in file.read().split()]
    return found


def name_of(pid):
    """Returns the name of the process, or None if it has ended, even if its parent has not reaped it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            before, _, after = file.read().rpartition(")")
            return before.partition("(")[2] if after.split()[0] not in "ZX" else None
    except OSError:
        return None


def line_of(path, text):
    """Returns the number of the first line that contains the text."""
    with open(path, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def is_in_memory(path):
    """Is path on tmpfs or ramfs? Rings must be there."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True).stdout.strip()
    return kind in ("tmpfs", "ramfs")


def missing_for_users():
    """Returns what tests with several users and with evidence lack, or None."""
    if os.geteuid() != 0 or lacking("sys_ptrace", "dac_read_search") or not shutil.which("setpriv"):
        return "needs root with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, and setpriv"
    return None


class World:
    INTERVAL_MS = 200
    STALL_AFTER_MS = 1000
    prefix = ()  # goes before ripd on the command line

    def __init__(self, *flags, directory=None):
        self.made = tempfile.mkdtemp(prefix="rip-e2e-", dir="/dev/shm")
        self.dir = directory or self.made
        self.processes = []
        self.pids = []
        self.log_path = os.path.join(self.made, "ripd.log.txt")
        self.flags = list(flags)
        self.ripd = None
        self.start()

    @property
    def state_dir(self):
        return os.path.join(self.made, "state")

    def settings(self):
        return {"listen": "127.0.0.1:0", "dir": self.dir, "interval": f"{self.INTERVAL_MS}ms",
                "stall-after": f"{self.STALL_AFTER_MS}ms"}

    def popen_options(self):
        """Returns more arguments of subprocess.Popen() for ripd."""
        return {}

    def start(self):
        self.log = open(self.log_path, "ab")
        logged = len(self.log_text())
        self.ripd = subprocess.Popen(
            [*self.prefix, f"{BIN}/ripd", *(f"--{key}={value}" for key, value in self.settings().items()), *self.flags],
            stderr=self.log, **self.popen_options())
        found = self.wait_for(lambda: re.findall(r"listening on http://127\.0\.0\.1:(\d+)\n",
                                                 self.log_text()[logged:]))
        self.port = int(found[-1])
        self.wait_for(lambda: self.request("/readyz")[0] == 200)

    def stop(self):
        self.ripd.send_signal(signal.SIGTERM)
        status = self.ripd.wait(timeout=PATIENCE_S)
        self.log.close()
        return status

    def log_text(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def read(self, name):
        """Returns the contents of a file in this world's directory, or "" if the file does not exist."""
        try:
            with open(os.path.join(self.made, name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def ring(self, name="app"):
        return os.path.join(self.dir, name)

    def request(self, path, method="GET", headers=None):
        """Returns (status, body). The body is parsed if it is JSON, and checked against the schema."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, headers=headers or {})
            response = connection.getresponse()
            body = response.read().decode()
            kind = response.headers.get("Content-Type", "")
            if "json" not in kind or not body:
                return response.status, body
            document = json.loads(body)
            schema.check_document(document, where=path)
            return response.status, document
        finally:
            connection.close()

    def get(self, path):
        status, body = self.request(path)
        if status == 503:
            raise Busy(f"{path}: {body}")
        assert status == 200, f"{path}: {status} {body}"
        return body

    def metric(self, name):
        """Returns the value of a metric. name includes its labels."""
        found = re.findall(rf"^{re.escape(name)} (\d+)$", self.get("/metrics"), re.M)
        assert len(found) <= 1, found
        return int(found[0])

    def stalls(self, query=""):
        return self.get("/stalls" + query)["stalls"]

    def stalled_ids(self):
        return sorted(stall["id"] for stall in self.stalls())

    def thread(self, number, ring="app"):
        """Returns the item of an id, or None."""
        found = [t for t in self.get(f"/threads?ring={ring}&limit=10000&trail=32")["threads"] if t["id"] == number]
        return found[0] if found else None

    def state(self, number, ring="app"):
        item = self.thread(number, ring)
        return item["state"] if item else None

    def sequence(self):
        return self.get("/stalls")["scan"]["sequence"]

    def wait_scans(self, count):
        target = self.sequence() + count
        self.wait_for(lambda: self.sequence() >= target)

    def wait_for(self, condition, seconds=PATIENCE_S):
        return wait_for(condition, seconds, self.check_ripd)

    def wait_to_stay(self, look, expected):
        """Waits until look() returns expected, and checks that it still does after all stalls have been reported."""
        try:
            self.wait_for(lambda: look() == expected)
            self.well_past_threshold()
            self.wait_for(lambda: look() == expected)
        except AssertionError as error:
            raise AssertionError(f"{look()}\n expected {expected}") from error

    def check_ripd(self):
        if self.ripd is not None and self.ripd.poll() is not None:
            raise AssertionError(f"ripd has ended with status {self.ripd.returncode}:\n{self.log_text()}")

    def well_past_threshold(self):
        """Waits until everything that is stuck must have been reported."""
        time.sleep((self.STALL_AFTER_MS + 4 * self.INTERVAL_MS) / 1000)
        self.wait_scans(2)

    def puppet(self, ring="app", capacity=64, argv=None, **options):
        puppet = Puppet(self, argv, **options)
        if ring:
            puppet.do(f"ring {self.ring(ring)} {capacity}")
        return puppet

    def end_well(self):
        """Checks that ripd can still be stopped and that no sanitizer reported an error."""
        if self.ripd is not None and self.ripd.poll() is None:
            self.ripd.send_signal(signal.SIGTERM)
            assert self.ripd.wait(timeout=PATIENCE_S) == 0, self.ripd.returncode
        assert not re.search(r"(Address|Thread|Leak)Sanitizer: |runtime error: ", self.log_text()), "see ripd's log"

    def close(self):
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in [*self.processes, self.ripd]:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    try:
                        stream.close()
                    except BrokenPipeError:
                        pass
        shutil.rmtree(self.made, ignore_errors=True)


class Skip(Exception):
    """The machine lacks something that the test needs."""


def skip_script(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(tests, make_world=World):
    """Runs each test in its own world. Exits with 1 if a test fails, and with 77 if all tests are skipped."""
    chosen = [test for test in tests if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]]
    failed = skipped = 0
    for test in chosen:
        begin = time.monotonic()
        world = make_world()
        try:
            test(world)
            world.end_well()
            print(f"ok      {test.__name__} ({time.monotonic() - begin:.1f} s)")
        except Skip as reason:
            skipped += 1
            print(f"skipped {test.__name__}: {reason}")
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"FAILED  {test.__name__}")
            traceback.print_exc(file=sys.stdout)
            lines = world.log_text().splitlines()
            print(f"--- log of ripd, the last of {len(lines)} lines ---", *lines[-200:], sep="\n")
        finally:
            world.close()
        sys.stdout.flush()
    print(f"{len(chosen)} tests, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 77 if skipped == len(chosen) else 0)
