# SPDX-License-Identifier: Apache-2.0
"""ripd-probe is killed, stopped or missing: ripd still answers, denied evidence is null, and the metrics count."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import world as w  # noqa: E402

BLOCKED = "import os, sys; os.write(os.open(sys.argv[1], os.O_WRONLY), bytes(4096))"


def keeper(world):
    return [pid for pid in w.children(world.ripd.pid) if w.name_of(pid) == "ripd-probe"][0]


def worker(world):
    return [pid for pid in w.children(keeper(world)) if w.name_of(pid) == "ripd-worker"][0]


def blocked(world, number):
    """Starts a program that waits for buffer space in its own FIFO."""
    path = os.path.join(world.made, f"fifo-{number}")
    os.mkfifo(path)
    full = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # kept open, so that the program waits in write()
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(full, bytes(4096))
    process = subprocess.Popen([f"{w.BIN}/rip", "run", "--dir", world.dir, "--", "python3", "-c", BLOCKED, path])
    world.processes.append(process)
    process.stdin = process.stdout = None
    return process, path


def stall_of(world, process):
    """Returns the stall, or None."""
    return next((stall for stall in world.stalls() if stall["tid"] == process.pid), None)


def target_is_read(world, number):
    process, path = blocked(world, number)
    world.wait_for(lambda: stall_of(world, process)["kernel"]["target"] == path)


def assert_public_evidence(world, process):
    """Checks the evidence when the process waits, which takes time on a busy machine."""
    stall = world.wait_for(lambda: [stall for stall in [stall_of(world, process)]
                                    if stall["cause"] == "blocked" and stall["kernel"]][0])
    assert stall["kernel"]["state"] == "S", stall
    assert stall["kernel"]["target"] is None and "syscall" in stall["kernel"]["denied"], stall


def worker_killed(world):
    target_is_read(world, 1)
    for number in (2, 3):
        os.kill(world.wait_for(lambda: worker(world)), signal.SIGKILL)
        target_is_read(world, number)
    world.wait_for(lambda: world.metric('ripd_probe_failures_total{reason="died"}') >= 2)
    assert world.metric("ripd_probe_starts_total") >= 3
    world.wait_for(lambda: world.log_text().count("ripd-probe's worker ended") >= 2)
    assert w.name_of(keeper(world)) == "ripd-probe"


def worker_that_hangs(world):
    """A stopped worker cannot be ended by its own alarm."""
    target_is_read(world, 1)
    hung = world.wait_for(lambda: worker(world))
    os.kill(hung, signal.SIGSTOP)
    process = blocked(world, 2)[0]
    stall = world.wait_for(lambda: stall_of(world, process))
    if world.metric('ripd_probe_failures_total{reason="hung"}') == 0:  # on a busy machine this may be over already
        assert stall["cause"] is None and stall["kernel"] is None, stall
    world.wait_scans(3)  # scans do not wait for the worker
    world.wait_for(lambda: world.metric('ripd_probe_failures_total{reason="hung"}') >= 1)
    world.wait_for(lambda: w.name_of(hung) is None and worker(world) != hung)
    target_is_read(world, 3)


def keeper_killed(world):
    """The keeper is not restarted. Evidence that every user may read is still reported."""
    target_is_read(world, 1)
    assert world.metric("ripd_probe_ended") == 0
    ended = keeper(world)
    os.kill(ended, signal.SIGKILL)
    world.wait_for(lambda: "ripd-probe has ended" in world.log_text())
    assert_public_evidence(world, blocked(world, 2)[0])
    assert world.log_text().count("ripd-probe has ended") == 1
    world.wait_for(lambda: world.metric("ripd_probe_ended") == 1)
    assert w.name_of(ended) is None  # there is no zombie either


class Alone(w.World):
    """A ripd without helper programs."""

    def start(self):
        kept = w.BIN
        with tempfile.TemporaryDirectory(dir=kept) as alone:
            shutil.copy(f"{kept}/ripd", alone)
            w.BIN = alone
            try:
                super().start()
            finally:
                w.BIN = kept


def without_ripd_probe(world):
    """As root, ripd could read evidence of all users, but only ripd-probe checks whether a ring's claims are true."""
    assert "cannot start ripd-probe" in world.log_text()
    process, path = blocked(world, 1)
    if not w.lacking("sys_ptrace", "dac_read_search"):
        assert "evidence is limited to what any user may read" in world.log_text()
        assert_public_evidence(world, process)
    else:
        assert "evidence is read from the processes of this user alone" in world.log_text()
        stall = world.wait_for(lambda: [stall for stall in [stall_of(world, process)] if stall["cause"]][0])
        assert stall["kernel"]["target"] in (path, None), stall


def ends_with_ripd(world):
    target_is_read(world, 1)
    mine = [keeper(world), worker(world)]
    world.ripd.kill()
    world.ripd.wait()
    ripd, world.ripd = world.ripd, None
    world.wait_for(lambda: all(w.name_of(pid) is None for pid in mine))
    world.ripd = ripd


if __name__ == "__main__":
    worlds = {worker_killed: w.World, worker_that_hangs: w.World, keeper_killed: w.World, without_ripd_probe: Alone,
              ends_with_ripd: w.World}
    order = iter(worlds.values())
    w.run(list(worlds), lambda: next(order)())
