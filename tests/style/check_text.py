# SPDX-License-Identifier: Apache-2.0
"""Checks text files: UTF-8, no tabs or trailing blanks, lines of at most 120 columns; paths in documents exist."""
import os
import re

import tree

WIDTH = 120
TEXT = (".c", ".h", ".cc", ".hpp", ".py", ".sh", ".txt", ".md", ".map")
MAP_ENTRY = re.compile(r"`((?:librip|ripd|include|systemd|tests)/[\w./-]*)`")


def main():
    faults, count = [], 0
    for path in tree.files(*TEXT):
        text = tree.read(path)
        count += 1
        if not text.endswith("\n"):
            faults.append(f"{path}: does not end in a newline")
        for number, line in enumerate(text.split("\n"), 1):
            if "\t" in line or line != line.rstrip():
                faults.append(f"{path}:{number}: tab or trailing blank")
            if len(line) > WIDTH and not path.endswith(".md"):
                faults.append(f"{path}:{number}: {len(line)} columns, at most {WIDTH}")
        if path.endswith(".md"):
            for name in MAP_ENTRY.findall(text):
                if not os.path.exists(os.path.join(tree.TOP, name)):
                    faults.append(f"{path}: refers to {name}, which does not exist")
    tree.finish("text", count, faults)


main()
