# SPDX-License-Identifier: Apache-2.0
"""Programs traced by instrumentation of their compiler, without knowledge of librip: gcc and clang, functions and
edges. An endless computation is found with function and line. Waiting threads are not accused, because it is unknown
what they wait for."""
import functools
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import symbols_kit as k  # noqa: E402
import world as w  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiled_target.c")
WAYS = {"gcc-functions": ("gcc", "-finstrument-functions"),
        "clang-functions": ("clang", "-finstrument-functions"),
        "gcc-edges": ("gcc", "-fsanitize-coverage=trace-pc"),
        "clang-edges": ("clang", "-fsanitize-coverage=trace-pc"),
        "clang-guards": ("clang", "-fsanitize-coverage=trace-pc-guard")}
FLAGS = ["-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-std=gnu17", "-D_GNU_SOURCE", "-pthread"]


@functools.cache
def library_folder():
    """Builds librip-compiled from the sources, independent of the build tree. Its own code must not be instrumented."""
    folder = k.Folder()
    k.sh("gcc", "-c", "-O2", "-fPIC", "-finstrument-functions", f"-I{k.TOP}/include", f"-I{k.TOP}/librip", "-std=gnu17",
         "-D_GNU_SOURCE", f"{k.TOP}/librip/auto/compiled.c", "-o", f"{folder.path}/compiled.o")
    return folder


@functools.cache
def programs_folder():
    folder = k.Folder()
    os.chmod(folder.path, 0o755)
    return folder


@functools.cache
def program(way):
    compiler, flag = WAYS[way]
    compiler = shutil.which(compiler) or shutil.which(f"{compiler}-14")
    if compiler is None:
        raise w.Skip(f"{WAYS[way][0]} is not installed")
    path = os.path.join(programs_folder().path, way)
    k.sh(compiler, *FLAGS, flag, "-c", SOURCE, "-o", f"{path}.o")
    k.sh(compiler, "-pthread", f"{path}.o", f"{library_folder().path}/compiled.o",
         f"{k.librip_folder().path}/librip.a", "-o", path)
    return path


def environment(world, **more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RIP_")}
    return {**kept, "RIP_DIR": world.dir, **more}


def ready(world, way, mode, **more):
    puppet = w.Puppet(world, [program(way), mode], env=environment(world, **more))
    answer = puppet.process.stdout.readline()
    assert answer == "ready\n", answer
    return puppet


def ring_of(puppet):
    with open(f"/proc/{puppet.pid}/comm", encoding="utf-8") as file:
        return f"{file.read().strip()}.{puppet.pid}"


def lines_of(function):
    """Returns the range of lines of a function."""
    with open(SOURCE, encoding="utf-8") as file:
        lines = file.read().split("\n")
    first = next(i for i, line in enumerate(lines, 1) if f"{function}(void" in line and not line.endswith(";"))
    return range(first, first + lines[first:].index("}") + 2)


def spinning(world, ring):
    return [stall for stall in world.stalls(f"?ring={ring}") if stall["cause"] == "spinning"]


def in_grind(stall):
    location = stall["location"]
    return location["function"] == "grind" and os.path.basename(location["file"]) == "compiled_target.c" and \
        location["line"] in lines_of("grind")


def one_that_computes_is_found(way, world):
    puppet = ready(world, way, "work")
    ring = ring_of(puppet)
    world.wait_for(lambda: len(spinning(world, ring)) == 1 and in_grind(spinning(world, ring)[0]))
    threads = world.wait_for(lambda: world.get(f"/threads?ring={ring}")["total"] == 3 and
                             world.get(f"/threads?ring={ring}")["threads"])
    assert {thread["source"] for thread in threads} == {"compiled"}, threads
    assert {thread["name"] for thread in threads} == {ring.rpartition(".")[0]}, threads
    assert puppet.pid in {thread["id"] for thread in threads}, threads
    # It is unknown what the two other threads wait for, so they must not be in /stalls.
    world.wait_for(lambda: [t["reason"] for t in world.get(f"/threads?ring={ring}&state=idle")["threads"]] ==
                   ["unseen"] * 2)
    world.well_past_threshold()
    world.wait_for(lambda: len(world.stalls(f"?ring={ring}")) == 1)
    facts = [one for one in world.get("/rings")["rings"] if one["ring"] == ring][0]
    assert (facts["source"], facts["coverage"]) == ("compiled", "partial"), facts
    puppet.process.stdin.write("quit\n")
    puppet.process.stdin.flush()
    assert puppet.process.wait(w.PATIENCE_S) == 0
    assert not os.path.exists(world.ring(ring)), "the ring must be removed after a normal end"


def a_child_has_its_own_ids(world):
    puppet = ready(world, "gcc-functions", "fork")
    ring = ring_of(puppet)
    stalls = world.wait_for(lambda: len(spinning(world, ring)) == 2 and spinning(world, ring))
    pids = {stall["process"]["pid"] for stall in stalls}
    assert puppet.pid in pids and len(pids) == 2, stalls
    world.pids.extend(pids - {puppet.pid})
    puppet.process.stdin.write("quit\n")
    puppet.process.stdin.flush()
    assert puppet.process.wait(w.PATIENCE_S) == 0
    # The child still uses the ring.
    world.wait_for(lambda: [stall["process"]["pid"] for stall in spinning(world, ring)] == list(pids - {puppet.pid}))
    assert os.path.exists(world.ring(ring))


def signals_in_the_middle_of_it(world):
    for way in WAYS:
        try:
            argv = [program(way), "threads"]
        except w.Skip:
            continue
        result = subprocess.run(argv, env=environment(world), timeout=w.PATIENCE_S, check=False)
        assert result.returncode == 0, (way, result.returncode)
    assert not [path for path in glob.glob(f"{world.dir}/*-*") if ".log" not in path], os.listdir(world.dir)


def threads_that_run_at_the_end(world):
    """Threads that still run do not write to the ring after the process has left it, and the exit status is not
    changed."""
    puppet = ready(world, "gcc-functions", "sleepers")
    world.wait_for(lambda: world.get(f"/threads?ring={ring_of(puppet)}")["total"] == 2)
    puppet.process.stdin.write("quit\n")
    puppet.process.stdin.flush()
    assert puppet.process.wait(w.PATIENCE_S) == 0


def switched_off(world):
    puppet = ready(world, "gcc-functions", "work", RIP_DISABLE="1")
    assert not os.path.exists(world.ring(ring_of(puppet)))


def way_test(way):
    def test(world):
        one_that_computes_is_found(way, world)
    test.__name__ = "found_" + way.replace("-", "_")
    return test


if __name__ == "__main__":
    w.run([*map(way_test, WAYS), a_child_has_its_own_ids, signals_in_the_middle_of_it, threads_that_run_at_the_end,
           switched_off])
