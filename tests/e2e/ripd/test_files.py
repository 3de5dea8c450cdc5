# SPDX-License-Identifier: Apache-2.0
"""Files that are not rings, damaged rings, and full file systems."""
import os
import shutil
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

MAGIC = b"RIPRING\0"


def sparse_ring_is_not_filled(world):
    app = world.puppet(capacity=4 * 1024 * 1024)
    app.do("spawn-many 1000")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == 1000)
    before = os.stat(world.ring()).st_blocks
    world.wait_scans(10)
    world.get("/threads?limit=10000")
    assert os.stat(world.ring()).st_blocks == before
    assert before * 512 < 4 * 1024 * 1024, before
    assert os.stat(world.ring()).st_size > 1024 * 1024 * 1024


def truncated_ring(world):
    app = world.puppet()
    app.do("spawn 1 one idle")
    world.wait_for(lambda: world.state(1) == "idle")
    app.kill(signal.SIGSTOP)  # the process must not access the ring again, because it would get SIGBUS
    os.truncate(world.ring(), 8192)
    world.wait_for(lambda: world.get("/rings")["rings"][0]["health"] == "damaged")
    ring = world.get("/rings")["rings"][0]
    assert ring["reason"], ring
    other = world.puppet(ring="other")
    other.do("spawn 2 two snap")
    world.wait_for(lambda: world.state(2, "other") == "running")
    assert world.log_text().count("ring damaged") == 1


def odd_files(world):
    """Each file is ignored, or reported once."""
    app = world.puppet()
    app.do("spawn 1 one snap")
    with open(world.ring(), "rb") as file:
        head = bytearray(file.read(4096))
    version_2 = bytearray(head)
    version_2[8:12] = struct.pack("<I", 2)
    half = b"\0" * 8 + bytes(head[8:])
    files = {"empty": b"", "foreign": b"hello world\n" * 1000, "half-written": half, "newer": bytes(version_2),
             "short": bytes(head[:512]), "one-byte": b"R"}
    for name, content in files.items():
        with open(world.ring(name), "wb") as file:
            file.write(content)
    os.mkfifo(world.ring("fifo"))
    os.symlink(world.ring(), world.ring("link"))
    os.symlink("/dev/zero", world.ring("zero"))
    os.mkdir(world.ring("folder"))
    world.wait_for(lambda: len(world.get("/rings")["rings"]) == 3)
    world.wait_scans(10)
    rings = {ring["ring"]: ring for ring in world.get("/rings")["rings"]}
    assert set(rings) == {"app", "newer", "short"}, rings
    assert rings["app"]["health"] == "readable"
    assert "format" in rings["newer"]["reason"] and "shorter" in rings["short"]["reason"], rings
    assert world.log_text().count("ring unreadable") == 2
    assert world.state(1) == "running"


def full_tmpfs(world):
    mount = world.ring("small")
    os.mkdir(mount)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", mount], check=False,
                                           stderr=subprocess.DEVNULL).returncode != 0:
        raise w.Skip("mounting a tmpfs needs root")
    try:
        world.stop()
        world.flags += ["--dir", mount]
        world.start()
        app = w.Puppet(world)
        app.do(f"ring {mount}/app 4096")
        app.do("spawn 1 early snap")
        world.wait_for(lambda: world.state(1) == "running")
        try:
            with open(f"{mount}/filler", "wb") as filler:
                while True:
                    filler.write(b"x" * 4096)
                    filler.flush()
        except OSError:
            pass
        app.do("spawn-many 500")  # more than fit into existing pages
        world.wait_for(lambda: world.get("/rings")["rings"][0]["refused"]["memory"] > 0)
        assert app.send("pid") == str(app.pid)
        live = world.get("/rings")["rings"][0]["live"]
        assert 0 < live < 500, live
        world.wait_scans(3)
        assert world.state(1) == "running"
        app.kill()
    finally:
        subprocess.run(["umount", "-l", mount], check=False)


def full_ring(world):
    app = world.puppet(capacity=64)
    app.do("spawn-many 100")
    world.wait_for(lambda: world.get("/rings")["rings"][0]["refused"]["full"] == 36)
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == 64)


def directory_appears_later(world):
    world.stop()
    late = os.path.join(world.made, "late")
    world.flags += ["--dir", late]
    world.start()
    os.mkdir(late)
    app = w.Puppet(world)
    app.do(f"ring {late}/ring 64")
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1, "ring") == "running")
    app.kill()
    shutil.rmtree(late)
    world.wait_for(lambda: world.get("/rings")["rings"] == [])


def previous_ring_is_kept(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1) == "running")
    app.kill()
    again = world.puppet()
    again.do("spawn 2 two snap")
    world.wait_for(lambda: world.state(2) == "running")
    world.wait_for(lambda: world.state(1, "app.prev") == "dead")


w.run([sparse_ring_is_not_filled, truncated_ring, odd_files, full_tmpfs, full_ring, directory_appears_later,
       previous_ring_is_kept])
