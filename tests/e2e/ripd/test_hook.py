# SPDX-License-Identifier: Apache-2.0
"""--on-stall: the command runs for each begin and end, and ripd continues whatever the command does."""
import glob
import json
import os
import re
import resource
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hostile_ring as h  # noqa: E402
import schema  # noqa: E402
import world as w  # noqa: E402

RUNNING_MAX = 4
QUEUE_MAX = 256
HOSTILE = [b"\x1b[31;5m\x1b]0;title\x07", b"<script>alert(1)</script>", b"\xff\xfe\x80\xc3", b'"' * 63,
           b"$(touch INJECTED)", b"`touch INJECTED`", b"; touch INJECTED #", b"a\nRIPD_EVENT=end\n\r\0b",
           b"' ; touch INJECTED '", b"\xe2\x80\xae\xc2\x9b31m"]


class HookWorld(w.World):
    """The command is a script that each test writes."""

    def start(self):
        self.configure(f"exec {self.made}/hook")
        self.flags = ["--config", f"{self.made}/ripd.conf"]
        super().start()

    def configure(self, command):
        with open(f"{self.made}/ripd.conf", "w", encoding="utf-8") as file:
            file.write(f"on-stall = {command}\n")

    def hook(self, text):
        path = os.path.join(self.made, "hook")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nbegan=$(readlink /proc/$$/cwd)\ncd {self.made}\n{text}\n")
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)

    def events_of_command(self):
        """Returns the events that the command received. An incomplete last line is ignored."""
        events = [json.loads(line) for line in self.read("out").split("\n")[:-1]]
        for event in events:
            schema.check_document(event, "event", "--on-stall")
        return events

def begin_and_end(world):
    world.hook('cat >>out; echo "$RIPD_EVENT $RIPD_EPISODE" >>said')
    app = world.puppet()
    app.do("spawn 5 five snap")
    world.wait_for(lambda: world.state(5) == "running")
    app.do("freeze 5")
    world.wait_for(lambda: world.read("said"))
    app.do("thaw 5")
    world.wait_for(lambda: world.read("said").count("\n") == 2)
    begin, end = world.events_of_command()
    assert world.read("said") == f"begin {begin['episode']}\nend {begin['episode']}\n"
    assert (begin["kind"], end["kind"]) == ("begin", "end") and begin["episode"] == end["episode"]
    assert begin["id"] == end["id"] == 5 and begin["name"] == "five" and begin["ring"] == "app"
    listed = world.get("/events")["events"]
    assert [end, begin] == listed, "the command must get the same events as /events"


def clean_slate(world):
    world.hook("tr '\\0' '\\n' </proc/$$/environ >environment\n"
               "(ls /proc/$$/fd >descriptors)  # a shell of its own opens it\n"
               "out=$(readlink /proc/$$/fd/1); printf '%s\\n' $out $began >links; readlink /proc/$PPID/exe >>links\n"
               "grep -E '^Sig(Blk|Ign)' /proc/$$/status | cut -f2 | tr '\\n' ' ' >signals\n"
               "cut -d' ' -f1,5,6 /proc/$$/stat >ids; ulimit -S -n >limit; mv ids done")
    app = world.puppet()
    app.do("spawn 5 five once")
    ids = world.wait_for(lambda: world.read("done")).split()
    assert ids[0] == ids[1] == ids[2], "the command must have its own session and process group"
    environment = dict(line.split("=", 1) for line in world.read("environment").splitlines())
    assert set(environment) - {"PWD", "OLDPWD", "_", "SHLVL"} == {
        "PATH", "RIPD_EVENT", "RIPD_EPISODE", "RIPD_INCIDENT"}, environment
    # The shell has the script open as descriptor 10 or so.
    opened = [n for n in world.read("descriptors").split() if int(n) < 3]
    assert opened == ["0", "1", "2"] and len(world.read("descriptors").split()) == 4, world.read("descriptors")
    out, directory, parent = world.read("links").splitlines()
    assert (out, directory, os.path.basename(parent)) == ("/dev/null", "/", "ripd"), world.read("links")
    blocked, ignored = (int(mask, 16) for mask in world.read("signals").split())
    assert blocked == 0 and ignored & ~(3 << 31) == 0, "signals must be unblocked and have their default action"
    assert int(world.read("limit")) == resource.getrlimit(resource.RLIMIT_NOFILE)[0], "the original limit"


def hostile_names(world):
    world.hook("cat >>out; cat /proc/$$/environ >>environment; echo >>environment")
    ring = h.Ring(world.ring("hostile"))
    ring.process(0, os.getpid())
    for number, name in enumerate(HOSTILE):
        ring.slot(number, number=number + 1, name=name)
    ring.publish()
    events = world.wait_for(lambda: len(world.events_of_command()) >= len(HOSTILE) and world.events_of_command())
    assert sorted(event["id"] for event in events) == list(range(1, len(HOSTILE) + 1))
    for event in events:
        raw = HOSTILE[event["id"] - 1]
        assert event["kind"] == "begin"
        assert bytes.fromhex(event["name_hex"]) == raw if "name_hex" in event else event["name"].encode() == raw
    with open(os.path.join(world.made, "out"), "rb") as file:
        text = file.read()
    assert text.count(b"\n") == len(HOSTILE) and not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", text), "one line an event"
    # the environment is written after the line counted above
    world.wait_for(lambda: world.read("environment").count("\n") == len(HOSTILE))
    kinds = re.findall(r"RIPD_EVENT=(\w*)", world.read("environment"))
    assert kinds == ["begin"] * len(HOSTILE)
    assert not glob.glob("/INJECTED") and not glob.glob(f"{world.made}/INJECTED")
    assert "\x1b" not in world.log_text()


