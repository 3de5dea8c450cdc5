# SPDX-License-Identifier: Apache-2.0
"""The test suites: each runs a part, plain or traced, and reads the result of every test. `only` selects tests of a
part; if it is empty, or if tests cannot be selected, all run."""
import glob
import os
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree

LIMIT_S = 600.0  # for one part
ALL = "all of it"
TIMED_OUT = {ALL: "timed out"}
STATUS = "exit status"


def run(command, folder, environment):
    """Returns the exit status, or None after LIMIT_S, and the output. Kills all remaining processes."""
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


def fetch(folder, package, source):
    """Downloads the source of the installed version, or of a close one, from the machine's archives with a separate
    list. Returns its folder."""
    targets = subprocess.run(["apt-get", "indextargets", "--format", "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)",
                              "Created-By: Packages", "Origin: Debian"], capture_output=True, text=True)
    with open(folder + "/sources.list", "w", encoding="utf-8") as file:
        # The first of several archives has the source: archives for security do not keep outdated versions.
        file.write("\n".join(sorted(set(targets.stdout.replace("/ ", " ").splitlines()))) + "\n")
    for name in ("lists/partial", "cache/archives/partial"):
        os.makedirs(f"{folder}/{name}")
    with open(folder + "/apt.conf", "w", encoding="utf-8") as file:
        file.write(f'Dir::Etc::sourcelist "{folder}/sources.list"; Dir::Etc::sourceparts "-";\n'
                   f'Dir::State::lists "{folder}/lists"; Dir::Cache "{folder}/cache";\n'
                   'APT::Sandbox::User "root";\n')

    def ask(*command):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "APT_CONFIG": folder + "/apt.conf"})
        if done.returncode != 0:
            print(done.stderr)
        return done

    ask("apt-get", "-qq", "update")
    there = re.findall(r"^Version: (.*)", ask("apt-cache", "showsrc", "--only-source", source).stdout, re.M)
    for version in [ask("dpkg-query", "-W", "-f", "${source:Version}", package).stdout, *there]:
        if ask("apt-get", "-qq", "source", f"{source}={version}").returncode == 0:
            break
    return next(iter(glob.glob(f"{folder}/{source}-*/")), None)


class Python:
    """Python's own tests, one module at a time."""
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
    """The unit tests in the source package of redis, with the installed servers, one file of tests at a time."""
    NAME = "redis"
    FAILURES = {"err", "exception", "timed out"}
    TESTS_MIN = 1000
    LEFT_OUT = {}
    PORTS_EACH = 400  # from FIRST_PORT on, for each part that runs in parallel; used ports are skipped
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
        self.source = fetch(self.folder, "redis-server", "redis")
        return "" if self.source else "its source package cannot be had"

    def parts(self, larger):
        listed = subprocess.run(["tclsh", "tests/test_helper.tcl", "--list-tests"], cwd=self.source, check=True,
                                capture_output=True, text=True).stdout.split()
        return [name for name in listed if name.startswith("unit/") and (larger or name not in self.LONGEST)]

    def results(self, part, wrap, folder, slot, _):
        """Runs in a tree with the tests of the source and, where they expect built programs, the installed ones."""
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


class Ruby:
    """Ruby's own tests from its source package, one file or folder at a time."""
    NAME = "ruby"
    RUBY = "/usr/bin/ruby3.1"
    FAILURES = {"Error", "Failure", "timed out"}
    TESTS_MIN = 600
    LEFT_OUT = {"TestSetTraceFunc#test_tracepoint_opt_invokebuiltin_delegate_leave":
                "it reads the instructions of a method of Ruby's own, which any hook for events of code changes"}
    SAMPLE = """
        ruby/test_thread.rb ruby/test_thread_cv.rb ruby/test_thread_queue.rb ruby/test_threadgroup.rb
        ruby/test_fiber.rb ruby/test_sleep.rb ruby/test_signal.rb ruby/test_process.rb ruby/test_gc_compact.rb
        ruby/test_settracefunc.rb ruby/test_backtrace.rb monitor fiber socket""".split()
    LARGER = """
        ruby/test_io.rb ruby/test_gc.rb ruby/test_system.rb ruby/test_pipe.rb ruby/test_autoload.rb
        ruby/test_exception.rb ruby/test_weakmap.rb ruby/test_rubyoptions.rb ruby/test_continuation.rb""".split()
    # one result for each program: all its tests passed, or not
    PROGRAMS = "ractor thread fork gc fiber finalizer io jump proc eval".split()
    TEST = re.compile(r"^\[ *\d+/\d+\] ([\w:]+#\w+)", re.M)
    OUTCOME = re.compile(r"^ +\d+\) (\w+):\n([\w:]+#\w+)", re.M)

    def __init__(self, environment, folder):
        self.environment, self.folder, self.source = environment, folder, None

    def lacks(self):
        missing = [name for name in (self.RUBY, "dpkg-source") if not shutil.which(name)]
        if missing:
            return "no " + " ".join(missing)
        self.source = fetch(self.folder, "ruby3.1", "ruby3.1")
        return "" if self.source else "its source package cannot be had"

    def parts(self, larger):
        programs = [f"bootstraptest/test_{name}.rb" for name in self.PROGRAMS]
        return self.SAMPLE + programs + (self.LARGER if larger else [])

    def results(self, part, wrap, folder, _, __):
        runner = "test/runner.rb"
        if part.startswith("bootstraptest/"):
            runner = "bootstraptest/runner.rb"
        else:
            part = "test/" + part
        status, output = run(wrap([self.RUBY, self.source + runner, "--ruby=" + self.RUBY, "-v", self.source + part]),
                             folder, self.environment)
        if status is None:
            return TIMED_OUT
        results = dict.fromkeys(self.TEST.findall(output), "ok")
        results.update((name, outcome) for outcome, name in self.OUTCOME.findall(output))
        left_out = [name for name in self.LEFT_OUT if results.pop(name, None)]
        return results if left_out else {STATUS: str(status), **results}
