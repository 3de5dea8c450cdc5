# SPDX-License-Identifier: Apache-2.0
"""Shared code of the capture tests: a ripd with a state directory, and functions to read its captures."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import schema  # noqa: E402
import world as w  # noqa: E402

RIP = f"{w.BIN}/rip"


class CapturingWorld(w.World):
    INTERVAL_MS = 200
    STALL_AFTER_MS = 1000
    programs_made = None

    def settings(self):
        return {**super().settings(), "state-dir": self.state_dir}

    @property
    def programs(self):
        """A directory for programs: /dev/shm may be mounted noexec."""
        if self.programs_made is None:
            self.programs_made = tempfile.mkdtemp(prefix="rip-e2e-", dir="/var/tmp")
            os.chmod(self.programs_made, 0o755)  # if ripd is root, the symbolizer runs as nobody
        return self.programs_made

    def close(self):
        super().close()
        if self.programs_made is not None:
            shutil.rmtree(self.programs_made)

    def files(self):
        found = []
        for folder, _, names in os.walk(os.path.join(self.state_dir, "captures")):
            found += [os.path.join(folder, name) for name in names if name.endswith(".capture")]
        return sorted(found)

    def rip(self, *words):
        return subprocess.run([RIP, *words], capture_output=True, text=True, timeout=w.PATIENCE_S, check=False)

    def captures(self):
        done = self.rip("captures", "--json", "--state-dir", self.state_dir)
        assert done.returncode == 0, done
        return [json.loads(line) for line in done.stdout.splitlines()]

    def capture_of(self, ring):
        """Waits for the capture of a ring, and checks that there is only one."""
        self.wait_for(lambda: any(capture.get("ring") == ring for capture in self.captures()))
        found = [capture for capture in self.captures() if capture.get("ring") == ring]
        assert len(found) == 1, found
        document = {key: value for key, value in found[0].items() if key != "file"}
        schema.check_document(document, "capture", ring)
        return found[0]

    def dump(self, *words):
        done = self.rip("dump", "--json", *words)
        assert done.returncode == 0, done
        return [json.loads(line) for line in done.stdout.splitlines()]


def watched(world, ring):
    """Starts a linked program with two ids. One of them is stalled."""
    app = world.puppet(ring)
    app.do("spawn 1 worker-1 snap")
    app.do("spawn 2 worker-2 snap")
    app.do(f"note 2 {b'GET /x'.hex()}")
    world.wait_for(lambda: world.thread(2, ring)["note"] == "GET /x")
    app.do("freeze 2")
    world.wait_for(lambda: world.state(2, ring) == "stalled")
    # the next scan is now a whole interval away: a scan during which the process dies may not list the stall
    world.wait_scans(1)
    return app
