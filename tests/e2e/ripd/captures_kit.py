# SPDX-License-Identifier: Apache-2.0
"""What the tests of captures share: a ripd with a state directory, and what is in it."""
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
        """A directory to execute programs from: /dev/shm may be mounted without."""
        if self.programs_made is None:
            self.programs_made = tempfile.mkdtemp(prefix="rip-e2e-", dir="/var/tmp")
            os.chmod(self.programs_made, 0o755)  # where ripd is root the symbolizer is nobody
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
        """The only capture of that ring, once there is one."""
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
    """A linked program with two ids, of which one is stalled."""
    app = world.puppet(ring)
    app.do("spawn 1 worker-1 snap")
    app.do("spawn 2 worker-2 snap")
    app.do(f"note 2 {b'GET /x'.hex()}")
    world.wait_for(lambda: world.thread(2, ring)["note"] == "GET /x")
    app.do("freeze 2")
    world.wait_for(lambda: world.state(2, ring) == "stalled")
    world.wait_scans(1)  # the next one is as far away as it can be: one that it dies in may not list it
    return app
