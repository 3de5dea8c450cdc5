# SPDX-License-Identifier: Apache-2.0
"""`rip show`: everything known about one id, and what is stuck in a process, as text and as Markdown."""
import json
import os
import re

import cli_kit as k
from cli_kit import w


def lines_of(text, begin):
    """Returns the lines of the section with that heading."""
    lines = text.splitlines()
    first = lines.index(begin) + 1
    rest = lines[first:]
    return rest[:rest.index("")] if "" in rest else rest


def one_id(world):
    app = world.puppet()
    app.do("spawn 5 name-5 snap")
    world.wait_for(lambda: world.thread(5)["snaps"] > 1)
    app.do("freeze 5")
    world.wait_for(lambda: world.stalls() and world.stalls()[0]["cause"] == "blocked" and
                   world.stalls()[0]["location"]["function"])
    for words in (["app", "5"], ["app", "name-5"], ["app", "name*"], [str(app.pid), "5"], [str(app.pid), "name-5"]):
        done = world.command("show", *words)
        assert done.returncode == 0 and done.stderr == "", (words, done)
        text = done.stdout
        assert "name-5" in text.splitlines()[0] and "blocked" in text.splitlines()[0], text
        fields = dict(re.findall(r"^  (\w[\w ]*?)  +(.*)$", text, re.M))
        assert fields["ring"] == "app" and fields["id"] == "5" and fields["state"] == "blocked", fields
        assert fields["source"] == "library"
        assert f"[{app.pid}]" in fields["process"] and fields["target"].startswith("futex"), fields
        assert "worker_main, " in fields["where"] and fields["offset"].startswith("puppet+0x"), fields
        times = [re.search(r", (\d+) times$", line) for line in lines_of(text, "breadcrumbs, newest first")]
        assert sum(int(found[1]) if found else 1 for found in times) == len(world.thread(5)["trail"]), text
    item = json.loads(world.command("show", "app", "5", "--json").stdout)
    assert item["id"] == 5 and len(item["trail"]) == len(world.thread(5)["trail"])


def threads_by_state(world):
    app = world.puppet()
    for number, mode in ((5, "snap"), (6, "idle"), (7, "snap")):
        app.do(f"spawn {number} name-{number} {mode}")
    app.do("freeze 7")
    world.wait_for(lambda: world.stalled_ids() == [7] and world.state(6) == "idle" and world.stalls()[0]["cause"])
    for word in ("app", str(app.pid)):
        text = world.command("show", word).stdout
        assert "1 running, 1 idle, 1 stalled" in text, text
        head, *rows = lines_of(text, "threads")
        assert head.split() == ["STATE", "AGE", "ID", "THREAD", "WHERE", "ON"], head
        assert [row.split()[0] for row in rows] == ["blocked", "idle", "running"], rows
        assert "name-7" in lines_of(text, "stalled")[0], text
    assert len(world.command("show", "app", "--json").stdout.splitlines()) == 3


def the_stuck_one_of_several_with_a_name(world):
    app = world.puppet()
    for number, mode in ((5, "idle"), (6, "snap"), (7, "snap")):
        app.do(f"spawn {number} worker {mode}")
    app.do("freeze 6")
    world.wait_for(lambda: world.stalled_ids() == [6] and world.stalls()[0]["cause"])
    done = world.command("show", "app", "worker")
    assert done.returncode == 0 and "  id          6\n" in done.stdout, done
    assert "3 ids have this name; this is 6, the one that is stuck longest" in done.stderr, done
    done = world.command("show", "app", "shirker")
    assert done.returncode == 1 and "'app' 'shirker': no such id" in done.stderr and done.stdout == "", done


