# SPDX-License-Identifier: Apache-2.0
"""Traced programs in their own user, pid, mount, network, IPC and UTS namespaces, with the ring directory bind-mounted.

ripd is outside. It must report correctly which processes they are, what they wait for, and when they end.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

NAMESPACES = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount", "--net", "--ipc", "--uts"]
UID = 12345  # the uid outside; inside it is root
INSIDE = "/mnt/rings"  # the ring directory inside
# The loopback device of a new network namespace is down.
LOOPBACK = """
import fcntl, socket, struct
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
"""


class ContainerWorld(w.World):
    def as_another_user(self):
        """Returns the prefix of a command line that runs it as another user, if possible."""
        if os.geteuid() != 0:
            return []
        return ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]

    def uid(self):
        return os.geteuid() or UID

    def script(self, command):
        return (f"mount -t proc proc /proc && mount -t tmpfs container /mnt && mkdir {INSIDE} && "
                f"mount --bind {self.dir} {INSIDE} && /usr/bin/python3 -c '{LOOPBACK}' && exec {command}")

    def contain(self, command):
        """Runs command as the first process of a container. Returns its pid outside."""
        os.chmod(self.dir, 0o1777)
        process = subprocess.Popen([*self.as_another_user(), "unshare", *NAMESPACES, "sh", "-c", self.script(command)],
                                   stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        # setpriv and unshare execute the next command, so the container is a child of the started process.
        return self.wait_for(lambda: w.children(process.pid)[0])

    def stall(self, ring):
        return self.wait_for(lambda: self.stalls(f"?ring={ring}")[0])

    def settled(self, ring, condition):
        """Waits until the condition holds for the stall: the first scan may know less than the next one."""
        return self.wait_for(lambda: [stall for stall in self.stalls(f"?ring={ring}") if condition(stall)][0])


def need_containers(world):
    probe = subprocess.run([*world.as_another_user(), "unshare", *NAMESPACES, "sh", "-c", world.script("true")],
                           capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        raise w.Skip(f"containers are not permitted: {probe.stderr.strip()}")


def prepare(world):
    os.chmod(world.dir, 0o1777)
    need_containers(world)


def copied(world, *names):
    """Returns a folder with copies of programs of the build tree, which other users may not be able to read. Each is
    copied once, because replacing a running program would delete its file."""
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


def processes_are_attested(world):
    """The first processes of two containers are two processes outside, and both are attested."""
    prepare(world)
    pids = {ring: animals(world, "deadlock-2", ring) for ring in ("one", "two")}
    for ring, pid in pids.items():
        process = world.settled(ring, lambda stall: stall["process"]["attested"])["process"]
        assert (process["pid"], process["comm"], process["uid"]) == (pid, "animal", world.uid()), process
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            assert re.search(r"^NSpid:\t\d+\t1$", file.read(), re.M)
        assert process["exe"].endswith("/animal") and process["started_at"], process
    assert len(set(pids.values())) == 2


def locks_and_peers(world):
    """Locks, although threads have other ids outside, and a peer in another network namespace."""
    if os.geteuid() == 0 and w.lacking("sys_ptrace"):
        raise w.Skip("evidence of another user's processes needs root with CAP_SYS_PTRACE")
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
    """A worker that waits for a lock is idle if the holder waits for a client, and not idle if the holder sleeps."""
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
    world.wait_scans(12)  # longer than ripd looks for a holder
    assert world.state(1, "accept_mutex") == "idle"
    assert world.get("/events?ring=accept_mutex")["events"] == []


def an_unchanged_program(world):
    """`rip run` in a container, with the same pid in another container."""
    prepare(world)
    for ring in ("first", "second"):
        traced(world, ring, "sleep 3600")
    for ring in ("first", "second"):
        stall = world.settled(ring, lambda stall: stall["cause"] == "sleeping")
        assert stall["name"] == "sleep" and stall["process"]["attested"], stall


def a_killed_container(world):
    """When a container is killed, it is reported dead immediately."""
    prepare(world)
    pid = animals(world, "deadlock-2", "gone")
    world.stall("gone")
    os.kill(pid, 9)
    world.wait_for(lambda: not world.stalls("?ring=gone"))
    ring = world.wait_for(lambda: [ring for ring in world.get("/rings")["rings"] if ring["dead"]][0])
    assert ring["ring"] == "gone", ring
    world.wait_for(lambda: [event["kind"] for event in world.get("/events?ring=gone")["events"]].count("end") == 2)


w.run([processes_are_attested, locks_and_peers, workers_that_take_turns, an_unchanged_program, a_killed_container],
      ContainerWorld)
