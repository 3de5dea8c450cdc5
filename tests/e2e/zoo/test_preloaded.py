# SPDX-License-Identifier: Apache-2.0
"""The rule of what is a stall, for programs under `rip run`: one wait each, and the verdict on it.

KINDS is the list; a kind is a function of the program `caller`. All wait at once under one ripd, which is root in the
one test and nobody in the other: what a call and its descriptor prove needs no privilege.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from world import BIN, Skip, World, run  # noqa: E402
from test_zoo import Stranger, make_readable  # noqa: E402

INPUT, DECLARED, UNSEEN = ("idle", "input"), ("idle", "declared"), ("idle", "unseen")
BLOCKED, SLEEPING = ("stalled", "blocked"), ("stalled", "sleeping")
SPINNING, STARVED, DEADLOCK = ("stalled", "spinning"), ("stalled", "starved"), ("stalled", "deadlock")
STOPPED = ("stopped", "signal")
UNKNOWN = ("stalled", "unknown")
NO_STALL = ("idle", "running")  # one of these states

KINDS = {
    "terminal": INPUT, "pipe": INPUT, "fifo": INPUT, "fifo_open": INPUT, "stdin": INPUT, "eventfd": INPUT,
    "timerfd": INPUT,
    "signalfd": INPUT, "inotify": INPUT, "netlink": INPUT, "datagram": INPUT, "pair": INPUT, "accepted": INPUT,
    "unix_accepted": INPUT,
    "inherited": INPUT, "inherited_six": INPUT, "inherited_reply": BLOCKED,
    "reader": INPUT, "accept_turn": DECLARED, "poll_reader": DECLARED, "reused": INPUT, "interrupted_input": INPUT,
    "reply": BLOCKED, "copied_reply": BLOCKED, "unix_reply": BLOCKED, "poll_reply": BLOCKED, "select_reply": BLOCKED,
    "interrupted_reply": BLOCKED, "reader_reply": BLOCKED, "renamed": BLOCKED, "work_turn": BLOCKED,
    "poll_push": DECLARED, "poll_many": DECLARED, "select_many": DECLARED, "pause": DECLARED, "accept": DECLARED,
    "epoll": DECLARED, "condition": DECLARED,
    "semaphore": DECLARED, "shared_semaphore": DECLARED, "workers": DECLARED, "joined": DECLARED, "stuck": BLOCKED,
    "child": DECLARED, "signal": DECLARED, "messages": DECLARED, "futex": DECLARED,
    "full_pipe": BLOCKED, "fifo_write": BLOCKED, "send": BLOCKED, "connect": BLOCKED, "names": BLOCKED,
    "stopped": STOPPED,
    "flock": BLOCKED, "chroot": BLOCKED, "closed": BLOCKED,
    "accept_flock": DECLARED, "accept_record": DECLARED, "accept_apart": DECLARED,
    "child_flock": BLOCKED, "foreign_flock": BLOCKED,
    "accept_mutex": DECLARED, "turns": NO_STALL, "crossed_processes": DEADLOCK,
    "barrier": BLOCKED, "shared_mutex": BLOCKED, "once": BLOCKED, "once_again": DEADLOCK, "stream": BLOCKED,
    "mutex": DEADLOCK, "vfork": BLOCKED,
    "robust": DEADLOCK, "inheriting": DEADLOCK, "output": BLOCKED, "sleep": SLEEPING, "spin": SPINNING,
    "unseen": UNSEEN,
}
# Without privilege it is not known who has the other end of a pipe, nor what is opened, nor what a connection is for
# that another program made; a mark proves nothing to another process, and a ring that nobody may read says nothing of
# who holds a lock.
UNPRIVILEGED = {**KINDS, "output": INPUT, "inherited_reply": UNKNOWN, "fifo_open": UNKNOWN,
                "crossed_processes": BLOCKED, "accept_apart": BLOCKED}
# Who waits for a lock names its holder, with and without privilege: itself, another thread, or another process.
HELD = {"mutex", "robust", "inheriting", "work_turn", "shared_mutex", "once", "once_again"}
BY_ITSELF = {"mutex", "once_again"}
BY_TURNS = {"turns", "accept_mutex", "accept_flock", "accept_record", "accept_apart"}


def verdict_on(item):
    return item["state"], item["reason"] if item["state"] == "idle" else item["cause"]


class Callers(World):
    INTERVAL_MS = 500
    STALL_AFTER_MS = 1000
    kinds = KINDS
    held = HELD | {"stream"}  # its lock says by an address who has it

    def admit(self, kind):
        caller = subprocess.Popen([f"{BIN}/rip", "run", "--dir", self.dir, "--name", kind, "--max", "64", "--",
                                   f"{BIN}/caller", kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes.append(caller)
        line = caller.stdout.readline().strip()
        words = line.split()
        if words[:1] != ["ready"]:
            raise Skip(line)
        make_readable(self.ring(kind))
        return int(words[1]) if words[1:] else caller.pid

    def item(self, kind, pid):
        return [item for item in self.get(f"/threads?ring={kind}")["threads"] if item["id"] == pid][0]


class Strange(Callers, Stranger):
    kinds = UNPRIVILEGED
    held = HELD


def is_right(verdict, expected):
    if expected == NO_STALL:
        return verdict[0] in NO_STALL
    return verdict == expected or (expected == SPINNING and verdict == STARVED)  # it gets hardly any of a busy machine


def faults_of(callers, pids):
    """The verdicts that are wrong now."""
    items = {kind: callers.item(kind, pid) for kind, pid in pids.items()}
    return [(kind, verdict_on(items[kind]), items[kind]) for kind in pids
            if not is_right(verdict_on(items[kind]), callers.kinds[kind]) or items[kind]["source"] != "preload"]


def check_holders(callers, pids):
    for kind in callers.held & set(pids):
        others = {item["tid"] for item in callers.get(f"/threads?ring={kind}")["threads"]} - {pids[kind]}
        expected = {pids[kind]} if kind in BY_ITSELF else others
        callers.wait_for(lambda: callers.item(kind, pids[kind])["waits_for"][0]["tid"] in expected)


def expect(callers):
    """Every verdict is right, and stays so: no id that is idle has ever begun to stall."""
    pids = {}
    for kind in KINDS:
        try:
            pids[kind] = callers.admit(kind)
        except Skip as reason:
            print(f"        without {kind}: {reason}")
    try:
        callers.wait_for(lambda: not faults_of(callers, pids))
    except AssertionError:
        raise AssertionError(faults_of(callers, pids) or "one was right at last") from None
    callers.well_past_threshold()
    assert callers.metric('ripd_stuck{cause="spinning"}') == 0, "it may just compute"
    for cause, certain in (("blocked", True), ("spinning", False), ("sleeping", False)):
        incidents = callers.metric(f'ripd_stuck_incidents_total{{cause="{cause}"}}')
        assert (incidents != 0) == certain, (cause, incidents)
    assert "nothing but a signal" in callers.item("stuck", pids["stuck"])["summary"]
    check_holders(callers, pids)
    idle = {kind for kind in pids if callers.kinds[kind][0] in ("idle", "stopped")}
    events = callers.get("/events?limit=1000")["events"]
    begun = {event["ring"] for event in events}
    assert len([event for event in events if event["ring"] == "renamed"]) == 1, "a name is not what an id is known by"
    assert len({event["incident"] for event in events if event["ring"] == "stuck"}) == 1, "one for all of a process"
    begun -= BY_TURNS & idle  # who holds a lock may take a busy machine too long to find out
    begun -= {event["ring"] for event in events if event["cause"] == "starved"} & idle  # by such a machine
    assert not begun & idle, begun & idle
    assert begun == set(pids) - idle - {"sleep"}, (begun, idle)
    rings = {ring["ring"]: ring for ring in callers.get("/rings?limit=1000")["rings"]}
    for kind in pids:
        expected = ("partial", ["unseen_calls"]) if KINDS[kind] == UNSEEN else ("full", [])
        assert (rings[kind]["coverage"], rings[kind]["coverage_reasons"]) == expected, rings[kind]
        assert rings[kind]["source"] == "preload"


def with_evidence(callers):
    if os.geteuid() != 0:
        raise Skip("only root may read the system calls of others")
    expect(callers)


def without_privileges(callers):
    if callers.missing:
        raise Skip(callers.missing)
    expect(callers)


if __name__ == "__main__":
    order = iter([Callers, Strange])
    run([with_evidence, without_privileges], lambda: next(order)())
