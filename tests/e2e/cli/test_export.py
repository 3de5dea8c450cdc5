# SPDX-License-Identifier: Apache-2.0
"""`rip export`: a real ring in each format, and a recording. babeltrace2 checks the CTF. No ripd is needed."""
import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess

import cli_kit as k
from cli_kit import w


def start(world):
    """Starts name-5, which is stuck, name-6, which waits for work, and name-7, which moves."""
    app = world.puppet()
    for number, mode in ((5, "snap"), (6, "idle"), (7, "snap")):
        app.do(f"spawn {number} name-{number} {mode}")
    world.wait_for(lambda: world.thread(5)["snaps"] > 40 and world.state(6) == "idle")
    app.do("freeze 5")
    world.wait_for(lambda: world.stalled_ids() == [5])
    return app


def export(world, *words):
    done = world.command("export", *words)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


def stacks_of(text):
    """Returns for each thread a list of (locations, count)."""
    found = collections.defaultdict(list)
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        process, thread, *places = stack.split(";")
        assert process == "puppet", line
        found[thread].append((places, int(count)))
    return found


def folded(world):
    start(world)
    found = stacks_of(export(world, "--folded", "-", world.ring()))
    assert {"name-5", "name-6", "name-7"} <= set(found), found
    (places, count), = found["name-5"]
    assert count == 1 and 1 < len(places) <= 8, places
    assert all(re.fullmatch(r"[a-z_]+ \(puppet\.c:\d+\)", place) for place in places), places
    assert found["name-6"][0][0][-1] == "(idle)", found
    assert stacks_of(export(world, "--folded", "-", world.dir)).keys() == found.keys()


def a_live_ring_is_followed(world):
    start(world)
    found = stacks_of(export(world, "--folded", "-", "--duration", "2s", "--interval", "100ms", world.ring()))
    (places, count), = found["name-5"]
    assert count > 3 and places, found  # name-5 was there at each drain
    assert sum(each[1] for each in found["name-7"]) == count, found


def chrome(world):
    start(world)
    path = os.path.join(world.made, "trace.json")
    assert export(world, "--chrome", path, "--duration", "2s", "--interval", "100ms", world.ring()) == ""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    tracks = {each["args"]["name"]: each["tid"] for each in events if each["name"] == "thread_name"}
    slices = [each for each in events if each["ph"] == "X" and each["tid"] == tracks["name-5"]]
    assert slices and all("puppet.c" in each["name"] for each in slices[1:]), slices
    assert max(each["dur"] for each in slices) > 1e6, slices  # name-5 was there most of the time
    moved = [each for each in events if each["ph"] == "X" and each["tid"] == tracks["name-7"]]
    assert len(moved) > len(slices), (moved, slices)


def ctf(world):
    if shutil.which("babeltrace2") is None:
        raise w.Skip("babeltrace2 is not installed")
    start(world)
    path = os.path.join(world.made, "ctf")
    export(world, "--ctf", path, "--duration", "1s", "--interval", "100ms", world.ring())
    done = subprocess.run(["babeltrace2", path], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    counts = collections.Counter(re.match(r"\[\S+\] \(\S+\) (\w+):", line)[1] for line in lines)
    assert counts["ring"] == counts["process"] == 1 and counts["register"] >= 3 and counts["drain"] > 3, counts
    shown = [line for line in lines if ") snap: " in line and 'name = "name-5"' in line]
    assert shown and all('file = "' in line and "puppet.c" in line for line in shown), (counts, lines[:30])
    totals = [line for line in lines if ") totals: " in line][-1]
    recorded = int(re.search(r"recorded_count = (\d+)", totals)[1])
    assert counts["snap"] == recorded, (counts, totals)


def recorded(world):
    """babeltrace2 counts the same events in an exported recording as librip-session counts in the recording."""
    start(world)
    path = os.path.join(world.made, "recording")
    done = world.command("record", "--dir", world.dir, "--output", path, "--duration", "2s")
    assert done.returncode == 0, done
    done = subprocess.run([f"{w.BIN}/recording_sums", path, "any"], capture_output=True, text=True, check=True)
    sums = json.loads(done.stdout)
    assert sums["recorded"] > 10, sums
    places = stacks_of(export(world, "--folded", "-", path))
    assert {"name-5", "name-6", "name-7"} <= set(places), places
    if shutil.which("babeltrace2") is not None:
        trace = os.path.join(world.made, "ctf-of-recording")
        export(world, "--ctf", trace, path)
        done = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True)
        counts = collections.Counter(re.match(r"\[\S+\] \(\S+\) (\w+):", each)[1] for each in done.stdout.splitlines())
        lost = sum(int(each) for each in re.findall(r"discarded (\d+) event", done.stderr))
        assert (counts["snap"], lost) == (sums["recorded"], sums["overwritten"]), (counts, done.stderr, sums)
        assert (counts["ring"], counts["register"]) == (sums["rings"], sums["ids"]), (counts, sums)
    with open(path, "r+b") as file:
        size = os.path.getsize(path) - 1
        file.truncate(size)
    done = world.command("export", "--folded", "-", path)
    assert done.returncode == 1 and stacks_of(done.stdout), done
    assert re.fullmatch(rf"rip: export: {re.escape(path)} is damaged or truncated at byte \d+ of {size}; "
                        "the part before that is exported\n", done.stderr), done


