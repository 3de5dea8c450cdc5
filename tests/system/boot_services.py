# SPDX-License-Identifier: Apache-2.0
"""Services of Debian, traced with the installed drop-ins; who may read which ring; hostile names."""
import datetime
import subprocess

from boot_config import test_shorter_threshold
from boot_daemon import wait_replaced
from looks import entries, field, ring, stall_of, start_sleeper, threads, wait_ring
from machine import NAMESPACES, Skip

EXAMPLES = "/usr/share/doc/librip/systemd"
# 63 bytes: a forged journal field, an escape sequence, HTML, a quote, invalid UTF-8.
HOSTILE = b'\x1b]0;gone\x07"<b>\\\nRIPD_FORGED=1\n\nMESSAGE=forged\xff\xfe{"a":1}'.ljust(63, b"'")
# All restrictions that a careful administrator sets, including those that the drop-in says need no change.
HARDENED = """[Service]
DynamicUser=yes
ExecStart=/bin/sleep 3600
CapabilityBoundingSet=
LockPersonality=yes
MemoryDenyWriteExecute=yes
NoNewPrivileges=yes
PrivateDevices=yes
PrivateIPC=yes
PrivateNetwork=yes
PrivateTmp=yes
PrivateUsers=yes
ProcSubset=pid
ProtectControlGroups=yes
ProtectHome=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RestrictAddressFamilies=none
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
"""


def need(machine, unit):
    if machine.run("systemctl", "cat", unit, check=False).returncode != 0:
        raise Skip(f"{unit} is not installed")


def trace(machine, unit, example=None):
    """Installs the drop-in as its first lines describe."""
    folder = f"/etc/systemd/system/{unit}.d"
    machine.run("mkdir", "-p", folder)
    machine.run("cp", f"{EXAMPLES}/{example or unit}.d/librip.conf", folder)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", unit)
    assert machine.property(unit, "ActiveState") == "active"


def test_redis_server(machine):
    """Debian's unit has many restrictions; the drop-in gives back only one directory."""
    need(machine, "redis-server.service")
    trace(machine, "redis-server.service")
    unit_pid = machine.main_pid("redis-server.service")
    assert machine.property("redis-server.service", "StatusText") == "Ready to accept connections"
    processes = wait_ring(machine, "redis-server")["processes"]
    assert [(p["pid"], p["attested"], p["unit"]) for p in processes] == [
        (unit_pid, True, "redis-server.service")], processes
    assert machine.text("stat", "-c", "%a %U %G", "/run/librip/redis-server").strip() == "640 redis ripd"
    machine.wait_for("its threads", lambda: len(threads(machine, "redis-server")) >= 4)
    assert machine.text("redis-cli", "ping").strip() == "PONG"

    # a FIFO without a reader: a disk that does not answer
    disk = "/var/lib/redis/appendonlydir/temp-appendonly.aof.incr"
    machine.run("install", "-d", "-o", "redis", "-g", "redis", "/var/lib/redis/appendonlydir")
    machine.run("mkfifo", "-m", "666", disk)
    frozen = subprocess.Popen(["nsenter", "--target", str(machine.pid), *NAMESPACES, "--root", "--wd", "redis-cli",
                               "CONFIG", "SET", "appendonly", "yes"], stdout=subprocess.DEVNULL)
    stall = stall_of(machine, "redis-server")
    assert (stall["id"], stall["tid"], stall["name"]) == (unit_pid, unit_pid, "redis-server"), stall
    assert stall["process"]["attested"] and stall["location"]["module"], stall
    assert stall["frozen_for_ms"] >= stall["threshold_ms"] == 5000, stall
    begin = machine.wait_for("the entry of its begin", lambda: entries(machine, "begin", "redis-server"))[-1]
    assert field(begin, "RIPD_NAME") == field(begin, "RIPD_COMM") == b"redis-server", begin
    assert (begin["RIPD_PID"], begin["RIPD_TID"], begin["PRIORITY"]) == (str(unit_pid), str(unit_pid), "4"), begin
    assert int(begin["RIPD_FROZEN_FOR_MS"]) >= 5000 and begin["RIPD_MODULE"] == stall["location"]["module"], begin
    machine.run("timeout", "2", "cat", disk, check=False)
    assert frozen.wait(60) == 0
    machine.wait_for("its end", lambda: not machine.stalls("?ring=redis-server"))
    end = machine.wait_for("the entry of its end", lambda: entries(machine, "end", "redis-server"))[-1]
    assert end["RIPD_EPISODE"] == begin["RIPD_EPISODE"] and end["MESSAGE_ID"] != begin["MESSAGE_ID"], (begin, end)


