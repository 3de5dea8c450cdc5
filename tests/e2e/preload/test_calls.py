# SPDX-License-Identifier: Apache-2.0
"""Every wrapped call behaves as without the preload library. A program that links librip keeps its own copy."""
import ctypes
import subprocess

from preload_kit import BUILD, PATIENCE_S, PreloadTest, helper, main

INTERNAL = "rip_", "rip__", "preload_", "own_", "wrap_"


class Calls(PreloadTest):
    def test_same_results(self):
        for program in "calls", "calls_fortified":
            with self.subTest(program=program):
                plain = subprocess.run([helper(program)], env=self.environment, text=True, capture_output=True,
                                       timeout=PATIENCE_S)
                traced = self.run_traced(helper(program))
                self.assertEqual(plain.returncode, 0)
                self.assertGreater(len(plain.stdout.splitlines()), 150)
                self.assertEqual(traced.stdout.splitlines(), plain.stdout.splitlines())
                self.assertEqual(traced.stderr, plain.stderr)
                self.assertEqual(self.ring_names(), [])

    def test_fortified_variants_are_used(self):
        symbols = subprocess.run(["nm", "-D", helper("calls_fortified")], text=True, capture_output=True).stdout
        if "__read_chk@" not in symbols:
            self.skipTest("the compiler does not fortify these calls")
        for name in "read", "pread", "pread64", "recv", "recvfrom", "poll", "ppoll":
            self.assertIn(f" __{name}_chk@", symbols)
        for name in "open", "open64", "openat", "openat64":
            self.assertIn(f" __{name}_2@", symbols)

    def test_without_a_ring(self):
        """If no ring can be created, the program runs untraced and nothing is printed."""
        self.environment["LD_PRELOAD"] = BUILD + "/lib/librip-preload.so"
        self.environment["RIP_DIR"] = "/proc"
        done = subprocess.run([helper("calls")], env=self.environment, text=True, capture_output=True,
                              timeout=PATIENCE_S)
        del self.environment["LD_PRELOAD"]
        plain = subprocess.run([helper("calls")], env=self.environment, text=True, capture_output=True,
                               timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plain.stdout, ""))

    def test_exports_wrappers_only(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", BUILD + "/lib/librip-preload.so"], text=True,
                                 capture_output=True, check=True).stdout
        names = [line.split()[2] for line in symbols.splitlines()]
        self.assertIn("epoll_wait", names)
        self.assertEqual([name for name in names if name.startswith(INTERNAL)], ["rip_runtime_get"])
        libc = ctypes.CDLL(None)
        of_bindings = ["rip_runtime_get", "ruby_run_node"]
        self.assertEqual([name for name in names if not hasattr(libc, name)], of_bindings)

    def test_program_with_its_own_librip(self):
        own = self.rings + "/own"
        process = self.start(helper("own_ring"), own, flags=("--name", "preloaded"))
        self.assertEqual(process.stdout.readline(), "42 10 10\n")
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertEqual(self.ring_names(), ["own", "preloaded"])
        self.assertEqual([(i["id"], i["progress"]) for i in self.ring("own")["ids"]], [(42, 10)])
        self.assertEqual([i["id"] for i in self.ring("preloaded")["ids"]], [process.pid])
        self.assertEqual([r["processes"][0]["flags"] & 4 for r in (self.ring("own"), self.ring("preloaded"))], [0, 4])
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assertEqual(self.ring_names(), [])


main()
