# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for each other in real locks, under the preload library: who waits for whom, and deadlocks, without
false reports. No privileges are needed."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from world import BIN, PATIENCE_S, World, run  # noqa: E402


def play(world, *words, program="locks"):
    process = subprocess.Popen([f"{BIN}/rip", "run", "--dir", world.dir, "--name", "app", "--",
                                f"{BIN}/{program}", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    world.processes.append(process)
    assert process.stdout.readline() == "ready\n"
    return process


def stalls(world, query=""):
    return {item["name"]: item for item in world.stalls(query)}


def names(item):
    return [step["name"] for step in item["waits_for"]]


def round_from(first, count):
    """Returns the members of the cycle, starting after first and ending with it."""
    return [f"cycle-{(first + 1 + i) % count}" for i in range(count)]


def cycles(world):
    for count in (2, 3):
        process = play(world, "cycle", str(count))
        world.wait_for(lambda c=count: len(world.stalls("?cause=deadlock")) == c and
                       world.get("/stalls?group=root")["total"] == 1)
        items = stalls(world, "?cause=deadlock")
        for own in range(count):
            item = items[f"cycle-{own}"]
            assert names(item) == round_from(own, count) and item["waits_for_left_out"] == 0, item
            assert all(step["certain"] and step["holder"] == "id" and step["state"] == "stalled" and
                       step["ring"] == item["ring"] and step["tid"] == step["id"] for step in item["waits_for"]), item
            world.wait_for(lambda i=item: world.get(f"/threads/app/{i['id']}")["thread"]["waits_for"] ==
                           stalls(world)[i["name"]]["waits_for"])
        groups = world.get("/stalls?group=root")
        assert groups["schema"] == "ripd/stalls-by-root/1" and groups["total"] == 1 and groups["alone"] == 0, groups
        group = groups["stalls"][0]
        of_process = world.get(f"/stalls?group=root&pid={process.pid}")
        assert of_process["counts"]["stalled"] == count and len(of_process["stalls"]) == 1, of_process
        assert world.get(f"/stalls?group=location&pid={process.pid}")["total"] >= 1
        assert group["count"] == count and group["root"]["cause"] == "deadlock" and group["longest_ms"] >= 1000
        assert sorted(step["name"] for step in group["deadlock"]) == sorted(items)
        assert not re.search("0x7f[0-9a-f]{8}", str(world.get("/stalls?group=root"))), "an address is disclosed"
        process.kill()
        process.wait()
        world.wait_for(lambda: not world.stalls())
        world.wait_for(lambda c=count: world.get("/threads?state=dead&name=cycle-*")["total"] >= c)
        for item in items.values():  # the deadlock has ended, but is still known
            last = [thread["last"] for thread in world.get("/threads?state=dead&name=cycle-*")["threads"]
                    if thread["tid"] == item["tid"] or thread["id"] == item["id"]][-1]
            assert last["state"] == "stalled" and last["cause"] == "deadlock", last
            assert names(last) == names(item) and last["waits_for_left_out"] == 0, (last, item)


def threads_wait_for_a_cycle(world):
    play(world, "behind", "3")
    world.wait_for(lambda: len(world.stalls("?cause=deadlock")) == 3 and len(world.stalls()) == 6)
    world.wait_for(lambda: all(len(item["waits_for"]) == 3 and item["cause"] for item in world.stalls()))
    # a thread that reads the holder of its lock again is runnable for a moment
    world.wait_for(lambda: len(world.stalls("?cause=blocked")) == 3)
    for name, item in stalls(world).items():
        if name.startswith("behind"):
            assert names(item) == ["cycle-0", "cycle-1", "cycle-2"], item
    groups = world.get("/stalls?group=root")["stalls"]
    assert [(group["count"], len(group["deadlock"])) for group in groups] == [(6, 3)], groups
    world.wait_for(
        lambda: [group["count"] for group in world.get("/stalls?group=root&cause=blocked")["stalls"]] == [3])


def a_thread_locks_twice(world):
    play(world, "twice")
    world.wait_for(lambda: [names(item) for item in world.stalls("?cause=deadlock")] == [["twice-0"]])


def a_chain_ends_at_the_writer_of_a_full_pipe(world):
    play(world, "line", "20")
    world.wait_for(lambda: len(world.stalls()) == 20)
    items = world.wait_for(lambda: all(item["waits_for"] and item["cause"] for name, item in stalls(world).items()
                                       if name != "line-0") and stalls(world))
    assert items["line-0"]["waits_for"] is None and items["line-0"]["waits_for_left_out"] is None
    assert names(items["line-5"]) == [f"line-{i}" for i in (4, 3, 2, 1, 0)]
    last = items["line-19"]
    assert names(last) == [f"line-{i}" for i in range(18, 3, -1)] + ["line-0"] and last["waits_for_left_out"] == 3
    assert all(item["cause"] != "deadlock" for item in items.values())
    assert all(item["cause"] == "blocked" for name, item in items.items() if name != "line-0"), items
    group = world.get("/stalls?group=root")
    assert group["total"] == 1 and group["alone"] == 1, group
    root = group["stalls"][0]["root"]
    assert group["stalls"][0]["count"] == 19 and group["stalls"][0]["deadlock"] is None
    assert root["name"] == "line-0" and root["state"] == "stalled" and root["holder"] == "id", root
    assert root["location"]["module"] == "locks" and root["kernel"]["syscall"] in ("write", None), root


def events_of_waiters(world, name, kind, count):
    """Returns the begin or end events of ids that wait for name, when there are count of them."""
    def found():
        return [event for event in world.get(f"/events?kind={kind}&limit=1000")["events"]
                if event["root"] is not None and event["root"]["name"] == name]
    return world.wait_for(lambda: [events for events in [found()] if len(events) == count][0])


class HookWorld(World):
    """A world with a command that notes each event."""

    def settings(self):
        return {**super().settings(), "on-stall": f"echo $RIPD_EVENT $RIPD_INCIDENT >>{self.made}/runs"}

    def runs(self):
        with open(f"{self.made}/runs", encoding="ascii") as file:
            return file.read().splitlines()


def readers_wait_for_a_writer(world):
    process = play(world, "written", "20")
    # A thread that reads the holder of its lock again is runnable, and may wait for a CPU.
    world.wait_for(lambda: {name: (names(item), item["cause"]) for name, item in stalls(world).items()
                            if name != "writer-0"} ==
                   {f"reader-{i}": (["writer-0"], "blocked") for i in range(20)})
    begins = events_of_waiters(world, "writer-0", "begin", 20)
    incident, = {event["incident"] for event in begins}
    # At the start the threads wait for each other. On a busy machine this may be long enough to be reported, correctly.
    others = {event["incident"] for event in world.get("/events?limit=1000")["events"]} - {incident}
    assert incident in {event["episode"] for event in world.get("/events?limit=1000")["events"]}
    assert max(event["waiting_count"] for event in begins) == 20 and all(
        names(event)[-1] == event["root"]["name"] for event in begins), begins
    assert world.log_text().count("stall begin ") == 1 + len(others)  # one line for all of them
    world.wait_for(lambda: world.metric("ripd_incidents") == 1)
    group = world.get("/stalls?group=root")["stalls"]
    assert [(g["count"], g["root"]["name"]) for g in group] == [(20, "writer-0")], group
    process.kill()
    process.wait()
    world.wait_for(lambda: world.metric("ripd_incidents") == 0)
    world.wait_for(lambda: world.log_text().count("stall end ") == 1 + len(others))
    assert all(event["incident"] == incident for event in events_of_waiters(world, "writer-0", "end", 20))
    assert world.log_text().count("stall end ") == 1 + len(others)
    world.wait_for(lambda: len(world.runs()) >= 2 + 2 * len(others))
    assert [line for line in world.runs() if line.endswith(f" {incident}")] == [
        f"begin {incident}", f"end {incident}"], world.runs()


def readers_are_not_named(world):
    play(world, "read", "5")
    world.wait_for(lambda: sum(item["waits_for"] is not None for item in world.stalls()) == 5)
    for name, item in stalls(world).items():
        if name != "holder-0":
            step, = item["waits_for"]
            assert step["holder"] == "readers" and step["id"] is step["tid"] is step["name"] is step["state"] is None
    group, = world.get("/stalls?group=root")["stalls"]
    assert group["count"] == 5 and group["root"]["holder"] == "readers" and group["root"]["location"] is None, group


def a_timeout_is_no_deadlock(world):
    play(world, "cycle-for-a-while", "2")
    world.wait_for(lambda: len(world.stalls()) == 2)
    world.well_past_threshold()
    assert not world.stalls("?cause=deadlock")


def watch(world, seconds):
    """Checks that no scan in this time reports a deadlock. Returns how many ids were stalled behind a lock."""
    held_up, end = set(), time.monotonic() + seconds
    while time.monotonic() < end:
        for item in world.stalls():
            assert item["cause"] != "deadlock", item
            if item["waits_for"]:
                held_up.add(item["name"])
        time.sleep(0.03)
    return held_up


def old_facts_are_not_combined(world):
    play(world, "seeming")
    assert {"seeming-0", "seeming-1"} <= watch(world, 5)


def locks_are_handed_over(world):
    process = play(world, "handover", "24")
    assert len(watch(world, 5)) >= 3
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0


def cpp(world):
    if not os.path.exists(f"{BIN}/locks_cpp"):
        return
    play(world, program="locks_cpp")
    world.wait_for(lambda: len(world.stalls("?cause=deadlock")) == 2)
    items = stalls(world, "?cause=deadlock")
    assert names(items["shared"]) == ["mutex", "shared"] and names(items["mutex"]) == ["shared", "mutex"], items
    # The wrapped call is inlined from a header of the C++ library, where the user has no code to look for.
    world.wait_for(lambda: all(stall["location"]["function"] for stall in world.stalls("?cause=deadlock")))
    items = stalls(world, "?cause=deadlock")
    for name, function in (("shared", "hold_shared"), ("mutex", "hold_plain")):
        location = items[name]["location"]
        assert location["function"].startswith(function) and location["file"].endswith("/locks_cpp.cc"), location
        assert location["line"] and location["inlined"][0]["file"].startswith("/usr/"), location
        summary = items[name]["summary"]
        assert f" in {function}" in summary and "it waits for a lock held by" in summary, items


class HastyWorld(World):
    def settings(self):
        return {**super().settings(), "stall-after": "100ms", "interval": "50ms"}



HASTY_TESTS = [old_facts_are_not_combined, locks_are_handed_over]
STEADY_TESTS = [cycles, threads_wait_for_a_cycle, a_thread_locks_twice, a_chain_ends_at_the_writer_of_a_full_pipe,
                readers_wait_for_a_writer, readers_are_not_named, a_timeout_is_no_deadlock, cpp]

worlds = {**dict.fromkeys(HASTY_TESTS, HastyWorld), readers_wait_for_a_writer: HookWorld}
kinds = [worlds.get(test, World) for test in STEADY_TESTS + HASTY_TESTS
         if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]]
run(STEADY_TESTS + HASTY_TESTS, lambda: kinds.pop(0)())
