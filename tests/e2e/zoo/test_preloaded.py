# SPDX-License-Identifier: Apache-2.0
"""Whether each wait of a program under `rip run` is a stall.

KINDS lists the waits; each is a function of the program `caller`. All wait at the same time under one ripd, which runs
as
root in one test and as nobody in the other: evidence from the wrapped call and its descriptor needs no privilege.
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
NO_STALL = ("idle", "running")  # either state

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
# Without privilege these are unknown: who has the other end of a pipe, which file is opened, and what a connection made
# by another program is for. A mark proves nothing to another process, and an unreadable ring does not show who holds a
# lock.
UNPRIVILEGED = {**KINDS, "output": INPUT, "inherited_reply": UNKNOWN, "fifo_open": UNKNOWN,
                "crossed_processes": BLOCKED, "accept_apart": BLOCKED}
# Waits for locks whose holder is reported, with and without privilege: the thread itself, another thread, or another
# process.
HELD = {"mutex", "robust", "inheriting", "work_turn", "shared_mutex", "once", "once_again"}
BY_ITSELF = {"mutex", "once_again"}
BY_TURNS = {"turns", "accept_mutex", "accept_flock", "accept_record", "accept_apart"}


def verdict_on(item):
    return item["state"], item["reason"] if item["state"] == "idle" else item["cause"]


class Callers(World):
    INTERVAL_MS = 500
    STALL_AFTER_MS = 1000
    kinds = KINDS
    held = HELD | {"stream"}  # the lock of a stream contains an address, so its holder needs privilege

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


def is_correct(verdict, expected):
    if expected == NO_STALL:
        return verdict[0] in NO_STALL
    # on a busy machine it gets hardly any CPU time
    return verdict == expected or (expected == SPINNING and verdict == STARVED)


def faults_of(callers, pids):
    """Returns the wrong verdicts."""
    items = {kind: callers.item(kind, pid) for kind, pid in pids.items()}
    return [(kind, verdict_on(items[kind]), items[kind]) for kind in pids
            if not is_correct(verdict_on(items[kind]), callers.kinds[kind]) or items[kind]["source"] != "preload"]


def check_holders(callers, pids):
    for kind in callers.held & set(pids):
        others = {item["tid"] for item in callers.get(f"/threads?ring={kind}")["threads"]} - {pids[kind]}
        expected = {pids[kind]} if kind in BY_ITSELF else others
        callers.wait_for(lambda: callers.item(kind, pids[kind])["waits_for"][0]["tid"] in expected)


def expect(callers):
    """Checks that every verdict becomes right and stays right: idle ids never begin to stall."""
    pids = {}
    for kind in KINDS:
        try:
            pids[kind] = callers.admit(kind)
        except Skip as reason:
            print(f"        without {kind}: {reason}")
    try:
        callers.wait_for(lambda: not faults_of(callers, pids))
    except AssertionError:
        raise AssertionError(faults_of(callers, pids) or "the verdicts became right only after the timeout") from None
    callers.well_past_threshold()
    assert callers.metric('ripd_stuck{cause="spinning"}') == 0, "a thread that computes is not certainly stuck"
    for cause, certain in (("blocked", True), ("spinning", False), ("sleeping", False)):
        incidents = callers.metric(f'ripd_stuck_incidents_total{{cause="{cause}"}}')
        assert (incidents != 0) == certain, (cause, incidents)
    assert "nothing but a signal" in callers.item("stuck", pids["stuck"])["summary"]
    check_holders(callers, pids)
    idle = {kind for kind in pids if callers.kinds[kind][0] in ("idle", "stopped")}
    events = callers.get("/events?limit=1000")["events"]
    begun = {event["ring"] for event in events}
    assert len([event for event in events if event["ring"] == "renamed"]) == 1, "a new name must not begin a new stall"
    assert len({event["incident"] for event in events if event["ring"] == "stuck"}) == 1, "one incident for the process"
    begun -= BY_TURNS & idle  # on a busy machine it may take too long to find the holder
    begun -= {event["ring"] for event in events if event["cause"] == "starved"} & idle  # caused by a busy machine
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
