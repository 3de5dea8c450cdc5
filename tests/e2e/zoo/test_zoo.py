# SPDX-License-Identifier: Apache-2.0
"""Every kind of stall: the cause, the line in the source, the system call and what it waits for.

KINDS lists the kinds. Each kind is a function of the program `animal`, and the line that hangs has a comment
STALL(marker). To add a kind, add a row here and a function there. All kinds hang at the same time under one ripd.
"""
import contextlib
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from world import BIN, PATIENCE_S, Skip, World, lacking, run  # noqa: E402

HERE = pathlib.Path(__file__).parent
NOBODY = 65534
IN_S = "S"


class Kind:
    def __init__(self, name, cause, function, syscall=None, target=None, *, state=IN_S, marker=None, where=None,
                 holder=False, bring_about=None, mode=None, number=1, fd=False, count=1, asked_ms=None,
                 waits=None):
        self.name, self.cause, self.function, self.syscall, self.target = name, cause, function, syscall, target
        self.state, self.marker, self.where, self.holder = state, marker or name, where, holder
        self.bring_about, self.mode, self.number, self.fd, self.count = bring_about, mode, number, fd, count
        self.asked_ms = asked_ms
        self.waits = waits  # ids in waits_for; "readers" if they are not known by id


# --- Stalls that a program cannot bring about itself -----------------------------------------------------------------

def stop(_zoo, animal):
    os.kill(animal.pid, signal.SIGSTOP)


def trace(zoo, animal):
    """Traces the animal from a thread that stays, because the kernel detaches when the tracing thread ends."""
    outcome, done = [], threading.Event()

    def tracer():
        library = ctypes.CDLL(None, use_errno=True)
        library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        seized = library.ptrace(0x4206, animal.pid, None, None) == 0  # PTRACE_SEIZE
        outcome.append(seized and library.ptrace(0x4207, animal.pid, None, None) == 0)  # PTRACE_INTERRUPT
        done.set()
        zoo.closing.wait()

    threading.Thread(target=tracer, daemon=True).start()
    done.wait()
    if not outcome[0]:
        raise Skip("ptrace is not permitted")


def freeze(zoo, animal):
    for base, file, word in (("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN"),
                             ("/sys/fs/cgroup", "cgroup.freeze", "1")):
        group = f"{base}/rip-zoo-{os.getpid()}"
        try:
            if not os.path.exists(f"{base}/cgroup.procs"):
                continue
            os.mkdir(group)
            zoo.groups.append((group, file))
            pathlib.Path(group, "cgroup.procs").write_text(str(animal.pid))
            pathlib.Path(group, file).write_text(word)
            return
        except OSError:
            continue
    raise Skip("no cgroup freezer is writable")


