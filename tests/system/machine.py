# SPDX-License-Identifier: Apache-2.0
"""A machine for tests: the systemd of this host, booted in its own namespaces, with a temporary root.

It touches only one directory below /tmp and one cgroup of the host, which close() removes, and a terminal. Everything
that it installs or writes goes to a tmpfs over the root of this host, or over another root; see machine_init.
"""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

PATIENCE_S = 60
BOOT_S = 90
SYSTEMD = "/lib/systemd/systemd"
TOOLS = ("unshare", "nsenter", "setpriv", "pivot_root", "journalctl", "systemctl")
INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "machine_init")
NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")
PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000  # from <linux/ptrace.h> and <linux/wait.h>


class Skip(Exception):
    """This host lacks something that a machine needs."""


def own_cgroup():
    """Returns the directory of this process's cgroup in the unified hierarchy."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        mounts = [line.split(" - ") for line in file]
    places = [left.split()[4] for left, right in mounts if right.split()[0] == "cgroup2"]
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        paths = [line.rstrip("\n")[3:] for line in file if line.startswith("0::")]
    if not places or not paths:
        raise Skip("no unified cgroup hierarchy is mounted")
    return os.path.join(places[0], paths[0].lstrip("/"))


def check_host():
    if os.geteuid() != 0:
        raise Skip("needs root, to boot systemd in namespaces")
    if not os.access(SYSTEMD, os.X_OK):
        raise Skip(f"{SYSTEMD} is not installed (Debian package systemd)")
    for tool in TOOLS:
        if shutil.which(tool) is None:
            raise Skip(f"{tool} is not installed")
    probe = subprocess.run(["unshare", *NAMESPACES, "--fork", "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        raise Skip(f"namespaces are not permitted: {probe.stderr.strip()}")


def wait_for(what, condition, seconds=PATIENCE_S):
    """Returns the first true value of condition. condition may raise errors of things that do not exist yet."""
    end = time.monotonic() + seconds
    while True:
        try:
            value = condition()
        except (AssertionError, StopIteration, IndexError, KeyError, TypeError, ValueError, OSError) as error:
            value = error
        if value and not isinstance(value, Exception):
            return value
        if time.monotonic() > end:
            raise AssertionError(f"timeout after {seconds} s: waiting for {what}; the last value is {value!r}")
        time.sleep(0.1)


class Machine:
    def __init__(self, tree, lower="/"):
        """Boots the system below lower, with the files of tree copied over its root."""
        check_host()
        self.console_lines = []
        self.unshare = self.work = self.cgroup = None
        home = own_cgroup()
        try:
            self.work = tempfile.mkdtemp(prefix="rip-machine-", dir="/tmp")
            self.cgroup = os.path.join(home, os.path.basename(self.work))
            try:
                os.mkdir(self.cgroup)
            except OSError as error:
                raise Skip(f"a cgroup cannot be created: {error}") from error
            self.start(tree, lower, home)
            self.wait_booted()
        except BaseException:
            self.close()
            raise

    def start(self, tree, lower, home):
        self.console, terminal = os.openpty()
        threading.Thread(target=self.read_console, daemon=True).start()
        enter = f'echo $$ >"{self.cgroup}/cgroup.procs" && exec "$@"'
        self.unshare = subprocess.Popen(
            ["sh", "-c", enter, "sh", "setpriv", "--pdeathsig=KILL", "unshare", *NAMESPACES, "--fork",
             "--kill-child=KILL", INIT, self.work, tree, os.ttyname(terminal), lower],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = wait_for("the first process", self.first_process, 20)
        # systemd moves every process of its cgroup to init.scope, but unshare is not in its pid namespace.
        with open(os.path.join(home, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(self.unshare.pid))
        self.unshare.stdin.write("go\n")
        self.unshare.stdin.close()
        os.close(terminal)

    def first_process(self):
        if self.unshare.poll() is not None:
            raise Skip(f"unshare: {self.unshare.stderr.read().strip()}")
        with open(f"/proc/{self.unshare.pid}/task/{self.unshare.pid}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    def wait_booted(self):
        wait_for("the start of systemd", self.is_up, BOOT_S)

    def is_up(self):
        status = self.unshare.poll()
        if status is not None:
            text = self.unshare.stderr.read().strip()
            if status == 77:
                raise Skip(text)
            raise RuntimeError(f"the machine ended with status {status}: {text}\n{self.console_text()}")
        return self.run("systemctl", "is-system-running", check=False).stdout.strip() in ("running", "degraded")

    def read_console(self):
        while True:
            try:
                data = os.read(self.console, 4096)
            except OSError:
                return
            if not data:
                return
            self.console_lines.append(data.decode(errors="replace"))

    def console_text(self):
        return "".join(self.console_lines)[-8000:]

    # --- inside the machine ---

    def run(self, *argv, check=True, stdin=None, seconds=PATIENCE_S):
        """Runs a command in the machine as root, outside of its cgroups."""
        result = subprocess.run(
            ["nsenter", "--target", str(self.pid), *NAMESPACES, "--root", "--wd", *argv], input=stdin,
            capture_output=True, text=True, errors="surrogateescape", check=False, timeout=seconds)
        assert not check or result.returncode == 0, \
            f"{' '.join(argv)}: status {result.returncode}\n{result.stdout}{result.stderr}"
        return result

    def text(self, *argv):
        return self.run(*argv).stdout

    def write(self, path, text):
        self.run("mkdir", "-p", os.path.dirname(path))
        self.run("tee", path, stdin=text)

    def drop_in(self, unit, text, name="50-test.conf"):
        self.write(f"/etc/systemd/system/{unit}.d/{name}", text)
        self.run("systemctl", "daemon-reload")

    def remove_drop_in(self, unit, name="50-test.conf"):
        self.run("rm", f"/etc/systemd/system/{unit}.d/{name}")
        self.run("systemctl", "daemon-reload")

    def property(self, unit, name):
        return self.text("systemctl", "show", "--value", "--property", name, unit).strip()

    def main_pid(self, unit):
        """Returns the pid in the machine's pid namespace, or 0 if the unit does not run."""
        return int(self.property(unit, "MainPID"))

    def host_pid(self, pid):
        """Returns the pid on the host of a process of the machine."""
        namespace = os.readlink(f"/proc/{self.pid}/ns/pid")
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{entry}/ns/pid") != namespace:
                    continue
                with open(f"/proc/{entry}/status", encoding="utf-8", errors="replace") as file:
                    inner = [line.split()[-1] for line in file if line.startswith("NSpid:")]
            except OSError:
                continue
            if inner == [str(pid)]:
                return int(entry)
        raise AssertionError(f"no process {pid} in the machine")

    def request(self, path, socket_path=None, headers=()):
        """Returns (status, body) of a GET; the status is 0 if there is no answer."""
        argv = ["curl", "-s", "-m", "30", "-o", "-", "-w", "\n%{http_code}"]
        argv += ["--unix-socket", socket_path] if socket_path else []
        argv += [part for header in headers for part in ("-H", header)]
        body, _, status = self.run(*argv, f"http://127.0.0.1:7470{path}", check=False).stdout.rpartition("\n")
        return int(status), body

    def get(self, path, socket_path=None):
        status, body = self.request(path, socket_path)
        assert status == 200, f"{path}: {status} {body}"
        return json.loads(body)

    def stalls(self, query=""):
        return self.get("/stalls" + query)["stalls"]

    def journal(self, *arguments):
        """Returns the entries as objects. A field that is not text is a list of its bytes."""
        result = self.run("journalctl", "--no-pager", "-o", "json", "--all", *arguments, check=False)
        assert result.stderr == "", result.stderr  # status 1 without a message means that no entry matches
        return [json.loads(line) for line in result.stdout.splitlines()]

    def wait_for(self, what, condition, seconds=PATIENCE_S):
        return wait_for(what, condition, seconds)

    # --- end of the machine ---

    def explain(self):
        """Prints the state of the machine, to help find the cause of a failed test."""
        for argv in (("systemctl", "--no-pager", "--all", "list-units", "--type=service,socket", "--state=loaded"),
                     ("systemctl", "--no-pager", "--failed"), ("systemctl", "--no-pager", "-l", "status", "ripd*"),
                     ("journalctl", "--no-pager", "-n", "150", "-o", "short-precise")):
            print(f"\n# {' '.join(argv)}", flush=True)
            result = self.run(*argv, check=False)
            print((result.stdout + result.stderr).encode(errors="backslashreplace").decode())
        print(f"\n# console\n{self.console_text()}", flush=True)

    def close(self):
        """Kills the first process of the machine, which ends all others."""
        if self.unshare is not None:
            self.unshare.kill()  # its child dies, too (--kill-child), and with it the pid namespace
            self.unshare.wait()
            self.unshare.stderr.close()
        if self.cgroup is not None and os.path.isdir(self.cgroup):
            wait_for("the end of the machine's processes", self.remove_cgroup, 30)
        if self.work is not None:
            os.rmdir(self.work)  # it is empty: the tmpfs was in the machine's mount namespace

    def remove_cgroup(self):
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            os.rmdir(folder)
        return True


class Tracer:
    """Stops a single thread with ptrace, like a debugger, until the thread dies."""

    def __init__(self, tid):
        self.tid = tid
        libc = ctypes.CDLL(None, use_errno=True)
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            if libc.ptrace(request, tid, None, None) != 0:
                raise OSError(ctypes.get_errno(), "ptrace")
        os.waitpid(tid, WALL)

    def reap(self):
        """Must be called from time to time: the tracer of a dead thread must wait for it before the parent can."""
        try:
            os.waitpid(self.tid, WALL | os.WNOHANG)
        except ChildProcessError:
            pass


class Stopper:
    """Stops a whole process."""

    def __init__(self, pid):
        os.kill(pid, signal.SIGSTOP)

    def reap(self):
        """Does nothing: the parent waits for the process."""
