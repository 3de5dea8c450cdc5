# SPDX-License-Identifier: Apache-2.0
"""Log lines in a real journal. ripd's standard error is connected to a separate systemd-journald, in a mount namespace
with an empty /run. Needs root."""
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

JOURNALD = "/lib/systemd/systemd-journald"
BEGIN, END = "3145ab467b3b494d8c68514563889660", "0ce3f47721c94e4eba64dad08f7a9b85"
HOSTILE = b'x\nMESSAGE=evil\nPRIORITY=0\n\x1b[2J\xff<b>"""'
# A program with one id, which makes one breadcrumb for each line that it reads.
TRACED = """
import ctypes, sys
rip = ctypes.CDLL(sys.argv[1])
name = bytes.fromhex(sys.argv[3])
assert rip.rip_create_ring(sys.argv[2].encode(), 64)
rip.rip_init(17, name, ctypes.c_size_t(len(name)), 0, 0)
rip.rip_snap()
print("ok", flush=True)
for line in sys.stdin:
    rip.rip_snap()
    print("ok", flush=True)
"""


class Journal:
    """A journald that stores only what it is sent, and changes nothing on the host."""

    def __init__(self):
        os.makedirs("/run/systemd/journald.conf.d")
        with open("/run/systemd/journald.conf.d/test.conf", "w", encoding="ascii") as file:
            file.write("[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=no\nForwardToWall=no\nForwardToConsole=no\n"
                       "RateLimitBurst=0\n")
        self.process = subprocess.Popen([JOURNALD], stderr=subprocess.DEVNULL)
        end = time.monotonic() + w.PATIENCE_S
        while not os.path.exists("/run/systemd/journal/stdout"):
            if time.monotonic() > end or self.process.poll() is not None:
                self.close()
                raise w.Skip("systemd-journald does not start")
            time.sleep(0.02)

    def stream(self):
        """Returns a connection like the standard error of a service, and its name."""
        stream = socket.socket(socket.AF_UNIX)
        stream.connect("/run/systemd/journal/stdout")
        # priority 6, and "<N>" sets the priority of a line
        stream.sendall(b"ripd-stream\nripd.service\n6\n1\n0\n0\n0\n")
        facts = os.fstat(stream.fileno())
        return stream, f"{facts.st_dev}:{facts.st_ino}"

    def entries(self, *matches):
        shown = subprocess.run(["journalctl", "--directory=/run/log/journal", "--output=json", "--no-pager", "--all",
                                "--quiet", *matches], capture_output=True, check=False)
        return [json.loads(line) for line in shown.stdout.splitlines()]

    def close(self):
        self.process.terminate()
        self.process.wait()


def as_bytes(value):
    """journalctl prints a field that is not text as a list of numbers."""
    return bytes(value) if isinstance(value, list) else value.encode()


class JournalWorld(w.World):
    INTERVAL_MS = 100
    STALL_AFTER_MS = 400
    journal = None

    def start(self):
        self.log = contextlib.nullcontext()
        stream, name = self.journal.stream()
        with stream:
            self.ripd = subprocess.Popen(
                [f"{w.BIN}/ripd", *(f"--{key}={value}" for key, value in self.settings().items()), *self.flags],
                stderr=stream, env=os.environ | {"JOURNAL_STREAM": name})
        found = self.wait_for(lambda: self.mine("_TRANSPORT=journal") and re.findall(
            r"^listening on http://127\.0\.0\.1:(\d+)$", self.log_text(), re.M))
        self.port = int(found[-1])
        self.wait_for(lambda: self.request("/readyz")[0] == 200)

    def mine(self, *matches):
        return self.journal.entries(f"_PID={self.ripd.pid}", *matches)

    def log_text(self):
        return "".join(as_bytes(entry["MESSAGE"]).decode() + "\n" for entry in self.mine()) if self.ripd else ""

    def trace(self, name, ring):
        library = os.path.join(w.BIN, "../lib/librip.so")
        traced = w.Puppet(self, [sys.executable, "-c", TRACED, library, self.ring(ring), name.hex()],
                          stderr=subprocess.DEVNULL)
        if traced.process.stdout.readline() != "ok\n":
            raise w.Skip("librip.so cannot be loaded by python (it is built with a sanitizer)")
        return traced


def test_lines(world):
    found = world.mine()
    assert [entry["MESSAGE"] for entry in found if "listening" in entry["MESSAGE"]] == \
        [f"listening on http://127.0.0.1:{world.port}"]
    for entry in found:
        assert (entry["SYSLOG_IDENTIFIER"], entry["_TRANSPORT"]) == ("ripd", "journal"), entry
        assert entry["PRIORITY"] == "6" or not entry["MESSAGE"].startswith("listening on "), entry
        assert not entry["MESSAGE"].startswith("ripd:"), entry


