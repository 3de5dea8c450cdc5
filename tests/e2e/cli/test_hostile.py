# SPDX-License-Identifier: Apache-2.0
"""All commands with a ripd whose texts are all hostile, and with a ring that has a hostile name."""
import json
import os
import re
import unicodedata

import cli_kit as k
from cli_kit import w
from terminal import Terminal

TEXTS = ["\x1b[31;5m\x1b]0;title\x07", "a\nb\r\x00c\td\x7f", "\u202eevil\u2066x\u2069", "\x9b31m",
         "\u2028next\u2029line", "[a](javascript:x) **b** <img src=x> @all `x` ``y`` # h",
         "| a | b |", "\n\n# head\n- item", "漢字" * 40,
         "a\u200b\u200d\ufeffb", "e" + "\u0301" * 50, "x" * 900, "%s%n%d", "-", "\\", "'\"; $(touch INJECTED)"]
# Characters that act on a terminal, break a line, reorder text or are invisible.
HARM = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
MARKUP = re.compile(r"javascript|<img|@all|\*\*b\*\*|\| a|touch|# h")


def place(text):
    return {"module": text, "build_id": text, "offset": text, "function": text, "file": text, "line": 7,
            "inlined": [{"function": text, "file": text, "line": 1}]}


def item(number, text):
    member = {"ring": "r", "id": number + 1000, "holder": text, "name": text, "state": text}
    return {"ring": text, "id": number, "tid": 5, "name": text, "note": text, "source": text, "reason": text,
            "summary": text, "state": "stalled", "cause": text, "since": text, "since_earliest": text,
            "frozen_for_ms": 5000 + number, "frozen_for_max_ms": 6000, "threshold_ms": 5000, "snaps": 5,
            "process": {"pid": 7, "comm": text, "exe": text, "cmdline": text, "uid": 0, "unit": text, "container": text,
                        "started_at": text, "attested": True},
            "kernel": {"state": text, "syscall": text, "target": text, "wchan": text, "mode": text, "denied": [text],
                       "holder": {"comm": text, "pid": 5}},
            "location": place(text), "trail": [{**place(text), "count": 3}],
            "waits_for": [member] if number % 2 else None, "last": {"state": text, "cause": text}}


def impostor(ring=None):
    """ring: the name of all rings. Without it, ring names are hostile, too."""
    items = [{**item(number, text), "ring": ring or text} for number, text in enumerate(TEXTS)]
    events = [{**each, "sequence": 1 + i, "kind": TEXTS[i], "reason": TEXTS[i], "at": TEXTS[i]}
              for i, each in enumerate(items)]
    rings = [{"ring": text, "directory": text, "health": text, "reason": text, "coverage": text,
              "coverage_reasons": [text], "processes": [each["process"]], "counts": {text.replace("\0", ""): 1}}
             for text, each in zip(TEXTS, items)]
    lists = {"/threads": "threads", "/stalls": "stalls", "/events": "events", "/rings": "rings"}
    documents = {path: {"schema": f"ripd/{name}/1", "scan": {"age_ms": 1, "interval_ms": 1000},
                        "counts": {"stalled": 1}, "total": len(TEXTS), "epoch": TEXTS[0],
                        name: {"events": events[::-1], "rings": rings}.get(name, items)}
                 for path, name in lists.items()}
    for number, each in enumerate(items):
        documents[f"/threads/r/{number}"] = {"schema": "ripd/thread/1", "thread": each}
    return k.Impostor(documents)


def width(line):
    return sum(0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
               for letter in line)


def lines(done):
    assert done.returncode == 0 or (done.stdout.startswith("RIP WARNING") and done.returncode == 1), done
    assert not HARM.search(done.stdout.replace("\n", "")) and not HARM.search(done.stderr.replace("\n", "")), done
    return done.stdout.splitlines()


