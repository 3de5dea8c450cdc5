# SPDX-License-Identifier: Apache-2.0
"""Events on disk: a restart loses none and repeats none, however ripd ended and whatever is on the disk."""
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

KILLS = int(os.environ.get("RIP_TEST_KILLS", "16"))


class StateWorld(w.World):
    INTERVAL_MS = 100
    STALL_AFTER_MS = 400

    def settings(self):
        return {**super().settings(), "state-dir": self.state_dir}

    def command(self):
        return [f"{w.BIN}/ripd", *(f"--{key}={value}" for key, value in self.settings().items()), *self.flags]

    def file(self, name="events.jsonl"):
        return os.path.join(self.state_dir, name)

    def kill(self):
        self.ripd.send_signal(signal.SIGKILL)
        self.ripd.wait()
        self.log.close()

    def events(self):
        """Returns the events, oldest first."""
        return self.get("/events?limit=10000")["events"][::-1]

    def open_ids(self):
        """Returns the ids of episodes that have begun and not ended."""
        ended = {event["episode"] for event in self.events() if event["kind"] == "end"}
        return sorted(event["id"] for event in self.events() if event["episode"] not in ended)

    def lines(self):
        """Returns the lines of the file, which must be JSON or empty. An incomplete last line is ignored."""
        with open(self.file(), encoding="utf-8") as file:
            text = file.read()
        return [json.loads(line) for line in text.split("\n")[:-1] if line]

    def refused(self):
        """Returns the only line that ripd prints if it cannot start."""
        done = subprocess.run(self.command(), capture_output=True, text=True, timeout=w.PATIENCE_S, check=False)
        assert done.returncode == 1, done
        lines = done.stderr.splitlines()
        assert len(lines) == 1 and self.state_dir in lines[0], done.stderr
        return lines[0]


def app_with(world, count):
    app = world.puppet()
    for number in range(1, count + 1):
        app.do(f"spawn {number} worker-{number} snap")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == count)
    world.wait_scans(1)  # ripd must have seen the ids move, to know since when they stand still
    return app


def check_story(events):
    """Checks that each episode has one begin and then at most one end, and that no sequence number is missing or
    repeated."""
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    kinds = {}
    for event in events:
        kinds.setdefault(event["episode"], []).append(event["kind"])
    for episode, seen in kinds.items():
        assert seen in (["begin"], ["begin", "end"]), (episode, seen)
    assert sorted(kinds) == list(range(1, len(kinds) + 1))


def a_stall_outlives_ripd(world):
    app = app_with(world, 4)
    for number in (1, 2, 3):
        app.do(f"freeze {number}")
    world.wait_for(lambda: world.open_ids() == [1, 2, 3])
    epoch = world.get("/events")["epoch"]
    before = {stall["id"]: stall for stall in world.stalls()}
    assert world.stop() == 0
    app.do("thaw 2")
    app.do("exit 3")
    time.sleep(0.6)
    world.start()
    stalls = world.stalls()  # on the first scan, without waiting for the threshold
    assert [stall["id"] for stall in stalls] == [1]
    assert stalls[0]["frozen_for_ms"] >= before[1]["frozen_for_ms"] + 600
    assert world.get("/events")["epoch"] == epoch
    world.wait_for(lambda: world.open_ids() == [1])
    ends = {event["id"]: event for event in world.events() if event["kind"] == "end"}
    assert ends[2]["reason"] == "moved" and ends[3]["reason"] == "gone"
    for number, end in ends.items():
        assert before[number]["frozen_for_ms"] >= end["lasted_ms"] >= world.STALL_AFTER_MS
        assert end["lasted_max_ms"] >= 600 + end["lasted_ms"]
        assert end["name"] == f"worker-{number}" and end["process"]["pid"] == app.pid
    app.do("thaw 1")
    end = world.wait_for(lambda: [event for event in world.events() if event["kind"] == "end"][2])
    assert end["id"] == 1 and end["reason"] == "moved" and end["lasted_ms"] >= stalls[0]["frozen_for_ms"]
    check_story(world.events())
    assert world.log_text().count("stall begin") == 3 and world.log_text().count("stall end") == 3


