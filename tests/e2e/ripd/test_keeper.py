# SPDX-License-Identifier: Apache-2.0
"""The keeper of ripd-probe by itself: one worker at a time, another when that one ends or is not wanted any more, none
sooner than a second after the last one began, and none after its own end. No ripd is involved.
"""
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import world as w  # noqa: E402

LINK, REPLACE = 1, 2
RESTART_S = 1
DESCRIPTORS = 64  # that it may have


class Keeper:
    def __init__(self, filled=4):
        """filled: descriptors below are open; it may have DESCRIPTORS."""
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(w.PATIENCE_S)
        fill = "".join(f"exec {number}</dev/null; " for number in range(4, filled))
        self.process = subprocess.Popen(["/bin/bash", "-c", f'exec 3<&{theirs.fileno()}-; {fill}exec "$0"',
                                         f"{w.BIN}/ripd-probe"], pass_fds=[theirs.fileno()])
        theirs.close()
        self.workers = []

    def meet(self):
        """The socket of the next worker. The last one is gone by then."""
        message, descriptors, _, _ = socket.recv_fds(self.socket, 64, 4)
        assert struct.unpack("I", message) == (LINK,) and len(descriptors) == 1, message
        self.workers.append(socket.socket(fileno=descriptors[0]))
        self.workers[-1].settimeout(w.PATIENCE_S)
        return self.workers[-1]

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]

    def tell(self, kind):
        self.socket.send(struct.pack("I", kind))

    def close(self):
        self.socket.close()
        for worker in self.workers:
            worker.close()
        self.process.kill()
        self.process.wait()


def wait_for(condition):
    end = time.monotonic() + w.PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def one_after_another(keeper):
    """However they end; but no more than one a second."""
    began, seen = time.monotonic(), []

    def killed(_):
        os.kill(seen[-1], signal.SIGKILL)

    def told_nonsense(worker):
        worker.send(b"nonsense")
        assert worker.recv(64) == b""

    def left_alone(worker):
        worker.close()

    def replaced(_):
        keeper.tell(REPLACE)

    ends = [killed, told_nonsense, left_alone, replaced]
    for end in ends:
        worker = keeper.meet()
        wait_for(lambda: len(keeper.children()) == 1)
        seen += keeper.children()
        end(worker)
    keeper.meet()
    assert time.monotonic() - began >= len(ends) * RESTART_S
    assert len(set(seen)) == len(ends) and all(is_gone(pid) for pid in seen), seen
    assert len(keeper.children()) == 1


def one_that_does_not_listen(keeper):
    """Stopped: it is killed, not asked."""
    keeper.meet()
    worker = keeper.children()[0]
    os.kill(worker, signal.SIGSTOP)
    keeper.tell(REPLACE)
    keeper.meet()
    assert is_gone(worker) and keeper.children() != [worker]


def is_holding(pid):
    for number in range(DESCRIPTORS):
        try:
            if os.readlink(f"/proc/{pid}/fd/{number}") == "anon_inode:[pidfd]":
                return True
        except OSError:
            continue
    return False


def one_that_cannot_be_held(held):
    """There is no descriptor left to hold a worker by: its end is noticed all the same, and the next one is started."""
    held.meet()
    assert is_holding(held.process.pid)
    keeper = Keeper(filled=DESCRIPTORS - 3)
    try:
        for _ in range(2):
            keeper.meet()
            assert len(keeper.children()) == 1
            assert not is_holding(keeper.process.pid)
            os.kill(keeper.children()[0], signal.SIGKILL)
    finally:
        keeper.close()


def nobody_is_there_any_more(keeper):
    keeper.meet()
    worker = keeper.children()[0]
    keeper.socket.close()
    assert keeper.process.wait(w.PATIENCE_S) == 0
    wait_for(lambda: is_gone(worker))


def nonsense(keeper):
    keeper.meet()
    worker = keeper.children()[0]
    keeper.tell(77)
    assert keeper.process.wait(w.PATIENCE_S) == 0
    wait_for(lambda: is_gone(worker))


def has_settled(worker):
    """It is a copy of the keeper at first, whose filter of system calls it has; its own is the second."""
    with open(f"/proc/{worker}/status", encoding="ascii", errors="replace") as file:
        return [line.split() for line in file if line.startswith("Seccomp_filters:")] == [["Seccomp_filters:", "2"]]


def killed(keeper):
    """No worker outlives it, for nobody would end one that hangs."""
    keeper.meet()
    worker = keeper.children()[0]
    wait_for(lambda: has_settled(worker))
    os.kill(worker, signal.SIGSTOP)
    try:
        keeper.process.kill()
        keeper.process.wait()
        wait_for(lambda: is_gone(worker))
    finally:
        if not is_gone(worker):
            os.kill(worker, signal.SIGKILL)


def main():
    tests = [one_after_another, one_that_does_not_listen, one_that_cannot_be_held, nobody_is_there_any_more, nonsense,
             killed]
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
