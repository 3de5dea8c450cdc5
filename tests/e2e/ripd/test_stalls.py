# SPDX-License-Identifier: Apache-2.0
"""Which ids are stalled, with real threads."""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402


def three_of_a_thousand(world):
    app = world.puppet(capacity=2048)
    app.do("spawn-many 1000")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == 1000)
    for number in (17, 500, 999):
        app.do(f"freeze {number}")
    world.wait_for(lambda: world.stalled_ids() == [17, 500, 999])
    world.well_past_threshold()
    assert world.stalled_ids() == [17, 500, 999]
    assert {s["name"] for s in world.stalls()} == {"worker-17", "worker-500", "worker-999"}
    for stall in world.stalls():
        assert stall["state"] == "stalled" and stall["ring"] == "app" and stall["process"]["attested"] is True
        assert stall["frozen_for_ms"] >= world.STALL_AFTER_MS
        assert stall["frozen_for_max_ms"] >= stall["frozen_for_ms"]
        assert stall["location"]["module"] == "puppet" and stall["location"]["function"] in ("worker_main", None)
    for number in (17, 500, 999):
        app.do(f"thaw {number}")
    world.wait_for(lambda: world.stalled_ids() == [])
    world.wait_for(lambda: all(re.search(rf"stall end .* id={number} ", world.log_text()) for number in (17, 500, 999)))
    for found in re.findall(r"stall begin .* frozen_for_ms=(\d+)", world.log_text()):
        assert int(found) >= world.STALL_AFTER_MS
    for number in (17, 500, 999):
        assert len(re.findall(rf"stall begin .*id={number} .*\"worker-{number}\"", world.log_text())) == 1
        assert len(re.findall(rf"stall end .*id={number} .*\"worker-{number}\"", world.log_text())) == 1
    others = [line for line in world.log_text().splitlines()
              if "stall begin" in line and not re.search(r" id=(17|500|999) ", line)]
    # the machine is too busy for these threads
    assert all(re.search("cause=(starved|null) ", line) for line in others), others


def frozen_time_grows(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.thread(1)["snaps"] > 0)
    app.do("freeze 1")
    world.wait_for(world.stalls)
    first = world.stalls()[0]
    world.wait_scans(3)
    second = world.stalls()[0]
    assert second["frozen_for_ms"] > first["frozen_for_ms"]
    # names come later
    places = [[(entry["count"], entry["module"], entry["offset"]) for entry in stall["trail"]]
              for stall in (first, second)]
    assert second["snaps"] == first["snaps"] and places[0] == places[1] != []


def multiples_of_256_are_progress(world):
    app = world.puppet()
    app.do("spawn 1 burst burst")
    world.wait_for(lambda: world.state(1) == "running")
    end = world.sequence() + 20
    while world.sequence() < end:
        assert world.stalls() == []
    world.wait_for(lambda: world.thread(1)["snaps"] % 256 == 0)  # the thread may just be writing it


def idle_is_not_stuck(world):
    app = world.puppet()
    app.do("spawn 1 idler idle")
    world.wait_for(lambda: world.state(1) == "idle")
    world.well_past_threshold()
    assert world.stalls() == [] and world.state(1) == "idle"


def opened_idle_id_is_examined(world):
    """A request for one idle id reads what it waits for. The id is no stall, and other idle ids are not examined."""
    app = world.puppet()
    app.do("spawn 1 one idle")
    app.do("spawn 2 two idle")
    world.wait_for(lambda: world.get("/stalls")["counts"]["idle"] == 2)

    def kernel_of(number):
        return world.get(f"/threads/app/{number}?trail=1")["thread"]["kernel"]

    world.wait_for(lambda: (kernel_of(1) or {}).get("state") == "S")  # the thread may not sleep yet
    assert {item["id"]: item["kernel"] is None for item in world.get("/threads")["threads"]}[2]
    world.well_past_threshold()
    assert world.stalls() == [] and world.state(1) == "idle" and kernel_of(1)
    assert "stall begin" not in world.log_text()
    world.wait_for(lambda: kernel_of(2))