def a_chain_is_a_tree(world):
    world.play("behind", "3")
    world.wait_for(lambda: len(world.stalls("?cause=deadlock")) == 3 and len(world.stalls("?cause=blocked")) == 3 and
                   all(item["location"]["function"] for item in world.stalls()))
    tree = lines_of(world.command("show", "app", "behind-1").stdout, "waits for")
    assert re.match(r"  behind-1  blocked  in come_behind, .*locks\.c:\d+$", tree[0]), tree
    for depth, name in enumerate(["cycle-0", "cycle-1", "cycle-2"]):
        begin = " " * (2 + 3 * depth) + f"└─ {name}  deadlock  in go_round, "
        assert tree[1 + depth].startswith(begin) and re.search(r"locks\.c:\d+$", tree[1 + depth]), tree
    assert tree[4].endswith("└─ cycle-0, shown above: a deadlock") and len(tree) == 5, tree
    plain = lines_of(world.command("show", "app", "behind-1", LC_ALL="C").stdout, "waits for")
    assert plain[1].startswith("  `- cycle-0"), plain
    tree = lines_of(world.command("show", "app").stdout, "held up")
    assert re.match(r"  cycle-\d  deadlock  in go_round, ", tree[0]) and len(tree) == 2, tree
    assert re.match(r"  └─ behind-\d and 2 more  blocked  in come_behind, ", tree[1]), tree
    ticket = world.command("show", "app", "cycle-1", "--markdown").stdout
    assert ticket.startswith("### `") and "**waits for**\n\n- `cycle-1  deadlock  in go_round, " in ticket, ticket
    assert "\n  - `cycle-2  deadlock" in ticket and "\n    - `cycle-0  deadlock" in ticket, ticket


def a_pool_of_50(world):
    """A deadlocked C++ pool: `rip stalls` prints one line, `rip show` both members with function and line."""
    if not os.path.exists(f"{w.BIN}/locks_cpp"):
        raise w.Skip("locks_cpp was not built: no C++ compiler")
    process = world.play("48", program="locks_cpp")
    world.wait_for(lambda: len(world.stalls("?cause=deadlock")) == 2 and world.get("/stalls")["total"] == 50 and
                   all(item["cause"] and item["waits_for"] for item in world.stalls()))
    world.wait_for(lambda: len(world.command("stalls").stdout.splitlines()) == 3)
    line = world.command("stalls").stdout.splitlines()[1]
    assert "deadlock" in line and "and 48 wait for it" in line and "locks_cpp" in line, line

    def members():
        tree = lines_of(world.command("show", str(process.pid)).stdout, "waits for")
        return len(tree) == 3 and all(re.search(r"(mutex|shared)  deadlock  in \S.*:\d+$", one) for one in tree[:2])

    world.wait_for(members)

    def crowd():
        text = world.command("show", str(process.pid)).stdout
        rows = lines_of(text, "threads")[1:]
        return ([row.split()[0] for row in rows[:2]] == ["deadlock", "deadlock"] and len(rows) < 6 and
                sum("and 47 more" in row for row in rows) == 1 and
                sum("and 47 more  blocked  in " in line for line in lines_of(text, "held up")) == 1)

    world.wait_for(crowd)
    assert len(lines_of(world.command("show", "--all", str(process.pid)).stdout, "threads")) == 1 + 51
    narrow = world.on_terminal(80, "show", str(process.pid), NO_COLOR="1").splitlines()
    table = narrow[narrow.index("threads") + 1:]
    assert all(len(line) <= 80 for line in table) and any("and 47 more" in line for line in table), table


def hostile_names(world):
    ring = world.hostile_stalls()
    for number in range(len(k.HOSTILE)):
        for arguments in ([], ["--markdown"]):
            text = world.command("show", "hostile", str(number + 1), *arguments).stdout
            assert text and not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x9b\u202e]", text), text
            if arguments:
                for line in text.splitlines():
                    bare = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
                    assert not re.search(r"[<>`$;]", bare), (line, bare)
        terminal = world.on_terminal(80, "show", "hostile", str(number + 1))
        assert "\x1b" not in re.sub(r"\x1b\[(31|0)m", "", terminal), terminal
    assert world.command("show", "hostile", "--markdown").returncode == 0
    ring.close()