def piped(world):
    """The output has one line for each item, whatever the texts contain."""
    server, count = impostor(), len(TEXTS)
    for hosts in ([server.url], [server.url, server.url + "/"]):
        urls = [word for url in hosts for word in ("--url", url)]
        for locale in ("C.UTF-8", "C"):
            assert len(lines(world.command("stalls", "--all", *urls, LC_ALL=locale))) == count * len(hosts) + 2
            lines(world.command("stalls", *urls, LC_ALL=locale))
            assert len(lines(world.command("ls", *urls, LC_ALL=locale))) == count * len(hosts) + 1
            assert len(lines(world.command("events", *urls, LC_ALL=locale))) == count * len(hosts) + 1
            assert len(lines(world.command("check", *urls, LC_ALL=locale))) == 1
            for arguments in ([], ["--all"]):
                lines(world.command("show", "r", *arguments, *urls, LC_ALL=locale))
        for command in (["stalls"], ["ls"], ["events"], ["check"], ["show", "r"]):
            for line in world.command(*command, "--json", *urls).stdout.split("\n")[:-1]:
                assert isinstance(json.loads(line), dict) and not re.search("[\x00-\x1f\x7f]", line), line
    assert not os.path.exists("INJECTED")
    server.close()


def groups(world):
    for group, schema in (("location", "ripd/stalls-by-location/1"), ("root", "ripd/stalls-by-root/1")):
        items = [{"count": 3, "longest_ms": 5000, "location": place(text), "example": item(1, text),
                  "root": item(1, text), "deadlock": [item(2, text), item(3, text)]} for text in TEXTS]
        server = k.Impostor({"/stalls": {**k.stalls_document(*items), "schema": schema}})
        assert len(lines(world.command("stalls", "--group", group, "--url", server.url))) == len(TEXTS) + 2
        server.close()


def markdown(world):
    """In Markdown, texts from ripd appear only in code spans."""
    server = impostor("r")
    for words in ([], *([str(number)] for number in range(len(TEXTS)))):
        for text in lines(world.command("show", "r", *words, "--markdown", "--url", server.url)):
            bare = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
            assert text.startswith("    ") or not MARKUP.search(bare), (text, bare)
    server.close()


def on_a_terminal(world):
    """The output contains only the escape sequences of rip's own colours, and tables fit the width of the terminal."""
    server = impostor("r")
    for columns in (80, 40):
        for command in (["stalls"], ["ls"], ["events"], ["stalls", "--json"], ["show", "r"], ["show", "r", "1"]):
            text = world.on_terminal(columns, *command, "--url", server.url).replace("\r\n", "\n")
            bare = re.sub(r"\x1b\[(3[123]|0)m", "", text)
            assert bare and not HARM.search(bare.replace("\n", "")), (command, bare)
            if command[0] == "show" or "--json" in command:
                continue
            assert all(width(line) <= columns for line in bare.splitlines()[:-1]), (columns, command, bare)
    server.close()


def in_top(world):
    server = impostor("r")
    terminal = Terminal([k.RIP, "top", "--url", server.url], world.environment, 30, 80)
    world.wait_for(lambda: f"{len(TEXTS)} of {len(TEXTS)}" in terminal.text())
    for _ in TEXTS:
        terminal.type("\n")
        world.wait_for(lambda: "escape: back" in terminal.screen()[-1] and "ring" in terminal.text())
        terminal.type("\x1b")
        world.wait_for(lambda: "enter: open" in terminal.screen()[-1])
        terminal.type("j")
    for harm in ("\x1b[31;5m", "\x1b]0", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028"):
        assert harm not in terminal.raw, (harm, terminal.raw)
    terminal.close()
    server.close()


def a_ring_with_such_a_name(world):
    name = b"\x1b[31m\n\xe2\x80\xae\xff| `x` [a](b)"
    ring = k.h.Ring(os.path.join(os.fsencode(world.dir), name).decode(errors="surrogateescape"))
    ring.process(0, os.getpid(), comm=name)
    for number, text in enumerate(TEXTS):
        ring.slot(number, number=number, name=text.encode()[:60])
    ring.publish()
    world.wait_for(lambda: len(world.stalls()) == len(TEXTS))
    own = str(os.getpid())
    for command in (["stalls", "--all"], ["ls"], ["events"], ["show", own], ["show", own, "3"],
                    ["show", own, "--markdown"], ["check"], ["stalls", "--all", "--dir", world.dir],
                    ["ls", "--dir", world.dir], ["show", own, "--dir", world.dir],
                    ["show", own, "3", "--dir", world.dir], ["clean", "--dir", world.dir]):
        lines(world.command(*command))
    done = world.command("show", "\u202e\x9b31m\x1b")
    assert done.returncode == 1 and not HARM.search(done.stderr.replace("\n", "")), done
    ring.close()


if __name__ == "__main__":
    w.run([piped, groups, markdown, on_a_terminal, in_top, a_ring_with_such_a_name], k.CliWorld)
