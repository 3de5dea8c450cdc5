# SPDX-License-Identifier: Apache-2.0
"""What ripd.service reports about threads of other users: alone, what every user may read; with the drop-in, what they
wait for. In both cases ripd holds no capability, and ripd-probe only those of the drop-in."""
import os
import re

import looks

EXAMPLE = "/usr/share/doc/librip/systemd/ripd.service.d/evidence.conf"
FOLDER = "/etc/systemd/system/ripd.service.d"
EVIDENCE = 1 << 19 | 1 << 2  # CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH
NAME = "waits-as-daemon"
TALKER = "talks-as-daemon"
CLOSED = "closed-to-ripd"
CLOSED_FOLDER = "/srv/closed"
AS_DAEMON = ("--uid=daemon", "--gid=daemon")


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += [int(word) for word in file.read().split()]
    return found


def capabilities(machine):
    """Returns the capability sets, except the bounding set, of ripd and of ripd-probe's keeper and worker."""
    ripd = machine.host_pid(machine.main_pid("ripd.service"))
    keeper = [pid for pid in children(ripd) if status(pid)["Name"] == "ripd-probe"][0]
    every = [status(pid) for pid in (ripd, keeper, children(keeper)[0])]
    assert all(one["NoNewPrivs"] == "1" and one["Seccomp"] == "2" for one in every), every
    return [tuple(int(one[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")) for one in every]


def kernel(machine, name=NAME):
    return machine.wait_for("the stall to be examined", lambda: looks.stall_of(machine, name)["kernel"])


def start_closed(machine):
    """Starts a program with a library in a folder that only its user may enter."""
    library = f"{CLOSED_FOLDER}/librip.so.1"
    machine.run("install", "-d", "-m", "700", "-o", "daemon", "-g", "daemon", CLOSED_FOLDER)
    machine.run("install", "-m", "600", "-o", "daemon", "-g", "daemon", "/usr/lib/librip.so.1", library)
    code = looks.SLEEPER.replace("librip.so.1", library).replace("rip_snap()", "rip_snap_at(librip.rip_init)")
    looks.start(machine, CLOSED, AS_DAEMON, code, f"/run/librip/{CLOSED}", CLOSED.encode().hex())


def location(machine):
    looks.stall_of(machine, CLOSED)
    looks.threads(machine, CLOSED)  # this answer waits until there are names
    found = looks.stall_of(machine, CLOSED)["location"]
    assert found["module"] == "librip.so.1", found
    return found


def test_without_drop_in(machine):
    looks.start_sleeper(machine, NAME, f"/run/librip/{NAME}", NAME.encode(), *AS_DAEMON)
    found = kernel(machine)
    assert found["state"] == "S" and found["syscall"] is None and "syscall" in found["denied"], found
    assert capabilities(machine) == [(0, 0, 0, 0)] * 3
    start_closed(machine)
    assert location(machine)["function"] is None, location(machine)


def wait_target(machine, pattern):
    """The first scan may know less about a socket than the next one."""
    machine.wait_for(f"the target {pattern}",
                     lambda: re.fullmatch(pattern, kernel(machine, TALKER)["target"] or ""))


def check_peers(machine):
    """ripd has no network, but a netlink socket of the machine for queries. It triggers nothing, and ripd works without
    it."""
    looks.start(machine, TALKER, AS_DAEMON, looks.TALKER, f"/run/librip/{TALKER}")
    wait_target(machine, r"unix socket:\[\d+\] -> socket:\[\d+\]")
    machine.wait_for("its peer", lambda: (kernel(machine, TALKER)["holder"] or {}).get("comm") == "python3")
    machine.run("systemctl", "stop", "ripd.socket", "ripd.service")
    assert machine.property("ripd-diag.socket", "ActiveState") == "active"
    assert machine.property("ripd.service", "ActiveState") == "inactive"
    machine.run("systemctl", "mask", "--now", "ripd-diag.socket")
    machine.run("systemctl", "start", "ripd")
    wait_target(machine, r"unix socket:\[\d+\]")
    assert machine.journal("-u", "ripd.service", "--grep", "peers of unix sockets are not known")
    machine.run("systemctl", "unmask", "ripd-diag.socket")
    machine.run("systemctl", "stop", TALKER)


def test_with_drop_in(machine):
    """Installs the drop-in as its first lines describe."""
    machine.run("mkdir", "-p", FOLDER)
    machine.run("cp", EXAMPLE, FOLDER)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "ripd")
    machine.wait_for("what it waits for", lambda: kernel(machine)["syscall"])
    found = kernel(machine)
    assert found["syscall"] == "clock_nanosleep" and found["denied"] == [], found
    assert looks.stall_of(machine, NAME)["cause"] == "sleeping"
    assert capabilities(machine) == [(0, 0, 0, 0), (0, EVIDENCE, EVIDENCE, 0), (0, EVIDENCE, EVIDENCE, 0)]
    machine.wait_for("a name", lambda: location(machine)["function"] == "rip_init")
    check_peers(machine)
    machine.run("rm", f"{FOLDER}/evidence.conf")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "ripd")
    machine.run("systemctl", "stop", NAME, CLOSED)


TESTS = [test_without_drop_in, test_with_drop_in]
