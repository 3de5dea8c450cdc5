# SPDX-License-Identifier: Apache-2.0
"""nginx: a master process and two workers, in the foreground and as a daemon."""
import os
import pwd
import signal

from preload_kit import PATIENCE_S, PreloadTest, ask, kill, main, read_pid, wait_for

CONFIGURATION = """
user {user};
worker_processes 2;
pid {prefix}/nginx.pid;
error_log {prefix}/error.log;
daemon {daemon};
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {prefix}/body; proxy_temp_path {prefix}/proxy; fastcgi_temp_path {prefix}/fastcgi;
    uwsgi_temp_path {prefix}/uwsgi; scgi_temp_path {prefix}/scgi;
    server {{ listen unix:{prefix}/nginx.sock; location / {{ return 200 "hello\\n"; }} }}
}}
"""


class Nginx(PreloadTest):
    def start_nginx(self, daemon, user="root"):
        configuration = os.path.join(self.scratch, "nginx.conf")
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(prefix=self.scratch, daemon=daemon, user=user))
        path = self.environment["PATH"] + ":/usr/sbin"
        self.environment["PATH"] = path
        process = self.start("nginx", "-p", self.scratch, "-e", self.scratch + "/error.log", "-c", configuration)
        wait_for("nginx", self.ask)
        return process

    def ask(self):
        return b"200 OK" in ask(self.scratch + "/nginx.sock", b"GET / HTTP/1.0\r\n\r\n")

    def check(self, name, master):
        wait_for("master and workers", lambda: len(self.live(name)) == 3)
        self.assertIn(master, self.live(name).values())
        wait_for("three idle ids", lambda: len([i for i in self.ring(name)["ids"] if i["idle"]]) == 3)
        self.assertEqual({i["process"] for i in self.ring(name)["ids"]}, set(self.live(name)))
        worker = next(pid for pid in self.live(name).values() if pid != master)
        kill(worker, signal.SIGKILL)
        wait_for("a new worker", lambda: len(self.live(name)) >= 3 and self.ask())
        wait_for("its id", lambda: len([i for i in self.ring(name)["ids"] if i["tid"] in self.live(name).values()
                                        and i["tid"] != worker]) == 3)

    def test_foreground(self):
        process = self.start_nginx("off")
        name = f"nginx.{process.pid}"
        self.assertEqual(self.ring_names(), [name])
        self.check(name, process.pid)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.wait_no_rings()

    def test_workers_that_give_up_root(self):
        """nginx replaces its environment, but the rings of the workers are still in the requested directory."""
        if os.getuid() != 0:
            self.skipTest("needs root")
        os.chmod(self.rings, 0o1777)
        process = self.start_nginx("off", "nobody nogroup")
        wait_for("a ring of each worker", lambda: len(self.ring_names()) == 3)
        owners = sorted(os.stat(os.path.join(self.rings, name)).st_uid for name in self.ring_names())
        nobody = pwd.getpwnam("nobody").pw_uid
        self.assertEqual(owners, [0, nobody, nobody])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.wait_no_rings()

    def test_daemon(self):
        process = self.start_nginx("on")
        self.assertEqual(process.wait(PATIENCE_S), 0)
        master = wait_for("the pid file", lambda: read_pid(self.scratch + "/nginx.pid"))
        try:
            self.check(f"nginx.{process.pid}", master)
        finally:
            kill(master)
        self.wait_no_rings()


main("nginx")
