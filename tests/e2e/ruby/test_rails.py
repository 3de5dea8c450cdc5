# SPDX-License-Identifier: Apache-2.0
"""Debian's Rails with puma, unchanged, under `rip run`: only threads that are stuck in a request are reported."""
import http.client
import os
import re
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import world as w  # noqa: E402

PUMA = "/usr/bin/puma"
SCRIPT = os.path.join(HERE, "rails.ru")

# For each path: the cause, a text on the line of the location, the method, and the note.
STUCK = {
    "query": ("blocked", "connection.gets", "OrdersController#ask", "GET /query"),
    "sql": ("blocked", "connection.gets", "OrdersController#ask", "GET /sql: SELECT slow() AS id"),
    "lock": ("blocked", 'render plain: "lock"', "OrdersController#lock", "GET /lock"),
    "spin": ("spinning", "loop { 1 }", "block in OrdersController#spin", "GET /spin"),
}


class Server:
    """puma with its application, and a second server that accepts connections and never answers."""

    def __init__(self, world):
        self.silent = socket.create_server(("127.0.0.1", 0))
        self.log = os.path.join(world.made, "puma.log.txt")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RIP_")}
        environment.update(SILENT=str(self.silent.getsockname()[1]), DATABASE=os.path.join(world.made, "shop.sqlite3"))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [f"{w.BIN}/rip", "run", "--dir", world.dir, "--", PUMA, "--bind", "tcp://127.0.0.1:0", "--threads",
                 "8:12", SCRIPT], stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, cwd=world.made)
        world.processes.append(self.process)
        self.port = int(world.wait_for(lambda: re.findall(r"Listening on http://127\.0\.0\.1:(\d+)", self.text()))[0])

    def text(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=w.PATIENCE_S)

    def ask(self, path):
        """Sends a request and does not wait for the answer. Returns the connection."""
        connection = self.connect()
        connection.request("GET", path)
        return connection


def expected():
    return sorted((note, cause, SCRIPT, w.line_of(SCRIPT, text), function)
                  for cause, text, function, note in STUCK.values())


def found(world):
    return sorted((stall["note"] or "", stall["cause"] or "", stall["location"]["file"], stall["location"]["line"],
                   stall["location"]["function"]) for stall in world.stalls() if stall["cause"] != "sleeping")


def is_at(world, function):
    return any((thread["location"] or {}).get("function") == function for thread in world.get("/threads")["threads"])


def test_requests_that_are_stuck_are_found(world):
    """No other thread of puma is reported: idle workers, the holder of the lock, a connection without a request.

    Management threads sleep for a time between checks, which is no event even if the interpreter's lock delays them.
    """
    server = Server(world)
    kept = server.connect()
    kept.request("GET", "/fast")
    assert kept.getresponse().read() == b"fast"
    open_ones = [kept, server.ask("/held")]
    world.wait_for(lambda: is_at(world, "block in OrdersController#held"))
    open_ones += [server.ask(f"/{name}") for name in STUCK]
    world.wait_to_stay(lambda: found(world), expected())
    waiting = [stall for stall in world.stalls() if stall["note"] == "GET /lock"][0]
    assert [holder["name"].startswith("puma srv tp") for holder in waiting["waits_for"]] == [True], waiting
    kept.request("GET", "/fast")
    assert kept.getresponse().read() == b"fast"
    events = world.get("/events?limit=1000")["events"]
    assert {event["name"] for event in events if "Automaton" in event["summary"]} == set(), events
    for connection in open_ones:
        connection.close()


if __name__ == "__main__":
    if not os.path.exists(PUMA) or subprocess.run(["/usr/bin/ruby3.1", "-e", "require 'action_controller/railtie'; "
                                                   "require 'active_record'; require 'sqlite3'"],
                                                  capture_output=True).returncode != 0:
        w.skip_script("puma, Rails or sqlite3 for Ruby is not installed")
    w.run([test_requests_that_are_stuck_are_found])
