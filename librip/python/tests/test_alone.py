# SPDX-License-Identifier: Apache-2.0
"""Package rip without `rip run`: its effects as ripd shows them."""
import os
import subprocess
import unittest

import world as w

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = [os.environ["RIP_PYTHON"], "-B"]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.environ["RIP_PYTHON_PATH"]}


class Alone(unittest.TestCase):
    def test_api(self):
        result = subprocess.run([*PYTHON, f"{HERE}/api.py"], env=ENVIRONMENT, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_what_ripd_shows(self):
        world = w.World()
        self.addCleanup(world.close)
        app = subprocess.Popen([*PYTHON, f"{HERE}/app_alone.py", world.ring()], env=ENVIRONMENT, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        world.processes.append(app)
        self.assertEqual(app.stdout.readline(), "ready\n")

        def stalled():
            return {stall["name"]: stall for stall in world.stalls()}

        names = {"stuck", "first", "second", "traced", "by threading", "forked"}
        stalls = world.wait_for(lambda: len(stalled()) >= len(names) and stalled()["first"]["cause"] == "deadlock" and
                                stalled())
        self.assertEqual(set(stalls), names)
        self.assertEqual(stalls["stuck"]["note"], "GET /order?id=7")
        self.assertEqual((stalls["second"]["cause"], stalls["traced"]["cause"]), ("deadlock", "blocked"))
        states = {t["name"]: t["state"] for t in world.get("/threads")["threads"]}
        self.assertEqual((states["idle"], states["moves"], states["patient"]), ("idle", "running", "running"))
        app.communicate("\n", timeout=w.PATIENCE_S)
        self.assertEqual(app.returncode, 0)


unittest.main()
