# SPDX-License-Identifier: Apache-2.0
"""Traced programs in user, pid, mount, network, IPC and UTS namespaces of their own, with the rings in a bind mount.

ripd is outside: who they are, what they wait for, and when they are gone is right in its own numbers.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

NAMESPACES = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount", "--net", "--ipc", "--uts"]
UID = 12345  # outside; it is root inside
INSIDE = "/mnt/rings"  # where the rings are, inside
# The loopback device of a new network is down.
LOOPBACK = """
import fcntl, socket, struct
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
"""


class ContainerWorld(w.World):
    def as_somebody(self):
        """A prefix of command lines: another user than ripd's, where that can be had."""
        if os.geteuid() != 0:
            return []
        return ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]

    def uid(self):
        return os.geteuid() or UID

    def script(self, command):
        return (f"mount -t proc proc /proc && mount -t tmpfs container /mnt && mkdir {INSIDE} && "
                f"mount --bind {self.dir} {INSIDE} && /usr/bin/python3 -c '{LOOPBACK}' && exec {command}")

    def contain(self, command):
        """Runs it as the first process of a container; its pid out here."""
        os.chmod(self.dir, 0o1777)
        process = subprocess.Popen([*self.as_somebody(), "unshare", *NAMESPACES, "sh", "-c", self.script(command)],
                                   stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        # setpriv and unshare execute one another: it is the child of the process that was started.
        return self.wait_for(lambda: w.children(process.pid)[0])

    def stall(self, ring):
        return self.wait_for(lambda: self.stalls(f"?ring={ring}")[0])

    def settled(self, ring, condition):
        """The stall once it is as it has to be: the first look may know less than the next one."""
        return self.wait_for(lambda: [stall for stall in self.stalls(f"?ring={ring}") if condition(stall)][0])


def need_containers(world):
    probe = subprocess.run([*world.as_somebody(), "unshare", *NAMESPACES, "sh", "-c", world.script("true")],
                           capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        raise w.Skip(f"no containers here: {probe.stderr.strip()}")


def prepare(world):
    os.chmod(world.dir, 0o1777)
    need_containers(world)


def copied(world, *names):
    """A folder with files of a build tree, which other users may not be able to read. Each is copied once: a program of
    which another copy took the place has none any more."""
    folder = os.path.join(world.made, "programs")
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o755)
    for name in names:
        if os.path.exists(os.path.join(folder, os.path.basename(name))):
            continue
        subprocess.run(["install", "-m", "755", os.path.join(w.BIN, name), folder], check=True)
    return folder


def animals(world, kind, ring):
    return world.contain(f"{copied(world, 'animal')}/animal {kind} {INSIDE}/{ring}")


def who_they_are(world):
    """Two first processes of two containers are two processes out here, each proven."""
    prepare(world)
    pids = {ring: animals(world, "deadlock-2", ring) for ring in ("one", "two")}
    for ring, pid in pids.items():
        process = world.settled(ring, lambda stall: stall["process"]["attested"])["process"]
        assert (process["pid"], process["comm"], process["uid"]) == (pid, "animal", world.uid()), process
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            assert re.search(r"^NSpid:\t\d+\t1$", file.read(), re.M)
        assert process["exe"].endswith("/animal") and process["started_at"], process
    assert len(set(pids.values())) == 2


def what_they_wait_for(world):
    """Locks of threads whose numbers mean something else out here, and a peer in another network."""
    if os.geteuid() == 0 and w.lacking("sys_ptrace"):
        raise w.Skip("evidence of another user's processes takes root with CAP_SYS_PTRACE")
    prepare(world)
    animals(world, "deadlock-2", "locks")
    animals(world, "tcp-recv", "network")
    deadlock = world.settled("locks", lambda stall: stall["cause"] == "deadlock")
    assert deadlock["kernel"]["syscall"] == "futex" and deadlock["kernel"]["state"] == "S", deadlock
    assert {stall["cause"] for stall in world.stalls("?ring=locks")} == {"deadlock"}
    assert [node["id"] for node in deadlock["waits_for"]] == [3 - deadlock["id"], deadlock["id"]], deadlock
    network = world.settled("network", lambda stall: stall["kernel"]["target"])
    assert re.fullmatch(r"tcp 127\.0\.0\.1:\d+ -> 127\.0\.0\.1:\d+", network["kernel"]["target"]), network
    assert network["kernel"]["syscall"] == "recvfrom", network
    place = world.settled("locks", lambda stall: stall["location"]["function"])["location"]
    assert place["function"] == "lock_in_a_circle", place


def traced(world, ring, command):
    folder = copied(world, "rip", "../lib/librip-preload.so", "caller")
    world.contain(f"env RIP_PRELOAD_LIBRARY={folder}/librip-preload.so {folder}/rip run --dir {INSIDE} "
                  f"--name {ring} -- {command.format(folder=folder)}")


def workers_that_take_turns(world):
    """Who waits for the lock of a worker that waits for a client is idle, who does for one that sleeps is not."""
    prepare(world)
    for kind in ("accept_mutex", "shared_mutex"):
        traced(world, kind, "{folder}/caller " + kind)
    stall = world.settled("shared_mutex", lambda stall: stall["waits_for"])
    assert stall["cause"] == "blocked" and stall["id"] == 1, stall
    holder, = stall["waits_for"]
    assert holder["id"] != 1 and holder["ring"] == "shared_mutex" and holder["state"] == "stalled", stall
    idle = world.wait_for(lambda: [item for item in world.get("/threads?ring=accept_mutex&state=idle")["threads"]
                                   if item["id"] == 1][0])
    assert idle["reason"] == "declared", idle
    world.wait_scans(12)  # longer than a holder is sought
    assert world.state(1, "accept_mutex") == "idle"
    assert world.get("/events?ring=accept_mutex")["events"] == []


def an_unchanged_program(world):
    """`rip run` in a container, and a name that another container has too."""
    prepare(world)
    for ring in ("first", "second"):
        traced(world, ring, "sleep 3600")
    for ring in ("first", "second"):
        stall = world.settled(ring, lambda stall: stall["cause"] == "sleeping")
        assert stall["name"] == "sleep" and stall["process"]["attested"], stall


def when_they_are_gone(world):
    """A container that is killed is dead, at once, although nobody in it could say so."""
    prepare(world)
    pid = animals(world, "deadlock-2", "gone")
    world.stall("gone")
    os.kill(pid, 9)
    world.wait_for(lambda: not world.stalls("?ring=gone"))
    ring = world.wait_for(lambda: [ring for ring in world.get("/rings")["rings"] if ring["dead"]][0])
    assert ring["ring"] == "gone", ring
    world.wait_for(lambda: [event["kind"] for event in world.get("/events?ring=gone")["events"]].count("end") == 2)


w.run([who_they_are, what_they_wait_for, workers_that_take_turns, an_unchanged_program, when_they_are_gone],
      ContainerWorld)
