# SPDX-License-Identifier: Apache-2.0
"""A hundred thousand coroutines on four threads wait for work, except one, which waits for a queue that is never
filled. It must be reported in time, with its id, its name and its location.

Prints the memory for each coroutine. The delay is what ripd itself reports. The best of several tries counts, because a
busy machine can only make a try slower.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import world as w  # noqa: E402

COUNT = 100000
FIRST_ID = 5000000
TRIES = 8
BYTES_MAX = 640  # memory of the ring for each coroutine
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "coroutine_crowd.cc")


class Crowd(w.Puppet):
    def __init__(self, world):
        super().__init__(world, [f"{w.BIN}/coroutine_crowd", world.ring("crowd"), str(COUNT)])
        answer = self.process.stdout.readline()
        assert answer == "there\n", answer


def resident_bytes(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"^Private_Dirty: +(\d+) kB", file.read(), re.M).group(1)) << 10


def only_stall(world):
    """Returns the stalled coroutine, or None. On a busy machine, a thread with its coroutine may also be stalled."""
    stalls = [stall for stall in world.stalls("?ring=crowd&trail=32") if stall["tid"] is None]
    assert len(stalls) <= 1, [stall["name"] for stall in stalls]
    return stalls[0] if stalls else None


def late_ms(world, number):
    """Returns the maximum duration of the stall when it was first reported, minus the threshold."""
    begin = world.wait_for(lambda: [event for event in world.get("/events")["events"]
                                    if event["kind"] == "begin" and event["id"] == FIRST_ID + number])[0]
    return begin["frozen_for_max_ms"] - world.STALL_AFTER_MS


def only_named_stall(world):
    """Returns the stall if its location and its last two breadcrumbs have names, which come later; otherwise None."""
    stall = only_stall(world)
    places = [stall["location"], *stall["trail"][:2]]
    return stall if all(place["function"] for place in places) else None


def one_of_many_is_found(world):
    crowd = Crowd(world)
    used = os.stat(world.ring("crowd")).st_blocks * 512 / COUNT
    print(f"        {used:.1f} bytes of the ring for each coroutine;"
          f" {resident_bytes(crowd.pid) / COUNT:.0f} of the program's own, its frame and its context included")
    assert used <= BYTES_MAX
    world.wait_for(lambda: world.get("/threads?ring=crowd&state=idle&limit=1")["total"] >= COUNT)
    late = []
    for number in (77777, 0, 99999, 31, 4096, 50001, 65536, 12345)[:TRIES]:
        crowd.do(f"lose {number}")
        stall = world.wait_for(lambda: only_stall(world))
        assert (stall["id"], stall["name"], stall["cause"]) == (FIRST_ID + number, f"request {number}", "parked"), stall
        late.append(late_ms(world, number))
        stall = world.wait_for(lambda: only_named_stall(world))
        assert (os.path.basename(stall["location"]["file"]), stall["location"]["line"]) == \
            ("coroutine_crowd.cc", w.line_of(SOURCE, "// MARK lost")), stall["location"]
        functions = [entry["function"] for entry in stall["trail"]]
        assert "serve" in functions[0] and "take_request" in functions[1], functions
        crowd.do(f"fill {number}")
        world.wait_for(lambda: only_stall(world) is None)
        if late[-1] <= 2 * world.INTERVAL_MS:
            break
    print(f"        reported {late} ms after the threshold, at an interval of {world.INTERVAL_MS} ms")
    assert min(late) <= 2 * world.INTERVAL_MS, late


if __name__ == "__main__":
    w.run([one_of_many_is_found])
