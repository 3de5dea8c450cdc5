# SPDX-License-Identifier: Apache-2.0
"""Names when things go wrong: a symbolizer that is killed or stopped, hostile files, and users with false claims."""
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from symbols_kit import (SOURCES, Builder, build_id_of, command, expect, expect_all, location_of,  # noqa: E402
                         named_location, sh, start)
from world import Skip, lacking, run  # noqa: E402

USER_A, USER_B = 61001, 61002


def symbolizers(world):
    """Returns pid and state of ripd's children, including zombies."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                pid, comm, rest = re.match(r"(\d+) \((.*)\) (.*)", file.read()).groups()
        except (OSError, AttributeError):
            continue
        if int(rest.split()[1]) == world.ripd.pid and comm.startswith("ripd-symbolizer"[:15]):
            found.append((int(pid), rest.split()[0]))
    return found


def failures(world, reason):
    return world.metric(f'ripd_symbolizer_failures_total{{reason="{reason}"}}')


def app_with_libraries(world, builder, count):
    process = start(world, builder.program("app", "-g", "-rdynamic"))
    return process, [builder.shared(f"lib{i}.so", "-g", "-Wl,--build-id=uuid") for i in range(count)]


def killed(world):
    """The symbolizer is killed repeatedly: later files still get names, and no process is left."""
    builder = Builder(world)
    process, libraries = app_with_libraries(world, builder, 5)
    expect_all(world, "app")
    descriptors = len(os.listdir(f"/proc/{world.ripd.pid}/fd"))
    for i, library in enumerate(libraries):
        for pid, _ in symbolizers(world):
            os.kill(pid, signal.SIGKILL)
        command(process, f"load {library}")
        expect(world, "app", 3 if i == 0 else 9 + i, "library_work")
    world.wait_for(lambda: len(symbolizers(world)) == 1)
    world.wait_for(lambda: len(os.listdir(f"/proc/{world.ripd.pid}/fd")) <= descriptors)
    world.wait_for(lambda: failures(world, "died") >= 4 and world.metric("ripd_symbolizer_starts_total") >= 5)
    world.wait_for(lambda: world.metric('ripd_symbols_total{result="named"}') >= 7)
    assert "symbolizer ended" in world.log_text()


def stopped(world):
    """While the symbolizer is stopped, answers and scans continue. It is replaced, and the file gets its names."""
    builder = Builder(world)
    process, libraries = app_with_libraries(world, builder, 1)
    expect_all(world, "app")
    os.kill(symbolizers(world)[0][0], signal.SIGSTOP)
    command(process, f"load {libraries[0]}")
    world.wait_for(lambda: len(world.stalls("?ring=app")) == 3)
    before = world.sequence()
    world.wait_for(lambda: world.get("/threads?ring=app") and failures(world, "hung") == 1)
    assert world.sequence() - before >= 5
    expect(world, "app", 3, "library_work")
    lines = [line for line in world.log_text().splitlines() if "reason=hung" in line]
    assert len(lines) == 1 and "lib0.so" in lines[0], lines
    os.kill(symbolizers(world)[0][0], signal.SIGSTOP)
    assert world.stop() == 0 # must not wait for the symbolizer
    world.start()
    expect(world, "app", 3, "library_work")


# --- Files ----------------------------------------------------------------------------------------------------------

def sections(data):
    """Returns (offset of the header, offset, size) of each section."""
    at, = struct.unpack_from("<Q", data, 40)
    count, = struct.unpack_from("<H", data, 60)
    return [(at + 64 * i, *struct.unpack_from("<QQ", data, at + 64 * i + 24)) for i in range(count)]


def broken(data, seed):
    """Yields debug files that keep their build id but are damaged elsewhere."""
    chance = random.Random(seed)
    late = [section for section in sections(data) if section[1] > 0x400]
    for header, offset, size in late:
        yield data[:offset + size // 2]
        yield data[:header + 32] + struct.pack("<Q", 1 << 62) + data[header + 40:]
        if size > 8:
            noise = bytes(chance.randrange(256) for _ in range(size))
            yield data[:offset] + noise + data[offset + size:]


def hostile_debug_files(world):
    """Such files break neither ripd nor the names of other files."""
    builder = Builder(world)
    good = start(world, builder.program("good", "-g", "-rdynamic"))
    original = builder.program("original", "-g")
    with open(original, "rb") as file:
        data = file.read()
    variants = list(broken(data, 1))
    for i, variant in enumerate(variants):
        path = builder.path(f"bad{i}")
        shutil.copy(original, path)
        sh("strip", path)
        sh("objcopy", "--remove-section=.note.gnu.build-id", path) # without a build id, each file is known by its path
        with open(f"{path}.debug", "wb") as file:
            file.write(data)
        sh("objcopy", f"--add-gnu-debuglink={path}.debug", path)
        with open(f"{path}.debug", "wb") as file:
            file.write(variant)
        start(world, path)
    world.wait_for(lambda: len(world.stalls("?limit=1000")) == 2 * (len(variants) + 1))
    world.get("/threads?limit=1000") # requests the names of all
    library = builder.shared("late.so", "-g")
    command(good, f"load {library}")
    expect(world, "good", 3, "library_work")
    world.wait_for(lambda: len(symbolizers(world)) == 1)


def hostile_debug_information(world):
    """A function that is its own origin, blocks nested a hundred thousand deep, and very large files."""
    builder = Builder(world)
    for name, cycle in (("cycle", 1), ("deep", 0)):
        part = builder.path(f"{name}.o")
        sh("as", "--defsym", f"CYCLE={cycle}", f"{SOURCES}/hostile.s", "-o", part)
        start(world, builder.program(name, part))
    path = builder.program("sparse", "-g")
    os.truncate(path, 4 << 30)
    start(world, path)
    start(world, builder.program("good", "-g"))
    for name in ("cycle", "deep"):
        assert location_of(world, name)["function"] in ("plain_work", None)
    location_of(world, "sparse")
    expect_all(world, "good")


def cut_while_it_is_read(world):
    """A mapped file that is truncated may end the symbolizer, but not ripd. Other files keep their names."""
    builder = Builder(world)
    path = builder.program("cut", "-g")
    debug = f"{path}.debug"
    sh("objcopy", "--only-keep-debug", path, debug)
    sh("strip", path)
    sh("objcopy", f"--add-gnu-debuglink={debug}", path)
    process = start(world, builder.program("good", "-g", "-rdynamic"))
    start(world, path)
    expect_all(world, "cut")
    os.truncate(debug, 4096)
    library = builder.shared("late.so", "-g")
    command(process, f"load {library}")
    expect(world, "good", 3, "library_work")
    expect_all(world, "good")


# --- Users ----------------------------------------------------------------------------------------------------------

def forge(ring, path, build_id, shift):
    """Makes the first module of a ring claim another file. shift: the module begins at an address that is not mapped.
    """
    with open(ring, "r+b") as file:
        data = file.read()
        at, = struct.unpack_from("<Q", data, 96 + struct.calcsize("<IIQIIQQIIQII"))
        begin, = struct.unpack_from("<Q", data, at)
        file.seek(at)
        file.write(struct.pack("<Q", begin - (4096 if shift else 0)))
        file.seek(at + 28)
        file.write(struct.pack("<HBB", len(path), len(build_id), 0) + build_id.ljust(32, b"\0") + path.encode())


def live_ids(ring):
    """Returns the number of bits in the bitmap of a ring."""
    with open(ring, "rb") as file:
        data = file.read()
    capacity, _, slots, _, _, _, live = struct.unpack_from("<IIQIIQQ", data, 96)
    assert live < slots
    return sum(byte.bit_count() for byte in data[live:live + (capacity + 63) // 64 * 8])


class Users:
    """Starts programs of several users. Rings are created in a separate folder before ripd sees them."""

    def __init__(self, world):
        if os.getuid() != 0:
            raise Skip("other users' processes take root")
        self.world = world
        self.builder = Builder(world)
        self.nursery = self.builder.path("nursery")
        os.mkdir(self.nursery)
        os.chmod(self.nursery, 0o777)
        os.chmod(world.dir, 0o777)

    def start(self, program, name, user, claim=None, shift=False, prepare=None):
        """Starts the program as user. claim: its ring claims (path, build id)."""
        ring = os.path.join(self.nursery, name)
        process = subprocess.Popen([program, ring], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=user,
                                   group=user, extra_groups=[], bufsize=1)
        self.world.processes.append(process)
        assert process.stdout.readline() == "ready\n"
        self.world.wait_for(lambda: live_ids(ring) == 2)
        if prepare:
            prepare(process)
        if claim:
            forge(ring, *claim, shift)
        os.chmod(ring, 0o644)
        os.rename(ring, self.world.ring(name))
        return process


def private_things(users):
    """Returns a program of B that only B may read, and one in a folder that only B may enter, with their build ids."""
    folder = users.builder.path("home-of-b")
    os.mkdir(folder)
    found = {}
    for name, mode in (("closed", 0o700), ("readable", 0o755)):
        path = users.builder.program(name, "-g", "-Dplain_work=secret_work", "-Dinlined_work=secret_other")
        build_id = build_id_of(path)
        os.rename(path, f"{folder}/{name}")
        os.chown(f"{folder}/{name}", USER_B, USER_B)
        os.chmod(f"{folder}/{name}", mode)
        found[name] = (f"{folder}/{name}", build_id)
    os.chown(folder, USER_B, USER_B)
    os.chmod(folder, 0o700)
    return found


def nothing_of_others(world):
    """A's rings claim B's programs in every way. ripd runs as root, then as another user."""
    users = Users(world)
    things = private_things(users)
    program = users.builder.program("program", "-g")
    public = users.builder.program("public", "-g", "-Dplain_work=public_work")
    link, fifo = users.builder.path("link"), users.builder.path("fifo")
    os.symlink(things["closed"][0], link)
    os.mkfifo(fifo)
    closed = things["closed"][1]
    claims = {
        "mapped-closed": (things["closed"], False),
        "mapped-readable": (things["readable"], False),
        "unmapped-closed": (things["closed"], True),
        "unmapped-readable": (things["readable"], True),
        "link": ((link, closed), True),
        "fifo": ((fifo, closed), True),
        "folder": ((users.builder.folder, closed), True),
        "zero": (("/dev/zero", closed), True),
        "up": ((users.builder.folder + "/nursery/../home-of-b/closed", closed), True),
        "proc": ((f"/proc/{os.getpid()}/root{things['closed'][0]}", closed), True),
    }
    for name, (claim, shift) in claims.items():
        users.start(program, name, USER_A, claim, shift)
    users.start(program, "honest", USER_A)
    users.start(program, "of-public", USER_A, (public, build_id_of(public)), True)
    owner = users.start(things["closed"][0], "of-b", USER_B)
    for _ in range(2):
        for name in claims:
            location = location_of(world, name)
            assert location["function"] is None and location["file"] is None, f"{name}: {location}"
        expect_all(world, "honest")
        assert named_location(world, "of-public")["function"] == "public_work" # every user may read this file
        world.wait_for(lambda: len(symbolizers(world)) == 1)
        assert owner.poll() is None
        if world.ripd_as_root and not lacking("sys_ptrace"):
            # this ring belongs to the user of the file
            assert named_location(world, "of-b")["function"] == "secret_work"
        world.stop()
        world.ripd_as_root = False
        world.start()
    world.ripd_as_root = True


def forged_files_stay_with_their_owner(world):
    """A has a file with the build id of B's program and other names in it, which is looked up first."""
    users = Users(world)
    program = users.builder.program("program", "-g")
    forged = users.builder.program("forged", "-g", "-Dplain_work=forged_work", "-Wl,--build-id=0x"
                                   + build_id_of(program).hex())
    users.start(program, "of-a", USER_A, (forged, build_id_of(program)), True)
    assert named_location(world, "of-a")["function"] == "forged_work" # names from A's file
    users.start(program, "of-b", USER_B)
    expect_all(world, "of-b")


