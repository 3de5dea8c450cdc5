# SPDX-License-Identifier: Apache-2.0
"""Which processes are alive: SIGKILL, exec, exits of threads, daemons, forks, and processes that make false claims."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402


def watch_never_stalled(world, seconds=None):
    """Checks that no answer and no log line reports a stall, longer than all thresholds."""
    end = time.monotonic() + (seconds or (world.STALL_AFTER_MS + 5 * world.INTERVAL_MS) / 1000)
    while time.monotonic() < end:
        assert world.stalls() == [], world.stalls()
        time.sleep(0.05)
    assert "stall begin" not in world.log_text()


def killed(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1) == "running")
    app.kill()
    world.wait_for(lambda: world.state(1) == "dead")
    watch_never_stalled(world)
    ring = world.get("/rings")["rings"][0]
    assert ring["dead"] is True
    assert world.thread(1)["location"]["module"] == "puppet"  # module and offset are known after the death


def the_end_is_known_and_stays(world):
    """The end time is when ripd found the end, whatever the clock does later. The last state of each id is kept."""
    app = world.puppet()
    app.do("spawn 1 one never")
    app.do("spawn 2 two idle")
    app.do("spawn 3 three snap")
    world.wait_for(lambda: world.stalled_ids() == [1] and world.stalls()[0]["cause"] is not None and
                   world.state(2) == "idle" and world.state(3) == "running")
    stall, idle = world.stalls()[0], world.thread(2)
    assert idle["since"] is not None and idle["frozen_for_ms"] is not None, idle
    app.kill()
    world.wait_for(lambda: world.get("/stalls")["counts"]["dead"] == 3)
    dead = [world.thread(number) for number in (1, 2, 3)]
    world.wait_scans(6)
    for before, after in zip(dead, [world.thread(number) for number in (1, 2, 3)]):
        assert {key: before[key] for key in ("since", "since_earliest", "last")} == {
            key: after[key] for key in ("since", "since_earliest", "last")}, (before, after)
        assert after["since_earliest"] <= after["since"] and after["frozen_for_ms"] > before["frozen_for_ms"]
        assert after["since"] > stall["since"]
    assert [item["last"]["state"] for item in dead] == ["stalled", "idle", "running"], dead
    assert dead[0]["last"]["cause"] == stall["cause"] and dead[2]["last"]["since"] is None, dead
    assert dead[0]["last"]["since"] <= dead[0]["since"] and dead[0]["last"]["frozen_for_ms"] >= stall["frozen_for_ms"]


def executed_another_program(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1) == "running")
    app.process.stdin.write("exec\n")
    app.process.stdin.flush()
    world.wait_for(lambda: world.state(1) == "dead")
    assert app.process.poll() is None, "this test needs a process that is still alive"
    watch_never_stalled(world)


def thread_ends_without_exit(world):
    app = world.puppet()
    for number in (1, 2, 3):
        app.do(f"spawn {number} w{number} snap")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == 3)
    app.do("end 1")
    app.do("exit 2")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == 1)
    watch_never_stalled(world)
    assert world.state(1) in (None, "exited") and world.state(2) is None


def daemon_lives_on(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1) == "running")
    pid_file = world.ring("daemon.pid.txt")
    app.do(f"daemon {pid_file}")
    app.do("exit 1")
    app.kill()
    world.wait_for(lambda: os.path.exists(pid_file) and open(pid_file).read().strip())
    world.pids.append(int(open(pid_file).read()))
    world.wait_for(lambda: world.state(901) == "running")
    end = time.monotonic() + 2
    while time.monotonic() < end:
        assert world.state(901) == "running", world.state(901)
        assert world.get("/rings")["rings"][0]["dead"] is False
        time.sleep(0.05)
    watch_never_stalled(world)


def child_has_a_slot_of_its_own(world):
    app = world.puppet()
    app.do("spawn 1 mute once")
    child = int(app.send("child"))
    world.pids.append(child)
    world.wait_for(lambda: world.state(800) == "running")
    # on a busy machine this is checked on a later scan
    world.wait_for(lambda: (world.thread(800)["process"] or {}).get("pid") == child)
    world.wait_for(lambda: world.thread(1)["snaps"] == 1)
    os.kill(child, signal.SIGKILL)
    world.wait_for(lambda: world.state(800) == "dead")
    assert world.state(1) in ("running", "stalled")
    assert [p["pid"] for p in world.get("/rings")["rings"][0]["processes"] if not p["dead"]] == [app.pid]


def closed_descriptors(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1) == "running")
    app.do("close-all")
    app.do(f"open-files {world.dir} 600")
    world.wait_for(lambda: world.thread(1)["process"]["attested"] is False)
    app.do("spawn 2 two snap")
    world.wait_for(lambda: world.state(2) == "running" and world.state(1) == "running")
    watch_never_stalled(world)
    app.do(f"check-files {world.dir} 600")
    assert world.log_text().count("no longer holds its lock") == 1
    app.do("freeze 1")
    world.wait_for(lambda: world.stalled_ids() == [1])


def lock_bytes(world, start, whole_description):
    """Starts a process that write-locks a range of the ring file, and keeps the lock."""
    code = """
