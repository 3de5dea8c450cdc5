# SPDX-License-Identifier: Apache-2.0
"""The keeper of ripd-probe, without ripd: it starts a worker for each socket that it gets, and ends the previous
worker. No worker outlives the keeper."""
import os
import signal
import socket
import struct
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import world as w  # noqa: E402

WORKER, FETCHER = 2, 3
CHILDREN_MAX = 12


class Keeper:
    def __init__(self):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(w.PATIENCE_S)
        self.process = subprocess.Popen(["/bin/bash", "-c", f'exec 3<&{theirs.fileno()}-; exec "$0"',
                                         f"{w.BIN}/ripd-probe"], pass_fds=[theirs.fileno()])
        theirs.close()
        self.workers = []

    def start(self, kind=WORKER):
        """Starts a child of the keeper. Returns its socket, when the child runs."""
        before = set(w.children(self.process.pid))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(self.socket, [struct.pack("I", kind)], [theirs.fileno()])
        theirs.close()
        ours.settimeout(w.PATIENCE_S)
        self.workers.append(ours)
        w.wait_for(lambda: set(w.children(self.process.pid)) - before)
        return ours

    def close(self):
        self.socket.close()
        for worker in self.workers:
            worker.close()
        self.process.kill()
        self.process.wait()


def one_after_another(keeper):
    """A worker that has ended leaves no zombie, and a worker that is replaced is killed."""
    seen = []

    def killed(_):
        os.kill(seen[-1], signal.SIGKILL)

    def sent_nonsense(worker):
        worker.send(b"nonsense")
        assert worker.recv(64) == b""

    def left_alone(worker):
        worker.close()

    def stopped(_):
        os.kill(seen[-1], signal.SIGSTOP)

    for end in (killed, sent_nonsense, left_alone, stopped):
        worker = keeper.start()
        w.wait_for(lambda: len(w.children(keeper.process.pid)) == 1)
        seen += w.children(keeper.process.pid)
        end(worker)
        if end != stopped:
            w.wait_for(lambda: not w.children(keeper.process.pid))
    keeper.start()
    w.wait_for(lambda: len(w.children(keeper.process.pid)) == 1 and w.children(keeper.process.pid)[0] not in seen)
    assert len(set(seen)) == 4 and all(not w.name_of(pid) for pid in seen), seen


def one_of_each_kind(keeper):
    keeper.start()
    worker = w.children(keeper.process.pid)[0]
    for _ in range(2 * CHILDREN_MAX):
        keeper.start(FETCHER)
        w.wait_for(lambda: len(w.children(keeper.process.pid)) == 2)
    assert worker in w.children(keeper.process.pid)


def no_process_is_left(keeper):
    keeper.start()
    worker = w.children(keeper.process.pid)[0]
    keeper.socket.close()
    assert keeper.process.wait(w.PATIENCE_S) == 0
    w.wait_for(lambda: not w.name_of(worker))


def nonsense(keeper):
    keeper.start()
    worker = w.children(keeper.process.pid)[0]
    keeper.socket.send(struct.pack("I", 77))
    assert keeper.process.wait(w.PATIENCE_S) == 0
    w.wait_for(lambda: not w.name_of(worker))


def has_settled(worker):
    """Has the worker installed its own seccomp filter? First it is a copy of the keeper and has only the keeper's
    filter."""
    with open(f"/proc/{worker}/status", encoding="ascii", errors="replace") as file:
        return [line.split() for line in file if line.startswith("Seccomp_filters:")] == [["Seccomp_filters:", "2"]]


def killed(keeper):
    """No worker outlives the keeper, because nothing would kill a worker that hangs."""
    keeper.start()
    worker = w.children(keeper.process.pid)[0]
    w.wait_for(lambda: has_settled(worker))
    os.kill(worker, signal.SIGSTOP)
    try:
        keeper.process.kill()
        keeper.process.wait()
        w.wait_for(lambda: not w.name_of(worker))
    finally:
        if w.name_of(worker):
            os.kill(worker, signal.SIGKILL)


def main():
    tests = [one_after_another, one_of_each_kind, no_process_is_left, nonsense, killed]
    failed = 0
    for test in [test for test in tests if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]]:
        keeper = Keeper()
        try:
            test(keeper)
            print(f"ok      {test.__name__}")
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"FAILED  {test.__name__}")
            traceback.print_exc(file=sys.stdout)
        finally:
            keeper.close()
    sys.exit(1 if failed else 0)


main()