def test_a_stall_with_a_hostile_name(world):
    traced = world.trace(HOSTILE, "check\nout")
    begin = world.wait_for(lambda: world.mine(f"MESSAGE_ID={BEGIN}"))[0]
    assert as_bytes(begin["RIPD_NAME"]) == HOSTILE
    assert as_bytes(begin["RIPD_RING"]) == b"check\nout"
    assert (begin["RIPD_EVENT"], begin["RIPD_ID"], begin["PRIORITY"]) == ("begin", "17", "4")
    assert begin["RIPD_PID"] == str(traced.pid) == begin["RIPD_TID"]
    assert begin["RIPD_COMM"].startswith("python3")
    assert f' module="{begin["RIPD_MODULE"]}" offset={begin["RIPD_OFFSET"]}' in begin["MESSAGE"], begin
    assert int(begin["RIPD_FROZEN_FOR_MS"]) >= world.STALL_AFTER_MS
    assert "RIPD_LASTED_MS" not in begin and "RIPD_REASON" not in begin
    assert begin["MESSAGE"].startswith("stall begin episode=1 ring=\"check\\x0aout\" id=17 ")
    assert "\\x0aMESSAGE=evil\\x0a" in begin["MESSAGE"] and "\x1b" not in begin["MESSAGE"]
    end = world.wait_for(lambda: traced.do("snap") or world.mine(f"MESSAGE_ID={END}"))[0]
    assert (end["RIPD_EVENT"], end["RIPD_EPISODE"], end["RIPD_REASON"]) == ("end", begin["RIPD_EPISODE"], "moved")
    assert as_bytes(end["RIPD_NAME"]) == HOSTILE
    assert int(end["RIPD_LASTED_MS"]) >= int(begin["RIPD_FROZEN_FOR_MS"])
    assert not world.journal.entries("MESSAGE=evil")
    assert not world.journal.entries("PRIORITY=0")


def test_stalls_in_hostile_scripts(world):
    """Each stall is one entry with the exact bytes of the ring. No text can create another field or another entry."""
    ring = h.scripted_ring(world.ring("hostile"), os.getpid(), ids=0)
    count = len(h.SCRIPT_TEXTS) + 3
    # the socket of the journal has room for ten entries; further entries become plain lines
    for first in range(1, count + 1, 4):
        last = min(first + 3, count)
        h.scripted_ids(ring, first, last + 1 - first)
        world.wait_for(lambda: len(world.mine(f"MESSAGE_ID={BEGIN}")) == last)
    begins = {int(entry["RIPD_ID"]): entry for entry in world.mine(f"MESSAGE_ID={BEGIN}")}
    assert begins.keys() == set(range(1, count + 1)), begins.keys()
    for number, texts in enumerate(h.SCRIPT_TEXTS, 1):
        found = [as_bytes(begins[number].get(field, "")) for field in ("RIPD_FILE", "RIPD_FUNCTION")]
        assert found == [text.partition(b"\0")[0] for text in texts], begins[number]
        assert begins[number]["RIPD_LINE"] == str(number), begins[number]
    for begin in begins.values():
        assert (begin["RIPD_RING"], begin["PRIORITY"], begin["SYSLOG_IDENTIFIER"]) == ("hostile", "4", "ripd"), begin
        assert re.fullmatch("[ -~]+", begin["MESSAGE"]) and begin["MESSAGE"].startswith("stall begin episode="), begin
    assert not world.journal.entries("MESSAGE=evil") and not world.journal.entries("PRIORITY=0")
    ring.close()


def test_standard_error_instead(world):
    """Without the socket of the journal, lines go to the stream and keep their priority."""
    os.rename("/run/systemd/journal/socket", "/run/systemd/journal/aside")
    try:
        traced = world.trace(b"worker", "other")
        begin = world.wait_for(lambda: [line for line in world.mine("_TRANSPORT=stdout", "PRIORITY=4")
                                        if line["MESSAGE"].startswith("stall begin ")])[0]
        assert begin["MESSAGE"].startswith("stall begin episode=1 ring=\"other\" id=17 "), begin
        assert "RIPD_ID" not in begin
    finally:
        os.rename("/run/systemd/journal/aside", "/run/systemd/journal/socket")
    traced.kill()
    end = world.wait_for(lambda: world.mine(f"MESSAGE_ID={END}"))[0]
    assert (end["RIPD_NAME"], end["RIPD_REASON"]) == ("worker", "gone")


def main():
    if not os.path.exists(JOURNALD):
        w.skip_script(f"{JOURNALD} is not installed")
    if os.geteuid() != 0 or not shutil.which("unshare"):
        w.skip_script("needs root and unshare")
    if "RIP_TEST_PRIVATE_RUN" not in os.environ:
        if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            w.skip_script("mount namespaces are not permitted")
        os.environ["RIP_TEST_PRIVATE_RUN"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=False).returncode != 0:
        w.skip_script("mounting is not permitted")
    try:
        JournalWorld.journal = Journal()
    except w.Skip as reason:
        w.skip_script(reason)
    try:
        w.run([test_lines, test_a_stall_with_a_hostile_name, test_stalls_in_hostile_scripts,
               test_standard_error_instead], make_world=JournalWorld)
    finally:
        JournalWorld.journal.close()


main()
