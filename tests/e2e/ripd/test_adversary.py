# SPDX-License-Identifier: Apache-2.0
"""One user attacks in all known ways, alone and with 1,000 uids of its subordinate range. Honest stalls of another user
must be reported in time, ripd must stay ready, and its memory must stay bounded. adversary.py describes the rings."""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

ADVERSARY, HONEST, SERVICE = 61001, 61002, 61003
FIRST, COUNT = 2000000, 1000
CHARGED_MAX = 256 << 20
PATIENCE_S = 20  # a late stall is still waited for, to report how late it was
MEMORY = "/sys/fs/cgroup/memory"


class MemoryGroup:
    """A memory cgroup (version 1). path is None if it cannot be created."""

    def __init__(self):
        self.path = f"{MEMORY}/ripd-test-{os.getpid()}"
        try:
            os.mkdir(self.path)
        except OSError:
            self.path = None

    def enter(self):
        if self.path:
            with open(self.path + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

    def charged(self):
        with open(self.path + "/memory.max_usage_in_bytes", encoding="ascii") as file:
            return int(file.read())

    def remove(self):
        if self.path:
            w.wait_for(lambda: not os.path.exists(self.path) or self.try_remove())

    def try_remove(self):
        with contextlib.suppress(OSError):
            os.rmdir(self.path)
        return False


class Service(w.World):
    """ripd as the service with the drop-in for evidence: its own user, capabilities, and the adversary's subordinate
    range."""
    INTERVAL_MS = 1000
    STALL_AFTER_MS = 2000

    def start(self):
        os.chmod(self.made, 0o755)
        self.dir = self.made + "/rings"
        os.makedirs(self.dir)
        os.chown(self.dir, 0, SERVICE)  # like /run/librip, so that the service can read the rings
        os.chmod(self.dir, 0o3777)
        os.makedirs(self.made + "/out")
        os.chown(self.made + "/out", SERVICE, SERVICE)
        with open(self.made + "/subuid", "w", encoding="ascii") as file:
            file.write(f"{ADVERSARY}:{FIRST}:{COUNT}\n")
        with open(self.made + "/hook", "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\ncat >>{self.made}/out/$RIPD_EPISODE.$RIPD_EVENT\n")
        os.chmod(self.made + "/hook", 0o755)
        # other users may not be able to read the build tree
        self.puppet_program = shutil.copy(f"{w.BIN}/puppet", self.made)
        self.group = MemoryGroup()
        capabilities = "+sys_ptrace,+dac_read_search"
        self.prefix = ["unshare", "--mount", "sh", "-c", f'mount --bind {self.made}/subuid /etc/subuid && exec "$@"',
                       "sh", "setpriv", f"--reuid={SERVICE}", f"--regid={SERVICE}", "--clear-groups",
                       f"--inh-caps={capabilities}", f"--ambient-caps={capabilities}", "--"]
        self.flags = [f"--on-stall=exec {self.made}/hook"]
        super().start()

    def popen_options(self):
        return {"preexec_fn": self.group.enter}

    def close(self):
        super().close()
        self.group.remove()


def come_first():
    """Raises the priority of this test, so that it measures only the effect of the adversary."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)


class Attack:
    def __init__(self, world, *more):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "adversary.py")
        self.process = subprocess.Popen([sys.executable, program, world.dir, *map(str, (ADVERSARY, *more))],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.setpriority(os.PRIO_PROCESS, 0, 0))
        world.processes.append(self.process)
        assert self.process.stdout.readline() == "ready\n"


class Readiness(threading.Thread):
    """Requests /readyz all the time, and collects answers other than 200."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.bad, self.count, self.done = world, [], 0, threading.Event()
        self.start()

    def run(self):
        while not self.done.wait(0.1):
            try:
                status = self.world.request("/readyz")[0]
            except OSError as error:
                status = str(error)
            self.count += 1
            if status != 200:
                self.bad.append(status)

    def close(self):
        self.done.set()
        self.join()

    def check(self):
        assert self.count > 20 and not self.bad, (self.count, self.bad)


def honest(world, name):
    app = w.Puppet(world, [world.puppet_program], user=HONEST, group=HONEST, extra_groups=[])
    app.do(f"ring {world.ring(name)} 64")
    app.do("spawn 1 one snap")
    return app


def has_reached_command(world, name):
    for entry in os.scandir(world.made + "/out"):
        with open(entry.path, encoding="utf-8") as file:
            if f'"ring":"{name}"' in file.read():
                return True
    return False


def is_there(world, name, place):
    if place == "hook":
        return has_reached_command(world, name)
    return world.get(f"/{place}?ring={name}")[place]


def check_stalls(world, apps):
    """Checks that a stall of each honest program is in /stalls and /events and reaches the command, each in time."""
    limit_s = (world.STALL_AFTER_MS + 2 * world.INTERVAL_MS) / 1000
    missing = {(name, place) for name in apps for place in ("stalls", "events", "hook")}
    began, took = {}, {}
    for name, app in apps.items():
        world.wait_for(lambda name=name: world.state(1, name) == "running")
        app.do("freeze 1")
        began[name] = time.monotonic()

    while missing and time.monotonic() - max(began.values()) < PATIENCE_S:
        for name, place in sorted(missing):
            if is_there(world, name, place):
                took[name, place] = time.monotonic() - began[name]
        missing -= took.keys()
        time.sleep(0.02)
    assert not missing and max(took.values()) <= limit_s, (took, missing)


def memory_is_bounded(world):
    if world.group.path:
        assert world.group.charged() < CHARGED_MAX, world.group.charged()
        return
    kilobytes = 0
    with open(f"/proc/{world.ripd.pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(("RssAnon:", "RssShmem:")):
                kilobytes += int(line.split()[1])
    assert kilobytes << 10 < CHARGED_MAX, kilobytes


def limits(world):
    """Returns the limits that were hit. Checks that only the adversary hit them."""
    limited = world.get("/rings?limit=1")["limited"]
    assert {user["uid"] for user in limited} <= {ADVERSARY}, limited
    return {user["limit"] for user in limited}


def only_the_adversary_was_limited(world):
    assert limits(world)
    assert re.search(r'^ripd_limit_hits_total\{limit="rings"\} [1-9]', world.get("/metrics"), re.M)


def under_attack(world, *more):
    before = honest(world, "before")
    world.wait_for(lambda: world.state(1, "before") == "running")
    with contextlib.closing(Readiness(world)) as readiness:
        Attack(world, *more)
        world.wait_scans(3)
        after = honest(world, "after")
        check_stalls(world, {"before": before, "after": after})
        world.wait_scans(10)
        check_stalls(world, {name: honest(world, name) for name in ("late-0", "late-1", "late-2")})
        readiness.check()
    memory_is_bounded(world)
    only_the_adversary_was_limited(world)


def by_one_user(world):
    under_attack(world)


def by_a_subordinate_range(world):
    under_attack(world, FIRST, COUNT)


def by_names_of_scripts(world):
    """The maximum number of script names, in rings that come and go: memory is bounded, and names of other users are
    kept."""
    before = honest(world, "before")
    honest(world, "named").do(f"script 2 {b'app.rb'.hex()} {b'Order#place'.hex()} 12")
    Attack(world, "scripts")
    world.wait_for(lambda: "script_bytes" in limits(world), 2 * w.PATIENCE_S)
    after = honest(world, "after")
    check_stalls(world, {"before": before, "after": after})
    after.do(f"script 2 {b'app.rb'.hex()} {b'Order#pay'.hex()} 40")
    for name, function in (("named", "Order#place"), ("after", "Order#pay")):
        world.wait_for(lambda ring=name: world.thread(2, ring))
        assert world.thread(2, name)["location"]["function"] == function, world.thread(2, name)
    memory_is_bounded(world)


def can_attack():
    """Returns what is missing for this test, or None."""
    if w.missing_for_users():
        return w.missing_for_users()
    if not os.path.exists("/etc/subuid"):
        return "/etc/subuid does not exist, so the test cannot replace it"
    if subprocess.run(["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        return "mount namespaces are not permitted"
    return None


if __name__ == "__main__":
    if can_attack():
        w.skip_script(can_attack())
    come_first()
    w.run([by_one_user, by_a_subordinate_range, by_names_of_scripts], Service)