def nginx_workers(machine):
    """Returns the pids of live processes by ring, for rings with one process."""
    return {r["ring"]: [p["pid"] for p in r["processes"] if not p["dead"]]
            for r in machine.get("/rings")["rings"] if r["ring"].startswith("nginx.")}


def test_nginx(machine):
    """The workers run as another user than the unit: each leaves the shared ring and has its own."""
    need(machine, "nginx.service")
    trace(machine, "nginx.service")
    wait_ring(machine, "nginx")
    workers = machine.wait_for("workers", lambda: nginx_workers(machine))
    assert all(pids == [int(name.rpartition(".")[2])] for name, pids in workers.items()), workers
    assert [p["pid"] for p in ring(machine, "nginx")["processes"]] == [machine.main_pid("nginx.service")]
    assert machine.run("curl", "-s", "-o", "/dev/null", "http://127.0.0.1:80/").returncode == 0
    machine.run("systemctl", "reload", "nginx")
    machine.wait_for("new workers", lambda: nginx_workers(machine).keys() - workers.keys())
    machine.wait_for("the end of the old workers", lambda: not nginx_workers(machine).keys() & workers.keys())
    machine.run("systemctl", "stop", "nginx")
    machine.wait_for("the end of the rings", lambda: not machine.text("find", "/run/librip", "-name", "nginx*"))


def test_dynamic_user(machine):
    """The user exists only while the service runs. ripd can read the ring, which stays after a kill."""
    machine.write("/etc/systemd/system/plain.service", "[Service]\nDynamicUser=yes\nExecStart=/bin/sleep 3600\n")
    machine.write("/etc/systemd/system/sleeper.service", HARDENED)
    trace(machine, "plain.service", "traced.service")
    wait_ring(machine, "plain")
    machine.run("systemctl", "stop", "plain")
    trace(machine, "sleeper.service", "traced.service")
    stall = stall_of(machine, "sleeper")
    assert stall["process"]["comm"] == "sleep" and stall["process"]["attested"], stall
    assert machine.text("stat", "-c", "%a %G", "/run/librip/sleeper").strip() == "640 ripd"
    machine.run("systemctl", "kill", "--signal=KILL", "sleeper")
    machine.wait_for("the dead ring", lambda: ring(machine, "sleeper")["dead"])
    machine.run("systemctl", "reset-failed", "sleeper")
    machine.run("systemctl", "start", "sleeper")
    machine.wait_for("the new ring", lambda: not ring(machine, "sleeper")["dead"])
    machine.wait_for("the old ring", lambda: ring(machine, "sleeper.prev")["dead"])
    machine.run("systemctl", "stop", "sleeper")


def episodes(machine, name):
    """Returns (episode, kind) of a ring, oldest first."""
    return [(event["episode"], event["kind"]) for event in reversed(machine.get(f"/events?ring={name}")["events"])]


def began(stall):
    return datetime.datetime.fromisoformat(stall["since"].replace("Z", "+00:00"))


