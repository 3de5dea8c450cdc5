# SPDX-License-Identifier: Apache-2.0
"""The binding under tools that check memory and threads: built with AddressSanitizer and UndefinedBehaviorSanitizer,
with ThreadSanitizer, and unchanged under `rip run` and valgrind. Python allocates each object with malloc()."""
import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BIN, PYTHON, PATH = (os.environ[name] for name in ("RIP_TEST_BIN", "RIP_PYTHON", "RIP_PYTHON_PATH"))
# No leak check at exit, because the interpreter keeps thousands of objects.
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1", "PYTHONMALLOC": "malloc",
           "TSAN_OPTIONS": "die_after_fork=0"}
NO_ROOM = "ThreadSanitizer: unexpected memory mapping"  # it does not support this kernel's memory layout


class Memory(unittest.TestCase):
    def run_program(self, command, **environment):
        result = subprocess.run(command, capture_output=True, text=True, env=os.environ | OPTIONS | environment)
        if NO_ROOM in result.stderr:
            self.skipTest(NO_ROOM)
        self.assertEqual(result.returncode, 0, f"{result.stdout[-2000:]}{result.stderr[-8000:]}")
        for complaint in ("runtime error", "WARNING: ", "Exception in thread", "Traceback"):
            self.assertNotIn(complaint, result.stderr, result.stderr[-8000:])
        return result

    def run_sanitized(self, kind, program):
        self.run_program([PYTHON, "-B", f"{HERE}/{program}"], LD_PRELOAD=os.environ["RIP_SANITIZERS_" + kind],
                         PYTHONPATH=f"{PATH}-{kind}")

    def test_memory(self):
        self.run_sanitized("address", "api.py")
        self.run_sanitized("address", "life.py")

    def test_threads(self):
        self.run_sanitized("thread", "life.py")

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind")
    def test_under_rip_run(self):
        with tempfile.TemporaryDirectory(prefix="rip-memory-", dir="/dev/shm") as rings:
            result = self.run_program(
                [f"{BIN}/rip", "run", "--dir", rings, "--", "valgrind", "-q", "--error-exitcode=9", "--fair-sched=yes",
                 PYTHON, "-B", f"{HERE}/life.py", "2"], PYTHONPATH=PATH)
            self.assertEqual(result.stdout, "traced\n")


unittest.main()
