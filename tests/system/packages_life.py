# SPDX-License-Identifier: Apache-2.0
"""The life of the packages on a machine: installed, upgraded, disabled, removed, purged.

The machine has /packages/VERSION with the packages, and /depends with their dependencies.
"""
from boot_daemon import is_ready

OLD, NEW = "0.9.0", "1.0.0"
CONFIG = "/etc/ripd/ripd.conf"
UNITS = ("ripd.service", "ripd.socket")
KEPT = {}  # values that a later test compares


def apt(machine, *arguments):
    return machine.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-qq", "--no-install-recommends",
                       "-o", "APT::Sandbox::User=root", *arguments, seconds=180)


def packages_of(machine, version):
    return machine.text("sh", "-c", f"ls /packages/{version}/*.deb").split()


def states(machine, verb):
    return machine.run("systemctl", verb, *UNITS, check=False).stdout.split()


def listing(machine):
    """Returns the names on the disk, except files of dpkg and apt, and backups of the user database."""
    kept = " -o ".join(f"-path {path}" for path in ("/var/lib/dpkg", "/var/lib/apt", "/var/cache", "/var/log", "/tmp"))
    return set(machine.text("sh", "-c", rf"find / -xdev \( {kept} \) -prune -o ! -path '/etc/*-' -print").splitlines())


def users(machine):
    return {name: sorted(machine.text("cat", f"/etc/{name}").splitlines())
            for name in ("passwd", "group", "shadow", "gshadow")}


def events(machine):
    return [(event["episode"], event["kind"]) for event in machine.get("/events?limit=100")["events"]]


def test_install(machine):
    """The units are enabled and started, as in Debian."""
    machine.run("mkdir", "-p", "/etc/ripd/events")
    machine.write("/etc/ripd/events/mine.conf", "COMMAND=true\n")  # created by an administrator before the installation
    apt(machine, "install", *[f"/depends/{name}" for name in machine.text("ls", "/depends").split()])
    KEPT["listing"], KEPT["users"] = listing(machine), users(machine)
    apt(machine, "install", *packages_of(machine, OLD))
    assert states(machine, "is-enabled") == ["enabled", "enabled"] and states(machine, "is-active") == ["active"] * 2
    machine.wait_for("its first scan", lambda: is_ready(machine))
    assert machine.get("/version")["version"] == OLD
    assert machine.text("stat", "-c", "%a %U %G", "/run/librip").strip() == "3777 root ripd"
    assert machine.text("stat", "-c", "%a %U %G", "/var/lib/ripd").strip() == "751 ripd ripd"
    assert CONFIG in machine.text("dpkg-query", "-W", "-f", "${Conffiles}", "ripd")


def test_work(machine):
    """A stall of a program traced by the package rip, and a change of the configuration."""
    machine.write(CONFIG, machine.text("cat", CONFIG) + "stall-after = 2s\n")
    machine.run("systemctl", "reload", "ripd")
    machine.run("systemd-run", "--quiet", "--unit=stuck", "flock", "/tmp/held",
                "rip", "run", "--dir", "/run/librip", "--", "flock", "/tmp/held", "true")
    machine.wait_for("a stall", lambda: machine.stalls()[0]["process"]["comm"] == "flock")
    machine.wait_for("its event", lambda: [kind for _, kind in events(machine)] == ["begin"])
    machine.run("systemctl", "stop", "stuck")
    machine.wait_for("its end", lambda: [kind for _, kind in events(machine)] == ["end", "begin"])
    machine.run("sh", "-c", "rm /run/librip/*")  # the ring of a killed program belongs to its user, and stays
    machine.run("systemctl", "start", "rip-events@mine")
    KEPT["events"] = events(machine)


def test_upgrade(machine):
    """History and configuration stay, the new version runs, and the sockets were open all the time."""
    pid, opened = machine.main_pid("ripd.service"), machine.property("ripd.socket", "ActiveEnterTimestampMonotonic")
    instance = machine.main_pid("rip-events@mine.service")
    apt(machine, "install", *packages_of(machine, NEW))
    assert machine.main_pid("ripd.service") not in (0, pid)
    assert machine.main_pid("rip-events@mine.service") not in (0, instance)
    assert machine.property("ripd.socket", "ActiveEnterTimestampMonotonic") == opened
    machine.wait_for("its first scan", lambda: is_ready(machine))
    assert machine.get("/version")["version"] == NEW
    assert events(machine) == KEPT["events"], events(machine)
    assert machine.text("tail", "-n", "1", CONFIG) == "stall-after = 2s\n"
    assert states(machine, "is-enabled") == ["enabled", "enabled"]
    assert "librip.so.1" in machine.text("ldconfig", "-p")
    apt(machine, "install", *machine.text("sh", "-c", f"ls /packages/{NEW}/*.ddeb").split())
    assert machine.text("dpkg-query", "-W", "-f", "${Status}", "ripd-dbgsym") == "install ok installed"


def test_switched_off(machine):
    """What the administrator has disabled stays disabled, whatever is installed."""
    machine.run("systemctl", "stop", "rip-events@mine")  # it would start the sockets
    machine.run("systemctl", "disable", "--quiet", "--now", *UNITS)
    apt(machine, "install", "--reinstall", *[path for path in packages_of(machine, NEW) if "/ripd_" in path])
    assert states(machine, "is-enabled") == ["disabled"] * 2 and states(machine, "is-active") == ["inactive"] * 2
    machine.run("systemctl", "enable", "--quiet", "--now", *UNITS)
    machine.wait_for("its first scan", lambda: is_ready(machine))
    machine.run("systemctl", "start", "rip-events@mine")


def test_remove(machine):
    """No process runs any more. History and configuration stay for the next installation."""
    apt(machine, "remove", "ripd")
    assert machine.run("sh", "-c", "grep -x 'rip.*' /proc/[0-9]*/comm", check=False).stdout == ""
    assert machine.request("/readyz")[0] == 0
    assert machine.property("ripd.service", "LoadState") == "not-found"
    assert machine.run("test", "-e", "/run/ripd", check=False).returncode == 1
    apt(machine, "install", *packages_of(machine, NEW))
    machine.wait_for("its first scan", lambda: is_ready(machine))
    assert events(machine) == KEPT["events"], events(machine)
    assert machine.text("tail", "-n", "1", CONFIG) == "stall-after = 2s\n"


def test_purge(machine):
    """Only files of the administrator stay."""
    apt(machine, "purge", "ripd", "rip", "librip-dev", "librip1", "librip0", "rip-dbgsym", "librip1-dbgsym",
        "librip-session-dev", "librip-session1", "librip-session0", "librip-session1-dbgsym", "python3-rip",
        "python3-rip-dbgsym", "ruby-rip", "ruby-rip-dbgsym")
    changed = sorted(listing(machine) ^ KEPT["listing"])
    assert changed == [], changed[:20]
    assert machine.text("cat", "/etc/ripd/events/mine.conf") == "COMMAND=true\n"
    assert users(machine) == KEPT["users"]
    assert machine.run("test", "-e", "/run/librip", check=False).returncode == 1
    assert machine.run("systemctl", "list-unit-files", "--no-legend", "rip*", check=False).stdout == ""


TESTS = [test_install, test_work, test_upgrade, test_switched_off, test_remove, test_purge]
