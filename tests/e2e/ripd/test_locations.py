# SPDX-License-Identifier: Apache-2.0
"""/locations and group=location: counts of ids by location."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from world import run  # noqa: E402


def ids_of_two_programs(world):
    """Ids of two processes of one program are counted at the same locations. An id without a breadcrumb has no
    location."""
    first, second = world.puppet("one"), world.puppet("two")
    for app in (first, second):
        app.do("spawn-many 20")
        app.do("spawn 100 silent never")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] >= 40)
    for number in (3, 4, 5):
        first.do(f"freeze {number}")
    second.do("freeze 7")
    world.wait_for(lambda: world.get("/stalls")["total"] == 6)

    answer = world.get("/locations")
    groups = answer["locations"]
    assert answer["schema"] == "ripd/locations/1" and answer["left_out"] == 0, answer
    assert sum(group["count"] for group in groups) == 42 and answer["total"] == answer["returned"] == len(groups)
    assert [group["count"] for group in groups] == sorted((group["count"] for group in groups), reverse=True)
    nowhere = [group for group in groups if group["location"] is None]
    assert [group["count"] for group in nowhere] == [2] and nowhere[0]["states"]["stalled"] == 2, nowhere
    assert nowhere[0]["example"]["name"] == "silent"
    places = {(group["location"]["module"], group["location"]["offset"]) for group in groups if group["location"]}
    assert len(places) == len(groups) - 1 and {module for module, _ in places} == {"puppet"}
    frozen = [group for group in groups if group["states"]["stalled"] and group["location"]]
    assert sum(group["states"]["stalled"] for group in frozen) == 4
    assert all(group["longest_ms"] >= 1000 for group in frozen)
    assert all(group["longest_ms"] is None for group in groups if not group["states"]["stalled"])

    assert sum(group["count"] for group in world.get("/locations?ring=two")["locations"]) == 21
    assert sum(group["count"] for group in world.get("/locations?state=stalled")["locations"]) == 6
    assert sum(group["count"] for group in world.get("/locations?name=worker-1*")["locations"]) == 22
    world.wait_for(lambda: same_groups(world))  # names come later


def same_groups(world):
    threads = world.get("/threads?group=location&state=stalled")
    stalls = world.get("/stalls?group=location")
    assert threads["schema"] == "ripd/threads-by-location/1" and stalls["schema"] == "ripd/stalls-by-location/1"
    assert sum(group["count"] for group in stalls["stalls"]) == 6
    return {(group["count"], str(group["location"])) for group in threads["threads"]} == \
        {(group["count"], str(group["location"])) for group in stalls["stalls"]}


def pages(world):
    app = world.puppet()
    app.do("spawn-many 20")
    app.do("spawn 100 silent never")
    app.do("spawn 101 once once")
    world.wait_for(lambda: world.get("/stalls")["total"] == 2)
    seen, after = [], ""
    while True:
        answer = world.get(f"/stalls?group=location&limit=1{after}")
        assert answer["total"] == 2 and answer["returned"] == 1
        seen += [group["location"] for group in answer["stalls"]]
        if "next" not in answer:
            break
        after = f"&after={answer['next']}"
    assert len(seen) == 2 and seen[0] != seen[1]
    status, problem = world.request("/stalls?group=colour")
    assert status == 400 and "location" in problem["detail"], problem
    assert world.request("/locations?group=location")[0] == 400  # this list is always grouped
    assert world.request("/rings?group=location")[0] == 400


run([ids_of_two_programs, pages])
