# SPDX-License-Identifier: Apache-2.0
"""Captures of processes that did not end normally: they are taken immediately, limited, and shown by rip dump."""
import datetime
import errno
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402
from captures_kit import RIP, CapturingWorld, watched  # noqa: E402


def killed(world):
    for name in ("SIGABRT", "SIGKILL"):  # sanitizers handle other signals
        ring = name.lower()
        app = watched(world, ring)
        pid = app.process.pid
        app.kill(getattr(signal, name))
        app.process.wait()
        capture = world.capture_of(ring)
        assert capture["end"]["how"] in ("killed", "unknown"), capture["end"]
        if capture["end"]["how"] == "killed":  # the kernel reports the signal since Linux 6.15
            assert capture["end"]["signal"] == name, capture["end"]
        assert capture["process"]["pid"] == pid and capture["source"] == "library"
        assert capture["ids"] == 2 and capture["ids_left_out"] == 0
        # on a busy machine the other id may be stalled, too, for lack of CPU time
        assert 2 in [stall["id"] for stall in capture["stalls"]]
        check_dump(world, capture["file"])


def check_dump(world, path):
    """Checks that the file alone contains the same ids and locations."""
    head, *ids = world.dump(path)
    assert head["schema"] == "ripd/capture/1" and "stalls" not in head
    by_id = {item["id"]: item for item in ids}
    assert sorted(by_id) == [1, 2]
    assert by_id[1]["name"] == "worker-1" and by_id[2]["note"] == "GET /x"
    assert by_id[2]["state"] == "stalled" and by_id[2]["since"] is not None
    assert len(by_id[1]["trail"]) > 1
    assert by_id[1]["location"]["module"] == "puppet" and by_id[1]["location"]["offset"].startswith("0x")
    text = world.rip("dump", path).stdout
    assert "worker-1" in text and "stalled when it ended" in text and "note        GET /x" in text, text
    # consecutive breadcrumbs of one location are one line
    assert text.count("worker_main, ") < len(by_id[1]["trail"]), text
    assert world.rip("dump", "--markdown", path).stdout.startswith("### ")


def ended_by_exit_without_cleanup(world):
    """A linked program that calls _exit() leaves its ring."""
    app = watched(world, "left")
    app.process.stdin.write("leave 3\n")
    app.process.stdin.flush()
    app.process.wait()
    end = world.capture_of("left")["end"]
    assert (end["how"], end["status"]) == ("exited", 3) or end["how"] == "unknown", end


HELD = """
import fcntl, os, sys, threading
def wait_for_it(path):
    fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_EX)
held = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(held, fcntl.LOCK_EX)
threading.Thread(target=wait_for_it, args=sys.argv[1:], daemon=True).start()
for line in sys.stdin:
    try:
        os.execv(*eval(line))
    except OSError as error:
        print(error.errno, flush=True)
"""


