# SPDX-License-Identifier: Apache-2.0
"""Runs librip/GUIDE.md: builds and runs its programs, and checks that commands print what the comments say."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
BUILD = os.path.abspath(f"{w.BIN}/..")
BINDINGS = {"python": "python*/_rip.so", "ruby": "ruby*/rip.so"}
TITLE = re.compile(r"\A(?://|/\*|#) (\S+?\.\w+)")  # the first line of a program has the name of its file


class Section:
    """The commands of one section of the guide, in their own folder."""

    def __init__(self, world, text):
        self.title, body = text.split("\n", 1)
        self.folder = os.path.join(world.made, re.sub(r"\W+", "-", self.title))
        os.mkdir(self.folder)
        self.lines, self.expected = [], []  # commands to run, and commands with their expected output
        self.lacks = None
        for language, code in re.findall(r"^```(\w+)\n(.*?)^```$", body, re.S | re.M):
            if language == "sh":
                self.read(code)
            else:
                if language in BINDINGS and not glob.glob(os.path.join(BUILD, "lib/librip", BINDINGS[language])):
                    self.lacks = f"the binding for {language} is not built"
                with open(os.path.join(self.folder, TITLE.match(code).group(1)), "w", encoding="utf-8") as file:
                    file.write(code.replace("/dev/shm/", world.dir + "/"))

    def read(self, code):
        for line in code.splitlines():
            found = re.match(r"((?:rip (?:stalls|show)|bpftrace|perf|gdb)\b.*?) +# (.*)", line)
            if found:
                self.expected.append((found.group(1), found.group(2).split(", ")))
            else:
                self.lines.append(line)

    def start(self, world, prefix, environment):
        script = "\n".join([*self.lines, "echo $! >pid"]).replace("/dev/shm/", world.dir + "/")
        script = script.replace("/usr/share/", prefix + "/share/")
        with open(os.path.join(self.folder, "log.txt"), "wb") as log:
            shell = subprocess.Popen(["bash", "-e", "-c", script], cwd=self.folder, env=environment, stdout=log,
                                     stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        world.processes.append(shell)
        return shell

    def log(self):
        with open(os.path.join(self.folder, "log.txt"), encoding="utf-8", errors="replace") as file:
            return f"{self.title}: {file.read()}"


def install(world):
    prefix = os.path.join(world.made, "prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    libraries = os.path.dirname(glob.glob(f"{prefix}/lib*/**/librip.so.1", recursive=True)[0])
    return prefix, {**os.environ, "PATH": f"{prefix}/bin:{prefix}/sbin:/usr/bin:{os.environ['PATH']}", "NO_COLOR": "1",
                    "HOME": world.made, "PYTHONPATH": f"{BUILD}/lib/python",
                    "PKG_CONFIG_PATH": f"{libraries}/pkgconfig", "LD_LIBRARY_PATH": libraries, "RIP_DIR": world.dir,
                    "RIPD_URL": f"http://127.0.0.1:{world.port}"}


def is_usable(tool, path):
    """Can the tool trace on this machine? In a container it often cannot."""
    if shutil.which(tool, path=path) is None:
        return False
    if tool == "perf":
        return os.access("/sys/kernel/tracing/uprobe_events", os.W_OK)
    with subprocess.Popen(["sleep", "600"]) as other:
        trial = {"bpftrace": ["bpftrace", "-e", "BEGIN { exit(); }"],
                 "gdb": ["gdb", "-batch", "-ex", "detach", "-p", str(other.pid)]}.get(tool, ["true"])
        done = subprocess.run(trial, capture_output=True, text=True, check=False, timeout=w.PATIENCE_S)
        other.kill()
    return done.returncode == 0 and (tool != "gdb" or "detached" in done.stdout)


def wait_for_line(world, command, fragments, environment, section):
    """Waits until one line of the command's output contains all fragments."""
    tool = command.split()[0]
    if not is_usable(tool, environment["PATH"]):
        print(f"        skipped, {tool} cannot be used on this machine: {command}")
        return
    with open(os.path.join(section.folder, "pid"), encoding="ascii") as file:
        command = command.replace("$!", file.read().strip())
    said = []

    def is_there():
        done = subprocess.run(["bash", "-c", command], env=environment, cwd=section.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors="replace", check=False, timeout=w.PATIENCE_S)
        said[:] = done.stdout.splitlines()
        if tool == "perf":  # the kernel keeps the probe of perf
            subprocess.run(["perf", "probe", "-d", "sdt_app:order"], env=environment, capture_output=True, check=False)
        return any(all(fragment in line for fragment in fragments) for line in said)
    try:
        world.wait_for(is_there)
    except AssertionError as error:
        raise AssertionError("\n".join([f"{command}: no line contains {fragments}", *said, section.log()])) from error


def every_section(world):
    with open(os.path.join(TOP, "librip/GUIDE.md"), encoding="utf-8") as file:
        _intro, *texts = re.split(r"^## ", file.read(), flags=re.M)
    prefix, environment = install(world)
    sections = [Section(world, text) for text in texts]
    for section in sections:
        if section.lacks:
            print(f"        skipped, {section.lacks}: {section.title}")
    sections = [section for section in sections if not section.lacks]
    shells = [section.start(world, prefix, environment) for section in sections]
    try:
        for section, shell in zip(sections, shells):
            assert shell.wait(w.PATIENCE_S) == 0, section.log()
            for command, fragments in section.expected:
                wait_for_line(world, command, fragments, environment, section)
            print(f"        {section.title}")
    finally:
        for shell in shells:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # all processes have ended


w.run([every_section])
