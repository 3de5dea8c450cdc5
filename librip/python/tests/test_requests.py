# SPDX-License-Identifier: Apache-2.0
"""Requests that are stuck in servers that know nothing of tracing, under `rip run`: each has its line of script, its
function and the request without its query as its note; those that wait for the next request are no stalls."""
import http.client
import os
import socket
import subprocess
import unittest

import world as w

APP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "app_web.py")
with open(APP, encoding="utf-8") as source:
    LINES = {line.rpartition("  # ")[2].strip(): number for number, line in enumerate(source, 1) if "  # " in line}
# What asks for each: cause, function, mark of the line, and whose lock it waits for.
THREADS = {
    "GET /query": ("blocked", "Handler.query", "thread query", None),
    "GET /hold": ("blocked", "Handler.query", "thread query", None),
    "GET /lock_it": ("blocked", "Handler.lock_it", "thread lock_it", "GET /hold"),
    "GET /loop": ("spinning", "Handler.loop", "thread loop", None),
}
TASKS = {
    "GET /query": ("parked", "query", "task query", None),
    "GET /hold": ("parked", "query", "task query", None),
    "GET /lock_it": ("parked", "lock_it", "task lock_it", "GET /hold"),
    "GET /loop": ("spinning", "loop", "task loop", None),
}


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = w.World()
        cls.addClassCleanup(cls.world.close)
        command = [f"{w.BIN}/rip", "run", "--dir", cls.world.dir, "--name", "app", "--", os.environ["RIP_PYTHON"],
                   "-IB", APP]
        cls.app = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.world.processes.append(cls.app)
        cls.ports = [int(port) for port in cls.app.stdout.readline().split()]

    def ask(self, port, path):
        """Leaves the connection open, whether there is an answer or not."""
        connection = socket.create_connection(("127.0.0.1", port))
        self.addCleanup(connection.close)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        return connection

    def idle_client(self, port):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        self.addCleanup(connection.close)
        connection.request("GET", "/ok")
        self.assertEqual(connection.getresponse().read(), b"")

    def stalled(self, of_tasks):
        stalls = [stall for stall in self.world.stalls("?ring=app&cause=!sleeping")
                  if (stall["id"] >= 10000000) == of_tasks]
        of_id = {stall["id"]: stall["note"] for stall in stalls}
        return {stall["note"]: (stall["cause"], stall["location"]["function"], stall["location"]["line"],
                                of_id.get(stall["waits_for"][0]["id"]) if stall["waits_for"] else None)
                for stall in stalls if stall["location"]["file"] == APP}

    def check(self, port, expected, of_tasks):
        """One after the other: a loop is the last that an event loop does."""
        self.idle_client(port)
        for request in expected:
            self.ask(port, request.partition(" ")[2] + "?token=secret")
            self.world.wait_for(lambda: request in self.stalled(of_tasks))
        places = {note: (cause, function, LINES[mark], holder)
                  for note, (cause, function, mark, holder) in expected.items()}
        self.world.wait_for(lambda: self.stalled(of_tasks) == places)
        self.idle_client_is_idle(of_tasks)

    def idle_client_is_idle(self, of_tasks):
        items = self.world.get("/threads?ring=app&limit=1000")["threads"]
        self.assertEqual([item["state"] for item in items
                          if item["note"] == "GET /ok" and (item["id"] >= 10000000) == of_tasks], ["idle"])

    def test_threads(self):
        self.check(self.ports[0], THREADS, False)

    def test_tasks(self):
        self.check(self.ports[1], TASKS, True)


unittest.main()
