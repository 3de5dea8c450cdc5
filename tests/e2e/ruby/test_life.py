# SPDX-License-Identifier: Apache-2.0
"""The scripts in life/ end normally with the binding in each way: under `rip run`, required, with sanitizers, and under
valgrind, which must find no error in this project's code.

ThreadSanitizer sees all memory of the binding and all locks, but not the memory accesses of the interpreter. With
ThreadSanitizer a child of system() crashes, also in plain Ruby, so scripts that use it are left out.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ["RIP_TEST_BIN"]
LIBRARIES = os.path.join(BIN, "../lib")
RUBY = ["/usr/bin/ruby3.1", "-W0"]
PATIENCE_S = 120
# Ruby scans the whole stack for values, also unset ones, and touches the end of the stack before it is mapped.
VALGRIND = ["valgrind", "--undef-value-errors=no", "--max-stackframe=10000000", "--num-callers=30"]
NO_ROOM = "ThreadSanitizer: unexpected memory mapping"  # its memory layout does not fit this kernel
OURS = re.compile(r"^==\d+== +(?:at|by) .*(?:rip\.so|librip|binding\.c|place\.c|thread\.c|mutex\.c|preload)")


class Kit(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rip-life-", dir="/dev/shm")
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("RIP_", "RUBY")) and key != "LD_PRELOAD"}

    def tearDown(self):
        shutil.rmtree(self.folder)

    def ends_well(self, script, *wrap, **environment):
        """Runs a script that must succeed. Returns its standard error."""
        command = [*wrap, *RUBY, os.path.join(HERE, "life", script)]
        done = subprocess.run(command, env=self.environment | environment, capture_output=True, text=True,
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (0, "ok\n"), f"{command}: {done.stderr[-8000:]}")
        return done.stderr

    def run_rip(self):
        return [f"{BIN}/rip", "run", "--dir", self.folder, "--"]

    def required(self, library="ruby"):
        return {"RUBYOPT": "-rrip", "RUBYLIB": f"{LIBRARIES}/{library}", "RING": f"{self.folder}/ring"}


class Life(Kit):
    pass


def in_each_way(script):
    def under_rip_run(self):
        self.assertEqual(self.ends_well(script, *self.run_rip()), "")

    def required(self):
        self.assertEqual(self.ends_well(script, **self.required()), "")

    def sanitized(self):
        if not os.environ.get("RIP_SANITIZERS"):
            self.skipTest("no sanitized copy of the binding")
        said = self.ends_well(script, **self.required("ruby-sanitized"), LD_PRELOAD=os.environ["RIP_SANITIZERS"],
                              ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0",
                              UBSAN_OPTIONS="print_stacktrace=1")
        self.assertNotIn("runtime error", said)

    name = script.split(".")[0]
    for way in (under_rip_run, required, sanitized):
        setattr(Life, f"test_{name}_{way.__name__}", way)


for a_script in ("ends.rb", "memory.rb", "ractors.rb", "scheduler.rb", "sleeps.rb"):
    in_each_way(a_script)


@unittest.skipUnless(os.environ.get("RIP_SANITIZERS_OF_THREADS"), "no copy of the binding for ThreadSanitizer")
class Threads(Kit):
    def test_threads(self):
        watched = self.required("ruby-thread") | {"RUBYOPT": "-rwithout_gvl", "TSAN_OPTIONS": "die_after_fork=0",
                                                  "LD_PRELOAD": os.environ["RIP_SANITIZERS_OF_THREADS"]}
        for script in ("without_gvl.rb", "sleeps.rb", "ractors.rb", "killed.rb", "memory.rb", "scheduler.rb"):
            with self.subTest(script):
                try:
                    self.ends_well(script, **watched)
                except AssertionError as error:
                    if NO_ROOM in str(error):
                        self.skipTest(NO_ROOM)
                    raise


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class Valgrind(Kit):
    def test_threads_that_end(self):
        self.finds_nothing("killed.rb")

    def test_abandoned_fibers(self):
        """Not with a sanitizer: when stacks are used again, it mistakes old frames for current ones."""
        self.finds_nothing("abandoned.rb")

    def finds_nothing(self, script):
        said = self.ends_well(script, *self.run_rip(), *VALGRIND)
        errors = [error for error in re.split(r"^==\d+== \n", said, flags=re.M) if "Invalid" in error]
        self.assertEqual([error for error in errors if any(OURS.match(line) for line in error.splitlines())], [])


if __name__ == "__main__":
    if not os.path.exists(RUBY[0]):
        print("skipped: ruby3.1 is not installed")
        sys.exit(77)
    unittest.main(verbosity=2)
