# SPDX-License-Identifier: Apache-2.0
"""Shared code of the tests of names: builds programs in many ways, and reads the names that ripd reports.

The program stops at lines that are marked in its source, so the tests contain no line numbers.
"""
import functools
import glob
import os
import re
import shutil
import subprocess
import tempfile
import weakref

from world import Skip

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
SOURCES = os.path.join(HERE, "symbols")


def sh(*argv, **options):
    result = subprocess.run(argv, capture_output=True, text=True, check=False, **options)
    assert result.returncode == 0, f"{' '.join(argv)}: {result.stdout}{result.stderr}"
    return result.stdout


def need(tool):
    if shutil.which(tool) is None:
        raise Skip(f"{tool} is not installed")
    return tool


def build_id_of(path):
    return bytes.fromhex(re.search(r"Build ID: (\w+)", sh("readelf", "-n", path)).group(1))


def line_of(mark, *files):
    """Returns (file name, line) of a mark."""
    for name in files or ("target.c", "target_inner.h", "library.c", "target.cc", "target.rs"):
        with open(os.path.join(SOURCES, name), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if re.search(rf"MARK {re.escape(mark)}( \*/)?$", line.rstrip()):
                    return name, number
    raise KeyError(mark)


class Folder:
    """A temporary folder that is removed when the script ends."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="rip-e2e-", dir="/dev/shm")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@functools.cache
def librip_folder():
    """Builds a static librip without debug information, from the sources, independent of the flags of the build tree.
    """
    folder = Folder()
    sh("gcc", "-c", "-O2", "-fPIC", "-std=gnu17", "-D_GNU_SOURCE", f"-I{TOP}/include", f"-I{TOP}/librip",
       *glob.glob(f"{TOP}/librip/*.c"), cwd=folder.path)
    sh("ar", "rcs", f"{folder.path}/librip.a", *glob.glob(f"{folder.path}/*.o"))
    return folder


class Builder:
    """Builds programs in a folder of the world that other users may enter."""

    def __init__(self, world):
        self.world = world
        os.chmod(world.made, 0o755)
        self.folder = os.path.join(world.made, "programs")
        os.mkdir(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def librip(self):
        return f"{librip_folder().path}/librip.a"

    def program(self, name, *flags, compiler="gcc", source="target.c"):
        path = self.path(name)
        sh(need(compiler), f"-I{TOP}/include", "-D_GNU_SOURCE", f'-DPROGRAM_NAME="{name}"', *flags,
           f"{SOURCES}/{source}", self.librip(), "-o", path, "-pthread", cwd=self.folder)
        return path

    def shared(self, name, *flags):
        path = self.path(name)
        sh("gcc", f"-I{TOP}/include", "-shared", "-fPIC", *flags, f"{SOURCES}/library.c", "-o", path)
        return path


def start(world, path, ring=None, **options):
    """Starts a program whose ids are stuck. By default the ring has the name of the file."""
    ring = ring or os.path.basename(path)
    process = subprocess.Popen([path, world.ring(ring)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               bufsize=1, **options)
    world.processes.append(process)
    line = process.stdout.readline()
    assert line == "ready\n", f"{path}: {line!r}"
    return process


def command(process, line):
    process.stdin.write(line + "\n")
    answer = process.stdout.readline()
    assert answer == "ok\n", f"{line}: {answer}"


def stalls_of(world, ring):
    return {stall["id"]: stall for stall in world.stalls(f"?ring={ring}")}


def location_of(world, ring, number=1):
    """Returns the location of a stalled id, after ripd has looked up its name. /stalls alone may be answered before
    that."""
    world.wait_for(lambda: number in stalls_of(world, ring))
    world.get(f"/threads?ring={ring}") # this answer waits until there are names
    location = stalls_of(world, ring)[number]["location"]
    if location["function"] is None: # this scan's answer may have been made earlier
        world.wait_scans(2)
        location = stalls_of(world, ring)[number]["location"]
    return location


def named_location(world, ring, number=1):
    """Waits until the location of a stalled id has a name, and returns the location."""
    world.wait_for(lambda: location_of(world, ring, number)["function"] is not None)
    return location_of(world, ring, number)


def expect(world, ring, number, function, lines=True, inlined=()):
    """Checks function, file and line of an id, and of the functions that it was inlined into. lines: there is debug
    information."""
    location = named_location(world, ring, number)
    frames = [location, *location.get("inlined_into", [])]
    wanted = [function, *inlined]
    assert [frame["function"] for frame in frames] == wanted, f"{ring}/{number}: {location}"
    for frame, name in zip(frames, wanted):
        file, line = line_of(name) if lines else (None, None)
        found = frame["file"] if frame["file"] is None else os.path.basename(frame["file"])
        assert (found, frame["line"]) == (file, line), f"{ring}/{number}: {location}"
    return location


def expect_all(world, ring, lines=True):
    expect(world, ring, 1, "plain_work", lines)
    if lines:
        expect(world, ring, 2, "inner", inlined=("inlined_work",))
    else:
        expect(world, ring, 2, "inlined_work", lines=False)