def test_killed_during_a_stall(machine):
    """After ripd is killed, the stall is reported on the first scan with its whole duration. It begins and ends only
    once."""
    start_sleeper(machine, "stuck", "/run/librip/stuck", b"stuck", "-p", "DynamicUser=yes", "-p",
                  "ReadWritePaths=/run/librip")
    since = began(stall_of(machine, "stuck"))
    before = machine.wait_for("its event", lambda: episodes(machine, "stuck"))
    for _ in range(2):
        pid = machine.main_pid("ripd.service")
        machine.run("kill", "-KILL", str(pid))
        wait_replaced(machine, pid)
        assert abs(began(stall_of(machine, "stuck", 0)) - since) < datetime.timedelta(seconds=3), "another begin"
        assert episodes(machine, "stuck") == before, episodes(machine, "stuck")
    machine.run("systemctl", "stop", "ripd")
    machine.run("systemctl", "stop", "stuck")  # while ripd does not run
    machine.run("systemctl", "start", "ripd")
    machine.wait_for("its end", lambda: len(episodes(machine, "stuck")) > 1)
    assert episodes(machine, "stuck") == [*before, (before[0][0], "end")], episodes(machine, "stuck")
    assert len(entries(machine, "begin", "stuck")) == 1, entries(machine, "begin", "stuck")


def test_names_of_locations(machine):
    """Functions in a program of another user, found by a helper process with even fewer rights than ripd."""
    machine.write("/etc/systemd/system/other.service", "[Service]\nDynamicUser=yes\nRuntimeDirectory=other\n"
                  "ExecStart=ripd --listen unix:/run/other/socket\n")
    trace(machine, "other.service", "traced.service")
    wait_ring(machine, "other")
    machine.wait_for("a location with a name", lambda: [
        place for thread in threads(machine, "other") for place in thread["trail"]
        if place["module"] == "ripd" and place["function"]])
    machine.run("systemctl", "stop", "other")


def test_hidden_processes(machine):
    """On a host where users cannot see processes of other users, ripd still does."""
    machine.run("mount", "-o", "remount,hidepid=invisible", "/proc")
    machine.run("systemctl", "restart", "ripd")
    start_sleeper(machine, "hidden", "/run/librip/hidden", b"hidden", "-p", "DynamicUser=yes", "-p",
                  "ReadWritePaths=/run/librip")
    process = wait_ring(machine, "hidden")["processes"][0]
    assert process["pid"] == machine.main_pid("hidden.service") and process["attested"], process
    machine.run("systemctl", "stop", "hidden")
    machine.run("mount", "-o", "remount,hidepid=off", "/proc")


def test_shared_memory_of_others(machine):
    """In /dev/shm a ring has the group of its owner. ripd reports that it may not read it, with the reason."""
    for unit, mode in (("closed", "0640"), ("open", "0644")):
        start_sleeper(machine, unit, f"/dev/shm/{unit}", unit.encode(), "-p", "User=nobody")
        machine.wait_for("the file", lambda path=f"/dev/shm/{unit}", mode=mode: machine.run("chmod", mode, path))
    closed = wait_ring(machine, "closed")
    assert closed["health"] != "readable" and closed["reason"], closed
    machine.wait_for("the readable ring", lambda: ring(machine, "open")["health"] == "readable")
    assert stall_of(machine, "open")["name"] == "open"
    machine.run("systemctl", "stop", "closed", "open")


def test_hostile_name(machine):
    """The name is one value in JSON and in the journal. It creates no field, no entry and no control sequence."""
    machine.run("systemctl", "restart", "systemd-journald")  # new entries must work after a restart of the journal
    start_sleeper(machine, "hostile", "/run/librip/hostile", HOSTILE, "-p", "DynamicUser=yes", "-p",
                  "ReadWritePaths=/run/librip")
    stall = stall_of(machine, "hostile")
    assert bytes.fromhex(stall["name_hex"]) == HOSTILE, stall
    begin = machine.wait_for("its entry", lambda: entries(machine, "begin", "hostile"))[0]
    assert field(begin, "RIPD_NAME") == HOSTILE, begin
    for entry in machine.journal("-u", "ripd.service"):
        assert "RIPD_FORGED" not in entry and entry["MESSAGE"] != "forged", entry
        assert isinstance(entry["MESSAGE"], str) and entry["MESSAGE"].isprintable(), entry
    machine.run("systemctl", "stop", "hostile")


TESTS = [test_redis_server, test_nginx, test_shorter_threshold, test_dynamic_user, test_killed_during_a_stall,
         test_names_of_locations, test_hidden_processes, test_shared_memory_of_others, test_hostile_name]
