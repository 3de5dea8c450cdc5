# SPDX-License-Identifier: Apache-2.0
"""Completion for bash, zsh and fish, compared with the help of the programs: every flag and command is offered, values
have the right kind, and nothing else is offered."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

SCRIPT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                      "../../../ripd/contrib/completion.bash"))


def complete(*words, folder="/", **variables):
    """Returns the completions of the last word. As in bash, '=' is a separate word."""
    if shutil.which("bash") is None:
        raise w.Skip("bash is not installed")
    program = words[0]
    code = (f'. "{SCRIPT}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _{program}; '
            'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", code, "bash", os.path.join(os.path.abspath(w.BIN), program), *words[1:]],
                          capture_output=True, text=True, timeout=60, cwd=folder, check=False,
                          env={**os.environ, **variables})
    assert done.returncode == 0 and done.stderr == "", (words, done)
    return sorted(line for line in done.stdout.split("\n") if line)


def flags_of(*argv):
    text = subprocess.run([os.path.join(w.BIN, argv[0]), *argv[1:], "--help"], capture_output=True, text=True,
                          check=True).stdout
    return set(re.findall(r"^  (--[a-z-]+)", text, re.M)), text


def every_flag_of_ripd(_world):
    flags, _ = flags_of("ripd")
    assert len(flags) >= 9 and set(complete("ripd", "")) == flags == set(complete("ripd", "--"))
    assert complete("ripd", "--int") == ["--interval"]
    assert complete("ripd", "--listen", "127.0.0.1:0", "--stall") == ["--stall-after"]
    for flag in ("--interval", "--rule", "--listen"):  # values such as durations have no completions
        assert complete("ripd", flag, "") == [], flag
    assert complete("ripd", "x") == []


def values_of_ripd(world):
    os.mkdir(os.path.join(world.made, "folder"))
    with open(os.path.join(world.made, "file"), "w", encoding="ascii"):
        pass
    for words in (("--dir", "f"), ("--dir", "=", "f")):
        assert complete("ripd", *words, folder=world.made) == ["folder"], words
    assert complete("ripd", "--config", "f", folder=world.made) == ["file", "folder"]
    assert complete("ripd", "--log-level", "") == ["debug", "error", "info", "warning"]
    assert complete("ripd", "--log-level", "=") == complete("ripd", "--log-level", "")
    assert complete("ripd", "--log-level", "w") == ["warning"]


def every_command_of_rip(_world):
    text = flags_of("rip")[1]
    commands = set(re.findall(r"^  ([a-z]+) ", text, re.M))
    assert "run" in commands and set(complete("rip", "")) == commands | {"--help", "--version"}
    for command in commands:
        flags, _ = flags_of("rip", command)
        assert set(complete("rip", command, "--")) == flags | {"--help"}, command


def the_program_of_rip_run(world):
    assert "sleep" in complete("rip", "run", "slee")
    assert "sleep" in complete("rip", "run", "--dir", "/dev/shm", "slee")
    assert "sleep" in complete("rip", "run", "--dir", "=", "/dev/shm", "slee")
    assert "sleep" in complete("rip", "run", "--max", "5", "--", "slee")
    with open(os.path.join(world.made, "table"), "w", encoding="ascii"):
        pass
    # after the program, words belong to the program
    assert complete("rip", "run", "cat", "ta", folder=world.made) == ["table"]
    assert complete("rip", "run", "cat", "--dir", "ta", folder=world.made) == ["table"]
    assert complete("rip", "run", "--", "cat", "--", folder=world.made) == []
    os.mkdir(os.path.join(world.made, "rings"))
    assert complete("rip", "run", "--dir", "", folder=world.made) == ["rings"]


def the_program_of_rip_record(world):
    assert "sleep" in complete("rip", "record", "--", "slee")
    assert "sleep" in complete("rip", "record", "--duration", "5s", "--json", "--", "slee")
    assert complete("rip", "record", "--duration", "5s", "--js") == ["--json"]
    assert complete("rip", "record", "slee", RIPD_URL="http://127.0.0.1:1") == []  # before -- only rings are offered
    with open(os.path.join(world.made, "table"), "w", encoding="ascii"):
        pass
    assert complete("rip", "record", "--", "cat", "ta", folder=world.made) == ["table"]
    assert complete("rip", "record", "--output", "ta", folder=world.made) == ["table"]


def in_zsh(*words, **variables):
    """Returns the completions of the zsh script. Functions of zsh are replaced by functions that print what is offered.
    """
    if shutil.which("zsh") is None:
        raise w.Skip("zsh is not installed")
    code = ('compadd() { shift; print -l -- ${(M)@:#$words[CURRENT]*}; }; '
            'compset() { words[CURRENT]=${words[CURRENT]#*=}; }; _files() { print files $*; }; '
            '_command_names() { print commands; }; _normal() { print normal $words; }; '
            'words=("$@"); CURRENT=$#; . "$SCRIPT"')
    done = subprocess.run(["zsh", "-f", "-c", code, "zsh", os.path.join(os.path.abspath(w.BIN), words[0]), *words[1:]],
                          capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "SCRIPT": SCRIPT.replace(".bash", ".zsh"), **variables})
    assert done.stderr == "", (words, done)
    return sorted(line for line in done.stdout.split("\n") if line)


def in_fish(*words, **variables):
    if shutil.which("fish") is None:
        raise w.Skip("fish is not installed")
    path = os.path.abspath(w.BIN) + ":" + os.environ["PATH"]
    code = f'source "{SCRIPT.replace(".bash", ".fish")}"; complete -C $argv[1]'
    with tempfile.TemporaryDirectory() as home:  # fish creates files in $HOME
        done = subprocess.run(["fish", "--no-config", "-c", code, " ".join(words)], capture_output=True,
                              text=True, timeout=60, check=False,
                              env={**os.environ, "PATH": path, "HOME": home, **variables})
    assert done.stderr == "", (words, done)
    return sorted(line.split("\t")[0] for line in done.stdout.split("\n") if line)


def rings_and_words(world, offered=complete):
    """Names of rings come from a running ripd; causes and kinds come from the help."""
    for name in ("web.1", "worker", "odd$name;"):
        world.puppet(name)
    world.wait_for(lambda: len(world.get("/rings")["rings"]) == 3)
    url = {"RIPD_URL": f"http://127.0.0.1:{world.port}"}
    assert offered("rip", "stalls", "--ring", "", **url) == ["web.1", "worker"]
    assert offered("rip", "show", "w", **url) == ["web.1", "worker"]
    assert offered("rip", "show", "wo", **url) == ["worker"]
    assert offered("rip", "record", "wo", **url) == ["worker"]
    assert offered("rip", "record", "web.1", "wo", **url) == ["worker"]
    assert offered("rip", "show", "", RIPD_URL="http://127.0.0.1:1") == []
    assert offered("rip", "events", "--kind", "") == ["begin", "end"]
    assert offered("rip", "stalls", "--cause", "sp") == ["spinning"]
    assert {"blocked", "deadlock"} < set(offered("rip", "check", "--cause", ""))
    assert offered("rip", "stalls", "--group", "") == ["location", "root"]
    assert offered("rip", "stalls", "--gr") == ["--group"] and "stalls" in offered("rip", "")


def zsh(world):
    rings_and_words(world, in_zsh)
    assert in_zsh("rip", "stalls", "--group=") == ["location", "root"] and in_zsh("ripd", "--int") == ["--interval"]
    assert in_zsh("ripd", "--dir", "") == ["files -/"]
    assert in_zsh("rip", "run", "--dir", "/x", "redis", "a") == ["normal redis a"]
    assert in_zsh("rip", "record", "--dir", "/x", "--", "redis", "a") == ["normal redis a"]
    assert in_zsh("rip", "record", "--json", "--", "re") == ["normal re"]
    assert in_zsh("rip", "record", "--json", "--fl") == ["--flight"]


def fish(world):
    rings_and_words(world, in_fish)
    assert in_fish("ripd", "--int") == ["--interval"]
    assert in_fish("rip", "record", "--fl") == ["--flight"]
    assert "sleep" in in_fish("rip", "record", "--", "slee")


if __name__ == "__main__":
    w.run([every_flag_of_ripd, values_of_ripd, every_command_of_rip, the_program_of_rip_run,
           the_program_of_rip_record, rings_and_words, zsh, fish])
