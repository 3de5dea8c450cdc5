# SPDX-License-Identifier: Apache-2.0
"""Checks that functions are short and interfaces are narrow. The length of a file is not limited.

A function has at most 70 lines, and most have under 50. A header of ripd/ or librip/ declares few functions, defines
few structs, and its functions are defined in few files. A header that shares structs between four files belongs to one
module that was split.
"""
import collections
import re

import tree

FUNCTION_MAX, FUNCTION_USUAL, SHARE_OVER_USUAL_MAX = 70, 50, 0.15
# Limits of a header: functions declared, structs defined, and files that define its functions if it defines structs.
DECLARED_MAX, BODIES_MAX, HOMES_MAX = 16, 7, 3
SHARED_INSIDE = re.compile(r"_(inside|state|parts)\.h$")

# Headers that are too wide until their module is joined again. The list only shrinks: an entry without a header is a
# fault.
KNOWN_WIDE = {
    # cases
    "ripd/cases/snapshot.h",
    "ripd/cases/waits.h",
    # probe
    "ripd/probe/kernel.h",
    # ring
    "ripd/ring/registry.h",
    # librip
    "librip/writer.h",
    # librip/auto
    "librip/auto/preload.h",
}

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|__attribute__\s*\(\(.*?\)\)\)?", re.S) # attributes look like functions
DECLARATION = re.compile(r"^(?!typedef)[A-Za-z_][^;{}#=]*?\b(\w+)\s*\([^;{}]*\)[^;{}()]*;", re.M)
DEFINITION = re.compile(r"^(?!static)[A-Za-z_][^;{}#=]*?\b(\w+)\s*\([^;{}]*\)\s*\n\{", re.M)
BODY = re.compile(r"^(?:struct|union)\s+\w+\s*\{", re.M)


def functions(text):
    """Yields (name, line count) of each function or TEST(name).

    A function starts at a line with text in column 0 and a '(', and ends at the next '}' in column 0.
    """
    lines = text.split("\n")
    start = name = None
    for number, line in enumerate(lines):
        if line.startswith("{") and start is not None:
            continue
        if line.startswith("}") and start is not None:
            if not line.startswith("};") and name:
                yield name, number - start + 1
            start = name = None
        elif start is None and re.match(r"[A-Za-z_]", line) and "(" in line and not line.rstrip().endswith(";"):
            match = re.search(r"(?:^[A-Z]+\()?(\w+)\s*[(,)]", re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", line))
            start, name = number, match.group(1) if match else "?"
        elif line.rstrip().endswith(";") and not line.startswith((" ", "\t")):
            start = name = None


def check_functions(sources, faults):
    total = long_functions = 0
    for path, text in sources.items():
        for name, size in functions(text):
            total += 1
            long_functions += size > FUNCTION_USUAL
            if size > FUNCTION_MAX:
                faults.append(f"{path}: {name}() has {size} lines, at most {FUNCTION_MAX}")
    if total and long_functions / total > SHARE_OVER_USUAL_MAX:
        faults.append(f"{long_functions} of {total} functions are over {FUNCTION_USUAL} lines")
    print(f"{total} functions, {long_functions} over {FUNCTION_USUAL} lines")


def homes_of(sources):
    """Returns a dict: for each function, the files of the product that define it."""
    homes = collections.defaultdict(set)
    for path, text in sources.items():
        if path.startswith(("ripd/", "librip/")):
            for name in DEFINITION.findall(COMMENT.sub(" ", text)):
                homes[name].add(path)
    return homes


def width_faults(path, text, homes):
    declared, bodies = DECLARATION.findall(text), len(BODY.findall(text))
    files = {home for name in declared for home in homes[name]}
    if SHARED_INSIDE.search(path):
        yield f"exposes the inside of a module: {declared and len(declared) or 'no'} functions, {bodies} structs"
    if len(declared) > DECLARED_MAX:
        yield f"declares {len(declared)} functions, at most {DECLARED_MAX}"
    if bodies > BODIES_MAX:
        yield f"defines {bodies} structs, at most {BODIES_MAX}"
    if bodies and len(files) > HOMES_MAX:
        yield f"its functions are defined in {len(files)} files, at most {HOMES_MAX}, and it defines {bodies} structs"


def check_headers(headers, sources, faults):
    homes, wide = homes_of(sources), set()
    for path, text in headers.items():
        for fault in width_faults(path, COMMENT.sub(" ", text), homes):
            wide.add(path)
            if path not in KNOWN_WIDE:
                faults.append(f"{path}: {fault}")
    for path in sorted(KNOWN_WIDE - headers.keys()):
        faults.append(f"{path} does not exist: remove it from KNOWN_WIDE in tests/style/check_sizes.py")
    for path in sorted((KNOWN_WIDE & headers.keys()) - wide):
        print(f"{path} is narrow: remove it from KNOWN_WIDE in tests/style/check_sizes.py")
    users = [path for path, text in sources.items()
             if path.startswith(("ripd/", "librip/")) and
             any(f'#include "{name}"' in text or f'#include "{name.split("/", 1)[1]}"' in text for name in wide)]
    print(f"{len(wide)} of {len(headers)} headers are wide; {len(users)} sources include one")


def main():
    sources = {path: tree.read(path) for path in tree.files(".c")}
    headers = {path: tree.read(path) for path in tree.files(".h") if path.startswith(("ripd/", "librip/"))}
    faults = []
    check_functions(sources, faults)
    check_headers(headers, sources, faults)
    tree.finish("sizes", len(sources) + len(headers), faults)


main()
