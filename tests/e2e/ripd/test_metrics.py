# SPDX-License-Identifier: Apache-2.0
"""/metrics of a real daemon: promtool accepts it whatever rings and threads are called, and the values agree with other
answers."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

SAMPLE = re.compile(r'([a-z_]+)(?:\{([^}]*)\})? (\d+(?:\.\d+)?)')
NAMES = [b'"} 1\nripd_ids{state="evil', b"\xff\xfe\xc0\x80", b"a\\", b"\nripd_evil_total 1\n", b"\x1b[31mred",
         b'"' * 63, "\u202eevil".encode(), b"# TYPE ripd_ids counter\n"]


def samples(world):
    """Returns {'name{labels}': value}. Fails on an invalid line."""
    status, text = world.request("/metrics")
    assert status == 200 and text.endswith("\n")
    found = {}
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP ") or line.startswith("# TYPE "):
            continue
        match = SAMPLE.fullmatch(line)
        assert match, repr(line)
        key = match[1] + ("{" + match[2] + "}" if match[2] else "")
        assert key not in found, key
        found[key] = float(match[3])
    return found


def add(world, found, name):
    """Returns the sum of a metric over its labels."""
    assert any(key.startswith(name + "{") for key in found), name
    return sum(value for key, value in found.items() if key.startswith(name + "{"))


def hostile_rings(world):
    rings = []
    for i, name in enumerate(NAMES):
        ring = h.Ring(world.ring(f"made-{i}"), capacity=64)
        ring.process(0, os.getpid(), comm=name[:16])
        for slot in range(64):
            ring.slot(slot, name=NAMES[slot % len(NAMES)])
        ring.publish()
        os.rename(ring.path.encode(), os.fsencode(world.dir) + b"/" + name.replace(b"/", b"_"))
        rings.append(ring)
    return rings


def promtool_reports_no_problem(world):
    before = samples(world)
    rings = hostile_rings(world)
    world.wait_for(lambda: world.get("/stalls?limit=1")["counts"]["stalled"] == 64 * len(NAMES))
    after = samples(world)
    assert sorted(before) == sorted(after), set(before) ^ set(after)
    text = world.request("/metrics")[1]
    assert "evil" not in text and all(byte == 10 or 0x20 <= byte < 0x7f for byte in text.encode())
    assert after['ripd_rings{health="readable"}'] == len(NAMES)
    for ring in rings:
        ring.close()
    if shutil.which("promtool") is None:
        raise w.Skip("promtool is not installed (Debian package prometheus)")
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60,
                             check=False)
    assert checked.returncode == 0 and checked.stdout + checked.stderr == "", checked


def numbers_of_a_stall(world):
    app = world.puppet()
    app.do("spawn 1 one snap")
    app.do("spawn 2 two snap")
    app.do("spawn 3 idler idle")
    world.wait_for(lambda: world.state(1) == "running")
    first = samples(world)
    assert add(world, first, "ripd_stalls") == 0 and add(world, first, "ripd_stall_longest_seconds") == 0
    app.do("freeze 1")
    world.wait_for(lambda: world.stalled_ids() == [1])
    found = world.wait_for(lambda: (lambda s: s if s['ripd_events_total{kind="begin"}'] == 1 else None)(samples(world)))
    assert found['ripd_ids{state="stalled"}'] == 1 and found['ripd_ids{state="idle"}'] == 1
    assert found['ripd_ids{state="running"}'] == 1 and found["ripd_detector_ids"] == 3
    assert add(world, found, "ripd_stalls") == 1 and add(world, found, "ripd_stopped") == 0

    def agree():
        """Compares a stall with the metrics of the same or a later scan, for the cause that it has in both."""
        stall, found = world.stalls()[0], samples(world)
        label = f'{{cause="{stall["cause"] or "unexamined"}"}}'
        return found["ripd_stalls" + label] == 1 and (stall, found["ripd_stall_longest_seconds" + label] * 1000)

    stall, longest_ms = world.wait_for(agree)
    assert world.STALL_AFTER_MS <= longest_ms and stall["frozen_for_ms"] <= longest_ms + 1, (stall, longest_ms)
    app.do("thaw 1")
    world.wait_for(lambda: samples(world)['ripd_events_total{kind="end"}'] == 1)
    assert add(world, samples(world), "ripd_stalls") == 0
    app.kill(w.signal.SIGSTOP)
    world.wait_for(lambda: samples(world)['ripd_stopped{cause="signal"}'] == 3)  # also the idle ids
    assert add(world, samples(world), "ripd_stalls") == 0


def counters_only_grow(world):
    last = samples(world)
    for _ in range(10):
        world.wait_scans(1)
        now = samples(world)
        for key, value in last.items():
            if "_total" in key or "_bucket" in key or "_count" in key or "_sum" in key:
                assert now[key] >= value, (key, value, now[key])
        assert now["ripd_scans_total"] > last["ripd_scans_total"]
        assert now["ripd_http_requests_total"] > last["ripd_http_requests_total"]
        assert now["ripd_scan_duration_seconds_count"] == now['ripd_scan_duration_seconds_bucket{le="+Inf"}']
        last = now


def the_process_and_its_rings(world):
    status = dict(re.findall(r"(\w+):\s+(\d+) kB", open(f"/proc/{world.ripd.pid}/status", encoding="ascii").read()))
    found = samples(world)
    for name, key in (("process_virtual_memory_bytes", "VmSize"), ("ripd_anonymous_memory_bytes", "RssAnon"),
                      ("process_resident_memory_bytes", "VmRSS")):
        assert 0.5 < found[name] / (int(status[key]) * 1024) < 2, (name, found[name], status[key])
    world.wait_for(lambda: abs(samples(world)["process_open_fds"] -
                               len(os.listdir(f"/proc/{world.ripd.pid}/fd"))) <= 2)
    assert found["process_max_fds"] >= found["process_open_fds"]
    assert 0 < w.time.time() - found["process_start_time_seconds"] < 300
    assert found["ripd_scan_interval_seconds"] == world.INTERVAL_MS / 1000
    ring = h.Ring(world.ring("full"), capacity=64)
    ring.process(0, os.getpid())
    for slot in range(48):
        ring.slot(slot)
    ring.publish()
    with open(world.ring("cut"), "wb") as file:
        file.write(b"RIPRING\0" + bytes(100))
    world.wait_for(lambda: samples(world)['ripd_rings{health="readable"}'] == 1)
    found = world.wait_for(lambda: (lambda s: s if s["ripd_ring_fill_ratio"] == 0.75 else None)(samples(world)))
    assert found["ripd_ring_processes"] == 1 and found["ripd_rings_dead"] == 0
    ring.close()


def the_text_is_that_of_the_format(world):
    connection = w.http.client.HTTPConnection("127.0.0.1", world.port)
    connection.request("GET", "/metrics")
    response = connection.getresponse()
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", response.headers
    body = response.read()
    connection.request("HEAD", "/metrics")
    head = connection.getresponse()
    assert head.read() == b"" and abs(int(head.headers["Content-Length"]) - len(body)) < 100
    connection.close()
    families = re.findall(r"^# TYPE ([a-z_]+) (counter|gauge|histogram)$", body.decode(), re.M)
    assert len(families) == body.decode().count("# HELP ") == len(dict(families)) > 40


if __name__ == "__main__":
    w.run([promtool_reports_no_problem, numbers_of_a_stall, counters_only_grow, the_process_and_its_rings,
           the_text_is_that_of_the_format])
