# SPDX-License-Identifier: Apache-2.0
"""The same commands, plain and traced, must have the same exit status, output and files. They must also make the same
system calls after a seccomp filter is installed. Programs that are not installed are skipped, and their names printed.
"""
import os
import re
import resource
import shutil
import signal
import socket
import subprocess

from preload_kit import PreloadTest, helper, main, read_pid, wait_for

SLOW_S = 180.0
EXITED = 4  # RIP_PROCESS_EXITED
# The line that rip prints if a program is not traced.
UNTRACED = re.compile(r"^rip: .*\n", re.M)

PYTHON_THREADS = """
import threading, queue
q = queue.Queue()
threads = [threading.Thread(target=lambda: [q.put(i) for i in range(100)]) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(q.qsize())"""
PYTHON_PROCESSES = """
import multiprocessing as m
if __name__ == "__main__":
    with m.Pool(2) as pool: print(pool.map(abs, range(-5, 5)))"""
PYTHON_ASYNC = """
import asyncio
async def main():
    process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print(await process.communicate(b"through cat"))
    await asyncio.gather(*[asyncio.sleep(0.01) for _ in range(100)])
asyncio.run(main())"""
PYTHON_DESCRIPTORS = """
import os, subprocess
os.closerange(3, 4096)
r, w = os.pipe(); print(r, w)
print(os.dup2(1, 512))
for fd in range(3, 4096):
    try: os.close(fd)
    except OSError: pass
print(subprocess.run(["echo", "still there"], close_fds=True, capture_output=True).stdout)"""
PERL_FORKS = """my @p; for (1..5) { my $p = fork(); exit $_ unless $p; push @p, $p; }
for (@p) { waitpid $_, 0; print $? >> 8, "\\n"; }"""

PYTHON_DESCRIPTORS_ALL = """
import os
fds = []
try:
    while True: fds.append(os.open("/dev/null", 0))
except OSError as error: print(fds, error)"""
PERL_CHILDREN = """print `echo sub`; system("exit 3"); print $?>>8; open(F, "echo piped|"); print <F>; close F;
open(G, "|cat"); print G "to cat"; close G; $| = 1; exec "echo", "last" """
RUBY = """Thread.new { puts 1 }.join; pid = fork { exit 4 }; Process.wait pid; puts $?.exitstatus
puts `echo sub`; system("false"); puts $?.exitstatus"""
PYTHON_SPAWN = """
import os
actions = [(os.POSIX_SPAWN_CLOSE, 512), (os.POSIX_SPAWN_DUP2, 1, 512)]
child = os.posix_spawn("/bin/echo", ["echo", "spawned"], os.environ, file_actions=actions)
print(os.waitpid(child, 0)[1])
os.posix_spawnp("nonexistent", ["x"], os.environ)"""

