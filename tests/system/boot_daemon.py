# SPDX-License-Identifier: Apache-2.0
"""ripd.service and ripd.socket as installed: started, asked, reloaded, killed, hung, misled."""
import os
import re

from machine import PATIENCE_S, Stopper, Tracer

ANSWERS = (200, 503)  # ready, and not ready yet: no request is refused, one that comes too early waits
SOCKET = "/run/ripd/ripd.sock"
# What ripd may still write to: its state, and what the kernel makes for each process anew.
WRITABLE = {"/var/lib/ripd", "/proc", "/dev/pts", "/dev/mqueue"}


def is_ready(machine):
    return machine.request("/readyz")[0] == 200


def restarts(machine):
    return int(machine.property("ripd.service", "NRestarts"))


def wait_replaced(machine, pid, seconds=PATIENCE_S):
    """Until another process than pid serves, and has scanned."""
    machine.wait_for(f"another ripd than {pid}", lambda: machine.main_pid("ripd.service") not in (0, pid), seconds)
    machine.wait_for("its first scan", lambda: is_ready(machine))
    assert machine.property("ripd.service", "ActiveState") == "active"


def test_set_up(machine):
    """As in ripd(8)."""
    machine.run("systemd-sysusers", "ripd.conf")
    machine.run("systemd-tmpfiles", "--create", "ripd.conf")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "enable", "--now", "ripd")
    assert machine.text("systemctl", "is-enabled", "ripd.service", "ripd.socket").split() == ["enabled", "enabled"]
    # Type=notify: `start` came back after READY=1, which comes after the first scan.
    assert is_ready(machine)
    assert machine.text("stat", "-c", "%a %U %G", "/run/librip").strip() == "3777 root ripd"
    assert machine.text("stat", "-c", "%a %U %G", "/var/lib/ripd").strip() == "751 ripd ripd"


def test_answers(machine):
    for path in ("/stalls", "/threads", "/rings"):
        over_tcp, over_unix = machine.get(path), machine.get(path, SOCKET)
        assert over_tcp["schema"] == over_unix["schema"] == f"ripd{path}/1", over_tcp
    assert machine.request("/healthz", SOCKET)[0] == 200
    assert machine.request("/stalls", headers=["Host: evil.example"])[0] == 421
    status = machine.property("ripd.service", "StatusText")
    assert re.search(r"\d+ ", status) and "ring" in status, status


def test_units_are_sound(machine):
    places = [f"/usr/lib/systemd/system/{name}" for name in ("ripd.service", "ripd.socket", "ripd-diag.socket")]
    result = machine.run("systemd-analyze", "verify", "--man=no", *places)
    assert (result.stdout + result.stderr).strip() == "", result
    machine.run("systemd-analyze", "security", "--threshold=10", "--no-pager", "ripd.service")


def mounts_for_writing(pid):
    """Mount points of a process on which it could write."""
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as file:
        return {line.split()[4] for line in file if "rw" in line.split()[5].split(",")}


def test_what_is_taken_away(machine):
    pid = machine.host_pid(machine.main_pid("ripd.service"))
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[field], 16) == 0, (field, status[field])
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), status
    assert "0" not in status["Uid"].split() + status["Gid"].split(), status
    assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink(f"/proc/{machine.pid}/ns/net")
    # Only mounts that are on top count: what another one hides is beyond reach.
    assert mounts_for_writing(pid) <= WRITABLE, mounts_for_writing(pid)
    assert os.readlink(f"/proc/{pid}/ns/user") == os.readlink(f"/proc/{machine.pid}/ns/user")


def test_killed(machine):
    pid, count = machine.main_pid("ripd.service"), restarts(machine)
    machine.run("kill", "-KILL", str(pid))
    # The socket is systemd's, and stays.
    assert machine.request("/readyz")[0] in ANSWERS
    wait_replaced(machine, pid)
    assert restarts(machine) > count


def test_asked_for_when_stopped(machine):
    machine.run("systemctl", "stop", "ripd.service")
    assert machine.property("ripd.service", "ActiveState") == "inactive"
    assert machine.request("/readyz")[0] in ANSWERS  # the socket starts it
    machine.wait_for("its first scan", lambda: is_ready(machine))
    assert machine.property("ripd.service", "ActiveState") == "active"


def timeouts(machine):
    return len(machine.journal("-u", "ripd.service", "--grep", "Watchdog timeout"))


def hang_and_wait(machine, hang):
    def is_another():
        hung.reap()
        return machine.main_pid("ripd.service") != pid

    pid, before = machine.main_pid("ripd.service"), timeouts(machine)
    hung = hang(machine.host_pid(pid))
    machine.wait_for("the watchdog", is_another)
    wait_replaced(machine, pid)
    assert timeouts(machine) > before


def test_hung_scanner(machine):
    """One thread hangs, the others are well: ripd still answers. Only the silence of its scans shows it."""
    machine.drop_in("ripd.service", "[Service]\nWatchdogSec=4s\n")
    machine.run("systemctl", "restart", "ripd")
    hang_and_wait(machine, Tracer)


def test_hung_process(machine):
    hang_and_wait(machine, Stopper)
    machine.remove_drop_in("ripd.service")
    machine.run("systemctl", "restart", "ripd")


def test_crashes_for_a_while(machine):
    """It comes back by itself once its trouble is over, even if somebody asked all the time."""
    machine.drop_in("ripd.service", "[Service]\nRestartSec=200ms\nExecStartPre=/bin/sh -c 'test ! -e /run/trouble'\n")
    machine.run("touch", "/run/trouble")
    machine.run("systemctl", "kill", "--signal=KILL", "ripd.service")
    count = restarts(machine)
    for _ in range(30):
        machine.run("curl", "-s", "-m", "0.2", "http://127.0.0.1:7470/stalls", check=False)
    machine.wait_for("some restarts in vain", lambda: restarts(machine) >= count + 8)
    machine.run("rm", "/run/trouble")
    machine.wait_for("ripd to be back", lambda: is_ready(machine))
    machine.remove_drop_in("ripd.service")
    machine.run("systemctl", "restart", "ripd")


def test_other_address(machine):
    """As ripd.socket says; ripd is restarted with its sockets."""
    machine.drop_in("ripd.socket", "[Socket]\nListenStream=\nListenStream=/run/ripd/other.sock\n")
    machine.run("systemctl", "restart", "ripd.socket")
    machine.wait_for("an answer", lambda: machine.request("/readyz", "/run/ripd/other.sock")[0] == 200)
    assert machine.request("/readyz")[0] == 0, "the old address still answers"
    machine.remove_drop_in("ripd.socket")
    machine.run("systemctl", "restart", "ripd.socket")
    machine.wait_for("an answer at the old one", lambda: is_ready(machine))


def test_boot(machine):
    """Enabled before the machine starts: user and directory are made first, then the socket, which starts ripd."""
    assert machine.property("ripd.socket", "ActiveState") == "active"
    assert machine.text("stat", "-c", "%a %U %G", "/run/librip").strip() == "3777 root ripd"
    assert machine.request("/readyz")[0] in ANSWERS
    machine.wait_for("its first scan", lambda: is_ready(machine))


TESTS_AT_BOOT = [test_boot]
TESTS = [test_set_up, test_answers, test_units_are_sound, test_what_is_taken_away, test_killed,
         test_asked_for_when_stopped, test_hung_scanner, test_hung_process, test_crashes_for_a_while,
         test_other_address]
