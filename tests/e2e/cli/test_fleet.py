# SPDX-License-Identifier: Apache-2.0
"""Ten instances of ripd, half of which hang, and a real Prometheus: `rip` shows one table."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

import cli_kit as k
from cli_kit import w

COUNT, HANGING = 10, (3, 6, 7, 8, 9)
STALLED = (2, 3, 5)  # 3 also hangs


class Fleet(k.CliWorld):
    """The fleet is independent of the world's own ripd."""

    def start(self):
        super().start()
        self.hosts = [self.start_host(n) for n in range(COUNT)]
        for n in STALLED:
            app = self.puppet(f"host-{n}/app")
            app.do(f"spawn {n + 1} worker-{n} snap")
            app.do(f"freeze {n + 1}")
        for n in STALLED:
            self.wait_for(lambda one=n: "1 of 1 ids are stalled" in
                          self.command("stalls", "--url", self.hosts[one]).stdout)

    def start_host(self, n):
        """Returns the URL of the host."""
        folder, log = os.path.join(self.dir, f"host-{n}"), os.path.join(self.made, f"host-{n}.log.txt")
        os.mkdir(folder)
        with open(log, "wb") as file:
            process = subprocess.Popen([f"{w.BIN}/ripd", f"--listen=127.0.1.{n + 1}:0", f"--dir={folder}",
                                        "--interval=200ms", "--stall-after=1s"], stderr=file)
        self.processes.append(process)
        self.ripds = [*getattr(self, "ripds", ()), process]

        def address():
            with open(log, encoding="utf-8", errors="replace") as file:
                return re.findall(r"listening on (http://127\.0\.1\.\d+:\d+)\n", file.read())

        return self.wait_for(address)[0]

    def hang(self):
        for n in HANGING:
            self.ripds[n].send_signal(signal.SIGSTOP)
            os.waitpid(self.ripds[n].pid, os.WUNTRACED)

    def close(self):
        for process in getattr(self, "ripds", ()):
            process.send_signal(signal.SIGCONT)
        super().close()


def rows_of(done):
    return {line.split()[0]: line for line in done.stdout.splitlines()[1:-1]}


def ten_hosts(world):
    urls = [f"--url={url}" for url in world.hosts]
    done = world.command("stalls", *urls, "--timeout=60s")
    assert done.returncode == 0 and done.stderr == "" and len(rows_of(done)) == len(STALLED), done
    world.hang()
    begun = time.monotonic()
    done = world.command("stalls", *urls, "--timeout=6s")
    took = time.monotonic() - begun
    answering = [world.hosts[n][7:] for n in STALLED if n not in HANGING]
    assert done.returncode == 1 and sorted(rows_of(done)) == sorted(answering), done
    assert all(f"worker-{n}" in done.stdout for n in STALLED if n not in HANGING), done
    assert done.stderr.count("\n") == len(HANGING), done
    assert all(world.hosts[n][7:] in done.stderr for n in HANGING), done
    assert took < 29, f"hanging hosts must be queried in parallel: {took}"
    done = world.command("check", *urls, "--timeout=5s", "--critical=1h", "--warning=1h")
    assert done.returncode == 3 and "5 of 10 hosts" in done.stdout, done


def hosts_from_prometheus(world):
    if shutil.which("prometheus") is None:
        raise w.Skip("prometheus is not installed (Debian package prometheus)")
    folder = tempfile.mkdtemp(prefix="rip-prometheus-", dir=world.made)
    targets = "".join(f"\n          - {url[7:]}" for url in world.hosts)
    with open(os.path.join(folder, "prometheus.yml"), "w", encoding="ascii") as file:
        file.write("global:\n  scrape_interval: 3s\n  scrape_timeout: 3s\nscrape_configs:\n  - job_name: ripd\n"
                   f"    static_configs:\n      - targets:{targets}\n")
    port = w.free_port()
    with open(os.path.join(folder, "log"), "wb") as log:
        world.processes.append(subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log))
    arguments = ["stalls", "--prometheus", f"http://127.0.0.1:{port}", "--timeout=60s"]
    world.wait_for(lambda: len(rows_of(world.command(*arguments))) == len(STALLED))
    world.wait_for(lambda: scraped(port) == COUNT)  # Prometheus reports as lost only hosts that it has scraped before
    world.hang()
    answering = [world.hosts[n][7:] for n in STALLED if n not in HANGING]
    arguments[-1] = "--timeout=5s"
    done = None

    def only_answering_hosts_are_listed():
        nonlocal done
        done = world.command(*arguments)
        named = [world.hosts[n][7:] in done.stderr for n in HANGING]
        return sorted(rows_of(done)) == sorted(answering) and all(named) and done.returncode == 1

    try:
        world.wait_for(only_answering_hosts_are_listed)
    except AssertionError:
        print(done)
        raise


def scraped(port):
    """Returns how many hosts Prometheus has scraped."""
    query = urllib.parse.quote('count(ripd_ids{state="stalled"})')
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}", timeout=w.PATIENCE_S) as answer:
        found = json.load(answer)["data"]["result"]
    return int(found[0]["value"][1]) if found else 0


if __name__ == "__main__":
    w.run([ten_hosts, hosts_from_prometheus], Fleet)