# Every command runs in its own folder, once plain and once traced.
COMMANDS = [
    ["true"],
    ["false"],
    ["echo", "text"],
    ["ls", "/"],
    ["ls", "/nonexistent"],
    ["cat", "/etc/passwd"],
    ["cat", "/nonexistent"],
    ["grep", "-c", "root", "/etc/passwd"],
    ["grep", "nobody-has-this", "/etc/passwd"],
    ["sed", "-n", "1,3p", "/etc/passwd"],
    ["awk", "BEGIN { while (i < 100000) i++; print i }"],
    ["sort", "-r", "/etc/passwd"],
    ["find", "/etc", "-maxdepth", "1", "-name", "p*"],
    ["dd", "if=/dev/zero", "of=out", "bs=4k", "count=10", "status=none"],
    ["env", "-i", "/bin/echo", "empty"],
    ["timeout", "0.2", "sleep", "100"],
    ["nohup", "echo", "kept"],
    ["setsid", "-w", "sh", "-c", "exit 5"],
    ["nice", "-n", "1", "echo", "nice"],
    ["xargs", "-a", "/etc/passwd", "-d", "\n", "-P", "4", "-n", "5", "true"],
    ["no-such-program"],
    ["sh", "-c", "exit 3"],
    ["sh", "-c", "kill -TERM $$"],
    ["sh", "-c", "kill -SEGV $$"],
    ["sh", "-c", "kill -ABRT $$"],
    ["sh", "-c", "yes | head -n 3"],
    ["sh", "-c", "sleep 0.1 & wait; echo $?"],
    ["sh", "-c", "ulimit -n 20; ulimit -u; ls /proc/self/nonexistent; echo $?"],
    ["sh", "-c", "ulimit -v 400000; echo small"],
    ["sh", "-c", "exec 7>out; echo seven >&7; exec 7>&-; cat out"],
    ["bash", "-c", "yes | head -n 1 | cat; echo ${PIPESTATUS[*]}"],
    ["bash", "-c", "trap 'echo caught' USR1; kill -USR1 $$; echo after"],
    ["bash", "-c", "coproc cat; echo through >&${COPROC[1]}; read -r line <&${COPROC[0]}; echo $line"],
    ["perl", "-e", PERL_FORKS],
    ["perl", "-e", "alarm 1; select(undef, undef, undef, 100)"],
    ["python3", "-c", PYTHON_THREADS],
    ["python3", "-c", PYTHON_PROCESSES],
    ["python3", "-c", PYTHON_ASYNC],
    ["python3", "-c", PYTHON_DESCRIPTORS],
    ["python3", "-c", "import sys; sys.exit(42)"],
    ["python3", "-c", "import os; os.abort()"],
    ["python3", "-c", "import os; os.fork() or os._exit(3); print(os.WEXITSTATUS(os.wait()[1]))"],
    ["tar", "-cf", "out.tar", "-C", "/etc", "passwd", "group"],
    ["sh", "-c", "gzip -c /etc/passwd | gunzip | cmp - /etc/passwd"],
    ["sh", "-c", "echo 'int main(void) { return 7; }' > a.c && gcc a.c -o a && ./a"],
    ["sh", "-c", "printf 'all: a b\\na b:\\n\\t@sleep 0.05; echo $@\\n' > Makefile && make -s -j2 | sort"],
    ["bash", "-c", "exec <&- >&- 2>&-; cat; ls /; exit 3"],
    ["bash", "-c", "exec -c env"],
    ["bash", "-c", "ulimit -s 200; ls / | wc -l"],
    ["ruby", "-e", RUBY],
    ["perl", "-e", PERL_CHILDREN],
    ["perl", "-e", "use threads; print threads->create(sub { 42 })->join"],
    ["python3", "-c", PYTHON_SPAWN],
    ["env", "LD_BIND_NOW=1", "python3", "-c", PYTHON_THREADS],
    ["env", "MALLOC_PERTURB_=165", "python3", "-c", PYTHON_THREADS],
    ["env", "MALLOC_PERTURB_=165", "python3", "-c", PYTHON_PROCESSES],
    # Resource limits.
    *[["prlimit", limit, "cat", "/etc/passwd"] for limit in ("--nofile=4", "--nofile=10", "--fsize=0", "--memlock=0",
                                                             "--nproc=1000", "--as=40000000", "--stack=200000")],
    *[["prlimit", limit, "/usr/bin/python3", "-c", PYTHON_DESCRIPTORS_ALL] for limit in (
        "--nofile=8:9", "--nofile=64:128", "--nofile=1024:4096", "--nofile=4096:8192")],
    *[["prlimit", limit, "/usr/bin/python3", "-c", f"print(len(bytearray({bytes})))"] for limit, bytes in (
        ("--as=50000000", 18000000), ("--as=200000000", 160000000))],
    ["prlimit", "--fsize=4096", "sh", "-c", "echo a > b; cat b; dd if=/dev/zero of=c bs=1M count=1 status=none"],
    # Programs that start, trace or translate other programs.
    ["script", "-qec", "stty size; exit 5", "/dev/null"],
    ["screen", "-D", "-m", "-S", "differential", "sh", "-c", "echo inside > out"],
    # If tracing is not permitted, their messages contain pids.
    ["sh", "-c", "gdb -q -batch -nx -ex run --args echo inside 2>/dev/null | grep -v process"],
    ["sh", "-c", "valgrind -q --error-exitcode=9 echo inside 2>/dev/null"],
    ["sh", "-c", "strace -qq -f -o /dev/null sh -c 'echo a; exit 6' 2>/dev/null"],
    [helper("bad_pointers"), "/etc/passwd"],
    [helper("small_stacks")],
    [helper("static_program")],
    # Programs that change their user.
    ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "id", "-u"],
    ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "sh", "-c", "id -u & wait; exit 4"],
    ["su", "-s", "/bin/sh", "nobody", "-c", "id -u"],
    ["runuser", "-u", "nobody", "--", "id", "-u"],
    ["sudo", "-n", "-u", "nobody", "id", "-u"],
    ["sudo", "-n", "-u", "nobody", "sh", "-c", "exit 3"],
    ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "id", "-u"],
    ["unshare", "-Ur", "id", "-u"],
    ["runuser", "-u", "nobody", "--", "sh", "-c", "kill -TERM $$"],
    ["unshare", "--pid", "--fork", "sh", "-c", "echo $$; exit 9"],
    ["chroot", "/", "id", "-u"],
    # Other preloaded libraries.
    ["faketime", "2020-01-01 00:00:00", "date", "+%Y"],
    ["faketime", "2020-01-01 00:00:00", "python3", "-c", "import time, threading; print(time.gmtime().tm_year)"],
    ["faketime", "-f", "@2020-01-01 00:00:00", "sh", "-c", "(date +%Y) | cat; exit 6"],
    # seccomp filters.
    *[[helper("filter"), how, what] for how in ("prctl", "seccomp", "tsync")
      for what in ("exit", "_exit", "quick_exit", "threads", "fork", "exec", "descriptors")],
    [helper("filter"), "libseccomp", "exit"],
]
# Commands in which a process dies of a signal or has a filter.
LEAVES_RINGS = re.compile(r"kill|yes|timeout|alarm|abort|fsize|strace|gdb|/filter ")
NEEDS_ROOT = {"setpriv", "su", "sudo", "runuser", "unshare", "chroot"}