def killed_at_any_moment(world):
    chance = random.Random(int(os.environ.get("RIP_TEST_SEED", "7")))
    app = app_with(world, 6)
    frozen = set()
    for turn in range(KILLS):
        for number in chance.sample(range(1, 7), 2):
            app.do(f"{'thaw' if number in frozen else 'freeze'} {number}")
            frozen ^= {number}
        time.sleep(chance.uniform(0, 1.2))
        world.kill()
        if chance.random() < 0.3:
            time.sleep(chance.uniform(0, 0.5))
        if turn % 4 == 3:  # lets some events happen even on a slow machine
            world.start()
            world.wait_for(lambda: world.open_ids() == sorted(frozen))
            continue
        world.log = open(world.log_path, "ab")
        world.ripd = subprocess.Popen(world.command(), stderr=world.log)
        world.processes.append(world.ripd)
    world.kill()
    world.start()
    world.wait_for(lambda: world.open_ids() == sorted(frozen) and world.stalled_ids() == sorted(frozen))
    events = world.events()
    check_story(events)
    assert [line["event"] for line in world.lines() if "event" in line] == events
    assert len(events) >= 6, events
    for number in frozen:
        app.do(f"thaw {number}")
    world.wait_for(lambda: world.open_ids() == [])
    check_story(world.events())


def a_stall_that_moved_within_its_episode(world):
    """An id moved and stalled again within one episode. After a restart it is recognized by its last location."""
    app = world.puppet()
    app.do("coroutine 7 lost")
    world.wait_for(lambda: world.open_ids() == [7])
    for snaps in range(2, 30):
        app.do("resume 7")
        world.wait_for(lambda count=snaps: [stall["snaps"] for stall in world.stalls()] == [count])
        world.wait_scans(3)
        if "subject" in world.lines()[-1] and "event" not in world.lines()[-1]:
            break
    else:  # retry, because on a busy machine the episode may end first
        raise AssertionError("the id never stalled again within one episode")
    world.kill()
    world.start()
    assert world.stalled_ids() == [7] and world.open_ids() == [7]
    app.kill()
    end = world.wait_for(lambda: world.open_ids() == [] and world.events()[-1])
    assert end["reason"] == "gone" and end["stalls"] == 2, end
    check_story(world.events())


def a_ring_that_went_away(world):
    apps = {name: world.puppet(ring=name) for name in ("gone", "hidden", "renamed")}
    for number, (name, app) in enumerate(apps.items(), 1):
        app.do(f"spawn {number} {name} snap")
        world.wait_for(lambda name=name, number=number: world.state(number, name) == "running")
        app.do(f"freeze {number}")
    world.wait_for(lambda: world.open_ids() == [1, 2, 3])
    world.kill()
    os.unlink(world.ring("gone"))
    apps["gone"].kill()
    os.rename(world.ring("renamed"), world.ring("other"))
    os.truncate(world.ring("hidden"), 64)
    world.start()
    world.wait_for(lambda: world.open_ids() == [3])
    reasons = {event["ring"]: event["reason"] for event in world.events() if event["kind"] == "end"}
    assert reasons == {"gone": "gone", "hidden": "unwatched"}, reasons
    assert [stall["ring"] for stall in world.stalls()] == ["other"]
    apps["hidden"].kill()


def another_boot(world):
    app = app_with(world, 1)
    app.do("freeze 1")
    world.wait_for(lambda: world.open_ids() == [1])
    world.kill()
    boot_id = world.lines()[-1]["subject"]["boot_id"]
    with open(world.file(), encoding="utf-8") as file:
        text = file.read()
    with open(world.file(), "w", encoding="utf-8") as file:
        file.write(text.replace(boot_id, "0123456789abcdef" * 2))
    world.start()
    end = world.wait_for(lambda: [event for event in world.events() if event["kind"] == "end"][0])
    assert end["episode"] == 1 and end["reason"] == "gone" and end["lasted_max_ms"] is None
    world.wait_for(lambda: world.open_ids() == [1])  # the id that stands still now is another stall
    check_story(world.events())


def two_ripd_in_one_directory(world):
    assert f"another ripd has it (pid {world.ripd.pid})" in world.refused()
    app_with(world, 1)
    world.stop()
    world.start()


def hostile_names(world):
    names = [b'"' * 63, b"\x1b]0;owned\x07\x1b[2J", b"<script>alert(1)</script>", b"\xff\xfe\xc3(",
             b'","ring":"other","x":"', b"\n\n{}", "\u202egnp.exe".encode(), b"\\\\\\\""]
    app = world.puppet()
    for number, name in enumerate(names, 1):
        app.do(f"spawn-hex {number} {name.hex()} snap")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == len(names))
    for number in range(1, len(names) + 1):
        app.do(f"freeze {number}")
    world.wait_for(lambda: len(world.open_ids()) == len(names))
    texts = world.events()
    world.kill()
    app.kill()
    world.start()
    world.wait_for(lambda: world.open_ids() == [])
    events = world.events()
    assert events[:len(names)] == texts and len(events) == 2 * len(names)
    for event in events:
        shown = bytes.fromhex(event["name_hex"]) if "name_hex" in event else event["name"].encode()
        assert shown == names[event["id"] - 1]
        assert event["ring"] == "app"
    with open(world.file(), "rb") as file:
        raw = file.read()
    assert len(world.lines()) == 1 + len(events)
    assert all(byte >= 0x20 or byte == 0x0a for byte in raw) and b"\x7f" not in raw and b"\xe2\x80\xae" not in raw