def stuck(world, lock):
    """Starts an unchanged program with a thread that waits for a lock. Returns the program and its ring."""
    traced = subprocess.Popen([RIP, "run", "--dir", world.dir, "--", sys.executable, "-c", HELD, world.ring(lock)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    world.processes.append(traced)
    rings = world.wait_for(lambda: [stall["ring"] for stall in world.stalls()
                                    if stall["process"]["pid"] == traced.pid and stall["cause"] == "blocked"])
    return traced, rings[0]


def replaced(world):
    """A program that executes another program leaves a capture."""
    app = watched(world, "linked")
    world.wait_for(lambda: [stall for stall in world.stalls() if stall["id"] == 2][0]["cause"] == "blocked")
    app.process.stdin.write("exec\n")
    app.process.stdin.flush()
    traced, name = stuck(world, "lock")
    traced.stdin.write("('/bin/sleep', ['sleep', '600'])\n")
    traced.stdin.flush()
    for ring, pid in (("linked", app.pid), (name, traced.pid)):
        capture = world.capture_of(ring)
        assert capture["end"]["how"] == "executed" and capture["end"]["status"] is None, capture
        assert capture["process"]["pid"] == pid and capture["ids"] == 2
        assert "blocked" in [stall["cause"] for stall in capture["stalls"]], capture
        assert capture["file"].endswith("-exec.capture")
    world.wait_for(lambda: [ring for ring in world.get("/rings")["rings"] if ring["ring"].startswith("sleep.")])


def not_replaced(world):
    """A failed exec leaves no capture, although the preload library has already left its ring."""
    garbage = f"{world.programs}/garbage"
    with open(garbage, "wb", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
        file.write(b"no program")
    traced, name = stuck(world, "lock")
    for path, error in (("/dev/null/x", errno.ENOTDIR), (garbage, errno.ENOEXEC)):
        traced.stdin.write(f"('{path}', ['x'])\n")
        traced.stdin.flush()
        assert int(traced.stdout.readline()) == error
    world.wait_for(lambda: world.log_text().count(f'ring found name="{name}"') == 2)
    world.wait_for(lambda: f'ring gone name="{name}~2"' in world.log_text())
    world.wait_scans(2)
    assert world.captures() == []


def ended_normally(world):
    """A program that ends normally leaves no capture, also under the preload library."""
    app = watched(world, "orderly")
    app.process.stdin.close()  # main() returns
    app.process.wait()
    world.wait_for(lambda: all(process["dead"] for ring in world.get("/rings")["rings"]
                               for process in ring["processes"]))
    for end in ("exit 0", "(exec /bin/sleep 1); (sleep 1; exec /bin/sleep 1)"):  # also children that execute a program
        done = world.rip("run", "--dir", world.dir, "--", "sh", "-c", f"sleep 1; {end}; exit 0")
        assert done.returncode == 0, done
    traced = subprocess.Popen([RIP, "run", "--dir", world.dir, "--", "sleep", "600"])
    name = f"sleep.{traced.pid}"
    world.wait_for(lambda: any(ring["ring"] == name and ring["processes"] for ring in world.get("/rings")["rings"]))
    world.wait_scans(2)
    traced.kill()
    traced.wait()
    assert world.capture_of(name)["source"] == "preload"
    assert [capture["ring"] for capture in world.captures()] == [name], world.captures()


def one_of_several(world):
    """The capture of a child that shares its parent's ring does not contain the parent's ids."""
    app = watched(world, "shared")
    child = int(app.send("child"))
    world.wait_for(lambda: world.state(800, "shared") == "running")
    world.wait_scans(3)
    os.kill(child, signal.SIGKILL)
    capture = world.capture_of("shared")
    assert capture["process"]["pid"] == child and capture["ids"] == 1 and capture["stalls"] == []
    assert [item["id"] for item in world.dump(capture["file"])[1:]] == [800]
    assert world.state(1, "shared") == "running"


def ended_before(world):
    """An id that ended just before its process is also in the capture."""
    app = world.puppet("ended")
    for number in (1, 2):
        app.do(f"spawn {number} worker-{number} snap")
    world.wait_for(lambda: {world.state(1, "ended"), world.state(2, "ended")} == {"running"})
    app.do("exit 2")
    world.wait_for(lambda: world.thread(2, "ended") is None)
    app.kill()
    capture = world.capture_of("ended")
    assert capture["ids"] == 1
    live, ended = world.dump(capture["file"])[1:]
    assert (live["id"], live["state"]) == (1, None) and (ended["id"], ended["state"]) == (2, "exited"), ended
    assert ended["name"] == "worker-2" and ended["location"]["function"] == "worker_main"
    assert "worker-2" in world.rip("dump", capture["file"]).stdout


def only_for_its_owner(world):
    app = watched(world, "private")
    app.kill()
    path = world.capture_of("private")["file"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    assert world.request("/captures")[0] == 404
    world.wait_for(lambda: world.metric("ripd_captures_total") == 1)


def of_another_user(world):
    """A user may read its own captures, through an access list, and no others."""
    if os.geteuid() != 0:
        raise w.Skip("needs root to be another user")
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    os.chmod(world.made, 0o777 | stat.S_ISVTX)
    for ring, options in (("mine", nobody), ("roots", {})):
        app = world.puppet(ring, **options)
        app.do("spawn 1 one snap")
        world.wait_for(lambda: world.state(1, ring) == "running")  # pylint: disable=cell-var-from-loop
        world.wait_scans(2)
        app.kill()
        world.capture_of(ring)
    done = subprocess.run([RIP, "captures", "--json", "--state-dir", world.state_dir], capture_output=True, text=True,
                          timeout=w.PATIENCE_S, check=False, **nobody)
    assert done.returncode == 0, done
    assert [json.loads(line)["ring"] for line in done.stdout.splitlines()] == ["mine"], done
    os.chmod(world.state_dir, 0o700)
    done = subprocess.run([RIP, "captures", "--state-dir", world.state_dir], capture_output=True, text=True,
                          timeout=w.PATIENCE_S, check=False, **nobody)
    assert done.returncode == 1 and "Permission denied" in done.stderr, done


def many_at_once(world):
    """The cost of ended processes is limited for each user, and refused captures are counted."""
    name = "many\nripd: error: forged"
    app = world.puppet(None)
    app.do(f"ring {world.ring('crowd')} 256")
    app.do("spawn 1 one snap")
    traced = [subprocess.Popen([RIP, "run", "--dir", world.dir, "--name", name, "--", "sleep", "600"])
              for _ in range(70)]
    world.processes += traced
    world.wait_for(lambda: sum(len(ring["processes"]) for ring in world.get("/rings")["rings"]) == 71)
    world.wait_scans(3)
    world.ripd.send_signal(signal.SIGSTOP)  # all of them end between two scans
    for process in traced:
        process.kill()
    for process in traced:
        process.wait()
    world.ripd.send_signal(signal.SIGCONT)
    world.wait_for(lambda: any(user["limit"] == "capture_bytes" for user in world.get("/rings")["limited"]))
    assert world.state(1, "crowd") == "running"
    assert 8 <= len(world.files()) <= 32
    world.wait_for(lambda: "captured: " in world.log_text())
    assert "\nripd: error: forged" not in world.log_text()


def joined_with_cores(world):
    """Captures are matched with core files of systemd-coredump by pid and lifetime. A script replaces coredumpctl, with
    the output of version 252."""
    app = world.puppet("dumped", cwd=world.made)
    hard = resource.prlimit(app.pid, resource.RLIMIT_CORE)[1]
    resource.prlimit(app.pid, resource.RLIMIT_CORE, (hard, hard))
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1, "dumped") == "running")
    world.wait_scans(2)
    app.kill(signal.SIGABRT)
    app.process.wait()
    capture = world.capture_of("dumped")
    if capture["end"]["core_dumped"] is False:
        raise w.Skip("core dumps are disabled")  # in a sanitizer build, or with a limit
    assert "core" not in capture
    folder = world.programs
    with open(f"{folder}/coredumpctl", "w", opener=lambda path, flags: os.open(path, flags, 0o755),
              encoding="ascii") as file:
        file.write(f"#!/bin/sh\nprintf '%s ' \"$@\" >{folder}/arguments\ncat {folder}/list\n")
    at = int(datetime.datetime.fromisoformat(capture["ended_at"].replace("Z", "+00:00")).timestamp()) * 1000000
    core = {"time": at, "pid": app.pid, "uid": 0, "gid": 0, "sig": 6, "corefile": "present", "exe": "/x", "size": 4096}
    path = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

    def ask(*words):
        done = subprocess.run([RIP, *words], env=path, capture_output=True, text=True, timeout=w.PATIENCE_S, check=True)
        return done.stdout

    for cores, found in (([{**core, "time": at - 3600000000}, core, {**core, "pid": app.pid + 1}], core),
                         ([{**core, "time": at + 3600000000}, {**core, "pid": app.pid + 1}], None)):
        with open(f"{folder}/list", "w", encoding="ascii") as file:
            json.dump(cores, file)
        listed = json.loads(ask("captures", "--json", "--state-dir", world.state_dir))
        head = json.loads(ask("dump", "--json", capture["file"]).splitlines()[0])
        assert listed.get("core") == head.get("core") == found, (listed, head)
        assert (f"coredumpctl info {app.pid}" in ask("dump", capture["file"])) == (found is not None)
        text = ask("captures", "--state-dir", world.state_dir)
        assert ("killed by SIGABRT, core present" in text) == (found is not None), text
        with open(f"{folder}/arguments", encoding="ascii") as file:
            assert re.fullmatch(r"--quiet --no-pager --json=short --since=@\d+ list ", file.read())
    with open(f"{folder}/list", "w", encoding="ascii") as file:
        file.write("no JSON")
    assert "core" not in json.loads(ask("captures", "--json", "--state-dir", world.state_dir))


def on_another_machine(world):
    """With --files, names come only from files with the right build id: at the same path, by name, or by build id."""
    program = f"{world.programs}/app/bin/program"
    os.makedirs(os.path.dirname(program))
    shutil.copy(f"{w.BIN}/puppet", program)
    app = world.puppet("moved", argv=[program])
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1, "moved") == "running")
    world.wait_scans(2)
    app.kill()
    path = world.capture_of("moved")["file"]
    files = f"{world.programs}/files"
    os.mkdir(files)

    def names():
        return [place.get("function") for place in world.dump("--files", files, path)[1]["trail"]]

    assert names()[0] == "worker_main", names()
    os.rename(program, f"{world.programs}/program")
    assert names()[0] is None, names()
    build_id = world.dump(path)[1]["location"]["build_id"]
    debug = f"{files}/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    for place in (f"{files}/{program}", f"{files}/program", debug, f"{files}/{debug.split('/usr/lib/debug/')[1]}"):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if place.endswith(".debug"):
            subprocess.run(["objcopy", "--only-keep-debug", f"{world.programs}/program", place], check=True)
        else:
            shutil.copy(f"{world.programs}/program", place)
        location = world.dump("--files", files, path)[1]["location"]
        assert (location["function"], os.path.basename(location["file"])) == ("worker_main", "puppet.c"), place
        os.unlink(place)
    shutil.copy("/bin/true", f"{files}/program")  # another program with that name
    assert names()[0] is None, names()


