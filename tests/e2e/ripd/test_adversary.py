# SPDX-License-Identifier: Apache-2.0
"""One user attacks with all that is known to hurt, alone and with 1,000 uids of his subordinate range: honest stalls of
another user are reported in time, ripd stays ready, and what it uses stays bounded. See adversary.py for the rings."""
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
PATIENCE_S = 20  # for a stall that is late: by how much is worth knowing
MEMORY = "/sys/fs/cgroup/memory"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable  # that anybody may run


class MemoryGroup:
    """A memory cgroup of its own, of version 1, or None where there is none."""

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
    """ripd as the service: a user of its own, with what grants evidence, the adversary's subordinate range in place."""
    INTERVAL_MS = 1000
    STALL_AFTER_MS = 2000

    def start(self):
        os.chmod(self.made, 0o755)
        self.dir = self.made + "/rings"
        os.makedirs(self.dir)
        os.chown(self.dir, 0, SERVICE)  # as /run/librip: rings in it can be read by the service
        os.chmod(self.dir, 0o3777)
        os.makedirs(self.made + "/out")
        os.chown(self.made + "/out", SERVICE, SERVICE)
        with open(self.made + "/subuid", "w", encoding="ascii") as file:
            file.write(f"{ADVERSARY}:{FIRST}:{COUNT}\n")
        with open(self.made + "/hook", "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\ncat >>{self.made}/out/$RIPD_EPISODE.$RIPD_EVENT\n")
        os.chmod(self.made + "/hook", 0o755)
        self.puppet_program = shutil.copy(f"{w.BIN}/puppet", self.made)  # others may not reach the build tree
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
    """What is measured here is what the adversary takes from others, not what else the machine does."""
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
    """Asks /readyz all the time, and keeps what was not 200."""

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


def handed_to_hook(world, name):
    for entry in os.scandir(world.made + "/out"):
        with open(entry.path, encoding="utf-8") as file:
            if f'"ring":"{name}"' in file.read():
                return True
    return False


def is_there(world, name, place):
    if place == "hook":
        return handed_to_hook(world, name)
    return world.get(f"/{place}?ring={name}")[place]


def check_stalls(world, apps):
    """A stall of each honest program is listed, an event, and given to the hook, each in time."""
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
    """Which ones refused something; to nobody but the adversary."""
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
    """As many names as there can be in rings that come and go: neither memory nor other users' names suffer."""
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
    """None, or what is missing."""
    if os.geteuid() != 0 or w.lacking("sys_ptrace", "dac_read_search") or not shutil.which("setpriv"):
        return "takes root with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, and setpriv"
    if not os.path.exists("/etc/subuid"):
        return "there is no /etc/subuid to put another one over"
    if subprocess.run(["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        return "a file of subordinate uids of its own takes a mount namespace"
    return None


if __name__ == "__main__":
    if can_attack():
        print("skipped:", can_attack())
        sys.exit(77)
    come_first()
    w.run([by_one_user, by_a_subordinate_range, by_names_of_scripts], Service)
