# SPDX-License-Identifier: Apache-2.0
"""What a service manager receives from ripd: readiness after the first scan, and watchdog pings only for completed
scans.

The test stops the scanner thread with ptrace to make it hang; no other thread is affected.
"""
import itertools
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import managed  # noqa: E402
import world as w  # noqa: E402
from managed import INTERVAL_MS  # noqa: E402
from one_thread import stopped  # noqa: E402


def test_ready_after_the_first_scan_not_before(world):
    world.serve()
    first = world.manager.listen()[0]
    assert first["READY"] == "1"
    assert first["pid"] == world.ripd.pid
    assert re.fullmatch(r"0 stalled of 0 ids in 0 rings; last scan \d+\.\d ms", first["STATUS"]), first
    assert world.get("/stalls")["scan"]["sequence"] >= 1
    world.wait_scans(5)
    world.ripd.send_signal(signal.SIGTERM)
    assert world.ripd.wait(timeout=w.PATIENCE_S) == 0
    assert world.manager.count("READY") == 1
    assert world.manager.count("WATCHDOG") == 0  # no watchdog was configured
    assert world.manager.listen()[-1]["STOPPING"] == "1"


def test_no_scan_no_ready(world):
    """If ripd cannot scan, it never reports readiness."""
    world.launch(environment={"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "{pid}"},
                 flags=("--listen", "192.0.2.1:1"))
    assert world.ripd.wait(timeout=w.PATIENCE_S) == 1
    assert world.manager.listen() == []


def test_abstract_name_and_foreign_kinds(world):
    world.serve(path=f"@ripd-test/{os.getpid()}")
    world.stop()
    world.log = open(world.log_path, "ab")
    world.launch(environment={"NOTIFY_SOCKET": "vsock:2:1234"})
    world.wait_for(lambda: "NOTIFY_SOCKET is neither a path nor an abstract name" in world.log_text())
    world.wait_for(lambda: world.log_text().count("listening on") == 2)


def test_status_follows_the_stalls(world):
    world.serve(flags=("--listen", "127.0.0.1:0", "--stall-after", "300ms"))
    puppet = world.puppet()
    begun = time.monotonic()
    puppet.do("spawn 7 worker once")
    world.wait_for(lambda: world.manager.last("STATUS").startswith("1 stalled of 1 id in 1 ring; "))
    puppet.kill()
    world.wait_for(lambda: world.manager.last("STATUS").startswith("0 stalled of "))
    messages = [m["STATUS"].split(";")[0] for m in world.manager.listen() if "STATUS" in m]
    assert len(messages) <= 2 + time.monotonic() - begun, messages


def test_a_watchdog_too_short_is_lengthened(world):
    world.serve(environment={"WATCHDOG_USEC": str(INTERVAL_MS * 1000), "WATCHDOG_PID": "{pid}"})
    first = world.manager.listen()[0]
    assert first["READY"] == "1" and first["WATCHDOG"] == "1"
    assert int(first["WATCHDOG_USEC"]) == 3 * INTERVAL_MS * 1000
    world.wait_scans(5)
    assert world.manager.count("WATCHDOG_USEC") == 1
    asked = f"configured_ms={INTERVAL_MS} before_ms={INTERVAL_MS} now_ms={3 * INTERVAL_MS}\n"
    assert asked in world.log_text(), world.log_text()


def test_a_watchdog_for_another_process(world):
    world.serve(environment={"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"})
    world.wait_scans(5)
    assert world.manager.count("WATCHDOG") == 0


def test_the_watchdog_is_fed_by_scans(world):
    """Each watchdog ping belongs to a completed scan, so there are never more pings than scans. The test sends a
    different query each time, because equal queries share an answer within one scan."""
    world.serve(environment={"WATCHDOG_USEC": str(3 * INTERVAL_MS * 1000)})
    while True:  # only the ping for the newest scan may still be missing
        before = world.sequence()
        begun = world.manager.count("WATCHDOG")
        if world.sequence() == before:
            break
    asked = itertools.count(1)
    world.wait_for(lambda: world.manager.listen() and
                   world.get(f"/threads?limit={next(asked)}")["scan"]["sequence"] >= before + 20)
    pinged = world.manager.count("WATCHDOG") - begun
    scanned = world.sequence() - before
    assert pinged <= scanned + 1, (pinged, scanned)
    assert pinged >= 19, (pinged, scanned)


def test_a_reload(world):
    """The manager waits from RELOADING to READY, also if nothing changed."""
    world.serve()
    for count in (1, 2):
        heard = len(world.manager.listen())
        before_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        world.ripd.send_signal(signal.SIGHUP)
        world.wait_for(lambda n=count: world.manager.count("READY") == 1 + n)
        messages = [m for m in world.manager.heard[heard:] if {"READY", "RELOADING"} & m.keys()]
        assert ["RELOADING" in message for message in messages] == [True, False], messages
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        assert before_us <= int(messages[0]["MONOTONIC_USEC"]) <= now_us
        assert "reload: " in world.log_text()


def test_a_reload_that_changes_the_interval(world):
    """The watchdog timeout follows the interval: longer if necessary, and back to the configured value."""
    configuration = os.path.join(world.made, "ripd.conf")

    def reload(interval_ms):
        with open(configuration + ".new", "w", encoding="ascii") as file:
            file.write(f"interval = {interval_ms}ms\n")
        os.replace(file.name, configuration)
        if world.ripd:
            heard = len(world.manager.listen())
            world.ripd.send_signal(signal.SIGHUP)
            world.wait_for(lambda: [m for m in world.manager.listen()[heard:] if "READY" in m])
            return [m["WATCHDOG_USEC"] for m in world.manager.heard[heard:] if "WATCHDOG_USEC" in m]
        return None

    reload(INTERVAL_MS)
    world.serve(environment={"WATCHDOG_USEC": "1500000", "WATCHDOG_PID": "{pid}"}, interval=(),
                flags=("--listen", "127.0.0.1:0", "--config", configuration))
    assert world.manager.count("WATCHDOG_USEC") == 0
    assert reload(1000) == ["3000000"]
    assert reload(2000) == ["6000000"]
    assert reload(2000) == []
    assert reload(INTERVAL_MS) == ["1500000"]
    world.wait_scans(3)
    assert world.manager.count("READY") == 1 + 4


def test_a_scanner_that_hangs(world):
    """While the scanner hangs, HTTP answers but is not ready, and there are no watchdog pings. When the scanner
    continues, everything recovers."""
    world.serve(environment={"WATCHDOG_USEC": str(3 * INTERVAL_MS * 1000)})
    world.wait_for(lambda: world.request("/readyz")[0] == 200)
    with stopped(world.ripd.pid):  # the first thread is the scanner
        assert world.request("/healthz")[0] == 200
        world.wait_for(lambda: world.request("/readyz")[0] == 503)
        heard = len(world.manager.listen())
        sequence = world.sequence()
        time.sleep(10 * INTERVAL_MS / 1000)
        assert len(world.manager.listen()) == heard
        assert world.sequence() == sequence
        assert world.request("/healthz")[0] == 200
        assert world.request("/readyz")[0] == 503
    world.wait_for(lambda: world.manager.count("WATCHDOG") and len(world.manager.heard) > heard + 2)
    world.wait_for(lambda: world.request("/readyz")[0] == 200)
    metrics = world.get("/metrics")
    assert int(re.search(r"^ripd_skipped_scans_total (\d+)$", metrics, re.M).group(1)) >= 9  # of at least ten
    assert int(re.search(r"^ripd_late_scans_total (\d+)$", metrics, re.M).group(1)) >= 1


w.run([test_ready_after_the_first_scan_not_before, test_no_scan_no_ready, test_abstract_name_and_foreign_kinds,
       test_status_follows_the_stalls, test_a_watchdog_too_short_is_lengthened, test_a_watchdog_for_another_process,
       test_the_watchdog_is_fed_by_scans, test_a_reload, test_a_reload_that_changes_the_interval,
       test_a_scanner_that_hangs], make_world=managed.Managed)
