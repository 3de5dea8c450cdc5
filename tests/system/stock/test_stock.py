# SPDX-License-Identifier: Apache-2.0
"""Stock programs that wait for work, under `rip run` on a busy machine: no idle program is reported, and stalls are
still reported.

The test runs with a ripd of root, and with a ripd of nobody, like the service without the drop-in. Programs that are
not
installed are left out and listed. RIP_STOCK=all uses the longer list, for longer, with the alerts of ripd/contrib/
evaluated by a real Prometheus: none fires for an idle program, and one fires for the stuck programs. RIP_IDLE_S sets
the
time, an hour for example. Clients keep connections to the web servers open, like browsers.
"""
import contextlib
import http.client
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../e2e", folder) for folder in ("", "zoo", "ripd")]
import prometheus_kit as kit  # noqa: E402
from programs import CALLERS, LARGER, PATH, POSTGRES, SAMPLE, TERMINAL  # noqa: E402
from test_preloaded import BLOCKED, DEADLOCK, SPINNING, Callers, Strange, is_correct, verdict_on  # noqa: E402
from world import BIN, PATIENCE_S, Skip, free_port, run  # noqa: E402

ALL = os.environ.get("RIP_STOCK") == "all"
START_S = 30 if ALL else 5
WATCHED_S = int(os.environ.get("RIP_IDLE_S", 60 if ALL else 10))
LOOK_S = 2
BUSY_NICENESS = 5
STUCK = {"reply": BLOCKED, "flock": BLOCKED, "full_pipe": BLOCKED, "mutex": DEADLOCK, "spin": SPINNING}
ENVIRONMENT = {**os.environ, "PATH": PATH, "TERM": "vt100"}


class Watchers(kit.Watchers):
    """The alerts, as they page users."""

    @staticmethod
    def rules():
        return kit.read("alerts.yml")

    def fired(self):
        """Returns the names of the alerts fired so far, with the label "reason" if they have it."""
        found = self.query('max by (alertname, reason) (max_over_time(ALERTS{alertstate="firing"}[1h]))')
        return {" ".join(filter(None, (labels["alertname"], labels.get("reason")))) for labels, _ in found}


def names_of(folder):
    """Returns the values of the placeholders in a row."""
    return {"{port}": str(free_port()), "{other_port}": str(free_port()), "{folder}": folder,
            "{encoded}": folder.replace("/", "%2F"), "{postgres}": POSTGRES}


def filled(text, names):
    for name, value in names.items():
        text = text.replace(name, value)
    return text


class Client:
    """A client of a web server. It keeps its connection, and sends requests from time to time, or only one. If the
    server has not started yet or closes the connection, it connects again."""

    def __init__(self, port, asks):
        self.connection, self.asks, self.answers = http.client.HTTPConnection("127.0.0.1", port, PATIENCE_S), asks, 0

    def is_ended(self):
        """A server that waits for work sends only the end of the connection."""
        return not self.connection.sock or select.select([self.connection.sock], [], [], 0)[0]

    def act(self):
        if self.is_ended():
            self.connection.close()
        elif not self.asks:
            return
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.connection.request("GET", "/fast")
            self.connection.getresponse().read()
            self.answers += 1


