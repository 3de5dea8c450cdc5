# SPDX-License-Identifier: Apache-2.0
"""adversary.py DIR UID [FIRST COUNT | scripts] - a user who tries to make ripd useless for others.

Fills DIR with rings of UID, and also of COUNT uids of its subordinate range from FIRST on; or with rings whose ids are
in scripts. Prints "ready" when all rings exist, keeps changing them, and ends when standard input ends. Needs root, to
become these users.
"""
import ctypes
import fcntl
import os
import select
import signal
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hostile_ring as h  # noqa: E402

LARGEST = 1 << 26  # slots: the maximum that readers accept, 25 GB of address space
SPARSE, HOLES, STALLING = 2276, 350, 800
FUNCTIONS, SCRIPTED = 16384, 4  # the maximum for one ring


class Adversary:
    def __init__(self, directory, uids):
        self.directory, self.uids = directory, uids
        self.children = []

    def ring(self, number, name, **options):
        ring = h.Ring(f"{self.directory}/{name}-{number}", **options)
        owner = self.uids[number % len(self.uids)]
        os.fchown(ring.fd, owner, owner)
        return ring

    def sparse_files(self):
        """Exhausts address space: each file of 4 kB claims 25 GB."""
        for i in range(SPARSE):
            self.ring(i, "sparse", capacity=LARGEST, backed=False).publish().close()

    def bits_over_holes(self):
        """Exhausts memory and time: the summary says that every word of the bitmap has a bit, and the bitmap is a hole.
        """
        for i in range(HOLES):
            ring = self.ring(i, "holes", capacity=LARGEST, backed=False)
            ring.bytes[ring.summary:ring.live] = b"\xff" * (ring.live - ring.summary)
            ring.publish().close()

    def moving_bits(self):
        ring = self.ring(0, "moving", capacity=1 << 20)
        ring.process(0, os.getpid())
        ring.slot(0)
        ring.publish()
        return ring

    def move(self, ring, turn):
        """Sets few bits at a time, and different ones before each scan."""
        ring.bytes[ring.live:ring.live + ring.capacity // 8] = bytes(ring.capacity // 8)
        for slot in range(turn * 11 % 4000, ring.capacity, 4000):
            ring.set_live(slot)

    def stalling_rings(self):
        """Each ring belongs to a live process that holds its lock."""
        rings = [self.ring(i, "stalling", capacity=1024) for i in range(max(STALLING, len(self.uids)))]
        for number, uid in enumerate(self.uids):
            pid = os.fork()
            if pid == 0:
                self.hold(rings[number::len(self.uids)], uid)
            self.children.append(pid)
            for ring in rings[number::len(self.uids)]:
                ring.process(0, pid, flags=1)
        for ring in rings:
            ring.publish()
        return rings

    def hold(self, rings, uid):
        """In a child: takes the locks of the rings as that user, and waits to be killed."""
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # a change of the user resets it
        for ring in rings:
            fcntl.fcntl(ring.fd, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, h.LOCK_HOLDER, 1, 0))
        while True:
            signal.pause()

    def scripted_ring(self, number, table, pid):
        """The ids of this ring have been in the maximum number of functions, all with the longest possible names."""
        ring = self.ring(number, "scripts", capacity=FUNCTIONS // h.ENTRIES)
        at = ring.add_scripts(FUNCTIONS, FUNCTIONS)
        ring.bytes[at:at + len(table)] = table
        ring.process(0, pid)
        for slot in range(ring.capacity):
            ring.slot(slot)
            ring.trail(slot, (h.place(slot * h.ENTRIES + entry, 7) for entry in range(h.ENTRIES)))
        return ring.publish()

    def attack_by_scripts(self):
        """Exhausts memory: every second one ring is removed, while its stalls wait to be published, and another one is
        added."""
        table = b"".join(h.script(b"%0240d" % i, b"%0128d" % i) for i in range(FUNCTIONS))
        pid = os.fork()
        if pid == 0:
            self.hold([], self.uids[0])
        self.children.append(pid)
        rings = [self.scripted_ring(number, table, pid) for number in range(SCRIPTED)]
        print("ready", flush=True)
        for turn in range(SCRIPTED, 1000):
            if select.select([sys.stdin], [], [], 1)[0]:
                return
            ring = rings.pop(0)
            os.unlink(ring.path)
            os.truncate(ring.fd, 0)
            ring.close()
            rings.append(self.scripted_ring(turn, table, pid))

    def attack(self):
        moving, stalling = self.moving_bits(), self.stalling_rings()
        self.bits_over_holes()
        self.sparse_files()  # last, because the limit that they hit would keep out the other rings
        print("ready", flush=True)
        turn, second, began = 0, 0, time.monotonic()
        while not select.select([sys.stdin], [], [], 0.05)[0]:
            turn += 1
            self.move(moving, turn)
            if time.monotonic() - began >= second < 1000:  # every second each ring gets a new stall
                for ring in stalling:
                    ring.slot(second, tid=0, name=b"%d" % second)
                second += 1


def main():
    directory, uid, *more = sys.argv[1:]
    by_scripts = more == ["scripts"]
    first, count = map(int, more) if more and not by_scripts else (0, 0)
    adversary = Adversary(directory, [int(uid), *range(first, first + count)])
    try:
        (adversary.attack_by_scripts if by_scripts else adversary.attack)()
    finally:
        for pid in adversary.children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


main()
