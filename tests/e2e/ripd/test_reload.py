# SPDX-License-Identifier: Apache-2.0
"""SIGHUP reads the configuration file again. Keys that can change do, others are logged, and an error changes nothing.
"""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402


class ReloadWorld(w.World):
    """A ripd with all settings in a file."""

    def settings(self):
        self.config_path = os.path.join(self.made, "ripd.conf.txt")
        self.write(**super().settings())
        return {"config": self.config_path}

    def write(self, *lines, **changes):
        """Writes the settings of the world, with some changes and more lines."""
        settings = {**super().settings(), **{key.replace("_", "-"): value for key, value in changes.items()}}
        with open(self.config_path + ".new", "w", encoding="utf-8") as file:
            file.write("".join(f"{key} = {value}\n" for key, value in settings.items()))
            file.write("".join(line + "\n" for line in lines))
        os.replace(file.name, self.config_path)  # atomically, so that ripd never reads half a file

    def reload(self, expected):
        """Sends SIGHUP and waits for a log line with the expected text. Returns what was logged."""
        logged = len(self.log_text())
        self.ripd.send_signal(signal.SIGHUP)
        self.wait_for(lambda: expected in self.log_text()[logged:])
        return self.log_text()[logged:]

    def host(self, name):
        return self.request("/healthz", headers={"Host": name})[0]


def without_a_file(_world):
    plain = w.World()
    try:
        ReloadWorld.reload(plain, "nothing to reload: ripd was started without --config\n")
        plain.wait_scans(1)
        assert plain.stop() == 0
    finally:
        plain.close()


def applied(world):
    assert (world.host("db1.example"), world.host("db2.example")) == (421, 421)
    world.write("allow-host = db1.example", "log-level = debug")
    lines = world.reload(": reloaded: ")
    assert 'changed="allow-host, log-level"' in lines and "restart" not in lines, lines
    world.wait_for(lambda: (world.host("db1.example"), world.host("db2.example")) == (200, 421))
    assert 'changed=""' in world.reload(": reloaded: ")
    world.write("log-level = error", allow_host="db2.example")
    world.ripd.send_signal(signal.SIGHUP)  # at this level a successful reload is not logged
    world.wait_for(lambda: (world.host("db1.example"), world.host("db2.example")) == (421, 200))


def thresholds(world):
    puppet = world.puppet()
    puppet.do("spawn 7 worker once")
    world.wait_for(lambda: world.stalled_ids() == [7])
    stalled = time.monotonic()
    world.write(stall_after="1h")
    assert 'changed="stall-after"' in world.reload(": reloaded: ")
    world.wait_for(lambda: world.stalled_ids() == [] and world.state(7) == "running")
    world.write(stall_after="300ms", interval="100ms")
    assert 'changed="interval, stall-after"' in world.reload(": reloaded: ")
    world.wait_for(lambda: world.stalled_ids() == [7])
    since_ms = (time.monotonic() - stalled) * 1000
    document = world.get("/stalls")
    stall, scan = document["stalls"][0], document["scan"]
    assert stall["threshold_ms"] == 300 and scan["interval_ms"] == 100, (stall, scan)
    # The id has stood still all the time, and as long as the threshold before.
    assert stall["frozen_for_max_ms"] + scan["age_ms"] >= since_ms + world.STALL_AFTER_MS - 10, (document, since_ms)
    world.write(interval="1h")
    world.reload(": reloaded: ")
    world.write(interval="100ms")  # the next scan, due in an hour, happens immediately
    world.reload(": reloaded: ")
    world.wait_scans(2)


def directories(world):
    stays, goes, comes = (os.path.join(world.made, name) for name in ("stays", "goes", "comes"))
    for path in (stays, goes, comes):
        os.mkdir(path)
    world.write(f"dir = {stays}", dir=goes)
    assert 'changed="dir"' in world.reload(": reloaded: ")
    for number, path in enumerate((stays, goes, comes), 1):
        world.puppet(ring=os.path.join(path, f"ring-{number}")).do(f"spawn {number} worker once")
    world.wait_for(lambda: world.stalled_ids() == [1, 2] and world.log_text().count("stall begin ") == 2)
    world.write(f"dir = {stays}", dir=comes)
    logged = len(world.log_text())
    world.reload(": reloaded: ")
    world.wait_for(lambda: world.stalled_ids() == [1, 3] and " id=3 " in world.log_text())
    world.wait_scans(1)
    said = world.log_text()[logged:]
    assert 'ring gone' in said and "its directory is not watched any more" in said, said
    # one stall continues, one ends, one begins
    assert [said.count(f" id={number} ") for number in (1, 2, 3)] == [0, 1, 1], said


def keys_that_need_a_restart(world):
    port = world.port
    world.write("allow-host = db1.example", listen="127.0.0.1:1")
    for changed in ("allow-host", ""):  # the restart is still needed
        lines = world.reload(": reloaded: ")
        assert 'warning: changed, but needs a restart: keys="listen"\n' in lines, lines
        assert f'changed="{changed}"\n' in lines, lines
    world.port = port
    world.wait_for(lambda: world.host("db1.example") == 200)


def the_command_line_overrides_the_file(world):
    world.flags.append("--log-level=info")
    world.stop()
    world.start()
    world.write("log-level = error")
    assert 'changed=""' in world.reload(": reloaded: ")


def a_bad_file_changes_nothing(world):
    world.write("allow-host = db2.example", stall_after="soon")
    lines = re.sub(r".*: scan late, .*\n", "", world.reload("not reloaded"))
    assert lines.count("\n") == 1 and lines.startswith("ripd: error: "), lines
    assert f"{world.config_path}:4: stall-after: 'soon' is not accepted; expected a duration" in lines, lines
    os.remove(world.config_path)
    assert "No such file" in world.reload("not reloaded")
    assert world.host("db2.example") == 421
    world.wait_scans(1)
    assert world.stop() == 0


def many_at_once(world):
    for number in range(200):
        world.write(f"allow-host = db{number}.example")
        world.ripd.send_signal(signal.SIGHUP)
        assert world.request("/healthz")[0] == 200
    world.write("allow-host = last.example")
    world.reload(": reloaded: ")
    world.wait_for(lambda: world.host("last.example") == 200)
    world.wait_scans(1)


w.run([without_a_file, applied, thresholds, directories, keys_that_need_a_restart, the_command_line_overrides_the_file,
       a_bad_file_changes_nothing, many_at_once], ReloadWorld)
