# SPDX-License-Identifier: Apache-2.0
"""ripd with few file descriptors: it runs ripd-probe, or refuses to start."""
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import world as w  # noqa: E402


def limited(soft, hard=None):
    limits = (soft, hard if hard is not None else soft)
    return lambda: (os.closerange(3, 1024), resource.setrlimit(resource.RLIMIT_NOFILE, limits))


def restart_ripd(world, **options):
    world.stop()
    real = subprocess.Popen
    subprocess.Popen = lambda *arguments, **others: real(*arguments, **options, **others)
    try:
        world.start()
    finally:
        subprocess.Popen = real


def has_probe(world):
    world.wait_for(lambda: world.metric("ripd_probe_starts_total") >= 1)
    world.wait_scans(3)
    assert world.metric("ripd_probe_ended") == 0
    assert "ripd-probe has ended" not in world.log_text() and "cannot start ripd-probe" not in world.log_text()


def twenty_four(world):
    """There are too few descriptors for a ring."""
    restart_ripd(world, preexec_fn=limited(24))
    has_probe(world)


def forty(world):
    """There are enough descriptors for a ring and for evidence."""
    restart_ripd(world, preexec_fn=limited(40))
    has_probe(world)
    app = world.puppet()
    app.do("spawn 1 one snap")
    world.wait_for(lambda: world.state(1) == "running")
    app.do("freeze 1")
    world.wait_for(lambda: world.stalls()[0]["kernel"]["syscall"] == "futex")


def soft_limit_is_raised(world):
    restart_ripd(world, preexec_fn=limited(16, 256))
    has_probe(world)


def too_few(world):
    ripd = subprocess.run([f"{w.BIN}/ripd", "--listen=127.0.0.1:0", f"--dir={world.dir}"], stderr=subprocess.PIPE,
                          preexec_fn=limited(20), timeout=w.PATIENCE_S, check=False)
    assert ripd.returncode == 1
    assert ripd.stderr == b"ripd: error: cannot start: RLIMIT_NOFILE allows 20 descriptors, at least 24 are needed\n", \
        ripd.stderr


if __name__ == "__main__":
    w.run([twenty_four, forty, soft_limit_is_raised, too_few])
