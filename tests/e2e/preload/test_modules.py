# SPDX-License-Identifier: Apache-2.0
"""A call from a library that was loaded late has a location, in the ring and in the answers of an unprivileged ripd."""
import os
import shutil
import sys

from preload_kit import BUILD, PreloadTest, helper, main, wait_for
import world as w

w.BIN = os.path.join(BUILD, "bin")

PYTHON = shutil.which("python3")
# Loaded by the interpreter, which never knew of it; then the thread waits in it, and registers nothing anew.
LATE = "import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); print('ready', flush=True); library.read_byte(0)"
FORKED = ("import ctypes, os, sys, threading\n"
          "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
          "if os.fork() == 0:\n"
          "    library = ctypes.CDLL(sys.argv[1]); print(os.getpid(), flush=True); library.read_byte(0)\n"
          "    os._exit(0)\n"
          "os.wait()\n")
SOCKET = ("import _socket, socket\n"
          "one, other = socket.socketpair()\n"
          "print(getattr(_socket, '__file__', ''), flush=True)\n"
          "one.recv(1)\n")


class Modules(PreloadTest):
    def last(self, ring, number):
        """Where an id is: its newest location, or nothing."""
        found = [i for i in self.ring(ring)["ids"] if i["id"] == number and i["trail"]]
        return found[0]["trail"][0] if found else ""

    def test_a_library_of_its_own(self):
        process = self.start(PYTHON, "-c", LATE, helper("late_module.so"), flags=("--name", "late"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        wait_for("the place of the read", lambda: "/late_module.so+0x" in self.last("late", process.pid))

    def test_in_the_forked_child_of_a_process_with_threads(self):
        """It never asks the dynamic linker for all there is: see preload_own.c."""
        process = self.start(PYTHON, "-c", FORKED, helper("late_module.so"), flags=("--name", "forked"))
        child = int(process.stdout.readline())
        wait_for("the place of the read", lambda: "/late_module.so+0x" in self.last("forked", child))
        process.stdin.write("x")
        process.stdin.flush()
        self.assertEqual(process.wait(), 0)

    def test_pythons_sockets(self):
        process = self.start(PYTHON, "-c", SOCKET, flags=("--name", "sockets"))
        path = process.stdout.readline().strip()
        if not path:
            self.skipTest("this Python has its sockets built in")
        name = os.path.basename(path)
        wait_for("the place of recv", lambda: f"/{name}+0x" in self.last("sockets", process.pid))

    def test_ripd_says_where(self):
        world = w.World(directory=self.rings)
        try:
            process = self.start(PYTHON, "-c", LATE, helper("late_module.so"), flags=("--name", "late"))
            self.assertEqual(process.stdout.readline(), "ready\n")

            def location():
                return world.get("/threads?ring=late")["threads"][0]["location"]

            world.wait_for(lambda: location()["module"] == "late_module.so")
            self.assertRegex(location()["offset"], "^0x[0-9a-f]+$")
            world.wait_for(lambda: location()["build_id"] is not None)
            world.wait_for(lambda: location()["function"] == "read_byte")
            world.end_well()
        finally:
            world.close()


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no python3")
        sys.exit(77)
    main()
