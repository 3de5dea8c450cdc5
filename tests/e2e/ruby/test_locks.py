# SPDX-License-Identifier: Apache-2.0
"""Locks of Ruby under `rip run`: deadlocks are proven, waiting threads show the current holder, and threads that wait
for a hand-over are idle."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import world as w  # noqa: E402

RUBY = "/usr/bin/ruby3.1"
SCRIPT = os.path.join(HERE, "locks.rb")
RACTORS = os.path.join(HERE, "ractors.rb")
MAIN_SLEEPS = os.path.join(HERE, "main_sleeps.rb")
SCHEDULER = os.path.join(HERE, "scheduler.rb")

# For each thread: the cause, a text on its line, its method, and the threads in the chain that it waits for.
STUCK = {
    "pay": ("deadlock", "# stuck for good", "block in move", ["pay", "refund"]),
    "refund": ("deadlock", "# stuck for good", "block in move", ["pay", "refund"]),
    "credit": ("deadlock", "# in the other's monitor", "enter", ["credit", "debit"]),
    "debit": ("deadlock", "# in the other's monitor", "enter", ["credit", "debit"]),
    "cash": ("deadlock", "# gets the drawer back", "block (3 levels) in <main>", ["cash", "drawer"]),
    "drawer": ("deadlock", "# has the drawer", "block (2 levels) in <main>", ["cash", "drawer"]),
    "safe": ("deadlock", "# gets the monitor back", "block (3 levels) in <main>", ["guard", "safe"]),
    "guard": ("deadlock", "# has the monitor", "block (2 levels) in <main>", ["guard", "safe"]),
    "behind": ("blocked", "# behind both", "block in <main>", ["pay", "refund"]),
    "third": ("blocked", "# behind the one", "block in <main>", ["two"]),
}
IDLE = ["one", "two", "ended", "condition", "monitor condition", "queue", "sized queue", "join", "value"]


# The first thread of main_sleeps.rb, and the threads that wait for it.
BEHIND_MAIN = {
    "main": ("sleeping", "sleep 3600", "block (2 levels) in <main>", []),
    "mutex": ("blocked", "# behind its mutex", "block in <main>", ["main"]),
    "monitor": ("blocked", "# behind its monitor", "block in <main>", ["main"]),
}

# The fibers of scheduler.rb, in order of creation.
FIBERS = {
    1: ("deadlock", "# has the first", "block (2 levels) in <main>", [1, 2]),
    2: ("deadlock", "# has the second", "block (2 levels) in <main>", [1, 2]),
    3: ("parked", "# behind another fiber", "wait_for", [1, 2]),
    5: ("parked", "# behind another fiber", "wait_for", [4]),
    8: ("parked", "# behind another fiber", "wait_for", [7]),
}


def expected(script, stuck):
    return {name: (cause, w.line_of(script, text), function, chain)
            for name, (cause, text, function, chain) in stuck.items()}


def found(world):
    return {stall["name"]: (stall["cause"], stall["location"]["line"], stall["location"]["function"],
                            sorted({holder["name"] for holder in stall["waits_for"] or []}))
            for stall in world.stalls()}


def start(world, script):
    process = subprocess.Popen([f"{w.BIN}/rip", "run", "--dir", world.dir, "--", RUBY, script], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    world.processes.append(process)
    assert process.stdout.readline() == "running\n"
    return process


def test_waiters_and_holders(world):
    process = start(world, SCRIPT)
    world.wait_to_stay(lambda: found(world), expected(SCRIPT, STUCK))
    states = {thread["name"]: thread["state"] for thread in world.get("/threads?limit=1000")["threads"]}
    assert {name: states[name] for name in IDLE} == dict.fromkeys(IDLE, "idle"), states
    process.stdin.close()
    assert process.wait(w.PATIENCE_S) == 0


def test_waiters_for_the_sleeping_first_thread(world):
    process = start(world, MAIN_SLEEPS)
    world.wait_to_stay(lambda: found(world), expected(MAIN_SLEEPS, BEHIND_MAIN))
    process.stdin.close()
    assert process.wait(w.PATIENCE_S) == 0


def number(name):
    return int(name.rpartition("#")[2]) if "#" in name else name


def test_waiters_for_a_fiber(world):
    """Fibers with a scheduler, which runs other fibers during a wait. Fibers that wait for something other than a mutex
    are idle."""
    process = start(world, SCHEDULER)
    world.wait_to_stay(lambda: {number(name): (*stuck[:3], sorted(number(holder) for holder in stuck[3]))
                                for name, stuck in found(world).items()}, expected(SCHEDULER, FIBERS))
    process.stdin.close()
    assert process.wait(w.PATIENCE_S) == 0


def test_threads_of_other_ractors_are_not_accused(world):
    """Only a thread that loops is reported, because it uses CPU time. Threads of the main Ractor are reported as usual.
    """
    process = start(world, RACTORS)
    world.wait_to_stay(lambda: {(stall["name"], stall["cause"], stall["location"]["line"]) for stall in world.stalls()},
                       {("loops", "spinning", None), ("mutex", "blocked", w.line_of(RACTORS, "# of the main Ractor"))})
    names = {thread["name"] for thread in world.get("/threads?limit=1000&state=idle")["threads"]}
    assert {name for name in names if name.startswith("of it: ")} >= {
        f"of it: {name}" for name in ("holder", "mutex", "sleep", "queue", "sized queue", "condition")}, names
    process.stdin.close()
    assert process.wait(w.PATIENCE_S) == 0


if __name__ == "__main__":
    if not os.path.exists(RUBY):
        w.skip_script("ruby3.1 is not installed")
    w.run([test_waiters_and_holders, test_waiters_for_the_sleeping_first_thread, test_waiters_for_a_fiber,
           test_threads_of_other_ractors_are_not_accused])
