# SPDX-License-Identifier: Apache-2.0
"""An exec that never ends.

While a process executes a program, the kernel blocks readers of most of its files. A user can prolong this with its own
file system: with a file that is closed at exec (kernels of 2026), or with another process that shares the memory and is
about to map a file. ripd must not be blocked.
"""
import ctypes
import encodings.ascii  # imported now, because the user may not read modules later
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

OWNER = 61004
LOOKUP, GETATTR, OPEN, READ, WRITE, FLUSH, INIT = 1, 3, 14, 15, 16, 25, 26  # from linux/fuse.h
OPEN_DIRECT = 1
NEW_USER, NEW_MOUNTS = 0x10000000, 0x20000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, SIGKILL = 1, 4, 9
PROCESSES = 4


def must(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount_file_system(place):
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    must(libc.unshare(NEW_USER | NEW_MOUNTS), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    server = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={server},rootmode=40000,user_id={user},group_id={group}"
    must(libc.mount(b"silent", place.encode(), b"fuse", 6, options.encode()), "mount")
    return server


def attributes(inode):
    mode = 0o40755 if inode == 1 else 0o100755
    return struct.pack("<6Q10I", inode, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)


def serve(server):
    """Serves files that can be opened and read. A process that closes or writes a file blocks."""
    while True:
        request = os.read(server, 1 << 17)
        _, operation, unique, node = struct.unpack_from("<IIQQ", request)
        if operation in (FLUSH, WRITE):
            continue
        error, answer = 0, b""
        if operation == INIT:
            answer = struct.pack("<IIIIHHIIHHI7I", 7, 31, 65536, 0, 16, 12, 65536, 1, 1, 0, 0, *[0] * 7)
        elif operation == LOOKUP:
            answer = struct.pack("<QQQQII", 2, 0, 60, 60, 0, 0) + attributes(2)
        elif operation == GETATTR:
            answer = struct.pack("<QII", 60, 0, 0) + attributes(node)
        elif operation == OPEN:
            flags = struct.unpack_from("<I", request, 40)[0]
            answer = struct.pack("<QII", 1, OPEN_DIRECT if flags & os.O_DIRECT else 0, 0)
        elif operation == READ:
            answer = bytes(4096)
        else:
            error = -38
        os.write(server, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)


def child(run):
    """Starts a process that ends with this process. Returns its pid."""
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        try:
            run()
        finally:
            os._exit(1)
    return pid


def execute(ring, number, place):
    """In a child: holds a record of the ring, and executes a program."""
    fcntl.fcntl(ring.fd, fcntl.F_SETLK,
                struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, h.LOCK_HOLDER + number, 1, 0))
    ring.process(number, os.getpid(), flags=1)
    ring.slot(number, tid=os.getpid(), process=number)
    if number == PROCESSES - 1:
        ring.publish()
    time.sleep(1)
    if number % 2 == 0:
        os.execv(os.path.join(place, "..", "shares_memory"), ["shares_memory", place + "/file"])
    os.open(place + "/file", os.O_RDONLY | os.O_CLOEXEC)
    os.execv("/bin/sleep", ["sleep", "1000"])


def misbehave(directory, place):
    os.setgroups([])
    os.setgid(OWNER)
    os.setuid(OWNER)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # makes its files in /proc its own
    try:
        server = mount_file_system(place)
    except OSError as error:
        print(f"cannot: {error}", flush=True)
        return
    ring = h.Ring(f"{directory}/silent")
    os.set_inheritable(ring.fd, True)
    child(lambda: serve(server))
    os.close(server)
    for number in range(PROCESSES):
        child(lambda number=number: execute(ring, number, place))
    print("ready", flush=True)
    time.sleep(1000)


def scans_are_not_delayed(world):
    place = world.made + "/files"
    os.mkdir(place)
    shutil.copy(w.BIN + "/shares_memory", world.made)  # other users may not be able to read the build tree
    for path in (world.made, world.dir):
        os.chmod(path, 0o755)
    os.chmod(world.dir, 0o1777)
    os.chown(place, OWNER, OWNER)
    owner = subprocess.Popen([sys.executable, __file__, world.dir, place], stdout=subprocess.PIPE, text=True)
    world.processes.append(owner)
    said = owner.stdout.readline()
    if said.startswith("cannot"):
        raise w.Skip(f"users may not mount file systems: {said.strip()}")
    assert said == "ready\n", said
    app = world.puppet()
    app.do("spawn 1 one snap")
    time.sleep(5)  # now all processes are in the middle of an exec
    app.do("freeze 1")
    world.wait_for(lambda: world.state(1) == "stalled")
    assert world.request("/readyz")[0] == 200


if __name__ == "__main__":
    if len(sys.argv) == 3:
        misbehave(*sys.argv[1:])
        sys.exit()
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        w.skip_script("needs root and /dev/fuse")
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"  # the leak check would wait for the blocked reader thread
    w.run([scans_are_not_delayed], w.World)
