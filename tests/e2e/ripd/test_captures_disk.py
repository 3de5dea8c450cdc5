# SPDX-License-Identifier: Apache-2.0
"""State directories that are full, read-only, of another user, or with captures of other versions: ripd continues."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402
from captures_kit import CapturingWorld, watched  # noqa: E402

DISK_BYTES = 256 << 10
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


class DiskWorld(CapturingWorld):
    """The state directory is a file system of its own."""
    options = {}
    mounted = False

    def start(self):
        if not self.mounted:
            os.mkdir(self.state_dir)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", self.state_dir], check=True)
            self.mounted = True
        super().start()

    def popen_options(self):
        return self.options

    def remount(self, option):
        subprocess.run(["mount", "-o", f"remount,{option}", self.state_dir], check=True)

    def fill(self):
        with open(os.path.join(self.state_dir, "filler"), "ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def crash(self, ring):
        """Kills a traced program, and waits until ripd has seen it."""
        app = watched(self, ring)
        app.kill()
        self.wait_for(lambda: self.thread(2, ring)["state"] == "dead")

    def put_capture(self, name, content, written_ago_s=0):
        folder = os.path.join(self.state_dir, "captures", str(os.geteuid()))
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name + ".capture")
        with open(path, "wb") as file:
            file.write(content)
        when = os.stat(path).st_mtime - written_ago_s
        os.utime(path, (when, when))
        return path

    def close(self):
        super().close()
        subprocess.run(["umount", "--lazy", self.state_dir], check=False)
        shutil.rmtree(self.made, ignore_errors=True)


def refused(world, ring, words):
    """A capture that cannot be written is counted and logged. ripd continues."""
    errors = world.metric("ripd_capture_errors_total")
    world.crash(ring)
    world.wait_for(lambda: world.metric("ripd_capture_errors_total") == errors + 1)
    world.wait_for(lambda: re.search(f"captures that could not be written: count=1: {words}", world.log_text()))
    assert world.request("/readyz")[0] == 200
    assert ring not in [capture.get("ring") for capture in world.captures()]


def full(world):
    world.fill()
    refused(world, "one", "No space left on device")
    os.unlink(os.path.join(world.state_dir, "filler"))
    world.crash("two")
    assert world.capture_of("two")["ids"] == 2
    assert not [name for _, _, names in os.walk(world.state_dir) for name in names if name == ".new"]


def full_of_captures(world):
    """When the disk is full, the oldest captures of the user that has most are removed."""
    for number in range(8):
        world.put_capture(f"old-{number}", os.urandom(16384), 1000 - number)
    world.fill()
    world.crash("one")
    world.capture_of("one")
    names = [os.path.basename(path) for path in world.files()]
    assert "old-0.capture" not in names and "old-7.capture" in names, names
    assert world.metric("ripd_capture_errors_total") == 0


def read_only(world):
    captures = os.path.join(world.state_dir, "captures")
    for words in (("--bind", captures, captures), ("-o", "remount,bind,ro", captures)):
        subprocess.run(["mount", *words], check=True)
    refused(world, "one", "Read-only file system")
    subprocess.run(["umount", captures], check=True)
    world.crash("two")
    world.capture_of("two")


def read_only_at_the_start(world):
    world.stop()
    world.remount("ro")
    world.start()
    assert "events are announced without being written" in world.log_text()
    assert "Read-only file system: processes that end are not captured" in world.log_text()
    refused(world, "one", "Read-only file system")
    assert world.metric("ripd_history_errors_total") > 0
    world.remount("rw")
    world.crash("two")
    world.capture_of("two")


def of_another_user(world):
    """ripd may not write to the captures directory of another user."""
    world.stop()
    os.chmod(world.made, 0o1777)
    shutil.rmtree(os.path.join(world.state_dir, "captures"))
    for name in os.listdir(world.state_dir):
        os.unlink(os.path.join(world.state_dir, name))
    os.mkdir(os.path.join(world.state_dir, "captures"), 0o700)
    os.chown(world.state_dir, 65534, 65534)
    world.options = NOBODY
    world.start()
    assert "Permission denied: processes that end are not captured" in world.log_text()
    for ring, works in (("one", False), ("two", True)):
        app = world.puppet(ring, **NOBODY)
        app.do("spawn 1 worker snap")
        world.wait_for(lambda: world.state(1, ring) == "running")  # pylint: disable=cell-var-from-loop
        world.wait_scans(2)
        app.kill()
        if works:
            world.capture_of(ring)
        else:
            world.wait_for(lambda: world.metric("ripd_capture_errors_total") == 1)
        os.chown(os.path.join(world.state_dir, "captures"), 65534, 65534)


def of_other_versions(world):
    """Captures of other versions are listed with the reason. They count for their user, and the oldest are removed
    first. Other files stay."""
    for number in range(40):
        world.put_capture(f"other-{number:02}", b"RIPCAPT\0" + bytes([number % 2 * 2]) + bytes(100), 1000 - number)
    damaged = world.put_capture("damaged", b"RIPCAPT\0\1" + bytes(100))
    link = os.path.join(os.path.dirname(damaged), "link.capture")
    os.symlink("/etc/passwd", link)
    os.symlink("/etc", os.path.join(world.state_dir, "captures", "4321"))
    fifo = os.path.join(os.path.dirname(damaged), "fifo.capture")
    os.mkfifo(fifo)
    world.crash("one")
    world.capture_of("one")
    by_name = {os.path.basename(capture["file"]): capture for capture in world.captures()}
    assert "other-00.capture" not in by_name
    assert by_name["other-39.capture"]["error"] == by_name["other-38.capture"]["error"] == (
        "is a capture of another version")
    assert by_name["damaged.capture"]["error"] == "is damaged or truncated"
    assert by_name["fifo.capture"]["error"] == "is not a capture" and "link.capture" in by_name
    assert len(by_name) == 32 + 2  # 32 captures, and the two entries that are not regular files
    text = world.rip("captures", "--state-dir", world.state_dir).stdout
    assert "is a capture of another version" in text and "killed by SIGKILL" in text or "not known how" in text, text
    done = world.rip("dump", by_name["other-39.capture"]["file"])
    assert done.returncode == 1 and "is a capture of another version" in done.stderr, done
    assert os.path.islink(link) and os.path.exists(fifo)


def main():
    if os.geteuid() != 0:
        w.skip_script("needs root to mount a small disk")
    if "RIP_TEST_PRIVATE_MOUNTS" not in os.environ:
        if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            w.skip_script("mount namespaces are not permitted")
        os.environ["RIP_TEST_PRIVATE_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    w.run([full, full_of_captures, read_only, read_only_at_the_start, of_another_user, of_other_versions], DiskWorld)


main()