DESCRIPTOR = {"fd": True}
HELD = {"holder": True, "fd": True}
# they are stopped in this call
STOPPED = {"syscall": "pause|ppoll", "target": "a signal", "marker": "stopped", "where": "stopped"}
KINDS = [
    Kind("user-spin", "spinning", "spin_in_user_space", state="R", mode="user"),
    Kind("call-spin", "spinning", "spin_in_one_call", state="R", mode="system"),
    Kind("starved", "starved", "starve", state="R"),
    Kind("deadlock-1", "deadlock", "lock_in_a_circle", "futex", "futex wait private", marker="deadlock", waits=[1]),
    Kind("deadlock-2", "deadlock", "lock_in_a_circle", "futex", "futex wait private", marker="deadlock", count=2,
         waits=[2, 1]),
    Kind("deadlock-3", "deadlock", "lock_in_a_circle", "futex", "futex wait private", marker="deadlock", count=3,
         waits=[2, 3, 1]),
    Kind("deadlock-mixed", "deadlock", "lock_a_mixture", "futex", "futex wait private", count=4, waits=[2, 3, 4, 1]),
    Kind("deadlock-timed", "blocked", "lock_with_a_limit", "futex", "futex wait(_bitset)? private", count=2,
         waits=[]),
    Kind("deadlock-processes", "deadlock", "lock_what_is_shared", "futex", "futex wait shared", waits=[2, 1]),
    Kind("mutex-row", "blocked", "wait_in_a_row", "futex", "futex wait private", number=3, waits=[2, 1]),
    Kind("stream", "blocked", "lock_a_stream", "futex", "futex wait private", number=2, waits=[1]),
    Kind("mutex-gone", "blocked", "lock_what_nobody_has", "futex", "futex wait private", waits=["gone"]),
    Kind("rwlock-gone", "blocked", "read_what_nobody_writes", "futex", "futex wait(_bitset)? private", waits=["gone"]),
    Kind("rwlock", "blocked", "read_what_is_written", "futex", "futex wait(_bitset)? private", number=2, waits=[1]),
    Kind("rwlock-read", "blocked", "write_what_is_read", "futex", "futex wait(_bitset)? private", number=2,
         waits=["readers"]),
    Kind("condition", "blocked", "wait_for_a_condition", "futex", "futex wait(_bitset)? private"),
    Kind("semaphore", "blocked", "wait_for_a_semaphore", "futex", "futex wait(_bitset)? private"),
    Kind("futex", "blocked", "wait_for_a_word", "futex", "futex wait shared"),
    Kind("pipe-read", "blocked", "read_an_empty_pipe", "read", r"pipe:\[\d+\]", **HELD),
    Kind("pipe-write", "blocked", "write_a_full_pipe", "write", r"pipe:\[\d+\]", **HELD),
    Kind("pipe-own", "blocked", "write_to_itself", "write", r"pipe:\[\d+\]", **HELD),
    Kind("pipe-reader", "blocked", "write_to_a_reader", "write", r"pipe:\[\d+\]", **HELD),
    Kind("flock", "blocked", "wait_for_flock", "flock", r"/dev/shm/.*/file-flock", **HELD),
    Kind("record-lock", "blocked", "wait_for_record", "fcntl", r"/dev/shm/.*/file-record-lock", **HELD),
    Kind("fifo-open", "blocked", "open_a_fifo", "open(at)?", r"/dev/shm/.*/file-fifo-open"),
    Kind("fifo-nearby", "blocked", "open_a_fifo_nearby", "open(at)?", r"/dev/shm/.*/file-fifo-nearby"),
    Kind("fifo-below", "blocked", "open_a_fifo_below", "openat", r"/dev/shm/.*/file-fifo-below"),
    Kind("fifo-read", "blocked", "read_an_empty_fifo", "read", r"/dev/shm/.*/file-fifo-read", **HELD),
    Kind("tcp-recv", "blocked", "receive_from_a_silent_peer", "recvfrom", r"tcp 127.0.0.1:\d+ -> 127.0.0.1:{port}",
         **DESCRIPTOR),
    Kind("tcp-connect", "blocked", "connect_to_a_full_server", "connect",
         r"tcp 127.0.0.1:\d+ -> 127.0.0.1:{port} SYN_SENT", **DESCRIPTOR),
    Kind("tcp-accept", "blocked", "accept_nobody", "accept", r"tcp 127.0.0.1:{port} LISTEN", **DESCRIPTOR),
    Kind("tcp-poll", "blocked", "poll_a_silent_peer", "p?poll", r"tcp 127.0.0.1:\d+ -> 127.0.0.1:{port}",
         **DESCRIPTOR),
    Kind("unix-read", "blocked", "read_from_itself", "read", r"unix socket:\[\d+\] -> socket:\[\d+\]", **HELD),
    Kind("unix-pair", "blocked", "receive_from_a_child", "recvfrom", r"unix socket:\[\d+\] -> socket:\[\d+\]", **HELD),
    Kind("unix-recv", "blocked", "receive_from_a_server", "recvfrom",
         r"unix socket:\[\d+\] -> /dev/shm/.*/file-unix-recv", **HELD),
    Kind("unix-write", "blocked", "write_to_a_full_server", "write",
         r"unix socket:\[\d+\] -> /dev/shm/.*/file-unix-write", **HELD),
    Kind("unix-unaccepted", "blocked", "receive_unaccepted", "recvfrom",
         r"unix socket:\[\d+\] -> /dev/shm/.*/file-unix-unaccepted NOT_ACCEPTED", **HELD),
    Kind("unix-send", "blocked", "send_to_a_full_queue", "sendto",
         r"unix socket:\[\d+\] -> /dev/shm/.*/file-unix-send", **HELD),
    Kind("unix-accept", "blocked", "accept_no_unix_client", "accept", r"unix /dev/shm/.*/file-unix-accept LISTEN",
         **DESCRIPTOR),
    Kind("unix-alone", "blocked", "receive_from_anybody", "recvfrom",
         r"unix /dev/shm/.*/file-unix-alone UNCONNECTED", **DESCRIPTOR),
    Kind("unix-closed", "blocked", "receive_from_nobody", "recvfrom", r"unix socket:\[\d+\] PEER_CLOSED", **DESCRIPTOR),
    Kind("unix-connect", "blocked", "connect_to_a_crowded_server", "connect",
         r"unix socket:\[\d+\] -> /dev/shm/.*/file-unix-connect CONNECTING", **DESCRIPTOR),
    Kind("unix-abstract", "blocked", "connect_to_an_abstract_server", "connect",
         r"unix socket:\[\d+\] -> @dev/shm/.*/file-unix-abstract@+ CONNECTING", **DESCRIPTOR),
    Kind("unix-sendmsg", "blocked", "send_to_a_full_name", "sendmsg",
         r"unix socket:\[\d+\] -> /dev/shm/.*/file-unix-sendmsg UNCONNECTED", **DESCRIPTOR),
    Kind("eventfd", "blocked", "read_an_eventfd", "read", "eventfd", **DESCRIPTOR),
    Kind("inotify", "blocked", "watch_a_directory", "read", "inotify", **DESCRIPTOR),
    Kind("epoll", "blocked", "wait_in_epoll", "epoll_p?wait", "eventpoll", **DESCRIPTOR),
    Kind("poll", "blocked", "poll_without_end", "p?poll", "2 descriptors"),
    Kind("poll-sleep", "sleeping", "sleep_in_poll", "p?poll", "0 descriptors"),
    Kind("sleep", "sleeping", "sleep_long", "(clock_)?nanosleep"),
    Kind("child", "blocked", "wait_for_a_child", "wait4", "child {peer}"),
    Kind("vfork", "uninterruptible", "wait_for_vfork", "vfork|clone3?", state="D", holder=True),
    Kind("pause", "blocked", "wait_for_a_signal", "pause|ppoll", "a signal"),
    Kind("sigstop", "signal", "be_stopped", state="T", bring_about=stop, **STOPPED),
    Kind("traced", "tracer", "be_stopped", state="t", bring_about=trace, **STOPPED),
    Kind("frozen", "freezer", "be_stopped", state="[DS]", bring_about=freeze, **STOPPED),
]
assert len(KINDS) >= 16


