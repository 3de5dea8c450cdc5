# SPDX-License-Identifier: Apache-2.0
"""Stuck requests in servers that do not use package rip, under `rip run`. Each stall has a script line, a function, and
the request without its query as note. Threads and tasks that wait for the next request are not stalls."""
import http.client
import os
import socket
import subprocess
import unittest

import world as w

APP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "app_web.py")
with open(APP, encoding="utf-8") as source:
    LINES = {line.rpartition("  # ")[2].strip(): number for number, line in enumerate(source, 1) if "  # " in line}
# Note of the request: (cause, function, mark of the line, note of the lock's holder).
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
    def setUp(self):
        self.world = w.World()
        self.addCleanup(self.world.close)

    def start(self, way):
        """Starts the server and returns its port."""
        command = [f"{w.BIN}/rip", "run", "--dir", self.world.dir, "--name", "app", "--", os.environ["RIP_PYTHON"],
                   "-IB", APP, way]
        app = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.world.processes.append(app)
        return int(app.stdout.readline())

    def ask(self, port, path):
        """Sends a request and keeps the connection open until the end of the test."""
        connection = socket.create_connection(("127.0.0.1", port))
        self.addCleanup(connection.close)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        return connection

    def idle_client(self, port):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        self.addCleanup(connection.close)
        connection.request("GET", "/ok")
        self.assertEqual(connection.getresponse().read(), b"")

    def stalled(self):
        stalls = self.world.stalls("?ring=app&cause=!sleeping")
        of_id = {stall["id"]: stall["note"] for stall in stalls}
        return {stall["note"]: (stall["cause"], stall["location"]["function"], stall["location"]["line"],
                                of_id.get(stall["waits_for"][0]["id"]) if stall["waits_for"] else None)
                for stall in stalls if stall["location"]["file"] == APP}

    def check(self, way, expected):
        """Sends the requests one after the other. GET /loop is the last: it blocks the event loop for ever."""
        port = self.start(way)
        self.idle_client(port)
        for request in expected:
            self.ask(port, request.partition(" ")[2] + "?token=secret")
            self.world.wait_for(lambda: request in self.stalled())
        places = {note: (cause, function, LINES[mark], holder)
                  for note, (cause, function, mark, holder) in expected.items()}
        try:
            self.world.wait_for(lambda: self.stalled() == places)
        except AssertionError:
            self.assertEqual(self.stalled(), places)

    def check_tasks(self, way):
        """The event loop's own thread has no note, because it receives on behalf of tasks."""
        self.check(way, TASKS)
        self.assertEqual(self.states("name", "server"), [("idle", None)])

    def states(self, key, value):
        items = self.world.get("/threads?ring=app&limit=1000")["threads"]
        return [(item["state"], item["name" if key == "note" else "note"]) for item in items if item[key] == value]

    def idle_client_is_idle(self):
        self.assertEqual([state for state, _ in self.states("note", "GET /ok")], ["idle"])

    def test_threads(self):
        self.check("threads", THREADS)
        self.idle_client_is_idle()

    def test_a_task_for_each_connection(self):
        self.check_tasks("connections")
        self.idle_client_is_idle()

    def test_a_task_for_each_request(self):
        self.check_tasks("requests")
        self.idle_client_is_idle()

    def test_tasks_that_a_protocol_makes(self):
        self.check_tasks("protocol")
        self.assertEqual(self.states("name", "later"), [("idle", None)] * len(TASKS))  # with GET /ok, without GET /loop

    def test_tasks_of_a_loop_that_calls_who_reads(self):
        self.check_tasks("reader")


unittest.main()
