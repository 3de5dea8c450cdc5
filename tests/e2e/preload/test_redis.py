# SPDX-License-Identifier: Apache-2.0
"""redis-server from Debian: jemalloc, background threads, and a forked child that saves."""
import os
import signal
import socket
import time

from preload_kit import PATIENCE_S, PreloadTest, ask, kill, main, read_pid, wait_for


class Redis(PreloadTest):
    def start_redis(self, *more, flags=()):
        self.socket = os.path.join(self.scratch, "redis.sock")
        process = self.start("redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir",
                             self.scratch, *more, flags=flags)
        wait_for("redis", lambda: self.ask("PING") == b"+PONG\r\n")
        return process

    def ask(self, command):
        return ask(self.socket, command.encode() + b"\r\n")

    def test_threads_and_exit(self):
        process = self.start_redis()
        name = f"redis-server.{process.pid}"
        self.assertEqual(self.ring_names(), [name])
        # The thread of jemalloc registers at its first wait, because it was not created with the wrapped
        # pthread_create().
        tasks = f"/proc/{process.pid}/task"
        wait_for("all threads", lambda: len(self.ring(name)["ids"]) == len(os.listdir(tasks)) >= 5)
        wait_for("idle threads", lambda: all(item["trail"] and item["idle"] for item in self.ids(name).values()))
        ids = self.ids(name)
        for item in ids.values():
            with open(f"{tasks}/{item['tid']}/comm") as comm:
                self.assertEqual(item["name"], comm.read().rstrip("\n"))
        self.assertIn("jemalloc_bg_thd", ids)
        self.assertEqual(len([thread for thread in ids if thread.startswith("bio_")]), 3)
        self.ask("SHUTDOWN NOSAVE")
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assertEqual(self.ring_names(), [])

    def test_stall_is_seen(self):
        """No progress for half a second without being idle is a stall: normally redis runs its timers ten times a
        second."""
        process = self.start_redis("--enable-debug-command", "yes")
        name = f"redis-server.{process.pid}"

        def stalled():
            first = self.ids(name)["redis-server"]
            time.sleep(0.5)
            second = self.ids(name)["redis-server"]
            return (first["idle"], second["idle"], first["progress"]) == (0, 0, second["progress"]) and first

        self.assertFalse(stalled())
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.socket)
            connection.sendall(b"DEBUG SLEEP 1000\r\n")
            self.assertIn("redis", wait_for("a stall", stalled)["trail"][0])

    def test_saving_child(self):
        process = self.start_redis("--rdb-key-save-delay", "50000", "--enable-debug-command", "yes")
        name = f"redis-server.{process.pid}"
        self.ask("DEBUG POPULATE 100")
        self.assertIn(b"started", self.ask("BGSAVE"))
        children = wait_for("the child", lambda: [p for p in self.ring(name)["processes"]
                                                  if p["state"] == 3 and p["pid"] != process.pid])
        self.assertEqual(len(children), 1)
        index = children[0]["index"]
        wait_for("the child's id", lambda: [i for i in self.ring(name)["ids"] if i["process"] == index])
        wait_for("its end", lambda: b"rdb_bgsave_in_progress:0" in self.ask("INFO persistence"))
        self.assertEqual([i for i in self.ring(name)["ids"] if i["process"] == index], [])
        self.ask("SHUTDOWN NOSAVE")
        process.wait(PATIENCE_S)
        self.assertEqual(self.ring_names(), [])

    def test_killed_leaves_the_ring(self):
        process = self.start_redis(flags=("--name", "cache"))
        process.kill()
        process.wait()
        self.assertEqual(self.ring_names(), ["cache"])
        ids = self.ids("cache")
        self.assertIn("redis-server", ids)
        self.assertTrue(ids["redis-server"]["trail"])
        os.unlink(self.socket)
        process = self.start_redis(flags=("--name", "cache"))
        self.assertEqual(self.ring_names(), ["cache", "cache.prev"])
        self.ask("SHUTDOWN NOSAVE")
        process.wait(PATIENCE_S)
        self.assertEqual(self.ring_names(), ["cache.prev"])

    def test_daemon(self):
        pid_file = os.path.join(self.scratch, "redis.pid")
        process = self.start_redis("--daemonize", "yes", "--pidfile", pid_file)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        pid = wait_for("the pid file", lambda: read_pid(pid_file))
        name = f"redis-server.{process.pid}"
        try:
            self.assertEqual(self.ring_names(), [name])
            self.assertEqual(list(self.live(name).values()), [pid])
            self.assertIn("redis-server", self.ids(name))
        finally:
            kill(pid, signal.SIGTERM)
        self.wait_no_rings()


main("redis-server")