def a_file_with_a_lease(world):
    """A has a lease on a file: opening it blocks until the lease is broken, also for root. Names of B's locations do
    not wait."""
    users = Users(world)
    with open("/proc/sys/fs/lease-break-time", encoding="ascii") as file:
        if int(file.read()) < 40:
            raise Skip("leases are broken too soon on this machine")
    program = users.builder.program("program", "-g")
    leased = shutil.copy(program, users.builder.path("leased"))
    os.chown(leased, USER_A, USER_A)
    users.start(program, "of-a", USER_A, (leased, build_id_of(program)), True, lambda process:
                command(process, f"lease {leased}"))
    world.wait_for(lambda: world.stalls("?ring=of-a"))
    location_of(world, "of-a")
    users.start(program, "of-b", USER_B)
    begun = time.monotonic()
    expect_all(world, "of-b")
    assert time.monotonic() - begun < 30


def make_world():
    from world import World # pylint: disable=import-outside-toplevel

    class OfUsers(World):
        """A world whose ripd may be restarted as an unprivileged user."""
        ripd_as_root = True

        def start(self):
            if self.ripd_as_root:
                super().start()
                return
            popen = subprocess.Popen
            subprocess.Popen = lambda *args, **options: popen(*args, user=65533, group=65533, extra_groups=[],
                                                              **options)
            try:
                super().start()
            finally:
                subprocess.Popen = popen

    return OfUsers()


if __name__ == "__main__":
    run([killed, stopped, hostile_debug_files, hostile_debug_information, cut_while_it_is_read, nothing_of_others,
         forged_files_stay_with_their_owner, a_file_with_a_lease], make_world)
