# SPDX-License-Identifier: Apache-2.0
"""Rings of dead processes: ripd removes those that nobody needs, `rip clean` removes all of them."""
import json
import os
import shutil
import subprocess
import time

from preload_kit import BUILD, PATIENCE_S, PreloadTest, RIP, helper, main, wait_for


class Leftovers(PreloadTest):
    def crash(self, count):
        """Leaves rings of killed processes. Returns their names, in order of creation."""
        crashed = []
        for _ in range(count):
            process = self.start("sleep", "1000")
            self.wait_ring(f"sleep.{process.pid}")
            crashed.append(process)
        for process in crashed:
            process.kill()
            process.wait()
        return [f"sleep.{process.pid}" for process in crashed]

    def clean(self, *flags, status=0):
        done = subprocess.run([RIP, "clean", "--dir", self.rings, *flags], env=self.environment, text=True,
                              capture_output=True, timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        return done.stdout.splitlines()

    def leave_unfinished(self):
        """Leaves two unfinished rings, as programs that are killed while they create a ring. Only the first is old
        enough to be removed."""
        paths = [f"{self.rings}/.rip-unfinished-{number}" for number in (1, 2)]
        for path in paths:
            with open(path, "w") as file:
                file.write("half a ring")
        os.utime(paths[0], (0, time.time() - 61))
        return paths

    def test_clean_unfinished(self):
        old, new = self.leave_unfinished()
        self.assertEqual(self.clean("--dry-run"), [f"would remove {old}"])
        self.assertTrue(os.path.exists(old))
        if os.geteuid() == 0:
            os.chown(old, 2**32 - 2, -1)
            self.assertEqual(json.loads(self.clean("--dry-run", "--json")[0])["uid"], 2**32 - 2)
        self.assertEqual(self.clean(), [f"removed {old}"])
        self.assertEqual([os.path.exists(path) for path in (old, new)], [False, True])

    def test_clean(self):
        self.assertEqual(self.clean(), [])
        for path, reason in (("/nowhere", "No such file or directory"), ("/proc/version", "Not a directory")):
            done = subprocess.run([RIP, "clean", "--dir", path], text=True, capture_output=True, timeout=PATIENCE_S)
            self.assertEqual((done.returncode, done.stderr), (1, f"rip: clean: {path}: {reason}\n"))
        living = self.start("sleep", "1000")
        self.wait_ring(f"sleep.{living.pid}")
        with open(self.rings + "/other", "w") as file:
            file.write("no ring")
        crashed = sorted(self.crash(3))
        kept = sorted([f"sleep.{living.pid}", "other"])
        self.assertEqual(sorted(self.clean("--dry-run")), [f"would remove {self.rings}/{name}" for name in crashed])
        self.assertEqual(self.ring_names(), sorted(kept + crashed))
        lines = [json.loads(line) for line in self.clean("--json")]
        self.assertEqual(sorted(line["ring"] for line in lines), crashed)
        self.assertTrue(all(line["removed"] and line["directory"] == self.rings for line in lines))
        self.assertEqual(self.ring_names(), kept)
        self.assertEqual(self.clean(), [])

    def test_ripd(self):
        """Rings of crashed processes stay. The ring of a process behind a seccomp filter, which ended normally, is
        removed."""
        living = self.start("sleep", "1000")
        self.wait_ring(f"sleep.{living.pid}")
        self.assertEqual(self.run_traced(helper("filter"), "prctl", "exit", flags=("--name", "ended")).returncode, 0)
        self.assertEqual(self.ring_names(), sorted([f"sleep.{living.pid}", "ended"]))
        # after chroot() the ring cannot be removed by its name, neither at an exit nor at an exec
        if os.geteuid() == 0:
            root = os.path.join(self.scratch, "root")
            os.mkdir(root)
            shutil.copy(helper("static_program"), root + "/program")
            for command, status in ((["python3", "-c", f"import os; os.chroot({root!r})"], 0),
                                    (["chroot", root, "/program"], 0)):
                self.assertEqual(self.run_traced(*command).returncode, status)
            self.assertEqual(len(self.ring_names()), 4)
        crashed = self.crash(2)
        old, new = self.leave_unfinished()
        ripd = subprocess.Popen([os.path.join(BUILD, "bin", "ripd"), "--dir", self.rings, "--listen", "127.0.0.1:0",
                                 "--interval", "200ms"], stderr=subprocess.DEVNULL)
        self.started.append(ripd)
        left = sorted([f"sleep.{living.pid}", *crashed])
        wait_for("the removal", lambda: self.ring_names() == left, 90)
        self.assertEqual([os.path.exists(path) for path in (old, new)], [False, True])


main()
