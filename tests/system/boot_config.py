# SPDX-License-Identifier: Apache-2.0
"""The installed configuration file, changed by an operator while ripd runs."""
import json

from boot_daemon import is_ready
from looks import stall_of, start_sleeper, wait_ring

CONFIG = "/etc/ripd/ripd.conf"
INSTALLED = CONFIG + ".installed"
HOOKED = "/var/lib/ripd/hooked"  # the only place that a command of the daemon may write to


def configure(machine, *lines):
    """Writes the installed file with more lines."""
    machine.run("cp", "--no-clobber", CONFIG, INSTALLED)
    machine.write(CONFIG, machine.text("cat", INSTALLED) + "".join(f"{line}\n" for line in lines))


def reload(machine, check=True):
    result = machine.run("systemctl", "reload", "ripd", check=check)
    machine.wait_for("the end of the reload", lambda: machine.property("ripd.service", "ActiveState") == "active")
    return result


def test_reload(machine):
    """Thresholds of watched ids change; ripd stays the same process, and keeps its state."""
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
    # The command runs with the restrictions of the unit, and may write to the state directory.
    event = machine.wait_for("the command", lambda: json.loads(machine.text("cat", HOOKED).splitlines()[0]))
    assert "patient" in json.dumps(event) and "begin" in json.dumps(event), event
    machine.run("systemctl", "stop", "patient")
    configure(machine)
    reload(machine)


def test_reload_refused(machine):
    """An error fails the reload and is reported with its line; the old configuration stays active."""
    pid = machine.main_pid("ripd.service")
    configure(machine, "stall-after = 5 sheep")
    number = machine.text("cat", CONFIG).count("\n")
    assert reload(machine, check=False).returncode != 0
    assert machine.main_pid("ripd.service") == pid and is_ready(machine)
    entries = machine.journal("-u", "ripd.service", "--grep", f"ripd.conf:{number}:.*stall-after")
    assert entries, "no journal entry has the line number"
    configure(machine)
    reload(machine)


def test_start_refused(machine):
    """ripd is not restarted with a wrong configuration. After a correction, `start` is enough."""
    configure(machine, "no-such-key = 1")
    machine.run("systemctl", "restart", "ripd", check=False)
    machine.wait_for("the failure of the unit", lambda: machine.property("ripd.service", "ActiveState") == "failed")
    assert machine.property("ripd.service", "ExecMainStatus") == "2"
    assert machine.request("/readyz")[0] == 0  # a request makes systemd start ripd until it also closes the socket
    machine.wait_for("the failure of the socket", lambda: machine.property("ripd.socket", "ActiveState") == "failed")
    configure(machine)
    machine.run("systemctl", "restart", "ripd")
    assert is_ready(machine)


def test_shorter_threshold(machine):
    """For the next tests: a stall after one second instead of the default of five."""
    configure(machine, "stall-after = 1s")
    reload(machine)


TESTS = [test_reload, test_reload_refused, test_start_refused]