def a_unit(world):
    """`rip show` takes the name of a unit, with and without ".service", on one host and on two."""
    threads = [{"ring": f"checkout.{pid}", "id": pid, "name": f"worker-{pid}", "state": "stalled", "cause": "blocked",
                "frozen_for_ms": 5000, "location": {"module": "checkout", "offset": "0x1"},
                "process": {"pid": pid, "comm": "checkout", "unit": "checkout.service"}} for pid in (7, 8)]

    class ByUnit(dict):
        """The answers of a ripd that has this unit, and no process or ring of that name."""

        def get(self, path, default=None):
            found = threads if "unit=checkout.service" in server.asked[-1] else []
            return {"schema": f"ripd/{path[1:]}/1", "total": len(found), "counts": {"stalled": len(found)},
                    path[1:]: found}

    server = k.Impostor(ByUnit())
    for word in ("checkout", "checkout.service"):
        text = world.command("show", word, "--url", server.url).stdout
        assert text.splitlines()[0] == "unit checkout.service" and "2 stalled" in text, text
        assert "\n  ring " not in text, text  # there are two rings
        assert [row.split()[3] for row in lines_of(text, "threads")[1:]] == ["worker-7", "worker-8"], text
        rows = world.command("show", word, "--json", "--url", server.url).stdout.splitlines()
        assert [json.loads(row)["id"] for row in rows] == [7, 8], rows
        ticket = world.command("show", word, "--markdown", "--url", server.url).stdout
        assert ticket.startswith("### `unit checkout.service`\n"), ticket
    done = world.command("show", "checkout", "--url", server.url, "--url", server.url + "/")
    assert done.returncode == 0 and done.stdout.count("unit checkout.service\n") == 2, done
    assert world.command("show", "other", "--url", server.url).returncode == 1
    server.close()


def missing_ids(world):
    world.puppet().do("spawn 5 name-5 snap")
    world.wait_for(lambda: world.state(5) == "running")
    for words, named in ((["nothing"], "nothing"), (["999999"], "999999"), (["app", "77"], "77"),
                         (["app", "none"], "none"), (["app", "4294967296"], "4294967296"), (["x" * 3000], "xxx")):
        done = world.command("show", *words)
        assert done.returncode == 1 and done.stdout == "" and named in done.stderr, (words, done)
        assert done.stderr.count("\n") == 1, done
    for words in ([], [""], ["a", "b", "c"], ["a", "--markdown", "--json"], ["a", ""]):
        done = world.command("show", *words, RIPD_URL="http://127.0.0.1:1")
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (words, done)


def invalid_answers(world):
    """An endless chain of waits, and fields of the wrong type."""
    item = {"ring": "r", "id": 1, "name": "a", "state": "stalled", "cause": "blocked", "frozen_for_ms": 9e99,
            "waits_for": [{"ring": "r", "id": n, "name": f"m{n}"} for n in range(40)] + [5, None, {"id": "x"}],
            "waits_for_left_out": 9223372036854775807, "kernel": {"holder": {"pid": []}, "denied": [1, {}]},
            "trail": [1, None, {"count": -5}], "process": 7, "last": {"state": 7}}
    server = k.Impostor({"/threads": {"schema": "ripd/threads/1", "total": 1, "threads": [item], "counts": []},
                         "/threads/r/1": {"schema": "ripd/thread/1", "thread": item},
                         "/stalls": k.stalls_document(item, 7)})
    for words in (["r", "1"], ["r"], ["r", "a", "--markdown"]):
        done = world.command("show", *words, "--url", server.url)
        assert done.returncode == 0 and "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done
    server.close()


if __name__ == "__main__":
    w.run([one_id, threads_by_state, the_stuck_one_of_several_with_a_name, a_chain_is_a_tree, a_pool_of_50, a_unit,
           hostile_names, missing_ids, invalid_answers], k.CliWorld)
