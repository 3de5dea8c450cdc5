# SPDX-License-Identifier: Apache-2.0
"""Ids whose location is a line of a script. The name comes from the ring."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import captures_kit as k  # noqa: E402
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

ORDER = {"module": None, "build_id": None, "offset": None, "function": "Order#place", "file": "app/order.rb",
         "line": 12}
SCRIPT_BYTES = 384


def scripted(app, number, file=b"app/order.rb", function=b"Order#place", line=12):
    app.do(f"script {number} {file.hex()} {function.hex()} {line}")


def stuck(world, ring="app"):
    """Starts a program with a stalled id in a script."""
    app = world.puppet(ring)
    scripted(app, 1)
    world.wait_for(lambda: world.state(1, ring) == "stalled")
    return app


def is_in_every_answer(world):
    stuck(world)
    [stall] = world.stalls()
    assert stall["location"] == ORDER, stall
    assert stall["summary"].endswith(" in Order#place (app/order.rb:12)"), stall["summary"]
    assert stall["trail"] == [{"count": 0, "module": None, "offset": None, "function": "Order#place",
                               "file": "app/order.rb", "line": 12}], stall
    assert world.get("/threads/app/1")["thread"]["location"] == ORDER
    [begin] = world.wait_for(lambda: world.get("/events")["events"])
    assert begin["location"] == ORDER and begin["kind"] == "begin", begin
    assert 'function="Order#place" file="app/order.rb" line=12' in world.log_text()
    done = world.rip("stalls", "--url", f"http://127.0.0.1:{world.port}")
    assert "Order#place, app/order.rb:12" in done.stdout, done


def is_counted_by_its_text(world):
    """Locations of scripts are grouped by text, because each ring numbers its functions differently."""
    first, second = world.puppet("first"), world.puppet("second")
    scripted(second, 9, function=b"another")
    for app in (first, second):
        scripted(app, 1)
    scripted(first, 3, line=13)
    groups = world.wait_for(lambda: [g for g in world.get("/locations")["locations"]
                                     if g["location"] and g["location"]["function"] == "Order#place"][1:] and
                            world.get("/locations")["locations"])
    counts = {(g["location"]["function"], g["location"]["line"]): g["count"] for g in groups if g["location"]}
    assert counts == {("Order#place", 12): 2, ("Order#place", 13): 1, ("another", 12): 1}, groups


def is_in_the_history(world):
    stuck(world)
    world.wait_for(lambda: world.get("/events")["events"])
    assert world.stop() == 0
    world.start()
    [begin] = world.wait_for(lambda: world.get("/events")["events"])
    assert begin["location"] == ORDER, begin


def is_in_a_capture(world):
    app = stuck(world)
    app.kill()
    capture = world.capture_of("app")
    [dumped] = [line for line in world.dump(capture["file"]) if line.get("id") == 1]
    assert dumped["location"]["function"] == "Order#place" and dumped["location"]["line"] == 12, dumped


def is_in_a_dump(world):
    stuck(world)
    [dumped] = [line for line in world.dump(world.ring()) if line.get("id") == 1]
    assert {key: dumped["location"][key] for key in ("function", "file", "line")} == \
        {"function": "Order#place", "file": "app/order.rb", "line": 12}, dumped
    done = world.rip("dump", world.ring())
    assert "Order#place" in done.stdout and "app/order.rb:12" in done.stdout, done


def is_in_a_recording(world):
    """Also for a reader that begins in the middle, at a recorded state."""
    app = world.puppet()
    app.do("spawn 9 busy snap")  # makes events, so that time passes in the recording
    scripted(app, 1)
    path = os.path.join(world.made, "recording")
    recorder = subprocess.Popen([k.RIP, "record", "--dir", world.dir, "--interval", "50ms", "-o", path],
                                stderr=subprocess.DEVNULL)
    world.processes.append(recorder)
    world.wait_for(lambda: os.path.exists(path))
    scripted(app, 2, function=b"Order#pay", line=40)
    world.wait_for(lambda: "Order#pay" in world.rip("dump", path).stdout)
    world.wait_for(lambda: "Order#place" in world.rip("replay", "--json", "--stall-after", "100ms", path).stdout)
    recorder.terminate()
    assert recorder.wait(w.PATIENCE_S) == 0
    places = {item["id"]: item["location"] for item in world.dump(path) if "location" in item and "id" in item}
    assert places[1]["function"] == "Order#place" and places[2]["line"] == 40, places
    done = world.rip("export", "--folded", "-", path)
    assert "Order#pay (order.rb:40)" in done.stdout, done


def is_seen_without_a_ripd(world):
    stuck(world)
    done = world.rip("show", "--dir", world.dir, "app", "1")
    assert "Order#place" in done.stdout and "app/order.rb:12" in done.stdout, done


def bytes_that_are_not_text(world):
    app = world.puppet()
    scripted(app, 1, file=b"a\n\x1b[31m\xff", function=b"f" * 127 + b"\xe2")
    [stall] = world.wait_for(world.stalls)
    assert stall["location"]["file"] == "a\n\x1b[31m�" and stall["location"]["file_hex"] == b"a\n\x1b[31m\xff".hex()
    assert stall["location"]["function"] == "f" * 127 + "�", stall
    assert "\x1b" not in world.log_text()


def a_table_with_false_claims(world):
    """Indexes beyond the table, lengths beyond the fields, invalid text, and missing entries."""
    ring = h.Ring(world.ring("liar"))
    table = ring.add_scripts(3)
    ring.process(0, os.getpid())
    ring.bytes[table:table + 3 * SCRIPT_BYTES] = b"\xff" * 3 * SCRIPT_BYTES
    ring.put("<I", table + 2 * SCRIPT_BYTES, 0)
    for slot, index in enumerate((0, 1, 2, 3, 0xffffff)):
        ring.slot(slot, address=h.place(index, 7))
    ring.slot(5, address=0xff << 48 | 7)
    ring.publish()
    stalls = world.wait_for(lambda: len(world.stalls()) == 6 and world.stalls())
    for stall in sorted(stalls, key=lambda stall: stall["id"]):
        place = stall["location"]
        assert (place["line"] == 7) == (stall["id"] < 2), stall
        assert place["function"] == ("�" * 128 if stall["id"] < 2 else None), stall
        assert place["module"] is None and place["offset"] is None, stall
    ring.put("<I", 2648, 0xffffffff)
    world.wait_scans(2)
    assert len(world.stalls()) == 6
    ring.close()


if __name__ == "__main__":
    w.run([is_in_every_answer, is_counted_by_its_text, is_in_the_history, is_in_a_capture, is_in_a_dump,
           is_in_a_recording, is_seen_without_a_ripd, bytes_that_are_not_text, a_table_with_false_claims],
          k.CapturingWorld)
