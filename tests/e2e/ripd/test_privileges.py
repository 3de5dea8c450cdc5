# SPDX-License-Identifier: Apache-2.0
"""Two users must not learn anything about each other, whatever one of them writes to a ring, locks or executes.

ripd runs like the service with the drop-in for evidence: as its own user, which starts with the capabilities. B is a
process with secrets in its command line, file names, peer and function names. A makes rings that claim B's process.
Needs root, to be several users.
"""
import ctypes
import errno
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

USER_A, USER_B, SERVICE = 61001, 61002, 61003
SECRET = "secretB"
EVIDENCE = 1 << 19 | 1 << 2  # CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH
CLONE_FILES = 0x400
# an interpreter that every user may execute


class Service(w.World):
    CAPABILITIES = "+sys_ptrace,+dac_read_search"

    def start(self):
        os.chmod(self.made, 0o755)
        os.makedirs(self.made + "/rings", mode=0o777, exist_ok=True)
        os.chmod(self.made + "/rings", 0o777)
        self.dir = self.made + "/rings"
        self.prefix = ["setpriv", f"--reuid={SERVICE}", f"--regid={SERVICE}", "--clear-groups",
                       f"--inh-caps={self.CAPABILITIES}", f"--ambient-caps={self.CAPABILITIES}", "--"]
        super().start()


class Unprivileged(Service):
    CAPABILITIES = "-all"


def as_user(user, group=None):
    return {"user": user, "group": group or user, "extra_groups": []}


def spawn(world, argv, **options):
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **options)
    world.processes.append(process)
    return process