def wrong_arguments(world):
    ring, path = start(world) and world.ring(), os.path.join(world.made, "out")
    for words in ((ring,), ("--ctf", path), ("--ctf", path, "--folded", "-", ring), ("--chrome", path, ring, ring),
                  ("--folded", "-", "--interval", "soon", ring), ("--folded", "-", "--wrong", ring)):
        done = world.command("export", *words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and done.stdout == "", (words, done)
    assert not os.path.exists(path)
    with open(path, "w", encoding="ascii") as file:
        file.write("mine")
    for words in (("--chrome", path, ring), ("--ctf", path, ring), ("--folded", path, ring)):
        done = world.command("export", *words)
        assert done.returncode == 4 and "File exists" in done.stderr and done.stderr.count("\n") == 1, (words, done)
    with open(path, encoding="ascii") as file:
        assert file.read() == "mine"
    for source in (os.path.join(world.made, "none"), path, "/proc/version"):
        done = world.command("export", "--folded", "-", source)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and source in done.stderr, (source, done)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([k.RIP, "export", "--folded", "-", ring], stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False)
    assert done.returncode == 4 and done.stderr.startswith("rip: standard output: "), done
    done = world.command("export", "--folded", "-", "/proc/self")
    assert done.returncode == 1 and done.stderr.startswith("rip: export: /proc/self: no ring that this user may read")


def a_failed_export_leaves_no_output(world):
    start(world)
    empty, path, recording = (os.path.join(world.made, name) for name in ("empty", "out", "recording"))
    os.mkdir(empty)
    formats = ("--ctf", "--chrome", "--folded")
    for flag in formats:
        done = world.command("export", flag, path, empty)
        assert done.returncode == 1 and "no ring" in done.stderr and not os.path.lexists(path), (flag, done)
    for flag in formats:  # a file size limit acts like a full disk
        done = subprocess.run([k.RIP, "export", flag, path, world.ring()], text=True, capture_output=True, check=False,
                              preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                                  resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))))
        assert done.returncode == 4 and "File too large" in done.stderr, (flag, done)
        assert not os.path.lexists(path), flag
    # of a damaged recording, the part before the damage stays
    assert world.command("record", "--dir", world.dir, "-o", recording, "--duration", "300ms").returncode == 0
    os.truncate(recording, os.path.getsize(recording) - 1)
    for flag in formats:
        done = world.command("export", flag, f"{path}{flag}", recording)
        assert done.returncode == 1 and os.path.exists(f"{path}{flag}"), (flag, done)


def rings_without_read_permission(world):
    if os.geteuid() != 0:
        raise w.Skip("only root becomes another user")
    start(world)
    for folder in (world.made, world.dir):
        os.chmod(folder, 0o755)
    done = subprocess.run([k.RIP, "export", "--folded", "-", world.dir], text=True, capture_output=True, user=65534,
                          group=65534, extra_groups=[], check=False)
    assert done.returncode == 1 and done.stdout == "", done
    assert done.stderr == f"rip: export: {world.dir}: no ring that this user may read; {world.ring()}: " \
                          "Permission denied\n", done


if __name__ == "__main__":
    w.run([folded, a_live_ring_is_followed, chrome, ctf, recorded, wrong_arguments, a_failed_export_leaves_no_output,
           rings_without_read_permission], k.CliWorld)
