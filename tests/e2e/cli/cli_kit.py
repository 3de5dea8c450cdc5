# SPDX-License-Identifier: Apache-2.0
"""`rip` beside a ripd, and names that nobody should trust."""
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
RIP = f"{w.BIN}/rip"
HOSTILE = [b"\x1b[31;5m\x1b]0;title\x07", b"<script>alert(1)</script>", b"\xff\xfe\x80\xc3", b'"' * 63,
           b"$(touch INJECTED)", b"`touch INJECTED`", b"; touch INJECTED #", b"a\nb\r\0c\td\x7f",
           b"\xe2\x80\xae\xc2\x9b31m", "käse".encode()]


class CliWorld(w.World):
    """Listens on a Unix socket as well, which a restart finds again."""

    def start(self):
        self.url = f"unix:{self.made}/ripd.sock"
        self.flags = ["--listen", self.url, *self.more_flags()]
        self.environment = {**os.environ, "RIPD_URL": self.url, "LC_ALL": "C.UTF-8"}
        super().start()

    def more_flags(self):
        return []

    def rip(self, *arguments, **variables):
        return subprocess.run([RIP, "events", *arguments], env={**self.environment, **variables}, text=True,
                              capture_output=True, timeout=w.PATIENCE_S, check=False)

    def stall(self, app, number):
        """One that begins and ends; returns when both are events."""
        before = self.get("/events")["total"]
        app.do(f"spawn {number} name-{number} snap")
        self.wait_for(lambda: self.state(number) == "running")
        app.do(f"freeze {number}")
        self.wait_for(lambda: number in self.stalled_ids())
        app.do(f"thaw {number}")
        self.wait_for(lambda: self.get("/events")["total"] == before + 2)

    def hostile_stalls(self):
        ring = h.Ring(self.ring("hostile"))
        ring.process(0, os.getpid())
        for number, name in enumerate(HOSTILE):
            ring.slot(number, number=number + 1, name=name)
        ring.publish()
        self.wait_for(lambda: self.get("/events")["total"] == len(HOSTILE))
        return ring


class Follower:
    """`rip events --follow`, with what it has written so far."""

    def __init__(self, world, *arguments, **options):
        self.lines, self.errors = [], []
        self.process = subprocess.Popen([RIP, "events", "--follow", *arguments], env=world.environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=1, **options)
        world.processes.append(self.process)
        for stream, lines in ((self.process.stdout, self.lines), (self.process.stderr, self.errors)):
            threading.Thread(target=self.read, args=(stream, lines), daemon=True).start()

    @staticmethod
    def read(stream, lines):
        try:
            for line in stream:
                lines.append(line)
        except ValueError:  # closed at the end of the test
            pass

    def stop(self, number):
        self.process.send_signal(number)
        return self.process.wait(timeout=w.PATIENCE_S)
