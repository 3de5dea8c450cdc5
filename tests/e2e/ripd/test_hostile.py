# SPDX-License-Identifier: Apache-2.0
"""Hostile rings, files and clients: ripd continues, frees all resources, and still watches honest rings."""
import ctypes
import os
import random
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

NOBODY = 65534


def status_kb(world, field):
    with open(f"/proc/{world.ripd.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field + ":"))


def descriptors(world):
    return len(os.listdir(f"/proc/{world.ripd.pid}/fd"))


def mappings(world):
    with open(f"/proc/{world.ripd.pid}/maps", encoding="ascii", errors="replace") as file:
        return sum(1 for line in file if world.dir in line)


def give_away(ring):
    if os.geteuid() == 0:
        os.fchown(ring.fd, NOBODY, NOBODY)


def rings(world, query=""):
    return {ring["ring"]: ring for ring in world.get("/rings" + (query or "?limit=10000"))["rings"]}


def bound_s(seconds):
    """Returns a bound in seconds that grows with the load of the machine."""
    return max(seconds, 4 * os.getloadavg()[0] / os.cpu_count())


def honest_stall_is_seen(world, app, number=1):
    """Checks that the stall is reported within a bound that allows for a busy machine, but not for scans every few
    seconds."""
    world.wait_for(lambda: world.state(number, "honest") == "running")
    sequence = world.sequence()
    app.do(f"freeze {number}")
    world.wait_for(lambda: world.stalls("?ring=honest"), seconds=bound_s(8))
    return world.sequence() - sequence


def restart_ripd(world, **options):
    """Restarts ripd with options of subprocess.Popen."""
    world.stop()
    world.log = open(world.log_path, "ab")
    logged = len(world.log_text())
    program = shutil.copy(f"{w.BIN}/ripd", world.made)  # another user may not be able to read the build tree
    world.ripd = subprocess.Popen([program, "--listen", "127.0.0.1:0", "--dir", world.dir, "--interval",
                                   f"{world.INTERVAL_MS}ms", "--stall-after", f"{world.STALL_AFTER_MS}ms"],
                                  stderr=world.log, **options)
    world.wait_for(lambda: "listening on" in world.log_text()[logged:])
    world.port = int(world.log_text()[logged:].split("127.0.0.1:")[1].split()[0])
    world.wait_for(lambda: world.request("/readyz")[0] == 200)


def honest(world):
    app = world.puppet(ring="honest")
    app.do("spawn 1 one snap")
    return app


def records_that_name_others(world):
    """100 rings with 1,024 process records each: checking all of them in one scan would take a second."""
    app = honest(world)
    start = h.start_time(1)
    for i in range(100):
        ring = h.Ring(world.ring(f"records-{i}"), processes=1024)
        give_away(ring)
        for index in range(1024):
            ring.process(index, 1, start)
        ring.publish().close()
    world.wait_for(lambda: len(rings(world)) == 101)
    honest_stall_is_seen(world, app)
    assert "not enough time to check all process records" in world.log_text()
    pids = {process["pid"] for process in rings(world, "?ring=records-7")["records-7"]["processes"]}
    assert os.geteuid() != 0 or pids <= {None}, pids


def live_bits_over_holes(world):
    app = honest(world)
    ring = h.Ring(world.ring("holes"), capacity=1000000)
    ring.set_all_live()
    ring.publish()
    before = os.stat(ring.path).st_blocks
    world.wait_for(lambda: rings(world)["holes"]["health"] == "damaged")
    world.wait_scans(5)
    assert os.stat(ring.path).st_blocks - before < 64, "reading must not fill the holes"
    assert "hole" in rings(world)["holes"]["reason"]
    honest_stall_is_seen(world, app)
    ring.close()


def live_bits_that_move(world):
    """Few bits are set at a time, and different ones before each scan: reading them all would slowly fill the file."""
    app = honest(world)
    ring = h.Ring(world.ring("moving"), capacity=1 << 20)
    ring.process(0, os.getpid())
    ring.slot(0)
    ring.publish()
    world.wait_for(lambda: world.get("/threads?limit=1&ring=moving")["total"] == 1)
    before = os.stat(ring.path).st_blocks
    for turn in range(40):
        ring.bytes[ring.live:ring.live + ring.capacity // 8] = bytes(ring.capacity // 8)
        for slot in range(turn * 11, ring.capacity, 4000):
            ring.set_live(slot)
        bitmaps = 8 * (ring.capacity // 8 // h.PAGE + 2)
        time.sleep(0.05)
        assert os.stat(ring.path).st_blocks <= before + bitmaps, "reading must not fill the holes"
    assert rings(world)["moving"]["health"] == "damaged"
    honest_stall_is_seen(world, app)
    ring.close()


def sparse_files_that_claim_address_space(world):
    """2,276 files of a few pages claim 24 GB each. They are limited for their user, and the rest is free for others."""
    if os.geteuid() != 0:
        raise w.Skip("changing the owner of files needs root")
    app = honest(world)
    capacity = 1 << 26
    for i in range(2276):
        ring = h.Ring(world.ring(f"sparse-{i}"), capacity=capacity, backed=False)
        give_away(ring)
        ring.publish().close()
    world.wait_for(lambda: "more rings than can be mapped" in world.log_text())
    late = h.Ring(world.ring("late"))
    late.slot(0)
    late.publish().close()
    world.wait_for(lambda: rings(world).get("late", {}).get("health") == "readable")
    honest_stall_is_seen(world, app)
    assert world.request("/readyz")[0] == 200
    assert "out of memory" not in world.log_text() and "no memory" not in world.log_text()
    assert status_kb(world, "VmSize") < 256 << 20, status_kb(world, "VmSize")


def rings_that_take_the_time_of_a_scan(world):
    """350 rings with a full summary above a bitmap that is a hole. They change, so ripd reads them again."""
    if os.geteuid() != 0:
        raise w.Skip("changing the owner of files needs root")
    app = honest(world)
    world.wait_for(lambda: world.state(1, "honest") == "running")
    paths = [world.ring(f"full-{i}") for i in range(350)]
    for path in paths:
        ring = h.Ring(path, capacity=1 << 18)
        ring.bytes[ring.summary:ring.summary + ring.capacity // 64 // 8] = b"\xff" * (ring.capacity // 64 // 8)
        give_away(ring)
        ring.publish().close()
    before = sum(os.stat(path).st_blocks for path in paths)
    world.wait_for(lambda: world.get("/rings?limit=1")["total"] >= 351)
    late = world.log_text().count("scan late")
    statuses = []
    for _ in range(20):
        for path in paths:
            os.utime(path)
        statuses.append(world.request("/readyz")[0])
        time.sleep(0.05)
    assert sum(os.stat(path).st_blocks for path in paths) == before, "reading must not fill the holes"
    assert set(statuses) == {200}, statuses
    honest_stall_is_seen(world, app)
    assert world.log_text().count("scan late") - late <= 3, world.log_text()
    assert status_kb(world, "RssAnon") < 64 * 1024, status_kb(world, "RssAnon")


def forbid_userfaultfd():
    """Installs a seccomp filter as in many containers: userfaultfd() fails with EPERM."""
    number = {"x86_64": 323, "aarch64": 282}[os.uname().machine]
    program = b"".join(struct.pack("<HBBI", *line) for line in (
        (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)))
    buffer = ctypes.create_string_buffer(program)
    libc = ctypes.CDLL(None, use_errno=True)
    argument = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 4, ctypes.addressof(buffer)))
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, argument, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def rings_are_copied_without_userfaultfd(world):
    """Without userfaultfd ripd copies rings. It reports the same, and does not fill holes."""
    app = honest(world)
    restart_ripd(world, preexec_fn=forbid_userfaultfd)
    ring = h.Ring(world.ring("holes"), capacity=1 << 20)
    ring.set_all_live()
    ring.publish()
    before = os.stat(ring.path).st_blocks
    honest_stall_is_seen(world, app)
    thread = world.thread(1, "honest")
    assert thread["name"] == "one" and thread["process"]["pid"] == app.pid and thread["trail"], thread
    with open(f"/proc/{world.ripd.pid}/maps", encoding="ascii", errors="replace") as file:
        assert world.ring("honest") not in file.read()
    world.wait_for(lambda: rings(world)["holes"]["health"] == "damaged")
    world.wait_scans(3)
    assert os.stat(ring.path).st_blocks == before
    ring.close()


def one_table_of_modules_for_a_thousand(world):
    """Each process record has all modules and a stalled id, and the records change all the time."""
    app = honest(world)
    ring = h.Ring(world.ring("modules"), capacity=1024, processes=1024, modules=384)
    pid, start = os.getpid(), h.start_time(os.getpid())
    for i in range(384):
        ring.module(i, i * 4096, (i + 1) * 4096, path=b"/\x1b[2J\xff\n" + bytes([i % 255 + 1]) * 432)
    for i in range(1024):
        ring.process(i, pid, start, modules=range(384))
        ring.slot(i, process=i)
    ring.publish()
    # A scan has time only for some of the records, and on a busy machine only for a few.
    world.wait_for(lambda: world.get("/stalls?limit=1&ring=modules")["total"] == 1024, 4 * w.PATIENCE_S)
    for turn in range(20):
        for i in range(1024):
            at = ring.processes + i * h.PROCESS
            ring.bytes[at + 56:at + 60] = b"%04d" % turn
            ring.put("<I", at + 4, 2 + turn % 3)
        time.sleep(0.05)
    assert status_kb(world, "RssAnon") < 32 * 1024, status_kb(world, "RssAnon")
    honest_stall_is_seen(world, app)
    ring.close()


def removed_ring_with_a_false_claim_is_dropped(world):
    """A removed ring that claims a process of another user, which never ends, is dropped."""
    if os.geteuid() != 0:
        raise w.Skip("changing the owner of a file needs root")
    ring = h.Ring(world.ring("pinned"))
    give_away(ring)
    ring.process(0, 1)
    ring.process(1, 1, flags=0)
    ring.put("<Q", ring.processes + h.PROCESS + 24, 4026531836 + 77)  # claims another pid namespace
    ring.publish().close()
    world.wait_for(lambda: "pinned" in rings(world))
    assert mappings(world) == 1
    os.unlink(ring.path)
    world.wait_for(lambda: "pinned" not in rings(world))
    world.wait_for(lambda: mappings(world) == 0)


def pages_of_unreadable_rings(world):
    for i in range(5):
        ring = h.Ring(world.ring(f"bad-{i}"))
        ring.put("<I", 8, 2)
        ring.publish().close()
    world.wait_for(lambda: len(rings(world)) == 5)
    seen, after = [], ""
    for _ in range(10):
        document = world.get("/rings?limit=1" + after)
        seen += [ring["ring"] for ring in document["rings"]]
        if "next" not in document:
            break
        after = "&after=" + document["next"]
    assert seen == [f"bad-{i}" for i in range(5)], seen


def the_longest_name_twice(world):
    name = "n" * 255
    second = os.path.join(world.made, "second")
    os.mkdir(second)
    world.stop()
    world.flags += ["--dir", second]
    world.start()
    for directory in (world.dir, second):
        ring = h.Ring(os.path.join(directory, "made"))
        ring.process(0, os.getpid())
        ring.slot(5)
        os.rename(ring.path + ".making", os.path.join(directory, name))
        ring.close()
    world.wait_for(lambda: set(rings(world)) == {name, name + "~2"})
    for path in (name, name + "~2", name + "%7E2"):
        assert world.get(f"/threads/{path}/5")["thread"]["id"] == 5
        assert world.get(f"/threads?ring={path}")["total"] == 1


def many_stalls_do_not_hide_others(world):
    count = 70000
    ring = h.Ring(world.ring("stuck"), capacity=count)
    ring.process(0, os.getpid())
    for i in range(count):
        ring.slot(i)
    ring.publish()
    app = honest(world)
    world.wait_for(lambda: world.get("/stalls?limit=1")["counts"]["stalled"] == count)
    honest_stall_is_seen(world, app)
    world.wait_for(lambda: world.get("/stalls?limit=1")["total"] == 65536 + 1)
    world.wait_for(lambda: 'stall begin' in world.log_text() and 'ring="honest" id=1' in world.log_text())
    logged = world.log_text().count("stall begin")
    assert logged <= 64 * world.sequence(), (logged, world.sequence())
    assert "too many stalls to log: left_out=" in world.log_text()
    ring.close()


def churn(world):
    """Files are truncated, extended, renamed, removed, linked and replaced during scans; all resources are freed."""
    app = honest(world)
    honest_stall_is_seen(world, app)  # now the helper processes that examine a stall are running
    app.do("thaw 1")
    world.wait_for(lambda: world.state(1, "honest") == "running")
    world.wait_scans(3)
    before = descriptors(world), mappings(world)
    chance = random.Random(7)
    owner = world.puppet(ring=None)
    kept = []
    for turn in range(200):
        path = world.ring(f"churn-{turn % 7}")
        ring = h.Ring(path, capacity=256)
        ring.process(0, owner.pid)
        for i in range(64):
            ring.slot(i, name=bytes(chance.randrange(256) for _ in range(63)))
        kept.append(ring)
        try:
            ring.publish()
        except IsADirectoryError:
            os.rmdir(path)
        what = turn % 8
        if what == 0:
            os.truncate(ring.fd, chance.choice([0, 1, 100, 4096, 8192, ring.size - 1]))
        elif what == 1:
            os.truncate(ring.fd, ring.size * 4)
        elif what == 2 and os.path.exists(path):
            os.rename(path, world.ring("moved"))
        elif what == 3 and os.path.exists(path):
            os.unlink(path)
        elif what == 4 and os.path.exists(path):
            os.link(path, world.ring(f"link-{turn}"))
        elif what == 5 and os.path.exists(path):
            os.unlink(path)
            os.mkfifo(path)
        elif what == 6 and os.path.exists(path):
            os.unlink(path)
            os.mkdir(path)
        time.sleep(chance.choice([0, 0, 0.02]))
    for ring in kept:
        ring.close()
    owner.kill()
    for name in os.listdir(world.dir):
        path = world.ring(name)
        if name != "honest" and name != "ripd.log.txt":
            os.rmdir(path) if stat.S_ISDIR(os.lstat(path).st_mode) else os.unlink(path)
    world.wait_for(lambda: set(rings(world)) == {"honest"})
    world.wait_for(lambda: descriptors(world) <= before[0] and mappings(world) == before[1])
    assert status_kb(world, "RssAnon") < 16 * 1024
    honest_stall_is_seen(world, app)


def churn_of_claims(world):
    """The contents of a ring change while ripd reads them."""
    app = honest(world)
    owner = world.puppet(ring=None)  # a ring is kept while a process in it is alive
    chance = random.Random(8)
    ring = h.Ring(world.ring("liar"), capacity=4096, processes=256, modules=256)
    for i in range(256):
        ring.process(i, owner.pid, modules=range(256))
        ring.module(i, 0, 1 << 60)
    for i in range(4096):
        ring.slot(i, process=i % 256)
    ring.bytes[512:552] = b"\xff" * 40  # counts of refused, dropped and registered ids
    ring.publish()
    world.wait_for(lambda: rings(world)["liar"]["refused"] == {"full": None, "memory": None, "processes": None})
    assert rings(world)["liar"]["registered"] is None
    end = time.monotonic() + 2
    while time.monotonic() < end:
        for _ in range(2000):
            at = chance.randrange(48, ring.size - 8)
            ring.bytes[at:at + 8] = os.urandom(8)
        world.get("/threads?limit=10000&name=*")
        world.get("/rings")
    ring.close()
    os.unlink(ring.path)
    owner.kill()
    honest_stall_is_seen(world, app)
    world.wait_for(lambda: set(rings(world)) == {"honest"})


def directory_comes_and_goes(world):
    app = honest(world)
    second = os.path.join(world.made, "second")
    world.stop()
    world.flags += ["--dir", second]
    world.start()
    honest_stall_is_seen(world, app)  # now the helper processes that examine a stall are running
    app.do("thaw 1")
    world.wait_for(lambda: world.state(1, "honest") == "running")
    before = descriptors(world)
    for turn in range(30):
        os.mkdir(second)
        ring = h.Ring(os.path.join(second, f"ring-{turn}"))
        ring.slot(0)
        ring.publish().close()
        if turn % 3 == 0:
            world.wait_for(lambda name=f"ring-{turn}": name in rings(world))
        if turn % 4 == 1:
            os.rename(second, second + ".old")
            os.symlink(world.made, second)
            world.wait_scans(1)
            os.unlink(second)
            os.rename(second + ".old", second)
        shutil.rmtree(second)
    world.wait_for(lambda: set(rings(world)) == {"honest"})
    world.wait_for(lambda: descriptors(world) <= before)
    assert world.log_text().count("directory missing") <= 32
    honest_stall_is_seen(world, app)


def thousands_of_foreign_files(world):
    app = honest(world)
    for i in range(5000):
        with open(world.ring(f"file-{i}"), "wb") as file:
            file.write(b"hello")
    for byte in range(1, 256):
        if byte not in (0x2e, 0x2f):
            ring = h.Ring(world.ring("made"))
            os.rename(ring.path + ".making", os.fsencode(world.dir) + b"/n" + bytes([byte]) + b"n")
            ring.close()
    world.wait_for(lambda: len(world.get("/rings?limit=1000")["rings"]) == 254)
    honest_stall_is_seen(world, app)
    assert all(0x20 <= byte < 0x7f or byte == 10 for byte in world.log_text().encode())
    hexed = [ring for ring in world.get("/rings?limit=1000")["rings"] if "ring_hex" in ring]
    assert len(hexed) >= 128 + 31 and all(bytes.fromhex(ring["ring_hex"]) for ring in hexed)
    encoded = world.get("/rings?ring=n%FFn")["rings"]
    assert [ring["ring_hex"] for ring in encoded] == ["6eff6e"], encoded


def few_descriptors(world):
    """Rings leave some descriptors for clients."""
    restart_ripd(world, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
    app = honest(world)
    world.wait_for(lambda: world.state(1, "honest") == "running")
    for i in range(400):
        h.Ring(world.ring(f"many-{i}")).publish().close()
    world.wait_for(lambda: "no descriptor left for a ring" in world.log_text())
    world.wait_scans(3)
    assert world.request("/healthz")[0] == 200
    assert descriptors(world) < 200
    honest_stall_is_seen(world, app)


def log_that_is_not_read(world):
    world.stop()
    reading, writing = os.pipe()
    world.ripd = subprocess.Popen([f"{w.BIN}/ripd", "--listen", f"127.0.0.1:{world.port}", "--dir", world.dir,
                                   "--interval", "200ms", "--stall-after", "1s"], stderr=writing)
    os.close(writing)
    app = honest(world)
    for i in range(900):
        h.Ring(world.ring("x" * 100 + str(i))).publish().close()
    world.wait_for(lambda: os.path.exists(world.ring("honest")) and answers(world))
    honest_stall_is_seen(world, app)
    assert world.request("/readyz")[0] == 200
    os.set_blocking(reading, False)
    text = os.read(reading, 65536)
    assert b"listening on" in text
    os.set_blocking(reading, True)
    world.ripd.send_signal(signal.SIGTERM)  # after that there is room in the pipe for its last line
    while part := os.read(reading, 65536):
        text += part
    assert b"log lines lost, standard error was not read: count=" in text
    assert world.ripd.wait(timeout=w.PATIENCE_S) == 0
    os.close(reading)


def answers(world):
    try:
        return world.request("/readyz")[0] == 200
    except OSError:
        return False


def no_standard_streams(world):
    """Files that are opened later must not receive log lines."""
    world.stop()
    port = world.port
    world.ripd = subprocess.Popen(["sh", "-c", f"exec {w.BIN}/ripd --listen 127.0.0.1:{port} --dir {world.dir} "
                                   "--interval 200ms 0<&- 1>&- 2>&-"])
    world.wait_for(lambda: answers(world))
    for number in range(3):
        assert os.readlink(f"/proc/{world.ripd.pid}/fd/{number}") == "/dev/null", number
    assert world.stop() == 0
    world.start()


class Asker:
    """A client that sends requests without a pause and reads the answers."""

    def __init__(self, port, request):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.text = request.encode() * 2000
        self.threads = [threading.Thread(target=part, daemon=True) for part in (self.send, self.take)]
        for thread in self.threads:
            thread.start()

    def send(self):
        try:
            while True:
                self.socket.sendall(self.text)
        except OSError:
            pass

    def take(self):
        buffer = bytearray(1 << 20)
        try:
            while self.socket.recv_into(buffer) > 0:
                pass
        except OSError:
            pass

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the connection is closed already
        for thread in self.threads:
            thread.join()
        self.socket.close()


def client_that_sends_requests_without_a_pause(world):
    askers = [Asker(world.port, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(4)]
    try:
        time.sleep(0.5)
        for _ in range(10):
            began = time.monotonic()
            assert world.request("/healthz")[0] == 200
            assert time.monotonic() - began < bound_s(3)
        world.wait_for(lambda: world.request("/readyz")[0] == 200)  # a late scan would give 503
        world.ripd.send_signal(signal.SIGTERM)
        assert world.ripd.wait(w.PATIENCE_S) == 0
    finally:
        for asker in askers:
            asker.close()
    world.start()


def flood_of_large_questions(world):
    ring = h.Ring(world.ring("many"), capacity=20000)
    ring.process(0, os.getpid())
    for i in range(20000):
        ring.slot(i)
    ring.publish()
    app = honest(world)
    world.wait_for(lambda: world.get("/threads?limit=1&ring=many")["total"] == 20000)
    askers = []
    for i in range(50):  # fewer than the limit of pending queries
        asker = socket.create_connection(("127.0.0.1", world.port))
        asker.sendall(f"GET /threads?limit={9000 + i} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        askers.append(asker)
    try:
        began = time.monotonic()
        assert world.request("/healthz")[0] == 200
        assert time.monotonic() - began < bound_s(3)
        honest_stall_is_seen(world, app)
        assert status_kb(world, "VmHWM") < 512 * 1024, status_kb(world, "VmHWM")
    finally:
        for asker in askers:
            asker.close()
    ring.close()


def stops_while_questions_wait(world):
    ring = h.Ring(world.ring("many"), capacity=200000)
    for i in range(200000):
        ring.slot(i)
    ring.publish()
    world.wait_for(lambda: world.get("/threads?limit=1")["total"] == 200000)
    askers = []
    for i in range(80):
        asker = socket.create_connection(("127.0.0.1", world.port))
        asker.sendall(f"GET /threads?limit=10&name=*{i} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        askers.append(asker)
    world.ripd.send_signal(signal.SIGTERM)
    assert world.ripd.wait(w.PATIENCE_S) == 0
    statuses = set()
    for asker in askers:
        try:
            statuses.add(asker.recv(100)[9:12])
        except ConnectionResetError:
            pass
        asker.close()
    assert statuses <= {b"200", b"503", b""}, statuses
    ring.close()
    os.unlink(ring.path)
    world.start()


def two_users(world):
    """A's ring claims B's process. A's other ring may not be read by B's ripd."""
    if os.geteuid() != 0:
        raise w.Skip("two users need root")
    user_a, user_b = 61001, 61002
    os.chmod(world.made, 0o777)
    victim = subprocess.Popen(["sleep", "1000"], user=user_b, group=user_b, extra_groups=[])
    world.processes.append(victim)
    victim.stdin = victim.stdout = None
    ring = h.Ring(world.ring("thief"))
    ring.process(0, victim.pid)
    ring.module(0, 0, 1 << 40, path=b"/bin/own", flags=2)
    ring.process(1, victim.pid, flags=3)
    ring.slot(0, tid=victim.pid)
    ring.slot(1, tid=victim.pid, process=1)
    os.fchown(ring.fd, user_a, user_a)
    ring.publish()
    closed = h.Ring(world.ring("closed"), mode=0o640)
    os.fchown(closed.fd, user_a, user_a)
    closed.publish()
    shared = h.Ring(world.ring("shared"))
    shared.process(0, victim.pid)
    shared.slot(0, tid=victim.pid)
    os.fchown(shared.fd, user_b, user_b)
    shared.publish()
    world.well_past_threshold()
    stolen = world.get("/threads?ring=thief")["threads"]
    assert len(stolen) == 2 and all(item["process"]["pid"] is None and not item["process"]["attested"] and
                                    item["cause"] in (None, "unknown") for item in stolen), stolen
    victim.send_signal(signal.SIGSTOP)
    world.wait_for(lambda: world.state(0, "shared") == "stopped")  # a ring of the process's own user may show its state
    world.wait_scans(3)
    assert world.state(0, "thief") == "stalled"  # a ring of another user must not show that the process is stopped
    victim.send_signal(signal.SIGCONT)
    restart_ripd(world, user=user_b, group=user_b, extra_groups=[])
    world.wait_for(lambda: rings(world)["closed"]["health"] == "unreadable")
    assert rings(world)["closed"]["reason"] == "permission denied"
    world.wait_for(lambda: world.state(0, "shared") == "stalled")
    assert world.thread(0, "shared")["process"]["pid"] == victim.pid
    world.wait_for(lambda: world.get("/threads?ring=thief")["total"] == 2)
    for one in (ring, closed, shared):
        one.close()


if __name__ == "__main__":
    w.run([records_that_name_others, live_bits_over_holes, live_bits_that_move, sparse_files_that_claim_address_space,
           rings_that_take_the_time_of_a_scan, rings_are_copied_without_userfaultfd,
           one_table_of_modules_for_a_thousand,
           removed_ring_with_a_false_claim_is_dropped, pages_of_unreadable_rings, the_longest_name_twice,
           many_stalls_do_not_hide_others, churn, churn_of_claims, directory_comes_and_goes, thousands_of_foreign_files,
           few_descriptors, log_that_is_not_read, no_standard_streams, client_that_sends_requests_without_a_pause,
           flood_of_large_questions, stops_while_questions_wait, two_users])