def marked_lines():
    """Returns {marker: (file, line)}."""
    found = {}
    for file in HERE.glob("animal_*.c"):
        for number, text in enumerate(file.read_text().splitlines(), 1):
            for marker in re.findall(r"STALL\((.*?)\)", text):
                found[marker] = (file.name, number)
    return found


class Zoo(World):
    INTERVAL_MS = 1000  # ripd searches for holders of other ends within a part of the interval
    STALL_AFTER_MS = 1000
    animals_are = {}  # user and group of the animals

    def __init__(self):
        self.closing = threading.Event()
        self.groups = []
        self.animals = {}
        super().__init__()

    def admit(self, kind):
        environment = {**os.environ, "ZOO_FILE": f"{self.dir}/file-{kind.name}"}
        animal = subprocess.Popen([f"{BIN}/animal", kind.name, self.ring(kind.name)], stdout=subprocess.PIPE, text=True,
                                  env=environment, **self.animals_are)
        self.processes.append(animal)
        self.animals[kind.name] = animal
        animal.numbers = {}
        if "port" in (kind.target or "") or "peer" in (kind.target or "") or kind.holder:
            word, number = animal.stdout.readline().split()
            animal.numbers[word] = int(number)
        if kind.bring_about:
            self.wait_for(lambda: self.item(kind)["snaps"] == 1)
            kind.bring_about(self, animal)

    def item(self, kind):
        items = self.get(f"/threads?ring={kind.name}&name={kind.name}")["threads"]
        return [item for item in items if item["id"] == kind.number][0]

    def close(self):
        self.closing.set()
        if "starved" in self.animals:  # otherwise it would take seconds to die on a busy machine
            with contextlib.suppress(PermissionError):  # a container's root may not have CAP_SYS_NICE
                os.sched_setscheduler(self.animals["starved"].pid, os.SCHED_OTHER, os.sched_param(0))
        for group, file in self.groups:
            pathlib.Path(group, file).write_text("THAWED" if file == "freezer.state" else "0")
        super().close()
        for group, _ in self.groups:
            for _ in range(1000):
                try:
                    os.rmdir(group)
                    break
                except OSError:
                    time.sleep(0.01)