def an_earlier_ring(world):
    """A program that starts again renames the ring of its killed predecessor; rip dump reads that ring, too."""
    app = world.puppet("again")
    app.do("spawn 7 first snap")
    world.wait_for(lambda: world.state(7, "again") == "running")
    app.kill()
    world.puppet("again").do("spawn 8 second snap")
    world.wait_for(lambda: world.state(8, "again") == "running")
    for name, number in (("again.prev", 7), ("again", 8)):
        items = world.dump(world.ring(name))
        assert [(item["id"], item["location"]["function"]) for item in items] == [(number, "worker_main")], items


def bad_files(world):
    neither = "neither a ring, a capture nor a recording"
    for content, words in ((b"", neither), (b"RIPCAPT\0" + bytes(100), "another version"),
                           (b"RIPCAPT\0\1" + bytes(100), "damaged"), (b"x" * 5000, neither)):
        path = os.path.join(world.made, "file")
        with open(path, "wb") as file:
            file.write(content)
        done = world.rip("dump", path)
        assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1, done
    for words, status in ((["dump"], 2), (["dump", "/proc/nonexistent/x"], 1), (["dump", "/"], 1),
                          (["captures", "--state-dir", "/proc/nonexistent/x"], 1)):
        done = world.rip(*words)
        assert done.returncode == status and done.stderr.count("\n") == 1, done


w.run([killed, ended_by_exit_without_cleanup, replaced, not_replaced, ended_normally, one_of_several, ended_before,
       only_for_its_owner, of_another_user, many_at_once, joined_with_cores, on_another_machine, an_earlier_ring,
       bad_files], CapturingWorld)
