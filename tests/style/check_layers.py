# SPDX-License-Identifier: Apache-2.0
"""Checks that every file in ripd/ includes only headers that its layer may use, and that pure layers stay pure."""
import re

import tree

# For each layer: the other layers whose headers it may include.
MAY_USE = {
    "ripd/util": {"rip"},
    "ripd/detect": {"util", "rip"},
    "ripd/cases": {"util", "detect", "work", "rip"},
    "ripd/work": {"util"},
    "ripd/os": {"util"},
    "ripd/ring": {"util", "detect", "cases", "work", "os", "rip"},
    "ripd/probe": {"util", "detect", "cases", "work", "os", "ring", "rip"},
    "ripd/record": {"util", "detect", "cases", "os", "session", "rip"},
    "ripd/replay": {"util", "detect", "cases", "work", "view", "record", "rip"},
    "ripd/sym": {"util", "cases", "work", "os", "rip"},
    "ripd/view": {"util", "detect", "cases", "rip"},
    "ripd/web": set(),
    "ripd/net": {"util", "detect", "cases", "view", "os", "web", "rip"},
    "ripd/app": {"util", "detect", "cases", "work", "os", "ring", "probe", "record", "sym", "view", "net",
                 "session", "rip"},
    "ripd/export": {"util", "cases", "replay", "view", "rip"},
    "ripd/cli": {"util", "detect", "cases", "os", "export", "record", "replay", "ring", "sym", "view", "session",
                 "rip"},
    "ripd/man": {"app", "cli", "util", "detect", "cases", "work", "record", "view", "net", "rip"},
    "ripd": {"app", "rip"},
}
# The pure layers, and the system headers that they may include.
PURE_LAYERS = {"ripd/util", "ripd/detect", "ripd/cases", "ripd/work", "ripd/view", "ripd/replay"}
PURE_HEADERS = {
    "assert.h", "ctype.h", "errno.h", "inttypes.h", "limits.h", "stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h",
    "stdint.h", "stdio.h", "stdlib.h", "string.h", "strings.h", "time.h",
}
# Functions of these headers that a pure layer may not call.
IMPURE_CALL = re.compile(r"\b(time|clock|clock_gettime|gettimeofday|fopen|open|read|write|printf|fprintf|puts|getenv|"
                         r"system|rand|random|localtime|localtime_r|gmtime)\s*\(")
ONLY_APP_LOGS = re.compile(r"\b(log_line|syslog|fprintf\s*\(\s*stderr|perror)\b")
MAY_LOG = ("ripd/app/", "ripd/cli/", "ripd/man/", "ripd/main.c", "ripd/sym/child/main.c", "ripd/probe/child/main.c")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def layer_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def check_includes(path, layer, text, faults):
    for kind, name in INCLUDE.findall(text):
        if kind == "<":
            if layer in PURE_LAYERS and name not in PURE_HEADERS:
                faults.append(f"{path}: {layer} is pure and may not include <{name}>")
            continue
        used = name.split("/")[0] if "/" in name else "(no layer shown)"
        if used != layer.split("/")[-1] and used not in MAY_USE[layer]:
            faults.append(f"{path}: {layer} may not include \"{name}\"")


def main():
    faults, count = [], 0
    for path in tree.files(".c", ".h"):
        layer = layer_of(path)
        if not path.startswith("ripd/"):
            continue
        count += 1
        text = tree.read(path)
        if layer not in MAY_USE:
            faults.append(f"{path}: layer {layer} is missing in tests/style/check_layers.py")
            continue
        check_includes(path, layer, text, faults)
        code = COMMENT.sub(" ", text)
        if layer in PURE_LAYERS:
            for call in IMPURE_CALL.findall(code):
                faults.append(f"{path}: {layer} is pure and may not call {call}()")
        if not path.startswith(MAY_LOG) and ONLY_APP_LOGS.search(code):
            faults.append(f"{path}: only app and cli may write to a log or a terminal")
    tree.finish("layers", count, faults)


main()
