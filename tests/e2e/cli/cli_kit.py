# SPDX-License-Identifier: Apache-2.0
"""Helpers of the tests of `rip`: a world with ripd, hostile names, and fake servers."""
import fcntl
import http.server
import json
import os
import pty
import struct
import subprocess
import sys
import termios
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
    """ripd listens on a Unix socket, too, whose address stays the same after a restart."""

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

    def command(self, *arguments, **variables):
        """Runs any command of rip. variables are added to its environment."""
        return subprocess.run([RIP, *arguments], env={**self.environment, **variables}, text=True,
                              capture_output=True, timeout=w.PATIENCE_S, check=False)

    def on_terminal(self, columns, *arguments, **variables):
        """Returns the output of a command on a terminal with that many columns."""
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([RIP, *arguments], stdout=child, stderr=subprocess.DEVNULL,
                                   env={**self.environment, "TERM": "xterm", **variables})
        self.processes.append(process)
        os.close(child)
        text = b""
        try:
            while chunk := os.read(parent, 65536):
                text += chunk
        except OSError:  # end of file: the terminal is closed
            pass
        os.close(parent)
        process.wait(timeout=w.PATIENCE_S)
        return text.decode()

    def play(self, *words, program="locks", name="app"):
        """Runs a program whose threads block each other, under the preload library."""
        process = subprocess.Popen([RIP, "run", "--dir", self.dir, "--name", name, "--", f"{w.BIN}/{program}", *words],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    def stall(self, app, number):
        """Makes one stall. Returns when both its begin and its end are events."""
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


class Impostor(http.server.ThreadingHTTPServer):
    """A fake ripd. It answers each path with the document, or the (status, document), that the test has set."""

    def __init__(self, documents, address="127.0.0.1"):
        self.documents, self.asked = documents, []
        super().__init__((address, 0), ImpostorHandler)
        self.url = f"http://{address}:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class ImpostorHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        self.server.asked.append(self.path)
        found = self.server.documents.get(self.path.split("?")[0], (404, {"detail": "nothing here"}))
        status, document = found if isinstance(found, tuple) else (200, found)
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status == 200 else "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):  # pylint: disable=arguments-differ
        pass


def stalls_document(*stalls, **frame):
    """Returns an answer of /stalls. frame overrides fields, also with invalid values."""
    return {"schema": "ripd/stalls/1", "scan": {"sequence": 1, "age_ms": 100, "interval_ms": 1000},
            "counts": {"running": 7, "stalled": len(stalls)}, "total": len(stalls), "returned": len(stalls),
            "stalls": list(stalls), **frame}


class Follower:
    """`rip events --follow`, and the lines that it has written so far."""

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
        except ValueError:  # the stream is closed at the end of the test
            pass

    def stop(self, number):
        self.process.send_signal(number)
        return self.process.wait(timeout=w.PATIENCE_S)