def matches(pattern, text, numbers):
    if pattern is None or text is None:
        return pattern is None and text is None
    for word, number in numbers.items():
        pattern = pattern.replace("{" + word + "}", str(number))
    return re.fullmatch(pattern, text) is not None


def holders_of(item):
    if item["waits_for"] is None:
        return None
    return [holder["id"] if holder["holder"] == "id" else holder["holder"] for holder in item["waits_for"]]


def is_cause(cause, expected):
    """On a very busy machine a spinning thread gets hardly any CPU time."""
    return cause == expected or (expected == "spinning" and cause == "starved")


def faults_of(kind, item, numbers, lines):
    """Returns the wrong fields of an answer, as a list of (field, item)."""
    location, kernel = item["location"] or {}, item["kernel"] or {}
    file, line = lines[kind.marker]
    holds = {
        "state": item["state"] == (kind.where or "stalled"),
        "cause": is_cause(item["cause"], kind.cause),
        "function": location.get("function") == kind.function,
        "file": os.path.basename(location.get("file") or "") == file,
        "line": location.get("line") == line,
        "waits_for": holders_of(item) == kind.waits,
    }
    holder = {"pid": numbers["peer"], "comm": "animal"} if kind.holder else None
    holds |= {
        "kernel.state": matches(kind.state, kernel.get("state"), {}),
        "kernel.syscall": matches(kind.syscall, kernel.get("syscall"), numbers),
        "kernel.target": matches(kind.target, kernel.get("target"), numbers),
        "kernel.holder": kernel.get("holder") == holder,
        "kernel.fd": (kernel.get("fd") is not None) == kind.fd,
        "kernel.mode": kind.mode is None or kernel.get("mode") == kind.mode or item["cause"] == "starved",
        "kernel.denied": kernel.get("denied") == [],
        "kernel.wchan": (kernel.get("wchan") is not None) == (kind.state != "R"),
        "kernel.window_ms": (kernel.get("window_ms") or 0) >= 12 or kind.where == "stopped",
    }
    return [(field, item) for field, good in holds.items() if not good]


def every_kind(zoo):
    if os.geteuid() != 0:
        raise Skip("only root may read the system calls of others")
    expect(zoo, KINDS)
    stalls = zoo.stalls("?limit=10000")
    threads = {(kind.name, number + 1) for kind in KINDS for number in range(kind.count)
               if kind.where is None and kind.number == 1}
    assert threads <= {(stall["ring"], stall["id"]) for stall in stalls}
    for kind in ("mutex-gone", "rwlock-gone"):
        group, = zoo.get(f"/stalls?group=root&ring={kind}")["stalls"]
        root, tasks = group["root"], os.listdir(f"/proc/{zoo.animals[kind].pid}/task")
        assert group["count"] == 1 and root["holder"] == "gone" and root["id"] is root["state"] is None, group
        assert root["tid"] > 0 and str(root["tid"]) not in tasks and group["deadlock"] is None, (group, tasks)
        step, = zoo.stalls(f"?ring={kind}")[0]["waits_for"]
        assert step["certain"] and step["tid"] == root["tid"], step
    assert not re.search(r"0x7f[0-9a-f]{8}", zoo.request("/stalls")[1].__repr__())  # addresses must not be disclosed


