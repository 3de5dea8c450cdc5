# SPDX-License-Identifier: Apache-2.0
"""`rip events --follow` reports every event once and in order, also across restarts of ripd and of rip."""
import json
import os
import re
import signal
import subprocess

import cli_kit as k
from cli_kit import w


def keeps_history():
    done = subprocess.run([f"{w.BIN}/ripd", "--help"], capture_output=True, text=True, check=True)
    return "--state-dir" in done.stdout


class FollowWorld(k.CliWorld):
    def more_flags(self):
        return ["--state-dir", self.state_dir] if keeps_history() else []

    def path(self, name):
        return os.path.join(self.made, name)

    def events_of_command(self):
        """Returns the sequence numbers of the events that the command received, in that order. An incomplete last line
        is ignored."""
        return [json.loads(line)["sequence"] for line in self.read("out").split("\n")[:-1]]

    def all_events(self):
        return [event["sequence"] for event in self.get("/events")["events"]][::-1]

    def following(self):
        return self.metric("ripd_http_streams")

    def follow(self, *arguments, **options):
        """Starts a follower. ripd may still count streams of followers that have ended."""
        self.followers = [one for one in getattr(self, "followers", ()) if one.process.poll() is None]
        self.followers.append(k.Follower(self, *arguments, **options))
        self.wait_for(lambda: self.following() == len(self.followers))
        return self.followers[-1]


def prints(world):
    app = world.puppet()
    world.stall(app, 4)  # an event before the follower starts
    people, programs = world.follow(), world.follow("--json", "--kind=end")
    world.stall(app, 5)
    world.wait_for(lambda: len(people.lines) == 3 and len(programs.lines) == 1)
    assert people.lines[0].startswith("TIME ") and " begin " in people.lines[1] and " end " in people.lines[2]
    assert json.loads(programs.lines[0]) == world.get("/events?limit=1")["events"][0]
    assert people.stop(signal.SIGTERM) == 0 and programs.stop(signal.SIGINT) == 0
    assert people.errors == [] and programs.errors == []


def since(world):
    app = world.puppet()
    world.stall(app, 4)
    epoch = world.get("/events")["epoch"]
    follower = world.follow("--json", "--since-id", f"{epoch}-1")
    world.wait_for(lambda: len(follower.lines) == 1)
    assert json.loads(follower.lines[0])["sequence"] == 2
    follower.stop(signal.SIGTERM)
    follower = world.follow("--json", "--since-id", "0000000000000001-1")
    world.wait_for(lambda: len(follower.lines) == 3)
    assert json.loads(follower.lines[0])["kind"] == "gap", "another history must give a gap, then all stored events"
    world.wait_for(lambda: "gap" in follower.errors[0])
    follower.stop(signal.SIGTERM)


def hostile_names(world):
    follower, programs = world.follow(), world.follow("--json")
    command = world.follow("--exec", f"cat >>{world.path('out')}; echo \"$RIPD_EVENT\" >>{world.path('kinds')}")
    ring = world.hostile_stalls()
    count = len(k.HOSTILE)
    world.wait_for(lambda: len(follower.lines) == count + 1 and len(programs.lines) == count)
    world.wait_for(lambda: world.read("kinds").count("\n") == count)
    for line in follower.lines + programs.lines:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", line), line
    assert world.events_of_command() == world.all_events() and world.read("kinds") == "begin\n" * count
    assert not os.path.exists("INJECTED")
    for each in (follower, programs, command):
        assert each.stop(signal.SIGTERM) == 0
    ring.close()


def survives_a_restart_of_ripd(world):
    """With history, no event is lost and none is repeated. Without history, the gap is reported."""
    app = world.puppet()
    command = world.follow("--exec", f"cat >>{world.path('out')}")
    world.stall(app, 4)
    world.wait_for(lambda: world.events_of_command() == [1, 2])
    assert world.stop() == 0
    world.start()
    world.wait_for(lambda: world.following() == 1)
    world.stall(app, 5)
    if keeps_history():
        world.wait_for(lambda: world.events_of_command() == world.all_events())
        assert not [line for line in command.errors if "gap" in line], command.errors
    else:
        world.wait_for(lambda: world.events_of_command() == [1, 2, 1, 2])
        assert [line for line in command.errors if "gap" in line], command.errors
    world.wait_for(lambda: [line for line in command.errors if line.endswith(" again\n")])
    assert command.stop(signal.SIGTERM) == 0


