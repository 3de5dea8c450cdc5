# SPDX-License-Identifier: Apache-2.0
"""Other ways to make ripd disclose data of another user: files of root that everybody may write, invented lock holders,
and holders and peers of other users.

The users, the service and the secrets are those of test_privileges.py.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_privileges as p  # noqa: E402
import world as w  # noqa: E402


def set_user_id(world):
    """Creates a program that runs as user B for every user."""
    path = f"{world.made}/{p.SECRET}-set-user-id"
    shutil.copy("/bin/cat", path)
    os.chown(path, p.USER_B, p.USER_B)
    os.chmod(path, 0o4755)
    if os.statvfs(world.made).f_flag & os.ST_NOSUID:
        raise w.Skip("tmpfs is mounted nosuid")
    return path


def a_file_of_root_that_everybody_may_write(world):
    """The owner of such a file proves nothing: its contents, and the holder of its lock, are not controlled by root."""
    program, fifo = set_user_id(world), p.secret_fifo(world)
    process, thread, port = p.victim(world)
    holders = []

    def becomes(mode):
        def fill(ring, path):
            os.fchown(ring.fd, 0, 0)
            os.fchmod(ring.fd, mode)
            holder = p.locker(world, path, 1, [program, fifo])
            holders.append(holder)
            ring.process(0, holder.pid, flags=1)
            ring.slot(0, tid=holder.pid)
        return fill

    def claimed(ring, _):
        os.fchown(ring.fd, 0, 0)
        os.fchmod(ring.fd, 0o666)
        ring.process(0, process.pid, flags=0)
        ring.slot(0, tid=process.pid)
        ring.slot(1, tid=thread)

    p.thief(world, "writable", becomes(0o666))
    p.thief(world, "claimed", claimed)
    for holder in holders:
        holder.stdin.write("\n")
        holder.stdin.flush()
    world.wait_for(lambda: all(p.status(holder.pid)["Name"].startswith(p.SECRET) for holder in holders))
    before = world.sequence()
    world.wait_for(lambda: world.sequence() > before + 30)
    p.nothing_of_b(world, port, ["writable", "claimed"])
    for name in ("writable", "claimed"):
        assert not world.thread(0, name)["process"]["attested"], world.thread(0, name)


# --- A's own process, with data of B in it ---------------------------------------------------------------------------

MADE_UP_OWNER = """
import ctypes, sys, threading
libc = ctypes.CDLL(None)
mutex = (ctypes.c_int * 10)()  # pthread_mutex_t: lock, count, owner, users, kind
mutex[0], mutex[2], mutex[3] = 2, int(sys.argv[1]), 1
libc.pthread_mutex_lock(mutex)
"""

LOCKED_FILE = """
import fcntl, sys
file = open(sys.argv[1])
getattr(fcntl, sys.argv[2])(file, fcntl.LOCK_SH)
"""

B_HOLDS = """
import ctypes, fcntl, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[2].encode(), 0, 0, 0)
file = open(sys.argv[1], "r+")
fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(1000)
"""


def run(world, code, *arguments):
    """Runs a program of A under the preload library, with a ring that the service may read."""
    program = p.spawn(world, [f"{w.BIN}/rip", "run", "--dir", world.dir, "--", w.PYTHON, "-c", code, *arguments],
                      **p.as_user(p.USER_A))
    name = world.wait_for(lambda: [name for name in os.listdir(world.dir) if name.endswith(f".{program.pid}")])[0]
    os.chmod(world.ring(name), 0o644)
    return program, name


def stall_of(world, program, holds):
    """Waits until the evidence of the program's stall fulfils the condition. Returns the stall."""
    return world.wait_for(lambda: [stall for stall in world.stalls()
                                   if stall["tid"] == program.pid and holds(stall["kernel"])][0])


def an_invented_lock_holder(world):
    """A mutex of A claims that a thread of B holds it, in memory and in the ring. No holder is named, only that no
    thread of A's process has this number. The answer is the same for a number that does not exist."""
    process, thread, port = p.victim(world)
    nobody = next(number for number in range((1 << 22) - 1, 0, -1) if not os.path.exists(f"/proc/{number}"))
    numbers = [thread, process.pid, nobody]
    programs = [run(world, MADE_UP_OWNER, str(number))[0] for number in numbers]

    def named():
        stalls = [stall_of(world, program, lambda kernel: kernel["syscall"] == "futex") for program in programs]
        return [[(one.pop("tid"), one.pop("ring") and one) for one in stall["waits_for"]] for stall in stalls]

    gone = {"holder": "gone", "id": None, "name": None, "state": None, "certain": True}
    world.wait_for(lambda: named() == [[(number, gone)] for number in numbers])
    world.wait_scans(30)
    for path, text in p.all_texts(world).items():
        assert p.SECRET not in text and f":{port}" not in text, (path, text)
    world.wait_for(lambda: named() == [[(number, gone)] for number in numbers])


def a_holder_of_its_own_file(world):
    """Every user may learn that B holds a lock and the name of B's process, but nothing else about it."""
    path = f"{world.made}/open-to-all"
    with open(path, "w", encoding="ascii"):
        os.chown(path, p.USER_B, p.USER_B)
        os.chmod(path, 0o644)
    holder = p.spawn(world, [w.PYTHON, "-c", B_HOLDS, path, "harmless"], **p.as_user(p.USER_B))
    assert holder.stdout.readline() == "locked\n"
    program, _ = run(world, LOCKED_FILE, path, "flock")
    kernel = stall_of(world, program, lambda kernel: kernel["holder"])["kernel"]
    assert kernel["holder"] == {"pid": holder.pid, "comm": "harmless"} and kernel["target"] == path, kernel


if __name__ == "__main__":
    if w.missing_for_users():
        w.skip_script(w.missing_for_users())
    w.run([a_file_of_root_that_everybody_may_write, an_invented_lock_holder, a_holder_of_its_own_file],
          p.Service)