def registered_and_never_snapped(world):
    app = world.puppet()
    app.do("spawn 1 mute never")
    world.wait_for(lambda: world.stalled_ids() == [1])
    stall = world.stalls()[0]
    assert stall["snaps"] == 0 and stall["location"] is None and stall["trail"] == []


def coroutine_is_parked(world):
    app = world.puppet()
    app.do("coroutine 7 lost")
    app.do("coroutine 8 fine")
    world.wait_for(lambda: world.stalled_ids() == [7, 8])
    stall = world.wait_for(lambda: [s for s in world.stalls() if s["id"] == 7 and s["cause"] is not None][0])
    assert stall["cause"] == "parked" and stall["tid"] is None and stall["name"] == "lost" and stall["snaps"] == 1
    app.do("resume 8")
    world.wait_for(lambda: world.stalled_ids() == [7])


def stopped_process_is_not_stalled(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1) == "running")
    app.kill(signal.SIGSTOP)
    world.wait_for(lambda: world.state(1) == "stopped")
    assert world.thread(1)["cause"] == "signal"
    assert world.stalls() == [] and world.get("/stalls")["counts"]["stopped"] == 1
    app.kill(signal.SIGCONT)
    world.wait_for(lambda: world.state(1) == "running")
    assert "stall begin" not in world.log_text()


def stopped_outranks_idle(world):
    """An idle server is reported as stopped while its process is stopped."""
    app = world.puppet()
    app.do("spawn 1 server idle")
    world.wait_for(lambda: world.state(1) == "idle")
    app.kill(signal.SIGSTOP)
    world.wait_for(lambda: world.state(1) == "stopped")
    item = world.thread(1)
    assert item["cause"] == "signal" and item["since"] is not None, item
    counts = world.get("/stalls")["counts"]
    assert counts["stopped"] == 1 and counts["idle"] == 0, counts
    assert world.metric('ripd_stopped{cause="signal"}') == 1
    app.kill(signal.SIGCONT)
    world.wait_for(lambda: world.state(1) == "idle")
    assert "stall begin" not in world.log_text()


def stopped_ripd_accuses_no_id(world):
    app = world.puppet()
    for number in range(1, 21):
        app.do(f"spawn {number} w{number} snap")
    app.do("spawn 30 frozen snap")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == 21)
    while True:
        frozen = time.monotonic()
        app.do("freeze 30")
        time.sleep(0.4)
        before = world.sequence()
        world.ripd.send_signal(signal.SIGSTOP)
        if time.monotonic() - frozen < world.STALL_AFTER_MS / 1000:
            break  # the ids are frozen, and not stalled yet
        world.ripd.send_signal(signal.SIGCONT)
        app.do("thaw 30")
        world.wait_for(lambda: world.stalls() == [] and
                       world.log_text().count("stall begin") == world.log_text().count("stall end"))
    begun = world.log_text().count("stall begin")
    time.sleep(int(os.environ.get("RIP_TEST_STOP_S", "4")))
    world.ripd.send_signal(signal.SIGCONT)
    answer = world.wait_for(lambda: (lambda a: a if a["scan"]["sequence"] > before else None)(world.get("/stalls")))
    if answer["scan"]["sequence"] == before + 1:
        assert answer["stalls"] == []
    world.wait_for(lambda: "no new stall is reported" in world.log_text())
    world.wait_for(lambda: world.stalled_ids() == [30])
    world.wait_for(lambda: world.log_text().count("stall begin") == begun + 1)
    stall = world.stalls()[0]
    assert stall["frozen_for_max_ms"] - stall["frozen_for_ms"] > 2500


w.run([three_of_a_thousand, frozen_time_grows, multiples_of_256_are_progress, idle_is_not_stuck,
       opened_idle_id_is_examined, registered_and_never_snapped, coroutine_is_parked, stopped_process_is_not_stalled,
       stopped_outranks_idle, stopped_ripd_accuses_no_id])