def separate_stalls(world, count):
    """Each stall is an incident of its own, because ids without a thread need no evidence."""
    app = world.puppet(capacity=512)
    for number in range(1, count + 1):
        app.do(f"coroutine {number} worker-{number}")


def a_command_that_hangs(world):
    """A command that hangs delays neither scans, nor other commands, nor the end of ripd. It is killed with its
    children."""
    world.hook('trap "" TERM\nsleep 1000 & echo $! >>pids\necho $$ >>pids\nwhile :; do sleep 1000; done')
    separate_stalls(world, 6)
    world.wait_for(lambda: world.read("pids").count("\n") == 2 * RUNNING_MAX)
    before, began = world.sequence(), time.monotonic()
    world.wait_for(lambda: world.sequence() >= before + 10)
    assert time.monotonic() - began < 10 * (world.INTERVAL_MS / 1000) * 10, "scans must continue"
    assert world.metric("ripd_hook_runs_total") == RUNNING_MAX
    pids = [int(line) for line in world.read("pids").split()]
    assert all(w.name_of(pid) for pid in pids)
    world.ripd.send_signal(signal.SIGTERM)
    assert world.ripd.wait(timeout=w.PATIENCE_S) == 0
    w.wait_for(lambda: not any(w.name_of(pid) for pid in pids))  # no process is left
    assert "killed because ripd stops count=4" in world.log_text()
    assert "not given to the on-stall command count=2" in world.log_text()
    world.start()


def flood(world):
    """300 stalls at the same time: a few commands run at a time, and dropped events are counted."""
    world.hook("touch running.$$; n=$(ls | grep -c '^running'); echo $n >>most; cat >>out\n"
               "until [ -e all ]; do sleep 0.1; done; rm running.$$")
    separate_stalls(world, 300)
    world.wait_for(lambda: world.get("/events?limit=1&kind=begin")["total"] == 300)
    world.wait_scans(2)
    dropped = world.metric('ripd_limit_hits_total{limit="hooks"}')
    assert dropped >= 300 - QUEUE_MAX - RUNNING_MAX, dropped
    open(os.path.join(world.made, "all"), "wb").close()
    world.wait_for(lambda: len(world.events_of_command()) >= 300 - dropped)
    world.wait_scans(2)
    assert world.metric('ripd_limit_hits_total{limit="hooks"}') == dropped == 300 - len(world.events_of_command())
    assert world.metric("ripd_hook_runs_total") == len(world.events_of_command())
    assert max(int(line) for line in world.read("most").split()) <= RUNNING_MAX
    assert re.search(r"events not given to the on-stall command count=\d+", world.log_text())


def failures(world):
    """Commands that fail, are missing, or do not read their input: they are counted and logged."""
    app = world.puppet()

    def stall(number):
        app.do(f"spawn {number} name once")
        world.wait_for(lambda: number in world.stalled_ids())

    stall(1)  # the script does not exist yet
    world.wait_for(lambda: "on-stall command failed" in world.log_text())
    assert re.search(r"on-stall command failed count=1 event=begin episode=\d+ exit_status=127 \(not found\)",
                     world.log_text())
    assert world.log_text().count("not found\n") == 1, "the message of the shell"
    world.wait_for(lambda: world.metric("ripd_hook_failures_total") == 1)
    world.hook("exec </dev/null; echo ran >>out; exit 3")
    stall(2)
    world.wait_for(lambda: world.metric("ripd_hook_failures_total") == 2)
    world.hook("kill -SEGV $$")
    stall(3)
    world.wait_for(lambda: world.metric("ripd_hook_failures_total") == 3)
    world.hook("true")
    stall(4)
    world.wait_for(lambda: world.metric("ripd_hook_runs_total") == 4)
    world.wait_scans(2)
    assert world.metric("ripd_hook_failures_total") == 3
    assert world.read("out") == "ran\n"


def reload(world):
    """A reload changes the command, or removes it."""
    app = world.puppet()

    def stall(number):
        app.do(f"spawn {number} name once")
        world.wait_for(lambda: number in world.stalled_ids())

    def change(command):
        world.configure(command)
        lines = world.log_text().count("reloaded")
        world.ripd.send_signal(signal.SIGHUP)
        world.wait_for(lambda: world.log_text().count("reloaded") > lines)

    world.hook("echo old >>out")
    stall(1)
    world.wait_for(lambda: world.read("out") == "old\n")
    change(f"echo new >>{world.made}/out")
    stall(2)
    world.wait_for(lambda: world.read("out") == "old\nnew\n")
    change("")
    stall(3)
    world.wait_scans(3)
    assert world.read("out") == "old\nnew\n" and world.metric("ripd_hook_runs_total") == 2


if __name__ == "__main__":
    w.run([begin_and_end, clean_slate, hostile_names, a_command_that_hangs, flood, failures, reload], HookWorld)
