# SPDX-License-Identifier: Apache-2.0
"""`ripd --record DIR` and `rip replay`: the same events as published, byte for byte, and the effect of other
thresholds."""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

CROWD = 1000
CROWD_LINES = 2  # one line for the incident; on a busy machine some threads may stall elsewhere first


class RecordedWorld(w.World):
    INTERVAL_MS = 100
    STALL_AFTER_MS = 1000

    @property
    def recording(self):
        return os.path.join(self.made, "recording")

    def settings(self):
        return {**super().settings(), "record": self.recording}

    def answer(self):
        """Returns the text of an answer of /events."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=w.PATIENCE_S)
        connection.request("GET", "/events?limit=10000")
        body = connection.getresponse().read().decode()
        connection.close()
        return body

    def raw_events(self):
        """Returns the published events, oldest first, as text."""
        body, decoder, texts = self.answer(), json.JSONDecoder(), []
        at = body.index('{"sequence":', body.index('"events":')) if '{"sequence":' in body else -1
        while at >= 0:
            end = decoder.raw_decode(body, at)[1]
            texts.append(body[at:end])
            at = body.find('{"sequence":', end)
        return sorted(texts, key=lambda text: json.loads(text)["sequence"])

    def wait_events(self, kind, count):
        self.wait_for(lambda: len(self.get(f"/events?kind={kind}&limit=10000")["events"]) >= count)

    def replay(self, *flags, status=0):
        done = subprocess.run([f"{w.BIN}/rip", "replay", *flags, self.recording], capture_output=True, text=True,
                              timeout=w.PATIENCE_S, check=False)
        assert done.returncode == status, done
        return done

    def check_same(self, published):
        """Checks that the replay has all these events, byte for byte. Later events must be as recorded."""
        done = self.replay("--json")
        replayed = done.stdout.splitlines()
        for i, (is_, was) in enumerate(zip(replayed, published)):
            assert is_ == was, f"event {i}:\n{is_}\nexpected\n{was}"
        assert len(replayed) >= len(published), (len(replayed), len(published), done.stderr)
        assert done.stderr == "", done.stderr


def play(world, puppet):
    """Makes stalls of several kinds that begin and end. Returns the numbers of begins and ends."""
    for number in range(1, 9):
        puppet.do(f"spawn {number} worker-{number} snap")
    puppet.do("spawn 20 waits idle")
    puppet.do("spawn 21 stays snap")
    world.wait_for(lambda: world.state(20) == "idle")
    puppet.do("freeze 1")
    puppet.do("freeze 2")
    puppet.do("freeze 21")
    world.wait_events("begin", 3)
    puppet.do("thaw 1")
    puppet.do("freeze 3")
    world.wait_events("begin", 4)
    puppet.do("exit 2")
    puppet.do("thaw 3")
    world.wait_events("end", 3)
    puppet.do("freeze 4")
    world.wait_events("begin", 5)


def a_run_is_replayed_byte_for_byte(world):
    puppet = world.puppet()
    play(world, puppet)
    puppet.kill()
    world.wait_events("end", 5)
    other = world.puppet(ring="other")
    other.do("spawn 1 late snap")
    other.do("freeze 1")
    world.wait_events("begin", 6)
    published = world.raw_events()
    assert world.stop() == 0
    world.check_same(published)
    table = world.replay().stdout
    same = re.search(r"(\d+) of (\d+) events are as ripd published them", table)
    assert same and same[1] == same[2] and int(same[1]) >= len(published), table
    assert "worker-4" in table and "recorded by ripd" in table, table


def stops_and_late_scans(world):
    puppet = world.puppet()
    puppet.do("spawn 1 worker snap")
    puppet.do("spawn 2 waits idle")
    puppet.do("spawn 3 stuck snap")
    puppet.do("freeze 3")
    world.wait_events("begin", 1)
    puppet.kill(signal.SIGSTOP)
    world.wait_for(lambda: world.state(2) == "stopped")
    world.ripd.send_signal(signal.SIGSTOP)
    time.sleep(1)
    world.ripd.send_signal(signal.SIGCONT)
    world.wait_scans(15)
    puppet.kill(signal.SIGCONT)
    puppet.do("freeze 1")
    world.wait_for(lambda: world.state(1) == "stalled")
    puppet.do("thaw 1")
    puppet.do("thaw 3")
    world.wait_events("end", 1)
    world.wait_for(lambda: not world.stalls())
    published = world.raw_events()
    assert world.stop() == 0
    world.check_same(published)


def a_restart_and_a_reload(world):
    """Two runs of ripd record into one directory, and thresholds change at run time."""
    config = os.path.join(world.made, "ripd.conf")
    state = world.state_dir
    with open(config, "w", encoding="utf-8") as file:
        file.write("rule = worker-*=1500ms\n")
    world.stop()
    world.flags = ["--config", config, "--state-dir", state]
    subprocess.run(["rm", "-rf", world.recording], check=True)
    world.start()
    puppet = world.puppet()
    puppet.do("spawn 1 worker-1 snap")
    puppet.do("spawn 2 batch snap")
    puppet.do("spawn 3 worker-3 snap")
    puppet.do("freeze 1")
    puppet.do("freeze 2")
    world.wait_events("begin", 2)
    with open(config, "w", encoding="utf-8") as file:
        file.write("rule = worker-*=1h\nrule = *=500ms\n")
    world.ripd.send_signal(signal.SIGHUP)
    world.wait_events("end", 1)
    assert world.stop() == 0
    world.start()
    puppet.do("thaw 2")
    world.wait_events("end", 2)
    puppet.do("freeze 2")
    world.wait_events("begin", 3)
    published = world.raw_events()
    assert world.stop() == 0
    world.check_same(published)


def other_thresholds(world):
    puppet = world.puppet()
    puppet.do("spawn 1 worker-1 snap")
    puppet.do("spawn 2 batch snap")
    puppet.do("freeze 1")
    world.wait_events("begin", 1)
    puppet.do("thaw 1")
    puppet.do("freeze 2")
    world.wait_events("begin", 2)
    puppet.do("thaw 2")
    world.wait_events("end", 2)
    published = world.raw_events()
    assert world.stop() == 0
    early = [json.loads(line) for line in world.replay("--stall-after", "500ms", "--json").stdout.splitlines()]
    begins = [event for event in early if event["kind"] == "begin"]
    assert len(begins) >= 2 and all(event["alert"] == "certain" for event in begins), begins
    for event in map(json.loads, published):
        if event["kind"] == "begin":
            same = [e for e in begins if e["id"] == event["id"]]
            assert same and same[0]["at"] < event["at"] and same[0]["threshold_ms"] == 500, (same, event)
    assert world.replay("--stall-after", "1h", "--json").stdout == ""
    only = [json.loads(line) for line in
            world.replay("--stall-after", "1h", "--rule", "batch*=500ms", "--json").stdout.splitlines()]
    assert {event["name"] for event in only} == {"batch"}, only
    table = world.replay("--stall-after", "500ms").stdout
    assert "earlier" in table and "worker-1" in table and "ripd published" in table, table
    assert re.search("0 episodes, 0 certain; ripd published [0-9]+, 0 of", world.replay("--stall-after", "1h").stdout)


def assertions(world):
    puppet = world.puppet()
    puppet.do("spawn 1 worker-1 snap")
    puppet.do("freeze 1")
    world.wait_events("begin", 1)
    puppet.do("thaw 1")
    world.wait_events("end", 1)
    answer = os.path.join(world.made, "events.json")
    with open(answer, "w", encoding="utf-8") as file:
        file.write(world.answer())
    assert world.stop() == 0
    assert world.replay("--assert", answer).stdout == ""
    lines = world.replay("--json").stdout.splitlines()
    path = os.path.join(world.made, "lines")

    def expect(text, status, message, *flags):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = world.replay("--assert", path, *flags, status=status)
        assert message in done.stderr and done.stderr.count("\n") == (1 if message else 0), done.stderr

    expect("\n".join(lines) + "\n", 0, "")
    changed = json.loads(lines[1])
    changed["reason"] = "gone"
    expect(lines[0] + "\n" + json.dumps(changed) + "\n", 1, '"reason" is "moved", and was "gone"')
    expect(lines[0] + "\n", 1, "event 2 is not in")
    expect("\n".join([*lines, lines[1]]), 1, "event 3 of")
    expect(lines[0] + "\nno event\n", 1, "expected events as JSON")


def wrong_flags_and_files(world):
    world.stop()
    for flags, status, message in (
            (["--stall-after", "soon", world.recording], 2, "--stall-after: 'soon': expected a duration"),
            (["--rule", "worker", world.recording], 2, "--rule: 'worker': expected"),
            ([], 2, "expected a recording"),
            ([world.recording, "another"], 2, "unexpected argument"),
            (["/nowhere"], 1, "rip: replay: /nowhere: No such file or directory\n"),
            ([world.dir], 1, f"rip: replay: {world.dir} is not a recording\n"),
            (["--assert", "/nowhere", world.recording], 1, "--assert: '/nowhere'")):
        done = subprocess.run([f"{w.BIN}/rip", "replay", *flags], capture_output=True, text=True, check=False)
        assert done.returncode == status and message in done.stderr and done.stderr.count("\n") == 1, done


def a_recording_that_is_cut(world):
    puppet = world.puppet()
    puppet.do("spawn 1 worker-1 snap")
    puppet.do("freeze 1")
    world.wait_events("begin", 1)
    world.wait_scans(20)
    assert world.stop() == 0
    name = os.path.join(world.recording, sorted(os.listdir(world.recording))[0])
    os.truncate(name, os.path.getsize(name) - 7)
    done = world.replay("--json", status=1)
    assert len(done.stdout.splitlines()) == 1 and done.stderr != "", done


HEADER_BYTES = 32


def a_recording_without_a_scan(world):
    """The recording is truncated before the end of its first scan."""
    world.stop()
    name = os.path.join(world.recording, sorted(os.listdir(world.recording))[0])
    path = os.path.join(world.made, "short.riprec")
    with open(name, "rb") as whole, open(path, "wb") as cut:
        cut.write(whole.read(HEADER_BYTES))
    done = subprocess.run([f"{w.BIN}/rip", "replay", path], capture_output=True, text=True, check=False)
    assert done.stdout == f"{path}: has no scan\n", done


def without_a_ripd(world):
    """A recording of `rip record` has no evidence, so only some alerts are certain."""
    path = os.path.join(world.made, "plain.riprec")
    puppet = world.puppet()
    puppet.do("spawn 1 stuck snap")
    puppet.do("spawn 2 waits idle")
    puppet.do("spawn 3 moves snap")
    recorder = subprocess.Popen([f"{w.BIN}/rip", "record", "--dir", world.dir, "--interval", "100ms", "-o", path],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    world.processes.append(recorder)
    world.wait_for(lambda: os.path.getsize(path) > 0)
    puppet.do("freeze 1")
    world.wait_events("begin", 1)  # ripd's own threshold is longer than that of the replay
    puppet.do("thaw 1")
    world.wait_events("end", 1)
    recorder.send_signal(signal.SIGINT)
    errors = recorder.communicate(timeout=w.PATIENCE_S)[1]
    assert recorder.returncode == 0, (recorder.returncode, errors)
    done = subprocess.run([f"{w.BIN}/rip", "replay", "--stall-after", "500ms", "--json", path], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done
    events = [json.loads(line) for line in done.stdout.splitlines()]
    stuck = [event for event in events if event["name"] == "stuck"][-2:]
    assert [event["kind"] for event in stuck] == ["begin", "end"], events
    assert all(event["alert"] == "certain" and event["process"]["comm"] == "puppet" for event in stuck), stuck
    assert stuck[1]["lasted_ms"] >= 500 and "waits" not in [event["name"] for event in events], events
    assert stuck[0]["location"]["module"] == "puppet" and stuck[0]["location"]["offset"], stuck[0]
    done = subprocess.run([f"{w.BIN}/rip", "replay", path], capture_output=True, text=True, check=True)
    assert "recorded by rip record" in done.stdout and "stalled after 5.0s" in done.stdout, done
    done = subprocess.run([f"{w.BIN}/rip", "replay", "--stall-after", "1h", "--rule", "stuck=500ms", path],
                          capture_output=True, text=True, check=True)
    assert re.search("^(1 episode|[0-9]+ episodes), ", done.stdout, re.MULTILINE), done
    done = subprocess.run([f"{w.BIN}/rip", "replay", "--stall-after", "1h", path], capture_output=True, text=True,
                          check=True)
    assert "0 episodes, 0 certain" in done.stdout, done


def names_of_locations(world):
    """Names are found as by rip dump and rip export: in the program at its path, or in a folder of --files."""
    path = os.path.join(world.made, "named.riprec")
    program = os.path.join(world.made, "program")
    os.chmod(world.made, 0o711)  # the symbolizer runs as nobody
    shutil.copy(f"{w.BIN}/puppet", program)
    puppet = world.puppet(argv=[program])
    puppet.do("spawn 1 stuck snap")
    recorder = subprocess.Popen([f"{w.BIN}/rip", "record", "--dir", world.dir, "--interval", "100ms", "-o", path],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    world.processes.append(recorder)
    world.wait_for(lambda: os.path.getsize(path) > 0)
    puppet.do("freeze 1")
    world.wait_events("begin", 1)
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(timeout=w.PATIENCE_S) == 0

    def replay(*flags):
        done = subprocess.run([f"{w.BIN}/rip", "replay", "--stall-after", "500ms", *flags, path], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0 and done.stderr == "", done
        return done.stdout

    def place(*flags):
        return json.loads(replay("--json", *flags).splitlines()[-1])["location"]

    named = place()
    assert named["function"] and named["file"].endswith("/puppet.c") and named["line"] > 0, named
    assert f"{named['function']}, " in replay() and f"puppet.c:{named['line']}" in replay(), replay()
    events = os.path.join(world.made, "named")
    with open(events, "w", encoding="utf-8") as file:
        file.write(replay("--json"))
    os.unlink(program)
    assert place()["function"] is None and "program+0x" in replay()
    assert replay("--assert", events) == ""  # --assert works without the program, too
    there = os.path.join(world.made, "there")
    os.mkdir(there)
    shutil.copy(f"{w.BIN}/puppet", os.path.join(there, "program"))
    assert place("--files", there) == named
    assert f"{named['function']}, " in replay(f"--files={there}")


DISK_BYTES = 128 << 10


def a_full_disk(world):
    """Scans that cannot be recorded are counted and logged. Recording continues when there is room."""
    if w.lacking("sys_admin"):
        raise w.Skip("needs to mount a file system")
    world.stop()
    subprocess.run(["rm", "-rf", world.recording], check=True)
    os.mkdir(world.recording)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", world.recording], check=True)
    try:
        world.start()
        puppet = world.puppet()
        puppet.do("spawn 1 worker-1 snap")
        filler = os.path.join(world.recording, "filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        world.wait_for(lambda: world.metric("ripd_recording_lost_total") > 0)
        world.wait_for(lambda: "scans that could not be recorded" in world.log_text())
        lost = world.metric("ripd_recording_lost_total")
        world.wait_for(lambda: world.metric("ripd_recording_lost_total") >= lost + 10)
        # the test takes at most two minutes
        assert world.log_text().count("scans that could not be recorded") <= 2, world.log_text()
        assert world.request("/readyz")[0] == 200
        os.unlink(filler)
        written = world.metric("ripd_recording_bytes_total")
        world.wait_for(lambda: world.metric("ripd_recording_bytes_total") > written)
        world.wait_for(lambda: "scans are recorded again" in world.log_text())
        puppet.do("freeze 1")
        world.wait_events("begin", 1)
        assert world.stop() == 0
        lines = world.replay("--json").stdout.splitlines()
        assert [json.loads(line)["name"] for line in lines] == ["worker-1"], lines
    finally:
        subprocess.run(["umount", "--lazy", world.recording], check=False)


def a_directory_that_cannot_be_used(world):
    """A directory of another ripd, or a file: ripd reports an error and does not start."""
    command = [f"{w.BIN}/ripd", "--listen=127.0.0.1:0", f"--dir={world.dir}"]
    other = subprocess.run([*command, f"--record={world.recording}"], capture_output=True, text=True,
                           timeout=w.PATIENCE_S, check=False)
    assert other.returncode == 1 and "another ripd records there" in other.stderr, other
    path = os.path.join(world.made, "file")
    with open(path, "w", encoding="utf-8"):
        pass
    other = subprocess.run([*command, f"--record={path}"], capture_output=True, text=True, timeout=w.PATIENCE_S,
                           check=False)
    assert other.returncode == 1 and f"record '{path}': " in other.stderr, other


KINDS = ("spin", "mutex", "reply", "stuck", "once_again")
IDLE = ("epoll", "unseen", "condition")


def programs_under_rip_run(world):
    """Spinning, blocked, deadlocked and idle threads of unchanged programs. All are killed at the end."""
    callers = {}

    def run(name, *words):
        callers[name] = subprocess.Popen([f"{w.BIN}/rip", "run", "--dir", world.dir, "--name", name, "--", *words],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        world.processes.append(callers[name])

    def begun():
        return {event["ring"] for event in world.get("/events?kind=begin&limit=10000")["events"]}

    for kind in (*KINDS, *IDLE, "sleep"):
        run(kind, f"{w.BIN}/caller", kind)
    world.wait_for(lambda: set(KINDS) <= begun())
    run("cycle", f"{w.BIN}/locks", "cycle", "3")
    world.wait_for(lambda: len(world.stalls("?cause=deadlock&ring=cycle")) == 3 and "cycle" in begun())
    for caller in callers.values():
        caller.kill()
    world.wait_for(lambda: not world.stalls())
    published = world.raw_events()
    assert world.stop() == 0
    world.check_same(published)
    early = [json.loads(line) for line in world.replay("--stall-after", "600ms", "--json").stdout.splitlines()]
    certain = {event["ring"] for event in early if event["kind"] == "begin" and event["alert"] == "certain"}
    assert set(KINDS) <= certain, early
    accused = {json.loads(text)["ring"] for text in published}  # some thread may have had no CPU time for so long
    assert not certain & set(IDLE) - accused, early


def a_crowd_behind_a_lock(world):
    """More threads wait for one thread than can be examined in a scan: there are only a few lines in the log."""
    if w.lacking("sys_ptrace"):
        print("        left out: whom they wait for is in the memory of the program, which may not be read here")
        return
    throng = subprocess.Popen([f"{w.BIN}/throng", world.ring("throng"), str(CROWD), "lock"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    world.processes.append(throng)
    assert throng.stdout.readline() == "there\n"
    world.wait_events("begin", CROWD)
    throng.stdin.close()
    throng.wait()
    world.wait_events("end", CROWD)
    published = world.raw_events()
    incidents = {json.loads(event)["incident"] for event in published}
    assert len(incidents) <= CROWD_LINES, incidents
    assert world.stop() == 0
    for kind in ("begin", "end"):
        assert world.log_text().count(f" stall {kind} ") == len(incidents), world.log_text()
    world.check_same(published)


def a_ring_that_is_not_mapped(world):
    """Without userfaultfd, ripd copies parts of a ring. They are recorded, too."""
    if w.lacking("sys_admin"):
        raise w.Skip("needs to mount a file system")
    world.stop()
    subprocess.run(["mount", "-t", "ramfs", "none", world.dir], check=True)
    subprocess.run(["rm", "-rf", world.recording], check=True)
    try:
        world.start()
        puppet = world.puppet()
        for number in (1, 2, 3):
            puppet.do(f"spawn {number} worker-{number} snap")
        puppet.do("freeze 1")
        world.wait_events("begin", 1)
        puppet.do("exit 2")
        puppet.do("thaw 1")
        world.wait_events("end", 1)
        puppet.do("freeze 3")
        world.wait_events("begin", 2)
        with open(f"/proc/{world.ripd.pid}/maps", encoding="utf-8") as maps:
            assert world.ring() not in maps.read()
        published = world.raw_events()
        assert world.stop() == 0
        world.check_same(published)
    finally:
        subprocess.run(["umount", "--lazy", world.dir], check=False)


class ApartWorld(RecordedWorld):
    """The directory of rings is separate from the files that ripd writes."""

    def __init__(self):
        rings = tempfile.mkdtemp(prefix="rip-e2e-", dir="/dev/shm")
        try:
            super().__init__(directory=rings)
        except BaseException:
            os.rmdir(rings)
            raise

    def close(self):
        super().close()
        shutil.rmtree(self.dir, ignore_errors=True)


if __name__ == "__main__":
    w.run([a_run_is_replayed_byte_for_byte, stops_and_late_scans, a_restart_and_a_reload, other_thresholds, assertions,
           programs_under_rip_run, wrong_flags_and_files, a_recording_that_is_cut, a_recording_without_a_scan,
           without_a_ripd, names_of_locations, a_crowd_behind_a_lock, a_full_disk, a_ring_that_is_not_mapped,
           a_directory_that_cannot_be_used],
          ApartWorld)
