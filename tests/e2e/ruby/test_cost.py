# SPDX-License-Identifier: Apache-2.0
"""The cost of Rip.trace, compared with Ruby's own TracePoint and with a process without the binding; see compare.rb.

Each cost is the fastest of several runs, repeated until all bounds hold, because a busy machine makes some runs slower.
"""
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "../../..")
LIBRARIES = os.path.join(os.environ["RIP_TEST_BIN"], "../lib")
RUBY = "/usr/bin/ruby3.1"
COUNT = 20000
PATIENCE_S = 90
# the bound for features that cost nothing: two processes differ by some percent because of their memory layout
AS_FAST = 1.1


def measure(fastest, **environment):
    command = [RUBY, f"{TOP}/tests/bench/compare/compare.rb", str(COUNT), f"/dev/shm/rip-cost.{os.getpid()}"]
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    for name, ns in re.findall(r"^  (\w+) +([0-9.]+) +[0-9.]+$", done.stdout, re.M):
        fastest[name] = min(float(ns), fastest.get(name, float(ns)))


def too_slow(bare, bound):
    """Returns the bounds that do not hold, each with its time and its limit."""
    call = bound["call"]
    rows = {"a method while others are traced": (call, bare["call"] * AS_FAST),
            "a method that was traced": (bound["traced_once"], bare["call"] * AS_FAST),
            "traced, beside an empty TracePoint": (bound["traced"] - call, 0.5 * (bound["empty"] - call)),
            "traced, beside one that reads": (bound["traced"] - call, 0.2 * (bound["reading"] - call))}
    return {name: row for name, row in rows.items() if row[0] > row[1]}


def main():
    if not os.path.exists(RUBY):
        print("skipped: ruby3.1 is not installed")
        sys.exit(77)
    bare, bound, end = {}, {}, time.monotonic() + PATIENCE_S
    while True:
        measure(bare, RIP_BARE="1")
        measure(bound, RUBYLIB=f"{LIBRARIES}/ruby")
        slow = too_slow(bare, bound)
        if not slow or time.monotonic() > end:
            break
    print("ns without the binding:", bare, "with it:", bound)
    assert not slow, slow


main()