import fcntl, os, struct, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
lock = struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, int(sys.argv[2]), 4096, 0)
done = 0
for i in range(4096):
    one = struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, int(sys.argv[2]) + i, 1, 0)
    try:
        fcntl.fcntl(fd, 37 if sys.argv[3] == 'ofd' else fcntl.F_SETLK, one)
        done += 1
    except OSError:
        pass
print(done, flush=True)
time.sleep(1000)
"""
    process = subprocess.Popen([sys.executable, "-c", code, world.ring(), str(start),
                                "ofd" if whole_description else "posix"], stdout=subprocess.PIPE, text=True)
    world.processes.append(process)
    assert int(process.stdout.readline()) > 0
    return process


def foreign_locker_of_the_dead(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1) == "running")
    app.do("close-all")  # releases the process's own lock, so that the other process can take it
    world.wait_for(lambda: world.thread(1)["process"]["attested"] is False)
    foreigner = lock_bytes(world, 1 << 60, False)
    world.wait_scans(3)
    item = world.thread(1)
    assert item["state"] == "running" and item["process"]["attested"] is False
    assert item["process"]["pid"] in (app.pid, None) and item["process"]["pid"] != foreigner.pid
    app.kill()
    world.wait_for(lambda: world.state(1) == "dead")
    assert world.thread(1)["process"]["pid"] != foreigner.pid
    watch_never_stalled(world)


def foreign_locker_of_life_bytes(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1) == "running")
    lock_bytes(world, (1 << 60) + (1 << 32), True)
    world.wait_scans(2)
    assert world.state(1) == "running" and world.thread(1)["process"]["attested"] is True
    app.kill()
    world.wait_for(lambda: world.state(1) == "dead")
    watch_never_stalled(world)


def shared_descriptors_outlive_the_owner(world):
    """A process created with CLONE_FILES keeps the owner's POSIX lock: the kernel then reports a pid that does not
    exist."""
    if subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({w.BIN!r} + '/../lib/librip.so')"],
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise w.Skip("librip.so cannot be loaded by python (it is built with a sanitizer)")
    code = f"""
import ctypes, os, signal, subprocess, sys, time
libc = ctypes.CDLL(None)
# clone(CLONE_FILES | SIGCHLD): the child shares our descriptors, and so our locks
child = libc.syscall(56, 0x400 | int(signal.SIGCHLD), 0, 0, 0, 0)
if child == 0:
    time.sleep(300)
    os._exit(0)
print(child, flush=True)
rip = ctypes.CDLL(sys.argv[1])
rip.rip_create_ring.restype = ctypes.c_bool
assert rip.rip_create_ring({world.ring()!r}.encode(), 64)
rip.rip_init(5, b'owner', 5, 0, 0)
while True:
    rip.rip_snap_at(0x1234)
    time.sleep(0.02)
"""
    process = subprocess.Popen([sys.executable, "-c", code, os.path.join(w.BIN, "../lib/librip.so")],
                               stdout=subprocess.PIPE, text=True)
    world.processes.append(process)
    survivor = int(process.stdout.readline())
    world.pids.append(survivor)
    world.wait_for(lambda: world.state(5) == "running")
    process.kill()
    process.wait()
    os.kill(survivor, 0)  # the survivor is alive, and so is the lock
    world.wait_for(lambda: world.state(5) == "dead")
    watch_never_stalled(world)


def restart_of_ripd_loses_nothing(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1) == "running")
    world.ripd.kill()
    world.ripd.wait()
    world.start()
    world.wait_for(lambda: world.state(1) == "running")
    app.do("freeze 1")
    world.wait_for(lambda: world.stalled_ids() == [1])


w.run([killed, the_end_is_known_and_stays, executed_another_program, thread_ends_without_exit, daemon_lives_on,
       child_has_a_slot_of_its_own, closed_descriptors, foreign_locker_of_the_dead, foreign_locker_of_life_bytes,
       shared_descriptors_outlive_the_owner, restart_of_ripd_loses_nothing])
