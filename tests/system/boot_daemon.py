# SPDX-License-Identifier: Apache-2.0
"""ripd.service and ripd.socket as installed: start, requests, reload, kill, hang, and wrong settings."""
import os
import re

from machine import PATIENCE_S, Stopper, Tracer

ANSWERS = (200, 503)  # ready, or not ready yet: an early request waits and is not refused
SOCKET = "/run/ripd/ripd.sock"
# Where ripd may write: its state directory, and what the kernel creates for each process.
WRITABLE = {"/var/lib/ripd", "/proc", "/dev/pts", "/dev/mqueue"}


def is_ready(machine):
    return machine.request("/readyz")[0] == 200


def restarts(machine):
    return int(machine.property("ripd.service", "NRestarts"))


def wait_replaced(machine, pid, seconds=PATIENCE_S):
    """Waits until a process other than pid serves and has scanned."""
    machine.wait_for(f"another ripd than {pid}", lambda: machine.main_pid("ripd.service") not in (0, pid), seconds)
    machine.wait_for("its first scan", lambda: is_ready(machine))
    assert machine.property("ripd.service", "ActiveState") == "active"


def test_set_up(machine):
    """Sets ripd up as ripd(8) describes."""
    machine.run("systemd-sysusers", "ripd.conf")
    machine.run("systemd-tmpfiles", "--create", "ripd.conf")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "enable", "--now", "ripd")
    assert machine.text("systemctl", "is-enabled", "ripd.service", "ripd.socket").split() == ["enabled", "enabled"]
    # With Type=notify, `start` returns after READY=1, which ripd sends after its first scan.
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
    """Returns the mount points to which a process could write."""
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as file:
        return {line.split()[4] for line in file if "rw" in line.split()[5].split(",")}


def test_restrictions(machine):
    pid = machine.host_pid(machine.main_pid("ripd.service"))
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[field], 16) == 0, (field, status[field])
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), status
    assert "0" not in status["Uid"].split() + status["Gid"].split(), status
    assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink(f"/proc/{machine.pid}/ns/net")
    # Only the topmost mounts count, because they hide the others.
    assert mounts_for_writing(pid) <= WRITABLE, mounts_for_writing(pid)
    assert os.readlink(f"/proc/{pid}/ns/user") == os.readlink(f"/proc/{machine.pid}/ns/user")


def test_killed(machine):
    pid, count = machine.main_pid("ripd.service"), restarts(machine)
    machine.run("kill", "-KILL", str(pid))
    # The socket belongs to systemd and stays open.
    assert machine.request("/readyz")[0] in ANSWERS
    wait_replaced(machine, pid)
    assert restarts(machine) > count


def test_a_request_starts_ripd(machine):
    machine.run("systemctl", "stop", "ripd.service")
    assert machine.property("ripd.service", "ActiveState") == "inactive"
    assert machine.request("/readyz")[0] in ANSWERS  # the socket starts ripd
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
    """Only the scanner hangs, and ripd still answers. Only the missing scans show the problem."""
    machine.drop_in("ripd.service", "[Service]\nWatchdogSec=4s\n")
    machine.run("systemctl", "restart", "ripd")
    hang_and_wait(machine, Tracer)


def test_hung_process(machine):
    hang_and_wait(machine, Stopper)
    machine.remove_drop_in("ripd.service")
    machine.run("systemctl", "restart", "ripd")


def test_crashes_for_a_while(machine):
    """ripd recovers by itself when the problem is fixed, even if clients sent requests all the time."""
    machine.drop_in("ripd.service", "[Service]\nRestartSec=200ms\nExecStartPre=/bin/sh -c 'test ! -e /run/trouble'\n")
    machine.run("touch", "/run/trouble")
    machine.run("systemctl", "kill", "--signal=KILL", "ripd.service")
    count = restarts(machine)
    for _ in range(30):
        machine.run("curl", "-s", "-m", "0.2", "http://127.0.0.1:7470/stalls", check=False)
    machine.wait_for("some failed restarts", lambda: restarts(machine) >= count + 8)
    machine.run("rm", "/run/trouble")
    machine.wait_for("ripd to be ready again", lambda: is_ready(machine))
    machine.remove_drop_in("ripd.service")
    machine.run("systemctl", "restart", "ripd")


def test_other_address(machine):
    """Changes the address as ripd.socket describes. ripd restarts with its sockets."""
    machine.drop_in("ripd.socket", "[Socket]\nListenStream=\nListenStream=/run/ripd/other.sock\n")
    machine.run("systemctl", "restart", "ripd.socket")
    machine.wait_for("an answer", lambda: machine.request("/readyz", "/run/ripd/other.sock")[0] == 200)
    assert machine.request("/readyz")[0] == 0, "the old address still answers"
    machine.remove_drop_in("ripd.socket")
    machine.run("systemctl", "restart", "ripd.socket")
    machine.wait_for("an answer at the old address", lambda: is_ready(machine))


def test_boot(machine):
    """Enabled before the machine starts: user and directory are created first, then the socket, which starts ripd."""
    assert machine.property("ripd.socket", "ActiveState") == "active"
    assert machine.text("stat", "-c", "%a %U %G", "/run/librip").strip() == "3777 root ripd"
    assert machine.request("/readyz")[0] in ANSWERS
    machine.wait_for("its first scan", lambda: is_ready(machine))


TESTS_AT_BOOT = [test_boot]
TESTS = [test_set_up, test_answers, test_units_are_sound, test_restrictions, test_killed,
         test_a_request_starts_ripd, test_hung_scanner, test_hung_process, test_crashes_for_a_while,
         test_other_address]
