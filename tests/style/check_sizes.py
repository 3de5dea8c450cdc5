# SPDX-License-Identifier: Apache-2.0
"""No function over 70 lines, no file over 600; most functions under 50 and most files under 300."""
import re

import tree

FUNCTION_MAX, FILE_MAX = 70, 600
FUNCTION_USUAL, FILE_USUAL = 50, 300
SHARE_OVER_USUAL_MAX = 0.15


def functions(text):
    """(name, lines) of each function: from a line in column 0 with '(' to the '}' in column 0."""
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
            match = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", line))
            start, name = number, match.group(1) if match else "?"
        elif line.rstrip().endswith(";") and not line.startswith((" ", "\t")):
            start = name = None


def main():
    faults, files, long_files, total, long_functions = [], 0, 0, 0, 0
    for path in tree.files(".c", ".h", ".py", ".js"):
        text = tree.read(path)
        length = text.count("\n")
        files += 1
        long_files += length > FILE_USUAL
        if length > FILE_MAX:
            faults.append(f"{path}: {length} lines, at most {FILE_MAX}")
        if not path.endswith(".c"):
            continue
        for name, size in functions(text):
            total += 1
            long_functions += size > FUNCTION_USUAL
            if size > FUNCTION_MAX:
                faults.append(f"{path}: {name}() has {size} lines, at most {FUNCTION_MAX}")
    if total and long_functions / total > SHARE_OVER_USUAL_MAX:
        faults.append(f"{long_functions} of {total} functions are over {FUNCTION_USUAL} lines")
    if files and long_files / files > SHARE_OVER_USUAL_MAX:
        faults.append(f"{long_files} of {files} files are over {FILE_USUAL} lines")
    print(f"{total} functions, {long_functions} over {FUNCTION_USUAL}; {long_files} files over {FILE_USUAL} lines")
    tree.finish("sizes", files, faults)


main()
