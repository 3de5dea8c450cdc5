# SPDX-License-Identifier: Apache-2.0
"""A person is notified with a command to run when a thread is stuck, and again when the stall ends. The test uses real
ripd, Prometheus and Alertmanager with the files in ripd/contrib/."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import prometheus_kit as kit  # noqa: E402
import world as w  # noqa: E402
from one_thread import stopped  # noqa: E402


def notified(watchers, receiver, status, name, **labels):
    try:
        return watchers.world.wait_for(lambda: watchers.pager.got(receiver, status, name, **labels), 2 * w.PATIENCE_S)
    except AssertionError as error:
        raise AssertionError(f"{receiver} is not notified that {name} is {status}: {error}\n"
                             f"notified: {watchers.pager.alerts}\n{watchers.logs()}") from error


def scraped_without_errors(watchers):
    world = watchers.world
    world.wait_for(lambda: watchers.query("ripd_scans_total")[0][1] > 0)
    target = watchers.targets()[0]
    assert target["health"] == "up" and target["lastError"] == "", target
    names = {labels["__name__"] for labels, _ in watchers.query('{job="ripd"}')}
    served = set(re.findall(r"^([a-z_]+)[ {]", world.request("/metrics")[1], re.M))
    assert served <= names, served - names
    world.wait_for(lambda: watchers.query('ripd_ids{state="running"}')[0][1] == 3)


def a_stall_pages_and_resolves(watchers):
    world = watchers.world
    instance = f"127.0.0.1:{world.port}"
    stuck = world.puppet(ring="stuck")
    # a coroutine that is on no thread: its cause is certain without evidence from the kernel
    stuck.do("coroutine 5 five")
    alert = notified(watchers, "tickets", "firing", "RipdStalled", severity="warning", instance=instance)
    assert "has been stuck for" in alert["annotations"]["summary"], alert
    assert re.match(r"[1-9]\d* ids are stalled\. ", alert["annotations"]["description"]), alert
    command = re.search(r"curl -s '[^']*'", alert["annotations"]["description"])[0]
    typed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert '"id":5,' in typed and '"name":"five"' in typed, typed
    notified(watchers, "on-call", "firing", "RipdStalled", severity="critical", instance=instance)
    assert not watchers.pager.got("tickets", "resolved", "RipdStalled")
    stuck.kill()
    notified(watchers, "on-call", "resolved", "RipdStalled", severity="critical", instance=instance)
    notified(watchers, "tickets", "resolved", "RipdStalled", severity="warning", instance=instance)
    world.wait_for(lambda: watchers.query("sum(ripd_stalls)")[0][1] == 0)


def ripd_that_hangs(watchers):
    """An alert reports that ripd is down. No stall begins when ripd continues."""
    world = watchers.world
    before = len(watchers.pager.alerts)
    world.ripd.send_signal(signal.SIGSTOP)
    try:
        alert = notified(watchers, "on-call", "firing", "RipdDown", instance=f"127.0.0.1:{world.port}")
        assert "does not answer" in alert["annotations"]["summary"], alert
    finally:
        world.ripd.send_signal(signal.SIGCONT)
    notified(watchers, "on-call", "resolved", "RipdDown", instance=f"127.0.0.1:{world.port}")
    world.wait_for(lambda: watchers.query("ripd_late_scans_total")[0][1] >= 1)
    names = {alert["labels"]["alertname"] for alert in watchers.pager.alerts[before:] if alert["status"] == "firing"}
    assert "RipdStalled" not in names, watchers.pager.alerts[before:]


def ripd_that_does_not_scan(watchers):
    """ripd answers with its last scan: an alert reports that it does not scan, and no alert that it is down."""
    world = watchers.world
    before = len(watchers.pager.alerts)
    with stopped(world.ripd.pid):  # the first thread is the scanner
        alert = notified(watchers, "on-call", "firing", "RipdNotScanning", severity="critical",
                     instance=f"127.0.0.1:{world.port}")
        assert "answers but does not scan" in alert["annotations"]["summary"], alert
        command = re.search(r"curl -s '[^']*'", alert["annotations"]["description"])[0]
        typed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
        assert '"status":503' in typed, typed
    notified(watchers, "on-call", "resolved", "RipdNotScanning", instance=f"127.0.0.1:{world.port}")
    names = {alert["labels"]["alertname"] for alert in watchers.pager.alerts[before:] if alert["status"] == "firing"}
    assert not names & {"RipdDown", "RipdStalled"}, watchers.pager.alerts[before:]


def paged(world):
    app = world.puppet()
    for number, name in enumerate(("one", "two", "three"), 1):
        app.do(f"spawn {number} {name} snap")
    app.do("spawn 4 waiting idle")
    world.wait_for(lambda: world.state(1) == "running")
    watchers = kit.Watchers(world)
    try:
        scraped_without_errors(watchers)
        a_stall_pages_and_resolves(watchers)
        ripd_that_hangs(watchers)
        ripd_that_does_not_scan(watchers)
    finally:
        watchers.close()


if __name__ == "__main__":
    w.run([paged])
