# SPDX-License-Identifier: Apache-2.0
"""rip-events@.service as installed: runs a command with network access for each stall, although ripd has none."""
import json

from boot_services import start_sleeper

OUT = "/var/lib/private/rip-events/pager/out"


def events_of_command(machine):
    """Returns the events that the command received."""
    return [json.loads(line) for line in machine.text("cat", OUT).splitlines()]


def names(machine):
    return [(event["kind"], event["name"]) for event in events_of_command(machine)]


def test_a_command_for_each_stall(machine):
    machine.run("mkdir", "-p", "/etc/ripd/events")
    machine.write("/etc/ripd/events/pager.conf", "TOKEN=secret\n"
                  "COMMAND=readlink /proc/self/ns/net >$STATE_DIRECTORY/net; "
                  "echo \"$TOKEN $RIPD_EVENT\" >>$STATE_DIRECTORY/said; cat >>$STATE_DIRECTORY/out\n")
    machine.run("systemctl", "start", "rip-events@pager")
    machine.wait_for("its position", lambda: machine.text("cat", "/var/lib/private/rip-events/pager/last"))
    start_sleeper(machine, "paged", "/run/librip/paged", b"paged", "-p", "DynamicUser=yes", "-p",
                  "ReadWritePaths=/run/librip")
    machine.wait_for("the begin", lambda: ("begin", "paged") in names(machine))
    said = machine.text("cat", "/var/lib/private/rip-events/pager/said")
    assert set(said.splitlines()) <= {"secret begin", "secret end"}, said
    assert machine.text("cat", "/var/lib/private/rip-events/pager/net") == machine.text("readlink", "/proc/1/ns/net")
    assert machine.property("rip-events@pager", "ActiveState") == "active"


def test_nothing_is_lost_while_it_is_stopped(machine):
    before = len(events_of_command(machine))
    machine.run("systemctl", "stop", "rip-events@pager")
    assert machine.property("rip-events@pager", "Result") == "success"
    machine.run("systemctl", "stop", "paged")
    machine.wait_for("the end", lambda: any(e["name"] == "paged" and e["kind"] == "end"
                                            for e in machine.get("/events")["events"]))
    assert len(events_of_command(machine)) == before
    machine.run("systemctl", "restart", "ripd")
    machine.run("systemctl", "start", "rip-events@pager")
    machine.wait_for("the end", lambda: ("end", "paged") in names(machine))
    sequences = [event["sequence"] for event in events_of_command(machine)]
    assert len(set(sequences)) == len(sequences) and sequences == sorted(sequences), sequences
    machine.run("systemctl", "stop", "rip-events@pager")


TESTS = [test_a_command_for_each_stall, test_nothing_is_lost_while_it_is_stopped]
