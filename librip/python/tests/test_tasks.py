# SPDX-License-Identifier: Apache-2.0
"""Unchanged programs with asyncio under `rip run`: how ripd shows their tasks, and that the programs see no change."""
import os
import re
import socket
import subprocess
import tempfile
import unittest

import world as w

HERE = os.path.dirname(os.path.abspath(__file__))
APP = f"{HERE}/app_tasks.py"
PYTHON = os.environ["RIP_PYTHON"]
# Each stuck task: name, cause, function, holders that it waits for, and the comment at its line if not the name.
STUCK = [
    ("query", "parked", "ask", [], None),
    ("socket", "parked", "ask_by_socket", [], None),
    ("drain", "parked", "send_too_much", [], None),
    ("waiter", "parked", "Accounts.update", ["holder"], None),
    ("waiter in time", "parked", "Accounts.update", ["holder"], "waiter"),
    ("left", "deadlock", "transfer", ["right", "left"], "deadlock"),
    ("right", "deadlock", "transfer", ["left", "right"], "deadlock"),
    ("spinner", "spinning", "calculate", [], None),
]
IDLE = ["in time", *("main server queue generator condition semaphore sleep future thread child holder keep-alive "
                     "silent MainThread").split()]


def line_of(comment):
    with open(APP, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.endswith(f"# at {comment}\n"))


def rip_run(directory, *command):
    return [f"{w.BIN}/rip", "run", "--dir", directory, "--name", "app", "--", PYTHON, "-B", *command]


def shown(item):
    location = item["location"]
    return (item["cause"], location["function"], location["file"], location["line"],
            [other["name"] for other in item["waits_for"] or []])


class App:
    """The program on one of the event loops."""
    ARGUMENTS = ()
    STUCK, IDLE = STUCK, IDLE

    @classmethod
    def setUpClass(cls):
        cls.world = w.World()
        cls.addClassCleanup(cls.world.close)
        app = subprocess.Popen(rip_run(cls.world.dir, APP, *cls.ARGUMENTS), text=True, stdout=subprocess.PIPE)
        cls.world.processes.append(app)
        connection = socket.create_connection(("127.0.0.1", int(app.stdout.readline())))
        cls.addClassCleanup(connection.close)
        connection.sendall(b"hello\n")
        assert connection.recv(100) == b"hello\n"

    def threads(self, query):
        return {item["name"]: item for item in self.world.get("/threads?ring=app&limit=10000&" + query)["threads"]}

    def stalls(self):
        """Returns the stalls, except of tasks that are starved on a busy machine."""
        return {item["name"]: item for item in self.world.stalls("?ring=app&cause=!starved")}

    def test_stuck(self):
        def is_as_expected():
            stalls = self.stalls()
            self.assertLessEqual(stalls.keys(), {name for name, *_ in self.STUCK})
            wanted = {name: (cause, function, APP, line_of(comment or name), holders)
                      for name, cause, function, holders, comment in self.STUCK}
            if "spinner" in stalls and stalls["spinner"]["location"]["function"] == "compute":
                # It waited for the interpreter's lock meanwhile: then the place is in the loop, not at the last call.
                wanted["spinner"] = ("spinning", "compute", APP, line_of("loop that calls nothing"), [])
            self.wrong = {name: shown(stalls[name]) if name in stalls else None for name in wanted
                          if name not in stalls or shown(stalls[name]) != wanted[name]}
            return not self.wrong

        try:
            self.world.wait_for(is_as_expected)
        except AssertionError as error:
            raise AssertionError(f"{error}; not as expected: {self.wrong}") from error

    def test_others_are_idle(self):
        """They are idle for so long that they would be stalled otherwise."""
        late = 3 * self.world.STALL_AFTER_MS
        self.world.wait_for(lambda: self.threads(f"state=idle&min_ms={late}").keys() >= set(self.IDLE))
        self.world.wait_for(lambda: len(self.threads(f"state=idle&name=sleeper-*&min_ms={late}")) == 1000)
        self.assertLessEqual(self.stalls().keys(), {name for name, *_ in self.STUCK})

    def test_places_of_idle_tasks(self):
        """The place is the innermost line of the program; if there is none, a line of asyncio."""
        def places():
            return {name: (item["location"]["function"], item["location"]["line"])
                    for name, item in self.threads("state=idle").items() if item["location"]}

        for name, function, comment in (
                ("main", "main", "main"), ("generator", "numbers", "generator"), ("holder", "Accounts.hold", "holder"),
                ("keep-alive", "greet", "keep-alive"), ("MainThread", "<module>", "loop")):
            self.world.wait_for(lambda: places()[name] == (function, line_of(comment)))
        self.assertEqual(places()["queue"][0], "Queue.get")

    def test_the_thread_of_a_task_that_computes(self):
        """The task is stalled, and has the thread's tid. The thread's own id is idle."""
        def spinner():
            return self.world.stalls("?ring=app&name=spinner")[0]

        self.assertIsNotNone(self.world.wait_for(spinner)["tid"])
        self.world.wait_for(lambda: self.threads("name=second")["second"]["state"] == "idle")


class Asyncio(App, unittest.TestCase):
    pass


class Uvloop(App, unittest.TestCase):
    """uvloop's loops are written in Cython, so the binding cannot find out for which socket a method waits."""
    ARGUMENTS = ("uvloop",)
    STUCK = [stuck for stuck in STUCK if stuck[0] != "socket"]
    IDLE = [*IDLE, "socket"]

    @classmethod
    def setUpClass(cls):
        if subprocess.run([PYTHON, "-c", "import uvloop"], stderr=subprocess.DEVNULL).returncode != 0:
            raise unittest.SkipTest("no python3-uvloop")
        super().setUpClass()


class Programs(unittest.TestCase):
    def test_program_sees_nothing(self):
        with tempfile.TemporaryDirectory(prefix="rip-tasks-", dir="/dev/shm") as directory:
            plain, traced = (subprocess.run(command, capture_output=True, text=True) for command in (
                [PYTHON, "-B", "-I", f"{HERE}/same_tasks.py"], rip_run(directory, "-I", f"{HERE}/same_tasks.py")))
        seen = [(run.returncode, run.stdout, re.sub("0x[0-9a-f]+", "0x", run.stderr)) for run in (plain, traced)]
        self.maxDiff = None
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(plain.returncode, 3, plain.stderr)

    def test_notes_and_deadlines(self):
        commands = [rip_run]
        if not os.environ["RIP_SANITIZE"]:  # the interpreter cannot load a librip.so with sanitizers
            commands.append(lambda *_: [PYTHON, "-B", f"{HERE}/app_noted.py", world.ring("app")])
        for command in commands:
            world = w.World()
            self.addCleanup(world.close)
            app = subprocess.Popen(command(world.dir, f"{HERE}/app_noted.py"), stdin=subprocess.PIPE,
                                   env=os.environ | {"PYTHONPATH": os.environ["RIP_PYTHON_PATH"]})
            world.processes.append(app)

            def notes(path):
                items = world.get(f"/{path}?ring=app" + "&state=idle" * (path == "threads"))[path]
                return {item["name"]: item["note"] for item in items}

            world.wait_for(lambda: notes("stalls") == {"update": "POST /order?id=7", "in_time": None, "compute": "sum"})
            world.wait_for(lambda: notes("threads").keys() >= {"answer", "without_limit", "hold", "Task-1"})
            self.assertEqual(notes("threads")["answer"], None)


if __name__ == "__main__":
    unittest.main()