def a_deadlock_begins_as_one(zoo):
    """A deadlock is proven on the scan that detects it, if this scan has time, which happens at least sometimes on any
    machine."""
    if os.geteuid() != 0:
        raise Skip("only root may read the system calls of others")
    for number in range(20):
        ring = f"deadlock-{number}"
        zoo.processes.append(subprocess.Popen([f"{BIN}/animal", "deadlock-2", zoo.ring(ring)],
                                              stdout=subprocess.DEVNULL))
        begins = zoo.wait_for(lambda ring=ring: [line for line in zoo.log_text().splitlines()
                                                 if "stall begin" in line and f'ring="{ring}"' in line])
        if "cause=deadlock" in begins[0]:
            return
    raise AssertionError("none of 20 deadlocks was proven on its first scan")


def a_deadlock_of_two_rings(zoo):
    if os.geteuid() != 0:
        raise Skip("only root may read the system calls of others")
    rings = ["one", "other"]
    for ring in rings:
        zoo.processes.append(subprocess.Popen(
            [f"{BIN}/animal", "deadlock-strangers", zoo.ring(ring)], stdout=subprocess.DEVNULL,
            env={**os.environ, "ZOO_FILE": f"{zoo.dir}/file-shared"}))
    zoo.wait_for(lambda: len(zoo.stalls("?cause=deadlock")) == 2)
    for stall in zoo.stalls("?cause=deadlock"):
        cycle = [stall["ring"], *(step["ring"] for step in stall["waits_for"])]
        assert cycle in (["one", "other", "one"], ["other", "one", "other"]), stall
        assert all(step["certain"] and step["holder"] == "id" and step["state"] == "stalled"
                   for step in stall["waits_for"]), stall
    group, = zoo.get("/stalls?group=root")["stalls"]
    assert group["count"] == 2 and sorted(step["ring"] for step in group["deadlock"]) == rings, group


def locks_of_two_users(zoo):
    """A ring that claims a thread of another user as the holder of a lock discloses nothing about this thread."""
    if lacking("sys_ptrace"):
        raise Skip("evidence of two users needs root with CAP_SYS_PTRACE")
    path = pathlib.Path(zoo.dir, "file-shared")
    os.chmod(zoo.dir, 0o777)
    for ring, user in (("one", NOBODY), ("other", NOBODY - 1)):
        zoo.processes.append(subprocess.Popen(
            [f"{BIN}/animal", "deadlock-strangers", zoo.ring(ring)], stdout=subprocess.DEVNULL, user=user,
            group=user, extra_groups=[], env={**os.environ, "ZOO_FILE": str(path)}))
        zoo.wait_for(lambda: path.exists() and path.stat().st_size)
        path.chmod(0o666)
    zoo.wait_for(lambda: len([stall for stall in zoo.stalls() if stall["waits_for"] == []]) == 2)
    zoo.well_past_threshold()
    for stall in zoo.stalls():
        assert stall["cause"] == "blocked" and stall["waits_for"] == [], stall


def expect(zoo, kinds):
    """Starts these kinds and waits for the right answer about each."""
    lines, absent, faults = marked_lines(), [], []
    for kind in kinds:
        try:
            zoo.admit(kind)
        except Skip as reason:
            absent.append(kind)
            print(f"        without {kind.name}: {reason}")
    for kind in kinds:
        if kind in absent:
            continue
        numbers = zoo.animals[kind.name].numbers
        try:
            zoo.wait_for(lambda kind=kind, numbers=numbers: not faults_of(kind, zoo.item(kind), numbers, lines))
        except AssertionError:
            wrong = faults_of(kind, zoo.item(kind), numbers, lines)
            faults.append(f"{kind.name}: {[field for field, _ in wrong]} in {wrong[0][1] if wrong else 'flapping'}")
    assert not faults, "\n".join(faults)
    print(f"        {len(kinds) - len(absent)} kinds")


