# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus, a real Alertmanager and a receiver of alerts, on loopback, for the tests of alerts.

They use the files in ripd/contrib/, with shorter times and with the addresses of this test.
"""
import http.client
import http.server
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import urllib.parse

import world as w

CONTRIB = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../ripd/contrib"))
TRIES = 5  # another process may take the port first


def read(name):
    with open(os.path.join(CONTRIB, name), encoding="utf-8") as file:
        return file.read()


def substitute(text, *pairs):
    """Replaces patterns. Each pattern must match, or the test would use an unchanged file."""
    for pattern, replacement in pairs:
        text, count = re.subn(pattern, replacement, text)
        assert count > 0, f"{pattern} is not in {text[:200]}"
    return text


class Pager(http.server.ThreadingHTTPServer):
    """Receives alerts from Alertmanager: receiver, status, labels and annotations of each alert."""

    def __init__(self):
        self.alerts = []
        super().__init__(("127.0.0.1", 0), PagerHandler)
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def got(self, receiver, status, name, **labels):
        """Returns the last such alert, or None."""
        found = [alert for alert in list(self.alerts)
                 if alert["receiver"] == receiver and alert["status"] == status
                 and {"alertname": name, **labels}.items() <= alert["labels"].items()]
        return found[-1] if found else None

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join()


class PagerHandler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # pylint: disable=invalid-name
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for alert in message["alerts"]:
            self.server.alerts.append({**alert, "receiver": message["receiver"]})
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments):  # pylint: disable=arguments-differ
        pass


class Watchers:
    """Prometheus scrapes the world's ripd and sends alerts to Alertmanager, which notifies the pager."""

    def __init__(self, world):
        for program in ("prometheus", "prometheus-alertmanager"):
            if shutil.which(program) is None:
                raise w.Skip(f"{program} is not installed (Debian packages prometheus, prometheus-alertmanager)")
        self.world = world
        self.folder = tempfile.mkdtemp(prefix="rip-prometheus-")
        self.pager = Pager()
        self.processes = []
        self.ports = {}
        try:
            self.start("alertmanager", self.alertmanager)
            self.start("prometheus", self.prometheus)
        except BaseException:
            self.close()
            raise

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def alertmanager(self, port):
        path = self.write("alertmanager.yml", substitute(
            read("alertmanager.yml"), (r"127\.0\.0\.1:9095", f"127.0.0.1:{self.pager.server_port}"),
            ("group_wait: 10s", "group_wait: 100ms"), ("group_interval: 1m", "group_interval: 500ms")))
        return ["prometheus-alertmanager", f"--config.file={path}", f"--storage.path={self.folder}/alertmanager",
                f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]

    @staticmethod
    def rules():
        return substitute(read("alerts.yml"), ("> 15\n", "> 2\n"), ("> 120\n", "> 5\n"), (r"for: \d+[sm]", "for: 1s"))

    def prometheus(self, port):
        self.write("alerts.yml", self.rules())
        path = self.write("prometheus.yml", substitute(
            read("prometheus.yml"), ("_interval: 15s", "_interval: 1s"), (r" +- db1.example.org:7470\n", ""),
            (r"- 127\.0\.0\.1:7470", f"- 127.0.0.1:{self.world.port}"),
            (r"127\.0\.0\.1:9093", f"127.0.0.1:{self.ports['alertmanager']}")))
        return ["prometheus", f"--config.file={path}", f"--storage.tsdb.path={self.folder}/prometheus",
                f"--web.listen-address=127.0.0.1:{port}", "--rules.alert.resend-delay=1s", "--log.level=warn"]

    def start(self, name, command):
        for _ in range(TRIES):
            port = w.free_port()
            with open(os.path.join(self.folder, f"{name}.log"), "ab") as log:
                process = subprocess.Popen(command(port), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self.processes.append(process)
            self.world.wait_for(lambda: process.poll() is not None or self.ask(port, "/-/ready")[0] == 200)
            if process.poll() is None:
                self.ports[name] = port
                return
        raise AssertionError(f"{name} does not start:\n{self.logs()}")

    def logs(self):
        text = ""
        for name in ("alertmanager.log", "prometheus.log"):
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text += f"--- {name} ---\n{file.read()[-4000:]}"
        return text

    @staticmethod
    def ask(port, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=w.PATIENCE_S)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def query(self, expression):
        """Returns [(labels, value)]."""
        status, text = self.ask(self.ports["prometheus"], "/api/v1/query?query=" + urllib.parse.quote(expression))
        assert status == 200, text
        return [(one["metric"], float(one["value"][1])) for one in json.loads(text)["data"]["result"]]

    def targets(self):
        return json.loads(self.ask(self.ports["prometheus"], "/api/v1/targets")[1])["data"]["activeTargets"]

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.pager.close()
        shutil.rmtree(self.folder, ignore_errors=True)