def resumes_from_its_state(world):
    """The follower may be stopped or killed at any time: with --state the command gets each event, and the position is
    kept."""
    app = world.puppet()
    arguments = ("--state", world.path("last"), "--exec", f"cat >>{world.path('out')}; test ! -e {world.path('slow')} "
                 f"|| {{ echo $$ >{world.path('pid')}; exec sleep 1000; }}")
    follower = world.follow(*arguments)
    world.wait_for(lambda: world.read("last").endswith("-0\n"))  # the position before the first event
    world.stall(app, 4)
    world.wait_for(lambda: world.read("last").endswith("-2\n"))
    follower.stop(signal.SIGKILL)
    world.stall(app, 5)  # while no follower runs
    follower = world.follow(*arguments)
    world.wait_for(lambda: world.events_of_command() == [1, 2, 3, 4] and world.read("last").endswith("-4\n"))
    open(world.path("slow"), "w", encoding="ascii").close()
    world.stall(app, 6)
    world.wait_for(lambda: world.events_of_command() == [1, 2, 3, 4, 5] and world.read("pid"))
    pid = int(world.read("pid"))
    assert follower.stop(signal.SIGTERM) == 0, "SIGTERM must also end a running command"
    assert not os.path.exists(f"/proc/{pid}")
    assert world.read("last").endswith("-4\n")
    os.unlink(world.path("slow"))
    follower = world.follow(*arguments)
    world.wait_for(lambda: world.events_of_command() == [1, 2, 3, 4, 5, 5, 6] and world.read("last").endswith("-6\n"))
    assert world.stop() == 0
    world.start()  # without new events
    world.wait_for(lambda: [line for line in follower.errors if line.endswith(" again\n")])
    assert follower.stop(signal.SIGTERM) == 0
    assert world.read("last").endswith("-6\n"), world.read("last")
    with open(world.path("last"), "w", encoding="ascii") as file:
        file.write("nonsense\n")
    done = world.rip("--follow", *arguments)
    assert done.returncode == 2 and "EPOCH-SEQUENCE" in done.stderr and done.stderr.count("\n") == 1, done


def commands_that_fail(world):
    app = world.puppet()
    follower = world.follow("--exec", 'echo "$RIPD_EVENT $RIPD_EPISODE"; exit 3')
    missing = world.follow("--exec", "/nonexistent/command")
    world.stall(app, 4)
    world.wait_for(lambda: len(follower.errors) == 2 and follower.lines == ["begin 1\n", "end 1\n"])
    assert follower.errors[0] == "rip: events: --exec: exit status 3: begin of episode 1\n", follower.errors
    world.wait_for(lambda: len(missing.errors) == 4)  # including the messages of the shell
    assert "exit status 127" in missing.errors[1]
    assert follower.stop(signal.SIGTERM) == 0 and missing.stop(signal.SIGTERM) == 0


def waits_for_ripd(world):
    """A follower that starts before ripd writes one message, and follows as soon as ripd answers."""
    assert world.stop() == 0
    follower = k.Follower(world, "--json")
    w.wait_for(lambda: "trying again" in follower.errors[0])
    world.start()
    world.wait_for(lambda: world.following() == 1)
    world.stall(world.puppet(), 4)
    world.wait_for(lambda: len(follower.lines) == 2)
    assert len(follower.errors) == 2, follower.errors
    assert follower.stop(signal.SIGTERM) == 0


def several_hosts(world):
    """Events have the name of their host. A host that stops does not delay the others and is followed again. If the
    output cannot be written, rip ends."""
    other = FollowWorld()
    both = ("--url", world.url, "--url", other.url)
    try:
        here, there = world.puppet(), other.puppet()
        people, programs = k.Follower(world, *both), k.Follower(world, "--json", *both)
        command = k.Follower(world, *both, "--exec", f"cat >>{world.path('out')}")
        world.wait_for(lambda: world.following() == other.following() == 3)
        world.stall(here, 4)
        other.stall(there, 5)
        assert other.stop() == 0
        world.wait_for(lambda: [line for line in programs.errors if f"trying again: ripd on {other.url}" in line])
        world.stall(here, 6)
        world.wait_for(lambda: len(programs.lines) == 6)
        other.start()
        world.wait_for(lambda: other.following() == 3)
        other.stall(there, 7)
        world.wait_for(lambda: len(programs.lines) == 8 and len(people.lines) == 9 and
                       len(world.events_of_command()) == 8)
        expected = sorted([(world.url, 4), (other.url, 5), (world.url, 6), (other.url, 7)] * 2)
        assert sorted((event["host"], event["id"]) for event in map(json.loads, programs.lines)) == expected
        assert sorted((event["host"], event["id"])
                      for event in map(json.loads, world.read("out").splitlines())) == expected
        assert people.lines[0].split()[:2] == ["HOST", "TIME"]
        assert sorted(line.split()[0] for line in people.lines[1:]) == sorted([world.url, other.url] * 4)
        world.wait_for(lambda: [line for line in programs.errors if f"following {other.url} again" in line])
        for each in (people, programs, command):
            assert each.stop(signal.SIGTERM) == 0
        with open("/dev/full", "w", encoding="ascii") as full:
            follower = subprocess.Popen([k.RIP, "events", "--follow", "--json", *both], stdout=full,
                                        stderr=subprocess.PIPE, text=True)
        world.processes.append(follower)
        world.wait_for(lambda: other.following() == 1)
        world.stall(here, 8)
        assert follower.wait(timeout=w.PATIENCE_S) == 4 and "No space left" in follower.stderr.read()
    finally:
        other.close()


if __name__ == "__main__":
    w.run([prints, since, hostile_names, survives_a_restart_of_ripd, resumes_from_its_state, commands_that_fail,
           waits_for_ripd, several_hosts], FollowWorld)
