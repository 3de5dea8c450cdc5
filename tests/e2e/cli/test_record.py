# SPDX-License-Identifier: Apache-2.0
"""`rip record` and real programs: the recording, read with librip-session, contains exactly what the programs did."""
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

RIP = f"{w.BIN}/rip"
EBADMSG = 74


class Maker:
    """A running instance of maker.c. made counts the breadcrumbs that it has written."""

    def __init__(self, scene, name="maker"):
        self.process = subprocess.Popen([f"{w.BIN}/maker", os.path.join(scene.rings, name)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        scene.processes.append(self.process)
        self.made = 0
        assert self.process.stdout.readline() == "ready\n"

    def make(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.made = int(self.process.stdout.readline())


class Recorder:
    """A running `rip record`, of all rings or of the given ones, and the lines that it has written so far."""

    def __init__(self, scene, *arguments, output="recording", before=(), **options):
        self.path = os.path.join(scene.made, output)
        self.lines, self.errors = [], []
        self.process = subprocess.Popen(
            [*before, RIP, "record", "--dir", scene.rings, "--output", self.path, "--interval", "20ms", "--json",
             *arguments], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            **options)
        scene.processes.append(self.process)
        self.threads = [threading.Thread(target=self.read, args=pair, daemon=True) for pair in
                        ((self.process.stdout, self.lines), (self.process.stderr, self.errors))]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.append(line)

    def wait(self, condition):
        """Waits until the condition holds for the newest report."""
        def holds():
            assert self.process.poll() is None, (self.process.returncode, self.lines, self.errors)
            return self.lines and condition(json.loads(self.lines[-1]))
        w.wait_for(holds)

    def wait_made(self, maker):
        self.wait(lambda report: report["rings"] > 0 and report["made"] == maker.made)

    def ended(self):
        """Waits for the end. Returns (exit status, last report)."""
        self.process.wait(timeout=w.PATIENCE_S)
        for thread in self.threads:
            thread.join(w.PATIENCE_S)
        reports = [json.loads(line) for line in self.lines if line.startswith("{")]
        assert [report["final"] for report in reports] == [False] * (len(reports) - 1) + [True], self.lines
        return self.process.returncode, reports[-1]

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.ended()


class Scene:
    def __init__(self):
        self.made = tempfile.mkdtemp(prefix="rip-record-", dir="/dev/shm")
        self.rings = os.path.join(self.made, "rings")
        os.mkdir(self.rings)
        self.processes = []

    def end_well(self):
        pass

    def log_text(self):
        return ""

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        shutil.rmtree(self.made)

    def rip(self, *arguments, **options):
        return subprocess.run([RIP, "record", *arguments], text=True, capture_output=True, timeout=w.PATIENCE_S,
                              check=False, cwd=self.made, env={**os.environ, "RIP_DIR": self.rings}, **options)


def sums(path, *which):
    done = subprocess.run([f"{w.BIN}/recording_sums", path, *which], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def whole_sums(path):
    """Returns the sums, or None while the last frame is incomplete because the disk is full."""
    found = sums(path)
    return found if found["result"] == 0 else None


def check_accounts(found, made):
    assert found["made"] == made and found["exact"], (found, made)
    assert found["recorded"] + found["overwritten"] + found["unseen"] == made, (found, made)


def losses_are_counted_exactly(scene):
    """At a low rate nothing is lost. At a high rate losses are counted exactly, also for threads that live shorter than
    the interval between drains."""
    maker = Maker(scene)
    recorder = Recorder(scene)
    recorder.wait(lambda report: report["rings"] == 1)
    for _ in range(4):
        maker.make("here 6")
        recorder.wait_made(maker)
    report = json.loads(recorder.lines[-1])
    assert report["recorded"] == 24 and report["overwritten"] == report["unseen"] == 0, report
    maker.make("here 1000000")
    maker.make("threads 300 50")
    maker.make("brief 500 7")
    maker.make("here 3")
    recorder.wait_made(maker)
    status, report = recorder.end()
    assert status == 0 and recorder.errors == [], (status, recorder.errors)
    found = sums(recorder.path)
    check_accounts(found, maker.made)
    assert {key: report[key] for key in ("made", "recorded", "overwritten", "unseen", "lost")} == \
           {**{key: found[key] for key in ("made", "recorded", "overwritten", "unseen")}, "lost": 0}, (report, found)
    assert report["file"] == recorder.path and report["error"] is None and report["ids"] == 801, report
    assert report["bytes"] == os.path.getsize(recorder.path) == found["position"] == found["size"], (report, found)
    assert found["result"] == 0 and found["overwritten"] > 900000 and found["whole"] > 0, found
    assert os.stat(recorder.path).st_mode & 0o777 == 0o600


def of_one_process_until_it_ends(scene):
    maker, other = Maker(scene), Maker(scene, "other")
    recorder = Recorder(scene, str(maker.process.pid))
    recorder.wait(lambda report: report["rings"] == 1)
    maker.make("here 5")
    other.make("here 9")
    recorder.wait_made(maker)
    maker.make("brief 100 3")
    maker.process.stdin.close()
    maker.process.wait()
    status, report = recorder.ended()
    assert status == 0 and report["rings"] == 1, (status, report)
    check_accounts(sums(recorder.path), maker.made)


def a_last_drain(scene):
    maker = Maker(scene)
    recorder = Recorder(scene, "--interval", "1h")
    recorder.wait(lambda report: report["rings"] == 1)
    maker.make("here 9")
    assert recorder.end()[0] == 0
    check_accounts(sums(recorder.path), 9)
    maker.make("here 4")
    recorder = Recorder(scene, "--interval", "1h", str(maker.process.pid), output="second")
    recorder.wait(lambda report: report["rings"] == 1)
    maker.make("here 7")
    maker.process.stdin.close()
    status, report = recorder.ended()
    # including the breadcrumbs that were in the ring before
    assert status == 0 and report["recorded"] == maker.made, (status, report)


def rings_by_name_and_by_path(scene):
    makers = [Maker(scene, name) for name in ("web.1", "web.2", "db")]
    for arguments, count in ((["web*"], 2), (["db", "web.2"], 2), ([os.path.join(scene.rings, "db")], 1), ([], 3)):
        path = os.path.join(scene.made, "-".join(["timed", str(count), *map(os.path.basename, arguments)]))
        done = scene.rip("--duration", "300ms", "--output", path, *arguments)
        assert done.returncode == 0 and done.stdout == "" and f" s: rings {count}, ids " in done.stderr, done
        assert sums(path)["rings"] == count, path
    assert all(maker.process.poll() is None for maker in makers)
    refuse(scene, [path], "already a recording")
    done = scene.rip("--duration", "100ms", "db")
    assert done.returncode == 0 and re.fullmatch(r"db-\d{8}T\d{6}Z\.riprec", done.stderr.split(":")[0]), done


def a_command(scene):
    done = scene.rip("--output", "command", "--interval", "10ms", "--", "sh", "-c", "echo out; cat; exit 7", input="in")
    assert done.returncode == 7 and done.stdout == "out\nin", done
    assert "unknown" not in done.stderr and done.stderr.startswith("command: "), done
    assert sums(os.path.join(scene.made, "command"), "any")["result"] == 0
    recorder = Recorder(scene, "--", "sh", "-c", "for i in 1 2 3; do sleep 0.1; done; exec sleep 600", output="long")
    recorder.wait(lambda report: report["rings"] >= 1 and report["recorded"] >= 3)
    recorder.process.send_signal(signal.SIGTERM)
    status, report = recorder.ended()
    assert status == 128 + signal.SIGTERM, (status, report)
    check_accounts(sums(recorder.path, "any"), report["made"])
    assert scene.rip("--output", "x1", "--", "there-is-no-such-program").returncode == 127
    assert scene.rip("--output", "x2", "--duration", "200ms", "--", "sleep", "600").returncode == 128 + signal.SIGTERM
    assert scene.rip("--output", "x2", "--", "true").returncode == 125


def cut_and_damaged_recordings(scene):
    maker = Maker(scene)
    recorder = Recorder(scene)
    recorder.wait(lambda report: report["rings"] == 1)
    for _ in range(5):
        maker.make("threads 20 9")
        recorder.wait_made(maker)
    recorder.end()
    with open(recorder.path, "rb") as file:
        whole = file.read()
    full, path = sums(recorder.path), os.path.join(scene.made, "cut")
    for count in range(len(whole) // 20 + 40, len(whole), len(whole) // 17 + 1):
        for broken in (whole[:count], whole[:count] + bytes([whole[count] ^ 0x41]) + whole[count + 1:]):
            with open(path, "wb") as file:
                file.write(broken)
            found = sums(path)
            assert found["result"] in (0, -EBADMSG) and found["position"] <= count, (found, count)
            assert found["recorded"] <= full["recorded"] and found["drains"] < full["drains"], (found, full)
            assert (found["result"] == 0) == (found["position"] == len(broken)), (found, len(broken))


def the_recorder_is_killed(scene):
    maker = Maker(scene)
    recorder = Recorder(scene)
    recorder.wait(lambda report: report["rings"] == 1)
    maker.make("here 20")
    recorder.wait_made(maker)
    for _ in range(20):
        maker.make("threads 30 20")
    recorder.process.kill()
    recorder.process.wait()
    found = sums(recorder.path)
    assert found["result"] in (0, -EBADMSG) and found["recorded"] >= 20, found
    check_accounts(found, found["made"])


def segments(scene):
    maker = Maker(scene)
    flags = ("--segment-bytes", "64K", "--keep", "3")
    for _ in range(2):  # the second recorder continues in the same directory
        recorder = Recorder(scene, *flags)
        recorder.wait(lambda report: report["rings"] == 1)
        done = scene.rip("--output", recorder.path, *flags)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done
        before = max(os.listdir(recorder.path))
        def turned():
            maker.make("threads 500 40")
            return int(max(os.listdir(recorder.path))[:10]) >= int(before[:10]) + 5
        w.wait_for(turned)
        assert len(os.listdir(recorder.path)) <= 3
        assert recorder.end()[0] == 0
    names = sorted(os.listdir(recorder.path))
    assert len(names) == 3 and int(names[-1][:10]) >= 11, names
    for path in [recorder.path, *(os.path.join(recorder.path, name) for name in names)]:
        found = sums(path)
        assert found["result"] == 0 and found["recorded"] > 0 and found["position"] == found["size"], (path, found)
        done = subprocess.run([RIP, "replay", path], text=True, capture_output=True, check=False)
        assert done.returncode == 0 and done.stdout.startswith("recorded by rip record from "), (path, done)
    done = subprocess.run([RIP, "help", "replay"], text=True, capture_output=True, check=True)
    assert "rip replay [FLAG...] FILE | DIR\n" in done.stdout, done


def recordings_beside_rings(scene):
    """A directory of rings is not a recording, even if it contains recordings."""
    Maker(scene)
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../abi/golden/version-1.riprec"),
                os.path.join(scene.rings, "rings.riprec"))

    def is_recorded(name):
        done = scene.rip("--output", os.path.join(scene.made, name), "--duration", "50ms")
        assert done.returncode == 0 and "rings 1" in done.stderr, done

    is_recorded("first")
    if os.geteuid() != 0:
        return  # only root can create files of another user
    segment = os.path.join(scene.rings, "0000000001.riprec")
    os.rename(os.path.join(scene.rings, "rings.riprec"), segment)
    os.chown(segment, 65534, 65534)
    os.chmod(scene.rings, 0o1777)
    is_recorded("second")


def a_flight_recorder(scene):
    maker = Maker(scene)
    recorder = Recorder(scene, "--flight", "64K", output="flight")
    recorder.wait(lambda report: report["rings"] == 1)
    maker.make("here 7")
    recorder.wait_made(maker)
    assert not os.path.exists(recorder.path)
    recorder.process.send_signal(signal.SIGUSR1)
    w.wait_for(lambda: any("wrote" in line for line in recorder.errors))
    assert sums(recorder.path)["recorded"] == 7
    for _ in range(25):  # more than the buffer can hold
        maker.make("threads 1000 20")
        recorder.wait_made(maker)
    maker.make("here 1")
    recorder.wait_made(maker)
    done = scene.rip("--trigger", str(recorder.process.pid))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
    w.wait_for(lambda: len(recorder.errors) == 2)
    newest = sums(recorder.path + ".2")
    assert newest["result"] == 0 and 20000 < newest["size"] <= 1 << 16, newest
    assert newest["first"] > 1, newest  # the oldest data was dropped
    assert recorder.end()[0] == 0
    assert sorted(os.listdir(scene.made)) == ["flight", "flight.2", "rings"]


def a_stall_triggers(scene):
    maker = Maker(scene)
    recorder = Recorder(scene, "--flight", "1M", "--trigger-on-stall", "1s", output="stall")
    recorder.wait(lambda report: report["rings"] == 1)
    maker.make("here 3")
    w.wait_for(lambda: recorder.errors)
    assert recorder.errors == [f"rip: record: wrote {recorder.path}\n"], recorder.errors
    assert sums(recorder.path)["ids"] == 1
    assert recorder.end()[0] == 0


def a_full_disk(scene):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (30000, resource.RLIM_INFINITY))
    maker = Maker(scene)
    recorder = Recorder(scene, preexec_fn=limited)
    recorder.wait(lambda report: report["rings"] == 1)
    maker.make("here 5")
    recorder.wait_made(maker)
    def is_full():
        maker.make("threads 500 20")
        return json.loads(recorder.lines[-1])["lost"] > 0
    w.wait_for(is_full)
    assert os.path.getsize(recorder.path) <= 30000
    assert w.wait_for(lambda: whole_sums(recorder.path))["recorded"] >= 5
    resource.prlimit(recorder.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    def goes_on():
        maker.make("threads 100 20")
        return os.path.getsize(recorder.path) > 60000
    w.wait_for(goes_on)
    recorder.wait(lambda report: report["error"] is None)
    status, report = recorder.end()
    assert status == 4 and report["lost"] > 0, (status, report)
    # if the write itself failed, the original error is not known any more
    assert len(recorder.errors) == 1, recorder.errors
    assert re.search("File too large|a write has failed", recorder.errors[0]), recorder.errors
    assert sums(recorder.path)["result"] == 0


def a_real_disk_that_is_full(scene):
    disk = os.path.join(scene.made, "disk")
    os.mkdir(disk)
    alone = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c",
             'mount -t tmpfs -o size=128k none "$1" && head -c 65536 /dev/zero >"$1/ballast" && shift && exec "$@"',
             "sh", disk]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        raise w.Skip("mounting a file system is not permitted")
    maker = Maker(scene)
    recorder = Recorder(scene, output="disk/recording", before=alone)
    recorder.wait(lambda report: report["rings"] == 1)
    def is_full():
        maker.make("threads 500 20")
        return json.loads(recorder.lines[-1])["error"]
    assert w.wait_for(is_full) == "No space left on device"
    seen = f"/proc/{recorder.process.pid}/root{recorder.path}"
    assert os.path.getsize(seen) <= 65536 and w.wait_for(lambda: whole_sums(seen))["recorded"] > 0
    os.remove(f"/proc/{recorder.process.pid}/root{disk}/ballast")
    w.wait_for(lambda: maker.make("threads 10 20") or os.path.getsize(seen) > 66000)
    recorder.wait(lambda report: report["error"] is None)
    assert w.wait_for(lambda: whole_sums(seen))
    status, report = recorder.end()
    assert status == 4 and report["lost"] > 0 and len(recorder.errors) == 1, (status, report, recorder.errors)


def on_a_terminal(scene):
    maker = Maker(scene)
    parent, child = pty.openpty()
    process = subprocess.Popen([RIP, "record", "--dir", scene.rings, "-o", os.path.join(scene.made, "shown")],
                               stdout=subprocess.DEVNULL, stderr=child)
    scene.processes.append(process)
    os.close(child)
    text = ""
    maker.make("here 4")
    while ", breadcrumbs 4, " not in text:
        text += os.read(parent, 4096).decode()
    process.send_signal(signal.SIGTERM)
    try:
        while chunk := os.read(parent, 4096):
            text += chunk.decode()
    except OSError:  # end of file: the terminal is closed
        pass
    os.close(parent)
    assert process.wait(timeout=w.PATIENCE_S) == 0
    lines = text.replace("\r\n", "\n").split("\n")
    assert len(lines) == 2 and lines[1] == "" and lines[0].count("\r\x1b[K") == 1, text
    assert "shown: " in lines[0].split("\r\x1b[K")[1], text


MISTAKES = [("--interval", "0ms"), ("--interval", "2"), ("--duration", "1y"), ("--segment-bytes", "1"),
            ("--segment-bytes", "4Q"), ("--segment-bytes", "-1M"), ("--flight", "1K"), ("--flight", "99999999999G"),
            ("--keep", "3"), ("--keep", "0", "--segment-time", "1m"), ("--segment-time", "1m", "--flight", "1M"),
            ("--trigger-on-stall", "1s"), ("--trigger", "x"), ("--trigger", "0"), ("--nothing",), ("--",),
            ("99999999999999",), ("a/b", "c"), ("web", "--", "true")]


def wrong_arguments(scene):
    for arguments in MISTAKES:
        done = scene.rip(*arguments)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, (arguments, done)
    assert os.listdir(scene.made) == ["rings"]


def refuse(scene, words, said, **options):
    done = scene.rip("--output", os.path.join(scene.made, "refused"), *words, **options)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and said in done.stderr, (words, done)
    assert not os.path.exists(os.path.join(scene.made, "refused"))


def missing_processes_and_files(scene):
    sleeper = subprocess.Popen(["sleep", "600"])
    scene.processes.append(sleeper)
    refuse(scene, ["4194304"], "No such process")
    refuse(scene, ["4194304", str(sleeper.pid)], "No such process")
    refuse(scene, [str(sleeper.pid)], f" {sleeper.pid}: no ring of such a process in {scene.rings} ")
    refuse(scene, ["nothing"], f" nothing: no such ring in {scene.rings} ")
    refuse(scene, ["nothing", "no*"], " nothing and the others: no such ring in ")
    refuse(scene, [os.path.join(scene.rings, "nothing")], "No such file")
    refuse(scene, ["--dir", "/there/is/nothing"], "No such file")
    refuse(scene, ["--output", "/there/is/nothing"], "No such file")
    refuse(scene, ["--output", scene.made], "exists")
    for pid in (sleeper.pid, 4194304):
        assert scene.rip("--trigger", str(pid)).returncode == 1
    recorder = Recorder(scene)  # this recorder does not react to the signal
    recorder.wait(lambda report: True)
    done = scene.rip("--trigger", str(recorder.process.pid))
    assert done.returncode == 1 and "no `rip record --flight`" not in done.stdout, done
    assert sleeper.poll() is None and recorder.end()[0] == 0


def rings_without_read_permission(scene):
    if os.geteuid() != 0:
        raise w.Skip("only root becomes another user")
    Maker(scene)
    os.chmod(scene.made, 0o711)
    os.chmod(scene.rings, 0o711)
    os.chmod(os.path.join(scene.rings, "maker"), 0o600)
    mine = os.path.join(scene.made, "mine")
    os.mkdir(mine)
    os.chown(mine, 65534, 65534)
    for words in (["maker"], [os.path.join(scene.rings, "maker")]):
        done = scene.rip("--output", os.path.join(mine, "x"), *words, user=65534, group=65534, extra_groups=[])
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done
    assert os.listdir(mine) == []
    os.chmod(scene.rings, 0o755)
    done = scene.rip("--output", os.path.join(mine, "x"), "--duration", "100ms", user=65534, group=65534,
                     extra_groups=[])
    path = os.path.join(scene.rings, "maker")
    assert done.returncode == 1 and done.stdout == "", done
    assert done.stderr.startswith(f"rip: record: {scene.rings}: no ring that this user may read; {path}: "
                                  "Permission denied\n") and done.stderr.count("\n") == 2, done


if __name__ == "__main__":
    w.run([losses_are_counted_exactly, of_one_process_until_it_ends, a_last_drain, rings_by_name_and_by_path, a_command,
           cut_and_damaged_recordings, the_recorder_is_killed, segments, recordings_beside_rings,
           a_flight_recorder, a_stall_triggers, a_full_disk, a_real_disk_that_is_full, on_a_terminal, wrong_arguments,
           missing_processes_and_files, rings_without_read_permission], Scene)
