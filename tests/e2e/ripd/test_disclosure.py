# SPDX-License-Identifier: Apache-2.0
"""What else a user might make ripd tell of another: files of root's that anybody writes, owners of locks that are made
up, holders and peers that are somebody else's. The users, the service and the secrets are those of test_privileges.py.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hostile_ring as h  # noqa: E402
import test_privileges as p  # noqa: E402
import world as w  # noqa: E402


def set_user_id(world):
    """A program that runs as B whoever starts it."""
    path = f"{world.made}/{p.SECRET}-set-user-id"
    shutil.copy("/bin/cat", path)
    os.chown(path, p.USER_B, p.USER_B)
    os.chmod(path, 0o4755)
    if os.statvfs(world.made).f_flag & os.ST_NOSUID:
        raise w.Skip("tmpfs is mounted nosuid")
    return path


def a_file_of_roots_that_anybody_writes(world):
    """Its owner says nothing: whoever is named in it, or holds its lock, is not root's choice."""
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


if __name__ == "__main__":
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("skipped: several users take root, and setpriv")
        sys.exit(77)
    w.run([a_file_of_roots_that_anybody_writes], p.Service)