# --- Evidence that every user may read ------------------------------------------------------------------------------

PLAIN = {"user-spin": "spinning", "starved": "starved", "vfork": "uninterruptible", "sleep": "unknown",
         "tcp-recv": "unknown", "unix-recv": "unknown", "futex": "unknown", "sigstop": "signal"}


class Stranger(Zoo):
    """A zoo whose ripd runs as nobody."""

    missing = None

    def start(self):
        os.chmod(self.made, 0o755)
        try:
            if os.geteuid() != 0:
                raise PermissionError("only root can run ripd as nobody")
            self.log = open(self.log_path, "ab")
            self.ripd = subprocess.Popen(
                [f"{BIN}/ripd", *(f"--{key}={value}" for key, value in self.settings().items())], stderr=self.log,
                user=NOBODY, group=NOBODY, extra_groups=[])
        except PermissionError as reason:  # nobody may not even be able to execute ripd in the build tree
            self.missing = reason
            super().start()
            return
        found = self.wait_for(lambda: re.findall(r"listening on http://127\.0\.0\.1:(\d+)\n", self.log_text()))
        self.port = int(found[-1])
        self.wait_for(lambda: self.request("/readyz")[0] == 200)


def without_privileges(zoo):
    """Causes that follow from CPU time and state are the same. Other evidence is listed as denied, and nothing is
    guessed."""
    if zoo.missing:
        raise Skip(zoo.missing)
    for kind in KINDS:
        if kind.name in PLAIN:
            watcher = threading.Thread(target=lambda kind=kind: make_readable(zoo.ring(kind.name)))
            watcher.start()
            zoo.admit(kind)
            watcher.join()
    for name, cause in PLAIN.items():
        kind = next(kind for kind in KINDS if kind.name == name)
        zoo.wait_for(lambda kind=kind, cause=cause: is_cause(zoo.item(kind)["cause"], cause))
        kernel = zoo.item(kind)["kernel"]
        assert kernel["state"] == kind.state, kernel
        for field in ("syscall", "fd", "target", "holder", "wchan", "asked_ms"):
            assert kernel[field] is None, (name, kernel)
        if kind.state != "R":
            zoo.wait_for(lambda kind=kind: {"syscall", "wchan"} <= set(zoo.item(kind)["kernel"]["denied"]))
        if kind.where == "stopped":
            continue  # stopped threads are examined less often
        zoo.wait_for(lambda kind=kind: (zoo.item(kind)["kernel"]["window_ms"] or 0) >= 12)
        kernel = zoo.item(kind)["kernel"]
        assert kernel["cpu_ms"] is not None and kernel["voluntary_switches"] is not None, kernel


class Neighbour(Stranger):
    """ripd and the programs run as the same unprivileged user."""

    animals_are = {"user": NOBODY, "group": NOBODY, "extra_groups": []}

    def start(self):
        if os.geteuid() == 0:
            os.chown(self.dir, NOBODY, NOBODY)
        super().start()


def among_the_same_user(zoo):
    """All evidence about programs of ripd's own user is reported without privileges."""
    if zoo.missing:
        raise Skip(zoo.missing)
    expect(zoo, [kind for kind in KINDS if kind.bring_about in (None, stop)])


def make_readable(path):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            os.chmod(path, 0o644)
            return
        except FileNotFoundError:
            time.sleep(0.01)


if __name__ == "__main__":
    chosen = {every_kind: Zoo, a_deadlock_begins_as_one: Zoo, a_deadlock_of_two_rings: Zoo, locks_of_two_users: Zoo,
              among_the_same_user: Neighbour, without_privileges: Stranger}
    tests = list(chosen)
    order = iter([test for test in tests if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]])
    run(tests, lambda: chosen[next(order)]())
