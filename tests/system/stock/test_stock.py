# SPDX-License-Identifier: Apache-2.0
"""Stock programs that wait for work, under `rip run` on a busy machine: nothing idle is accused, and ripd is not blind.

Once under a ripd that is root, and once under one that is nobody, as the service without the drop-in. What is not
installed is left out and named. RIP_STOCK=all takes the longer list.
"""
import contextlib
import os
import pty
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../e2e"), os.path.join(HERE, "../../e2e/zoo")]
from programs import LARGER, PATH, POSTGRES, SAMPLE, TERMINAL  # noqa: E402
from test_preloaded import BLOCKED, DEADLOCK, SPINNING, Callers, Strange, is_right, verdict_on  # noqa: E402
from world import BIN, Skip, run  # noqa: E402

ALL = os.environ.get("RIP_STOCK") == "all"
WATCHED_S = 60 if ALL else 10
STUCK = {"reply": BLOCKED, "flock": BLOCKED, "full_pipe": BLOCKED, "mutex": DEADLOCK, "spin": SPINNING}
MAY_STALL = ("sleeping",)
ENVIRONMENT = {**os.environ, "PATH": PATH, "TERM": "vt100"}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def filled(text, folder):
    """What a row writes for names that are only known here."""
    names = {"{port}": str(free_port()), "{folder}": folder, "{encoded}": folder.replace("/", "%2F"),
             "{postgres}": POSTGRES}
    for name, value in names.items():
        text = text.replace(name, value)
    return text


class Machine:
    """What the tests of both kinds of ripd add to it."""

    STALL_AFTER_MS = 2000

    def start(self):
        super().start()
        os.chmod(self.dir, 0o1777)  # as /run/librip: some programs change their user before they execute another

    def start_program(self, program):
        folder = os.path.join(self.dir, "of-" + program.name)
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        for name, text in program.files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(filled(text, folder))
        command = [filled(part, folder) for part in program.command]
        if program.prepare:
            subprocess.run(["sh", "-c", filled(program.prepare, folder)], cwd=folder, check=True, env=ENVIRONMENT,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ours, theirs = pty.openpty() if program.stdin == TERMINAL else os.pipe()[::-1]
        self.kept.append(ours)
        with open(os.path.join(folder, "output"), "wb") as output:
            process = subprocess.Popen(
                [f"{BIN}/rip", "run", "--dir", self.dir, "--max", "1024", "--", *command], stdin=theirs,
                stdout=theirs if program.stdin == TERMINAL else output,
                stderr=theirs if program.stdin == TERMINAL else output, cwd=folder,
                env=ENVIRONMENT, start_new_session=True)
        os.close(theirs)
        self.processes.append(process)
        self.started.append(process)
        return process

    def close(self):
        """Their children, too: each program has a session of its own."""
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        super().close()

    def make_busy(self):
        """More work than processors, as long as the test takes."""
        for _ in range(2 * os.cpu_count()):
            self.processes.append(subprocess.Popen(["sh", "-c", "while :; do :; done"]))

    def make_rings_readable(self):
        for name in os.listdir(self.dir):
            path = os.path.join(self.dir, name)
            if os.path.isfile(path):
                os.chmod(path, 0o644)

    def accused(self, stuck):
        """Begins of stalls and stalls of others than those that are stuck, and than what sleeps."""
        stalls = self.stalls("?limit=10000")
        begun = [event for event in self.get("/events?limit=10000")["events"] if event["kind"] == "begin"]
        return [(item["ring"], item["name"], item["cause"], item["location"], item.get("kernel"))
                for item in stalls + begun if item["ring"] not in stuck and item["cause"] not in MAY_STALL]


class Root(Machine, Callers):
    has_evidence = True

    def __init__(self):
        self.kept, self.started = [], []
        super().__init__()


class Nobody(Machine, Strange):
    has_evidence = False

    def __init__(self):
        self.kept, self.started = [], []
        super().__init__()


def expect(machine):
    if machine.request("/readyz")[0] != 200:
        raise Skip("ripd does not run here")
    listed = [program for program in SAMPLE + (LARGER if ALL else []) if machine.has_evidence or not program.evidence]
    programs = [program for program in listed if program.is_there()]
    absent = [program.name for program in listed if not program.is_there()]
    print(f"        without {' '.join(absent)}: not installed" if absent else "        all are installed")
    machine.make_busy()
    started = {program.name: machine.start_program(program) for program in programs}
    time.sleep(WATCHED_S / 2)  # for as long as they take to start there is nothing to wait for
    machine.make_rings_readable()
    stuck = {kind: machine.admit(kind) for kind in STUCK}
    for kind, pid in stuck.items():
        machine.wait_for(lambda kind=kind, pid=pid: is_right(verdict_on(machine.item(kind, pid)), STUCK[kind]))
    time.sleep(WATCHED_S)  # nothing to wait for: nothing may happen
    assert not machine.accused(stuck), machine.accused(stuck)
    ended = [name for name, process in started.items() if process.poll() is not None]
    print(f"        {len(started)} programs, {machine.get('/threads?limit=1')['total']} ids; ended: {ended}")
    assert len(ended) < len(started) / 2, ended


def under_root(machine):
    if os.geteuid() != 0:
        raise Skip("only root may read the system calls of others")
    expect(machine)


def under_nobody(machine):
    if machine.missing:
        raise Skip(machine.missing)
    expect(machine)


if __name__ == "__main__":
    order = iter([Root, Nobody])
    run([under_root, under_nobody], lambda: next(order)())
