# SPDX-License-Identifier: Apache-2.0
"""The test suites of Python, Ruby and redis, plain and under `rip run`: every test must have the same result.

RIP_SUITES=some runs the most important parts, which takes minutes; RIP_SUITES=all runs all. A test with different
results
runs again, plain and traced, until both have one result in common, at most RUNS times, so that unsteady tests are
tolerated. Suites that are not installed are left out and listed.
"""
import collections
import concurrent.futures
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from suites import ALL, Python, Redis, Ruby

WANTED = os.environ.get("RIP_SUITES")
RUNS = 3
WORKERS = 2 * os.cpu_count()
SKIP = 77
RIP = os.path.join(os.environ["RIP_BUILD"], "bin", "rip")


class Suites(unittest.TestCase):
    def setUp(self):
        self.rings = tempfile.mkdtemp(prefix="rip-suites-", dir="/dev/shm")
        self.scratch = tempfile.mkdtemp(prefix="rip-suites-")
        for folder in (self.rings, self.scratch):
            os.chmod(folder, 0o1777)
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("RIP_", "PYTHON")) and k != "LD_PRELOAD"}
        self.slots = queue.SimpleQueue()
        for slot in range(WORKERS):
            self.slots.put(slot)

    def tearDown(self):
        shutil.rmtree(self.rings)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def traced(self, command):
        return [RIP, "run", "--dir", self.rings, "--", *command]

    def once(self, suite, part, wrap, only):
        slot = self.slots.get()
        folder = tempfile.mkdtemp(dir=self.scratch)
        try:
            return suite.results(part, wrap, folder, slot, only)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            self.slots.put(slot)

    def both(self, suite, part):
        """Returns the results of each test, plain and traced, as sets. Sets of different tests have nothing in common.
        """
        plain, traced = collections.defaultdict(set), collections.defaultdict(set)
        start, only = time.monotonic(), set()
        for _ in range(RUNS):
            for outcomes, wrap in ((plain, list), (traced, self.traced)):
                for name, outcome in self.once(suite, part, wrap, only).items():
                    outcomes[name].add(outcome)
            only = set(self.differing(plain, traced))
            if not only:
                break
        return part, plain, traced, time.monotonic() - start

    @staticmethod
    def differing(plain, traced):
        """If the plain run did not finish, tests that are missing in it are ignored."""
        compared = {*plain} - {ALL} if ALL in plain else {*plain, *traced}
        return {name: (sorted(plain.get(name, ())), sorted(traced.get(name, ())))
                for name in sorted(compared) if not plain.get(name, set()) & traced.get(name, set())}

    def check(self, suite):
        lacks = suite.lacks()
        if lacks:
            self.skipTest(lacks)
        for pattern, reason in suite.LEFT_OUT.items():
            print(f"left out: {pattern}: {reason}")
        maps = subprocess.run(self.traced(["cat", "/proc/self/maps"]), env=self.environment, check=True,
                              capture_output=True, text=True).stdout
        self.assertIn(self.rings, maps)
        parts, tests = suite.parts(WANTED == "all"), 0
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for part, plain, traced, seconds in pool.map(lambda part: self.both(suite, part), parts):
                tests += len(plain)
                failing = {name: outcomes for name, outcomes in plain.items() if outcomes & suite.FAILURES}
                unsteady = [name for name in plain if len(plain[name]) > 1 or len(traced.get(name, ())) > 1]
                print(f"{part}: {len(plain) - 1} tests, {seconds:.0f} s",
                      *(f"  fails plain: {name}" for name in sorted(failing)),
                      *(f"  unsteady: {name}" for name in sorted(unsteady)), sep="\n", flush=True)
                with self.subTest(part=part):
                    self.assertEqual(self.differing(plain, traced), {})
        self.assertGreater(tests, suite.TESTS_MIN)

    def test_python(self):
        loaded = subprocess.run(self.traced([Python.PYTHON, "-c", "import sys; print('_rip' in sys.modules)"]),
                                env=self.environment, check=True, capture_output=True, text=True)
        self.assertEqual(loaded.stdout, "True\n")  # the binding is loaded
        self.check(Python(self.environment))

    def test_redis(self):
        self.check(Redis(self.environment, self.scratch))

    def test_ruby(self):
        self.check(Ruby(self.environment, self.scratch))


if __name__ == "__main__":
    if WANTED not in ("some", "all"):
        print("skipped: this takes minutes; RIP_SUITES=some or RIP_SUITES=all runs it")
        sys.exit(SKIP)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # children inherit ignored signals
    unittest.main(verbosity=2)
