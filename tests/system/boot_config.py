# SPDX-License-Identifier: Apache-2.0
"""The installed configuration file, as an operator changes it while ripd runs."""
import json

from boot_daemon import is_ready
from looks import stall_of, start_sleeper, wait_ring

CONFIG = "/etc/ripd/ripd.conf"
INSTALLED = CONFIG + ".installed"
HOOKED = "/var/lib/ripd/hooked"  # the one place where a command of the daemon's can write


def configure(machine, *lines):
    """The file as installed, with lines added."""
    machine.run("cp", "--no-clobber", CONFIG, INSTALLED)
    machine.write(CONFIG, machine.text("cat", INSTALLED) + "".join(f"{line}\n" for line in lines))


def reload(machine, check=True):
    result = machine.run("systemctl", "reload", "ripd", check=check)
    machine.wait_for("the end of the reload", lambda: machine.property("ripd.service", "ActiveState") == "active")
    return result


def test_reload(machine):
    """Thresholds change under ids that are being watched; the process, and what it knows, stay."""
    configure(machine, "stall-after = 1h")
    reload(machine)
    pid = machine.main_pid("ripd.service")
    start_sleeper(machine, "patient", "/run/librip/patient", b"patient", "-p", "DynamicUser=yes", "-p",
                  "ReadWritePaths=/run/librip")
    wait_ring(machine, "patient")
    configure(machine, "stall-after = 1s", f"on-stall = cat >>{HOOKED}")
    reload(machine)
    assert stall_of(machine, "patient")["threshold_ms"] == 1000
    assert machine.main_pid("ripd.service") == pid and is_ready(machine)
    # The command lives under the unit's rules, which is enough to write to the state directory.
    event = machine.wait_for("the command", lambda: json.loads(machine.text("cat", HOOKED).splitlines()[0]))
    assert "patient" in json.dumps(event) and "begin" in json.dumps(event), event
    machine.run("systemctl", "stop", "patient")
    configure(machine)
    reload(machine)


def test_reload_refused(machine):
    """A mistake fails the reload, with the line; what was in force stays."""
    pid = machine.main_pid("ripd.service")
    configure(machine, "stall-after = 5 sheep")
    number = machine.text("cat", CONFIG).count("\n")
    assert reload(machine, check=False).returncode != 0
    assert machine.main_pid("ripd.service") == pid and is_ready(machine)
    entries = machine.journal("-u", "ripd.service", "--grep", f"ripd.conf:{number}:.*stall-after")
    assert entries, "nothing in the journal names the line"
    configure(machine)
    reload(machine)


def test_start_refused(machine):
    """A wrong configuration is not tried again and again; mended, it is enough to start."""
    configure(machine, "no-such-key = 1")
    machine.run("systemctl", "restart", "ripd", check=False)
    machine.wait_for("giving up", lambda: machine.property("ripd.service", "ActiveState") == "failed")
    assert machine.property("ripd.service", "ExecMainStatus") == "2"
    assert machine.request("/readyz")[0] == 0  # a request makes systemd try again, until it gives up the socket, too
    machine.wait_for("that", lambda: machine.property("ripd.socket", "ActiveState") == "failed")
    configure(machine)
    machine.run("systemctl", "restart", "ripd")
    assert is_ready(machine)


def test_shorter(machine):
    """For the tests that follow: what hangs is a stall after a second, in place of the five of the installed file."""
    configure(machine, "stall-after = 1s")
    reload(machine)


TESTS = [test_reload, test_reload_refused, test_start_refused]
