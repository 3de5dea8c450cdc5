# SPDX-License-Identifier: Apache-2.0
"""The installed example restarts a service in a deadlock: not without limit, and no other service."""
import concurrent.futures
import json

import boot_config
import looks

EXAMPLES = "/usr/share/doc/librip/systemd"
INSTANCE = "rip-events@restart.service"
SERVICE = """[Service]
DynamicUser=yes
ReadWritePaths=/run/librip
ExecStart=/usr/local/bin/animal deadlock-2 /run/librip/%N
"""
OFTEN = "not restarted: it has been restarted often enough in this hour"
DROP_INS = ("ripd.service.d", f"{INSTANCE}.d")


def set_up(machine):
    """Installs the example as its first lines describe, with evidence, and for one of two services."""
    for name in DROP_INS:
        machine.run("cp", "-r", f"{EXAMPLES}/{name}", "/etc/systemd/system/")
    machine.run("mkdir", "-p", "/etc/ripd/events")
    text = machine.text("cat", f"{EXAMPLES}/restart.conf")
    assert "\nRESTART_UNITS=\n" in text and "\nRESTART_PER_HOUR=3\n" in text, text
    text = text.replace("RESTART_UNITS=", "RESTART_UNITS=checkout.service none@*.service")
    machine.write("/etc/ripd/events/restart.conf", text.replace("PER_HOUR=3", "PER_HOUR=2"))
    boot_config.configure(machine, "stall-after = 1s")
    for unit in ("checkout", "bystander"):
        machine.write(f"/etc/systemd/system/{unit}.service", SERVICE)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "ripd")
    machine.run("systemctl", "start", INSTANCE, "bystander", "checkout")


def said(machine, unit):
    """Returns what the instance has reported about a unit, oldest first."""
    return [entry["MESSAGE"].partition(": ")[2] for entry in machine.journal("-u", INSTANCE)
            if entry["MESSAGE"].startswith(f"{unit}.service: ")]


def test_a_deadlock_is_restarted(machine):
    """The service is restarted twice in this hour, and not a third time. A service that is not listed is not restarted.
    """
    set_up(machine)
    other = machine.main_pid("bystander.service")
    first = machine.main_pid("checkout.service")
    machine.wait_for("the refusal of a third restart", lambda: OFTEN in said(machine, "checkout"))
    assert said(machine, "checkout").count("restarted") == 2, said(machine, "checkout")
    assert machine.main_pid("checkout.service") not in (0, first)
    machine.wait_for("the deadlock of the other", lambda: looks.stall_of(machine, "bystander")["cause"] == "deadlock")
    assert machine.main_pid("bystander.service") == other and said(machine, "bystander") == []


def refused(machine, event, url="unix:/none"):
    """Returns what the command reports about an event of an allowed unit that it does not restart."""
    # Without ripd the command cannot read the current state, so only the event counts.
    result = machine.run("env", "STATE_DIRECTORY=/run", f"RIPD_URL={url}", "RESTART_UNITS=bystander.service",
                         "/usr/libexec/ripd/restart-stuck", stdin=json.dumps(event))
    return result.stderr.strip().partition("not restarted: ")[2]


def test_refused_events(machine):
    """Not restarted: an event without proof, an event of another unit's process, and a thread that a restart does not
    end."""
    pid = machine.main_pid("bystander.service")
    event = machine.wait_for("its event", lambda: next(
        event for event in machine.get("/events?ring=bystander&cause=deadlock")["events"] if event["kind"] == "begin"))
    process = event["process"]
    assert process["unit"] == "bystander.service" and process["attested"], process
    doubtful = {"proves": {"process": {**process, "attested": False}},
                "is not one of the unit": {"process": {**process, "pid": 1}},
                "uninterruptible": {"cause": "uninterruptible"},
                "sleep does not end": {"kernel": {**event["kernel"], "state": "D"}},
                "the cause is futex": {"cause": "futex"}}
    # in parallel, because each command waits before it reads the state again
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda change: refused(machine, {**event, **change}), doubtful.values()))
        assert all(words in answer for words, answer in zip(doubtful, answers)), answers
    assert machine.main_pid("bystander.service") == pid
    # The unit is restarted if the second look shows more than the event.
    refused(machine, {**event, "cause": "unknown"}, "unix:/run/ripd/ripd.sock")
    machine.wait_for("the restart", lambda: machine.main_pid("bystander.service") not in (0, pid))


def test_put_back(machine):
    machine.run("systemctl", "stop", INSTANCE, "bystander", "checkout")
    for name in DROP_INS:
        machine.run("rm", "-r", f"/etc/systemd/system/{name}")
    machine.run("systemctl", "daemon-reload")
    boot_config.configure(machine)
    machine.run("systemctl", "restart", "ripd")


TESTS = [test_a_deadlock_is_restarted, test_refused_events, test_put_back]