THREAD_PROGRAM = """
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *run(void *unused) { pthread_mutex_lock(&mutex); count++; pthread_mutex_unlock(&mutex); return unused; }
int main(void) { pthread_t thread; pthread_create(&thread, 0, run, 0); run(0); pthread_join(thread, 0);
    printf("%d\\n", count); return 0; }"""

CHRONY = """server 127.0.0.1 port 9
port 0
cmdport 0
bindcmdaddress /
pidfile {folder}/pid
driftfile {folder}/drift
"""
SSHD = """HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
"""


def has(program):
    return program.startswith("/") or shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is not None


class Differential(PreloadTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.rings, 0o1777)
        os.chmod(self.scratch, 0o777)
        self.environment["PATH"] += ":/usr/sbin:/sbin"

    def folder(self, name):
        path = os.path.join(self.scratch, name)
        os.mkdir(path)
        os.chmod(path, 0o777)
        return path

    def remove_rings_of_filtered(self):
        """Removes rings of filtered programs. They must have ended normally: a filter prevents them from removing their
        ring."""
        for name in self.ring_names():
            self.assertEqual({p["state"] for p in self.ring(name)["processes"]}, {EXITED}, name)
            os.unlink(f"{self.rings}/{name}")

    def both(self, run):
        """Calls run(name, wrap) for plain and for traced, and returns both results. wrap(command) adds `rip run` if
        traced."""
        results = []
        for name, wrap in (("plain", list), ("traced", lambda command: self.command(*command))):
            results.append(run(name, wrap))
        return results

    def test_commands(self):
        count = 0

        def run(name, wrap):
            folder = self.folder(f"{count}-{name}")
            done = subprocess.run(wrap(command), env=self.environment, cwd=folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=SLOW_S)
            error = UNTRACED.sub("", done.stderr.decode(errors="replace"))
            return done.returncode, done.stdout, error, sorted(os.listdir(folder))

        for command in COMMANDS:
            if not has(command[0]) and command[0] != "no-such-program" or \
                    command[0] in NEEDS_ROOT and os.geteuid() != 0:
                print("skipped:", command[0])
                continue
            with self.subTest(command=command):
                if command[0] == "no-such-program":
                    self.assertEqual(self.run_traced(*command).returncode, 127)
                    continue
                plain, traced = self.both(run)
                self.assertEqual(plain, traced)
                if not LEAVES_RINGS.search(" ".join(command)):
                    wait_for("its background processes to end", lambda: not self.ring_names())
                self.drop_rings()
            count += 1
        self.assertGreaterEqual(count, 40)

    def drop_rings(self):
        for name in self.ring_names():
            os.unlink(f"{self.rings}/{name}")

    def test_sanitizers(self):
        with open(self.scratch + "/program.c", "w") as file:
            file.write(THREAD_PROGRAM)
        for compiler in ("gcc", "clang-14"):
            for sanitizer in ("address", "thread", "memory", "undefined", "leak"):
                program = f"{self.scratch}/{compiler}-{sanitizer}"
                build = [compiler, "-fsanitize=" + sanitizer, self.scratch + "/program.c", "-o", program]
                if not has(compiler) or subprocess.run(build, capture_output=True).returncode != 0:
                    print("skipped:", compiler, sanitizer)
                    continue

                def run(_, wrap):
                    done = subprocess.run(wrap([program]), env=self.environment, capture_output=True, text=True,
                                          timeout=SLOW_S)
                    return done.returncode, done.stdout, UNTRACED.sub("", done.stderr)

                with self.subTest(compiler=compiler, sanitizer=sanitizer):
                    plain, traced = self.both(run)
                    self.assertEqual(plain, traced)
                    self.assertEqual(self.ring_names(), [])

    def test_musl(self):
        """Another C library. Its dynamic linker ends a program if a preloaded library needs a symbol that it does not
        have."""
        program = self.scratch + "/program"
        with open(program + ".c", "w") as file:
            file.write(THREAD_PROGRAM)
        if not has("musl-gcc"):
            self.skipTest("musl-gcc is not installed")
        subprocess.run(["musl-gcc", "-w", program + ".c", "-o", program], check=True)
        for command in ([program], ["sh", "-c", program + "; exit 4"]):
            with self.subTest(command=command):
                self.check_same(command)
        self.assertEqual(self.run_traced(program).stderr,
                         "rip: the program's C library is not glibc: it is not traced\n")

    def test_no_room_for_a_line(self):
        """No ring can be created, and a write to standard error raises a signal: there must be no message."""
        def run(name, wrap):
            reader, writer = os.pipe()
            os.close(reader)
            with open(f"{self.scratch}/{name}", "w") as file, os.fdopen(writer, "w") as broken:
                return [subprocess.run(
                    wrap([program]), env=self.environment, stdout=subprocess.DEVNULL, stderr=stream, timeout=SLOW_S,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))).returncode
                    for stream in (file, broken) for program in ("true", helper("static_program"))]

        plain, traced = self.both(run)
        self.assertEqual(plain, traced)

    def test_full_directory(self):
        """There is no room for any ring, for some rings, or for the slots of some threads."""
        self.needs_root()
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("mounting a file system is not permitted")
        for size in ("4k", "64k", "128k"):
            mount = f'mount -t tmpfs -o mode=1777,size={size} x {self.rings} && exec "$@"'
            for program in (["python3", "-c", PYTHON_PROCESSES], [helper("small_stacks")]):
                with self.subTest(size=size, program=program[0]):
                    plain, traced = self.both(lambda _, wrap: subprocess.run(
                        ["unshare", "-m", "sh", "-c", mount, "sh", *wrap(program)], env=self.environment,
                        capture_output=True, text=True, timeout=SLOW_S))
                    self.assertEqual((plain.returncode, plain.stdout, plain.stderr),
                                     (traced.returncode, traced.stdout, UNTRACED.sub("", traced.stderr)))

    def test_one_line(self):
        """All programs of the chain have the same pid and no ring: only one line is printed."""
        done = self.run_traced("env", "env", "true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                                           (4096, 4096)))
        self.assertEqual((done.returncode, done.stderr.count("rip: ")), (0, 1), done.stderr)

    def check_same(self, command, before=()):
        """before: a command that runs the plain or traced command."""
        plain, traced = self.both(lambda _, wrap: subprocess.run(
            [*before, *wrap(command)], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=SLOW_S))
        self.assertEqual((plain.returncode, plain.stdout, plain.stderr),
                         (traced.returncode, traced.stdout, UNTRACED.sub("", traced.stderr)))
        self.assertEqual(self.ring_names(), [])

    def test_jemalloc(self):
        library = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
        if not os.path.exists(library):
            self.skipTest("jemalloc is not installed")
        self.environment["LD_PRELOAD"] = library
        self.check_same(["python3", "-c", PYTHON_THREADS])

    def test_faketime_outside(self):
        """The library of faketime comes after the preload library; in COMMANDS it comes before."""
        if not has("faketime"):
            self.skipTest("faketime is not installed")
        for command in (["date", "+%Y"], ["sh", "-c", "(date +%Y) | cat; exit 6"], ["python3", "-c", PYTHON_THREADS],
                        ["python3", "-c", PYTHON_PROCESSES], ["sh", "-c", "exec date +%Y"]):
            with self.subTest(command=command):
                self.check_same(command, before=("faketime", "2020-01-01 00:00:00"))

    # --- daemons ----------------------------------------------------------------------------------------------------

    def check_daemon(self, command, is_up, number=signal.SIGTERM, filtered=False):
        """Checks that a daemon starts, serves, and ends at the signal with the same status. {folder} in an argument is
        its working directory."""
        if not has(command[0]):
            self.skipTest(f"{command[0]} is not installed")

        def run(name, wrap):
            folder = self.folder(name)
            with open(folder + "/log", "wb") as log:
                process = subprocess.Popen(wrap([word.replace("{folder}", folder) for word in command]),
                                           env=self.environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=log)
            self.started.append(process)
            try:
                wait_for(f"{command[0]} ({name})", lambda: process.poll() is not None or is_up(folder), 90)
                self.assertIsNone(process.poll(), "the daemon has ended")
                process.send_signal(number)
                return process.wait(SLOW_S)
            except AssertionError:
                with open(folder + "/log", errors="replace") as log:
                    print(log.read())
                raise

        plain, traced = self.both(run)
        self.assertEqual(plain, traced)
        if filtered:
            self.remove_rings_of_filtered()
        self.assertEqual(self.ring_names(), [])

    def needs_root(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")

    @staticmethod
    def logged(text):
        def is_logged(folder):
            with open(folder + "/log", errors="replace") as log:
                return text in log.read()
        return is_logged

    @staticmethod
    def answers(path):
        def is_answered(folder):
            with socket.socket(socket.AF_UNIX) as client:
                try:
                    client.connect(folder + path)
                    return True
                except OSError:
                    return False
        return is_answered

    def test_memcached(self):
        self.needs_root()
        self.check_daemon(["memcached", "-u", "nobody", "-s", "{folder}/socket"], self.answers("/socket"))

    def test_redis(self):
        self.check_daemon(["redis-server", "--port", "0", "--unixsocket", "{folder}/socket", "--save", ""],
                          self.answers("/socket"))

    def test_dnsmasq(self):
        """Until dnsmasq waits for work for the first time, a signal ends it with another status."""
        looks = []

        def is_waiting(folder):
            try:
                with open(f"/proc/{read_pid(folder + '/pid')}/stat") as file:
                    looks.append(self.logged("started")(folder) and file.read().rpartition(") ")[2][0])
            except OSError:
                looks.append("")
            return looks[-10:] == ["S"] * 10

        self.needs_root()
        self.check_daemon(["dnsmasq", "-k", "-p", "0", "-C", "/dev/null", "--user=nobody", "--log-facility=-",
                           "--pid-file={folder}/pid"], is_waiting)

    def test_varnish(self):
        """The manager handles signals in its event loop, and only then passes on messages of the worker. Before that a
        signal ends the manager immediately, although the worker already serves."""
        self.needs_root()
        self.check_daemon(["varnishd", "-F", "-n", "{folder}/work", "-a", "{folder}/socket", "-b", "127.0.0.1:9"],
                          self.logged("said Child starts"))

    def test_chrony(self):
        """chronyd has a filter that kills and a helper process, and drops root."""
        self.needs_root()
        configuration = self.scratch + "/chrony.conf"
        with open(configuration, "w") as file:
            file.write(CHRONY.format(folder=self.scratch))
        self.check_daemon(["chronyd", "-x", "-d", "-F", "1", "-u", "nobody", "-f", configuration],
                          self.logged("seccomp filter"), filtered=True)

    def test_sshd(self):
        """A login with a key: the process that handles the network before the login has a filter that kills."""
        if not has("sshd") or not has("ssh"):
            self.skipTest("ssh or sshd is not installed")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)  # sshd confines that process to this directory
        folder = self.folder("ssh")
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{key}"], check=True)
        with open(folder + "/configuration", "w") as file:
            file.write(SSHD.format(folder=folder))
        sshd = [shutil.which("sshd", path=self.environment["PATH"]), "-i", "-e", "-f", folder + "/configuration"]

        def run(_, wrap):
            login = ["ssh", "-F", "none", "-i", folder + "/user", "-o", "StrictHostKeyChecking=no", "-o",
                     "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o",
                     "ProxyCommand=" + " ".join(wrap(sshd)) + " 2>/dev/null", "test-host", "echo hello; exit 3"]
            done = subprocess.run(login, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=SLOW_S)
            return done.returncode, done.stdout, done.stderr

        plain, traced = self.both(run)
        if plain[0] != 3:
            self.skipTest("the login failed: " + plain[2])
        self.assertEqual(plain, traced)  # ssh ends the proxy command by SIGHUP, so its ring stays

    # --- system calls -----------------------------------------------------------------------------------------------

    def calls_behind_filter(self, name, command):
        """Returns the names of the system calls that the program makes after it has installed its filter."""
        trace = f"{self.scratch}/{name}.strace"
        subprocess.run(["strace", "-f", "-qq", "-o", trace, *command], env=self.environment, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=SLOW_S)
        calls, is_installed = [], False
        with open(trace, errors="replace") as file:
            for line in file:
                call = re.match(r"\d+ +(\w+)\(", line)
                if call and is_installed:
                    calls.append(call.group(1))
                is_installed |= re.search(r"SECCOMP_(SET_)?MODE_FILTER.*\{len=.*= 0$", line) is not None
        return calls

    def test_system_calls(self):
        """A traced program makes no system call that the plain program does not make, and with one thread no more
        calls. futex is an exception: whether a thread must wait for a lock is random."""
        probe = ["strace", "-o", "/dev/null", "true"]
        if not has("strace") or subprocess.run(probe, capture_output=True).returncode != 0:
            self.skipTest("strace is not installed or may not trace")
        for how in ("prctl", "seccomp", "tsync"):
            for what in ("exit", "_exit", "quick_exit", "exec", "fork", "descriptors", "threads"):
                with self.subTest(how=how, what=what):
                    plain, traced = self.both(lambda name, wrap: self.calls_behind_filter(
                        name, wrap([helper("filter"), how, what])))
                    self.assertNotEqual(plain, [])
                    self.assertEqual(sorted(set(traced) - set(plain) - {"futex"}), [])
                    if what != "threads":
                        self.assertLessEqual(len(traced), len(plain))
                    self.drop_rings()


main()