def hostile_claims(world):
    """A name with NUL and counters beyond the range of parsers: the events are read, also by the next ripd."""
    ring = h.Ring(world.ring())
    ring.process(0, os.getpid())
    ring.slot(0, number=7, name=b"a\0b", count=2**64 - 2)
    ring.publish()
    world.wait_for(lambda: world.open_ids() == [7])
    item = world.stalls()[0]
    assert item["name"] == "a\0b" and item["snaps"] is None and item["trail"][0]["count"] is None, item
    for flags in ([], ["--json"]):
        done = subprocess.run([f"{w.BIN}/rip", "events", *flags], capture_output=True, check=False, text=True,
                              env={**os.environ, "RIPD_URL": f"http://127.0.0.1:{world.port}"}, timeout=w.PATIENCE_S)
        assert done.returncode == 0 and "begin" in done.stdout and not done.stderr, done
    events = world.events()
    world.kill()
    world.start()
    assert world.events() == events and world.stalled_ids() == [7]
    assert "damaged" not in world.log_text()
    ring.close()


def a_damaged_file(world):
    app = app_with(world, 3)
    for number in (1, 2, 3):
        app.do(f"freeze {number}")
        world.wait_for(lambda number=number: len(world.open_ids()) == number)
    world.kill()
    assert stat.S_IMODE(os.stat(world.file()).st_mode) == 0o640
    with open(world.file(), "rb") as file:
        lines = file.read().splitlines(keepends=True)
    with open(world.file(), "wb") as file:
        file.write(lines[0] + lines[1] + b"\x00\xffgarbage\n" + lines[2] + lines[3][:-40])
    world.start()
    assert "damaged lines were skipped" in world.log_text() and "count=1" in world.log_text()
    assert "last line was incomplete" in world.log_text()
    # the third stall begins again, because nothing was left of it
    world.wait_for(lambda: world.open_ids() == [1, 2, 3])
    check_story(world.events())


def files_that_are_not_a_history(world):
    world.stop()
    for name, garbage in (("events.jsonl", b"\x7fELF" + os.urandom(100000)), ("events.1.jsonl", b"no newline")):
        with open(world.file(name), "wb") as file:
            file.write(garbage)
        world.start()
        with open(world.file(name + ".damaged"), "rb") as file:
            assert file.read() == garbage
        assert "moved out of the way" in world.log_text()
        world.stop()
    for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/passwd", path)):
        os.rename(world.file(), world.file("kept"))
        make(world.file())
        assert "events.jsonl is not a regular file" in world.refused()
        if os.path.isdir(world.file()):
            os.rmdir(world.file())
        else:
            os.unlink(world.file())
        os.rename(world.file("kept"), world.file())
    os.rename(world.state_dir, world.state_dir + "-kept")
    with open(world.state_dir, "wb"):
        pass
    assert "Not a directory" in world.refused()
    os.unlink(world.state_dir)
    os.rename(world.state_dir + "-kept", world.state_dir)
    world.start()


def a_full_disk(world):
    app = app_with(world, 3)
    world.stop()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", world.state_dir]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        world.start()
        raise w.Skip("mounting a small tmpfs is not permitted")
    try:
        world.start()
        app.do("freeze 1")
        world.wait_for(lambda: world.open_ids() == [1])
        with open(world.file("filler"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 1000)
            except OSError:
                pass
        with open(world.file(), "ab", buffering=0) as file:  # fills the last page of the file
            try:
                while True:
                    file.write(b"\n")
            except OSError:
                pass
        app.do("freeze 2")
        app.do("freeze 3")
        world.wait_for(lambda: world.open_ids() == [1, 2, 3])  # events are announced even if they cannot be written
        world.wait_for(lambda: "cannot be written" in world.log_text() and "No space left" in world.log_text())
        assert len([line for line in world.lines() if "event" in line]) == 1
        os.unlink(world.file("filler"))
        world.wait_for(lambda: "is written again" in world.log_text())
        world.wait_for(lambda: [line["event"] for line in world.lines() if "event" in line] == world.events())
        world.kill()
        world.start()
        assert world.open_ids() == [1, 2, 3] and world.stalled_ids() == [1, 2, 3]
        check_story(world.events())
    finally:
        world.stop()
        subprocess.run(["umount", "-l", world.state_dir], check=False)
        world.start()


w.run([a_stall_outlives_ripd, killed_at_any_moment, a_stall_that_moved_within_its_episode, a_ring_that_went_away,
       another_boot, two_ripd_in_one_directory, hostile_names, hostile_claims, a_damaged_file,
       files_that_are_not_a_history, a_full_disk], StateWorld)
