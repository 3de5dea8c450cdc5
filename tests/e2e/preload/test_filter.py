# SPDX-License-Identifier: Apache-2.0
"""After a program has installed a seccomp filter, the preload library makes no system calls. The filters here kill at
every call that the program itself does not make."""
import subprocess

from preload_kit import PATIENCE_S, PreloadTest, helper, main

HOW = ("prctl", "seccomp", "tsync")


class Filter(PreloadTest):
    def check(self, how, what, output="done\n"):
        plain = subprocess.run([helper("filter"), how, what], capture_output=True, text=True, timeout=PATIENCE_S)
        traced = self.run_traced(helper("filter"), how, what)
        self.assertEqual((plain.returncode, plain.stdout), (0, output))
        self.assertEqual((traced.returncode, traced.stdout, traced.stderr), (0, output, ""))

    def test_ends(self):
        for how in HOW + ("libseccomp",):
            for what, output in (("exit", "done\n"), ("_exit", ""), ("quick_exit", "")):
                with self.subTest(how=how, what=what):
                    self.check(how, what, output)

    def test_exit_is_seen(self):
        """The ring file cannot be removed, but it records that the program ended normally."""
        self.check("prctl", "exit")
        name, = self.ring_names()
        ring = self.ring(name)
        self.assertEqual(ring["ids"], [])
        self.assertEqual([p["state"] for p in ring["processes"]], [4])  # RIP_PROCESS_EXITED

    def test_descriptors(self):
        self.check("seccomp", "descriptors")

    def test_failed_exec(self):
        self.check("seccomp", "exec")

    def test_fork(self):
        self.check("prctl", "fork", "child\ndone\n")

    def test_later_threads(self):
        """Threads created later have slots, with the names that the kernel and the program give them."""
        for how in HOW:
            with self.subTest(how=how):
                program = self.start(helper("filter"), how, "threads", flags=("--name", how))
                self.assertEqual(program.stdout.readline(), "ready\n")
                names = sorted(i["name"] for i in self.ring(how)["ids"])
                self.assertEqual(names, ["filter", "filter", "later-1", "later-2"])
                program.stdin.write("x")
                program.stdin.close()
                self.assertEqual(program.wait(PATIENCE_S), 0)
                self.assertEqual(program.stdout.read(), "done\n")

    def test_refused_filter(self):
        """A filter that is refused changes nothing: the ring is removed at the end."""
        self.assertEqual(self.run_traced(helper("filter"), "prctl", "refused").returncode, 0)
        self.assertEqual(self.ring_names(), [])


if __name__ == "__main__":
    main()
