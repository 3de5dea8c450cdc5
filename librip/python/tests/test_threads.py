# SPDX-License-Identifier: Apache-2.0
"""An unchanged threaded program under `rip run`: ripd shows each stuck thread with its script line, function and
holder, and no thread that waits for work."""
import os
import subprocess
import time
import unittest

import world as w

HERE = os.path.dirname(os.path.abspath(__file__))
APP = f"{HERE}/app_threads.py"
with open(APP, encoding="utf-8") as source:
    LINES = {line.rpartition("  # ")[2].strip(): number for number, line in enumerate(source, 1) if "  # " in line}
# name: (cause, function, mark of the line, holder)
STUCK = {
    "query": ("blocked", "ask", "query", None),
    "slow": ("blocked", "ask", "query", None),
    "rlock": ("blocked", "Order.place", "rlock", "slow"),
    "timed": ("blocked", "Order.cancel", "timed", "slow"),
    "first": ("deadlock", "first", "first", "second"),
    "second": ("deadlock", "second", "second", "first"),
    "itself": ("deadlock", "itself", "itself", "itself"),
    "import 2": ("blocked", "import_it", "import", "import 1"),
    "import 3": ("blocked", "import_it", "import", "import 1"),
    "loop 1": ("spinning", "spin", "loop", None),
    "loop 2": ("spinning", "spin", "loop", None),  # has never made a call
}
IDLE = {"queue", "simple", "condition", "event", "semaphore", "barrier", "serve", "accept", "pair", "select",
        "timed event", "pipe", "join", "renamed", "pool_0", "MainThread"}


# A program that imports package rip, which uses the binding that `rip run` has loaded.
NOTED = """
import rip, socket, sys
assert rip._rip is sys.modules["_rip"] and "rip._rip" not in sys.modules
silent = socket.create_server(("127.0.0.1", 0))
@rip.trace
def handle():
    with rip.note("GET /order?id=7"):
        socket.create_connection(silent.getsockname()).recv(1)
handle()
"""


# The loop of the main thread runs alone until another thread requests the interpreter's lock. That thread waits for
# input before the loop begins.
MOVED = """
import os, threading, time
def calculate():
    while True: pass
def join_in():
    os.read(0, 1)
    calculate()
other = threading.Thread(target=join_in, daemon=True)
other.start()
reads = ["0", "0x0"]
while open(f"/proc/self/task/{other.native_id}/syscall").read().split()[:2] != reads: time.sleep(0.01)
calculate()
"""


# C code that keeps the interpreter's lock, and a thread that waits for this lock only.
KEPT = """
import re, threading, time
def other():
    while True: time.sleep(0.01)
threading.Thread(target=other, name="other", daemon=True).start()
def search():
    time.sleep(0.1)
    re.match("(a+)+$", "a" * 99 + "b")
search()
"""


def cpu_seconds(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = w.World()
        cls.addClassCleanup(cls.world.close)
        cls.app = cls.run_python("app", "-IB", APP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert cls.app.stdout.readline() == "ready\n"
        cls.run_python("noted", "-Bc", NOTED, env=os.environ | {"PYTHONPATH": os.environ["RIP_PYTHON_PATH"]})

    @classmethod
    def run_python(cls, ring, *arguments, **options):
        command = [f"{w.BIN}/rip", "run", "--dir", cls.world.dir, "--name", ring, "--", os.environ["RIP_PYTHON"]]
        cls.world.processes.append(subprocess.Popen([*command, *arguments], **options))
        return cls.world.processes[-1]

    def items(self):
        return {item["name"]: item for item in self.world.get("/threads?ring=app&limit=1000")["threads"]}

    def end(self, app):
        """Ends the program, because its loops would take CPU time from later tests."""
        app.kill()
        app.wait()

    def is_loop(self, item):
        """Returns true if the thread spins, or gets hardly any CPU time because it waits for its turn or is starved."""
        if item["cause"] != "starved" and not (item["cause"] == "blocked" and not item["waits_for"]):
            return item["cause"] == "spinning"
        began, used = time.monotonic(), cpu_seconds(item["process"]["pid"], item["tid"])
        self.world.wait_scans(5)
        return cpu_seconds(item["process"]["pid"], item["tid"]) - used < (time.monotonic() - began) / 10

    def item(self, name, cause):
        """Waits until the thread has the cause, and returns it."""
        def look():
            item = self.items()[name]
            return (self.is_loop(item) if cause == "spinning" else item["cause"] == cause) and item
        return self.world.wait_for(look)

    def test_stuck_threads_have_their_line_and_holder(self):
        for name, (cause, function, mark, holder) in STUCK.items():
            with self.subTest(name):
                item = self.item(name, cause)
                place = item["location"]
                self.assertEqual((place["file"], place["line"], place["function"]), (APP, LINES[mark], function))
                self.assertIn(f" in {function} ({APP}:{LINES[mark]})", item["summary"])
                self.assertEqual(item["waits_for"][0]["name"] if item["waits_for"] else None, holder)

    def test_who_waits_for_work_is_idle(self):
        def accused():
            items = self.items()
            return [items.get(name) for name in IDLE if items.get(name, {}).get("state") != "idle"]
        try:
            self.world.wait_for(lambda: not accused())
        except AssertionError:
            self.fail(accused())
        self.world.wait_for(lambda: {stall["name"] for stall in self.world.stalls("?ring=app")} == {*STUCK, "import 1"})

    def test_the_note_of_a_program_that_imports_rip(self):
        stall = self.world.wait_for(lambda: self.world.stalls("?ring=noted"))[0]
        self.assertEqual((stall["note"], stall["location"]["function"], stall["location"]["line"]),
                         ("GET /order?id=7", "handle", 8))
        self.assertIn("handle", [entry["function"] for entry in stall["trail"][1:]])

    def test_a_loop_is_where_it_gave_up_the_interpreters_lock(self):
        app = self.run_python("moved", "-Bc", MOVED, stdin=subprocess.PIPE)

        def place():
            stalls = self.world.stalls("?ring=moved&name=MainThread")
            return stalls and (stalls[0]["cause"], stalls[0]["location"]["function"], stalls[0]["location"]["line"])
        self.assertNotEqual(self.world.wait_for(place)[1], "calculate")
        app.stdin.write(b"x")
        app.stdin.flush()
        self.world.wait_for(lambda: place()[1:] == ("calculate", 4))
        self.end(app)

    def test_who_waits_for_the_interpreter_names_the_one_that_keeps_it(self):
        app = self.run_python("kept", "-Bc", KEPT)

        def stuck():
            stalls = {stall["name"]: stall for stall in self.world.stalls("?ring=kept")}
            keeper, other = stalls["MainThread"], stalls["other"]
            return self.is_loop(keeper) and other["waits_for"] and (keeper, other)
        keeper, other = self.world.wait_for(stuck)
        self.assertEqual((keeper["location"]["function"], keeper["waits_for"]), ("search", None))
        self.assertEqual((other["cause"], other["location"]["function"]), ("blocked", "other"))
        self.assertEqual([waited["name"] for waited in other["waits_for"]], ["MainThread"])
        self.end(app)


unittest.main()
