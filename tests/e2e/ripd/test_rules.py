# SPDX-License-Identifier: Apache-2.0
"""Thresholds by name: each id has the threshold of its own rule, also after the rules change, and of a deadline set by
its program if no rule applies."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

HOUR_MS = 3600 * 1000


class RulesWorld(w.World):
    """A ripd with its rules in a file."""

    def settings(self):
        self.config_path = os.path.join(self.made, "ripd.conf.txt")
        self.write("batch-*=1h", "*=2h")
        return {**super().settings(), "config": self.config_path}

    def write(self, *rules):
        with open(self.config_path, "w", encoding="utf-8") as file:
            file.write("".join(f"rule = {rule}\n" for rule in rules))

    def reload(self, *rules):
        logged = len(self.log_text())
        self.write(*rules)
        self.ripd.send_signal(signal.SIGHUP)
        self.wait_for(lambda: 'changed="rule"' in self.log_text()[logged:])


def a_rule_prevents_a_stall(world):
    """Three ids freeze; a rule for the first one allows it."""
    app = world.puppet()
    for number, name in ((1, "batch-7"), (2, "batch-8"), (3, "worker")):
        app.do(f"spawn {number} {name} snap")
        app.do(f"freeze {number}")
    world.wait_for(lambda: world.stalled_ids() == [2, 3])
    world.well_past_threshold()
    return app


def each_id_by_its_own_rule(world):
    world.reload("batch-7=1h", "batch-*=100ms")
    app = a_rule_prevents_a_stall(world)
    assert world.stalled_ids() == [2, 3]
    thresholds = {number: world.thread(number)["threshold_ms"] for number in (1, 2, 3)}
    assert thresholds == {1: HOUR_MS, 2: 100, 3: world.STALL_AFTER_MS}
    assert {stall["id"]: stall["threshold_ms"] for stall in world.stalls()} == {2: 100, 3: world.STALL_AFTER_MS}
    app.do("spawn 4 batch-7 snap")  # a new id, in a slot of its own
    app.do("freeze 4")
    world.well_past_threshold()
    assert world.thread(4)["threshold_ms"] == HOUR_MS and world.stalled_ids() == [2, 3]


def rules_change_at_run_time(world):
    app = world.puppet()
    app.do("spawn 1 batch-7 snap")
    app.do("freeze 1")
    world.well_past_threshold()
    assert world.stalls() == [] and world.thread(1)["threshold_ms"] == HOUR_MS
    world.reload("nobody=1h")
    world.wait_for(lambda: world.stalled_ids() == [1])
    stall = world.stalls()[0]
    assert stall["threshold_ms"] == world.STALL_AFTER_MS and stall["frozen_for_ms"] >= world.STALL_AFTER_MS
    world.reload("nobody=1h", "batch-[0-9]=30m")
    world.wait_for(lambda: world.stalls() == [])
    assert world.thread(1)["threshold_ms"] == HOUR_MS / 2
    world.wait_for(lambda: "reason=excused" in world.log_text())
    assert world.log_text().count("stall begin") == 1


def on_the_command_line(world):
    """On the command line, too, the first rule that matches counts. Other ids have the common threshold."""
    a_rule_prevents_a_stall(world)
    assert {stall["id"]: stall["threshold_ms"] for stall in world.stalls()} == {2: 100, 3: world.STALL_AFTER_MS}
    assert world.thread(1)["threshold_ms"] == HOUR_MS and world.state(1) == "running"


def by_a_deadline_of_its_own(world):
    """A deadline below and above the common threshold, and one that a rule overrides."""
    app = world.puppet()
    for number, name, deadline in ((1, "quick", 100), (2, "patient", HOUR_MS), (3, "batch-7", 100), (4, "worker", 0)):
        app.do(f"spawn {number} {name} snap")
        app.do(f"deadline {number} {deadline}")
    expected = {1: 100, 2: HOUR_MS, 3: HOUR_MS, 4: world.STALL_AFTER_MS}
    world.wait_for(lambda: {number: world.thread(number)["threshold_ms"] for number in expected} == expected)
    for number in expected:
        app.do(f"freeze {number}")
    world.wait_for(lambda: world.stalled_ids() == [1, 4])
    world.well_past_threshold()
    assert {stall["id"]: stall["threshold_ms"] for stall in world.stalls()} == {1: 100, 4: world.STALL_AFTER_MS}
    app.do("thaw 1")
    app.do("deadline 1 0")
    world.wait_for(lambda: world.thread(1)["threshold_ms"] == world.STALL_AFTER_MS)


def make_world():
    if make_world.tests.pop(0) in (on_the_command_line, by_a_deadline_of_its_own):
        return w.World("--rule", "batch-7=1h", "--rule=batch-*=100ms")
    return RulesWorld()


TESTS = [each_id_by_its_own_rule, rules_change_at_run_time, on_the_command_line, by_a_deadline_of_its_own]
make_world.tests = [test for test in TESTS if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]]
w.run(TESTS, make_world)