class Machine:
    """What the tests add to a world, for both kinds of ripd."""

    STALL_AFTER_MS = 4000 if ALL else 2000
    INTERVAL_MS = 250

    def start(self):
        super().start()
        # like /run/librip: some programs change their user before they execute another program
        os.chmod(self.dir, 0o1777)

    def start_program(self, program):
        folder = os.path.join(self.dir, "of-" + program.name)
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        names = names_of(folder)
        for name, text in program.files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(filled(text, names))
        command = [filled(part, names) for part in program.command]
        if program.prepare:
            subprocess.run(["sh", "-c", filled(program.prepare, names)], cwd=folder, check=True, env=ENVIRONMENT,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if program.serves:
            self.clients += [Client(names["{port}"], asks) for asks in (True, False)]
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

    def output_of(self, name):
        with open(os.path.join(self.dir, "of-" + name, "output"), encoding="utf-8", errors="replace") as output:
            return output.read()[-500:]

    def close(self):
        """Also kills the children: each program has its own session."""
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        super().close()

    def make_busy(self):
        """Starts more work than there are CPUs, until the test ends."""
        loop = ["nice", "-n", str(BUSY_NICENESS), "sh", "-c", "while :; do :; done"]
        self.processes += [subprocess.Popen(loop) for _ in range(2 * os.cpu_count())]

    def make_rings_readable(self):
        for name in os.listdir(self.dir):
            path = os.path.join(self.dir, name)
            if os.path.isfile(path) and not name.startswith(".rip-unfinished-"):
                os.chmod(path, 0o644)

    def begins(self):
        return [event for event in self.get("/events?limit=10000")["events"] if event["kind"] == "begin"]

    def late_count(self):
        return int(re.search(r"^ripd_late_scans_total (\d+)", self.request("/metrics")[1], re.M)[1])

    def accused(self, stuck):
        """Returns stalls and begins of stalls of programs that are not stuck, except sleeping ones."""
        stalls = [stall for stall in self.stalls("?limit=10000") if stall["cause"] != "sleeping"]
        return [(item["ring"], item["name"], item["cause"], item["location"], item.get("kernel"))
                for item in stalls + self.begins() if item["ring"] not in stuck]


class Root(Machine, Callers):
    def __init__(self):
        self.kept, self.started, self.clients = [], [], []
        super().__init__()


class Nobody(Machine, Strange):
    def __init__(self):
        self.kept, self.started, self.clients = [], [], []
        super().__init__()


def within_bound(machine, stuck, late_count):
    """Checks with ripd's own times that stalls began soon after the threshold, plus late scans. Evidence may take some
    scans."""
    bound_ms = machine.STALL_AFTER_MS + (6 + machine.late_count() - late_count) * machine.INTERVAL_MS
    begun = {event["ring"]: event["frozen_for_ms"] for event in machine.begins() if event["ring"] in stuck}
    begun["spin"] -= machine.STALL_AFTER_MS  # its cause needs evidence, for which ripd itself has hardly any CPU time
    assert all(frozen_for_ms <= bound_ms for frozen_for_ms in begun.values()), (bound_ms, begun)


def check_stuck_programs(machine, in_time):
    late_count = machine.late_count()
    stuck = {kind: machine.admit(kind) for kind in STUCK}
    for kind, pid in stuck.items():
        machine.wait_for(lambda kind=kind, pid=pid: is_correct(verdict_on(machine.item(kind, pid)), STUCK[kind]))
    machine.wait_for(lambda: set(stuck) <= {event["ring"] for event in machine.begins()})
    if in_time:
        within_bound(machine, stuck, late_count)
    return set(stuck)


def expect(machine):
    if machine.request("/readyz")[0] != 200:
        raise Skip("ripd cannot run on this machine")
    listed = SAMPLE + (LARGER + CALLERS if ALL else [])
    programs = [program for program in listed if program.is_there()]
    absent = [program.name for program in listed if not program.is_there()]
    print(f"        without {' '.join(absent)}: not installed" if absent else "        all are installed")
    machine.make_busy()
    with contextlib.closing(Watchers(machine)) if ALL else contextlib.nullcontext() as watchers:
        watch(machine, programs, watchers)


def ended_of(machine, started):
    return {name: (process.returncode, machine.output_of(name)) for name, process in started.items()
            if process.poll() is not None}


def limits_hit(machine):
    return dict(re.findall(r'^ripd_limit_hits_total\{limit="(\w+)"\} ([1-9]\d*)$', machine.get("/metrics"), re.M))


def watch(machine, programs, watchers):
    started = {program.name: machine.start_program(program) for program in programs}
    end = time.monotonic() + START_S + WATCHED_S
    while time.monotonic() < end:  # no condition to wait for: the programs start, and then nothing must happen
        time.sleep(LOOK_S)
        machine.make_rings_readable()
        for client in machine.clients:
            client.act()
        assert not ended_of(machine, started), ended_of(machine, started)
        assert not machine.accused(set()), machine.accused(set())
    assert all(client.answers for client in machine.clients), [client.answers for client in machine.clients]
    assert not watchers or not watchers.fired(), (watchers.fired(), limits_hit(machine))
    stuck = check_stuck_programs(machine, in_time=ALL)
    if watchers:
        machine.wait_for(lambda: "RipdStalled" in watchers.fired(), 2 * PATIENCE_S)
    assert not machine.accused(stuck), machine.accused(stuck)
    count = machine.get("/threads?limit=1")["total"]
    print(f"        {len(started)} programs, {count} ids; limits: {limits_hit(machine)}")
    assert not ended_of(machine, started), ended_of(machine, started)


def under_root(machine):
    if os.geteuid() != 0:
        raise Skip("only root may read the system calls of others")
    expect(machine)


def under_nobody(machine):
    if machine.missing:
        raise Skip(machine.missing)
    expect(machine)


if __name__ == "__main__":
    worlds = {under_root: Root, under_nobody: Nobody}
    chosen = iter([kind for test, kind in worlds.items() if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]])
    run(list(worlds), lambda: next(chosen)())
