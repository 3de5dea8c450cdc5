# SPDX-License-Identifier: Apache-2.0
"""Peers of unix sockets: across network namespaces, of a server of another user, and of many threads.

Only the thread's own user may learn which socket it waits for. The zoo tests all kinds of waits.
"""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import managed  # noqa: E402
import world as w  # noqa: E402

SOCK_DIAG = 4  # NETLINK_SOCK_DIAG
USER_A, USER_B = 61001, 61002
# an interpreter that every user may execute
UNSHARE = ["unshare", "--net", "--"]

# Waits for buffer space at one end of its own socket pair. A child has the other end.
PAIR = """
import ctypes, os, signal, socket
ours, theirs = socket.socketpair()
child = os.fork()
if child == 0:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    ours.close()
    while True: signal.pause()
theirs.close()
print(child, flush=True)
ours.sendall(bytes(1 << 24))
"""

# Waits at the socket that it was started with.
INHERITED = "import socket; socket.socket(fileno=int(__import__('sys').argv[1])).sendall(bytes(1 << 24))"

CLIENT = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.recv(1)
"""

SERVER = """
import os, signal, socket, sys
os.umask(0)
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("there", flush=True)
client = server.accept()
while True: signal.pause()
"""

# COUNT threads wait at as many sockets. A child has the other ends, and nothing else.
CROWD = """
import ctypes, os, resource, signal, socket, sys, threading
count, hard = int(sys.argv[1]), resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
pairs = [socket.socketpair() for _ in range(count)]
child = os.fork()
for ours, theirs in pairs:
    (ours if child == 0 else theirs).close()
if child == 0:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    while True: signal.pause()
print(child, flush=True)
much = bytes(1 << 24)
for ours, _ in pairs:
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    threading.Thread(target=ours.sendall, args=(much,), daemon=True).start()
pairs[0][0].sendall(much)
"""


def needs_root():
    if w.lacking("sys_admin", "sys_ptrace") or not shutil.which("unshare"):
        raise w.Skip("network namespaces and several users take root with all capabilities, and unshare")


def traced(world, code, *arguments, prefix=(), **options):
    os.chmod(world.made, 0o777)
    process = subprocess.Popen([*prefix, f"{w.BIN}/rip", "run", "--dir", world.dir, "--", w.PYTHON, "-c", code,
                                *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                               **options)
    world.processes.append(process)
    return process


def kernel(world, process, holds=lambda facts: True):
    """Returns the evidence of the main thread, when its target is known and the condition holds. This takes several
    scans."""
    def facts():
        found = [s["kernel"] for s in world.stalls() if s["tid"] == process.pid][0]
        return found["target"] and holds(found) and found
    return world.wait_for(facts)


def number_of_peer(target):
    found = re.fullmatch(r"unix socket:\[\d+\] -> socket:\[(\d+)\]", target)
    return int(found.group(1)) if found else None


def has_open(pid, inode):
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return f"socket:[{inode}]" in links


def assert_peer_found(world, process):
    child = int(process.stdout.readline())
    facts = kernel(world, process, lambda facts: facts["holder"]["pid"] == child)
    assert has_open(child, number_of_peer(facts["target"])), facts


def assert_peer_unknown(world, process):
    """Checks that only the socket's own number and type are reported, after the tables of sockets were read."""
    facts = kernel(world, process, lambda facts: facts["target"].startswith("unix"))
    assert re.fullmatch(r"unix socket:\[\d+\]", facts["target"]) and facts["holder"] is None, facts


# --- Network namespaces ---------------------------------------------------------------------------------------------

def another_network_is_not_guessed_at(world):
    needs_root()
    process = traced(world, PAIR, prefix=UNSHARE)
    assert_peer_unknown(world, process)
    assert_peer_found(world, traced(world, PAIR))


