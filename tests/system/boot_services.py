# SPDX-License-Identifier: Apache-2.0
"""Services as Debian ships them, traced by the drop-ins as installed; who may read which ring; hostile names."""
import subprocess

from machine import NAMESPACES, Skip

EXAMPLES = "/usr/share/doc/librip/systemd"
# 63 bytes: a forged journal field, an escape sequence, HTML, a quote, invalid UTF-8.
HOSTILE = b'\x1b]0;gone\x07"<b>\\\nRIPD_FORGED=1\n\nMESSAGE=forged\xff\xfe{"a":1}'.ljust(63, b"'")
SLEEPER = """
import ctypes, sys, time
librip = ctypes.CDLL("librip.so.1", use_errno=True)
name = bytes.fromhex(sys.argv[2])
if not librip.rip_create_ring(sys.argv[1].encode(), 16):
    sys.exit(f"no ring: {ctypes.get_errno()}")
librip.rip_init(0, name, len(name), 0, 0)
librip.rip_snap()
time.sleep(3600)
"""


def need(machine, unit):
    if machine.run("systemctl", "cat", unit, check=False).returncode != 0:
        raise Skip(f"{unit} is not installed")


def trace(machine, unit, example=None):
    """The installed drop-in, as its first lines say."""
    folder = f"/etc/systemd/system/{unit}.d"
    machine.run("mkdir", "-p", folder)
    machine.run("cp", f"{EXAMPLES}/{example or unit}.d/librip.conf", folder)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", unit)
    assert machine.property(unit, "ActiveState") == "active"


def ring(machine, name):
    return next(r for r in machine.get("/rings")["rings"] if r["ring"] == name)


def threads(machine, name):
    return machine.get(f"/threads?ring={name}")["threads"]


def wait_ring(machine, name):
    return machine.wait_for(f"ring {name}", lambda: ring(machine, name))


def stall_of(machine, name, seconds=60):
    return machine.wait_for(f"a stall in {name}", lambda: machine.stalls(f"?ring={name}")[0], seconds)


def test_redis_server(machine):
    """Debian's unit takes away more than most; nothing of that is given back but one directory."""
    need(machine, "redis-server.service")
    with open(f"/proc/{machine.pid}/root/etc/redis/redis.conf", "a", encoding="utf-8") as file:
        file.write("\nenable-debug-command local\n")
    trace(machine, "redis-server.service")
    unit_pid = machine.main_pid("redis-server.service")
    assert machine.property("redis-server.service", "StatusText") == "Ready to accept connections"
    processes = wait_ring(machine, "redis-server")["processes"]
    assert [(p["pid"], p["attested"]) for p in processes] == [(unit_pid, True)], processes
    assert machine.text("stat", "-c", "%a %U %G", "/run/librip/redis-server").strip() == "640 redis ripd"
    machine.wait_for("its threads", lambda: len(threads(machine, "redis-server")) >= 4)
    assert machine.text("redis-cli", "ping").strip() == "PONG"

    frozen = subprocess.Popen(["nsenter", "--target", str(machine.pid), *NAMESPACES, "--root", "--wd", "redis-cli",
                               "DEBUG", "SLEEP", "12"], stdout=subprocess.DEVNULL)
    stall = stall_of(machine, "redis-server")
    assert (stall["id"], stall["tid"], stall["name"]) == (unit_pid, unit_pid, "redis-server"), stall
    assert stall["process"]["attested"] and stall["location"]["module"], stall
    assert stall["frozen_for_ms"] >= stall["threshold_ms"] == 5000, stall
    assert frozen.wait(60) == 0
    machine.wait_for("its end", lambda: not machine.stalls("?ring=redis-server"))


