# SPDX-License-Identifier: Apache-2.0
"""Which waits are idle and which are busy."""
import time

from preload_kit import PATIENCE_S, PreloadTest, helper, main, wait_for

THREAD_COUNT = 37


class Park(PreloadTest):
    def threads(self):
        """Returns the ids of the first process. Its child is ignored."""
        return {i["name"]: i for i in self.ring(self.name)["ids"] if i["process"] == 0}

    def misjudged(self):
        ids = self.threads()
        return [name for name, item in ids.items() if name != "park" and
                (item["idle"] != (1 if name[0] == "i" else 0) or not item["trail"])]

    def test_idle_and_busy(self):
        process = self.start(helper("park"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.name = f"park.{process.pid}"
        try:
            wait_for("every thread in its wait",
                     lambda: len(self.threads()) == THREAD_COUNT and not self.misjudged())
        except AssertionError as error:
            self.fail(f"{error}: {self.misjudged()}, {len(self.threads())} ids")
        before = self.threads()
        time.sleep(0.3)
        self.assertEqual(self.misjudged(), [])
        for name, item in self.threads().items():
            self.assertEqual(item["progress"], before[name]["progress"], name)
            self.assertIn("/park+0x", item["trail"][0])
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.wait_no_rings()


main()