def sockets_keep_their_network(world):
    """A socket that a process was started with stays in its network, although the process is in another network
    namespace."""
    needs_root()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = traced(world, INHERITED, theirs.fileno(), prefix=UNSHARE, pass_fds=(theirs.fileno(),))
        facts = kernel(world, process, lambda facts: facts["holder"]["pid"] == os.getpid())
        assert number_of_peer(facts["target"]) == os.fstat(ours.fileno()).st_ino, facts


class Enclosed(managed.Managed):
    """ripd like the service: in its own network namespace, with sockets that are passed to it."""
    prefix = UNSHARE

    def serve_with(self, *passed):
        count = {"LISTEN_FDS": str(len(passed)), "LISTEN_PID": "{pid}"}
        self.serve(environment=count, passed=passed, flags=("--stall-after", f"{self.STALL_AFTER_MS}ms"))


def listening():
    return socket.create_server(("127.0.0.1", 0))


def ripd_without_network(world):
    needs_root()
    with listening() as http:
        world.serve_with(http)
        process = traced(world, PAIR)
        assert_peer_unknown(world, process)


def ripd_without_network_with_the_socket(world):
    needs_root()
    with listening() as http, socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as diag:
        world.serve_with(diag, http)
        assert_peer_found(world, traced(world, PAIR))
        assert_peer_unknown(world, traced(world, PAIR, prefix=UNSHARE))
        assert 'name="unknown" address=netlink:sock-diag\n' in world.log_text(), world.log_text()
        # Ends ripd, so that the next test can use the namespace.
        world.ripd.kill()
        world.ripd.wait()
        diag.send(bytes.fromhex("28000000" "1400" "0103" "00000000" "00000000" "0100" "0000" "ffffffff" "00000000"
                                "05000000" "ffffffff" "ffffffff"))
        world.serve_with(diag, http)
        world.wait_for(lambda: world.request("/readyz")[0] == 200)
        assert_peer_found(world, traced(world, PAIR))


# --- Users ----------------------------------------------------------------------------------------------------------

def only_the_path_of_another_user(world):
    """For a server of another user only the path is reported, which the client named itself or every user may read.
    There is no pid and no process name."""
    needs_root()
    path = f"{world.made}/server.sock"
    os.chmod(world.made, 0o777)
    server = subprocess.Popen([w.PYTHON, "-c", SERVER, path], stdout=subprocess.PIPE, text=True, user=USER_B,
                              group=USER_B, extra_groups=[])
    world.processes.append(server)
    server.stdout.readline()
    user = {"user": USER_A, "group": USER_A, "extra_groups": []}
    facts = kernel(world, traced(world, CLIENT, path, **user),
                  lambda facts: re.fullmatch(rf"unix socket:\[\d+\] -> {re.escape(path)}", facts["target"]))
    assert facts["holder"] is None, facts
    assert_peer_found(world, traced(world, PAIR, **user))


# --- Many sockets ---------------------------------------------------------------------------------------------------

def many_at_once(world):
    """All peers are found, although a walk through /proc for each of them would take too long."""
    count = 300
    process = traced(world, CROWD, count)
    child = int(process.stdout.readline())

    found = {}  # by thread; on a busy machine not all of them are found in every scan

    def facts():
        time.sleep(0.5)
        found.update((stall["tid"], number_of_peer(stall["kernel"]["target"])) for stall in world.stalls("?limit=10000")
                     if stall["kernel"] and stall["kernel"]["holder"] and stall["kernel"]["holder"]["pid"] == child)
        return len(found) > count
    world.wait_for(facts, 2 * w.PATIENCE_S)
    numbers = set(found.values())
    assert None not in numbers and len(numbers) == count, len(numbers)


def make_world():
    return worlds.get(make_world.tests.pop(0), w.World)()


worlds = {ripd_without_network: Enclosed, ripd_without_network_with_the_socket: Enclosed}
TESTS = [another_network_is_not_guessed_at, sockets_keep_their_network, ripd_without_network,
         ripd_without_network_with_the_socket, only_the_path_of_another_user, many_at_once]
make_world.tests = [test for test in TESTS if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]]
w.run(TESTS, make_world)