def status(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def probes(world):
    """Returns the pids (keeper, worker)."""
    keeper = [pid for pid in w.children(world.ripd.pid) if status(pid)["Name"] == "ripd-probe"][0]
    return keeper, w.children(keeper)[0]


# --- B ------------------------------------------------------------------------------

def secret_fifo(world):
    path = f"{world.made}/{SECRET}-fifo"
    if not os.path.exists(path):
        for name in (path, path + "-alone"):
            os.mkfifo(name, 0o600)
            os.chown(name, USER_B, USER_B)
        world.fifo = os.open(path, os.O_RDWR)  # keeps a writer, so that a process that reads the FIFO waits in read()
    return path


VICTIM = """
import ctypes, os, socket, sys, threading
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
secret = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
def secretB_function():
    secret.recv(1)
def secretB_opener():
    os.open(sys.argv[2] + "-alone", os.O_RDONLY)  # what that is called is in its memory
for function in (secretB_function, secretB_opener):
    threading.Thread(target=function, daemon=True).start()
print("there", *(thread.native_id for thread in threading.enumerate()[1:]), flush=True)
os.read(os.open(sys.argv[2], os.O_RDONLY), 1)
"""


def victim(world):
    """Starts B's process. Returns the process, its second thread, and the port of its peer. process.opener is the third
    thread."""
    listener = socket.create_server(("127.0.0.1", 0))
    world.listener = listener
    port = listener.getsockname()[1]
    process = spawn(world, [w.PYTHON, "-c", VICTIM, SECRET, secret_fifo(world), str(port)], **as_user(USER_B))
    thread, process.opener = map(int, process.stdout.readline().split()[1:])
    return process, thread, port


# --- A ------------------------------------------------------------------------------

def making(world, name):
    """Creates a ring of A in a place where ripd does not find it yet."""
    ring = h.Ring(f"{world.made}/{name}")
    world.rings = [*getattr(world, "rings", ()), ring]
    os.fchown(ring.fd, USER_A, USER_A)
    return ring, ring.path + ".making"


def publish(world, ring, name):
    os.rename(ring.path + ".making", world.ring(name))


LOCKER = """
import fcntl, json, os, struct, sys
path, count, user = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
argv = json.loads(sys.stdin.readline())
life, ring = os.open(path, os.O_RDWR), os.open(path, os.O_RDWR)
for index in range(count):  # POSIX of HOLDER, and of the open file of LIFE: both survive exec with their descriptors
    fcntl.fcntl(ring, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, (1 << 60) + index, 1, 0))
    fcntl.fcntl(life, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, (1 << 60) + (1 << 32) + index, 1, 0))
os.set_inheritable(ring, True)
os.set_inheritable(life, "--drop-life" not in argv)
os.setresgid(user, user, user)
os.setresuid(user, user, user)
print("locked", flush=True)
sys.stdin.readline()
argv = [argument for argument in argv if argument != "--drop-life"]
if argv:
    os.execv(argv[0], argv)
"""


def locker(world, path, count=1, argv=(), start_as=USER_A):
    """Starts a process of A that holds the locks of the first records, and executes argv when it reads a line. argv is
    not on its command line, which A may show."""
    process = subprocess.Popen([w.PYTHON, "-c", LOCKER, path, str(count), str(USER_A)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, bufsize=1, **as_user(start_as))
    world.processes.append(process)
    process.stdin.write(json.dumps(list(argv)) + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "locked\n"
    return process


def thief(world, name, fill):
    ring, path = making(world, name)
    fill(ring, path)
    publish(world, ring, name)


def all_texts(world):
    paths = ("/stalls", "/stalls?limit=10000", "/threads?limit=10000", "/rings", "/locations", "/events", "/metrics")
    return {path: json.dumps(world.get(path), ensure_ascii=False) for path in paths}


def nothing_of_b(world, port, names, except_pattern=r"$^"):
    """Checks that ids of these rings are stalled, examined or not, and that answers contain no secret of B, except
    where the pattern matches."""
    world.wait_for(lambda: {stall["ring"] for stall in world.stalls()} >= set(names))
    world.wait_scans(6)
    for path, text in all_texts(world).items():
        text = re.sub(except_pattern, "", text)
        assert SECRET not in text, (path, text)
        assert not port or f":{port}" not in text, (path, text)
    for stall in world.stalls():
        kernel = stall["kernel"]
        if stall["ring"] in names and kernel is not None:
            known = {key: kernel[key] for key in ("syscall", "fd", "target", "holder", "asked_ms", "wchan")}
            assert not any(known.values()), stall
    assert SECRET not in world.log_text()


# --- Tests --------------------------------------------------------------------------

def claims_without_and_with_locks(world):
    process, thread, port = victim(world)
    pid = process.pid

    def claimed(ring, _):
        ring.process(0, pid, flags=1)
        ring.slot(0, tid=pid)
        ring.slot(1, tid=thread)
        ring.slot(2, tid=process.opener)

    def locked(ring, path):
        """A holds the lock. The record is of B with its start time, or of A with B's threads."""
        holder = locker(world, path, 2)
        ring.process(0, pid, flags=1)
        ring.process(1, holder.pid, flags=1)
        ring.slot(0, tid=pid)
        ring.slot(1, tid=thread)
        ring.slot(2, tid=pid, process=1)
        ring.slot(3, tid=thread, process=1)
        ring.slot(4, tid=process.opener)
        ring.slot(5, tid=process.opener, process=1)

    def forged(ring, path):
        """One record has B's pid and the holder's start time, the other the holder's pid and B's start time."""
        holder = locker(world, path, 2)
        ring.process(0, pid, start=h.start_time(holder.pid), flags=1)
        ring.process(1, holder.pid, start=h.start_time(pid), flags=1)
        for slot, (tid, record) in enumerate(((pid, 0), (thread, 0), (pid, 1), (thread, 1), (holder.pid, 1))):
            ring.slot(slot, tid=tid, process=record)

    thief(world, "claimed", claimed)
    thief(world, "locked", locked)
    thief(world, "forged", forged)
    nothing_of_b(world, port, ["claimed", "locked"])  # for the third ring no process is found at all


def program_of_another_user(world):
    """A's attested process executes a set-user-id and a set-group-id program of B."""
    fifo = secret_fifo(world)
    for name, mode in (("set-user-id", 0o4755), ("set-group-id", 0o2755)):
        path = f"{world.made}/{SECRET}-{name}"
        shutil.copy("/bin/cat", path)
        os.chown(path, USER_B, USER_B)
        os.chmod(path, mode)
    if os.statvfs(world.made).f_flag & os.ST_NOSUID:
        raise w.Skip("tmpfs is mounted nosuid")
    os.chmod(fifo, 0o640)
    holders = []

    def becomes(name):
        def fill(ring, path):
            holder = locker(world, path, 1, [f"{world.made}/{SECRET}-{name}", fifo])
            holders.append(holder)
            ring.process(0, holder.pid, flags=1)
            ring.slot(0, tid=holder.pid)
        return fill

    for name in ("set-user-id", "set-group-id"):
        thief(world, name, becomes(name))
    world.wait_for(lambda: all(world.thread(0, name)["process"]["attested"] for name in ("set-user-id",
                                                                                         "set-group-id")))
    for holder in holders:
        holder.stdin.write("\n")
        holder.stdin.flush()
    world.wait_for(lambda: all(status(holder.pid)["Name"].startswith(SECRET) for holder in holders))
    assert [status(holder.pid)["Uid"].split()[1] for holder in holders] == [str(USER_B), str(USER_A)]
    assert status(holders[1].pid)["Gid"].split()[1] == str(USER_B)
    before = world.sequence()
    world.wait_for(lambda: world.sequence() > before + 30)  # facts about the holder are at most 5 s old
    nothing_of_b(world, 0, ["set-user-id", "set-group-id"])


def program_of_root(world):
    """A's process, which has kept descriptors and locks of a ring of root, executes a set-user-id program of root. If
    the program sets all its uids to root, the process looks like one that root started."""
    if os.statvfs(world.made).f_flag & os.ST_NOSUID:
        raise w.Skip("tmpfs is mounted nosuid")
    os.mkdir(f"{world.made}/private", 0o700)
    fifo = f"{world.made}/private/{SECRET}-fifo"
    os.mkfifo(fifo, 0o600)
    world.fifo = os.open(fifo, os.O_RDWR)
    reader = shutil.copy("/bin/cat", f"{world.made}/{SECRET}-reader")
    elevated = shutil.copy(f"{w.BIN}/elevated", f"{world.made}/{SECRET}-elevated")
    holders = {}
    for name, program, dropped in (("plain", reader, []), ("plain-kept", reader, ["keep"]), ("gone", elevated, []),
                                   ("kept", elevated, ["keep"])):
        os.chmod(program, 0o4755)
        ring = h.Ring(f"{world.made}/{name}")  # a ring of root
        world.rings = [*getattr(world, "rings", ()), ring]
        os.fchmod(ring.fd, 0o644)
        argv = [program, fifo] + ([] if dropped else ["--drop-life"])
        holders[name] = locker(world, ring.path + ".making", 1, argv, start_as=0)
        ring.process(0, holders[name].pid, flags=1)
        ring.slot(0, tid=holders[name].pid)
        publish(world, ring, name)
    for holder in holders.values():
        holder.stdin.write("\n")
        holder.stdin.flush()
    world.wait_for(lambda: all(status(holder.pid)["Name"].startswith(SECRET) for holder in holders.values()))
    for name, users in (("plain", [str(USER_A), "0", "0", "0"]), ("kept", ["0", "0", "0", "0"])):
        world.wait_for(lambda name=name, users=users: status(holders[name].pid)["Uid"].split() == users)
    before = world.sequence()
    world.wait_for(lambda: world.sequence() > before + 30)
    # The ring belongs to root, and so does a process that has set all its uids to root. Only the command line that A
    # chose is reported, which every user may read.
    nothing_of_b(world, 0, holders, except_pattern=r'"cmdline": "[^"]*"')
    assert not any(SECRET in str(world.thread(0, name)["process"]["cmdline"]) for name in ("plain", "plain-kept"))
    attested = {name: world.thread(0, name)["process"]["attested"] for name in holders}
    assert not any(attested[name] for name in ("plain", "plain-kept", "gone")), attested


def number_of_the_locker_used_again(world):
    """A process that shares its descriptors keeps the lock when the locker ends. The lock still has the locker's pid,
    which then becomes B's pid."""
    libc = ctypes.CDLL(None, use_errno=True)
    ring, path = making(world, "reused")
    reading, writing = os.pipe()
    keeper = os.fork()
    if keeper == 0:  # the keeper of A: shares its descriptors with the locker, and stays
        os.setgid(USER_A)
        os.setuid(USER_A)
        locked = libc.syscall(56, CLONE_FILES | signal.SIGCHLD, 0, 0, 0, 0)
        if locked == 0:
            descriptor = os.open(path, os.O_RDWR)
            fcntl.fcntl(descriptor, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 1 << 60, 1, 0))
            os._exit(0)
        os.waitpid(locked, 0)
        os.write(writing, struct.pack("i", locked))
        time.sleep(1000)
        os._exit(0)
    world.pids.append(keeper)
    number = struct.unpack("i", os.read(reading, 4))[0]
    process = None
    for _ in range(50):
        with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
            file.write(str(number - 1))
        process, thread, port = victim(world)
        if process.pid == number:
            break
        process.kill()
    if process.pid != number:
        raise w.Skip("another process has taken the pid")
    ring.process(0, number, flags=1)  # with the start time of B, which every user may read
    ring.slot(0, tid=number)
    ring.slot(1, tid=thread)
    publish(world, ring, "reused")
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 1 << 60, 1, 0)
    named = struct.unpack("hhqqi4x", fcntl.fcntl(ring.fd, fcntl.F_GETLK, asked))
    if w.in_first_pid_namespace():
        assert named[4] == number, named  # the kernel reports the pid of B
    else:
        assert named[4] <= 0, named  # the kernel keeps pids of the initial pid namespace, and reports none in this one
    nothing_of_b(world, port, ["reused"])


# --- ripd-probe alone, queried as by a compromised ripd ---------------------------------------------------------------

WORKER, QUERY, ANSWER = 2, 4, 5
THREADS_MAX = 32
THREADS_OFFSET = 24 + 464  # in an answer, after a module


def code_of(pid):
    """Returns an address in the code of the process's program."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        return [int(line.partition("-")[0], 16) for line in file if " r-xp " in line][0]


class Probe:
    """Runs ripd-probe with the capabilities of the service, and sends it queries."""

    def __init__(self, world):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.keeper = ours
        os.set_inheritable(theirs.fileno(), True)
        capabilities = Service.CAPABILITIES
        process = subprocess.Popen(
            ["setpriv", f"--reuid={SERVICE}", f"--regid={SERVICE}", "--clear-groups", f"--inh-caps={capabilities}",
             f"--ambient-caps={capabilities}", "--", "/bin/bash", "-c",
             f"exec \"$0\" 3<&{theirs.fileno()}", f"{w.BIN}/ripd-probe"], pass_fds=[theirs.fileno()])
        process.stdin = process.stdout = None
        world.processes.append(process)
        theirs.close()
        self.start_worker()

    def start_worker(self):
        self.worker, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(self.keeper, [struct.pack("I", WORKER)], [theirs.fileno()])
        theirs.close()
        self.worker.settimeout(w.PATIENCE_S)

    def ask(self, descriptor, tid, process=0, address=0):
        """Returns (status, pid, all bytes)."""
        message = struct.pack("IIQIIQ", QUERY, 1, 9, process, 0, address) + struct.pack(f"{THREADS_MAX}I", tid,
                                                                                        *[0] * (THREADS_MAX - 1))
        socket.send_fds(self.worker, [message], [descriptor] if descriptor is not None else [])
        answer = self.worker.recv(1 << 16)
        kind, status, number, count, pid = struct.unpack_from("IiQII", answer)
        assert (kind, number) == (ANSWER, 9) and count == (status == 0), answer[:24]
        return status, pid, answer


def false_claims_to_the_probe(world):
    process, thread, port = victim(world)
    probe = Probe(world)

    def refused(ring, status, tids=(process.pid, thread, process.opener), record=0):
        descriptor = os.open(ring, os.O_RDONLY)
        for tid in tids:
            answer = probe.ask(descriptor, tid, record, code_of(process.pid))
            assert answer[0] == -status and SECRET.encode() not in answer[2], (ring, answer)
        os.close(descriptor)

    claimed, path = making(world, "claimed")
    claimed.process(0, process.pid, flags=1)
    refused(path, errno.ESRCH)  # no process holds the lock
    refused(path, errno.ESRCH, record=1)  # the record does not exist
    refused(path, errno.ESRCH, record=(1 << 32) - 1)
    holder = locker(world, path)
    refused(path, errno.ESRCH)  # A holds the lock, but the record is of another process
    claimed.process(0, holder.pid, start=h.start_time(process.pid), flags=1)
    refused(path, errno.ESRCH)  # the start time is wrong
    claimed.process(0, holder.pid, flags=1)
    descriptor = os.open(path, os.O_RDONLY)
    # A's own thread, which reads standard input
    world.wait_for(lambda: b"pipe:[" in probe.ask(descriptor, holder.pid)[2])
    for tid in (process.pid, thread, process.opener):  # these threads are not of A's process
        status, pid, answer = probe.ask(descriptor, tid)
        assert (status, pid) == (0, holder.pid) and SECRET.encode() not in answer, answer
        assert struct.unpack_from("i", answer, THREADS_OFFSET) == (-errno.ESRCH,), answer[:40]
    os.fchown(claimed.fd, USER_B, USER_B)
    refused(path, errno.ESRCH, (holder.pid,))  # the file belongs to another user than the process that holds the lock
    os.fchown(claimed.fd, USER_A, USER_A)

    for name, content in (("text", b"no ring"), ("empty", b"")):
        with open(f"{world.made}/{name}", "wb") as file:
            file.write(content)
        refused(f"{world.made}/{name}", errno.EINVAL)
    if not w.is_in_memory("/var/tmp"):
        with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:  # on a disk, where rings are not allowed
            file.write(open(path, "rb").read())
            file.flush()
            refused(file.name, errno.EINVAL)
    assert probe.ask(None, thread)[0] == -errno.EINVAL
    os.truncate(path, 4096)  # truncated while the lock is held
    refused(path, errno.EINVAL)
    assert port and probe.ask(descriptor, thread)[0] == -errno.EINVAL
    probe.worker.send(b"nonsense")
    assert probe.worker.recv(64) == b""
    probe.start_worker()
    assert probe.ask(descriptor, thread)[0] == -errno.EINVAL
    os.close(descriptor)


OWN = """
import os, sys, threading, time
threading.Thread(target=lambda: time.sleep(1000), daemon=True).start()
threading.Thread(target=lambda: os.open(sys.argv[1] + "-alone", os.O_WRONLY), daemon=True).start()
os.read(os.open(sys.argv[1], os.O_RDONLY), 1)
"""


def own(world):
    fifo = f"{world.made}/ownA-fifo"
    for path in (fifo, fifo + "-alone"):
        os.mkfifo(path, 0o600)
        os.chown(path, USER_A, USER_A)
    world.fifo = os.open(fifo, os.O_RDWR)
    process = spawn(world, [f"{w.BIN}/rip", "run", "--dir", world.dir, "--", w.PYTHON, "-c", OWN, fifo],
                    **as_user(USER_A))
    world.wait_for(lambda: [name for name in os.listdir(world.dir) if name.endswith(f".{process.pid}")])
    path = [os.path.join(world.dir, name) for name in os.listdir(world.dir) if name.endswith(f".{process.pid}")][0]
    os.chmod(path, 0o644)  # the service is not in the group of A
    return process, fifo


def thread(world, tid):
    return [item for item in world.get("/threads?limit=1000")["threads"] if item["tid"] == tid][0]


def own_process_is_shown(world):
    process, fifo = own(world)

    def evidence():
        main, others = thread(world, process.pid), [(other["cause"], other["kernel"]["target"])
                                                    for other in world.stalls()]
        return (main["reason"], main["kernel"]["syscall"], main["kernel"]["target"]) == ("input", "read", fifo) and (
            set(others) == {("blocked", fifo + "-alone"), ("sleeping", None)}) and main

    main = world.wait_for(evidence)
    assert main["kernel"]["denied"] == [] and main["kernel"]["wchan"], main


def ripd_itself_holds_nothing(world):
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        for task in os.listdir(f"/proc/{world.ripd.pid}/task"):
            assert int(status(f"{world.ripd.pid}/task/{task}")[name], 16) == 0, (name, task)
    assert status(world.ripd.pid)["NoNewPrivs"] == "1"
    keeper, worker = world.wait_for(lambda: probes(world))
    for pid in (keeper, worker):
        about = world.wait_for(lambda pid=pid: status(pid)["Seccomp"] == "2" and status(pid))
        assert int(about["CapPrm"], 16) == int(about["CapEff"], 16) == EVIDENCE, about
        assert int(about["CapInh"], 16) == int(about["CapAmb"], 16) == 0 and about["NoNewPrivs"] == "1", about
        assert sorted(int(fd) for fd in os.listdir(f"/proc/{pid}/fd"))[-1] < 9


def without_capabilities(world):
    """Denied evidence is null and listed as denied. CPU time is always reported, although on a busy machine it is
    hardly any."""
    process, _ = own(world)
    spinning = spawn(world, [f"{w.BIN}/rip", "run", "--dir", world.dir, "--", w.PYTHON, "-c",
                             "import time\ntime.sleep(0.01)\nwhile True: pass"], **as_user(USER_A))
    world.wait_for(lambda: [name for name in os.listdir(world.dir) if name.endswith(f".{spinning.pid}")])
    for name in os.listdir(world.dir):
        os.chmod(os.path.join(world.dir, name), 0o644)
    world.wait_for(lambda: {s["tid"]: s["cause"] for s in world.stalls()}.get(spinning.pid) in ("spinning", "starved"))
    main = world.wait_for(lambda: thread(world, process.pid)["reason"] == "input" and thread(world, process.pid))
    assert main["kernel"]["state"] == "S", main
    assert main["kernel"]["syscall"] is None and main["kernel"]["target"] is None, main
    assert "syscall" in main["kernel"]["denied"], main
    world.wait_for(lambda: thread(world, process.pid)["kernel"]["window_ms"] is not None)
    assert world.log_text().count("of this user alone") == 1
    line = f"not permitted to read what threads of a process wait for: ring=\"{main['ring']}\" pid={process.pid} "
    assert world.log_text().count(line) == 1, world.log_text()  # one line for both threads


def make_world():
    return Unprivileged() if make_world.tests.pop(0) is without_capabilities else Service()


if __name__ == "__main__":
    if w.missing_for_users():
        w.skip_script(w.missing_for_users())
    TESTS = [claims_without_and_with_locks, program_of_another_user, program_of_root, number_of_the_locker_used_again,
             false_claims_to_the_probe,
             own_process_is_shown, ripd_itself_holds_nothing, without_capabilities]
    make_world.tests = [test for test in TESTS if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]]
    w.run(TESTS, make_world)
