# SPDX-License-Identifier: Apache-2.0
"""Waits of Ruby's threads, which use poll() to read and write: threads that wait for a reply, for a child's output or
for buffer space are reported; threads that wait for input are idle."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import world as w  # noqa: E402

RUBY = "/usr/bin/ruby3.1"
SCRIPT = os.path.join(HERE, "waits.rb")
STUCK = {
    "child: popen": "# its output",
    "reply: gets": "# no reply",
    "reply: ready": "# not ready",
    "reply: timeout": "# in time",
    "room: socket": "# in a socket",
    "room: pipe": "# in a pipe",
}


def expected():
    return {(name, "blocked", w.line_of(SCRIPT, text)) for name, text in STUCK.items()}


def found(world):
    return {(stall["name"], stall["cause"], stall["location"]["line"]) for stall in world.stalls()
            if stall["location"]["file"] == SCRIPT}


def test_what_threads_wait_for(world):
    process = subprocess.Popen([f"{w.BIN}/rip", "run", "--dir", world.dir, "--", RUBY, SCRIPT], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    world.processes.append(process)
    assert process.stdout.readline() == "running\n"
    world.wait_to_stay(lambda: found(world), expected())
    child = [stall for stall in world.stalls() if stall["name"] == "child: popen"][0]
    assert child["kernel"]["holder"]["comm"] == "cat", child
    helpers = {stall["location"]["function"] for stall in world.stalls() if stall["location"]["file"] != SCRIPT}
    assert helpers <= {"block (2 levels) in Open3.capture2"}, helpers  # a helper thread reads the output of the child
    states = {thread["name"]: thread["state"] for thread in world.get("/threads?limit=1000")["threads"]}
    idle = {name for name, state in states.items() if name.startswith("idle: ") and state == "idle"}
    assert len(idle) == 6 and states["main"] == "idle", states
    process.stdin.close()
    assert process.wait(w.PATIENCE_S) == 0


if __name__ == "__main__":
    if not os.path.exists(RUBY):
        w.skip_script("ruby3.1 is not installed")
    w.run([test_what_threads_wait_for])
