# SPDX-License-Identifier: Apache-2.0
"""`rip` and `rip run`: flags, errors, exit statuses, warnings."""
import os
import shutil
import subprocess

from preload_kit import BUILD, PATIENCE_S, PreloadTest, RIP, helper, is_in_memory, main, wait_for


def identity(path):
    """Returns the attributes of a file that change if it is touched. Reading changes none of them."""
    there = os.lstat(path)
    return there.st_ino, there.st_mode, there.st_size, there.st_mtime_ns, there.st_ctime_ns


class Run(PreloadTest):
    def rip(self, *arguments, **variables):
        return subprocess.run([RIP, *arguments], env={**self.environment, **variables}, text=True,
                              capture_output=True, timeout=PATIENCE_S)

    def check_refused(self, status, wanted, *arguments, **variables):
        done = self.rip(*arguments, **variables)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for text in wanted:
            self.assertIn(text, done.stderr)

    def test_help_and_version(self):
        self.assertRegex(self.rip("--version").stdout, r"^rip \d+\.\d+\.\d+\n$")
        for arguments in (("--help",), ("run", "--help")):
            done = self.rip(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("usage: rip", done.stdout)
        self.assertEqual(self.rip().returncode, 2)
        self.check_refused(2, ["fly"], "fly")

    def test_bad_flags(self):
        elsewhere = None if is_in_memory(self.scratch) else self.scratch
        for wanted, arguments in (
            (["no command"], ["run"]),
            (["no command"], ["run", "--dir", self.rings]),
            (["--fast"], ["run", "--fast", "true"]),
            (["--dir", "value"], ["run", "--dir"]),
            (["--dir", "/proc/nonexistent"], ["run", "--dir", "/proc/nonexistent", "true"]),
            (["--dir", "/etc/passwd", "not a directory"], ["run", "--dir", "/etc/passwd", "true"]),
            (["--dir", "/proc", "tmpfs"], ["run", "--dir=/proc", "true"]),
            (["--name", "''"], ["run", "--name", "", "true"]),
            (["--name", "a/b"], ["run", "--name", "a/b", "true"]),
            (["--name", ".."], ["run", "--name", "..", "true"]),
            (["--name", "200"], ["run", "--name", "x" * 201, "true"]),
            (["--max", "'0'"], ["run", "--max", "0", "true"]),
            (["--max", "'-1'"], ["run", "--max", "-1", "true"]),
            (["--max", "'12x'"], ["run", "--max", "12x", "true"]),
            (["--max", "67108865", "67108864"], ["run", "--max", "67108865", "true"]),
            (["--max", "99999999999999999999"], ["run", "--max", "99999999999999999999", "true"]),
        ):
            with self.subTest(arguments=arguments):
                self.check_refused(2, wanted, *arguments)
        if elsewhere:
            self.check_refused(2, ["--dir", "tmpfs"], "run", "--dir", elsewhere, "true")
        self.check_refused(2, ["RIP_DIR", "/proc/nonexistent"], "run", "true", RIP_DIR="/proc/nonexistent")

    def test_statuses(self):
        self.assertEqual(self.run_traced("sh", "-c", "exit 3").returncode, 3)
        self.assertEqual(self.run_traced("sh", "-c", "kill -9 $$").returncode, -9)
        self.check_refused(127, ["no-such-program"], "run", "--dir", self.rings, "no-such-program")
        self.check_refused(126, ["/etc/passwd"], "run", "--dir", self.rings, "/etc/passwd")
        self.check_refused(125, ["RIP_PRELOAD_LIBRARY", "/proc/nonexistent"], "run", "--dir", self.rings, "true",
                           RIP_PRELOAD_LIBRARY="/proc/nonexistent")

    def test_same_pid_and_command_flags(self):
        process = self.start("sh", "-c", "echo $$ $0 $1", "--name", "--")
        self.assertEqual(process.stdout.read(), f"{process.pid} --name --\n")
        done = self.rip("run", "--dir", self.rings, "sh", "-c", "echo $1", "sh", "--help")
        self.assertEqual(done.stdout, "--help\n")

    def test_preload_stays(self):
        self.environment["LD_PRELOAD"] = "libutil.so.1"
        done = self.run_traced("sh", "-c", "echo $LD_PRELOAD")
        if "ASan runtime does not come first" in done.stderr:
            self.skipTest("rip is built with AddressSanitizer, which must come before preloaded libraries")
        self.assertTrue(done.stdout.endswith("librip-preload.so:libutil.so.1\n"), done.stdout)
        nested = self.run_traced(RIP, "run", "sh", "-c", "echo $LD_PRELOAD")
        self.assertEqual(nested.stdout, done.stdout)
        library = done.stdout.split(":")[0]
        self.environment["LD_PRELOAD"] = library + ".old"  # another library whose name begins like the preload library
        done = self.run_traced("sh", "-c", "echo $LD_PRELOAD")
        self.assertTrue(done.stdout.endswith(f"{library}:{library}.old\n"), done.stdout)

    def test_ring_settings(self):
        os.mkdir(self.rings + "/sub")
        process = self.start("sh", "-c", "cd /; echo $RIP_DIR; read x", flags=("--max", "100", "--name", "web"),
                             cwd=self.rings)
        self.assertEqual(process.stdout.readline().strip(), self.rings)
        self.assertEqual(self.ring("web")["capacity"], 128)
        process.stdin.close()
        process.wait(PATIENCE_S)
        done = self.rip("run", "sh", "-c", "ls $RIP_DIR", RIP_DIR=self.rings + "/sub")
        self.assertRegex(done.stdout, r"^ls\.\d+\nsh\.\d+\n$|^ls\.\d+\n$")
        self.assertEqual(os.listdir(self.rings + "/sub"), [])
        os.rmdir(self.rings + "/sub")

    def test_containers_that_share_a_directory(self):
        """In each container the first pid is 1. Each process must have its own ring."""
        unshare = ["unshare", "--pid", "--fork", "--kill-child"]
        if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("pid namespaces need root and unshare")
        command = [*unshare, RIP, "run", "--dir", self.rings, "--", "cat"]
        containers = [subprocess.Popen(command, env=self.environment, stdin=subprocess.PIPE) for _ in range(3)]
        try:
            wait_for("three rings", lambda: len(self.ring_names()) == 3)
            self.assertEqual(sorted(self.ring_names()), ["cat.1", "cat.1~2", "cat.1~3"])
        finally:
            for container in containers:
                container.stdin.close()
                container.wait()
        self.assertEqual(self.ring_names(), [])

    def test_files_with_the_name_of_the_ring(self):
        """Another file has the name of the ring: the file is not changed, the program is traced under another name, and
        one line reports the new name."""
        def fifo(path):
            os.mkfifo(path)

        def link(path):
            os.symlink("/nowhere", path)

        def foreign(path):
            with open(path, "w", encoding="ascii") as file:
                file.write("not a ring" * 1000)

        def previous(path):
            """A dead ring that cannot be kept, because the name with .prev is taken."""
            subprocess.run([RIP, "run", "--dir", self.rings, "--name", os.path.basename(path), "sh", "-c",
                            "kill -9 $$"], env=self.environment, check=False)
            os.mkdir(path + ".prev")

        for what in (fifo, link, os.mkdir, foreign, previous):
            with self.subTest(what=what.__name__):
                path = f"{self.rings}/{what.__name__}"
                what(path)
                there = identity(path)
                done = self.run_traced("sh", "-c", "echo $RIP_DIR/*; echo $(ls $RIP_DIR); cat /dev/null",
                                       flags=("--name", what.__name__))
                self.assertIn(f"{path}~2", done.stdout)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(f"{path}~2", done.stderr)
                self.assertEqual(identity(path), there)
                self.assertNotIn(f"{what.__name__}~2", self.ring_names())
        in_the_way = subprocess.run(["sh", "-c", f"mkdir {self.rings}/sleep.$$; exec {RIP} run --dir {self.rings} "
                                     "sleep 0.01"], env=self.environment, text=True, capture_output=True, check=True)
        self.assertRegex(in_the_way.stderr, r"^rip: .*/sleep\.\d+~2\n$")

    def test_crash_loop(self):
        """A crash loop leaves a bounded number of rings, the newest ones. Rings of live processes are not touched."""
        living = self.start("sleep", "60")
        self.wait_ring(f"sleep.{living.pid}")
        crashed = []
        for _ in range(12):
            process = self.start("sleep", "60")
            self.wait_ring(f"sleep.{process.pid}")
            process.kill()
            process.wait()
            crashed.append(f"sleep.{process.pid}")
        self.assertEqual(self.ring_names(), sorted([f"sleep.{living.pid}", *crashed[-8:]]))

    def test_no_room(self):
        """No ring can be created: the program runs, and one line reports that it is not traced."""
        done = subprocess.run(["prlimit", "--fsize=4096", *self.command("sh", "-c", "echo out; ls >&2")], text=True,
                              env=self.environment, cwd="/", capture_output=True, check=True)
        self.assertEqual(done.stdout, "out\n")
        self.assertEqual(done.stderr.count("not traced"), 1, done.stderr)

    def test_relative_directory(self):
        done = subprocess.run([RIP, "run", "--dir", ".", "sh", "-c", "cd /; echo $RIP_DIR; ls $RIP_DIR >&2"],
                              cwd=self.rings, env=self.environment, text=True, capture_output=True)
        self.assertEqual(done.stdout.strip(), self.rings)
        self.assertIn("ls.", done.stderr)

    def test_warnings(self):
        static = helper("static_program")
        done = self.run_traced(static)
        self.assertEqual((done.returncode, done.stdout), (0, "static\n"))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("statically linked", done.stderr)
        if os.geteuid() == 0:
            program = self.scratch + "/setuid"
            shutil.copy("/bin/true", program)
            os.chown(program, 65534, 65534)
            os.chmod(program, 0o4755)
            os.chmod(self.scratch, 0o755)
            done = self.run_traced(program)
            self.assertIn("set-user-id", done.stderr)
            self.assertEqual(done.returncode, 0)
        script = self.scratch + "/script"
        with open(script, "w") as file:
            file.write("#! " + static + " argument\n")
        os.chmod(script, 0o755)
        self.assertIn("statically linked", self.run_traced(script).stderr)
        self.assertEqual(self.run_traced("true").stderr, "")
        self.assertEqual(self.ring_names(), [])

    def test_disabled(self):
        """With RIP_DISABLE=1 there is no ring, no preload and no check. A preload library that is loaded anyway does
        nothing."""
        self.environment["RIP_DISABLE"] = "1"
        done = self.rip("run", "--dir", "/proc/nonexistent", "sh", "-c", "echo $LD_PRELOAD.$RIP_DIR; exit 3")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, ".\n", ""))
        self.check_refused(127, ["no-such-program"], "run", "no-such-program")
        self.environment.update(LD_PRELOAD=BUILD + "/lib/librip-preload.so", RIP_DIR=self.rings)
        script = f"ls {self.rings}; {helper('own_ring')} {self.rings}/own; ls {self.rings}"
        done = subprocess.run(["sh", "-c", script], env=self.environment, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=PATIENCE_S)
        self.assertEqual((done.stdout, done.stderr), ("42 0 0\nready\n", ""))

    def test_crash_of_many(self):
        """Many processes are killed at the same time: the next process that starts limits the number of their rings."""
        crashing = [self.start("sleep", "1000") for _ in range(20)]
        wait_for("their rings", lambda: len(self.ring_names()) == len(crashing))
        for process in crashing:
            process.kill()
            process.wait()
        self.assertEqual(self.run_traced("sleep", "0").returncode, 0)
        self.assertEqual(len(self.ring_names()), 7)
        for name in self.ring_names():
            os.unlink(f"{self.rings}/{name}")

    def test_end_as_another_user(self):
        """In a sticky directory the ring is removed although the effective user may not unlink it."""
        if os.geteuid() != 0:
            self.skipTest("needs root")
        os.chmod(self.rings, 0o1777)
        for script in ("import os; os.seteuid(65534)", "import os; os.setuid(65534)",
                       "import os; os.setresuid(65534, 65534, 0)"):
            done = self.run_traced("python3", "-c", script)
            self.assertEqual((done.returncode, done.stderr, self.ring_names()), (0, "", []))

    def test_name_of_another_user(self):
        """A process that drops root and executes another program cannot read root's ring, so its own ring gets another
        name."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        os.chmod(self.rings, 0o1777)
        script = "setpriv --reuid 65534 --clear-groups cat; true"
        process = self.start("sh", "-c", script, flags=("--name", "web"), stderr=subprocess.PIPE)
        wait_for("the other user's ring", lambda: any(os.stat(f"{self.rings}/{name}").st_uid == 65534
                                                      for name in self.ring_names()))
        first, second = self.ring_names()
        self.assertEqual((first, second.rpartition(".")[0]), ("web", "web"))
        process.stdin.close()
        self.assertEqual((process.wait(PATIENCE_S), process.stderr.read()), (0, ""))
        self.assertEqual(self.ring_names(), [])

    def test_sanitizers(self):
        """A program built with a sanitizer runs untraced, and one line reports this. Reports of the sanitizer are not
        changed."""
        source = self.scratch + "/program.c"
        with open(source, "w") as file:
            file.write("""#include <pthread.h>
                #include <stdlib.h>
                #include <unistd.h>
                static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
                static void *run(void *unused) { pthread_mutex_lock(&mutex); usleep(1000);
                    pthread_mutex_unlock(&mutex); return unused; }
                int main(int argc, char **argv) { char *memory = malloc(8); pthread_t thread;
                    pthread_create(&thread, 0, run, 0); run(0); pthread_join(thread, 0);
                    if (fork() == 0) _exit(0);
                    free(memory); return argc > 1 ? memory[0] : 0; }""")
        program, built = self.scratch + "/program", 0
        for compiler in ("gcc", "clang-14"):
            for sanitizer in ("address", "thread", "memory"):
                build = [compiler, "-w", "-g", "-fsanitize=" + sanitizer, source, "-o", program]
                if not shutil.which(compiler) or subprocess.run(build, capture_output=True).returncode != 0 or \
                        subprocess.run([program], capture_output=True).returncode != 0:  # fails on this kernel
                    continue
                built += 1
                with self.subTest(compiler=compiler, sanitizer=sanitizer):
                    done = self.run_traced(program)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stderr, "rip: the program is built with a sanitizer: it is not traced\n")
                    self.assertEqual(self.run_traced("sh", "-c", program + "; exit 3").stderr, "")
                    if sanitizer == "address":
                        self.assertIn("heap-use-after-free", self.run_traced(program, "fault").stderr)
        self.assertGreater(built, 0)
        self.assertEqual(self.ring_names(), [])

    def test_safe_file_name(self):
        program = self.scratch + "/.a b\tc"
        shutil.copy("/bin/cat", program)
        process = self.start(program)
        wait_for("the ring", self.ring_names)
        self.assertEqual(self.ring_names(), [f"_a b_c.{process.pid}"])
        process.stdin.close()
        process.wait(PATIENCE_S)
        self.assertEqual(self.ring_names(), [])

    def test_moved_tree(self):
        """rip finds the preload library relative to its own path."""
        os.mkdir(self.scratch + "/bin")
        os.mkdir(self.scratch + "/lib")
        shutil.copy(RIP, self.scratch + "/bin/rip")
        done = subprocess.run([self.scratch + "/bin/rip", "run", "--dir", self.rings, "true"], env=self.environment,
                              text=True, capture_output=True)
        self.assertEqual(done.returncode, 125)
        self.assertIn("librip-preload.so", done.stderr)
        shutil.copy(BUILD + "/lib/librip-preload.so", self.scratch + "/lib/")
        done = subprocess.run([self.scratch + "/bin/rip", "run", "--dir", self.rings, "sh", "-c", "echo $LD_PRELOAD"],
                              env=self.environment, text=True, capture_output=True)
        self.assertEqual(done.stdout, self.scratch + "/lib/librip-preload.so\n")


main()
