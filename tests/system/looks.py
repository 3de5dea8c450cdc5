# SPDX-License-Identifier: Apache-2.0
"""Functions that read rings, threads, stalls and journal entries by name; and a program that hangs."""

# Hangs immediately, with any name that an id can have.
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

# Waits at one end of a socket pair. A child has the other end.
TALKER = """
import ctypes, os, signal, socket, sys
librip = ctypes.CDLL("librip.so.1", use_errno=True)
ours, theirs = socket.socketpair()
if os.fork() == 0:
    ours.close()
    while True: signal.pause()
theirs.close()
if not librip.rip_create_ring(sys.argv[1].encode(), 16):
    sys.exit(f"no ring: {ctypes.get_errno()}")
librip.rip_init(0, b"talker", 6, 0, 0)
librip.rip_snap()
ours.recv(1)
"""


def ring(machine, name):
    return next(r for r in machine.get("/rings")["rings"] if r["ring"] == name)


def threads(machine, name):
    return machine.get(f"/threads?ring={name}&trail=32")["threads"]


def wait_ring(machine, name):
    return machine.wait_for(f"ring {name}", lambda: ring(machine, name))


def stall_of(machine, name, seconds=60):
    return machine.wait_for(f"a stall in {name}", lambda: machine.stalls(f"?ring={name}")[0], seconds)


def field(entry, name):
    """Returns the bytes of a field; the journal shows text that is not printable as a list of bytes."""
    value = entry[name]
    return bytes(value) if isinstance(value, list) else value.encode()


def entries(machine, event, ring_name):
    """Returns journal entries about the begin or the end of stalls in a ring."""
    return machine.journal("-u", "ripd.service", f"RIPD_EVENT={event}", f"RIPD_RING={ring_name}")


def start(machine, unit, options, code, *arguments):
    machine.run("systemd-run", "--quiet", f"--unit={unit}", *options, "/usr/bin/python3", "-c", code, *arguments)


def start_sleeper(machine, unit, path, name, *options):
    start(machine, unit, options, SLEEPER, path, name.hex())