def test_nginx(machine):
    """A unit that forks, whose workers are another user's than the ring."""
    need(machine, "nginx.service")
    trace(machine, "nginx.service")
    wait_ring(machine, "nginx")
    machine.wait_for("main process and workers", lambda: len(ring(machine, "nginx")["processes"]) >= 2)
    pids = {p["pid"] for p in ring(machine, "nginx")["processes"]}
    assert machine.main_pid("nginx.service") in pids, pids
    assert machine.run("curl", "-s", "-o", "/dev/null", "http://127.0.0.1:80/").returncode == 0
    machine.run("systemctl", "reload", "nginx")
    machine.wait_for("new workers in the same ring", lambda: {p["pid"] for p in ring(machine, "nginx")["processes"]
                                                              if not p["dead"]} - pids)
    machine.run("systemctl", "stop", "nginx")
    machine.wait_for("the end of the ring", lambda: machine.run("ls", "/run/librip/nginx", check=False).returncode)


def test_dynamic_user(machine):
    """A user that exists while the service runs; its ring is ripd's to read, and stays after a kill."""
    machine.write("/etc/systemd/system/sleeper.service",
                  "[Service]\nDynamicUser=yes\nPrivateUsers=yes\nProtectProc=invisible\nExecStart=/bin/sleep 3600\n")
    trace(machine, "sleeper.service", "traced.service")
    stall = stall_of(machine, "sleeper")
    assert stall["process"]["comm"] == "sleep" and stall["process"]["attested"], stall
    assert machine.text("stat", "-c", "%a %G", "/run/librip/sleeper").strip() == "640 ripd"
    machine.run("systemctl", "kill", "--signal=KILL", "sleeper")
    machine.wait_for("the dead", lambda: ring(machine, "sleeper")["dead"])
    machine.run("systemctl", "reset-failed", "sleeper")
    machine.run("systemctl", "start", "sleeper")
    machine.wait_for("the new ring", lambda: not ring(machine, "sleeper")["dead"])
    machine.wait_for("the old one", lambda: ring(machine, "sleeper.prev")["dead"])
    machine.run("systemctl", "stop", "sleeper")


def start_sleeper(machine, unit, path, name, *options):
    machine.run("systemd-run", "--quiet", f"--unit={unit}", *options, "/usr/bin/python3", "-c", SLEEPER, path,
                name.hex())


def test_shared_memory_of_others(machine):
    """In /dev/shm a ring has its owner's group: what ripd may not read is told, with the reason."""
    for unit, mode in (("closed", "0640"), ("open", "0644")):
        start_sleeper(machine, unit, f"/dev/shm/{unit}", unit.encode(), "-p", "User=nobody")
        machine.wait_for("the file", lambda path=f"/dev/shm/{unit}", mode=mode: machine.run("chmod", mode, path))
    closed = wait_ring(machine, "closed")
    assert closed["health"] != "readable" and closed["reason"], closed
    machine.wait_for("the readable one", lambda: ring(machine, "open")["health"] == "readable")
    assert stall_of(machine, "open")["name"] == "open"
    machine.run("systemctl", "stop", "closed", "open")


def test_hostile_name(machine):
    """It is one value, in JSON as in the journal: no field, no entry and no control sequence of its own."""
    start_sleeper(machine, "hostile", "/run/librip/hostile", HOSTILE, "-p", "DynamicUser=yes", "-p",
                  "ReadWritePaths=/run/librip")
    stall = stall_of(machine, "hostile")
    assert bytes.fromhex(stall["name_hex"]) == HOSTILE, stall
    machine.wait_for("its entry", lambda: machine.journal("-u", "ripd.service", "--grep", 'ring="hostile" .* name='))
    for entry in machine.journal("-u", "ripd.service"):
        assert "RIPD_FORGED" not in entry and entry["MESSAGE"] != "forged", entry
        assert isinstance(entry["MESSAGE"], str) and entry["MESSAGE"].isprintable(), entry
    machine.run("systemctl", "stop", "hostile")


TESTS = [test_redis_server, test_nginx, test_dynamic_user, test_shared_memory_of_others, test_hostile_name]
