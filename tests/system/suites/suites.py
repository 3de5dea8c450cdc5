# SPDX-License-Identifier: Apache-2.0
"""The suites: what runs a part of each, plain or traced, and how the result of every test in it is read. `only` names
the tests of the part that are wanted; if it is empty, or where they cannot be chosen, all run."""
import glob
import os
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree

LIMIT_S = 600.0  # of one part
ALL = "all of it"
TIMED_OUT = {ALL: "timed out"}
STATUS = "exit status"


def run(command, folder, environment):
    """The exit status, or None after LIMIT_S; and the output. Nothing of it is left running."""
    with open(folder + "/output", "w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=output, start_new_session=True)
        try:
            status = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        output.seek(0)
        return status, output.read()


class Python:
    """Python's own tests, a module at a time."""
    NAME = "python"
    PYTHON = "/usr/bin/python3"
    FAILURES = {"error", "failure", "timed out"}
    TESTS_MIN = 2000
    LEFT_OUT = {"*VSOCK*": "they hang without tracing as well where the kernel has the family, but no host answers"}
    SAMPLE = """
        test_asyncio test_multiprocessing_fork test_concurrent_futures test_subprocess test_signal test_threading
        test_thread test_threading_local test_threadsignals test_queue test_socket test_socketserver test_select
        test_selectors test_epoll test_poll test_fork1 test_wait3 test_wait4 test_popen test_pty test_os test_posix
        test_fcntl test_eintr test_faulthandler""".split()
    LARGER = """
        test_multiprocessing_forkserver test_multiprocessing_spawn test_multiprocessing_main_handling
        test_threadedtempfile test_openpty test_io test_fileio test_pipes test_asyncore test_asynchat test_httpservers
        test_ioctl test_mmap test_ssl test_cmd_line test_atexit test_gc test_importlib test_import test_sys test_time
        test_readline test_mailbox test_shutil test_tempfile test_smtplib test_telnetlib test_xmlrpc
        test_urllib2_localnet test_logging test_file test_resource test_ctypes test_audit test_pdb
        test_cmd_line_script test_sqlite3 test_imaplib test_poplib test_ftplib test_httplib""".split()

    def __init__(self, environment):
        self.environment = environment

    def lacks(self):
        there = subprocess.run([self.PYTHON, "-c", "import test.test_threading"], capture_output=True)
        return "" if there.returncode == 0 else "no libpython3-testsuite"

    def parts(self, larger):
        return self.SAMPLE + (self.LARGER if larger else [])

    def results(self, part, wrap, folder, _, only):
        listed = folder + "/results.xml"
        chosen = [] if any(" " in name for name in only - {STATUS}) else only - {STATUS}
        flags = [*(f"--ignore={pattern}" for pattern in self.LEFT_OUT), *(f"--match={name}" for name in chosen)]
        status, _ = run(wrap([self.PYTHON, "-m", "test", "--junit-xml", listed, "-u", "network", *flags, part]),
                        folder, self.environment)
        if status is None:
            return TIMED_OUT
        results = {STATUS: str(status)}
        for case in xml.etree.ElementTree.parse(listed).iter("testcase") if os.path.exists(listed) else ():
            results[case.get("name", "")] = " ".join(sorted({child.tag for child in case} & {
                "failure", "error", "skipped"})) or "ok"
        return results


class Redis:
    """The unit tests of redis' source package against the installed servers, a file of them at a time."""
    NAME = "redis"
    FAILURES = {"err", "exception", "timed out"}
    TESTS_MIN = 1000
    LEFT_OUT = {}
    PORTS_EACH = 400  # from FIRST_PORT on, for each part that runs at the same time; all that is taken it skips
    FIRST_PORT = 12000
    PROGRAMS = "server cli benchmark check-aof check-rdb sentinel".split()
    RESULT = re.compile(r"^\[(ok|err|ignore|skip|exception)\]: (.*?)(?: \(\d+ ms\)| in tests/\S+)?$", re.M)
    COLOR = re.compile(r"\x1b\[[0-9;]*m")
    LONGEST = {"unit/cluster", "unit/cluster/links", "unit/memefficiency", "unit/maxmemory", "unit/obuf-limits"}

    def __init__(self, environment, folder):
        self.environment, self.folder, self.source = environment, folder, None

    def lacks(self):
        missing = [name for name in ("redis-server", "tclsh", "dpkg-source") if not shutil.which(name)]
        if missing:
            return "no " + " ".join(missing)
        self.source = self.fetch()
        return "" if self.source else "its source package cannot be had"

    def fetch(self):
        """The folder of the source of what is installed, by the machine's own archives and a list of our own."""
        targets = subprocess.run(["apt-get", "indextargets", "--format", "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)",
                                  "Created-By: Packages", "Origin: Debian"], capture_output=True, text=True)
        with open(self.folder + "/sources.list", "w", encoding="utf-8") as file:
            file.write("\n".join(sorted(set(targets.stdout.splitlines()))) + "\n")
        for folder in ("lists/partial", "cache/archives/partial"):
            os.makedirs(f"{self.folder}/{folder}")
        with open(self.folder + "/apt.conf", "w", encoding="utf-8") as file:
            file.write(f'Dir::Etc::sourcelist "{self.folder}/sources.list"; Dir::Etc::sourceparts "-";\n'
                       f'Dir::State::lists "{self.folder}/lists"; Dir::Cache "{self.folder}/cache";\n'
                       'APT::Sandbox::User "root";\n')
        version = subprocess.run(["dpkg-query", "-W", "-f", "${source:Version}", "redis-server"], capture_output=True,
                                 text=True).stdout
        for command in (["update"], ["source", "redis=" + version]):
            done = subprocess.run(["apt-get", "-qq", *command], cwd=self.folder, capture_output=True, text=True,
                                  env={**os.environ, "APT_CONFIG": self.folder + "/apt.conf"})
            if done.returncode != 0:
                print(done.stderr)
        return next(iter(glob.glob(self.folder + "/redis-*/")), None)

    def parts(self, larger):
        listed = subprocess.run(["tclsh", "tests/test_helper.tcl", "--list-tests"], cwd=self.source, check=True,
                                capture_output=True, text=True).stdout.split()
        return [name for name in listed if name.startswith("unit/") and (larger or name not in self.LONGEST)]

    def results(self, part, wrap, folder, slot, _):
        """In a tree that has the source's tests and, where they look for what was built, what is installed."""
        os.makedirs(folder + "/tests/tmp")
        os.mkdir(folder + "/src")
        for name in os.listdir(self.source + "/tests"):
            if name != "tmp":
                os.symlink(f"{self.source}/tests/{name}", f"{folder}/tests/{name}")
        for name in self.PROGRAMS:
            if shutil.which("redis-" + name):
                os.symlink(shutil.which("redis-" + name), f"{folder}/src/redis-{name}")
        ports = ["--baseport", str(self.FIRST_PORT + slot * self.PORTS_EACH), "--portcount", str(self.PORTS_EACH - 50)]
        status, output = run(wrap(["tclsh", "tests/test_helper.tcl", "--clients", "1", "--durable", *ports, "--single",
                                   part]), folder, self.environment)
        if status is None:
            return TIMED_OUT
        return {STATUS: str(status),
                **{name: outcome for outcome, name in self.RESULT.findall(self.COLOR.sub("", output))}}
