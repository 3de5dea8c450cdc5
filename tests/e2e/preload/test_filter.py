# SPDX-License-Identifier: Apache-2.0
"""After a program has installed a seccomp filter, the preload library makes no system calls. The filters here kill at
every call that the program itself does not make."""
import platform
import subprocess
import sys

from preload_kit import PATIENCE_S, PreloadTest, helper, main

HOW = ("prctl", "seccomp", "tsync")
PROCESS_VM_READV = 310 if platform.machine() == "x86_64" else 270
WAITS_FOR_A_REPLY = """
import select, socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.send(b"request")
print(select.select([client], [], [], 0.01))
poll = select.poll()
poll.register(client, select.POLLIN)
print(poll.poll(10))
"""
KILLS_AT_ONE_CALL = """
import ctypes, os, struct, sys
code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, int(sys.argv[1]), 6, 0, 0, 1 << 31, 6, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxQ", 4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


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

    def test_inherited_filter(self):
        """A filter that the program inherits does not kill it: the library makes only calls that most filters allow."""
        program = [sys.executable, "-c", WAITS_FOR_A_REPLY]
        traced = self.run_traced(sys.executable, "-c", KILLS_AT_ONE_CALL, str(PROCESS_VM_READV), *program)
        self.assertEqual((traced.returncode, traced.stdout), (0, "([], [], [])\n[]\n"), traced.stderr)

    def test_refused_filter(self):
        """A filter that is refused changes nothing: the ring is removed at the end."""
        self.assertEqual(self.run_traced(helper("filter"), "prctl", "refused").returncode, 0)
        self.assertEqual(self.ring_names(), [])


if __name__ == "__main__":
    main()
