# SPDX-License-Identifier: Apache-2.0
"""Captures of a real server and of a linked program, for each kind of end, shown in a minimal root.

This root has the files of the command's package with its shared libraries, and the programs: no ripd, no rings, and
neither /proc nor /dev.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, "e2e"), os.path.join(TOP, "e2e", "ripd")]
import world as w  # noqa: E402
from captures_kit import RIP, CapturingWorld, watched  # noqa: E402

BUILD = os.environ["RIP_BUILD"]
PROGRAMS = (f"{w.BIN}/puppet", "/usr/bin/redis-server")


def libraries(path):
    # fails for files that are not programs
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    return re.findall(r"(/\S+) \(0x", done.stdout)


class BareRoot:
    """A tree for chroot."""

    def __init__(self, path):
        self.path = path
        subprocess.run(["cmake", "--install", BUILD, "--component", "command"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DESTDIR": path})
        found = subprocess.run(["find", path, "-name", "rip", "-type", "f", "-perm", "-1"], capture_output=True,
                               text=True, check=True).stdout.split()
        assert len(found) == 1, found
        self.rip = found[0].removeprefix(path)
        for name in subprocess.run(["find", path, "-type", "f", "-perm", "-1"], capture_output=True, text=True,
                                   check=True).stdout.split():
            self.add(*libraries(name))
        for program in filter(os.path.exists, PROGRAMS):
            self.add(program, *libraries(program))
        subprocess.run(["chmod", "-R", "a+rX", path], check=True)  # the user nobody looks up names

    def add(self, *names):
        for name in names:
            os.makedirs(os.path.dirname(self.path + name), exist_ok=True)
            shutil.copy(name, self.path + name)

    def dump(self, capture, *flags):
        """Returns the output of `rip dump` for a capture."""
        shutil.copy(capture, f"{self.path}/capture")
        done = subprocess.run(["chroot", self.path, self.rip, "dump", *flags, "/capture"], capture_output=True,
                              text=True, check=False, timeout=w.PATIENCE_S)
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout

    def dump_with(self, place, capture):
        """The same, and a name must be in the output, which may need several tries on a busy machine."""
        return w.wait_for(lambda: [text for text in [self.dump(capture)] if re.search(place, text)])[0]


class Redis:
    def __init__(self, world):
        self.socket = world.ring("redis.sock")
        self.process = subprocess.Popen(
            [RIP, "run", "--dir", world.dir, "--", "/usr/bin/redis-server", "--port", "0", "--unixsocket", self.socket,
             "--save", "", "--dir", world.made, "--enable-debug-command", "yes"], stdout=subprocess.DEVNULL)
        world.processes.append(self.process)
        self.pid = self.process.pid
        self.ring = f"redis-server.{self.pid}"
        self.await_ids(world)

    def await_ids(self, world):
        """Waits until all its threads have ids, and their states are known."""
        world.wait_for(lambda: self.ask("PING") == b"+PONG\r\n")
        world.wait_for(lambda: len(world.get(f"/threads?ring={self.ring}")["threads"]) >= 5)
        world.wait_scans(2)

    def ask(self, command, awaits=True):
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(w.PATIENCE_S)
                connection.connect(self.socket)
                connection.sendall(command.encode() + b"\r\n")
                return connection.recv(65536) if awaits else None
        except OSError:
            return None


def end_of(capture, how, **facts):
    """Checks how the process ended; before Linux 6.15 this is unknown."""
    if how != "executed" and capture["end"]["how"] == "unknown":
        print(f"skipped: the kernel does not report that the process {how}")
        return
    assert capture["end"]["how"] == how, capture
    for key, value in facts.items():
        assert capture["end"][key] == value, capture


def a_server(world):
    """A server is killed, crashes, and restarts itself by exec. A normal shutdown leaves no capture."""
    if not os.path.exists("/usr/bin/redis-server"):
        raise w.Skip("redis-server is not installed (Debian package redis-server)")
    server = Redis(world)
    server.ask("SHUTDOWN NOSAVE")
    assert server.process.wait(w.PATIENCE_S) == 0
    server = Redis(world)
    server.ask("DEBUG SLEEP 1000", awaits=False)
    world.wait_for(lambda: world.get(f"/stalls?ring={server.ring}")["stalls"])
    os.kill(server.pid, signal.SIGKILL)
    server.process.wait(w.PATIENCE_S)
    killed = world.capture_of(server.ring)
    end_of(killed, "killed", signal="SIGKILL")
    assert [(stall["name"], stall["cause"]) for stall in killed["stalls"]] == [("redis-server", "sleeping")], killed
    server = Redis(world)
    server.ask("DEBUG CRASH-AND-RECOVER", awaits=False)
    replaced = world.capture_of(server.ring)
    end_of(replaced, "executed")
    server.await_ids(world)  # the server has executed itself, and is traced again
    server.ask("DEBUG SEGFAULT", awaits=False)
    server.process.wait(w.PATIENCE_S)
    world.wait_for(lambda: [capture["ring"] for capture in world.captures()].count(server.ring) == 2)
    crashed = [capture for capture in world.captures() if capture["ring"] == server.ring][-1]
    end_of(crashed, "killed", signal="SIGSEGV")
    assert len(world.captures()) == 3
    shown = show_in_bare_root(world, [killed, replaced, crashed], [r"debugCommand \(", "", ""])  # redis has few symbols
    for capture, text in zip((killed, replaced, crashed), shown):
        assert f"redis-server[{capture['process']['pid']}]" in text, text
        assert re.search(r"name +redis-server\n", text), text
        if capture is not crashed:  # its signal handler ends its other threads
            assert capture["ids"] >= 5 and re.search(r"name +bio_close_file\n", text), text


def a_linked_program(world):
    """The capture has the thread, the function and the line, for each kind of end."""
    captures = []
    for number in (signal.SIGSEGV, signal.SIGKILL):
        app = watched(world, number.name)
        app.kill(number)
        app.process.wait()
        captures.append(world.capture_of(number.name))
        end_of(captures[-1], "killed", signal=number.name)
    for word, end in (("leave 3", {"how": "exited", "status": 3}), ("exec", {"how": "executed"})):
        app = watched(world, word.split(maxsplit=1)[0])
        app.process.stdin.write(word + "\n")
        app.process.stdin.flush()
        if word != "exec":
            app.process.wait()  # the kernel reports the end only after the wait
        captures.append(world.capture_of(word.split(maxsplit=1)[0]))
        end_of(captures[-1], **end)
    app = watched(world, "orderly")
    app.process.stdin.close()
    app.process.wait()
    world.wait_scans(3)
    assert len(world.captures()) == len(captures)
    places = [r"worker_main, \S*tests/e2e/ripd/puppet\.c:\d+"] * len(captures)
    for capture, text in zip(captures, show_in_bare_root(world, captures, places)):
        assert [stall["id"] for stall in capture["stalls"]] == [2], capture
        assert re.search(r"name +worker-1\n", text) and re.search(r"state +blocked\n", text), text


def show_in_bare_root(world, captures, places):
    """Shows the captures without ripd and rings. Each output must contain the location for it."""
    world.stop()
    kept = world.made + "-kept"
    os.rename(world.state_dir, kept)
    for name in os.listdir(world.made):
        if name.endswith(".txt"):
            continue
        os.unlink(world.ring(name))
    try:
        root = BareRoot(f"{world.programs}/root")
        paths = [capture["file"].replace(world.state_dir, kept) for capture in captures]
        for path in paths:
            assert root.dump(path, "--json").count("\n") > 1
        return [root.dump_with(place, path) for place, path in zip(places, paths)]
    finally:
        os.rename(kept, world.state_dir)
        world.start()


class SlowWorld(CapturingWorld):
    INTERVAL_MS = 5000


def immediately_after_the_end(world):
    """A capture does not wait for a scan, except after an exec, which needs confirmation."""
    app = world.puppet("killed")
    app.do("spawn 1 one snap")
    other = world.puppet("replaced")
    other.do("spawn 1 one snap")
    world.wait_for(lambda: {world.state(1, "killed"), world.state(1, "replaced")} == {"running"})
    world.wait_scans(1)  # both are watched, and the next scan is a whole interval away
    before, began = world.sequence(), time.monotonic()
    app.kill()
    world.capture_of("killed")
    if time.monotonic() - began < SlowWorld.INTERVAL_MS / 2000:  # unless the machine is very slow
        assert world.sequence() == before
    other.process.stdin.write("exec\n")
    other.process.stdin.flush()
    world.wait_for(lambda: os.readlink(f"/proc/{other.pid}/exe") != os.path.realpath(f"{w.BIN}/puppet"))
    before = world.sequence()
    world.capture_of("replaced")
    assert world.sequence() <= before + 3  # ripd may have needed one more scan


def main():
    if os.geteuid() != 0:
        w.skip_script("needs root, for chroot")
    if sys.argv[1:] != ["slow"]:
        subprocess.run([sys.executable, os.path.abspath(__file__), "slow"], check=True)
        w.run([a_server, a_linked_program], CapturingWorld)
    sys.argv[1:] = []
    w.run([immediately_after_the_end], SlowWorld)


main()
