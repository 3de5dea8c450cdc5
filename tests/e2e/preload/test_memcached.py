# SPDX-License-Identifier: Apache-2.0
"""memcached: waits of libevent, threads that are named by their creator, and daemon()."""
import os
import signal

from preload_kit import PATIENCE_S, PreloadTest, ask, kill, main, read_pid, wait_for


class Memcached(PreloadTest):
    def start_memcached(self, *more):
        self.socket = os.path.join(self.scratch, "memcached.sock")
        process = self.start("memcached", "-u", "root", "-t", "4", "-s", self.socket, *more)
        wait_for("memcached", lambda: ask(self.socket, b"version\r\n"))
        return process

    def test_threads(self):
        process = self.start_memcached()
        name = f"memcached.{process.pid}"
        tasks = f"/proc/{process.pid}/task"
        wait_for("all threads", lambda: len(self.ring(name)["ids"]) == len(os.listdir(tasks)))
        wait_for("four idle workers",
                 lambda: len([i for i in self.ring(name)["ids"] if i["name"] == "mc-worker" and i["idle"]]) == 4)
        for item in self.ring(name)["ids"]:
            with open(f"{tasks}/{item['tid']}/comm") as comm:
                self.assertEqual(item["name"], comm.read().rstrip("\n"))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assertEqual(self.ring_names(), [])

    def test_daemon(self):
        pid_file = os.path.join(self.scratch, "memcached.pid")
        process = self.start_memcached("-d", "-P", pid_file)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        pid = wait_for("the pid file", lambda: read_pid(pid_file))
        name = f"memcached.{process.pid}"
        try:
            live = self.live(name)
            self.assertEqual(list(live.values()), [pid])
            self.assertEqual({i["process"] for i in self.ring(name)["ids"]}, set(live))
        finally:
            kill(pid)
        self.wait_no_rings()


main("memcached")
